/** Reads one recording for the viewer: in tiles that are kept, at most one request in flight for each kind of question, and answers to
 *  questions that nobody asks any more are dropped. */
import type { Answer } from '../../sdk/request.ts';
import { findBiosignal, catalog } from '../shared/data.ts';
import type { Session } from '../shared/session.ts';

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

export type Beat = Readonly<{ timeMs: number; intervalMs: number | null; kind: string; qmask: number; channel: string }>;
export type Mark = Readonly<{
  id: string;
  startMs: number;
  endMs: number;
  label: string;
  source: 'episode' | 'annotation';
  /** Of a correction what the beat is; null: it is none. */
  beat: string | null;
  /** null: of all. */
  channel: string | null;
  madeMs: number;
}>;
/** Heart rate over the whole recording; null where there is no usable value. */
export type Rate = Readonly<{ timesMs: readonly number[]; values: readonly (number | null)[]; flags: readonly number[] }>;

export type Tile = Readonly<{ segments: readonly Segment[]; beats: readonly Beat[] }>;

/** Length of a tile of samples and beats, ms: a strip and what is next to it. */
export const TILE_MS = 30_000;
/** Shown of a recording that has only begun, ms. */
const FIRST_MS = 60_000;
const TILES_MAX = 40;
/** Of a channel, as the service gives them at most. */
const BUCKETS_MAX = 5000;
const OVERVIEW_BUCKETS = 1200;
const RATE_POINTS = 600;
/** Of annotations, as the service gives them at most; and how many answers are asked for. */
const MARKS_MAX = 1000;
const MARK_ANSWERS_MAX = 20;

export class RecordingSource {
  readonly session: Session;
  readonly stream: Stream;
  readonly #tiles = new Map<number, Tile>();
  readonly #pending = new Map<number, AbortController>();
  readonly #onTile: () => void;

  private constructor(session: Session, stream: Stream, onTile: () => void) {
    this.session = session;
    this.stream = stream;
    this.#onTile = onTile;
  }

  /** @param onTile called when a tile that was asked for is there */
  static async open(session: Session, streamId: string, onTile: () => void, signal: AbortSignal): Promise<RecordingSource> {
    const stream = await session.get('/api/v1/streams/{streamId}', { params: { streamId }, signal });
    return new RecordingSource(session, stream, onTile);
  }

  /** Of a recording that has only begun its times are not saved yet. */
  get startMs(): number {
    const { recorded_from: from, epoch_ns: epoch } = this.stream;
    return from === null ? epoch / 1e6 : Date.parse(from);
  }

  get endMs(): number {
    const { last_sample_at: last } = this.stream;
    return last === null ? this.startMs + FIRST_MS : Date.parse(last);
  }

  /** @param channels codes; none: all */
  async envelopes(fromMs: number, toMs: number, buckets: number, channels: readonly string[], signal: AbortSignal): Promise<Envelope[]> {
    const answer = await this.session.get('/api/v1/streams/{streamId}/overview', {
      params: { streamId: this.stream.id },
      query: {
        since: new Date(fromMs).toISOString(),
        until: new Date(toMs).toISOString(),
        buckets: Math.min(buckets, BUCKETS_MAX),
        ...(channels.length === 0 ? {} : { channels: [...channels] }),
      },
      signal,
    });
    return answer.map(envelopeOf);
  }

  whole(channels: readonly string[], signal: AbortSignal): Promise<Envelope[]> {
    return this.envelopes(this.startMs, this.endMs + 1000, OVERVIEW_BUCKETS, channels, signal);
  }

  /** The tile that has a time; undefined: it is not here, and is asked for. */
  tileAt(timeMs: number): Tile | undefined {
    const key = Math.floor(timeMs / TILE_MS);
    const known = this.#tiles.get(key);
    if (known !== undefined) {
      this.#tiles.delete(key); // it is the newest now
      this.#tiles.set(key, known);
      return known;
    }
    if (!this.#pending.has(key)) void this.#load(key);
    return undefined;
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
    const [since, until] = [key * TILE_MS, (key + 1) * TILE_MS].map((ms) => new Date(ms).toISOString()) as [string, string];
    const { signal } = request;
    const at = { params: { streamId: this.stream.id }, signal } as const;
    try {
      const [samples, beats] = await Promise.all([
        this.session.get('/api/v1/streams/{streamId}/samples', { ...at, query: { since, until } }),
        this.session.get('/api/v1/streams/{streamId}/beats', { ...at, query: { since, until, ts_unit: 'ms' } }),
      ]);
      this.#tiles.set(key, { segments: samples.map(segmentOf), beats: beatsOf(beats) });
      if (this.#tiles.size > TILES_MAX) this.#tiles.delete(this.#tiles.keys().next().value!);
    } catch {
      if (signal.aborted) return;
      this.#tiles.set(key, { segments: [], beats: [] }); // shown as a gap; it is asked for again when the viewer opens again
    } finally {
      if (this.#pending.get(key) === request) this.#pending.delete(key);
    }
    this.#onTile();
  }

  /** Heart rate of the person over the time of the recording. */
  async rate(signal: AbortSignal): Promise<Rate> {
    const list = await catalog(this.session);
    const { subject_id: subjectId } = this.stream;
    const biosignal = findBiosignal(list, 'HR');
    if (biosignal === undefined) return { timesMs: [], values: [], flags: [] };
    const answer = await this.session.post('/api/v1/charts/query', {
      body: {
        subject_id: subjectId,
        series: [{ biosignal_id: biosignal.id }],
        range: { from: new Date(this.startMs).toISOString(), to: new Date(this.endMs + 1).toISOString() },
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

  /** Episodes and annotations of the recording, by their start. */
  async marks(signal: AbortSignal): Promise<Mark[]> {
    const [since, until] = [this.startMs, this.endMs + 1].map((ms) => new Date(ms).toISOString()) as [string, string];
    const [episodes, annotations] = await Promise.all([
      this.session.get('/api/v1/episodes', { query: { subject_id: this.stream.subject_id, since, until, limit: 500 }, signal }),
      this.#annotations(signal),
    ]);
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
          label: item.title || item.kind,
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
    ].toSorted((a, b) => a.startMs - b.startMs);
  }

  /** Each answer begins where the one before ended, so some come twice. */
  async #annotations(signal: AbortSignal): Promise<Answer<'listAnnotations'>> {
    const found = new Map<string, Answer<'listAnnotations'>[number]>();
    let since: string | undefined;
    for (let answers = 0; answers < MARK_ANSWERS_MAX; answers++) {
      const query = { stream_id: this.stream.id, limit: MARKS_MAX, ...(since === undefined ? {} : { since }) };
      const part = await this.session.get('/api/v1/annotations', { query, signal });
      for (const item of part) found.set(item.id, item);
      const last = part.at(-1)?.starts_at;
      if (part.length < MARKS_MAX || last === since) break;
      since = last;
    }
    return [...found.values()];
  }

  /** The next ectopic beat after a time, or the last one before it; null: there is none within a day. */
  async ectopic(fromMs: number, forward: boolean, signal: AbortSignal): Promise<number | null> {
    // Windows that grow: most are near.
    let edge = fromMs;
    for (let spanMs = 300_000; (forward ? edge < this.endMs : edge > this.startMs) && !signal.aborted; spanMs *= 2) {
      const [low, high] = forward ? [edge, edge + spanMs] : [edge - spanMs, edge];
      const beats = await this.session.get('/api/v1/streams/{streamId}/beats', {
        params: { streamId: this.stream.id },
        query: { since: new Date(low).toISOString(), until: new Date(high).toISOString(), ts_unit: 'ms', limit: 100_000 },
        signal,
      });
      const found = beatsOf(beats).filter(
        ({ kind, timeMs }) => kind === 'ectopic' && (forward ? timeMs > fromMs + 1 : timeMs < fromMs - 1),
      );
      const hit = forward ? found[0] : found.at(-1);
      if (hit !== undefined) return hit.timeMs;
      edge = forward ? high : low;
    }
    return null;
  }

  close(): void {
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
function beatsOf(list: Answer<'getBeats'>): Beat[] {
  const series = list.find(({ method_code: method }) => method.includes('r_peaks')) ?? list[0];
  if (series === undefined) return [];
  return (series.ts_ms ?? []).map((timeMs, i) => {
    const { interval_ms: intervals, kind, qmask, channel } = series;
    return { timeMs, intervalMs: intervals[i] ?? null, kind: kind[i] ?? 'normal', qmask: qmask[i] ?? 0, channel };
  });
}
