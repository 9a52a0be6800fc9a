import { expect, test } from 'vitest';
import { ecgShapes, makeEcg, makeRhythm } from '../testing/ecg-fixture.ts';
import { findRPeaks } from './r-peaks-record.ts';

const fs = 250;

test('a recording of more than 120 beats per minute in the mean keeps all of them', () => {
  const { beats } = makeRhythm(300, 160, () => true, 5, 0);
  const x = makeEcg({ fs, seconds: 300, shape: ecgShapes.usual, beats, pWaves: [], noiseMv: 0.01, seed: 3 });
  const found = findRPeaks([x], fs);
  expect(found.count).toBe(beats.length);
  expect(found.position.length).toBeGreaterThanOrEqual(found.count);
  beats.forEach((beat, i) => expect(Math.abs(found.position[i]! / fs - beat)).toBeLessThan(0.02));
});
