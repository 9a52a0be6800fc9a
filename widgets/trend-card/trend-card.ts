/** One biosignal at a glance: the newest observation (of steps: the sum of today), how good and how old it is, the course, and the least,
 *  mean and greatest value of the range.
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
import { biosignalOf, isCounted, latestObservation, newestOf, queryChart } from '../shared/data.ts';
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
    const biosignal = await biosignalOf(session, wanted);
    const asked = biosignal === undefined ? null : latestObservation(session, biosignal, rangeMs, this.timeZone, signal);
    // The course of a counted value is that of its own source.
    const by = biosignal !== undefined && isCounted(biosignal) ? (await asked)?.biosignal_id : undefined;
    const request = {
      series: [`${by ?? wanted}`],
      rangeMs,
      maxPoints: 240,
      resolution: this.getAttribute('resolution'),
      tz: this.timeZone,
    };
    const [[found], observation] = await Promise.all([queryChart(session, request, signal), asked]);
    if (found === undefined) return null;
    const newest = newestOf(found, observation);
    if (newest === null && found.range[1] === null) return null;
    return { series: convertUnit({ ...found, name: this.named(found.name), newest }, this.setting('units')), observation };
  }

  protected override staleSince({ series: { newest } }: Shown, nowMs: number): number | null {
    const limitMs = this.duration('stale-after', '10m');
    return newest && nowMs - newest.timeMs - newest.lengthMs > limitMs ? newest.timeMs : null;
  }

  protected override content({ series, observation }: Shown) {
    const { locale } = this;
    const { newest } = series;
    const show = (value: number | null): string => formatValue(locale, value, series);
    const reference = parseReference(this.getAttribute('reference'), series.key);
    return html`<div class="now">
        <p><span class="value" part="value">${show(newest?.value ?? null)}</span><span class="unit">${unitLabel(series.unit)}</span></p>
        ${
          newest
            ? html`<p class="row">
                ${qualityMark(newest.flag, locale)}<span class="muted">${formatAge(locale, newest.timeMs, Date.now())}</span>
              </p>`
            : nothing
        }
      </div>
      ${sparkline(series, reference)}
      ${
        isCounted(series)
          ? nothing
          : html`<dl class="stats">
              ${(['minimum', 'mean', 'maximum'] as const).map(
                (key, i) =>
                  html`<dt>${this.text(key)}</dt>
                    <dd>${show(series.range[i]!)}</dd>`,
              )}
            </dl>`
      }
      <details>
        <summary>${this.text('details')}</summary>
        <dl>
          ${
            newest
              ? html`<dt>${this.text('measured')}</dt>
                  <dd>${formatTime(locale, newest.timeMs, this.timeZone)}</dd>`
              : nothing
          }
          <dt>${this.text('quality')}</dt>
          <dd>${this.text('goodShare', { percent: new Intl.NumberFormat(locale, { style: 'percent' }).format(series.goodShare) })}</dd>
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
