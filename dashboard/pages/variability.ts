/** Variability of a window of one recording: #/recordings/<stream>/variability?at=…&minutes=5, or from=…&to=… for a stretch that was
 *  dragged over. Reached from the viewer. Every number is the service's. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import type { Answer } from '../../sdk/request.ts';
import { channelNames } from '../../src/signal.ts';
import { unitLabel } from '../../widgets/shared/format.ts';
import { clocksChange } from '../../widgets/shared/zoned-time.ts';
import { named, plural, t } from '../language.ts';
import { Page } from '../page.ts';
import { isComing } from '../report/report-data.ts';
import { badge, breakable, chips, duration, emptyState, percent, tableOf } from '../parts.ts';
import { call } from '../service.ts';
import type { Stream, Xuser } from '../service.ts';
import { clockZone, zoneOf } from '../time-zone.ts';
import { markOf, msAt, poincare, spectrum, tachogram, uses } from '../variability/plots.ts';
import type { Series, Use } from '../variability/plots.ts';

type Variability = Answer<'getVariability'>;
type Value = Series['values'][number];

const minutes = ['1', '5', '10', '30'] as const;
const USUAL = '5';
const MINUTE_MS = 60_000;
/** The shortest and the longest window that the service takes, ms. */
const [LEAST_MS, MOST_MS] = [10_000, 30 * MINUTE_MS];
/** A pointer that moves less has not moved. */
const STILL_PX = 6;
const flags = [
  ['good', t('Good')],
  ['warn', t('Suspect')],
  ['bad', t('Unusable')],
] as const;
const short: Readonly<Record<string, string>> = {
  mean_nn: 'NN',
  sdnn: 'SDNN',
  rmssd: 'RMSSD',
  pnn50: 'pNN50',
  pnn20: 'pNN20',
  sd1: 'SD1',
  sd2: 'SD2',
  sd1_sd2: 'SD1/SD2',
  tinn: 'TINN',
  vlf: 'VLF',
  lf: 'LF',
  hf: 'HF',
  lf_hf: 'LF/HF',
  lf_nu: 'LF n.u.',
  hf_nu: 'HF n.u.',
};
/** Share of a window that the intervals of a spectrum cover (nn_coverage). */
const SPECTRUM_COVERED_MIN = 0.8;
/** Shown with the spectrum. */
const spectral = ['vlf', 'lf', 'hf', 'total_power', 'lf_hf', 'lf_nu', 'hf_nu'];

const isoOf = (ms: number): string => new Date(ms).toISOString();

export class VariabilityPage extends Page {
  override readonly isWide = true;
  #stream: Stream | null = null;
  #user: Xuser | null = null;
  #zone = '';
  #found: Variability | null = null;
  #cursor = -1;
  #drag: readonly [number, number] | null = null;
  readonly #resized = (): void => this.context.redraw();
  readonly #keys = (event: KeyboardEvent): void => this.#key(event);

  protected override get zone(): string {
    return this.#zone;
  }

  override get title(): string {
    if (this.#user === null) return t('Heart rate variability');
    const name = this.#user.display_name || this.#user.external_id;
    return this.#isPulse ? t('Pulse rate variability of {name}', { name }) : t('Heart rate variability of {name}', { name });
  }

  get #id(): string {
    return this.context.argument.split('/')[0]!;
  }

  protected override get isAboutPerson(): boolean {
    return true;
  }

  protected override async isAsShown(): Promise<boolean> {
    await call('GET', '/api/v1/streams/{streamId}', { params: { streamId: this.#id } });
    return true;
  }

  protected override forget(): void {
    [this.#stream, this.#user, this.#zone, this.#found] = [null, null, '', null];
  }

  protected override async load(): Promise<void> {
    this.#stream = await call('GET', '/api/v1/streams/{streamId}', { params: { streamId: this.#id } });
    const [user, projects] = await Promise.all([
      call('GET', '/api/v1/xusers/{xuserId}', { params: { xuserId: this.#stream.subject_id } }),
      call('GET', '/api/v1/projects'),
    ]);
    this.#user = user;
    this.#zone = zoneOf(user, projects);
    await this.unlessOvertaken(this.#ask());
    // Its times are saved every 2 s, and its first beats are judged some seconds later.
    if (this.#found === null || (this.#found.series.length === 0 && isComing(this.#stream, Date.now()))) this.lookSoon();
    if (this.isLeft) return;
    removeEventListener('resize', this.#resized);
    addEventListener('resize', this.#resized);
    removeEventListener('keydown', this.#keys);
    addEventListener('keydown', this.#keys);
  }

  protected override left(): void {
    removeEventListener('resize', this.#resized);
    removeEventListener('keydown', this.#keys);
  }

  // ------------------------------------------------------------------------------------------------ the window

  get #minutes(): string {
    const asked = this.context.query.get('minutes') ?? USUAL;
    return minutes.find((one) => one === asked) ?? USUAL;
  }

  get #isDragged(): boolean {
    return this.context.query.has('from') && this.context.query.has('to');
  }

  /** Ends of the recording; of one that has only begun, nothing. */
  get #recorded(): readonly [number, number] {
    const { recorded_from: from, last_sample_at: to } = this.#stream!;
    const fromMs = Date.parse(from ?? '');
    return [fromMs, Math.max(fromMs, Date.parse(to ?? ''))];
  }

  /** What the address asks for, inside the recording where that is long enough. */
  get #window(): readonly [string, string] {
    const { query } = this.context;
    const [from, to] = [Date.parse(query.get('from') ?? ''), Date.parse(query.get('to') ?? '')];
    if (to - from >= LEAST_MS && to - from <= MOST_MS) return [query.get('from')!, query.get('to')!];
    const lengthMs = Number(this.#minutes) * MINUTE_MS;
    const [startMs, endMs] = this.#recorded;
    const asked = Date.parse(query.get('at') ?? '');
    const atMs = Number.isNaN(asked) ? startMs : asked;
    const fromMs = Math.max(startMs, Math.min(atMs - lengthMs / 2, endMs - lengthMs));
    return [isoOf(fromMs), isoOf(fromMs + lengthMs)];
  }

  async #ask(): Promise<void> {
    if (Number.isNaN(this.#recorded[0])) return;
    const [since, until] = this.#window;
    const { query } = this.context;
    const asked = call('GET', '/api/v1/streams/{streamId}/variability', {
      params: { streamId: this.#id },
      query: {
        since,
        until,
        snap: !this.#isDragged && this.#minutes === USUAL,
        corrected: query.get('corrected') === '1',
        method_code: query.get('method') ?? undefined,
      },
    });
    const found = await this.newest(asked);
    [this.#found, this.#cursor, this.#drag] = [found, -1, null];
  }

  #show(filters: Readonly<Record<string, string>>): void {
    this.keep(filters);
    void this.run(() => this.#ask());
  }

  get #ends(): readonly [number, number] {
    const { since, until } = this.#found!;
    return [Date.parse(since), Date.parse(until)];
  }

  /** The window before or after this one, as long as it. */
  #move(by: -1 | 1): void {
    const [fromMs, toMs] = this.#ends;
    const [startMs, endMs] = this.#recorded;
    const lengthMs = toMs - fromMs;
    if (by < 0 ? fromMs <= startMs : toMs >= endMs) return;
    if (this.#isDragged) this.#show({ from: isoOf(fromMs + by * lengthMs), to: isoOf(toMs + by * lengthMs) });
    else this.#show({ at: isoOf((fromMs + toMs) / 2 + by * lengthMs) });
  }

  #drop(): void {
    const [fromMs, toMs] = this.#ends;
    this.#show({ from: '', to: '', at: isoOf((fromMs + toMs) / 2) });
  }

  #choose([from, to]: readonly [number, number]): void {
    const sinceMs = this.#ends[0];
    this.#drag = null;
    if (to - from >= LEAST_MS) this.#show({ from: isoOf(sinceMs + from), to: isoOf(sinceMs + to), at: '' });
    else this.context.redraw();
  }

  // ------------------------------------------------------------------------------------------------ gestures

  #key(event: KeyboardEvent): void {
    const [target] = event.composedPath();
    const isField = target instanceof HTMLElement && target.matches('input, select, textarea');
    if (event.ctrlKey || event.metaKey || event.altKey || this.#found === null || isField || document.querySelector('dialog[open]')) return;
    const isOnPlot = target instanceof HTMLElement && target.matches('.tachogram');
    const length = (by: -1 | 1): void => {
      const i = minutes.indexOf(this.#minutes as (typeof minutes)[number]) + by;
      if (minutes[i] !== undefined && !this.#isDragged) this.#show({ minutes: minutes[i] });
    };
    const actions: Readonly<Record<string, () => void>> = {
      '<': () => this.#move(-1),
      '>': () => this.#move(1),
      '+': () => length(1),
      '-': () => length(-1),
      o: () => (location.hash = this.#recordingHere),
      ...(this.#isDragged ? { Escape: () => this.#drop() } : {}),
      ...(isOnPlot
        ? {
            ArrowLeft: () => this.#step(event.shiftKey ? -10 : -1),
            ArrowRight: () => this.#step(event.shiftKey ? 10 : 1),
            '[': () => this.#setEnd(0),
            ']': () => this.#setEnd(1),
            Enter: () => this.#choose(ordered(this.#drag ?? [0, 0])),
          }
        : {}),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  }

  /** What is shown is of pulse waves: its variability is never called that of the heart rate. */
  get #isPulse(): boolean {
    return this.#series?.signal === 'ppg';
  }

  get #series(): Series | null {
    const list = this.#found?.series ?? [];
    const channel = this.context.query.get('channel');
    return list.find((one) => one.channel === channel) ?? list.find(({ signal }) => signal === 'ecg') ?? list[0] ?? null;
  }

  #step(by: number): void {
    const last = (this.#series?.beats.at_ms.length ?? 0) - 1;
    this.#cursor = Math.max(0, Math.min(last, this.#cursor < 0 ? 0 : this.#cursor + by));
    this.context.redraw();
  }

  #setEnd(end: 0 | 1): void {
    const atMs = this.#series?.beats.at_ms[this.#cursor];
    if (atMs === undefined) return;
    const [from, to] = this.#drag ?? [0, this.#ends[1] - this.#ends[0]];
    this.#drag = end === 0 ? [atMs, to] : [from, atMs];
    this.context.redraw();
  }

  /** Drag a stretch to see it alone; click for the nearest beat. */
  #down(event: PointerEvent): void {
    if (event.button !== 0) return;
    const plot = event.currentTarget as HTMLElement;
    const box = plot.getBoundingClientRect();
    const place = { width: this.#width, lengthMs: this.#ends[1] - this.#ends[0] };
    const msOf = ({ clientX }: PointerEvent): number => msAt(((clientX - box.left) / box.width) * place.width, place);
    const from = msOf(event);
    let isMoved = false;
    plot.setPointerCapture(event.pointerId);
    const move = (moved: PointerEvent): void => {
      isMoved ||= Math.abs(moved.clientX - event.clientX) >= STILL_PX;
      if (!isMoved) return;
      this.#drag = [from, msOf(moved)];
      this.context.redraw();
    };
    const end = (): void => {
      plot.removeEventListener('pointermove', move);
      plot.removeEventListener('pointerup', up);
      plot.removeEventListener('pointercancel', cancel);
    };
    const up = (moved: PointerEvent): void => {
      end();
      if (isMoved) this.#choose(ordered([from, msOf(moved)]));
      else {
        const times = this.#series?.beats.at_ms ?? [];
        const nearest = times.reduce((best, ms, i) => (Math.abs(ms - from) < Math.abs((times[best] ?? Infinity) - from) ? i : best), -1);
        this.#cursor = nearest;
        this.context.redraw();
      }
    };
    const cancel = (): void => {
      end();
      this.#drag = null;
      this.context.redraw();
    };
    plot.addEventListener('pointermove', move);
    plot.addEventListener('pointerup', up);
    plot.addEventListener('pointercancel', cancel);
  }

  // ------------------------------------------------------------------------------------------------ what is shown

  #format(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
    return new Intl.DateTimeFormat(this.context.locale, { ...options, hourCycle: 'h23', timeZone: clockZone(this.#zone) });
  }

  #clock(ms: number, digits: 0 | 1 | 3 = 0): string {
    const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
    const zone = clocksChange(...this.#ends, clockZone(this.#zone)) ? ({ timeZoneName: 'short' } as const) : {};
    return this.#format(digits === 0 ? clock : { ...clock, ...zone, fractionalSecondDigits: digits }).format(ms);
  }

  readonly #number = (value: number, digits = 0): string =>
    new Intl.NumberFormat(this.context.locale, { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(value);

  get #width(): number {
    return document.querySelector<HTMLElement>('.hrv')?.clientWidth || 900;
  }

  get #recordingHere(): string {
    const [fromMs, toMs] = this.#ends;
    const atMs = this.#series?.beats.at_ms[this.#cursor];
    return `#/recordings/${this.#id}?at=${encodeURIComponent(isoOf(atMs === undefined ? (fromMs + toMs) / 2 : fromMs + atMs))}`;
  }

  protected override actions(): TemplateResult | typeof nothing {
    if (this.#user === null || this.#found === null) return nothing;
    return html`<div class="row">
      <a class="button" aria-keyshortcuts="o" href=${this.#recordingHere}>${t('Open in the recording')}</a>
      <a class="button" href="#/users/${this.#user.xuser_id}">${this.#user.display_name || this.#user.external_id}</a>
      <button type="button" @click=${() => globalThis.print()}>${t('Print')}</button>
    </div>`;
  }

  protected override body(): TemplateResult | typeof nothing {
    if (this.#stream === null) return nothing;
    if (this.#found === null) return emptyState(t('No beats'), t('This recording has only begun.'));
    const series = this.#series;
    return html`<div class="hrv">
      ${this.#controls()}
      ${
        series === null
          ? emptyState(t('No beats'), t('No beat was found in this window: nothing was recorded, or the signal is too bad.'))
          : html`${this.#overTime(series)}
              <div class="hrv-halves">${this.#plane(series)}${this.#bands(series)}</div>
              ${this.#values(series)}${this.#about(series)}`
      }
    </div>`;
  }

  #controls(): TemplateResult {
    const [fromMs, toMs] = this.#ends;
    const [startMs, endMs] = this.#recorded;
    const { series } = this.#found!;
    const date = this.#format({ dateStyle: 'medium' }).format(fromMs);
    const isCorrected = this.context.query.get('corrected') === '1';
    const words = minutes.map((one) => [one, plural(Number(one), '1 minute', '{count} minutes')] as const);
    const codes = this.#series?.method_codes ?? [];
    const method = this.context.query.get('method');
    const channels = channelNames(this.#stream?.channels ?? []);
    const select = (
      label: string,
      list: readonly string[],
      chosen: string,
      name: string,
      words: ReadonlyMap<string, string> = new Map(),
    ): TemplateResult =>
      html`<label class="picker"
        >${label}
        <select @change=${(event: Event) => this.#show({ [name]: (event.target as HTMLSelectElement).value })}>
          ${list.map((one) => html`<option value=${one} ?selected=${one === chosen}>${words.get(one) ?? one}</option>`)}
        </select></label
      >`;
    return html`<section class="card" aria-label=${t('Window')}>
      <p class="hrv-window">
        <time datetime=${this.#found!.since}>${date}, ${this.#clock(fromMs, 1)}</time> –
        <time datetime=${this.#found!.until}>${this.#clock(toMs, 1)}</time>
        <span class="muted">${duration(toMs - fromMs)}</span>
      </p>
      ${this.#series?.is_af_likely === true ? html`<p class="warn">${t('The rhythm looks like atrial fibrillation in {share} of the window: variability is then not that of sinus rhythm.', { share: percent(this.#series.af_share!) })}</p>` : nothing}
      <div class="row keys">
        ${chips(t('Length of the window'), words, this.#isDragged ? ('' as '1') : (this.#minutes as '1'), (chosen) => {
          const middle = isoOf((fromMs + toMs) / 2);
          this.#show({ minutes: chosen, from: '', to: '', at: middle });
        })}
        <button type="button" aria-keyshortcuts="<" ?disabled=${fromMs <= startMs} @click=${() => this.#move(-1)}>${t('Earlier')}</button>
        <button type="button" aria-keyshortcuts=">" ?disabled=${toMs >= endMs} @click=${() => this.#move(1)}>${t('Later')}</button>
        ${this.#isDragged ? html`<button type="button" aria-keyshortcuts="Escape" @click=${() => this.#drop()}>${t('Whole window again')}</button>` : nothing}
        ${
          series.length > 1
            ? select(
                t('Signal'),
                series.map(({ channel }) => channel),
                this.#series!.channel,
                'channel',
                channels,
              )
            : nothing
        }
        ${codes.length > 1 || method !== null ? select(t('Version'), [...new Set([...codes, ...(method === null ? [] : [method])])], method ?? codes[0] ?? '', 'method') : nothing}
        ${
          isCorrected || series.some(({ corrected_count: count }) => count > 0)
            ? html`<label class="check"
                ><input
                  type="checkbox"
                  .checked=${isCorrected}
                  @change=${(event: Event) => this.#show({ corrected: (event.target as HTMLInputElement).checked ? '1' : '' })}
                />
                ${t('With the beats that people corrected')}</label
              >`
            : nothing
        }
      </div>
    </section>`;
  }

  #overTime(series: Series): TemplateResult {
    const [fromMs, toMs] = this.#ends;
    const counts = new Map<Use, number>();
    for (const use of series.beats.use) counts.set(use, (counts.get(use) ?? 0) + 1);
    const said = series.beats.said.filter((one) => one !== null).length;
    const shown = {
      width: this.#width - 34,
      fromMs,
      lengthMs: toMs - fromMs,
      clock: (ms: number) => this.#clock(fromMs + ms),
      number: this.#number,
      cursor: this.#cursor,
      drag: this.#drag,
    };
    return html`<section class="card" aria-label=${t('Tachogram')}>
      <h2>${t('Tachogram')} <span class="muted">${t('intervals between beats')}</span></h2>
      <div
        class="plot tachogram"
        tabindex="0"
        role="group"
        aria-label=${t('Intervals over time')}
        aria-describedby="hrv-reading"
        @pointerdown=${(event: PointerEvent) => this.#down(event)}
      >
        ${tachogram(series, shown)}
      </div>
      <ul class="plain legend">
        ${(Object.keys(uses) as (keyof typeof uses)[])
          .filter((use) => counts.has(use))
          .map((use) => html`<li>${markOf(use)} ${uses[use].word}: ${this.#number(counts.get(use)!)}</li>`)}
        ${said === 0 ? nothing : html`<li>${markOf('said')} ${plural(said, '{count} corrected', '{count} corrected')}</li>`}
      </ul>
      <p id="hrv-reading" role="status" class="keys muted">${this.#reading(series)}</p>
    </section>`;
  }

  #reading({ beats }: Series): TemplateResult | string {
    const i = this.#cursor;
    const atMs = beats.at_ms[i];
    if (atMs === undefined)
      return t(
        'Drag over a stretch to see it alone; click for one beat. With the keyboard: arrows, square brackets for the ends, Enter; < and > for the window before and after, + and - for its length, O for the recording.',
      );
    const [ms, use, said] = [beats.interval_ms[i], beats.use[i]!, beats.said[i]];
    const word = use === 'none' ? t('no interval') : uses[use].word;
    return [
      this.#clock(this.#ends[0] + atMs, 3),
      ms === null || ms === undefined ? '' : `${this.#number(ms, 1)} ms`,
      word,
      said === null || said === undefined ? '' : t('corrected to {kind}', { kind: said === 'none' ? t('there is no beat') : said }),
    ]
      .filter((part) => part !== '')
      .join(' · ');
  }

  #valueOf(series: Series, name: string): Value | null {
    const found = series.values.find((value) => value.name === name) ?? null;
    return found === null || found.value === null || found.qmask === 2 ? null : found;
  }

  #plane(series: Series): TemplateResult {
    const [mean, sd1, sd2] = ['mean_nn', 'sd1', 'sd2'].map((name) => this.#valueOf(series, name)?.value ?? null) as [
      number | null,
      number | null,
      number | null,
    ];
    const ellipse = mean === null || sd1 === null || sd2 === null ? null : { mean, sd1, sd2 };
    return html`<section class="card" aria-label=${t('Poincaré plot')}>
      <h2>${t('Poincaré plot')}</h2>
      <div class="plot">${poincare(series, ellipse, Math.min(520, this.#half), this.#number)}</div>
      <p class="muted">
        ${plural(series.pair_count, '1 pair of {intervals} intervals that count', '{count} pairs of {intervals} intervals that count', { intervals: this.#number(series.nn_count) })}${
          ellipse === null ? nothing : ` · SD1 ${this.#number(ellipse.sd1, 1)} ms · SD2 ${this.#number(ellipse.sd2, 1)} ms`
        }
      </p>
    </section>`;
  }

  /** Of a plot that stands next to another. */
  get #half(): number {
    return this.#width < 760 ? this.#width - 34 : (this.#width - 12) / 2 - 34;
  }

  #bands(series: Series): TemplateResult {
    // Of beats whose powers are unusable it would be a picture of noise.
    const of = this.#valueOf(series, 'hf') === null ? null : series.spectrum;
    const rows = of?.bands ?? [];
    return html`<section class="card" aria-label=${t('Spectrum')}>
      <h2>${t('Spectrum')}</h2>
      ${
        of === null
          ? html`<p class="muted">${noSpectrum(series)}</p>`
          : html`<div class="plot">${spectrum(of, this.#half, this.#number)}</div>
              ${tableOf<(typeof rows)[number]>(
                [
                  { name: t('Band'), cell: ({ name }) => name.toUpperCase() },
                  { name: 'Hz', kind: 'num', cell: ({ from_hz: from, to_hz: to }) => `${this.#number(from, 3)} – ${this.#number(to, 2)}` },
                  { name: t('Peak'), kind: 'num', cell: ({ peak_hz: peak }) => (peak === null ? '–' : `${this.#number(peak, 3)} Hz`) },
                  { name: t('Power'), kind: 'num', cell: ({ name }) => this.#shown(series.values.find((value) => value.name === name)) },
                ],
                rows,
                () => false,
                true,
              )}`
      }
    </section>`;
  }

  /** A number from unusable beats is not shown. */
  #shown(value: Value | undefined): string {
    if (value === undefined || value.value === null || value.qmask === 2) return '–';
    if (value.name.startsWith('pnn')) return `${this.#number(100 * value.value, 1)} %`;
    const digits = value.unit === '1' ? 2 : value.unit === 'ms2' ? (value.value < 10 ? 2 : 0) : 1;
    return `${this.#number(value.value, digits)} ${unitLabel(value.unit)}`.trim();
  }

  #values(series: Series): TemplateResult {
    const mean = series.values.find(({ name }) => name === 'mean_nn');
    const table = (rows: readonly Value[]): TemplateResult =>
      tableOf<Value>(
        [
          {
            name: t('Value'),
            cell: ({ name, title }) =>
              html`${short[name] === undefined ? nothing : html`<b>${short[name]}</b> `}<span class="muted">${named(title)}</span>`,
          },
          { name: t('Number'), kind: 'num', cell: (value) => this.#shown(value) },
          {
            name: t('Quality'),
            cell: ({ qmask }) =>
              qmask === null ? html`<span class="muted">${t('too few intervals')}</span>` : badge(...flags[qmask as 0]),
          },
          {
            name: t('Method and version'),
            cell: ({ method_code: code }) =>
              code === null
                ? html`<span class="muted">${t('computed for this window')}</span>`
                : html`<code>${breakable(code.replace('derived:', ''))}</code>`,
          },
        ],
        rows,
        () => false,
        true,
      );
    const rate = mean === undefined || mean.value === null || mean.qmask === 2 ? null : 60_000 / mean.value;
    return html`<section class="card" aria-label=${t('Values')}>
      <div class="card-head">
        <h2>${t('Values')}</h2>
        ${rate === null ? nothing : html`<span>${this.#isPulse ? t('Pulse rate of these intervals') : t('Heart rate of these intervals')}: <b>${`${this.#number(rate, 1)} /min`}</b></span>`}
      </div>
      <div class="hrv-halves">
        ${table(series.values.filter(({ name }) => !spectral.includes(name)))}${table(spectral.flatMap((one) => series.values.filter(({ name }) => name === one)))}
      </div>
    </section>`;
  }

  /** Method, version, and what was left out. */
  #about(series: Series): TemplateResult {
    const { coverage, nn_coverage: counted, af_share: af, interval_count: all, nn_count: nn, spectrum: of, method_code: method } = series;
    const [fromMs, toMs] = this.#ends;
    const isStored = series.values.some(({ method_code: code }) => code !== null);
    const count = (use: Use): number => series.beats.use.filter((one) => one === use).length;
    const out = (['ectopic', 'rejected', 'missed'] as const)
      .filter((use) => count(use) > 0)
      .map((use) => `${uses[use].word}: ${this.#number(count(use))}`)
      .join('; ');
    return html`<section class="card hrv-note" aria-label=${t('How these values are made')}>
      <h2>${t('How these values are made')}</h2>
      <ul>
        <li>
          ${t('Beats of {channel} by {method}. Intervals cover {share} of the window, those that count {counted}.', { channel: channelNames(this.#stream?.channels ?? []).get(series.channel) ?? series.channel, method: html`<code>${method}</code>`, share: percent(coverage), counted: percent(counted) })}
        </li>
        <li>
          ${t('{count} of {all} intervals count', { count: this.#number(nn), all: this.#number(all) })}${out === '' ? '.' : html`; ${out}.`}
          ${t('What is left out is never interpolated; no difference reaches across it or across a gap. Only the spectrum bridges it, by a straight line of at most 10 s.')}
        </li>
        <li>
          ${
            isStored
              ? t(
                  'Values with a method are those that the service has stored for these five minutes; the others are computed from the same beats by the same code.',
                )
              : t('The service has no stored values of exactly this window: these are computed from its stored beats by the same code.')
          }
        </li>
        ${
          of === null
            ? nothing
            : html`<li>
                ${
                  of.segment_count > 1
                    ? t(
                        'Spectrum: mean of {count} windows of five minutes, half over each other; spline at 4 Hz, line taken off, Hann window.',
                        { count: of.segment_count },
                      )
                    : t('Spectrum: spline at 4 Hz, line taken off, Hann window.')
                }
                ${toMs - fromMs < 5 * MINUTE_MS ? t('A window below 5 minutes is too short for VLF, below 2 for LF: these are at best suspect.') : nothing}
              </li>`
        }
        ${
          af === null
            ? nothing
            : html`<li>
                ${t('In this window, {share} of the good values of the index of atrial fibrillation are 0.5 or more; where none is good, of the suspect ones. From 5 % and three values on, the rhythm is said to look like it.', { share: percent(af) })}
              </li>`
        }
        ${series.signal === 'ppg' ? html`<li>${t('Of pulse waves (PRV): not the same as variability of ECG; some of the differences arise on the pulse’s way to the sensor.')}</li>` : nothing}
        ${this.#found!.corrected && series.corrected_count > 0 ? html`<li>${t('With beats as people corrected them; stored values stay as computed.')}</li>` : nothing}
      </ul>
    </section>`;
  }
}

/** Why there is none: what is covered may not count. */
function noSpectrum({ spectrum: computed, nn_coverage: counted }: Series): string {
  if (computed !== null) return t('The beats are too bad for a spectrum.');
  return counted < SPECTRUM_COVERED_MIN
    ? t('Intervals that count cover {share} of the window; a spectrum needs {least}.', {
        share: percent(counted),
        least: percent(SPECTRUM_COVERED_MIN),
      })
    : t('Intervals that count are more than 10 s apart, or too few for a spectrum.');
}

const ordered = ([a, b]: readonly [number, number]): readonly [number, number] => [Math.min(a, b), Math.max(a, b)];
