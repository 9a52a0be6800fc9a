/** The numbers that a tile of a wall can show. */
import { t } from '../language.ts';
import { liveValue } from '../live-values.ts';
import type { MethodOfValue } from '../service.ts';

export type WallValue = Readonly<{
  /** In the address. */
  key: string;
  /** The first that a person has. */
  features: readonly string[];
  label: string;
  name: string;
  unit: string;
  title: string;
  /** A stored value times this is what is shown; absent: 1. */
  per?: number;
  /** Older than this, a value is out of date, ms. */
  staleMs: number;
}>;

/** Of ECG where there is one. */
export const heartRates: readonly WallValue[] = [
  { key: 'hr', features: ['hr_ecg'], label: t('HR'), name: t('Heart rate'), unit: '/min', title: '/min', staleMs: 5000 },
  { key: 'pr', features: ['hr_ppg'], label: t('Pulse'), name: t('Pulse rate'), unit: '/min', title: '/min', staleMs: 5000 },
];

export const secondValues: readonly WallValue[] = [
  {
    key: 'resp',
    features: ['resp_rate', 'resp_rate_ecg', 'resp_rate_ppg'],
    label: t('Resp'),
    name: t('Respiratory rate'),
    unit: '/min',
    title: '/min',
    staleMs: 30_000,
  },
  { key: 'pulse', features: ['hr_ppg'], label: t('Pulse'), name: t('Pulse rate, PPG'), unit: '/min', title: '/min', staleMs: 5000 },
  { key: 'spo2', features: ['spo2'], label: 'SpO₂', name: 'SpO₂', unit: '%', title: '%', staleMs: 30_000 },
  { key: 'rmssd', features: ['hrv_rmssd_60s'], label: 'RMSSD', name: t('RMSSD, 60 s'), unit: 'ms', title: 'ms', staleMs: 30_000 },
  { key: 'temp', features: ['temp_mean'], label: t('Skin'), name: t('Skin temperature'), unit: 'Cel', title: '°C', staleMs: 60_000 },
  { key: 'eda', features: ['eda_tonic'], label: 'EDA', name: t('Skin conductance'), unit: 'uS', title: 'µS', staleMs: 10_000 },
];

/** Every computed value that has no place above, by name. */
export function otherValues(methods: readonly MethodOfValue[], locale: string): readonly WallValue[] {
  const placed = new Set(secondValues.flatMap(({ features }) => features));
  return methods
    .filter(({ kind, current, name }) => kind === 'feature' && current && !placed.has(name))
    .map((method) => {
      const { feature, short, label, ...shown } = liveValue(method);
      return { ...shown, key: feature, features: [feature], label: short, name: label };
    })
    .toSorted((a, b) => a.name.localeCompare(b.name, locale, { numeric: true }));
}
