/** Durations, numbers, ages and units, as pages write and people read them. */
import { expect, it } from 'vitest';
import { convertUnit, formatAge, formatNumber, formatTime, formatValue, parseDuration, unitLabel } from './format.ts';

it.each([
  ['15m', 900_000],
  ['24h', 86_400_000],
  ['7d', 604_800_000],
  ['1.5h', 5_400_000],
  ['PT1H', 3_600_000],
  ['P1DT2H3M4S', 93_784_000],
  ['P2W', 1_209_600_000],
  ['P', null],
  ['PT0S', null],
  ['24', null],
  ['-1h', null],
  ['', null],
])('the duration %o is %o ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

it('a number keeps its whole digits and at most three that are significant', () => {
  expect([0.01234, 12.34, 1234.5, -0.5, Number.NaN, Infinity].map((value) => formatNumber('en', value))).toEqual([
    '0.0123',
    '12.3',
    '1,235',
    '-0.5',
    '–',
    '–',
  ]);
});

it('a value has the decimals that suit its unit, and a dash where there is none', () => {
  expect(formatValue('en', 61.6, { unit: '/min' })).toBe('62');
  expect(formatValue('de', 36.55, { unit: 'Cel' })).toBe('36,6');
  expect(formatValue('en', null, { unit: '/min' })).toBe('–');
  expect(['ms2', '%/s2', 'm/s2', 'ms', '{runs}', '1'].map(unitLabel)).toEqual(['ms²', '%/s²', 'm/s²', 'ms', '', '']);
  // an index of fibrillation, a ratio of the pulse's waves
  expect([0.044, -0.652, 31.4].map((value) => formatValue('en', value, { unit: '1' }))).toEqual(['0.04', '-0.65', '31']);
  // a wrist at rest and on a walk; skin conductance; a response of the skin every other minute; a slow heart
  expect([0.003, 0.214].map((value) => formatValue('en', value, { unit: '[g]' }))).toEqual(['0.003', '0.214']);
  expect([0.31, 2.706, 12.4].map((value) => formatValue('en', value, { unit: 'uS' }))).toEqual(['0.31', '2.71', '12']);
  expect([0.5, 3.5, 35.4].map((value) => formatValue('en', value, { unit: '/min' }))).toEqual(['0.5', '3.5', '35']);
});

it('what a person or a device gave is shown as it was given, computed or not as its unit has it', () => {
  const given = (unit: string, ...values: number[]) => values.map((value) => formatValue('en', value, { unit, source_type: 'device' }));
  expect(given('kg', 72.4, 72, 160 * 0.45359237, 3.25)).toEqual(['72.4', '72', '72.6', '3.25']);
  expect(given('mg/dL', 104.5, 5.8 * 18.0156, 1204.5)).toEqual(['104.5', '104.5', '1,204.5']);
  expect(given('mmol/L', 12.3, 5.25, 0)).toEqual(['12.3', '5.25', '0']);
  // body fat, a saturation; the density of urine; troponin
  expect(given('%', 23.4, 97)).toEqual(['23.4', '97']);
  expect(given('1', 1.025, -12.5)).toEqual(['1.025', '-12.5']);
  expect(given('ng/mL', 0.0125)).toEqual(['0.0125']);
  // a mean of scores; of sleep
  expect(given('{score}', 4, 3.571, 12.43)).toEqual(['4', '3.6', '12.4']);
  expect(given('h', 7.3833, 10)).toEqual(['7.4', '10.0']);
  expect([given('/min', 61.6), given('ms', 812.4), given('{steps}', 7.5), given('Cel', 36.55)].flat()).toEqual(['62', '812', '8', '36.6']);
});

it('what nobody here computes is shown as it was given, also where its source is not known', () => {
  expect(['kg', 'mg/dL', ''].map((unit) => formatValue('en', 72.45, { unit }))).toEqual(['72.5', '72.5', '72.5']);
  expect(['%', 'ms2', '%/s2', '1', '{beats}'].map((unit) => formatValue('en', 72.45, { unit, source_type: 'derived' }))).toEqual(
    Array(5).fill('72'),
  );
});

it('an age is told in its largest unit', () => {
  const nowMs = 1_795_000_000_000;
  expect([0, 30, 100, 7200, 172_800].map((seconds) => formatAge('en', nowMs - seconds * 1000, nowMs))).toEqual([
    'now',
    '30 seconds ago',
    '2 minutes ago',
    '2 hours ago',
    '2 days ago',
  ]);
});

it('temperatures are converted where people use Fahrenheit, with their bounds; nothing else is', () => {
  const series = { unit: 'Cel', values: [37, null], lows: [36, null], highs: [40, null], range: [36, 40], newest: { value: 38 } };
  const shown = convertUnit(series, 'us');
  expect(shown.unit).toBe('[degF]');
  expect([shown.values, shown.lows, shown.highs].map((list) => list.map((value) => value && Number(value.toFixed(3))))).toEqual([
    [98.6, null],
    [96.8, null],
    [104, null],
  ]);
  expect(shown.newest.value).toBeCloseTo(100.4);
  expect(convertUnit(series, null)).toBe(series);
  expect(convertUnit({ ...series, unit: '/min' }, 'us').unit).toBe('/min');
});

it('tells pNN50 and pNN20 in per cent, by whatever it was asked for', () => {
  for (const named of [{ name: 'VFC pNN50, 5 min' }, { key: 'hrv_pnn50_300s' }, { key: 'hrv_pnn20_300s' }])
    expect(convertUnit({ ...named, unit: '1', values: [0.25, null] }, null)).toMatchObject({ unit: '%', values: [25, null] });
  expect(unitLabel('%/s2')).toBe('%/s²');
});

it.each(['constructor', 'toString', '__proto__', ''])('a unit that no table has is printed as it is, and its numbers too: %o', (unit) => {
  expect(unitLabel(unit)).toBe(unit);
  expect(['de', 'en'].map((locale) => formatValue(locale, 3.25, { unit }))).toEqual(['3,25', '3.25']);
});

it('a unit is printed as people write it', () => {
  expect(['Cel', '{score}', '1', 'mm[Hg]', '[g]', 'kg'].map(unitLabel)).toEqual(['°C', '', '', 'mmHg', 'g', 'kg']);
});

// promise: clock-change-said
it.each([
  ['en-GB', '26 Oct 2025, 02:10 CEST', '26 Oct 2025, 02:10 CET'],
  ['de', '26.10.2025, 02:10 MESZ', '26.10.2025, 02:10 MEZ'],
  ['fr', '26 oct. 2025, 02:10 UTC+2', '26 oct. 2025, 02:10 UTC+1'],
])('an hour that the clocks show twice is told apart, in %s', (locale, first, second) => {
  const time = (iso: string, style?: 'date' | 'seconds'): string => formatTime(locale, Date.parse(iso), 'Europe/Berlin', style);
  expect([time('2025-10-26T00:10Z'), time('2025-10-26T01:10Z')]).toEqual([first, second]);
  for (const once of ['2025-10-25T23:59Z', '2025-10-26T02:00Z', '2026-03-29T01:00Z']) expect(time(once)).toMatch(/\d\d:\d\d$/);
  expect(time('2025-10-26T00:10Z', 'date')).not.toMatch(/C?E|UTC|M/);
});
