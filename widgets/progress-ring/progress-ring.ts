/** Progress towards a goal, as a ring and in words.
 *
 *  @tag bio-progress-ring
 *  @attr {string} biosignals - one biosignal: abbreviation, LOINC code, id, or the name of a feature. Default `55423-8`: steps, from any
 *  source
 *  @attr {number} goal - what a full ring means, in the biosignal's unit. Default: the goal that the person was set for this biosignal
 *    (GET /api/v1/goals), with its period and aggregate; else 10000
 *  @attr {number} value - shows this value and asks the service for nothing
 *  @attr {string} agg - sum, mean or max over the range. Default `sum`
 *  @attr {string} range - `today` (in the time zone `tz`, else the person's own) or a duration. Default `today`
 *  @attr {string} heading
 *  @attr {string} refresh - how often to fetch, e.g. `30s`; `0` never. Default `60s`
 *  @attr {string} lang
 *  @attr {string} tz
 *  @attr {string} theme
 *  @prop {string} state - loading, ready, empty, stale, offline, error or unauthorized (read only)
 *  @csspart card
 *  @csspart head
 *  @csspart title
 *  @csspart ring
 *  @csspart value
 *  @csspart note
 *  @csspart button
 *  @cssprop --bio-ring-size - default 160px
 *  @cssprop --bio-color-accent
 *  @fires bio:state - {state} whenever the state changes
 *  @fires bio:goal - {value, goal} when the goal is reached while the widget is on the page */
import { svg } from 'lit-html';
import { define, html, nothing } from '../shared/base.ts';
import { DataWidget } from '../shared/data-widget.ts';
import { biosignalOf, queryChart, todayOf } from '../shared/data.ts';
import { formatValue, unitLabel } from '../shared/format.ts';
import type { Aggregate } from '../shared/data.ts';
import type { Session } from '../shared/session.ts';

const css = `
.wrap { display: grid; place-items: center; position: relative; inline-size: var(--bio-ring-size, 160px); aspect-ratio: 1; max-inline-size: 100%; margin-inline: auto; }
svg { grid-area: 1 / 1; inline-size: 100%; block-size: 100%; rotate: -90deg; }
circle { fill: none; stroke-width: 9; }
.track { stroke: var(--_line); }
.bar { stroke: var(--_accent); stroke-linecap: round; transition: stroke-dashoffset .5s; }
.full .bar { stroke: var(--_good); }
.in { grid-area: 1 / 1; text-align: center; display: grid; }
.in .value { font-size: 1.625rem; }
@media (forced-colors: active) { .track { stroke: GrayText; } .bar { stroke: Highlight; } }
`;
const RADIUS = 44;
const ROUND = 2 * Math.PI * RADIUS;

type Progress = Readonly<{ value: number; unit: string; name: string; goal?: number }>;

export class BioProgressRing extends DataWidget<Progress> {
  static override styles = css;
  static observedAttributes = ['biosignals', 'goal', 'value', 'agg', 'range', 'heading', 'refresh', 'lang', 'tz', 'theme'];
  #reached: boolean | null = null;

  #goalOf(progress: Progress): number {
    const goal = Number(this.getAttribute('goal') ?? progress.goal ?? 10_000);
    return Number.isFinite(goal) && goal > 0 ? goal : 10_000;
  }

  protected override heading(): string {
    return this.getAttribute('heading') ?? this.data?.name ?? this.text('progressLabel');
  }

  protected override async load(session: Session, signal: AbortSignal): Promise<Progress | null> {
    const fixed = this.getAttribute('value');
    if (fixed !== null)
      return Number.isFinite(Number(fixed)) ? this.#note({ value: Number(fixed), unit: '', name: this.text('progressLabel') }) : null;
    const wanted = (this.getAttribute('biosignals') ?? '55423-8').split(',')[0]!.trim();
    const biosignal = await biosignalOf(session, wanted);
    if (!this.hasAttribute('goal')) {
      const goals = await session.get('/api/v1/goals', { signal });
      const set = goals.find((item) => item.biosignal_id === biosignal?.id);
      if (set !== undefined)
        return this.#note({ value: set.value ?? 0, unit: set.unit, name: set.title || this.named(set.name), goal: set.target });
    }
    const range = this.getAttribute('range') ?? 'today';
    const agg = (this.getAttribute('agg') ?? 'sum') as Aggregate;
    if (range === 'today' && biosignal !== undefined) {
      const today = await todayOf(session, biosignal, this.timeZone, agg, signal);
      return today === null ? null : this.#note({ ...today, name: this.named(today.name) });
    }
    const request = {
      series: [wanted],
      rangeMs: this.duration('range', range === 'today' ? '24h' : range),
      maxPoints: 500,
      tz: this.timeZone,
      agg,
    };
    const [series] = await queryChart(session, request, signal);
    const value = agg === 'max' ? series?.range[2] : agg === 'mean' ? series?.range[1] : series?.sum;
    if (series === undefined || value === null || value === undefined) return null;
    return this.#note({ value, unit: series.unit, name: this.named(series.name) });
  }

  #note(progress: Progress): Progress {
    const goal = this.#goalOf(progress);
    const reached = progress.value >= goal;
    if (reached && this.#reached === false) this.emit('bio:goal', { value: progress.value, goal });
    this.#reached = reached;
    return progress;
  }

  protected override reset(): void {
    this.#reached = null;
  }

  protected override content(progress: Progress) {
    const { value, unit } = progress;
    const goal = this.#goalOf(progress);
    const share = Math.max(0, Math.min(1, value / goal));
    // as a target is given, and as the dashboard has goals
    const show = (number: number): string => formatValue(this.locale, number, { unit, source_type: 'clinician' });
    const percent = new Intl.NumberFormat(this.locale, { style: 'percent' }).format(value / goal);
    return html`<div
      class="wrap ${share >= 1 ? 'full' : ''}"
      part="ring"
      role="meter"
      aria-label=${this.heading()}
      aria-valuemin="0"
      aria-valuemax=${goal}
      aria-valuenow=${Math.min(value, goal)}
      aria-valuetext="${this.text('progress', { value: show(value), goal: show(goal) })} ${unitLabel(unit)}, ${percent}"
    >
      <svg viewBox="0 0 100 100" aria-hidden="true">
        <circle class="track" cx="50" cy="50" r=${RADIUS} />
        ${
          share > 0
            ? svg`<circle class="bar" cx="50" cy="50" r=${RADIUS} stroke-dasharray=${ROUND} stroke-dashoffset=${ROUND * (1 - share)} />`
            : nothing
        }
      </svg>
      <div class="in" aria-hidden="true">
        <span><span class="value" part="value">${show(value)}</span><span class="unit">${unitLabel(unit)}</span></span>
        <span class="muted">/ ${show(goal)}</span>
        <span class="muted">${percent}</span>
      </div>
    </div>`;
  }
}

define('bio-progress-ring', BioProgressRing);
