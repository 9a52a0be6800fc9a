import { describe, expect, test } from 'vitest';
import { seeded } from '../testing/fixture.ts';
import { Steepness } from './steepness.ts';

const fs = 250;

describe('Steepness', () => {
  test('gives the greatest change over 40 ms of the whole twentieths of a second between two times', () => {
    const steepness = new Steepness(fs, 10);
    const x = new Float64Array(5 * fs);
    for (let i = 500; i < 510; i++) x[i] = (i - 499) / 10; // 2.0 s, 1 in 40 ms
    x.fill(1, 510);
    steepness.push(x, 0, x.length, 0);
    expect(steepness.between(2, 2.1).most).toBeGreaterThan(0.85); // looked at every other sample
    expect({ ...steepness.between(1, 2) }).toEqual({ most: 0, mostSec: 1, still: 1 });
    expect(steepness.between(1, 3).still).toBe(0.95); // 2.00 to 2.10 s
    expect(steepness.between(1, 3).mostSec).toBe(2);
    expect(steepness.between(6, 7).most).toBeNaN();
    expect(steepness.restBetween(1, 3)).toBe(0);
    expect(steepness.restBetween(2, 2.15)).toBeNaN();
  });

  test('does not depend on how the samples are cut, and takes no change across what is missing', () => {
    const random = seeded(5);
    const x = Float64Array.from({ length: 20 * fs }, () => random());
    x.fill(Number.NaN, 1000, 1100);
    const k0 = 777_777;
    const readings = (cut: () => number): number[] => {
      const steepness = new Steepness(fs, 30);
      for (let at = 0; at < x.length;) {
        if (at === 3000) at = 3100; // a gap
        const to = Math.min(x.length, at < 3000 ? Math.min(3000, at + cut()) : at + cut());
        steepness.push(x, at, to, k0);
        at = to;
      }
      return Array.from({ length: 200 }, (_, i) => steepness.between(k0 / fs + i / 10, k0 / fs + i / 10 + 0.2).most);
    };
    const whole = readings(() => 100_000);
    expect(whole.filter((most) => most > 0).length).toBeGreaterThan(150);
    for (const size of [1, 7, 90]) expect(readings(() => size)).toEqual(whole);
  });

  test('is the same of the signal turned over, and in proportion to its unit', () => {
    const random = seeded(6);
    const x = Float64Array.from({ length: 20 * fs }, (_, i) => Math.sin(i / 40) + 0.1 * random());
    const readings = (factor: number): number[] => {
      const steepness = new Steepness(fs, 30);
      steepness.push(x.map((v) => factor * v), 0, x.length, 0); // prettier-ignore
      return Array.from({ length: 190 }, (_, i) => steepness.between(i / 10, i / 10 + 0.1)).flatMap(({ most, still }, i) => [
        most / Math.abs(factor),
        still,
        steepness.restBetween(i / 10, i / 10 + 0.5) / Math.abs(factor),
      ]);
    };
    const usual = readings(1);
    expect(usual.slice(3).filter(Number.isNaN)).toEqual([]);
    for (const factor of [-1, 1024, -1024]) expect(readings(factor)).toEqual(usual);
  });
});
