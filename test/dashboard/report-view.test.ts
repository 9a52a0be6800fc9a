/** Checks what the numbers of a report say of themselves. */
import { expect, it } from 'vitest';
import { ReportView } from '../../dashboard/report/report-view.ts';

/** What is written in a template, in its order. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join('');
  const { strings, values } = (value ?? {}) as { strings?: readonly string[]; values?: readonly unknown[] };
  if (strings === undefined || values === undefined) return typeof value === 'string' ? value : '';
  return strings.map((part, i) => part + textOf(values[i])).join('');
}

const range = { fromMs: 0, toMs: 864e5 };
const whole = {
  user: { display_name: '', external_id: 'x', xuser_id: 'x' },
  timeZone: 'UTC',
  range,
  drawn: range,
  endsWith: null,
  streams: [],
  measured: [],
  moreMeasured: [],
  computedToMs: null,
  isComing: false,
  episodes: [],
  more: false,
  nights: [],
  strips: [],
  trends: [],
};

const shownOf = (lines: readonly object[]): string =>
  textOf(new ReportView({ ...whole, lines } as never, 'en').view(0, '0'))
    .replaceAll(/<\/?[a-z][^>]*>|\s+/g, ' ')
    .replaceAll(/ +/g, ' ');

it('marks a mean of the summary that no good value stands behind as suspect, and names its window', () => {
  const line = (name: string, good: number) => ({
    method: { name, title: name, window_sec: 300, unit: 'ms', code: `derived:${name}_v1` },
    totals: { mean: 32.7, min: 20, max: 40, n: 9, good_n: good, expected_n: 9, sum: 294.3, suspect: null },
  });
  const text = shownOf([line('hr_ecg', 9), line('hrv_rmssd_300s', 0)]);
  expect(text).toMatch(/RMSSD of 5 min, mean +33 ms.*Suspect/);
  expect(text.slice(0, text.indexOf('RMSSD of'))).not.toContain('Suspect');
});

const line = (name: string, unit: string, sec: number, totals: object) => ({
  method: { name, title: name, window_sec: sec, unit, code: `derived:${name}_v1` },
  totals: { expected_n: 2016, ...totals },
});

// promise: report-suspect-said
it('says next to a number what its good windows leave out', () => {
  const good = { n: 12, good_n: 6, min: 0, max: 0, mean: 0, sum: 364, suspect: { n: 6, min: 14, max: 123, mean: 364 / 6 } };
  expect(shownOf([line('ventricular_couplets_300s', '{couplets}', 300, good)])).toContain('0 in good windows, 364 more in suspect ones');
  const none = { n: 6, good_n: 0, min: 14, max: 123, mean: 364 / 6, sum: 364, suspect: good.suspect };
  expect(shownOf([line('ventricular_couplets_300s', '{couplets}', 300, none)])).toContain('364 in all, of suspect windows alone');
  const all = { n: 6, good_n: 6, min: 0, max: 3, mean: 0.5, sum: 3, suspect: null };
  expect(shownOf([line('ventricular_runs_300s', '{runs}', 300, all)])).toContain('3 in all');
  const run = { n: 9, good_n: 8, min: 0, max: 3, mean: 1.7, sum: 20, suspect: { n: 1, min: 5, max: 5, mean: 5 } };
  expect(shownOf([line('ventricular_run_10s', '{beats}', 10, run)])).toContain('Up to 5 in suspect windows');
  const burden = { n: 6, good_n: 5, min: 0, max: 6.67, mean: 1.334, sum: 30, suspect: { n: 1, min: 23.33, max: 23.33, mean: 23.33 } };
  expect(shownOf([line('af_burden_300s', '%', 300, burden)])).toContain('With the suspect windows 5 %, in one of them up to 23 %');
  const rmssd = { n: 6, good_n: 0, min: 20.1, max: 60.2, mean: 32.7, sum: 196, suspect: { n: 6, min: 20.1, max: 60.2, mean: 32.7 } };
  expect(shownOf([line('hrv_rmssd_60s', 'ms', 60, rmssd)])).toContain('Of suspect values alone: none is good');
});

it('says what is counted where the name of a value does not', () => {
  const run = { n: 9, good_n: 9, min: 0, max: 3, mean: 1.7, sum: 15, suspect: null };
  expect(shownOf([line('ventricular_run_10s', '{beats}', 10, run)])).toContain('ventricular_run_10s (beats)');
  expect(shownOf([line('ventricular_runs_300s', '{runs}', 300, run)])).not.toContain('(');
});

// A mean of suspect values alone has a coverage of 0.
it('says that what is covered is by good values', () => {
  const none = { n: 6, good_n: 0, min: 20.1, max: 60.2, mean: 32.7, sum: 196, suspect: { n: 6, min: 20.1, max: 60.2, mean: 32.7 } };
  expect(shownOf([line('hrv_rmssd_60s', 'ms', 60, none)])).toMatch(
    /Covered: good values, as a share of those that a recording of the whole range would have/,
  );
});

it('writes every share alike', () => {
  const share = { n: 1000, good_n: 1000, min: 0, max: 23.33, mean: 0.0804, sum: 80, suspect: null };
  const text = shownOf([
    line('af_burden_300s', '%', 300, share),
    line('hrv_pnn50_300s', '1', 300, { ...share, min: 0.0000144, mean: 0.187, max: 0.5 }),
  ]);
  const shares = [...text.matchAll(/[<\d.]+ %/g)].map(([found]) => found);
  expect(shares).toEqual(['19 %', '<0.1 %', '50 %', '100 %', '50 %', '<0.1 %', '0 %', '23 %', '100 %', '50 %']);
});
