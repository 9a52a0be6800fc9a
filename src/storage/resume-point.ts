/** Where the computation of a stream goes on after it was interrupted. */
import type { StreamId } from '../signal.ts';
import type { Database } from './database.ts';

/** Rows before the last one stored that are computed again: detectors look ahead, and the newest rows were not final. */
const AGAIN_NS = 128_000_000_000n;

/** @param epochNs of the stream
 *  @returns device ns: computed again from fromNs, samples are stored up to toNs; null when nothing is stored */
export async function resumePoint(
  database: Database,
  streamId: StreamId,
  epochNs: bigint,
): Promise<Readonly<{ fromNs: bigint; toNs: bigint }> | null> {
  // Newest first by the primary keys: one index probe per channel and partition.
  const { rows } = await database.pool.query<{ sample_ns: bigint | null; feature_ns: bigint | null; beat_ns: bigint | null }>(
    `select
       (select max(last.ns) from stream_channel c cross join lateral (
          select b.start_ns + (b.n * 1e18 / c.rate_nhz)::bigint as ns from sample_block b
          where b.stream_id = c.stream_id and b.channel_no = c.channel_no order by b.time desc limit 1) last
        where c.stream_id = $1) as sample_ns,
       (select max(ts_ns) from feature where stream_id = $1) as feature_ns,
       (select max(ts_ns) from beat where stream_id = $1) as beat_ns`,
    [streamId],
  );
  const row = rows[0];
  if (row === undefined || row.sample_ns === null) return null;
  const doneNs = [row.feature_ns, row.beat_ns].reduce<bigint>((newest, ns) => (ns !== null && ns > newest ? ns : newest), 0n);
  const fromNs = doneNs - epochNs - AGAIN_NS;
  return { fromNs: fromNs > 0n ? fromNs : 0n, toNs: row.sample_ns - epochNs };
}
