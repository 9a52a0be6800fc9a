/** The catalog by the names that pages use, and the newest value of a chart. */
import { expect, it } from 'vitest';
import type { Biosignal, Observation, Series } from './data.ts';
import { isCounted as isSummed } from '../../src/query/observations.ts';
import { medianStep } from './buckets.ts';
import { findBiosignal, isCounted, newestOf } from './data.ts';

const list = [
  { id: 8, name: 'Heart rate', abbreviation: 'HR', loinc_code: '8867-4' },
  { id: 17, name: 'HR', abbreviation: 'PR', loinc_code: '8' },
] as Biosignal[];

it.each([
  ['hr', 8], // an abbreviation comes before a name
  ['8867-4', 8],
  ['17', 17],
  ['8', 8], // an id or a LOINC code, whichever comes first in the catalog
  ['heart RATE', 8],
  ['Heart', undefined],
  ['', undefined],
])('%o is biosignal %o', (wanted, id) => {
  expect(findBiosignal(list, wanted)?.id).toBe(id);
});

it.each(['{steps}', '{couplets}', '{runs}', '{beats}', '%', '/min'])(
  'widgets tell the sum of today of what the service sums: %s',
  (unit) => {
    expect(isCounted({ unit })).toBe(isSummed(unit));
    expect(isCounted({ unit })).toBe(['{steps}', '{couplets}', '{runs}'].includes(unit));
  },
);

it('the usual step is not moved by one long gap', () => {
  expect(medianStep([0, 10, 20, 30, 10_000])).toBe(10);
  expect(medianStep([5])).toBe(60_000);
});

it('the newest value is that of the observation, else the last of the chart that is not a gap', () => {
  const series = { values: [60, 61, null], timesMs: [0, 1000, 2000], flags: [0, 1, 2], stepMs: 1000 } as unknown as Series;
  const observation = { value: 72, effective_time: '1970-01-01T00:01:00Z', qmask: 0 } as Observation;
  expect(newestOf(series, observation)).toEqual({ value: 72, timeMs: 60_000, flag: 0, lengthMs: 60_000 });
  expect(newestOf(series, null)).toEqual({ value: 61, timeMs: 1000, flag: 1, lengthMs: 1000 });
  expect(newestOf({ ...series, values: [null, null, null] }, null)).toBeNull();
});
