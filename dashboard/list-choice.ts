/** Search and order of a list that the page holds whole; both are kept in the address, as `search` and `sort`. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { formatNumber } from '../widgets/shared/format.ts';
import { holds } from './folded.ts';
import { locale, t } from './language.ts';
import { emptyState, moreButton, sortField } from './parts.ts';

/** A number sorts the largest first, a text from A to Z; what has neither comes last. */
export type Order<Row> = Readonly<{ name: string; by: (row: Row) => number | string | null }>;

/** Rows that are drawn at first, and more at each wish: a table of 1,000 devices has 34,000 elements,
 *  and takes a second and more to draw. */
const ROWS = 100;

export type ListPlace = Readonly<{
  query: URLSearchParams;
  keep: (filters: Readonly<Record<string, string>>) => void;
  redraw: () => void;
}>;

export class ListChoice<Row> {
  readonly #place: ListPlace;
  readonly #orders: readonly (readonly [key: string, order: Order<Row>])[];
  readonly #texts: (row: Row) => readonly (string | null)[];
  #sort: string;
  #search: string;
  readonly #step: number;
  #drawn: number;

  /** @param orders by their key in the address; the first holds while nobody has chosen
   *  @param texts what of a row is searched
   *  @param step rows that are drawn at first, and more at each wish */
  constructor(
    place: ListPlace,
    orders: Readonly<Record<string, Order<Row>>>,
    texts: (row: Row) => readonly (string | null)[],
    step: number = ROWS,
  ) {
    this.#place = place;
    this.#orders = Object.entries(orders);
    this.#texts = texts;
    this.#step = step;
    this.#drawn = step;
    this.#search = place.query.get('search') ?? '';
    const wanted = place.query.get('sort');
    this.#sort = (this.#orders.find(([key]) => key === wanted) ?? this.#orders[0]!)[0];
  }

  /** The rows that are sought, in the chosen order; those that are alike stay as they came. */
  of(rows: readonly Row[]): readonly Row[] {
    const found = this.#search === '' ? rows : rows.filter((row) => holds(this.#texts(row), this.#search));
    const { by } = this.#orders.find(([key]) => key === this.#sort)![1];
    return found.toSorted((a, b) => {
      const [one, other] = [by(a), by(b)];
      if (one === null || other === null) return Number(one === null) - Number(other === null);
      if (typeof one === 'number' && typeof other === 'number') return other - one;
      return String(one).localeCompare(String(other), locale, { numeric: true });
    });
  }

  /** The list; a sentence where the search finds nothing. */
  table(rows: readonly Row[], draw: (found: readonly Row[]) => TemplateResult): TemplateResult {
    const found = this.of(rows);
    if (found.length > 0 || this.#search === '') return draw(found);
    return emptyState(t('Nothing found'), t('Nothing in this list contains this text. Try a shorter part of it.'));
  }

  /** The first of the rows in their order, as many as are drawn. */
  drawn(rows: readonly Row[]): readonly Row[] {
    return rows.slice(0, this.#drawn);
  }

  /** Below the list, when it goes on. @param count of rows in the list */
  more(count: number): TemplateResult | typeof nothing {
    if (count <= this.#drawn) return nothing;
    const more = (): void => {
      this.#drawn += this.#step;
      this.#place.redraw();
    };
    // Paper has no button, and says that it is not all.
    const number = (n: number): string => formatNumber(locale, n);
    return html`<p class="muted">${t('{part} of {parts}', { part: number(this.#drawn), parts: number(count) })}</p>
      ${moreButton('', more)}`;
  }

  /** Draws the beginning of another list. */
  #again(): void {
    this.#drawn = this.#step;
    this.#place.redraw();
  }

  /** The fields above the list; none above one that needs no search. @param count of rows before the search */
  fields(count: number, placeholder: string): TemplateResult | typeof nothing {
    if (count < 2 && this.#search === '') return nothing;
    const search = (event: Event): void => {
      this.#search = (event.target as HTMLInputElement).value.trim();
      this.#place.keep({ search: this.#search });
      this.#again();
    };
    return html`<form class="row filters" role="search" @submit=${(event: Event) => event.preventDefault()}>
      <label class="wide"
        >${t('Search')}<input type="search" autocomplete="off" placeholder=${placeholder} .value=${this.#search} @input=${search}
      /></label>
      ${sortField(
        this.#orders.map(([key, { name }]) => [key, name] as const),
        this.#sort,
        (key) => {
          this.#sort = key;
          this.#place.keep({ sort: key === this.#orders[0]![0] ? '' : key });
          this.#again();
        },
      )}
    </form>`;
  }
}

/** A time as a number, the newest first. */
export const newest = (iso: string | null): number | null => (iso === null ? null : Date.parse(iso));
