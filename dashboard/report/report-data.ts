/** Everything a report shows, asked of the public API: for an operator with their cookie, for the command line with its key. */
import type { Answer } from '../../sdk/request.ts';
import { addDays, atWallTime, startOfDay, wallTime } from '../../widgets/shared/days.ts';
import type { Session } from '../../widgets/shared/session.ts';
import { datesOf, readNights } from '../../widgets/trend-chart/moves/nights.ts';
import type { Night } from '../../widgets/trend-chart/moves/nights.ts';
import { catalog } from '../../widgets/shared/data.ts';
import { t } from '../language.ts';
import { isOfDevice, newestFirst, readMeasured } from '../measured.ts';
import type { Measurement } from '../measured.ts';
import { zoneOf } from '../time-zone.ts';

/** Each day of rest and nights is a request, each episode one. */
export const DAYS_MAX = 31;
export const EPISODES_MAX = 20;
export const STREAMS_MAX = 200;
/** Of each biosignal: a device may report one every minute. */
export const MEASUREMENTS_MAX = 20;
/** Series of one request. */
const SERIES_MAX = 16;
/** Days that a report is of when it is not asked for others. */
export const USUAL_DAYS = 7;

export type Range = Readonly<{ fromMs: number; toMs: number }>;
export type Ending = 'recording' | 'measurement';
type Stream = Answer<'listStreams'>[number];
type Method = Answer<'listMethods'>[number];
type Totals = NonNullable<Answer<'queryChart'>['detail']>['totals'][number];
export type MethodLine = Readonly<{ method: Method; totals: Totals }>;
export type EpisodeOfReport = Answer<'getEpisode'>;
export type ReportData = Readonly<{
  user: Answer<'getUser'>;
  timeZone: string;
  range: Range;
  /** Nothing was recorded or measured in the usual days: what these end with, the newest of either; null: they are those asked for. */
  endsWith: Ending | null;
  streams: Answer<'listStreams'>;
  /** There are recordings that the report leaves out. */
  moreStreams: boolean;
  /** What was measured and is no signal, the newest first. */
  measured: readonly Measurement[];
  /** Names of those of which the report leaves measurements out. */
  moreMeasured: readonly string[];
  /** Of what was recorded after this time, values are still being computed; null: of nothing. */
  computedToMs: number | null;
  /** Something came a moment ago: its values and episodes may not be there yet. */
  isComing: boolean;
  /** What the trends are drawn of: where little of the range was recorded, that alone. */
  drawn: Range;
  /** Methods that have values in the range, each version apart. */
  lines: readonly MethodLine[];
  nights: readonly Night[];
  episodes: readonly EpisodeOfReport[];
  /** There are episodes that the report leaves out. */
  more: boolean;
  /** Biosignals whose course is drawn, one chart each. */
  trends: readonly Readonly<{ biosignals: string; heading: string }>[];
}>;

/** What a chart is drawn of, where it has values. */
const trends = [
  { features: ['hr_ecg', 'hr_ppg'], biosignals: 'HR', heading: t('Heart rate') },
  { features: ['hrv_rmssd_60s'], biosignals: 'RMSSD', heading: t('RMSSD, windows of 60 s') },
  { features: ['hrv_sdnn_300s'], biosignals: 'SDNN', heading: t('SDNN, windows of 5 min') },
  { features: ['resp_rate'], biosignals: 'RESP', heading: t('Respiratory rate') },
] as const;

/** @param session for an operator, or with what the command line adds to each request */
export async function readReport(session: Session, asked: URLSearchParams, nowMs: number): Promise<ReportData> {
  const { subjectId } = await session.identity();
  const user = await session.get('/api/v1/xusers/{xuserId}', { params: { xuserId: subjectId } });
  const projects = await session.get('/api/v1/projects');
  const timeZone = zoneOf(user, projects) || 'UTC';
  const usual = rangeOf(asked, timeZone, nowMs);
  const earlier = asked.get('from') || asked.get('to') ? null : await earlierDays(session, subjectId, usual, timeZone);
  const range = earlier?.range ?? usual;
  const between = { since: new Date(range.fromMs).toISOString(), until: new Date(range.toMs).toISOString() };
  const [recorded, newest, methods, list, nights] = await Promise.all([
    session.get('/api/v1/streams', { query: { subject_id: subjectId, ...between, limit: STREAMS_MAX + 1 } }),
    measuredOf(session, { subject_id: subjectId, ...between }, MEASUREMENTS_MAX + 1),
    session.get('/api/v1/methods'),
    session.get('/api/v1/episodes', { query: { subject_id: subjectId, ...between, limit: EPISODES_MAX + 1 } }),
    readNights(session, datesOf({ ...range, toMs: Math.min(range.toMs, nowMs) }, timeZone, DAYS_MAX), timeZone),
  ]);
  const streams = recorded.slice(0, STREAMS_MAX);
  const lines = await readLines(session, subjectId, methods, range);
  const episodes = await Promise.all(list.slice(0, EPISODES_MAX).map(({ id }) => session.get('/api/v1/episodes/{id}', { params: { id } })));
  const computedToMs = await readComputedTo(session, streams, range, nowMs);
  const measured = [...Map.groupBy(newest, ({ biosignal_id: id }) => id)];
  const held = new Set(lines.map(({ method }) => method.name));
  return {
    user,
    timeZone,
    range,
    endsWith: earlier?.endsWith ?? null,
    streams,
    measured: measured.flatMap(([, rows]) => rows.slice(0, MEASUREMENTS_MAX)).toSorted(newestFirst),
    moreMeasured: measured.flatMap(([, rows]) => (rows.length > MEASUREMENTS_MAX ? rows[0]!.name : [])),
    computedToMs,
    isComing: computedToMs !== null || streams.some((stream) => isComing(stream, nowMs)),
    moreStreams: recorded.length > STREAMS_MAX,
    // Of those that are left out nobody knows here when they were.
    drawn: recorded.length > STREAMS_MAX ? range : drawnOf(streams, range),
    lines,
    nights,
    episodes: episodes.toSorted((a, b) => Date.parse(a.started_at) - Date.parse(b.started_at)),
    more: list.length > EPISODES_MAX,
    trends: trends.filter(({ features }) => features.some((feature) => held.has(feature))),
  };
}

/** @param limit of each biosignal */
const measuredOf = async (
  session: Session,
  query: { subject_id: string; since?: string; until?: string },
  limit: number,
): Promise<readonly Measurement[]> =>
  readMeasured(
    (await catalog(session)).filter((item) => !isOfDevice(item)),
    limit,
    (of) => session.get('/api/v1/observations', { query: { ...query, ...of } }),
  );

/** A recording that takes less of the range is drawn without the rest: it would be a hairline. */
const DRAWN_SHARE_MIN = 0.1;
const DRAWN_MS_MIN = 120_000;

/** From the first to the last recording in the range, and a little around them. */
export function drawnOf(streams: readonly Pick<Stream, 'recorded_from' | 'last_sample_at'>[], range: Range): Range {
  const spans = streams.flatMap(({ recorded_from: from, last_sample_at: to }) =>
    from === null || to === null ? [] : [spanIn(range, from, to)],
  );
  const [fromMs, toMs] = [Math.min(...spans.map((span) => span.fromMs)), Math.max(...spans.map((span) => span.toMs))];
  if (!(toMs > fromMs) || toMs - fromMs > DRAWN_SHARE_MIN * (range.toMs - range.fromMs)) return range;
  const around = Math.max(0.05 * (toMs - fromMs), (DRAWN_MS_MIN - (toMs - fromMs)) / 2);
  // Of whole minutes, as the report writes times.
  const [beginMs, endMs] = [Math.floor((fromMs - around) / 6e4) * 6e4, Math.ceil((toMs + around) / 6e4) * 6e4];
  return { fromMs: Math.max(range.fromMs, beginMs), toMs: Math.min(range.toMs, endMs) };
}

const spanIn = (range: Range, from: string, to: string): Range => ({
  fromMs: Math.max(range.fromMs, Date.parse(from)),
  toMs: Math.min(range.toMs, Date.parse(to)),
});

/** Values of a recording that has begun to arrive, and what rules find in them, come within this time, where nothing waits. */
const ARRIVED_MS = 90_000;
/** What arrives live is not older. */
const LIVE_MS = 60_000;

/** It arrived a moment ago, or is an import that goes on. */
export function isComing(
  { started_at: startedAt, last_sample_at: last, is_flowing: isFlowing }: Pick<Stream, 'started_at' | 'last_sample_at' | 'is_flowing'>,
  nowMs: number,
): boolean {
  if (nowMs - Date.parse(startedAt) < ARRIVED_MS) return true;
  return isFlowing && last !== null && nowMs - Date.parse(last) > LIVE_MS;
}

/** Values come so much later than their samples, at most, where nothing waits. */
const COMPUTED_WITHIN_MS = 180_000;
/** Of a recording that came before, what has no values will have none. */
const COMING_MS = 864e5;
const COMING_MAX = 20;
/** How closely is looked where values end. */
const CLOSELY_MS = 30_000;
const judged = { ecg: 'sqi_ecg', ppg: 'sqi_ppg' } as const;

/** The quality of ECG and PPG is judged whatever they are like: where it ends, values are still being computed.
 *  @returns null: everything is computed */
export async function readComputedTo(
  session: Session,
  streams: Answer<'listStreams'>,
  range: Range,
  nowMs: number,
): Promise<number | null> {
  const isYoung = (time: string | null): boolean => time !== null && Date.parse(time) > nowMs - COMING_MS;
  // It may have begun days ago, or be of days ago and have come today.
  const coming = streams
    .filter((stream) => stream.is_flowing || isYoung(stream.started_at) || isYoung(stream.last_sample_at))
    .slice(0, COMING_MAX);
  const ends = await Promise.all(coming.map((stream) => computedToOf(session, stream, range)));
  const known = ends.filter((end) => end !== null);
  return known.length === 0 ? null : Math.min(...known);
}

async function computedToOf(session: Session, stream: Stream, range: Range): Promise<number | null> {
  const channel = stream.channels.find(({ kind }) => kind === 'ecg') ?? stream.channels.find(({ kind }) => kind === 'ppg');
  if (channel === undefined || stream.recorded_from === null || stream.last_sample_at === null) return null;
  const { fromMs, toMs } = spanIn(range, stream.recorded_from, stream.last_sample_at);
  const params = { streamId: stream.id };
  const iso = (ms: number): string => new Date(ms).toISOString();
  const isComputed = async (ms: number): Promise<boolean> => {
    const names = [judged[channel.kind as keyof typeof judged]];
    const query = { names, since: iso(ms), until: iso(toMs), limit: 1 };
    return (await session.get('/api/v1/streams/{streamId}/features', { params, query })).length > 0;
  };
  let [low, high] = [fromMs, toMs - COMPUTED_WITHIN_MS];
  if (high <= low || (await isComputed(high))) return null;
  // A recording may end with something else than its signal.
  const query = { since: iso(high), until: iso(toMs), channels: [channel.code], buckets: 10 };
  const rest = await session.get('/api/v1/streams/{streamId}/overview', { params, query });
  if (!rest.some(({ n }) => n.some((count) => count > 0))) return null;
  while (high - low > CLOSELY_MS) {
    const middle = (low + high) / 2;
    if (await isComputed(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Totals of the range for every version of every method that has values there. */
async function readLines(session: Session, subjectId: string, methods: readonly Method[], range: Range): Promise<MethodLine[]> {
  // The catalog has every version that there ever was: ten times as many.
  const wanted = methods.filter(({ kind, is_stored: isStored }) => kind === 'feature' && isStored);
  const lines: MethodLine[] = [];
  for (let i = 0; i < wanted.length; i += SERIES_MAX) {
    const some = wanted.slice(i, i + SERIES_MAX);
    const { detail } = await session.post('/api/v1/charts/query', {
      body: {
        subject_id: subjectId,
        series: some.map(({ name, code }) => ({ feature: name, method_code: code })),
        range: { from: new Date(range.fromMs).toISOString(), to: new Date(range.toMs).toISOString() },
        max_points: 2,
        detail: true,
      },
    });
    some.forEach((method, k) => {
      const totals = detail?.totals[k];
      if (totals !== undefined && totals.n > 0) lines.push({ method, totals });
    });
  }
  return lines.toSorted((a, b) =>
    a.method.name < b.method.name ? -1 : a.method.name > b.method.name ? 1 : a.method.version - b.method.version,
  );
}

/** As many days up to what was recorded or measured last, where nothing was in the usual ones: it may be of a clock that is ahead. null:
 *  something was, or there is nothing. */
async function earlierDays(
  session: Session,
  subjectId: string,
  usual: Range,
  timeZone: string,
): Promise<Readonly<{ range: Range; endsWith: Ending }> | null> {
  const [since, until] = [usual.fromMs, usual.toMs].map((ms) => new Date(ms).toISOString()) as [string, string];
  const within = await Promise.all([
    session.get('/api/v1/streams', { query: { subject_id: subjectId, since, until, limit: 1 } }),
    measuredOf(session, { subject_id: subjectId, since, until }, 1),
  ]);
  if (within.some((list) => list.length > 0)) return null;
  const endsOf = async (from?: string): Promise<number[]> => {
    const streams = await session.get('/api/v1/streams', {
      query: { subject_id: subjectId, limit: STREAMS_MAX, ...(from === undefined ? {} : { since: from }) },
    });
    return streams.flatMap(({ last_sample_at: last }) => (last === null ? [] : [Date.parse(last)]));
  };
  // The one that began last need not be the one that ends last.
  const ends = [...(await endsOf()), ...(await endsOf(since))];
  const [measured] = await measuredOf(session, { subject_id: subjectId }, 1);
  // A measurement is at a moment, which its day includes.
  const measuredMs = measured === undefined ? -Infinity : Date.parse(measured.effective_time) + 1;
  const endMs = Math.max(...ends, measuredMs);
  if (endMs === -Infinity) return null;
  const toMs = addDays(startOfDay(endMs - 1, timeZone), 1, timeZone);
  const endsWith = endMs === measuredMs ? 'measurement' : 'recording';
  return { range: { fromMs: addDays(toMs, -USUAL_DAYS, timeZone), toMs }, endsWith };
}

/** What the service takes for a time. */
const [EARLIEST_MS, LATEST_MS] = [Date.parse('1900-01-02'), Date.parse('2199-12-30')];

/** Times or days of an address; a day is included. Without any, the last seven days.
 *  @throws RangeError with a sentence, when they are none */
export function rangeOf(asked: URLSearchParams, timeZone: string, nowMs: number): Range {
  const time = (name: string, days: number): number | null => {
    const text = asked.get(name);
    if (text === null || text === '') return null;
    const ms = Date.parse(text);
    if (!(ms >= EARLIEST_MS && ms <= LATEST_MS))
      throw new RangeError(t('{name} is not a time: write 2026-03-01 or 2026-03-01T08:00:00Z', { name }));
    return text.length === 10 ? addDays(atWallTime(ms, timeZone), days, timeZone) : ms;
  };
  const toMs = time('to', 1) ?? nowMs;
  const fromMs = time('from', 0) ?? startOfDay(addDays(toMs - 1, 1 - USUAL_DAYS, timeZone), timeZone);
  if (fromMs >= toMs) throw new RangeError(t('from is not before to'));
  return { fromMs, toMs };
}

/** The day of a time, as a date field has it. */
export const dateOf = (ms: number, timeZone: string): string => new Date(wallTime(ms, timeZone)).toISOString().slice(0, 10);
