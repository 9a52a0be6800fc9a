/** Steepness of one channel in each twentieth of the last seconds: tells whether anything like a beat lies between two beats. */

import { arenaDoubles, arenaFloats } from '../kernels/arena.ts';
import { select } from '../hrv/median.ts';

/** A change is taken over so long: a QRS complex, a wide one too, changes within it by most of its height, a T or P wave by a quarter. */
export const STEEP_OVER_SEC = 0.04;
/** Changes are looked at about so often, s: within a QRS complex they last longer. */
const EVERY_SEC = 0.01;
const BINS_PER_SEC = 20;

export class Steepness {
  readonly #fs: number;
  readonly #every: number;
  /** By twentieth of a second, the greatest change that ends in it, whichever way it goes; NaN where nothing was there. */
  readonly #bins: Float32Array;
  /** The newest of the samples that are looked at, for the changes of those to come: a ring. */
  readonly #before: Float64Array;
  /** Grid index of the next sample; the twentieth it lies in, and the first index after that. */
  #k = -1;
  #bin = 0;
  #borderK = 0;
  #most = -1;

  /** @param fs Hz, at least 50 */
  constructor(fs: number, keptSec: number) {
    this.#fs = fs;
    this.#every = Math.max(1, Math.floor(EVERY_SEC * fs));
    this.#bins = arenaFloats(Math.ceil(keptSec * BINS_PER_SEC));
    this.#before = arenaDoubles(Math.max(1, Math.round((STEEP_OVER_SEC * fs) / this.#every)));
  }

  /** x[from, to); NaN where missing. @param k grid index of x[0] */
  push(x: Float64Array, from: number, to: number, k: number): void {
    if (this.#k !== k + from) this.#jump(k + from);
    const before = this.#before;
    const every = this.#every;
    const size = before.length;
    let at = this.#k + ((every - (this.#k % every)) % every);
    let slot = Math.floor(at / every) % size;
    while (at < k + to) {
      if (at >= this.#borderK) this.#open(at);
      const end = Math.min(k + to, this.#borderK);
      let most = this.#most;
      for (; at < end; at += every) {
        const value = x[at - k]!;
        const change = Math.abs(value - before[slot]!);
        before[slot] = value;
        if (++slot === size) slot = 0;
        if (change > most) most = change;
      }
      this.#most = most;
      if (most >= 0) this.#bins[this.#bin % this.#bins.length] = most;
    }
    this.#k = k + to;
  }

  /** Greatest change of the twentieths that lie in [fromSec, toSec) as a whole, and where it is, into `found`: NaN where none had a sample.
   *  `still` is
   *  the share of them in which nothing changed.  @returns `found`, good until the next call */
  between(fromSec: number, toSec: number): { readonly most: number; readonly mostSec: number; readonly still: number } {
    const from = Math.max(Math.ceil(fromSec * BINS_PER_SEC), this.#bin - this.#bins.length + 1);
    const to = Math.min(Math.floor(toSec * BINS_PER_SEC), this.#bin + 1);
    let most = Number.NaN;
    let mostBin = from;
    let still = 0;
    let count = 0;
    for (let bin = from; bin < to; bin++) {
      const change = this.#bins[bin % this.#bins.length]!;
      if (change !== change) continue;
      count++;
      if (change === 0) still++;
      if (change <= most) continue;
      most = change;
      mostBin = bin;
    }
    found.most = most;
    found.mostSec = mostBin / BINS_PER_SEC;
    found.still = count === 0 ? 0 : still / count;
    return found;
  }

  /** The change that a quarter of the twentieths in [fromSec, toSec) does not exceed: what is there all the time. NaN: fewer than four. */
  restBetween(fromSec: number, toSec: number): number {
    const from = Math.max(Math.ceil(fromSec * BINS_PER_SEC), this.#bin - this.#bins.length + 1);
    const to = Math.min(Math.floor(toSec * BINS_PER_SEC), this.#bin + 1);
    let count = 0;
    if (to - from > changes.length) changes = new Float64Array(to - from);
    for (let bin = from; bin < to; bin++) {
      const change = this.#bins[bin % this.#bins.length]!;
      if (change === change) changes[count++] = change;
    }
    if (count < 4) return Number.NaN;
    select(changes, count, count >> 2);
    return changes[count >> 2]!;
  }

  /** Goes on at index k: the samples before it are missing. */
  #jump(k: number): void {
    this.#before.fill(Number.NaN);
    if (this.#k < 0 || k < this.#k) {
      this.#bins.fill(Number.NaN);
      this.#bin = Math.floor((k / this.#fs) * BINS_PER_SEC) - 1;
    }
    this.#k = k;
    this.#open(k);
  }

  /** The twentieth in which index k lies; those on the way had no sample. */
  #open(k: number): void {
    const bin = Math.floor((k / this.#fs) * BINS_PER_SEC);
    const size = this.#bins.length;
    if (bin - this.#bin >= size) this.#bins.fill(Number.NaN);
    else while (this.#bin < bin) this.#bins[++this.#bin % size] = Number.NaN;
    this.#bin = bin;
    this.#borderK = Math.max(k + 1, Math.ceil(((bin + 1) * this.#fs) / BINS_PER_SEC));
    this.#most = -1;
  }
}

// shared by every stream of the thread: nothing of them outlives a call
let changes = new Float64Array(128);
const found = { most: Number.NaN, mostSec: 0, still: 0 };
