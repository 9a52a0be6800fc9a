/** A report as it is printed: whose and of when, what was recorded, summaries with their methods, trends, episodes with their strips. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { convertUnit, formatNumber, formatTime, unitLabel } from '../../widgets/shared/format.ts';
import { zonedTime } from '../../widgets/shared/zoned-time.ts';
import { qualityMark } from '../../widgets/shared/quality.ts';
import { named, t } from '../language.ts';
import { methodName } from '../method-name.ts';
import { figure, percent, tableOf } from '../parts.ts';
import type { Content } from '../parts.ts';
import { stripsOf } from '../strips.ts';
import { DAYS_MAX, EPISODES_MAX, STREAMS_MAX, USUAL_DAYS } from './report-data.ts';
import type { EpisodeOfReport, MethodLine, ReportData } from './report-data.ts';
import type { Night } from '../../widgets/trend-chart/moves/nights.ts';
import { severityName } from '../pages/episodes.ts';

/** Where it says what it is not. */
const DISCLAIMER = t(
  'Not a medical device and no diagnosis. The values are computed from recordings as they are, with the quality that the signal had; a person has to judge them, with the strips.',
);

type Row = Readonly<{ cells: readonly Content[] }>;

const isVariability = /^[hp]rv_/;
/** Normal rhythm has a few per cent, too. */
const AF_PERCENT_MIN = 5;

export class ReportView {
  readonly #data: ReportData;
  readonly #locale: string;

  constructor(data: ReportData, locale: string) {
    this.#data = data;
    this.#locale = locale;
  }

  view(madeAtMs: number, version: string): TemplateResult {
    const { user, range, timeZone } = this.#data;
    return html`<article class="report">
      <header>
        <h1><bdi>${user.display_name || user.external_id}</bdi></h1>
        <dl class="facts">
          ${
            user.display_name === ''
              ? nothing
              : html`<dt>${t('External id')}</dt>
                  <dd>${user.external_id}</dd>`
          }
          <dt>${t('From')}</dt>
          <dd>${this.#time(range.fromMs)}</dd>
          <dt>${t('To')}</dt>
          <dd>${this.#time(range.toMs)}</dd>
          <dt>${t('Time zone')}</dt>
          <dd>${timeZone}</dd>
          <dt>${t('Made')}</dt>
          <dd>${t('{time} by biosignal {version}', { time: this.#time(madeAtMs), version })}</dd>
        </dl>
        ${this.#data.isEarlier ? html`<p class="range-note">${earlierNote()}</p>` : nothing}
        ${this.#data.computedToMs === null ? nothing : html`<p class="range-note"><strong>${partialNote(this.#data, this.#locale)}</strong></p>`}
        <p class="disclaimer"><strong>${DISCLAIMER}</strong></p>
      </header>
      ${this.#summary()} ${this.#recordings()} ${this.#trends()} ${this.#nights()} ${this.#methods()} ${this.#episodes()}
    </article>`;
  }

  #time = (ms: number): string => zonedTime(this.#locale, ms, this.#data.timeZone);

  #number(value: number | null, unit: string): string {
    const label = unitLabel(unit);
    return value === null ? '–' : `${formatNumber(this.#locale, value)}${label === '' ? '' : `\u00a0${label}`}`;
  }

  /** Of a method, as people read it. */
  #numbers({ name, unit }: MethodLine['method'], values: readonly (number | null)[]): string[] {
    const shown = convertUnit({ name, unit, values }, null);
    return shown.values.map((value) => this.#number(value, shown.unit));
  }

  #summary(): TemplateResult {
    const { streams, moreStreams, episodes, more, nights } = this.#data;
    const heart = this.#line('hr_ecg') ?? this.#line('hr_ppg');
    const rmssd = this.#line('hrv_rmssd_300s') ?? this.#line('hrv_rmssd_60s');
    const resting = nights.flatMap(({ resting_hr: rate }) => rate ?? []);
    const count = `${episodes.length}${more ? '+' : ''}`;
    return html`<section>
      <h2>${t('Summary')}</h2>
      <dl class="figures">
        ${heart === undefined ? nothing : figure(t('Heart rate, mean'), this.#judged(heart, this.#number(heart.totals.mean, heart.method.unit)))}
        ${heart === undefined ? nothing : figure(t('Lowest to highest'), this.#judged(heart, `${this.#number(heart.totals.min, '1')} – ${this.#number(heart.totals.max, heart.method.unit)}`))}
        ${resting.length === 0 ? nothing : figure(t('Lowest resting heart rate'), this.#number(Math.min(...resting), '/min'))}
        ${rmssd === undefined ? nothing : figure(t('RMSSD, mean'), this.#judged(rmssd, this.#number(rmssd.totals.mean, rmssd.method.unit)))}
        ${heart === undefined ? nothing : figure(t('Of the range covered'), shareText(heart.totals.good_n, heart.totals.expected_n))}
        ${figure(t('Recordings'), `${streams.length}${moreStreams ? '+' : ''}`)} ${figure(t('Episodes'), count)}
      </dl>
      ${this.#data.lines.length === 0 ? html`<p>${t('No value was computed in this range.')}</p>` : nothing}
    </section>`;
  }

  /** Marked where no good value of the range stands behind it. */
  #judged = ({ totals }: MethodLine, text: string): Content =>
    totals.good_n > 0 ? text : html`${text} <span class="aside">${qualityMark(1, this.#locale)}</span>`;

  /** The newest version of a method with values. */
  #line = (name: string): MethodLine | undefined => this.#data.lines.findLast(({ method }) => method.name === name);

  #recordings(): TemplateResult | typeof nothing {
    const { streams, moreStreams } = this.#data;
    if (streams.length === 0) return nothing;
    const time = (iso: string | null): string => (iso === null ? '–' : this.#time(Date.parse(iso)));
    return html`<section>
      <h2>${t('Recordings')}</h2>
      ${moreStreams ? this.#latest(STREAMS_MAX) : nothing}
      ${tableOf<(typeof streams)[number]>(
        [
          { name: t('Device'), cell: ({ device_id: device, firmware }) => html`${device} <span class="muted">${firmware}</span>` },
          { name: t('From'), cell: (stream) => time(stream.recorded_from) },
          { name: t('To'), cell: (stream) => time(stream.last_sample_at) },
          {
            name: t('Channels'),
            cell: ({ channels }) =>
              channels.map(({ code, rate_hz: rate }) => `${code} ${formatNumber(this.#locale, rate, 4)} Hz`).join(', '),
          },
        ],
        streams,
      )}
    </section>`;
  }

  #trends(): TemplateResult | typeof nothing {
    const { trends, range, drawn, timeZone } = this.#data;
    if (trends.length === 0) return nothing;
    const [from, to] = [drawn.fromMs, drawn.toMs].map((ms) => new Date(ms).toISOString()) as [string, string];
    return html`<section>
      <h2>${t('Trends')}</h2>
      <p class="muted">
        ${t('The line is the mean of each interval, the band spans its lowest to its highest value. Triangles are suspect values. The ribbon below is as high as good values are missing, and hollow where there is none.')}
        ${drawn === range ? nothing : t('Drawn from {from} to {to}: nothing was recorded in the rest of the range.', { from: this.#time(drawn.fromMs), to: this.#time(drawn.toMs) })}
      </p>
      ${trends.map(
        ({ biosignals, heading }) =>
          html`<bio-trend-chart
            biosignals=${biosignals}
            heading=${heading}
            from=${from}
            to=${to}
            tz=${timeZone}
            refresh="0"
            readonly
          ></bio-trend-chart>`,
      )}
    </section>`;
  }

  #nights(): TemplateResult | typeof nothing {
    const { nights, range } = this.#data;
    if (nights.length === 0) return nothing;
    const days = range.toMs - range.fromMs > DAYS_MAX * 864e5 + 36e5;
    return html`<section class="nights">
      <h2>${t('Rest and nights')}</h2>
      ${days ? html`<p class="muted">${t('The last {count} days of the range.', { count: DAYS_MAX })}</p>` : nothing}
      ${tableOf<Night>(
        [
          { name: t('Day'), cell: ({ from }) => formatTime(this.#locale, Date.parse(from), this.#data.timeZone, 'date') },
          { name: t('Device'), cell: ({ device_id: device }) => device },
          { name: t('Resting heart rate'), kind: 'num', cell: (night) => this.#number(night.resting_hr, '/min') },
          { name: t('Night'), kind: 'num', cell: (night) => this.#number(night.night_hr, '/min') },
          { name: t('Day, 9 to 21 h'), kind: 'num', cell: (night) => this.#number(night.day_hr, '/min') },
          { name: t('Lower at night by'), kind: 'num', cell: (night) => this.#number(night.dip_percent, '%') },
          { name: 'SDNN', kind: 'num', cell: (night) => this.#number(night.sdnn_ms, 'ms') },
          { name: 'SDANN', kind: 'num', cell: (night) => this.#number(night.sdann_ms, 'ms') },
          { name: t('Covered'), kind: 'num', cell: ({ coverage }) => percent(coverage) },
        ],
        nights,
      )}
    </section>`;
  }

  /** In fibrillation variability means something else, which nobody sees in the numbers. */
  #fibrillation(): TemplateResult | typeof nothing {
    const mean = this.#line('af_burden_300s')?.totals.mean ?? 0;
    if (mean < AF_PERCENT_MIN) return nothing;
    return html`<p class="attention">
      ${t('The rhythm looks like atrial fibrillation in {share} of the recordings: variability is then not that of sinus rhythm.', { share: percent(mean / 100) })}
    </p>`;
  }

  #methods(): TemplateResult | typeof nothing {
    const { lines } = this.#data;
    if (lines.length === 0) return nothing;
    const groups: readonly (readonly [string, RegExp])[] = [
      [t('Heart rate variability'), /^hrv_/],
      [t('Pulse rate variability'), /^prv_/],
      [t('Signal quality'), /^sqi_/],
      [t('Rhythm and conduction'), /^(af_|longest_rr|pr_|qrs_|qtc?_|ventricular_|supraventricular_)/],
      [t('Pulse wave'), /^(pulse_|perfusion_|worn_)/],
      [t('Other values'), /^/],
    ];
    // Each is of the first that it matches.
    const groupOf = (name: string) => groups.find(([, pattern]) => pattern.test(name));
    // Before the tables: behind them it may stand alone on a page.
    return html`<p class="muted explains">
        ${t('Mean, lowest and highest are of the good values of the range; where none is good, of the suspect ones. Good: share of the values that were computed. Covered: share of the values that a recording of the whole range would have. Methods of different versions are not comparable.')}
      </p>
      ${groups.map((group) => {
        const [name] = group;
        const some = lines.filter(({ method }) => groupOf(method.name) === group);
        if (some.length === 0) return nothing;
        return html`<section>
          <h2>${name}</h2>
          ${some.some(({ method }) => isVariability.test(method.name)) ? this.#fibrillation() : nothing}
          ${tableOf<Row>(
            [t('Value'), t('Method and version'), t('Mean'), t('Lowest'), t('Highest'), t('Good'), t('Covered')].map((column, i) => ({
              name: column,
              cell: ({ cells }) => cells[i] ?? '',
              ...(i > 1 && { kind: 'num' as const }),
            })),
            some.map(({ method, totals }) => ({
              cells: [
                methodName(method),
                breakable(method.code),
                ...this.#numbers(method, [totals.mean, totals.min, totals.max]),
                shareText(totals.good_n, totals.n),
                shareText(totals.good_n, totals.expected_n),
              ],
            })),
          )}
        </section>`;
      })}`;
  }

  #episodes(): TemplateResult {
    const { episodes, more } = this.#data;
    if (episodes.length === 0)
      return html`<section>
        <h2>${t('Episodes')}</h2>
        <p>${t('None in this range.')}</p>
      </section>`;
    return html`<section class="episodes">
      <h2>${t('Episodes')}</h2>
      ${more ? this.#latest(EPISODES_MAX) : nothing} ${episodes.map((episode) => this.#episode(episode))}
    </section>`;
  }

  #latest = (count: number): TemplateResult =>
    html`<p><strong>${t('There are more; these are the latest {count}.', { count })}</strong></p>`;

  #episode(episode: EpisodeOfReport): TemplateResult {
    const strips = stripsOf(episode.artifacts);
    const time = (iso: string): string => zonedTime(this.#locale, Date.parse(iso), this.#data.timeZone, 'seconds');
    return html`<section class="episode">
      <h3>${named(episode.title || episode.kind)}</h3>
      <p>
        ${time(episode.started_at)}${episode.ended_at === null ? `, ${t('ongoing')}` : ` – ${time(episode.ended_at)}`};
        ${t('severity: {severity}', { severity: severityName(episode.severity) })};
        ${words[episode.status === 'closed' && !episode.is_reviewed ? 'open' : episode.status]}
      </p>
      ${strips.map(({ title, address }) => {
        // Two episodes have a strip of the same title; a region is found by its name.
        const name = `${title || t('Strip')}, ${episode.title || episode.kind}, ${time(episode.started_at)}`;
        return html`<figure class="paper" tabindex="0" role="region" aria-label=${name}>
          <img src=${address} alt=${title || t('Strip of the waveform')} />
        </figure>`;
      })}
      ${strips.length === 0 ? html`<p class="muted">${t('It has no strip.')}</p>` : nothing}
    </section>`;
  }
}

/** Why the report is not of the last days. */
export const earlierNote = (): string =>
  t('Nothing was recorded in the last {count} days. The report is of the {count} days up to the newest recording.', { count: USUAL_DAYS });

/** What is missing of a report that was made too early. */
export const partialNote = ({ computedToMs, timeZone }: ReportData, locale: string): string =>
  t('This report is not whole: of what was recorded after {time}, values were still being computed when it was made.', {
    time: zonedTime(locale, computedToMs!, timeZone),
  });

const words = { open: t('not reviewed'), closed: t('reviewed'), cancelled: t('dismissed') } as const;

/** A name of code may be broken after its underscores. */
const breakable = (code: string): TemplateResult => html`${code.split(/(?<=_)/).map((part) => html`${part}<wbr />`)}`;

function shareText(part: number, whole: number | null): string {
  return whole === null || whole === 0 ? '–' : percent(Math.min(1, part / whole));
}

/** Charts and strips are there, or will not come: then it can be printed. */
export function isComplete(root: ParentNode): boolean {
  const charts = [...root.querySelectorAll<HTMLElement>('bio-trend-chart')];
  const images = [...root.querySelectorAll('img')];
  return (
    charts.every((chart) => !['loading', undefined].includes(chart.dataset['state'])) &&
    charts.every((chart) => chart.dataset['state'] !== 'ready' || chart.shadowRoot?.querySelector('canvas') !== null) &&
    images.every((image) => image.complete)
  );
}
