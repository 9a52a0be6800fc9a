/** The live view of one subject: traces, heart rate, HRV, and how far to trust them. Used by the demo page and by the dashboard. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import '../widgets/bio-widgets.ts';
import { channelName } from '../src/signal.ts';
import { BeatSource } from './beat-review.ts';
import { toggleFullScreen } from './full-screen.ts';
import { HeldTraces } from './held-traces.ts';
import { locale, plural, t } from './language.ts';
import { ALWAYS_SHOWN, liveText, liveValue, standingTiles } from './live-values.ts';
import type { LiveValue } from './live-values.ts';
import { LatestValues } from './latest-values.ts';
import { isMadeOf, LiveSignals } from './live-signals.ts';
import { gains, movedTrace, RHYTHM, shownTraces, speeds, twelveLeads, viewOf, withTrace } from './live-view.ts';
import type { LiveView } from './live-view.ts';
import './paused-traces.ts';
import type { Pause, Recordings } from './paused-traces.ts';
import { formatAge, formatNumber } from '../widgets/shared/format.ts';
import { joinLive } from '../widgets/shared/live-feed.ts';
import type { LiveChannel, LiveFrame, LiveState } from '../widgets/shared/live-frame.ts';
import { qualityMark } from '../widgets/shared/quality.ts';
import type { Session } from '../widgets/shared/session.ts';
import { traceTextFor } from '../widgets/shared/trace-strings.ts';
import { duration } from './parts.ts';

/** The chart below the traces. */
const HISTORY = 'HR,RMSSD';
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
  readonly #recordings: Recordings | null;
  readonly #keep: (view: LiveView) => void;
  #view: LiveView;
  readonly #onRefused: () => void;
  #latest = new LatestValues();
  #signals = new LiveSignals();
  #held = new HeldTraces();
  #pause: Pause | null = null;
  #of: Readonly<{ session: Session; subjectId: string }> | null = null;
  readonly #channels = new Map<string, LiveChannel>();
  #state: LiveState = 'connecting';
  #lagMs = 0;
  #dropped = 0;
  #beats: BeatSource | null = null;
  /** Every computed value, by name; read once values are chosen. */
  #values: readonly LiveValue[] | null = null;
  /** Also while they are asked for again: an alert that comes and goes is read out each time. */
  #isValuesFailed = false;
  #leave: (() => void) | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** @param redraw called when something that view() shows has changed
   *  @param address what it says of speed, gain, traces and layout  @param keep called when they were chosen anew
   *  @param recordings null: pages of recordings cannot be opened from here
   *  @param onRefused called whenever the service has refused the feed: nothing of the person is shown any more */
  constructor(
    locale: string,
    redraw: () => void,
    address: URLSearchParams,
    keep: (view: LiveView) => void,
    recordings: Recordings | null = null,
    onRefused: () => void = () => undefined,
  ) {
    this.#locale = locale;
    this.#redraw = redraw;
    this.#view = viewOf(address);
    this.#keep = keep;
    this.#recordings = recordings;
    this.#onRefused = onRefused;
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
        if (state === 'live' && this.#isValuesFailed) void this.#readValues();
        if (state === 'refused') {
          this.#forget(session, subjectId);
          this.#onRefused();
        }
        this.#redraw();
      },
    });
    if (this.#view.values !== null) void this.#readValues();
    this.#timer = setInterval(this.#redraw, REDRAW_MS);
    document.addEventListener('fullscreenchange', this.#redraw);
  }

  stop(): void {
    this.#beats?.stop();
    this.#beats = null;
    this.#leave?.();
    this.#leave = null;
    clearInterval(this.#timer);
    document.removeEventListener('fullscreenchange', this.#redraw);
  }

  get isRefused(): boolean {
    return this.#state === 'refused';
  }

  /** Of a person who may not be seen any more. */
  #forget(session: Session, subjectId: string): void {
    this.#beats?.stop();
    this.#beats = new BeatSource(session, subjectId);
    [this.#latest, this.#signals, this.#held, this.#pause] = [new LatestValues(), new LiveSignals(), new HeldTraces(), null];
    this.#channels.clear();
  }

  #take(frame: LiveFrame, nowMs: number): void {
    const endMs = Number(frame.t0Ns) / 1e6 + frame.durationMs;
    this.#latest.take(frame, nowMs);
    this.#signals.take(frame);
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
      const held = this.#held.lanes();
      const lanes = this.#shown.flatMap(({ id }) => held.find((lane) => lane.id === id) ?? []);
      this.#pause = { ...this.#of, endMs: this.#held.endMs, lanes, recordings: this.#recordings };
    }
    if (this.#beats !== null) this.#beats.isHeld = this.#pause !== null;
    this.#redraw();
  }

  #choose(change: Partial<LiveView>): void {
    this.#view = { ...this.#view, ...change };
    this.#keep(this.#view);
    this.#redraw();
  }

  async #readValues(): Promise<void> {
    const of = this.#of;
    if (this.#values !== null || of === null) return;
    const methods = await of.session.get('/api/v1/methods').catch(() => null);
    if (this.#of !== of) return;
    this.#isValuesFailed = methods === null;
    if (methods === null) return this.#redraw();
    this.#values = methods
      .filter(({ kind, current }) => kind === 'feature' && current)
      .map(liveValue)
      .toSorted((a, b) => a.label.localeCompare(b.label, locale, { numeric: true }));
    this.#redraw();
  }

  /** Chosen ones stand there from the start. */
  get #tiles(): readonly LiveValue[] {
    const { values } = this.#view;
    if (values === null) return standingTiles.filter(({ feature }, i) => i < ALWAYS_SHOWN || this.#latest.of(feature) !== undefined);
    const known = [...standingTiles, ...(this.#values ?? [])];
    return values.flatMap((feature) => known.find((value) => value.feature === feature) ?? []);
  }

  /** The twelve leads, where they are there and wanted. */
  get #leads(): readonly LiveChannel[] | null {
    return this.#view.layout === 'rows' ? null : twelveLeads([...this.#channels.values()]);
  }

  /** Rows: all traces, or those besides the twelve leads. */
  get #rows(): readonly LiveChannel[] {
    const leads = this.#leads;
    const channels = [...this.#channels.values()].filter((channel) => leads?.includes(channel) !== true);
    return shownTraces(channels, this.#view);
  }

  get #shown(): readonly LiveChannel[] {
    return [...(this.#leads ?? []), ...this.#rows];
  }

  /** Connection and delay, for the head of a page. */
  status(): TemplateResult {
    const lag = duration(this.#lagMs);
    return html`<p class="link ${this.#state}" role="status">
        <span class="dot" aria-hidden="true"></span>${traceTextFor(this.#locale, stateWords[this.#state])}
      </p>
      <p class="lag">
        ${this.#state === 'live' ? traceTextFor(this.#locale, 'delay', { time: lag }) : ''}
        ${this.#dropped > 0 ? html` · ${plural(this.#dropped, '1 frame skipped', '{count} frames skipped')}` : nothing}
      </p>`;
  }

  view(): TemplateResult {
    const nowMs = performance.now();
    const isPaused = this.#pause !== null;
    const { gain, speed } = this.#view;
    return html`<div class="monitor">
      <section class="traces" aria-label=${t('Traces')}>
        ${this.#tools(isPaused)}
        ${isPaused ? html`<bio-paused-traces gain=${gain} speed=${speed} .pause=${this.#pause}></bio-paused-traces>` : nothing}
        <div class="rows" ?hidden=${isPaused}>${this.#traces()}</div>
      </section>
      <section class="vitals" aria-label=${t('Values')} tabindex=${document.fullscreenElement === null ? nothing : '0'}>
        ${repeat(
          this.#tiles,
          ({ feature }) => feature,
          (tile) => this.#tile(tile, nowMs),
        )}
        ${this.#view.values?.some((feature) => !this.#tiles.some((tile) => tile.feature === feature)) === true ? this.#valuesFailure() : nothing}
      </section>
      <section class="history">
        <bio-trend-chart heading=${t('Last 15 minutes')} biosignals=${HISTORY} range="15m" refresh="10s" readonly></bio-trend-chart>
      </section>
    </div>`;
  }

  #tools(isPaused: boolean): TemplateResult {
    const { gain, speed } = this.#view;
    const channels = [...this.#channels.values()];
    return html`<div class="tools">
      ${choice(t('Speed'), speeds, speed, 'mm/s', (value) => this.#choose({ speed: value }))}
      ${choice(t('Gain'), gains, gain, 'mm/mV', (value) => this.#choose({ gain: value }))}
      ${
        twelveLeads(channels) === null
          ? nothing
          : html`<label>
              ${t('Layout')}
              <select
                @change=${(event: Event) => this.#choose({ layout: (event.target as HTMLSelectElement).value === 'rows' ? 'rows' : 'leads' })}
              >
                <option value="leads" ?selected=${this.#leads !== null}>${t('12 leads')}</option>
                <option value="rows" ?selected=${this.#leads === null}>${t('Rows')}</option>
              </select>
            </label>`
      }
      <button
        type="button"
        aria-pressed=${isPaused ? 'true' : 'false'}
        ?disabled=${this.#shown.length === 0}
        @click=${() => this.#togglePause()}
      >
        ${t('Pause')}
      </button>
      <button type="button" @click=${toggleFullScreen}>${t('Full screen')}</button>
      <p class="legend">
        <span><span aria-hidden="true">▾</span> ${t('beat')}</span><span><b aria-hidden="true">V</b> ${t('ventricular')}</span
        ><span><b aria-hidden="true">S</b> ${t('supraventricular')}</span><span><b aria-hidden="true">E</b> ${t('early')}</span
        ><span>${qualityMark(0, this.#locale)}</span><span>${qualityMark(1, this.#locale)}: ${t('thin, hatched')}</span
        ><span>${qualityMark(2, this.#locale)}: ${t('gap')}</span>
      </p>
      ${channels.length < 2 || isPaused ? nothing : this.#order(channels.filter((channel) => this.#leads?.includes(channel) !== true))}
      ${this.#valueChoice()}
    </div>`;
  }

  #valuesFailure(): TemplateResult | typeof nothing {
    if (!this.#isValuesFailed) return nothing;
    return html`<div class="problem" role="alert">
      <p>${t('The list of values could not be read from the service.')}</p>
      <button type="button" @click=${() => void this.#readValues()}>${t('Try again')}</button>
    </div>`;
  }

  /** Which values are shown: any that is computed. */
  #valueChoice(): TemplateResult {
    const shown = this.#tiles.map(({ feature }) => feature);
    const choose = (feature: string, isShown: boolean): void => this.#choose({ values: withTrace(shown, feature, isShown) });
    const usual = (event: Event): void => {
      // The button goes, and the focus would go with it.
      (event.currentTarget as Element).closest('details')!.querySelector('summary')!.focus();
      this.#choose({ values: null });
    };
    const item = ({ feature, label, title }: LiveValue): TemplateResult =>
      html`<li data-value=${feature}>
        <label>
          <input
            type="checkbox"
            .checked=${shown.includes(feature)}
            ?disabled=${shown.length === 1 && shown[0] === feature}
            @change=${(event: Event) => choose(feature, (event.target as HTMLInputElement).checked)}
          />${label}${title === '' ? nothing : html` <span class="muted">${title}</span>`}
        </label>
      </li>`;
    return html`<details class="order values" @toggle=${() => void this.#readValues()}>
      <summary>${t('Choose values')}</summary>
      ${this.#valuesFailure()}
      ${this.#view.values === null ? nothing : html`<button type="button" @click=${usual}>${t('Usual values')}</button>`}
      <ul>
        ${repeat(this.#values ?? [], ({ feature }) => feature, item)}
      </ul>
    </details>`;
  }

  /** Which traces are shown, and in which order. */
  #order(channels: readonly LiveChannel[]): TemplateResult {
    const shown = shownTraces(channels, this.#view).map(({ id }) => id);
    const hidden = channels.filter(({ id }) => !shown.includes(id));
    const all = [...shown.map((id) => channels.find((channel) => channel.id === id)!), ...hidden];
    const move = (id: string, by: -1 | 1): void => {
      this.#choose({ traces: movedTrace(shown, id, by) });
      // The button goes with its trace, and so does the focus; at the end of the list it is the other one that can be pressed.
      setTimeout(() => {
        const buttons = document.querySelectorAll<HTMLButtonElement>(`.order [data-trace="${CSS.escape(id)}"] button`);
        const [first, second] = by === -1 ? buttons : [...buttons].toReversed();
        (first?.disabled === true ? second : first)?.focus();
      }, 50);
    };
    return html`<details class="order">
      <summary>${t('Choose traces')}</summary>
      <ol>
        ${repeat(
          all,
          ({ id }) => id,
          (channel) => {
            const { id } = channel;
            const at = shown.indexOf(id);
            const name = `${channelName(channel)}${all.some((other) => other !== channel && channelName(other) === channelName(channel)) ? ` (${id})` : ''}`;
            return html`<li data-trace=${id}>
              <label>
                <input
                  type="checkbox"
                  .checked=${at >= 0}
                  ?disabled=${at >= 0 && shown.length === 1}
                  @change=${(event: Event) => this.#choose({ traces: withTrace(shown, id, (event.target as HTMLInputElement).checked) })}
                />${name}
              </label>
              <button type="button" ?disabled=${at <= 0} @click=${() => move(id, -1)}>${t('Up')}<span class="vh"> ${name}</span></button>
              <button type="button" ?disabled=${at < 0 || at === shown.length - 1} @click=${() => move(id, 1)}>
                ${t('Down')}<span class="vh"> ${name}</span>
              </button>
            </li>`;
          },
        )}
      </ol>
    </details>`;
  }

  #traces(): TemplateResult | readonly TemplateResult[] {
    const [leads, rows] = [this.#leads, this.#rows];
    const { gain, speed } = this.#view;
    const trace = ({ id, kind }: LiveChannel): TemplateResult =>
      html`<bio-live-trace class=${kind} channel=${id} gain=${gain} speed=${speed}></bio-live-trace>`;
    const review = this.#beats === null ? nothing : html`<bio-beat-review .source=${this.#beats}></bio-beat-review>`;
    if (this.#channels.size === 0) return html`<bio-live-trace class="ecg" channel="ecg" gain=${gain} speed=${speed}></bio-live-trace>`;
    const below = repeat(
      rows,
      ({ id }) => id,
      (channel, i) => html`${trace(channel)} ${i === 0 && leads === null ? review : nothing}`,
    );
    if (leads === null) return html`${below}`;
    const rhythm = leads.find(({ code }) => code === RHYTHM)!;
    return html`<div class="leads">${repeat(leads, ({ id }) => id, trace)}</div>
      <div class="rhythm">${trace(rhythm)} ${review}</div>
      ${below}`;
  }

  /** Does the device send, as far as is known, what the value is made from? */
  #hasSignalOf(value: LiveValue): boolean {
    return this.#channels.size === 0 || isMadeOf(value, [...this.#channels.values()]);
  }

  #tile(tile: LiveValue, nowMs: number): TemplateResult {
    const value = this.#latest.of(tile.feature);
    const ageMs = value === undefined ? Infinity : nowMs - value.atMs;
    // Whatever the reason, a value without a signal is out of date.
    const old = ageMs > tile.staleMs || this.#state !== 'live';
    const flag = this.#signals.flagOf(tile, value?.qmask ?? 2);
    const usable = value !== undefined && flag < 2 && Number.isFinite(value.value);
    const isMarked = !old || (flag === 2 && this.#state === 'live');
    return html`<article class="tile ${old ? 'old' : ''}" data-feature=${tile.feature}>
      <h2>${tile.label}</h2>
      <p class="number">
        <output>${usable ? liveText(tile, value.value) : '--'}</output>
        <span class="unit">${tile.title}</span>
      </p>
      <p class="foot">
        ${
          value === undefined
            ? html`<span class="muted"
                >${this.#hasSignalOf(tile) ? t('shown when it is computed next') : t('no signal for it so far')}</span
              >`
            : isMarked
              ? qualityMark(flag, this.#locale)
              : html`<span class="muted">${t('out of date')}</span>`
        }
        ${old && value !== undefined ? html`<span class="muted">${formatAge(this.#locale, Date.now() - ageMs, Date.now())}</span>` : nothing}
      </p>
    </article>`;
  }
}

function choice<Value extends number>(
  label: string,
  values: readonly Value[],
  chosen: Value,
  unit: string,
  choose: (value: Value) => void,
): TemplateResult {
  return html`<label>
    ${label}
    <select @change=${(event: Event) => choose(values[(event.target as HTMLSelectElement).selectedIndex]!)}>
      ${values.map((value) => html`<option value=${value} ?selected=${value === chosen}>${formatNumber(locale, value)} ${unit}</option>`)}
    </select>
  </label>`;
}
