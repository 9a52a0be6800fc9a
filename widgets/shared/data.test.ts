/** The catalog by the names that pages use, and the newest value of a chart. */
import { expect, it } from 'vitest';
import type { Biosignal, Observation, Series } from './data.ts';
import { isCounted as isSummed } from '../../src/query/observations.ts';
import { medianStep } from './buckets.ts';
import { biosignalOf, findBiosignal, isCounted, latestObservation, newestOf } from './data.ts';
import type { Session } from './session.ts';

const list = [
  { id: 8, name: 'Heart rate', abbreviation: 'HR', loinc_code: '8867-4' },
  { id: 17, name: 'HR', abbreviation: 'PR', loinc_code: '8' },
  { id: 116, name: 'HRV mean NN interval, 5 min', abbreviation: 'MEAN-NN', loinc_code: '' },
  { id: 1000, name: 'Anger', abbreviation: 'Ärger', loinc_code: '' },
] as Biosignal[];

it.each([
  ['hr', 8], // an abbreviation comes before a name
  ['8867-4', 8],
  ['17', 17],
  ['8', 8], // an id or a LOINC code, whichever comes first in the catalog
  ['heart RATE', 8],
  ['äRGER', 1000],
  ['Arger', undefined],
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

/** Answers of a service with one biosignal: couplets, of two minutes of today, of which the newest is good and has none. */
function couplets(): { session: Session; asked: object[] } {
  const asked: object[] = [];
  const biosignal = { id: 113, name: 'Ventricular couplets, 5 min', abbreviation: 'V-COUPLETS', loinc_code: '', unit: '{couplets}' };
  const session = {
    identity: async () => await Promise.resolve({ projectId: 'p', subjectId: 's' }),
    get: async (path: string) =>
      await Promise.resolve(path.endsWith('/biosignals') ? [biosignal] : [{ value: 0, qmask: 0, effective_time: '2026-01-05T08:10:00Z' }]),
    post: async (_: string, { body }: { body: { series: object[] } }) => {
      asked.push(...body.series);
      const values = [{ name: biosignal.name, unit: biosignal.unit, agg: 'sum', biosignal_id: null }];
      return await Promise.resolve({ resolution: '1d', values, data: [[0, 234]], qmask: [[1]] });
    },
  };
  return { session: session as unknown as Session, asked };
}

it('the sum of today has the flag of today, not that of its newest minute', async () => {
  const { session } = couplets();
  const biosignal = (await biosignalOf(session, 'V-COUPLETS'))!;
  expect(await latestObservation(session, biosignal, 864e5, 'UTC')).toMatchObject({ value: 234, qmask: 1, biosignal_id: 113 });
});

it('a feature is known by its name, which the service is asked for once', async () => {
  const { session, asked } = couplets();
  for (let i = 0; i < 2; i++) expect((await biosignalOf(session, 'ventricular_couplets_300s'))?.id).toBe(113);
  expect(asked).toEqual([{ feature: 'ventricular_couplets_300s' }]);
});

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
