import { describe, expect, test } from 'vitest';
import { ecgShapes, makeEcg, makeEctopicEcg, makeRhythm } from '../testing/ecg-fixture.ts';
import { streamRows } from '../../../accuracy/hrv-stream.ts';

const fs = 250;

/** Sinus rhythm of 75 /min in which ventricular beats stand in a row, from each of the given seconds on. */
function withRuns(
  seconds: number,
  runs: readonly (readonly [sec: number, count: number])[],
): { beats: number[]; ventricular: number[]; pWaves: number[] } {
  const beats: number[] = [];
  const ventricular: number[] = [];
  const due = [...runs];
  let t = 0.6;
  while (t < seconds - 1) {
    beats.push(t);
    if (due.length > 0 && t + 0.8 > due[0]![0]) {
      const [, count] = due.shift()!;
      for (let i = 0; i < count; i++) {
        t += 0.48;
        beats.push(t);
        ventricular.push(t);
      }
      t += 1.1;
    } else t += 0.8 + 0.02 * Math.sin(t);
  }
  const early = new Set(ventricular);
  return { beats, ventricular, pWaves: beats.filter((beat) => !early.has(beat)).map((beat) => beat - 0.17) };
}

type Row = Readonly<{ sec: number; value: number; flag: number }>;

const valuesOf = (rows: ReturnType<typeof streamRows>, feature: string): Row[] =>
  (rows.features.get(feature) ?? []).map(({ tNs, value, qmask }) => ({ sec: Number(tNs) / 1e9, value, flag: qmask }));

const streamOf = (samples: Float64Array): ReturnType<typeof streamRows> =>
  streamRows([{ code: 'ecg.ii', kind: 'ecg', fs, unit: 'mV', samples }]);

describe('the burden of ectopic beats', () => {
  const seconds = 620;
  // single beats, couplets and runs, of which one lies across the end of the first five minutes
  const given = withRuns(seconds, [
    [40, 1],
    [80, 2],
    [120, 3],
    [160, 5],
    [200, 2],
    [299.2, 3],
    [360, 1],
    [420, 2],
    [500, 7],
  ]);
  const x = makeEctopicEcg({ fs, seconds, ...given });
  const rows = streamOf(x);

  test('is the share of the beats of five minutes, couplets and runs are each counted once', () => {
    const { beats, ventricular } = given;
    const inside = (list: readonly number[], end: number): number => list.filter((t) => t > end - 300 && t <= end).length;
    const wanted = [300, 600].map((end) => (100 * inside(ventricular, end)) / inside(beats, end));
    const burden = valuesOf(rows, 'ventricular_burden_300s');
    expect(burden.map(({ sec, flag }) => [sec, flag])).toEqual([
      [300, 0],
      [600, 0],
    ]);
    burden.forEach(({ value }, i) => expect(value).toBeCloseTo(wanted[i]!, 2));
    expect(valuesOf(rows, 'ventricular_couplets_300s').map(({ value }) => value)).toEqual([2, 1]);
    expect(valuesOf(rows, 'ventricular_runs_300s').map(({ value }) => value)).toEqual([2, 2]);
    for (const { value, flag } of valuesOf(rows, 'supraventricular_burden_300s')) expect([value, flag]).toEqual([0, 0]);
  });

  test('the longest run of each 10 s, counted up to its end: 1 for a beat alone, 0 for none', () => {
    const { beats, ventricular } = given;
    const wide = new Set(ventricular);
    const runs = valuesOf(rows, 'ventricular_run_10s');
    expect(runs.map(({ sec }) => sec)).toEqual(Array.from({ length: 62 }, (_, i) => 10 * (i + 1)));
    for (const { sec, value, flag } of runs) {
      let [run, longest] = [0, 0];
      for (const t of beats) {
        run = t <= sec && wide.has(t) ? run + 1 : 0;
        if (t > sec - 10) longest = Math.max(longest, run);
      }
      expect([value, flag], `at ${sec} s`).toEqual([longest, 0]);
    }
  });

  test('says nothing of minutes in which half of the signal is missing, and is suspect where a fourth is', () => {
    const holed = (sec: number): Float64Array => {
      const y = x.slice(0, 310 * fs);
      for (let from = 100; from < 100 + 2 * sec; from += 20) y.fill(Number.NaN, from * fs, (from + 10) * fs);
      return y;
    };
    expect(valuesOf(streamOf(holed(80)), 'ventricular_burden_300s').map(({ flag }) => flag)).toEqual([1]);
    const most = x.slice(0, 310 * fs).fill(Number.NaN, 20 * fs, 190 * fs);
    expect(valuesOf(streamOf(most), 'ventricular_burden_300s')).toEqual([]);
  });

  test('in fibrillation: the ventricular burden is suspect, the supraventricular one bad', () => {
    const beats: number[] = [];
    for (let t = 0.5, n = 1; t < 309; t += 0.5 + 0.5 * ((n = (n * 16807) % 2147483647) / 2147483647)) beats.push(t);
    const fibrillation = streamOf(makeEctopicEcg({ fs, seconds: 310, beats, pWaves: [], ventricular: [] }));
    expect(valuesOf(fibrillation, 'ventricular_burden_300s').map(({ flag }) => flag)).toEqual([1]);
    expect(valuesOf(fibrillation, 'supraventricular_burden_300s').map(({ flag }) => flag)).toEqual([2]);
  });
});

describe('beats that movement makes look ventricular', () => {
  const seconds = 310;
  const { beats, pWaves } = makeRhythm(seconds, 72, () => true, 3);
  const sine = (mv: number, hz: number, t: number): number => mv * Math.sin(2 * Math.PI * hz * t);

  test.each([
    ['swing of 2 mV', 250, (t: number) => sine(2, 1, t)],
    ['swing of 1 mV', 125, (t: number) => sine(1, 2, t)],
    ['swing of 3 mV', 250, (t: number) => sine(3, 0.3, t)],
  ])('make no good run: %s at %i Hz', (_, rate, added) => {
    const clean = makeEcg({ fs: rate, seconds, shape: ecgShapes.usual, beats, pWaves, noiseMv: 0.01, seed: 3 });
    const samples = clean.map((v, i) => v + added(i / rate));
    const runs = valuesOf(streamRows([{ code: 'ecg.ii', kind: 'ecg', fs: rate, unit: 'mV', samples }]), 'ventricular_run_10s');
    expect(runs.length).toBeGreaterThan(25);
    expect(runs.filter(({ value, flag }) => value > 0 && flag === 0)).toEqual([]);
  });
});
