/** Times around a change of the clocks. */
import { expect, it } from 'vitest';
import { zonedTime } from './zoned-time.ts';

const at = (iso: string): number => Date.parse(iso);
const berlin = (iso: string, from = iso, to = iso, style: 'full' | 'seconds' | 'date' = 'full'): string =>
  zonedTime('en-GB', at(iso), 'Europe/Berlin', style, at(from), at(to));

// promise: clock-change-said
it('of a range in which the clocks are put back, says which of two equal times is meant', () => {
  const [from, to] = ['2025-10-26T00:30:00Z', '2025-10-26T01:20:00Z'];
  expect([berlin(from, from, to, 'seconds'), berlin(to, from, to, 'seconds')]).toEqual([
    '26 Oct 2025, 02:30:00 CEST',
    '26 Oct 2025, 02:20:00 CET',
  ]);
});

it('says so of a time that the clocks show twice, even where they do not change in the range', () => {
  expect(berlin('2025-10-26T00:10:00Z')).toBe('26 Oct 2025, 02:10 CEST');
  expect(berlin('2025-10-26T01:50:00Z')).toBe('26 Oct 2025, 02:50 CET');
});

it('leaves other times, and days, as they are', () => {
  expect(berlin('2025-10-25T12:00:00Z')).toBe('25 Oct 2025, 14:00');
  expect(berlin('2025-10-26T12:00:00.25Z', '2025-10-26T11:00:00.5Z', '2025-10-26T13:00:00.75Z')).toBe('26 Oct 2025, 13:00');
  expect(berlin('2025-10-26T00:10:00Z', '2025-10-20T00:00:00Z', '2025-10-27T00:00:00Z', 'date')).toBe('26 Oct 2025');
  expect(zonedTime('en-GB', at('2025-10-26T00:30:00Z'), 'UTC')).toBe('26 Oct 2025, 00:30');
});
