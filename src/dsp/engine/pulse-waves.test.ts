import { expect, test } from 'vitest';
import { BeatTrack, Gaps } from '../hrv/beats.ts';
import { BeatPulseWaves } from './pulse-waves.ts';

/** Where an upstroke is steepest, ms after a beat at 2 s. @param at height, so many seconds after the beat */
function steepestAfterMs(fs: number, at: (sec: number) => number): number {
  const waves = new BeatPulseWaves(fs, 4, new BeatTrack(), new Gaps(), { value: () => undefined });
  const samples = Float64Array.from({ length: 4 * fs }, (_, i) => at(i / fs - 2));
  for (let from = 0; from < samples.length; from += fs) waves.push(samples, from, from + fs, 0);
  return waves.steepestAfterMs(2e6, false);
}

test.each([25, 64, 200])('tells an upstroke that is steepest far from its middle from one whose samples are missing, at %d Hz', (fs) => {
  const rise = (afterSec: number) => (sec: number) => Math.tanh((sec - afterSec) / 0.06);
  expect(Math.abs(steepestAfterMs(fs, rise(0.03)) - 30)).toBeLessThan(5);
  for (const afterSec of [0.2, -0.2]) expect(steepestAfterMs(fs, rise(afterSec))).toBe(Number.POSITIVE_INFINITY);
  expect(steepestAfterMs(fs, (sec) => (Math.abs(sec - 0.05) < 0.03 ? Number.NaN : rise(0)(sec)))).toBeNaN();
});
