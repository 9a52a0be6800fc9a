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

it('marks a mean of the summary that no good value stands behind as suspect', () => {
  const line = (name: string, good: number) => ({
    method: { name, title: name, window_sec: null, unit: 'ms', code: `derived:${name}_v1` },
    totals: { mean: 32.7, min: 20, max: 40, n: 9, good_n: good, expected_n: 9 },
  });
  const range = { fromMs: 0, toMs: 864e5 };
  const data = {
    user: { display_name: '', external_id: 'x', xuser_id: 'x' },
    timeZone: 'UTC',
    range,
    drawn: range,
    isEarlier: false,
    streams: [],
    computedToMs: null,
    episodes: [],
    more: false,
    nights: [],
    strips: [],
    trends: [],
    lines: [line('hr_ecg', 9), line('hrv_rmssd_300s', 0)],
  };
  const text = textOf(new ReportView(data as never, 'en').view(0, '0')).replaceAll(/<[^>]*>|\s+/g, ' ');
  expect(text).toMatch(/RMSSD, mean +32\.7.ms.*Suspect/);
  expect(text.slice(0, text.indexOf('RMSSD, mean'))).not.toContain('Suspect');
});
