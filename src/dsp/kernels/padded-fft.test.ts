import FFT from 'fft.js';
import { describe, expect, test } from 'vitest';
import { seeded } from '../testing/fixture.ts';
import { FILLED_MAX, PADDED_SIZE, paddedTransform } from './padded-fft.ts';

describe('a padded transform', () => {
  test.each([1, 7, 171, 200, FILLED_MAX])('of %i samples is that of fft.js bit for bit', (filled) => {
    const random = seeded(filled);
    const fft = new FFT(PADDED_SIZE);
    for (let round = 0; round < 20; round++) {
      const padded = Float64Array.from({ length: PADDED_SIZE }, (_, i) => (i < filled ? (random() - 0.5) * 10 ** (round - 10) : 0));
      const expected = new Float64Array(2 * PADDED_SIZE);
      fft.realTransform(expected, padded);
      const out = new Float64Array(2 * PADDED_SIZE).fill(7); // what a call before has left
      paddedTransform(padded.subarray(0, FILLED_MAX), out);
      const bins = (all: Float64Array): number[] => Array.from(all.subarray(0, PADDED_SIZE + 2), (v) => v + 0); // -0 is 0
      expect(bins(out)).toEqual(bins(expected));
    }
  });
});
