/** Skin temperature of a block, robust against artefacts. */
import { BAD, GOOD, SUSPECT } from '../../signal.ts';
import type { QualityFlag } from '../../signal.ts';
import { BLOCK_SEC, BlockClock, appendValue, medianOf } from '../kernels/block-values.ts';
import type { FoundValues } from '../kernels/block-values.ts';

/** Outside of this a reading is not skin, °C (sensor off, shorted, or in the sun). */
export const PLAUSIBLE = { min: 10, max: 45 } as const;
/** Hampel's factor: a sample further than this many robust standard deviations from the median is an artefact. */
export const HAMPEL = 3;
const MAD_TO_SIGMA = 1.4826;
/** Floor of the robust deviation, °C: sensors resolve 0.02 °C and a quantised plateau has a median deviation of 0. */
export const SIGMA_MIN = 0.02;
/** Worn on the skin readings lie in here (Kleckner 2018, doi:10.1109/TBME.2017.2758643: 30-40 °C for a good contact); else suspect. */
export const WORN = { min: 25, max: 41 } as const;
/** Skin has a thermal mass: readings that scatter by more than this within 8 s, or two kinds of them, are of no skin, °C (robust standard
 *  deviation of the usable ones). */
export const SIGMA_MAX = 0.5;
/** Between the means of the halves of 8 s, °C: 2 a minute. A sensor that comes off, or has been put on, drifts faster, skin that cools in
 *  air slower. */
export const CHANGE_MAX = 0.13;
export const COVERAGE_MIN = 0.5;

/** `temp_mean`: mean of the samples of 8 s that a Hampel identifier (Davies & Gather 1993, doi:10.1080/01621459.1993.10476339) leaves.
 *  Unit: °C in, °C out. Latency: the block (8 s).
 *  Flag 2 when less than half of the block is usable; 1 when more than 10 % was rejected or the sensor is likely not worn, or has
 *  not settled, or scatters.
 *
 *  Wiring: `reset(k)`, then `push(x, from, to, out)` with consecutive samples in °C; NaN marks a missing sample; `out` gets one value
 *  per block. */
export class Temperature {
  readonly latencySec = BLOCK_SEC;
  readonly #clock: BlockClock;
  readonly #kept: Float64Array;
  readonly #scratch: Float64Array;
  #count = 0;

  constructor(fs: number) {
    this.#clock = new BlockClock(fs);
    const size = Math.ceil(BLOCK_SEC * fs) + 2;
    this.#kept = new Float64Array(size);
    this.#scratch = new Float64Array(size);
  }

  /** @param k grid index of the next sample */
  reset(k = 0): void {
    this.#clock.k = k;
    this.#count = 0;
  }

  push(x: Float64Array, from: number, to: number, out: FoundValues): void {
    for (let at = from; at < to;) {
      const end = Math.min(to, at + this.#clock.left);
      for (let i = at; i < end; i++) {
        const value = x[i]!;
        if (value >= PLAUSIBLE.min && value <= PLAUSIBLE.max) this.#kept[this.#count++] = value;
      }
      const complete = end - at === this.#clock.left;
      this.#clock.k += end - at;
      at = end;
      if (complete) this.#close(out);
    }
  }

  #close(out: FoundValues): void {
    const expected = Math.max(1, Math.floor(BLOCK_SEC * this.#clock.fs));
    const n = this.#count;
    const median = medianOf(this.#kept, n, this.#scratch);
    for (let i = 0; i < n; i++) this.#scratch[i] = Math.abs(this.#kept[i]! - median);
    const sigma = Math.max(SIGMA_MIN, MAD_TO_SIGMA * medianOf(this.#scratch.slice(0, n), n, this.#scratch));
    let sum = 0;
    let used = 0;
    let firstSum = 0;
    let firstUsed = 0;
    for (let i = 0; i < n; i++) {
      if (Math.abs(this.#kept[i]! - median) > HAMPEL * sigma) continue;
      sum += this.#kept[i]!;
      used++;
      if (2 * i >= n) continue;
      firstSum = sum;
      firstUsed = used;
    }
    // NaN, where a half has none, is no change
    const change = Math.abs((sum - firstSum) / (used - firstUsed) - firstSum / firstUsed);
    const isSettled = sigma <= SIGMA_MAX && !(change > CHANGE_MAX);
    if (used > 0) appendValue(out, this.#clock.endedSec, sum / used, flagOf(used, expected, sum / used, isSettled));
    this.#count = 0;
  }
}

function flagOf(used: number, expected: number, celsius: number, isSettled: boolean): QualityFlag {
  if (used < COVERAGE_MIN * expected) return BAD;
  return !isSettled || used < 0.9 * expected || celsius < WORN.min || celsius > WORN.max ? SUSPECT : GOOD;
}
