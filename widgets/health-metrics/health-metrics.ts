/** Newest values of what wearables report: steps (of today), sleep, heart rate, stress, or any other biosignals.
 *
 *  @tag bio-health-metrics
 *  @attr {string} biosignals - comma-separated: abbreviations, LOINC codes, ids or names of features, at most 24; `*` for the first 24
 *  scalars of the project. Default: steps, sleep, heart rate and stress, as far as the project has them
 *  @attr {string} range - how far back a value may lie. Default `24h`
 *  @attr {string} heading
 *  @attr {string} refresh - how often to fetch, e.g. `30s`; `0` never. Default `60s`
 *  @attr {string} units - metric or us
 *  @attr {string} lang
 *  @attr {string} tz
 *  @attr {string} theme
 *  @prop {string} state - loading, ready, empty, stale, offline, error or unauthorized (read only)
 *  @csspart card
 *  @csspart head
 *  @csspart title
 *  @csspart metric - one biosignal
 *  @csspart value
 *  @csspart quality
 *  @csspart note
 *  @csspart button
 *  @fires bio:state - {state} whenever the state changes */
import { define, html, nothing } from '../shared/base.ts';
import { DataWidget } from '../shared/data-widget.ts';
import { biosignalOf, catalog, findBiosignal, latestObservation } from '../shared/data.ts';
import type { Biosignal, Observation } from '../shared/data.ts';
import { convertUnit, formatAge, formatTime, formatValue, unitLabel } from '../shared/format.ts';
import { qualityMark } from '../shared/quality.ts';
import type { Session } from '../shared/session.ts';

const css = `
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 150px), 1fr)); gap: 10px; }
.metric { background: var(--_sunken); border-radius: 8px; padding: 12px; display: grid; gap: 2px; align-content: start; }
.metric h3 { font-size: .875rem; font-weight: 600; color: var(--_muted); overflow-wrap: anywhere; }
.value { font-size: 1.5rem; }
.foot { display: flex; flex-wrap: wrap; gap: 2px 10px; align-items: baseline; }
details { font-size: .8125rem; } summary { cursor: pointer; color: var(--_accent); min-block-size: 24px; } details p { overflow-wrap: anywhere; }
`;

/** By LOINC code where there is one; the service's own abbreviation otherwise. */
const usual = [
  { codes: ['55423-8', 'STEPS'], label: 'steps' },
  { codes: ['93832-4', 'SLEEP'], label: 'sleep' },
  { codes: ['HR', '8867-4'], label: 'heartRate' },
  { codes: ['STRESS'], label: 'stress' },
] as const;
const METRICS_MAX = 24;

type Metric = Readonly<{ biosignal: Biosignal; label: string; observation: Observation | null }>;

export class BioHealthMetrics extends DataWidget<readonly Metric[]> {
  static override styles = css;
  static observedAttributes = ['biosignals', 'range', 'heading', 'refresh', 'units', 'lang', 'tz', 'theme'];

  protected override heading(): string {
    return this.getAttribute('heading') ?? this.text('metrics');
  }

  protected override async load(session: Session, signal: AbortSignal): Promise<readonly Metric[] | null> {
    const rangeMs = this.duration('range', '24h');
    const found = (await this.#choose(session)).slice(0, METRICS_MAX);
    const metrics = await Promise.all(
      found.map(async (item): Promise<Metric> => ({
        ...item,
        observation: await latestObservation(session, item.biosignal, rangeMs, this.timeZone, signal),
      })),
    );
    return metrics.some((metric) => metric.observation !== null) ? metrics : null;
  }

  async #choose(session: Session): Promise<{ biosignal: Biosignal; label: string }[]> {
    const list = await catalog(session);
    const wanted = this.getAttribute('biosignals')?.trim() ?? '';
    if (wanted !== '') {
      const names = wanted
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== '');
      const found =
        wanted === '*'
          ? list.filter((item) => item.signal_type === 'scalar')
          : await Promise.all(names.map((item) => biosignalOf(session, item)));
      return found.flatMap((biosignal) => biosignal ?? []).map((biosignal) => ({ biosignal, label: this.named(biosignal.name) }));
    }
    return usual.flatMap(({ codes, label }) => {
      const biosignal = codes.map((code) => findBiosignal(list, code)).find((item) => item !== undefined);
      return biosignal === undefined ? [] : [{ biosignal, label: this.text(label) }];
    });
  }

  protected override content(metrics: readonly Metric[]) {
    return html`<ul class="grid">
      ${metrics.map((metric) => html`<li class="metric" part="metric">${this.#metric(metric)}</li>`)}
    </ul>`;
  }

  #metric({ biosignal, label, observation }: Metric) {
    const { locale } = this;
    if (observation === null) {
      return html`<h3>${label}</h3>
        <p class="value" aria-hidden="true">–</p>
        <p class="muted">${this.text('empty')}</p>`;
    }
    const timeMs = Date.parse(observation.effective_time);
    return html`<h3>${label}</h3>
      <p>${this.#value(observation, biosignal)}</p>
      <p class="foot">${qualityMark(observation.qmask, locale)} <span class="muted">${formatAge(locale, timeMs, Date.now())}</span></p>
      <details>
        <summary>${this.text('details')}<span class="vh"> ${label}</span></summary>
        <p>${this.text('measured')}: ${formatTime(locale, timeMs, this.timeZone)}</p>
        <p>${this.text('method')}: ${observation.method_code}</p>
        ${observation.device_id ? html`<p>${this.text('source')}: ${observation.device_id}</p>` : nothing}
      </details>`;
  }

  #value({ value, unit }: Observation, biosignal: Biosignal) {
    const long = hoursAndMinutes(value, unit);
    if (long !== null) {
      const text = this.text('hoursMinutes', long);
      return html`<span class="value" part="value">${text}</span>`;
    }
    const shown = convertUnit({ ...biosignal, unit, values: [value] }, this.setting('units'));
    return html`<span class="value" part="value">${formatValue(this.locale, shown.values[0]!, shown)}</span
      ><span class="unit">${unitLabel(shown.unit)}</span>`;
  }
}

/** A duration of an hour or more, else null: a sleep of 444 minutes, or of 7.4 hours, says less than 7 h 24 min. */
export function hoursAndMinutes(value: number, unit: string): { hours: number; minutes: number } | null {
  const minutes = unit === 'h' ? Math.round(value * 60) : unit === 'min' ? Math.round(value) : 0;
  return minutes < 60 ? null : { hours: Math.floor(minutes / 60), minutes: minutes % 60 };
}

define('bio-health-metrics', BioHealthMetrics);
