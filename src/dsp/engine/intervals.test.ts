import { describe, expect, test } from 'vitest';
import type { EcgShape } from '../testing/ecg-fixture.ts';
import { ecgShapes, makeEcg, makeEctopicEcg, makeRhythm } from '../testing/ecg-fixture.ts';
import { seeded } from '../testing/fixture.ts';
import { streamRows } from '../../../accuracy/hrv-stream.ts';
import { corrected } from './intervals.ts';

const seconds = 150;

/** The last value of each feature of one lead, and its flag. */
function lastOf(samples: Float64Array, fs: number): Map<string, { value: number; flag: number }> {
  const { features } = streamRows([{ code: 'ecg.ii', kind: 'ecg', fs, unit: 'mV', samples }]);
  return new Map([...features].map(([name, rows]) => [name, { value: rows.at(-1)!.value, flag: rows.at(-1)!.qmask }]));
}

/** T later by `tLaterSec`. */
const shifted = ({ p, qrs, t }: EcgShape, tLaterSec: number): EcgShape => ({
  p,
  qrs,
  t: t.map(([mV, at, sigma]) => [mV, at + tLaterSec, sigma]),
});

function made(fs: number, prSec: number, tLaterSec: number, perMin = 65): Float64Array {
  const { beats, pWaves } = makeRhythm(seconds, perMin, () => true, 6, prSec);
  return makeEcg({ fs, seconds, shape: shifted(ecgShapes.usual, tLaterSec), beats, pWaves, noiseMv: 0.01, seed: 8 });
}

const withSine = (x: Float64Array, fs: number, hz: number, mV: number): Float64Array =>
  x.map((v, i) => v + mV * Math.sin((2 * Math.PI * hz * i) / fs));

describe.each([125, 250, 500, 1000])('at %i Hz', (fs) => {
  const before = lastOf(made(fs, 0.15, 0), fs);

  test('PR, QRS and QT are those of the bells that the ECG was made of', () => {
    // P begins 2 to 3 standard deviations (22 ms) before its centre, the QRS some 45 ms before R; T ends 2 to 3 (50 ms) after its centre
    expect(before.get('pr_60s')!.value).toBeGreaterThan(130);
    expect(before.get('pr_60s')!.value).toBeLessThan(180);
    expect(before.get('qrs_60s')!.value).toBeGreaterThan(60);
    expect(before.get('qrs_60s')!.value).toBeLessThan(110);
    expect(before.get('qt_60s')!.value).toBeGreaterThan(400);
    expect(before.get('qt_60s')!.value).toBeLessThan(470);
    for (const name of ['pr_60s', 'qrs_60s', 'qt_60s', 'qtc_fridericia_60s']) expect(before.get(name)!.flag, name).toBe(0);
  });

  test('a PR longer by 50 ms and a QT longer by 40 ms are found so', () => {
    const after = lastOf(made(fs, 0.2, 0.04), fs);
    const longer = (name: string): number => after.get(name)!.value - before.get(name)!.value;
    const within = Math.max(4, 1000 / fs) + 1;
    expect(Math.abs(longer('pr_60s') - 50)).toBeLessThan(within);
    expect(Math.abs(longer('qt_60s') - 40)).toBeLessThan(within);
    expect(Math.abs(longer('qrs_60s'))).toBeLessThan(within);
  });
});

describe.each([100, 125, 250, 360, 500, 1000])('at %i Hz, in noise', (fs) => {
  const clean = made(fs, 0.15, 0);
  const measured = ['pr_60s', 'qrs_60s', 'qt_60s'];
  const usual = lastOf(clean, fs);

  test.each([
    [50, 0.3],
    [60, 0.3],
    [50, 1],
    [60, 1],
  ])('hum of %i Hz, %d mV, changes nothing', (hz, mV) => {
    const values = lastOf(withSine(clean, fs, hz, mV), fs);
    for (const name of measured) {
      expect(values.get(name)?.flag, name).toBe(0);
      expect(Math.abs(values.get(name)!.value - usual.get(name)!.value), name).toBeLessThan(10 + 1000 / fs);
    }
  });

  test.each([
    [35, 0.2],
    [16.7, 0.15],
    [49.7, 0.6],
  ])('a tremor of %d Hz, %d mV, that a QRS complex cannot be told from leaves no wrong value that is good', (hz, mV) => {
    const values = lastOf(withSine(clean, fs, hz, mV), fs);
    for (const name of measured) {
      const found = values.get(name);
      if (found?.flag === 0) expect(Math.abs(found.value - usual.get(name)!.value), name).toBeLessThan(25);
    }
  });
});

test('no PR where no P waves stand before the beats', () => {
  const random = seeded(2);
  const beats: number[] = [];
  for (let t = 0.5; t < seconds - 1; t += 0.55 + 0.45 * random()) beats.push(t);
  const values = lastOf(makeEcg({ fs: 250, seconds, shape: ecgShapes.usual, beats, pWaves: [], noiseMv: 0.03, seed: 8 }), 250);
  expect(values.get('qrs_60s')).toBeDefined();
  expect(values.get('pr_60s')).toBeUndefined();
});

test('corrections: none at 60 /min; at 100 /min those of the formulas', () => {
  for (const formula of Object.values(corrected)) expect(formula(400, 1)).toBeCloseTo(400, 9);
  expect(corrected.bazett(320, 0.6)).toBeCloseTo(413.1, 1);
  expect(corrected.fridericia(320, 0.6)).toBeCloseTo(379.4, 1);
  expect(corrected.framingham(320, 0.6)).toBeCloseTo(381.6, 1);
  expect(corrected.hodges(320, 0.6)).toBeCloseTo(390, 1);
});

/** The last values of a heart of 0.9 s, every `every`th beat of which is ventricular; the pause after it makes up for it, or does not. */
function withEctopic(every: number, isCompensated: boolean): ReturnType<typeof lastOf> {
  const beats: number[] = [];
  const ventricular: number[] = [];
  for (let t = 1, n = 1; t < seconds - 2; n++) {
    if (n % every === 0) {
      beats.push(t - 0.36);
      ventricular.push(t - 0.36);
      t += isCompensated ? 0.9 : 0.54;
    } else {
      beats.push(t);
      t += 0.9;
    }
  }
  const early = new Set(ventricular);
  const pWaves = beats.filter((beat) => !early.has(beat)).map((beat) => beat - 0.17);
  return lastOf(makeEctopicEcg({ fs: 250, seconds, beats, pWaves, ventricular }), 250);
}

test('QT is corrected by the mean interval of all beats: pauses after ventricular beats have their short intervals with them', () => {
  const values = withEctopic(4, true);
  const qt = values.get('qt_60s')!.value;
  for (const formula of ['bazett', 'fridericia', 'framingham', 'hodges'] as const) {
    const { value, flag } = values.get(`qtc_${formula}_60s`)!;
    expect(Math.abs(value - corrected[formula](qt, 0.9)), formula).toBeLessThan(2);
    expect(flag, formula).toBe(0);
  }
});

test('a corrected QT is suspect where ectopic beats change the mean interval, and in bigeminy, which has no NN interval', () => {
  for (const values of [withEctopic(4, false), withEctopic(2, true)]) expect(values.get('qtc_bazett_60s')!.flag).toBe(1);
});

/** The last values of two leads with the same beats. */
function lastOfTwo(first: EcgShape, second: EcgShape, fs = 250): ReturnType<typeof lastOf> {
  const { beats, pWaves } = makeRhythm(seconds, 65, () => true, 6, 0.15);
  const [a, b] = [first, second].map((shape, i) => makeEcg({ fs, seconds, shape, beats, pWaves, noiseMv: 0.01, seed: 8 + i }));
  const leads = [a!, b!].map((samples, i) => ({ code: `ecg.${i + 1}`, kind: 'ecg' as const, fs, unit: 'mV', samples }));
  const { features } = streamRows(leads);
  return new Map([...features].map(([name, rows]) => [name, { value: rows.at(-1)!.value, flag: rows.at(-1)!.qmask }]));
}

describe.each([125, 250, 500])('at %i Hz, the second lead', (fs) => {
  const { usual } = ecgShapes;

  test.each([-60, -40, 40, 60])('ends T %d ms later: a QT and its corrections are suspect, PR and QRS are not', (ms) => {
    const values = lastOfTwo(usual, shifted(usual, ms / 1000), fs);
    for (const name of ['qt_60s', 'qtc_bazett_60s', 'qtc_hodges_60s']) expect(values.get(name)!.flag, name).toBe(1);
    for (const name of ['pr_60s', 'qrs_60s']) expect(values.get(name)!.flag, name).toBe(0);
  });

  test('agrees, or has other amplitudes: QT is good, and that of the first lead', () => {
    for (const second of [usual, shifted(usual, 0.01), ecgShapes['low R']]) {
      const { value, flag } = lastOfTwo(usual, second, fs).get('qt_60s')!;
      expect(flag).toBe(0);
      expect(value).toBe(lastOf(made(fs, 0.15, 0), fs).get('qt_60s')!.value);
    }
  });

  test('has no T: its QT is anything, and says nothing against the first one', () => {
    const none: EcgShape = { ...usual, t: [] };
    expect(lastOfTwo(usual, none, fs).get('qt_60s')!.flag).toBe(0);
  });
});

describe('of one lead, a QT is suspect where', () => {
  const { usual } = ecgShapes;
  const flagOf = (t: EcgShape['t'], perMin = 65): number => {
    const { beats, pWaves } = makeRhythm(seconds, perMin, () => true, 6, 0.15);
    return lastOf(makeEcg({ fs: 250, seconds, shape: { ...usual, t }, beats, pWaves, noiseMv: 0.01, seed: 8 }), 250).get('qt_60s')!.flag;
  };

  test('T has a second phase after the end that was found, and not where it has none', () => {
    expect(flagOf([[-0.3, 0.24, 0.035]])).toBe(0);
    expect(flagOf([[-0.3, 0.24, 0.035], [0.12, 0.34, 0.03]])).toBe(1); // prettier-ignore
  });

  test('a sharp wave before T was taken for it', () => {
    expect(flagOf([[0.2, 0.38, 0.05]])).toBe(0);
    expect(flagOf([[0.2, 0.19, 0.016], [0.2, 0.38, 0.05]])).toBe(1); // prettier-ignore
    expect(flagOf([[0.08, 0.2, 0.014], [0.12, 0.4, 0.06]])).toBe(1); // prettier-ignore
  });

  test('T, too late for so fast a heart, ends in the next P', () => {
    expect(flagOf([[0.3, 0.2, 0.03]], 110)).toBe(0);
    expect(flagOf([[-0.15, 0.28, 0.05]], 110)).toBe(1);
  });
});

describe('of one lead, nothing wrong is good where', () => {
  const { usual } = ecgShapes;
  const ofHeart = (perMin: number, prSec: number, t: EcgShape['t'] = usual.t): ReturnType<typeof lastOf> => {
    const { beats, pWaves } = makeRhythm(seconds, perMin, () => true, 6, prSec);
    return lastOf(makeEcg({ fs: 250, seconds, shape: { ...usual, t }, beats, pWaves, noiseMv: 0.01, seed: 8 }), 250);
  };

  test.each([
    ['a low U wave', 0.05, 0.48, 0],
    ['a late part', 0.12, 0.385, 1],
    ['a U wave, or a late part, nearly half as high', 0.12, 0.46, 1],
  ])('T is followed by %s: QT', (_, mV, at, flag) => {
    const values = ofHeart(60, 0.15, [[0.25, 0.24, 0.045], [mV, at, 0.04]]); // prettier-ignore
    expect(values.get('qt_60s')!.flag).toBe(flag);
    expect(values.get('qtc_bazett_60s')!.flag).toBe(flag);
  });

  // the bell of P begins some 45 ms before its centre, QRS some 45 ms before R: PR is the time between the centre of P and R
  test.each([
    [0.3, 60],
    [0.3, 75],
    [0.34, 60],
    [0.34, 75],
    [0.34, 95],
    [0.4, 60],
    [0.4, 95],
    [0.5, 95],
  ])('conduction takes %d s, at %d /min: PR', (prSec, perMin) => {
    const found = ofHeart(perMin, prSec).get('pr_60s');
    if (found?.flag === 0) expect(Math.abs(found.value - 1000 * prSec)).toBeLessThan(25);
  });

  test('long PR intervals have values that are good', () => {
    for (const prSec of [0.2, 0.26, 0.3, 0.34]) expect(ofHeart(60, prSec).get('pr_60s')?.flag, `${prSec} s`).toBe(0);
  });

  test.each([100, 110])('there is no P, and T lies where one would, at %d /min: PR', (perMin) => {
    const { beats } = makeRhythm(seconds, perMin, () => true, 6, 0.15);
    const x = makeEcg({ fs: 250, seconds, shape: usual, beats, pWaves: [], noiseMv: 0.01, seed: 8 });
    expect(lastOf(x, 250).get('pr_60s')?.flag).not.toBe(0);
  });
});
