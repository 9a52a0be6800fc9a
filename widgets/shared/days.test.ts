/** Days of 23 and 25 hours, and zones whose clocks change at midnight. */
import { expect, it } from 'vitest';
import { addDays, atWallTime, startOfDay, wallTime } from './days.ts';

const at = (iso: string): number => Date.parse(iso);
const iso = (ms: number): string => new Date(ms).toISOString();

it.each([
  ['Europe/Berlin', '2026-03-29T12:00:00Z', '2026-03-28T23:00:00.000Z', 23],
  ['Europe/Berlin', '2026-10-25T12:00:00Z', '2026-10-24T22:00:00.000Z', 25],
  ['Europe/Berlin', '2026-06-01T12:00:00Z', '2026-05-31T22:00:00.000Z', 24],
  ['America/New_York', '2026-03-08T20:00:00Z', '2026-03-08T05:00:00.000Z', 23],
  ['Africa/Cairo', '2026-04-24T10:00:00Z', '2026-04-23T22:00:00.000Z', 23], // midnight is skipped
  ['Asia/Kathmandu', '2026-01-01T00:00:00Z', '2025-12-31T18:15:00.000Z', 24],
])('in %s the day of %s begins at %s and has %i hours', (zone, time, start, hours) => {
  const from = startOfDay(at(time), zone);
  expect(iso(from)).toBe(start);
  expect((startOfDay(addDays(at(time), 1, zone), zone) - from) / 36e5).toBe(hours);
});

it('goes from day to day by the clock', () => {
  expect(iso(addDays(at('2026-03-28T17:30:00Z'), 1, 'Europe/Berlin'))).toBe('2026-03-29T16:30:00.000Z');
  expect(iso(addDays(at('2026-03-29T16:30:00Z'), -1, 'Europe/Berlin'))).toBe('2026-03-28T17:30:00.000Z');
});

it('takes the first of two equal times of the clock, and one that is skipped as if the clocks had not been changed', () => {
  expect(iso(atWallTime(at('2026-10-25T02:30:00Z'), 'Europe/Berlin'))).toBe('2026-10-25T00:30:00.000Z');
  expect(iso(atWallTime(at('2026-03-29T02:30:00Z'), 'Europe/Berlin'))).toBe('2026-03-29T01:30:00.000Z');
});

it('keeps milliseconds, also before 1970', () => {
  for (const time of [1_700_000_000_123, -86_400_123]) expect(atWallTime(wallTime(time, 'Asia/Tokyo'), 'Asia/Tokyo')).toBe(time);
});
