/** The sentences of charts and live traces; apart, so that bio-core.js does not carry them. */
import { sentenceOf, textFor } from './strings.ts';
import type { TextKey } from './strings.ts';

const traceTexts = {
  noValue: 'No usable value',
  live: 'Live',
  connecting: 'Connecting',
  signalLost: 'No signal',
  notConnected: 'No connection to the service',
  refused: 'Access refused',
  delay: 'delay {time}',
  period: 'Period',
  readHint: 'Point at the chart, or use the arrow keys, to read values',
  showTable: 'Show as table',
  showChart: 'Show as chart',
  chartLabel: '{name}, {range}. {summary}',
  summary: 'Latest {latest}, minimum {min}, maximum {max}',
  beyond: 'higher than its box',
  traceLabel: 'Live trace, {name}',
  time: 'Time',
} as const;

export type TraceTextKey = keyof typeof traceTexts;

/** As textFor, with these sentences besides those that all widgets share. */
export function traceTextFor(locale: string, key: TextKey | TraceTextKey, values: Readonly<Record<string, string | number>> = {}): string {
  return key in traceTexts ? sentenceOf(traceTexts, locale, key as TraceTextKey, values) : textFor(locale, key as TextKey, values);
}
