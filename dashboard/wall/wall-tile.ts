/** One person on a wall: a trace and two values, each with its quality, and how the device is. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { formatAge } from '../../widgets/shared/format.ts';
import type { LiveChannel, LiveFrame } from '../../widgets/shared/live-frame.ts';
import { PlayClock } from '../../widgets/shared/play-clock.ts';
import { qualityMark } from '../../widgets/shared/quality.ts';
import { traceTextFor } from '../../widgets/shared/trace-strings.ts';
import { SweepTrace } from '../../widgets/shared/sweep-trace.ts';
import type { TraceColors } from '../../widgets/shared/sweep-trace.ts';
import { traceQuality } from '../../widgets/shared/trace-quality.ts';
import { TraceRing } from '../../widgets/shared/trace-ring.ts';
import { batteryLevel } from '../battery.ts';
import { t } from '../language.ts';
import { LatestValues } from '../latest-values.ts';
import { isMadeOf, LiveSignals } from '../live-signals.ts';
import { liveText } from '../live-values.ts';
import type { LiveValue } from '../live-values.ts';
import { windowText } from '../method-name.ts';
import { heartRate } from './wall-values.ts';
import type { WallValue } from './wall-values.ts';

/** Longest sweep of a trace, s. */
const RING_SECONDS = 40;
/** Without a frame for this long a person counts as silent, ms. */
const SILENT_MS = 3000;
/** Least height of a trace: noise must not look like a signal. Of PPG, and of ECG that is not in volts, the unit is the device's. */
const ECG_SPAN_MIN_MV = 1;
/** A value that takes so long or longer says when it comes, ms; it takes up to so much more to send and to compute it. */
const AWAITED_MS_MIN = 30_000;
const LATE_MS = 30_000;
const MINUTE_SEC = 60;

export type Link = 'connecting' | 'open' | 'lost';
export type WallPerson = Readonly<{
  id: string;
  name: string;
  batteryPercent: number | null;
  isSending: boolean;
  lastPacketAt: string | null;
}>;

export class WallTile {
  person: WallPerson;
  /** Holds the canvas; the template around it is drawn by lit-html, which must not make it anew. */
  readonly box = document.createElement('span');
  readonly #canvas = document.createElement('canvas');
  readonly #trace: SweepTrace;
  readonly #clock = new PlayClock();
  #values = new LatestValues();
  #signals = new LiveSignals();
  /** Every one of ECG and PPG that has come, by id: others are not asked for. */
  readonly #channels = new Map<string, LiveChannel>();
  /** performance.now() of the first frame, replayed or not. */
  #firstMs: number | null = null;
  #channel: LiveChannel | null = null;
  #ring: TraceRing | null = null;
  #replayed = false;
  #heardMs = -Infinity;
  #endMs = 0;
  /** The trace begins at the left edge then: its times are counted from there. */
  #beginNs = 0n;
  #gone = false;

  constructor(person: WallPerson, colors: TraceColors) {
    this.person = person;
    this.box.className = 'wall-trace';
    this.box.append(this.#canvas);
    // A fitted trace has no paper: one canvas is enough.
    this.#trace = new SweepTrace(this.#canvas, this.#canvas, { kind: 'fit', spanMin: ECG_SPAN_MIN_MV }, colors, () => undefined);
  }

  setColors(colors: TraceColors): void {
    this.#trace.setColors(colors);
  }

  /** @param mmPerS paper speed */
  resize(width: number, height: number, mmPerS: number): void {
    this.#trace.setScale(this.#scale(), mmPerS);
    this.#trace.resize(width, height, devicePixelRatio);
  }

  /** @param nowMs performance.now()  @param beginNs when the wall began: pens of all tiles are at the same place */
  take(frame: LiveFrame, nowMs: number, mmPerS: number, beginNs: bigint): void {
    this.#values.take(frame, nowMs);
    this.#signals.take(frame);
    this.#firstMs ??= nowMs;
    for (const channel of frame.channels) this.#channels.set(channel.id, channel);
    this.#endMs = Math.max(this.#endMs, Number(frame.t0Ns) / 1e6 + frame.durationMs);
    if (!frame.replayed) {
      this.#heardMs = nowMs;
      this.#clock.observe(Number(frame.t0Ns) / 1e6 + frame.durationMs, nowMs);
      if (this.#replayed) this.#trace.setRing(this.#ring); // what came late is drawn too
    }
    this.#replayed = frame.replayed;
    const channel = this.#channelOf(frame);
    if (channel === undefined || channel.rateHz <= 0) return;
    if (this.#ring === null || this.#channel?.id !== channel.id || this.#ring.rateHz !== channel.rateHz) {
      this.#channel = channel;
      this.#beginNs = frame.t0Ns < beginNs ? frame.t0Ns : beginNs; // of one who is behind
      this.#ring = new TraceRing(channel.rateHz, RING_SECONDS);
      this.#trace.setScale(this.#scale(), mmPerS);
      this.#trace.setRing(this.#ring);
    }
    this.#ring.put(frame.t0Ns - this.#beginNs + BigInt(Math.round(channel.offsetNs)), channel.samples, channel.qmask);
  }

  /** The one that is shown already, else ECG, else PPG. ECG that begins later takes its place. */
  #channelOf({ channels }: LiveFrame): LiveChannel | undefined {
    const shown = channels.find(({ id }) => id === this.#channel?.id);
    const ecg = (): LiveChannel | undefined => channels.find(({ kind, rateHz }) => kind === 'ecg' && rateHz > 0);
    if (this.#channel?.kind === 'ecg') return shown ?? ecg();
    return ecg() ?? shown ?? channels.find(({ kind, rateHz }) => kind === 'ppg' && rateHz > 0);
  }

  #scale(): Readonly<{ kind: 'fit'; spanMin: number }> {
    const { kind, unit } = this.#channel ?? { kind: 'ecg', unit: 'mV' };
    const perMillivolt = kind !== 'ecg' ? 0 : unit === 'mV' ? 1 : unit === 'uV' ? 1000 : 0;
    return { kind: 'fit', spanMin: perMillivolt * ECG_SPAN_MIN_MV };
  }

  /** The service shows this person no longer: nothing of them stays on the screen. */
  forget(): void {
    this.#gone = true;
    this.#values = new LatestValues();
    this.#signals = new LiveSignals();
    this.#channels.clear();
    this.#firstMs = null;
    this.#ring = null;
    this.#channel = null;
    this.#trace.setRing(null);
    this.#heardMs = -Infinity;
  }

  /** The service shows this person, who may be silent. */
  showAgain(): void {
    this.#gone = false;
  }

  /** Once per animation frame. A trace without a signal stands still, grey. */
  draw(nowMs: number, link: Link): void {
    const timeMs = this.#clock.timeMs(nowMs);
    if (timeMs !== null && this.#isLive(nowMs, link)) this.#trace.draw(this.#sinceBegin(timeMs));
  }

  #sinceBegin(unixMs: number): number {
    return unixMs - Number(this.#beginNs) / 1e6;
  }

  #isLive(nowMs: number, link: Link): boolean {
    return link === 'open' && nowMs - this.#heardMs < SILENT_MS;
  }

  view(nowMs: number, link: Link, second: WallValue, locale: string): TemplateResult {
    const isLive = this.#isLive(nowMs, link);
    const flag = this.#ring === null ? 2 : traceQuality(this.#ring, this.#sinceBegin(this.#endMs));
    const { id, name, batteryPercent } = this.person;
    return html`<li class=${isLive ? 'wall-tile' : 'wall-tile old'} data-person=${id}>
      <a href="#/users/${id}">
        <span class="wall-name" title=${name}>${name}</span>
        <span class="wall-state">${isLive ? qualityMark(flag, locale) : html`<b class="wall-why">${this.#why(link, locale)}</b>`}</span>
        ${this.#value(heartRate, isLive, nowMs, locale, 'wall-heart')} ${this.#value(second, isLive, nowMs, locale, 'wall-second')}
        ${this.box}
        <span class="wall-device">${batteryPercent === null || this.#gone ? nothing : batteryLevel(batteryPercent)}</span>
      </a>
    </li>`;
  }

  #why(link: Link, locale: string): string {
    if (link !== 'open') return traceTextFor(locale, link === 'lost' ? 'notConnected' : 'connecting');
    if (this.#gone) return t('No longer shown');
    const words = traceTextFor(locale, 'signalLost');
    if (this.#endMs > 0) return t('{state}, last {age}', { state: words, age: formatAge(locale, this.#endMs, Date.now()) });
    const { isSending, lastPacketAt } = this.person;
    if (isSending || lastPacketAt === null) return words;
    return t('{state}, last {age}', { state: words, age: formatAge(locale, Date.parse(lastPacketAt), Date.now()) });
  }

  #value({ values }: WallValue, isLive: boolean, nowMs: number, locale: string, name: string): TemplateResult {
    const channels = [...this.#channels.values()];
    const value =
      values.find(({ feature }) => this.#values.of(feature) !== undefined) ?? values.find((one) => isMadeOf(one, channels)) ?? values[0];
    const latest = this.#values.of(value.feature);
    const isOld = !isLive || latest === undefined || nowMs - latest.atMs > value.staleMs;
    const flag = latest === undefined ? 2 : this.#signals.flagOf(value, latest.qmask);
    const usable = latest !== undefined && flag < 2 && Number.isFinite(latest.value);
    const isMarked = isLive && latest !== undefined && (!isOld || !usable);
    const awaited = isLive && latest === undefined ? this.#awaited(value, nowMs) : null;
    const word = isMarked ? qualityMark(flag, locale) : usable ? html`<span class="vh"> ${t('out of date')}</span>` : nothing;
    return html`<span class="wall-value ${name} ${isOld ? 'old' : ''}" title=${value.label}
      ><span class="wall-label" aria-hidden="true">${value.short}</span><span class="vh">${value.label}</span>
      <output>${usable ? liveText(value, latest.value) : '--'}</output>
      ${
        awaited === null
          ? html`<span class="unit">${value.title}</span>${word}`
          : html`<span class="wall-wait" title=${awaited.whole} aria-hidden="true">${awaited.short}</span
              ><span class="vh"> ${awaited.whole}</span>`
      }</span
    >`;
  }

  /** Why a value is not there yet, in the words of the live page and in those that a tile has room for; null: that is not known. */
  #awaited(value: LiveValue, nowMs: number): Readonly<{ short: string; whole: string }> | null {
    if (this.#firstMs === null || (value.source !== 'ecg' && value.source !== 'ppg')) return null;
    if (!isMadeOf(value, [...this.#channels.values()])) return { short: t('no signal'), whole: t('no signal for it so far') };
    if (value.dueMs < AWAITED_MS_MIN) return null;
    const leftSec = Math.ceil((value.dueMs + LATE_MS - (nowMs - this.#firstMs)) / 1000);
    const whole = t('shown when it is computed next');
    if (leftSec <= 0) return { short: t('not yet'), whole };
    const duration = windowText(Math.ceil(leftSec / MINUTE_SEC) * MINUTE_SEC);
    return { short: t('within {duration}', { duration }), whole };
  }
}
