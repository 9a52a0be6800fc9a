/** A list that the page holds whole is drawn a part at a time. */
import { nothing } from 'lit-html';
import { expect, it } from 'vitest';
import { ListChoice } from '../../dashboard/list-choice.ts';

it('draws the first hundred rows of a thousand, and goes on when asked', () => {
  let draws = 0;
  const place = { query: new URLSearchParams(), keep: () => undefined, redraw: () => void (draws += 1) };
  const list = new ListChoice<number>(place, { row: { name: 'Row', by: (row) => -row } }, (row) => [String(row)]);
  const rows = list.of(Array.from({ length: 1000 }, (_, i) => i));
  expect(list.drawn(rows)).toEqual(Array.from({ length: 100 }, (_, i) => i));
  expect(list.more(100)).toBe(nothing);
  const button = list.more(1000);
  if (button === nothing) throw new Error('no button');
  const inside = button.values.flatMap((value) => (value as { values?: unknown[] }).values ?? []);
  (inside.find((value) => typeof value === 'function') as () => void)();
  expect(draws).toBe(1);
  expect(list.drawn(rows)).toHaveLength(200);
});
