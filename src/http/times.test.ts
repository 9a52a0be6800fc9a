import { describe, expect, it } from 'vitest';
import { isDate, isTime } from './times.ts';

describe('times', () => {
  // promise: range-ends
  it.each([
    '1900-01-01T00:00:00Z',
    '2199-12-31T23:59:59.999999999+14:00',
    '2024-02-29T23:59:59-03:30',
    '2026-01-05T08:00:00.123456789Z',
    '2000-02-29t00:00:00z',
    '1900-01-01T00:00:00-14:00',
  ])('takes %s', (text) => {
    expect(isTime(text)).toBe(true);
    expect(Number.isFinite(Date.parse(text))).toBe(true);
  });

  // promise: range-ends
  it.each([
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00Z',
    '1899-12-31T23:59:59Z',
    '2200-01-01T00:00:00Z',
    '9999-12-31T23:59:59Z',
    '2023-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-12-31T23:59:60Z',
    '2026-01-01T00:00:00',
    '2026-01-01T00:00:00+14:01',
    '2026-01-01T00:00:00+23:59',
    '2026-01-01T00:00:00.1234567890Z',
    '2026-01-01T00:00:00Z[Europe/Paris]',
    '2026-01-01 00:00:00Z',
    '1900-01-01T00:00:00+14:00',
    '2199-12-31T23:59:59-00:01',
    'now',
    'infinity',
    '',
  ])('refuses %s', (text) => expect(isTime(text)).toBe(false));

  it('takes days of the calendar only', () => {
    expect(['1900-01-01', '2024-02-29', '2199-12-31'].filter(isDate)).toHaveLength(3);
    expect(['0000-01-01', '2023-02-29', '2026-04-31', '2200-01-01', '2026-1-1', '26-01-01'].filter(isDate)).toEqual([]);
  });
});
