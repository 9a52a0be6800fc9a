/** One live channel as a sweeping trace. Used by bio-trend-chart and the live monitor; usable alone inside a bio-provider.
 *
 *  @tag bio-live-trace
 *  @attr {string} channel - channel code (`ecg.ii`) or kind (`ecg`); the first that matches is shown. Default `ecg`
 *  @attr {number} gain - millimetres per unit for ECG: 5, 10 or 20. Default 10; other kinds are fitted
 *  @attr {number} speed - paper speed, mm/s: 12.5, 25 or 50. Default 25; signals as slow as skin conductance take ten times as long
 *  @attr {string} lang
 *  @attr {string} theme - light or dark
 *  @csspart label - name, unit and scale
 *  @csspart scale - paper speed and gain, within the label
 *  @csspart trace - the box of the canvases
 *  @cssprop --bio-trace-height - height of the trace; default 160px
 *  @cssprop --bio-color-trace
 *  @fires bio:live-state - {state}: connecting, live, stale, offline, refused */
import { channelName } from '../../src/signal.ts';
import { BioElement, define, html, nothing } from '../shared/base.ts';
import { formatNumber, unitLabel } from '../shared/format.ts';
import type { LiveChannel, LiveFrame, LiveState } from '../shared/live-frame.ts';
import { joinLive } from '../shared/live-feed.ts';
import { PlayClock } from '../shared/play-clock.ts';
import { qualityMark } from '../shared/quality.ts';
import type { Session } from '../shared/session.ts';
import { SweepTrace } from '../shared/sweep-trace.ts';
import type { TraceScale } from '../shared/sweep-trace.ts';
import { gridCss, tokenColor } from '../shared/theme.ts';
import { traceTextFor } from '../shared/trace-strings.ts';
import { traceQuality } from '../shared/trace-quality.ts';
import { TraceRing } from '../shared/trace-ring.ts';

/** A sweep over 3840 px at 12.5 mm/s. */
const RING_SECONDS = 82;
/** Signals of seconds and minutes are shown ten times slower than those of a heartbeat. */
const SLOW_KINDS: readonly string[] = ['eda', 'temp'];
const SLOWER = 10;
/** ECG in other units has no millimetres of paper: it is fitted. */
const PER_MILLIVOLT: Readonly<Record<string, number>> = { mV: 1, uV: 1000 };
/** Least height of a fitted trace, in the unit of the kind. */
const SPAN_MIN: Readonly<Record<string, number>> = { eda: 0.5, temp: 1 };

const css = `${gridCss}
.bar { display: flex; flex-wrap: wrap; gap: 2px 14px; align-items: baseline; justify-content: space-between; margin-block-end: 4px; font-size: .8125rem; }
.bar .lead { font-weight: 650; font-size: .9375rem; }
.box { position: relative; block-size: var(--bio-trace-height, 160px); background: var(--_surface); border: 1px solid var(--_line); border-radius: 6px; overflow: hidden; direction: ltr; }
canvas { position: absolute; inset: 0; inline-size: 100%; block-size: 100%; }
.veil { position: absolute; inset: 0; display: grid; place-items: center; background: color-mix(in srgb, var(--_surface) 72%, transparent); font-weight: 600; }
`;

export class BioLiveTrace extends BioElement {
  static override styles = css;
  static observedAttributes = ['channel', 'gain', 'speed', 'lang', 'theme'];
  #trace: SweepTrace | null = null;
  #ring: TraceRing | null = null;
  #clock = new PlayClock();
  #channel: LiveChannel | null = null;
  #state: LiveState = 'connecting';
  #flag = 2;
  #replayed = false;
  #leave: (() => void) | null = null;
  #session: Session | null = null;
  #frameRequest = 0;

  override connectedCallback(): void {
    super.connectedCallback();
    const loop = (nowMs: number): void => {
      this.#frameRequest = requestAnimationFrame(loop);
      const timeMs = this.#clock.timeMs(nowMs);
      if (timeMs !== null && this.#trace !== null) this.#trace.draw(timeMs);
    };
    this.#frameRequest = requestAnimationFrame(loop);
    const queries = ['(prefers-color-scheme: dark)', '(forced-colors: active)', 'print'].map((query) => matchMedia(query));
    const recolor = (): void => this.#recolor();
    for (const query of queries) query.addEventListener('change', recolor);
    this.during(() => {
      cancelAnimationFrame(this.#frameRequest);
      for (const query of queries) query.removeEventListener('change', recolor);
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#leave?.();
    this.#leave = null;
    this.#trace = null;
  }

  protected override linked(): void {
    const session = this.link?.session ?? null;
    if (session === this.#session && this.#leave !== null) {
      if (this.link?.problem === 'unauthorized') this.#forget();
      this.requestUpdate();
      return;
    }
    this.#session = session;
    this.#leave?.();
    this.#leave = null;
    this.#forget();
    if (session !== null) {
      this.#leave = joinLive(session, {
        frame: (frame, nowMs) => this.#take(frame, nowMs),
        state: (state, detail) => {
          this.#state = state;
          if (state === 'refused') {
            this.#forget();
            console.warn(`bio-live-trace: ${detail}`);
          }
          if (state !== 'live') this.requestUpdate();
          this.emit('bio:live-state', { state });
        },
      });
    }
    this.requestUpdate();
  }

  protected override changed(): void {
    const wanted = this.getAttribute('channel') ?? 'ecg';
    if (this.#channel !== null && !matches(this.#channel, wanted)) this.#forget();
    this.#trace?.setScale(this.#scale(), this.#mmPerS);
    this.#recolor();
    this.requestUpdate();
  }

  #forget(): void {
    this.#channel = null;
    this.#ring = null;
    this.#clock.reset();
    this.#trace?.setRing(null);
  }

  #take(frame: LiveFrame, nowMs: number): void {
    const wanted = this.getAttribute('channel') ?? 'ecg';
    const t0Ms = Number(frame.t0Ns) / 1e6;
    if (!frame.replayed) {
      this.#clock.observe(t0Ms + frame.durationMs, nowMs);
      if (this.#replayed) this.#trace?.setRing(this.#ring); // what came late is drawn too
    }
    this.#replayed = frame.replayed;
    const channel = frame.channels.find((item) => (this.#channel === null ? matches(item, wanted) : item.id === this.#channel.id));
    if (channel === undefined || channel.rateHz <= 0) return;
    if (this.#ring === null || this.#ring.rateHz !== channel.rateHz) {
      this.#ring = new TraceRing(channel.rateHz, RING_SECONDS * (SLOW_KINDS.includes(channel.kind) ? SLOWER : 1));
      this.#channel = channel;
      this.#trace?.setScale(this.#scale(), this.#mmPerS);
      this.#trace?.setRing(this.#ring);
      this.requestUpdate();
    }
    this.#ring.put(frame.t0Ns + BigInt(Math.round(channel.offsetNs)), channel.samples, channel.qmask);
    const flag = traceQuality(this.#ring, t0Ms + frame.durationMs);
    if (flag !== this.#flag || this.#state !== 'live') {
      this.#flag = flag;
      if (!frame.replayed) this.#state = 'live';
      this.requestUpdate();
    }
  }

  get #mmPerS(): number {
    const given = Number(this.getAttribute('speed') ?? 25);
    const speed = given === 12.5 || given === 50 ? given : 25;
    return SLOW_KINDS.includes(this.#channel?.kind ?? '') ? speed / SLOWER : speed;
  }

  #scale(): TraceScale {
    const { kind, unit } = this.#channel ?? { kind: 'ecg', unit: 'mV' };
    const perMillivolt = PER_MILLIVOLT[unit];
    if (kind !== 'ecg' || perMillivolt === undefined) return { kind: 'fit', spanMin: SPAN_MIN[kind] ?? 0 };
    const gain = Number(this.getAttribute('gain') ?? 10);
    return { kind: 'fixed', mmPerUnit: (gain === 5 || gain === 20 ? gain : 10) / perMillivolt };
  }

  #recolor(): void {
    this.#trace?.setColors(this.#colors());
  }

  #colors() {
    const color = (token: string): string => tokenColor(this.root, token);
    return {
      trace: color('--_trace'),
      suspect: color('--_suspect'),
      bad: color('--_bad'),
      gridMinor: color('--_grid-minor'),
      gridMajor: color('--_grid-major'),
    };
  }

  protected override rendered(): void {
    if (this.#trace !== null) return;
    const [grid, front] = this.root.querySelectorAll('canvas');
    const box = this.root.querySelector('.box');
    if (grid === undefined || front === undefined || box === null) return;
    const trace = new SweepTrace(grid, front, this.#scale(), this.#colors(), () => this.requestUpdate());
    this.#trace = trace;
    trace.setRing(this.#ring);
    const observer = new ResizeObserver(() => trace.resize(box.clientWidth, box.clientHeight, devicePixelRatio));
    observer.observe(box);
    this.during(() => observer.disconnect());
  }

  protected override template() {
    const channel = this.#channel;
    const name = channel === null ? (this.getAttribute('channel') ?? 'ecg').toUpperCase() : channelName(channel);
    const state = this.#state;
    const word = state === 'stale' ? 'signalLost' : state === 'closed' || state === 'offline' ? 'notConnected' : state;
    const veil = word === 'live' ? null : traceTextFor(this.locale, word);
    return html`<div class="bar" part="label">
        <span><span class="lead">${name}</span> <span class="muted" part="scale">${this.#scaleLabel()}</span></span>
        ${channel === null || veil !== null ? nothing : qualityMark(this.#flag, this.locale)}
      </div>
      <div class="box" part="trace" role="img" aria-label=${traceTextFor(this.locale, 'traceLabel', { name })}>
        <canvas></canvas><canvas></canvas>${veil === null ? nothing : html`<div class="veil"><span role="status">${veil}</span></div>`}
      </div>`;
  }

  #scaleLabel(): string {
    const channel = this.#channel;
    if (channel === null) return '';
    const scale = this.#scale();
    if (scale.kind === 'fixed')
      return `${formatNumber(this.locale, this.#mmPerS)} mm/s · ${Number(this.getAttribute('gain') ?? 10)} mm/mV${this.#trace?.isBeyond ? ` · ${traceTextFor(this.locale, 'beyond')}` : ''}`;
    const perCm = this.#trace === null || this.#ring === null ? Number.NaN : this.#trace.unitsPerCm;
    const unit = unitLabel(channel.unit);
    return Number.isFinite(perCm)
      ? `${formatNumber(this.locale, this.#mmPerS)} mm/s · ${formatNumber(this.locale, perCm, 2)}${unit === '' ? '' : ` ${unit}`} / cm`
      : unit;
  }
}

export function matches(channel: LiveChannel, wanted: string): boolean {
  return channel.code === wanted || channel.id === wanted || channel.kind === wanted;
}

define('bio-live-trace', BioLiveTrace);
