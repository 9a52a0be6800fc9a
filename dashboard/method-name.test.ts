import { expect, it } from 'vitest';
import { featureMethods } from '../src/dsp/rows/methods.ts';
import { countedIn, methodName } from './method-name.ts';

it('no two computed values have the same name', () => {
  const names = featureMethods.map(({ feature, title, windowSec }) => methodName({ name: feature, title, window_sec: windowSec ?? null }));
  expect(names).toContain('HRV: Root mean square of successive differences, 60\u00a0s');
  expect(names).toContain('PRV: Root mean square of successive differences, 5\u00a0min');
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
});

it('what is counted in beats says so; what its name says is not said twice', () => {
  expect(countedIn({ name: 'ventricular_run_10s', unit: '{beats}' })).toBe('beats');
  expect(countedIn({ name: 'steps', unit: '{steps}' })).toBe('');
  expect(countedIn({ name: 'hrv_pnn50_300s', unit: '1' })).toBe('%');
});
