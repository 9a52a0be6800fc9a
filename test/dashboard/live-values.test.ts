import { expect, it } from 'vitest';
import { liveText, standingTiles } from '../../dashboard/live-values.ts';
import { heartRate, otherValues, secondValues } from '../../dashboard/wall/wall-values.ts';
import { featureMethods } from '../../src/dsp/rows/methods.ts';
import { formatValue } from '../../widgets/shared/format.ts';
import { describedMethods, everyLiveValue } from '../helpers/live-values.ts';

const values = everyLiveValue();
const standing = [heartRate, ...secondValues].flatMap((one) => one.values).concat(standingTiles);
const of = (feature: string) => values.find((value) => value.feature === feature)!;

it('every computed value has words, a printed unit and a number of its own', () => {
  expect(values.map(({ feature }) => feature).toSorted()).toEqual(featureMethods.map(({ feature }) => feature).toSorted());
  for (const { feature, label, short, title, unit, per } of values) {
    expect([feature, label]).toEqual([feature, expect.not.stringContaining('_')]);
    expect([feature, short.length > 0 && !short.includes('_')]).toEqual([feature, true]);
    expect([feature, title]).toEqual([feature, expect.not.stringMatching(/[{}[\]]|^1$/)]);
    expect([feature, formatValue('en', 0.5 * per, { unit })]).toEqual([feature, expect.stringMatching(/^\d+(\.\d{1,3})?$/)]);
    for (const none of [Number.NaN, Infinity]) expect(formatValue('en', none * per, { unit })).toBe('–');
  }
  expect(new Set(values.map(({ label }) => label)).size).toBe(values.length);
  // The wall cuts what is longer; a pointer over it shows the name.
  expect(values.filter(({ short, label }) => short === label || short.length > 12)).toEqual([]);
  expect(new Set(values.map(({ short }) => short)).size).toBe(values.length);
});

it('shares of differences are in per cent, counts of beats say so', () => {
  expect(of('hrv_pnn50_300s')).toMatchObject({ title: '%', per: 100 });
  expect(of('ventricular_run_10s')).toMatchObject({ title: '', label: 'Longest ventricular run, 10\u00a0s (beats)' });
  expect(of('hr_ecg').short).toBe('HR');
  expect(of('qtc_hodges_60s')).toMatchObject({ short: 'QTC-H', title: 'ms' });
});

it('whether a sensor is worn is no number', () => {
  expect([0, 1].map((stored) => liveText(of('worn_ppg'), stored))).toEqual(['no', 'yes']);
  expect(liveText(of('hrv_pnn50_300s'), 0.125)).toBe('13');
});

it('a value is out of date some time after the next one was due, never before', () => {
  for (const { feature, staleMs } of [...values, ...standing]) {
    const { cadenceSec } = featureMethods.find((method) => method.feature === feature)!;
    expect([feature, staleMs >= 1000 * cadenceSec + 4000]).toEqual([feature, true]);
  }
});

it('what stands on the pages without a choice is as the service describes it, but for its short name', () => {
  for (const { short, ...shown } of standing) {
    const { short: _short, ...described } = of(shown.feature);
    expect(shown).toEqual(described);
    expect(short).not.toBe('');
  }
});

it('the wall offers every value once', () => {
  const offered = [...secondValues, ...otherValues(describedMethods, 'en')].flatMap((one) => one.values.map(({ feature }) => feature));
  expect(featureMethods.filter(({ feature }) => !offered.includes(feature))).toEqual([]);
  expect(offered).toHaveLength(new Set(offered).size);
});
