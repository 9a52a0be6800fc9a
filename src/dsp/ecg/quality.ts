/** Quality of ECG, once a second: how likely is it that the beats of the last 10 s are right, and the heart rate made of them?
 *
 *  The 10 s before a whole second are judged by published measures and by the detector's own doubts:
 *  - agreement of the R peaks with a second, independent detector (bSQI: Li 2008, doi:10.1088/0967-3334/29/1/002);
 *  - correlation of each beat with the mean beat (Orphanidou 2015, doi:10.1109/JBHI.2014.2338351);
 *  - kurtosis of the band-passed signal (kSQI: Clifford 2012, doi:10.1088/0967-3334/33/9/1419);
 *  - fast noise (muscle, mains): power of the sample-to-sample steps over that of the QRS band; baseline: movement from second to second;
 *  - what lies between the beats over their height, and how alike the heights are; steadiness of RR;
 *  - scores of the detector: how nearly a beat was rejected, how nearly something else was taken for one, the noise level it worked with.
 *  Two logistic functions of them, fitted on recordings with added noise (docs/dsp/ecg.md says which, and how they do on the others):
 *  `sqi` = the probability that the F1 of the beats in the 10 s is at least 90 %, and `rate` = that the heart rate is within 5 bpm.
 *  Neither is good where T waves may have been taken for beats, nor while what follows a pause is far lower than the beats before it,
 *  nor where every second beat is another wave, nor where the first two leads show the rhythms of two hearts: a lead that another person
 *  wears, also one whose heart is twice as fast, nor where the first shows other waves than the beats.
 *  Below 188 Hz a beat that is as short as a pulse of a pacemaker, unlike the others, with nothing after it, makes no second good.
 *  Flat for more than 20 % of what there is of the window, or less than 3 s of it: 0. Flat means 0.2 s of one value: lead off, or the
 *  converter at its end.
 *
 *  A pure function of the samples since reset, however they were cut. It listens to an RPeakDetector and shares its decimation, band-pass
 *  and beats; measures of a beat are taken once, sums once a second. */
import { arenaBytes, arenaDoubles, arenaFloats } from '../kernels/arena.ts';
import { BendDetector } from './quality-second.ts';
import { SecondSums, ofSecond } from './quality-sums.ts';
import { mayBeTWaves } from './t-waves.ts';
import { noBeats } from '../kernels/found-beats.ts';
import type { FoundBeats } from '../kernels/contract.ts';
import type { CandidateNotes } from './r-peaks-candidates.ts';
import type { LeadSignal } from './r-peaks-lead.ts';
import { JUMP, PULSE_SEC, REPAIRED_FROM_HZ } from './r-peaks-jumps.ts';
import type { QualityFlag } from '../../signal.ts';
import { BAD, GOOD, SUSPECT } from '../../signal.ts';

export const ecgQualityWindowSec = 10;
export const MATCH_SEC = 0.15;
export const FLAT_MAX = 0.2;
/** Where the waves later than this after a beat, s, and before the next one are higher than this share of the beats in the mean, the heart
 *  may beat twice as often as is counted, or more. Sooner after it a paced beat still goes on. */
export const WAVES_FROM_SEC = 0.2;
export const WAVES_MAX = 0.75;
/** A beat less like the one before it than like the one before that, by more than this, is of every second one: likeness of two waves is
 *  twice their product over the sum of their squares, 1 for the same wave, 0.8 at half its size, -1 for its mirror image. */
export const ALTERNATE_FROM = 1;
/** From this share of the beats on, every second one may be no beat: the T wave of a broad complex, or the other half of an even wave
 *  (hyperkalaemia, a slow rhythm of the ventricles). Bigeminy whose ventricular beats point the other way looks the same. */
export const ALTERNATE_SHARE = 0.75;
/** A line that does not change for so long is what a device puts in place of samples that it lost. */
export const HELD_SEC = 0.8;
const PRESENT_MIN_SEC = 3;
const BEATS_PER_SEC_MIN = 0.3;
const GUARD_SEC = 0.12; // around a beat, left out of what lies between
const NEAR_SEC = 0.06; // of a beat's height
const SUMMIT_WITHIN_SEC = 0.1; // of a beat: where its wave is highest, on whichever of its summits it was placed
const NOISES = 64; // ring of what a second begins with; more than KEPT_FOR_SEC and latency
const BEATS = 80; // held; 13 s at 240 /min is 52
const COMPARED = 160; // of two leads; KEPT_FOR_SEC at 320 /min
/** What both probabilities are at most where T waves may have been taken for beats, or waves of a pause. */
const DOUBTFUL_MOST = 0.9;
/** After so long without a beat the detector learns its levels anew, of P waves or of noise where the heart stands still. */
export const PAUSE_SEC = 4.5;
/** What follows is doubtful while it is lower than this share of the beat before the pause, */
export const PAUSE_LOW = 0.35;
/** for at most so many beats: then the signal has become lower. */
export const PAUSE_LOW_BEATS = 30;

/** Below the rate at which pulses of pacemakers are taken out, one that no QRS complex follows is a beat to the detector. Around its
 *  largest change from one sample to the next, so near to the beat, s, */
const PULSE_NEAR_SEC = 0.03;
/** so long before it and after it, that change is a jump, */
const PULSE_BEFORE_SEC = 0.024;
const PULSE_AFTER_SEC = 0.04;
/** what comes between these, s after it, spans less than this share of it: neither the rest of a QRS complex nor a T wave follows, */
const LONE_FROM_SEC = 0.06;
const LONE_TO_SEC = 0.4;
export const LONE_PULSE_REST = 0.3;
/** and it correlates with the mean beat by less than this: a narrow R wave is as short. */
export const LONE_PULSE_ALIKE = 0.6;

/** Waves of two leads are of one beat when they are no further than this from their usual distance, s: half of a wide QRS complex. One lead
 *  may show another wave of a beat, a paced one late, but at a distance that it keeps. */
export const SAME_BEAT_SEC = 0.08;
/** Two leads show two hearts where they share less than this of the beats of the one that has fewer: by chance two rhythms share
 *  2 * SAME_BEAT_SEC of a mean interval, a fifth at 75 /min and a half at 190, */
export const SHARED_MIN = 0.6;
/** and each shows a rhythm of its own: the waves between its beats are below this share of them, */
export const OWN_NOISE_MAX = 0.25;
/** and has so many beats in the window. */
const OWN_BEATS_MIN = 4;
/** A burst of noise is taken for beats by the second detector, and those after it are missed: what is not shared lies together. Two hearts
 *  go on: so many of their beats are not shared that lie outside of the worst stretch of so long, s. */
export const BURST_SEC = 2.5;
export const BURST_OTHERS_MIN = 0.2;
/** There was no burst where the waves between the beats were below this share of them all the time. */
export const BURST_NOISE_MIN = 0.2;
/** A lead has so many times the beats of the other where it counts T or P waves, too, where the other lacks the ventricular beats of a
 *  bigeminy, or where its heart is another, twice as fast, of which every second beat is near one of the slower heart for a while. */
export const TWICE_AS_MANY = 5 / 3;
/** Leads of one heart keep their distance over so long, s, */
export const KEPT_FOR_SEC = 30;
/** by no more than this, s, more than a sample of the second detector, while two hearts come apart; */
export const KEPT_SEC = 0.012;
/** of this share of the beats, of so many or more. */
export const KEPT_MIN = 0.7;
const KEPT_BEATS_MIN = 6;
/** The second detector has learned the size of its beats by then. */
const LEARNED_SEC = 2;

/** Two leads of which the one has `times` the beats of the other, and that has `beatsMin`, share at least so many of its beats. */
type Sharing = Readonly<{ beatsMin: number; times: number; withinSec: number; least: number }>;
const anyRhythm: Sharing = { beatsMin: OWN_BEATS_MIN, times: 1, withinSec: SAME_BEAT_SEC, least: SHARED_MIN };
const twiceAsFast: Sharing = { beatsMin: KEPT_BEATS_MIN, times: TWICE_AS_MANY, withinSec: KEPT_SEC, least: KEPT_MIN };
/** Beats of the lead that has fewer, those not shared, and the most of these that lie together. */
const compared = { beats: 0, notShared: 0, together: 0 };

/** Where a lead shows a rhythm of its own, and less than this share of the beats is near its waves, others were taken for beats: P waves,
 *  large in a second lead next to the atria, or those of another heart. */
export const FOLLOWED_MIN = 1 / 3;
/** A beat lies no more than so long before the wave of a lead, less than a P wave before its QRS complex, */
export const BEFORE_WAVE_SEC = 0.12;
/** and no more than so long after it: the end of the widest QRS complexes. */
export const AFTER_WAVE_SEC = 0.2;

/** `sqi` at or above: good; below the other: bad. The same for `rate`. */
export const ecgSqiGood = 0.97;
export const ecgSqiBad = 0.5;
export const ecgRateGood = 0.985;
export const ecgRateBad = 0.5;

export const ecgQualityFeatures = [
  'agreement',
  'disagreement',
  'kurtosis',
  'fastNoise',
  'baseline',
  'rest',
  'restHigh',
  'heightSpread',
  'rrSpread',
  'rrOdd',
  'rrLongest',
  'rrShortest',
  'doubt',
  'scoreLow',
  'rejectedHigh',
  'noise',
  'template',
  'templateLow',
] as const;
const FEATURES = ecgQualityFeatures.length;

/** Logistic weights, the constant first, then in the order of ecgQualityFeatures; as `npm run accuracy -- --only ecg-quality` fits them. */
const SQI_WEIGHTS: readonly number[] = [
  -5.981, -5.45, -2.453, 2.298, -0.5, -0.69, 2.56, -1.1, -3.981, -1.249, -3.013, -3.259, 3.178, 1.523, 0.081, -0.547, -1.832, 3.019, -0.089,
];
const RATE_WEIGHTS: readonly number[] = [
  0.257, -4.44, -1.141, 1.842, -0.952, -0.708, 1.986, -0.551, 0.86, 1.668, -1.249, -4.204, 5.108, 0.572, 0.431, -0.569, -0.4, -0.904, 0.82,
];

export function ecgFlag(sqi: number): QualityFlag {
  return sqi >= ecgSqiGood ? GOOD : sqi < ecgSqiBad ? BAD : SUSPECT;
}

export function ecgRateFlag(rate: number): QualityFlag {
  return rate >= ecgRateGood ? GOOD : rate < ecgRateBad ? BAD : SUSPECT;
}

// Shared by every instance of the thread: nothing of them outlives a call.
const sorted = new Float64Array(COMPARED);
/** From beats to the nearest of the other lead, in order of time. */
const apart = new Float64Array(COMPARED);

/** Judges one lead. @see EcgKernel, which feeds it */
export class EcgQuality {
  /** What the last judgement was made of, in the order of ecgQualityFeatures; for fitting. */
  readonly features = arenaDoubles(FEATURES);
  sqi = 0;
  rate = 0;
  /** Is one of the beats of the last judgement a pulse that no QRS complex follows? */
  hasLonePulse = false;
  readonly #fs: number;
  readonly #decimation: number;
  readonly #fd: number;
  readonly #second: BendDetector;
  readonly #other = noBeats(BEATS);
  /** By beat, in step with the beats held by the kernel: height, and the highest between it and the one before. */
  readonly #height = arenaFloats(BEATS);
  readonly #between = arenaFloats(BEATS);
  /** Of `between`, the highest WAVES_FROM_SEC and more after the beat before. */
  readonly #waves = arenaFloats(BEATS);
  /** |ln| of its interval over the one before, at most 1. */
  readonly #uneven = arenaDoubles(BEATS);
  /** By how much its wave is less like the last one than like the one before that. */
  readonly #alternates = arenaFloats(BEATS);
  /** The waves of the last beat, of the one before, and of the one before that. */
  #wave: Float32Array;
  #waveBefore: Float32Array;
  #waveEarlier: Float32Array;
  /** How many beats in a row, up to it, are waves as low as those of a pause. */
  readonly #low = arenaBytes(BEATS);
  /** Is it as short as a pulse, with nothing after it? */
  readonly #lone = arenaBytes(BEATS);
  #measured = 0;
  /** The last beat; and height of the last one that is not low. */
  #lastAt = Number.NaN;
  #lastLow = 0;
  #usualHeight = 0;
  readonly #sums: SecondSums;
  /** What lies between the beats over the beats, by the second detector, where the second begins. */
  readonly #noises = arenaDoubles(NOISES);

  /** @param fs sampling rate in Hz  @param decimation the detector's */
  constructor(fs: number, decimation: number) {
    this.#fs = fs;
    this.#decimation = decimation;
    this.#fd = fs / decimation;
    this.#sums = new SecondSums(this.#fd);
    this.#second = new BendDetector(this.#fd, decimation);
    const wave = (): Float32Array => arenaFloats(2 * Math.round(NEAR_SEC * this.#fd) + 1);
    this.#wave = wave();
    this.#waveBefore = wave();
    this.#waveEarlier = wave();
  }

  reset(): void {
    this.#second.reset();
    this.#other.count = 0;
    this.#measured = 0;
    this.#wave.fill(0);
    this.#waveBefore.fill(0);
    this.#lastAt = Number.NaN;
    this.#lastLow = 0;
    this.#sums.reset();
    this.startSecond(0);
  }

  /** Sums of what is pushed from here on belong to this second since reset. */
  startSecond(sec: number): void {
    this.#noises[sec % NOISES] = this.#second.noise;
    this.#sums.startSecond(sec);
  }

  /** Feature samples [k, k + count), all of one second. */
  push(signal: LeadSignal, k: number, count: number): void {
    this.#second.push(this.#sums.push(signal, k, count, this.#second), count, this.#other);
  }

  /** Heights of the beats that came since the last call. @param beats in samples since reset, of the last seconds
   *  @param k feature samples pushed since reset */
  measure(beats: FoundBeats, signal: LeadSignal, k: number): void {
    const { band, ringMask } = signal;
    const oldest = k - ringMask;
    const near = Math.round(NEAR_SEC * this.#fd);
    const guard = Math.round(GUARD_SEC * this.#fd);
    for (let b = this.#measured; b < beats.count; b++) {
      const centre = Math.round(beats.position[b]! / this.#decimation);
      this.#height[b] = highest(band, ringMask, centre - near, centre + near);
      if (b > 1) {
        const rr = (beats.position[b]! - beats.position[b - 1]!) / this.#fs;
        this.#uneven[b] = Math.min(1, Math.abs(Math.log(rr / ((beats.position[b - 1]! - beats.position[b - 2]!) / this.#fs))));
      }
      const from = b === 0 ? centre : Math.round(beats.position[b - 1]! / this.#decimation);
      const later = Math.max(from + Math.round(WAVES_FROM_SEC * this.#fd), oldest);
      this.#waves[b] = highest(band, ringMask, later, centre - guard);
      const sooner = highest(band, ringMask, Math.max(from + guard, oldest), Math.min(later - 1, centre - guard));
      this.#between[b] = Math.max(this.#waves[b]!, sooner);
      this.#noteWave(b, signal, centre);
      this.#noteLow(b, beats.position[b]!);
      if (this.#fs < REPAIRED_FROM_HZ) this.#lone[b] = this.#isLonePulse(signal, Math.round(beats.position[b]!), k * this.#decimation);
    }
    this.#measured = beats.count;
  }

  /** @param centre feature sample at which the beat is placed */
  #noteWave(b: number, { band, ringMask }: LeadSignal, centre: number): void {
    const reach = Math.round(SUMMIT_WITHIN_SEC * this.#fd);
    let from = centre - reach;
    let high = -1;
    for (let i = from; i <= centre + reach; i++) {
      const a = Math.abs(band[i & ringMask]!);
      if (a <= high) continue;
      high = a;
      from = i;
    }
    from -= Math.round(NEAR_SEC * this.#fd);
    const wave = this.#waveEarlier;
    this.#waveEarlier = this.#waveBefore;
    this.#waveBefore = this.#wave;
    this.#wave = wave;
    for (let i = 0; i < wave.length; i++) wave[i] = band[(from + i) & ringMask]!;
    this.#alternates[b] = likeness(wave, this.#waveEarlier) - likeness(wave, this.#waveBefore);
  }

  #noteLow(b: number, at: number): void {
    const height = this.#height[b]!;
    const follows = this.#lastLow > 0 ? this.#lastLow < PAUSE_LOW_BEATS : at - this.#lastAt >= PAUSE_SEC * this.#fs;
    this.#lastLow = follows && height < PAUSE_LOW * this.#usualHeight ? this.#lastLow + 1 : 0;
    if (this.#lastLow === 0) this.#usualHeight = height;
    this.#low[b] = this.#lastLow;
    this.#lastAt = at;
  }

  /** @param known samples since reset  @returns 1: it is, 0 */
  #isLonePulse({ raw, rawMask: mask }: LeadSignal, at: number, known: number): 0 | 1 {
    const near = Math.round(PULSE_NEAR_SEC * this.#fs);
    const before = Math.round(PULSE_BEFORE_SEC * this.#fs);
    let jump = 0;
    let from = at;
    let i = Math.max(before + 1, at - near);
    let last = raw[(i - 1) & mask]!;
    for (; i <= at + near; i++) {
      const v = raw[i & mask]!;
      const size = v > last ? v - last : last - v;
      last = v;
      if (!(size > jump)) continue;
      jump = size;
      from = i;
    }
    if (from + LONE_TO_SEC * this.#fs > known) return 0;
    const least = jump / JUMP;
    let left = Math.ceil(PULSE_SEC * this.#fs) + 2;
    const to = from + Math.round(PULSE_AFTER_SEC * this.#fs);
    last = raw[(from - before - 1) & mask]!;
    for (i = from - before; i <= to; i++) {
      const v = raw[i & mask]!;
      if ((v > last ? v - last : last - v) > least && --left < 0) return 0;
      last = v;
    }
    let low = Number.POSITIVE_INFINITY;
    let high = Number.NEGATIVE_INFINITY;
    for (i = from + Math.round(LONE_FROM_SEC * this.#fs); i < from + LONE_TO_SEC * this.#fs; i++) {
      const v = raw[i & mask]!;
      if (v < low) low = v;
      if (v > high) high = v;
    }
    return high - low < LONE_PULSE_REST * jump ? 1 : 0;
  }

  /** Drops the first beats. */
  forgetBeats(count: number): void {
    this.#height.copyWithin(0, count, this.#measured);
    this.#between.copyWithin(0, count, this.#measured);
    this.#waves.copyWithin(0, count, this.#measured);
    this.#uneven.copyWithin(0, count, this.#measured);
    this.#alternates.copyWithin(0, count, this.#measured);
    this.#low.copyWithin(0, count, this.#measured);
    this.#lone.copyWithin(0, count, this.#measured);
    this.#measured -= count;
  }

  /** Neither probability of the last judgement is that of something good. */
  doubt(): void {
    this.sqi = Math.min(this.sqi, DOUBTFUL_MOST);
    this.rate = Math.min(this.rate, DOUBTFUL_MOST);
  }

  /** Do this lead and another show the rhythms of two hearts in [fromSec, toSec), by the second detector, which sees one lead? */
  isOfAnotherHeart(other: EcgQuality, fromSec: number, toSec: number): boolean {
    if (this.#second.noise >= OWN_NOISE_MAX || other.#second.noise >= OWN_NOISE_MAX) return false;
    const keptFromSec = Math.max(LEARNED_SEC, toSec - KEPT_FOR_SEC);
    if (
      this.#sharesLess(other, keptFromSec, toSec, twiceAsFast) &&
      Math.max(this.#noisiest(keptFromSec, toSec), other.#noisiest(keptFromSec, toSec)) < OWN_NOISE_MAX
    )
      return true;
    if (!this.#sharesLess(other, fromSec, toSec, anyRhythm)) return false;
    const { beats, notShared, together } = compared;
    if (notShared - together >= BURST_OTHERS_MIN * beats) return true;
    return Math.max(this.#noisiest(fromSec, toSec), other.#noisiest(fromSec, toSec)) < BURST_NOISE_MIN;
  }

  /** Does this lead show a rhythm of its own in [fromSec, toSec), by the second detector, which the beats [0, last) do not follow? */
  showsOtherWaves({ position }: FoundBeats, last: number, fromSec: number, toSec: number): boolean {
    const own = this.#other;
    if (this.#noisiest(fromSec, toSec) >= OWN_NOISE_MAX) return false;
    if (countBetween(own, fromSec * this.#fs, toSec * this.#fs) < OWN_BEATS_MIN) return false;
    let followed = 0;
    let j = 0;
    for (let i = 0; i < last; i++) {
      while (j < own.count && own.position[j]! < position[i]! - AFTER_WAVE_SEC * this.#fs) j++;
      if (j < own.count && own.position[j]! <= position[i]! + BEFORE_WAVE_SEC * this.#fs) followed++;
    }
    return followed < FOLLOWED_MIN * last;
  }

  #sharesLess(other: EcgQuality, fromSec: number, toSec: number, { beatsMin, times, withinSec, least }: Sharing): boolean {
    const [from, to] = [fromSec * this.#fs, toSec * this.#fs];
    const own = countBetween(this.#other, from, to);
    const others = countBetween(other.#other, from, to);
    const fewer = Math.min(own, others);
    if (fewer < beatsMin || Math.max(own, others) < times * fewer) return false;
    const [few, many] = own <= others ? [this.#other, other.#other] : [other.#other, this.#other];
    compare(few, many, from, to, withinSec * this.#fs, BURST_SEC * this.#fs);
    return fewer - compared.notShared < least * fewer;
  }

  /** Most of what lies between the beats in a second, over the beats, by the second detector. */
  #noisiest(fromSec: number, toSec: number): number {
    let most = this.#second.noise;
    for (let s = fromSec + 1; s <= toSec; s++) most = Math.max(most, this.#noises[s % NOISES]!);
    return most;
  }

  /** Judges [fromSec, toSec), in which the beats [first, last) lie, into `sqi` and `rate`. */
  judge(fromSec: number, toSec: number, beats: FoundBeats, first: number, last: number, notes: CandidateNotes): void {
    this.sqi = 0;
    this.rate = 0;
    this.hasLonePulse = false;
    this.features.fill(0);
    const sums = this.#sums.values;
    let present = 0;
    let flat = 0;
    let equal = 0;
    for (let s = fromSec; s < toSec; s++) {
      const row = this.#sums.rowOf(s);
      present += sums[row + ofSecond.present]!;
      flat += sums[row + ofSecond.flat]!;
      equal = Math.max(equal, sums[row + ofSecond.equal]!);
    }
    const presentSec = present / this.#fd;
    const count = last - first;
    dropBefore(this.#other, (toSec - KEPT_FOR_SEC - 1) * this.#fs);
    if (presentSec < PRESENT_MIN_SEC || flat > FLAT_MAX * present || count < 2 || count < BEATS_PER_SEC_MIN * presentSec) return;
    this.#signalFeatures(fromSec, toSec, present);
    this.#beatFeatures(beats, first, last, toSec);
    this.#noteFeatures(notes, fromSec * this.#fs, toSec * this.#fs);
    const agreement = this.#agreement(beats, first, last, fromSec * this.#fs, toSec * this.#fs);
    const f = this.features;
    f[0] = agreement;
    f[1] = Math.log(1.03 - agreement);
    this.sqi = logistic(SQI_WEIGHTS, f);
    this.rate = logistic(RATE_WEIGHTS, f);
    const isHeld = equal >= HELD_SEC * this.#fd;
    this.hasLonePulse = this.#anyLonePulse(beats, first, last, notes);
    const isDoubtful =
      isHeld ||
      this.hasLonePulse ||
      this.#mayBeHalf(first, last) ||
      this.#anyLow(first, last) ||
      this.#mayAlternate(first, last) ||
      mayBeTWaves(beats.position, first, last, this.#fs);
    if (isDoubtful) this.doubt();
  }

  #mayBeHalf(first: number, last: number): boolean {
    let waves = 0;
    let heights = 0;
    for (let b = first + 1; b < last; b++) {
      waves += this.#waves[b]!;
      heights += this.#height[b]!;
    }
    return waves > WAVES_MAX * heights;
  }

  #mayAlternate(first: number, last: number): boolean {
    let count = 0;
    for (let b = first; b < last; b++) if (this.#alternates[b]! > ALTERNATE_FROM) count++;
    return count >= ALTERNATE_SHARE * (last - first);
  }

  #anyLow(first: number, last: number): boolean {
    for (let b = first; b < last; b++) if (this.#low[b]! > 0) return true;
    return false;
  }

  #anyLonePulse({ position }: FoundBeats, first: number, last: number, notes: CandidateNotes): boolean {
    for (let b = first; b < last; b++) {
      if (this.#lone[b] === 0) continue;
      for (let i = 0; i < notes.count; i++) if (notes.position[i] === position[b] && notes.alike[i]! < LONE_PULSE_ALIKE) return true;
    }
    return false;
  }

  #signalFeatures(fromSec: number, toSec: number, present: number): void {
    const f = this.features;
    let squares = 0;
    let fourths = 0;
    let steps = 0;
    let base = 0;
    let before = Number.NaN;
    const sums = this.#sums.values;
    for (let s = fromSec; s < toSec; s++) {
      const row = this.#sums.rowOf(s);
      squares += sums[row + ofSecond.squares]!;
      fourths += sums[row + ofSecond.fourths]!;
      steps += sums[row + ofSecond.steps]!;
      const level = sums[row + ofSecond.level]! / sums[row + ofSecond.present]!;
      const grown = level > before ? level - before : before - level;
      if (grown === grown) base += grown;
      before = level;
    }
    if (!(squares > 0)) return;
    const n = present / 2;
    f[2] = Math.min(3, Math.log((n * fourths) / (squares * squares)));
    f[3] = clamp(Math.log(steps / (2 * squares) + 1e-9), -4, 4);
    f[4] = clamp(Math.log(base / (toSec - fromSec) / Math.sqrt(squares / n) + 1e-9), -4, 4);
  }

  #beatFeatures({ position }: FoundBeats, first: number, last: number, toSec: number): void {
    const f = this.features;
    const count = last - first;
    for (let b = 0; b < count; b++) {
      const height = this.#height[first + b]!;
      let i = b;
      for (; i > 0 && sorted[i - 1]! > height; i--) sorted[i] = sorted[i - 1]!;
      sorted[i] = height;
    }
    const middle = sorted[count >> 1]!;
    let rest = 0;
    let most = 0;
    let spread = 0;
    let uneven = 0;
    let odd = 0;
    let longest = toSec - position[last - 1]! / this.#fs;
    let shortest = 3;
    for (let b = first; b < last; b++) {
      spread += Math.min(1.5, Math.abs(Math.log(this.#height[b]! / middle + 1e-9)));
      if (b === first) continue;
      const share = Math.min(2, this.#between[b]! / middle);
      rest += share;
      if (share > most) most = share;
      const rr = (position[b]! - position[b - 1]!) / this.#fs;
      if (rr < 0.33 || rr > 1.8) odd++;
      if (rr > longest) longest = rr;
      if (rr < shortest) shortest = rr;
      if (b > first + 1) uneven += this.#uneven[b]!;
    }
    const meanRr = (position[last - 1]! - position[first]!) / this.#fs / (count - 1);
    if (middle > 0) {
      f[5] = rest / (count - 1);
      f[6] = most;
      f[7] = spread / count;
    }
    f[8] = count > 2 ? uneven / (count - 2) : 0.5;
    f[9] = odd / (count - 1);
    f[10] = clamp(Math.log(longest / meanRr), 0, 1.5);
    f[11] = clamp(Math.log(shortest / meanRr), -1.2, 0);
  }

  #noteFeatures(notes: CandidateNotes, from: number, to: number): void {
    const f = this.features;
    let doubt = 0;
    let lowest = 5;
    let highestRejected = -3.2;
    let noise = 0;
    let alike = 0;
    let leastAlike = 1;
    let beats = 0;
    for (let i = 0; i < notes.count; i++) {
      const at = notes.position[i]!;
      if (at < from || at >= to) continue;
      const score = notes.score[i]!;
      doubt += notes.doubt[i]!;
      if (notes.isBeat[i] === 0) {
        if (score > highestRejected) highestRejected = score;
        continue;
      }
      if (score < lowest) lowest = score;
      noise += notes.noise[i]!;
      alike += notes.alike[i]!;
      if (notes.alike[i]! < leastAlike) leastAlike = notes.alike[i]!;
      beats++;
    }
    f[12] = Math.log(0.05 + doubt);
    f[13] = Math.max(-2, lowest);
    f[14] = highestRejected;
    f[15] = Math.log(0.03 + noise / Math.max(1, beats));
    f[16] = alike / Math.max(1, beats);
    f[17] = leastAlike;
  }

  /** F1 of the two detectors against each other. */
  #agreement({ position: a }: FoundBeats, first: number, last: number, from: number, to: number): number {
    const { position: b, count } = this.#other;
    const window = MATCH_SEC * this.#fs;
    let j = 0;
    while (j < count && b[j]! < from - window) j++;
    let pairs = 0;
    for (let i = first; i < last; i++) {
      while (j < count && b[j]! < a[i]! - window) j++;
      if (j < count && b[j]! <= a[i]! + window) {
        pairs++;
        j++;
      }
    }
    const others = countBetween(this.#other, from, to);
    return Math.min(1, (2 * pairs) / (last - first + others));
  }
}

function highest(band: Float32Array, mask: number, from: number, to: number): number {
  let high = 0;
  for (let i = from; i <= to; i++) {
    const a = Math.abs(band[i & mask]!);
    if (a > high) high = a;
  }
  return high;
}

/** 1: the same, -1: mirror images of each other; 0 where one of them is flat. */
function likeness(a: Float32Array, b: Float32Array): number {
  let product = 0;
  let squares = 0;
  for (let i = 0; i < a.length; i++) {
    product += a[i]! * b[i]!;
    squares += a[i]! * a[i]! + b[i]! * b[i]!;
  }
  return squares > 0 ? (2 * product) / squares : 0;
}

function logistic(weights: readonly number[], features: Float64Array): number {
  let sum = weights[0]!;
  for (let i = 0; i < features.length; i++) sum += weights[i + 1]! * features[i]!;
  return Number.isFinite(sum) ? 1 / (1 + Math.exp(-sum)) : 0; // absurdly large samples overflow the fourth powers
}

const clamp = (x: number, low: number, high: number): number => Math.max(low, Math.min(high, x));

function countBetween({ position, count }: FoundBeats, from: number, to: number): number {
  let end = count;
  while (end > 0 && position[end - 1]! >= to) end--;
  let first = end;
  while (first > 0 && position[first - 1]! >= from) first--;
  return end - first;
}

/** Compares the beats of `few` in [from, to) with the nearest of the others: shared are those within `window` of the middle distance.
 *  @param burst length of what lies together */
function compare(few: FoundBeats, many: FoundBeats, from: number, to: number, window: number, burst: number): void {
  const a = few.position;
  const b = many.position;
  let first = 0;
  while (first < few.count && a[first]! < from) first++;
  let count = 0;
  let j = 0;
  for (let i = first; i < few.count && a[i]! < to && count < COMPARED; i++) {
    while (j + 1 < many.count && Math.abs(b[j + 1]! - a[i]!) <= Math.abs(b[j]! - a[i]!)) j++;
    const distance = b[j]! - a[i]!;
    apart[count] = distance;
    let at = count++;
    for (; at > 0 && sorted[at - 1]! > distance; at--) sorted[at] = sorted[at - 1]!;
    sorted[at] = distance;
  }
  const usual = sorted[count >> 1]!;
  const isShared = (i: number): boolean => Math.abs(apart[i]! - usual) <= window;
  compared.beats = count;
  compared.notShared = compared.together = 0;
  for (let i = 0; i < count; i++) {
    if (isShared(i)) continue;
    compared.notShared++;
    let together = 0;
    for (let k = i; k >= 0 && a[first + i]! - a[first + k]! <= burst; k--) if (!isShared(k)) together++;
    if (together > compared.together) compared.together = together;
  }
}

function dropBefore(beats: FoundBeats, position: number): void {
  let first = 0;
  while (first < beats.count && beats.position[first]! < position) first++;
  if (first === 0) return;
  beats.position.copyWithin(0, first, beats.count);
  beats.count -= first;
}
