/** What widgets ask the service for: the catalog (once per session), chart series, the newest observation. */
import type { Answer, BodyOf } from '../../sdk/request.ts';
import { ServiceError } from './session.ts';
import type { Session } from './session.ts';

export type Biosignal = Answer<'listBiosignals'>[number];
export type Observation = Answer<'listObservations'>[number];

/** One column of a chart. `values[i]` is null where there is nothing usable; `flags[i]` says how far to trust the rest. */
export type Series = Readonly<{
  name: string;
  key: string;
  unit: string;
  timesMs: readonly number[];
  values: readonly (number | null)[];
  flags: readonly number[];
  /** Bucket width; a longer silence is a gap. */
  stepMs: number;
}>;

const catalogs = new WeakMap<Session, Promise<readonly Biosignal[]>>();

export async function catalog(session: Session): Promise<readonly Biosignal[]> {
  let known = catalogs.get(session);
  if (known === undefined) {
    known = session.identity().then(({ projectId }) => session.get('/api/v1/projects/{projectId}/biosignals', { params: { projectId } }));
    catalogs.set(session, known);
    known.catch(() => catalogs.delete(session));
  }
  return known;
}

/** What an attribute means by `HR`, `8867-4`, `17` or `hrv_rmssd_60s`: a biosignal of the catalog by abbreviation, LOINC code, id or name. */
export function findBiosignal(list: readonly Biosignal[], wanted: string): Biosignal | undefined {
  const lower = wanted.toLowerCase();
  return (
    list.find((item) => item.abbreviation.toLowerCase() === lower) ??
    list.find((item) => item.loinc_code === wanted || String(item.id) === wanted) ??
    list.find((item) => item.name.toLowerCase() === lower)
  );
}

type Body = BodyOf<'queryChart'>;
export type Aggregate = NonNullable<Body['series'][number]['agg']>;
export type ChartRequest = Readonly<{
  series: readonly string[];
  rangeMs: number;
  maxPoints: number;
  /** As an attribute says it; the service refuses what it does not know. */
  resolution?: string | null;
  tz?: string | undefined;
  agg?: Aggregate;
}>;

/** Series over the last `rangeMs`, at most `maxPoints` values each. */
export async function queryChart(session: Session, request: ChartRequest, signal?: AbortSignal): Promise<Series[]> {
  const [list, { subjectId }] = await Promise.all([catalog(session), session.identity()]);
  const columns = request.series.map((wanted) => ({ wanted, biosignal: findBiosignal(list, wanted) }));
  const features = columns.filter(({ biosignal }) => biosignal === undefined).map(({ wanted }) => wanted);
  if (features.length > 0) {
    const methods = await session.get('/api/v1/methods', { signal });
    const unknown = features.find((wanted) => !methods.some(({ name }) => name === wanted));
    if (unknown !== undefined) throw unknownBiosignal(unknown);
  }
  const toMs = Date.now();
  const body: Body = {
    subject_id: subjectId,
    series: columns.map(({ wanted, biosignal }) => ({
      ...(biosignal === undefined ? { feature: wanted } : { biosignal_id: biosignal.id }),
      agg: request.agg ?? 'mean',
    })),
    range: { from: new Date(toMs - request.rangeMs).toISOString(), to: new Date(toMs).toISOString() },
    max_points: request.maxPoints,
    ...(request.resolution === null || request.resolution === undefined
      ? {}
      : { resolution: request.resolution as NonNullable<Body['resolution']> }),
    ...(request.tz === undefined ? {} : { tz: request.tz }),
  };
  const answer = await session.post('/api/v1/charts/query', { body, signal });
  const rows = answer.data;
  const timesMs = rows.map((row) => Number(row[0]));
  const stepMs = medianStep(timesMs);
  return columns.map(({ wanted, biosignal }, column) => ({
    name: biosignal?.name ?? answer.values?.[column]?.name ?? wanted,
    key: wanted,
    unit: biosignal?.unit ?? answer.values?.[column]?.unit ?? '',
    timesMs,
    stepMs,
    values: rows.map((row, i) => {
      const value = row[column + 1] ?? null;
      return value === null || !Number.isFinite(value) || (answer.qmask?.[i]?.[column] ?? 0) >= 2 ? null : value;
    }),
    flags: rows.map((_, i) => answer.qmask?.[i]?.[column] ?? 0),
  }));
}

/** What is asked for is neither a biosignal of the project nor a feature: a mistake in the page, and not an empty period. */
export function unknownBiosignal(wanted: string): ServiceError {
  return new ServiceError(
    -1,
    'page',
    `biosignals="${wanted}" is no abbreviation, LOINC code, id or name of the project's biosignals, and no feature`,
  );
}

/** The newest observation of the last `withinMs` that is good (the API's default: quality_max 0), or null. */
export async function latestObservation(
  session: Session,
  biosignal: Biosignal,
  withinMs: number,
  signal?: AbortSignal,
): Promise<Observation | null> {
  const { subjectId } = await session.identity();
  const query = {
    biosignal_id: biosignal.id,
    subject_id: subjectId,
    since: new Date(Date.now() - withinMs).toISOString(),
    order: 'desc',
    limit: 1,
  } as const;
  const [newest] = await session.get('/api/v1/observations', { query, signal });
  return newest ?? null;
}

/** @param timesMs ascending  @returns the usual distance, ms */
export function medianStep(timesMs: readonly number[]): number {
  const steps = timesMs.slice(1).map((time, i) => time - timesMs[i]!);
  steps.sort((a, b) => a - b);
  return steps[Math.floor(steps.length / 2)] ?? 60_000;
}

export type Summary = Readonly<{
  latest: number;
  latestMs: number;
  latestFlag: number;
  min: number;
  max: number;
  mean: number;
  goodShare: number;
}>;

/** null when the series holds no usable value. */
export function summarize(series: Series): Summary | null {
  let last = -1;
  let min = Infinity;
  let max = -Infinity;
  let sum = 0;
  let count = 0;
  let good = 0;
  let known = 0;
  for (let i = 0; i < series.values.length; i++) {
    const value = series.values[i]!;
    if (value !== null || series.flags[i]! > 0) known++;
    if (value === null) continue;
    last = i;
    min = Math.min(min, value);
    max = Math.max(max, value);
    sum += value;
    count++;
    if (series.flags[i] === 0) good++;
  }
  if (last < 0) return null;
  return {
    latest: series.values[last]!,
    latestMs: series.timesMs[last]!,
    latestFlag: series.flags[last]!,
    min,
    max,
    mean: sum / count,
    goodShare: good / known,
  };
}
