/** Observations by the hour or the day: the values of a derived feature that a person's device gave in it, from the stored hours. */
import type { Db } from '../storage/database/database.ts';
import { prepared } from '../storage/database/prepared.ts';
import { meanOf, sumOf } from '../signal.ts';
import { isCounted, sourceOf } from './observations.ts';
import { flagInSql } from './chart-cells.ts';
import { firstTimeOf } from './clock-times.ts';
import { expectedIn } from './expected-values.ts';
import type { ObservationFilter, ObservationRow } from './observations.ts';

/** ISO 8601. Minutes are read by readObservations. */
export const observationIntervals = ['PT1M', 'PT1H', 'P1D'] as const;
export type SummaryInterval = Exclude<(typeof observationIntervals)[number], 'PT1M'>;

type SummaryRow = Readonly<{
  /** Start and end, Unix ms. */
  ms: number;
  end_ms: number;
  /** Of device and channel; unique in a bucket. */
  series: string;
  device: string;
  method_code: string;
  cadence_hz: number | null;
  per_unit: number;
  /** Of the values behind its flag, and how many they are; of what is counted, of all that are not bad. */
  sum: number;
  used_n: number;
  qmask: number;
  n: number;
  value_n: number;
  good_n: number;
  min: number;
  max: number;
}>;

/** SQL: how many values of a bucket are not worse than quality_max, by quality_max. */
const usable = ['r.good_n', '(r.good_n + r.suspect_n)', 'r.value_n'] as const;
/** Extremes and sum of the values behind a bucket's flag (f.flag). */
const extremes = `
  case f.flag when 0 then r.good_min when 1 then least(r.good_min, r.suspect_min) else r.min end as min,
  case f.flag when 0 then r.good_max when 1 then greatest(r.good_max, r.suspect_max) else r.max end as max`;
const sums = `
  (case f.flag when 0 then r.good_sum when 1 then coalesce(r.good_sum, 0) + coalesce(r.suspect_sum, 0) else r.sum end)::float8 as sum,
  (case f.flag when 0 then r.good_n when 1 then r.good_n + r.suspect_n else r.value_n end)::float8 as used_n`;
/** Sum of a bucket. Steps walked in a suspect second of a good minute count. */
const countedSum = `
  (case f.flag when 2 then r.sum else coalesce(r.good_sum, 0) + coalesce(r.suspect_sum, 0) end)::float8 as sum, 1::float8 as used_n`;

/** Reads hours of UTC, or days of a time zone, that begin in the range and in which at least half of the values are usable. Streams of one
 *  device (it was started again) are one series. A day has 23, 24 or 25 hours.
 *  @param timeZone IANA name, for days */
export async function readSummaries(
  db: Db,
  filter: ObservationFilter,
  interval: SummaryInterval,
  timeZone: string,
): Promise<readonly ObservationRow[]> {
  const { biosignal } = filter;
  const source = biosignal.feature === null ? null : await sourceOf(db, filter, biosignal.feature);
  if (source === null) return [];
  const [since, until] = [filter.since ?? '-infinity', filter.until ?? 'infinity'];
  const daily = interval === 'P1D';
  const table = daily ? await tableOfDays(db, source, timeZone) : 'feature_1h';
  const bucket = daily ? firstTimeOf(`date_trunc('day', bucket at time zone $10::text)`, '$10::text') : 'bucket';
  const end = daily ? firstTimeOf(`(r.bucket at time zone $10::text + interval '1 day')`, '$10::text') : `r.bucket + interval '1 hour'`;
  const [compare, direction] = filter.order === 'asc' ? ['>', 'asc'] : ['<', 'desc'];
  const n = usable[filter.qualityMax === 0 ? 0 : filter.qualityMax === 1 ? 1 : 2];
  const isSum = isCounted(biosignal.unit);
  const { rows } = await db.query<SummaryRow>(
    prepared(
      `with every as (
         select ${bucket} as bucket, s.device, coalesce(c.code, '') as channel, method_id, sum(n) as n, sum(value_n) as value_n, sum(good_n) as good_n,
           sum(suspect_n) as suspect_n, sum(sum) as sum, sum(good_sum) as good_sum, sum(suspect_sum) as suspect_sum,
           min(min) as min, min(good_min) as good_min, min(suspect_min) as suspect_min,
           max(max) as max, max(good_max) as good_max, max(suspect_max) as suspect_max
         from ${table} f join unnest($3::int[], $4::text[]) as s (id, device) on s.id = f.stream_id
         left join stream_channel c on c.stream_id = f.stream_id and c.channel_no = f.channel_no
         where bucket >= $1::timestamptz and bucket < $2::timestamptz + interval '${daily ? 25 : 0} hours'
           and f.stream_id = any ($3::int[]) and method_id = any ($5::int[])
         group by 1, 2, 3, 4
         having ${bucket} >= $1::timestamptz and ${bucket} < $2::timestamptz),
       r as (
         select distinct on (bucket, device, channel) * from every where value_n > 0
         order by bucket, device, channel, array_position($5::int[], method_id::int))
       select date_part('epoch', r.bucket) * 1000 as ms, date_part('epoch', ${end}) * 1000 as end_ms, k.series, r.device, m.code as method_code, m.cadence_hz,
         steps_per_unit(m.step) as per_unit, ${isSum ? countedSum : sums}, ${extremes},
         f.flag as qmask, r.n::int as n, r.value_n::int as value_n, r.good_n::int as good_n
       from r join method m on m.id = r.method_id
       cross join lateral (select ${flagInSql('r')} as flag) f
       cross join lateral (
         select substr(encode(sha256(convert_to(concat_ws(' ', $6::text, m.code, r.channel, r.device), 'UTF8')), 'hex'), 1, 32)::uuid as series) k
       where ${n} > 0 and ${n} * 2 >= r.n
         and ($7::timestamptz is null or (r.bucket, k.series) ${compare} ($7::timestamptz, $8::uuid))
       order by r.bucket ${direction}, k.series ${direction} limit $9`,
      [
        since,
        until,
        source.streams.map(({ id }) => id),
        source.streams.map(({ device }) => device),
        source.methods.map(({ id }) => id),
        filter.subjectId,
        filter.after?.[0] ?? null,
        filter.after?.[1].slice(0, 36) ?? null,
        filter.limit,
        ...(daily ? [timeZone] : []),
      ],
    ),
  );
  const { id: biosignalId, name, abbreviation, loinc_code, signal_type, source_type, unit } = biosignal;
  return rows.map(({ ms, end_ms: endMs, series, device, cadence_hz: cadenceHz, per_unit: perUnit, sum, used_n: usedN, ...row }) => ({
    ...row,
    value: isSum ? sumOf([sum], usedN, perUnit) : meanOf(sum, usedN, perUnit),
    id: `${series}.${ms / 1000}.${interval}`,
    biosignal_id: biosignalId,
    name,
    abbreviation,
    loinc_code,
    signal_type,
    source_type,
    unit,
    effective_time: microseconds(ms),
    effective_end: microseconds(endMs),
    device_id: device,
    expected_n: expectedIn(cadenceHz, endMs - ms, row.n),
  }));
}

const microseconds = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');

/** Chooses the coarsest table whose buckets lie wholly in the days of a time zone: days are stored by UTC; a zone may be off by minutes. */
async function tableOfDays(
  db: Db,
  { oldestMs, newestMs }: Readonly<{ oldestMs: number; newestMs: number }>,
  timeZone: string,
): Promise<'feature_1m' | 'feature_1h' | 'feature_1d'> {
  // SQL: kysely has no generate_series and no `at time zone`.
  const { rows } = await db.query<{ utc: boolean; whole: boolean }>(
    prepared(
      `select bool_and(off = 0) as utc, bool_and(off % 3600 = 0) as whole
       from generate_series(to_timestamp($1::float8 / 1000) - interval '1 day', to_timestamp($2::float8 / 1000) + interval '1 day', interval '1 day') t
       cross join lateral (select extract(epoch from (t at time zone $3::text) - (t at time zone 'UTC'))::int as off) o`,
      [oldestMs, newestMs, timeZone],
    ),
  );
  if (rows[0]?.whole !== true) return 'feature_1m';
  return rows[0].utc ? 'feature_1d' : 'feature_1h';
}
