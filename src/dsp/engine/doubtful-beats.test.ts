/** Made patients whose values were wrong and good, because beats that are misplaced, or kinds that are unsure, did not reach the flag. */
import { describe, expect, test } from 'vitest';
import { ecgShapes, makeEcg, makeEctopicEcg } from '../testing/ecg-fixture.ts';
import { seeded } from '../testing/fixture.ts';
import { streamRows } from '../../../accuracy/hrv-stream.ts';

type Rows = ReturnType<typeof streamRows>;

/** Breathing of 3 % at 0.25 Hz, and 2 % at 0.1 Hz. */
function sinus(seconds: number): number[] {
  const beats: number[] = [];
  for (let t = 0.6; t < seconds - 1; t += 0.8 * (1 + 0.03 * Math.sin(2 * Math.PI * 0.25 * t) + 0.02 * Math.sin(2 * Math.PI * 0.1 * t)))
    beats.push(t);
  return beats;
}

function gaussian(seed: number): () => number {
  const random = seeded(seed);
  return () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

const clean = (fs: number, seconds: number, beats: readonly number[], noiseMv = 0.01): Float64Array =>
  makeEcg({ fs, seconds, shape: ecgShapes.usual, beats, pWaves: beats.map((t) => t - 0.16), noiseMv, seed: 3 });

const hum = (x: Float64Array, fs: number, hz: number): Float64Array =>
  x.map((v, i) => v + Math.SQRT2 * Math.sin((2 * Math.PI * hz * i) / fs));

/** 30 waves of 0.05 to 0.7 Hz; mV of standard deviation. */
function wander(x: Float64Array, fs: number, mv: number): Float64Array {
  const random = seeded(5);
  const waves = Array.from({ length: 30 }, () => [0.05 + 0.65 * random(), 2 * Math.PI * random()] as const);
  return x.map(
    (v, i) => v + waves.reduce((sum, [hz, phase]) => sum + (mv / Math.sqrt(15)) * Math.sin((2 * Math.PI * hz * i) / fs + phase), 0),
  );
}

const rowsOf = (x: Float64Array, fs: number): Rows => streamRows([{ code: 'ecg.ii', kind: 'ecg', fs, unit: 'mV', samples: x }]);

const good = (rows: Rows, feature: string): number[] =>
  (rows.features.get(feature) ?? []).filter(({ qmask }) => qmask === 0).map(({ value }) => value);

/** Four beats of five P waves, each PR longer than the one before. */
function wenckebach(seconds: number): { beats: number[]; pWaves: number[] } {
  const pr = [0.18, 0.28, 0.33, 0.36];
  const beats: number[] = [];
  const pWaves: number[] = [];
  for (let [t, i] = [0.5, 0]; t < seconds - 2; i++, t += 0.8 * (1 + 0.01 * Math.sin(1.3 * t))) {
    pWaves.push(t);
    const delay = pr[i % 5];
    if (delay !== undefined) beats.push(t + delay);
  }
  return { beats, pWaves };
}

describe('an index of fibrillation', () => {
  const seconds = 180;
  const beats = sinus(seconds);
  const noise = gaussian(9);
  const blocked = wenckebach(seconds);
  const patients: Readonly<Record<string, Float64Array>> = {
    'beats in white noise of 0.2 mV': clean(250, seconds, beats).map((v) => v + 0.2 * noise()),
    'beats of 46 µV': clean(250, seconds, beats, 0).map((v) => 0.046 * v + 0.01 * noise()),
    'mains of 1 mV': hum(clean(250, seconds, beats), 250, 50),
    'block of the second degree': makeEcg({ fs: 250, seconds, shape: ecgShapes.usual, ...blocked, noiseMv: 0.01, seed: 3 }),
  };

  test.each(Object.entries(patients))('of %s is not high and good', (_, x) => {
    const rows = rowsOf(x, 250);
    const high = (rows.features.get('af_index') ?? []).filter(({ value }) => value >= 0.5);
    expect(high.length).toBeGreaterThan(8); // the wrong values are there
    expect(high.filter(({ qmask }) => qmask === 0).length).toBeLessThan(0.1 * high.length);
  });

  test('is high and good in fibrillation', () => {
    const random = seeded(2);
    const irregular: number[] = [];
    for (let t = 0.5; t < seconds - 1; t += 0.45 + 0.55 * random()) irregular.push(t);
    const x = makeEcg({ fs: 250, seconds, shape: ecgShapes.usual, beats: irregular, pWaves: [], noiseMv: 0.01, seed: 3 });
    expect(good(rowsOf(x, 250), 'af_index').filter((index) => index >= 0.5).length).toBeGreaterThan(12);
  });
});

describe('a burden', () => {
  const seconds = 310;
  const beats = sinus(seconds);
  const wraps = (v: number): number => ((((v + 1.6) % 3.2) + 3.2) % 3.2) - 1.6;
  const patients: Readonly<Record<string, Float64Array>> = {
    'a base line that wanders by 2 mV': wander(clean(250, seconds, beats), 250, 2),
    'a converter that wraps around': wander(clean(250, seconds, beats), 250, 1).map(wraps),
  };

  test.each(Object.entries(patients))('of %s is not good: there is no ectopic beat', (_, x) => {
    const rows = rowsOf(x, 250);
    expect(rows.features.get('ventricular_burden_300s')![0]!.value).toBeGreaterThan(2);
    for (const kind of ['ventricular', 'supraventricular']) expect(good(rows, `${kind}_burden_300s`), kind).toEqual([]);
  });

  test('of sinus rhythm is good', () => {
    const rows = rowsOf(clean(250, seconds, beats), 250);
    for (const kind of ['ventricular', 'supraventricular']) expect(good(rows, `${kind}_burden_300s`), kind).toEqual([0]);
  });
});

describe('variability', () => {
  const seconds = 400;
  const beats = sinus(seconds);
  const noise = gaussian(9);
  const rr = beats.slice(1).map((t, i) => 1000 * (t - beats[i]!));
  const mean = rr.reduce((sum, ms) => sum + ms, 0) / rr.length;
  const sdnn = Math.sqrt(rr.reduce((sum, ms) => sum + (ms - mean) ** 2, 0) / rr.length);

  test.each([
    ['beats in white noise of 0.2 mV', 250, clean(250, seconds, beats).map((v) => v + 0.2 * noise())],
    ['mains of 1 mV', 250, hum(clean(250, seconds, beats), 250, 50)],
    ['mains of 1 mV at 125 Hz', 125, hum(clean(125, seconds, beats), 125, 60)],
  ] as const)('of %s: SDNN and RMSSD are not wrong and good', (_, fs, x) => {
    const rows = rowsOf(x, fs);
    expect(rows.features.get('hrv_sdnn_300s')!.length).toBeGreaterThan(3);
    for (const value of good(rows, 'hrv_sdnn_300s')) expect(Math.abs(value / sdnn - 1)).toBeLessThan(0.2);
    const minutes = rows.features.get('hrv_rmssd_60s')!;
    expect(minutes.filter(({ qmask, value }) => qmask === 0 && value > 25).length).toBeLessThan(0.02 * minutes.length);
  });

  test('has no spectrum across two minutes of bigeminy, and no power above the variance', () => {
    const normal: number[] = [];
    const ventricular: number[] = [];
    for (let t = 0.6; t < seconds - 2; t += 0.8 * (1 + 0.05 * Math.sin(2 * Math.PI * 0.25 * t))) {
      normal.push(t);
      if (t < 120 || t > 240) continue;
      ventricular.push(t + 0.48);
      t += 0.8;
    }
    const all = [...normal, ...ventricular].toSorted((a, b) => a - b);
    const x = makeEctopicEcg({ fs: 250, seconds, beats: all, pWaves: normal.map((t) => t - 0.16), ventricular });
    const { features } = rowsOf(x, 250);
    const ends = (features.get('hrv_sdnn_300s') ?? []).map(({ tNs }) => Number(tNs) / 1e9);
    expect(ends).toContain(300);
    for (const power of ['lf', 'hf', 'vlf', 'total_power'])
      expect(
        (features.get(`hrv_${power}_300s`) ?? []).map(({ tNs }) => Number(tNs) / 1e9),
        power,
      ).not.toContain(300);
  });
});

describe('variability of the pulse', () => {
  const [fs, seconds] = [100, 400];
  const beats = sinus(seconds);
  const wave = (t: number): number => Math.exp(-(((t - 0.18) / 0.08) ** 2)) + 0.35 * Math.exp(-(((t - 0.48) / 0.09) ** 2));
  const pulse = (height: (t: number) => number): Float64Array => {
    const noise = gaussian(7);
    const x = Float64Array.from({ length: fs * seconds }, () => 0.003 * noise());
    for (const t of beats)
      for (let i = Math.max(0, Math.ceil((t - 0.3) * fs)); i < (t + 1.1) * fs && i < x.length; i++)
        x[i] = x[i]! + height(t) * wave(i / fs - t);
    return x;
  };
  const breathing = (t: number, hz: number): number => Math.sin(2 * Math.PI * hz * t);
  const rr = beats.slice(1).map((t, i) => 1000 * (t - beats[i]!));
  const rmssd = Math.sqrt(rr.slice(1).reduce((sum, ms, i) => sum + (ms - rr[i]!) ** 2, 0) / (rr.length - 1));
  const shares = (x: Float64Array): { good: number; wrong: number } => {
    const { features } = streamRows([{ code: 'ppg.ir', kind: 'ppg', fs, unit: '1', samples: x }]);
    const values = features.get('prv_rmssd_60s')!;
    const found = values.filter(({ qmask }) => qmask === 0);
    return {
      good: found.length / values.length,
      wrong: found.filter(({ value }) => Math.abs(value / rmssd - 1) > 0.2).length / values.length,
    };
  };

  test('is good where the upstroke keeps its shape', () => {
    const { good: share, wrong } = shares(pulse(() => 1));
    expect(share).toBeGreaterThan(0.8);
    expect(wrong).toBe(0);
  });

  test.each([
    ['whose tops are cut off', pulse((t) => 1 + 0.15 * breathing(t, 0.25)).map((v) => Math.min(v, 0.85))],
    ['that breathing nearly takes away', pulse((t) => 1 + 0.8 * breathing(t, 0.3))],
  ])('of a pulse %s is not wrong and good', (_, x) => {
    expect(shares(x).wrong).toBeLessThan(0.02);
  });
});
