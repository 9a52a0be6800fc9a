/** Pages a list: reads the rows after the last one of the previous page, plus one that is not shown and tells whether there is another
 *  page. */
import { nextLink } from './cursor.ts';
import type { Cursors } from './cursor.ts';

/** Content of a cursor: the last row of a page, by the columns that the list is sorted by. */
type Key = readonly (string | number | null)[];

export type List = Readonly<{
  cursors: Cursors;
  /** Path of the list, with its parameters filled in. */
  path: string;
  /** The scope of a cursor: organization, subject and every filter of the query. */
  scope: string;
  query: Readonly<{ cursor?: string }>;
}>;

/** The key after which the page begins; null: it is the first. @throws PipelineError cursor_invalid */
export function pageStart({ cursors, scope, query }: List): Key | null {
  return query.cursor === undefined ? null : cursors.open(scope, query.cursor);
}

/** The header that leads to the rows after this one; none when there are none (null). */
export function nextPage({ cursors, path, scope, query }: List, last: Key | null): Readonly<Record<string, string>> {
  return last === null ? {} : { link: nextLink(path, query, cursors.seal(scope, last)) };
}

/** @param rows as read: up to `limit` + 1 */
export function page<Row>(
  list: List & Readonly<{ query: Readonly<{ limit: number }> }>,
  rows: readonly Row[],
  keyOf: (last: Row) => Key,
): Readonly<{ items: readonly Row[]; headers: Readonly<Record<string, string>> }> {
  const items = rows.slice(0, list.query.limit);
  const last = items.at(-1);
  return { items, headers: nextPage(list, rows.length > items.length && last !== undefined ? keyOf(last) : null) };
}
