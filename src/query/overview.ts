/** Overviews of waveforms: extremes and counts of the samples of each bucket, equal to those of the samples themselves.
 *
 *  A row of sample_block that lies in one bucket counts by its statistics. Its samples are decoded where they do not do: a row that reaches
 *  into the next bucket; one that samples in memory belong to; one whose extremes have no exact float4. */
import type { ChannelKind } from '../signal.ts';
import { PipelineError } from '../errors.ts';
import type { BlockRun } from '../storage/block-codec.ts';
import type { Db } from '../storage/database/database.ts';
import { prepared } from '../storage/database/prepared.ts';
import { clipToSeconds, rowSecOf } from '../storage/sample-rows.ts';
import { mergeRuns } from '../storage/merge-runs.ts';
import type { OnDamaged } from './damaged-minutes.ts';
import { bucketsOf, OverviewBuckets, overviewSteps } from './overview-buckets.ts';
import type { RecentSamples } from './samples.ts';
import { breathe } from './slices.ts';
import { storedRuns } from './stored-runs.ts';
import { timestampAt } from './time-bounds.ts';

export type OverviewQuery = Readonly<{
  /** Internal number of a stream; the caller may read it. */
  streamId: number;
  /** Channel codes; null: all. */
  channels: readonly string[] | null;
  /** Unix ns: the buckets that [from, to) touches. */
  fromNs: bigint;
  toNs: bigint;
  /** The finest step to use, ms. */
  stepMinMs: number;
  /** Most buckets of a channel. */
  bucketsMax: number;
  /** Most rows of the database to read over all channels. */
  rowsMax: number;
  /** Acknowledged samples not yet stored as rows; absent: rows only. */
  recent?: RecentSamples;
}>;

export type OverviewChannel = Readonly<{
  channelNo: number;
  code: string;
  kind: ChannelKind;
  unit: string;
  lead: string;
  gain: number;
  baseline: number;
  rateNanoHz: number;
}>;

export type OverviewPlan = Readonly<{
  streamId: number;
  channels: readonly OverviewChannel[];
  /** Unix ns of the stream's zero. */
  epochNs: bigint;
  stepMs: number;
  /** Buckets [first, end). */
  first: number;
  end: number;
  /** Rows to be read, about. */
  rowCount: number;
}>;

/** Most buckets of an answer, over all channels. */
export const CELLS_MAX = 20_000;
/** Most samples decoded for an answer, over all channels: 20 to 50 ns each. */
const DECODE_SAMPLES_MAX = 2_000_000;
/** Samples decoded in one turn of the event loop. */
const SLICE_SAMPLES = 200_000;
/** Digital values up to here have an exact float4, as min and max of a row are; its flags are counted to 32,767. */
const EXACT_MAX = 2 ** 24;
const FLAG_COUNT_MAX = 32_767;

/** Chooses the finest step whose buckets and samples to decode are within the limits; null: no such channel.
 *  @throws PipelineError range_too_large when even hours are too many, or would need too many rows */
export async function planOverview(db: Db, query: OverviewQuery): Promise<OverviewPlan | null> {
  const { rows } = await db.query<{
    channel_no: number;
    code: string;
    kind: ChannelKind;
    unit: string;
    lead: string;
    gain: number;
    baseline: number;
    rate_nhz: bigint;
    epoch_ns: bigint;
  }>(
    prepared(
      `select c.channel_no, c.code, c.kind, c.unit, c.lead, c.gain, c.baseline, c.rate_nhz, s.epoch_ns
     from stream_channel c join stream s on s.id = c.stream_id
     where c.stream_id = $1 and ($2::text[] is null or c.code = any ($2)) order by c.channel_no`,
      [query.streamId, query.channels],
    ),
  );
  if (rows.length === 0) return null;
  const epochNs = rows[0]!.epoch_ns;
  const channels = rows.map(({ channel_no: channelNo, rate_nhz: rate, code, kind, unit, lead, gain, baseline }) => ({
    channelNo,
    rateNanoHz: Number(rate),
    code,
    kind,
    unit,
    lead,
    gain,
    baseline,
  }));
  const seconds = Number(query.toNs - query.fromNs) / 1e9;
  const rowCount = Math.ceil(channels.reduce((sum, { rateNanoHz }) => sum + seconds / rowSecOf(rateNanoHz) + 2, 0));
  if (rowCount > query.rowsMax)
    throw tooLarge(`It would read about ${rowCount} rows, at most ${query.rowsMax} are allowed. Ask for a shorter range.`);
  const bucketsMax = Math.min(query.bucketsMax, Math.max(1, Math.floor(CELLS_MAX / channels.length)));
  const finestMs = 2000 / Math.max(...channels.map(({ rateNanoHz }) => rateNanoHz / 1e9)); // two samples
  for (const { stepMs } of overviewSteps) {
    if (stepMs < query.stepMinMs || stepMs < finestMs) continue;
    const { first, end } = bucketsOf(query.fromNs - epochNs, query.toNs - epochNs, stepMs);
    const decoded = channels.reduce((sum, channel) => sum + samplesToDecode(channel, seconds, stepMs), 0);
    if (end - first <= bucketsMax && decoded <= DECODE_SAMPLES_MAX)
      return { streamId: query.streamId, channels, epochNs, stepMs, first, end, rowCount };
  }
  throw tooLarge(
    `It has more than ${bucketsMax} hours for each of ${channels.length} channels. Ask for a shorter range or fewer channels.`,
  );
}

const tooLarge = (why: string): PipelineError => new PipelineError('range_too_large', why);

/** About how many samples lie in rows that the edges of buckets cut. */
function samplesToDecode({ rateNanoHz }: OverviewChannel, seconds: number, stepMs: number): number {
  const rowMs = 1000 * rowSecOf(rateNanoHz);
  if (stepMs % rowMs === 0) return 0;
  const rate = rateNanoHz / 1e9;
  return Math.min(seconds, Math.ceil((1000 * seconds) / stepMs) * (rowMs / 1000)) * rate;
}

/** Reads one channel as planned. */
export async function readOverview(
  db: Db,
  plan: OverviewPlan,
  channel: OverviewChannel,
  recent: RecentSamples | undefined,
  onDamaged?: OnDamaged,
): Promise<OverviewBuckets> {
  const { first, end, stepMs, streamId, epochNs } = plan;
  const buckets = new OverviewBuckets(first, end, stepMs);
  const rowSec = rowSecOf(channel.rateNanoHz);
  const read: ChannelRead = { db, plan, channel, rowSec, buckets, onDamaged };
  const range = { fromSec: Math.floor((first * stepMs) / 1000 / rowSec) * rowSec, toSec: Math.ceil((end * stepMs) / 1000) };
  if (range.fromSec >= range.toSec) return buckets;
  // Read before the rows: samples stored in between are then found twice and merged, not missed.
  const inMemory = (await recent?.(streamId, channel.channelNo, secondNs(range.fromSec), secondNs(range.toSec))) ?? [];
  const recentRows = byRow(inMemory, channel.rateNanoHz, rowSec, range);
  const cut = stepMs < 1000 * rowSec ? rowStarts(range, rowSec) : cutRows(buckets, rowSec, range);
  const toDecode = new Set([...recentRows.keys(), ...cut]);
  if (stepMs >= 1000 * rowSec) for (const second of await addStatistics(read, epochNs, range, [...recentRows.keys()])) toDecode.add(second);
  const starts = [...toDecode].sort((a, b) => a - b);
  const perSlice = Math.max(1, Math.floor(SLICE_SAMPLES / (rowSec * (channel.rateNanoHz / 1e9))));
  for (let at = 0; at < starts.length; at += perSlice) {
    if (at > 0) await breathe();
    await addDecoded(read, starts.slice(at, at + perSlice), recentRows);
  }
  return buckets;
}

type ChannelRead = Readonly<{
  db: Db;
  plan: OverviewPlan;
  channel: OverviewChannel;
  rowSec: number;
  buckets: OverviewBuckets;
  onDamaged: OnDamaged | undefined;
}>;
/** Seconds of the device clock. */
type SecondRange = Readonly<{ fromSec: number; toSec: number }>;

const secondNs = (second: number): bigint => BigInt(second) * 1_000_000_000n;

function rowStarts({ fromSec, toSec }: SecondRange, rowSec: number): number[] {
  return Array.from({ length: Math.ceil((toSec - fromSec) / rowSec) }, (_, i) => fromSec + i * rowSec);
}

/** Starts of rows that reach from one bucket into the next. */
function cutRows({ first, n, stepMs }: OverviewBuckets, rowSec: number, { toSec }: SecondRange): number[] {
  const starts: number[] = [];
  for (let bucket = first; bucket <= first + n.length; bucket++) {
    const edgeMs = bucket * stepMs;
    const start = Math.floor(edgeMs / 1000 / rowSec) * rowSec;
    if (1000 * start < edgeMs && start < toSec) starts.push(start);
  }
  return starts;
}

/** Cuts runs where rows begin: the pieces by the second that their row begins with. */
function byRow(runs: readonly BlockRun[], rateNanoHz: number, rowSec: number, range: SecondRange): Map<number, BlockRun[]> {
  const rows = new Map<number, BlockRun[]>();
  for (const run of runs) {
    const second = (k: number): number => Math.floor((k * 1e9) / rateNanoHz / rowSec) * rowSec;
    const last = second(run.k0 + run.samples.length - 1) + rowSec; // a row more on each side, for rounding
    for (let start = Math.max(range.fromSec, second(run.k0) - rowSec); start <= last && start < range.toSec; start += rowSec) {
      const pieces = clipToSeconds([run], rateNanoHz, start, start + rowSec);
      if (pieces.length > 0) rows.set(start, [...(rows.get(start) ?? []), ...pieces]);
    }
  }
  return rows;
}

type StatisticsRow = Readonly<{
  /** Start of the bucket, s after the zero. */
  sec: number;
  exact: boolean;
  min: number | null;
  max: number | null;
  n: number;
  suspect_n: number;
  bad_n: number;
  /** Of inexact rows: the seconds that they begin with. */
  starts: number[] | null;
}>;

/** Adds the rows that lie in one bucket, except those named.  @returns the starts of rows that must be decoded, as their statistics are not
 *  exact */
async function addStatistics(
  { db, plan, channel, rowSec, buckets }: ChannelRead,
  epochNs: bigint,
  { fromSec, toSec }: SecondRange,
  except: readonly number[],
): Promise<number[]> {
  const { rows } = await db.query<StatisticsRow>(
    prepared(
      `select date_part('epoch', bucket - $3::timestamptz) as sec, exact, min(min)::float8 as min, max(max)::float8 as max,
         sum(n)::float8 as n, sum(suspect_n)::float8 as suspect_n, sum(bad_n)::float8 as bad_n,
         json_agg(date_part('epoch', start - $3::timestamptz)) filter (where not exact) as starts
       from (
         select date_bin($7::interval, time, $3::timestamptz) as bucket, start, min, max, n, suspect_n, bad_n,
           suspect_n < ${FLAG_COUNT_MAX} and bad_n < ${FLAG_COUNT_MAX} and coalesce(greatest(-min, max) <= ${EXACT_MAX}, true) as exact
         from sample_block cross join lateral (select date_bin($6::interval, time, $3::timestamptz) as start) row
         where time >= $1::timestamptz and time < $2::timestamptz and stream_id = $4 and channel_no = $5
           and date_bin($7::interval, start, $3::timestamptz) = date_bin($7::interval, start + $6::interval - interval '1 microsecond', $3::timestamptz)
           and start <> all ($8::timestamptz[])) rows
       group by bucket, exact`,
      [
        timestampAt(epochNs + secondNs(fromSec)),
        timestampAt(epochNs + secondNs(toSec)),
        timestampAt(epochNs),
        plan.streamId,
        channel.channelNo,
        `${rowSec} seconds`,
        `${plan.stepMs} milliseconds`,
        except.map((second) => timestampAt(epochNs + secondNs(second))),
      ],
    ),
  );
  const toDecode: number[] = [];
  const left = { samples: DECODE_SAMPLES_MAX / 2 / plan.channels.length };
  for (const row of rows) {
    const bucket = Math.round((row.sec * 1000) / plan.stepMs);
    if (bucket < plan.first || bucket >= plan.end) continue;
    if (row.exact || (left.samples -= row.n) < 0) buckets.addStatistics(bucket, row.min, row.max, row.n, row.suspect_n, row.bad_n);
    else toDecode.push(...row.starts!.map(Math.round));
  }
  return toDecode;
}

/** Adds the samples of the rows that begin with these seconds, stored and in memory. */
async function addDecoded(
  { db, plan: { epochNs, streamId }, channel: { channelNo, rateNanoHz }, rowSec, buckets, onDamaged }: ChannelRead,
  starts: readonly number[],
  recentRows: ReadonlyMap<number, readonly BlockRun[]>,
): Promise<void> {
  const ranges: { fromSec: number; toSec: number }[] = [];
  for (const start of starts) {
    if (ranges.at(-1)?.toSec === start) ranges.at(-1)!.toSec += rowSec;
    else ranges.push({ fromSec: start, toSec: start + rowSec });
  }
  const timeOf = (second: number): string => timestampAt(epochNs + secondNs(second));
  // In base64, because a bytea comes as hex. The whole range is also given as constants, which excludes partitions.
  const { rows } = await db.query<{ lengths: number[]; codecs: string }>(
    prepared(
      `select array_to_json(array_agg(octet_length(codec))) as lengths, encode(string_agg(codec, ''), 'base64') as codecs
       from unnest($1::timestamptz[], $2::timestamptz[]) as r (since, until)
       cross join lateral (
         select codec from sample_block
         where time >= r.since and time < r.until and time >= $3::timestamptz and time < $4::timestamptz
           and stream_id = $5 and channel_no = $6 offset 0) b
       having count(*) > 0`,
      [
        ranges.map(({ fromSec }) => timeOf(fromSec)),
        ranges.map(({ toSec }) => timeOf(toSec)),
        timeOf(ranges[0]!.fromSec),
        timeOf(ranges.at(-1)!.toSec),
        streamId,
        channelNo,
      ],
    ),
  );
  const stored = rows[0] === undefined ? [] : storedRuns(rows[0], { streamId, channelNo }, onDamaged);
  const runs = [...stored, ...starts.flatMap((start) => recentRows.get(start) ?? [])].sort((a, b) => a.k0 - b.k0);
  for (const run of mergeRuns(runs)) buckets.addRun(run, rateNanoHz);
}
