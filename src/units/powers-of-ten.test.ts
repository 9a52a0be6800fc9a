import { expect, it } from 'vitest';
import { powerOfTen, takenAs, timesTen } from './powers-of-ten.ts';

it.each([
  ['mg/dl', 'mg/dL', 0],
  ['g/L', 'mg/dL', 2],
  ['mg/L', 'mg/dL', -1],
  ['10*3/uL', '10*9/L', 0],
  ['/nL', '10*9/L', 0],
  ['10*3/mm3', '10^9/l', 0],
  ['1000/uL', '10*9/L', 0],
  ['mL/min', 'L/min', -3],
  ['mol/(s.m3)', 'mmol/(s.L)', 0],
  ['kPa', 'Pa', 3],
  ['mm2', 'cm2', -2],
  ['%', '1', -2],
  ['/(24.h)', '/(240.h)', 1],
  ['u[iU]/mL', 'm[IU]/L', 0],
  ['cm/s2', 'm/s2', -2],
  ['kg/(m.s)', 'g/m/s', 3],
])('from %s to %s are 10^%i', (from, to, power) => {
  expect(powerOfTen(from, to)).toBe(power);
  expect(powerOfTen(to, from)! + power).toBe(0);
});

it.each([
  ['mg/dL', 'mmol/L'],
  ['min', 'h'],
  ['Cel', 'K'],
  ['{beats}/min', '/min'],
  ['kg{dry}', 'kg'],
  ['Kibit', 'bit'],
  ['/(24.h)', '/h'],
  ['m/s2', 'm/s'],
  ['a/b', 'no unit'],
  ['mmHg', 'mm[Hg]'],
])('%s is no power of ten of %s', (from, to) => expect([powerOfTen(from, to), powerOfTen(to, from)]).toEqual([null, null]));

it('multiplies decimal numbers exactly', () => {
  expect([timesTen(0.57, 2), timesTen(1.1e-7, 3), timesTen(-4.35, 2), timesTen(0, 5), timesTen(123.456, -3)]).toEqual([
    57, 1.1e-4, -435, 0, 0.123456,
  ]);
  expect(0.57 * 100).not.toBe(57);
  expect(timesTen(1e308, 3)).toBe(Infinity);
});

it.each(['%', '[ppth]', '[ppm]', '[ppb]', '[pptr]'])('1, which may mean no unit, is not taken for %s, nor that for 1', (ratio) => {
  expect([takenAs('1', [ratio]), takenAs(ratio, ['1'])]).toEqual([null, null]);
  expect(takenAs('1', [ratio, '1'])).toEqual({ unit: '1', power: 0 });
  expect(takenAs(ratio, ['1', '%'])).toEqual({ unit: '%', power: powerOfTen(ratio, '%') });
});
