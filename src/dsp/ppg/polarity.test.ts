import { describe, expect, test } from 'vitest';
import { seeded } from '../testing/fixture.ts';
import { PulsePolarity } from './polarity.ts';

const FS = 100;

/** Seconds of a pulse of 75/min: a steep rise, a slow fall. @param sign -1: upside down */
function pulse(seconds: number, sign: number): Float64Array {
  return Float64Array.from({ length: seconds * FS }, (_, i) => {
    const phase = ((i / FS) % 0.8) / 0.8;
    return sign * (phase < 0.15 ? phase / 0.15 : Math.exp(-(phase - 0.15) / 0.3));
  });
}

/** Whether the pulse was upside down at the end of each block. */
function judged(leads: readonly Float64Array[], polarity = new PulsePolarity(FS, leads.length), step = 37): boolean[] {
  const found: boolean[] = [];
  for (let at = 0; at < leads[0]!.length;) {
    const { left } = polarity;
    const end = Math.min(leads[0]!.length, at + step, at + left);
    polarity.push(leads, at, end);
    if (end - at === left) found.push(polarity.inverted);
    at = end;
  }
  return found;
}

describe('PulsePolarity', () => {
  test('tells a pulse that is upside down from one that is upright', () => {
    expect(judged([pulse(50, 1)])).toEqual([false, false, false, false, false]);
    expect(judged([pulse(50, -1)])).toEqual([true, true, true, true, true]);
  });

  test('turns neither by scale, nor by level, nor by how the rows are cut', () => {
    const large = pulse(50, -1).map((value) => 30_000 + 500 * value);
    for (const step of [1, 100, 5000]) expect(judged([large], new PulsePolarity(FS, 1), step)).toEqual([true, true, true, true, true]);
  });

  test('stays as it is where waves are symmetric, in noise, and where nothing is there', () => {
    const random = seeded(3);
    const swing = Float64Array.from({ length: 20 * FS }, (_, i) => Math.sin((i / FS) * 2 * Math.PI * 1.3));
    const noise = swing.map(() => random() - 0.5);
    const nothing = swing.map(() => Number.NaN);
    for (const [sign, was] of [
      [1, false],
      [-1, true],
    ] as const) {
      const whole = Float64Array.from([...pulse(20, sign), ...swing, ...noise, ...nothing, ...nothing.fill(3)]);
      expect(new Set(judged([whole]))).toEqual(new Set([was]));
    }
  });

  test('lets one artefact decide nothing', () => {
    const x = pulse(30, 1);
    x.fill(-40, 12 * FS, 12.1 * FS);
    expect(judged([x])).toEqual([false, false, false]);
  });

  test('judges wavelengths together, and knows nothing of before a reset', () => {
    const polarity = new PulsePolarity(FS, 2);
    const flat = new Float64Array(20 * FS).fill(7);
    expect(judged([pulse(20, -1), flat], polarity)).toEqual([true, true]);
    polarity.reset();
    expect(polarity.inverted).toBe(false);
    expect(judged([pulse(20, 1), flat], polarity)).toEqual([false, false]);
  });
});
