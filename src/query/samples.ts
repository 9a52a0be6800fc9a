/** Samples of one stream, decoded. */
import type { Db } from '../storage/database/database.ts';
import { gridCeil, gridTimeNs, type ChannelKind, type Samples } from '../signal.ts';
import type { BlockRun, SampleRoom } from '../storage/block-codec.ts';
import { mergeRuns, part } from '../storage/merge-runs.ts';
import { ROW_SEC_MAX, rowSecOf } from '../storage/sample-rows.ts';
import { prepared } from '../storage/database/prepared.ts';
import type { OnDamaged } from './damaged-minutes.ts';
import { storedRuns } from './stored-runs.ts';
import type { StoredRows } from './stored-runs.ts';
import { timestampAt } from './time-bounds.ts';

export type SampleQuery = Readonly<{
  /** Internal number of a stream; the caller may read it. */
  streamId: number;
  /** Channel codes; null: all. */
  channels: readonly string[] | null;
  /** Unix ns, inclusive. */
  fromNs: bigint;
  /** Unix ns, exclusive. */
  toNs: bigint;
  /** Most rows to read over all channels, 1 to 8 seconds each (rowSecOf); the rest goes to the next page. */
  rowsMax: number;
  /** Approximate most samples over all channels; each channel gets at least one row. Absent: as many as the rows have. */
  samplesMax?: number;
  /** Acknowledged samples not yet stored as rows; absent: rows only. */
  recent?: RecentSamples;
  /** Told of rows that cannot be unpacked, which are gaps; absent: they fail the request. */
  onDamaged?: OnDamaged;
}>;

/** Runs of a channel that were accepted and are not stored yet, in or near [fromNs, toNs) of the device clock.
 *  @param lack is called when another node has them and does not answer */
export type RecentSamples = (
  streamId: number,
  channelNo: number,
  fromNs: bigint,
  toNs: bigint,
  lack?: () => void,
) => readonly BlockRun[] | Promise<readonly BlockRun[]>;

/** Consecutive samples of one channel configuration. physical = (digital - baseline) / gain. */
export type SampleSegment = Readonly<{
  code: string;
  channelNo: number;
  kind: ChannelKind;
  unit: string;
  lead: string;
  gain: number;
  baseline: number;
  rateNanoHz: number;
  /** Unix ns of the first sample; sample i lies i / rate later on the stream's grid. */
  t0Ns: bigint;
  /** Grid index of the first sample. */
  k0: number;
  /** Digital values, as the device sent them. */
  samples: Samples;
  /** null: all good. */
  qmask: Uint8Array | null;
}>;

type ChannelRow = {
  channel_no: number;
  code: string;
  kind: ChannelKind;
  unit: string;
  lead: string;
  gain: number;
  baseline: number;
  rate_nhz: bigint;
  epoch_ns: bigint;
};

/** Reads segments by channel and time, as long as gaps allow.  @returns also the start of the next page, or null */
export async function readSamples(db: Db, query: SampleQuery): Promise<Readonly<{ segments: SampleSegment[]; nextFromNs: bigint | null }>> {
  const channels = await db.query<ChannelRow>(
    prepared(
      `select c.channel_no, c.code, c.kind, c.unit, c.lead, c.gain, c.baseline, c.rate_nhz, s.epoch_ns
     from stream_channel c join stream s on s.id = c.stream_id
     where c.stream_id = $1 and ($2::text[] is null or c.code = any ($2)) order by c.channel_no`,
      [query.streamId, query.channels],
    ),
  );
  if (channels.rows.length === 0) return { segments: [], nextFromNs: null };
  const epochNs = channels.rows[0]!.epoch_ns;
  const samplesOfRows = channels.rows.reduce((sum, { rate_nhz: rate }) => sum + (Number(rate) / 1e9) * rowSecOf(Number(rate)), 0);
  const perChannel = Math.max(
    1,
    Math.floor(Math.min(query.rowsMax / channels.rows.length, (query.samplesMax ?? Infinity) / samplesOfRows)),
  );
  // Read before the rows: samples stored in between are then found twice and merged, not missed.
  const { fromNs: sinceNs, toNs: untilNs } = query;
  const recent = new Map(
    await Promise.all(
      channels.rows.map(async ({ channel_no: no }) => {
        return [no, (await query.recent?.(query.streamId, no, sinceNs - epochNs, untilNs - epochNs)) ?? []] as const;
      }),
    ),
  );
  // A row that begins before the range may reach into it. That bound is also given as a constant, which excludes partitions. A row of the
  // answer has the blocks of one channel, end to end, in the order of the subquery; in base64, because a bytea comes as hex.
  const { rows } = await db.query<ChannelBlocks>(
    prepared(
      `select c.channel_no, b.*
     from unnest($1::smallint[], $6::int[]) as c (channel_no, row_sec)
     cross join lateral (
       select array_to_json(array_agg((extract(epoch from time) * 1000000)::bigint)) as us,
         array_to_json(array_agg(octet_length(codec))) as lengths, encode(string_agg(codec, ''), 'base64') as codecs
       from (
         select time, codec from sample_block
         where time > $2::timestamptz - interval '${ROW_SEC_MAX} seconds' and time > $2::timestamptz - c.row_sec * interval '1 second'
           and time < $3::timestamptz and stream_id = $4 and channel_no = c.channel_no
         order by time limit $5) p) b
     where b.us is not null`,
      [
        channels.rows.map((row) => row.channel_no),
        timestampAt(query.fromNs),
        timestampAt(query.toNs + 999n),
        query.streamId,
        perChannel + 1 + ROW_SEC_MAX,
        channels.rows.map((row) => rowSecOf(Number(row.rate_nhz))),
      ],
    ),
  );
  const nextFromNs = nextPage(rows, perChannel, Number(query.fromNs / 1000n));
  const toNs = nextFromNs ?? query.toNs;
  const segments: SampleSegment[] = [];
  for (const row of channels.rows) {
    const rateNanoHz = Number(row.rate_nhz);
    const kFrom = gridFrom(query.fromNs - epochNs, rateNanoHz);
    const kTo = gridFrom(toNs - epochNs, rateNanoHz);
    const blocks = rows.find(({ channel_no: no }) => no === row.channel_no);
    const of = { streamId: query.streamId, channelNo: row.channel_no };
    const stored = blocks === undefined ? [] : storedRuns(blocks, of, query.onDamaged, roomFor(blocks, rateNanoHz));
    const runs = mergeRuns([...stored, ...(recent.get(row.channel_no) ?? [])]);
    for (const run of runs) {
      const low = Math.max(0, kFrom - run.k0);
      const high = Math.min(run.samples.length, kTo - run.k0);
      if (low >= high) continue;
      const cut = part(run, low, high);
      const { channel_no: channelNo, code, kind, unit, lead, gain, baseline } = row;
      const t0Ns = epochNs + gridTimeNs(cut.k0, rateNanoHz);
      segments.push({
        code,
        channelNo,
        kind,
        unit,
        lead,
        gain,
        baseline,
        rateNanoHz,
        t0Ns,
        k0: cut.k0,
        samples: cut.samples,
        qmask: cut.qmask,
      });
    }
  }
  return { segments, nextFromNs };
}

type ChannelBlocks = StoredRows & Readonly<{ channel_no: number; us: readonly number[] }>;

const roomFor = ({ us }: ChannelBlocks, rateNanoHz: number): SampleRoom => ({
  samples: new Int32Array(Math.ceil((us.length * rowSecOf(rateNanoHz) * rateNanoHz) / 1e9)),
  used: 0,
});

/** Where the first channel with more rows ends. Rows that begin before the range do not count, or a page might not advance. */
function nextPage(rows: readonly ChannelBlocks[], perChannel: number, fromUs: number): bigint | null {
  let next: number | null = null;
  for (const { us } of rows) {
    const after = us.filter((one) => one >= fromUs)[perChannel];
    if (after !== undefined && (next === null || after < next)) next = after;
  }
  return next === null ? null : BigInt(next) * 1000n;
}

/** Smallest grid index at or after a device time; 0 for times before the device's zero. */
function gridFrom(deviceNs: bigint, rateNanoHz: number): number {
  return deviceNs <= 0n ? 0 : gridCeil(deviceNs, rateNanoHz);
}
