/** Where every second beat is the T wave of a broad complex, or the other half of an even wave, no rate made of them is good. */
import { describe, expect, test } from 'vitest';
import { streamRows } from '../../../accuracy/hrv-stream.ts';
import { ecgShapes, makeEcg, makeRhythm } from '../testing/ecg-fixture.ts';
import type { EcgShape } from '../testing/ecg-fixture.ts';

const seconds = 70;
/** Until the window of the rate, and that of its quality, hold nothing from before the first beat. */
const fromSec = 12;

type Good = Readonly<{ wrong: string[]; good: number; due: number }>;

/** Heart rates flagged 0, and those of them that are off by more than 5 /min. */
function goodRates(fs: number, samples: Float64Array, perMin: number, sinceSec: number): Good {
  const { features } = streamRows([{ code: 'ecg.ii', kind: 'ecg', fs, unit: 'mV', samples }]);
  const rates = features.get('hr_ecg')!.filter(({ tNs }) => Number(tNs) / 1e9 >= sinceSec);
  const good = rates.filter(({ qmask }) => qmask === 0);
  const wrong = good.filter(({ value }) => !(Math.abs(value - perMin) <= 5));
  return { wrong: wrong.map(({ tNs, value }) => `${value} at ${Number(tNs) / 1e9} s`), good: good.length, due: rates.length };
}

/** Waves of a rhythm whose intervals vary by a few per cent, on noise. */
function made(fs: number, perMin: number, shape: EcgShape): Float64Array {
  const { beats } = makeRhythm(seconds + 2, perMin, () => true, 7);
  return makeEcg({ fs, seconds, shape, beats, pWaves: beats.map((t) => t - 0.17), noiseMv: 0.01, seed: 2 });
}

/** A wave whose flanks are straight, up to its summit and down to that of its mirror image. */
function evenWaves(fs: number, perMin: number, heightMv: number): Float64Array {
  const none: EcgShape = { p: [], qrs: [], t: [] };
  const { beats } = makeRhythm(seconds + 4, perMin, () => true, 7);
  const samples = makeEcg({ fs, seconds, shape: none, beats: [], pWaves: [], noiseMv: 0.01, seed: 2 });
  let next = 0;
  return samples.map((noise, i) => {
    const t = i / fs;
    while (beats[next]! <= t) next++;
    if (next === 0) return noise;
    const phase = (t - beats[next - 1]!) / (beats[next]! - beats[next - 1]!);
    return noise + heightMv * (1 - Math.abs(4 * phase - 2));
  });
}

describe('even waves whose halves are mirror images', () => {
  test.each([250, 360, 500])('at %i Hz: no rate of twice theirs is good', (fs) => {
    for (const perMin of [50, 60, 70, 80, 100])
      for (const heightMv of [0.3, 0.8])
        expect(goodRates(fs, evenWaves(fs, perMin, heightMv), perMin, fromSec).wrong, `${perMin} /min, ${heightMv} mV`).toEqual([]);
  });

  test('also after a minute of sinus rhythm', () => {
    for (const perMin of [60, 80]) {
      const samples = new Float64Array(2 * seconds * 250);
      samples.set(made(250, 72, ecgShapes.usual));
      samples.set(evenWaves(250, perMin, 0.8), seconds * 250);
      expect(goodRates(250, samples, perMin, seconds + fromSec).wrong, `${perMin} /min`).toEqual([]);
    }
  });
});

describe('T waves opposite to broad QRS complexes', () => {
  const broad = (atSec: number, tMv: number): EcgShape => ({
    p: [],
    qrs: [
      [1, 0, 0.048],
      [-0.4, 0.105, 0.048],
    ],
    t: [[tMv, atSec, 0.038]],
  });

  test.each([250, 360, 500])('at %i Hz are in no good rate', (fs) => {
    for (const perMin of [57, 70, 83])
      for (const tMv of [-0.65, -0.9])
        expect(goodRates(fs, made(fs, perMin, broad(0.47 * Math.sqrt(57 / perMin), tMv)), perMin, fromSec).wrong).toEqual([]);
  });
});

describe('what stays good', () => {
  test.each(Object.keys(ecgShapes) as (keyof typeof ecgShapes)[])('%s, also with R waves that alternate by a fifth', (shape) => {
    const samples = made(250, 75, ecgShapes[shape]);
    const { beats } = makeRhythm(seconds + 2, 75, () => true, 7);
    const even = beats.filter((_, i) => i % 2 === 0);
    const lower = makeEcg({ fs: 250, seconds, shape: ecgShapes[shape], beats: even, pWaves: [], noiseMv: 0, seed: 1 });
    const none = makeEcg({ fs: 250, seconds, shape: ecgShapes[shape], beats: [], pWaves: [], noiseMv: 0, seed: 1 });
    for (const share of [0, 0.2]) {
      const { wrong, good, due } = goodRates(
        250,
        samples.map((v, i) => v - share * (lower[i]! - none[i]!)),
        75,
        fromSec,
      );
      expect(wrong).toEqual([]);
      expect(good).toBeGreaterThan(0.95 * due);
    }
  });
});
