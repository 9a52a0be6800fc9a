/** A strip of the newest stretch whose beats are settled: the waveform, a mark on each beat, the interval between them in ms.
 *
 *  The service gives a beat out once nothing later can change it, about 11 s after it happened (the first 32 after a gap together), so the
 *  marks cannot stand on the sweeping trace; this strip follows that far behind and says so. The waveform is kept from the live frames;
 *  that of the seconds before is read. Drawn once a second. */
import { letterOf } from '../widgets/recording/recording-draw-marks.ts';
import type { LiveFrame } from '../widgets/shared/live-frame.ts';
import type { Session } from '../widgets/shared/session.ts';
import { listed, plural, t } from './language.ts';
import { arrivedMs } from './latest-values.ts';
import { liveStreams } from './live-streams.ts';

const PX_PER_SEC = (96 / 25.4) * 25; // 25 mm/s, as the trace above it
const POLL_MS = 2000;
const KEPT_MS = 40_000;
/** Further behind than judging takes: the first beats of a stretch are awaited. */
const LATE_SEC = 18;
const HEIGHT_PX = 132;
const MARKS_PX = 34;
/** Half of the widest interval; a label that would be cut off is left out. */
const LABEL_PX = 16;

type Kind = 'normal' | 'ectopic' | 'artefact' | 'interpolated';
type Beat = Readonly<{ timeMs: number; intervalMs: number | null; kind: Kind; aami: 'N' | 'S' | 'V' | 'Q' | null; qmask: number }>;
type Stretch = Readonly<{ t0Ms: number; rateHz: number; samples: Float32Array; qmask: Uint8Array | null }>;

const endOf = ({ t0Ms, rateHz, samples }: Stretch): number => t0Ms + (samples.length * 1000) / rateHz;

/** Keeps the last samples of one channel, and asks for its beats. */
export class BeatSource {
  readonly #session: Session;
  readonly #subjectId: string;
  #stretches: Stretch[] = [];
  #streams: readonly string[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stopped = false;
  #begun = false;
  /** End of the newest frame, Unix ms, and performance.now() at which it was now. */
  #newest = { endMs: 0, atMs: 0 };
  channel = '';
  /** The strip is hidden: its beats are not asked for. */
  isHeld = false;
  beats: readonly Beat[] = [];

  constructor(session: Session, subjectId: string) {
    this.#session = session;
    this.#subjectId = subjectId;
    const look = async (): Promise<void> => {
      if (!document.hidden && !this.isHeld && this.channel !== '') await this.#look().catch(() => (this.#streams = []));
      if (!this.#stopped) this.#timer = setTimeout(() => void look(), POLL_MS);
    };
    void look();
  }

  get stretches(): readonly Stretch[] {
    return this.#stretches;
  }

  /** By the clock of the recording: that of the browser may be wrong. */
  get nowMs(): number {
    return this.#newest.endMs + performance.now() - this.#newest.atMs;
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  take(frame: LiveFrame): void {
    const found = frame.channels.find((item) => item.kind === 'ecg') ?? frame.channels.find((item) => item.kind === 'ppg');
    if (found === undefined) return;
    this.channel = found.code;
    const endMs = Number(frame.t0Ns) / 1e6 + frame.durationMs;
    if (endMs > this.#newest.endMs) this.#newest = { endMs, atMs: arrivedMs(frame.replayed, endMs, performance.now()) };
    const t0Ms = (Number(frame.t0Ns) + found.offsetNs) / 1e6;
    // What is replayed from before the first frame is read as samples (#readEarlier).
    if (t0Ms <= (this.#stretches.at(-1)?.t0Ms ?? 0)) return;
    this.#stretches.push({ t0Ms, rateHz: found.rateHz, samples: found.samples, qmask: found.qmask });
    while (this.#stretches.length > 0 && endOf(this.#stretches[0]!) < t0Ms - KEPT_MS) this.#stretches.shift();
  }

  async #look(): Promise<void> {
    if (this.#streams.length === 0) this.#streams = (await liveStreams(this.#session, this.#subjectId)).map(({ id }) => id);
    if (!this.#begun) {
      this.#begun = true;
      void this.#readEarlier().catch(() => undefined);
    }
    const query = { since: new Date(this.nowMs - KEPT_MS).toISOString(), channel: this.channel, ts_unit: 'ms' as const, limit: 500 };
    const beats: Beat[] = [];
    for (const stream of this.#streams) {
      for (const { ts_ms: times = [], interval_ms: intervals, kind, aami, qmask } of await this.#session.get(
        '/api/v1/streams/{streamId}/beats',
        {
          params: { streamId: stream },
          query,
        },
      )) {
        for (const [i, time] of times.entries()) {
          beats.push({ timeMs: time, intervalMs: intervals[i] ?? null, kind: kind[i]!, aami: aami[i]!, qmask: qmask[i]! });
        }
      }
    }
    this.beats = beats.toSorted((a, b) => a.timeMs - b.timeMs);
    if (beats.length === 0) this.#streams = []; // the device may have begun another recording
  }

  /** The beats that are settled now happened before this page was opened: their waveform is stored. */
  async #readEarlier(): Promise<void> {
    const firstMs = this.#stretches[0]?.t0Ms ?? this.nowMs;
    const query = {
      since: new Date(firstMs - KEPT_MS).toISOString(),
      until: new Date(firstMs).toISOString(),
      channels: [this.channel],
    };
    for (const stream of this.#streams) {
      const stored = await this.#session.get('/api/v1/streams/{streamId}/samples', { params: { streamId: stream }, query });
      const earlier = stored.map(({ t0_ns: t0Ns, rate_hz: rateHz, samples, qmask }) => ({
        t0Ms: t0Ns / 1e6,
        rateHz,
        samples: Float32Array.from(samples, (value) => value ?? NaN),
        qmask: qmask === null ? null : Uint8Array.from(qmask),
      }));
      this.#stretches = [...earlier, ...this.#stretches].toSorted((a, b) => a.t0Ms - b.t0Ms);
    }
  }
}

/** `<bio-beat-review .source=${…}>` */
export class BeatReview extends HTMLElement {
  source: BeatSource | null = null;
  readonly #canvas = document.createElement('canvas');
  readonly #label = document.createElement('p');
  #timer: ReturnType<typeof setInterval> | undefined;
  readonly #paper = matchMedia('print');
  readonly #drawNow = (): void => this.#draw();

  connectedCallback(): void {
    this.#canvas.setAttribute('role', 'img');
    this.#canvas.setAttribute('aria-label', t('Beats'));
    this.append(this.#label, this.#canvas);
    this.#timer = setInterval(this.#drawNow, 1000);
    this.#paper.addEventListener('change', this.#drawNow);
  }

  disconnectedCallback(): void {
    clearInterval(this.#timer);
    this.#paper.removeEventListener('change', this.#drawNow);
  }

  #draw(): void {
    const source = this.source;
    const widthPx = this.clientWidth;
    const context = this.#canvas.getContext('2d');
    if (source === null || context === null || widthPx < 50) return;
    const dpr = devicePixelRatio;
    this.#canvas.width = Math.round(widthPx * dpr);
    this.#canvas.height = Math.round(HEIGHT_PX * dpr);
    context.scale(dpr, dpr);
    const style = getComputedStyle(this);
    const newest = source.beats.at(-1);
    if (newest === undefined) {
      this.#label.textContent = t('Beats: waiting for the first');
      return;
    }
    const endMs = newest.timeMs + 400;
    const startMs = endMs - (widthPx / PX_PER_SEC) * 1000;
    const x = (timeMs: number): number => ((timeMs - startMs) / 1000) * PX_PER_SEC;
    const isDark = matchMedia('(prefers-color-scheme: dark)').matches && !this.#paper.matches;
    this.#wave(context, source, startMs, endMs, x, isDark);
    const shown = source.beats.filter((beat) => beat.timeMs >= startMs);
    this.#marks(context, shown, x, style.color);
    const odd = shown.filter((beat) => beat.kind === 'ectopic').length;
    const behindSec = Math.round((source.nowMs - newest.timeMs) / 1000);
    const behind = { seconds: behindSec };
    this.#label.textContent =
      behindSec > LATE_SEC
        ? t('Beats and intervals in ms, {seconds} s behind; after a gap, the first 32 beats are classified together', behind)
        : t('Beats and intervals in ms, {seconds} s behind', behind);
    this.#canvas.setAttribute(
      'aria-label',
      `${listed([
        plural(shown.length, '1 beat', '{count} beats'),
        ...(odd === 0 ? [] : [plural(odd, '{count} ectopic', '{count} ectopic')]),
      ])}; ${t('{seconds} s behind', behind)}`,
    );
  }

  #wave(
    context: CanvasRenderingContext2D,
    source: BeatSource,
    startMs: number,
    endMs: number,
    x: (timeMs: number) => number,
    dark: boolean,
  ): void {
    let low = Infinity;
    let high = -Infinity;
    const near = source.stretches.filter((part) => endOf(part) > startMs && part.t0Ms < endMs);
    for (const { samples } of near) {
      for (const value of samples) {
        if (Number.isNaN(value)) continue;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
    if (!(high > low)) return;
    const y = (value: number): number => HEIGHT_PX - 6 - ((value - low) / (high - low)) * (HEIGHT_PX - MARKS_PX - 12);
    context.lineWidth = 1.4;
    context.lineJoin = 'round';
    context.strokeStyle = dark ? '#46e08c' : '#10243a';
    context.beginPath();
    let lastMs = -Infinity;
    for (const { t0Ms, rateHz, samples, qmask } of near) {
      const stepMs = 1000 / rateHz;
      for (let i = 0; i < samples.length; i++) {
        const timeMs = t0Ms + i * stepMs;
        const value = samples[i]!;
        if (timeMs < startMs) continue;
        // What is missing or bad is a gap.
        if (Number.isNaN(value) || (qmask?.[i] ?? 0) === 2 || timeMs > endMs) {
          lastMs = -Infinity;
          continue;
        }
        if (timeMs - lastMs > 2 * stepMs) context.moveTo(x(timeMs), y(value));
        else context.lineTo(x(timeMs), y(value));
        lastMs = timeMs;
      }
    }
    context.stroke();
  }

  #marks(context: CanvasRenderingContext2D, beats: readonly Beat[], x: (timeMs: number) => number, ink: string): void {
    context.textAlign = 'center';
    context.font = `12px ${getComputedStyle(this).fontFamily}`;
    context.lineWidth = 1.5;
    for (const beat of beats) {
      const at = x(beat.timeMs);
      context.fillStyle = ink;
      context.strokeStyle = ink;
      const letter = letterOf(beat);
      if (letter !== '') {
        context.fillText(letter, at, MARKS_PX - 4);
      } else {
        context.beginPath();
        context.moveTo(at - 4, MARKS_PX - 12);
        context.lineTo(at + 4, MARKS_PX - 12);
        context.lineTo(at, MARKS_PX - 4);
        context.closePath();
        // Suspect ones are hollow.
        if (beat.qmask > 0) context.stroke();
        else context.fill();
      }
      if (beat.intervalMs === null || beat.qmask === 2) continue;
      const middle = at - (beat.intervalMs / 2000) * PX_PER_SEC;
      if (middle > LABEL_PX) context.fillText(String(Math.round(beat.intervalMs)), middle, 14);
    }
  }
}

customElements.define('bio-beat-review', BeatReview);
