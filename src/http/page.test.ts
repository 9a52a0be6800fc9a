import { expect, it } from 'vitest';
import { Cursors } from './cursor.ts';
import { nextPage, page, pageStart } from './page.ts';

const cursors = new Cursors(Buffer.alloc(32, 1));
const query: { limit: number; kind: string; cursor?: string } = { limit: 2, kind: 'a,b' };
const list = { cursors, path: '/things', scope: 'things of one', query };
const rows = [{ id: 'x' }, { id: 'y' }, { id: 'z' }];
const keyOf = ({ id }: { id: string }): readonly string[] => [id];

it('shows as many rows as were asked for, and leads to those after the last of them', () => {
  const { items, headers } = page(list, rows, keyOf);
  expect(items).toEqual([{ id: 'x' }, { id: 'y' }]);
  const cursor = /^<\/things\?limit=2&kind=a%2Cb&cursor=([\w-]+)>; rel="next"$/.exec(headers['link'] ?? '')?.[1] ?? '';
  expect(pageStart({ ...list, query: { ...query, cursor } })).toEqual(['y']);
  expect(() => pageStart({ ...list, scope: 'things of another', query: { ...query, cursor } })).toThrow('cursor');
});

it('ends at the last row', () => {
  expect(page(list, rows.slice(0, 2), keyOf)).toEqual({ items: rows.slice(0, 2), headers: {} });
  expect(page(list, [], keyOf)).toEqual({ items: [], headers: {} });
  expect(pageStart(list)).toBeNull();
  expect(nextPage(list, null)).toEqual({});
});
