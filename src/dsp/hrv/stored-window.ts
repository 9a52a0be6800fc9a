/** Variability of any window of beats as they are stored: by the code that computes the stored values, so that five minutes have
 *  the same ones. What only the detector knows is not stored: its confidence in a beat, and below 188 Hz where a whole QRS complex fits. */
import { fromSteps, GOOD, SUSPECT, toSteps } from '../../signal.ts';
import type { QualityFlag } from '../../signal.ts';
import { fiveMinuteMethods } from '../rows/methods-five-minutes.ts';
import { featureMethods, methodIndex } from '../rows/methods.ts';
import { doubtOf, fiveMinuteValues, hangsOnExtremes } from './five-minutes.ts';
import { addDensity, bandPowers, densityCount, densityStepHz, endHz, hfHz, lfHz, vlfHz } from './frequency.ts';
import { timeDomain } from './time-domain.ts';
import { doubt, doubtLimits, flagOf, isOutreached, makeRoom, placingOf, scratch, worse } from './values.ts';

/** An interval between two beats of a window. */
export type StoredInterval = Readonly<{
  /** Of the beat that ends it, after the window's beginning. */
  endSec: number;
  ms: number;
  /** Variability is made of it. */
  isNn: boolean;
  /** Next to a beat that is surely ectopic. */
  isSurelyEctopic: boolean;
  /** The interval before it ends where it begins. */
  follows: boolean;
}>;

export type StoredWindow = Readonly<{
  source: 'ecg' | 'ppg';
  /** Rate of the signal, Hz. */
  fs: number;
  windowSec: number;
  /** Ascending. */
  intervals: readonly StoredInterval[];
  /** Beats that were seen, and how many of them are suspect and bad. */
  beatCount: number;
  suspectCount: number;
  badCount: number;
  /** Places or confidences of beats are doubtful, or nothing is known of them: differences of intervals. */
  isDoubtful: boolean;
  /** The same of the spread of intervals. */
  isSpreadDoubtful: boolean;
}>;

/** @param qmask of the value; null: it has none, because too little is covered or there are too few intervals */
export type WindowValue = Readonly<{
  name: string;
  feature: string;
  title: string;
  unit: string;
  value: number | null;
  qmask: QualityFlag | null;
}>;

export type Band = Readonly<{ name: 'vlf' | 'lf' | 'hf'; fromHz: number; toHz: number; ms2: number; peakHz: number | null }>;
export type WindowSpectrum = Readonly<{
  stepHz: number;
  /** ms^2/Hz, of 0 Hz and on. */
  density: Float64Array;
  bands: readonly Band[];
  /** Means of so many spectra of so many seconds. */
  segmentCount: number;
  segmentSec: number;
}>;

/** Longer windows have the mean of spectra of five minutes, each half over the one before (Welch 1967, doi:10.1109/TAU.1967.1161901). */
export const SEGMENT_SEC = 300;
/** The longest that is one spectrum: that of five minutes, and as long as `bandPowers` has room for. */
export const ONE_SEGMENT_SEC = 512;
/** In a shorter window a band has too few of its slowest waves, s (Task Force 1996: about ten of them; VLF of five minutes is doubtful). */
export const bandSecMin = { vlf: 300, lf: 120, hf: 60 } as const;

const bands = [
  ['vlf', vlfHz, lfHz],
  ['lf', lfHz, hfHz],
  ['hf', hfHz, endHz],
] as const;
const timeNames = ['mean_nn', 'sdnn', 'rmssd', 'pnn50', 'sd1', 'sd2'] as const;
const spectralNames = ['lf', 'hf', 'lf_hf'] as const;
const nameOf = (feature: string): string => feature.replace(/^[hp]rv_|_300s$/g, '');
/** Bands that a value is made of: the shortest window of the slowest counts. */
const slowest: Readonly<Record<string, keyof typeof bandSecMin>> = {
  vlf: 'vlf',
  total_power: 'vlf',
  lf: 'lf',
  lf_hf: 'lf',
  lf_nu: 'lf',
  hf_nu: 'lf',
  hf: 'hf',
};

const hfStep = featureMethods[methodIndex('hrv_hf_300s')]!.step;

/** Names of the stored values of five minutes that a window of this source has. */
export const storedFeatures = (source: 'ecg' | 'ppg'): readonly string[] => {
  const prefix = source === 'ecg' ? 'hrv' : 'prv';
  const own = [...timeNames, ...spectralNames].map((name) => `${prefix}_${name}_300s`);
  return source === 'ecg' ? [...own, ...fiveMinuteMethods.map(({ feature }) => feature)] : own;
};

/** Values in the order of `storedFeatures`, and the spectrum; null without enough intervals for one, or with too large a hole in them. */
export function windowVariability(
  window: StoredWindow,
): Readonly<{ coverage: number; values: WindowValue[]; spectrum: WindowSpectrum | null }> {
  const { source, windowSec, intervals } = window;
  const covered = fill(intervals);
  const coverage = covered / windowSec;
  const { nn, endSec } = scratch;
  const time = timeDomain(nn);
  const placing = placingOf(source, window.fs);
  const doubts = doubt(time, doubtLimits[source], placing);
  const beats = Math.max(1, window.beatCount);
  const flag = flagOf(coverage, 1 - nn.count / scratch.all.count, window.badCount / beats, (window.badCount + window.suspectCount) / beats);
  // Placed by R waves alone, differences of intervals are not those of the stored values.
  const isUnplaced = window.isDoubtful || placing.byShape;
  const flagOfDoubt = (which: 'pairs' | 'spread' | 'power'): QualityFlag =>
    worse(worse(flag, doubts[which]), (which === 'spread' ? window.isSpreadDoubtful : isUnplaced) ? SUSPECT : GOOD);
  const spectrum = spectrumOf(windowSec, coverage);
  const power = Object.fromEntries(spectrum?.bands.map(({ name, ms2 }) => [name, ms2]) ?? []);
  const [vlf = NaN, lf = NaN, hf = NaN] = [power['vlf'], power['lf'], power['hf']];
  const five = fiveMinuteValues(nn, endSec, time);
  const ofFive = new Map(fiveMinuteMethods.map(({ feature }, i) => [nameOf(feature), i]));
  const known: Readonly<Record<string, number>> = {
    mean_nn: time.meanNnMs,
    sdnn: time.sdnnMs,
    rmssd: time.rmssdMs,
    pnn50: time.pnn50,
    sd1: time.sd1Ms,
    sd2: time.sd2Ms,
    vlf,
    lf,
    hf,
    lf_hf: toSteps(hf, hfStep) > 0 ? lf / hf : NaN,
    total_power: vlf + lf + hf,
    lf_nu: (100 / (lf + hf)) * lf,
    hf_nu: (100 / (lf + hf)) * hf,
  };
  const flagOfName = (name: string): QualityFlag => {
    const at = ofFive.get(name);
    const band = slowest[name];
    if (band !== undefined) return worse(flagOfDoubt('power'), windowSec < bandSecMin[band] ? SUSPECT : GOOD);
    if (name === 'mean_nn') return flag;
    if (name === 'sdnn' || name === 'sd2') return flagOfDoubt('spread');
    if (at === undefined) return flagOfDoubt('pairs');
    return hangsOnExtremes[at]! && isOutreached() ? worse(flag, SUSPECT) : flagOfDoubt(doubtOf[at]!);
  };
  const values = storedFeatures(source).map((feature): WindowValue => {
    const { title, unit, step, coverageMin } = featureMethods[methodIndex(feature)]!;
    const name = nameOf(feature);
    const value = known[name] ?? five[ofFive.get(name) ?? -1] ?? NaN;
    const is = Number.isFinite(value) && nn.count >= 2 && coverage >= coverageMin;
    return { name, feature, title, unit, value: is ? fromSteps(toSteps(value, step), step) : null, qmask: is ? flagOfName(name) : null };
  });
  return { coverage, values, spectrum };
}

/** Puts intervals into `scratch`, as the engine does. @returns what they cover, s */
function fill(intervals: readonly StoredInterval[]): number {
  makeRoom(intervals.length);
  const { nn, all, otherMs, endSec, sure } = scratch;
  nn.count = all.count = 0;
  let covered = 0;
  let ectopic = 0;
  let [wasNn, wasKept] = [false, false];
  for (const { endSec: end, ms, isNn, isSurelyEctopic, follows } of intervals) {
    covered += ms / 1000;
    const [afterNn, afterKept] = [follows && wasNn, follows && wasKept];
    [wasNn, wasKept] = [isNn, !isSurelyEctopic];
    if (isSurelyEctopic) {
      ectopic++;
      continue;
    }
    all.nnMs[all.count] = ms;
    all.adjacent[all.count++] = afterKept ? 1 : 0;
    if (!isNn) continue;
    nn.nnMs[nn.count] = ms;
    nn.adjacent[nn.count] = afterNn ? 1 : 0;
    otherMs[nn.count] = NaN;
    sure[nn.count] = 1;
    endSec[nn.count++] = end;
  }
  scratch.unsureBeats = 0;
  scratch.ectopic = ectopic / Math.max(1, ectopic + all.count);
  return covered;
}

/** Of what is in `scratch`. */
function spectrumOf(windowSec: number, coverage: number): WindowSpectrum | null {
  if (coverage < COVERED_MIN) return null;
  const { nn, endSec } = scratch;
  const isOne = windowSec <= ONE_SEGMENT_SEC;
  const segmentSec = isOne ? windowSec : SEGMENT_SEC;
  const most = isOne ? 1 : Math.floor((windowSec - SEGMENT_SEC) / (SEGMENT_SEC / 2)) + 1;
  const density = new Float64Array(densityCount);
  const powers = { vlf: 0, lf: 0, hf: 0 };
  let segmentCount = 0;
  for (let segment = 0; segment < most; segment++) {
    const fromSec = (segment * SEGMENT_SEC) / 2;
    const [from, to] = isOne ? [0, nn.count] : [countUpTo(fromSec), countUpTo(fromSec + SEGMENT_SEC)];
    const [ends, ms, count] = [endSec.subarray(from, to), nn.nnMs.subarray(from, to), to - from];
    const leastSec = COVERED_MIN * segmentSec;
    if (!addDensity(ends, ms, count, leastSec, density)) continue;
    const { vlfMs2, lfMs2, hfMs2 } = bandPowers(ends, ms, count, leastSec);
    powers.vlf += vlfMs2;
    powers.lf += lfMs2;
    powers.hf += hfMs2;
    segmentCount++;
  }
  if (segmentCount === 0) return null;
  for (let k = 0; k < densityCount; k++) density[k]! /= segmentCount;
  return {
    stepHz: densityStepHz,
    density,
    bands: bands.map(([name, fromHz, toHz]) => ({
      name,
      fromHz,
      toHz,
      ms2: powers[name] / segmentCount,
      peakHz: peakOf(density, fromHz, toHz),
    })),
    segmentCount,
    segmentSec,
  };
}

/** Share of a window that intervals must cover, and of a spectrum NN intervals: that of the stored powers. */
const COVERED_MIN = featureMethods[methodIndex('hrv_lf_300s')]!.coverageMin;

/** NN intervals in `scratch` that end by a time. */
function countUpTo(sec: number): number {
  let count = 0;
  while (count < scratch.nn.count && scratch.endSec[count]! <= sec) count++;
  return count;
}

/** Where the density is highest, if it is higher there than next to it: at the edge of a band the peak is that of the next one. */
function peakOf(density: Float64Array, fromHz: number, toHz: number): number | null {
  const [from, to] = [Math.ceil(fromHz / densityStepHz), Math.ceil(toHz / densityStepHz)];
  let top = from;
  for (let k = from; k < to; k++) if (density[k]! > density[top]!) top = k;
  const isPeak = density[top]! > 0 && density[top]! >= (density[top - 1] ?? 0) && density[top]! >= (density[top + 1] ?? 0);
  return isPeak ? top * densityStepHz : null;
}
