/** Finds the sources of a chart: the user's streams that overlap its range, and the methods with values of its features there. */
import type { Db } from '../storage/database/database.ts';
import { prepared } from '../storage/database/prepared.ts';
import { newestFirst } from '../storage/newest-method.ts';
import type { ChartQuery, ChartSeries } from './chart.ts';
import { timestampAfter, timestampAt } from './time-bounds.ts';

type Method = Readonly<{ id: number; name: string; code: string; unit: string; cadenceHz: number | null }>;
export type ChartSources = Readonly<{
  /** In the order in which they were recorded. */
  streamIds: number[];
  /** When each was begun, Unix ms. */
  startMsOf: ReadonlyMap<number, number>;
  /** Seconds of the range in which each stream may have samples. */
  secondsOf: ReadonlyMap<number, number>;
  methods: readonly Method[];
}>;

/** One statement for all series. `offset 0` forces one probe per method; through the views of schema api the planner would otherwise choose
 *  a join that reads every row of the range. */
export async function chartSources(db: Db, query: ChartQuery): Promise<ChartSources> {
  const names = query.series.flatMap((series) => (series.kind === 'feature' ? [series.feature] : []));
  const { rows } = await db.query<{ ids: number[] | null; starts: number[] | null; seconds: number[] | null; methods: Method[] | null }>(
    prepared(
      `with own as (
         select array_agg(id order by begun_at, id) as ids,
           array_agg((extract(epoch from begun_at) * 1000)::float8 order by begun_at, id) as starts,
           array_agg(greatest(0, extract(epoch from
             least(coalesce(ended_at, last_sample_at, 'infinity'), $4::timestamptz) - greatest(to_timestamp(epoch_ns / 1e9::float8), $3::timestamptz)))::float8
             order by begun_at, id) as seconds
         from stream cross join lateral (select coalesce(recorded_from, to_timestamp(epoch_ns / 1e9::float8)) as begun_at) b
         where organization_id = $1 and xuser_id = $2
         and coalesce(recorded_from, '-infinity') < $4::timestamptz + interval '1 day' and coalesce(ended_at, last_sample_at, 'infinity') >= $3::timestamptz - interval '1 day')
       select own.ids, own.starts, own.seconds, (
         select json_agg(json_build_object('id', m.id, 'name', m.name, 'code', m.code, 'unit', m.unit, 'cadenceHz', m.cadence_hz) order by ${newestFirst('m')})
         from method m
         where m.kind = 'feature' and m.name = any ($5::text[]) and has_feature(own.ids, m.id, $3::timestamptz, $4::timestamptz)) as methods
       from own`,
      [query.orgId, query.subjectId, timestampAt(query.fromNs), timestampAfter(query.toNs), [...new Set(names)]],
    ),
  );
  const { ids, starts, seconds, methods } = rows[0]!;
  const streamIds = ids ?? [];
  const byStream = (values: readonly number[] | null): Map<number, number> => new Map(streamIds.map((id, i) => [id, values?.[i] ?? 0]));
  return { streamIds, startMsOf: byStream(starts), secondsOf: byStream(seconds), methods: methods ?? [] };
}

/** The versions with values in the range, the newest first, or the requested one. A version of another unit than the newest is left out. */
export function methodsOf(series: Extract<ChartSeries, { kind: 'feature' }>, methods: readonly Method[]): readonly Method[] {
  const found = methods.filter(({ name, code }) => name === series.feature && (series.methodCode === null || series.methodCode === code));
  return found.filter(({ unit }) => unit === found[0]!.unit);
}
