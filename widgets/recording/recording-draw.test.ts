import { expect, it } from 'vitest';
import { rangeOf } from './recording-draw.ts';

const STEP_MS = 50;
/** Ten minutes with a beat of 1 mV each second; off the skin, at 5 mV, for a share of it. */
function page(offShare: number): { min: number[]; max: number[]; stepMs: number } {
  const count = 600_000 / STEP_MS;
  const values = Array.from({ length: count }, (_, i) => (i < offShare * count ? 5 : i % 20 === 0 ? 1 : 0));
  return { min: values, max: values.map((value) => value + 0.02), stepMs: STEP_MS };
}

it('scales a page by its beats while an electrode is off for minutes of it', () => {
  for (const share of [0, 0.04, 0.3]) {
    const { low, high } = rangeOf([page(share)]);
    expect(low, `${share}`).toBeCloseTo(0, 1);
    expect(high, `${share}`).toBeCloseTo(1, 1);
  }
});

it('shows what there is of a signal that is flat, and of none', () => {
  expect(rangeOf([{ min: [3, 3], max: [3, 3], stepMs: 1000 }])).toEqual({ low: 2, high: 4 });
  expect(rangeOf([])).toEqual({ low: -1, high: 1 });
});
