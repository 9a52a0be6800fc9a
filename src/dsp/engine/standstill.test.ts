/** Waves of a heart that stands still, or whose ventricles have a slow rhythm of their own, are no beats: no rate made of them is good. */
import { describe, expect, test } from 'vitest';
import { streamRows } from '../../../accuracy/hrv-stream.ts';
import { ecgShapes, makeEcg, makeRhythm } from '../testing/ecg-fixture.ts';
import type { EcgShape } from '../testing/ecg-fixture.ts';

const seconds = 310;

/** Heart rates flagged 0 that are off by more than 5 /min, and how many are flagged 0. */
function goodRates(fs: number, samples: Float64Array, beats: readonly number[]): { wrong: string[]; good: number } {
  const { features } = streamRows([{ code: 'ecg.ii', kind: 'ecg', fs, unit: 'mV', samples }]);
  const good = features.get('hr_ecg')!.filter(({ qmask }) => qmask === 0);
  const wrong = good.filter(({ tNs, value }) => {
    const sec = Number(tNs) / 1e9;
    const inside = beats.filter((t) => t > sec - 8.1 && t <= sec + 0.1);
    return !(Math.abs((60 * (inside.length - 1)) / (inside.at(-1)! - inside[0]!) - value) <= 5);
  });
  return { wrong: wrong.map(({ tNs, value }) => `${value} at ${Number(tNs) / 1e9} s`), good: good.length };
}

describe('noise of a pause of 10 s', () => {
  const all = makeRhythm(seconds, 75, () => true, 2).beats;
  const beats = all.filter((t) => (t + 10) % 45 > 10);

  test.each([100, 125, 128, 200, 250, 360, 500])('at %i Hz makes no good heart rate', (fs) => {
    for (const noiseMv of [0.005, 0.01]) {
      const x = makeEcg({ fs, seconds, shape: ecgShapes.usual, beats, pWaves: beats.map((t) => t - 0.17), noiseMv, seed: 1 });
      const { wrong, good } = goodRates(fs, x, beats);
      expect(wrong, `${noiseMv} mV`).toEqual([]);
      expect(good).toBeGreaterThan(100);
    }
  });
});

describe('P waves of a complete block with a wide, slow rhythm of the ventricles', () => {
  const shape: EcgShape = {
    p: [[0.15, 0, 0.022]],
    qrs: [
      [0.8, -0.018, 0.018],
      [0.75, 0.035, 0.022],
    ],
    t: [[-0.35, 0.42, 0.07]],
  };
  const { beats } = makeRhythm(seconds, 34, () => true, 5);
  const { pWaves } = makeRhythm(seconds, 80, () => true, 3);

  test.each([200, 250, 360, 500])('at %i Hz make no good heart rate', (fs) => {
    const { wrong, good } = goodRates(fs, makeEcg({ fs, seconds, shape, beats, pWaves, noiseMv: 0.01, seed: 1 }), beats);
    expect(wrong).toEqual([]);
    expect(good).toBeGreaterThan(60);
  });
});
