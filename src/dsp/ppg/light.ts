/** The light of a PPG sensor in blocks of 8 s: how much of it pulses, and whether it is the light of anything worn. */
import { BAD, GOOD, SUSPECT } from '../../signal.ts';
import { highPass, lowPass } from '../kernels/biquad.ts';
import type { Biquad } from '../kernels/biquad.ts';
import { BLOCK_SEC, BlockClock, appendValue } from '../kernels/block-values.ts';
import type { FoundValues } from '../kernels/block-values.ts';
import { STUCK_SEC } from './beats.ts';
import { Ends, RAIL_SHARE } from './ends.ts';

/** Edges of the band whose swing is the pulse, Hz. */
export const PULSE_BAND = { low: 0.5, high: 8 } as const;
/** The swing of a block is the lower median of those of so many equal parts: an artefact, which the high-pass carries into the part after
 *  it, changes nothing, and 2 s hold a whole beat from 30 /min on. */
export const SWING_PARTS = 4;
/** A pulse goes from its foot to its top within this; what goes on longer, as breathing does, adds little to it. */
export const SWING_SEC = 0.35;
/** Greatest share of the level that a pulse has, %: oximeters show up to 20. Light that swings by more was given without its level. */
export const PERFUSION_MAX = 20;
/** Share of a block that stands still from which nothing is worn. */
export const STILL_MIN = 0.5;
/** Mean squared difference of neighbours over variance (von Neumann 1941), of a part at about 31 Hz. It is 2 in white noise, with a
 *  standard deviation of 0.25, and below 0.3 in a pulse: from here on three quarters of the variance are noise. Of samples as they come,
 *  because a filter carries a step on; a part that has one is no noise, so half of the parts are enough. */
export const WHITE_MIN = 1.5;
const DECIMATED_HZ = 31.25;
const PRESENT_MIN = 0.5;

/** Call push with every sample of one wavelength in order; NaN marks a missing one. `out` gets for each block of which at least half is
 *  there: its perfusion, %, NaN where the light comes without its level; flag BAD where the light stands still or is noise, SUSPECT
 *  where it is at a rail, which cuts its pulse off, else GOOD. Which way up the pulse is changes nothing. The high-pass begins at rest on
 *  the first sample. */
export class PulseLight {
  readonly #clock: BlockClock;
  readonly #decimation: number;
  readonly #high: Biquad;
  readonly #low: Biquad;
  readonly #state = new Float64Array(4);
  readonly #stuck: number;
  /** The last values of the pulse, of SWING_SEC. */
  readonly #recent: Float64Array;
  #recentAt = 0;
  /** Of each part of the block: greatest change of the pulse within SWING_SEC; samples, their sum and sum of squares beyond the first, and
   *  the sum of squared differences. */
  readonly #most = new Float64Array(SWING_PARTS);
  /** Samples so far in a row that equal the one before. */
  #unchanged = 0;
  #last = Number.NaN;
  readonly #counts = new Int32Array(SWING_PARTS);
  readonly #sums = new Float64Array(SWING_PARTS);
  readonly #squares = new Float64Array(SWING_PARTS);
  readonly #steps = new Float64Array(SWING_PARTS);
  #isFresh = true;
  /** The one that is being filled, and its first sample. */
  #part = 0;
  #first = 0;
  #before = 0;
  // of the block
  #present = 0;
  #still = 0;
  #level = 0;
  readonly #ends = new Ends();
  // of the decimated sample that is being made
  #sum = 0;
  #summed = 0;
  #phase = 0;

  constructor(fs: number) {
    this.#clock = new BlockClock(fs);
    this.#decimation = Math.max(1, Math.round(fs / DECIMATED_HZ));
    const rate = fs / this.#decimation;
    this.#high = highPass(PULSE_BAND.low, rate);
    this.#low = lowPass(Math.min(PULSE_BAND.high, 0.4 * rate), rate);
    this.#stuck = Math.round(STUCK_SEC * fs);
    this.#recent = new Float64Array(Math.round(SWING_SEC * rate));
  }

  /** @param k grid index of the next sample */
  reset(k = 0): void {
    this.#clock.k = k;
    this.#unchanged = this.#sum = this.#summed = this.#phase = 0;
    this.#last = Number.NaN;
    this.#isFresh = true;
    this.#clear();
  }

  push(x: Float64Array, from: number, to: number, out: FoundValues): void {
    for (let at = from; at < to;) {
      const left = this.#clock.left;
      this.#part = this.#clock.partOf(SWING_PARTS);
      const end = Math.min(to, at + this.#clock.leftOf(SWING_PARTS));
      this.#take(x, at, end);
      this.#clock.k += end - at;
      if (end - at === left) this.#close(out);
      at = end;
    }
  }

  /** Samples of one part: averages them down, and counts those that stand still. */
  #take(x: Float64Array, from: number, to: number): void {
    const decimation = this.#decimation;
    const stuck = this.#stuck;
    const ends = this.#ends;
    let sum = this.#sum;
    let summed = this.#summed;
    let phase = this.#phase;
    let unchanged = this.#unchanged;
    let last = this.#last;
    let count = 0;
    for (let i = from; i < to; i++) {
      const value = x[i]!;
      if (value - value === 0) {
        sum += value;
        summed++;
        ends.push(value);
        if (value !== last) unchanged = 0;
        else if (++unchanged >= stuck) this.#still += unchanged === stuck ? stuck : 1;
        last = value;
      }
      if (++phase < decimation) continue;
      if (summed > 0) averaged[count++] = sum / summed;
      if (count === averaged.length) {
        this.#accept(count);
        count = 0;
      }
      this.#present += summed;
      this.#level += sum;
      sum = summed = phase = 0;
    }
    this.#accept(count);
    this.#sum = sum;
    this.#summed = summed;
    this.#phase = phase;
    this.#unchanged = unchanged;
    this.#last = last;
  }

  /** The first `count` of `averaged`, all of one part. */
  #accept(count: number): void {
    if (count === 0) return;
    const high = this.#high;
    const low = this.#low;
    const s = this.#state;
    if (this.#isFresh) {
      s[0] = (high.b1 + high.b2) * averaged[0]!;
      s[1] = high.b2 * averaged[0]!;
      s[2] = s[3] = 0;
      this.#recent.fill(0);
    }
    this.#isFresh = false;
    const part = this.#part;
    const recent = this.#recent;
    let recentAt = this.#recentAt;
    let most = this.#most[part]!;
    if (this.#counts[part] === 0) this.#first = averaged[0]!;
    let before = this.#counts[part] === 0 ? averaged[0]! : this.#before;
    let steps = this.#steps[part]!;
    let sum = this.#sums[part]!;
    let squares = this.#squares[part]!;
    const first = this.#first;
    for (let i = 0; i < count; i++) {
      const value = averaged[i]!;
      const h = high.b0 * value + s[0]!;
      s[0] = high.b1 * value - high.a1 * h + s[1]!;
      s[1] = high.b2 * value - high.a2 * h;
      const y = low.b0 * h + s[2]!;
      s[2] = low.b1 * h - low.a1 * y + s[3]!;
      s[3] = low.b2 * h - low.a2 * y;
      for (let k = 0; k < recent.length; k++) {
        const change = Math.abs(y - recent[k]!);
        if (change > most) most = change;
      }
      recent[recentAt] = y;
      if (++recentAt === recent.length) recentAt = 0;
      steps += (value - before) ** 2;
      const off = value - first;
      sum += off;
      squares += off * off;
      before = value;
    }
    this.#recentAt = recentAt;
    this.#most[part] = most;
    this.#counts[part]! += count;
    this.#steps[part] = steps;
    this.#sums[part] = sum;
    this.#squares[part] = squares;
    this.#before = before;
  }

  #close(out: FoundValues): void {
    const present = this.#present;
    if (present >= PRESENT_MIN * BLOCK_SEC * this.#clock.fs) {
      const isIdle = this.#still >= STILL_MIN * present || this.#isNoise();
      const perfusion = (100 * this.#swing()) / Math.abs(this.#level / present);
      const flag = isIdle ? BAD : this.#ends.most > RAIL_SHARE * present ? SUSPECT : GOOD;
      appendValue(out, this.#clock.endedSec, perfusion <= PERFUSION_MAX ? perfusion : Number.NaN, flag);
    }
    this.#clear();
  }

  /** Greatest change of the pulse: the lower median of the parts of which there are samples. */
  #swing(): number {
    let parts = 0;
    for (let p = 0; p < SWING_PARTS; p++) if (this.#counts[p]! > 0) swings[parts++] = this.#most[p]!;
    return swings.subarray(0, parts).sort()[(parts - 1) >> 1]!;
  }

  #isNoise(): boolean {
    let parts = 0;
    let white = 0;
    for (let p = 0; p < SWING_PARTS; p++) {
      const n = this.#counts[p]!;
      if (n < 2) continue;
      parts++;
      const variance = (this.#squares[p]! - this.#sums[p]! ** 2 / n) / (n - 1);
      if (this.#steps[p]! / (n - 1) >= WHITE_MIN * variance) white++;
    }
    return 2 * white >= parts;
  }

  #clear(): void {
    this.#most.fill(0);
    this.#counts.fill(0);
    this.#sums.fill(0);
    this.#squares.fill(0);
    this.#steps.fill(0);
    this.#present = this.#still = this.#level = 0;
    this.#ends.reset();
  }
}

// shared by every instance of the thread: nothing of them outlives a call
const swings = new Float64Array(SWING_PARTS);
const averaged = new Float64Array(64);
