/** Arithmetic of what moves a chart, without a browser. */
import { expect, it } from 'vitest';
import type { Series } from '../../shared/data.ts';
import { tickTexts, timeSplits } from '../ticks.ts';
import { alignedTo, comparisonOf } from './compare.ts';
import { csvOf, localIso } from './download.ts';
import { holesOf } from './holes.ts';
import { rowAt } from './moves.ts';
import { datesOf } from './nights.ts';
import { panned, selected, stepped, zoomed } from './view.ts';

const HOUR_MS = 36e5;
const at = (iso: string): number => Date.parse(iso);
const view = (from: string, to: string) => ({ fromMs: at(from), toMs: at(to) });
const iso = ({ fromMs, toMs }: { fromMs: number; toMs: number }): string[] => [fromMs, toMs].map((ms) => new Date(ms).toISOString());

it('finds where a plot has nothing: before, between and after its values, and not where one comes more seldom', () => {
  const minutes = (...of: number[]): number[] => of.map((minute) => minute * 60_000);
  const timesMs = minutes(3, 4, 5, 6, 9, 10, 11);
  const all = (of: unknown): never[] => timesMs.map(() => of) as never[];
  const own = { timesMs, values: all(1), flags: all(0) } as unknown as Series;
  const spans = (group: Series[], nowMs = 1e9) =>
    holesOf(group, { fromMs: 0, toMs: 20 * 60_000 }, nowMs).map(({ fromMs, toMs }) => [fromMs / 60_000, toMs / 60_000]);
  expect(spans([own])).toEqual([
    [0, 3],
    [7, 9],
    [12, 20],
  ]);
  // What comes now may be on its way.
  expect(spans([own], 12.5 * 60_000)).toEqual([
    [0, 3],
    [7, 9],
  ]);
  expect(spans([{ ...own, values: all(null) }, own])).toEqual(spans([own]));
  expect(spans([{ ...own, values: all(null), flags: all(2) }])).toEqual(spans([own]));
  expect(spans([{ ...own, values: all(null) }])).toEqual([[0, 20]]);
});

it('zooms about a time, within bounds', () => {
  const day = { fromMs: 0, toMs: 24 * HOUR_MS };
  expect(zoomed(day, 0.5, 6 * HOUR_MS)).toEqual({ fromMs: 3 * HOUR_MS, toMs: 15 * HOUR_MS });
  const { fromMs, toMs } = zoomed(day, 1e-9, 0);
  expect(toMs - fromMs).toBe(10_000);
  const most = zoomed(day, 1e9, 0);
  expect((most.toMs - most.fromMs) / 864e5).toBe(3650); // the service refuses 3660
});

it('does not move into the future, and back out of a day that ends in it', () => {
  const today = { fromMs: 0, toMs: 24 * HOUR_MS };
  const nowMs = 10 * HOUR_MS;
  expect(panned(today, 0.5, nowMs)).toEqual(today);
  expect(panned(today, -0.5, nowMs)).toEqual({ fromMs: -12 * HOUR_MS, toMs: 12 * HOUR_MS });
  expect(panned({ fromMs: 0, toMs: 8 * HOUR_MS }, 1, nowMs)).toEqual({ fromMs: 2 * HOUR_MS, toMs: 10 * HOUR_MS });
});

it('takes a drag either way, and none that is too short', () => {
  expect(selected(90_000, 30_000)).toEqual({ fromMs: 30_000, toMs: 90_000 });
  expect(selected(30_000, 35_000)).toBeNull();
});

it.each([
  ['a day of 23 hours', view('2026-03-28T23:00Z', '2026-03-29T22:00Z'), -1, ['2026-03-27T23:00:00.000Z', '2026-03-28T23:00:00.000Z']],
  [
    'a day before one of 23 hours',
    view('2026-03-27T23:00Z', '2026-03-28T23:00Z'),
    1,
    ['2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z'],
  ],
  ['a week', view('2026-03-22T23:00Z', '2026-03-29T22:00Z'), 1, ['2026-03-29T22:00:00.000Z', '2026-04-05T22:00:00.000Z']],
  ['24 hours until now', view('2026-03-28T14:30Z', '2026-03-29T14:30Z'), -1, ['2026-03-27T14:30:00.000Z', '2026-03-28T14:30:00.000Z']],
  // Else an hour of the day of 25 hours would be in neither.
  [
    '24 hours that begin before the clocks go back',
    view('2025-10-25T23:13Z', '2025-10-26T23:13Z'),
    -1,
    ['2025-10-24T23:13:00.000Z', '2025-10-25T23:13:00.000Z'],
  ],
  ['an hour', view('2026-03-29T00:30Z', '2026-03-29T01:30Z'), -1, ['2026-03-28T23:30:00.000Z', '2026-03-29T00:30:00.000Z']],
] as const)('steps from %s to the one before or after', (_, from, direction, expected) => {
  expect(iso(stepped(from, direction, 'Europe/Berlin'))).toEqual(expected);
});

it('has axes of whole hours and days of the clock', () => {
  const splits = (from: string, to: string, step: number, zone: string): string[] =>
    timeSplits(at(from) / 1000, at(to) / 1000, step, zone).map((sec) => new Date(sec * 1000).toISOString().slice(0, 16));
  expect(splits('2026-03-28T12:00Z', '2026-03-30T12:00Z', 86_400, 'Europe/Berlin')).toEqual(['2026-03-28T23:00', '2026-03-29T22:00']);
  expect(splits('2026-01-01T00:00Z', '2026-01-01T07:00Z', 10_800, 'Asia/Kolkata')).toEqual([
    '2026-01-01T00:30',
    '2026-01-01T03:30',
    '2026-01-01T06:30',
  ]);
  // 02:00 comes twice; the axis has it once.
  expect(splits('2026-10-25T00:00Z', '2026-10-25T03:00Z', 3600, 'Europe/Berlin')).toEqual(['2026-10-25T00:00', '2026-10-25T02:00']);
  // Below an hour it has both.
  expect(splits('2026-10-25T00:30Z', '2026-10-25T02:00Z', 1800, 'Europe/Berlin')).toEqual([
    '2026-10-25T00:30',
    '2026-10-25T01:00',
    '2026-10-25T01:30',
  ]);
  expect(splits('2026-01-01T00:00Z', '2026-01-01T01:00Z', 1800, 'Asia/Kathmandu')).toEqual(['2026-01-01T00:15', '2026-01-01T00:45']);
  // Weeks begin on Monday, months on their first day.
  expect(splits('2026-03-18T00:00Z', '2026-04-02T00:00Z', 604_800, 'UTC')).toEqual(['2026-03-23T00:00', '2026-03-30T00:00']);
  expect(splits('2026-01-15T00:00Z', '2026-04-02T00:00Z', 2_629_800, 'Europe/Berlin')).toEqual([
    '2026-01-31T23:00',
    '2026-02-28T23:00',
    '2026-03-31T22:00',
  ]);
  expect(splits('2016-07-01T00:00Z', '2026-07-01T00:00Z', 60 * 2_629_800, 'UTC')).toEqual(['2020-01-01T00:00', '2025-01-01T00:00']);
});

it('tells a midnight by its date, and a month with its year', () => {
  const texts = (times: readonly string[], step: number, hours: number): string[] =>
    tickTexts(
      times.map((time) => at(time) / 1000),
      step,
      hours * HOUR_MS,
      'en-GB',
      'Europe/Berlin',
    );
  expect(texts(['2026-03-28T17:00Z', '2026-03-28T23:00Z', '2026-03-29T04:00Z'], 21_600, 24)).toEqual(['18:00', '29 Mar', '06:00']);
  expect(texts(['2026-03-28T23:00Z'], 600, 1)).toEqual(['00:00']);
  expect(texts(['2026-02-28T23:00Z'], 2_629_800, 2000)).toEqual(['Mar 2026']);
  expect(texts(['2025-12-31T23:00Z'], 12 * 2_629_800, 80_000)).toEqual(['2026']);
});

// promise: clock-change-said
it('tells apart the ticks of an hour that the clocks show twice, each once', () => {
  const texts = (from: string, to: string, step: number): string[] =>
    tickTexts(timeSplits(at(from) / 1000, at(to) / 1000, step, 'Europe/Berlin'), step, at(to) - at(from), 'en-GB', 'Europe/Berlin');
  expect(texts('2025-10-25T22:30Z', '2025-10-26T03:00Z', 3600)).toEqual(['01:00', '02:00 CEST', '03:00']);
  expect(texts('2025-10-25T23:45Z', '2025-10-26T02:10Z', 900)).toEqual([
    '01:45',
    '02:00 CEST',
    '02:15',
    '02:30',
    '02:45',
    '02:00 CET',
    '02:15',
    '02:30',
    '02:45',
    '03:00',
  ]);
});

const series = (timesMs: number[], values: (number | null)[], more: Partial<Series> = {}): Series => ({
  name: 'HR',
  key: 'HR',
  unit: '/min',
  timesMs,
  values,
  flags: values.map(() => 0),
  lows: values,
  highs: values,
  shares: values.map(() => 1),
  range: [null, null, null],
  sum: null,
  goodShare: 1,
  stepMs: 60_000,
  ...more,
});

it('puts what is compared on the rows of the chart, and nothing where it has none', () => {
  const own = series([0, 60_000, 120_000, 180_000], [1, null, 3, 4]);
  const other = series([-240_000, -180_000, -60_000], [7, 8, 9]);
  const { values, compared, name } = alignedTo(own, other, (ms) => ms - 240_000, 'HR, before');
  expect([values, compared, name]).toEqual([[7, 8, null, 9], true, 'HR, before']);
});

it('goes back by the clock: a day before the day after the clocks changed', () => {
  const { shift } = comparisonOf('1d', 23 * HOUR_MS, 'Europe/Berlin')!;
  expect(new Date(shift(at('2026-03-29T22:00Z'))).toISOString()).toBe('2026-03-28T23:00:00.000Z');
  expect(comparisonOf('previous', 2 * HOUR_MS, 'UTC')!.shift(3 * HOUR_MS)).toBe(HOUR_MS);
  expect(comparisonOf('banana', HOUR_MS, 'UTC')).toBeNull();
  expect(comparisonOf('0190c5d4-0000-7000-8000-000000000000', HOUR_MS, 'UTC')!.subjectId).not.toBeNull();
});

it('writes times with their offset, quotes what needs it, and no formula', () => {
  expect(localIso(at('2026-03-29T01:00:00Z'), 'Europe/Berlin')).toBe('2026-03-29T03:00:00+02:00');
  expect(localIso(at('2026-01-01T00:00:00.250Z'), 'America/St_Johns')).toBe('2025-12-31T20:30:00.250-03:30');
  expect(localIso(0, 'UTC')).toBe('1970-01-01T00:00:00Z');
  const text = csvOf([series([0], [-1.5], { name: '=cmd(),"x"', unit: '' })], 'UTC');
  expect(text.split('\r\n')[0]).toContain(`"'=cmd(),""x"""`);
  expect(text.split('\r\n')[1]).toBe('1970-01-01T00:00:00Z,-1.5,-1.5,-1.5,good,1,');
  // Begins like a number and is none.
  expect(csvOf([series([0], [1], { name: '-2+3+cmd()', unit: '' })], 'UTC').split('\r\n')[0]).toContain("time,'-2+3+cmd(),");
  expect(csvOf([series([0], [-1e-7], { name: 'x', unit: '' })], 'UTC').split('\r\n')[1]).toContain(',-1e-7,');
});

it('writes numbers without the dust that a mean leaves', () => {
  expect(csvOf([series([0], [96.82079999999999], { name: 'x', unit: '' })], 'UTC').split('\r\n')[1]).toContain(',96.8208,');
});

it('names the days of a range, the last ones first to be kept', () => {
  expect(datesOf(view('2026-03-28T12:00Z', '2026-03-30T12:00Z'), 'Europe/Berlin')).toEqual(['2026-03-28', '2026-03-29', '2026-03-30']);
  expect(datesOf(view('2026-03-28T23:00Z', '2026-03-29T22:00Z'), 'Europe/Berlin')).toEqual(['2026-03-29']);
  expect(datesOf(view('2025-03-28T23:00Z', '2026-03-29T22:00Z'), 'UTC', 2)).toEqual(['2026-03-28', '2026-03-29']);
});

it('finds the row that is nearest to the cursor of another chart, if one is near', () => {
  const { timesMs, stepMs } = series([0, 60_000, 120_000], [1, 2, 3]);
  expect(rowAt({ timesMs, stepMs }, 80_000)).toBe(1);
  expect(rowAt({ timesMs, stepMs }, 400_000)).toBeNull();
  expect(rowAt(undefined, 0)).toBeNull();
});
