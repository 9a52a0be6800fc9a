/** The numbers that a tile of a wall can show. */
import { t } from '../language.ts';
import { liveValue, standingValue } from '../live-values.ts';
import type { LiveValue } from '../live-values.ts';
import type { MethodOfValue } from '../service.ts';

/** The first value that a person has is shown. */
export type WallValue = Readonly<{
  /** In the address. */
  key: string;
  values: readonly [LiveValue, ...LiveValue[]];
}>;

/** Of ECG where there is one. */
export const heartRate: WallValue = {
  key: 'hr',
  values: [standingValue('hr_ecg', t('HR')), standingValue('hr_ppg', t('Pulse'))],
};

const breathing = (feature: string): LiveValue => standingValue(feature, t('Resp'));

export const secondValues: readonly WallValue[] = [
  { key: 'resp', values: [breathing('resp_rate'), breathing('resp_rate_ecg'), breathing('resp_rate_ppg')] },
  { key: 'pulse', values: [standingValue('hr_ppg', t('Pulse'))] },
  { key: 'spo2', values: [standingValue('spo2', 'SpO₂')] },
  { key: 'rmssd', values: [standingValue('hrv_rmssd_60s', 'RMSSD')] },
  { key: 'temp', values: [standingValue('temp_mean', t('Skin'))] },
  { key: 'eda', values: [standingValue('eda_tonic', 'SCL')] },
];

/** Every computed value that has no place above, by name. */
export function otherValues(methods: readonly MethodOfValue[], locale: string): readonly WallValue[] {
  const placed = new Set(secondValues.flatMap(({ values }) => values.map(({ feature }) => feature)));
  return methods
    .filter(({ kind, current, name }) => kind === 'feature' && current && !placed.has(name))
    .map(liveValue)
    .toSorted((a, b) => a.label.localeCompare(b.label, locale, { numeric: true }))
    .map((value) => ({ key: value.feature, values: [value] }));
}
