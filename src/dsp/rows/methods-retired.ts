/** Versions of methods that are computed no longer; their values stay, and say what they are. */
import type { Method } from './methods.ts';
import { burdenMethods } from './methods-burden.ts';
import { fiveMinuteMethods } from './methods-five-minutes.ts';
import { beatMethods, featureMethods, method, methodIndex } from './methods.ts';
import { pulseWaveMethods } from './methods-pulse-wave.ts';

const measures = ['rmssd_60s', ...['mean_nn', 'sdnn', 'rmssd', 'pnn50', 'sd1', 'sd2', 'lf', 'hf', 'lf_hf'].map((name) => `${name}_300s`)];

/** The last version of each feature whose values are not rounded to steps. Absent: features whose values always were whole steps. */
const lastUnrounded: Readonly<Record<string, number>> = {
  hr_ecg: 4,
  hr_ppg: 2,
  ...Object.fromEntries(measures.flatMap((name) => [[`hrv_${name}`, 4], [`prv_${name}`, 2]])), // prettier-ignore
  prv_sdnn_300s: 3,
  prv_sd2_300s: 3,
  sqi_ecg: 4,
  sqi_ppg: 2,
  resp_rate: 1,
  temp_mean: 1,
  eda_tonic: 1,
  scr_rate: 1,
  activity: 1,
  spo2: 2,
  hr_ppg_motion: 2,
  resp_rate_ppg: 1,
  resp_rate_ecg: 4,
};

/** An earlier version of what is computed today, where formula and window are the same. */
const earlier = (current: Method, version: number, notes: string): Method => {
  const step = version <= (lastUnrounded[current.feature] ?? 0) ? 0 : current.step;
  return method({ ...current, version, step, notes: `As version ${version + 1} but: ${notes}` });
};

const flaggedBy12 =
  'flagged by sqi_ecg version 12, which could call noise and P waves good that were taken for beats after a pause of 5 s (130 instead of 72 /min).';

const flaggedByIndex9 =
  'flagged by sqi_ppg version 9, which called dicrotic waves good that were counted as beats 0.6 to 0.75 s after the pulse of a slow heart (90 /min of a pulse of 45).';

const strictBeforeGaps =
  'flagged by sqi_ppg version 10, which called the last 4 s before a gap or an end bad whatever they held (CapnoBase, pulse rates of these seconds: 25 % good, since then 97).';
const cutByGaps =
  'a beat whose upstroke a gap or an end cut was given out, up to 0.12 s beyond its samples (BIDMC, 322 gaps: 139 beats in them, since then none).';

const beforeGaps = `${cutByGaps.slice(0, -1)}; ${strictBeforeGaps}`;

const lastLeftOut = 'the block in which a recording ended was left out at the seam of two segments.';

const withoutFarOff =
  'intervals next to a pulse that is steepest far from the middle of its upstroke were left out, as where samples are missing.';

const kindsOf15 =
  'kinds of beats as r_peaks version 15 told them: beats under waves of a moving electrode were ventricular, and good (CinC 2017, normal rhythm, flagged 0: 2.6 % of the beats, since then 0.8).';

const byFirstLead =
  'with several leads, beats lay where the first has them however noisy it is, and what two leads of two hearts show was good (longest interval of 10 s, good and off by more than 50 ms with electrode motion of -6 dB in the first lead: MIT-BIH 13.8 %, since then 6.5).';
const of16 =
  'next to a first lead that is hum alone, beats were placed up to 80 ms off, and runs that the second shows were hidden; good with a lead of a heart twice as fast, where the P waves of a second lead were taken for beats, and below 188 Hz where pulses of a pacemaker that do not capture were (the lead of another person, rates off by more than 5 /min and good: QTDB 4.4 %, since then 3.0; MIT-BIH 1.9, since then 1.4); beats of a broad rhythm that lasts were of the usual kind, and good, and so was the rate of a fast one that was counted by half.';
const ofFast = 'a low index was good at more than 120 /min, where T waves are taken for P waves.';
const of17 =
  'good where every second beat is the T wave of a broad complex, or the other half of an even wave (made patients, even waves of 30 to 330 /min: 1.7 % of the rates were twice the heart rate and good, since then 0.01).';
const unevenOf18 =
  'a beat whose intervals do not fit was an artefact however good the signal is, and as usual its shape (MIT-BIH and QTDB, flagged 0: 418 artefacts, all of them beats of the heart, since then 2).';
const withoutUneven = 'beats of r_peaks version 18 that are artefacts by their intervals alone were left out.';
const humBefore =
  'hum of 50 or 60 Hz was left in what stands before the beats (sinus rhythm of 23 recordings of QTDB and MIT-BIH with 0.3 mV of 50 Hz: 560 of 1,402 values said fibrillation, 43 of them good, since then none).';
const ofFlanks =
  'of a change that falls, of less than 1 in the unit of the lead, the size was lost in part: a lead turned over, or in another unit, could have other flags.';
const fromLess = 'a long interval was suspect for a change of 0.35 of that of the beats, since then 0.4.';
/** What else was good of the intervals of a beat. */
const wavesOf16 = ({ feature }: Method): string => {
  if (feature === 'pr_60s') return '; of a PR above 300 ms the flank of P was measured, and good';
  return feature === 'qrs_60s' ? '' : '; good where a late part of T or a high U wave follows the end that was found';
};
const goodOverHeld = `${byFirstLead.slice(0, -1)}; good where a device put 0 in place of what it lost (1.5 s of every 10 s: half of the rates were wrong and good, since then none).`;
const of15 = `${kindsOf15.slice(0, -1)}; ${byFirstLead}`;

export const retiredBeatMethods: readonly Method[] = [
  earlier(beatMethods.ppg, 6, beforeGaps),
  earlier(beatMethods.ppg, 5, `the same beats, ${flaggedByIndex9}`),
  earlier(
    beatMethods.ppg,
    4,
    'the same beats, flagged by sqi_ppg version 8: good where tones, or dicrotic waves half a beat later, were taken for beats.',
  ),
  earlier(
    beatMethods.ppg,
    3,
    'in noise a beat could lie less than 0.2 s after the one before it, or before it: an interval was negative (IEEE SPC: one of 7,638 beats at 0.12 s).',
  ),
  earlier(
    beatMethods.ppg,
    2,
    'a pulse that is upside down was taken as it came (CapnoBase turned over: F1 94.7 %, version 3: 99.9), and the way to a rail for a beat.',
  ),
  earlier(
    beatMethods.ppg,
    1,
    'every gap above 0.05 s, a lost packet too, ended the path of beats (with 5 % of packets of 100 ms lost, F1 93.8 on BIDMC; version 2: 99.2).',
  ),
  earlier(beatMethods.ecg, 18, unevenOf18),
  earlier(beatMethods.ecg, 17, of17),
  earlier(beatMethods.ecg, 16, of16),
  earlier(beatMethods.ecg, 15, of15),
  earlier(beatMethods.ecg, 14, flaggedBy12),
  earlier(
    beatMethods.ecg,
    13,
    'hum of 50 or 60 Hz moved the places of beats and their shapes (QTDB with 0.3 mV of 50 Hz, RMSSD of 60 s flagged 0; of these within 10 %: at 250 Hz 6.3; 82.7 %, version 14: 61.8; 99.5).',
  ),
  earlier(beatMethods.ecg, 12, 'the same beats and kinds, flagged by sqi_ecg version 10: good where T waves were taken for beats.'),
  earlier(
    beatMethods.ecg,
    11,
    'of several leads fused, ventricular beats that one of them hardly had were lost, and a T wave at the very start was taken for a beat (QTDB, two leads: 23 errors, version 12: 9; the better lead of each recording: 9).',
  ),
  earlier(
    beatMethods.ecg,
    10,
    'in a slow heart T waves that were taken for beats at a start kept the level low enough to be taken again, for up to a minute (QTDB begun 7, 23 and 55 s later: F1 99.93, 99.96 and 99.90 %, version 11: 99.98 and more).',
  ),
  earlier(beatMethods.ecg, 9, 'the same beats and kinds, without a confidence.'),
  earlier(
    beatMethods.ecg,
    8,
    'of a heart faster than 240 /min every second beat was found; a wave next to lost samples was taken for the beat that lies in them, and no beat was bridged (5 % of packets of 100 ms lost, MIT-BIH and QTDB, bridged ones counted: F1 97.1 and 96.8, version 9: 99.1 and 99.5). Wherever intervals are irregular no beat was supraventricular, with frequent premature beats too, one beat could be the usual one, and a second lead did not count (each recording by weights of the others: MIT-BIH S 63 / 79, version 9: 79 / 76; QTDB by weights of MIT-BIH 84 / 75, version 9 by those of all others: 94 / 82).',
  ),
  earlier(
    beatMethods.ecg,
    7,
    'a supraventricular run was normal from its second beat on, and how alike the intervals before a beat are did not count (MIT-BIH, each recording by weights of the others: V 84 / 85, S 40 / 74; version 8: 87 / 89, 63 / 79).',
  ),
  earlier(
    beatMethods.ecg,
    6,
    'kinds were judged by intervals alone: no beat was called ventricular or supraventricular, and one in time was normal whatever its shape.',
  ),
  earlier(
    beatMethods.ecg,
    5,
    'pulses of a pacemaker and steps were taken for beats (MIT-BIH with pulses of 5 mV: F1 96.5 %, version 6: 99.9), and beats next to a lost packet were lost.',
  ),
  earlier(
    beatMethods.ecg,
    4,
    'when no beat had come for 5 s, levels were learned from whatever was there: in a longer pause noise was taken for beats, and a beat that ended one of nearly 5 s was lost.',
  ),
  earlier(
    beatMethods.ecg,
    3,
    'a P wave without a beat (second-degree block) or noise in a pause was taken for a beat that is late, and of two beats within 200 ms the second was lost (QTDB, first lead: 22 errors in 37,588 beats, version 4: 13).',
  ),
  earlier(
    beatMethods.ecg,
    2,
    'of two close waves the higher one was taken, not the likelier one or the one that all leads have; with several leads an artefact in one of them counted as noise of all (MIT-BIH, two leads: 60 errors in 46,141 beats, version 3: 46).',
  ),
  earlier(
    beatMethods.ecg,
    1,
    'a high wave in one lead alone was taken for a beat more often, the last beat before the end of the data was lost, and no beat was interpolated.',
  ),
];

const isOfFiveMinutes = ({ feature }: Method): boolean => fiveMinuteMethods.some((method) => method.feature === feature);
const isMadeOfRPeaks = (method: Method): boolean =>
  method.feature === 'hr_ecg' || method.feature === 'resp_rate_ecg' || (method.feature.startsWith('hrv_') && !isOfFiveMinutes(method));
const isOfSpectrum = ({ feature }: Method): boolean => /_(vlf|lf|hf|lf_hf|lf_nu|hf_nu|total_power)_300s$/.test(feature);
const isDoubtedByPlace = ({ feature }: Method): boolean => feature.startsWith('hrv_') && feature !== 'hrv_mean_nn_300s';
const flaggedBy10 = 'flagged by sqi_ecg version 10, which could call seconds good in which tall T waves were taken for beats.';
const goodWithHidden =
  'good where low wide beats between those found were missed (37 instead of 75 /min in bigeminy of 0.3 mV), or where tall T waves were taken for beats (86 instead of 45 /min).';
const goodAcrossSeam =
  'good after a seam of segments where beats of the one before it were doubtful (P waves of a complete block: 91 instead of 34 /min), and by sqi_ecg version 12.';
const movedRuns =
  'good however unsure it was that the beats of the run are ventricular: movement and hum made runs (values of 1 flagged 0 and right: MIT-BIH 92.5 %, since then 96.4; QTDB 93.0, since then 99.2).';
const placesUndoubted =
  'not suspect for pairs of beats that fit the usual one nowhere, nor an SDNN for places that vary (RMSSD of 60 s flagged 0, within 10 %: QTDB 99.0 %, since then 99.3; MIT-BIH 99.3, since then 99.5).';
const acrossHoles =
  'a spline went on where intervals were left out, and swung there (MIT-BIH 207: LF 20,161 ms2 of an SDNN of 94 ms; one interval in ten left out of clean recordings: LF off by 35 to 45 % in the median, since then 10).';
const placesTogether =
  'not suspect where both ways to place beats move together, as in hum and noise (SDNN 53 ms instead of 20 with 1 mV of mains, and good; RMSSD of 60 s flagged 0, within 10 %: QTDB 99.3 %, since then 99.6).';
const middleAlone =
  'not suspect where the middle of the upstroke and its steepest place move apart, as with clipped tops and deep breathing (BIDMC, RMSSD of 60 s against ECG, both flagged 0: 26 % within 10 %, since then 54).';
const likelySteady =
  'not suspect where intervals are steady or repeat themselves, nor where beats are placed badly (CinC 2017, normal rhythm, flagged 0: 6 of 83 values said fibrillation, since then none of 77).';
const kindsSure =
  'good however unsure the kinds of the beats were (flagged 0 and right, QTDB: V 96.2, S 91.4 %, since then 99.0 and 96.0; MIT-BIH: V 84, S 86).';
const fewSurelyEctopic =
  'suspect for what supraventricular beats changed unless their logit was above 2.5, and from 188 Hz on for tails of differences above 1.4 (RMSSD of 60 s flagged 0; of these within 10 %: MIT-BIH 50.7; 99.5 %, since then 53.6; 99.5; QTDB 60.3; 99.5, since then 62.4; 99.5).';
const humLeft =
  'hum of 50 or 60 Hz was left in, and a slope that did not end was taken for a QRS complex that did (QT 90 ms too long, and good, with 0.3 mV of 50 Hz; with 0.1 mV at 360 Hz).';
const madeOf8 = 'made of r_peaks version 8, which took waves next to lost samples for beats, and of its kinds of beats.';
const madeOf10 = 'made of r_peaks version 10, which could take T waves of a slow heart for beats.';
const madeOf11 =
  'made of r_peaks version 11, which of several leads lost ventricular beats that one of them hardly had, and could begin with a T wave.';
const madeOf13 = 'made of r_peaks version 13, whose places of beats were moved by hum of 50 or 60 Hz.';
const byMeasuredBeats =
  'corrected by the mean interval before the beats that were measured, which has the pauses after ectopic beats and not the short intervals before them: too low, by 25 ms and up to 44 (Bazett, good values of MIT-BIH 119, of whose beats 22 % are ventricular).';
const flaggedBySpread =
  'good whenever the values spread little, though an end of T that is wrong alike in every beat spreads none (QTDB, both leads: 25 % of the QT intervals that are off by more than 20 ms were flagged, since then 88).';
const kindsOf7 = 'kinds of beats as r_peaks version 7 told them.';
const byIntervals =
  'intervals next to an ectopic beat were left out by their length alone, and one such beat a minute made RMSSD suspect; not suspect where the places of the R waves vary against the whole QRS complex, which place beats below 188 Hz.';
const goodWithDoubled =
  'an interval of two usual ones, or two that make one, was no reason for doubt (QTDB: 32 % of the rates off by more than 5 /min were flagged, version 8: all).';
const laterDoubts = '; not suspect for an RMSSD of 10 to 12 % of the mean, nor for many beats that the detector was not sure of';

const flaggedByIndex8 =
  'flagged by sqi_ppg version 8, which called tones good, and dicrotic waves half a beat later that were counted as beats (92 /min of a vibration of 1.5 Hz; 150 /min of a pulse of 75).';
const ofPlacesUnknown =
  'good below 50 Hz however badly beats were placed (25 Hz: 39 % of good RMSSD of a minute were off by more than 10 %, since then 1), where the beats were those of a motion, and of beats in samples that were missing (5 % of packets of 0.25 s lost: 23 % of good ones off, since then none).';
const ofPeaks3 = 'made of pulse_peaks version 3, some beats of which were less than 0.2 s apart.';
const flaggedByIndex7 = 'flagged by sqi_ppg version 7, which judged beats of pulse_peaks version 3.';
const ofPeaks2 = 'made of pulse_peaks version 2: a pulse that is upside down was taken as it came.';
const flaggedByIndex6 = 'flagged by sqi_ppg version 6, which compares with the spectral rate of hr_ppg_motion version 4.';
const flaggedByIndex5 =
  'flagged by sqi_ppg version 5, which called seconds good 4 and 5 s after a pulse had given way to noise a thousandth its size.';
const flaggedByIndex3 = 'made of pulse_peaks version 1, flagged by sqi_ppg version 3.';

export const retiredMethods: readonly Method[] = [
  ...Object.entries(lastUnrounded).map(([feature, version]) =>
    earlier(featureMethods[methodIndex(feature)]!, version, 'values are not rounded to whole steps.'),
  ),
  ...featureMethods.filter(isMadeOfRPeaks).flatMap((current) => {
    const isVariability = current.feature.startsWith('hrv_');
    // the version made of r_peaks version 13, and the one before sure supraventricular beats were no doubt
    const of13 = current.version - (current.feature === 'hr_ecg' ? 6 : 5);
    const before = isVariability ? of13 - 1 : of13;
    // the version made of r_peaks version 12
    const of12 = before - (isDoubtedByPlace(current) ? 2 : 1);
    return [
      ...(current.feature === 'hr_ecg' ? [earlier(current, of13 + 5, ofFlanks)] : []),
      earlier(current, of13 + 4, of17),
      earlier(current, of13 + 3, of16),
      earlier(current, of13 + 2, isVariability ? of15 : current.feature === 'hr_ecg' ? goodOverHeld : byFirstLead),
      earlier(current, of13 + 1, current.feature === 'hr_ecg' ? goodAcrossSeam : flaggedBy12),
      earlier(current, of13, madeOf13),
      ...(isVariability ? [earlier(current, before, fewSurelyEctopic)] : []),
      ...(isDoubtedByPlace(current)
        ? [earlier(current, before - 1, isOfSpectrum(current) ? acrossHoles : placesTogether), earlier(current, of12, placesUndoubted)]
        : [earlier(current, of12, current.feature === 'hr_ecg' ? goodWithHidden : flaggedBy10)]),
      earlier(current, of12 - 1, madeOf11),
      earlier(current, of12 - 2, madeOf10),
      earlier(current, of12 - 3, madeOf8),
      ...(of12 > 11 ? [earlier(current, 8, kindsOf7)] : []),
      ...(of12 > 10 ? [earlier(current, 7, current.feature === 'hr_ecg' ? goodWithDoubled : byIntervals)] : []),
      ...(of12 > 6 ? [earlier(current, 6, 'made of r_peaks version 5.')] : []),
      ...(of12 > 5 ? [earlier(current, 5, 'made of r_peaks version 4.')] : []),
      ...(of12 > 3 ? [earlier(current, 3, 'made of r_peaks version 3.')] : []),
      ...(of12 > 2 ? [earlier(current, 2, `made of r_peaks version 2${current.feature.startsWith('hrv_') ? laterDoubts : ''}.`)] : []),
      ...(of12 > 1 ? [earlier(current, 1, 'made of r_peaks version 1, flagged by sqi_ecg version 1.')] : []),
    ];
  }),
  ...featureMethods
    .filter(({ feature }) => feature.startsWith('prv_'))
    .flatMap((current) => {
      // the version made of pulse_peaks version 4
      const last = current.version - 3;
      const of4 = current.feature === 'prv_mean_nn_300s' ? last : last - 1;
      return [
        earlier(current, last + 2, beforeGaps),
        earlier(current, last + 1, `${flaggedByIndex9.slice(0, -1)}; ${withoutFarOff}`),
        earlier(current, last, ofPlacesUnknown),
        ...(of4 < last ? [earlier(current, of4, isOfSpectrum(current) ? acrossHoles : middleAlone)] : []),
        earlier(current, of4 - 1, ofPeaks3),
        earlier(current, of4 - 2, flaggedByIndex6),
        earlier(current, of4 - 3, flaggedByIndex5),
        earlier(current, of4 - 4, ofPeaks2),
        earlier(current, of4 - 5, flaggedByIndex3),
        ...(of4 > 8 ? [earlier(current, 2, 'not suspect for an SDNN below 5 ms.')] : []),
        ...(of4 > 1 ? [earlier(current, 1, 'flagged by sqi_ppg version 1, and whatever the correction had changed.')] : []),
      ];
    }),
  ...(
    [
      ['hr_ppg', 12],
      ['hr_ppg_motion', 12],
      ['spo2', 5],
      ['perfusion_index', 6],
      ['worn_ppg', 6],
    ] as const
  ).map(([feature, version]) =>
    earlier(featureMethods[methodIndex(feature)]!, version, feature === 'spo2' ? `${beforeGaps.slice(0, -1)}; ${lastLeftOut}` : beforeGaps),
  ),
  ...pulseWaveMethods.map((current) => earlier(current, 4, beforeGaps)),
  earlier(
    featureMethods[methodIndex('sqi_ppg')]!,
    10,
    'the last 4 s before a gap or an end were bad whatever they held, because more than a fifth of their 10 s is missing (CapnoBase: 25 % of these seconds were good, since then 99).',
  ),
  earlier(featureMethods[methodIndex('resp_rate_ppg')]!, 5, `made of pulse_peaks version 6: ${cutByGaps}`),
  earlier(
    featureMethods[methodIndex('spo2')]!,
    4,
    'by the lights as they are: breathing that moves their level by three pulses, 0.3 times a second, made 89 of 95 %, by one pulse 93, flagged good; so was a motion at the rate of the pulse, whatever the accelerometer said, and a gain that doubles (85 of 95 %).',
  ),
  earlier(
    featureMethods[methodIndex('perfusion_index')]!,
    5,
    'from the least to the greatest value, to which breathing adds (0.3 times a second, by a pulse: 20 %, by three: 60 %); good with its light at a rail, and at the rate of a motion; good where this light stands still or is noise, as long as its seconds are.',
  ),
  earlier(
    featureMethods[methodIndex('worn_ppg')]!,
    5,
    'by the first wavelength alone: dead, it was a sensor that is off, and that was good.',
  ),
  earlier(
    featureMethods[methodIndex('spo2')]!,
    3,
    'good whatever moved the lights: a motion (83 instead of 98 or 80 %), the light of a room, or with red at a rail (91 instead of 80 %).',
  ),
  earlier(featureMethods[methodIndex('spo2')]!, 1, 'by the textbook line alone, whatever the profile of the device said.'),
  earlier(
    featureMethods[methodIndex('hr_ppg')]!,
    10,
    `${flaggedByIndex8.slice(0, -1)}, and could be good in the first seconds of a motion.`,
  ),
  earlier(
    featureMethods[methodIndex('hr_ppg_motion')]!,
    10,
    `with rates of hr_ppg version 10; three times the rate of a pulse that was taken off with a motion at it was good (209 /min of a pulse of 70).`,
  ),
  earlier(
    featureMethods[methodIndex('sqi_ppg')]!,
    9,
    '0.9 at most where waves may be no beats, whatever it was before, so that these seconds had no order; dicrotic waves 0.6 to 0.75 s after the pulse of a slow heart, counted as beats, were good.',
  ),
  earlier(featureMethods[methodIndex('hr_ppg')]!, 11, flaggedByIndex9),
  earlier(featureMethods[methodIndex('hr_ppg_motion')]!, 11, 'with rates of hr_ppg version 11.'),
  ...pulseWaveMethods.map((current) => earlier(current, 3, flaggedByIndex9)),
  earlier(
    featureMethods[methodIndex('sqi_ppg')]!,
    8,
    'a tone, and a dicrotic wave half a beat later that was counted as a beat, were good.',
  ),
  ...['perfusion_index', 'worn_ppg'].map((feature) => earlier(featureMethods[methodIndex(feature)]!, 4, flaggedByIndex8)),
  ...pulseWaveMethods.map((current) => earlier(current, 2, flaggedByIndex8)),
  ...['hr_ppg', 'sqi_ppg'].map((feature) => earlier(featureMethods[methodIndex(feature)]!, 7, ofPeaks3)),
  earlier(
    featureMethods[methodIndex('hr_ppg')]!,
    8,
    'a rate of beats that is that of the motion, its half or its double could be good (50 /min of a pulse of 100 in a motion of 50).',
  ),
  earlier(
    featureMethods[methodIndex('hr_ppg_motion')]!,
    8,
    'twice the rate of a pulse whose fundamental was taken off with a motion at it, or at half of it, was good (144 /min of a pulse of 72).',
  ),
  earlier(
    featureMethods[methodIndex('hr_ppg_motion')]!,
    7,
    'a rate at the end of the range could be good: 210 /min of a pulse at 72 that was taken off with a motion at 72.',
  ),
  earlier(featureMethods[methodIndex('hr_ppg_motion')]!, 6, ofPeaks3),
  earlier(featureMethods[methodIndex('resp_rate_ppg')]!, 4, ofPeaks3),
  ...['perfusion_index', 'worn_ppg'].map((feature) => earlier(featureMethods[methodIndex(feature)]!, 3, flaggedByIndex7)),
  ...pulseWaveMethods.map((current) => earlier(current, 1, ofPeaks3)),
  earlier(featureMethods[methodIndex('hr_ppg')]!, 6, flaggedByIndex6),
  earlier(featureMethods[methodIndex('sqi_ppg')]!, 6, 'with the spectral rate of hr_ppg_motion version 4.'),
  ...['perfusion_index', 'worn_ppg'].map((feature) => earlier(featureMethods[methodIndex(feature)]!, 2, flaggedByIndex6)),
  earlier(featureMethods[methodIndex('hr_ppg')]!, 5, flaggedByIndex5),
  earlier(
    featureMethods[methodIndex('sqi_ppg')]!,
    5,
    'beats that the second detector did not find could be good: 4 and 5 s after a step to tiny noise the filters looked like a pulse.',
  ),
  ...['perfusion_index', 'worn_ppg'].map((feature) => earlier(featureMethods[methodIndex(feature)]!, 1, flaggedByIndex5)),
  ...['hr_ppg', 'sqi_ppg'].map((feature) => earlier(featureMethods[methodIndex(feature)]!, 4, ofPeaks2)),
  earlier(featureMethods[methodIndex('resp_rate_ppg')]!, 3, ofPeaks2),
  earlier(featureMethods[methodIndex('hr_ppg')]!, 3, flaggedByIndex3),
  earlier(
    featureMethods[methodIndex('sqi_ppg')]!,
    3,
    'of the beats of pulse_peaks version 1, with the spectral rate of hr_ppg_motion version 3.',
  ),
  earlier(featureMethods[methodIndex('resp_rate_ppg')]!, 2, 'made of pulse_peaks version 1.'),
  earlier(
    featureMethods[methodIndex('hr_ppg_motion')]!,
    5,
    'the rate of the spectrum always, also of an irregular pulse at rest (94.6 % within 5 /min on BIDMC, version 6: 95.8), and without an accelerometer never better than suspect.',
  ),
  earlier(
    featureMethods[methodIndex('hr_ppg_motion')]!,
    4,
    'the spectra of the wavelengths were added, not the wavelengths; half the rate was supported by its second harmonic alone.',
  ),
  earlier(
    featureMethods[methodIndex('hr_ppg_motion')]!,
    3,
    'the spectra were attenuated where the accelerometer had power, by a weight that did not fit every runner.',
  ),
  earlier(
    featureMethods[methodIndex('hr_ppg_motion')]!,
    1,
    'flagged by the share of power near the rate alone (78 % of rates off by 5 /min flagged, version 2: all).',
  ),
  ...featureMethods
    .filter(({ feature }) => /^(pr|qrs|qt|qtc_[a-z]+)_60s$/.test(feature))
    .flatMap((current) => [
      earlier(current, current.version - 1, withoutUneven),
      earlier(current, current.version - 2, of17),
      earlier(current, current.version - 3, `${of16.slice(0, -1)}${wavesOf16(current)}.`),
      earlier(current, current.version - 4, of15),
      ...(current.feature.startsWith('qt') ? [earlier(current, current.version - 5, flaggedBySpread)] : []),
      earlier(current, current.feature.startsWith('qtc') ? 10 : 9, flaggedBy12),
      ...(current.feature.startsWith('qtc') ? [earlier(current, 9, byMeasuredBeats)] : []),
      earlier(current, 8, madeOf13),
      earlier(current, 7, flaggedBy10),
      earlier(current, 6, humLeft),
      earlier(current, 5, madeOf11),
      earlier(current, 4, madeOf10),
      earlier(current, 3, madeOf8),
      earlier(current, 2, kindsOf7),
      earlier(current, 1, 'ectopic beats were told by their intervals alone.'),
    ]),
  ...fiveMinuteMethods.flatMap((current) => [
    earlier(current, 12, of17),
    earlier(current, 11, of16),
    earlier(current, 10, of15),
    earlier(current, 9, flaggedBy12),
    earlier(current, 8, madeOf13),
    earlier(current, 7, fewSurelyEctopic),
    earlier(current, 6, isOfSpectrum(current) ? acrossHoles : placesTogether),
    earlier(current, 5, placesUndoubted),
    earlier(current, 4, madeOf11),
    earlier(current, 3, madeOf10),
    earlier(current, 2, madeOf8),
    earlier(current, 1, kindsOf7),
  ]),
  ...burdenMethods.flatMap((current) => [
    earlier(current, 9, of17),
    earlier(current, 8, of16),
    earlier(
      current,
      7,
      current.feature === 'ventricular_run_10s'
        ? `${of15.slice(0, -1)}; a run was good from confidences of 0.8 on that knew of no movement, since then from 0.75, 0.9 in the mean, and where the kinds of all beats were unknown.`
        : of15,
    ),
    earlier(current, 6, current.feature === 'ventricular_run_10s' ? movedRuns : flaggedBy12),
    earlier(current, 5, madeOf13),
    earlier(current, 4, current.feature === 'ventricular_run_10s' ? flaggedBy10 : kindsSure),
    earlier(current, 3, madeOf11),
    earlier(current, 2, madeOf10),
    earlier(current, 1, madeOf8),
  ]),
  ...(['longest_rr_10s', 'af_index', 'af_burden_300s'] as const)
    .map((feature) => featureMethods[methodIndex(feature)]!)
    .flatMap((current) => {
      const isLongest = current.feature === 'longest_rr_10s';
      // the version made of r_peaks version 17
      const last = current.version - 2;
      return [
        earlier(current, last + 1, isLongest ? `${ofFlanks.slice(0, -1)}; ${fromLess}` : humBefore),
        earlier(current, last, of17),
        earlier(current, last - 1, current.feature === 'af_index' ? `${of16.slice(0, -1)}; ${ofFast}` : of16),
        earlier(current, last - 2, isLongest ? byFirstLead : of15),
        earlier(current, last - 3, flaggedBy12),
      ];
    }),
  earlier(featureMethods[methodIndex('sqi_ecg')]!, 15, of17),
  earlier(featureMethods[methodIndex('sqi_ecg')]!, 14, of16),
  earlier(
    featureMethods[methodIndex('sqi_ecg')]!,
    13,
    'of several leads, those of two hearts could be good, and so could seconds near a line that did not change for a second.',
  ),
  earlier(
    featureMethods[methodIndex('sqi_ecg')]!,
    12,
    'seconds could be good in which noise or P waves of a pause were taken for beats (wrong seconds flagged: MIT-BIH 68.5 %, since then 76.1).',
  ),
  earlier(
    featureMethods[methodIndex('longest_rr_10s')]!,
    8,
    'in a heart slower than 43 /min the flags of the seconds around a gap or a pause of 3 s could be forgotten before its value was made, which then was bad (a pause of 3.4 s at 26 /min).',
  ),
  earlier(featureMethods[methodIndex('longest_rr_10s')]!, 7, madeOf13),
  earlier(featureMethods[methodIndex('af_index')]!, 6, madeOf13),
  earlier(featureMethods[methodIndex('af_burden_300s')]!, 4, madeOf13),
  earlier(featureMethods[methodIndex('sqi_ecg')]!, 11, madeOf13),
  earlier(
    featureMethods[methodIndex('longest_rr_10s')]!,
    6,
    'an interval could be good that a low wide beat lies in, during which the gain fell, or of a rhythm half of whose beats are T waves.',
  ),
  earlier(
    featureMethods[methodIndex('sqi_ecg')]!,
    10,
    'seconds could be good in which tall T waves were taken for beats: both detectors find them, as evenly as the beats.',
  ),
  earlier(featureMethods[methodIndex('longest_rr_10s')]!, 5, madeOf11),
  earlier(featureMethods[methodIndex('af_index')]!, 5, likelySteady),
  earlier(featureMethods[methodIndex('af_burden_300s')]!, 3, 'flagged by af_index version 5.'),
  earlier(featureMethods[methodIndex('af_index')]!, 4, madeOf11),
  earlier(featureMethods[methodIndex('af_burden_300s')]!, 2, madeOf11),
  earlier(featureMethods[methodIndex('sqi_ecg')]!, 9, madeOf11),
  earlier(featureMethods[methodIndex('longest_rr_10s')]!, 4, madeOf10),
  earlier(featureMethods[methodIndex('af_index')]!, 3, madeOf10),
  earlier(featureMethods[methodIndex('af_burden_300s')]!, 1, madeOf10),
  earlier(featureMethods[methodIndex('sqi_ecg')]!, 8, madeOf10),
  earlier(featureMethods[methodIndex('longest_rr_10s')]!, 3, madeOf8),
  earlier(
    featureMethods[methodIndex('af_index')]!,
    2,
    'neighbouring intervals alone were compared, and ventricular beats were searched for P waves: bigeminy was called fibrillation (MIT-BIH, other rhythms: AUC 0.906, version 3: 0.960).',
  ),
  earlier(featureMethods[methodIndex('sqi_ecg')]!, 7, madeOf8),
  earlier(
    featureMethods[methodIndex('longest_rr_10s')]!,
    2,
    'what lies in a long interval was not looked at: a pause of a slow heart was suspect, one that hides a ventricular beat good.',
  ),
  ...['af_index', 'longest_rr_10s'].map((feature) => earlier(featureMethods[methodIndex(feature)]!, 1, 'made of r_peaks version 5.')),
  earlier(featureMethods[methodIndex('sqi_ecg')]!, 6, 'of the beats of r_peaks version 5.'),
  earlier(featureMethods[methodIndex('sqi_ecg')]!, 5, 'of the beats of r_peaks version 4.'),
  earlier(featureMethods[methodIndex('sqi_ecg')]!, 3, 'of the beats of r_peaks version 3.'),
  earlier(featureMethods[methodIndex('sqi_ecg')]!, 2, 'of the beats of r_peaks version 2.'),
  {
    ...featureMethods[methodIndex('sqi_ecg')]!,
    version: 1,
    code: 'derived:sqi_ecg_v1',
    step: 0,
    notes:
      'Agreement with another second detector, kurtosis and template alone; held out AUC 0.957 (versions 2 to 8: 0.978), a heart rate bore the flag of its second.',
  },
  earlier(
    featureMethods[methodIndex('resp_rate')]!,
    3,
    'a rate that was that of the heart of the stream was good, and so was that of a drifting electrode in 16 % of the time (since then 7): breaths were uneven by their intervals alone.',
  ),
  earlier(
    featureMethods[methodIndex('resp_rate')]!,
    2,
    'flagged by coverage alone, and at most 60 /min: from 57 /min on half of the rate was given, and noise or a heart seen instead of breaths was good, as was the noise of a sensor that was taken off (BIDMC: 39 of 679 rates off by more than 2 /min were good, now 10 of 622).',
  ),
  earlier(featureMethods[methodIndex('temp_mean')]!, 3, 'readings that scatter or drift as no skin does were good.'),
  earlier(featureMethods[methodIndex('temp_mean')]!, 2, 'every unit was taken for Cel.'),
  earlier(featureMethods[methodIndex('eda_tonic')]!, 2, 'every unit was taken for uS, and some responses were not told, see scr_rate.'),
  earlier(
    featureMethods[methodIndex('scr_rate')]!,
    4,
    'changes of contact that were smoothed to 1 Hz were counted as responses, and good; so was a rate where the converter could not show a response.',
  ),
  earlier(
    featureMethods[methodIndex('scr_rate')]!,
    3,
    'noise was counted, and good (of 0.05 uS at 4 Hz: 25 /min), and where it hid the responses, none was (of 0.05 uS at 128 Hz).',
  ),
  earlier(
    featureMethods[methodIndex('scr_rate')]!,
    2,
    'where the level before a response was flat, its lowest sample was the foot, wherever it lay: the rise was too long, and the response lost. A sensor that was off had no responses, and that was good.',
  ),
  ...(
    [
      ['activity', 3],
      ['steps', 2],
    ] as const
  ).map(([feature, version]) =>
    earlier(
      featureMethods[methodIndex(feature)]!,
      version,
      'suspect below 0.5 and above 3 g alone: of half and twice the scale, of an axis at its rail, and of one that stands still alone, values were good.',
    ),
  ),
  earlier(featureMethods[methodIndex('activity')]!, 2, 'every unit but m/s2 was taken for g.'),
  ...['hr_ppg', 'hr_ppg_motion'].map((feature) =>
    earlier(
      featureMethods[methodIndex(feature)]!,
      9,
      'an acceleration in mg or m/s^2 was taken for one in g, and its wearer for always moving.',
    ),
  ),
  earlier(featureMethods[methodIndex('steps')]!, 1, 'every unit but m/s2 was taken for g.'),
  method({
    feature: 'hr_ppg',
    version: 1,
    source: 'ppg',
    title: 'Pulse rate from PPG',
    unit: '/min',
    step: 0,
    windowSec: 8,
    cadenceSec: 1,
    paper: '60,000 / mean pulse interval (ms)',
    notes:
      'Intervals whose two beats lie in the window; flags by sqi_ppg_v1. Version 2 is the median: one wave missed or doubled moves it less.',
  }),
  method({
    feature: 'sqi_ppg',
    version: 1,
    source: 'ppg',
    title: 'Signal quality of PPG',
    unit: '1',
    step: 0,
    windowSec: 1,
    cadenceSec: 1,
    scope: 'channel',
    paper: 'Li & Clifford 2012, doi:10.1088/0967-3334/33/9/1491; Orphanidou et al. 2015, doi:10.1109/JBHI.2014.2338351',
    notes:
      'Did not know the spectral rate: in motion it took arm swing for a pulse (AUC 0.78 on the wrist while running, 0.89 for version 2).',
  }),
];
