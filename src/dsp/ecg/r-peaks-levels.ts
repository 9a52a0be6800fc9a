/** Learned levels of beats and noise: exponential means over beats and over rejected candidates. */
import type { Candidates } from './r-peaks-candidates.ts';
import { SLOT } from './r-peaks-candidates.ts';

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

export class BeatLevels {
  /** Of the feature: at beats, at rejected candidates. 0: not learned. */
  signal = 0;
  noise = 0;
  /** Steepest |slope| and sharpest bend of beats. */
  slope = 0;
  sharp = 0;
  /** Mean interval, feature samples. */
  rr = 0;
  /** The last beat, feature samples. */
  lastAt = Number.NEGATIVE_INFINITY;
  readonly #fd: number;
  #quietest = 0;
  #loudCount = 0;
  /** Beats since the level was learned. */
  #beats = 0;
  #newLoudCount = 0;
  #lastHeight = 0;
  #lastSteep = 0;
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

  forget(): void {
    this.signal = 0;
    this.noise = 0;
    this.slope = 0;
    this.sharp = 0;
    this.rr = RR_DEFAULT_SEC * this.#fd;
    this.lastAt = Number.NEGATIVE_INFINITY;
    this.#quietest = 0;
    this.#loudCount = 0;
    this.#beats = 0;
    this.#newLoudCount = 0;
    this.#lastHeight = 0;
    this.#lastSteep = 0;
    this.#followers = 0;
    this.#followerAt = Number.NEGATIVE_INFINITY;
    this.#followed = false;
  }

  /** No beat for long: the level may be that of an artefact. */
  distrust(): void {
    this.#quietest = Math.max(this.#quietest, QUIETEST * this.signal);
  }

  get isDistrusted(): boolean {
    return this.#quietest > 0;
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
    if (this.isDistrusted && (level < this.#quietest || level < STANDS_OUT * medianHeight(candidates))) {
      this.#quietest *= QUIETER;
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
    this.signal = level;
    this.noise = 0.1 * level;
    this.slope = slope / Math.max(1, count);
    this.sharp = sharp / Math.max(1, count);
    return true;
  }

  /** T waves that were taken for beats keep the level low enough to be taken again. The pattern gives them away: every beat followed
   *  soon by a lower, flatter one. To be asked of what would be a beat. @returns true where the pattern is established */
  isFollower(at: number, height: number, steep: number): boolean {
    if (
      !(
        at - this.lastAt < FOLLOWER_SEC * this.#fd &&
        height < FOLLOWER_HEIGHT * this.#lastHeight &&
        steep < FOLLOWER_STEEP * this.#lastSteep
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
    return height > FOLLOWER_HEIGHT * this.#lastHeight;
  }

  reject(height: number): void {
    this.noise += (height - this.noise) / NOISE_CANDIDATES;
  }

  /** @returns whether the level was wrong, and is that of this beat now */
  accept(at: number, height: number, slope: number, sharp: number): boolean {
    const rr = at - this.lastAt;
    if (rr < 2.2 * this.rr) this.rr += (Math.min(2 * this.rr, Math.max(0.5 * this.rr, rr)) - this.rr) / RR_BEATS;
    this.#loudCount = height > LOUD * this.signal ? this.#loudCount + 1 : 0;
    if (++this.#beats <= NEW_BEATS && height > NEW_LOUD * this.signal) this.#newLoudCount++;
    const isWrong = this.#loudCount === 2 || this.#newLoudCount === 2;
    if (isWrong) {
      this.#loudCount = 0;
      this.#newLoudCount = 0;
      this.signal = height;
      this.slope = slope;
      this.sharp = sharp;
    } else {
      this.signal += (Math.min(height, CAP * this.signal) - this.signal) / SIGNAL_BEATS;
      this.slope += (Math.min(slope, CAP * this.slope) - this.slope) / SIGNAL_BEATS;
      this.sharp += (Math.min(sharp, CAP * this.sharp) - this.sharp) / SIGNAL_BEATS;
    }
    if (at !== this.#followerAt) {
      if (!this.#followed && this.#followers > 0) this.#followers--;
      this.#followed = false;
    }
    this.lastAt = at;
    this.#lastHeight = height;
    this.#lastSteep = slope;
    this.#quietest = 0;
    return isWrong;
  }
}
