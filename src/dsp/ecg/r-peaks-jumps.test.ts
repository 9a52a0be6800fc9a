/** Pulses of pacemakers, steps, rails and lost packets, in ECG of known beats. */
import { describe, expect, it, test } from 'vitest';
import { addPacing, addSteps, electrodeOff, losePackets, unsensedPulses } from '../testing/ecg-faults.ts';
import { ecgShapes, makeEcg, makeRhythm } from '../testing/ecg-fixture.ts';
import { seeded } from '../testing/fixture.ts';
import { RPeakDetector } from './r-peaks.ts';
import { findRPeaks } from './r-peaks-record.ts';

const seconds = 150;
const { beats, pWaves } = makeRhythm(seconds, 75, () => true, 5);
const ecg = (fs: number): Float64Array => makeEcg({ fs, seconds, shape: ecgShapes.usual, beats, pWaves, noiseMv: 0.01, seed: 3 });

/** Beats missed and beats that are none, within 100 ms. @param counts leaves out, s */
function wrong(x: Float64Array, fs: number, counts: (t: number) => boolean = () => true): { missed: number; extra: number } {
  const found = findRPeaks([x], fs);
  const detected = [...found.position.subarray(0, found.count)].map((position) => position / fs);
  const alone = (list: readonly number[], other: readonly number[]): number =>
    list.filter((t) => counts(t) && !other.some((u) => Math.abs(u - t) < 0.1)).length;
  return { missed: alone(beats, detected), extra: alone(detected, beats) };
}

describe.each([250, 360, 500, 1000])('at %i Hz', (fs) => {
  it.each([0.001, 0.0015, 0.002])('pacing pulses of 5 mV and %s s, sensed by nobody, are no beats and hide none', (widthSec) => {
    expect(wrong(addPacing(ecg(fs), fs, unsensedPulses(seconds, 66), widthSec, 5), fs)).toEqual({ missed: 0, extra: 0 });
  });

  it('pulses right before the beats do not move them', () => {
    const x = ecg(fs);
    const found = findRPeaks(
      [
        addPacing(
          x,
          fs,
          beats.map((t) => t - 0.06),
          0.0015,
          5,
        ),
      ],
      fs,
    );
    expect(found.count).toBe(beats.length);
    beats.forEach((t, i) => expect(Math.abs(found.position[i]! / fs - t)).toBeLessThan(0.02));
  });

  it('steps of 5 mV are no beats and hide none', () => {
    expect(wrong(addSteps(ecg(fs), fs, 7, 5, 3), fs)).toEqual({ missed: 0, extra: 0 });
  });

  it('where an electrode comes off and the amplifier stands at its rail, nothing is lost but what is not there', () => {
    const near = (t: number): boolean => (t + 27) % 60 > 6;
    const { missed, extra } = wrong(electrodeOff(ecg(fs), fs, 5), fs, near);
    expect(missed + extra).toBeLessThanOrEqual(1);
  });
});

test('beats next to a lost packet are found, cut ones too', () => {
  const fs = 250;
  const x = losePackets(ecg(fs), fs, 0.1, 0.1, 3);
  const isThere = (t: number): boolean => x.subarray(Math.round((t - 0.03) * fs), Math.round((t + 0.03) * fs)).every((v) => v === v);
  expect(beats.filter(isThere).length).toBeGreaterThan(150);
  expect(wrong(x, fs, isThere).missed).toBe(0);
});

test('a T wave behind lost samples is not taken for the beat that lies in them', () => {
  const fs = 250;
  const shape = { ...ecgShapes.usual, t: [[0.6, 0.26, 0.03]] as const };
  const x = makeEcg({ fs, seconds, shape, beats, pWaves, noiseMv: 0.02, seed: 3 });
  // from before the P wave until shortly before the T wave
  for (const [i, t] of beats.entries())
    if (i > 20 && i % 6 === 0) x.fill(Number.NaN, Math.round((t - 0.06) * fs), Math.round((t + 0.14) * fs));
  expect(wrong(x, fs).extra).toBe(0);
});

/** Beats when the samples come n at a time. */
function beatsInCuts(x: Float64Array, fs: number, n: number): number[] {
  const detector = new RPeakDetector(fs);
  const out = { count: 0, position: new Float64Array(512), confidence: new Float64Array(512) };
  for (let at = 0; at < x.length; at += n) detector.push([x], at, Math.min(x.length, at + n), out);
  detector.flush(out);
  return [...out.position.subarray(0, out.count)];
}

test('the same beats however the samples are cut, with pulses, steps and lost packets', () => {
  const fs = 360;
  const paced = addPacing(ecg(fs), fs, unsensedPulses(seconds, 66), 0.0015, 5);
  const x = losePackets(addSteps(paced, fs, 9, 5, 3), fs, 0.1, 0.03, 4);
  const whole = beatsInCuts(x, fs, x.length);
  expect(whole.length).toBeGreaterThan(150);
  for (const n of [1, 7, 36, 90, 5000]) expect(beatsInCuts(x, fs, n)).toEqual(whole);
});

// As where a device reports every other sample as bad for a while: many short gaps are not one long one.
test('the same beats however the samples are cut, where many single samples are missing', () => {
  const fs = 250;
  const random = seeded(2);
  const x = ecg(fs).map((v, i) => (Math.floor(i / fs) % 10 < 3 && random() < 0.4 ? Number.NaN : v));
  const whole = beatsInCuts(x, fs, x.length);
  expect(whole.length).toBeGreaterThan(100);
  for (const n of [1, 7, 36, 90, 5000]) expect(beatsInCuts(x, fs, n)).toEqual(whole);
});

test('absurd values leave no trace', () => {
  const fs = 250;
  const x = ecg(fs);
  x.fill(1e300, 40 * fs, 40 * fs + 3);
  x[80 * fs] = Number.POSITIVE_INFINITY;
  expect(wrong(x, fs, (t) => Math.abs(t - 40) > 1 && Math.abs(t - 80) > 1)).toEqual({ missed: 0, extra: 0 });
});
