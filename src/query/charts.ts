/** Chart data: one value and one flag per bucket and series, from the coarsest source that is fine enough.
 *
 *  A feature's bucket of at least a minute is answered from feature_1m, feature_1h or feature_1d, a waveform's from the summaries of its
 *  stored seconds: how many samples lie behind a chart does not matter. A bucket is good (0) when at least half of its values are, and then
 *  its value is that of the good ones alone; suspect (1) when enough are usable at the quality asked for; else it has no value (2). */
import type { Db } from '../auth/api-keys.ts';

export const chartAggs = ['mean', 'min', 'max', 'sum', 'count', 'first', 'last', 'minmax'] as const;
export type ChartAgg = (typeof chartAggs)[number];
/** Bucket widths, seconds. */
export const resolutions = {
  '1s': 1,
  '5s': 5,
  '10s': 10,
  '30s': 30,
  '1m': 60,
  '5m': 300,
  '15m': 900,
  '1h': 3600,
  '6h': 21_600,
  '1d': 86_400,
  '7d': 604_800,
} as const;
export type Resolution = keyof typeof resolutions;

export type ChartSource = Readonly<
  { kind: 'feature'; feature: string } | { kind: 'waveform'; channelKind: string } | { kind: 'measurement'; biosignalId: number }
>;

export type ChartQuery = Readonly<{
  subjectId: string;
  fromMs: number;
  toMs: number;
  resolution: Resolution;
  /** IANA time zone in which a day begins. */
  timeZone: string;
  qualityMax: number;
}>;

export type ChartBucket = Readonly<{ tMs: number; value: number | null; flag: 0 | 1 | 2 }>;

/** The finest resolution that needs at most `pointsMax` buckets, not finer than `wanted`. */
export function chooseResolution(rangeMs: number, pointsMax: number, wanted: Resolution | null): Resolution {
  const names = Object.keys(resolutions) as Resolution[];
  const least = wanted === null ? 1 : resolutions[wanted];
  // A range that starts inside a bucket touches one more.
  const fits = names.find((name) => resolutions[name] >= least && Math.ceil(rangeMs / 1000 / resolutions[name]) + 1 <= pointsMax);
  return fits ?? '7d';
}

/** Start of a bucket in SQL. Days and weeks begin at midnight of the time zone, everything shorter on the UTC grid. */
function bucketSql(resolution: Resolution, column: string): string {
  if (resolution === '1d') return `date_trunc('day', ${column}, $5)`;
  if (resolution === '7d') return `date_trunc('week', ${column}, $5)`;
  return `date_bin(interval '${resolutions[resolution]} seconds', ${column}, timestamptz '2001-01-01 00:00:00+00')`;
}

/** First bucket that touches the range. */
function fromSql(resolution: Resolution): string {
  return bucketSql(resolution, '$2::timestamptz');
}

/** Reads one series. Buckets without any value are absent. */
export async function readChart(
  db: Db,
  source: ChartSource,
  agg: Exclude<ChartAgg, 'minmax'>,
  query: ChartQuery,
): Promise<readonly ChartBucket[]> {
  const { name, sql } = sourceSql(source, query);
  const { rows } = await db.query<{ t: number; value: number | null; flag: 0 | 1 | 2 }>(
    `with cell as (${sql}), bucket as (
       select ${bucketSql(query.resolution, 'at')} as b, sum(n) as n, coalesce(sum(good_n), 0) as good_n, coalesce(sum(suspect_n), 0) as suspect_n,
         ${aggregateSql(agg, 'good')} as good, ${aggregateSql(agg, 'usable')} as usable, ${aggregateSql(agg, 'every')} as every
       from cell group by 1
     )
     select (extract(epoch from b) * 1000)::float8 as t,
       (case when good_n * 2 >= n and good_n > 0 then good when $4 >= 2 then every
             when $4 = 1 and good_n + suspect_n > 0 then usable when good_n > 0 then good end)::float8 as value,
       case when good_n * 2 >= n and good_n > 0 then 0 when good_n + case when $4 >= 1 then suspect_n else 0 end > 0 then 1 else 2 end as flag
     from bucket where $5::text is not null order by b`,
    [query.subjectId, new Date(query.fromMs).toISOString(), new Date(query.toMs).toISOString(), query.qualityMax, query.timeZone, name],
  );
  return rows.map((row) => ({ tMs: row.t, value: row.value, flag: row.flag }));
}

type Cells = Readonly<{ name: string | number; sql: string }>;

/** Cells of a source: at, n, good_n, suspect_n and, for good values, suspect ones and all: sum, min, max, first, last. */
function sourceSql(source: ChartSource, query: ChartQuery): Cells {
  switch (source.kind) {
    case 'feature':
      return { name: source.feature, sql: featureSql(query) };
    case 'waveform':
      return { name: source.channelKind, sql: waveformSql(query) };
    case 'measurement':
      return { name: source.biosignalId, sql: measurementSql(query) };
    default: {
      const never: never = source;
      throw new Error(`chart source ${String(never)}`);
    }
  }
}

function featureSql(query: ChartQuery): string {
  const sec = resolutions[query.resolution];
  // A day in a zone whose offset is not whole hours begins inside an hour.
  const relation =
    sec >= 86_400 && wholeHours(query) ? 'feature_1h' : sec >= 3600 && sec < 86_400 ? 'feature_1h' : sec >= 60 ? 'feature_1m' : null;
  const which = `from stream s
      cross join (select id from method where kind = 'feature' and name = $6 order by id desc limit 1) m`;
  if (relation === null) {
    return `select f.time as at, 1 as n, (f.qmask = 0 and f.value is not null)::integer as good_n,
        (f.qmask = 1 and f.value is not null)::integer as suspect_n, (f.value is not null)::integer as every_n,
        ${['good', 'suspect', 'every'].map((kind) => valueCells(kind, 'f.value', 'f.qmask')).join(', ')}
      ${which} join feature f on f.stream_id = s.id and f.method_id = m.id
      where s.xuser_id = $1 and f.time >= ${fromSql(query.resolution)} and f.time < $3::timestamptz`;
  }
  return `select f.bucket as at, f.n, f.good_n, f.suspect_n, f.value_n as every_n,
      f.good_sum::float8 as good_sum, f.good_min, f.good_max, f.good_first, f.good_last,
      f.suspect_sum::float8 as suspect_sum, f.suspect_min, f.suspect_max, null::float8 as suspect_first, null::float8 as suspect_last,
      f.sum::float8 as every_sum, f.min as every_min, f.max as every_max, f.first as every_first, f.last as every_last
    ${which} join ${relation} f on f.stream_id = s.id and f.method_id = m.id
    where s.xuser_id = $1 and f.bucket >= ${fromSql(query.resolution)} and f.bucket < $3::timestamptz`;
}

/** Seconds of the first channel of the kind in each stream, in physical units. Summaries leave bad samples out already. */
function waveformSql(query: ChartQuery): string {
  const physical = (column: string): string => `((b.${column} - c.baseline) / c.gain)`;
  const mean = `(${physical('mean')} * (b.n - b.bad_n))`;
  const cells = ['good', 'suspect', 'every']
    .map((kind) =>
      kind === 'suspect'
        ? `null::float8 as suspect_sum, null::float8 as suspect_min, null::float8 as suspect_max, null::float8 as suspect_first, null::float8 as suspect_last`
        : `${mean} as ${kind}_sum, least(${physical('min')}, ${physical('max')}) as ${kind}_min, greatest(${physical('min')}, ${physical('max')}) as ${kind}_max,
           ${physical('mean')} as ${kind}_first, ${physical('mean')} as ${kind}_last`,
    )
    .join(', ');
  return `select b.time as at, b.n, b.n - b.bad_n - b.suspect_n as good_n, b.suspect_n::integer as suspect_n, b.n - b.bad_n as every_n, ${cells}
    from stream s
    cross join lateral (
      select first.channel_no, first.gain, first.baseline from stream_channel first
      where first.stream_id = s.id and first.code = (
        select min(code) from stream_channel where stream_id = s.id and kind = $6
      )
    ) c
    join sample_block b on b.stream_id = s.id and b.channel_no = c.channel_no
    where s.xuser_id = $1 and b.time >= ${fromSql(query.resolution)} and b.time < $3::timestamptz`;
}

function measurementSql(query: ChartQuery): string {
  return `select f.time as at, 1 as n, (f.qmask = 0)::integer as good_n, (f.qmask = 1)::integer as suspect_n, 1 as every_n,
      ${['good', 'suspect', 'every'].map((kind) => valueCells(kind, 'f.value', 'f.qmask')).join(', ')}
    from measurement f
    where f.xuser_id = $1 and f.biosignal_id = $6::integer and f.time >= ${fromSql(query.resolution)} and f.time < $3::timestamptz`;
}

function valueCells(kind: string, value: string, qmask: string): string {
  const when = kind === 'every' ? value : `case when ${qmask} = ${kind === 'good' ? 0 : 1} then ${value} end`;
  return ['sum', 'min', 'max', 'first', 'last'].map((part) => `${when} as ${kind}_${part}`).join(', ');
}

/** The aggregate of a bucket over its good, its usable (good and suspect) or all its values. */
function aggregateSql(agg: Exclude<ChartAgg, 'minmax'>, kind: 'good' | 'usable' | 'every'): string {
  const parts = kind === 'usable' ? ['good', 'suspect'] : [kind];
  const total = (part: string): string => parts.map((item) => `coalesce(sum(${item}_${part}), 0)`).join(' + ');
  const edge = (direction: string): string => {
    const column = kind === 'usable' ? `coalesce(good_${agg}, suspect_${agg})` : `${kind}_${agg}`;
    return `(array_agg(${column} order by at ${direction}) filter (where ${column} is not null))[1]`;
  };
  switch (agg) {
    case 'mean':
      return `(${total('sum')}) / nullif(${total('n')}, 0)`;
    case 'sum':
      return total('sum');
    case 'count':
      return total('n');
    case 'min':
      return `least(${parts.map((item) => `min(${item}_min)`).join(', ')})`;
    case 'max':
      return `greatest(${parts.map((item) => `max(${item}_max)`).join(', ')})`;
    case 'first':
      return edge('asc');
    case 'last':
      return edge('desc');
    default: {
      const never: never = agg;
      throw new Error(`chart aggregate ${String(never)}`);
    }
  }
}

/** Is the zone a whole number of hours from UTC at both ends of the range? */
function wholeHours(query: ChartQuery): boolean {
  const format = new Intl.DateTimeFormat('en', { timeZone: query.timeZone, minute: '2-digit' });
  return [query.fromMs, query.toMs].every((ms) => Number(format.format(ms - (ms % 3_600_000))) === 0);
}
