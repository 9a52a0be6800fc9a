import { describe, expect, test } from 'vitest';
import { INTERVALS_MIN, P_POINTS, SHAPES_MIN, fibrillationIndex, irregularity, pLikeness, pShape } from './fibrillation.ts';

function numbers(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

/** Shapes of stretches, one after the other. */
function shapesOf(stretches: readonly (readonly number[])[]): [Int8Array, Int32Array] {
  const shapes = new Int8Array(stretches.length * P_POINTS);
  stretches.forEach((stretch, i) => expect(pShape(Float64Array.from(stretch), shapes, i * P_POINTS)).toBe(true));
  return [shapes, Int32Array.from(stretches, (_, i) => i * P_POINTS)];
}

const bump = (p: number): number => Math.exp(-(((p - 7) / 3) ** 2));
const all = (count: number): Uint8Array => new Uint8Array(count).fill(1);

describe('irregularity', () => {
  test('is the median difference of neighbours over the median interval', () => {
    const rr = Float64Array.of(800, 820, 800, 840, 800, 820, 800, 820, 800).map((ms) => ms * 1000);
    expect(irregularity(rr, all(9), 9)).toBeCloseTo(20 / 800, 12);
  });

  test('counts neighbours alone', () => {
    const rr = Float64Array.of(800, 800, 800, 1600, 1600, 1600, 800, 800, 800);
    expect(irregularity(rr, Uint8Array.of(0, 1, 1, 0, 1, 1, 0, 1, 1), 9)).toBe(0);
  });

  test('compares every second and third interval, too, where asked: a pattern that repeats itself is regular', () => {
    const turns = Float64Array.of(500, 1100, 510, 1100, 500, 1110, 500, 1100, 500, 1100, 500, 1100);
    expect(irregularity(turns, all(12), 12)).toBeGreaterThan(0.5);
    expect(irregularity(turns, all(12), 12, 3)).toBeLessThan(0.03);
    const three = Float64Array.of(800, 500, 1100, 800, 500, 1100, 800, 500, 1100, 800, 500, 1100);
    expect(irregularity(three, all(12), 12, 3)).toBe(0);
    // no comparison across what was left out
    expect(irregularity(turns, Uint8Array.of(0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0), 12, 3)).toBeGreaterThan(0.5);
  });

  test('has nothing to say of fewer than 8 intervals, or of 5 differences', () => {
    const rr = new Float64Array(9).fill(800);
    expect(irregularity(rr, all(9), INTERVALS_MIN - 1)).toBeNaN();
    expect(irregularity(rr, Uint8Array.of(0, 1, 0, 1, 0, 1, 0, 1, 0), 9)).toBeNaN();
  });
});

describe('what stands before the beats', () => {
  test('is alike where each has the same wave, whatever its height and the line it stands on', () => {
    const random = numbers(5);
    const beats = Array.from({ length: 20 }, () => {
      const [height, offset, slope] = [0.05 + 0.2 * random(), random(), 0.02 * random()];
      return Array.from({ length: P_POINTS }, (_, p) => offset + slope * p + height * bump(p) + 0.004 * random());
    });
    expect(pLikeness(...shapesOf(beats), 20)).toBeGreaterThan(0.95);
  });

  test('is not where there is noise alone', () => {
    const random = numbers(6);
    const beats = Array.from({ length: 40 }, () => Array.from({ length: P_POINTS }, () => random()));
    expect(pLikeness(...shapesOf(beats), 40)).toBeLessThan(0.5);
  });

  test('is unknown of too few beats, of a missing sample and of a straight line', () => {
    const wave = Array.from({ length: P_POINTS }, (_, p) => bump(p));
    const few = Array.from({ length: SHAPES_MIN - 1 }, () => wave);
    expect(pLikeness(...shapesOf(few), few.length)).toBe(0.5);
    const out = new Int8Array(P_POINTS);
    expect(
      pShape(
        Float64Array.from(wave, (x, p) => (p === 4 ? Number.NaN : x)),
        out,
        0,
      ),
    ).toBe(false);
    expect(pShape(new Float64Array(P_POINTS).fill(2), out, 0)).toBe(false);
  });
});

test('the index rises with irregularity, and falls with likeness', () => {
  expect(fibrillationIndex(0.15, 0.4)).toBeGreaterThan(0.9);
  expect(fibrillationIndex(0.02, 0.95)).toBeLessThan(0.05);
  expect(fibrillationIndex(0.15, 0.95)).toBeLessThan(fibrillationIndex(0.15, 0.4));
  expect(fibrillationIndex(0, 1)).toBeGreaterThanOrEqual(0);
});
