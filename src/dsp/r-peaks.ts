/** Streaming R-peak detection: a cheap detection signal, candidates, a scored decision 0.6 s later, refinement on the raw samples. */

import { highPass, lowPass } from './biquad.ts';
import { appendBeat } from './kernel-beats.ts';
import type { BeatDetector, FoundBeats } from './kernel.ts';
import { BLOCK, LeadSignal } from './r-peaks-lead.ts';

// The detection signal. Decimation first: QRS energy lies below 25 Hz, and 360 samples/s of it triple the cost for the same F1.
const FEATURE_RATE = 125; // Hz; the detection signal is made at the rate nearest to this that divides fs
const HIGH_PASS_HZ = 6;
const LOW_PASS_HZ = 21;
const WINDOW_SEC = 0.16; // of the moving sum of |slope|
const DROP = 0.75; // a peak is over when the feature falls below this share of it
const HOLD_SEC = 0.15; // or after this time
const FEATURE_DELAY_SEC = WINDOW_SEC / 2 + 0.03; // peak of the feature after the R wave: half the window and the filters

// Candidates.
const RISING_SHARE = 0.75; // of the level of beats, for a peak that rises where the data end
const REFRACTORY_SEC = 0.25; // of two candidates closer than this the lower one is none
const LOOK_SEC = 0.6; // a candidate is judged when it knows what follows
const NEGLIGIBLE = 0.05; // share of the signal level below which a candidate is noise without further look

// Judgement: score = 5 ln(height / threshold) + terms; a beat when > 0. Weights tuned as src/dsp/README.md says.
const GAIN = 5;
const NOISE_WEIGHT = 1.3; // threshold = floor + SIGNAL_WEIGHT (signal - floor), floor = NOISE_WEIGHT x noise level
const SIGNAL_WEIGHT = 0.42;
const RAISE = 0.5; // threshold x (1 + RAISE) just after a beat, falling to x 1 ...
const RAISE_UNTIL = 0.55; // ... at this share of the mean RR
const T_WAVE_SEC = 0.3; // within this time of a beat ...
const T_WAVE_SLOPE = 0.8; // ... a flatter wave than this share of its slope is a T wave
const PROMINENCE = 0.3; // per ln(height / higher of the two valleys beside it) above 1.5
const LATE = 2; // per mean RR beyond LATE_FROM, up to LATE_TO
const LATE_FROM = 1.2;
const LATE_TO = 5;
const SHAPE = 0.4; // per correlation with the mean beat above 0.7; SHAPE_NOISY more as noise grows
const SHAPE_NOISY = 1;
const SHAPE_INVERTED = 0.3; // an inverted beat counts as this share of its correlation
const RHYTHM_NOISY = 0.5; // per |ln(RR / mean RR)|, as noise grows
const RIVAL = 0.6; // per ln(height of the highest follower / height) above 0; RIVAL_NOISY more as noise grows
const RIVAL_NOISY = 0.8;
const BLUNT = 0.4; // per ln(mean sharpness / sharpness) above 0: broad (ventricular) beats have less of the threshold's slopes
const NOISY_FULL = 2.5; // "as noise grows": min(1, 2.5 noise level / signal level)
const FOLLOWER_SEC = 0.42; // a T wave comes within this time of its beat,
const FOLLOWER_HEIGHT = 0.8; // is lower than this share of it,
const FOLLOWER_STEEP = 0.7; // and flatter than this share
const FOLLOWERS = 3; // so many in a row are let pass
const T_WAVE = -3; // score of what has a T wave's place and slope
const CLEAR_MISS = -3.2; // first term below this: nothing can make it a beat
const SEARCH_BACK_RR = 1.25; // no beat for this many mean RR: the best rejected candidate counts ...
const SEARCH_BACK_SCORE = -2; // ... when its score is above this
const SEARCH_BACK_MIN_SEC = 0.33;

// Several leads.
const CLEAR_POWER = 3; // a lead's weight: (level of its beats / its mean) to this power
const FIRST_LEAD = 1.2; // preference for the first lead in that
const SILENT = 0.2; // a lead whose last 0.3 s are below this share of its mean is left out (lead off, amplifier blocked)
const AGREEMENT = 2; // per ln(2 x strength of the weakest lead / mean strength) below 0, down to ln 0.5
const LEAST_SHARE = 1e-3; // of the height in the sum of the leads, where no lead has anything
const STRENGTH_MAX = 1.2; // a wave counts at most this many times the level of a lead's beats: an artefact of one lead stays that lead's

// Levels: exponential means over this many beats (or rejected candidates).
const SIGNAL_BEATS = 3;
const NOISE_CANDIDATES = 5;
const RR_BEATS = 16;
const CAP = 1.6; // one beat counts at most this many times the level
const LOUD = 5; // two beats above this many times the level: the level was wrong, take theirs
const TEMPLATE_HALF_SEC = 0.065;
const TEMPLATE_GAIN = 0.2;

const LEARN_SEC = 1.58; // candidates are held back this long at the start
const FIRST_SHARE = 0.5;
const RR_DEFAULT_SEC = 0.8;
const SILENCE_SEC = 5; // no beat for this long: learn anew, but not below QUIETEST of the old level
const QUIETEST = 0.04;
const SHORT_GAP_SEC = 0.05; // the filters wait
const FORGET_GAP_SEC = 10; // levels are learned anew after a longer gap
const LATENCY_SEC = 2;
const TOO_OLD_SEC = 1.8;
const BAND_DELAY_SEC = 0.02; // of the band-passed summit after the R wave
const REACH_SEC = 0.085; // farthest refined position from where the feature has it ...
const REACH_NOISY_SEC = 0.03; // ... and in full noise
const SUMMIT_SEC = 0.05;
const REFINE_SEC = 0.05;
const SAME_SIGN = 1.2; // preference for the sign that the R waves had so far
const QUEUE = 64; // candidates; a power of two
// Why #scan stopped.
const NOTHING = 0;
const MISSING = 1;
const DUE = 2;

/** What the detector thought of its candidates: beats, and the rejected ones that were not far from being one. */
export type CandidateNotes = {
  count: number;
  /** Samples since reset, ascending but for beats found by searching back. */
  readonly position: Float64Array;
  /** Above 0: taken at once. */
  readonly score: Float32Array;
  /** exp -|score|. */
  readonly doubt: Float64Array;
  /** Correlation with the mean beat, -1..1. */
  readonly alike: Float32Array;
  /** Noise level over signal level. */
  readonly noise: Float32Array;
  readonly isBeat: Uint8Array;
};

/** What one lead looks like to the detector while it is pushed. */
export type LeadListener = {
  /** @param lead its number  @param signal its decimated samples: `inputs` [0, count), sums of `decimation` samples, NaN: missing; and its
   *  band-passed ring, in which they are feature samples [k, k + count) */
  leadPushed(lead: number, signal: LeadSignal, k: number, count: number): void;
};

/** Finds R peaks in one ECG lead, or in several leads of one rate fused into one feature.
 *
 *  After Hamilton & Tompkins 1986 (doi:10.1109/TBME.1986.325695), with these differences:
 *  - the band-pass (6-21 Hz), slope and moving sum (160 ms) run on a box-car decimated signal near 125 Hz;
 *  - the rules are terms of one score (height, prominence between the valleys, lateness, shape, rhythm, rivals), most of them weighted
 *    by how noisy the signal is, so that clean signals are judged by height alone;
 *  - every candidate is judged 0.6 s after its peak, with its followers known; search-back takes rejected ones by score, at most 1.8 s old;
 *  - the threshold is raised after a beat, and falls with the time since the last one.
 *  Several leads: their slopes are summed with weights (level of its beats to its mean)^3 over that level, leads that fell silent left
 *  out; a wave that one of them lacks scores less, and none counts more than 1.2 times its beats. Positions are those of the first
 *  lead, or of the clearest where the first has no such wave.
 *
 *  Latency: beats are told 0.75 s after the R wave; those found by searching back within 2 s. A pure function of the samples since
 *  reset: everything that it knows about the past is learned within some 16 beats.
 *  Missing samples (NaN, infinite, beyond 1e30): up to 50 ms the filters wait, beyond that the run of beats ends. */
export class RPeakDetector implements BeatDetector {
  readonly latencySec = LATENCY_SEC;
  readonly #fs: number;
  readonly #leadCount: number;
  readonly decimation: number;
  /** Rate of the feature, Hz. */
  readonly featureRate: number;
  readonly #fd: number;
  readonly #hold: number;
  readonly #refractory: number;
  readonly #look: number;
  readonly #learn: number;
  readonly #shortGap: number;
  readonly #forgetGap: number;
  readonly #silence: number;
  readonly #tooOld: number;
  readonly #near: number;
  readonly #back: number;

  // per lead
  readonly #leads: LeadSignal[] = [];
  /** |slope|, rings; several leads only. */
  readonly #slopeRing: Float32Array[] = [];
  readonly #ringMask: number;
  /** Weight in the feature, level of its beats, mean |slope|. */
  readonly #leadGain: Float64Array;
  readonly #leadLevel: Float64Array;
  readonly #leadMean: Float64Array;
  readonly #leadNow: Float64Array;
  /** Of the candidate under judgement, see #weighStrengths. */
  #meanStrength = 0;
  #weakestStrength = 1;
  #n = 0;

  // the feature and its present peak
  readonly #window: Float64Array;
  #windowAt = 0;
  #sum = 0;
  #k = 0;
  #gapRun = 0;
  #previousSlope = 0;
  #peak = 0;
  #peakAt = 0;
  #peakSlope = 0;
  #peakSharp = 0;
  #peakValley = 0;
  #slope = 0;
  #sharp = 0;
  #valley = 0;
  #falling = true;
  #event = NOTHING;
  /** Feature sample before which nothing falls due but a new peak. */
  #wakeAt = 0;

  // candidates waiting for judgement: [head, tail)
  readonly #at = new Float64Array(QUEUE);
  readonly #height = new Float64Array(QUEUE);
  readonly #steep = new Float64Array(QUEUE);
  readonly #edge = new Float64Array(QUEUE);
  readonly #before = new Float64Array(QUEUE);
  #head = 0;
  #tail = 0;

  // candidates rejected since the last beat
  readonly #lostAt = new Float64Array(QUEUE);
  readonly #lostHeight = new Float64Array(QUEUE);
  readonly #lostSlope = new Float64Array(QUEUE);
  readonly #lostSharp = new Float64Array(QUEUE);
  readonly #lostScore = new Float64Array(QUEUE);
  #lostCount = 0;

  // what was learned
  #learning = true;
  #learnFrom = 0;
  #signal = 0;
  #noise = 0;
  #quietest = 0;
  #slopeLevel = 0;
  #sharpLevel = 0;
  #rr = 0;
  #loudCount = 0;
  #lastHeight = 0;
  #lastSteep = 0;
  /** Beats in a row that were followed by what looks like their T wave. */
  #followers = 0;
  #followed = false;
  #lastAt = Number.NEGATIVE_INFINITY;
  #lastPosition = Number.NEGATIVE_INFINITY;
  #polarity = 0;
  readonly #template: Float64Array;
  readonly #shape: Float64Array;
  #templateCount = 0;
  /** Filled where somebody drains it; what comes when it is full is left out. */
  notes: CandidateNotes | null = null;
  listener: LeadListener | null = null;

  /** @param fs sampling rate in Hz, 50..4000, need not be an integer; tested for 100..1000
   *  @param leadCount leads that every push carries
   *  @throws RangeError outside these */
  constructor(fs: number, leadCount = 1) {
    if (!(fs >= 50 && fs <= 4000)) throw new RangeError(`fs ${fs} Hz`);
    if (!(leadCount >= 1 && leadCount <= 16)) throw new RangeError(`${leadCount} leads`);
    this.#fs = fs;
    this.#leadCount = leadCount;
    this.decimation = Math.max(1, Math.round(fs / FEATURE_RATE));
    const fd = fs / this.decimation;
    this.#fd = fd;
    this.featureRate = fd;
    this.#hold = Math.round(HOLD_SEC * fd);
    this.#refractory = Math.round(REFRACTORY_SEC * fd);
    this.#look = Math.round(LOOK_SEC * fd);
    this.#learn = Math.round(LEARN_SEC * fd);
    this.#shortGap = Math.round(SHORT_GAP_SEC * fd);
    this.#forgetGap = Math.round(FORGET_GAP_SEC * fd);
    this.#silence = Math.round(SILENCE_SEC * fd);
    this.#tooOld = Math.round(TOO_OLD_SEC * fd);
    this.#back = Math.round((FEATURE_DELAY_SEC - BAND_DELAY_SEC) * fd);
    this.#near = Math.round(SUMMIT_SEC * fd);
    const window = Math.round(WINDOW_SEC * fd);
    const templateHalf = Math.round(TEMPLATE_HALF_SEC * fd);
    // Rings reach back to the oldest candidate that may still become a beat, and are written up to one block ahead.
    const ringLength = powerOfTwo(this.#tooOld + window + templateHalf + 4 + BLOCK);
    this.#ringMask = ringLength - 1;
    const rawLength = powerOfTwo((TOO_OLD_SEC + FEATURE_DELAY_SEC + 2 * REFINE_SEC) * fs + (BLOCK + 2) * this.decimation);
    const layout = {
      decimation: this.decimation,
      highPass: highPass(HIGH_PASS_HZ, fd),
      lowPass: lowPass(LOW_PASS_HZ, fd),
      shortGap: this.#shortGap,
      rawLength,
      ringLength,
    };
    for (let lead = 0; lead < leadCount; lead++) {
      this.#leads.push(new LeadSignal(layout, lead));
      this.#slopeRing.push(new Float32Array(leadCount === 1 ? 0 : ringLength));
    }
    this.#leadGain = new Float64Array(leadCount);
    this.#leadLevel = new Float64Array(leadCount);
    this.#leadMean = new Float64Array(leadCount);
    this.#leadNow = new Float64Array(leadCount);
    this.#window = new Float64Array(window);
    this.#template = new Float64Array(2 * templateHalf + 1);
    this.#shape = new Float64Array(2 * templateHalf + 1);
    this.reset();
  }

  reset(): void {
    for (const lead of this.#leads) lead.reset();
    for (const ring of this.#slopeRing) ring.fill(0);
    this.#n = 0;
    this.#k = 0;
    this.#gapRun = 0;
    this.#lastPosition = Number.NEGATIVE_INFINITY;
    this.#endRun();
    this.#forget(0);
  }

  push(leads: readonly Float64Array[], from: number, to: number, out: FoundBeats): void {
    const decimation = this.decimation;
    let at = from;
    while (at < to) {
      const end = Math.min(to, at + (BLOCK - 1) * decimation);
      let count = 0;
      for (let lead = 0; lead < this.#leadCount; lead++) count = this.#leads[lead]!.push(leads[lead]!, at, end);
      if (this.listener !== null && count > 0)
        for (let lead = 0; lead < this.#leadCount; lead++) this.listener.leadPushed(lead, this.#leads[lead]!, this.#k, count);
      this.#n += end - at;
      if (this.#leadCount === 1) this.#detect(0, count, out);
      // Sample by sample: a beat changes the leads' weights, and the next sample must see that wherever the push was cut.
      else
        for (let i = 0; i < count; i++) {
          this.#fuse(i);
          this.#detect(i, i + 1, out);
        }
      at = end;
    }
  }

  flush(out: FoundBeats): void {
    this.#settle(out);
  }

  /** Weighted sum of the leads' |slopes| into the first lead's; a missing lead is left out, its share goes to the others. */
  #fuse(i: number): void {
    const fused = this.#leads[0]!.slopes;
    const leadCount = this.#leadCount;
    const mean = this.#leadMean;
    const gain = this.#leadGain;
    const learned = this.#signal > 0 && this.#leadLevel[0]! >= 0 && this.#templateCount > 0;
    const now = this.#leadNow;
    const rate = 1 / (4 * this.#fd);
    const quick = 1 / (0.3 * this.#fd);
    let sum = 0;
    let present = 0;
    let all = 0;
    let anyHere = false;
    for (let lead = 0; lead < leadCount; lead++) {
      const slope = this.#leads[lead]!.slopes[i]!;
      const d = slope < 0 ? -slope : slope;
      this.#slopeRing[lead]![this.#k & this.#ringMask] = d === d ? d : 0;
      if (d === d) {
        now[lead] = now[lead]! + (d - now[lead]!) * quick;
        if (!learned || now[lead]! >= SILENT * mean[lead]!)
          mean[lead] = mean[lead]! + (d - mean[lead]!) * Math.max(rate, 1 / (this.#k + 1));
      }
      const share = learned ? gain[lead]! * this.#leadLevel[lead]! : 1;
      all += share;
      if (d === d) anyHere = true;
      if (d !== d || (learned && now[lead]! < SILENT * mean[lead]!)) continue;
      present += share;
      sum += learned ? gain[lead]! * d : mean[lead]! > 0 ? d / mean[lead]! : 0;
    }
    fused[i] = present > 0 ? (sum * all) / present : anyHere ? 0 : Number.NaN;
  }

  #detect(from: number, to: number, out: FoundBeats): void {
    for (let i = from; i < to;) {
      i = this.#scan(i, to);
      if (this.#event === MISSING) this.#missing(out);
      else if (this.#event === DUE) this.#attend(out);
    }
  }

  /** Runs along the feature until a sample is missing, or something may be decided: a peak is over, or #wakeAt is reached.
   *  Its state is in locals meanwhile; with fields this loop is slower by half.
   *  @returns index after the sample that stopped it; why is in #event */
  #scan(from: number, to: number): number {
    const slopes = this.#leads[0]!.slopes;
    const window = this.#window;
    const width = window.length;
    const hold = this.#hold;
    const wakeAt = this.#wakeAt;
    let k = this.#k - 1;
    let windowAt = this.#windowAt;
    let sum = this.#sum;
    let previousSlope = this.#previousSlope;
    let slope = this.#slope;
    let sharp = this.#sharp;
    let valley = this.#valley;
    let peak = this.#peak;
    let peakAt = this.#peakAt;
    let falling = this.#falling;
    let peakSlope = this.#peakSlope;
    let peakSharp = this.#peakSharp;
    let peakValley = this.#peakValley;
    let event = NOTHING;
    let i = from;
    while (i < to && event === NOTHING) {
      const signed = slopes[i++]!;
      k++;
      if (signed !== signed) {
        event = MISSING;
        break;
      }
      const d = signed < 0 ? -signed : signed;
      const bend = signed - previousSlope;
      const edge = bend < 0 ? -bend : bend;
      previousSlope = signed;
      sum += d - window[windowAt]!;
      window[windowAt] = d;
      if (++windowAt === width) windowAt = 0;
      if (d > slope) slope = d;
      if (edge > sharp) sharp = edge;
      if (sum < valley) valley = sum;
      if (sum > peak) {
        if (falling) {
          falling = false;
          peakValley = valley;
        }
        peak = sum;
        peakAt = k;
        peakSlope = slope;
        peakSharp = sharp;
      } else if (sum < DROP * peak || k - peakAt > hold) {
        if (!falling) {
          falling = true;
          this.#enqueue(peakAt, peak, peakSlope, peakSharp, peakValley);
          slope = 0;
          sharp = 0;
          valley = sum;
          event = DUE;
        }
        peak = sum;
        peakAt = k;
      }
      if (k >= wakeAt) event = DUE;
    }
    if (event !== MISSING) this.#gapRun = 0;
    this.#k = k + 1;
    this.#windowAt = windowAt;
    this.#sum = sum;
    this.#previousSlope = previousSlope;
    this.#slope = slope;
    this.#sharp = sharp;
    this.#valley = valley;
    this.#peak = peak;
    this.#peakAt = peakAt;
    this.#falling = falling;
    this.#peakSlope = peakSlope;
    this.#peakSharp = peakSharp;
    this.#peakValley = peakValley;
    this.#event = event;
    return i;
  }

  /** Decides what is due at the sample just read, and when to look again. */
  #attend(out: FoundBeats): void {
    const k = this.#k - 1;
    if (this.#learning && k - this.#learnFrom >= this.#learn) this.#startFromLearned();
    if (!this.#learning) {
      while (this.#head < this.#tail && k - this.#at[this.#head & (QUEUE - 1)]! >= this.#look) this.#judge(out);
      if (this.#lostCount > 0 && k - this.#lastAt > SEARCH_BACK_RR * this.#rr + this.#look) this.#searchBack(out);
      if (k - Math.max(this.#lastAt, this.#learnFrom) > this.#silence) this.#listenAnew(k);
    }
    if (this.#learning) {
      this.#wakeAt = this.#learnFrom + this.#learn;
      return;
    }
    let wakeAt = Math.max(this.#lastAt, this.#learnFrom) + this.#silence + 1;
    if (this.#head < this.#tail) wakeAt = Math.min(wakeAt, this.#at[this.#head & (QUEUE - 1)]! + this.#look);
    if (this.#lostCount > 0) wakeAt = Math.min(wakeAt, Math.max(k + 1, this.#lastAt + SEARCH_BACK_RR * this.#rr + this.#look));
    this.#wakeAt = wakeAt;
  }

  #enqueue(at: number, height: number, slope: number, sharp: number, valley: number): void {
    const slot = this.#tail++ & (QUEUE - 1);
    if (this.#tail - this.#head > QUEUE) this.#head++;
    this.#at[slot] = at;
    this.#height[slot] = height;
    this.#steep[slot] = slope;
    this.#edge[slot] = sharp;
    this.#before[slot] = valley;
  }

  /** The peak under way ends here; one that is still rising must have come near the level of beats already. */
  #endPeak(): void {
    const isRising = this.#peakAt >= this.#k - 1 - this.#gapRun;
    if (this.#falling || (isRising && this.#peak < RISING_SHARE * this.#signal)) return;
    this.#falling = true;
    this.#enqueue(this.#peakAt, this.#peak, this.#peakSlope, this.#peakSharp, this.#peakValley);
    this.#slope = 0;
    this.#sharp = 0;
  }

  /** One feature sample without data. */
  #missing(out: FoundBeats): void {
    this.#gapRun++;
    if (this.#gapRun === this.#shortGap + 1) {
      this.#settle(out);
      this.#endRun();
    }
    if (this.#gapRun === this.#forgetGap) this.#forget(this.#k);
    if (this.#gapRun > this.#shortGap && this.#signal === 0) this.#learnFrom = this.#k;
  }

  /** A gap: nothing before it may be compared with what follows. Levels stay. */
  #endRun(): void {
    this.#window.fill(0);
    this.#windowAt = 0;
    this.#sum = 0;
    this.#previousSlope = 0;
    this.#peak = 0;
    this.#peakAt = this.#k;
    this.#slope = 0;
    this.#sharp = 0;
    this.#valley = 0;
    this.#falling = true;
    this.#head = 0;
    this.#tail = 0;
    this.#lostCount = 0;
    this.#lastAt = Number.NEGATIVE_INFINITY;
    this.#learnFrom = this.#k;
    this.#wakeAt = 0;
  }

  #forget(k: number): void {
    this.#learning = true;
    this.#learnFrom = k;
    this.#wakeAt = 0;
    this.#head = 0;
    this.#tail = 0;
    this.#lostCount = 0;
    this.#signal = 0;
    this.#noise = 0;
    this.#quietest = 0;
    this.#slopeLevel = 0;
    this.#sharpLevel = 0;
    this.#rr = RR_DEFAULT_SEC * this.#fd;
    this.#loudCount = 0;
    this.#lastHeight = 0;
    this.#lastSteep = 0;
    this.#followers = 0;
    this.#followed = false;
    this.#lastAt = Number.NEGATIVE_INFINITY;
    this.#polarity = 0;
    this.#template.fill(0);
    this.#templateCount = 0;
    this.#leadGain.fill(0);
    this.#leadLevel.fill(0);
    this.#leadMean.fill(0);
    this.#leadNow.fill(0);
  }

  /** No beat for SILENCE_SEC: the level may be that of an artefact. */
  #listenAnew(k: number): void {
    this.#quietest = Math.max(this.#quietest, QUIETEST * this.#signal);
    this.#learning = true;
    this.#learnFrom = k;
    this.#lostCount = 0;
    this.#head = this.#tail;
  }

  /** Levels from the candidates held back: the second highest of them, because the highest may be an artefact; but not much below the
   *  highest, because the second may be the T wave of the only beat. */
  #startFromLearned(): void {
    let first = 0;
    let second = 0;
    for (let i = this.#head; i < this.#tail; i++) {
      const height = this.#height[i & (QUEUE - 1)]!;
      if (height > first) {
        second = first;
        first = height;
      } else if (height > second) second = height;
    }
    const level = Math.max(this.#tail - this.#head > 2 ? second : first, FIRST_SHARE * first, this.#quietest);
    this.#learnFrom = this.#k;
    if (level === 0) return;
    let slope = 0;
    let sharp = 0;
    let count = 0;
    for (let i = this.#head; i < this.#tail; i++) {
      if (this.#height[i & (QUEUE - 1)]! < 0.7 * level) continue;
      slope += this.#steep[i & (QUEUE - 1)]!;
      sharp += this.#edge[i & (QUEUE - 1)]!;
      count++;
    }
    this.#learning = false;
    this.#signal = level;
    this.#noise = 0.1 * level;
    this.#slopeLevel = slope / Math.max(1, count);
    this.#sharpLevel = sharp / Math.max(1, count);
  }

  /** Judges all that wait: the data ends or a gap begins. A peak that has not been seen to end is one, too: the last beat. */
  #settle(out: FoundBeats): void {
    this.#endPeak();
    if (this.#learning) this.#startFromLearned();
    if (this.#learning) return;
    while (this.#head < this.#tail) this.#judge(out);
  }

  /** Takes the oldest candidate from the queue and decides what it is. */
  #judge(out: FoundBeats): void {
    const slot = this.#head++ & (QUEUE - 1);
    const at = this.#at[slot]!;
    const height = this.#height[slot]!;
    const since = at - this.#lastAt;
    if (since < this.#refractory) return;
    // Followers: a higher one within the refractory time takes its place; the highest later one is its rival.
    let rival = 0;
    let rivalAt = 0;
    for (let i = this.#head; i < this.#tail; i++) {
      const other = this.#height[i & (QUEUE - 1)]!;
      if (this.#at[i & (QUEUE - 1)]! - at < this.#refractory) {
        if (other > height) return;
      } else if (other > rival) {
        rival = other;
        rivalAt = this.#at[i & (QUEUE - 1)]!;
      }
    }
    const signal = this.#signal;
    const steep = this.#steep[slot]!;
    const edge = this.#edge[slot]!;
    const floor = NOISE_WEIGHT * this.#noise;
    const lateness = since < Number.POSITIVE_INFINITY ? since / this.#rr : 1; // the first beat is neither late nor early
    let threshold = floor + SIGNAL_WEIGHT * (signal - floor);
    if (lateness < RAISE_UNTIL) threshold *= 1 + RAISE * (1 - lateness / RAISE_UNTIL);
    let score = -9;
    let alike = 0;
    if (height >= NEGLIGIBLE * signal) {
      // A rival counts for what it is in all leads, too.
      if (this.#leadCount > 1 && rival > height) rival = this.#fusedHeight(rivalAt, rival);
      const fused = this.#leadCount > 1 ? this.#fusedHeight(at, height) : height;
      score = GAIN * Math.log(fused / threshold);
      if (since < T_WAVE_SEC * this.#fd && steep < T_WAVE_SLOPE * this.#slopeLevel) score = T_WAVE;
      else if (score > CLEAR_MISS || lateness > LATE_FROM) {
        const noisy = Math.min(1, (NOISY_FULL * this.#noise) / signal);
        const after = this.#head < this.#tail ? this.#before[this.#head & (QUEUE - 1)]! : this.#valley;
        const valley = Math.max(this.#before[slot]!, after, 0.018 * height); // ln <= 4
        alike = this.#likeness(at);
        const likeness = Math.max(0, alike, -SHAPE_INVERTED * alike);
        score += PROMINENCE * (Math.log(height / valley) - 1.5) + (SHAPE + SHAPE_NOISY * noisy) * (likeness - 0.7);
        if (lateness > LATE_FROM) score += LATE * (Math.min(lateness, LATE_TO) - LATE_FROM);
        if (noisy > 0.05) score -= RHYTHM_NOISY * noisy * Math.min(1.5, Math.abs(Math.log(lateness)));
        if (rival > fused) score -= (RIVAL + RIVAL_NOISY * noisy) * Math.min(2, Math.log(rival / fused));
        if (this.#meanStrength > 0)
          score += AGREEMENT * Math.log(Math.max(0.5, Math.min(1, (2 * this.#weakestStrength) / this.#meanStrength)));
        if (edge < this.#sharpLevel) score += BLUNT * Math.min(3, Math.log(this.#sharpLevel / edge));
      }
    }
    // T waves that were taken for beats keep the level low enough to be taken again. The pattern gives them away: every beat followed
    // soon by a lower, flatter one.
    if (
      score > 0 &&
      since < FOLLOWER_SEC * this.#fd &&
      height < FOLLOWER_HEIGHT * this.#lastHeight &&
      steep < FOLLOWER_STEEP * this.#lastSteep
    ) {
      this.#followers = Math.min(this.#followers + 1, 2 * FOLLOWERS);
      this.#followed = true;
      if (this.#followers > FOLLOWERS) score = T_WAVE;
    }
    if (score > 0) this.#accept(at, height, steep, edge, score, alike, out);
    else {
      if (score > CLEAR_MISS && score !== T_WAVE) this.#note(this.#middle(at), score, alike, 0);
      this.#noise += (height - this.#noise) / NOISE_CANDIDATES;
      this.#keepLost(at, height, steep, edge, score);
    }
  }

  #keepLost(at: number, height: number, slope: number, sharp: number, score: number): void {
    if (this.#lostCount === QUEUE) this.#dropLost(1);
    const i = this.#lostCount++;
    this.#lostAt[i] = at;
    this.#lostHeight[i] = height;
    this.#lostSlope[i] = slope;
    this.#lostSharp[i] = sharp;
    this.#lostScore[i] = score;
  }

  #dropLost(count: number): void {
    this.#lostAt.copyWithin(0, count);
    this.#lostHeight.copyWithin(0, count);
    this.#lostSlope.copyWithin(0, count);
    this.#lostSharp.copyWithin(0, count);
    this.#lostScore.copyWithin(0, count);
    this.#lostCount -= count;
  }

  #searchBack(out: FoundBeats): void {
    let old = 0;
    while (old < this.#lostCount && this.#k - 1 - this.#lostAt[old]! > this.#tooOld) old++;
    if (old > 0) this.#dropLost(old);
    let best = -1;
    for (let i = 0; i < this.#lostCount; i++) {
      if (this.#lostAt[i]! - this.#lastAt < SEARCH_BACK_MIN_SEC * this.#fd) continue;
      if (best < 0 || this.#lostScore[i]! > this.#lostScore[best]!) best = i;
    }
    if (best < 0 || this.#lostScore[best]! <= SEARCH_BACK_SCORE) return;
    const at = this.#lostAt[best]!;
    const later = this.#lostCount - best - 1;
    const height = this.#lostHeight[best]!;
    const slope = this.#lostSlope[best]!;
    const sharp = this.#lostSharp[best]!;
    const score = this.#lostScore[best]!;
    const alike = this.#likeness(at);
    this.#dropLost(best + 1);
    this.#accept(at, height, slope, sharp, score, alike, out);
    this.#lostCount = later;
  }

  /** Takes a candidate as a beat and learns from it; #shape holds its shape. */
  #accept(at: number, height: number, slope: number, sharp: number, score: number, alike: number, out: FoundBeats): void {
    const rr = at - this.#lastAt;
    if (rr < 2.2 * this.#rr) this.#rr += (Math.min(2 * this.#rr, Math.max(0.5 * this.#rr, rr)) - this.#rr) / RR_BEATS;
    this.#loudCount = height > LOUD * this.#signal ? this.#loudCount + 1 : 0;
    if (this.#loudCount === 2) {
      this.#signal = height;
      this.#slopeLevel = slope;
      this.#sharpLevel = sharp;
    } else {
      this.#signal += (Math.min(height, CAP * this.#signal) - this.#signal) / SIGNAL_BEATS;
      this.#slopeLevel += (Math.min(slope, CAP * this.#slopeLevel) - this.#slopeLevel) / SIGNAL_BEATS;
      this.#sharpLevel += (Math.min(sharp, CAP * this.#sharpLevel) - this.#sharpLevel) / SIGNAL_BEATS;
    }
    if (!this.#followed && this.#followers > 0) this.#followers--;
    this.#followed = false;
    this.#lastAt = at;
    this.#lastHeight = height;
    this.#lastSteep = slope;
    this.#lostCount = 0;
    this.#quietest = 0;
    const learn = this.#templateCount < 4 ? 1 / (this.#templateCount + 1) : TEMPLATE_GAIN;
    this.#templateCount++;
    const template = this.#template;
    const shape = this.#shape;
    for (let i = 0; i < template.length; i++) template[i] = template[i]! + learn * (shape[i]! - template[i]!);
    if (this.#leadCount > 1) this.#weighLeads(at);

    const position = this.#refine(at);
    if (position <= this.#lastPosition) return;
    this.#lastPosition = position;
    const sure = score > 0 ? 0.5 + (0.5 * score) / (2 + score) : Math.max(0.1, 0.5 + 0.15 * score);
    this.#note(position, score, alike, 1);
    appendBeat(out, position, 0.7 * sure + 0.3 * Math.max(0, alike));
  }

  #note(position: number, score: number, alike: number, isBeat: number): void {
    const { notes } = this;
    if (notes === null || notes.count === notes.score.length) return;
    const i = notes.count++;
    notes.position[i] = position;
    notes.score[i] = score;
    notes.doubt[i] = Math.exp(-Math.abs(notes.score[i]!));
    notes.alike[i] = alike;
    notes.noise[i] = this.#noise / this.#signal;
    notes.isBeat[i] = isBeat;
  }

  /** Where the feature has a candidate, samples since reset. */
  #middle(at: number): number {
    return Math.round((at + 0.5 - FEATURE_DELAY_SEC * this.#fd) * this.decimation);
  }

  /** Correlation of the band-passed wave at a candidate with the mean of the beats, -1..1; leaves the wave (unit energy) in #shape. */
  #likeness(at: number): number {
    const { band } = this.#leads[0]!;
    const mask = this.#ringMask;
    const template = this.#template;
    const shape = this.#shape;
    const length = template.length;
    const half = length >> 1;
    const centre = this.#summit(0, at - (this.#window.length >> 1), (this.#window.length >> 1) + 2);
    let energy = 0;
    let dot = 0;
    let norm = 0;
    for (let i = 0; i < length; i++) {
      const v = band[(centre - half + i) & mask]!;
      const t = template[i]!;
      shape[i] = v;
      energy += v * v;
      dot += v * t;
      norm += t * t;
    }
    if (energy === 0) return 0;
    const scale = 1 / Math.sqrt(energy);
    for (let i = 0; i < length; i++) shape[i] = shape[i]! * scale;
    return norm === 0 ? 0 : (dot * scale) / Math.sqrt(norm);
  }

  /** Where |band-passed| is highest within `reach` of `middle`, feature samples. */
  #summit(lead: number, middle: number, reach: number): number {
    const { band } = this.#leads[lead]!;
    const mask = this.#ringMask;
    const to = Math.min(middle + reach, this.#k - 1 - (this.#template.length >> 1));
    let best = middle - reach;
    let high = -1;
    for (let i = best; i <= to; i++) {
      const v = band[i & mask]!;
      const a = v < 0 ? -v : v;
      if (a > high) {
        high = a;
        best = i;
      }
    }
    return best;
  }

  /** Level of each lead at this beat, and from it the weights: (level / mean of the lead)^3, so that a noisy lead counts little. */
  #weighLeads(at: number): void {
    const width = this.#window.length;
    const mask = this.#ringMask;
    let total = 0;
    for (let lead = 0; lead < this.#leadCount; lead++) {
      const ring = this.#slopeRing[lead]!;
      let sum = 0;
      for (let i = 0; i < width; i++) sum += ring[(at - i) & mask]!;
      const level = this.#leadLevel[lead]!;
      // The first beats count in full: the very first may be none.
      this.#leadLevel[lead] =
        this.#templateCount <= 4
          ? level + (sum - level) / this.#templateCount
          : level + (Math.min(sum, CAP * level) - level) / (2 * SIGNAL_BEATS);
      const clear = ((lead === 0 ? FIRST_LEAD : 1) * this.#leadLevel[lead]!) / (width * this.#leadMean[lead]!);
      total += Number.isFinite(clear) ? clear ** CLEAR_POWER : 0;
    }
    if (total === 0) return;
    for (let lead = 0; lead < this.#leadCount; lead++) {
      const level = this.#leadLevel[lead]!;
      const clear = ((lead === 0 ? FIRST_LEAD : 1) * level) / (width * this.#leadMean[lead]!);
      this.#leadGain[lead] = level > 0 && Number.isFinite(clear) ? (clear ** CLEAR_POWER / total) * (this.#signal / level) : 0;
    }
  }

  /** Position of the R wave in samples since reset: the sample farthest from its surroundings near the band-passed summit, and a
   *  parabola through it and its neighbours. The usual sign of the R waves is preferred, so that RS complexes do not flip. */
  #refine(at: number): number {
    const decimation = this.decimation;
    const delay = BAND_DELAY_SEC * this.#fs;
    let lead = 0;
    for (let other = 1; other < this.#leadCount; other++) {
      if (this.#strength(other, at) > 4 * this.#strength(lead, at)) lead = other;
    }
    const { raw, rawMask: mask } = this.#leads[lead]!;
    const centre = Math.round((this.#summit(lead, at - this.#back, this.#near) + 0.5) * decimation - delay);
    const half = Math.round(REFINE_SEC * this.#fs);
    // Only what was known when the beat was judged, whatever has been pushed since.
    const known = Math.min(this.#n, this.#k * decimation) - 1;
    const middle = this.#middle(at);
    // In noise the extremum of the raw signal is often the noise's; the feature's own place is within 30 ms then.
    const noisy = Math.max(0, Math.min(1, (2 * NOISY_FULL * this.#noise) / this.#signal - 1));
    const reach = Math.round((REACH_SEC + (REACH_NOISY_SEC - REACH_SEC) * noisy) * this.#fs);
    const from = Math.max(0, centre - half, middle - reach);
    const to = Math.min(known, centre + half, middle + reach);
    let base = 0;
    let count = 0;
    for (let i = from; i <= to; i++) {
      const v = raw[i & mask]!;
      if (v === v) {
        base += v;
        count++;
      }
    }
    base /= count;
    const up = this.#polarity > 0 ? SAME_SIGN : 1;
    const down = this.#polarity < 0 ? SAME_SIGN : 1;
    let best = Math.max(0, centre);
    let far = -1;
    let sign = 0;
    for (let i = from; i <= to; i++) {
      const v = raw[i & mask]! - base;
      const away = v > 0 ? up * v : -down * v;
      if (away > far) {
        far = away;
        best = i;
        sign = v > 0 ? 1 : -1;
      }
    }
    if (lead === 0) this.#polarity += 0.2 * (sign - this.#polarity);
    if (best <= from || best >= to) return Math.max(0, middle); // no extremum within reach: where the feature has it
    const left = raw[(best - 1) & mask]!;
    const mid = raw[best & mask]!;
    const right = raw[(best + 1) & mask]!;
    const curve = left - 2 * mid + right;
    const shift = (left - right) / (2 * curve);
    return shift > -1 && shift < 1 ? best + shift : best;
  }

  #fusedHeight(at: number, height: number): number {
    this.#weighStrengths(at);
    return this.#meanStrength > 0 ? Math.max(this.#meanStrength * this.#signal, LEAST_SHARE * height) : height;
  }

  /** How strong a candidate is in the leads that are not silent: mean by their weights, and weakest. Mean 0: not known yet. */
  #weighStrengths(at: number): void {
    let sum = 0;
    let weights = 0;
    let weakest = 1;
    if (this.#templateCount > 0)
      for (let lead = 0; lead < this.#leadCount; lead++) {
        if (this.#leadLevel[lead]! === 0 || this.#leadNow[lead]! < SILENT * this.#leadMean[lead]!) continue;
        const strength = this.#strength(lead, at);
        const weight = this.#leadGain[lead]! * this.#leadLevel[lead]!;
        weights += weight;
        sum += weight * Math.min(strength, STRENGTH_MAX);
        if (strength < weakest) weakest = strength;
      }
    this.#meanStrength = weights > 0 ? Math.max(sum / weights, Number.MIN_VALUE) : 0;
    this.#weakestStrength = weakest;
  }

  /** |slope| sum of one lead at a candidate over that lead's level. */
  #strength(lead: number, at: number): number {
    const ring = this.#slopeRing[lead]!;
    let sum = 0;
    for (let i = 0; i < this.#window.length; i++) sum += ring[(at - i) & this.#ringMask]!;
    const level = this.#leadLevel[lead]!;
    return level > 0 ? sum / level : 0;
  }
}

function powerOfTwo(atLeast: number): number {
  return 2 ** Math.ceil(Math.log2(atLeast));
}
