// Waves that may be something else than the beats of a heart: nothing that is made of them is good.
import { expect, test } from 'vitest';
import { streamRows } from '../../../accuracy/hrv-stream.ts';
import type { FeatureRow } from '../rows/feature-rows.ts';
import { ppgSqiGood } from '../ppg/quality.ts';
import { seeded } from '../testing/fixture.ts';

const seconds = 200;

type Of = { good: number; all: number };

/** How many values there are from 30 s on, and how many of them are good. */
function goodOf(samples: Float64Array, fs: number, feature: string): Of {
  const { features } = streamRows([{ code: 'ppg.green', kind: 'ppg', fs, unit: '1', samples }]);
  const settled = (features.get(feature) ?? []).filter(({ tNs }: FeatureRow) => Number(tNs) > 30e9);
  return { good: settled.filter(({ qmask }) => qmask === 0).length, all: settled.length };
}

/** Beats, and waves `dicrotic` as high half a beat later. */
function waves(perMin: number, fs: number, dicrotic: number): Float64Array {
  const random = seeded(5);
  const x = Float64Array.from({ length: fs * seconds }, () => 0.02 * (random() - 0.5));
  const add = (at: number, height: number, width: number): void => {
    for (let k = Math.max(0, Math.floor((at - 0.5) * fs)); k < Math.min(x.length, (at + 0.5) * fs); k++)
      x[k]! += height * Math.exp(-(((k / fs - at) / width) ** 2));
  };
  for (let t = 0.5; t < seconds;) {
    const interval = (60 / perMin) * (1 + 0.03 * Math.sin(2 * Math.PI * 0.25 * t) + 0.01 * (random() - 0.5));
    add(t, 1, 0.075);
    add(t + interval / 2, dicrotic, 0.09);
    t += interval;
  }
  return x;
}

test.each([
  [25, 1.25, 0.02],
  [50, 1.5, 0.2],
  [64, 0.8, 0.02],
  [64, 3, 0.02],
  [100, 2, 0.2],
])('the tone of a vibration, or of a lamp, is no good pulse, nor a sensor that is surely worn: %d Hz, %f Hz, noise %f', (fs, toneHz, noise) => {
  const random = seeded(3);
  const x = Float64Array.from({ length: fs * seconds }, (_, i) => 5 + Math.sin((2 * Math.PI * toneHz * i) / fs) + 2 * noise * (random() - 0.5));
  for (const feature of ['hr_ppg', 'hr_ppg_motion', 'prv_rmssd_60s', 'worn_ppg']) {
    const { good, all } = goodOf(x, fs, feature);
    expect(all, feature).toBeGreaterThan(10);
    expect(good, feature).toBe(0);
  }
}); // prettier-ignore

test.each([
  [45, 0.35],
  [45, 0.6],
  [60, 0.6],
  [60, 0.9],
  [75, 0.8],
  [75, 1],
  [90, 0.6],
])('a pulse of %d /min with dicrotic waves %f as high half a beat later is not good at twice its rate', (perMin, dicrotic) => {
  const x = waves(perMin, 100, dicrotic);
  for (const feature of ['hr_ppg', 'hr_ppg_motion', 'prv_rmssd_60s']) expect(goodOf(x, 100, feature).good, feature).toBe(0);
});

test('pulses that are high and low by turns stay good where the second comes too late for a dicrotic wave', () => {
  const { good, all } = goodOf(waves(35, 100, 0.7), 100, 'hr_ppg');
  expect(good).toBeGreaterThan(0.9 * all);
});

test('seconds of doubtful waves keep their order: those in more noise have the lower index', () => {
  const indices = (noise: number): number[] => {
    const random = seeded(8);
    const samples = waves(75, 100, 0.8).map((value) => value + noise * (random() - 0.5));
    const { features } = streamRows([{ code: 'ppg.green', kind: 'ppg', fs: 100, unit: '1', samples }]);
    return (features.get('sqi_ppg') ?? []).filter(({ tNs }) => Number(tNs) > 30e9 && Number(tNs) < 190e9).map(({ value }) => value);
  };
  const median = (x: readonly number[]): number => x.toSorted((a, b) => a - b)[x.length >> 1]!;
  const [quiet, noisy] = [indices(0.02), indices(0.3)];
  expect(median(quiet)).toBeGreaterThan(0.9);
  expect(median(quiet)).toBeGreaterThan(median(noisy));
  expect(Math.max(...quiet)).toBeLessThan(ppgSqiGood);
});
