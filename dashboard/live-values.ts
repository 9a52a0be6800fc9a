/** Any computed value as live pages show it, by what the service says of its method. */
import { formatValue } from '../widgets/shared/format.ts';
import { locale, t } from './language.ts';
import { methodName, namedWithCount, shownAs } from './method-name.ts';
import type { MethodOfValue } from './service.ts';

export type LiveValue = Readonly<{
  feature: string;
  label: string;
  /** For narrow places: the abbreviation of the catalog, or the label. */
  short: string;
  /** For formatValue, of a number times `per`; `title` is printed. */
  unit: string;
  title: string;
  per: number;
  /** Older than this, a value is out of date, ms. */
  staleMs: number;
  /** The first one is of a signal that is whole and began so long ago at most, ms; it comes when it has been computed. */
  dueMs: number;
  /** Kind of channel that it is made from. */
  source: string;
  /** It is of the last seconds of ECG or PPG, and says nothing of now while that is unusable; unlike what says of the signal how it is. */
  isOfNow: boolean;
}>;

/** Of a value each second; of others, how long after the next one was due: it takes seconds to compute, and packets may be 10 s long. */
const EACH_SECOND_STALE_MS = 5000;
const LATE_MS = 30_000;

/** 1 where it is so, 0 where not. */
const yesOrNo: ReadonlySet<string> = new Set(['worn_ppg']);

/** Longest window of a value of now, s. */
const NOW_SEC_MAX = 10;
const saysHowSignalIs = /^(sqi|worn)_/;

type Facts = Pick<MethodOfValue, 'name' | 'unit' | 'cadence_hz' | 'window_sec' | 'coverage_min' | 'source'>;

function shownBy({
  name,
  unit,
  cadence_hz: hz,
  window_sec: sec,
  coverage_min: coverage,
  source,
}: Facts): Omit<LiveValue, 'label' | 'short'> {
  const cadenceMs = hz === null ? 0 : 1000 / hz;
  return {
    feature: name,
    ...shownAs({ name, unit }),
    staleMs: cadenceMs <= 1000 ? EACH_SECOND_STALE_MS : cadenceMs + LATE_MS,
    // Values lie on steps of the clock: just before one, a window may be covered by too little for the first time.
    dueMs: cadenceMs + 1000 * (sec ?? 0) * (coverage ?? 1),
    source,
    isOfNow: (source === 'ecg' || source === 'ppg') && sec !== null && sec <= NOW_SEC_MAX && !saysHowSignalIs.test(name),
  };
}

export function liveValue(method: MethodOfValue): LiveValue {
  const label = namedWithCount(method);
  // HF, high-frequency power, is what German calls the heart rate
  const isRate = method.name === 'hr_ecg';
  const short = isRate ? t('HR') : method.abbreviation || label;
  const isTaken = short === t('HR') && !isRate;
  return { label, short: isTaken ? `HRV ${short}` : short, ...shownBy(method) };
}

type Standing = Readonly<{ title: string; unit: string; source: string; windowSec: number; cadenceSec: number; coverageMin?: number }>;

/** Of values that stand on a page without a choice, also while the service has not said what it computes: as its methods have them. */
const standing: Readonly<Record<string, Standing>> = {
  hr_ecg: { title: 'Heart rate from ECG', unit: '/min', source: 'ecg', windowSec: 8, cadenceSec: 1 },
  hr_ppg: { title: 'Pulse rate from PPG', unit: '/min', source: 'ppg', windowSec: 8, cadenceSec: 1 },
  hrv_rmssd_60s: { title: 'HRV RMSSD, 60 s', unit: 'ms', source: 'ecg', windowSec: 60, cadenceSec: 5, coverageMin: 0.6 },
  hrv_sdnn_300s: { title: 'HRV SDNN, 5 min', unit: 'ms', source: 'ecg', windowSec: 300, cadenceSec: 30 },
  hrv_lf_hf_300s: { title: 'HRV LF/HF ratio, 5 min', unit: '1', source: 'ecg', windowSec: 300, cadenceSec: 60, coverageMin: 0.8 },
  ventricular_burden_300s: { title: 'Ventricular ectopic burden, 5 min', unit: '%', source: 'ecg', windowSec: 300, cadenceSec: 300 },
  spo2: { title: 'Oxygen saturation from red and infrared light', unit: '%', source: 'ppg', windowSec: 8, cadenceSec: 8, coverageMin: 0 },
  resp_rate: { title: 'Respiratory rate', unit: '/min', source: 'resp', windowSec: 32, cadenceSec: 4 },
  resp_rate_ecg: { title: 'Respiratory rate from ECG', unit: '/min', source: 'ecg', windowSec: 32, cadenceSec: 4 },
  resp_rate_ppg: { title: 'Respiratory rate from the pulse', unit: '/min', source: 'ppg', windowSec: 32, cadenceSec: 4 },
  eda_tonic: { title: 'Tonic skin conductance', unit: 'uS', source: 'eda', windowSec: 8, cadenceSec: 8, coverageMin: 0 },
  temp_mean: { title: 'Skin temperature', unit: 'Cel', source: 'temp', windowSec: 8, cadenceSec: 8, coverageMin: 0 },
};

/** @param short on narrow places, and its name where nothing is said */
export function standingValue(feature: keyof typeof standing, short?: string): LiveValue {
  const { title, cadenceSec, windowSec, coverageMin = 0.5, ...facts } = standing[feature]!;
  const label = methodName({ name: feature, title });
  const shown = shownBy({ ...facts, name: feature, cadence_hz: 1 / cadenceSec, window_sec: windowSec, coverage_min: coverageMin });
  return { label, short: short ?? label, ...shown };
}

/** A number as it is stored, in words where it is one of two. */
export function liveText(value: LiveValue, stored: number): string {
  if (yesOrNo.has(value.feature)) return stored >= 0.5 ? t('yes') : t('no');
  return formatValue(locale, stored * value.per, value);
}

/** The live page until values are chosen, in order; one appears when it first arrives, the first two always. */
export const standingTiles: readonly LiveValue[] = [
  standingValue('hr_ecg'),
  standingValue('hrv_rmssd_60s'),
  standingValue('hrv_sdnn_300s'),
  standingValue('ventricular_burden_300s'),
  standingValue('hr_ppg'),
  standingValue('spo2'),
  standingValue('resp_rate'),
  standingValue('hrv_lf_hf_300s'),
  standingValue('eda_tonic'),
  standingValue('temp_mean'),
];
export const ALWAYS_SHOWN = 2;
