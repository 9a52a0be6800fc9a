/** Charts: one row per bucket, gaps as null, and a flag for every value. Answered from the coarsest relation that is fine enough. */
import type { Db } from '../auth/api-keys.ts';
import { PipelineError } from '../errors.ts';
import type { ChannelKind, QualityFlag } from '../signal.ts';
import { fromSamples, planChart, type ChartPlan, type WaveChannel } from './chart-plan.ts';
import { lengthMs, type Resolution } from './chart-resolution.ts';
import { ROW_SEC_MAX } from '../storage/sample-rows.ts';
import { methodOf } from './chart-sources.ts';
import { minuteColumn } from './chart-minutes.ts';
import { readSamples } from './samples.ts';
import type { RecentSamples, SampleSegment } from './samples.ts';
import { breathe } from './slices.ts';
import { prepared } from '../storage/prepared.ts';
import { timestampAt } from './time-bounds.ts';

export const chartAggregates = ['mean', 'min', 'max', 'sum', 'count', 'first', 'last'] as const;
export type ChartAggregate = (typeof chartAggregates)[number];

export type ChartSeries =
  /** Values of a derived feature. */
  | Readonly<{ kind: 'feature'; feature: string; methodCode: string | null; aggregate: ChartAggregate }>
  /** Reported measurements of a biosignal. */
  | Readonly<{ kind: 'measurement'; biosignalId: number; aggregate: ChartAggregate }>
  /** The primary channel of a kind, or the channel of that code: two columns, minimum and maximum in physical units. */
  | Readonly<{ kind: 'waveform'; channelKind: ChannelKind | null; channelCode: string | null }>;

export type ChartQuery = Readonly<{
  orgId: string;
  /** A user that the caller may read. */
  subjectId: string;
  series: readonly ChartSeries[];
  /** Unix ns: [from, to). */
  fromNs: bigint;
  toNs: bigint;
  /** Name of a resolution; null: the finest that maxPoints allows. */
  resolution: string | null;
  /** Most rows of the answer. */
  maxPoints: number;
  /** IANA name; days, weeks and months are the caller's. */
  timeZone: string;
  /** Values with a worse flag do not count. */
  qualityMax: QualityFlag;
  /** `null`: every bucket of the range has a row; `none`: only those with a value; `previous`: gaps repeat the value before. */
  fill: 'null' | 'none' | 'previous';
  /** Acknowledged samples that are not rows yet; absent: rows alone. */
  recent?: RecentSamples;
}>;

export type Chart = Readonly<{
  resolution: string;
  /** Index of the series that each column belongs to, and what of it. */
  columns: readonly Readonly<{ series: number; what: ChartAggregate }>[];
  /** Start of each bucket, Unix ms, ascending. */
  tsMs: number[];
  /** Row per bucket, column as above; null: no value that may be shown. */
  values: (number | null)[][];
  /** Parallel to values. null: nothing there at all; a null value with a flag: there is something, but too bad to show. */
  qmask: (QualityFlag | null)[][];
}>;

type Cell = Readonly<{ value: number | null; flag: QualityFlag }>;
/** Cells of one column by the start of their bucket, Unix ms. */
export type Column = Map<number, Cell>;

const MINUTE_MS = 60_000;
/** Samples decoded, and buckets put into rows, before others have the event loop. */
const DECODE_SLICE_SAMPLES = 250_000;
const SLICE_CELLS = 10_000;

/** Reads a chart as it was planned. @param signal aborted when nobody waits for it any more */
export async function readChart(db: Db, query: ChartQuery, plan?: ChartPlan, signal?: AbortSignal): Promise<Chart> {
  const { resolution, sources, relation, waves } = plan ?? (await planChart(db, query));
  const columns: { series: number; what: ChartAggregate }[] = [];
  const cells: Column[] = [];
  for (const [index, series] of query.series.entries()) {
    if (signal?.aborted === true) throw new PipelineError('bad_request', 'The peer went away.');
    if (series.kind === 'waveform') {
      const [low, high] = await waveColumns(db, query, waves.get(index) ?? [], resolution, sources.secondsOf);
      columns.push({ series: index, what: 'min' }, { series: index, what: 'max' });
      cells.push(low, high);
    } else {
      columns.push({ series: index, what: series.aggregate });
      cells.push(
        await (series.kind === 'feature'
          ? featureColumn(db, query, series, resolution, relation, sources.streamIds, methodOf(series, sources.methods))
          : measurementColumn(db, query, series, resolution)),
      );
    }
  }
  const tsMs =
    query.fill === 'none'
      ? [...new Set(cells.flatMap((column) => [...column.keys()]))].sort((a, b) => a - b)
      : await bucketStarts(db, query, resolution);
  return tabulate(query, resolution, columns, cells, tsMs);
}

async function tabulate(
  query: ChartQuery,
  resolution: Resolution,
  columns: Chart['columns'],
  cells: readonly Column[],
  tsMs: readonly number[],
): Promise<Chart> {
  const previous: (Cell | null)[] = cells.map(() => null);
  const chart: Chart = { resolution: resolution.name, columns, tsMs: [], values: [], qmask: [] };
  const sliceRows = Math.ceil(SLICE_CELLS / cells.length);
  for (const ts of tsMs.slice(0, query.maxPoints)) {
    if (chart.tsMs.length % sliceRows === sliceRows - 1) await breathe();
    const row = cells.map((column, i) => {
      const cell = column.get(ts) ?? null;
      if (query.fill !== 'previous') return cell;
      if (cell !== null && cell.value !== null) previous[i] = cell;
      return previous[i] ?? cell;
    });
    chart.tsMs.push(ts);
    chart.values.push(row.map((cell) => cell?.value ?? null));
    chart.qmask.push(row.map((cell) => cell?.flag ?? null));
  }
  return chart;
}

// ---------------------------------------------------------------------------------------------------------------- buckets

/** Start of the bucket of a time column, Unix ms, as SQL. Fixed steps count from 2001-01-01 UTC, calendar units from the caller's midnight.
 *  The text is the same for all steps and zones, which are $3: prepared() plans it once. */
function bucketOf(resolution: Resolution, column: string): string {
  const start =
    resolution.kind === 'calendar'
      ? `date_trunc('${resolution.unit}', ${column}, $3::text)`
      : `date_bin($3::interval, ${column}, timestamptz '2001-01-01 00:00:00+00')`;
  return `round(date_part('epoch', ${start}) * 1000)`;
}

/** $1, $2 and $3 of such a statement. */
function bucketBounds(query: ChartQuery, resolution: Resolution): string[] {
  const { fromNs, toNs, timeZone } = query;
  return [timestampAt(fromNs), timestampAt(toNs + 999n), resolution.kind === 'calendar' ? timeZone : `${resolution.stepMs} milliseconds`];
}

const ORIGIN_MS = Date.UTC(2001, 0, 1);

/** Starts of the buckets that the range touches. */
async function bucketStarts(db: Db, query: ChartQuery, resolution: Resolution): Promise<number[]> {
  const toMs = Number((query.toNs + 999_999n) / 1_000_000n);
  if (resolution.kind === 'fixed') {
    const { stepMs } = resolution;
    const starts: number[] = [];
    for (let ms = floorTo(Number(query.fromNs / 1_000_000n), stepMs); ms < toMs; ms += stepMs) starts.push(ms);
    return starts;
  }
  // Steps in local time, so that a day with 23 or 25 hours is one bucket.
  const { rows } = await db.query<{ ms: number }>(
    `select (extract(epoch from g at time zone $3) * 1000)::float8 as ms
     from generate_series(date_trunc('${resolution.unit}', $1::timestamptz at time zone $3), $2::timestamptz at time zone $3, interval '1 ${resolution.unit}') as g
     where g at time zone $3 < $2::timestamptz order by 1`,
    [timestampAt(query.fromNs), timestampAt(query.toNs + 999n), query.timeZone],
  );
  return rows.map((row) => row.ms);
}

function floorTo(ms: number, stepMs: number): number {
  return ORIGIN_MS + Math.floor((ms - ORIGIN_MS) / stepMs) * stepMs;
}

// ---------------------------------------------------------------------------------------------------------------- features

const NS_PER_DAY = 86_400_000_000_000n;

/** Whole days of UTC in the range: [from, to), empty when there is none. */
function wholeDays({ fromNs, toNs }: ChartQuery): [from: bigint, to: bigint] {
  const dayOf = (ns: bigint): bigint => ns - (((ns % NS_PER_DAY) + NS_PER_DAY) % NS_PER_DAY);
  const [first, end] = [dayOf(fromNs + NS_PER_DAY - 1n), dayOf(toNs)];
  return [first, end > first ? end : first];
}

/** Whole days ($6 to $7) as they are kept, with the hours of the range before and after them. */
const daysAndHours = `(
  select * from feature_1h where bucket >= $1::timestamptz and bucket < least($2::timestamptz, $6::timestamptz)
  union all select * from feature_1d where bucket >= $6::timestamptz and bucket < $7::timestamptz
  union all select * from feature_1h where bucket >= $7::timestamptz and bucket < $2::timestamptz) days`;

/** Methods of single channels, as they were met: their minutes have a row of each channel, which the database adds up. */
const severalInMinute = new Set<number>();
const METHODS_MAX = 1000;

async function featureColumn(
  db: Db,
  query: ChartQuery,
  series: Extract<ChartSeries, { kind: 'feature' }>,
  resolution: Resolution,
  relation: ChartPlan['relation'],
  streamIds: readonly number[],
  methodId: number | null,
): Promise<Column> {
  if (methodId === null) return new Map();
  if (lengthMs(resolution) === MINUTE_MS && !severalInMinute.has(methodId)) {
    const { column, rowsOfMinute } = await minuteColumn(db, query, series.aggregate, streamIds, methodId);
    if (rowsOfMinute === 1) return column;
    if (severalInMinute.size >= METHODS_MAX) severalInMinute.clear();
    if (rowsOfMinute >= 1.5) severalInMinute.add(methodId); // not for a minute in which a device began anew
  }
  const time = relation === 'feature' ? 'time' : 'bucket';
  const byDays = relation === 'feature_1d';
  // Buckets begin where the range begins: rows before it in the first bucket do not count.
  const sums = (relation === 'feature' ? rawSums : rollupSums)(series.aggregate, query.qualityMax);
  const { rows } = await db.query<BucketRow>(
    prepared(
      `select ${bucketOf(resolution, time)} as ms, ${sums}
       from ${byDays ? daysAndHours : relation}
       where ${time} >= $1::timestamptz and ${time} < $2::timestamptz and stream_id = any ($4::int[]) and method_id = $5
       group by 1`,
      [...bucketBounds(query, resolution), streamIds, methodId, ...(byDays ? wholeDays(query).map(timestampAt) : [])],
    ),
  );
  return new Map(rows.map((row) => [row.ms, cellOf(row, series.aggregate, query.qualityMax)]));
}

/** Of the aggregates only those that the question needs are there: all of them for 1,440 minutes take three times as long. */
export type BucketRow = {
  ms: number;
  n: number;
  value_n: number;
  good_n: number;
  suspect_n: number;
  good?: number | null;
  suspect?: number | null;
  every?: number | null;
};

const first = (column: string, by: string, where: string): string => `(array_agg(${column} order by ${by}) filter (where ${where}))[1]`;

/** A sum of exact numbers as float8: one beyond its range is an error of the database otherwise. */
const finite = (sum: string): string => `least(greatest(${sum}, -${Number.MAX_VALUE}), ${Number.MAX_VALUE})::float8`;

type Sums = 'good' | 'suspect' | 'every';
/** Those that cellOf looks at, by quality_max: sums of exact numbers are the dear part. */
const sumsOf: readonly (readonly Sums[])[] = [['good'], ['good', 'suspect'], ['every']];

function onlySums(counts: string, qualityMax: QualityFlag, of: (which: Sums) => string): string {
  return [counts, ...sumsOf[qualityMax]!.map((which) => `${of(which)} as ${which}`)].join(', ');
}

/** What a bucket's good, suspect and all values aggregate to, from raw rows. */
function rawSums(aggregate: ChartAggregate, qualityMax: QualityFlag): string {
  const counts = `count(*)::float8 as n, count(value)::float8 as value_n, count(value) filter (where qmask = 0)::float8 as good_n, count(value) filter (where qmask = 1)::float8 as suspect_n`;
  const of = (where: string): string => {
    switch (aggregate) {
      case 'mean':
      case 'sum':
        return finite(`sum(value::numeric) filter (where ${where})`);
      case 'min':
      case 'max':
        return `${aggregate}(value) filter (where ${where})`;
      case 'first':
      case 'last':
        return first('value', aggregate === 'first' ? 'time' : 'time desc', where);
      case 'count':
        return 'null::float8';
      default:
        return never(aggregate);
    }
  };
  const sets = { good: 'qmask = 0 and value is not null', suspect: 'qmask = 1 and value is not null', every: 'value is not null' };
  return onlySums(counts, qualityMax, (which) => of(sets[which]));
}

/** The same from rows of a rollup, which has no first and last of suspect values alone. */
function rollupSums(aggregate: ChartAggregate, qualityMax: QualityFlag): string {
  const counts = 'sum(n)::float8 as n, sum(value_n)::float8 as value_n, sum(good_n)::float8 as good_n, sum(suspect_n)::float8 as suspect_n';
  switch (aggregate) {
    case 'mean':
    case 'sum':
      return onlySums(counts, qualityMax, (which) => finite(`sum(${which === 'every' ? 'sum' : `${which}_sum`})`));
    case 'min':
    case 'max':
      return onlySums(counts, qualityMax, (which) => `${aggregate}(${which === 'every' ? aggregate : `${which}_${aggregate}`})`);
    case 'first':
    case 'last': {
      const by = aggregate === 'first' ? 'bucket' : 'bucket desc';
      const column = { good: `good_${aggregate}`, suspect: null, every: aggregate };
      return onlySums(counts, qualityMax, (which) => {
        const name = column[which];
        return name === null ? 'null::float8' : first(name, by, `${name} is not null`);
      });
    }
    case 'count':
      return counts;
    default:
      return never(aggregate);
  }
}

/** The value of a bucket from those of its values that may count. Its flag is that of the bucket: 0 when at least half of what should be
 *  there is good, 1 when at least half is good or suspect, else 2. */
export function cellOf(row: Omit<BucketRow, 'ms'>, aggregate: ChartAggregate, qualityMax: QualityFlag): Cell {
  const flag: QualityFlag = row.good_n * 2 >= row.n ? 0 : (row.good_n + row.suspect_n) * 2 >= row.n ? 1 : 2;
  const count = qualityMax === 0 ? row.good_n : qualityMax === 1 ? row.good_n + row.suspect_n : row.value_n;
  if (aggregate === 'count') return { value: count, flag };
  const { good = null, suspect = null, every = null } = row;
  if (count === 0 || flag > qualityMax) return { value: null, flag };
  if (qualityMax === 0) return { value: aggregate === 'mean' && good !== null ? good / count : good, flag };
  if (qualityMax === 2) return { value: aggregate === 'mean' && every !== null ? every / count : every, flag };
  if (good === null || suspect === null) {
    const value = good ?? suspect;
    return { value: aggregate === 'mean' && value !== null ? value / count : value, flag };
  }
  switch (aggregate) {
    case 'mean':
      return { value: (good + suspect) / count, flag };
    case 'sum':
      return { value: good + suspect, flag };
    case 'min':
      return { value: Math.min(good, suspect), flag };
    case 'max':
      return { value: Math.max(good, suspect), flag };
    case 'first':
    case 'last':
      return { value: good, flag };
    default:
      return never(aggregate);
  }
}

function never(value: never): never {
  throw new TypeError(String(value));
}

async function measurementColumn(
  db: Db,
  query: ChartQuery,
  series: Extract<ChartSeries, { kind: 'measurement' }>,
  resolution: Resolution,
): Promise<Column> {
  const { rows } = await db.query<BucketRow>(
    prepared(
      `select ${bucketOf(resolution, 'time')} as ms, ${rawSums(series.aggregate, query.qualityMax)}
       from measurement
       where time >= $1::timestamptz and time < $2::timestamptz and xuser_id = $4 and biosignal_id = $5
       group by 1`,
      [...bucketBounds(query, resolution), query.subjectId, series.biosignalId],
    ),
  );
  return new Map(rows.map((row) => [row.ms, cellOf(row, series.aggregate, query.qualityMax)]));
}

// ---------------------------------------------------------------------------------------------------------------- waveforms

async function waveColumns(
  db: Db,
  query: ChartQuery,
  channels: readonly WaveChannel[],
  resolution: Resolution,
  secondsOf: ReadonlyMap<number, number>,
): Promise<[Column, Column]> {
  const low: Column = new Map();
  const high: Column = new Map();
  for (const channel of channels) {
    const buckets = fromSamples(query, channel, lengthMs(resolution))
      ? await decodedBuckets(db, query, channel, lengthMs(resolution), secondsOf.get(channel.stream_id) ?? 0)
      : await storedBuckets(db, query, channel, resolution);
    for (const { ms, min, max, flag } of buckets) {
      const values =
        min === null || max === null || flag > query.qualityMax
          ? null
          : [(min - channel.baseline) / channel.gain, (max - channel.baseline) / channel.gain];
      widen(low, ms, values === null ? null : Math.min(...values), flag, Math.min);
      widen(high, ms, values === null ? null : Math.max(...values), flag, Math.max);
    }
  }
  return [low, high];
}

function widen(column: Column, ms: number, value: number | null, flag: QualityFlag, join: (a: number, b: number) => number): void {
  const there = column.get(ms);
  if (there === undefined) column.set(ms, { value, flag });
  else
    column.set(ms, {
      value: there.value === null ? value : value === null ? there.value : join(there.value, value),
      flag: there.flag > flag ? there.flag : flag,
    });
}

type WaveBucket = { ms: number; min: number | null; max: number | null; flag: QualityFlag };

/** From the statistics of the rows: reads no samples. */
async function storedBuckets(db: Db, query: ChartQuery, channel: WaveChannel, resolution: Resolution): Promise<WaveBucket[]> {
  const { rows } = await db.query<{ ms: number; min: number | null; max: number | null; n: number; suspect_n: number; bad_n: number }>(
    prepared(
      `select ${bucketOf(resolution, 'time')} as ms, min(min) as min, max(max) as max,
         sum(n)::float8 as n, sum(suspect_n)::float8 as suspect_n, sum(bad_n)::float8 as bad_n
       from sample_block
       where time >= $1::timestamptz and time < $2::timestamptz and stream_id = $4 and channel_no = $5
       group by 1`,
      [...bucketBounds(query, resolution), channel.stream_id, channel.channel_no],
    ),
  );
  return rows.map(({ ms, min, max, n, suspect_n: suspect, bad_n: bad }) => ({ ms, min, max, flag: flagOf(n, suspect, bad) }));
}

type SampleBuckets = Map<number, { min: number; max: number; n: number; suspect: number; bad: number }>;

/** @param seconds of the range that the stream has, about: what has few samples is read at once */
async function decodedBuckets(db: Db, query: ChartQuery, channel: WaveChannel, stepMs: number, seconds: number): Promise<WaveBucket[]> {
  const found: SampleBuckets = new Map();
  const sliceSec = Math.max(1, Math.floor(DECODE_SLICE_SAMPLES / (Number(channel.rate_nhz) / 1e9)));
  const sliceNs = seconds <= sliceSec ? query.toNs - query.fromNs : BigInt(sliceSec) * 1_000_000_000n;
  for (let fromNs = query.fromNs; fromNs < query.toNs; fromNs += sliceNs) {
    const toNs = fromNs + sliceNs < query.toNs ? fromNs + sliceNs : query.toNs;
    const { segments } = await readSamples(db, {
      streamId: channel.stream_id,
      channels: [channel.code],
      fromNs,
      toNs,
      rowsMax: Math.ceil(Number(toNs - fromNs) / 1e9) + ROW_SEC_MAX,
      ...(query.recent === undefined ? {} : { recent: query.recent }),
    });
    for (const segment of segments) if (segment.channelNo === channel.channel_no) addSamples(found, segment, stepMs);
  }
  return Array.from(found, ([ms, { min, max, n, suspect, bad }]) => ({
    ms,
    min: min === Infinity ? null : min,
    max: max === -Infinity ? null : max,
    flag: flagOf(n, suspect, bad),
  }));
}

function addSamples(found: SampleBuckets, segment: SampleSegment, stepMs: number): void {
  const t0Ms = Number(segment.t0Ns / 1000n) / 1000;
  const periodMs = 1e12 / segment.rateNanoHz;
  for (let i = 0; i < segment.samples.length; i++) {
    const ms = floorTo(t0Ms + i * periodMs, stepMs);
    let bucket = found.get(ms);
    if (bucket === undefined) found.set(ms, (bucket = { min: Infinity, max: -Infinity, n: 0, suspect: 0, bad: 0 }));
    bucket.n++;
    const flag = segment.qmask === null ? 0 : segment.qmask[i]!;
    if (flag === 2) {
      bucket.bad++;
      continue;
    }
    if (flag === 1) bucket.suspect++;
    const value = segment.samples[i]!;
    if (value < bucket.min) bucket.min = value;
    if (value > bucket.max) bucket.max = value;
  }
}

function flagOf(n: number, suspect: number, bad: number): QualityFlag {
  if ((n - suspect - bad) * 2 >= n) return 0;
  return (n - bad) * 2 >= n ? 1 : 2;
}
