/** Checks which rows a page of a recording has. */
import { expect, it } from 'vitest';
import { pageAt } from './recording-pages.ts';

const minute = 60_000;
const recording = { startMs: 0, endMs: 23.5 * minute, goesOn: false };

it('has a last page that is as full as the others', () => {
  expect(pageAt(recording, 0, minute, null)).toEqual({ fromMs: 0, rowMs: minute, count: 10 });
  expect(pageAt(recording, 12 * minute, minute, null).fromMs).toBe(10 * minute);
  expect(pageAt(recording, 23 * minute, minute, null).fromMs).toBe(14 * minute);
  expect(pageAt(recording, recording.endMs, 10_000, null).fromMs).toBe(22 * minute - 10_000);
});

it('does not turn the page at a step within it', () => {
  const last = pageAt(recording, 23 * minute, minute, null);
  expect(pageAt(recording, 15 * minute, minute, last)).toBe(last);
  expect(pageAt(recording, 13 * minute, minute, last).fromMs).toBe(10 * minute);
  const before = pageAt(recording, 12 * minute, minute, null);
  expect(pageAt(recording, 19 * minute, minute, before)).toBe(before);
  expect(pageAt(recording, 19 * minute, 10_000, before).fromMs).toBe(18 * minute + 20_000);
});

it('has no rows that a short recording does not fill', () => {
  expect(pageAt({ ...recording, endMs: 2.5 * minute }, minute, minute, null)).toEqual({ fromMs: 0, rowMs: minute, count: 3 });
  expect(pageAt({ ...recording, endMs: 0 }, 0, minute, null).count).toBe(1);
});

it('leaves rows where they are while more are recorded', () => {
  const live = { ...recording, goesOn: true };
  expect(pageAt(live, 23 * minute, minute, null)).toEqual({ fromMs: 20 * minute, rowMs: minute, count: 10 });
});
