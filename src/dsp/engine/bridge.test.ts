import { expect, test } from 'vitest';
import { GridBridge } from './bridge.ts';
import { LeadFeed } from './leads.ts';
import { seeded } from '../testing/fixture.ts';

/** Rows as [index, value] that come out of a bridge between two rates. */
function bridged(fromHz: number, toHz: number, cuts: readonly number[], missing: readonly number[] = []): [number, number][] {
  const rows: [number, number][] = [];
  const feed = new LeadFeed(1, toHz * 1e9, {
    begin() {},
    gap() {},
    rows: (leads, n, k) => {
      for (let i = 0; i < n; i++) rows.push([k + i, leads[0]![i]!]);
    },
  });
  const bridge = new GridBridge(feed.leads[0]!, fromHz * 1e9, toHz * 1e9);
  let k = 0;
  for (const n of cuts) {
    if (missing.includes(k)) bridge.pass(k + n);
    else
      bridge.run(
        k,
        Float64Array.from({ length: n }, (_, i) => (k + i) / fromHz),
        n,
      );
    feed.advance();
    k += n;
  }
  bridge.flush();
  feed.advance();
  return rows;
}

test.each([
  [25, 125],
  [32, 130.1],
  [52.7, 64],
  [100, 64],
  [400, 25.3],
])('a ramp at %d Hz is the same ramp at %d Hz, however it is cut', (fromHz, toHz) => {
  const total = Math.round(20 * fromHz);
  const whole = bridged(fromHz, toHz, [total]);
  expect(whole.length).toBeGreaterThan(19.5 * toHz);
  whole.forEach(([k, value], i) => {
    expect(k).toBe(i);
    expect(Math.abs(value - k / toHz)).toBeLessThan(1 / Math.min(fromHz, toHz) + 1e-6);
  });
  for (const seed of [1, 2]) {
    const random = seeded(seed);
    const cuts: number[] = [];
    for (let left = total; left > 0; left -= cuts.at(-1)!) cuts.push(Math.min(left, 1 + Math.floor(30 * random())));
    expect(bridged(fromHz, toHz, cuts)).toEqual(whole);
  }
});

test.each([
  [25, 125],
  [400, 25.3],
])('rows of passed samples are left out, %d to %d Hz', (fromHz, toHz) => {
  const second = Math.round(fromHz);
  const rows = bridged(fromHz, toHz, [5 * second, 2 * second, 5 * second], [5 * second]);
  expect(rows.filter(([k]) => k / toHz > 5.1 && k / toHz < 6.9)).toEqual([]);
  for (const [k, value] of rows) expect(Math.abs(value - k / toHz)).toBeLessThan(1 / Math.min(fromHz, toHz) + 1e-6);
});
