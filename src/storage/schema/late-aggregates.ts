/** Late values in TimescaleDB's continuous aggregates.
 *
 *  Above its watermark an aggregate is computed from the rows when it is asked; below it, the answer is what the last refresh stored. The
 *  refresh policies run every minute (1 m), ten minutes (1 h) and hour (1 d), so rows that are late, replaced or deleted would show that
 *  much later. TimescaleDB logs the times that any transaction touched below the watermark (its hypertable invalidation log). This reads
 *  the log every second and refreshes the ranges in it, the finest aggregate first; its refresh logs ranges for the next. It covers every
 *  writer: this service, another node, a command. An empty log costs one millisecond. The policies remain as a safety net. */
import type { Database } from '../database/database.ts';
import { waitLong } from '../database/database.ts';

/** behindMs as end_offset in sql/000012-rollups-continuous.sql: refreshing younger buckets would move the watermark past rows still to
 *  come. */
const aggregates = [
  { name: 'feature_1m', bucketMs: 60_000, behindMs: 120_000 },
  { name: 'feature_1h', bucketMs: 3_600_000, behindMs: 3_600_000 },
  { name: 'feature_1d', bucketMs: 86_400_000, behindMs: 86_400_000 },
] as const;

/** Log entries per look. */
const ENTRIES_MAX = 1000;

type Range = Readonly<{ fromMs: number; toMs: number }>;

/** Refreshes what was touched below the watermarks. @returns number of ranges refreshed */
export async function refreshLate(database: Database): Promise<number> {
  let refreshed = 0;
  for (const aggregate of aggregates) {
    const ranges = await touchedRanges(database, aggregate);
    if (ranges.length === 0) continue;
    const client = await database.pool.connect();
    const waitAsBefore = waitLong(client);
    try {
      await client.query('set statement_timeout = 0');
      for (const { fromMs, toMs } of ranges) {
        await client.query(`call refresh_continuous_aggregate('${aggregate.name}', $1::timestamptz, $2::timestamptz)`, [
          new Date(fromMs),
          new Date(toMs),
        ]);
        refreshed += 1;
      }
      await client.query('reset statement_timeout');
      waitAsBefore();
      client.release();
    } catch (error) {
      client.release(true);
      // A policy, or another service, is refreshing a part of the range; what it leaves is still in the log at the next look.
      if ((error as { code?: unknown }).code !== '55P03') throw error;
    }
  }
  return refreshed;
}

/** Whole buckets with touched rows, ascending and apart. */
async function touchedRanges(database: Database, { name, bucketMs, behindMs }: (typeof aggregates)[number]): Promise<readonly Range[]> {
  const { rows } = await database.pool.query<{ low: number; high: number; now: number }>(
    `select l.lowest_modified_value / 1000.0::float8 as low, l.greatest_modified_value / 1000.0::float8 as high,
       date_part('epoch', now()) * 1000 as now
     from _timescaledb_catalog.continuous_agg a
     join _timescaledb_catalog.continuous_aggs_hypertable_invalidation_log l on l.hypertable_id = a.raw_hypertable_id
     where a.user_view_schema = 'public' and a.user_view_name = $1
     order by 1 limit ${ENTRIES_MAX}`,
    [name],
  );
  const ranges: { fromMs: number; toMs: number }[] = [];
  for (const { low, high, now } of rows) {
    const fromMs = Math.floor(low / bucketMs) * bucketMs;
    const toMs = Math.min(Math.floor(high / bucketMs) + 1, Math.floor((now - behindMs) / bucketMs)) * bucketMs;
    const last = ranges.at(-1);
    if (last !== undefined && fromMs <= last.toMs) last.toMs = Math.max(last.toMs, toMs);
    else if (fromMs < toMs) ranges.push({ fromMs, toMs });
  }
  return ranges;
}
