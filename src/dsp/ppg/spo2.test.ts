import { describe, expect, test } from 'vitest';
import { emptyValues } from '../kernels/block-values.ts';
import { seeded } from '../testing/fixture.ts';
import { pulseWave } from '../testing/ppg-faults.ts';
import { Spo2 } from './spo2.ts';

type Found = { endSec: number; value: number; flag: number };

/** @param step rows of a push  @param k grid index of the first sample */
function found(fs: number, [red, ir]: readonly [Float64Array, Float64Array], step: number, k: number): Found[] {
  const spo2 = new Spo2(fs, { offset: 110, slope: 25 });
  const out = emptyValues();
  spo2.reset(k);
  for (let at = 0; at < red.length; at += step) spo2.push(red, ir, at, Math.min(red.length, at + step), out);
  return Array.from({ length: out.count }, (_, i) => ({ endSec: out.endSec[i]!, value: out.value[i]!, flag: out.flag[i]! }));
}

describe('Spo2', () => {
  test.each([25, 50, 125, 200, 130.1])('gives the same, bit for bit, however the rows are cut, at %f Hz and the time of today', (fs) => {
    for (let offset = 0; offset < 10; offset++) {
      const random = seeded(1 + offset);
      const light = (share: number): Float64Array =>
        Float64Array.from({ length: Math.round(34 * fs) }, (_, i) => 1 + share * (pulseWave((1.2 * i) / fs) + 0.1 * random()));
      const lights = [light(0.006), light(0.01)] as const;
      const k = Math.round(1.7e9 * fs) + 37 * offset;
      const whole = found(fs, lights, Number.POSITIVE_INFINITY, k);
      expect(whole.length).toBeGreaterThan(2);
      for (const step of [1, 7]) expect(found(fs, lights, step, k)).toEqual(whole);
    }
  });

  test('of lights that move together, but change against each other from sample to sample, it is bad', () => {
    const fs = 50;
    const light = (sign: number): Float64Array =>
      Float64Array.from(
        { length: 40 * fs },
        (_, i) => 1 + 0.02 * Math.sin((2 * Math.PI * 0.6 * i) / fs) + sign * 0.006 * Math.sin((2 * Math.PI * 5 * i) / fs),
      );
    const values = found(fs, [light(1), light(-1)], 1000, 0);
    expect(values.map(({ endSec, flag }) => [endSec, flag])).toEqual([8, 16, 24, 32, 40].map((endSec) => [endSec, 2]));
    for (const { value } of values) expect(Number.isFinite(value)).toBe(true);
  });
});
