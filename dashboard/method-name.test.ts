import { expect, it } from 'vitest';
import { featureMethods } from '../src/dsp/rows/methods.ts';
import { catalogRows } from '../test/helpers/catalog-rows.ts';
import { describedMethods } from '../test/helpers/live-values.ts';
import { countedIn, methodName, storedOf, typedIn, typedOf } from './method-name.ts';

it('every computed value has the name that the catalog has for it, and no other value has it', () => {
  const names = describedMethods.filter(({ kind, current }) => kind === 'feature' && current).map(methodName);
  expect(names).toContain('HRV RMSSD, 60\u00a0s');
  expect(names).toContain('PRV RMSSD, 5\u00a0min');
  expect(names.filter((name) => !catalogRows.some((row) => row.name === name.replaceAll('\u00a0', ' ')))).toEqual([]);
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
});

it('what is counted in beats says so; what its name says is not said twice', () => {
  expect(countedIn({ name: 'ventricular_run_10s', unit: '{beats}' })).toBe('beats');
  expect(countedIn({ name: 'steps', unit: '{steps}' })).toBe('');
  expect(countedIn({ name: 'hrv_pnn50_300s', unit: '1' })).toBe('%');
});

it('what is typed has its unit, and is stored in that of the method, both ways', () => {
  const said = (name: string): string => {
    const { feature, unit } = featureMethods.find((method) => method.feature === name)!;
    return typedIn({ name: feature, unit });
  };
  expect(['hr_ecg', 'hrv_pnn50_300s', 'af_burden_300s', 'ventricular_run_10s'].map(said)).toEqual(['/min', '%', '%', 'beats']);
  expect(['af_index', 'sqi_ppg', 'worn_ppg'].map(said)).toEqual(Array.from({ length: 3 }, () => 'from 0 to 1'));
  expect(['hrv_lf_hf_300s', 'hrv_sample_entropy_300s'].map(said)).toEqual(['no unit', 'no unit']);
  for (const { feature: name, unit } of featureMethods) {
    const method = { name, unit };
    for (const typed of [0.7, 1, 2.5, 35, 90]) expect([name, typedOf(method, storedOf(method, typed))]).toEqual([name, typed]);
    expect([name, storedOf(method, 90)]).toEqual([name, typedIn(method) === '%' && unit === '1' ? 0.9 : 90]);
  }
});
