/** Requests of the widgets: the catalog (once per session), chart series, the newest observation. */
import type { Answer, BodyOf } from '../../sdk/request.ts';
import { medianStep } from './buckets.ts';
import { parseDuration } from './format.ts';
import type { Session } from './session.ts';

/** `feature`: of one that was asked for by the name of its feature. */
export type Biosignal = Answer<'listBiosignals'>[number] & { feature?: string };
export type Observation = Answer<'listObservations'>[number];

export type Newest = Readonly<{ value: number; timeMs: number; flag: number; lengthMs: number }>;

/** One column of a chart. `values[i]` is null where there is nothing usable; `flags[i]` says how far to trust the rest. */
export type Series = Readonly<{
  name: string;
  key: string;
  unit: string;
  /** As the catalog has it. */
  source_type?: Biosignal['source_type'];
  timesMs: readonly number[];
  values: readonly (number | null)[];
  flags: readonly number[];
  /** Least and greatest value of each bucket. */
  lows: readonly (number | null)[];
  highs: readonly (number | null)[];
  /** How much of what is due in each bucket is good, 0 to 1. */
  shares: readonly number[];
  /** Least, mean and greatest value of the whole range, from its values: the same at every zoom. */
  range: readonly (number | null)[];
  /** Sum of the values of the whole range. */
  sum: number | null;
  /** How many of its values are good, 0 to 1. */
  goodShare: number;
  /** See newestOf. */
  newest?: Newest | null;
  /** Versions of the method that its values are of, the newest first; a service of an earlier release does not say. */
  method_codes?: readonly string[];
  /** Usual distance of buckets. */
  stepMs: number;
  /** Bucket width, where every bucket should have values: one that is missing is a gap, however few there are. */
  bucketMs?: number | false | null;
  /** Stands next to another series for comparison. */
  compared?: true;
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

/** What an attribute means by `HR`, `8867-4` or `17`: a biosignal of the catalog by abbreviation, LOINC code, id or name. */
export function findBiosignal(list: readonly Biosignal[], wanted: string): Biosignal | undefined {
  if (wanted === '') return undefined; // most have no LOINC code
  const lower = wanted.toLowerCase();
  return (
    list.find((item) => item.abbreviation.toLowerCase() === lower) ??
    list.find((item) => item.loinc_code === wanted || String(item.id) === wanted) ??
    list.find((item) => item.name.toLowerCase() === lower || item.feature === wanted)
  );
}

/** Likewise, and what the catalog has of a feature by its name (`hrv_rmssd_60s`), which is asked for once. undefined: the project hides it.
 *  @throws ApiError when there is no such feature */
export async function biosignalOf(session: Session, wanted: string): Promise<Biosignal | undefined> {
  const list = await catalog(session);
  const found = findBiosignal(list, wanted);
  if (found !== undefined) return found;
  const [series] = await queryChart(session, { series: [wanted], rangeMs: 1, maxPoints: 2 });
  const named = findBiosignal(list, series!.name);
  return named && Object.assign(named, { feature: wanted });
}

type Body = BodyOf<'queryChart'>;
export type Aggregate = NonNullable<Body['series'][number]['agg']>;
export type ChartRequest = Readonly<{
  series: readonly string[];
  rangeMs: number;
  /** End of the range, Unix ms; default: now. */
  toMs?: number;
  /** Of an operator or a key: another person than the session's. */
  subjectId?: string;
  maxPoints: number;
  /** As an attribute says it; the service refuses what it does not know. */
  resolution?: string | null;
  tz?: string | undefined;
  agg?: Aggregate | undefined;
  fill?: 'null';
}>;

/** Series over `rangeMs`, at most `maxPoints` values each.  @throws ApiError when one is neither a biosignal of the project nor a feature:
 *  a mistake in the page, and not an empty period */
export async function queryChart(session: Session, request: ChartRequest, signal?: AbortSignal): Promise<Series[]> {
  const [list, { subjectId }] = await Promise.all([catalog(session), session.identity()]);
  const columns = request.series.map((wanted) => ({ wanted, biosignal: findBiosignal(list, wanted) }));
  const { toMs = Date.now() } = request;
  // What is undefined is not sent.
  const body = {
    subject_id: request.subjectId ?? subjectId,
    series: columns.map(({ wanted, biosignal }) => ({
      ...(biosignal === undefined ? { feature: wanted } : { biosignal_id: biosignal.id }),
      agg: request.agg,
    })),
    range: { from: new Date(toMs - request.rangeMs).toISOString(), to: new Date(toMs).toISOString() },
    max_points: request.maxPoints,
    resolution: request.resolution ?? undefined,
    tz: request.tz,
    fill: request.fill,
    detail: true,
  } as Body;
  const answer = await session.post('/api/v1/charts/query', { body, signal });
  const rows = answer.data;
  const timesMs = rows.map((row) => Number(row[0]));
  const stepMs = medianStep(timesMs);
  const { detail } = answer;
  return columns.map(({ wanted, biosignal }, column) => {
    const head = answer.values?.[column];
    const totals = detail?.totals[column];
    const of = (member: 'n' | 'good_n' | 'expected_n' | 'min' | 'max') => rows.map((_, i) => detail?.[member][i]?.[column] ?? null);
    // A sum lies beyond every value that it is made of.
    const summed = head?.agg === 'sum';
    const flags = rows.map((_, i) => answer.qmask?.[i]?.[column] ?? 0);
    const [good, n, due] = [of('good_n'), of('n'), of('expected_n')];
    return {
      name: wanted,
      unit: '',
      ...biosignal,
      ...head,
      key: wanted,
      timesMs,
      stepMs,
      bucketMs: due.every((count) => count! > 1) && parseDuration(answer.resolution),
      values: rows.map((row, i) => {
        const value = row[column + 1]!;
        return Number.isFinite(value) && flags[i]! < 2 ? value : null;
      }),
      flags,
      lows: summed ? [] : of('min'),
      highs: summed ? [] : of('max'),
      shares: n.map((there, i) => (good[i] ?? 0) / Math.max(there ?? 0, due[i] ?? 0, 1)),
      range: [totals?.min, totals?.mean, totals?.max].map((value) => value ?? null),
      sum: totals?.sum ?? null,
      goodShare: (totals?.good_n ?? 0) / (totals?.n || 1),
    };
  });
}

/** The newest observation of the `withinMs` before `toMs` that is not bad, or null. What is counted is told as the sum of today, on the
 *  clocks of `tz` or else of the person: by this biosignal or, where it has none, by another of its LOINC code.
 *  @param toMs of what is not counted: the end, Unix ms; what a clock that is ahead says is not of now */
export async function latestObservation(
  session: Session,
  biosignal: Biosignal,
  withinMs: number,
  tz: string | undefined,
  signal?: AbortSignal,
  toMs = Date.now(),
): Promise<Observation | null> {
  const today = isCounted(biosignal) ? await todayOf(session, biosignal, tz, undefined, signal) : { biosignal_id: biosignal.id };
  if (today === null) return null;
  const { subjectId } = await session.identity();
  const query = {
    biosignal_id: today.biosignal_id,
    subject_id: subjectId,
    since: new Date(toMs - withinMs).toISOString(),
    until: new Date(toMs).toISOString(),
    quality_max: 1,
    order: 'desc',
    limit: 1,
  } as const;
  const [newest] = await session.get('/api/v1/observations', { query, signal });
  return newest === undefined ? null : { ...newest, ...today };
}

/** Steps add up over a day; the newest minute of them says nothing. */
export const isCounted = ({ unit }: Readonly<{ unit: string }>): boolean => /^{(steps|couplets|runs)}$/.test(unit);

type Today = Readonly<{ biosignal_id: number; value: number; unit: string; name: string; qmask: number }>;

/** Means little but over a whole day: steps, and what lasts (sleep). */
export const isDaily = ({ unit }: Readonly<{ unit: string }>): boolean => /^({steps}|min|h)$/.test(unit);

/** Sum (or another aggregate) of today, with its flag: the newest minute may be good where the day is not. */
export async function todayOf(
  session: Session,
  biosignal: Biosignal,
  tz: string | undefined,
  agg: Aggregate | undefined,
  signal?: AbortSignal,
): Promise<Today | null> {
  const others = (await catalog(session)).filter(
    (item) => isCounted(item) && item.loinc_code !== '' && item.loinc_code === biosignal.loinc_code && item !== biosignal,
  );
  const all = [biosignal, ...others];
  const request = {
    series: all.map(({ id }) => `${id}`),
    rangeMs: 2 * 864e5,
    maxPoints: 4,
    resolution: '1d',
    fill: 'null',
    tz,
    agg,
  } as const;
  const days = await queryChart(session, request, signal);
  for (const [i, { values, flags, unit, name }] of days.entries()) {
    const value = values.at(-1) ?? null;
    if (value !== null) return { biosignal_id: all[i]!.id, value, unit, name, qmask: flags.at(-1)! };
  }
  return null;
}

/** The newest observation; of a feature that is no biosignal the last value of its chart. null: there is none. */
export function newestOf(series: Series, observation: Observation | null): Newest | null {
  const { values, timesMs, flags, stepMs } = series;
  if (observation !== null)
    return { value: observation.value, timeMs: Date.parse(observation.effective_time), flag: observation.qmask, lengthMs: 60_000 };
  const last = values.findLastIndex((value) => value !== null);
  return last < 0 ? null : { value: values[last]!, timeMs: timesMs[last]!, flag: flags[last]!, lengthMs: stepMs };
}
