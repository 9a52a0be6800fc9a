import { describe, expect, test } from 'vitest';
import { streamRows } from '../../../accuracy/hrv-stream.ts';
import type { FeatureRow } from '../rows/feature-rows.ts';
import { ecgShapes, makeEcg, makeRhythm } from '../testing/ecg-fixture.ts';
import { fixtureChannels, madeUpStream, seeded } from '../testing/fixture.ts';
import type { ChannelKind } from '../../signal.ts';

const seconds = 300;

type Made = [
  feature: string,
  kind: ChannelKind,
  fs: number,
  unit: string,
  codes: readonly string[],
  make: (t: number, no: number) => number,
];

/** Values of a feature of a channel that is made of a function of time in s; of several where there are several codes. */
function valuesOf(...[feature, kind, fs, unit, codes, make]: Made): readonly FeatureRow[] {
  const channels = codes.map((code, no) => ({
    code,
    kind,
    fs,
    unit,
    samples: Float64Array.from({ length: Math.round(seconds * fs) }, (_, i) => make(i / fs, no)),
  }));
  return streamRows(channels).features.get(feature) ?? [];
}

/** Those flagged 0. */
const goodValues = (...made: Made): number[] =>
  valuesOf(...made)
    .filter(({ qmask }) => qmask === 0)
    .map(({ value }) => value);

/** Whatever their flag. */
const valueCount = (...made: Made): number => valuesOf(...made).length;

const expectAll = (values: readonly number[], count: number, wanted: number, within: number): void => {
  expect(values.length).toBeGreaterThanOrEqual(count);
  for (const value of values) expect(Math.abs(value - wanted)).toBeLessThanOrEqual(within);
};

describe('breathing', () => {
  const breaths = (make: (t: number) => number): number[] => goodValues('resp_rate', 'resp', 25, '1', ['resp'], make);

  test.each([5, 12, 30, 55, 60, 66, 75, 90])('of %d /min is that, not half of it', (perMin) => {
    const random = seeded(perMin);
    expectAll(
      breaths((t) => Math.sin((2 * Math.PI * perMin * t) / 60) + 0.1 * random()),
      perMin < 6 ? 30 : 60,
      perMin,
      1,
    );
  });

  test('faster than two breaths can be told apart is not good', () => {
    expect(breaths((t) => Math.sin((2 * Math.PI * 110 * t) / 60))).toEqual([]);
  });

  test('noise has hardly a rate that is good', () => {
    const random = seeded(3);
    expect(breaths(() => random()).length).toBeLessThan(4);
    expect(breaths(() => Math.round(random())).length).toBeLessThan(4);
  });

  test('an electrode that drifts has hardly a rate that is good, nor has noise below 18 /min', () => {
    let count = 0;
    for (const seed of [1, 2, 3]) {
      const random = seeded(seed);
      let drift = 0;
      count += breaths(() => (drift += 0.02 * (random() - 0.5) - 0.0005 * drift)).length;
      let slow = 0;
      let slower = 0;
      count += breaths(() => (slower += 0.0726 * ((slow += 0.0726 * (random() - 0.5 - slow)) - slower))).length;
    }
    expect(count).toBeLessThan(40);
  });

  test('that waxes and wanes, and that of speech, has good rates', () => {
    const waxing = breaths((t) => (0.6 + 0.4 * Math.sin((2 * Math.PI * t) / 60)) * Math.sin(2 * Math.PI * 0.35 * t));
    expectAll(waxing, 50, 21, 1);
    const speech = breaths((t) => Math.sin(2 * Math.PI * 0.2 * t + Math.sin(0.31 * t)));
    expect(speech.length).toBeGreaterThan(40);
  });

  test('that stops, so that the heart is left to be seen, has no good rate of the heart', () => {
    const random = seeded(4);
    const values = breaths(
      (t) => (t < 150 ? Math.sin(2 * Math.PI * 0.25 * t) : 0) + 0.05 * Math.sin(2 * Math.PI * 1.2 * t) + 0.02 * random(),
    );
    expectAll(values, 30, 15, 1);
  });
});

describe('breathing next to an ECG', () => {
  const fs = 250;
  /** Good rates of an impedance with breaths of this height and a heart of a fifth of that of usual breaths. */
  const breathing = (perMin: number, heartPerMin: number, height: (t: number) => number): { tSec: number; value: number }[] => {
    const random = seeded(perMin);
    const { beats, pWaves } = makeRhythm(seconds, heartPerMin, () => true, 6, 0.16);
    const ecg = makeEcg({ fs, seconds, shape: ecgShapes.usual, beats, pWaves, noiseMv: 0.01, seed: 8 });
    const resp = Float64Array.from(
      { length: seconds * 25 },
      (_, i) => height(i / 25) * Math.sin((2 * Math.PI * perMin * i) / 1500) + 0.01 * random(),
    );
    for (const beat of beats)
      for (let i = Math.round(25 * beat); i < Math.min(resp.length, 25 * beat + 15); i++)
        resp[i]! += 0.4 * Math.sin((Math.PI * (i / 25 - beat)) / 0.6) ** 2;
    const rows = streamRows([
      { code: 'resp', kind: 'resp', fs: 25, unit: 'Ohm', samples: resp },
      { code: 'ecg.ii', kind: 'ecg', fs, unit: 'mV', samples: ecg },
    ]).features.get('resp_rate');
    return (rows ?? []).filter(({ qmask }) => qmask === 0).map(({ tNs, value }) => ({ tSec: Number(tNs) / 1e9, value }));
  };

  test.each([50, 66, 84])('that never begins has no good rate of a heart of %d /min', (heartPerMin) => {
    expect(breathing(15, heartPerMin, () => 0)).toEqual([]);
  });

  test('that stops has none either, and a good one while it goes on', () => {
    const values = breathing(15, 62, (t) => (t % 150 < 90 ? 0.5 : 0));
    expect(values.length).toBeGreaterThan(20);
    for (const { value } of values) expect(Math.abs(value - 15)).toBeLessThan(2);
  });

  test('as fast as that of a child is good', () => {
    expect(breathing(48, 125, () => 1).length).toBeGreaterThan(60);
  });
});

describe('units', () => {
  const axes = ['acc.x', 'acc.y', 'acc.z'];
  /** Walking, in g. */
  const walk = (t: number, no: number): number =>
    no === 2 ? 1 + 0.3 * Math.sin(2 * Math.PI * 1.8 * t) : 0.09 * Math.sin(2 * Math.PI * 1.8 * t + no);

  test.each([
    ['g', 1],
    ['[g]', 1],
    ['m/s2', 9.80665],
    ['m.s-2', 9.80665],
    ['m/s^2', 9.80665],
    ['mg', 1000],
    ['m[g]', 1000],
    ['cm/s2', 980.665],
  ])('accelerations in %s', (unit, perG) => {
    const of = (feature: string): number[] => goodValues(feature, 'acc', 50, unit, axes, (t, no) => perG * walk(t, no));
    expectAll(of('activity'), 36, 0.19, 0.01);
    expectAll(of('steps'), 36, 14, 1);
  });

  test.each([
    ['counts, 64 in a g', (t: number, no: number) => 64 * walk(t, no)],
    ['without gravity', (t: number, no: number) => walk(t, no) - (no === 2 ? 1 : 0)],
    ['of half the scale', (t: number, no: number) => 0.55 * walk(t, no)],
    ['of twice the scale', (t: number, no: number) => 2 * walk(t, no)],
    [
      'of a run, cut at 2 g',
      (t: number, no: number) => Math.min(2, Math.max(-2, (no === 2 ? 1 : 0) + 2 * Math.sin(2 * Math.PI * 2.8 * t + no))),
    ],
    ['with an axis at its rail', (t: number, no: number) => (no === 1 ? -2 : walk(t, no))],
    ['with an axis that stands still', (t: number, no: number) => (no === 0 ? 0.5 : walk(t, no))],
  ])('accelerations %s: nothing is good', (_, make) => {
    expect(goodValues('activity', 'acc', 50, '1', axes, make)).toEqual([]);
    expect(goodValues('steps', 'acc', 50, '1', axes, make)).toEqual([]);
  });

  test.each([
    ['still', 0, 0, 0],
    ['running, 1.2 g', 1.2, 22, 0.5],
    ['walking upside down', -0.3, 14, 0.15],
  ])('%s is good', (_, g, steps, activity) => {
    const random = seeded(2);
    const of = (feature: string): number[] =>
      goodValues(feature, 'acc', 50, 'g', axes, (t, no) => {
        const wave = g * Math.sin(2 * Math.PI * (g > 1 ? 2.8 : 1.8) * t);
        return 0.004 * random() + (no === 2 ? Math.sign(g || 1) + wave : 0.2 * wave);
      });
    expectAll(of('steps'), 34, steps, 2);
    expectAll(of('activity'), 36, activity, 0.4 * activity + 0.01);
  });

  test.each([
    ['Cel', 33],
    ['°C', 33],
    ['degC', 33],
    ['deg C', 33],
    ['[degF]', 91.4],
    ['[degR]', 551.07],
    ['K', 306.15],
  ])('temperatures in %s', (unit, value) => {
    expectAll(
      goodValues('temp_mean', 'temp', 4, unit, ['temp.skin'], () => value),
      36,
      33,
      0.01,
    );
  });

  // promise: foreign-units
  test.each(['kPa', 'V', '%', 'kg', 'mV', 'Ohm', 'MK', 'constructor', 'toString', '__proto__'])('no temperature of %s', (unit) => {
    expect(valueCount('temp_mean', 'temp', 4, unit, ['temp.skin'], () => 33)).toBe(0);
  });

  // promise: foreign-units
  test.each(['kg', 'V', 'mV', 'Cel', 'deg/s', 'counts'])('neither activity nor steps of accelerations in %s', (unit) => {
    for (const feature of ['activity', 'steps']) expect(valueCount(feature, 'acc', 50, unit, axes, walk)).toBe(0);
  });

  // promise: no-unit
  test.each(['', '1', ' '])('no unit, as in "%s", is that of the method', (unit) => {
    expectAll(
      goodValues('temp_mean', 'temp', 4, unit, ['temp.skin'], () => 33),
      36,
      33,
      0.01,
    );
    expectAll(goodValues('activity', 'acc', 50, unit, axes, walk), 36, 0.19, 0.01);
    expectAll(
      goodValues('eda_tonic', 'eda', 4, unit, ['eda'], (t) => 5 + 0.1 * Math.sin(t / 20)),
      36,
      5,
      0.1,
    );
  });

  // promise: any-unit
  test.each([
    ['ecg', 250, 'hr_ecg'],
    ['ppg', 130.1, 'hr_ppg'],
    ['resp', 25, 'resp_rate'],
  ] as const)('of %s a unit changes nothing', (kind, fs, feature) => {
    const channel = { ...fixtureChannels.find((one) => one.kind === kind)!, rateNanoHz: Math.round(fs * 1e9) };
    const samples = Float64Array.from(madeUpStream(3, 0, 90, [channel])[0]!.samples);
    const of = (unit: string): readonly FeatureRow[] =>
      streamRows([{ code: channel.code, kind, fs, unit, samples }]).features.get(feature) ?? [];
    expect(of('mV').length).toBeGreaterThan(4);
    for (const unit of ['uV', 'V', 'kPa', '', 'counts']) expect(of(unit)).toEqual(of('mV'));
  });

  test('40 degrees Fahrenheit are no skin', () => {
    expect(goodValues('temp_mean', 'temp', 4, '[degF]', ['temp.skin'], () => 40)).toEqual([]);
  });
});

describe('a skin temperature is not good', () => {
  const random = seeded(7);
  test.each([
    ['that scatters by degrees', () => 31 + 4 * random()],
    ['of two levels by turns', (t: number) => (Math.floor(4 * t) % 10 < 4 ? 38 : 33)],
    ['of a sensor that has just come off', (t: number) => Math.max(22, 33 - t / 20)],
  ])('%s', (_, make) => {
    const values = goodValues('temp_mean', 'temp', 4, 'Cel', ['temp.skin'], make);
    expect(values).toEqual([]);
  });

  test('and is where it changes as skin does', () => {
    expect(goodValues('temp_mean', 'temp', 4, 'Cel', ['temp.skin'], (t) => 33 - t / 100 + 0.05 * random()).length).toBeGreaterThan(35);
  });
});

describe('skin conductance', () => {
  const ofRate = (fs: number, make: (t: number) => number): number[] => goodValues('scr_rate', 'eda', fs, 'uS', ['eda'], make);

  test.each([4, 32, 250])('has no good rate of responses at %d Hz where contact changes, or nothing can be seen', (fs) => {
    const noise = seeded(fs);
    for (const make of [
      // an electrode is touched: at 4 Hz that cannot be told
      (t: number) => 4 + (fs > 4 && t % 15 < 2 ? 0.3 : 0) + (fs > 4 ? 0.004 : 0) * noise(),
      // rises that are too fast for skin
      (t: number) => 4 + 5 * Math.max(0, t % 12 < 1 ? t % 12 : Math.exp(1 - (t % 12))) + 0.004 * noise(),
      // one value is held
      () => 3.2,
      // steps of the converter are as high as responses
      (t: number) => 0.06 * Math.round((2 + 0.006 * t + 0.004 * noise()) / 0.06),
    ])
      expect(ofRate(fs, make)).toEqual([]);
  });

  /** A response of 0.2 uS every 20 s, from a level that is flat but for noise. */
  const responses =
    (random: () => number) =>
    (t: number): number => {
      const since = (t % 20) - 5;
      return 5 + (since > 0 ? 0.4 * (1 - Math.exp(-since)) * Math.exp(-since / 4) : 0) + 0.004 * random();
    };

  test.each([2, 4, 8, 32, 128, 1000])('three responses a minute are counted at %d Hz', (fs) => {
    expectAll(goodValues('scr_rate', 'eda', fs, 'uS', ['eda'], responses(seeded(4))), 28, 3, 0.25);
  });

  test.each([
    ['uS', 1],
    ['µS', 1],
    ['μS', 1],
    ['us', 1],
    ['nS', 1000],
    ['mS', 1e-3],
    ['S', 1e-6],
  ])('in %s', (unit, per) => {
    const make = responses(seeded(4));
    expectAll(
      goodValues('eda_tonic', 'eda', 4, unit, ['eda'], (t) => per * make(t)),
      36,
      5,
      0.07,
    );
    expectAll(
      goodValues('scr_rate', 'eda', 4, unit, ['eda'], (t) => per * make(t)),
      28,
      3,
      0.25,
    );
  });

  test.each([
    [4, 0.05],
    [4, 0.2],
    [4, 1],
    [8, 0.05],
    [32, 0.2],
    [128, 0.05],
  ])('no rate of responses is good at %d Hz with noise of %d uS, which makes them or hides them', (fs, noiseUs) => {
    const random = seeded(5);
    const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const make = responses(seeded(4));
    expect(goodValues('scr_rate', 'eda', fs, 'uS', ['eda'], (t) => make(t) + noiseUs * normal())).toEqual([]);
  });

  test('of a sensor that is off has neither level nor responses', () => {
    for (const feature of ['eda_tonic', 'scr_rate']) expect(goodValues(feature, 'eda', 4, 'uS', ['eda'], () => 0)).toEqual([]);
  });

  // promise: foreign-units
  test.each(['Ohm', 'kOhm', 'kohm', 'kΩ', 'MOhm', 'V', 'mV', 'MS', 's', '%'])('in %s has neither level nor responses', (unit) => {
    const make = responses(seeded(4));
    for (const feature of ['eda_tonic', 'scr_rate']) expect(valueCount(feature, 'eda', 4, unit, ['eda'], make)).toBe(0);
  });
});
