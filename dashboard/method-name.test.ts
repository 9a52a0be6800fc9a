import { expect, it } from 'vitest';
import { featureMethods } from '../src/dsp/rows/methods.ts';
import { methodName } from './method-name.ts';

it('no two computed values have the same name', () => {
  const names = featureMethods.map(({ feature, title, windowSec }) => methodName({ name: feature, title, window_sec: windowSec ?? null }));
  expect(names).toContain('HRV: Root mean square of successive differences, 60\u00a0s');
  expect(names).toContain('PRV: Root mean square of successive differences, 5\u00a0min');
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
});
