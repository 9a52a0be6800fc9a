/** A report as it is printed: whose and of when, what was recorded, summaries with their methods, trends, episodes with their strips. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { channelNames } from '../../src/signal.ts';
import { convertUnit, formatNumber, formatTime } from '../../widgets/shared/format.ts';
import { zonedTime } from '../../widgets/shared/zoned-time.ts';
import { qualityMark } from '../../widgets/shared/quality.ts';
import { listed, named, t } from '../language.ts';
import { measuredTable } from '../measured.ts';
import { namedWithCount, valueText, windowText } from '../method-name.ts';
import { breakable, figure, percent, tableOf } from '../parts.ts';
import type { Content } from '../parts.ts';
import { stripsOf } from '../strips.ts';
import { DAYS_MAX, EPISODES_MAX, MEASUREMENTS_MAX, STREAMS_MAX, USUAL_DAYS } from './report-data.ts';
import type { Ending, EpisodeOfReport, MethodLine, ReportData } from './report-data.ts';
import type { Night } from '../../widgets/trend-chart/moves/nights.ts';
import { severityName } from '../pages/episodes.ts';

/** Where it says what it is not. */
const DISCLAIMER = t(
  'Not a medical device and no diagnosis. The values are computed from recordings as they are, with the quality that the signal had; a person has to judge them, with the strips.',
);

type Row = Readonly<{ cells: readonly Content[] }>;
type Measure = Readonly<{ name: string; unit: string }>;

/** What a day's values are measured in. */
const [rate, interval, share] = ['/min', 'ms', '%'].map((unit): Measure => ({ name: '', unit })) as [Measure, Measure, Measure];

const isVariability = /^[hp]rv_/;
/** Of the mean burden: from here on a window of the page of variability is said to look like fibrillation, too. */
const AF_PERCENT_MIN = 5;
/** What happens now and then: where it is seen in suspect windows alone, the good ones say that it never did. */
const isShareOfEvents = /_burden_/;
const isGreatest = /^(longest_rr_|ventricular_run_)/;
/** Couplets and runs of a window: their sum is a count. */
const isCount = ({ unit }: MethodLine['method']): boolean => unit.startsWith('{') && unit !== '{beats}' && unit !== '{score}';

export class ReportView {
  readonly #data: ReportData;
  readonly #locale: string;

  constructor(data: ReportData, locale: string) {
    this.#data = data;
    this.#locale = locale;
  }

  view(madeAtMs: number, version: string): TemplateResult {
    const { user, range, timeZone, endsWith } = this.#data;
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
        ${endsWith === null ? nothing : html`<p class="range-note">${earlierNote(endsWith)}</p>`}
        ${this.#data.computedToMs === null ? nothing : html`<p class="range-note"><strong>${partialNote(this.#data, this.#locale)}</strong></p>`}
        <p class="disclaimer"><strong>${DISCLAIMER}</strong></p>
      </header>
      ${this.#summary()} ${this.#recordings()} ${this.#measurements()} ${this.#trends()} ${this.#nights()} ${this.#methods()}
      ${this.#episodes()}
    </article>`;
  }

  #time = (ms: number): string => zonedTime(this.#locale, ms, this.#data.timeZone);

  /** As people read it: shares as every other share of the report, and what is counted with the decimals that a mean of few needs. */
  #value = (of: Measure, value: number | null): string => {
    if (value === null) return '–';
    const shown = convertUnit({ ...of, values: [value] }, null);
    if (shown.unit === '%') return percent(shown.values[0]! / 100);
    return shown.unit.startsWith('{') ? formatNumber(this.#locale, value, 2) : valueText(of, value);
  };

  #count = (value: number): string => formatNumber(this.#locale, Math.round(value));

  #summary(): TemplateResult {
    const { streams, moreStreams, measured, moreMeasured, episodes, more, nights } = this.#data;
    const heart = this.#line('hr_ecg') ?? this.#line('hr_ppg');
    const rmssd = this.#line('hrv_rmssd_300s') ?? this.#line('hrv_rmssd_60s');
    const resting = nights.flatMap(({ resting_hr: rate }) => rate ?? []);
    const count = episodes.length === 0 && this.#data.isComing ? '–' : `${episodes.length}${more ? '+' : ''}`;
    return html`<section>
      <h2>${t('Summary')}</h2>
      <dl class="figures">
        ${heart === undefined ? nothing : figure(t('Heart rate, mean'), this.#judged(heart, this.#value(heart.method, heart.totals.mean)))}
        ${heart === undefined ? nothing : figure(t('Heart rate of {window}, lowest to highest', { window: windowOf(heart) }), this.#judged(heart, this.#span(heart)))}
        ${resting.length === 0 ? nothing : figure(t('Lowest resting heart rate, of 30 min'), this.#value(rate, Math.min(...resting)))}
        ${rmssd === undefined ? nothing : figure(t('RMSSD of {window}, mean', { window: windowOf(rmssd) }), this.#judged(rmssd, this.#value(rmssd.method, rmssd.totals.mean)))}
        ${heart === undefined ? nothing : figure(t('Of the range covered'), shareText(heart.totals.good_n, heart.totals.expected_n))}
        ${figure(t('Recordings'), `${streams.length}${moreStreams ? '+' : ''}`)}
        ${measured.length === 0 ? nothing : figure(t('Measurements'), `${measured.length}${moreMeasured.length > 0 ? '+' : ''}`)}
        ${figure(t('Episodes'), count)}
      </dl>
      ${this.#data.lines.length === 0 ? html`<p>${this.#data.isComing ? t('Values are still being computed.') : t('No value was computed in this range.')}</p>` : nothing}
    </section>`;
  }

  #span = ({ method, totals }: MethodLine): string =>
    `${this.#value({ ...method, unit: '1' }, totals.min === null ? null : Math.round(totals.min))}\u00a0– ${this.#value(method, totals.max)}`;

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
            cell: ({ channels }) => {
              const names = channelNames(channels);
              return channels.map(({ code, rate_hz: rate }) => `${names.get(code)} ${formatNumber(this.#locale, rate, 4)} Hz`).join(', ');
            },
          },
        ],
        streams,
      )}
    </section>`;
  }

  #measurements(): TemplateResult | typeof nothing {
    const { measured, moreMeasured } = this.#data;
    if (measured.length === 0) return nothing;
    return html`<section>
      <h2>${t('Measurements')}</h2>
      ${
        moreMeasured.length === 0
          ? nothing
          : html`<p>
              <strong>
                ${t('There are more of these; of each, the latest {count} are listed: {names}.', { count: MEASUREMENTS_MAX, names: listed(moreMeasured.map(named)) })}
              </strong>
            </p>`
      }
      ${measuredTable(measured, this.#locale, (iso) => this.#time(Date.parse(iso)))}
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
          { name: t('Resting heart rate'), kind: 'num', cell: (night) => this.#value(rate, night.resting_hr) },
          { name: t('Night'), kind: 'num', cell: (night) => this.#value(rate, night.night_hr) },
          { name: t('Day, 9 to 21 h'), kind: 'num', cell: (night) => this.#value(rate, night.day_hr) },
          { name: t('Lower at night by'), kind: 'num', cell: (night) => this.#value(share, night.dip_percent) },
          { name: 'SDNN', kind: 'num', cell: (night) => this.#value(interval, night.sdnn_ms) },
          { name: 'SDANN', kind: 'num', cell: (night) => this.#value(interval, night.sdann_ms) },
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
      ${t('The rhythm looks like atrial fibrillation in {share} of the recordings (mean burden of five minutes): variability is then not that of sinus rhythm.', { share: percent(mean / 100) })}
    </p>`;
  }

  /** What the numbers of a row leave out, next to them. What happens now and then need not be in a good window. */
  #note({ method, totals }: MethodLine): TemplateResult | typeof nothing {
    const text = this.#left(method, totals);
    return text === null ? nothing : html` <small class="muted">${text}</small>`;
  }

  #left(method: MethodLine['method'], { good_n: good, mean, max, sum, suspect }: MethodLine['totals']): string | null {
    if (isCount(method)) {
      if (suspect === null) return t('{count} in all', { count: this.#count(sum ?? 0) });
      const more = this.#count(suspect.mean * suspect.n);
      if (good === 0) return t('{count} in all, of suspect windows alone', { count: more });
      return t('{count} in good windows, {more} more in suspect ones', { count: this.#count((mean ?? 0) * good), more });
    }
    if (suspect === null) return null;
    if (good === 0) return t('Of suspect values alone: none is good');
    const highest = this.#value(method, suspect.max);
    if (isShareOfEvents.test(method.name)) {
      const all = ((mean ?? 0) * good + suspect.mean * suspect.n) / (good + suspect.n);
      return t('With the suspect windows {mean}, in one of them up to {highest}', { mean: this.#value(method, all), highest });
    }
    return isGreatest.test(method.name) && suspect.max > (max ?? 0) ? t('Up to {highest} in suspect windows', { highest }) : null;
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
        ${t('Mean, lowest and highest are of the good values of the range; where none is good, of the suspect ones. Good: share of the values that were computed. Covered: good values, as a share of those that a recording of the whole range would have. Methods of different versions are not comparable.')}
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
                html`${namedWithCount(method)}${this.#note({ method, totals })}`,
                breakable(method.code),
                ...[totals.mean, totals.min, totals.max].map((value) => this.#value(method, value)),
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
        <p>${this.#data.isComing ? t('None so far: what came last is still being computed.') : t('None in this range.')}</p>
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
export const earlierNote = (endsWith: Ending): string =>
  endsWith === 'recording'
    ? t('Nothing was recorded in the last {count} days. The report is of the {count} days up to the newest recording.', {
        count: USUAL_DAYS,
      })
    : t('Nothing was recorded or measured in the last {count} days. The report is of the {count} days up to the newest measurement.', {
        count: USUAL_DAYS,
      });

/** What is missing of a report that was made too early. */
export const partialNote = ({ computedToMs, timeZone }: ReportData, locale: string): string =>
  t('This report is not whole: of what was recorded after {time}, values were still being computed when it was made.', {
    time: zonedTime(locale, computedToMs!, timeZone),
  });

const words = { open: t('not reviewed'), closed: t('reviewed'), cancelled: t('dismissed') } as const;

const windowOf = ({ method }: MethodLine): string => windowText(method.window_sec ?? 0);

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
