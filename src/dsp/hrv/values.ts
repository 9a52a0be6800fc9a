/** Heart rate and variability from the beats of one channel group: which values are due, what they are and how good they are. */
import type { QualityFlag } from '../../signal.ts';
import { BAD, GOOD, SUSPECT, toSteps } from '../../signal.ts';
import { isEctopicOrigin, perhapsEctopic } from './beat-origin.ts';
import type { BeatTrack, Gaps } from './beats.ts';
import { isSurelyEctopic } from './rr-correction.ts';
import type { NnWindow, TimeDomain } from './time-domain.ts';
import { timeDomain } from './time-domain.ts';
import { bandPowers } from './frequency.ts';
import { doubtOf, fiveMinuteValues, hangsOnExtremes } from './five-minutes.ts';
import { rangeMs } from './geometric.ts';
import { isOneBeatOff } from './one-beat-off.ts';
import { medianOf } from './median.ts';
import type { Method } from '../rows/methods.ts';
import { fiveMinuteMethods } from '../rows/methods-five-minutes.ts';
import { featureMethods, methodIndex } from '../rows/methods.ts';

/** Takes values in the order they become final. `method` is a position in `featureMethods`. */
export type ValueSink = { value(method: number, channelNo: number, tUs: number, value: number, flag: QualityFlag): void };

const secondUs = 1_000_000;

type Names = {
  waits: boolean;
  doubtPairs: number;
  limits: DoubtLimits;
  hr: number;
  rmssd60: number;
  long: readonly number[];
  spectral: readonly number[];
  /** Empty: none are made of this kind of beat. */
  five: readonly number[];
};

/** Beyond these a value of variability is at best suspect. */
export type DoubtLimits = Readonly<{
  /** RMSSD over the mean interval. */
  rmssdShareMax: number;
  /** Share of beats that the detector is not sure of, each of them in doubt by itself or not: for differences of intervals, and for their
   *  spread. */
  unsureBeatsMax: number;
  unsureSpreadMax: number;
  /** SDNN below this, ms, is made of the variation of the fiducial and of the pulse's way rather than of the heart's. */
  sdnnMin: number;
}>;

export const doubtLimits = {
  ecg: { rmssdShareMax: 0.1, unsureBeatsMax: 0.15, unsureSpreadMax: 0.5, sdnnMin: 0 },
  ppg: { rmssdShareMax: 0.12, unsureBeatsMax: 1, unsureSpreadMax: 1, sdnnMin: 5 },
} as const satisfies Record<string, DoubtLimits>;

/** How beats are placed. */
type Placing = Readonly<{
  /** Where the whole QRS complex fits the usual one, instead of at the R wave. */
  byShape: boolean;
  /** Suspect when the other way changes RMSSD by more than this share. */
  jitterMax: number;
  /** The two ways differ by chance by less than this, root mean square, ms. */
  apartMs: number;
  /** Suspect where they differ by more than this share of RMSSD. */
  apartMax: number;
  /** RMSSD below this, ms, is made of the places rather than of the heart. */
  rmssdMin: number;
  /** Suspect when RMSSD exceeds its robust twin, 1.4826 x median of |difference|, by more than this. */
  tailMax: number;
}>;

/** Below this rate, Hz, the top of an R wave lies between two samples, and is known to a millisecond or two. */
export const placedByShapeBelowHz = 188;
export const placings = {
  rWave: { byShape: false, jitterMax: 0.07, apartMs: 2, apartMax: 0.35, rmssdMin: 0, tailMax: 1.8 },
  shape: { byShape: true, jitterMax: 0.3, apartMs: 10, apartMax: 0.35, rmssdMin: 3, tailMax: 1.4 },
  /** Pulses: by the middle of the upstroke, or where it is steepest. */
  upstroke: { byShape: false, jitterMax: Number.POSITIVE_INFINITY, apartMs: 0, apartMax: 0.5, rmssdMin: 0, tailMax: 1.4 },
} as const satisfies Record<string, Placing>;

export const placingOf = (source: 'ecg' | 'ppg', fs: number): Placing =>
  source === 'ppg' ? placings.upstroke : fs < placedByShapeBelowHz ? placings.shape : placings.rWave;

const named = (waits: boolean, hr: string, prefix: string, doubtPairs: number, limits: DoubtLimits): Names => ({
  waits,
  doubtPairs,
  limits,
  hr: methodIndex(hr),
  rmssd60: methodIndex(`${prefix}_rmssd_60s`),
  long: ['mean_nn', 'sdnn', 'rmssd', 'pnn50', 'sd1', 'sd2'].map((name) => methodIndex(`${prefix}_${name}_300s`)),
  spectral: ['lf', 'hf', 'lf_hf'].map((name) => methodIndex(`${prefix}_${name}_300s`)),
  five: fiveMinuteMethods.filter(({ feature }) => feature.startsWith(`${prefix}_`)).map(({ feature }) => methodIndex(feature)),
});

/** `waits`: the rate comes when its seconds have been judged, and is the median: single pulse waves are missed or doubled more often than
 *  R peaks.
 *  A detector confidence below doubtPairs makes an R peak doubtful for variability. Pulse beats are judged by their second alone. */
const names = { ecg: named(false, 'hr_ecg', 'hrv', 0.5, doubtLimits.ecg), ppg: named(true, 'hr_ppg', 'prv', 0, doubtLimits.ppg) };
/** A pulse interval longer than this many means hides a beat. */
export const longestMax = 1.45;

/** The spectral rate of the pulse. */
const spectralRate = methodIndex('hr_ppg_motion');

/** `cadence`: rate of the strongest motion, /min; NaN where nothing moves. */
export type SpectralRate = Readonly<{ tUs: number; perMin: number; flag: QualityFlag; cadence: number }>;

/** A rate of beats within this share of that of the motion, of its half or its double is the motion's: beats know nothing of the
 *  accelerometer. */
export const ofMotionShare = 0.05;

/** So long is known what moved in the window of a spectral rate, which comes every 2 s. */
const motionKnownUs = 4_000_000;

const isNear = (perMin: number, cadence: number): boolean => Math.abs(perMin - cadence) < ofMotionShare * cadence;
const isOfMotion = (perMin: number, cadence: number): boolean =>
  isNear(perMin, 0.5 * cadence) || isNear(perMin, cadence) || isNear(perMin, 2 * cadence);

/** Variability looks back no further. */
const longestWindowSec = 300;

/** Cadences in the table are shared by the members of a group. */
const group = (index: number): Method => featureMethods[index]!;

const newWindow = (size: number): NnWindow => ({ count: 0, nnMs: new Float64Array(size), adjacent: new Uint8Array(size) });
/** The NN intervals of the window at hand, and all its intervals; shared by every stream of the thread. */
export const scratch = {
  nn: newWindow(1024),
  all: newWindow(1024),
  /** Of `nn`, by the other way to place beats; NaN where there is none. */
  otherMs: new Float64Array(1024),
  endSec: new Float64Array(1024),
  sure: new Uint8Array(1024),
  unsureBeats: 0,
  ectopic: 0,
};

/** The window gathered last, for all values of this time and length; shared by every stream of the thread, as `scratch` is, and forgotten
 *  at each advance(). */
const gathered: {
  by: BeatValues | null;
  tUs: number;
  windowSec: number;
  coverage: number;
  flag: QualityFlag;
  time: TimeDomain | null;
  doubts: Doubts | null;
} = { by: null, tUs: 0, windowSec: 0, coverage: 0, flag: GOOD, time: null, doubts: null };

const timeOfGathered = (): TimeDomain => (gathered.time ??= timeDomain(scratch.nn));

/** A median further than this from the mean, per minute: a wave was missed or doubled, or the pulse is irregular. */
export const meanOffMax = 2;

/** Intervals of the heart rate at hand: 8 s hold at most 40. */
const intervals = new Float64Array(64);

/** Shares of intervals, of beats and of the time of a window at which its flag turns, see flagOf. */
export const excludedSuspect = 0.05;
export const excludedBad = 0.2;
export const badBeatsMax = 0.2;
export const doubtfulSuspect = 0.05;
export const doubtfulBad = 0.5;
export const coveredGood = 0.8;

export class BeatValues {
  readonly #names: Names;
  readonly #placing: Placing;
  readonly #track: BeatTrack;
  readonly #gaps: Gaps;
  readonly #rateFlag: (tUs: number) => QualityFlag;
  readonly #sink: ValueSink;
  readonly #mayHide: (fromUs: number, toUs: number) => boolean;
  /** Spectral rates that wait for the pulse rate of their time: half a dozen. */
  readonly #spectral: SpectralRate[] = [];
  /** Time of the last of them that was given out, µs, and the rate of the motion in its window. */
  #spectralUs = Number.NEGATIVE_INFINITY;
  #cadence = Number.NaN;
  /** Does an accelerometer tell the motion? */
  readonly #knowsMotion: boolean;
  readonly #isRateOnly: boolean;
  /** Times of heart rates that may be those of a motion, µs, ascending; of the windows to come. */
  #ofMotionUs: number[] = [];
  /** Next due times, whole seconds of the device clock. */
  #hrSec = -1;
  #rmssdSec = Number.POSITIVE_INFINITY;
  #longSec = Number.POSITIVE_INFINITY;
  #spectralSec = Number.POSITIVE_INFINITY;
  #fiveSec = Number.POSITIVE_INFINITY;

  /** @param fs rate of the signal, Hz  @param rateFlag flag of the ECG heart rate due at a time, by the 10 s before it
   *  @param mayHide may an interval that ends in (fromUs, toUs] hide a beat that was not seen?
   *  @param knowsMotion is there an accelerometer?
   *  @param isRateOnly no variability is due */
  constructor(
    source: 'ecg' | 'ppg',
    fs: number,
    track: BeatTrack,
    gaps: Gaps,
    rateFlag: (tUs: number) => QualityFlag,
    mayHide: (fromUs: number, toUs: number) => boolean,
    sink: ValueSink,
    knowsMotion = false,
    isRateOnly = false,
  ) {
    this.#knowsMotion = knowsMotion;
    this.#isRateOnly = isRateOnly;
    this.#names = names[source];
    this.#placing = placingOf(source, fs);
    this.#track = track;
    this.#gaps = gaps;
    this.#rateFlag = rateFlag;
    this.#mayHide = mayHide;
    this.#sink = sink;
  }

  /** The first sample: nothing is due before it. */
  start(tUs: number): void {
    const due = (cadenceSec: number): number => Math.ceil(tUs / (cadenceSec * secondUs)) * cadenceSec;
    this.#hrSec = due(group(this.#names.hr).cadenceSec);
    if (this.#isRateOnly) return;
    this.#rmssdSec = due(group(this.#names.rmssd60).cadenceSec);
    this.#longSec = due(group(this.#names.long[0]!).cadenceSec);
    this.#spectralSec = due(group(this.#names.spectral[0]!).cadenceSec);
    const [five] = this.#names.five;
    if (five !== undefined) this.#fiveSec = due(group(five).cadenceSec);
  }

  /** Time before which every value is out, µs. */
  get finalUs(): number {
    return Math.min(this.#hrSec, this.#rmssdSec, this.#longSec, this.#spectralSec, this.#fiveSec) * secondUs;
  }

  /** A rate of the pulse from its spectrum, which is given out with the pulse rate of its time. */
  spectralRate(rate: SpectralRate): void {
    this.#spectral.push(rate);
  }

  /** @param beatsUs every beat before it is in the track  @param judgedUs every beat before it has its verdict */
  advance(beatsUs: number, judgedUs: number): void {
    if (this.#hrSec < 0) return;
    gathered.by = null;
    if (this.#ofMotionUs.length > 2 * longestWindowSec) this.#forgetMotion(judgedUs - longestWindowSec * secondUs);
    for (; this.#hrSec * secondUs < beatsUs; this.#hrSec = this.#gaps.nextDue(this.#hrSec, group(this.#names.hr).cadenceSec, beatsUs))
      if (this.#present(this.#hrSec)) this.#heartRate(this.#hrSec * secondUs);
    this.#giveSpectral(beatsUs);
    for (
      ;
      this.#rmssdSec * secondUs < judgedUs;
      this.#rmssdSec = this.#gaps.nextDue(this.#rmssdSec, group(this.#names.rmssd60).cadenceSec, judgedUs)
    )
      if (this.#present(this.#rmssdSec)) this.#shortVariability(this.#rmssdSec * secondUs);
    for (
      ;
      this.#longSec * secondUs < judgedUs;
      this.#longSec = this.#gaps.nextDue(this.#longSec, group(this.#names.long[0]!).cadenceSec, judgedUs)
    )
      if (this.#present(this.#longSec)) this.#longVariability(this.#longSec * secondUs);
    for (
      ;
      this.#spectralSec * secondUs < judgedUs;
      this.#spectralSec = this.#gaps.nextDue(this.#spectralSec, group(this.#names.spectral[0]!).cadenceSec, judgedUs)
    )
      if (this.#present(this.#spectralSec)) this.#spectrum(this.#spectralSec * secondUs);
    for (
      ;
      this.#fiveSec * secondUs < judgedUs;
      this.#fiveSec = this.#gaps.nextDue(this.#fiveSec, group(this.#names.five[0]!).cadenceSec, judgedUs)
    )
      if (this.#present(this.#fiveSec)) this.#fiveMinutes(this.#fiveSec * secondUs);
  }

  #forgetMotion(beforeUs: number): void {
    this.#ofMotionUs = this.#ofMotionUs.filter((tUs) => tUs >= beforeUs);
  }

  /** A value exists only where its last second has samples: in a gap and after the end there is nothing to say. */
  #present(tSec: number): boolean {
    return this.#gaps.missingUs((tSec - 1) * secondUs, tSec * secondUs) < secondUs;
  }

  #heartRate(tUs: number): void {
    const { tUs: times, starts, flag } = this.#track;
    const method = group(this.#names.hr);
    const to = this.#track.after(tUs);
    const from = this.#track.after(tUs - method.windowSec * secondUs, to);
    let sum = 0;
    let count = 0;
    let longest = 0;
    let worst: number = GOOD;
    for (let i = from; i < to; i++) {
      if (flag[i]! > worst) worst = flag[i]!;
      if (i === from || starts[i] === 1) continue;
      const rr = times[i]! - times[i - 1]!;
      sum += rr;
      if (rr > longest) longest = rr;
      intervals[count++ % intervals.length] = rr;
    }
    if (count < 2 || sum < method.coverageMin * method.windowSec * secondUs) return;
    const mean = sum / count;
    const rate = (60 * secondUs) / (this.#names.waits ? medianOf(intervals, Math.min(count, intervals.length)) : mean);
    // an R peak's second may not have been judged yet, or it may: what is not always known is not used
    const isUneven = longest > longestMax * mean || Math.abs(rate - (60 * secondUs) / mean) > meanOffMax;
    this.#giveSpectral(tUs);
    const spectral = this.#spectral[0]?.tUs === tUs ? this.#spectral[0] : undefined;
    if (spectral !== undefined) this.#noteMotion(spectral);
    const mayBeMotion = this.#mayBeMotion(tUs, rate);
    if (mayBeMotion) this.#ofMotionUs.push(tUs);
    const pulse = worst === GOOD && (isUneven || mayBeMotion) ? SUSPECT : (worst as QualityFlag);
    const quality = this.#names.waits ? pulse : this.#rateFlag(tUs);
    const isOff = !this.#names.waits && quality === GOOD && (this.#isOneBeatOff(from, to) || this.#mayHide(times[from]!, tUs));
    this.#sink.value(this.#names.hr, -1, tUs, rate, isOff ? SUSPECT : quality);
    if (spectral === undefined) return;
    this.#spectral.shift();
    const byBeats = isBetterByBeats(quality, worst as QualityFlag, spectral.flag);
    this.#sink.value(spectralRate, -1, tUs, byBeats ? rate : spectral.perMin, byBeats ? quality : spectral.flag);
  }

  /** Gives out spectral rates of earlier times: there was no pulse rate. */
  #giveSpectral(beforeUs: number): void {
    while (this.#spectral.length > 0 && this.#spectral[0]!.tUs < beforeUs) {
      const spectral = this.#spectral.shift()!;
      this.#noteMotion(spectral);
      this.#sink.value(spectralRate, -1, spectral.tUs, spectral.perMin, spectral.flag);
    }
  }

  #noteMotion({ tUs, cadence }: SpectralRate): void {
    this.#spectralUs = tUs;
    this.#cadence = cadence;
  }

  /** May a rate of beats be that of a motion? It may where an accelerometer has not told yet: after a start or a gap. */
  #mayBeMotion(tUs: number, perMin: number): boolean {
    if (this.#knowsMotion && tUs - this.#spectralUs > motionKnownUs) return true;
    return isOfMotion(perMin, this.#cadence);
  }

  /** SUSPECT where a pulse rate between two times is perhaps that of a motion: what is made of the pulse may then be made of the motion.
   *  Without the rate at the end: it may not be out yet, and what is given out live must be what is computed again. 300 s back. */
  motionDoubt(fromUs: number, toUs: number): QualityFlag {
    const times = this.#ofMotionUs;
    let i = times.length - 1;
    while (i >= 0 && times[i]! >= toUs) i--;
    return i >= 0 && times[i]! > fromUs ? SUSPECT : GOOD;
  }

  /** Share of a window's seconds whose rate may be that of a motion. */
  #motionShare(fromUs: number, toUs: number): number {
    const times = this.#ofMotionUs;
    let n = 0;
    for (let i = times.length - 1; i >= 0 && times[i]! > fromUs; i--) if (times[i]! <= toUs) n++;
    return (n * secondUs) / (toUs - fromUs);
  }

  /** With the interval before the first beat: the window may begin in the middle of a pair. */
  #isOneBeatOff(from: number, to: number): boolean {
    const { tUs: times, starts } = this.#track;
    let count = 0;
    for (let i = Math.max(1, from); i < to && count < intervals.length; i++)
      intervals[count++] = starts[i] === 1 ? 0 : times[i]! - times[i - 1]!;
    return isOneBeatOff(intervals, count);
  }

  #shortVariability(tUs: number): void {
    const flag = this.#gather(tUs, group(this.#names.rmssd60));
    if (flag === null) return;
    const x = timeOfGathered();
    if (!Number.isNaN(x.rmssdMs)) this.#sink.value(this.#names.rmssd60, -1, tUs, x.rmssdMs, worse(flag, this.#doubts().pairs));
  }

  #longVariability(tUs: number): void {
    const flag = this.#gather(tUs, group(this.#names.long[0]!));
    if (flag === null) return;
    const x = timeOfGathered();
    const { pairs, spread } = this.#doubts();
    const values = [x.meanNnMs, x.sdnnMs, x.rmssdMs, x.pnn50, x.sd1Ms, x.sd2Ms];
    const doubts = [GOOD, spread, pairs, pairs, pairs, spread] as const;
    for (let i = 0; i < values.length; i++)
      if (!Number.isNaN(values[i]!)) this.#sink.value(this.#names.long[i]!, -1, tUs, values[i]!, worse(flag, doubts[i]!));
  }

  #spectrum(tUs: number): void {
    const { windowSec, coverageMin } = group(this.#names.spectral[0]!);
    const ofWindow = this.#gather(tUs, group(this.#names.spectral[0]!));
    if (ofWindow === null) return;
    const { lfMs2, hfMs2 } = bandPowers(scratch.endSec, scratch.nn.nnMs, scratch.nn.count, coverageMin * windowSec);
    if (Number.isNaN(lfMs2)) return;
    const flag = worse(ofWindow, this.#doubts().power);
    this.#sink.value(this.#names.spectral[0]!, -1, tUs, lfMs2, flag);
    this.#sink.value(this.#names.spectral[1]!, -1, tUs, hfMs2, flag);
    const [, hf, ratio] = this.#names.spectral;
    // Divided by a power that rounds to 0, the ratio would be one of rounding errors.
    if (toSteps(hfMs2, group(hf!).step) > 0) this.#sink.value(ratio!, -1, tUs, lfMs2 / hfMs2, flag);
  }

  #fiveMinutes(tUs: number): void {
    const flag = this.#gather(tUs, group(this.#names.five[0]!));
    if (flag === null) return;
    const doubts = this.#doubts();
    fiveMinuteValues(scratch.nn, scratch.endSec, timeOfGathered()).forEach((value, i) => {
      if (Number.isNaN(value)) return;
      const own = hangsOnExtremes[i]! && isOutreached() ? SUSPECT : doubts[doubtOf[i]!];
      this.#sink.value(this.#names.five[i]!, -1, tUs, value, worse(flag, own));
    });
  }

  #doubts(): Doubts {
    return (gathered.doubts ??= doubt(timeOfGathered(), this.#names.limits, this.#placing));
  }

  /** Intervals with both beats in (t - window, t] into `scratch`.
   *  @returns the window's flag; null when its intervals cover too little */
  #gather(tUs: number, { windowSec, coverageMin }: Method): QualityFlag | null {
    if (gathered.by !== this || gathered.tUs !== tUs || gathered.windowSec !== windowSec) this.#gatherAnew(tUs, windowSec);
    return gathered.coverage < coverageMin || scratch.nn.count < 2 ? null : gathered.flag;
  }

  #gatherAnew(tUs: number, windowSec: number): void {
    const { tUs: times, starts, verdict, flag, confidence, origin, shiftMs } = this.#track;
    const windowUs = windowSec * secondUs;
    const to = this.#track.after(tUs);
    const from = this.#track.after(tUs - windowUs, to);
    makeRoom(to - from);
    const { nn, all, otherMs, endSec, sure } = scratch;
    nn.count = all.count = 0;
    let ectopic = 0;
    let covered = 0;
    let doubtful = 0;
    let bad = 0;
    let accepted = -2;
    let unsureAt = -9;
    let unsure = 0;
    for (let i = from; i < to; i++) {
      const isOne = isEctopicOrigin(origin[i]!);
      const isUnsure = !isOne && confidence[i]! < sureMin;
      if (isUnsure) unsure++;
      if (isUnsure || origin[i] === perhapsEctopic) unsureAt = i;
      if (flag[i] === BAD) bad++;
      else if (this.#track.flagOf(i) === SUSPECT || (!isOne && confidence[i]! < this.#names.doubtPairs)) doubtful++;
      if (i === from || starts[i] === 1) continue;
      const rr = times[i]! - times[i - 1]!;
      covered += rr;
      if ((verdict[i]! & isSurelyEctopic) > 0) {
        ectopic++;
        continue;
      }
      const raw = rr / 1000;
      const apart = shiftMs[i]! - shiftMs[i - 1]!;
      // samples are missing where the upstroke would be; what the correction left out tells of doubt wherever it is
      if (this.#names.waits && verdict[i] === 0 && (shiftMs[i] !== shiftMs[i] || shiftMs[i - 1] !== shiftMs[i - 1])) continue;
      const fitted = Number.isFinite(apart) ? raw + apart : Number.NaN;
      const used = this.#placing.byShape && fitted === fitted ? fitted : raw;
      all.nnMs[all.count] = used;
      all.adjacent[all.count++] = i - 1 > from && starts[i - 1] === 0 && (verdict[i - 1]! & isSurelyEctopic) === 0 ? 1 : 0;
      if (verdict[i] !== 0) continue;
      nn.nnMs[nn.count] = used;
      nn.adjacent[nn.count] = accepted === i - 1 ? 1 : 0;
      otherMs[nn.count] = this.#placing.byShape ? raw : fitted;
      sure[nn.count] = i - unsureAt > 2 ? 1 : 0;
      endSec[nn.count++] = (times[i]! - tUs + windowUs) / secondUs;
      accepted = i;
    }
    scratch.unsureBeats = unsure / (to - from);
    scratch.ectopic = ectopic / (ectopic + all.count);
    const doubtfulShare = Math.max((bad + doubtful) / (to - from), this.#motionShare(tUs - windowUs, tUs));
    gathered.by = this;
    gathered.tUs = tUs;
    gathered.windowSec = windowSec;
    gathered.coverage = covered / windowUs;
    gathered.flag = flagOf(gathered.coverage, 1 - nn.count / all.count, bad / (to - from), doubtfulShare);
    gathered.time = gathered.doubts = null;
  }
}

/** Makes `scratch` hold so many intervals. */
export function makeRoom(count: number): void {
  if (scratch.endSec.length >= count) return;
  scratch.nn = newWindow(2 * count);
  scratch.all = newWindow(2 * count);
  scratch.otherMs = new Float64Array(2 * count);
  scratch.endSec = new Float64Array(2 * count);
  scratch.sure = new Uint8Array(2 * count);
}

/** Is the rate of the pulse beats better than that of the spectrum? A spectrum of 8 s has no single line where the pulse is irregular, and
 *  beats drown in motion: where beats are good they count; where the spectrum is not, also those of good seconds whose intervals are
 *  uneven, and where it is bad those that are suspect.
 *  @param rate flag of the pulse rate  @param worst of its beats  @param spectrum flag of the spectral rate */
function isBetterByBeats(rate: QualityFlag, worst: QualityFlag, spectrum: QualityFlag): boolean {
  if (rate === GOOD) return true;
  return rate < BAD && spectrum > GOOD && (worst === GOOD || spectrum === BAD);
}

export const worse = (a: QualityFlag, b: QualityFlag): QualityFlag => (a > b ? a : b);

/** Flags values that depend on the correction. A value is suspect when the excluded intervals, other than those next to beats
 *  that are surely ectopic, change it by more than 10 %, or when it rests
 *  on beats of doubtful position, or many are doubtful. Measures of differences are also suspect when ectopic beats were left in: heavy
 *  tails (RMSSD over its robust twin), or more than sinus rhythm shows (10 % of the mean, pulse 12 %). Powers are also suspect when more
 *  than 5 % of their time is bridged. On MIT-BIH (labelled normal beats,
 *  not paced ones) these rules raise the share of 60 s RMSSD within 10 %, among those flagged 0, to 99.5 %. */
export function doubt(nn: TimeDomain, limits: DoubtLimits, placing: Placing): Doubts {
  const all = timeDomain(scratch.all);
  const { rmssdMs, sdnnMs } = nn;
  const apart = placesApart();
  const isApart = (ms: number, leastMs: number): boolean => ms > placing.apartMs && ms > leastMs;
  const isUnsure =
    scratch.unsureBeats > limits.unsureBeatsMax || scratch.ectopic > ectopicMax || hangsOnUnsure(rmssdMs) || isJitter(placing.jitterMax);
  const isOdd =
    isUnsure ||
    isApart(apart.pairsMs, placing.apartMax * rmssdMs) ||
    heavyTails(rmssdMs, placing.tailMax) ||
    rmssdMs < placing.rmssdMin ||
    rmssdMs > limits.rmssdShareMax * nn.meanNnMs;
  const isOddSpread =
    scratch.unsureBeats > limits.unsureSpreadMax || isApart(apart.spreadMs, apartSpreadMax * sdnnMs) || isSpreadJitter(sdnnMs);
  const pairs = isOdd || all.rmssdMs > correctionMax * rmssdMs ? SUSPECT : GOOD;
  return {
    pairs,
    spread: isOddSpread || sdnnMs < limits.sdnnMin || all.sdnnMs > correctionMax * sdnnMs ? SUSPECT : GOOD,
    power: bridgedShare() > bridgedMax ? SUSPECT : pairs,
  };
}

/** Flags of what is made of differences of intervals, of their spread, and of their spectrum. */
export type Doubts = Readonly<{ pairs: QualityFlag; spread: QualityFlag; power: QualityFlag }>;

/** How far the two ways to place beats differ, root mean square, ms: in differences of intervals, and in intervals. Hum or noise moves both
 *  places, by a like amount, so that neither value shows it.
 *  @returns NaN where none has the other place */
function placesApart(): { pairsMs: number; spreadMs: number } {
  const { nn, otherMs } = scratch;
  let squares = 0;
  let pairs = 0;
  let sum = 0;
  let spread = 0;
  let count = 0;
  let before = Number.NaN;
  for (let i = 0; i < nn.count; i++) {
    const apart = otherMs[i]! - nn.nnMs[i]!;
    const change = nn.adjacent[i] === 1 ? apart - before : Number.NaN;
    before = apart;
    if (apart !== apart) continue;
    sum += apart;
    spread += apart * apart;
    count++;
    if (change !== change) continue;
    squares += change * change;
    pairs++;
  }
  return {
    pairsMs: Math.sqrt(squares / pairs),
    spreadMs: Math.sqrt(Math.max(0, spread - (sum * sum) / count) / count),
  };
}

/** Share of the time of the window's NN intervals, first to last, that none of them covers. */
function bridgedShare(): number {
  const { nn, endSec } = scratch;
  let ms = 0;
  for (let i = 0; i < nn.count; i++) ms += nn.nnMs[i]!;
  return 1 - ms / (1000 * (endSec[nn.count - 1]! - endSec[0]!) + nn.nnMs[0]!);
}

/** Does RMSSD change by more than `unsureMax` when pairs with a beat below `sureMin` are left out? Its place is as doubtful as the beat. */
function hangsOnUnsure(rmssdMs: number): boolean {
  const { nn, sure } = scratch;
  let squares = 0;
  let pairs = 0;
  for (let i = 1; i < nn.count; i++) {
    if (nn.adjacent[i] === 0 || sure[i] === 0) continue;
    const d = nn.nnMs[i]! - nn.nnMs[i - 1]!;
    squares += d * d;
    pairs++;
  }
  return Math.abs(Math.sqrt(squares / pairs) / rmssdMs - 1) > unsureMax;
}

/** Do excluded intervals reach beyond the longest and the shortest NN interval by more than 10 % of their distance? A value of these two
 *  alone is then one of the correction. */
export function isOutreached(): boolean {
  return rangeMs(scratch.all) > correctionMax * rangeMs(scratch.nn);
}

/** Does RMSSD of the other places, or of the pairs that have one alone, differ by more than this share? Then places vary, not the heart
 *  alone. */
function isJitter(jitterMax: number): boolean {
  const { nn, otherMs } = scratch;
  let squares = 0;
  let own = 0;
  let pairs = 0;
  let whole = 0;
  let count = 0;
  for (let i = 1; i < nn.count; i++) {
    if (nn.adjacent[i] === 0) continue;
    const mine = (nn.nnMs[i]! - nn.nnMs[i - 1]!) ** 2;
    whole += mine;
    count++;
    const d = otherMs[i]! - otherMs[i - 1]!;
    if (Number.isNaN(d)) continue;
    squares += d * d;
    own += mine;
    pairs++;
  }
  if (pairs === 0) return false;
  const isMore = (a: number, b: number): boolean => Math.abs(Math.sqrt(a / b) - 1) > jitterMax;
  return pairs < placedMin * count || isMore(squares, own) || isMore(own / pairs, whole / count);
}

/** Does SDNN of the other places differ by more than 10 %? */
function isSpreadJitter(sdnnMs: number): boolean {
  const { nn, otherMs } = scratch;
  let sum = 0;
  let squares = 0;
  let count = 0;
  for (let i = 0; i < nn.count; i++) {
    const x = otherMs[i]! - nn.nnMs[0]!;
    if (Number.isNaN(x)) continue;
    sum += x;
    squares += x * x;
    count++;
  }
  return count > 1 && Math.abs(Math.sqrt((squares - (sum * sum) / count) / (count - 1)) / sdnnMs - 1) > correctionMax - 1;
}

/** Share of intervals next to ectopic beats above which too few are left. */
export const ectopicMax = 0.4;
export const sureMin = 0.8;
export const unsureMax = 0.1;
export const correctionMax = 1.1;
/** Share of the pairs that must have the other place: RMSSD of few of them says nothing of the rest. */
export const placedMin = 0.5;
/** Share of SDNN above which places that lie so far apart are a reason for doubt. */
export const apartSpreadMax = 0.3;
export const bridgedMax = 0.05;

/** Whether RMSSD exceeds `tailMax` times its robust twin. Counts, since sorting took 10 % of the chain. */
function heavyTails(rmssdMs: number, tailMax: number): boolean {
  const { nnMs, adjacent, count } = scratch.nn;
  const limit = rmssdMs / (tailMax * 1.4826);
  let pairs = 0;
  let below = 0;
  for (let i = 1; i < count; i++) {
    if (adjacent[i] === 0) continue;
    pairs++;
    if (Math.abs(nnMs[i]! - nnMs[i - 1]!) < limit) below++;
  }
  return below > pairs >> 1;
}

/** EC57-like: variability needs 80 % accepted intervals; 0 asks for 95 %. */
export function flagOf(coverage: number, excluded: number, bad: number, doubtful: number): QualityFlag {
  if (excluded > excludedBad || bad > badBeatsMax || doubtful > doubtfulBad) return BAD;
  return excluded > excludedSuspect || bad > 0 || doubtful > doubtfulSuspect || coverage < coveredGood ? SUSPECT : GOOD;
}
