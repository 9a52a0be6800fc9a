/** Plans what a chart will read: its streams, methods and channels, its resolution, and roughly how many rows. */
import type { Db } from '../storage/database/database.ts';
import { PipelineError } from '../errors.ts';
import { rowSecOf } from '../storage/sample-rows.ts';
import { fittingResolutions, lengthMs, type Resolution } from './chart-resolution.ts';
import { chartSources, methodsOf, type ChartSources } from './chart-sources.ts';
import type { ChartQuery, ChartSeries } from './chart.ts';
import { timestampAfter, timestampAt } from './time-bounds.ts';

export type WaveChannel = Readonly<{
  stream_id: number;
  channel_no: number;
  code: string;
  gain: number;
  baseline: number;
  rate_nhz: bigint;
}>;

export type ChartPlan = Readonly<{
  resolution: Resolution;
  sources: ChartSources;
  /** Table that features are read from. */
  table: 'feature' | 'feature_1m' | 'feature_1h' | 'feature_1d';
  /** Channels of the series that are waveforms, by the index of the series. */
  waves: ReadonlyMap<number, readonly WaveChannel[]>;
  /** Approximate number of database rows that it reads. */
  rowCount: number;
}>;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Longest range whose samples are decoded for buckets below a second, ms. */
const DECODE_MS_MAX = HOUR_MS;
/** A row counts towards the bucket that it begins in. Buckets of fewer rows than this are built from samples, up to this many samples. */
const ROWS_OF_BUCKET_MIN = 16;
const DECODE_SAMPLES_MAX = 1_000_000;
/** Samples that cost as much to decode as one row costs to add up: 50 ns each against 10 us. */
const SAMPLES_OF_ROW = 200;

/** Plans a chart at the finest resolution that is within its points and within `rowsMax` rows.
 *  @throws PipelineError range_too_large when not even the coarsest is */
export async function planChart(db: Db, query: ChartQuery, rowsMax = Infinity): Promise<ChartPlan> {
  const sources = await chartSources(db, query);
  const waves = new Map<number, readonly WaveChannel[]>();
  for (const [index, series] of query.series.entries())
    if (series.kind === 'waveform') waves.set(index, await waveChannels(db, series, sources.streamIds));
  const rangeMs = Number((query.toNs - query.fromNs) / 1_000_000n);
  const onlyWaves = query.series.every((series) => series.kind === 'waveform');
  const stepMinMs = onlyWaves && rangeMs <= DECODE_MS_MAX ? 1 : 1000;
  let rowCount = 0;
  for (const resolution of fittingResolutions(rangeMs, query.maxPoints, stepMinMs, query.resolution)) {
    const table = await tableFor(db, query, resolution);
    rowCount = rowsOf(query, resolution, table, sources, waves);
    if (rowCount <= rowsMax) return { resolution, sources, table, waves, rowCount };
  }
  throw new PipelineError(
    'range_too_large',
    `The chart would read about ${rowCount} rows, at most ${rowsMax} are allowed. Ask for a shorter range or fewer series.`,
  );
}

function rowsOf(
  query: ChartQuery,
  resolution: Resolution,
  table: ChartPlan['table'],
  sources: ChartSources,
  waves: ChartPlan['waves'],
): number {
  const rowSec = { feature: 1, feature_1m: 60, feature_1h: 3600, feature_1d: 86_400 }[table];
  const versions = query.series.map((series) => (series.kind === 'feature' ? Math.max(1, methodsOf(series, sources.methods).length) : 0));
  const featureCount = versions.reduce((sum, count) => sum + count, 0);
  let rows = 0;
  for (const sec of sources.secondsOf.values()) rows += featureCount * Math.ceil(sec / rowSec);
  for (const channel of [...waves.values()].flat()) {
    const sec = sources.secondsOf.get(channel.stream_id) ?? 0;
    const rateHz = Number(channel.rate_nhz) / 1e9;
    rows += Math.ceil(fromSamples(query, channel, lengthMs(resolution)) ? (sec * rateHz) / SAMPLES_OF_ROW : sec / rowSecOf(rateHz * 1e9));
  }
  return rows;
}

/** Should the buckets be built from samples? Rows of a second are fine enough for buckets of a second, but most rows are longer. */
export function fromSamples(query: ChartQuery, channel: WaveChannel, stepMs: number): boolean {
  const rowMs = 1000 * rowSecOf(Number(channel.rate_nhz));
  if (stepMs < rowMs) return true;
  const sampleCount = (Number(query.toNs - query.fromNs) / 1e9) * (Number(channel.rate_nhz) / 1e9);
  return rowMs > 1000 && stepMs < ROWS_OF_BUCKET_MIN * rowMs && sampleCount <= DECODE_SAMPLES_MAX;
}

/** Chooses the coarsest table whose buckets lie wholly within ours. A zone not on whole hours needs minutes; days are stored by UTC, so
 *  they serve only where the zone equals UTC over the whole range. */
async function tableFor(db: Db, query: ChartQuery, resolution: Resolution): Promise<ChartPlan['table']> {
  const step = lengthMs(resolution);
  if (step < MINUTE_MS) return 'feature';
  if (step % HOUR_MS !== 0) return 'feature_1m';
  if (resolution.kind === 'fixed') return 'feature_1h';
  // SQL: kysely has no generate_series and no `at time zone`.
  const { rows } = await db.query<{ whole: boolean; utc: boolean }>(
    `select bool_and(off % 3600 = 0) as whole, bool_and(off = 0) as utc
     from (select t, extract(epoch from (t at time zone $3) - (t at time zone 'UTC'))::int as off
       from (select $1::timestamptz + ($2::timestamptz - $1::timestamptz) * part / 12.0 as t from generate_series(0, 12) as part) times) offsets`,
    [timestampAt(query.fromNs), timestampAfter(query.toNs), query.timeZone],
  );
  if (rows[0]?.whole !== true) return 'feature_1m';
  return rows[0].utc ? 'feature_1d' : 'feature_1h';
}

/** The primary channel of a kind: the first in each stream. */
async function waveChannels(
  db: Db,
  series: Extract<ChartSeries, { kind: 'waveform' }>,
  streamIds: readonly number[],
): Promise<readonly WaveChannel[]> {
  // SQL: every chart of a waveform runs it, and bench/queries.bench.ts measures that.
  const { rows } = await db.query<WaveChannel>(
    `with named as (
       select c.*, first_value(c.code) over (partition by c.stream_id order by c.channel_no) as primary_code
       from stream_channel c
       where c.stream_id = any ($1::int[]) and ($2::text is null or c.kind = $2) and ($3::text is null or c.code = $3))
     select stream_id, channel_no, code, gain, baseline, rate_nhz from named where code = primary_code order by stream_id, channel_no`,
    [streamIds, series.channelKind, series.channelCode],
  );
  return rows;
}
