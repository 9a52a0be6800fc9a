/** Trends of several biosignals, one plot for each unit on a common time axis, and live traces on request.
 *
 *  A pointer, or the arrow keys when the chart has the focus, reads values; the table holds the same numbers. Dragging over a stretch shows
 *  it alone, a double click goes back; the wheel (with Ctrl, or when the chart has the focus) and two fingers zoom, Shift and one finger
 *  move. Keys: `+` `-` zoom, Shift and an arrow move, Backspace goes back. What is counted by the day (steps, sleep) has a bar for each day
 *  when the range is two days or more.
 *
 *  @tag bio-trend-chart
 *  @attr {string} biosignals - comma-separated: abbreviations, LOINC codes, ids or names of features. Default `HR`
 *  @attr {string} range - how far back: `15m`, `24h`, `7d` or an ISO 8601 duration. Default `24h`
 *  @attr {string} from - begin of a fixed range: a time (`2026-03-01T08:00:00Z`) or a day of the time zone (`2026-03-01`)
 *  @attr {string} to - end of the range, likewise; a day is included. Default: now
 *  @attr {string} resolution - bucket width; default: chosen by the service
 *  @attr {string} reference - reference ranges of the page's choice: `HR:60-100 RMSSD:20-`
 *  @attr {string} compare - a second line: `previous` (the period before), how much earlier (`7d`), or the id of another person, for pages
 *   that may read both
 *  @attr {string} compare-name - name of the other person
 *  @attr {boolean} tools - controls: earlier and later, days, comparison, nights, downloads
 *  @attr {boolean} points - a click on a point, or Enter, fires `bio:point`
 *  @attr {string} link - charts of the same link share their cursor
 *  @attr {string} live - comma-separated channels or kinds to show as live traces above: `ecg,ppg`
 *  @attr {string} heading
 *  @attr {string} refresh - how often to fetch, e.g. `30s`; `0` never. Default `60s`; a range that has ended is fetched once
 *  @attr {string} stale-after - age at which the newest value no longer stands for now. Default `10m`
 *  @attr {boolean} readonly - no choice of range, no zoom
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
 *  @csspart tools
 *  @csspart value
 *  @csspart quality
 *  @csspart note
 *  @csspart button
 *  @cssprop --bio-plot-height - height of one plot; default 180px
 *  @cssprop --bio-color-trace
 *  @fires bio:state - {state} whenever the state changes
 *  @fires bio:range - {range, from, to} when a person chose another range: its duration, or begin and end
 *  @fires bio:compare - {compare} when a person chose what to compare with, as in the attribute; empty: nothing
 *  @fires bio:point - {time, biosignal, value, stream_id} when a point was clicked: the recording that it comes from; null where none
 *   is known */
import type UPlot from 'uplot';
import { define, html, nothing } from '../shared/base.ts';
import { DataWidget } from '../shared/data-widget.ts';
import { biosignalOf, isCounted, isDaily, latestObservation, newestOf, queryChart } from '../shared/data.ts';
import type { Aggregate, Newest, Series } from '../shared/data.ts';
import { addDays, atWallTime, startOfDay } from '../shared/days.ts';
import { convertUnit } from '../shared/format.ts';
import { parseReference } from '../shared/reference-range.ts';
import { pageFault } from '../shared/session.ts';
import type { Session } from '../shared/session.ts';
import { fieldCss } from '../shared/field-css.ts';
import { sentenceOf } from '../shared/strings.ts';
import { tokenColor } from '../shared/theme.ts';
import { traceTextFor } from '../shared/trace-strings.ts';
import '../live-trace/live-trace.ts';
import { byUnit } from './by-unit.ts';
import { loadMoves } from './load-moves.ts';
import type { ChartHost, ChartRange, Moves, Shown } from './moves-host.ts';
import { createPlot, plotCss } from './plot.ts';
import type { View } from './plot.ts';
import { legendOf, readoutOf, summaryOf, tableOf, timeOf } from './readings.ts';
import type { Saying } from './readings.ts';

const css = `${fieldCss}${plotCss}
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
.ranges button { unicode-bidi: plaintext; padding: 4px 10px; min-block-size: 32px; font-size: .875rem; }
td:first-child { white-space: nowrap; }
.live { display: grid; gap: 10px; margin-block-end: 12px; }
bio-live-trace { --bio-trace-height: 140px; }
button[aria-pressed=true] { background: var(--_accent); color: var(--_on-accent); border-color: var(--_accent); }
@media (forced-colors: active) { button[aria-pressed=true] { forced-color-adjust: none; background: Highlight; color: HighlightText; } }
`;

const ranges = ['1h', '24h', '7d', '30d'] as const;
const MAX_POINTS = 400;
/** Ranges that a person can go back to. */
const BACK_MAX = 20;

const DAY_MS = 864e5;

export class BioTrendChart extends DataWidget<Shown> {
  static override styles = css;
  static observedAttributes = [
    'biosignals',
    'range',
    'from',
    'to',
    'resolution',
    'reference',
    'compare',
    'compare-name',
    'tools',
    'points',
    'link',
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
  #note: string | null = null;
  /** Ranges that a person chose, one from the other; the last one is shown. */
  #chosen: ChartRange[] = [];
  /** What a gesture shows until the data of it are here. */
  #preview: View | null = null;
  #moves: Moves | null = null;
  #observer: ResizeObserver | null = null;
  #width = 0;

  get #range(): ChartRange {
    const chosen = this.#chosen.at(-1);
    if (chosen !== undefined) return chosen;
    const [from, to] = [this.#given('from', 0), this.#given('to', 1)];
    const range = this.getAttribute('range') ?? '24h';
    if (from === null && to === null) return { range };
    const toMs = to ?? Date.now();
    return { fromMs: from ?? toMs - this.duration('range', '24h'), toMs };
  }

  /** A time of an attribute; a day begins, or ends, on the clocks of the page.
   *  @throws ApiError when it is none */
  #given(name: string, days: number): number | null {
    const given = this.getAttribute(name);
    if (given === null) return null;
    const ms = Date.parse(given);
    if (Number.isNaN(ms)) throw pageFault(`${name}="${given}" is not a time; write 2026-03-01 or 2026-03-01T08:00:00Z`);
    return given.length === 10 ? addDays(atWallTime(ms, this.timeZone), days, this.timeZone) : ms;
  }

  protected override heading(): string {
    return (
      this.getAttribute('heading') ??
      this.data?.series.flatMap((item) => (item.compared ? [] : item.name)).join(' · ') ??
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
      this.reset();
    });
    // The bundle of what moves is fetched when someone comes near the chart.
    for (const event of ['pointerenter', 'focusin']) this.addEventListener(event, this.#wake, { passive: true });
  }

  get #say(): Saying {
    return { locale: this.locale, timeZone: this.timeZone, text: (key, values) => traceTextFor(this.locale, key, values) };
  }

  #wake = (): void => {
    if (!this.hasAttribute('readonly')) void this.#move().catch(() => undefined);
  };

  async #move(): Promise<Moves> {
    const { startMoves } = await loadMoves();
    if (!this.isConnected) throw new DOMException('gone', 'AbortError');
    return (this.#moves ??= startMoves(this.#host));
  }

  readonly #host: ChartHost = {
    element: this,
    root: this.root,
    data: () => this.data,
    plots: () => this.#plots,
    asTable: () => this.#asTable,
    range: () => this.#range,
    view: () => this.#preview ?? this.data,
    session: () => this.link?.session ?? null,
    locale: () => this.locale,
    timeZone: () => this.timeZone,
    cursor: () => this.#cursor,
    read: (row) => this.#read(row),
    note: (text) => {
      this.#note = text;
      this.requestUpdate();
    },
    preview: (view) => {
      this.#preview = view;
      for (const plot of this.#plots) plot.setScale('x', { min: view.fromMs / 1000, max: view.toMs / 1000 });
    },
    show: (range) => this.#choose(range),
    back: () => {
      if (this.#chosen.length > 0) this.#choose(null);
    },
    depth: () => this.#chosen.length,
    redraw: () => this.requestUpdate(),
    fire: (name, detail) => this.emit(name, detail),
    kit: { html, nothing, queryChart, sentenceOf },
  };

  protected override async load(session: Session, signal: AbortSignal): Promise<Shown> {
    const wanted = (this.getAttribute('biosignals') ?? 'HR')
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
    const biosignals = await Promise.all(wanted.map((item) => biosignalOf(session, item)));
    const range = this.#range;
    const live = 'range' in range;
    let toMs = live ? Date.now() : range.toMs;
    let fromMs = live ? toMs - this.duration('range', '', range.range) : range.fromMs;
    if (fromMs >= toMs) throw pageFault('from is not before to');
    const daily = toMs - fromMs >= 2 * DAY_MS - 36e5 && biosignals.every((item) => item !== undefined && isDaily(item));
    if (daily) {
      fromMs = startOfDay(fromMs, this.timeZone);
      toMs = addDays(startOfDay(toMs - 1, this.timeZone), 1, this.timeZone);
    }
    const request = {
      series: wanted,
      rangeMs: toMs - fromMs,
      toMs,
      maxPoints: MAX_POINTS,
      resolution: this.getAttribute('resolution') ?? (daily ? '1d' : null),
      tz: this.timeZone,
      ...(daily && { agg: 'sum' as Aggregate }),
      ...(this.hasAttribute('compare') && { fill: 'null' as const }),
    };
    const moves = ['tools', 'compare', 'link'].some((name) => this.hasAttribute(name)) ? await this.#move() : null;
    const [answer, others, ...newest] = await Promise.all([
      queryChart(session, request, signal),
      moves?.compared(session, request, signal) ?? null,
      ...biosignals.map(async (biosignal) =>
        !biosignal || daily || (!live && isCounted(biosignal))
          ? null
          : latestObservation(session, biosignal, toMs - fromMs, this.timeZone, signal, toMs),
      ),
    ]);
    const found = answer.map((item) => ({ ...item, name: this.named(item.name) }));
    const series = [...found, ...(others?.(found) ?? [])].map((item, i) =>
      convertUnit(
        {
          ...item,
          newest:
            item.compared && live && !daily && isCounted(item)
              ? sumSince(item, startOfDay(toMs, this.timeZone))
              : newestOf(item, newest[i] ?? null),
        },
        this.setting('units'),
      ),
    );
    this.#preview = null;
    const empty = series.every((item) => item.newest === null && item.range[1] === null);
    // From a period without data one can get away.
    if (empty && !this.hasAttribute('readonly')) await this.#move();
    return { series, fromMs, toMs, live, daily, empty };
  }

  protected override isEmpty({ empty }: Shown): boolean {
    return empty;
  }

  protected override emptyText() {
    return html`${super.emptyText()} ${this.#moves?.newest() ?? nothing}`;
  }

  protected override refreshMs(): number {
    return this.data?.live === false && this.data.toMs < Date.now() ? 0 : super.refreshMs();
  }

  protected override staleSince({ series, toMs, live, daily }: Shown): number | null {
    if (!live || daily) return null;
    const [newest] = series.flatMap((item) => (item.compared ? [] : (item.newest ?? []))).sort((a, b) => b.timeMs - a.timeMs);
    const limitMs = this.duration('stale-after', '10m');
    return newest && toMs - newest.timeMs - newest.lengthMs > limitMs ? newest.timeMs : null;
  }

  protected override placeholder() {
    return html`<div class="skeleton plot"></div>`;
  }

  protected override headEnd() {
    if (this.hasAttribute('readonly')) return nothing;
    const shown = this.#shownRange();
    return html`<div class="row ranges" role="group" aria-label=${this.#say.text('period')}>
      ${ranges.map(
        (range) =>
          html`<button
            type="button"
            part="button"
            aria-pressed=${'range' in shown && shown.range === range ? 'true' : 'false'}
            @click=${() => this.#choose({ range })}
          >
            ${rangeLabel(range, this.locale)}
          </button>`,
      )}
    </div>`;
  }

  /** @param range null: the one before; a duration ends now, and is the first again */
  #choose(range: ChartRange | null): void {
    if (range === null) this.#chosen.pop();
    else if ('range' in range) this.#chosen = [range];
    else this.#chosen = [...this.#chosen.slice(-BACK_MAX), range];
    this.#cursor = null;
    const now = this.#shownRange();
    this.emit(
      'bio:range',
      'range' in now
        ? { range: now.range, from: null, to: null }
        : { range: null, from: new Date(now.fromMs).toISOString(), to: new Date(now.toMs).toISOString() },
    );
    this.reload();
    this.requestUpdate();
  }

  /** The range; where the page's own is a mistake, which the card says, any. */
  #shownRange(): ChartRange {
    try {
      return this.#range;
    } catch {
      return { range: '' };
    }
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
    const asTable = this.#asTable && !data.empty;
    return html`${
        asTable
          ? tableOf(data, this.heading(), this.#say)
          : html`<div
              class="stack"
              tabindex="0"
              role="img"
              aria-label=${this.#say.text('chartLabel', { name: this.heading(), range: this.#period(data), summary: summaryOf(data, this.#say) })}
              @keydown=${(event: KeyboardEvent) => this.#onKey(event, data)}
            >
              ${plotsOf(data).map(
                (group, i) =>
                  html`${data.empty ? nothing : legendOf(group, this.#say)}
                    <div class="plot" part="plot" data-group=${i}></div>`,
              )}
            </div>`
      }
      ${asTable || data.empty ? nothing : html`<p class="readout" aria-live="polite">${this.#note ?? readoutOf(data, this.#cursor, this.#say)}</p>`}
      ${this.#moves?.tools() ?? nothing}
      <div class="row tools">
        <span class="muted">${this.#ends(data)}</span>
        <button
          type="button"
          class="quiet"
          part="button"
          ?hidden=${data.empty}
          @click=${() => {
            this.#asTable = !this.#asTable;
            this.#destroyPlots();
            this.requestUpdate();
          }}
        >
          ${this.#say.text(asTable ? 'showChart' : 'showTable')}
        </button>
      </div>`;
  }

  #ends(data: Shown): string {
    const [from, to] = [data.fromMs, data.daily ? data.toMs - 1 : data.toMs].map((ms) => timeOf(data, ms, this.#say));
    return `${from} – ${to}`;
  }

  #period(data: Shown): string {
    const range = this.#shownRange();
    return 'range' in range ? rangeLabel(range.range, this.locale) : this.#ends(data);
  }

  #onKey(event: KeyboardEvent, data: Shown): void {
    const count = data.series[0]?.timesMs.length ?? 0;
    const at = this.#cursor ?? count - 1;
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: count - 1, PageUp: at - 20, PageDown: at + 20 }[event.key];
    if (next === undefined || count === 0 || event.shiftKey) return;
    event.preventDefault();
    this.#read(Math.min(count - 1, Math.max(0, next)));
  }

  /** Reads the values of a row; null: of none. All plots show where. */
  #read(row: number | null): void {
    this.#cursor = row;
    const timeMs = this.data?.series[0]?.timesMs[row ?? -1];
    for (const plot of this.#plots) {
      const left = timeMs === undefined ? -10 : plot.valToPos(timeMs / 1000 + (this.data!.daily ? 43_200 : 0), 'x');
      plot.setCursor({ left, top: 10 }, false);
    }
    this.#moves?.cursorMoved(timeMs ?? null);
    this.requestUpdate();
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
    this.#plots = plotsOf(this.data).map((series, i) => {
      const box = boxes[i]!;
      return createPlot(box, {
        series,
        view: () => this.#host.view() ?? { fromMs: 0, toMs: 1 },
        daily: this.data!.daily,
        widthPx: Math.max(50, box.clientWidth),
        heightPx: Math.max(80, box.clientHeight),
        locale: this.locale,
        timeZone: this.timeZone,
        reference: parseReference(this.getAttribute('reference'), series[0]!.key),
        colors,
        font: getComputedStyle(this).fontFamily,
        onCursor: (row) => {
          if (row === this.#cursor || this.#plotted.length === 0) return;
          this.#read(row);
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

  /** What moves it knows something of the person, too. */
  protected override reset(): void {
    this.#cursor = null;
    this.#note = null;
    this.#moves?.stop();
    this.#moves = null;
  }

  protected override changed(name: string): void {
    if (name === 'range' || name === 'from' || name === 'to') this.#chosen = [];
    this.#destroyPlots();
    super.changed(name);
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

/** What each plot has: without data there is one, with the time axis alone. */
const plotsOf = ({ series, empty }: Shown): readonly (readonly Series[])[] => (empty ? [series] : byUnit(series));

/** Of what is counted, at the times of the day whose sum its own line has; null: the chart does not have all of them. */
function sumSince({ timesMs, values, flags, stepMs }: Series, sinceMs: number): Newest | null {
  const rows = [...values.keys()].filter((row) => timesMs[row]! >= sinceMs && values[row] !== null);
  if (rows.length === 0 || timesMs[0]! > sinceMs) return null;
  const value = rows.reduce((sum, row) => sum + values[row]!, 0);
  return { value, timeMs: timesMs[rows.at(-1)!]!, flag: Math.max(...rows.map((row) => flags[row]!)), lengthMs: stepMs };
}

const unitOf = { s: 'second', m: 'minute', h: 'hour', d: 'day', w: 'week' } as const;

export function rangeLabel(range: string, locale: string): string {
  const match = /^(\d+)([smhdw])$/.exec(range);
  if (match === null) return range;
  const unit = unitOf[match[2] as keyof typeof unitOf];
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'short' }).format(Number(match[1]));
}

define('bio-trend-chart', BioTrendChart);
