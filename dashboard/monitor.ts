/** The live view of one subject: traces, heart rate, HRV, and how far to trust them. Used by the demo page and by the dashboard. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import '../widgets/bio-widgets.ts';
import '../widgets/live-trace/live-trace.ts';
import { BeatSource } from './beat-review.ts';
import { toggleFullScreen } from './full-screen.ts';
import { HeldTraces } from './held-traces.ts';
import { LatestValues } from './latest-values.ts';
import './paused-traces.ts';
import type { Pause } from './paused-traces.ts';
import { formatAge, formatValue } from '../widgets/shared/format.ts';
import { joinLive } from '../widgets/shared/live-feed.ts';
import type { LiveChannel, LiveFrame, LiveState } from '../widgets/shared/live-frame.ts';
import { qualityMark } from '../widgets/shared/quality.ts';
import type { Session } from '../widgets/shared/session.ts';
import { textFor } from '../widgets/shared/strings.ts';

/** What the column of values shows, in order; a tile appears when its feature first arrives, the first two always. */
const tiles = [
  { feature: 'hr_ecg', label: 'Heart rate', unit: '/min', title: 'bpm', staleMs: 5000, always: true },
  { feature: 'hrv_rmssd_60s', label: 'HRV · RMSSD, 60 s', unit: 'ms', title: 'ms', staleMs: 30_000, always: true },
  { feature: 'hrv_sdnn_300s', label: 'HRV · SDNN, 5 min', unit: 'ms', title: 'ms', staleMs: 60_000, always: false },
  { feature: 'ventricular_burden_300s', label: 'Ventricular burden, 5 min', unit: '%', title: '%', staleMs: 330_000, always: false },
  { feature: 'hr_ppg', label: 'Pulse rate, PPG', unit: '/min', title: 'bpm', staleMs: 5000, always: false },
  { feature: 'resp_rate', label: 'Respiratory rate', unit: '/min', title: '/min', staleMs: 30_000, always: false },
  { feature: 'hrv_lf_hf_300s', label: 'HRV · LF/HF, 5 min', unit: '1', title: '', staleMs: 60_000, always: false },
  { feature: 'eda_tonic', label: 'Skin conductance', unit: 'uS', title: 'µS', staleMs: 10_000, always: false },
  { feature: 'temp_mean', label: 'Skin temperature', unit: 'Cel', title: '°C', staleMs: 60_000, always: false },
] as const;

/** The chart below the traces. */
const HISTORY = 'HR,RMSSD';
const TRACES_MAX = 8;
const REDRAW_MS = 500;

const stateWords = {
  connecting: 'connecting',
  live: 'live',
  stale: 'signalLost',
  offline: 'notConnected',
  refused: 'refused',
  closed: 'notConnected',
} as const;

export class LiveMonitor {
  readonly #locale: string;
  readonly #redraw: () => void;
  readonly #hasRecordings: boolean;
  readonly #latest = new LatestValues();
  readonly #held = new HeldTraces();
  #pause: Pause | null = null;
  #of: Readonly<{ session: Session; subjectId: string }> | null = null;
  readonly #channels = new Map<string, LiveChannel>();
  #state: LiveState = 'connecting';
  #lagMs = 0;
  #dropped = 0;
  #gain = 10;
  #beats: BeatSource | null = null;
  #leave: (() => void) | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** @param redraw called when something that view() shows has changed
   *  @param hasRecordings pages of recordings can be opened from here */
  constructor(locale: string, redraw: () => void, hasRecordings = false) {
    this.#locale = locale;
    this.#redraw = redraw;
    this.#hasRecordings = hasRecordings;
  }

  /** Joins the live feed of a session. */
  start(session: Session, subjectId: string): void {
    this.stop();
    this.#of = { session, subjectId };
    this.#beats = new BeatSource(session, subjectId);
    this.#leave = joinLive(session, {
      frame: (frame, nowMs) => this.#take(frame, nowMs),
      state: (state) => {
        this.#state = state;
        this.#redraw();
      },
    });
    this.#timer = setInterval(this.#redraw, REDRAW_MS);
  }

  stop(): void {
    this.#beats?.stop();
    this.#beats = null;
    this.#leave?.();
    this.#leave = null;
    clearInterval(this.#timer);
  }

  #take(frame: LiveFrame, nowMs: number): void {
    const endMs = Number(frame.t0Ns) / 1e6 + frame.durationMs;
    this.#latest.take(frame, nowMs);
    this.#held.take(frame);
    for (const channel of frame.channels) {
      if (this.#channels.get(channel.id)?.rateHz !== channel.rateHz) {
        this.#channels.set(channel.id, channel);
        this.#redraw();
      }
    }
    this.#beats?.take(frame);
    if (frame.replayed) return;
    // The service's own measure where it has one, else the wall clocks of both sides.
    const lag = frame.lagMs > 0 ? frame.lagMs : Math.max(0, Date.now() - endMs);
    this.#lagMs = this.#lagMs === 0 ? lag : this.#lagMs * 0.9 + lag * 0.1;
    this.#dropped += frame.droppedFrames;
  }

  #togglePause(): void {
    if (this.#pause !== null || this.#of === null) this.#pause = null;
    else {
      const shown = new Set(this.#traces.map(({ id }) => id));
      const lanes = this.#held.lanes().filter(({ id }) => shown.has(id));
      this.#pause = { ...this.#of, endMs: this.#held.endMs, lanes, hasRecordings: this.#hasRecordings };
    }
    this.#redraw();
  }

  get #traces(): readonly LiveChannel[] {
    return [...this.#channels.values()].filter(({ kind }) => kind !== 'acc' && kind !== 'gyro').slice(0, TRACES_MAX);
  }

  /** Connection and delay, for the head of a page. */
  status(): TemplateResult {
    const lag = this.#lagMs < 1000 ? `${Math.round(this.#lagMs)} ms` : `${(this.#lagMs / 1000).toFixed(1)} s`;
    return html`<p class="link ${this.#state}" role="status">
        <span class="dot" aria-hidden="true"></span>${textFor(this.#locale, stateWords[this.#state])}
      </p>
      <p class="lag">
        ${this.#state === 'live' ? textFor(this.#locale, 'delay', { time: lag }) : ''}
        ${this.#dropped > 0 ? html` · ${this.#dropped} frames skipped` : nothing}
      </p>`;
  }

  view(): TemplateResult {
    const nowMs = performance.now();
    const traces = this.#traces;
    const isPaused = this.#pause !== null;
    return html`<div class="monitor">
      <section class="traces" aria-label="Traces">
        <div class="tools">
          <label>
            Gain
            <select
              @change=${(event: Event) => {
                this.#gain = Number((event.target as HTMLSelectElement).value);
                this.#redraw();
              }}
            >
              ${[5, 10, 20].map((value) => html`<option value=${value} ?selected=${value === this.#gain}>${value} mm/mV</option>`)}
            </select>
          </label>
          <button
            type="button"
            aria-pressed=${isPaused ? 'true' : 'false'}
            ?disabled=${traces.length === 0}
            @click=${() => this.#togglePause()}
          >
            Pause
          </button>
          <button type="button" @click=${toggleFullScreen}>Full screen</button>
          <p class="legend">
            <span><span aria-hidden="true">▾</span> beat</span><span><b aria-hidden="true">V</b> ectopic</span
            ><span>${qualityMark(0, this.#locale)}</span><span>${qualityMark(1, this.#locale)}: thin, hatched</span
            ><span>${qualityMark(2, this.#locale)}: gap</span>
          </p>
        </div>
        ${isPaused ? html`<bio-paused-traces gain=${this.#gain} .pause=${this.#pause}></bio-paused-traces>` : nothing}
        ${
          traces.length === 0
            ? html`<bio-live-trace class="ecg" channel="ecg" gain=${this.#gain}></bio-live-trace>`
            : traces.map(
                (channel, i) =>
                  html`<bio-live-trace class=${channel.kind} channel=${channel.id} gain=${this.#gain} ?hidden=${isPaused}></bio-live-trace>
                    ${i === 0 && !isPaused && this.#beats !== null ? html`<bio-beat-review .source=${this.#beats}></bio-beat-review>` : nothing}`,
              )
        }
      </section>
      <section class="vitals" aria-label="Values">${tiles.map((tile) => this.#tile(tile, nowMs))}</section>
      <section class="history">
        <bio-trend-chart heading="Last 15 minutes" biosignals=${HISTORY} range="15m" refresh="10s" readonly></bio-trend-chart>
      </section>
    </div>`;
  }

  #tile(tile: (typeof tiles)[number], nowMs: number): TemplateResult | typeof nothing {
    const value = this.#latest.of(tile.feature);
    if (value === undefined && !tile.always) return nothing;
    const ageMs = value === undefined ? Infinity : nowMs - value.atMs;
    // Whatever the reason, a value without a signal is out of date.
    const old = ageMs > tile.staleMs || this.#state !== 'live';
    const usable = value !== undefined && value.qmask < 2 && Number.isFinite(value.value);
    return html`<article class="tile ${old ? 'old' : ''}" data-feature=${tile.feature}>
      <h2>${tile.label}</h2>
      <p class="number">
        <output>${usable ? formatValue(this.#locale, value.value, tile.unit) : '--'}</output>
        <span class="unit">${tile.title}</span>
      </p>
      <p class="foot">
        ${
          value === undefined
            ? html`<span class="muted">waiting for more beats</span>`
            : old
              ? html`<span class="muted">out of date</span>`
              : qualityMark(value.qmask, this.#locale)
        }
        ${old && value !== undefined ? html`<span class="muted">${formatAge(this.#locale, Date.now() - ageMs, Date.now())}</span>` : nothing}
      </p>
    </article>`;
  }
}
