/** The numbers of a chart in words: its legend, the readout of a row, the table. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { WHOLE } from '../shared/buckets.ts';
import type { Series } from '../shared/data.ts';
import { formatValue, unitLabel } from '../shared/format.ts';
import { qualityMark } from '../shared/quality.ts';
import type { traceTextFor } from '../shared/trace-strings.ts';
import { zonedTime } from '../shared/zoned-time.ts';
import type { Shown } from './moves-host.ts';

type TextArguments = Parameters<typeof traceTextFor> extends [string, ...infer Rest] ? Rest : never;
export type Saying = Readonly<{ locale: string; timeZone: string | undefined; text: (...of: TextArguments) => string }>;

/** Rows of the table: the newest ones; the chart shows all. */
const TABLE_ROWS = 200;

/** Above each plot: which line is which, its unit, and its newest value. */
export function legendOf(group: readonly Series[], { locale, text }: Saying): TemplateResult {
  return html`<ul class="legend">
    ${group.map((item, place) => {
      const { name, unit, newest, method_codes: versions } = item;
      return html`<li>
        <svg class="line c${place % 4}" viewBox="0 0 26 8" aria-hidden="true">
          <path d="M0 4H26" stroke="currentColor" stroke-width="2.5" stroke-dasharray=${['none', '8 4', '2 4', '12 4 2 4'][place % 4]!} />
        </svg>
        <span>${name}</span>
        ${
          !newest
            ? html`<span class="muted">${text(noneOf(item))}</span>`
            : html`<span><b part="value">${formatValue(locale, newest.value, item)}</b><span class="unit">${unitLabel(unit)}</span></span>
                ${qualityMark(newest.flag, locale)}`
        }
        ${versions?.[1] ? html`<span class="muted">${versions.join(', ')}</span>` : nothing}
      </li>`;
    })}
  </ul>`;
}

/** Where nothing was measured, there is nothing that is not usable. */
const noneOf = ({ flags }: Series) => (flags.some((flag) => flag > 0) ? 'noValue' : 'empty');

export function summaryOf({ series }: Shown, { locale, text }: Saying): string {
  return series
    .map((item) => {
      const { name, unit, newest, range, goodShare } = item;
      const [min, , max] = range;
      if (!newest && min === null) return `${name}: ${text(noneOf(item))}`;
      const show = (value: number | null = null): string => `${formatValue(locale, value, item)} ${unitLabel(unit)}`;
      const summary = text('summary', { latest: show(newest?.value), min: show(min), max: show(max) });
      return `${name}: ${summary}, ${text('goodShare', { percent: percent(locale, goodShare) })}`;
    })
    .join('. ');
}

export function readoutOf(data: Shown, row: number | null, say: Saying): TemplateResult {
  const timeMs = data.series[0]?.timesMs[row ?? -1];
  if (row === null || timeMs === undefined) return html`<span class="muted">${say.text('readHint')}</span>`;
  return html`<span>${timeOf(data, timeMs, say)}</span> ${data.series.map((item) => {
      return html`<span
        >${item.name}: <b>${valueOf(item, row, say) ?? say.text('noValue')}</b> ${unitLabel(item.unit)} ${markOf(item, row, say)}</span
      >`;
    })}`;
}

export function tableOf(data: Shown, heading: string, say: Saying): TemplateResult {
  const rows = data.series[0]!.timesMs.map((timeMs, i) => ({ timeMs, i })).slice(-TABLE_ROWS);
  rows.reverse();
  return html`<div class="scroll" part="table" tabindex="0" role="region" aria-label=${heading}>
    <table>
      <thead>
        <tr>
          <th scope="col">${say.text('time')}</th>
          ${data.series.map(
            ({ name, unit }) =>
              html`<th scope="col" class="num">${name} ${unitLabel(unit) === '' ? nothing : `(${unitLabel(unit)})`}</th>
                <th scope="col">${say.text('quality')}</th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ({ timeMs, i }) =>
            html`<tr>
              <td>${timeOf(data, timeMs, say)}</td>
              ${data.series.map((item) => {
                return html`<td class="num">${valueOf(item, i, say) ?? '–'}</td>
                  <td>${markOf(item, i, say)}</td>`;
              })}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** With seconds where steps are shorter than a minute, or all of it is short. */
export function timeOf({ series, daily, fromMs, toMs }: Shown, timeMs: number, { locale, timeZone }: Saying): string {
  const style = daily ? 'date' : Math.min(series[0]!.stepMs, (toMs - fromMs) / 10) < 60_000 ? 'seconds' : 'full';
  return zonedTime(locale, timeMs, timeZone, style, fromMs, toMs);
}

/** The value of a bucket, and its extremes where they differ; null: none that may be shown. */
function valueOf(item: Series, row: number, { locale }: Saying): string | null {
  const { values, lows, highs } = item;
  const value = values[row] ?? null;
  const [text, low, high] = [value, lows[row], highs[row]].map((number = null) => formatValue(locale, number, item));
  return value === null ? null : `${text}${low === high ? '' : ` (${low} – ${high})`}`;
}

/** Nothing where nothing was measured; with the share of good values where some of what is due is missing. */
function markOf(item: Series, row: number, { locale }: Saying): TemplateResult | typeof nothing {
  const flag = item.flags[row] ?? 0;
  if (item.values[row] === null && flag === 0) return nothing;
  const share = item.shares[row]!;
  return html`${qualityMark(flag, locale)}${share < WHOLE ? ` ${percent(locale, share)}` : nothing}`;
}

const percent = (locale: string, share: number): string => new Intl.NumberFormat(locale, { style: 'percent' }).format(share);
