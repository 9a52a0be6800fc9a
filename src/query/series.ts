/** Reads long series as columns, so that 100,000 values need no 100,000 objects. Minutes come packed, as they are stored, as many as a page
 *  probably needs, and are unpacked here. */
import type { Buffer } from 'node:buffer';
import type { Db } from '../storage/database/database.ts';
import { prepared } from '../storage/database/prepared.ts';
import { newestFirst } from '../storage/newest-method.ts';
import type { OnDamaged } from './damaged-minutes.ts';
import { BeatPage, FeaturePage, type BeatColumns, type FeatureColumns, type Range } from './series-pages.ts';
import { breathe } from './slices.ts';
import { timestampAt } from './time-bounds.ts';

export type SeriesFilter = Readonly<{
  streamId: number;
  names: readonly string[] | null;
  methodCode: string | null;
  /** [since, until), RFC 3339 or null. */
  since: string | null;
  until: string | null;
  qualityMax: number;
  /** Most values per second: each interval of 1/cadence gives its best flagged, then latest, value. null: all values. */
  cadenceHz: number | null;
  /** Values per series. */
  limit: number;
  /** Absent: a damaged minute is an error. */
  onDamaged?: OnDamaged;
}>;

export type FeatureSeries = Readonly<{
  name: string;
  methodCode: string;
  /** UCUM. */
  unit: string;
  cadenceHz: number;
}> &
  FeatureColumns;

/** [$4, $5), as microseconds: where a time of a value is compared with them. */
const inRange = (ns: string): string =>
  `timestamptz 'epoch' + ${ns} / 1000 * interval '1 microsecond' >= $4::timestamptz and timestamptz 'epoch' + ${ns} / 1000 * interval '1 microsecond' < $5::timestamptz`;
/** Minutes of which values may be in the range. */
const touched = (time: string): string => `${time} > $4::timestamptz - interval '1 minute' and ${time} < $5::timestamptz`;
/** Most minutes of one answer: what the estimate says is a guess, and may be far off. */
const MINUTES_MAX = 20_000;
/** How much more is asked for when a page was not full with what came. */
const PAGE_GROWTH = 8;

/** The range as PostgreSQL reads it. */
const bounds = `case when isfinite($4::timestamptz) then (extract(epoch from $4::timestamptz) * 1000000)::float8 end as from_us,
    case when isfinite($5::timestamptz) then (extract(epoch from $5::timestamptz) * 1000000)::float8 end as to_us`;

const features = `
  with channel as (
    select -1::smallint as channel_no union all select channel_no from stream_channel where stream_id = $1
  ), open as materialized (
    select d.* from derived_open o cross join lateral open_minutes(o.data) d where o.stream_id = $1 and not d.is_beat and ${touched('d.time')}
  ), source as (
    select distinct on (m.name) m.id, m.name, m.code, m.unit, steps_per_unit(m.step) as per_unit, m.cadence_hz, c.channel_no,
      least(${MINUTES_MAX}, 2 + ceil($6::float8 / (60 * coalesce(m.cadence_hz, 1 / 60.0))))::bigint as minutes_max
    from method m cross join channel c
    where m.kind = 'feature' and ($2::text[] is null or m.name = any($2)) and ($3::text is null or m.code = $3)
      and ($7::smallint is null or m.id = $7 and c.channel_no = $8::smallint)
      and (exists ( -- one probe each, see chart-sources.ts
          select from feature_block b where b.stream_id = $1 and b.method_id = m.id and b.channel_no = c.channel_no
            and b.time >= $4::timestamptz and b.time <= $5::timestamptz - interval '1 minute'
          offset 0)
        or exists (
          select from feature_block b cross join lateral feature_points(b.time, b.n, coalesce(b.min, b.sum), b.codec) p
          where b.stream_id = $1 and b.method_id = m.id and b.channel_no = c.channel_no and ${touched('b.time')} and ${inRange('p.ts_ns')}
          offset 0)
        or exists (
          select from open d cross join lateral feature_points(d.time, d.n, d.base, d.codec) p
          where d.method_id = m.id and d.channel_no = c.channel_no and ${inRange('p.ts_ns')}))
    order by m.name, ${newestFirst('m')}, c.channel_no
  )
  select s.id, s.channel_no, s.name, s.code, s.unit, s.per_unit, s.cadence_hz, ${bounds}, v.*
  from source s cross join lateral (
    select string_agg(packed_minute(x.time, x.n, x.base, x.codec), '') as minutes, count(*) >= s.minutes_max as is_cut
    from (
      select * from (
        (select b.time, b.n::integer, coalesce(b.min, b.sum) as base, b.codec from feature_block b
         where b.stream_id = $1 and b.method_id = s.id and b.channel_no = s.channel_no and ${touched('b.time')}
         order by b.time limit s.minutes_max)
        union all
        select d.time, d.n, d.base, d.codec from open d where d.method_id = s.id and d.channel_no = s.channel_no) y
      order by y.time limit s.minutes_max) x
  ) v
  order by s.name`;

type MinuteRow = Range &
  Readonly<{
    id: number;
    channel_no: number;
    code: string;
    minutes: Buffer;
    /** There may be more minutes than came. */
    is_cut: boolean;
  }>;
type FeatureRow = MinuteRow & Readonly<{ name: string; unit: string; per_unit: number; cadence_hz: number | null }>;

/** Fills a page with the minutes that came, and asks for more of this series while there are some and it is not full. */
async function fill<Row extends MinuteRow>(
  page: FeaturePage | BeatPage,
  first: Row,
  limit: number,
  askFurther: (from: string, wanted: number) => Promise<readonly Row[]>,
): Promise<void> {
  let wanted = limit;
  for (let part: Row | undefined = first; part !== undefined && !page.add(part.minutes) && part.is_cut;) {
    wanted *= PAGE_GROWTH;
    [part] = await askFurther(timestampAt(BigInt(page.nextMinute) * NS_PER_MINUTE), wanted);
  }
}
const NS_PER_MINUTE = 60_000_000_000n;

/** Reads features of a stream, one series per name: from the newest method with values, unless one is named; for the whole stream, or its
 *  first channel. Values that could not be computed are left out; the columns stay parallel. */
export async function readFeatureSeries(db: Db, filter: SeriesFilter): Promise<readonly FeatureSeries[]> {
  const { streamId, names, methodCode, since, until, cadenceHz, limit } = filter;
  const ask = async (from: string, wanted: number, one: FeatureRow | null): Promise<readonly FeatureRow[]> => {
    const values = [streamId, names, methodCode, from, until ?? 'infinity', wanted, one?.id ?? null, one?.channel_no ?? null];
    return (await db.query<FeatureRow>(prepared(features, values))).rows;
  };
  // With a cadence a value stands for several.
  const found = await ask(since ?? '-infinity', cadenceHz === null ? limit : PAGE_GROWTH * limit, null);
  const series: FeatureSeries[] = [];
  for (const row of found) {
    await breathe();
    const page = new FeaturePage(filter, row.per_unit, row);
    await fill(page, row, limit, (from, wanted) => ask(from, wanted, row));
    series.push({
      name: row.name,
      methodCode: row.code,
      unit: row.unit,
      cadenceHz: cadenceHz === null ? (row.cadence_hz ?? 0) : Math.min(cadenceHz, row.cadence_hz ?? cadenceHz),
      ...page.columns(),
    });
  }
  return series;
}

export type BeatFilter = Readonly<{
  streamId: number;
  channelCode: string | null;
  methodCode: string | null;
  since: string | null;
  until: string | null;
  limit: number;
  onDamaged?: OnDamaged;
}>;

export type BeatSeries = Readonly<{ methodCode: string; channelCode: string }> & BeatColumns;

/** Beats a minute, as the estimate of how many minutes a page needs. */
const BEATS_OF_MINUTE = 40;

const beats = `
  with open as materialized (
    select d.* from derived_open o cross join lateral open_minutes(o.data) d where o.stream_id = $1 and d.is_beat and ${touched('d.time')}
  )
  select m.id, c.channel_no, m.code, c.code as channel_code, ${bounds}, v.*
  from method m cross join stream_channel c
  cross join lateral (
    select string_agg(packed_beats(x.time, x.n, x.reasons, x.codec), '') as minutes, count(*) >= $6::bigint as is_cut
    from (
      select * from (
        (select b.time, b.n::integer, b.reasons, b.codec from beat_block b
         where b.stream_id = $1 and b.channel_no = c.channel_no and b.method_id = m.id and ${touched('b.time')}
         order by b.time limit $6::bigint)
        union all
        select d.time, d.n, d.reasons, d.codec from open d where d.method_id = m.id and d.channel_no = c.channel_no) y
      order by y.time limit $6::bigint) x
  ) v
  where m.kind = 'beat' and c.stream_id = $1 and ($2::text is null or c.code = $2) and ($3::text is null or m.code = $3)
    and ($7::smallint is null or m.id = $7 and c.channel_no = $8::smallint) and v.minutes is not null
  order by c.code, m.name, ${newestFirst('m')}`;

type BeatRow = MinuteRow & Readonly<{ channel_code: string }>;

/** Reads beats of a stream, one series per channel and method, the newest version of a method first. */
export async function readBeatSeries(db: Db, filter: BeatFilter): Promise<readonly BeatSeries[]> {
  const { streamId, channelCode, methodCode, since, until, limit } = filter;
  const ask = async (from: string, wanted: number, one: BeatRow | null): Promise<readonly BeatRow[]> => {
    const minutes = Math.min(MINUTES_MAX, 2 + Math.ceil(wanted / BEATS_OF_MINUTE));
    const values = [streamId, channelCode, methodCode, from, until ?? 'infinity', minutes, one?.id ?? null, one?.channel_no ?? null];
    return (await db.query<BeatRow>(prepared(beats, values))).rows;
  };
  const series: BeatSeries[] = [];
  for (const row of await ask(since ?? '-infinity', limit, null)) {
    await breathe();
    const page = new BeatPage(filter, row.code, row);
    await fill(page, row, limit, (from, wanted) => ask(from, wanted, row));
    if (!page.isEmpty) series.push({ methodCode: row.code, channelCode: row.channel_code, ...page.columns() });
  }
  return series;
}
