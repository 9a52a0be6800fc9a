/** Every method that the engine computes: one table for the worker, the catalog and GET /api/v1/methods. */

import { burdenMethods } from './methods-burden.ts';
import { fiveMinuteMethods } from './methods-five-minutes.ts';
import { pulseWaveMethods } from './methods-pulse-wave.ts';

/** What a feature is computed from. */
export type MethodSource = 'ecg' | 'ppg' | 'eda' | 'temp' | 'resp' | 'acc';

export type Method = Readonly<{
  /** Feature name, or for beats the kind of beat. */
  feature: string;
  /** `derived:<feature>_v<version>`; another number is another method, old values stay. What is made of beats or flagged by an index gets a
   *  new version with them. */
  code: string;
  version: number;
  source: MethodSource;
  title: string;
  /** UCUM. */
  unit: string;
  /** Values are whole multiples of it, in their unit; for beats, the intervals, in ms. 1 / step is a whole number. StreamEngine rounds each
   *  row last: flags and other values are computed from the value before rounding. 0: values of this retired version are not rounded. */
  step: number;
  /** Length of the window that ends at a value's time, s. */
  windowSec: number;
  /** Values lie on whole multiples of this on the device clock, s. 0: one row per event, of beat detectors alone: chains step by it, and
   *  the catalog divides by it. */
  cadenceSec: number;
  /** Least share of the window that must be covered by samples (features of beats: by intervals) for a value to exist. 0: there is one of
   *  any part of it, and its flag says how little that is. */
  coverageMin: number;
  /** Is the value one of the whole stream (channelNo -1) or of each channel? */
  scope: 'stream' | 'channel';
  paper: string;
  /** What we do where the paper leaves it open, and its limits. */
  notes: string;
}>;

const taskForce = 'Task Force of the ESC and NASPE 1996, doi:10.1161/01.CIR.93.5.1043';
const correction =
  'NN intervals: flagged intervals (30 % off the local median; differences beyond 4.5 local spreads, 3.5 where faults are frequent) are excluded, after Lipponen & Tarvainen 2019, doi:10.1080/03091902.2019.1640306; only adjacent accepted pairs are counted, none across a gap.';
const placed =
  'Below 188 Hz a beat lies where its whole QRS complex fits the usual one best, which is steadier than the top of the R wave.';
const pulse =
  'Pulse intervals between mid-amplitude crossings of the upstroke. Pulse rate variability follows HRV at rest and overestimates it otherwise: never called HRV.';

type Entry = Omit<Method, 'code' | 'version' | 'coverageMin' | 'scope'> & Partial<Pick<Method, 'version' | 'coverageMin' | 'scope'>>;

export const method = (entry: Entry): Method => {
  const version = entry.version ?? 1;
  return { coverageMin: 0.5, scope: 'stream', ...entry, version, code: `derived:${entry.feature}_v${version}` };
};

/** Step of the quality indices. Clean signals lie near 1: at 0.001 too many would rank alike (AUC on MIT-BIH 0.974 instead of 0.983), at
 *  0.0001 a few. */
export const SQI_STEP = 0.00001;
/** Step of heart and pulse rates, /min. At 0.01, one of the 213 pulse rates of BIDMC with an error above 5 /min would have one of 5. */
const rateStep = 0.001;
/** Step of intervals and of values computed from them, ms. Beats lie on whole microseconds, so nothing finer is measured. */
const intervalStepMs = 0.001;

/** Beat detectors. Their feature name is the beat's method. */
export const beatMethods = {
  ecg: method({
    feature: 'r_peaks',
    version: 19,
    source: 'ecg',
    title: 'R peaks',
    unit: '1',
    step: intervalStepMs,
    windowSec: 0,
    cadenceSec: 0,
    coverageMin: 0,
    scope: 'channel',
    paper: 'Pan & Tompkins 1985, doi:10.1109/TBME.1985.325532; Hamilton & Tompkins 1986, doi:10.1109/TBME.1986.325695',
    notes:
      'See r-peaks.ts. All ECG leads of one rate are fused; position refined below one sample. Kinds and reasons: rr-correction.ts, feature-rows.ts; interpolated beats only where an interval is two or three usual ones long and the signal doubtful, or samples are missing where the beat would be (reason bridged): bridged-beats.ts. No value knows them. A beat whose intervals do not fit is an artefact (extra, misplaced) only where the signal is not good, or its shape could not be compared: in a good one the heart beats unevenly (irregular). P waves are told from beats by what stands before the beats, T waves that were taken for beats by what they follow. A wave that stands alone in one lead of several can be a beat; where the first lead is noisy, or shows nothing of them, as in hum, the clearest one places the beats, less its usual distance: r-peaks-places.ts. From 188 Hz on, pulses of up to 2 ms and steps are taken out first; hum of 50 or 60 Hz is taken off around each beat before it is placed and compared: mains-hum.ts. Ventricular and supraventricular beats: beat-shapes.ts, beat-origin.ts (after de Chazal et al. 2004, doi:10.1109/TBME.2004.827359), from the first lead, and of the second its width; from the second where the first shows nothing of the beats. One that is more probably another beat, as in movement of an electrode, is suspect. Supraventricular runs are known by their first beat; no beat is supraventricular in fibrillation (irregular intervals without steady P waves). Confidence: the probability, by the logits scaled on labelled beats, that a beat is ventricular, supraventricular or neither. Version 6 judged kinds by intervals alone.',
  }),
  ppg: method({
    feature: 'pulse_peaks',
    version: 7,
    source: 'ppg',
    title: 'Pulse beats',
    unit: '1',
    step: intervalStepMs,
    windowSec: 0,
    cadenceSec: 0,
    coverageMin: 0,
    scope: 'channel',
    paper: 'Zong et al. 2003, doi:10.1109/CIC.2003.1291140',
    notes:
      'See src/dsp/ppg/beats.ts. Wavelengths of one rate are fused; the time is the mid-amplitude crossing of the upstroke. Kinds and reasons as of r_peaks, interpolated beats too. A pulse that is upside down is told by its shape and turned: polarity.ts. Light that stands still is a gap. A beat whose upstroke a gap or an end cuts is none: its middle is not known. No beat lies before the one before it or less than 0.2 s after it, as some of version 3 did.',
  }),
} as const satisfies Record<string, Method>;

/** By name; a new one is 1. */
const variabilityVersions: Readonly<Record<'ecg' | 'ppg', Readonly<Record<string, number>>>> = {
  ecg: { rmssd: 20, mean_nn: 19, sdnn: 20, pnn50: 20, sd1: 20, sd2: 20, lf: 20, hf: 20, lf_hf: 20 },
  ppg: { rmssd: 12, mean_nn: 11, sdnn: 13, pnn50: 12, sd1: 12, sd2: 13, lf: 12, hf: 12, lf_hf: 12 },
};

/** Steps of variability by unit. */
const variabilitySteps = { ms: intervalStepMs, ms2: 0.01, '1': 0.0001 };

const variability = (source: 'ecg' | 'ppg', prefix: 'hrv' | 'prv'): Method[] => {
  const note = source === 'ecg' ? `${placed} ${correction}` : `${pulse} ${correction}`;
  const entry = (
    name: string,
    title: string,
    unit: keyof typeof variabilitySteps,
    windowSec: number,
    cadenceSec: number,
    coverageMin: number,
    notes: string,
  ): Method =>
    method({
      feature: `${prefix}_${name}_${windowSec}s`,
      version: variabilityVersions[source][name] ?? 1,
      source,
      title,
      unit,
      step: variabilitySteps[unit],
      windowSec,
      cadenceSec,
      coverageMin,
      paper: taskForce,
      notes: `${notes} ${note}`,
    });
  return [
    entry('rmssd', 'Root mean square of successive differences', 'ms', 60, 5, 0.6, 'Short window, for monitoring.'),
    entry('mean_nn', 'Mean NN interval', 'ms', 300, 30, 0.5, ''),
    entry('sdnn', 'Standard deviation of NN intervals', 'ms', 300, 30, 0.5, 'Divisor n - 1.'),
    entry('rmssd', 'Root mean square of successive differences', 'ms', 300, 30, 0.5, ''),
    entry('pnn50', 'Share of successive differences above 50 ms', '1', 300, 30, 0.5, 'Divisor: number of differences.'),
    entry(
      'sd1',
      'Poincaré width',
      'ms',
      300,
      30,
      0.5,
      'SDSD / sqrt 2 (Brennan et al. 2001, doi:10.1109/10.959330); SDSD has the divisor n - 1 of the differences.',
    ),
    entry('sd2', 'Poincaré length', 'ms', 300, 30, 0.5, 'sqrt(2 SDNN^2 - SDSD^2 / 2).'),
    entry(
      'lf',
      'Power 0.04-0.15 Hz',
      'ms2',
      300,
      60,
      0.8,
      'Spline at 4 Hz, a straight line across what is left out, straight line taken off, one Hann window, FFT. None where NN intervals cover less than 80 % of the window or leave out more than 10 s in a row; suspect where more than 5 % is bridged.',
    ),
    entry('hf', 'Power 0.15-0.4 Hz', 'ms2', 300, 60, 0.8, 'As LF.'),
    entry('lf_hf', 'LF / HF', '1', 300, 60, 0.8, 'As LF; none where HF is given as 0. A ratio of powers, no measure of sympathetic tone.'),
  ];
};

/** Values of 8 s blocks of one channel (or of the first of a group). */
const block = (entry: Omit<Entry, 'windowSec' | 'cadenceSec' | 'coverageMin' | 'scope'>): Method =>
  method({ ...entry, windowSec: 8, cadenceSec: 8, coverageMin: 0, scope: 'channel' });

const delineation = 'Martinez et al. 2004, doi:10.1109/TBME.2003.821031; Vazquez-Seisdedos et al. 2011, doi:10.1186/1475-925X-10-77';
const ofFirstLead =
  'Median of the good beats of the first ECG lead that are not ectopic, at least 10, delineated one by one: src/dsp/ecg/delineation.ts. Hum of 50 or 60 Hz is taken off; a beat whose slope does not end has no QRS complex to measure. Suspect when fewer than half of the beats gave one, or when they spread. One lead shows less than twelve: compare with the same lead of the same person. Delay about 8 s. Version 1 told ectopic beats by their intervals alone, version 2 as r_peaks version 7 did, version 3 as version 8 did.';

const qtDoubts =
  'Suspect, too, where half of the T waves are in doubt (one that ends far from the level before the QRS, or beyond it and soon comes back, or after the onset of the next P, or is followed by a wave at least two fifths as high, as a late part of T and a high U wave are), and where the second lead has sure T waves and another QT.';

const boundary = (name: string, title: string, paper: string, notes: string, version = 14): Method =>
  method({
    feature: `${name}_60s`,
    version,
    source: 'ecg',
    title,
    unit: 'ms',
    step: 0.1,
    windowSec: 60,
    cadenceSec: 30,
    coverageMin: 0,
    paper,
    notes: `${notes} ${ofFirstLead}`,
  });

const boundaries: readonly Method[] = [
  boundary(
    'pr',
    'PR interval',
    delineation,
    'Onset of P to onset of QRS; none where the waves before the beats lie too far apart to be their P waves. Suspect where half of the P waves are in doubt: cut by the start of the search (0.45 s before R), or begun before the T wave of the beat before has ended. Of flutter that is answered regularly one of the waves is taken for P.',
  ),
  boundary('qrs', 'QRS duration', delineation, 'Onset to end of QRS.'),
  boundary('qt', 'QT interval', delineation, `Onset of QRS to end of T. ${qtDoubts}`, 15),
  ...(
    [
      ['bazett', 'QT corrected (Bazett)', 'Bazett 1920, Heart 7:353', 'QT / RR^(1/2)'],
      ['fridericia', 'QT corrected (Fridericia)', 'Fridericia 1920, Acta Med Scand 53:469', 'QT / RR^(1/3)'],
      ['framingham', 'QT corrected (Framingham)', 'Sagie et al. 1992, doi:10.1016/0002-9149(92)90562-D', 'QT + 154 ms (1 - RR)'],
      ['hodges', 'QT corrected (Hodges)', 'Hodges et al. 1983, J Am Coll Cardiol 1:694', 'QT + 1.75 ms (60 / RR - 60)'],
    ] as const
  ).map(([name, title, paper, formula]) =>
    boundary(
      `qtc_${name}`,
      title,
      paper,
      `${formula}, of the QT of qt_60s and the mean RR interval in s between all good beats of the window, ectopic ones too; suspect where qt_60s is, or where the mean NN interval is further than 5 % from it.`,
      16,
    ),
  ),
];

/** In the order of their wire index in the worker's packed rows. */
export const featureMethods: readonly Method[] = [
  method({
    feature: 'hr_ecg',
    version: 18,
    source: 'ecg',
    title: 'Heart rate from ECG',
    unit: '/min',
    step: rateStep,
    windowSec: 8,
    cadenceSec: 1,
    paper: 'Mean ventricular rate: 60,000 / mean RR (ms), every beat counted',
    notes:
      'Intervals of r_peaks whose two beats lie in the window, at least 2, none across a gap; flagged by the 10 s before it, in the 8 s after a seam of segments (src/dsp/kernels/segment-grid.ts) by those before the seam, too, and suspect where one beat may have been missed or found twice (src/dsp/hrv/one-beat-off.ts), where low wide beats may lie between those found (src/dsp/engine/rhythm.ts), or T waves among them (src/dsp/ecg/t-waves.ts). Delay about 2 s.',
  }),
  method({
    feature: 'hr_ppg',
    version: 13,
    source: 'ppg',
    title: 'Pulse rate from PPG',
    unit: '/min',
    step: rateStep,
    windowSec: 8,
    cadenceSec: 1,
    paper: '60,000 / median pulse interval (ms)',
    notes:
      'Intervals as for hr_ecg, from pulse beats; the median, because one wave missed or found twice moves the mean by a tenth. Suspect when median and mean are more than 2 /min apart, and at the rate of a motion, its half or its double, or while an accelerometer has not told what moves: 8 s after a start. In motion see the flag, and hr_ppg_motion. Delay about 11 s. Version 1 was the mean.',
  }),
  ...variability('ecg', 'hrv'),
  ...variability('ppg', 'prv'),
  method({
    feature: 'sqi_ecg',
    version: 16,
    source: 'ecg',
    title: 'Signal quality of ECG',
    unit: '1',
    step: SQI_STEP,
    windowSec: 1,
    cadenceSec: 1,
    coverageMin: 0,
    scope: 'channel',
    paper: 'Li, Mark & Clifford 2008, doi:10.1088/0967-3334/29/1/002',
    notes:
      'See src/dsp/ecg/quality.ts: probability that at least 90 % of the beats of the 10 s around the second are right. At most suspect where every second beat has the place of a T wave (src/dsp/ecg/t-waves.ts), where every second beat is another wave, and where what comes after a pause is far lower than the beats before it, and where the first two leads show the rhythms of two hearts, also of one twice as fast, or the first one waves that the beats do not follow, and below 188 Hz where a beat is like a pulse of a pacemaker that does not capture. Version 6 judged the beats of r_peaks version 5.',
  }),
  method({
    feature: 'sqi_ppg',
    version: 11,
    source: 'ppg',
    title: 'Signal quality of PPG',
    unit: '1',
    step: SQI_STEP,
    windowSec: 1,
    cadenceSec: 1,
    coverageMin: 0,
    scope: 'channel',
    paper: 'Li & Clifford 2012, doi:10.1088/0967-3334/33/9/1491; Orphanidou et al. 2015, doi:10.1109/JBHI.2014.2338351',
    notes:
      'See src/dsp/ppg/quality.ts: probability that at least 90 % of the beats of the 10 s around the second are right; before a gap or an end of those there are, at least 5 s. Delay about 11 s. Bad where a second detector finds less than half of the beats. At most suspect where the waves are a tone, or high and low by turns so near each other that the second may be dicrotic (within 0.6 s; within 0.75 s where it is much lower). The spectral rate is that of hr_ppg_motion version 5. Version 1 did not know it.',
  }),
  method({
    feature: 'resp_rate',
    version: 4,
    source: 'resp',
    title: 'Respiratory rate',
    unit: '/min',
    step: 0.01,
    windowSec: 32,
    cadenceSec: 4,
    scope: 'channel',
    paper: 'Schaefer & Kratky 2008, doi:10.1007/s10439-007-9428-1',
    notes:
      'From a respiration channel: spacing of the breaths in the window; noise has none. Suspect where they are uneven in time and height, as noise and a drifting electrode are, too near each other, or much lower than those of the last five minutes, and where the rate is that of the heart by ECG or PPG of the stream (src/dsp/engine/heart-seen.ts): without one, beats that are seen from the start on instead of breaths cannot be told from fast breathing. See src/dsp/slow/respiration.ts. Delay about 12 s, with ECG or PPG up to 25 s.',
  }),
  block({
    feature: 'temp_mean',
    version: 4,
    source: 'temp',
    title: 'Skin temperature',
    unit: 'Cel',
    step: 0.001,
    paper: 'Davies & Gather 1993, doi:10.1080/01621459.1993.10476339',
    notes:
      'Hampel mean; suspect where readings scatter or drift as skin does not; see temperature.ts. [degF], [degR] and K are brought to Cel; none of another unit: src/dsp/engine/units.ts.',
  }),
  block({
    feature: 'eda_tonic',
    version: 3,
    source: 'eda',
    title: 'Tonic skin conductance',
    unit: 'uS',
    step: 0.001,
    paper: 'Boucsein et al. 2012, doi:10.1111/j.1469-8986.2012.01384.x',
    notes: 'See eda.ts. nS, mS and S are brought to uS; none of a resistance, or of another unit: src/dsp/engine/units.ts.',
  }),
  method({
    feature: 'scr_rate',
    version: 5,
    source: 'eda',
    title: 'Skin conductance responses',
    unit: '/min',
    step: 0.01,
    windowSec: 60,
    cadenceSec: 8,
    scope: 'channel',
    paper: 'Boucsein et al. 2012, doi:10.1111/j.1469-8986.2012.01384.x',
    notes:
      'Responses of at least 0.05 uS that peak in the window, per covered minute: conductance that is not plausible is missing, and a second after a jump. Suspect where a fourth of the responses may be noise, or rises are none of skin (a change of contact), and where no change from sample to sample is finer than 0.025 uS. See eda.ts.',
  }),
  block({
    feature: 'activity',
    version: 4,
    source: 'acc',
    title: 'Activity (mean amplitude deviation)',
    unit: '[g]',
    step: 0.0001,
    paper: 'Vaha-Ypya et al. 2015, doi:10.1371/journal.pone.0134813',
    notes:
      'See motion.ts. Needs three axes of one rate; m/s2 and m[g] are brought to g; none of another unit (src/dsp/engine/units.ts). Suspect where the mean magnitude is none of gravity, or an axis is at its rail, or stands still alone.',
  }),
  block({
    feature: 'steps',
    version: 3,
    source: 'acc',
    title: 'Steps in 8 s',
    unit: '{steps}',
    step: 1,
    paper: 'Straczkiewicz et al. 2023, see motion.ts',
    notes:
      'See motion.ts. Needs three axes of one rate; m/s2 and m[g] are brought to g; none of another unit (src/dsp/engine/units.ts). Suspect where the mean magnitude is none of gravity, an axis is at its rail or stands still alone, or less than nine tenths have samples.',
  }),
  method({
    feature: 'spo2',
    version: 6,
    source: 'ppg',
    title: 'Oxygen saturation',
    unit: '%',
    step: 0.01,
    windowSec: 8,
    cadenceSec: 8,
    coverageMin: 0,
    scope: 'channel',
    paper: 'Webster 1997, Design of Pulse Oximeters',
    notes:
      'By the calibration of the device profile that held when the stream was opened; without one by the textbook line, never better than suspect. Needs ppg.red and ppg.ir of one rate with their DC level. No better than the worst of its seconds (sqi_ppg), because a motion or the light of a room moves both lights alike; suspect with a light at a rail, with a step of the lights, and at the rate of a motion, its half or its double. It is computed by the changes of the lights from sample to sample; suspect where the lights as they are have another saturation, bad where their changes have none. Delay about 11 s. See spo2.ts. Version 1 knew the textbook line alone.',
  }),
  method({
    feature: 'hr_ppg_motion',
    version: 13,
    source: 'ppg',
    title: 'Heart rate from PPG in motion',
    unit: '/min',
    step: rateStep,
    windowSec: 8,
    cadenceSec: 2,
    coverageMin: 0.8,
    paper: 'Temko 2017, doi:10.1109/TBME.2017.2676243',
    notes:
      'See src/dsp/ppg/motion-hr.ts: spectrum of the sum of all wavelengths of one rate, less what a least-squares filter makes of the accelerometer (three axes of one rate, at least 10 Hz); hidden Markov path over 39-210 /min. Flagged by src/dsp/ppg/motion-trust.ts; without an accelerometer never better than suspect by itself. Where hr_ppg of its time is good it is that; so it is, suspect, where that is suspect but its seconds are good and the spectrum is not, and where the spectrum is bad. Delay 11 s. Version 3 attenuated the spectra at the frequencies of the accelerometer.',
  }),
  ...(['ppg', 'ecg'] as const).map((source) =>
    method({
      feature: `resp_rate_${source}`,
      version: source === 'ecg' ? 16 : 6,
      source,
      title: `Respiratory rate from ${source === 'ppg' ? 'the pulse' : 'ECG'}`,
      unit: '/min',
      step: 0.01,
      windowSec: 32,
      cadenceSec: 4,
      paper: 'Karlen et al. 2013, doi:10.1109/TBME.2013.2246160',
      notes:
        'Where the stream has no respiration channel. See src/dsp/slow/respiration-modulation.ts: breaths in the tops, heights and intervals of the beats; never better than suspect, and bad unless two of them show one rate. Delay about 25 s.',
    }),
  ),
  method({
    feature: 'af_index',
    version: 12,
    source: 'ecg',
    title: 'Index of atrial fibrillation',
    unit: '1',
    step: 0.001,
    windowSec: 30,
    cadenceSec: 10,
    coverageMin: 0.25,
    paper: 'Purerfellner et al. 2014, doi:10.1016/j.hrthm.2014.06.006; Ladavich & Ghoraani 2015, doi:10.1016/j.bspc.2014.12.006',
    notes:
      'See src/dsp/hrv/fibrillation.ts: 0 to 1, from the irregularity of the intervals and the likeness of what the first lead shows before each beat, less hum of 50 or 60 Hz (mains-hum.ts). Where a fifth of the beats is ectopic, every second and third interval are compared, too, and what stands before ventricular beats is left out: bigeminy repeats itself. From 0.5 on, fibrillation is likelier than not among the recordings that it was fitted on. An index of a rhythm, no diagnosis: flutter with a regular answer is not found, a wandering pacemaker in noise may be. At least 8 intervals. From 0.5 on it is suspect where intervals are steady, or repeat themselves (Wenckebach), or beats are placed too badly to tell; below it where intervals of less than 0.5 s are not steady, as T waves then lie where P waves are sought. Delay about 8 s.',
  }),
  method({
    feature: 'longest_rr_10s',
    version: 14,
    source: 'ecg',
    title: 'Longest RR interval of 10 s',
    unit: 'ms',
    step: intervalStepMs,
    windowSec: 10,
    cadenceSec: 10,
    coverageMin: 0,
    paper: 'Kusumoto et al. 2019, doi:10.1161/CIR.0000000000000628',
    notes:
      'For pauses: the longest time between two beats that follow each other, of which the second lies in the window, up to 20 s, longer ones than heart rates have (3 s), too; none across missing samples. It has the worst flag of the seconds between the two beats, because noise can hide a beat; a long one is suspect where something as steep as a beat lies in it, and its flag is better by one where nothing does. A pause that no beat has ended has no value. Delay about 8 s.',
  }),
  ...boundaries,
  ...fiveMinuteMethods,
  ...burdenMethods,
  method({
    feature: 'perfusion_index',
    version: 7,
    source: 'ppg',
    title: 'Perfusion index',
    unit: '%',
    step: 0.001,
    windowSec: 8,
    cadenceSec: 8,
    scope: 'channel',
    paper: 'Lima et al. 2002, doi:10.1097/00003246-200206000-00006',
    notes:
      'See src/dsp/ppg/light.ts: the greatest change of the first wavelength within 0.35 s, between 0.5 and 8 Hz, over its level; the lower median of 4 parts of 8 s. It has the worst flag of its seconds (sqi_ppg), is bad where the light stands still or is noise (suspect if another wavelength moves), and is suspect at a rail, and at the rate of a motion, its half or its double. None above 20 %, where the level of the light was taken off before it was sent. Delay about 11 s.',
  }),
  method({
    feature: 'worn_ppg',
    version: 7,
    source: 'ppg',
    title: 'PPG sensor worn',
    unit: '1',
    step: 1,
    windowSec: 8,
    cadenceSec: 8,
    scope: 'channel',
    paper: 'von Neumann 1941, doi:10.1214/aoms/1177731677',
    notes:
      'See src/dsp/ppg/light.ts and src/dsp/engine/light.ts: 0 where the light of every wavelength stands still for half of 8 s or is noise, else 1. A 1 is good where a second is (sqi_ppg), a 0 where none is; light that moves without a good pulse is suspected to be worn. The mean of an hour is the share of it that the sensor was worn. Delay about 11 s.',
  }),
  ...pulseWaveMethods,
  method({
    feature: 'af_burden_300s',
    version: 10,
    source: 'ecg',
    title: 'Burden of atrial fibrillation',
    unit: '%',
    step: 0.01,
    windowSec: 300,
    cadenceSec: 300,
    coverageMin: 0.5,
    paper: 'Chen et al. 2018, doi:10.1161/CIR.0000000000000568',
    notes:
      'Share of the values of af_index in 5 min that are 0.5 or more; bad ones are left out. The mean of an hour, or of a day, is its burden, of the time that has values. An index of a rhythm, no diagnosis: see af_index. Good where 80 % of the values of the window are there and good, and no more than one in twenty of them, or one in five of those from 0.5 on, is suspect and from 0.5 on. One value in 5 min, of windows that do not overlap.',
  }),
];

/** Position in `featureMethods`. @throws Error for a name that is not in the table: a programmer's error */
export function methodIndex(feature: string): number {
  const index = featureMethods.findIndex((m) => m.feature === feature);
  if (index < 0) throw new Error(`no method for feature ${feature}`);
  return index;
}

/** Step of every method that is computed, by code. */
export const methodSteps: Readonly<Record<string, number>> = Object.fromEntries(
  [...Object.values(beatMethods), ...featureMethods].map(({ code, step }) => [code, step]),
);

/** Unit of every feature, by name. */
export const featureUnits: Readonly<Record<string, string>> = Object.fromEntries(
  featureMethods.map(({ feature, unit }) => [feature, unit]),
);
