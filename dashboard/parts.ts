/** Pieces that every page is made of, so that all look and behave alike. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { locale, plural, t } from './language.ts';

export type Content = TemplateResult | string | number | typeof nothing | readonly (TemplateResult | string)[];

/** A list that becomes cards on a phone: every cell carries the name of its column. */
export type Column<Row> = Readonly<{ name: string; cell: (row: Row) => Content; kind?: 'num' | 'actions' }>;

export function tableOf<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  off: (row: Row) => boolean = () => false,
  /** On a phone: short values side by side instead of one per line. */
  dense = false,
): TemplateResult {
  return html`<div class="scroll">
    <table class=${dense ? 'cards dense' : 'cards'}>
      <thead>
        <tr>
          ${columns.map(
            ({ name, kind }) =>
              html`<th scope="col" class=${kind ?? nothing}>${kind === 'actions' ? html`<span class="vh">${name}</span>` : name}</th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr class=${off(row) ? 'off' : nothing}>
              ${columns.map(({ name, cell, kind }) => html`<td class=${kind ?? nothing} data-name=${kind === 'actions' ? '' : name}><div>${cell(row)}</div></td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** Below a list of which there is more. */
export function moreButton(next: string | null, load: () => void): TemplateResult | typeof nothing {
  return next === null ? nothing : html`<div class="more"><button type="button" @click=${load}>${t('Show more')}</button></div>`;
}

/** What a page says where there is nothing yet, and what to do about it. */
export function emptyState(title: string, text: Content): TemplateResult {
  return html`<div class="empty">
    <svg viewBox="0 0 64 24" aria-hidden="true"><path d="M1 13h20l4-5 6 12 6-16 4 9h22" /></svg>
    <p class="empty-title">${title}</p>
    <p class="muted">${text}</p>
  </div>`;
}

/** Grey bars where a list will be. */
export function skeleton(): TemplateResult {
  return html`<div class="card skeletons" aria-hidden="true"><i></i><i></i><i></i><i></i></div>`;
}

export type Tone = 'good' | 'warn' | 'bad' | 'off';
const marks: Readonly<Record<Tone, string>> = { good: '●', warn: '▲', bad: '✕', off: '○' };

/** A state in shape, word and colour. */
export function badge(tone: Tone, word: string): TemplateResult {
  return html`<span class="badge ${tone}"><span aria-hidden="true">${marks[tone]}</span>${word}</span>`;
}

type Listed = Readonly<{ xuser_id: string; external_id: string; display_name: string }>;

/** A person in a list: their name, where they have one, and the id that the application knows them by. A name is isolated: it may be
 *  written from right to left. */
export function personLink({ xuser_id: id, external_id: external, display_name: name }: Listed): TemplateResult {
  return html`<a href="#/users/${id}"><bdi>${name || external}</bdi></a>
    ${name === '' ? nothing : html`<span class="muted"><bdi>${external}</bdi></span>`}`;
}

type Named = Readonly<{ id: string; name: string }>;

/** What something belongs to: a project, or all of them. */
export function projectName(projects: readonly Named[], id: string | null): Content {
  return id === null ? html`<span class="muted">${t('all')}</span>` : (projects.find((project) => project.id === id)?.name ?? id);
}

/** The field `project` of a form: one, or '' for all. */
export function projectSelect(projects: readonly Named[]): TemplateResult {
  return html`<label
    >${t('Project')}
    <select name="project">
      <option value="">${t('All projects')}</option>
      ${projects.map(({ id, name }) => html`<option value=${id}>${name}</option>`)}
    </select></label
  >`;
}

/** The order of a list. */
export function sortField<T extends string>(
  sorts: readonly (readonly [T, string])[],
  chosen: T,
  choose: (choice: T) => void,
): TemplateResult {
  return html`<label
    >${t('Sort by')}
    <select name="sort" @change=${(event: Event) => choose((event.target as HTMLSelectElement).value as T)}>
      ${sorts.map(([value, name]) => html`<option value=${value} ?selected=${value === chosen}>${name}</option>`)}
    </select></label
  >`;
}

/** Choices of which one holds. */
export function chips<T extends string>(
  label: string,
  choices: readonly (readonly [T, string])[],
  chosen: T,
  choose: (choice: T) => void,
): TemplateResult {
  return html`<div class="chips" role="group" aria-label=${label}>
    ${choices.map(
      ([value, name]) =>
        html`<button type="button" aria-pressed=${value === chosen ? 'true' : 'false'} @click=${() => choose(value)}>${name}</button>`,
    )}
  </div>`;
}

/** A number that matters, with its name. */
export function figure(name: string, value: Content, tone: Tone | null = null): TemplateResult {
  return html`<div class="figure ${tone ?? ''}">
    <dt>${name}</dt>
    <dd>${value}</dd>
  </div>`;
}

const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });

/** 1.2 s, 5 s, 340 ms. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  if (Math.abs(ms) < 1000) return `${whole.format(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${tenths.format(seconds)} s`;
  const rounded = Math.round(seconds);
  if (rounded < 3600) return `${Math.floor(rounded / 60)} min ${rounded % 60} s`;
  return seconds < 172_800 ? `${tenths.format(seconds / 3600)} h` : plural(Math.round(seconds / 86_400), '1 day', '{count} days');
}

/** How long something lasted, ms: of one value, or of a press of a button, there is no length. */
export const lasted = (ms: number): string => (ms === 0 ? t('a moment') : duration(ms));

export function percent(share: number): string {
  const format = Math.abs(share) < 0.1 ? tenths : whole;
  return `${share > 0 && share < 0.001 ? `<${tenths.format(0.1)}` : format.format(share * 100)} %`;
}

/** A name of code may be broken after its underscores. */
export const breakable = (code: string): TemplateResult => html`${code.split(/(?<=_)/).map((part) => html`${part}<wbr />`)}`;
