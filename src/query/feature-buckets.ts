/** Buckets of a feature, added up from packed minutes, hours and days (feature_buckets of sql/000058-rollups.sql), or from its values. Sums
 *  and extremes are whole steps until they are shown, so that it does not matter in which order they are added, nor how many channels and
 *  streams a bucket has. */
import type { Buffer } from 'node:buffer';
import type { QualityFlag } from '../signal.ts';
import type { Db } from '../storage/database/database.ts';
import { prepared } from '../storage/database/prepared.ts';
import { cellOf, type BucketRow, type Column } from './chart-cells.ts';
import type { ChartAggregate } from './chart.ts';
import type { OnDamaged } from './damaged-minutes.ts';
import { featureMinutes, int8At } from './packed-minutes.ts';

/** A row of feature_buckets, or the values of a series. */
export type PackedSeries = Readonly<{
  stream_id: number;
  method_id: number;
  channel_no: number;
  per_unit: number;
  times: Buffer | null;
  counts: Buffer | null;
  value_counts: Buffer | null;
  good_sums: Buffer | null;
  suspect_sums: Buffer | null;
  every_sums: Buffer | null;
  good_ranges: Buffer | null;
  suspect_ranges: Buffer | null;
  every_ranges: Buffer | null;
  good_ends: Buffer | null;
  every_ends: Buffer | null;
  /** Minutes of which the values are there. */
  open: Buffer | null;
}>;

/** RFC 3339 of PostgreSQL. [from, to) is in whole minutes; of it [hoursFrom, hoursTo) and of that [daysFrom, daysTo) are kept. */
export type BucketBounds = Readonly<{
  from: string;
  to: string;
  hoursFrom: string | null;
  hoursTo: string | null;
  daysFrom: string | null;
  daysTo: string | null;
}>;

/** Statistics of several features in one answer, stream by stream in the given order: of recordings that begin together the order decides
 *  which has the first and the last value of a kept hour or day.
 *  @param streamIds in the order in which they were recorded  @param withExtremes also minimum and maximum, first and last */
export async function readFeatureBuckets(
  db: Db,
  streamIds: readonly number[],
  methodIds: readonly number[],
  { from, to, hoursFrom, hoursTo, daysFrom, daysTo }: BucketBounds,
  qualityMax: QualityFlag,
  withExtremes: boolean,
): Promise<readonly PackedSeries[]> {
  const { rows } = await db.query<PackedSeries>(
    prepared(
      `select * from feature_buckets($1::int[], $2::smallint[], $3::timestamptz, $4::timestamptz, $5::timestamptz, $6::timestamptz,
         $7::timestamptz, $8::timestamptz, $9::int, $10::boolean)`,
      [streamIds, methodIds, from, to, hoursFrom, hoursTo, daysFrom, daysTo, qualityMax, withExtremes],
    ),
  );
  const orderOf = new Map(streamIds.map((id, order) => [id, order]));
  return rows.sort((a, b) => orderOf.get(a.stream_id)! - orderOf.get(b.stream_id)!);
}

/** Values of several features, as they are stored.  @param from RFC 3339: whole minutes around [from, to) come */
export async function readFeatureValues(
  db: Db,
  streamIds: readonly number[],
  methodIds: readonly number[],
  from: string,
  to: string,
): Promise<readonly PackedSeries[]> {
  const { rows } = await db.query<PackedSeries>(
    prepared(
      `select v.stream_id, v.method_id, v.channel_no, (select steps_per_unit(m.step) from method m where m.id = v.method_id) as per_unit, v.open from (
         select b.stream_id, b.method_id, b.channel_no, string_agg(packed_minute(b.time, b.n, coalesce(b.min, b.sum), b.codec), '') as open from feature_block b
         where b.stream_id = any ($1::int[]) and b.method_id = any ($2::smallint[])
           and b.time > $3::timestamptz - interval '1 minute' and b.time < $4::timestamptz
         group by b.stream_id, b.method_id, b.channel_no
         union all
         select o.stream_id, d.method_id, d.channel_no, string_agg(packed_minute(d.time, d.n, d.base, d.codec), '')
         from derived_open o cross join lateral open_minutes(o.data) d
         where o.stream_id = any ($1::int[]) and d.method_id = any ($2::smallint[]) and not d.is_beat
           and d.time > $3::timestamptz - interval '1 minute' and d.time < $4::timestamptz
         group by o.stream_id, d.method_id, d.channel_no) v`,
      [streamIds, methodIds, from, to],
    ),
  );
  return rows;
}

/** Which bucket a time is in: its index, or a negative number or one beyond the last where it is outside. Unix ms. */
export type BucketAt = (ms: number) => number;

/** Values of one flag, or of any, by bucket. Infinite extremes, and ends that are not a number: there are none. */
class Class {
  readonly n: Float64Array;
  readonly sum: Float64Array;
  readonly min: Float64Array;
  readonly max: Float64Array;
  readonly first: Float64Array;
  readonly last: Float64Array;
  readonly #firstMs: Float64Array;
  readonly #lastMs: Float64Array;

  constructor(count: number, withExtremes: boolean) {
    const held = withExtremes ? count : 0;
    this.n = new Float64Array(count);
    this.sum = new Float64Array(count);
    this.min = new Float64Array(held).fill(Infinity);
    this.max = new Float64Array(held).fill(-Infinity);
    this.first = new Float64Array(held).fill(NaN);
    this.last = new Float64Array(held).fill(NaN);
    this.#firstMs = new Float64Array(held).fill(Infinity);
    this.#lastMs = new Float64Array(held).fill(-Infinity);
  }

  add(bucket: number, n: number, sum: number): void {
    this.n[bucket]! += n;
    this.sum[bucket]! += sum;
  }

  widen(bucket: number, min: number, max: number): void {
    if (min < this.min[bucket]!) this.min[bucket] = min;
    if (max > this.max[bucket]!) this.max[bucket] = max;
  }

  end(bucket: number, ms: number, first: number, last: number): void {
    if (ms < this.#firstMs[bucket]!) {
      this.#firstMs[bucket] = ms;
      this.first[bucket] = first;
    }
    if (ms >= this.#lastMs[bucket]!) {
      this.#lastMs[bucket] = ms;
      this.last[bucket] = last;
    }
  }

  value(what: ChartAggregate, bucket: number, perUnit: number): number | null {
    if (what === 'count' || this.n[bucket] === 0) return null;
    const steps = this[what === 'mean' ? 'sum' : what][bucket]!;
    return Number.isFinite(steps) ? steps / perUnit : null;
  }
}

export type BucketOptions = Readonly<{
  /** Starts of the buckets, Unix ms, ascending. */
  starts: readonly number[];
  bucketAt: BucketAt;
  qualityMax: QualityFlag;
  /** Minimum and maximum, first and last, too. */
  withExtremes: boolean;
  /** Of values, not of statistics, which do not have the first and last suspect value. */
  ofValues: boolean;
  /** Absent: a damaged minute is an error. */
  onDamaged?: OnDamaged | undefined;
}>;

/** A first or last value, of the bucket that begins then, Unix ms. */
export type End = Readonly<{ ms: number; value: number | null }>;

/** A feature's buckets while they are added up. */
export class FeatureBuckets {
  readonly #starts: readonly number[];
  readonly #bucketAt: BucketAt;
  readonly #worst: QualityFlag;
  readonly #withExtremes: boolean;
  readonly #ofValues: boolean;
  readonly #onDamaged: OnDamaged | undefined;
  readonly #n: Float64Array;
  readonly #good: Class;
  readonly #suspect: Class;
  readonly #every: Class;
  #perUnit = 1;

  constructor({ starts, bucketAt, qualityMax, withExtremes, ofValues, onDamaged }: BucketOptions) {
    this.#starts = starts;
    this.#bucketAt = bucketAt;
    this.#worst = qualityMax;
    this.#withExtremes = withExtremes;
    this.#ofValues = ofValues;
    this.#onDamaged = onDamaged;
    this.#n = new Float64Array(starts.length);
    this.#good = new Class(starts.length, withExtremes);
    this.#suspect = new Class(starts.length, withExtremes);
    this.#every = new Class(starts.length, withExtremes);
  }

  /** Steps of the values in their unit. */
  get perUnit(): number {
    return this.#perUnit;
  }

  /** Adds packed statistics, and whole minutes of values.
   *  @param startMs of the recording: a kept day does not say when in it its first and last value are, but not before the recording */
  addSeries(series: PackedSeries, startMs = -Infinity): void {
    this.#perUnit = series.per_unit;
    const { times, counts, good_sums: goods, suspect_sums: suspects } = series;
    if (times !== null && counts !== null && goods !== null)
      for (let at = 0; at < times.length; at += 8) {
        const ms = times.readInt32BE(at) * MINUTE_MS;
        const endMs = Math.max(ms, startMs);
        const bucket = this.#bucketAt(ms);
        this.#n[bucket]! += times.readInt32BE(at + 4);
        const goodN = counts.readInt32BE(at);
        const suspectN = counts.readInt32BE(at + 4);
        this.#good.add(bucket, goodN, int8At(goods, at));
        this.#suspect.add(bucket, suspectN, suspects === null ? 0 : int8At(suspects, at));
        if (this.#withExtremes) {
          if (goodN > 0) addExtremes(this.#good, bucket, endMs, series.good_ranges, series.good_ends, at);
          if (suspectN > 0) addExtremes(this.#suspect, bucket, endMs, series.suspect_ranges, null, at);
        }
        if (this.#worst === 2) this.#addEvery(bucket, endMs, series, at);
      }
    this.addValues(series, -Infinity, Infinity);
  }

  #addEvery(
    bucket: number,
    ms: number,
    { value_counts: counts, every_sums: sums, every_ranges: ranges, every_ends: ends }: PackedSeries,
    at: number,
  ): void {
    const n = int8At(counts!, at);
    this.#every.add(bucket, n, int8At(sums!, at));
    if (this.#withExtremes && n > 0) addExtremes(this.#every, bucket, ms, ranges, ends, at);
  }

  /** Adds the values of [fromUs, toUs), Unix us. */
  addValues({ stream_id: streamId, per_unit: perUnit, open }: PackedSeries, fromUs: number, toUs: number): void {
    this.#perUnit = perUnit;
    if (open === null) return;
    for (const { minute, points } of featureMinutes(open, streamId, this.#onDamaged)) {
      for (let i = 0; i < points.ns.length; i++) {
        const us = minute * MINUTE_US + Math.floor(points.ns[i]! / 1000);
        if (us < fromUs || us >= toUs) continue;
        this.#addValue(this.#bucketAt(us / 1000), us, points.steps[i]!, points.flags[i]!);
      }
    }
  }

  #addValue(bucket: number, us: number, steps: number, flag: number): void {
    this.#n[bucket]! += 1;
    if (Number.isNaN(steps)) return;
    addOne(this.#every, bucket, us, steps, this.#withExtremes);
    if (flag === 0) addOne(this.#good, bucket, us, steps, this.#withExtremes);
    else if (flag === 1) addOne(this.#suspect, bucket, us, steps, this.#withExtremes);
  }

  /** The cells of a chart, and first and last good value of all. @param detail also what is behind each
   *  @param taken buckets that are left out */
  column(
    aggregate: ChartAggregate,
    detail: boolean,
    taken?: ReadonlyMap<number, unknown>,
  ): { cells: Column; first: End | null; last: End | null } {
    const cells: Column = new Map();
    let first: End | null = null;
    let last: End | null = null;
    for (let b = 0; b < this.#starts.length; b++) {
      if (this.#n[b] === 0 || taken?.has(this.#starts[b]!) === true) continue;
      const row = this.#rowOf(b, aggregate, detail);
      const cell = cellOf(row, aggregate, this.#worst, this.#perUnit);
      cells.set(row.ms, detail ? { ...cell, row } : cell);
      if (!detail || row.good_n === 0) continue;
      first ??= { ms: row.ms, value: this.#good.value('first', b, this.#perUnit) };
      last = { ms: row.ms, value: this.#good.value('last', b, this.#perUnit) };
    }
    return { cells, first, last };
  }

  /** A class that qualityMax does not admit has no numbers. */
  #rowOf(b: number, aggregate: ChartAggregate, detail: boolean): BucketRow {
    const of = (values: Class, what: ChartAggregate): number | null => values.value(what, b, this.#perUnit);
    const [good, suspect, every] = [this.#good, this.#suspect, this.#every];
    const hasSuspect = this.#worst > 0;
    const hasEvery = this.#worst === 2;
    const isEnd = aggregate === 'first' || aggregate === 'last';
    const row: BucketRow = {
      ms: this.#starts[b]!,
      n: this.#n[b]!,
      value_n: every.n[b]!,
      good_n: good.n[b]!,
      suspect_n: suspect.n[b]!,
      good: of(good, aggregate),
      suspect: hasSuspect && (this.#ofValues || !isEnd) ? of(suspect, aggregate) : null,
      every: hasEvery ? of(every, aggregate) : null,
    };
    if (!detail) return row;
    row.good_min = of(good, 'min');
    row.good_max = of(good, 'max');
    row.good_sum = of(good, 'sum');
    if (hasSuspect) {
      row.suspect_min = of(suspect, 'min');
      row.suspect_max = of(suspect, 'max');
      row.suspect_sum = of(suspect, 'sum');
    }
    if (hasEvery) {
      row.every_min = of(every, 'min');
      row.every_max = of(every, 'max');
      row.every_sum = of(every, 'sum');
    }
    return row;
  }
}

/** The minutes of a series by themselves, with detail, in whole steps instead of its unit.  @param series read with quality_max 2 */
export function minutesInSteps(series: PackedSeries, onDamaged?: OnDamaged): readonly BucketRow[] {
  const { times, open } = series;
  const starts: number[] = [];
  for (let at = 0; at < (times?.length ?? 0); at += 8) starts.push(times!.readInt32BE(at) * MINUTE_MS);
  if (open !== null) for (const { minute } of featureMinutes(open, series.stream_id, onDamaged)) starts.push(minute * MINUTE_MS);
  const indexOf = new Map(starts.map((ms, i) => [ms, i]));
  const bucketAt = (ms: number): number => indexOf.get(ms - (ms % MINUTE_MS)) ?? -1;
  const buckets = new FeatureBuckets({ starts, bucketAt, qualityMax: 2, withExtremes: true, ofValues: false, onDamaged });
  buckets.addSeries({ ...series, per_unit: 1 });
  return [...buckets.column('sum', true).cells.values()].map(({ row }) => row!);
}

const MINUTE_MS = 60_000;
const MINUTE_US = 60_000_000;

function addExtremes(values: Class, bucket: number, ms: number, ranges: Buffer | null, ends: Buffer | null, at: number): void {
  if (ranges !== null) values.widen(bucket, ranges.readInt32BE(at), ranges.readInt32BE(at + 4));
  if (ends !== null) values.end(bucket, 1000 * ms, ends.readInt32BE(at), ends.readInt32BE(at + 4));
}

function addOne(values: Class, bucket: number, us: number, steps: number, withExtremes: boolean): void {
  values.add(bucket, 1, steps);
  if (!withExtremes) return;
  values.widen(bucket, steps, steps);
  values.end(bucket, us, steps, steps);
}
