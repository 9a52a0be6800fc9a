import { expect, it } from 'vitest';
import { catalogRows } from '../test/helpers/catalog-rows.ts';
import { describedMethods } from '../test/helpers/live-values.ts';
import { countedIn, methodName } from './method-name.ts';

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
