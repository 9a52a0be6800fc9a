/** Rows, axes and labels of a chart, without drawing one. */
import { expect, it } from 'vitest';
import type { Series } from '../shared/data.ts';
import { byUnit } from './by-unit.ts';
import { honestRange, withHoles } from './plot.ts';
import { rangeLabel } from './trend-chart.ts';

const series = (timesMs: number[], values: (number | null)[], more: Partial<Series> = {}): Series =>
  ({ timesMs, values, flags: values.map(() => 0), unit: 'ms', ...more }) as Series;

it('puts an explicit hole where buckets are missing', () => {
  const rows = withHoles([series([0, 1000, 2000, 9000, 10_000], [1, 2, 3, 4, 5])]);
  expect(rows).toEqual({ timesSec: [0, 1, 2, 3, 9, 10], columns: [[1, 2, 3, null, 4, 5]], rowOf: [0, 1, 2, -1, 3, 4], stepMs: 1000 });
});

it('breaks where a bucket is missing that a value is due in, however few there are', () => {
  const few = { bucketMs: 1000, shares: [1, 1], lows: [], highs: [] };
  expect(withHoles([series([0, 9000], [1, 2], few)]).columns).toEqual([[1, null, 2]]);
  expect(withHoles([series([0, 9000], [1, 2])]).columns).toEqual([[1, 2]]);
});

it('draws on over rows in which only the other series has a value, and breaks at a bad one', () => {
  const timesMs = [0, 1000, 2000, 3000, 4000];
  const sparse = series(timesMs, [10, null, 30, null, 50]);
  const dense = series(timesMs, [1, 2, null, 4, 5], { flags: [0, 0, 2, 0, 0] });
  expect(withHoles([sparse, dense]).columns).toEqual([
    [10, undefined, 30, undefined, 50],
    [1, 2, null, 4, 5],
  ]);
});

it('does not miss what is not due yet: before the first and after the last value of one that comes more seldom', () => {
  const timesMs = Array.from({ length: 10 }, (_, i) => 1000 * i);
  const sparse = series(timesMs, [null, null, 10, null, null, 20, null, null, null, null]);
  const dense = series(timesMs, timesMs);
  expect(withHoles([sparse, dense]).columns[0]).toEqual([
    undefined,
    undefined,
    10,
    undefined,
    undefined,
    20,
    undefined,
    undefined,
    null,
    null,
  ]);
  // A minute after the last of every minute is due.
  const every = series(timesMs, [null, 1, 2, 3, null, null, null, null, null, null], { bucketMs: 1000 });
  expect(withHoles([every, dense]).columns[0]).toEqual([null, 1, 2, 3, null, null, null, null, null, null]);
});

it('leaves out rows without anything', () => {
  expect(withHoles([series([0, 1000, 2000], [1, null, 3])]).rowOf).toEqual([0, 2]);
});

it('never blows a still line up, and shows nothing below zero of what has none', () => {
  const [low, high] = honestRange(100, 100.1, null);
  expect(high - low).toBeGreaterThanOrEqual(10);
  expect(honestRange(0.1, 5, null)[0]).toBe(0);
  expect(honestRange(-5, 5, null)[0]).toBeLessThan(-5);
  // Of a day without a step: an axis of 0, 1, 2, not of 0, 0, 0.
  expect(honestRange(0, 0, null)[1]).toBeGreaterThan(2);
});

it('keeps a reference range in view when it is near, and not when it is far', () => {
  expect(honestRange(70, 90, { low: 60, high: 100 })).toEqual([58.4, 101.6]);
  expect(honestRange(70, 90, { low: -Infinity, high: 1000 })[1]).toBeLessThan(95);
});

it('puts series of one unit in one plot, in the order of the attribute', () => {
  const [a, b, c] = ['/min', 'ms', '/min'].map((unit) => series([], [], { unit })) as [Series, Series, Series];
  expect(byUnit([a, b, c])).toEqual([[a, c], [b]]);
  expect(byUnit([a, b, c])[0]![1]).toBe(c);
});

it.each([
  ['15m', '15 min'],
  ['24h', '24 hr'],
  ['7d', '7 days'],
  ['PT1H', 'PT1H'],
])('the range %s is called %s', (range, label) => {
  expect(rangeLabel(range, 'en')).toBe(label);
});
