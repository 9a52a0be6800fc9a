/** Activity level and steps from a three-axis accelerometer. */
import { BAD, GOOD, SUSPECT } from '../../signal.ts';
import type { QualityFlag } from '../../signal.ts';
import { highPass, lowPass } from '../kernels/biquad.ts';
import type { Biquad } from '../kernels/biquad.ts';
import { BLOCK_SEC, BlockClock, appendValue } from '../kernels/block-values.ts';
import type { FoundValues } from '../kernels/block-values.ts';

export const COVERAGE_MIN = 0.5;
export const COVERAGE_GOOD = 0.9;
/** Mean magnitude of 8 s, g. The mean acceleration of what does not end at another speed is that of gravity, so the mean magnitude is no
 *  less than 1: less than this is given in another unit, or without gravity, and a value made of it is suspect. */
export const GRAVITY_MIN = 0.8;
/** More than this, and so many times the standard deviation, is another unit, too: at rest it is 1. */
export const GRAVITY_MAX = 1.3;
export const GRAVITY_PER_DEVIATION = 1.2;
/** An axis that reaches the same value, at least so many g, again and again, this share of the samples, is at its rail: what is beyond is
 *  missing. Gravity alone does not reach it, and movements differ. */
export const RAIL_MIN_G = 1.5;
export const RAIL_SHARE = 0.02;
/** An axis that does not move at all while another moves so much, g, is broken. */
export const OTHER_MOVES_G = 0.2;

/** What the samples of a block say against it. */
class Doubts {
  #seen = 0;
  #sum = 0;
  #squares = 0;
  readonly #low = new Float64Array(3);
  readonly #high = new Float64Array(3);
  /** Of each axis: how many samples are as far from 0 as any. */
  readonly #far = new Float64Array(3);
  readonly #farCount = new Float64Array(3);

  note(x: number, y: number, z: number, r: number): void {
    this.#noteAxis(0, x);
    this.#noteAxis(1, y);
    this.#noteAxis(2, z);
    this.#seen++;
    this.#sum += r;
    this.#squares += r * r;
  }

  reset(): void {
    this.#seen = this.#sum = this.#squares = 0;
  }

  #noteAxis(axis: number, g: number): void {
    if (this.#seen === 0 || g < this.#low[axis]!) this.#low[axis] = g;
    if (this.#seen === 0 || g > this.#high[axis]!) this.#high[axis] = g;
    const far = Math.abs(g);
    if (this.#seen > 0 && far === this.#far[axis]!) this.#farCount[axis]!++;
    else if (this.#seen === 0 || far > this.#far[axis]!) {
      this.#far[axis] = far;
      this.#farCount[axis] = 1;
    }
  }

  /** Of the block, which ends here; null: it has no samples. */
  flag(expected: number): QualityFlag | null {
    const seen = this.#seen;
    if (seen === 0) return null;
    const mean = this.#sum / seen;
    const deviation = Math.sqrt(Math.max(0, this.#squares / seen - mean * mean));
    this.reset();
    if (seen < COVERAGE_MIN * expected) return BAD;
    const isGravity = mean >= GRAVITY_MIN && mean <= GRAVITY_MAX + GRAVITY_PER_DEVIATION * deviation;
    return seen < COVERAGE_GOOD * expected || !isGravity || this.#isBroken(seen) ? SUSPECT : GOOD;
  }

  #isBroken(seen: number): boolean {
    let isStill = false;
    let range = 0;
    for (let axis = 0; axis < 3; axis++) {
      if (this.#far[axis]! >= RAIL_MIN_G && this.#farCount[axis]! > RAIL_SHARE * seen) return true;
      if (this.#high[axis] === this.#low[axis]) isStill = true;
      range = Math.max(range, this.#high[axis]! - this.#low[axis]!);
    }
    return isStill && range >= OTHER_MOVES_G;
  }
}

/** `activity`: mean amplitude deviation of the vector magnitude over 8 s, in g.
 *  MAD = mean |r - mean r|, r = |a| (Vähä-Ypyä 2015, doi:10.1371/journal.pone.0134813; epochs of 6 s there). Preferred to ENMO
 *  (van Hees 2013, doi:10.1371/journal.pone.0061691), which needs a calibrated sensor: MAD does not see a constant gain or offset error
 *  of 1 g.
 *  Guide: below 0.0167 sedentary, 0.091 brisk walking, 0.414 running (cut-points of the paper).
 *  Latency: the block. Flag 2 below half of the samples, 1 below 90 %, where the mean magnitude is not about 1 g, or where an axis is
 *  at its rail or stands still alone.
 *
 *  Wiring: `reset(k)`, then `push([x, y, z], from, to, out)` in g; a sample with a NaN axis is missing. */
export class Activity {
  readonly latencySec = BLOCK_SEC;
  readonly #clock: BlockClock;
  readonly #magnitude: Float64Array;
  readonly #doubts = new Doubts();
  #count = 0;

  constructor(fs: number) {
    this.#clock = new BlockClock(fs);
    this.#magnitude = new Float64Array(Math.ceil(BLOCK_SEC * fs) + 2);
  }

  /** @param k grid index of the next sample */
  reset(k = 0): void {
    this.#clock.k = k;
    this.#count = 0;
    this.#doubts.reset();
  }

  push(axes: readonly Float64Array[], from: number, to: number, out: FoundValues): void {
    const [x, y, z] = axes as [Float64Array, Float64Array, Float64Array];
    for (let at = from; at < to;) {
      const left = this.#clock.left;
      const end = Math.min(to, at + left);
      for (let i = at; i < end; i++) {
        const r = Math.sqrt(x[i]! * x[i]! + y[i]! * y[i]! + z[i]! * z[i]!);
        if (r - r !== 0) continue;
        this.#magnitude[this.#count++] = r;
        this.#doubts.note(x[i]!, y[i]!, z[i]!, r);
      }
      this.#clock.k += end - at;
      if (end - at === left) this.#close(out);
      at = end;
    }
  }

  #close(out: FoundValues): void {
    const n = this.#count;
    this.#count = 0;
    if (n === 0) return;
    let mean = 0;
    for (let i = 0; i < n; i++) mean += this.#magnitude[i]!;
    mean /= n;
    let sum = 0;
    for (let i = 0; i < n; i++) sum += Math.abs(this.#magnitude[i]! - mean);
    const expected = Math.max(1, Math.floor(BLOCK_SEC * this.#clock.fs));
    appendValue(out, this.#clock.endedSec, sum / n, this.#doubts.flag(expected)!);
  }
}

/** A step: a peak of the band-passed magnitude at least this high, g. Gu 2017 uses 0.8 … 1.2 m/s² on phones. */
export const STEP_MIN_G = 0.09;
/** Between two steps, s: running at 4 steps/s … slow walking. */
export const STEP_PERIOD = { min: 0.25, max: 1.0 } as const;
/** Successive step periods differ by less than this share, and heights by less than this factor. */
export const PERIOD_CHANGE = 0.35;
export const HEIGHT_RATIO = 2.5;
/** So many steps in a row that fit each other make a walk; fewer are gestures. */
export const WALK_STEPS = 6;

/** `steps`: steps that began in the 8 s block.
 *  Peaks of the band-passed (0.6-4.5 Hz) vector magnitude with the checks of Gu et al. 2017 (Measurement 107, "Robust and accurate
 *  smartphone-based step counting for indoor localization": magnitude, periodicity, similarity, continuity). Different: thresholds for the
 *  wrist; a walk is 6 fitting steps, counted from its first one on; causal filter.
 *  A count is final WALK_STEPS periods after the block ended; so `latencySec`.
 *  Needs no calibration. Wrist: walking with a still hand (a trolley, a rail) is missed, rhythmic hand work is counted.
 *
 *  Wiring as Activity. */
export class Steps {
  readonly latencySec = BLOCK_SEC + (WALK_STEPS + 1) * STEP_PERIOD.max;
  readonly #clock: BlockClock;
  readonly #high: Biquad;
  readonly #low: Biquad;
  readonly #state = new Float64Array(4);
  readonly #waitSamples: number;
  #fresh = true;
  #last = 0;
  #y1 = 0;
  #y2 = 0;
  // the run of fitting peaks
  #peakAt = Number.NEGATIVE_INFINITY;
  #peakHeight = 0;
  #period = 0;
  #run = 0;
  readonly #runAt = new Float64Array(WALK_STEPS);
  /** Steps counted in the blocks that are not out yet, and their samples: oldest first. */
  readonly #pending: { endK: number; endSec: number; steps: number; flag: QualityFlag | null }[] = [];
  readonly #doubts = new Doubts();
  #counted = 0;

  /** @throws RangeError below 10 Hz */
  constructor(fs: number) {
    if (!(fs >= 10)) throw new RangeError(`fs = ${fs} Hz: at least 10`);
    this.#clock = new BlockClock(fs);
    this.#high = highPass(0.6, fs);
    this.#low = lowPass(Math.min(4.5, 0.4 * fs), fs);
    this.#waitSamples = Math.ceil((WALK_STEPS + 1) * STEP_PERIOD.max * fs);
  }

  /** @param k grid index of the next sample */
  reset(k = 0): void {
    this.#clock.k = k;
    this.#fresh = true;
    this.#peakAt = Number.NEGATIVE_INFINITY;
    this.#run = 0;
    this.#pending.length = 0;
    this.#counted = 0;
    this.#doubts.reset();
  }

  push(axes: readonly Float64Array[], from: number, to: number, out: FoundValues): void {
    const [x, y, z] = axes as [Float64Array, Float64Array, Float64Array];
    for (let i = from; i < to; i++) {
      const left = this.#clock.left;
      const r = Math.sqrt(x[i]! * x[i]! + y[i]! * y[i]! + z[i]! * z[i]!);
      if (r - r === 0) {
        this.#doubts.note(x[i]!, y[i]!, z[i]!, r);
        this.#accept(r);
      } else if (!this.#fresh) this.#accept(this.#last);
      this.#clock.k++;
      if (left === 1) this.#endBlock();
      if (this.#pending.length > 0 && this.#clock.k >= this.#pending[0]!.endK + this.#waitSamples) this.#release(out);
    }
  }

  /** The data ends here. */
  flush(out: FoundValues): void {
    while (this.#pending.length > 0) this.#release(out);
  }

  #endBlock(): void {
    const endSec = this.#clock.endedSec;
    const flag = this.#doubts.flag(Math.floor(BLOCK_SEC * this.#clock.fs));
    this.#pending.push({ endK: this.#clock.k, endSec, steps: this.#counted, flag });
    this.#counted = 0;
  }

  #release(out: FoundValues): void {
    const block = this.#pending.shift()!;
    if (block.flag !== null) appendValue(out, block.endSec, block.steps, block.flag);
  }

  #accept(r: number): void {
    const { b0, b1, b2, a1, a2 } = this.#high;
    const low = this.#low;
    const s = this.#state;
    if (this.#fresh) {
      this.#fresh = false;
      s[0] = (b1 + b2) * r;
      s[1] = b2 * r;
      s[2] = s[3] = 0;
      this.#y1 = this.#y2 = 0;
    }
    this.#last = r;
    const h = b0 * r + s[0]!;
    s[0] = b1 * r - a1 * h + s[1]!;
    s[1] = b2 * r - a2 * h;
    const y = low.b0 * h + s[2]!;
    s[2] = low.b1 * h - low.a1 * y + s[3]!;
    s[3] = low.b2 * h - low.a2 * y;
    if (this.#y1 > this.#y2 && this.#y1 >= y && this.#y1 >= STEP_MIN_G) this.#peak(this.#clock.k - 1, this.#y1);
    this.#y2 = this.#y1;
    this.#y1 = y;
  }

  #peak(at: number, height: number): void {
    const fs = this.#clock.fs;
    const period = at - this.#peakAt;
    if (period < STEP_PERIOD.min * fs) {
      // two peaks of one step: the higher one stays
      if (height <= this.#peakHeight) return;
      this.#peakAt = at;
      this.#peakHeight = height;
      return;
    }
    const fits =
      period <= STEP_PERIOD.max * fs &&
      (this.#run < 2 || Math.abs(period - this.#period) <= PERIOD_CHANGE * this.#period) &&
      Math.max(height, this.#peakHeight) <= HEIGHT_RATIO * Math.min(height, this.#peakHeight);
    this.#run = fits ? this.#run + 1 : 1;
    this.#period = this.#run > 2 ? 0.7 * this.#period + 0.3 * period : period;
    this.#peakAt = at;
    this.#peakHeight = height;
    if (this.#run <= WALK_STEPS) this.#runAt[this.#run - 1] = at;
    if (this.#run === WALK_STEPS) for (let k = 0; k < WALK_STEPS; k++) this.#count(this.#runAt[k]!);
    else if (this.#run > WALK_STEPS) this.#count(at);
  }

  /** A step at a sample of this block, of one that waits, or of one older (then it is lost). */
  #count(at: number): void {
    for (const block of this.#pending) {
      if (at >= block.endK) continue;
      block.steps++;
      return;
    }
    this.#counted++;
  }
}
