/** Long durations, as a person says them. */
import { expect, it } from 'vitest';
import { hoursAndMinutes } from './health-metrics.ts';

it.each([
  [444, 'min', { hours: 7, minutes: 24 }],
  [7.4, 'h', { hours: 7, minutes: 24 }],
  [1.999, 'h', { hours: 2, minutes: 0 }],
  [60, 'min', { hours: 1, minutes: 0 }],
  [59.4, 'min', null],
  [0.5, 'h', null],
  [444, '/min', null],
])('%o %s is %o', (value, unit, said) => {
  expect(hoursAndMinutes(value, unit)).toEqual(said);
});
