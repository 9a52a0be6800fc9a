/** One biosignal at a glance: the latest value, how good and how old it is, and its course.
 *
 *  @tag bio-trend-card
 *  @attr {string} biosignals - one biosignal: abbreviation, LOINC code, id, or the name of a feature (`hrv_rmssd_60s`). Default `HR`
 *  @attr {string} range - how far back: `15m`, `24h`, `7d` or an ISO 8601 duration. Default `24h`
 *  @attr {string} resolution - bucket width; default: chosen by the service
 *  @attr {string} reference - reference range of the page's choice, e.g. `60-100`
 *  @attr {string} heading - default: the biosignal's name
 *  @attr {string} refresh - how often to fetch, e.g. `30s`; `0` never. Default `60s`
 *  @attr {string} stale-after - age at which the latest value no longer stands for now. Default `10m`
 *  @attr {string} units - metric or us
 *  @attr {string} lang
 *  @attr {string} tz
 *  @attr {string} theme
 *  @prop {string} state - loading, ready, empty, stale, offline, error or unauthorized (read only)
 *  @csspart card
 *  @csspart head
 *  @csspart title
 *  @csspart value
 *  @csspart quality
 *  @csspart sparkline
 *  @csspart note
 *  @csspart button
 *  @cssprop --bio-color-trace
 *  @fires bio:state - {state} whenever the state changes */
import { define, html, nothing } from '../shared/base.ts';
import { DataWidget } from '../shared/data-widget.ts';
import { catalog, findBiosignal, latestObservation, queryChart, summarize } from '../shared/data.ts';
import type { Observation, Series } from '../shared/data.ts';
import { convertUnit, formatAge, formatTime, formatValue, unitLabel } from '../shared/format.ts';
import { qualityMark } from '../shared/quality.ts';
import { parseReference } from '../shared/reference-range.ts';
import type { Session } from '../shared/session.ts';
import { sparkline, sparklineCss } from '../shared/sparkline.ts';

const css = `${sparklineCss}
.now { display: flex; flex-wrap: wrap; align-items: end; justify-content: space-between; gap: 4px 12px; margin-block-end: 8px; }
.value { font-size: 2.25rem; }
.stats { display: grid; grid-template-columns: repeat(3, auto); justify-content: space-between; gap: 2px 12px; margin-block-start: 8px; font-size: .875rem; }
.stats dt { color: var(--_muted); grid-row: 1; } .stats dd { grid-row: 2; }
details { margin-block-start: 10px; font-size: .875rem; }
summary { cursor: pointer; color: var(--_accent); min-block-size: 24px; }
details dl { display: grid; grid-template-columns: auto 1fr; gap: 4px 12px; margin-block-start: 6px; }
details dt { color: var(--_muted); } details dd { overflow-wrap: anywhere; }
`;

type Shown = Readonly<{ series: Series; observation: Observation | null }>;

export class BioTrendCard extends DataWidget<Shown> {
  static override styles = css;
  static observedAttributes = [
    'biosignals',
    'range',
    'resolution',
    'reference',
    'heading',
    'refresh',
    'stale-after',
    'units',
    'lang',
    'tz',
    'theme',
  ];

  #wanted(): string {
    return (this.getAttribute('biosignals') ?? 'HR').split(',')[0]!.trim();
  }

  protected override heading(): string {
    return this.getAttribute('heading') ?? this.data?.series.name ?? this.#wanted();
  }

  protected override async load(session: Session, signal: AbortSignal): Promise<Shown | null> {
    const rangeMs = this.duration('range', '24h');
    const wanted = this.#wanted();
    const biosignal = findBiosignal(await catalog(session), wanted);
    const [all, observation] = await Promise.all([
      queryChart(
        session,
        { series: [wanted], rangeMs, maxPoints: 240, resolution: this.getAttribute('resolution'), tz: this.timeZone },
        signal,
      ),
      biosignal === undefined ? null : latestObservation(session, biosignal, rangeMs, signal),
    ]);
    const series = all[0];
    if (series === undefined || summarize(series) === null) return null;
    return { series: convertUnit({ ...series, name: this.named(series.name) }, this.setting('units')), observation };
  }

  protected override staleSince({ series }: Shown, nowMs: number): number | null {
    const newest = summarize(series)?.latestMs ?? 0;
    const limitMs = this.duration('stale-after', '10m');
    return nowMs - newest - series.stepMs > limitMs ? newest : null;
  }

  protected override content({ series, observation }: Shown) {
    const summary = summarize(series);
    if (summary === null) return nothing;
    const { locale } = this;
    const show = (value: number): string => formatValue(locale, value, series.unit);
    const reference = parseReference(this.getAttribute('reference'), series.key);
    return html`<div class="now">
        <p><span class="value" part="value">${show(summary.latest)}</span><span class="unit">${unitLabel(series.unit)}</span></p>
        <p class="row">
          ${qualityMark(summary.latestFlag, locale)}<span class="muted">${formatAge(locale, summary.latestMs, Date.now())}</span>
        </p>
      </div>
      ${sparkline(series, reference)}
      <dl class="stats">
        <dt>${this.text('minimum')}</dt>
        <dd>${show(summary.min)}</dd>
        <dt>${this.text('mean')}</dt>
        <dd>${show(summary.mean)}</dd>
        <dt>${this.text('maximum')}</dt>
        <dd>${show(summary.max)}</dd>
      </dl>
      <details>
        <summary>${this.text('details')}</summary>
        <dl>
          <dt>${this.text('measured')}</dt>
          <dd>${formatTime(locale, summary.latestMs, this.timeZone)}</dd>
          <dt>${this.text('quality')}</dt>
          <dd>${this.text('goodShare', { percent: new Intl.NumberFormat(locale, { style: 'percent' }).format(summary.goodShare) })}</dd>
          ${
            observation === null
              ? nothing
              : html`<dt>${this.text('method')}</dt>
                  <dd>${observation.method_code}</dd>
                  <dt>${this.text('source')}</dt>
                  <dd>${observation.device_id}</dd>`
          }
          ${
            reference === null
              ? nothing
              : html`<dt>${this.text('referenceName')}</dt>
                  <dd>${show(reference.low)} – ${show(reference.high)} ${unitLabel(series.unit)}</dd>`
          }
        </dl>
      </details>`;
  }
}

define('bio-trend-card', BioTrendCard);
