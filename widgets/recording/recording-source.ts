/** Reads one recording for the viewer: in tiles that are kept, at most one request in flight for each kind of question, and answers to
 *  questions that nobody asks any more are dropped. */
import type { Answer } from '../../sdk/request.ts';
import { channelNames } from '../../src/signal.ts';
import { medianStep } from '../shared/buckets.ts';
import { catalog, findBiosignal } from '../shared/data.ts';
import { parseDuration } from '../shared/format.ts';
import type { Session } from '../shared/session.ts';
import { Failed } from '../shared/ask-again.ts';
import { badOf, gapsOf } from './recording-jumps.ts';
import type { Flags } from './recording-jumps.ts';

export type Stream = Answer<'getStream'>;
type ApiOverview = Answer<'getOverview'>[number];

/** Minimum and maximum per bucket of one channel. */
export type Envelope = Readonly<{
  channel: string;
  kind: string;
  unit: string;
  t0Ms: number;
  stepMs: number;
  min: readonly (number | null)[];
  max: readonly (number | null)[];
  n: readonly number[];
  suspect: readonly number[];
  bad: readonly number[];
  rateHz: number;
  /** Its buckets are samples, or nothing. */
  isSampled?: true;
}>;

/** Consecutive samples of one channel, physical. */
export type Segment = Readonly<{
  channel: string;
  kind: string;
  unit: string;
  t0Ms: number;
  rateHz: number;
  samples: readonly (number | null)[];
  qmask: readonly number[] | null;
}>;

export type Beat = Readonly<{
  timeMs: number;
  intervalMs: number | null;
  kind: string;
  /** N, S, V or Q by AAMI; null: unknown. */
  aami: string | null;
  /** Probability that it is N, S or V, 0 to 1; null: unknown. */
  confidence: number | null;
  qmask: number;
  channel: string;
  /** Code of the method that found it. */
  method?: string;
}>;
export type Mark = Readonly<{
  id: string;
  startMs: number;
  endMs: number;
  label: string;
  /** event: of the device, or of the file that was imported. */
  source: 'episode' | 'annotation' | 'event';
  /** Of a correction what the beat is; null: it is none. */
  beat: string | null;
  /** null: of all. */
  channel: string | null;
  madeMs: number;
}>;
/** Heart rate over the whole recording; null where there is no usable value. */
export type Rate = Readonly<{ timesMs: readonly number[]; values: readonly (number | null)[]; flags: readonly number[] }>;

/** How far a channel can be trusted, by bucket, as the service judges its signal. */
export type Quality = Readonly<{
  channel: string;
  timesMs: readonly number[];
  stepMs: number;
  /** Worst of what is most of a bucket: 0 good, 1 suspect, 2 bad. */
  flags: readonly number[];
  /** How much of it is good, 0 to 1. */
  goodShares: readonly number[];
  /** When the recording ends, as far as it is known: its last bucket may end later, Unix ms. */
  endMs?: number;
}>;

/** As many as the service gives at once, and the time from which the next go on. */
type Part<T> = Readonly<{ part: readonly T[]; last: string | undefined; isFull: boolean }>;

export type Tile = Readonly<{ segments: readonly Segment[]; beats: readonly Beat[] }>;

/** Length of a tile of samples and beats, ms: a strip and what is next to it. */
export const TILE_MS = 30_000;
/** Shown of a recording that has only begun, ms. */
const FIRST_MS = 60_000;
const TILES_MAX = 40;
/** Of a recording that goes on: so far back from its end samples and beats may still come, ms. */
const UNSETTLED_MS = 60_000;
/** In which a gap is looked for. */
const GAP_BUCKETS = 5000;
const OVERVIEW_BUCKETS = 1200;
const RATE_POINTS = 600;
const QUALITY_POINTS = 1000;
/** What one of its values is of. */
const JUDGED_MS = 1000;
/** Finest buckets that are judged as a stretch: a second or two in between do not make it two. */
const STRETCH = '5s';
const qualityFeatures: Readonly<Record<string, string>> = { ecg: 'sqi_ecg', ppg: 'sqi_ppg' };
/** Of beats, as the service gives them at most; and the parts of a recording in which an ectopic one is looked for, ms: of the longest all
 *  beats come, at up to 277 a minute. */
const BEATS_MAX = 100_000;
const ECTOPIC_MS = 300_000;
const ECTOPIC_MS_MAX = 21_600_000;
/** Of episodes and of annotations, as the service gives them at most; and how many answers are asked for. */
const MARKS_MAX = 1000;
const MARK_ANSWERS_MAX = 20;
/** Of events, likewise: the first 20,000 of a recording. */
const EVENTS_MAX = 10_000;
const EVENT_ANSWERS_MAX = 2;
/** The part of a recording in which an event before a time is looked for first, ms. */
const EVENTS_MS = 60_000;

const iso = (ms: number): string => new Date(ms).toISOString();

/** Is it being recorded now? An import is sent now, and was recorded then. */
export const isLive = ({ is_flowing: flows, time_source: source }: Pick<Stream, 'is_flowing' | 'time_source'>): boolean =>
  flows && source !== 'stated';

export class RecordingSource {
  readonly session: Session;
  #stream: Stream;
  readonly #tiles = new Map<number, Tile>();
  readonly #pending = new Map<number, AbortController>();
  /** When tiles that could not be read may be asked for again. */
  readonly #failed = new Failed();
  /** Tiles that are shown while they are read again. */
  readonly #stale = new Set<number>();
  readonly #onTile: () => void;
  /** Of a recording that does not go on; null: not read yet. */
  #events: readonly Mark[] | null = null;
  /** There are more marks of a source than were read: none after a time, of episodes none before it, Unix ms. */
  readonly #cuts = new Map<Mark['source'], number>();
  #isClosed = false;
  /** Until then it may change although nothing is recorded any more, by performance.now(). */
  #settledAtMs = -Infinity;

  private constructor(session: Session, stream: Stream, onTile: () => void) {
    this.session = session;
    this.#stream = stream;
    this.#onTile = onTile;
  }

  /** @param onTile called when a tile that was asked for is there */
  static async open(session: Session, streamId: string, onTile: () => void, signal: AbortSignal): Promise<RecordingSource> {
    const stream = await session.get('/api/v1/streams/{streamId}', { params: { streamId }, signal });
    return new RecordingSource(session, stream, onTile);
  }

  get stream(): Stream {
    return this.#stream;
  }

  channelOf(code: string): Stream['channels'][number] | undefined {
    return this.#stream.channels.find((channel) => channel.code === code);
  }

  /** Of the channels, by their codes: `ECG II`. */
  get names(): ReadonlyMap<string, string> {
    return channelNames(this.#stream.channels);
  }

  get goesOn(): boolean {
    return isLive(this.#stream);
  }

  /** Until when its marks of a source were read, of episodes from when, Unix ms; null: all of them. */
  cutOf(source: Mark['source']): number | null {
    return this.#cuts.get(source) ?? null;
  }

  /** Asks how far the recording has got. What may have changed since is read again when it is needed.
   *  @returns the time from which that is; null: nothing has come */
  async refresh(signal: AbortSignal): Promise<number | null> {
    const [before, wentOn] = [this.endMs, this.goesOn];
    this.#stream = await this.session.get('/api/v1/streams/{streamId}', { params: { streamId: this.#stream.id }, signal });
    // It has ended: its last beats and values are still to come.
    if (wentOn && !this.goesOn) this.#settledAtMs = performance.now() + 2 * UNSETTLED_MS;
    if (this.endMs === before && performance.now() > this.#settledAtMs) return null;
    const fromMs = before - UNSETTLED_MS;
    for (const key of this.#tiles.keys()) if ((key + 1) * TILE_MS > fromMs) this.#stale.add(key);
    return fromMs;
  }

  /** Of a recording that has only begun its times are not saved yet. */
  get startMs(): number {
    const { recorded_from: from, epoch_ns: epoch } = this.stream;
    return from === null ? epoch / 1e6 : Date.parse(from);
  }

  /** What is later may still change while the recording goes on, Unix ms. */
  get unsettledMs(): number {
    return this.endMs - UNSETTLED_MS;
  }

  get endMs(): number {
    const { last_sample_at: last } = this.stream;
    return last === null ? this.startMs + FIRST_MS : Date.parse(last);
  }

  /** @param channels codes; none: all */
  async envelopes(
    fromMs: number,
    toMs: number,
    buckets: number,
    channels: readonly string[],
    signal: AbortSignal,
    resolution?: '1s' | '8s' | '1m',
  ): Promise<Envelope[]> {
    const answer = await this.session.get('/api/v1/streams/{streamId}/overview', {
      params: { streamId: this.stream.id },
      query: {
        since: iso(fromMs),
        until: iso(toMs),
        buckets,
        ...(channels.length === 0 ? {} : { channels: [...channels] }),
        ...(resolution === undefined ? {} : { resolution }),
      },
      signal,
    });
    return answer.map(envelopeOf);
  }

  /** The recording, or a part of it, as finely as a screen is wide. */
  whole(
    channels: readonly string[],
    signal: AbortSignal,
    [fromMs, toMs]: readonly [number, number] = [this.startMs, this.endMs + 1000],
  ): Promise<Envelope[]> {
    return this.envelopes(fromMs, toMs, OVERVIEW_BUCKETS, channels, signal);
  }

  /** The samples themselves, for a part of a slow signal; null: there are none. */
  async sampled(channel: string, fromMs: number, toMs: number, signal: AbortSignal): Promise<Envelope | null> {
    const answer = await this.session.get('/api/v1/streams/{streamId}/samples', {
      params: { streamId: this.stream.id },
      query: { since: iso(fromMs), until: iso(toMs), channels: [channel] },
      signal,
    });
    const segments = answer.map(segmentOf);
    const [first] = segments;
    if (first === undefined) return null;
    const { kind, unit, t0Ms, rateHz } = first;
    const stepMs = 1000 / rateHz;
    const values: (number | null)[] = [];
    const flags: number[] = [];
    for (const segment of segments) {
      const at = Math.round((segment.t0Ms - t0Ms) / stepMs);
      for (const [k, value] of segment.samples.entries()) {
        while (values.length <= at + k) values.push(null);
        [values[at + k], flags[at + k]] = [segment.qmask?.[k] === 2 ? null : value, segment.qmask?.[k] ?? 0];
      }
    }
    const count = (flag: number): number[] => values.map((_, i) => (flags[i] === flag ? 1 : 0));
    const n = values.map((value) => (value === null ? 0 : 1));
    return { channel, kind, unit, t0Ms, stepMs, min: values, max: values, n, suspect: count(1), bad: count(2), rateHz, isSampled: true };
  }

  /** Where gaps of a channel are in a part of the recording. */
  async gaps(channel: string, fromMs: number, toMs: number, signal: AbortSignal): Promise<Flags> {
    const rateHz = this.channelOf(channel)?.rate_hz ?? 1;
    const resolution = rateHz >= 4 ? '1s' : rateHz >= 0.5 ? '8s' : '1m';
    const lookFromMs = fromMs - 2 * TILE_MS; // what goes before says whether a gap begins
    const [envelope] = await this.envelopes(lookFromMs, toMs, GAP_BUCKETS, [channel], signal, resolution);
    return gapsOf(envelope ?? null, lookFromMs, Math.min(toMs, this.endMs));
  }

  /** Nobody judges temperature or motion. */
  isJudged(channel: string): boolean {
    return this.#qualityOf(channel) !== undefined;
  }

  #qualityOf(channel: string): string | undefined {
    return qualityFeatures[this.channelOf(channel)?.kind ?? ''];
  }

  /** @param resolution finest buckets; the whole recording: as fine as there is room
   *  @returns null: signals of this kind are not judged */
  async quality(
    channel: string,
    signal: AbortSignal,
    [fromMs, toMs]: readonly [number, number] = [this.startMs, this.endMs + 1],
    resolution?: typeof STRETCH,
  ): Promise<Quality | null> {
    const feature = this.#qualityOf(channel);
    if (feature === undefined) return null;
    const {
      data,
      qmask,
      detail,
      resolution: length,
    } = await this.session.post('/api/v1/charts/query', {
      body: {
        subject_id: this.#stream.subject_id,
        series: [{ feature, channel }],
        range: { from: iso(fromMs), to: iso(toMs + JUDGED_MS) },
        max_points: QUALITY_POINTS,
        quality_max: 2,
        detail: true,
        ...(resolution === undefined ? {} : { resolution }),
      },
      signal,
    });
    // A value has the time at which the second that it judges ends, on the grid of the stream; a bucket begins at a whole second.
    const shiftMs = ((this.#stream.epoch_ns / 1e6) % 1000) - JUDGED_MS;
    const timesMs = data.map((row) => Number(row[0]) + shiftMs);
    // Not by their distance: where little was recorded, or none for days, few buckets have a next one.
    const stepMs = Math.max(JUDGED_MS, parseDuration(length) ?? medianStep(timesMs));
    const goodShares = data.map((_, i) => (detail?.good_n[i]?.[0] ?? 0) / Math.max(1, detail?.n[i]?.[0] ?? 1));
    const flags = goodShares.map((share, i) => (share >= 0.5 ? 0 : Math.max(1, qmask[i]?.[0] ?? 2)));
    return { channel, timesMs, stepMs, flags, goodShares, endMs: this.endMs };
  }

  /** Where the signal of a channel is bad for some seconds, in a part of the recording. */
  async badStretches(channel: string, fromMs: number, toMs: number, signal: AbortSignal): Promise<Flags> {
    const quality = await this.judged(channel, fromMs - 2 * TILE_MS, toMs, signal);
    return quality === null ? { timesMs: [], stepMs: 1, isOne: [] } : badOf(quality, this.startMs);
  }

  /** How far a part of a channel can be trusted, by buckets of 5 s.  @param toMs at most 80 min later, or buckets are longer */
  judged(channel: string, fromMs: number, toMs: number, signal: AbortSignal): Promise<Quality | null> {
    return this.quality(channel, signal, [fromMs, toMs], STRETCH);
  }

  /** The tile that has a time; else it is asked for. */
  tileAt(timeMs: number): Tile | 'loading' | 'failed' {
    const key = Math.floor(timeMs / TILE_MS);
    const known = this.#tiles.get(key);
    const mayAsk = !this.#pending.has(key) && this.#failed.mayAsk(key);
    if (mayAsk && (known === undefined || this.#stale.has(key))) void this.#load(key);
    if (known === undefined) return this.#pending.has(key) ? 'loading' : 'failed';
    this.#tiles.delete(key); // it is the newest now
    this.#tiles.set(key, known);
    return known;
  }

  /** Tiles that could not be read are asked for again when they are needed, also what was refused. */
  askAgain(): void {
    this.#failed.clear();
  }

  /** Stops waiting for tiles outside of a stretch. */
  forgetOutside(fromMs: number, toMs: number): void {
    for (const [key, request] of this.#pending) {
      if ((key + 1) * TILE_MS > fromMs && key * TILE_MS < toMs) continue;
      request.abort();
      this.#pending.delete(key);
    }
  }

  async #load(key: number): Promise<void> {
    const request = new AbortController();
    this.#pending.set(key, request);
    this.#stale.delete(key);
    const [since, until] = [key * TILE_MS, (key + 1) * TILE_MS].map(iso) as [string, string];
    const { signal } = request;
    const at = { params: { streamId: this.stream.id }, signal } as const;
    try {
      const [samples, beats] = await Promise.all([
        this.session.get('/api/v1/streams/{streamId}/samples', { ...at, query: { since, until } }),
        this.session.get('/api/v1/streams/{streamId}/beats', { ...at, query: { since, until, ts_unit: 'ms' } }),
      ]);
      this.#tiles.set(key, { segments: samples.map(segmentOf), beats: beatsOf(beats) });
      this.#failed.delete(key);
      if (this.#tiles.size > TILES_MAX) this.#tiles.delete(this.#tiles.keys().next().value!);
    } catch (error) {
      if (this.#tiles.has(key)) this.#stale.add(key); // what is shown of it may have changed still
      if (signal.aborted) return;
      this.#failed.add(key, error, () => this.#isClosed || this.#onTile());
    } finally {
      if (this.#pending.get(key) === request) this.#pending.delete(key);
    }
    this.#onTile();
  }

  /** Heart rate of the person over the time of the recording, or a part of it; where it has no ECG, pulse rate. */
  async rate(signal: AbortSignal, [fromMs, toMs]: readonly [number, number] = [this.startMs, this.endMs + 1]): Promise<Rate> {
    const list = await catalog(this.session);
    const { subject_id: subjectId } = this.stream;
    const biosignal = findBiosignal(list, this.#stream.channels.some(({ kind }) => kind === 'ecg') ? 'HR' : 'HR-PPG');
    if (biosignal === undefined) return { timesMs: [], values: [], flags: [] };
    const answer = await this.session.post('/api/v1/charts/query', {
      body: {
        subject_id: subjectId,
        series: [{ biosignal_id: biosignal.id }],
        range: { from: iso(fromMs), to: iso(toMs) },
        max_points: RATE_POINTS,
        fill: 'null',
      },
      signal,
    });
    return {
      timesMs: answer.data.map((row) => Number(row[0])),
      values: answer.data.map((row) => row[1] ?? null),
      flags: answer.qmask.map((row) => row[0] ?? 0),
    };
  }

  /** Episodes, annotations and events of the recording, by their start.  @param titleOf an episode's title in the language of the page */
  async marks(signal: AbortSignal, titleOf: (english: string) => string): Promise<Mark[]> {
    const [since, until] = [this.startMs, this.endMs + 1].map(iso) as [string, string];
    const [episodes, annotations, events] = await Promise.all([
      this.#episodes(since, until, signal),
      this.#annotations(signal),
      this.#events ?? this.#readEvents(signal),
    ]);
    if (!this.goesOn) this.#events = events;
    const isEpisode = new Set(episodes.map(({ id }) => id));
    const spanOf = (start: string, end: string | null): Pick<Mark, 'startMs' | 'endMs'> => {
      const startMs = Date.parse(start);
      return { startMs, endMs: end === null ? startMs : Date.parse(end) };
    };
    return [
      ...episodes
        .filter(({ stream_id: stream }) => stream === null || stream === this.stream.id)
        .map((item) => ({
          ...spanOf(item.started_at, item.ended_at),
          id: item.id,
          label: titleOf(item.title || item.kind),
          source: 'episode' as const,
          beat: null,
          channel: null,
          madeMs: 0,
        })),
      ...annotations.map((item) => {
        const label = item.beat === null ? item.text || item.kind : `${item.beat} ${item.text}`.trim();
        const { id, beat, channel } = item;
        return {
          ...spanOf(item.starts_at, item.ends_at),
          id,
          label,
          source: 'annotation' as const,
          beat,
          channel,
          madeMs: Date.parse(item.made_at),
        };
      }),
      ...events.filter(({ id }) => !isEpisode.has(id)),
    ].toSorted((a, b) => a.startMs - b.startMs);
  }

  /** The latest start first; each answer begins in the millisecond where the one before ended. */
  #episodes(since: string, until: string, signal: AbortSignal): Promise<readonly Answer<'listEpisodes'>[number][]> {
    return this.#all('episode', MARK_ANSWERS_MAX, async (before = until) => {
      const query = { subject_id: this.stream.subject_id, since, until: before, limit: MARKS_MAX };
      const part = await this.session.get('/api/v1/episodes', { query, signal });
      const first = part.at(-1)?.started_at;
      return { part, last: first && iso(Date.parse(first) + 1), isFull: part.length === MARKS_MAX };
    });
  }

  #readEvents(signal: AbortSignal): Promise<readonly Mark[]> {
    return this.#all('event', EVENT_ANSWERS_MAX, (since) => this.#eventsFrom(since === undefined ? {} : { since }, signal));
  }

  #annotations(signal: AbortSignal): Promise<readonly Answer<'listAnnotations'>[number][]> {
    return this.#all('annotation', MARK_ANSWERS_MAX, async (since) => {
      const query = { stream_id: this.stream.id, limit: MARKS_MAX, ...(since === undefined ? {} : { since }) };
      const part = await this.session.get('/api/v1/annotations', { query, signal });
      return { part, last: part.at(-1)?.starts_at, isFull: part.length === MARKS_MAX };
    });
  }

  /** Each answer begins where the one before ended, so some come twice.  @param ask from where; undefined: all */
  async #all<T extends Readonly<{ id: string }>>(
    of: Mark['source'],
    answersMax: number,
    ask: (from?: string) => Promise<Part<T>>,
  ): Promise<readonly T[]> {
    const found = new Map<string, T>();
    let from: string | undefined;
    let isCut = true;
    for (let answers = 0; answers < answersMax && isCut; answers++) {
      const { part, last, isFull } = await ask(from);
      for (const item of part) found.set(item.id, item);
      isCut = isFull;
      if (last === from) break;
      from = last;
    }
    if (isCut) this.#cuts.set(of, Date.parse(from!));
    else this.#cuts.delete(of);
    return [...found.values()];
  }

  /** As many as the service gives at once, by their time. */
  async #eventsFrom(range: Readonly<{ since?: string; until?: string }>, signal: AbortSignal): Promise<Part<Mark>> {
    const events = await this.session.get('/api/v1/streams/{streamId}/events', {
      params: { streamId: this.stream.id },
      query: { limit: EVENTS_MAX, ...range },
      signal,
    });
    const part = events.map(({ id, at, code, text }): Mark => {
      const startMs = Date.parse(at);
      const label = code === 'annotation' && text !== '' ? text : `${code} ${text}`.trim();
      return { id, startMs, endMs: startMs, label, source: 'event', beat: null, channel: null, madeMs: 0 };
    });
    return { part, last: events.at(-1)?.at, isFull: events.length === EVENTS_MAX };
  }

  /** Those in [since, until), however many. */
  async #eventsIn(sinceMs: number, untilMs: number, signal: AbortSignal): Promise<readonly Mark[]> {
    const until = iso(untilMs);
    const found: Mark[] = [];
    let since = iso(sinceMs);
    for (;;) {
      const { part, last, isFull } = await this.#eventsFrom({ since, until }, signal);
      found.push(...part);
      if (!isFull || last === undefined || last === since) return found;
      since = last;
    }
  }

  /** The next event after a time, or the last one before it, among those that were not read with the marks.
   *  @returns Unix ms; null: there is none */
  async event(fromMs: number, forward: boolean, isOne: (mark: Mark) => boolean, signal: AbortSignal): Promise<number | null> {
    const cutMs = this.cutOf('event');
    if (cutMs === null) return null;
    let since = iso(Math.max(fromMs, cutMs));
    while (forward) {
      const { part, last, isFull } = await this.#eventsFrom({ since }, signal);
      const hit = part.find((mark) => mark.startMs > fromMs + 1 && isOne(mark));
      if (hit !== undefined) return hit.startMs;
      if (!isFull || last === undefined || last === since) return null;
      since = last;
    }
    // Windows that grow: most are near.
    let edge = fromMs;
    for (let spanMs = EVENTS_MS; edge > cutMs; spanMs = Math.min(ECTOPIC_MS_MAX, 2 * spanMs)) {
      const low = Math.max(cutMs, edge - spanMs);
      const hit = (await this.#eventsIn(low, edge, signal)).findLast((mark) => mark.startMs < fromMs - 1 && isOne(mark));
      if (hit !== undefined) return hit.startMs;
      edge = low;
    }
    return null;
  }

  /** The next ectopic beat after a time, or the last one before it; null: there is none. */
  async ectopic(fromMs: number, forward: boolean, signal: AbortSignal): Promise<number | null> {
    // Windows that grow: most are near.
    let edge = fromMs;
    let spanMs = ECTOPIC_MS;
    while ((forward ? edge < this.endMs : edge > this.startMs) && !signal.aborted) {
      const [low, high] = forward ? [edge, edge + spanMs] : [edge - spanMs, edge];
      const beats = await this.session.get('/api/v1/streams/{streamId}/beats', {
        params: { streamId: this.stream.id },
        query: { since: iso(low), until: iso(high), ts_unit: 'ms', limit: BEATS_MAX },
        signal,
      });
      const found = beatsOf(beats).filter(
        ({ kind, timeMs }) => kind === 'ectopic' && (forward ? timeMs > fromMs + 1 : timeMs < fromMs - 1),
      );
      const hit = forward ? found[0] : found.at(-1);
      if (hit !== undefined) return hit.timeMs;
      edge = forward ? high : low;
      spanMs = Math.min(ECTOPIC_MS_MAX, 2 * spanMs);
    }
    return null;
  }

  close(): void {
    this.#isClosed = true;
    for (const request of this.#pending.values()) request.abort();
    this.#pending.clear();
  }
}

function envelopeOf({
  channel,
  kind,
  unit,
  t0_ns: t0,
  step_ms: stepMs,
  min,
  max,
  n,
  suspect_n: suspect,
  bad_n: bad,
  rate_hz: rateHz,
}: ApiOverview): Envelope {
  return { channel, kind, unit, t0Ms: t0 / 1e6, stepMs, min, max, n, suspect, bad, rateHz };
}

export function segmentOf(segment: Answer<'getSamples'>[number]): Segment {
  const { channel, kind, unit, t0_ns: t0, rate_hz: rateHz, samples, qmask } = segment;
  return { channel, kind, unit, t0Ms: t0 / 1e6, rateHz, samples, qmask };
}

/** Of the series that has beats of a heart, ascending. */
export function beatsOf(list: Answer<'getBeats'>): Beat[] {
  const series = list.find(({ method_code: method }) => method.includes('r_peaks')) ?? list[0];
  if (series === undefined) return [];
  return (series.ts_ms ?? []).map((timeMs, i) => {
    const { interval_ms: intervals, kind, aami, confidence, qmask, channel, method_code: method } = series;
    return {
      timeMs,
      intervalMs: intervals[i] ?? null,
      kind: kind[i] ?? 'normal',
      // a service of an earlier release has neither
      aami: (aami as typeof aami | undefined)?.[i] ?? null,
      confidence: (confidence as typeof confidence | undefined)?.[i] ?? null,
      qmask: qmask[i] ?? 0,
      channel,
      method,
    };
  });
}
