/** Finds where to resume the computation of a stream after an interruption. */
import { isRejected } from '../errors.ts';
import { gridTimeNs, type StreamId } from '../signal.ts';
import { decodeBlock } from './block-codec.ts';
import type { Database } from './database/database.ts';

/** Rows before the last one stored that are computed again: detectors look ahead, and the newest rows were not final. */
const AGAIN_NS = 128_000_000_000n;

export type ResumePoint = Readonly<{ fromNs: bigint; toNs: bigint; rowsToNs: bigint }>;

/** @param streams with the epochNs of each
 *  @returns for each, device ns: compute again from fromNs; samples are stored up to toNs, rows up to rowsToNs. null when nothing is
 *  stored. Rows may be stored before the samples they were computed from */
export async function resumePoints(
  database: Database,
  streams: readonly Readonly<{ streamId: StreamId; epochNs: bigint }>[],
): Promise<readonly (ResumePoint | null)[]> {
  // Newest first by the primary keys: one index probe per channel and partition.
  const { rows } = await database.pool.query<{
    codecs: Buffer[];
    starts: string[];
    counts: number[];
    rates: string[];
    feature_ns: bigint | null;
    beat_ns: bigint | null;
  }>(
    `select newest.codecs, newest.starts, newest.counts, newest.rates,
       newest_feature_ns(asked.id) as feature_ns,
       newest_beat_ns(asked.id) as beat_ns
     from unnest($1::int[]) with ordinality as asked (id, i)
     cross join lateral (
       select coalesce(array_agg(last.codec), '{}') as codecs, coalesce(array_agg(last.start_ns), '{}') as starts,
         coalesce(array_agg(last.n), '{}') as counts, coalesce(array_agg(c.rate_nhz), '{}') as rates
       from stream_channel c cross join lateral (
         select b.codec, b.start_ns, b.n from sample_block b
         where b.stream_id = c.stream_id and b.channel_no = c.channel_no order by b.time desc limit 1) last
       where c.stream_id = asked.id) newest
     order by i`,
    [streams.map(({ streamId }) => streamId)],
  );
  return rows.map((row, i) => {
    const { epochNs } = streams[i]!;
    const doneNs = [row.feature_ns, row.beat_ns].reduce(
      (newest, ns) => (newest === null || (ns !== null && ns > newest) ? ns : newest),
      null,
    );
    if (row.codecs.length === 0 && doneNs === null) return null;
    const toNs = row.codecs
      .map(
        (codec, c) =>
          endOf(codec, Number(row.rates[c])) ?? BigInt(row.starts[c]!) - epochNs + gridTimeNs(row.counts[c]!, Number(row.rates[c])),
      )
      .reduce((newest, ns) => (ns > newest ? ns : newest), 0n);
    const rowsToNs = doneNs === null ? 0n : doneNs - epochNs;
    const fromNs = rowsToNs - AGAIN_NS;
    return { fromNs: fromNs > 0n ? fromNs : 0n, toNs, rowsToNs: rowsToNs > 0n ? rowsToNs : 0n };
  });
}

/** End of a row, device ns, by its samples, since it may have gaps; null when they cannot be read. */
function endOf(codec: Uint8Array, rateNanoHz: number): bigint | null {
  const runs = decodeBlock(codec);
  return isRejected(runs) ? null : gridTimeNs(Math.max(...runs.map((run) => run.k0 + run.samples.length)), rateNanoHz);
}

/** Streams of one statement, which has 30 s: their newest values are looked up one by one, in every partition where there are none. */
const STREAMS_AT_ONCE = 100;

/** Streams whose last values were not computed when the service ended: their newest value, or the newest beat of one of their detectors, is
 *  older than their newest sample by more than a detector looks ahead, or they have none. If the device never returns, nothing else would
 *  compute them. Values alone are not enough, because heart rates are emitted seconds before the last beats.
 *  @param sinceHours streams with a packet within this time before the newest of all
 *  @param mustGoOn throws when the start is given up */
export async function unfinishedStreams(database: Database, sinceHours: number, mustGoOn: () => void): Promise<readonly StreamId[]> {
  const recent = await database.pool.query<{ id: number }>(
    `select id from stream where last_packet_at > (select max(last_packet_at) from stream) - $1 * interval '1 hour' order by id`,
    [sinceHours],
  );
  const ids = recent.rows.map((row) => row.id);
  const unfinished: StreamId[] = [];
  for (let i = 0; i < ids.length; i += STREAMS_AT_ONCE) {
    mustGoOn();
    const { rows } = await database.pool.query<{ id: number }>(
      `select s.id from stream s
       cross join lateral (
         select least(
           to_timestamp(newest_feature_ns(s.id) / 1e9::float8),
           (select to_timestamp(min(newest_beat_ns(s.id, m.id)) / 1e9::float8) from method m where m.kind = 'beat')) as at) done
       where s.id = any($1::int[]) and coalesce(done.at, '-infinity') < s.last_sample_at - interval '3 seconds'`,
      [ids.slice(i, i + STREAMS_AT_ONCE)],
    );
    for (const row of rows) unfinished.push(row.id as StreamId);
  }
  return unfinished;
}
