/** Any computed value as live pages show it, by what the service says of its method. */
import { t } from './language.ts';
import { namedWithCount, shownAs } from './method-name.ts';
import type { MethodOfValue } from './service.ts';

export type LiveValue = Readonly<{
  feature: string;
  label: string;
  /** For narrow places: what clinicians write, or the label. */
  short: string;
  /** For formatValue, of a number times `per`; `title` is printed. */
  unit: string;
  title: string;
  per: number;
  /** Older than this, a value is out of date, ms. */
  staleMs: number;
  /** Kind of channel that it is made from. */
  source: string;
  /** It is of the last seconds of ECG or PPG, and says nothing of now while that is unusable; unlike what says of the signal how it is. */
  isOfNow: boolean;
}>;

/** Of a value each second; of others, how long after the next one was due: it takes seconds to compute, and packets may be 10 s long. */
const EACH_SECOND_STALE_MS = 5000;
const LATE_MS = 30_000;

/** Longest window of a value of now, s. */
const NOW_SEC_MAX = 10;
const saysHowSignalIs = /^(sqi|worn)_/;

/** As clinicians and papers abbreviate them, in every language. */
const shorts: Readonly<Record<string, string>> = {
  hr_ecg: 'HR',
  hr_ppg: 'PR',
  hr_ppg_motion: 'HR PPG',
  hrv_rmssd_60s: 'RMSSD',
  hrv_mean_nn_300s: 'NN',
  hrv_sdnn_300s: 'SDNN',
  hrv_rmssd_300s: 'RMSSD5',
  hrv_pnn50_300s: 'pNN50',
  hrv_sd1_300s: 'SD1',
  hrv_sd2_300s: 'SD2',
  hrv_lf_300s: 'LF',
  hrv_hf_300s: 'HF',
  hrv_lf_hf_300s: 'LF/HF',
  prv_rmssd_60s: 'PRV RMSSD',
  prv_mean_nn_300s: 'PRV NN',
  prv_sdnn_300s: 'PRV SDNN',
  prv_rmssd_300s: 'PRV RMSSD5',
  prv_pnn50_300s: 'PRV pNN50',
  prv_sd1_300s: 'PRV SD1',
  prv_sd2_300s: 'PRV SD2',
  prv_lf_300s: 'PRV LF',
  prv_hf_300s: 'PRV HF',
  prv_lf_hf_300s: 'PRV LF/HF',
  hrv_pnn20_300s: 'pNN20',
  hrv_sd1_sd2_300s: 'SD1/SD2',
  hrv_triangular_300s: 'HRVi',
  hrv_tinn_300s: 'TINN',
  hrv_stress_index_300s: 'SI',
  hrv_dfa_alpha1_300s: 'DFA α1',
  hrv_sample_entropy_300s: 'SampEn',
  hrv_vlf_300s: 'VLF',
  hrv_total_power_300s: 'TP',
  hrv_lf_nu_300s: 'LF n.u.',
  hrv_hf_nu_300s: 'HF n.u.',
  sqi_ecg: 'SQI ECG',
  sqi_ppg: 'SQI PPG',
  resp_rate_ecg: 'Resp ECG',
  resp_rate_ppg: 'Resp PPG',
  scr_rate: 'SCR',
  activity: 'ACT',
  steps: 'STEPS',
  af_index: 'AF',
  af_burden_300s: 'AF 5 min',
  longest_rr_10s: 'RR max',
  pr_60s: 'PR (ECG)',
  qrs_60s: 'QRS',
  qt_60s: 'QT',
  qtc_bazett_60s: 'QTcB',
  qtc_fridericia_60s: 'QTcF',
  qtc_framingham_60s: 'QTcFra',
  qtc_hodges_60s: 'QTcH',
  ventricular_burden_300s: 'PVC',
  supraventricular_burden_300s: 'PAC',
  ventricular_couplets_300s: 'V couplets',
  ventricular_runs_300s: 'V runs',
  ventricular_run_10s: 'V run',
  perfusion_index: 'PI',
  worn_ppg: 'PPG on',
  pulse_crest_time_60s: 'CT',
  pulse_width_60s: 'PW50',
  pulse_area_ratio_60s: 'IPA',
  pulse_reflection_index_60s: 'RI',
  pulse_reflection_delay_60s: 'ΔT',
  pulse_b_a_60s: 'b/a',
  pulse_aging_index_60s: 'AGI',
};

type Facts = Pick<MethodOfValue, 'name' | 'unit' | 'cadence_hz' | 'window_sec' | 'source'>;

function shownBy({ name, unit, cadence_hz: hz, window_sec: sec, source }: Facts): Omit<LiveValue, 'label' | 'short'> {
  const cadenceMs = hz === null ? 0 : 1000 / hz;
  return {
    feature: name,
    ...shownAs({ name, unit }),
    staleMs: cadenceMs <= 1000 ? EACH_SECOND_STALE_MS : cadenceMs + LATE_MS,
    source,
    isOfNow: (source === 'ecg' || source === 'ppg') && sec !== null && sec <= NOW_SEC_MAX && !saysHowSignalIs.test(name),
  };
}

export function liveValue(method: MethodOfValue): LiveValue {
  const label = namedWithCount(method);
  return { label, short: shorts[method.name] ?? label, ...shownBy(method) };
}

/** Of values that stand on a page without a choice, also while the service has not said what it computes: as its methods have them. */
const standing: Readonly<Record<string, Readonly<{ unit: string; source: string; windowSec: number; cadenceSec: number }>>> = {
  hr_ecg: { unit: '/min', source: 'ecg', windowSec: 8, cadenceSec: 1 },
  hr_ppg: { unit: '/min', source: 'ppg', windowSec: 8, cadenceSec: 1 },
  hrv_rmssd_60s: { unit: 'ms', source: 'ecg', windowSec: 60, cadenceSec: 5 },
  hrv_sdnn_300s: { unit: 'ms', source: 'ecg', windowSec: 300, cadenceSec: 30 },
  hrv_lf_hf_300s: { unit: '1', source: 'ecg', windowSec: 300, cadenceSec: 60 },
  ventricular_burden_300s: { unit: '%', source: 'ecg', windowSec: 300, cadenceSec: 300 },
  spo2: { unit: '%', source: 'ppg', windowSec: 8, cadenceSec: 8 },
  resp_rate: { unit: '/min', source: 'resp', windowSec: 32, cadenceSec: 4 },
  resp_rate_ecg: { unit: '/min', source: 'ecg', windowSec: 32, cadenceSec: 4 },
  resp_rate_ppg: { unit: '/min', source: 'ppg', windowSec: 32, cadenceSec: 4 },
  eda_tonic: { unit: 'uS', source: 'eda', windowSec: 8, cadenceSec: 8 },
  temp_mean: { unit: 'Cel', source: 'temp', windowSec: 8, cadenceSec: 8 },
};

/** @param label what the page calls it  @param short on narrow places, and `label` where nothing is said */
export function standingValue(feature: keyof typeof standing, label: string, short = label): LiveValue {
  const { cadenceSec, windowSec, ...facts } = standing[feature]!;
  return { label, short, ...shownBy({ ...facts, name: feature, cadence_hz: 1 / cadenceSec, window_sec: windowSec }) };
}

/** The live page until values are chosen, in order; one appears when it first arrives, the first two always. */
export const standingTiles: readonly LiveValue[] = [
  standingValue('hr_ecg', t('Heart rate')),
  standingValue('hrv_rmssd_60s', t('HRV · RMSSD, 60 s')),
  standingValue('hrv_sdnn_300s', t('HRV · SDNN, 5 min')),
  standingValue('ventricular_burden_300s', t('Ventricular burden, 5 min')),
  standingValue('hr_ppg', t('Pulse rate, PPG')),
  standingValue('spo2', 'SpO₂'),
  standingValue('resp_rate', t('Respiratory rate')),
  standingValue('hrv_lf_hf_300s', t('HRV · LF/HF, 5 min')),
  standingValue('eda_tonic', t('Skin conductance')),
  standingValue('temp_mean', t('Skin temperature')),
];
export const ALWAYS_SHOWN = 2;
