/** Methods of the shape of the pulse wave. */
import type { Method } from './methods.ts';

/** Feature of each measure that src/dsp/ppg/pulse-wave.ts takes. */
export const pulseWaveFeatures = {
  crest: 'pulse_crest_time_60s',
  width: 'pulse_width_60s',
  area: 'pulse_area_ratio_60s',
  reflection: 'pulse_reflection_index_60s',
  delay: 'pulse_reflection_delay_60s',
  ba: 'pulse_b_a_60s',
  aging: 'pulse_aging_index_60s',
} as const;

const measured =
  'Median of the good pulses of a minute that are not ectopic, at least 10, measured one by one in the first wavelength: src/dsp/ppg/pulse-wave.ts. Suspect when fewer than half of the pulses gave one, or when they spread. From 50 Hz on. What the device filtered away is not there: compare a person with themselves, with the same sensor at the same place and a like pulse rate. Delay about 11 s.';

const wave = (
  measure: keyof typeof pulseWaveFeatures,
  title: string,
  unit: string,
  step: number,
  paper: string,
  notes: string,
): Method => ({
  feature: pulseWaveFeatures[measure],
  code: `derived:${pulseWaveFeatures[measure]}_v5`,
  version: 5,
  source: 'ppg',
  title,
  unit,
  step,
  windowSec: 60,
  cadenceSec: 30,
  coverageMin: 0,
  scope: 'stream',
  paper,
  notes: `${notes} ${measured}`,
});

const takazawa = 'Takazawa et al. 1998, doi:10.1161/01.HYP.32.2.365';

/** In the order of `pulseWaveMeasures`. */
export const pulseWaveMethods: readonly Method[] = [
  wave(
    'crest',
    'Crest time of the pulse',
    'ms',
    0.1,
    'Alty et al. 2007, doi:10.1109/TBME.2007.897805',
    'From the foot (intersecting tangents, Chiu et al. 1991, Am Heart J 121:1460) to the top.',
  ),
  wave(
    'width',
    'Width of the pulse at half height',
    'ms',
    0.1,
    'Awad et al. 2007, J Clin Monit Comput 21:365',
    'Over the line between its feet.',
  ),
  wave(
    'area',
    'Area of the pulse after the notch over that before it',
    '1',
    0.001,
    'Wang et al. 2009, Proc IEEE EMBS 31:1746',
    'Inflection point area ratio; the notch is the e wave of the second derivative.',
  ),
  wave(
    'reflection',
    'Reflection index of the pulse',
    '%',
    0.01,
    'Chowienczyk et al. 1999, J Am Coll Cardiol 34:2007',
    'Height of the diastolic wave over that of the pulse; where the fall has no second top, its slowest point.',
  ),
  wave(
    'delay',
    'Delay of the reflected pulse wave',
    'ms',
    0.1,
    'Millasseau et al. 2002, Clin Sci 103:371',
    "From the top to the diastolic wave. A person's height over it is the stiffness index of that paper (m/s).",
  ),
  wave('ba', 'b/a of the second derivative of the pulse', '1', 0.001, takazawa, ''),
  wave(
    'aging',
    'Aging index of the second derivative of the pulse',
    '1',
    0.001,
    takazawa,
    '(b - c - d - e) / a. Of pulses that show all five waves, which a device that filters strongly leaves few of.',
  ),
].map((method) => ({ ...method, notes: method.notes.trim() }));
