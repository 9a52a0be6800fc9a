/** Heart rates and longest intervals of made-up patients whose beats are missed, or whose T waves are taken for beats: what is wrong is not
 *  good, and what is right stays good. */
import { describe, expect, test } from 'vitest';
import { streamRows } from '../../../accuracy/hrv-stream.ts';
import type { EcgShape } from '../testing/ecg-fixture.ts';
import { ecgShapes, makeEcg, makeRhythm } from '../testing/ecg-fixture.ts';
import { seeded } from '../testing/fixture.ts';

const fs = 250;
const seconds = 180;

type Row = Readonly<{ sec: number; value: number; flag: number }>;

function rowsOf(samples: Float64Array): { rates: Row[]; longest: Row[]; sqi: Row[] } {
  const { features } = streamRows([{ code: 'ecg.ii', kind: 'ecg', fs, unit: 'mV', samples }]);
  const of = (feature: string): Row[] =>
    (features.get(feature) ?? [])
      .map(({ tNs, value, qmask }) => ({ sec: Number(tNs) / 1e9, value, flag: qmask }))
      .filter(({ sec }) => sec > 25);
  return { rates: of('hr_ecg'), longest: of('longest_rr_10s'), sqi: of('sqi_ecg') };
}

const sum = (a: Float64Array, b: Float64Array): Float64Array => a.map((v, i) => v + b[i]!);
const ecg = (shape: EcgShape, beats: readonly number[], pWaves: readonly number[], noiseMv = 0.01): Float64Array =>
  makeEcg({ fs, seconds, shape, beats, pWaves, noiseMv, seed: 3 });

/** Sinus rhythm of 75 /min in which each `between`-th beat is followed by a ventricular one, 0.5 s later, and a pause. */
function ectopy(between: number): { normal: number[]; ventricular: number[] } {
  const random = seeded(4);
  const normal: number[] = [];
  const ventricular: number[] = [];
  for (let t = 0.8; t < seconds - 2;) {
    normal.push(t);
    const isEctopic = normal.length % between === 0;
    if (isEctopic) ventricular.push(t + 0.5 + 0.01 * (random() - 0.5));
    t += (isEctopic ? 1.6 : 0.8) + 0.02 * (random() - 0.5);
  }
  return { normal, ventricular };
}

/** Ventricular beats of 0.15 s, which are below the band in which beats are sought, and their T waves. */
const wide = (mV: number): EcgShape => ({ p: [], qrs: [[mV, 0, 0.032]], t: [[-0.3 * mV, 0.28, 0.06]] });

describe('low ventricular beats that are not found', () => {
  test.each([
    [1, 0.3, 37],
    [2, 0.3, 53],
    [1, 0.4, 37],
  ])('after each %d. beat, of %f mV: the rate, %d /min, is not good', (between, mV, wrong) => {
    const { normal, ventricular } = ectopy(between);
    const x = sum(ecg(ecgShapes.usual, normal, normal.map((t) => t - 0.17)), ecg(wide(mV), ventricular, [], 0)); // prettier-ignore
    const { rates, longest } = rowsOf(x);
    const missed = rates.filter(({ value }) => value < wrong + 7);
    expect(missed.length).toBeGreaterThan(40);
    // in noise, one of a pair may be no higher than the P waves
    expect(missed.filter(({ flag }) => flag === 0).length).toBeLessThanOrEqual(0.02 * missed.length);
    const long = longest.filter(({ value }) => value > 1400);
    expect(long.length).toBeGreaterThan(8);
    expect(long.filter(({ flag }) => flag === 0)).toEqual([]);
  });

  test.each(['usual', 'tall P', 'deep S', 'notched P'] as const)('nor is anything like them seen in a slow heart: %s', (shape) => {
    const { beats, pWaves } = makeRhythm(seconds, 37, () => true, 5);
    const { rates, longest } = rowsOf(ecg(ecgShapes[shape], beats, pWaves));
    expect(rates.filter(({ flag }) => flag > 0)).toEqual([]);
    expect(longest.filter(({ flag }) => flag > 0)).toEqual([]);
  });

  test('nor in P waves that are not conducted', () => {
    const { beats, pWaves } = makeRhythm(seconds, 76, (wave) => wave % 2 === 0, 5);
    const { rates } = rowsOf(ecg(ecgShapes.usual, beats, pWaves));
    for (const { value } of rates) expect(value).toBeLessThan(42);
    expect(rates.filter(({ flag }) => flag > 0).length).toBeLessThan(0.05 * rates.length);
  });
});

test('electrical alternans in an effusion: half of the rate is not good', () => {
  const { beats, pWaves } = makeRhythm(seconds, 110, () => true, 5);
  const low = (mV: number): EcgShape => ({ p: [[0.04, 0, 0.02]], qrs: [[mV, 0, 0.011], [-0.2 * mV, 0.027, 0.01]], t: [[0.05, 0.24, 0.045]] }); // prettier-ignore
  const every = (odd: number): number[] => beats.filter((_, i) => i % 2 === odd);
  const { rates } = rowsOf(sum(ecg(low(0.28), every(1), pWaves), ecg(low(0.1), every(0), [], 0)));
  const half = rates.filter(({ sec, value }) => value < 70 && sec < seconds - 5);
  expect(half.length).toBeGreaterThan(60);
  expect(half.filter(({ flag }) => flag === 0)).toEqual([]);
});

test.each([0.2, 0.15, 0.1])('a fall of the gain to %f is no good pause', (gain) => {
  const { beats, pWaves } = makeRhythm(seconds, 70, () => true, 5);
  const x = ecg(ecgShapes.usual, beats, pWaves);
  for (let i = 100 * fs; i < 104 * fs; i++) x[i] = gain * x[i]!;
  const long = rowsOf(x).longest.filter(({ value }) => value > 1200);
  expect(long).toHaveLength(1);
  expect(long[0]!.flag).toBeGreaterThan(0);
});

test('a lead turned over has the same values and flags', () => {
  const { normal, ventricular } = ectopy(3);
  const late: EcgShape = { ...ecgShapes.usual, t: [[0.4, 0.38, 0.06]] };
  const x = sum(ecg(late, normal, normal.map((t) => t - 0.17), 0.02), ecg(wide(0.35), ventricular, [], 0)); // prettier-ignore
  expect(rowsOf(x.map((v) => -v))).toEqual(rowsOf(x));
});

describe('T waves that are taken for beats', () => {
  test.each([
    [
      'high and narrow, at 70 /min',
      70,
      [
        [0.7, 0, 0.016],
        [-0.2, 0.04, 0.012],
      ],
      [1.1, 0.24, 0.025],
    ],
    ['high and narrow, at 45 /min', 45, [[0.6, 0, 0.02]], [1.2, 0.26, 0.022]],
    ['of low QRS complexes', 70, [[0.3, 0, 0.012]], [0.8, 0.28, 0.03]],
  ] as const)('%s: neither the rate nor the beats nor the longest interval are good', (_, perMin, qrs, t) => {
    // prettier-ignore
    const { beats } = makeRhythm(seconds, perMin, () => true, 5);
    const { rates, longest, sqi } = rowsOf(ecg({ p: [], qrs, t: [t] }, beats, []));
    const doubled = rates.filter(({ value }) => value > 1.4 * perMin);
    expect(doubled.length).toBeGreaterThan(100);
    expect(doubled.filter(({ flag }) => flag === 0)).toEqual([]);
    const short = longest.filter(({ value }) => value < 54_000 / perMin);
    expect(short.length).toBeGreaterThan(8);
    expect(short.filter(({ flag }) => flag === 0)).toEqual([]);
    const doubledAt = new Set(doubled.map(({ sec }) => sec));
    const inside = sqi.filter(({ sec }) => doubledAt.has(sec - 5) && doubledAt.has(sec + 5));
    expect(inside.length).toBeGreaterThan(60);
    expect(inside.filter(({ flag }) => flag === 0).length).toBeLessThanOrEqual(0.03 * inside.length);
  });

  test('bigeminy with later beats is not taken for them', () => {
    const { normal, ventricular } = ectopy(1);
    const tall: EcgShape = { p: [], qrs: [[1.4, 0, 0.032], [-0.6, 0.08, 0.03]], t: [[-0.35, 0.28, 0.06]] }; // prettier-ignore
    const x = sum(ecg(ecgShapes.usual, normal, normal.map((t) => t - 0.17)), ecg(tall, ventricular, [], 0)); // prettier-ignore
    const { rates } = rowsOf(x);
    for (const { value } of rates) expect(Math.abs(value - 75)).toBeLessThan(5);
    expect(rates.filter(({ flag }) => flag === 0).length).toBeGreaterThan(0.9 * rates.length);
  });
});
