import { describe, expect, test } from 'vitest';
import { ecgSqiGood } from '../ecg/quality.ts';
import { BeatTrack, Gaps } from '../hrv/beats.ts';
import { BeatValues, flagOf } from '../hrv/values.ts';
import { methodDescriptions } from './method-descriptions.ts';
import { methodIndex } from '../rows/methods.ts';

const described = methodDescriptions();
const current = described.filter((m) => m.current);

describe('methodDescriptions', () => {
  // promise: method-versions
  test('every code is there once, and a retired one has a newer version', () => {
    expect(new Set(described.map(({ code }) => code)).size).toBe(described.length);
    for (const { feature, version } of described.filter((m) => !m.current))
      expect(current.find((m) => m.feature === feature)!.version, feature).toBeGreaterThan(version);
  });

  test('earlier versions are all listed', () => {
    for (const { feature, version } of current)
      expect(
        described
          .filter((m) => m.feature === feature)
          .map((m) => m.version)
          .toSorted((a, b) => a - b),
        feature,
      ).toEqual(Array.from({ length: version }, (_, i) => i + 1));
  });

  test('a current version has a step of which a whole number is 1; one of before steps has none', () => {
    for (const { code, step } of current) {
      expect(step, code).toBeGreaterThan(0);
      expect(Math.abs(1 / step - Math.round(1 / step)), code).toBeLessThan(1e-9);
    }
    const stepsOf = (feature: string): number[] =>
      described
        .filter((m) => m.feature === feature)
        .toSorted((a, b) => a.version - b.version)
        .map(({ step }) => step);
    expect(stepsOf('hr_ecg')).toEqual([
      0, 0, 0, 0, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001,
    ]);
    expect(stepsOf('prv_sdnn_300s')).toEqual([0, 0, 0, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001]);
    expect(stepsOf('steps')).toEqual([1, 1, 1]);
    expect(stepsOf('r_peaks')).toEqual([
      0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001,
    ]);
  });

  test('the flag of variability turns at the shares that its parameters name', () => {
    const { parameters } = current.find((m) => m.feature === 'hrv_mean_nn_300s')!;
    const at = (name: string): number => parameters.find((parameter) => parameter.name === name)!.value;
    const more = 1e-6;
    expect(flagOf(at('covered_good'), at('excluded_suspect'), 0, at('doubtful_suspect'))).toBe(0);
    expect(flagOf(at('covered_good') - more, 0, 0, 0)).toBe(1);
    expect(flagOf(1, at('excluded_suspect') + more, 0, 0)).toBe(1);
    expect(flagOf(1, at('excluded_bad') + more, 0, 0)).toBe(2);
    expect(flagOf(1, 0, more, 0)).toBe(1);
    expect(flagOf(1, 0, at('bad_beats_max') + more, 0)).toBe(2);
    expect(flagOf(1, 0, 0, at('doubtful_suspect') + more)).toBe(1);
    expect(flagOf(1, 0, 0, at('doubtful_bad') + more)).toBe(2);
  });

  // promise: methods-listed
  test.each(current.map((m) => [m.code, m] as const))(
    '%s has parameters with units and meaning, and limits',
    (_, { parameters, limits }) => {
      expect(parameters.length).toBeGreaterThan(0);
      expect(limits.length).toBeGreaterThan(0);
      expect(new Set(parameters.map(({ name }) => name)).size).toBe(parameters.length);
      for (const { name, value, unit, meaning } of parameters) {
        expect(name).toMatch(/^[a-z0-9]+(_[a-z0-9]+)*$/);
        expect(Number.isFinite(value), name).toBe(true);
        expect(unit, name).not.toBe('');
        expect(meaning.length, name).toBeGreaterThan(5);
      }
    },
  );

  // promise: methods-listed
  test('what is listed is what is computed with', () => {
    const parameter = (feature: string, name: string): number =>
      current.find((m) => m.feature === feature)!.parameters.find((found) => found.name === name)!.value;
    expect(parameter('sqi_ecg', 'good')).toBe(ecgSqiGood);
    // 61 s of a pulse at 60 /min whose intervals differ by d ms: RMSSD is d, and suspect beyond the listed share of the mean
    const limitMs = 1000 * parameter('hrv_rmssd_60s', 'rmssd_share_max');
    for (const [d, flag] of [
      [0.9 * limitMs, 0],
      [1.1 * limitMs, 1],
    ] as const)
      expect(rmssdOf(d)).toEqual({ value: expect.closeTo(d, 6) as number, flag });
  });
});

/** RMSSD of 60 s and its flag, of good beats whose intervals alternate around 1 s by d ms from one to the next. */
function rmssdOf(d: number): { value: number; flag: number } {
  const track = new BeatTrack();
  const found: { value: number; flag: number }[] = [];
  const method = methodIndex('hrv_rmssd_60s');
  const values = new BeatValues(
    'ecg',
    250,
    track,
    new Gaps(),
    () => 0,
    () => false,
    {
      value: (index, _channel, _tUs, value, flag) => void (index === method && found.push({ value, flag })),
    },
  );
  values.start(0);
  for (let i = 0, t = 100_000; i < 70; i++, t += 1e6 + (i % 2 === 0 ? 500 : -500) * d) track.push(t, 1, 0);
  track.flag.fill(0, 0, track.count);
  values.advance(60.5e6, 60.5e6);
  return found.at(-1)!;
}
