/** The charge of a device, as a picture and a number. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { t } from './language.ts';
import { percent } from './parts.ts';

/** Below this a device needs attention, %. */
export const BATTERY_PERCENT_MIN = 20;

export function batteryLevel(level: number): TemplateResult {
  const low = level < BATTERY_PERCENT_MIN;
  return html`<span class="battery ${low ? 'low' : ''}"
    ><svg viewBox="0 0 26 12" aria-hidden="true">
      <rect x=".75" y=".75" width="21.5" height="10.5" rx="2" />
      <path d="M24 4v4" />
      <rect class="level" x="2.5" y="2.5" width=${Math.max(1, (18 * level) / 100)} height="7" rx="1" /></svg
    >${percent(Math.round(level) / 100)}${low ? html` <span class="attention">${t('low|battery')}</span>` : nothing}</span
  >`;
}
