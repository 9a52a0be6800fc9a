/** The decision: is a candidate a beat? One score of what is known of it and of its followers. */
import type { Candidates } from './r-peaks-candidates.ts';
import { SLOT } from './r-peaks-candidates.ts';
import { arenaDoubles } from '../kernels/arena.ts';
import type { FeaturePeaks } from './r-peaks-feature.ts';
import type { LeadFusion } from './r-peaks-fusion.ts';
import type { BeatLevels } from './r-peaks-levels.ts';
import type { BeatShape } from './r-peaks-shape.ts';

export const REFRACTORY_SEC = 0.25; // of two candidates closer than this the lower one is none ...
export const FAST_SEC = 0.2; // unless it looks like a beat: then closer than this
export const FAST_HEIGHT = 0.8; // a share of the level of beats,
export const FAST_ALIKE = 0.9; // and a correlation with the mean beat, above which a wave does
const CLOSE_SHAPE = 0.25; // ... by ln(height) and this per correlation with the mean beat
const CLOSE_BEATS = 4; // beats that make a mean
const NEGLIGIBLE = 0.05; // share of the signal level below which a candidate is noise without further look
// Score = 5 ln(height / threshold) + terms; a beat when > 0. Weights tuned as docs/dsp/ecg.md says.
const GAIN = 5;
export const NOISE_WEIGHT = 1.3; // threshold = floor + SIGNAL_WEIGHT (signal - floor), floor = NOISE_WEIGHT x noise level
export const SIGNAL_WEIGHT = 0.42;
const RAISE = 0.5; // threshold x (1 + RAISE) just after a beat, falling to x 1 ...
const RAISE_UNTIL = 0.55; // ... at this share of the mean RR
export const T_WAVE_SEC = 0.3; // within this time of a beat ...
export const T_WAVE_SLOPE = 0.8; // ... a flatter wave than this share of its slope is a T wave
const PROMINENCE = 0.3; // per ln(height / higher of the two valleys next to it) above 1.5
const LATE = 2; // per mean RR beyond LATE_FROM, up to LATE_TO
export const LATE_FROM = 1.2;
const LATE_TO = 5;
const SHAPE = 0.4; // per correlation with the mean beat above 0.7; SHAPE_NOISY more as noise grows
const SHAPE_NOISY = 1;
const SHAPE_INVERTED = 0.3; // an inverted beat counts as this share of its correlation
const RHYTHM_NOISY = 0.5; // per |ln(RR / mean RR)|, as noise grows
const RIVAL = 0.8; // per ln(height of the highest follower / height) above 0; RIVAL_NOISY more as noise grows
const RIVAL_NOISY = 0.8;
const BLUNT = 0.5; // per ln(mean sharpness / sharpness) above 0: broad (ventricular) beats have less of the threshold's slopes
/** "As noise grows": min(1, 2.5 noise level / signal level). */
export const NOISY_FULL = 2.5;
const T_WAVE = -3; // score of what has a T wave's place and slope
/** First term below this: nothing can make it a beat. */
export const CLEAR_MISS = -3.2;
const ALONE = 1; // per ln(usual weight of all leads / that of the leads which are not silent) above ALONE_FROM, up to ALONE_TO
const ALONE_FROM = 0.7;
const ALONE_TO = 4;
const AGREEMENT = 2; // per ln(2 x strength of the weakest lead / mean strength) below 0, down to ln 0.5

/** Where the numbers of a Judge are in its state. */
const [AT, HEIGHT, WEIGHED, STEEP, EDGE, TOTAL, LIKENESS, NUMBERS] = [0, 1, 2, 3, 4, 5, 6, 7] as const;

/** Judges candidates in order; what is said of the last one can be read until the next. */
export class Judge {
  readonly #state = arenaDoubles(NUMBERS);
  readonly #fd: number;
  readonly #refractory: number;
  readonly #candidates: Candidates;
  readonly #peaks: FeaturePeaks;
  readonly #levels: BeatLevels;
  readonly #shape: BeatShape;
  /** Null: one lead. */
  readonly #fusion: LeadFusion | null;

  /** @param fd rate of the feature, Hz  @param fusion null: one lead */
  constructor(fd: number, candidates: Candidates, peaks: FeaturePeaks, levels: BeatLevels, shape: BeatShape, fusion: LeadFusion | null) {
    this.#fd = fd;
    this.#refractory = Math.round(REFRACTORY_SEC * fd);
    this.#candidates = candidates;
    this.#peaks = peaks;
    this.#levels = levels;
    this.#shape = shape;
    this.#fusion = fusion;
  }

  get at(): number {
    return this.#state[AT]!;
  }

  get height(): number {
    return this.#state[HEIGHT]!;
  }

  /** Its height by its strength in each lead; of one lead the same as `height`. */
  get weighed(): number {
    return this.#state[WEIGHED]!;
  }

  get steep(): number {
    return this.#state[STEEP]!;
  }

  get edge(): number {
    return this.#state[EDGE]!;
  }

  /** Above 0: a beat. */
  get score(): number {
    return this.#state[TOTAL]!;
  }

  /** Correlation with the mean beat, -1..1; 0 where it did not matter. */
  get alike(): number {
    return this.#state[LIKENESS]!;
  }

  /** Rejected, and near enough to a beat to be worth a note. */
  get isDoubtful(): boolean {
    return this.score > CLEAR_MISS && this.score !== T_WAVE;
  }

  /** Takes the oldest candidate from the queue and gives it a score. @returns false: it lies within the refractory time of another */
  next(): boolean {
    const candidates = this.#candidates;
    const slot = candidates.head++ & SLOT;
    const at = candidates.at[slot]!;
    const height = candidates.height[slot]!;
    const { head, tail } = candidates;
    const refractory = this.#refractory;
    if (at - this.#levels.lastAt < refractory && !this.#isBeatOfFastHeart(at, height, at - this.#levels.lastAt)) return false;
    // Followers: a higher one within the refractory time takes its place; the highest later one is its rival.
    let rival = 0;
    let rivalAt = 0;
    for (let i = head; i < tail; i++) {
      const other = candidates.height[i & SLOT]!;
      if (candidates.at[i & SLOT]! - at < refractory) {
        const otherAt = candidates.at[i & SLOT]!;
        if (this.#isOutdone(at, height, otherAt, other) && !this.#isBeatOfFastHeart(at, height, otherAt - at)) return false;
      } else if (other > rival) {
        rival = other;
        rivalAt = candidates.at[i & SLOT]!;
      }
    }
    const state = this.#state;
    state[AT] = at;
    state[HEIGHT] = height;
    state[WEIGHED] = height;
    state[STEEP] = candidates.steep[slot]!;
    state[EDGE] = candidates.edge[slot]!;
    state[LIKENESS] = 0;
    const after = head < tail ? candidates.before[head & SLOT]! : this.#peaks.valley;
    const score = height >= NEGLIGIBLE * this.#levels.signal ? this.#score(candidates.before[slot]!, after, rival, rivalAt) : -9;
    state[TOTAL] = score > 0 && this.#levels.isFollower(at, height, state[STEEP]!) ? T_WAVE : score;
    return true;
  }

  /** Waves sooner after one another than the refractory time are beats of a very fast heart when they are as high as the beats, and look
   *  like them. */
  #isBeatOfFastHeart(at: number, height: number, since: number): boolean {
    return (
      since >= FAST_SEC * this.#fd &&
      this.#shape.beatCount > CLOSE_BEATS &&
      height > FAST_HEIGHT * this.#levels.signal &&
      this.#shape.likeness(at, this.#peaks.k) > FAST_ALIKE
    );
  }

  /** Of two candidates within the refractory time, is the later one the beat? */
  #isOutdone(at: number, height: number, otherAt: number, other: number): boolean {
    const fusion = this.#fusion;
    if (fusion === null) return this.#isOutdoneAlone(at, height, otherAt, other);
    const { signal } = this.#levels;
    const { beatCount } = this.#shape;
    return fusion.agreement(otherAt, other, signal, beatCount) > fusion.agreement(at, height, signal, beatCount);
  }

  /** The same of one lead. */
  #isOutdoneAlone(at: number, height: number, otherAt: number, other: number): boolean {
    const higher = Math.log(other / height);
    // likeness differs by at most 1
    if (Math.abs(higher) >= CLOSE_SHAPE || this.#shape.beatCount <= CLOSE_BEATS) return higher > 0;
    return higher + CLOSE_SHAPE * (this.#likeness(otherAt) - this.#likeness(at)) > 0;
  }

  /** 0..1 */
  #likeness(at: number): number {
    const alike = this.#shape.likeness(at, this.#peaks.k);
    return Math.max(0, alike, -SHAPE_INVERTED * alike);
  }

  /** @param before valley before it  @param after and after it  @param highest height of its highest follower */
  #score(before: number, after: number, highest: number, rivalAt: number): number {
    const { at, height, steep, edge } = this;
    const state = this.#state;
    const { signal, noise, rr, lastAt, slope, sharp } = this.#levels;
    const fusion = this.#fusion;
    const { beatCount } = this.#shape;
    const since = at - lastAt;
    const floor = NOISE_WEIGHT * noise;
    const lateness = since < Number.POSITIVE_INFINITY ? since / rr : 1; // the first beat is neither late nor early
    let threshold = floor + SIGNAL_WEIGHT * (signal - floor);
    if (lateness < RAISE_UNTIL) threshold *= 1 + RAISE * (1 - lateness / RAISE_UNTIL);
    // A rival counts for what it is in all leads, too.
    const rival = fusion !== null && highest > height ? fusion.heightOf(rivalAt, highest, signal, beatCount) : highest;
    const fused = fusion !== null ? fusion.heightOf(at, height, signal, beatCount) : height;
    state[WEIGHED] = fused;
    let score = GAIN * Math.log(fused / threshold);
    if (since < T_WAVE_SEC * this.#fd) {
      const isFlat = fusion === null ? steep < T_WAVE_SLOPE * slope : fusion.steepness(at, steep / slope) < T_WAVE_SLOPE;
      if (isFlat) return T_WAVE;
    }
    if (!(score > CLEAR_MISS || lateness > LATE_FROM)) return score;
    const noisy = Math.min(1, (NOISY_FULL * noise) / signal);
    const valley = Math.max(before, after, 0.018 * height); // ln <= 4
    const alike = this.#shape.likeness(at, this.#peaks.k);
    state[LIKENESS] = alike;
    const likeness = Math.max(0, alike, -SHAPE_INVERTED * alike);
    score += PROMINENCE * (Math.log(height / valley) - 1.5) + (SHAPE + SHAPE_NOISY * noisy) * (likeness - 0.7);
    if (lateness > LATE_FROM) score += LATE * (Math.min(lateness, LATE_TO) - LATE_FROM);
    if (noisy > 0.05) score -= RHYTHM_NOISY * noisy * Math.min(1.5, Math.abs(Math.log(lateness)));
    if (rival > fused) score -= (RIVAL + RIVAL_NOISY * noisy) * Math.min(2, Math.log(rival / fused));
    if (fusion !== null && fusion.meanStrength > 0)
      score += AGREEMENT * Math.log(Math.max(0.5, Math.min(1, (2 * fusion.weakestStrength) / fusion.meanStrength)));
    if (fusion !== null && fusion.present < 1) score -= ALONE * Math.max(0, Math.min(ALONE_TO, -Math.log(fusion.present) - ALONE_FROM));
    if (edge < sharp) score += BLUNT * Math.min(3, Math.log(sharp / edge));
    return score;
  }
}
