/** The mark next to every value: shape, word and colour say the same, so that none of them is needed. */
import { html, svg } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { textFor } from './strings.ts';

/** A full disc, a triangle, a cross: told apart in grey and at 10 px. */
const shapes = [
  svg`<circle cx="5" cy="5" r="4.5" fill="currentColor"/>`,
  svg`<path d="M5 .3 9.8 9.5H.2z" fill="currentColor"/>`,
  svg`<path d="M1.2 1.2 8.8 8.8M8.8 1.2 1.2 8.8" stroke="currentColor" stroke-width="2.4" fill="none"/>`,
];

export function qualityMark(flag: number, locale: string): TemplateResult {
  const level = Math.min(flag, 2);
  const word = textFor(locale, (['good', 'suspect', 'bad'] as const)[level]!);
  return html`<span class="q q${level}" part="quality"><svg viewBox="0 0 10 10" aria-hidden="true">${shapes[level]}</svg>${word}</span>`;
}
