// Against a plain version: the spline by elimination on the full matrix, the line by regression, the spectrum term by term.
import { describe, expect, test } from 'vitest';
import { seeded } from '../testing/fixture.ts';
import { bandPowers, type BandPowers } from './frequency.ts';

const HZ = 4;
const SIZE = 2048;

/** Second derivatives of the natural cubic spline. */
function bends(t: readonly number[], y: readonly number[]): number[] {
  const rows = t.map((_, i) => {
    const row = new Float64Array(t.length + 1);
    if (i === 0 || i === t.length - 1) row[i] = 1;
    else {
      const [left, right] = [t[i]! - t[i - 1]!, t[i + 1]! - t[i]!];
      row[i - 1] = left;
      row[i] = 2 * (left + right);
      row[i + 1] = right;
      row[t.length] = 6 * ((y[i + 1]! - y[i]!) / right - (y[i]! - y[i - 1]!) / left);
    }
    return row;
  });
  for (let i = 0; i < t.length; i++) {
    for (let below = i + 1; below < Math.min(t.length, i + 2); below++) {
      const factor = rows[below]![i]! / rows[i]![i]!;
      for (const k of [i, i + 1, t.length]) rows[below]![k] = rows[below]![k]! - factor * rows[i]![k]!;
    }
  }
  const m = Array.from<number>({ length: t.length + 1 }).fill(0);
  for (let i = t.length - 1; i >= 0; i--)
    m[i] = (rows[i]![t.length]! - (i + 1 < t.length ? rows[i]![i + 1]! * m[i + 1]! : 0)) / rows[i]![i]!;
  return m;
}

function plainPowers(t: readonly number[], y: readonly number[]): BandPowers {
  const m = bends(t, y);
  const n = Math.min(SIZE, Math.floor((t.at(-1)! - t[0]!) * HZ) + 1);
  const x = Array.from({ length: n }, (_, i) => {
    const at = t[0]! + i / HZ;
    const j = Math.min(
      t.length - 2,
      Math.max(
        0,
        t.findLastIndex((time) => time <= at),
      ),
    );
    const h = t[j + 1]! - t[j]!;
    const [a, b] = [t[j + 1]! - at, at - t[j]!];
    return (m[j]! * a ** 3 + m[j + 1]! * b ** 3) / (6 * h) + (y[j]! / h - (m[j]! * h) / 6) * a + (y[j + 1]! / h - (m[j + 1]! * h) / 6) * b;
  });
  const mean = x.reduce((sum, v) => sum + v, 0) / n;
  const middle = (n - 1) / 2;
  const slope = x.reduce((sum, v, i) => sum + (v - mean) * (i - middle), 0) / x.reduce((sum, _, i) => sum + (i - middle) ** 2, 0);
  const weights = x.map((_, i) => Math.sin((Math.PI * (i + 0.5)) / n) ** 2);
  const flat = x.map((v, i) => (v - mean - slope * (i - middle)) * weights[i]!);
  const windowPower = weights.reduce((sum, w) => sum + w * w, 0);
  const band = (from: number, to: number): number => {
    let sum = 0;
    for (let k = 1; k < SIZE / 2; k++) {
      if ((k * HZ) / SIZE < from || (k * HZ) / SIZE >= to) continue;
      const turn = (-2 * Math.PI * k) / SIZE;
      const re = flat.reduce((s, v, i) => s + v * Math.cos(turn * i), 0);
      const im = flat.reduce((s, v, i) => s + v * Math.sin(turn * i), 0);
      sum += (2 * (re * re + im * im)) / (windowPower * SIZE);
    }
    return sum;
  };
  return { vlfMs2: band(0.003, 0.04), lfMs2: band(0.04, 0.15), hfMs2: band(0.15, 0.4) };
}

function series(count: number, seed: number): { t: number[]; y: number[] } {
  const random = seeded(seed);
  const t: number[] = [];
  const y: number[] = [];
  let at = 10 + random();
  for (let i = 0; i < count; i++) {
    y.push(800 + 0.2 * i + 40 * Math.sin(2 * Math.PI * 0.1 * at) + 30 * Math.sin(2 * Math.PI * 0.25 * at) + 20 * random());
    at += y[i]! / 1000;
    t.push(at);
  }
  return { t, y };
}

test('agrees with the plain version at every length, whatever was computed before', () => {
  // long after short and short after long: the window and the spline's columns are kept between calls
  for (const [count, seed] of [
    [80, 1],
    [300, 2],
    [300, 3],
    [40, 4],
    [700, 5],
    [25, 6],
  ] as const) {
    const { t, y } = series(count, seed);
    const got = bandPowers(Float64Array.from([...t, 1, 2]), Float64Array.from([...y, 1, 2]), count);
    for (const [band, wanted] of Object.entries(plainPowers(t, y)))
      expect(Math.abs(got[band as keyof BandPowers] / wanted - 1), `${band} of ${count}`).toBeLessThan(1e-9);
  }
});

test('agrees with the plain version where the last beat is on the grid of 4 Hz, and nothing stands behind it', () => {
  const t = Array.from({ length: 16 }, (_, i) => 1.25 * i);
  const y = t.map((_, i) => 1210 + 30 * (i % 3) + 11 * (i % 5));
  const got = bandPowers(Float64Array.from(t), Float64Array.from(y), 16);
  for (const [band, wanted] of Object.entries(plainPowers(t, y)))
    expect(Math.abs(got[band as keyof BandPowers] / wanted - 1), band).toBeLessThan(1e-9);
});

test('says NaN below 16 intervals or 16 s at 4 Hz, and not at them', () => {
  const even = (count: number, stepSec: number): BandPowers =>
    bandPowers(
      Float64Array.from({ length: count }, (_, i) => i * stepSec),
      Float64Array.from({ length: count }, (_, i) => 800 + (i % 3)),
      count,
    );
  expect(even(15, 2)).toEqual({ vlfMs2: NaN, lfMs2: NaN, hfMs2: NaN });
  expect(even(16, 1.04)).toEqual({ vlfMs2: NaN, lfMs2: NaN, hfMs2: NaN });
  expect(even(16, 1.0625).hfMs2).toBeGreaterThan(0);
});

describe('holes between intervals', () => {
  /** Five minutes of waves of 20 ms at 0.1 Hz and 0.25 Hz: 200 ms2 each. */
  const waves = (isLeftOut: (tSec: number, i: number) => boolean): { t: Float64Array; y: Float64Array } => {
    const t: number[] = [];
    const y: number[] = [];
    for (let [at, i] = [0, 0]; at < 299; i++) {
      const ms = 800 + 20 * Math.sin(2 * Math.PI * 0.1 * at) + 20 * Math.sin(2 * Math.PI * 0.25 * at);
      at += ms / 1000;
      if (isLeftOut(at, i)) continue;
      t.push(at);
      y.push(ms);
    }
    return { t: Float64Array.from(t), y: Float64Array.from(y) };
  };
  const powersOf = (isLeftOut: (tSec: number, i: number) => boolean, leastSec = 0): BandPowers => {
    const { t, y } = waves(isLeftOut);
    return bandPowers(t, y, t.length, leastSec);
  };
  const whole = powersOf(() => false);

  test.each([
    ['two intervals in thirty', (_: number, i: number) => i % 30 < 2],
    ['two intervals in ten', (_: number, i: number) => i % 10 < 2],
    ['nine seconds', (t: number) => t > 100 && t < 109],
    ['twice five seconds', (t: number) => (t > 101 && t < 106) || (t > 203 && t < 208)],
  ])('take away, and make up no power: %s', (_, isLeftOut) => {
    const left = powersOf(isLeftOut);
    for (const band of ['lfMs2', 'hfMs2'] as const) {
      expect(left[band] / whole[band], band).toBeGreaterThan(0.6);
      expect(left[band] / whole[band], band).toBeLessThan(1.15);
    }
    expect(left.vlfMs2).toBeLessThan(0.1 * whole.lfMs2);
  });

  test('of more than ten seconds, or of too much of the window, leave no value', () => {
    expect(powersOf((t) => t > 100 && t < 111.5)).toEqual({ vlfMs2: NaN, lfMs2: NaN, hfMs2: NaN });
    expect(powersOf((_, i) => i % 4 === 0, 240)).toEqual({ vlfMs2: NaN, lfMs2: NaN, hfMs2: NaN });
    expect(powersOf((_, i) => i % 4 === 0, 200).hfMs2).toBeGreaterThan(0);
    expect(powersOf((t) => t < 80, 240)).toEqual({ vlfMs2: NaN, lfMs2: NaN, hfMs2: NaN });
  });

  test('however they lie, no power is above what the window makes of the variance', () => {
    const random = seeded(11);
    for (let round = 0; round < 200; round++) {
      const t: number[] = [];
      const y: number[] = [];
      const [hz, width] = [0.3 * random(), 400 * random()];
      for (let at = 0; at < 299;) {
        const ms = 800 + 200 * Math.sin(2 * Math.PI * hz * at) + width * (random() - 0.5);
        at += ms / 1000;
        if (random() < 0.03) at += 9 * random();
        t.push(at);
        y.push(ms);
      }
      const mean = y.reduce((sum, ms) => sum + ms, 0) / y.length;
      const variance = y.reduce((sum, ms) => sum + (ms - mean) ** 2, 0) / (y.length - 1);
      const { vlfMs2, lfMs2, hfMs2 } = bandPowers(Float64Array.from(t), Float64Array.from(y), t.length);
      expect(vlfMs2 + lfMs2 + hfMs2).toBeLessThan((8 / 3) * variance);
    }
  });
});
