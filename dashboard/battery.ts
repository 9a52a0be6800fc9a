/** The charge of a device, as a picture and a number. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';

/** Below this a device needs attention, %. */
export const BATTERY_PERCENT_MIN = 20;

export function batteryLevel(percent: number): TemplateResult {
  const low = percent < BATTERY_PERCENT_MIN;
  return html`<span class="battery ${low ? 'low' : ''}"
    ><svg viewBox="0 0 26 12" aria-hidden="true">
      <rect x=".75" y=".75" width="21.5" height="10.5" rx="2" />
      <path d="M24 4v4" />
      <rect class="level" x="2.5" y="2.5" width=${Math.max(1, (18 * percent) / 100)} height="7" rx="1" /></svg
    >${Math.round(percent)} %${low ? html` <span class="attention">low</span>` : nothing}</span
  >`;
}
