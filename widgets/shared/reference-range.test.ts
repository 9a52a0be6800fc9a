/** Reference ranges that a page gives. */
import { expect, it } from 'vitest';
import { parseReference } from './reference-range.ts';

it.each([
  ['60-100', 'HR', { low: 60, high: 100 }],
  ['HR:60-100 RMSSD:20-', 'HR', { low: 60, high: 100 }],
  ['HR:60-100 RMSSD:20-', 'rmssd', { low: 20, high: Infinity }],
  ['TEMP:-37.5', 'TEMP', { low: -Infinity, high: 37.5 }],
  ['HR:60-100', 'RMSSD', null],
  ['100-60', 'HR', null],
  ['-', 'HR', null],
  ['sixty-100', 'HR', null],
  [null, 'HR', null],
])('%o for %s is %o', (text, key, range) => {
  expect(parseReference(text, key)).toEqual(range);
});
