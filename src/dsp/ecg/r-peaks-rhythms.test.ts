/** Rhythms that mislead a detector without knowledge of P waves: blocked P waves, pauses, fast rates; with several shapes of beats and
 *  noise. */
import { describe, expect, it } from 'vitest';
import type { EcgShape } from '../testing/ecg-fixture.ts';
import { ecgShapes, makeEcg, makeRhythm } from '../testing/ecg-fixture.ts';
import { findRPeaks } from './r-peaks-record.ts';

const fs = 250;
const seconds = 150;

/** How many beats are there but not found, and found but not there, within 100 ms. Not counted: the first 8 s, in which it learns. */
function wrongBeats(
  shape: EcgShape,
  beats: readonly number[],
  pWaves: readonly number[],
  noiseMv: number,
): { missed: number; extra: number } {
  const x = makeEcg({ fs, seconds, shape, beats, pWaves, noiseMv, seed: 11 });
  const found = findRPeaks([x], fs);
  const detected = [...found.position.subarray(0, found.count)].map((position) => position / fs);
  const alone = (list: readonly number[], other: readonly number[]): number =>
    list.filter((t) => t > 8 && !other.some((u) => Math.abs(u - t) < 0.1)).length;
  return { missed: alone(beats, detected), extra: alone(detected, beats) };
}

const shapes = Object.entries(ecgShapes) as [string, EcgShape][];
const noises = [0.01, 0.02, 0.05];

/** The same beat of a child: narrower, its T wave sooner. */
const ofChild = ({ qrs, t }: EcgShape): EcgShape => ({
  p: [],
  qrs: qrs.map(([mV, at, sigma]) => [mV, 0.6 * at, 0.6 * sigma]),
  t: t.map(([mV, , sigma]) => [mV, 0.14, 0.4 * sigma]),
});

describe.each(shapes)('%s', (_, shape) => {
  it.each([220, 250, 270])('of a very fast heart, %i per minute, most beats are found, not every second one', (perMin) => {
    const { beats } = makeRhythm(seconds, perMin, () => true, 5);
    for (const own of [shape, ofChild(shape)]) {
      const { missed, extra } = wrongBeats(own, beats, [], 0.01);
      expect(missed, `of ${beats.length}`).toBeLessThan(0.15 * beats.length);
      expect(extra).toBe(0);
    }
  });

  // Begun between two beats, what is learned first is T waves; each that was taken kept the level low enough for the next.
  it.each([0.5, 0.7, 0.9])('tall T waves of a slow heart are no beats for long: T of %f mV', (mV) => {
    const { beats, pWaves } = makeRhythm(seconds, 44, () => true, 5);
    for (const sigmaSec of [0.04, 0.05]) {
      const own: EcgShape = { ...shape, t: [[mV * shape.qrs.reduce((most, [high]) => Math.max(most, Math.abs(high)), 0), 0.32, sigmaSec]] };
      expect(wrongBeats(own, beats, pWaves, 0.01), `${sigmaSec} s`).toEqual({ missed: 0, extra: expect.toSatisfy((n) => n <= 8) });
    }
  });

  it.each([60, 90, 130, 170])('every beat at %i per minute, and nothing else', (perMin) => {
    // P waves come earlier, T waves too, in a fast heart: only what fits between the beats is made
    const { beats, pWaves } = makeRhythm(seconds, perMin, () => true, 5, Math.min(0.17, 15 / perMin));
    for (const noiseMv of noises) expect(wrongBeats(shape, beats, perMin > 120 ? [] : pWaves, noiseMv)).toEqual({ missed: 0, extra: 0 });
  });

  it.each([
    [70, 2],
    [90, 2],
    [110, 2],
    [80, 3],
  ])('second-degree block: %i P waves per minute, one beat in %i', (perMin, ratio) => {
    const { beats, pWaves } = makeRhythm(seconds, perMin, (wave) => wave < 12 || wave % ratio === 0, 5);
    for (const noiseMv of noises) {
      const { missed, extra } = wrongBeats(shape, beats, pWaves, noiseMv);
      expect(missed).toBe(0);
      expect(extra, `noise ${noiseMv} mV`).toBeLessThanOrEqual(3);
    }
  });

  it('Wenckebach: every fourth P wave without a beat', () => {
    const { beats, pWaves } = makeRhythm(seconds, 75, (wave) => wave % 4 !== 3, 5);
    for (const noiseMv of noises)
      expect(wrongBeats(shape, beats, pWaves, noiseMv)).toEqual({ missed: 0, extra: expect.toSatisfy((n) => n <= 1) });
  });

  it.each([false, true])('sinus pauses of 3 to 5 s are pauses; with P waves in them: %s', (hasP) => {
    const rhythm = makeRhythm(seconds, 70, () => true, 5);
    const isPause = (t: number): boolean => [30, 60, 90, 120].some((from, i) => t > from && t < from + 3 + 0.6 * i);
    const beats = rhythm.beats.filter((t) => !isPause(t));
    const pWaves = rhythm.pWaves.filter((t) => hasP || !isPause(t + 0.17));
    for (const noiseMv of noises) {
      const { missed, extra } = wrongBeats(shape, beats, pWaves, noiseMv);
      expect(missed).toBe(0);
      expect(extra, `noise ${noiseMv} mV`).toBeLessThanOrEqual(2);
    }
  });
});

describe('two leads', () => {
  const make = (shape: EcgShape, beats: readonly number[], noiseMv: number): Float64Array =>
    makeEcg({ fs, seconds, shape, beats, pWaves: [], noiseMv, seed: 11 });
  const find = (leads: readonly Float64Array[]): number[] => {
    const found = findRPeaks(leads, fs);
    return [...found.position.subarray(0, found.count)].map((position) => position / fs);
  };

  it.each([0.27, 0.3])('a ventricular beat that one of them hardly has is a beat: %f mV there', (mV) => {
    const rhythm = makeRhythm(seconds, 84, () => true, 5).beats;
    const isVentricular = (_: number, i: number): boolean => i > 15 && i % 4 === 0;
    const ventricular = rhythm.filter(isVentricular).map((t) => t - 0.3);
    const normal = rhythm.filter((t, i) => !isVentricular(t, i));
    const broad: EcgShape = {
      p: [],
      qrs: [
        [0.7, 0, 0.012],
        [-0.9, 0.06, 0.03],
      ],
      t: [[0.7, 0.28, 0.04]],
    };
    const wide: EcgShape = { p: [], qrs: [[-1.9, 0, 0.035]], t: [[1.4, 0.22, 0.045]] };
    const narrow: EcgShape = { p: [], qrs: [[mV, 0, 0.01]], t: [] };
    const sum = (a: Float64Array, b: Float64Array): Float64Array => a.map((v, i) => v + b[i]!);
    const detected = find([
      sum(make(broad, normal, 0.005), make(wide, ventricular, 0.005)),
      sum(make(ecgShapes.usual, normal, 0.005), make(narrow, ventricular, 0.005)),
    ]);
    const missed = ventricular.filter((t) => !detected.some((u) => Math.abs(u - t) < 0.1));
    expect(missed.length, `of ${ventricular.length}`).toBeLessThanOrEqual(1);
    expect(detected.length).toBeLessThanOrEqual(rhythm.length);
  });
});
