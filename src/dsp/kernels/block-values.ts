/** Values of slow channels, one per block of the device clock: what the small kernels share.
 *
 *  Blocks are [m * BLOCK_SEC, (m + 1) * BLOCK_SEC) on the channel's own grid. 8 s divides the 64 s segment and the 16 s context, so a
 *  block is cut the same way live and recomputed. Longer windows (1 min, 5 min) are made of stored block values, as HRV is made of stored
 *  beats. */
import type { QualityFlag } from '../../signal.ts';

export const BLOCK_SEC = 8;

/** Parallel growable columns; the engine drains it after every push. */
export type FoundValues = {
  count: number;
  /** End of the block, s on the grid that reset() was told. */
  endSec: Float64Array;
  value: Float64Array;
  flag: Uint8Array;
};

export function emptyValues(): FoundValues {
  return { count: 0, endSec: new Float64Array(16), value: new Float64Array(16), flag: new Uint8Array(16) };
}

export function appendValue(out: FoundValues, endSec: number, value: number, flag: QualityFlag): void {
  if (out.count >= out.endSec.length) {
    const size = Math.max(16, 2 * out.endSec.length);
    const { endSec: ends, value: values, flag: flags } = out;
    out.endSec = new Float64Array(size);
    out.value = new Float64Array(size);
    out.flag = new Uint8Array(size);
    out.endSec.set(ends);
    out.value.set(values);
    out.flag.set(flags);
  }
  out.endSec[out.count] = endSec;
  out.value[out.count] = value;
  out.flag[out.count] = flag;
  out.count++;
}

/** Puts a value before the one at a position. */
export function insertValue(out: FoundValues, at: number, endSec: number, value: number, flag: QualityFlag): void {
  appendValue(out, endSec, value, flag);
  for (const column of [out.endSec, out.value, out.flag]) {
    const last = column[out.count - 1]!;
    column.copyWithin(at + 1, at, out.count - 1);
    column[at] = last;
  }
}

/** Counts samples on the grid and says where blocks end. */
export class BlockClock {
  readonly fs: number;
  /** Grid index of the next sample. */
  k = 0;

  /** @throws RangeError unless fs > 0 */
  constructor(fs: number) {
    if (!(fs > 0)) throw new RangeError(`fs = ${fs} Hz`);
    this.fs = fs;
  }

  /** Samples until the current block is complete; at least 1. */
  get left(): number {
    return this.leftOf(1);
  }

  /** Samples until the part of the block in which the next one lies is complete, of so many equal parts of whole seconds; at least 1. */
  leftOf(parts: number): number {
    return this.#border(this.#index(parts) + 1, parts) - this.k;
  }

  /** Position of that part in the block. */
  partOf(parts: number): number {
    return this.#index(parts) % parts;
  }

  /** End of the block that sample k - 1 completed, s. */
  get endedSec(): number {
    return this.#index(1) * BLOCK_SEC;
  }

  /** First index of part m: the smallest k with k / fs >= m * BLOCK_SEC / parts. Of m alone: at a k of 1e11, as the time of today has, what
   *  is computed from k by division is off by more than is rounded here, by another amount at each k. */
  #border(m: number, parts: number): number {
    return Math.ceil(m * (BLOCK_SEC / parts) * this.fs - 1e-6);
  }

  #index(parts: number): number {
    let m = Math.floor(this.k / ((BLOCK_SEC / parts) * this.fs));
    while (this.#border(m + 1, parts) <= this.k) m++;
    while (this.#border(m, parts) > this.k) m--;
    return m;
  }
}

/** Median of the first n values; sorts a scratch copy. @param scratch length >= n */
export function medianOf(x: Float64Array, n: number, scratch: Float64Array): number {
  if (n === 0) return Number.NaN;
  for (let i = 0; i < n; i++) scratch[i] = x[i]!;
  const sorted = scratch.subarray(0, n).sort();
  return n % 2 === 1 ? sorted[n >> 1]! : (sorted[(n >> 1) - 1]! + sorted[n >> 1]!) / 2;
}
