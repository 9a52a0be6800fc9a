/** Variability of ECG once in five minutes: what the short windows of `methods.ts` don't have. */
import type { Method } from './methods.ts';

const taskForce = 'Task Force of the ESC and NASPE 1996, doi:10.1161/01.CIR.93.5.1043';
const excluded =
  'NN intervals as of hrv_sdnn_300s; what is excluded is never interpolated or spliced. One value in 5 min, of windows that do not overlap.';
const spectrum = 'Spectrum as of hrv_lf_300s.';
const shortened = 'Made for 24 h and 20 min: the histogram of 5 min is thin, so compare with windows of 5 min alone.';

const five = (name: string, title: string, unit: string, step: number, paper: string, notes: string): Method => ({
  feature: `hrv_${name}_300s`,
  code: `derived:hrv_${name}_300s_v13`,
  version: 13,
  source: 'ecg',
  title,
  unit,
  step,
  windowSec: 300,
  cadenceSec: 300,
  coverageMin: 0.8,
  scope: 'stream',
  paper,
  notes: `${notes} ${excluded}`,
});

/** In the order of `fiveMinuteValues`. */
export const fiveMinuteMethods: readonly Method[] = [
  five(
    'pnn20',
    'Share of successive differences above 20 ms',
    '1',
    0.0001,
    'Mietus et al. 2002, doi:10.1136/heart.88.4.378',
    'Divisor: number of differences.',
  ),
  five('sd1_sd2', 'Poincaré width / length', '1', 0.0001, 'Brennan et al. 2001, doi:10.1109/10.959330', 'SD1 / SD2.'),
  five(
    'triangular',
    'HRV triangular index',
    '1',
    0.0001,
    taskForce,
    `Intervals over the height of their histogram, bins of 1/128 s. ${shortened}`,
  ),
  five(
    'tinn',
    'Base of the triangle of NN intervals (TINN)',
    'ms',
    0.0001,
    taskForce,
    `Least squares, bins of 1/128 s, top at the fullest bin. ${shortened}`,
  ),
  five(
    'stress_index',
    'Stress index (Baevsky)',
    '%/s2',
    0.01,
    'Baevsky & Chernikova 2017, doi:10.12710/cardiometry.2017.10.6676',
    'AMo / (2 Mo MxDMn), bins of 50 ms, Mo the middle of the fullest one. Not its square root. A name, no measure of stress as people feel it.',
  ),
  five(
    'dfa_alpha1',
    'Short-term exponent of detrended fluctuation (alpha 1)',
    '1',
    0.0001,
    'Peng et al. 1995, doi:10.1063/1.166141',
    'Boxes of 4 to 16 beats within runs of adjacent NN intervals.',
  ),
  five(
    'sample_entropy',
    'Sample entropy',
    '1',
    0.0001,
    'Richman & Moorman 2000, doi:10.1152/ajpheart.2000.278.6.H2039',
    'm = 2, r = 0.2 SDNN of the window, differences up to r are alike; successions of adjacent NN intervals. None where no two of 3 are alike.',
  ),
  five('vlf', 'Power 0.003-0.04 Hz', 'ms2', 0.01, taskForce, `${spectrum} 5 min hold less than one period of the slowest of these waves.`),
  five('total_power', 'Power 0.003-0.4 Hz', 'ms2', 0.01, taskForce, `VLF + LF + HF. ${spectrum}`),
  five('lf_nu', 'LF in normalised units', '%', 0.01, taskForce, `LF / (LF + HF). ${spectrum}`),
  five('hf_nu', 'HF in normalised units', '%', 0.01, taskForce, `HF / (LF + HF). ${spectrum}`),
];
