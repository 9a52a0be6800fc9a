/** Streaming R-peak detection: a cheap detection signal, candidates, a scored decision 0.6 s later, refinement on the raw samples. */

import { arenaDoubles } from '../kernels/arena.ts';
import { highPass, lowPass } from '../kernels/biquad.ts';
import { keptByRate } from '../kernels/kept-by-rate.ts';
import { appendBeat } from '../kernels/found-beats.ts';
import type { BeatDetector, FoundBeats } from '../kernels/contract.ts';
import type { CandidateNotes } from './r-peaks-candidates.ts';
import { appendNote, Candidates, Rejected, SLOT } from './r-peaks-candidates.ts';
import { AHEAD } from './r-peaks-jumps.ts';
import { DUE, FEATURE_DELAY_SEC, FeaturePeaks, featureWidth, MISSING } from './r-peaks-feature.ts';
import { LeadFusion } from './r-peaks-fusion.ts';
import { Judge, NOISY_FULL } from './r-peaks-judge.ts';
import type { LeadLayout } from './r-peaks-lead.ts';
import { BLOCK, LeadSignal } from './r-peaks-lead.ts';
import { BeatLevels } from './r-peaks-levels.ts';
import { P_WAVE_REACH_SEC } from './r-peaks-p-waves.ts';
import { HUM_REACH_SEC } from './mains-hum.ts';
import { BeatPlaces } from './r-peaks-places.ts';
import { BeatShape, REFINE_SEC, templateHalf } from './r-peaks-shape.ts';

// The detection signal. Decimation first: QRS energy lies below 25 Hz, and 360 samples/s of it triple the cost for the same F1.
export const FEATURE_RATE = 125; // Hz; the detection signal is made at the rate nearest to this that divides fs
export const HIGH_PASS_HZ = 6;
export const LOW_PASS_HZ = 21;

export const LOOK_SEC = 0.6; // a candidate is judged when it knows what follows
export const SEARCH_BACK_RR = 1.25; // no beat for this many mean RR: the best rejected candidate counts ...
export const SEARCH_BACK_SCORE = -2; // ... when its score is above this
const SEARCH_BACK_MIN_SEC = 0.33;
const TOO_OLD_SEC = 1.8;

/** Waves below this share of the level of beats may be P waves; those above it are beats from which their place is learned. */
const P_WAVE_SHARE = 0.75;
const P_WAVE_LEADS = 0.7; // and are below this in every lead

/** Correlation with the mean beat above which a rejected wave says nothing of the noise. */
export const BEAT_ALIKE = 0.9;

export const LEARN_SEC = 1.58; // candidates are held back this long at the start
const SILENCE_SEC = 5; // no beat for this long: learn anew, but not far below the old level
export const FILTER_GAP_SEC = 0.05; // the filters wait, after longer ones they begin anew
export const SHORT_GAP_SEC = 0.42; // the run of beats goes on
/** A missing beat so near to a gap of the filters lies in it, rather than being a wave lower than this share of the beats next to it. */
export const GAP_NEAR_SEC = 0.3;
export const GAP_SHARE = 0.4;
export const FORGET_GAP_SEC = 10; // levels are learned anew after a longer gap
export const LATENCY_SEC = 2;

/** What one lead looks like to the detector while it is pushed. */
export type LeadListener = {
  /** @param lead its number  @param signal its decimated samples: `inputs` [0, count), sums of `decimation` samples, NaN: missing; and its
   *  band-passed ring, in which they are feature samples [k, k + count) */
  leadPushed(lead: number, signal: LeadSignal, k: number, count: number): void;
  /** A beat follows. @param isOfSecond it is to be seen in the second lead alone */
  beatFound(isOfSecond: boolean): void;
};

/** What follows from the rate alone; times in feature samples. */
type Plan = Readonly<{
  /** Rate of the feature, Hz. */
  fd: number;
  look: number;
  learn: number;
  filterGap: number;
  shortGap: number;
  forgetGap: number;
  silence: number;
  tooOld: number;
  searchApart: number;
  layout: LeadLayout;
}>;

const planOf = keptByRate((fs): Plan => {
  const decimation = Math.max(1, Math.round(fs / FEATURE_RATE));
  const fd = fs / decimation;
  const tooOld = Math.round(TOO_OLD_SEC * fd);
  const filterGap = Math.round(FILTER_GAP_SEC * fd);
  return {
    fd,
    look: Math.round(LOOK_SEC * fd),
    learn: Math.round(LEARN_SEC * fd),
    filterGap,
    shortGap: Math.round(SHORT_GAP_SEC * fd),
    forgetGap: Math.round(FORGET_GAP_SEC * fd),
    silence: Math.round(SILENCE_SEC * fd),
    tooOld,
    searchApart: SEARCH_BACK_MIN_SEC * fd,
    layout: {
      fs,
      decimation,
      highPass: highPass(HIGH_PASS_HZ, fd),
      lowPass: lowPass(LOW_PASS_HZ, fd),
      shortGap: filterGap,
      rawLength: powerOfTwo((TOO_OLD_SEC + FEATURE_DELAY_SEC + REFINE_SEC + HUM_REACH_SEC) * fs + (BLOCK + AHEAD + 2) * decimation),
      // Rings reach back to the oldest candidate that may still become a beat, and are written up to one block ahead.
      ringLength: powerOfTwo(tooOld + Math.ceil(P_WAVE_REACH_SEC * fd) + featureWidth(fd) + templateHalf(fd) + 4 + BLOCK),
    },
  };
});

/** Finds R peaks in one ECG lead, or in several leads of one rate fused into one feature.
 *
 *  After Hamilton & Tompkins 1986 (doi:10.1109/TBME.1986.325695), with these differences:
 *  - the band-pass (6-21 Hz), slope and moving sum (160 ms) run on a box-car decimated signal near 125 Hz;
 *  - the rules are terms of one score (height, prominence between the valleys, lateness, shape, rhythm, rivals), most of them weighted
 *    by how noisy the signal is, so that clean signals are judged by height alone;
 *  - every candidate is judged 0.6 s after its peak, with its followers known; search-back takes rejected ones by score, at most 1.8 s old;
 *  - what looks like the waves that stand before the beats, in shape and size, is a P wave, and no beat however late one is;
 *  - in a long pause a low wave is a beat only if it stands out from the noise, and levels are learned anew only from waves that do;
 *  - the threshold is raised after a beat, and falls with the time since the last one.
 *  Several leads: their slopes are summed with weights (level of its beats to its mean)^3 over that level, leads that fell silent left
 *  out; a wave that one of them lacks scores less, and none counts more than 1.15 times its beats; but one that stands alone in a lead
 *  counts though the others hardly have it; of two close ones the beat is the one that all leads have. Positions are those of the first
 *  lead, or of the clearest where the first is noisy or has no such wave: r-peaks-places.ts.
 *
 *  Latency: beats are told 0.78 s after the R wave; those found by searching back within 2 s. A pure function of the samples since
 *  reset: everything that it knows about the past is learned within some 16 beats.
 *  Missing samples (NaN, infinite, beyond 1e30): up to 50 ms the filters wait, then they begin anew; beyond 0.42 s the run of beats ends.
 *  Pulses and steps are taken out first: r-peaks-jumps.ts. */
export class RPeakDetector implements BeatDetector {
  readonly latencySec = LATENCY_SEC;
  readonly decimation: number;
  /** Rate of the feature, Hz. */
  readonly featureRate: number;
  /** Filled only when the caller drains it. */
  notes: CandidateNotes | null = null;
  listener: LeadListener | null = null;
  readonly #plan: Plan;
  readonly #leads: readonly LeadSignal[];
  /** Null: one lead. */
  readonly #fusion: LeadFusion | null;
  readonly #places: BeatPlaces | null;
  readonly #candidates = new Candidates();
  readonly #rejected = new Rejected();
  readonly #peaks: FeaturePeaks;
  readonly #levels: BeatLevels;
  readonly #shape: BeatShape;
  readonly #judge: Judge;
  #n = 0;
  #learning = true;
  #learnFrom = 0;
  /** Feature sample before which nothing falls due but a new peak. */
  #wakeAt = 0;
  #lastPosition = Number.NEGATIVE_INFINITY;
  /** Missing feature samples [from, to) of the last gap of the filters, and of the one before. */
  readonly #gapFrom = arenaDoubles(2);
  readonly #gapTo = arenaDoubles(2);

  /** @param fs sampling rate in Hz, 50..4000, need not be an integer; tested for 100..1000
   *  @param leadCount leads that every push carries
   *  @throws RangeError outside these */
  constructor(fs: number, leadCount = 1) {
    if (!(fs >= 50 && fs <= 4000)) throw new RangeError(`fs ${fs} Hz`);
    if (!(leadCount >= 1 && leadCount <= 16)) throw new RangeError(`${leadCount} leads`);
    const plan = planOf(fs);
    const { fd, layout } = plan;
    this.#plan = plan;
    this.decimation = layout.decimation;
    this.featureRate = fd;
    this.#leads = Array.from({ length: leadCount }, (_, lead) => new LeadSignal(layout, lead));
    this.#fusion = leadCount === 1 ? null : new LeadFusion(this.#leads, fd, featureWidth(fd), layout.ringLength);
    this.#places = this.#fusion === null ? null : new BeatPlaces(this.#fusion, leadCount, fs);
    this.#peaks = new FeaturePeaks(fd, this.#candidates);
    this.#levels = new BeatLevels(fd);
    this.#shape = new BeatShape(this.#leads, fs, this.decimation);
    this.#judge = new Judge(fd, this.#candidates, this.#peaks, this.#levels, this.#shape, this.#fusion);
    this.reset();
  }

  reset(): void {
    for (const lead of this.#leads) lead.reset();
    this.#fusion?.reset();
    this.#n = 0;
    this.#peaks.reset();
    this.#lastPosition = Number.NEGATIVE_INFINITY;
    this.#gapFrom.fill(Number.NEGATIVE_INFINITY);
    this.#gapTo.fill(Number.NEGATIVE_INFINITY);
    this.#endRun();
    this.#forget();
  }

  push(leads: readonly Float64Array[], from: number, to: number, out: FoundBeats): void {
    const leadCount = this.#leads.length;
    const fusion = this.#fusion;
    let at = from;
    while (at < to) {
      const end = Math.min(to, at + (BLOCK - 1) * this.decimation);
      let count = 0;
      for (let lead = 0; lead < leadCount; lead++) count = this.#leads[lead]!.push(leads[lead]!, at, end);
      if (this.listener !== null && count > 0)
        for (let lead = 0; lead < leadCount; lead++) this.listener.leadPushed(lead, this.#leads[lead]!, this.#peaks.k, count);
      this.#n += end - at;
      if (fusion === null) this.#detect(0, count, out);
      // Sample by sample: a beat changes the leads' weights, and the next sample must see that wherever the push was cut.
      else
        for (let i = 0; i < count; i++) {
          fusion.fuse(i, this.#peaks.k, this.#anyBeat);
          this.#detect(i, i + 1, out);
        }
      at = end;
    }
  }

  /** Since the levels were learned. */
  get #anyBeat(): boolean {
    return this.#levels.signal > 0 && this.#shape.beatCount > 0;
  }

  flush(out: FoundBeats): void {
    this.#settle(out);
  }

  #detect(from: number, to: number, out: FoundBeats): void {
    const { slopes } = this.#leads[0]!;
    const peaks = this.#peaks;
    for (let i = from; i < to;) {
      i = peaks.scan(slopes, i, to, this.#wakeAt);
      if (peaks.event === MISSING) this.#missing(out);
      else if (peaks.event === DUE) this.#attend(out);
    }
  }

  /** Decides what is due at the sample just read, and when to look again. */
  #attend(out: FoundBeats): void {
    const k = this.#peaks.k - 1;
    const candidates = this.#candidates;
    const levels = this.#levels;
    if (this.#learning && k - this.#learnFrom >= this.#plan.learn) this.#startFromLearned();
    if (!this.#learning) {
      while (candidates.head < candidates.tail && k - candidates.at[candidates.head & SLOT]! >= this.#plan.look) this.#judgeNext(out);
      if (this.#rejected.count > 0 && k - levels.lastAt > SEARCH_BACK_RR * levels.rr + this.#plan.look) this.#searchBack(out);
      if (k - Math.max(levels.lastAt, this.#learnFrom) > this.#plan.silence) this.#listenAnew(k);
    }
    if (this.#learning) {
      this.#wakeAt = this.#learnFrom + this.#plan.learn;
      return;
    }
    let wakeAt = Math.max(levels.lastAt, this.#learnFrom) + this.#plan.silence + 1;
    if (candidates.head < candidates.tail) wakeAt = Math.min(wakeAt, candidates.at[candidates.head & SLOT]! + this.#plan.look);
    if (this.#rejected.count > 0) wakeAt = Math.min(wakeAt, Math.max(k + 1, levels.lastAt + SEARCH_BACK_RR * levels.rr + this.#plan.look));
    this.#wakeAt = wakeAt;
  }

  /** One feature sample without data. */
  #missing(out: FoundBeats): void {
    const peaks = this.#peaks;
    peaks.gapRun++;
    if (peaks.gapRun === this.#plan.filterGap + 1) {
      this.#beginGap(peaks.k - peaks.gapRun);
      this.#endWave();
    }
    if (peaks.gapRun > this.#plan.filterGap) this.#gapTo[0] = peaks.k;
    if (peaks.gapRun === this.#plan.shortGap + 1) {
      this.#settle(out);
      this.#endRun();
    }
    if (peaks.gapRun === this.#plan.forgetGap) this.#forget();
    if (peaks.gapRun > this.#plan.shortGap && this.#levels.signal === 0) this.#learnFrom = peaks.k;
  }

  #beginGap(at: number): void {
    this.#gapFrom[1] = this.#gapFrom[0]!;
    this.#gapTo[1] = this.#gapTo[0]!;
    this.#gapFrom[0] = at;
  }

  /** Has a wave been taken for the beat that lies in the gap next to it? */
  #isNextToGap(at: number, height: number): boolean {
    if (height >= GAP_SHARE * this.#levels.signal) return false;
    const place = at - FEATURE_DELAY_SEC * this.featureRate;
    const near = GAP_NEAR_SEC * this.featureRate;
    for (let i = 0; i < 2; i++) if (place > this.#gapFrom[i]! - near && place < this.#gapTo[i]! + near) return true;
    return false;
  }

  /** A short gap: a wave that is over is not made later or higher by what follows; of one that is cut, the rest may. */
  #endWave(): void {
    const before = this.#candidates.tail;
    this.#peaks.endPeak(this.#levels.signal);
    if (this.#candidates.tail > before) this.#peaks.endRun();
  }

  /** A gap: nothing before it may be compared with what follows. Levels stay. */
  #endRun(): void {
    this.#peaks.endRun();
    this.#candidates.clear();
    this.#rejected.count = 0;
    this.#levels.endRun();
    this.#learnFrom = this.#peaks.k;
    this.#wakeAt = 0;
  }

  #forget(): void {
    this.#learning = true;
    this.#learnFrom = this.#peaks.k;
    this.#wakeAt = 0;
    this.#candidates.clear();
    this.#rejected.count = 0;
    this.#levels.forget();
    this.#shape.forget();
    this.#fusion?.forget();
    this.#places?.forget();
  }

  /** No beat for SILENCE_SEC. */
  #listenAnew(k: number): void {
    this.#levels.distrust();
    this.#learning = true;
    // candidates that wait are heard with what follows: one may be the beat that ends the pause
    this.#learnFrom = k - this.#plan.look;
    this.#rejected.count = 0;
  }

  #startFromLearned(): void {
    const candidates = this.#candidates;
    this.#learnFrom = this.#peaks.k;
    if (this.#levels.isDistrusted) this.#ignorePWaves();
    if (this.#fusion !== null && !this.#anyBeat) {
      let from = candidates.head;
      while (from < candidates.tail && this.#isTooOld(candidates.at[from & SLOT]!)) from++;
      this.#fusion.measureAgain(candidates, from);
    }
    if (!this.#levels.learn(candidates)) return;
    this.#learning = false;
    while (candidates.head < candidates.tail && this.#isTooOld(candidates.at[candidates.head & SLOT]!)) candidates.head++;
  }

  /** Do the rings no longer have it? A candidate of an earlier attempt, in which nothing was learned. */
  #isTooOld(at: number): boolean {
    return this.#peaks.k - at > this.#plan.tooOld;
  }

  /** In a pause of the ventricles P waves go on: they are no beats that have become low. */
  #ignorePWaves(): void {
    const { head, tail, at, height } = this.#candidates;
    for (let i = head; i < tail; i++) {
      if (this.#isTooOld(at[i & SLOT]!)) continue;
      this.#shape.likeness(at[i & SLOT]!, this.#peaks.k);
      if (this.#shape.isPWave) height[i & SLOT] = 0;
    }
  }

  /** Judges all that wait: the data ends or a gap begins. A peak that has not been seen to end is one, too: the last beat. */
  #settle(out: FoundBeats): void {
    this.#peaks.endPeak(this.#levels.signal);
    if (this.#learning) this.#startFromLearned();
    if (this.#learning) return;
    while (this.#candidates.head < this.#candidates.tail) this.#judgeNext(out);
  }

  #judgeNext(out: FoundBeats): void {
    const judge = this.#judge;
    if (!judge.next()) return;
    const { at, height, weighed, steep, edge, score, alike } = judge;
    if (score > 0 && this.#isNoBeat(at, weighed)) {
      this.#levels.reject(weighed);
      return;
    }
    if (score > 0) {
      this.#accept(at, height, steep, edge, score, alike, out);
      return;
    }
    if (judge.isDoubtful) this.#note(this.#shape.middle(at), score, alike, 0);
    // what is as the beats are is no noise: a heart of twice the rate would be counted by half
    if (!(alike > BEAT_ALIKE && this.#levels.isAsHigh(weighed))) this.#levels.reject(weighed);
    this.#rejected.keep(at, height, steep, edge, score);
  }

  /** To be asked right after likeness() of the same candidate. */
  #isNoBeat(at: number, height: number): boolean {
    if (this.#levels.isNoiseOfPause(at, height)) return true;
    if (height >= P_WAVE_SHARE * this.#levels.signal || !this.#shape.isPWave) return false;
    return this.#fusion === null || this.#fusion.strongest(at) < P_WAVE_LEADS;
  }

  #searchBack(out: FoundBeats): void {
    const rejected = this.#rejected;
    const { k } = this.#peaks;
    const best = rejected.best(k - 1 - this.#plan.tooOld, this.#levels.lastAt, this.#plan.searchApart);
    if (best < 0 || rejected.score[best]! <= SEARCH_BACK_SCORE) return;
    const at = rejected.at[best]!;
    const height = rejected.height[best]!;
    const steep = rejected.steep[best]!;
    const edge = rejected.edge[best]!;
    const score = rejected.score[best]!;
    const later = rejected.count - best - 1;
    const alike = this.#shape.likeness(at, k);
    if (this.#isNextToGap(at, height) || this.#isNoBeat(at, height) || this.#levels.isFollower(at, height, steep)) {
      rejected.remove(best);
      return;
    }
    rejected.drop(best + 1);
    this.#accept(at, height, steep, edge, score, alike, out);
    rejected.count = later;
  }

  /** Takes the candidate of the last likeness() as a beat and learns from it. */
  #accept(at: number, height: number, steep: number, edge: number, score: number, alike: number, out: FoundBeats): void {
    const { k } = this.#peaks;
    const levels = this.#levels;
    const shape = this.#shape;
    // what stands before a beat is learned from beats that are not in doubt
    if (score > 0 && height >= P_WAVE_SHARE * levels.signal) shape.learnBefore(at - levels.lastAt);
    const isLevelNew = levels.accept(at, height, steep, edge);
    this.#rejected.count = 0;
    shape.learn();
    this.#fusion?.weighLeads(at, levels.signal, isLevelNew ? 1 : shape.beatCount);
    const noisy = Math.max(0, Math.min(1, (2 * NOISY_FULL * levels.noise) / levels.signal - 1));
    // Only what was known when the beat was judged, whatever has been pushed since.
    const position = this.#place(at, alike, noisy, Math.min(this.#n, k * this.decimation));
    if (position <= this.#lastPosition) return;
    this.#lastPosition = position;
    const sure = score > 0 ? 0.5 + (0.5 * score) / (2 + score) : Math.max(0.1, 0.5 + 0.15 * score);
    this.#note(position, score, alike, 1);
    this.listener?.beatFound(this.#places?.isOfSecond === true);
    appendBeat(out, position, 0.7 * sure + 0.3 * Math.max(0, alike));
  }

  /** @param known samples known */
  #place(at: number, alike: number, noisy: number, known: number): number {
    const shape = this.#shape;
    const places = this.#places;
    const { k } = this.#peaks;
    if (places === null) return shape.refine(at, 0, noisy, k, known);
    const lead = places.leadOf(at, alike, shape.beatCount);
    const position = shape.refine(at, lead, noisy, k, known);
    if (lead > 0) return Math.max(0, position - places.lag(lead));
    const other = places.leadToMeasure(alike);
    if (other > 0) places.learn(other, shape.refine(at, other, noisy, k, known) - position);
    return position;
  }

  #note(position: number, score: number, alike: number, isBeat: number): void {
    if (this.notes !== null) appendNote(this.notes, position, score, alike, this.#levels.noise / this.#levels.signal, isBeat);
  }
}

function powerOfTwo(atLeast: number): number {
  return 2 ** Math.ceil(Math.log2(atLeast));
}
