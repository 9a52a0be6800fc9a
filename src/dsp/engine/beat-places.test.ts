import { expect, test } from 'vitest';
import type { EcgShape } from '../testing/ecg-fixture.ts';
import { ecgShapes, makeEcg } from '../testing/ecg-fixture.ts';
import { streamRows } from '../../../accuracy/hrv-stream.ts';

const [fs, seconds] = [250, 400];
const beats: number[] = [];
for (let t = 0.5; t < seconds - 1; t += 0.85 * (1 + 0.04 * Math.sin(2 * Math.PI * 0.25 * t))) beats.push(t);

/** Complexes of which two waves, or two slopes, are nearly as steep: which of them is the R wave changes from beat to beat. */
const shapes = {
  'of a pacemaker': {
    p: [],
    qrs: [
      [0.5, -0.03, 0.02],
      [-1.2, 0.015, 0.035],
    ],
    t: [[0.45, 0.3, 0.055]],
  },
  'of a blocked left bundle': {
    p: [[0.13, 0, 0.024]],
    qrs: [
      [0.6, -0.05, 0.02],
      [0.62, 0.03, 0.022],
    ],
    t: [[-0.3, 0.32, 0.06]],
  },
  'below a T wave as tall': { ...ecgShapes.usual, t: [[1.4, 0.27, 0.035]] },
} as const satisfies Record<string, EcgShape>;

/** Share of the values that are flagged 0 and off by more than a tenth of what the beats say that the ECG was made of. */
function wrongAndGood(shape: EcgShape): number {
  const pWaves = shape.p.length === 0 ? [] : beats.map((t) => t - 0.17);
  const samples = makeEcg({ fs, seconds, shape, beats, pWaves, noiseMv: 0.01, seed: 4 });
  const { features } = streamRows([{ code: 'ecg.ii', kind: 'ecg', fs, unit: 'mV', samples }]);
  const truth = { hrv_rmssd_60s: [60, rmssd], hrv_sdnn_300s: [300, sdnn] } as const;
  const shares = Object.entries(truth).map(([name, [windowSec, of]]) => {
    const values = features.get(name)!;
    expect(values.length, name).toBeGreaterThan(3);
    const isWrong = ({ tNs, value }: (typeof values)[number]): boolean => Math.abs(value / of(Number(tNs) / 1e9, windowSec) - 1) > 0.1;
    return values.filter((row) => row.qmask === 0 && isWrong(row)).length / values.length;
  });
  return Math.max(...shares);
}

function intervalsUpTo(tSec: number, windowSec: number): number[] {
  const inside = beats.filter((t) => t > tSec - windowSec && t <= tSec);
  return inside.slice(1).map((t, i) => 1000 * (t - inside[i]!));
}

function rmssd(tSec: number, windowSec: number): number {
  const rr = intervalsUpTo(tSec, windowSec);
  return Math.sqrt(rr.slice(1).reduce((sum, x, i) => sum + (x - rr[i]!) ** 2, 0) / (rr.length - 1));
}

function sdnn(tSec: number, windowSec: number): number {
  const rr = intervalsUpTo(tSec, windowSec);
  const mean = rr.reduce((sum, x) => sum + x, 0) / rr.length;
  return Math.sqrt(rr.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (rr.length - 1));
}

test('the beats that the truth is made of are given back where one wave stands out', () => {
  expect(wrongAndGood(ecgShapes.usual)).toBe(0);
});

test.each(Object.entries(shapes))('variability of complexes %s is not good where places vary more than the heart', (_, shape) => {
  expect(wrongAndGood(shape)).toBeLessThan(0.02);
});
