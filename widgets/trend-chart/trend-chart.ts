/** Trends of several biosignals, one plot for each unit on a common time axis, and live traces on request.
 *
 *  A pointer, or the arrow keys when the chart has the focus, reads values; the table holds the same numbers.
 *
 *  @tag bio-trend-chart
 *  @attr {string} biosignals - comma-separated: abbreviations, LOINC codes, ids or names of features. Default `HR`
 *  @attr {string} range - how far back: `15m`, `24h`, `7d` or an ISO 8601 duration. Default `24h`
 *  @attr {string} resolution - bucket width; default: chosen by the service
 *  @attr {string} reference - reference ranges of the page's choice: `HR:60-100 RMSSD:20-`
 *  @attr {string} live - comma-separated channels or kinds to show as live traces above: `ecg,ppg`
 *  @attr {string} heading
 *  @attr {string} refresh - how often to fetch, e.g. `30s`; `0` never. Default `60s`
 *  @attr {string} stale-after - age at which the newest value no longer stands for now. Default `10m`
 *  @attr {boolean} readonly - no choice of range
 *  @attr {string} units - metric or us
 *  @attr {string} lang
 *  @attr {string} tz
 *  @attr {string} theme
 *  @prop {string} state - loading, ready, empty, stale, offline, error or unauthorized (read only)
 *  @csspart card
 *  @csspart head
 *  @csspart title
 *  @csspart plot
 *  @csspart table
 *  @csspart value
 *  @csspart quality
 *  @csspart note
 *  @csspart button
 *  @cssprop --bio-plot-height - height of one plot; default 180px
 *  @cssprop --bio-color-trace
 *  @fires bio:state - {state} whenever the state changes
 *  @fires bio:range - {range} when a person chose another range */
import type UPlot from 'uplot';
import { define, html, nothing } from '../shared/base.ts';
import type { TemplateResult } from '../shared/base.ts';
import { DataWidget } from '../shared/data-widget.ts';
import { catalog, findBiosignal, latestObservation, newestOf, queryChart } from '../shared/data.ts';
import type { Series } from '../shared/data.ts';
import { convertUnit, formatTime, formatValue, unitLabel } from '../shared/format.ts';
import { qualityMark } from '../shared/quality.ts';
import { parseReference } from '../shared/reference-range.ts';
import type { Session } from '../shared/session.ts';
import { tokenColor } from '../shared/theme.ts';
import '../live-trace/live-trace.ts';
import { createPlot, plotCss, WHOLE } from './plot.ts';

const css = `${plotCss}
.legend { display: flex; flex-wrap: wrap; gap: 4px 20px; margin-block-end: -6px; }
.legend li { overflow-wrap: anywhere; display: flex; flex-wrap: wrap; gap: 2px 8px; align-items: baseline; font-size: .875rem; }
.legend .line { inline-size: 26px; block-size: 8px; align-self: center; }
.legend b { font-size: 1.125rem; }
.c0 { color: var(--_trace); } .c1 { color: var(--_c1); } .c2 { color: var(--_c2); } .c3 { color: var(--_c3); }
:host { --_c1: light-dark(#a3359b, #e58be0); --_c2: light-dark(#0a5fb4, #7cc4ff); --_c3: light-dark(#8a4b08, #ffb86b); }
@media (forced-colors: active) { :host { --_c1: CanvasText; --_c2: CanvasText; --_c3: CanvasText; } }
.plot { inline-size: 100%; min-inline-size: 0; overflow: hidden; block-size: var(--bio-plot-height, 180px); border-radius: 6px; }
.readout { min-block-size: 1.5em; font-size: .875rem; display: flex; flex-wrap: wrap; gap: 2px 16px; }
.tools { justify-content: space-between; margin-block-start: 8px; }
.ranges button { padding: 4px 10px; min-block-size: 32px; font-size: .875rem; }
.live { display: grid; gap: 10px; margin-block-end: 12px; }
bio-live-trace { --bio-trace-height: 140px; }
`;

const ranges = ['1h', '24h', '7d', '30d'] as const;
const MAX_POINTS = 400;
/** Rows of the table: the newest ones; the chart shows all. */
const TABLE_ROWS = 200;

type Shown = Readonly<{ series: readonly Series[]; fromMs: number; toMs: number }>;

export class BioTrendChart extends DataWidget<Shown> {
  static override styles = css;
  static observedAttributes = [
    'biosignals',
    'range',
    'resolution',
    'reference',
    'live',
    'heading',
    'refresh',
    'stale-after',
    'readonly',
    'units',
    'lang',
    'tz',
    'theme',
  ];
  #plots: UPlot[] = [];
  #plotted: unknown[] = [];
  #asTable = false;
  #cursor: number | null = null;
  #chosen: string | null = null;
  #observer: ResizeObserver | null = null;
  #width = 0;

  get #range(): string {
    return this.#chosen ?? this.getAttribute('range') ?? '24h';
  }

  protected override heading(): string {
    return (
      this.getAttribute('heading') ??
      this.data?.series.map((item) => item.name).join(' · ') ??
      this.getAttribute('biosignals')?.replaceAll(',', ' · ') ??
      'HR'
    );
  }

  override connectedCallback(): void {
    super.connectedCallback();
    const repaint = (): void => this.#repaint();
    const queries = ['(prefers-color-scheme: dark)', '(forced-colors: active)', 'print'].map((query) => matchMedia(query));
    for (const query of queries) query.addEventListener('change', repaint);
    this.#observer = new ResizeObserver(() => this.requestUpdate());
    this.#observer.observe(this);
    this.during(() => {
      for (const query of queries) query.removeEventListener('change', repaint);
      this.#observer?.disconnect();
      this.#destroyPlots();
    });
  }

  protected override async load(session: Session, signal: AbortSignal): Promise<Shown | null> {
    const wanted = (this.getAttribute('biosignals') ?? 'HR')
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
    const rangeMs = this.duration('range', this.#range, this.#range);
    const request = { series: wanted, rangeMs, maxPoints: MAX_POINTS, resolution: this.getAttribute('resolution'), tz: this.timeZone };
    const toMs = Date.now();
    const list = await catalog(session);
    const [found, ...newest] = await Promise.all([
      queryChart(session, request, signal),
      ...wanted.map(async (item) => {
        const biosignal = findBiosignal(list, item);
        return biosignal === undefined ? null : latestObservation(session, biosignal, rangeMs, this.timeZone, signal);
      }),
    ]);
    const series = found.map((item, i) => {
      const shown = { ...item, name: this.named(item.name), newest: newestOf(item, newest[i] ?? null) };
      return convertUnit(shown, this.setting('units'));
    });
    return series.some((item) => item.newest !== null || item.range[1] !== null) ? { series, fromMs: toMs - rangeMs, toMs } : null;
  }

  protected override staleSince({ series, toMs }: Shown): number | null {
    const [newest] = series.flatMap((item) => item.newest ?? []).sort((a, b) => b.timeMs - a.timeMs);
    const limitMs = this.duration('stale-after', '10m');
    return newest && toMs - newest.timeMs - newest.lengthMs > limitMs ? newest.timeMs : null;
  }

  protected override placeholder() {
    return html`<div class="skeleton plot"></div>`;
  }

  protected override headEnd() {
    if (this.hasAttribute('readonly')) return nothing;
    return html`<div class="row ranges" role="group" aria-label=${this.text('period')}>
      ${ranges.map(
        (range) =>
          html`<button
            type="button"
            part="button"
            aria-pressed=${this.#range === range ? 'true' : 'false'}
            @click=${() => this.#choose(range)}
          >
            ${rangeLabel(range, this.locale)}
          </button>`,
      )}
    </div>`;
  }

  #choose(range: string): void {
    this.#chosen = range;
    this.emit('bio:range', { range });
    this.reload();
    this.requestUpdate();
  }

  protected override template() {
    const channels = (this.getAttribute('live') ?? '')
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
    if (channels.length === 0) return super.template();
    return html`<div class="live">
        ${channels.map((channel) => html`<bio-live-trace channel=${channel} lang=${this.locale}></bio-live-trace>`)}
      </div>
      ${super.template()}`;
  }

  protected override content(data: Shown) {
    const { locale } = this;
    const groups = byUnit(data.series);
    return html`${
        this.#asTable
          ? this.#table(data)
          : html`<div
              class="stack"
              tabindex="0"
              role="img"
              aria-label=${this.text('chartLabel', { name: this.heading(), range: rangeLabel(this.#range, locale), summary: this.#summaryText(data) })}
              @keydown=${(event: KeyboardEvent) => this.#onKey(event, data)}
            >
              ${groups.map(
                (group, i) =>
                  html`${this.#legend(group)}
                    <div class="plot" part="plot" data-group=${i}></div>`,
              )}
            </div>`
      }
      ${this.#asTable ? nothing : html`<p class="readout" aria-live="polite">${this.#readout(data)}</p>`}
      <div class="row tools">
        <span class="muted">${formatTime(locale, data.fromMs, this.timeZone)} – ${formatTime(locale, data.toMs, this.timeZone)}</span>
        <button
          type="button"
          class="quiet"
          part="button"
          @click=${() => {
            this.#asTable = !this.#asTable;
            this.#destroyPlots();
            this.requestUpdate();
          }}
        >
          ${this.text(this.#asTable ? 'showChart' : 'showTable')}
        </button>
      </div>`;
  }

  /** Above each plot: which line is which, its unit, and its newest value. */
  #legend(group: readonly Series[]): TemplateResult {
    return html`<ul class="legend">
      ${group.map((item, place) => {
        const { newest } = item;
        return html`<li>
          <svg class="line c${place % 4}" viewBox="0 0 26 8" aria-hidden="true">
            <path d="M0 4H26" stroke="currentColor" stroke-width="2.5" stroke-dasharray=${['none', '8 4', '2 4', '12 4 2 4'][place % 4]!} />
          </svg>
          <span>${item.name}</span>
          ${
            !newest
              ? html`<span class="muted">${this.text('noValue')}</span>`
              : html`<span
                    ><b part="value">${formatValue(this.locale, newest.value, item.unit)}</b
                    ><span class="unit">${unitLabel(item.unit)}</span></span
                  >
                  ${qualityMark(newest.flag, this.locale)}`
          }
        </li>`;
      })}
    </ul>`;
  }

  #summaryText(data: Shown): string {
    return data.series
      .map((item) => {
        const [min, , max] = item.range;
        if (!item.newest && min === null) return `${item.name}: ${this.text('noValue')}`;
        const show = (value: number | null = null): string => `${formatValue(this.locale, value, item.unit)} ${unitLabel(item.unit)}`;
        const summary = this.text('summary', { latest: show(item.newest?.value), min: show(min), max: show(max) });
        return `${item.name}: ${summary}, ${this.text('goodShare', { percent: this.#percent(item.goodShare) })}`;
      })
      .join('. ');
  }

  #readout(data: Shown) {
    const row = this.#cursor;
    const timeMs = row === null ? undefined : data.series[0]?.timesMs[row];
    if (row === null || timeMs === undefined) return html`<span class="muted">${this.text('readHint')}</span>`;
    return html`<span>${this.#time(data, timeMs)}</span> ${data.series.map((item) => {
        return html`<span
          >${item.name}: <b>${this.#value(item, row) ?? this.text('noValue')}</b> ${unitLabel(item.unit)} ${this.#mark(item, row)}</span
        >`;
      })}`;
  }

  /** With seconds where steps are shorter than a minute. */
  #time(data: Shown, timeMs: number): string {
    return formatTime(this.locale, timeMs, this.timeZone, data.series[0]!.stepMs < 60_000 ? 'seconds' : 'full');
  }

  /** The value of a bucket, and its extremes where they differ; null: none that may be shown. */
  #value({ values, lows, highs, unit }: Series, row: number): string | null {
    const value = values[row] ?? null;
    const [text, low, high] = [value, lows[row], highs[row]].map((number = null) => formatValue(this.locale, number, unit));
    return value === null ? null : `${text}${low === high ? '' : ` (${low} – ${high})`}`;
  }

  /** Nothing where nothing was measured; with the share of good values where some of what is due is missing. */
  #mark(item: Series, row: number) {
    const flag = item.flags[row] ?? 0;
    if (item.values[row] === null && flag === 0) return nothing;
    const share = item.shares[row]!;
    return html`${qualityMark(flag, this.locale)}${share < WHOLE ? ` ${this.#percent(share)}` : nothing}`;
  }

  #percent(share: number): string {
    return new Intl.NumberFormat(this.locale, { style: 'percent' }).format(share);
  }

  #onKey(event: KeyboardEvent, data: Shown): void {
    const count = data.series[0]?.timesMs.length ?? 0;
    const at = this.#cursor ?? count - 1;
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: count - 1, PageUp: at - 20, PageDown: at + 20 }[event.key];
    if (next === undefined || count === 0) return;
    event.preventDefault();
    this.#cursor = Math.min(count - 1, Math.max(0, next));
    const timeMs = data.series[0]!.timesMs[this.#cursor]!;
    for (const plot of this.#plots) plot.setCursor({ left: plot.valToPos(timeMs / 1000, 'x'), top: 10 }, false);
    this.requestUpdate();
  }

  #table(data: Shown) {
    const first = data.series[0]!;
    const rows = first.timesMs.map((timeMs, i) => ({ timeMs, i })).slice(-TABLE_ROWS);
    rows.reverse();
    return html`<div class="scroll" part="table" tabindex="0" role="region" aria-label=${this.heading()}>
      <table>
        <thead>
          <tr>
            <th scope="col">${this.text('time')}</th>
            ${data.series.map(
              (item) =>
                html`<th scope="col" class="num">${item.name} ${unitLabel(item.unit) === '' ? nothing : `(${unitLabel(item.unit)})`}</th>
                  <th scope="col">${this.text('quality')}</th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            ({ timeMs, i }) =>
              html`<tr>
                <td>${this.#time(data, timeMs)}</td>
                ${data.series.map((item) => {
                  return html`<td class="num">${this.#value(item, i) ?? '–'}</td>
                    <td>${this.#mark(item, i)}</td>`;
                })}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
  }

  protected override rendered(): void {
    const boxes = [...this.root.querySelectorAll<HTMLElement>('[data-group]')];
    if (this.data === null || boxes.length === 0) {
      this.#destroyPlots();
      return;
    }
    const width = boxes[0]!.clientWidth;
    const key = [this.data, this.locale, this.timeZone, this.getAttribute('reference'), ...boxes];
    if (key.length === this.#plotted.length && key.every((item, i) => item === this.#plotted[i])) {
      if (width !== this.#width && width > 0) {
        this.#width = width;
        for (const plot of this.#plots) plot.setSize({ width, height: plot.height });
      }
      return;
    }
    this.#destroyPlots();
    this.#plotted = key;
    this.#width = width;
    const colors = this.#colors();
    this.#plots = byUnit(this.data.series).map((series, i) => {
      const box = boxes[i]!;
      return createPlot(box, {
        series,
        fromMs: this.data!.fromMs,
        toMs: this.data!.toMs,
        widthPx: Math.max(50, box.clientWidth),
        heightPx: Math.max(80, box.clientHeight),
        locale: this.locale,
        timeZone: this.timeZone,
        reference: parseReference(this.getAttribute('reference'), series[0]!.key),
        colors,
        font: getComputedStyle(this).fontFamily,
        onCursor: (row) => {
          if (row === this.#cursor || this.#plotted.length === 0) return;
          this.#cursor = row;
          this.requestUpdate();
        },
      });
    });
  }

  #repaint(): void {
    this.#destroyPlots();
    this.requestUpdate();
  }

  #destroyPlots(): void {
    this.#plotted = [];
    for (const plot of this.#plots.splice(0)) plot.destroy();
  }

  protected override reset(): void {
    this.#cursor = null;
  }

  protected override changed(): void {
    this.#destroyPlots();
    super.changed();
  }

  #colors() {
    const color = (token: string): string => tokenColor(this.root, token);
    return {
      ink: color('--_ink'),
      muted: color('--_muted'),
      line: color('--_line'),
      surface: color('--_surface'),
      suspect: color('--_suspect'),
      bad: color('--_bad'),
      good: color('--_good'),
      series: ['--_trace', '--_c1', '--_c2', '--_c3'].map(color),
    };
  }
}

/** Series of one unit share a plot; different units never share an axis. */
export function byUnit(series: readonly Series[]): Series[][] {
  const groups = new Map<string, Series[]>();
  for (const item of series) {
    const group = groups.get(item.unit);
    if (group === undefined) groups.set(item.unit, [item]);
    else group.push(item);
  }
  return [...groups.values()];
}

const unitOf = { s: 'second', m: 'minute', h: 'hour', d: 'day', w: 'week' } as const;

export function rangeLabel(range: string, locale: string): string {
  const match = /^(\d+)([smhdw])$/.exec(range);
  if (match === null) return range;
  const unit = unitOf[match[2] as keyof typeof unitOf];
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'short' }).format(Number(match[1]));
}

define('bio-trend-chart', BioTrendChart);
