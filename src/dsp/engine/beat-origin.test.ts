import { describe, expect, test } from 'vitest';
import { EcgKernel, noJudgements } from '../ecg/kernel.ts';
import { noShapedBeats } from '../kernels/found-beats.ts';
import { ecgShapes, makeEcg, makeRhythm } from '../testing/ecg-fixture.ts';
import { seeded } from '../testing/fixture.ts';
import { streamRows } from '../../../accuracy/hrv-stream.ts';

const fs = 250;
const seconds = 200;

const rowsOf = (samples: Float64Array): ReturnType<typeof streamRows> =>
  streamRows([{ code: 'ecg.ii', kind: 'ecg', fs, unit: 'mV', samples }]);

/** Sinus rhythm of 75 /min in which each `every`-th beat is early by a share of the interval, with a full pause behind it. */
function withEarly(every: number, share: number): { beats: number[]; early: number[]; pWaves: number[] } {
  const beats = [...makeRhythm(seconds, 75, () => true, 4).beats];
  const early: number[] = [];
  for (let i = every; i + 1 < beats.length; i += every) {
    beats[i] = beats[i]! - share * (beats[i]! - beats[i - 1]!);
    early.push(beats[i]!);
  }
  return { beats, early, pWaves: beats.filter((t) => !early.includes(t)).map((t) => t - 0.17) };
}

/** One lead; ventricular beats are wide and have no P wave. */
function ecg(beats: readonly number[], pWaves: readonly number[], ventricular: readonly number[]): Float64Array {
  const narrow = beats.filter((t) => !ventricular.includes(t));
  const x = makeEcg({ fs, seconds, shape: ecgShapes.usual, beats: narrow, pWaves, noiseMv: 0.01, seed: 3 });
  const bell = (t: number, mV: number, sigma: number): void => {
    for (let i = Math.ceil((t - 4 * sigma) * fs); i < (t + 4 * sigma) * fs && i < x.length; i++)
      x[i] = x[i]! + mV * Math.exp(-0.5 * ((i / fs - t) / sigma) ** 2);
  };
  for (const t of ventricular) {
    bell(t, 1.4, 0.032);
    bell(t + 0.08, -0.6, 0.03);
    bell(t + 0.28, -0.35, 0.06);
  }
  return x;
}

/** Places of the beats with a reason, to a tenth of a second. */
const placesOf = (rows: ReturnType<typeof streamRows>, reason: string): string[] =>
  rows.beats.filter((beat) => beat.reason === reason).map(({ tNs }) => (Number(tNs) / 1e9).toFixed(1));
const tenths = (list: readonly number[]): string[] => list.map((t) => t.toFixed(1));

describe('where a beat began', () => {
  test('wide early beats are ventricular, and RMSSD is good without them', () => {
    const { beats, early, pWaves } = withEarly(40, 0.3);
    const rows = rowsOf(ecg(beats, pWaves, early));
    expect(early.length).toBeGreaterThanOrEqual(5);
    expect(placesOf(rows, 'ventricular').length).toBe(early.length);
    expect(placesOf(rows, 'supraventricular')).toEqual([]);
    expect(placesOf(rows, 'follows_ectopic').length).toBe(early.length);
    const values = (rows.features.get('hrv_rmssd_60s') ?? []).filter(({ tNs }) => tNs >= 60_000_000_000n);
    expect(values.length).toBeGreaterThan(20);
    for (const { qmask } of values) expect(qmask).toBe(0);
    const clean = makeRhythm(seconds, 75, () => true, 4).beats;
    const plain = rowsOf(ecg(clean, clean.map((t) => t - 0.17), [])).features.get('hrv_rmssd_60s')!; // prettier-ignore
    for (const { tNs, value } of values) expect(Math.abs(value / plain.find((row) => row.tNs === tNs)!.value - 1)).toBeLessThan(0.1);
  });

  test('narrow early beats without a P wave of their own are supraventricular', () => {
    const { beats, early, pWaves } = withEarly(20, 0.35);
    const rows = rowsOf(ecg(beats, pWaves, []));
    expect(placesOf(rows, 'supraventricular')).toEqual(tenths(early));
    expect(placesOf(rows, 'ventricular')).toEqual([]);
  });

  test('a rhythm that speeds up and slows down has none', () => {
    const beats: number[] = [];
    for (let t = 0.5; t < seconds - 1; t += 0.85 + 0.12 * Math.sin(t / 4)) beats.push(t);
    const rows = rowsOf(ecg(beats, beats.map((t) => t - 0.17), [])); // prettier-ignore
    expect(rows.beats.filter(({ kind }) => kind === 'ectopic')).toEqual([]);
  });

  test('what the shape says is the same however the samples are cut, with samples missing', () => {
    const { beats, early, pWaves } = withEarly(7, 0.3);
    const x = ecg(beats, pWaves, early).subarray(0, 60 * fs);
    const random = seeded(5);
    for (let n = 0; n < 30; n++) {
      const from = Math.floor(random() * x.length);
      x.fill(Number.NaN, from, from + Math.floor((0.06 + 0.1 * random()) * fs));
    }
    const found = (packet: (at: number) => number): number[][] => {
      const kernel = new EcgKernel(fs, 1);
      const out = noShapedBeats();
      for (let at = 0; at < x.length;) {
        const to = Math.min(x.length, at + packet(at));
        kernel.push([x], at, to, out, noJudgements());
        at = to;
      }
      kernel.flush(out, noJudgements());
      return [out.position, out.ventricular, out.supraventricular, out.shiftMs].map((column) => [...column.subarray(0, out.count)]);
    };
    const whole = found(() => x.length);
    expect(whole[1]!.filter((v) => !Number.isNaN(v)).length).toBeGreaterThan(40);
    for (const size of [1, 7, 25, 90, 333])
      expect(
        found(() => size),
        `packets of ${size}`,
      ).toEqual(whole);
    expect(found(() => 1 + Math.floor(random() * 200))).toEqual(whole);
  });
});
