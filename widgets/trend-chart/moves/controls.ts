/** The row of controls below a chart: everything that a gesture can do, and what none can. */
import type { TemplateResult } from 'lit-html';
import { addDays, atWallTime, wallTime } from '../../shared/days.ts';
import { formatNumber, formatTime } from '../../shared/format.ts';
import { zonedTime } from '../../shared/zoned-time.ts';
import { byUnit } from '../by-unit.ts';
import type { ChartHost, Shown } from '../moves-host.ts';
import type { View } from '../plot.ts';
import { csvOf, fileName, pngOf, save, svgOf } from './download.ts';
import { daysEndingWith, newestStretch } from './newest.ts';
import { datesOf, NIGHTS_MAX, readNights } from './nights.ts';
import type { Night } from './nights.ts';
import { stepped, zoomed } from './view.ts';
import type { Say } from './words.ts';

export const controlsCss = `
.controls { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: end; margin-block: 6px; font-size: .875rem; }
.controls > * { display: flex; flex-wrap: wrap; gap: 6px; align-items: end; }
.controls form { margin: 0; }
.controls button { min-block-size: 36px; padding: 4px 10px; font-size: .875rem; }
.controls label { display: grid; gap: 2px; color: var(--_muted); }
.controls input, .controls select { min-block-size: 36px; padding: 4px 8px; color: var(--_ink); inline-size: auto; }
.controls [aria-expanded=true] { border-color: var(--_accent); color: var(--_accent); }
.flip { display: inline-block; }
:dir(rtl) .flip { transform: scaleX(-1); }
.nights { overflow-x: auto; margin-block: 8px; }
.nights td { unicode-bidi: plaintext; white-space: nowrap; }
@media print { .controls, .hint { display: none; } }
`;

const DAY_MS = 864e5;

/** What a chart can be compared with without more, and its words. */
const comparisons = new Map<string, Parameters<Say>[0]>([
  ['', 'compareNothing'],
  ['previous', 'comparePrevious'],
  ['1d', 'compareDay'],
  ['7d', 'compareWeek'],
]);

type Search = 'idle' | 'searching' | 'newestNone' | 'newestFailed';

export class Controls {
  readonly #host: ChartHost;
  readonly #say: Say;
  readonly #point: () => void;
  /** What the fields of dates showed when something was typed into them that is not shown yet. */
  #typed: Shown | null = null;
  /** Newest data: not asked for, being looked for, or why the chart is not there. */
  #search: Search = 'idle';
  /** Rest and nights: of which days, and what is known of them; null: closed. */
  #nights: { of: string; found: readonly Night[] | 'loading' | 'failed' } | null = null;

  constructor(host: ChartHost, say: Say, point: () => void) {
    this.#host = host;
    this.#say = say;
    this.#point = point;
    host.element.addEventListener('bio:range', () => (this.#typed = null)); // what is shown is another range
  }

  view(): TemplateResult {
    const { element, kit } = this.#host;
    const { html, nothing } = kit;
    const data = this.#host.data();
    const point = element.hasAttribute('points')
      ? html`<button type="button" part="button" ?disabled=${this.#host.cursor() === null} @click=${this.#point}>
          ${this.#say('openRecording')}
        </button>`
      : nothing;
    if (!element.hasAttribute('tools') || data === null) return html`<div class="controls">${point}</div>`;
    return html`<div class="controls" part="tools" role="group" aria-label=${this.#say('controls')}>
        ${this.#steps(data)} ${this.#days(data)} ${this.#comparison()}
        <div>
          ${(['csv', 'png', 'svg'] as const).map(
            (kind) =>
              html`<button
                type="button"
                part="button"
                ?disabled=${data.empty || (kind !== 'csv' && this.#host.asTable())}
                @click=${() => void this.#download(kind)}
              >
                <span class="vh">${this.#say('download')} </span>${kind.toUpperCase()}
              </button>`,
          )}
          <button
            type="button"
            part="button"
            aria-expanded=${this.#nights === null ? 'false' : 'true'}
            @click=${() => this.#toggleNights()}
          >
            ${this.#say('nights')}
          </button>
          ${point}
        </div>
      </div>
      <p class="muted hint">${this.#say('keys')}</p>
      ${this.#nightsTable(data)}`;
  }

  /** Of a range without data: to where there are some. */
  newest(): TemplateResult {
    const { html } = this.#host.kit;
    const search = this.#search;
    return html`<button type="button" part="button" ?disabled=${search === 'searching'} @click=${() => void this.#toNewest()}>
        ${this.#say('newest')}
      </button>
      ${search === 'newestNone' || search === 'newestFailed' ? this.#say(search) : ''}`;
  }

  async #toNewest(): Promise<void> {
    const [data, session] = [this.#host.data(), this.#host.session()];
    if (data === null || session === null) return;
    const state = (search: Search): void => {
      this.#search = search;
      this.#host.redraw();
    };
    state('searching');
    try {
      const { queryChart } = this.#host.kit;
      const found = await newestStretch(
        (request) => queryChart(session, request),
        data.series.map(({ key }) => key),
        data.toMs - data.fromMs,
      );
      if (found === null) return state('newestNone');
      state('idle');
      // The button goes; the keyboard stays in the chart.
      this.#host.root.querySelector<HTMLElement>('.stack')?.focus();
      this.#host.show(data.daily ? daysEndingWith(data, found.toMs, this.#host.timeZone()) : found);
    } catch {
      state('newestFailed');
    }
  }

  #steps(data: Shown): TemplateResult {
    const { html } = this.#host.kit;
    const nowMs = Date.now();
    const later = stepped(data, 1, this.#host.timeZone());
    const middle = (data.fromMs + data.toMs) / 2;
    const show = (view: View) => () => this.#host.show(view);
    const live = { range: this.#host.element.getAttribute('range') ?? '24h' };
    return html`<div>
      <button type="button" part="button" @click=${show(stepped(data, -1, this.#host.timeZone()))}>
        <span class="flip" aria-hidden="true">‹</span> ${this.#say('earlier')}
      </button>
      <button type="button" part="button" ?disabled=${data.live || later.fromMs >= nowMs} @click=${show(later)}>
        ${this.#say('later')} <span class="flip" aria-hidden="true">›</span>
      </button>
      <button type="button" part="button" ?disabled=${data.live} @click=${() => this.#host.show(live)}>${this.#say('now')}</button>
      <button type="button" part="button" aria-label=${this.#say('zoomIn')} @click=${show(zoomed(data, 0.5, middle))}>+</button>
      <button type="button" part="button" aria-label=${this.#say('zoomOut')} @click=${show(zoomed(data, 2, middle))}>−</button>
      <button type="button" part="button" ?disabled=${this.#host.depth() === 0} @click=${() => this.#host.back()}>
        ${this.#say('back')}
      </button>
    </div>`;
  }

  /** Whole days, from the first to the last. What is being typed is not set anew by an answer that comes meanwhile. */
  #days(data: Shown): TemplateResult {
    data = this.#typed ?? data;
    const { html } = this.#host.kit;
    const zone = this.#host.timeZone();
    const field = (word: 'from' | 'to', ms: number): TemplateResult =>
      html`<label
        >${this.#say(word)}<input type="date" required max="2199-12-30" .value=${new Date(wallTime(ms, zone)).toISOString().slice(0, 10)}
      /></label>`;
    const submit = (event: SubmitEvent): void => {
      event.preventDefault();
      const inputs = [...(event.target as HTMLFormElement).querySelectorAll('input')];
      const dates = inputs.map((input) => input.value).sort();
      // What was typed the wrong way round reads as it is drawn.
      inputs.forEach((input, i) => (input.value = dates[i]!));
      const [first, last] = dates.map((text) => atWallTime(Date.parse(text), zone)) as [number, number];
      if (first <= last) this.#host.show({ fromMs: first, toMs: addDays(last, 1, zone) });
    };
    return html`<form @submit=${submit} @input=${() => (this.#typed = data)}>
      ${field('from', data.fromMs)} ${field('to', Math.min(data.live ? Date.now() : Infinity, data.toMs - 1))}
      <button part="button">${this.#say('show')}</button>
    </form>`;
  }

  #comparison(): TemplateResult {
    const { html } = this.#host.kit;
    const { element } = this.#host;
    const chosen = element.getAttribute('compare') ?? '';
    const choices = [...new Set([...comparisons.keys(), chosen])];
    const change = (event: Event): void => {
      const { value } = event.target as HTMLSelectElement;
      if (value === '') element.removeAttribute('compare');
      else element.setAttribute('compare', value);
      this.#host.fire('bio:compare', { compare: value });
    };
    return html`<label
      >${this.#say('compareWith')}
      <select @change=${change}>
        ${choices.map((value) => html`<option value=${value} ?selected=${value === chosen}>${this.nameOf(value)}</option>`)}
      </select></label
    >`;
  }

  /** What is compared with, in words. */
  nameOf(compare: string): string {
    const words = comparisons.get(compare);
    if (words !== undefined) return this.#say(words);
    return /^\d+[smhdw]$/.test(compare) ? `−${compare}` : (this.#host.element.getAttribute('compare-name') ?? this.#say('person'));
  }

  async #download(kind: 'csv' | 'png' | 'svg'): Promise<void> {
    const data = this.#host.data();
    if (data === null) return;
    const { root } = this.#host;
    const zone = this.#host.timeZone();
    const title = root.querySelector('.title')?.textContent?.trim() ?? '';
    const style = data.daily ? 'date' : data.toMs - data.fromMs < 600_000 ? 'seconds' : 'full';
    const period = [data.fromMs, data.daily ? data.toMs - 1 : data.toMs]
      .map((ms) => zonedTime(this.#host.locale(), ms, zone, style, data.fromMs, data.toMs))
      .join(' – ');
    const isMarked = !data.daily && data.series.some(({ flags, values }) => flags.some((flag, i) => flag === 1 && values[i] !== null));
    const labels = {
      title,
      period: `${zone === undefined ? period : `${period} (${zone})`}${isMarked ? ` · ${this.#say('triangles')}` : ''}`,
    };
    const name = `${fileName(title, data, zone)}.${kind}`;
    if (kind === 'csv') save(name, new Blob([csvOf(data.series, zone)], { type: 'text/csv;charset=utf-8' }));
    else if (kind === 'svg') save(name, new Blob([svgOf(this.#host, byUnit(data.series), labels)], { type: 'image/svg+xml' }));
    else {
      const picture = await pngOf(this.#host, byUnit(data.series), labels);
      if (picture !== null) save(name, picture);
    }
  }

  #toggleNights(): void {
    this.#nights = this.#nights === null ? { of: '', found: 'loading' } : null;
    this.#host.redraw();
  }

  #nightsTable(data: Shown): TemplateResult | symbol {
    const { html, nothing } = this.#host.kit;
    if (this.#nights === null) return nothing;
    const zone = this.#host.timeZone();
    const dates = datesOf({ fromMs: data.fromMs, toMs: Math.min(Date.now(), data.toMs) }, zone);
    if (this.#nights.of !== dates.join()) void this.#loadNights(dates, zone);
    const { found } = this.#nights;
    if (found === 'loading') return html`<div class="skeleton" aria-busy="true"></div>`;
    if (found === 'failed') return html`<p class="note err" role="status">${this.#say('nightsFailed')}</p>`;
    if (found.length === 0) return html`<p class="muted" role="status">${this.#say('nightsNone')}</p>`;
    const locale = this.#host.locale();
    const number = (value: number | null, unit: string): string => (value === null ? '–' : `${formatNumber(locale, value, 3)} ${unit}`);
    const share = new Intl.NumberFormat(locale, { style: 'percent' });
    const columns: readonly (readonly [Parameters<Say>[0], (night: Night) => string])[] = [
      ['day', ({ from }) => formatTime(locale, Date.parse(from), zone, 'date')],
      ['device', ({ device_id: device }) => device],
      ['restingHr', (night) => number(night.resting_hr, '/min')],
      ['nightHr', (night) => number(night.night_hr, '/min')],
      ['dayHr', (night) => number(night.day_hr, '/min')],
      ['dip', (night) => number(night.dip_percent, '%')],
      ['sdnn', (night) => number(night.sdnn_ms, 'ms')],
      ['covered', ({ coverage }) => share.format(coverage)],
    ];
    return html`<div class="nights" tabindex="0" role="region" aria-label=${this.#say('nights')}>
      ${data.toMs - data.fromMs > NIGHTS_MAX * DAY_MS + 36e5 ? html`<p class="muted">${this.#say('nightsMax', { count: NIGHTS_MAX })}</p>` : nothing}
      <table>
        <thead>
          <tr>
            ${columns.map(([key], i) => html`<th scope="col" class=${i < 2 ? '' : 'num'}>${this.#say(key)}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${found.map(
            (night) =>
              html`<tr>
                ${columns.map(([, cell], i) => html`<td class=${i < 2 ? '' : 'num'}>${cell(night)}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
  }

  async #loadNights(dates: readonly string[], zone: string | undefined): Promise<void> {
    const of = dates.join();
    this.#nights = { of, found: 'loading' };
    const session = this.#host.session();
    const found = session === null ? 'failed' : await readNights(session, dates, zone).catch(() => 'failed' as const);
    if (this.#nights?.of !== of) return;
    this.#nights = { of, found };
    this.#host.redraw();
  }
}
