/** Charts: one row per bucket, gaps as null, and a flag for every value. Answered from the coarsest table that is fine enough. */
import type { Db } from '../storage/database/database.ts';
import { PipelineError } from '../errors.ts';
import type { ChannelKind, QualityFlag } from '../signal.ts';
import { fromSamples, planChart, type ChartPlan, type WaveChannel } from './chart-plan.ts';
import { lengthMs, type Resolution } from './chart-resolution.ts';
import { ROW_SEC_MAX } from '../storage/sample-rows.ts';
import { methodsOf } from './chart-sources.ts';
import { bucketSums, cellOf, flagOf, type BucketRow, type Cell, type Column } from './chart-cells.ts';
import { pushDetail, totalsOf, type ChartDetail, type Totals } from './chart-detail.ts';
import { expectedIn } from './expected-values.ts';
import type { OnDamaged } from './damaged-minutes.ts';
import { FeatureBuckets, readFeatureBuckets, readFeatureValues, type BucketAt, type End, type PackedSeries } from './feature-buckets.ts';
import { readSamples } from './samples.ts';
import type { RecentSamples, SampleSegment } from './samples.ts';
import { breathe } from './slices.ts';
import { prepared } from '../storage/database/prepared.ts';
import { firstTimeOf } from './clock-times.ts';
import { timestampAt } from './time-bounds.ts';
import { unixNowMs } from '../unix-clock.ts';

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
  /** A user whom the caller may read. */
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
  /** Values with a worse flag are ignored. */
  qualityMax: QualityFlag;
  /** `null`: every bucket of the range has a row; `none`: only those with a value; `previous`: gaps repeat the value before. */
  fill: 'null' | 'none' | 'previous';
  /** Also return the detail behind the numbers. */
  detail?: boolean;
  /** Acknowledged samples not yet stored as rows; absent: rows only. */
  recent?: RecentSamples;
  /** Absent: a damaged minute of values is an error. */
  onDamaged?: OnDamaged;
}>;

export type Chart = Readonly<{
  resolution: string;
  /** Index of the series of each column, its aggregate, and the versions that its values are of, the newest first. */
  columns: readonly Readonly<{ series: number; what: ChartAggregate; methodCodes: readonly string[] }>[];
  /** Start of each bucket, Unix ms, ascending. */
  tsMs: number[];
  /** Row per bucket, column as above; null: no value to show. */
  values: (number | null)[][];
  /** Parallel to values. null: nothing recorded; a null value with a flag: something recorded, but too bad to show. */
  qmask: (QualityFlag | null)[][];
  /** With `detail`. */
  detail?: ChartDetail;
}>;

/** Samples decoded, and buckets turned into rows, before yielding the event loop. */
const DECODE_SLICE_SAMPLES = 250_000;
const SLICE_CELLS = 10_000;

/** Reads a chart as planned.  @param signal aborted when the caller no longer waits */
export async function readChart(db: Db, query: ChartQuery, plan?: ChartPlan, signal?: AbortSignal): Promise<Chart> {
  const { resolution, sources, table, waves } = plan ?? (await planChart(db, query));
  const hasFeature = query.series.some(({ kind }) => kind === 'feature');
  const isAsked = hasFeature || query.fill !== 'none' || query.detail === true || resolution.kind === 'calendar';
  const starts = isAsked ? await bucketStarts(db, query, resolution) : [];
  const features = await readFeatures(db, query, table, sources);
  const columns: ReadColumn[] = [];
  for (const [index, series] of query.series.entries()) {
    if (signal?.aborted === true) throw new PipelineError('bad_request', 'The peer went away.');
    if (series.kind === 'waveform') {
      const read = await waveColumns(db, query, waves.get(index) ?? [], resolution, sources.secondsOf);
      const [low, high] = read.map((cells) => atStarts(cells, resolution, starts)) as [Column, Column];
      columns.push({ series: index, what: 'min', cells: low, cadenceHz: null, perUnit: null, ends: null, methodCodes: [] });
      columns.push({ series: index, what: 'max', cells: high, cadenceHz: null, perUnit: null, ends: null, methodCodes: [] });
    } else if (series.kind === 'feature') {
      const column = await featureColumn(query, series, resolution, table, starts, features, sources);
      columns.push({ series: index, what: series.aggregate, ...column });
    } else {
      const read = async (asked: ChartQuery, aggregate: ChartAggregate): Promise<Column> =>
        atStarts(await measurementColumn(db, asked, series.biosignalId, aggregate, resolution), resolution, starts);
      const cells = await read(query, series.aggregate);
      const ends = query.detail === true ? await endsOf(query, cells, read) : null;
      columns.push({ series: index, what: series.aggregate, cells, cadenceHz: null, perUnit: null, ends, methodCodes: [] });
    }
  }
  const held = query.fill === 'none' ? [...new Set(columns.flatMap(({ cells }) => [...cells.keys()]))].sort((a, b) => a - b) : starts;
  return tabulate(query, resolution, columns, held, starts, table !== 'feature');
}

type ReadColumn = Readonly<{
  series: number;
  what: ChartAggregate;
  cells: Column;
  /** How often the method yields a value. */
  cadenceHz: number | null;
  /** Steps of its values in their unit, the finest of its versions; null: they have none, see meanOf. */
  perUnit: number | null;
  /** First and last good value of the range; with `detail`. */
  ends: Pick<Totals, 'first' | 'last'> | null;
  methodCodes: readonly string[];
}>;

/** @param tsMs the rows of the answer  @param starts of all buckets of the range, with `detail`  @param ofMinutes computed values were read
 *  from whole minutes, also from those that the range begins and ends in */
async function tabulate(
  query: ChartQuery,
  resolution: Resolution,
  columns: readonly ReadColumn[],
  tsMs: readonly number[],
  starts: readonly number[],
  ofMinutes: boolean,
): Promise<Chart> {
  const previous: (Cell | null)[] = columns.map(() => null);
  const chart: Chart = {
    resolution: resolution.name,
    columns: columns.map(({ series, what, methodCodes }) => ({ series, what, methodCodes })),
    tsMs: [],
    values: [],
    qmask: [],
    ...(query.detail === true ? { detail: { n: [], goodN: [], expectedN: [], min: [], max: [], totals: [] } } : {}),
  };
  const expected = dueIn(query, query.detail === true ? starts : [], ofMinutes ? 60_000 : 1);
  const sliceRows = Math.ceil(SLICE_CELLS / columns.length);
  for (const ts of tsMs.slice(0, query.maxPoints)) {
    if (chart.tsMs.length % sliceRows === sliceRows - 1) await breathe();
    const row = columns.map(({ cells }, i) => {
      const cell = cells.get(ts) ?? null;
      if (query.fill !== 'previous') return cell;
      if (cell !== null && cell.value !== null) previous[i] = cell;
      return previous[i] ?? cell;
    });
    chart.tsMs.push(ts);
    chart.values.push(row.map((cell) => cell?.value ?? null));
    chart.qmask.push(row.map((cell) => cell?.flag ?? null));
    if (chart.detail === undefined) continue;
    const rows = columns.map(({ cells }) => cells.get(ts)?.row);
    const due = columns.map(({ cadenceHz }, i) => expected(cadenceHz, ts, rows[i]?.n ?? 0));
    pushDetail(chart.detail, rows, due, query.qualityMax);
  }
  for (const { cells, cadenceHz, perUnit, ends } of columns) {
    const totals = totalsOf(cells, query.qualityMax, perUnit);
    chart.detail?.totals.push({
      ...totals,
      expectedN: expected(cadenceHz, null, totals.n),
      first: ends?.first ?? null,
      last: ends?.last ?? null,
    });
  }
  return chart;
}

/** How many values are due in a bucket of the range; null: in the whole range.  @param partMs values were read in parts of this length */
function dueIn(
  { fromNs, toNs }: ChartQuery,
  starts: readonly number[],
  partMs: number,
): (cadenceHz: number | null, bucketMs: number | null, n: number) => number | null {
  const nowMs = unixNowMs();
  const fromMs = Math.floor(Number(fromNs) / 1e6 / partMs) * partMs;
  const toMs = Math.ceil(Number(toNs) / 1e6 / partMs) * partMs;
  const endOf = new Map(starts.map((ms, i) => [ms, starts[i + 1] ?? toMs]));
  return (cadenceHz, bucketMs, n) => {
    const beginMs = Math.max(bucketMs ?? fromMs, fromMs);
    const endMs = Math.min(bucketMs === null ? toMs : (endOf.get(bucketMs) ?? toMs), toMs, nowMs);
    return expectedIn(cadenceHz, endMs - beginMs, n);
  };
}

/** The first and last good value of the range, from the first and last bucket that has any. */
async function endsOf(
  query: ChartQuery,
  cells: Column,
  read: (asked: ChartQuery, aggregate: ChartAggregate) => Promise<Column>,
): Promise<Pick<Totals, 'first' | 'last'>> {
  const held = [...cells].flatMap(([ms, { row }]) => ((row?.good_n ?? 0) > 0 ? [ms] : [])).sort((a, b) => a - b);
  const good = async (asked: Partial<ChartQuery>, aggregate: 'first' | 'last', ms: number | undefined): Promise<number | null> =>
    ms === undefined ? null : ((await read({ ...query, ...asked }, aggregate)).get(ms)?.row?.good ?? null);
  const second = held[1] === undefined ? query.toNs : BigInt(held[1]) * 1_000_000n;
  const newest = BigInt(held.at(-1) ?? 0) * 1_000_000n;
  return {
    first: await good({ toNs: second }, 'first', held[0]),
    last: await good({ fromNs: newest > query.fromNs ? newest : query.fromNs }, 'last', held.at(-1)),
  };
}

// ---------------------------------------------------------------------------------------------------------------- buckets

/** Start of the bucket of a time column, Unix ms, as SQL. Fixed steps count from 2001-01-01 UTC, calendar units from the caller's midnight.
 *  Steps and zones are parameter $3, so the text is always the same and prepared() plans it once. */
function bucketOf(resolution: Resolution, column: string): string {
  const start =
    resolution.kind === 'calendar'
      ? `date_trunc('${resolution.unit}', ${column}, $3::text)`
      : `date_bin($3::interval, ${column}, timestamptz '2001-01-01 00:00:00+00')`;
  return `round(date_part('epoch', ${start}) * 1000)`;
}

/** Parameters $1, $2 and $3 of such a statement. */
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
  // Steps in local time, so that a day with 23 or 25 hours is one bucket, and one that the clocks skip is none. Where they show midnight
  // twice, the day begins with the first; PostgreSQL takes the second.
  // SQL: kysely has no generate_series and no `at time zone`.
  const { rows } = await db.query<{ ms: number }>(
    `select distinct (extract(epoch from ${firstTimeOf('g', '$3')}) * 1000)::float8 as ms
     from generate_series(date_trunc('${resolution.unit}', $1::timestamptz at time zone $3), $2::timestamptz at time zone $3, interval '1 ${resolution.unit}') as g
     where ${firstTimeOf('g', '$3')} < $2::timestamptz order by 1`,
    [timestampAt(query.fromNs), timestampAt(query.toNs + 999n), query.timeZone],
  );
  return rows.map((row) => row.ms);
}

/** Cells of calendar buckets by the start of their bucket: SQL has them by what PostgreSQL takes for it. */
function atStarts(cells: Column, resolution: Resolution, starts: readonly number[]): Column {
  if (resolution.kind === 'fixed' || starts.length === 0) return cells;
  const bucketAt = bucketFinder(resolution, starts);
  return new Map([...cells].map(([ms, cell]) => [starts[bucketAt(ms)]!, cell]));
}

function floorTo(ms: number, stepMs: number): number {
  return ORIGIN_MS + Math.floor((ms - ORIGIN_MS) / stepMs) * stepMs;
}

// ---------------------------------------------------------------------------------------------------------------- features

const NS_PER_MINUTE = 60_000_000_000n;
const NS_PER_HOUR = 60n * NS_PER_MINUTE;
const NS_PER_DAY = 24n * NS_PER_HOUR;

const floorNs = (ns: bigint, unit: bigint): bigint => ns - (((ns % unit) + unit) % unit);

/** Whole hours or days of UTC in the range: [from, to), empty when there is none. */
function wholeUnits({ fromNs, toNs }: Pick<ChartQuery, 'fromNs' | 'toNs'>, unit: bigint): [from: string, to: string] {
  const [first, end] = [floorNs(fromNs + unit - 1n, unit), floorNs(toNs, unit)];
  return [timestampAt(first), timestampAt(end > first ? end : first)];
}

/** Reads the features of a chart, all of them in one statement. */
async function readFeatures(
  db: Db,
  query: ChartQuery,
  table: ChartPlan['table'],
  { streamIds, methods }: ChartPlan['sources'],
): Promise<readonly PackedSeries[]> {
  const ids = query.series.flatMap((series) => (series.kind === 'feature' ? methodsOf(series, methods).map(({ id }) => id) : []));
  const methodIds = [...new Set(ids)];
  if (methodIds.length === 0) return [];
  const to = timestampAt(query.toNs + 999n);
  if (table === 'feature') return readFeatureValues(db, streamIds, methodIds, timestampAt(query.fromNs), to);
  // Rollups have whole minutes: the minute in which the range begins counts, as does the one in which it ends.
  const whole = { fromNs: floorNs(query.fromNs, NS_PER_MINUTE), toNs: query.toNs };
  const [hoursFrom, hoursTo] = table === 'feature_1m' ? [null, null] : wholeUnits(whole, NS_PER_HOUR);
  const [daysFrom, daysTo] = table === 'feature_1d' ? wholeUnits(whole, NS_PER_DAY) : [hoursTo, hoursTo];
  const bounds = { from: timestampAt(whole.fromNs), to, hoursFrom, hoursTo, daysFrom, daysTo };
  return readFeatureBuckets(db, streamIds, methodIds, bounds, query.qualityMax, needsExtremes(query));
}

function needsExtremes({ series, detail }: ChartQuery): boolean {
  const sums: readonly ChartAggregate[] = ['mean', 'sum', 'count'];
  return detail === true || series.some((one) => one.kind === 'feature' && !sums.includes(one.aggregate));
}

/** A bucket is of one version, the newest that has values there: on the day of an upgrade the hours before it are of the one before.
 *  @param features of each stream, method and channel one, or two where minutes are open */
async function featureColumn(
  query: ChartQuery,
  series: Extract<ChartSeries, { kind: 'feature' }>,
  resolution: Resolution,
  table: ChartPlan['table'],
  starts: readonly number[],
  features: readonly PackedSeries[],
  { startMsOf, methods }: ChartPlan['sources'],
): Promise<Pick<ReadColumn, 'cells' | 'ends' | 'cadenceHz' | 'perUnit' | 'methodCodes'>> {
  const { qualityMax, fromNs, toNs, onDamaged } = query;
  const { aggregate } = series;
  const withDetail = query.detail === true;
  const ofValues = table === 'feature';
  const bucketAt = bucketFinder(resolution, starts);
  const cells: Column = new Map();
  const methodCodes: string[] = [];
  let perUnit = 1;
  let [first, last]: [End | null, End | null] = [null, null];
  const versions = methodsOf(series, methods);
  for (const { id, code } of versions) {
    const buckets = new FeatureBuckets({ starts, bucketAt, qualityMax, withExtremes: needsExtremes(query), ofValues, onDamaged });
    for (const packed of features) {
      if (packed.method_id !== id) continue;
      await breathe();
      if (ofValues) buckets.addValues(packed, Number(floorNs(fromNs, 1000n) / 1000n), Number((toNs + 999n) / 1000n));
      else buckets.addSeries(packed, startMsOf.get(packed.stream_id));
    }
    const column = buckets.column(aggregate, withDetail, cells);
    if (column.cells.size > 0) {
      methodCodes.push(code);
      perUnit = Math.max(perUnit, buckets.perUnit);
    }
    for (const [ms, cell] of column.cells) cells.set(ms, cell);
    if (column.first !== null && (first === null || column.first.ms < first.ms)) first = column.first;
    if (column.last !== null && (last === null || column.last.ms > last.ms)) last = column.last;
  }
  const ends = withDetail ? { first: first?.value ?? null, last: last?.value ?? null } : null;
  return { cells, ends, cadenceHz: versions[0]?.cadenceHz ?? null, perUnit, methodCodes };
}

function bucketFinder(resolution: Resolution, starts: readonly number[]): BucketAt {
  const first = starts[0] ?? 0;
  if (resolution.kind === 'fixed') return (ms) => Math.floor((ms - first) / resolution.stepMs);
  return (ms) => {
    let [low, high] = [0, starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (starts[middle]! <= ms) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  };
}

function cellsOf(rows: readonly BucketRow[], aggregate: ChartAggregate, { qualityMax, detail }: ChartQuery): Column {
  return new Map(
    rows.map((row) => {
      const cell = cellOf(row, aggregate, qualityMax, null);
      return [row.ms, detail === true ? { ...cell, row } : cell];
    }),
  );
}

async function measurementColumn(
  db: Db,
  query: ChartQuery,
  biosignalId: number,
  aggregate: ChartAggregate,
  resolution: Resolution,
): Promise<Column> {
  const { rows } = await db.query<BucketRow>(
    prepared(
      `select ${bucketOf(resolution, 'time')} as ms, ${bucketSums(aggregate, query.qualityMax, query.detail === true)}
       from measurement
       where time >= $1::timestamptz and time < $2::timestamptz and xuser_id = $4 and biosignal_id = $5
       group by 1`,
      [...bucketBounds(query, resolution), query.subjectId, biosignalId],
    ),
  );
  return cellsOf(rows, aggregate, query);
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
    for (const { ms, min, max, ...counts } of buckets) {
      const flag = flagOf(counts);
      const values =
        min === null || max === null || flag > query.qualityMax
          ? null
          : [(min - channel.baseline) / channel.gain, (max - channel.baseline) / channel.gain];
      widen(low, { ms, ...counts }, values === null ? null : Math.min(...values), flag, Math.min);
      widen(high, { ms, ...counts }, values === null ? null : Math.max(...values), flag, Math.max);
    }
  }
  return [low, high];
}

type Counts = Pick<BucketRow, 'n' | 'value_n' | 'good_n' | 'suspect_n'>;

function widen(
  column: Column,
  counts: Counts & { ms: number },
  value: number | null,
  flag: QualityFlag,
  join: (a: number, b: number) => number,
): void {
  const there = column.get(counts.ms);
  const joined = there === undefined || there.value === null ? value : value === null ? there.value : join(there.value, value);
  const before = there?.row ?? { n: 0, value_n: 0, good_n: 0, suspect_n: 0 };
  const row = {
    ms: counts.ms,
    n: before.n + counts.n,
    value_n: before.value_n + counts.value_n,
    good_n: before.good_n + counts.good_n,
    suspect_n: before.suspect_n + counts.suspect_n,
    // Samples are not separated by flag here, so every class has the number's own samples.
    good_min: joined,
    suspect_min: joined,
    every_min: joined,
    good_max: joined,
    suspect_max: joined,
    every_max: joined,
  };
  column.set(counts.ms, { value: joined, flag: there !== undefined && there.flag > flag ? there.flag : flag, row });
}

type WaveBucket = Counts & { ms: number; min: number | null; max: number | null };

/** Builds buckets from the statistics of rows, without reading samples. */
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
  return rows.map(({ ms, min, max, n, suspect_n: suspect, bad_n: bad }) => ({ ms, min, max, ...countsOf(n, suspect, bad) }));
}

type SampleBuckets = Map<number, { min: number; max: number; n: number; suspect: number; bad: number }>;

/** @param seconds of the range that the stream covers, roughly: a short stretch is read in one query */
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
      ...(query.onDamaged && { onDamaged: query.onDamaged }),
    });
    for (const segment of segments) if (segment.channelNo === channel.channel_no) addSamples(found, segment, stepMs);
  }
  return Array.from(found, ([ms, { min, max, n, suspect, bad }]) => ({
    ms,
    min: min === Infinity ? null : min,
    max: max === -Infinity ? null : max,
    ...countsOf(n, suspect, bad),
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

const countsOf = (n: number, suspect: number, bad: number): Counts => ({ n, value_n: n, good_n: n - suspect - bad, suspect_n: suspect });
