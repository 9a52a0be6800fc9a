/** Minutes, hours and days: as the rollups have them, and as charts show them, against sums over the values themselves. */
import type { Oracle, Person } from '../oracle.ts';
import { readerOf } from './recordings.ts';

export type Value = {
  boot: string;
  stream: string;
  feature: string;
  method: number;
  channel: number;
  ms: number;
  value: number | null;
  qmask: number;
  /** Steps of the method in its unit. */
  per_unit: number;
};
/** What a bucket comes to. */
export type Bucket = {
  perUnit: number;
  n: number;
  good: number;
  suspect: number;
  sum: number;
  min: number;
  max: number;
  goodSum: number;
  goodMax: number;
};

export const MINUTE_MS = 60_000;
const steps = { feature_1m: MINUTE_MS, feature_1h: 60 * MINUTE_MS, feature_1d: 1440 * MINUTE_MS } as const;
/** Sums of floats in another order. */
const TOLERANCE = 1e-9;
/** A chart has so many columns, at most 16. */
const FEATURES_MAX = 4;

export async function compareAggregates(oracle: Oracle): Promise<void> {
  const boots = oracle.standing.map(({ bootId }) => bootId);
  const values = await valuesOf(oracle, boots);
  for (const [relation, stepMs] of Object.entries(steps)) await compareRollup(oracle, relation, stepMs, values, boots);
  for (const person of await oracle.people()) {
    // A person part of whose recordings were taken by retention has buckets that nobody can foretell.
    if (oracle.boots.some((boot) => boot.person === person && oracle.isExpired(boot))) continue;
    const own = new Set(oracle.standing.filter((boot) => boot.person === person).map(({ bootId }) => bootId));
    await compareCharts(
      oracle,
      person,
      values.filter(({ boot }) => own.has(boot)),
    );
  }
}

/** Every value of these boots, at the time at which it is asked for. */
export async function valuesOf(oracle: Oracle, boots: readonly string[]): Promise<Value[]> {
  return await oracle.stage.sql<Value>(
    `select encode(s.boot_id, 'hex') as boot, s.uuid as stream, m.name as feature, m.id::int as method, f.channel_no::int as channel, extract(epoch from f.time)::float8 * 1000 as ms,
       f.value, f.qmask::int as qmask, steps_per_unit(m.step) as per_unit
     from feature f join stream s on s.id = f.stream_id join method m on m.id = f.method_id where encode(s.boot_id, 'hex') = any ($1)`,
    [boots],
  );
}

/** What is shown of a bucket when suspect values are let in: a good one is made of its good values alone, a suspect one of both; null: too
 *  few of its values are good or suspect. */
export function shownOf({ n, good, suspect, sum, max, goodSum, goodMax }: Bucket): Readonly<{ mean: number; max: number }> | null {
  const count = good + suspect;
  if (count === 0 || count * 2 < n) return null;
  return good * 2 >= n ? { mean: goodSum / good, max: goodMax } : { mean: sum / count, max };
}

const usable = ({ value, qmask }: Value): boolean => value !== null && qmask <= 1;

export function bucketsOf(values: readonly Value[], stepMs: number, keyOf: (value: Value) => string): Map<string, Bucket> {
  const buckets = new Map<string, Bucket>();
  for (const value of values) {
    const key = `${keyOf(value)} ${Math.floor(value.ms / stepMs) * stepMs}`;
    let bucket = buckets.get(key);
    if (bucket === undefined)
      buckets.set(
        key,
        (bucket = {
          perUnit: value.per_unit,
          n: 0,
          good: 0,
          suspect: 0,
          sum: 0,
          min: Infinity,
          max: -Infinity,
          goodSum: 0,
          goodMax: -Infinity,
        }),
      );
    bucket.n++;
    if (!usable(value)) continue;
    if (value.qmask === 0) {
      bucket.good++;
      bucket.goodSum += value.value!;
      bucket.goodMax = Math.max(bucket.goodMax, value.value!);
    } else bucket.suspect++;
    bucket.sum += value.value!;
    bucket.min = Math.min(bucket.min, value.value!);
    bucket.max = Math.max(bucket.max, value.value!);
  }
  return buckets;
}

/** A mean is answered in whole steps; one of counts in thousandths. */
export const isMean = (answered: number, exact: number, perUnit: number): boolean =>
  near(answered, exact) || Math.abs(answered - exact) <= (0.5 + TOLERANCE) / (perUnit === 1 ? 1000 : perUnit);

export const near = (a: number, b: number): boolean => a === b || Math.abs(a - b) <= TOLERANCE * Math.max(Math.abs(a), Math.abs(b), 1e-6);

async function compareRollup(
  oracle: Oracle,
  relation: string,
  stepMs: number,
  values: readonly Value[],
  boots: readonly string[],
): Promise<void> {
  const rows = await oracle.stage.sql<{
    key: string;
    n: number;
    good: number;
    suspect: number;
    sum: number | null;
    min: number | null;
    max: number | null;
  }>(
    `select concat_ws(' ', s.uuid, r.method_id, r.channel_no, (extract(epoch from r.bucket) * 1000)::int8) as key, r.n::float8 as n, r.good_n::float8 as good, r.suspect_n::float8 as suspect,
       (coalesce(r.good_sum, 0) + coalesce(r.suspect_sum, 0))::float8 as sum, least(r.good_min, r.suspect_min) as min, greatest(r.good_max, r.suspect_max) as max
     from ${relation} r join stream s on s.id = r.stream_id where encode(s.boot_id, 'hex') = any ($1)`,
    [boots],
  );
  const wanted = bucketsOf(values, stepMs, ({ stream, method, channel }) => `${stream} ${method} ${channel}`);
  oracle.expect('aggregates', rows.length === wanted.size, () => `${relation} has ${rows.length} rows instead of ${wanted.size}`);
  for (const row of rows) {
    const bucket = wanted.get(row.key);
    const counts = bucket !== undefined && row.n === bucket.n && row.good === bucket.good && row.suspect === bucket.suspect;
    const isEmpty = bucket !== undefined && bucket.good + bucket.suspect === 0;
    const isRight = counts && (isEmpty || (near(row.sum ?? NaN, bucket.sum) && row.min === bucket.min && row.max === bucket.max));
    if (!isRight) return oracle.complain('aggregates', `${relation} ${JSON.stringify(row)} instead of ${JSON.stringify(bucket)}`);
  }
}

type Chart = Readonly<{
  resolution: string;
  values: readonly { feature: string; agg: string }[];
  data: readonly (readonly (number | null)[])[];
}>;

/** Of each of the person's days with values, in the three resolutions that have a rollup. */
async function compareCharts(oracle: Oracle, person: Person, values: readonly Value[]): Promise<void> {
  const { as } = readerOf(oracle, person);
  const subject = as === person.token ? {} : { subject_id: person.xuserId };
  for (const day of new Set(values.map(({ ms }) => Math.floor(ms / steps.feature_1d)))) {
    const fromMs = day * steps.feature_1d;
    const own = values.filter(({ ms }) => ms >= fromMs && ms < fromMs + steps.feature_1d);
    const features = newestMethods(own).slice(0, FEATURES_MAX);
    const series = features.flatMap(({ feature }) => ['mean', 'max', 'count'].map((agg) => ({ feature, agg })));
    const range = { from: new Date(fromMs).toISOString(), to: new Date(fromMs + steps.feature_1d).toISOString() };
    for (const [resolution, stepMs] of [
      ['1m', MINUTE_MS],
      ['1h', 60 * MINUTE_MS],
      ['1d', steps.feature_1d],
    ] as const) {
      const body = { ...subject, series, range, resolution, max_points: 2000, tz: 'UTC' };
      const chart = await oracle.must<Chart>(200, 'POST', '/api/v1/charts/query', { as, body });
      if (chart === null) return;
      const got = new Map<string, number>(
        chart.data.flatMap(([ms, ...cells]) =>
          cells.flatMap((cell, i) => (cell === null ? [] : [[`${chart.values[i]!.feature} ${chart.values[i]!.agg} ${ms}`, cell] as const])),
        ),
      );
      const buckets = bucketsOf(
        own.filter(({ method }) => features.some((one) => one.method === method)),
        stepMs,
        ({ feature }) => feature,
      );
      for (const [key, bucket] of buckets) {
        const [feature, ms] = key.split(' ') as [string, string];
        const shown = shownOf(bucket);
        const cells: readonly (readonly [string, number | undefined])[] = [
          ['mean', shown?.mean],
          ['max', shown?.max],
          ['count', bucket.good + bucket.suspect],
        ];
        for (const [agg, wanted] of cells) {
          const cell = got.get(`${feature} ${agg} ${ms}`);
          const isRight =
            wanted === undefined
              ? cell === undefined
              : (cell !== undefined && (agg === 'mean' ? isMean(cell, wanted, bucket.perUnit) : near(cell, wanted))) ||
                (wanted === 0 && cell === undefined);
          if (!isRight)
            return oracle.complain(
              'charts',
              `${person.externalId}: ${agg} of ${feature} in the ${resolution} of ${new Date(Number(ms)).toISOString()} is ${cell} instead of ${wanted}`,
            );
        }
      }
    }
  }
}

/** A chart shows the newest version of a feature. */
export function newestMethods(values: readonly Value[]): readonly { feature: string; method: number }[] {
  const newest = new Map<string, number>();
  for (const { feature, method } of values) newest.set(feature, Math.max(method, newest.get(feature) ?? 0));
  return [...newest].map(([feature, method]) => ({ feature, method })).sort((a, b) => (a.feature < b.feature ? -1 : 1));
}
