/** The values that decide whether a stretch of a rule begins, goes on or breaks off, read for rounds and for trials. */
import type { Db } from '../storage/database/database.ts';
import { newestFirst } from '../storage/newest-method.ts';
import type { EpisodeRule } from './episode-rule.ts';

export type Values = Readonly<{ t: readonly number[]; v: readonly number[] }>;

/** Share of the trusted feature's values within a minute that must be good. */
const GOOD_SHARE_MIN = 0.8;

/** Values of [fromMs, toMs) in the minutes that have one beyond the looser bound, ascending in time. A minute without one has a gap of more
 *  than a minute around it, which says the same of it (stretches.ts).
 *  @param toMs Infinity: to the newest */
export async function valuesBeyond(
  db: Db,
  rule: EpisodeRule,
  methodId: number,
  streamId: number,
  fromMs: number,
  toMs: number,
): Promise<Values> {
  const { above, below, endBound } = rule;
  // SQL: values are unpacked by functions of the schema, run of minutes by run of minutes.
  const { rows } = await db.query<{ t: number[] | null; v: number[] | null }>(
    `with range as materialized (select to_timestamp($3::float8 / 1000) as low, to_timestamp($4::float8 / 1000) as high),
     minutes as materialized (
       select distinct f.bucket from range g, feature_1m f
       where f.stream_id = $1 and f.method_id = $2 and f.bucket > g.low - interval '1 minute' and f.bucket < g.high
         and (f.max >= $5 or f.min <= $6)),
     runs as materialized (
       select min(bucket) as low, max(bucket) + interval '1 minute' as high
       from (select bucket, bucket - row_number() over (order by bucket) * interval '1 minute' as run from minutes) m group by run),
     trusted as materialized (
       select h.time, h.qmask from runs r cross join lateral feature_values(r.low - interval '1 minute', r.high) h
       where $8::text is not null and h.stream_id = $1
         and h.method_id = (select m.id from method m where m.kind = 'feature' and m.name = $8 order by ${newestFirst('m')} limit 1))
     select array_agg((extract(epoch from f.time) * 1000)::float8 order by f.time) as t, array_agg(f.value order by f.time) as v
     from range g cross join runs r cross join lateral feature_values(greatest(r.low, g.low), least(r.high, g.high)) f
     where f.stream_id = $1 and f.method_id = $2 and f.qmask <= $7 and f.value is not null
       and ($8::text is null or not coalesce(f.value > $5 or f.value < $6, false) or (
         select count(*) filter (where h.qmask = 0) >= ${GOOD_SHARE_MIN} * count(*) from trusted h
         where h.time > f.time - interval '1 minute' and h.time <= f.time))`,
    [
      streamId,
      methodId,
      fromMs,
      toMs,
      above === undefined ? null : (endBound ?? above),
      below === undefined ? null : (endBound ?? below),
      rule.qualityMax ?? 0,
      rule.trusted ?? null,
    ],
  );
  return { t: rows[0]?.t ?? [], v: rows[0]?.v ?? [] };
}
