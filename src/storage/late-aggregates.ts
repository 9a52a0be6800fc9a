/** Late values in TimescaleDB's continuous aggregates.
 *
 *  Above its watermark an aggregate is computed from the rows when it is asked; below it, what was kept is the answer until a refresh. Its
 *  policies come by every minute (1 m), ten minutes (1 h) and hour (1 d), so rows that came late, were replaced or deleted would be missing,
 *  old or still there for so long. TimescaleDB notes the times that any transaction touched below the watermark; these notes are looked at
 *  every second, and what they name is refreshed at once, the finest aggregate first, whose refresh leaves notes for the next. Whoever
 *  wrote the rows: this service, another one, a command. What is not noted costs nothing. The policies remain for what this leaves. */
import type { Database } from './database.ts';
import { waitLong } from './database.ts';

/** As in sql/000010-columnstore.sql: a bucket is kept when it ended so long ago. Kept earlier, rows that still come would be late to it. */
const aggregates = [
  { name: 'feature_1m', bucketMs: 60_000, behindMs: 120_000 },
  { name: 'feature_1h', bucketMs: 3_600_000, behindMs: 3_600_000 },
  { name: 'feature_1d', bucketMs: 86_400_000, behindMs: 86_400_000 },
] as const;

/** Notes of one look. */
const NOTES_MAX = 1000;

type Range = Readonly<{ fromMs: number; toMs: number }>;

/** Refreshes what was touched below the watermarks, until nothing is noted. @returns how many ranges */
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
      // A policy, or another service, is refreshing a part of the range; what it leaves is still noted at the next look.
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
     order by 1 limit ${NOTES_MAX}`,
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
