/** Learned levels of beats and noise: exponential means over beats and over rejected candidates. */
import type { Candidates } from './r-peaks-candidates.ts';
import { SLOT } from './r-peaks-candidates.ts';
import { arenaDoubles } from '../kernels/arena.ts';

/** Beats, rejected candidates. */
export const SIGNAL_BEATS = 3;
const NOISE_CANDIDATES = 5;
const RR_BEATS = 16;
/** One beat counts at most this many times the level. */
export const CAP = 1.6;
const LOUD = 5; // two beats in a row above this many times the level: the level was wrong, take theirs
const NEW_BEATS = 16; // while a level has made no more beats than this ...
const NEW_LOUD = 4; // ... two above this many times it, in a row or not: it was learned where a slow heart had no beat
const FIRST_SHARE = 0.5;
const RR_DEFAULT_SEC = 0.8;
const QUIETEST = 0.04; // share of the old level below which no level is learned after a silence,
const QUIETER = 0.5; // and how that share shrinks each time that nothing is learned
const STANDS_OUT = 1.5; // times the median wave, at least, is a level that is learned after a silence
const FOLLOWER_SEC = 0.42; // a T wave comes within this time of its beat,
const FOLLOWER_HEIGHT = 0.8; // is lower than this share of it,
const FOLLOWER_STEEP = 0.7; // and flatter than this share
const FOLLOWERS = 3; // so many in a row are let pass
const PAUSE = 2; // after so many mean intervals without a beat
const PAUSE_HEIGHT = 0.5; // a wave lower than this share of the beats
const PAUSE_NOISE = 1.8; // that does not stand out from the noise by this factor is part of it

const sorted = new Float64Array(SLOT + 1);

/** Of the candidates that may be beats at all. */
function medianHeight({ head, tail, height }: Candidates): number {
  let count = 0;
  for (let i = head; i < tail; i++) if (height[i & SLOT]! > 0) sorted[count++] = height[i & SLOT]!;
  sorted.subarray(0, count).sort();
  return count === 0 ? 0 : sorted[count >> 1]!;
}

/** Where the numbers of BeatLevels are in its state: the public ones, the level below which none is learned after a silence, height and
 *  slope of the last beat. */
const [SIGNAL, NOISE, SLOPE, SHARP, RR, LAST_AT, QUIETEST_LEVEL, LAST_HEIGHT, LAST_STEEP, NUMBERS] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
] as const;

export class BeatLevels {
  readonly #state = arenaDoubles(NUMBERS);
  readonly #fd: number;
  #loudCount = 0;
  /** Beats since the level was learned. */
  #beats = 0;
  #newLoudCount = 0;
  /** Beats in a row that were followed by what looks like their T wave, */
  #followers = 0;
  /** where the last such wave is, */
  #followerAt = Number.NEGATIVE_INFINITY;
  /** and whether the last beat that is none was followed by one. */
  #followed = false;

  /** @param fd rate of the feature, Hz */
  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Of the feature: at beats, at rejected candidates. 0: not learned. */
  get signal(): number {
    return this.#state[SIGNAL]!;
  }

  get noise(): number {
    return this.#state[NOISE]!;
  }

  /** Steepest |slope| and sharpest bend of beats. */
  get slope(): number {
    return this.#state[SLOPE]!;
  }

  get sharp(): number {
    return this.#state[SHARP]!;
  }

  /** Mean interval, feature samples. */
  get rr(): number {
    return this.#state[RR]!;
  }

  /** The last beat, feature samples. */
  get lastAt(): number {
    return this.#state[LAST_AT]!;
  }

  /** A gap: the last beat may not be the one before the next. */
  endRun(): void {
    this.#state[LAST_AT] = Number.NEGATIVE_INFINITY;
  }

  forget(): void {
    this.#state.fill(0);
    this.#state[RR] = RR_DEFAULT_SEC * this.#fd;
    this.endRun();
    this.#loudCount = 0;
    this.#beats = 0;
    this.#newLoudCount = 0;
    this.#followers = 0;
    this.#followerAt = Number.NEGATIVE_INFINITY;
    this.#followed = false;
  }

  /** No beat for long: the level may be that of an artefact. */
  distrust(): void {
    this.#state[QUIETEST_LEVEL] = Math.max(this.#state[QUIETEST_LEVEL]!, QUIETEST * this.signal);
  }

  get isDistrusted(): boolean {
    return this.#state[QUIETEST_LEVEL]! > 0;
  }

  /** Levels from the candidates held back: the second highest of them, because the highest may be an artefact; but not much below the
   *  highest, because the second may be the T wave of the only beat. After a silence the old level is kept where a beat of its size came,
   *  and nothing is learned from waves of one size, which are noise. @returns false where there is nothing to learn from */
  learn(candidates: Candidates): boolean {
    const { head, tail, height, steep, edge } = candidates;
    let first = 0;
    let second = 0;
    for (let i = head; i < tail; i++) {
      const high = height[i & SLOT]!;
      if (high > first) {
        second = first;
        first = high;
      } else if (high > second) second = high;
    }
    // a beat of the old size has ended the pause
    if (this.isDistrusted && first >= FIRST_SHARE * this.signal) return true;
    const level = Math.max(tail - head > 2 ? second : first, FIRST_SHARE * first);
    if (level === 0) return false;
    if (this.isDistrusted && (level < this.#state[QUIETEST_LEVEL]! || level < STANDS_OUT * medianHeight(candidates))) {
      this.#state[QUIETEST_LEVEL]! *= QUIETER;
      return false;
    }
    let slope = 0;
    let sharp = 0;
    let count = 0;
    for (let i = head; i < tail; i++) {
      if (height[i & SLOT]! < 0.7 * level) continue;
      slope += steep[i & SLOT]!;
      sharp += edge[i & SLOT]!;
      count++;
    }
    this.#beats = 0;
    this.#newLoudCount = 0;
    this.#state[SIGNAL] = level;
    this.#state[NOISE] = 0.1 * level;
    this.#state[SLOPE] = slope / Math.max(1, count);
    this.#state[SHARP] = sharp / Math.max(1, count);
    return true;
  }

  /** T waves that were taken for beats keep the level low enough to be taken again. The pattern gives them away: every beat followed
   *  soon by a lower, flatter one. To be asked of what would be a beat. @returns true where the pattern is established */
  isFollower(at: number, height: number, steep: number): boolean {
    if (
      !(
        at - this.lastAt < FOLLOWER_SEC * this.#fd &&
        height < FOLLOWER_HEIGHT * this.#state[LAST_HEIGHT]! &&
        steep < FOLLOWER_STEEP * this.#state[LAST_STEEP]!
      )
    )
      return false;
    this.#followers = Math.min(this.#followers + 1, 2 * FOLLOWERS);
    this.#followerAt = at;
    this.#followed = true;
    return this.#followers > FOLLOWERS;
  }

  /** In a long pause the highest of the noise looks like a beat that has become low. That one would stand out. */
  isNoiseOfPause(at: number, height: number): boolean {
    const since = at - this.lastAt;
    return (
      since > PAUSE * this.rr &&
      since < Number.POSITIVE_INFINITY &&
      height < PAUSE_HEIGHT * this.signal &&
      height < PAUSE_NOISE * this.noise
    );
  }

  /** Is it as high as the last beat? */
  isAsHigh(height: number): boolean {
    return height > FOLLOWER_HEIGHT * this.#state[LAST_HEIGHT]!;
  }

  reject(height: number): void {
    this.#state[NOISE]! += (height - this.noise) / NOISE_CANDIDATES;
  }

  /** @returns whether the level was wrong, and is that of this beat now */
  accept(at: number, height: number, slope: number, sharp: number): boolean {
    const rr = at - this.lastAt;
    if (rr < 2.2 * this.rr) this.#state[RR]! += (Math.min(2 * this.rr, Math.max(0.5 * this.rr, rr)) - this.rr) / RR_BEATS;
    this.#loudCount = height > LOUD * this.signal ? this.#loudCount + 1 : 0;
    if (++this.#beats <= NEW_BEATS && height > NEW_LOUD * this.signal) this.#newLoudCount++;
    const isWrong = this.#loudCount === 2 || this.#newLoudCount === 2;
    if (isWrong) {
      this.#loudCount = 0;
      this.#newLoudCount = 0;
      this.#state[SIGNAL] = height;
      this.#state[SLOPE] = slope;
      this.#state[SHARP] = sharp;
    } else {
      this.#state[SIGNAL]! += (Math.min(height, CAP * this.signal) - this.signal) / SIGNAL_BEATS;
      this.#state[SLOPE]! += (Math.min(slope, CAP * this.slope) - this.slope) / SIGNAL_BEATS;
      this.#state[SHARP]! += (Math.min(sharp, CAP * this.sharp) - this.sharp) / SIGNAL_BEATS;
    }
    if (at !== this.#followerAt) {
      if (!this.#followed && this.#followers > 0) this.#followers--;
      this.#followed = false;
    }
    this.#state[LAST_AT] = at;
    this.#state[LAST_HEIGHT] = height;
    this.#state[LAST_STEEP] = slope;
    this.#state[QUIETEST_LEVEL] = 0;
    return isWrong;
  }
}
