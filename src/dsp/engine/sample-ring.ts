import { arenaFloats } from '../kernels/arena.ts';

/** The last seconds of one channel, by position on its grid: for what is looked up around a beat once the beat is known. */
export class SampleRing {
  readonly #decimation: number;
  readonly #ring: Float32Array;
  /** Position (of decimated samples) after the newest one. */
  #end = -1;

  /** @param fs rate of the channel, Hz  @param decimation every how many samples one is kept */
  constructor(fs: number, keptSec: number, decimation = 1) {
    this.#decimation = decimation;
    this.#ring = arenaFloats(Math.ceil((keptSec * fs) / decimation)).fill(Number.NaN);
  }

  /** x[from, to), shorter than the ring; NaN where missing. @param k grid index of x[0] */
  push(x: Float64Array, from: number, to: number, k: number): void {
    const ring = this.#ring;
    const { length } = ring;
    const d = this.#decimation;
    const first = from + ((d - ((k + from) % d)) % d);
    if (first >= to) return;
    const at = (k + first) / d;
    if (this.#end >= 0 && at - this.#end < length) for (; this.#end < at; this.#end++) ring[this.#end % length] = Number.NaN;
    else if (at !== this.#end) ring.fill(Number.NaN);
    let slot = at % length;
    let end = at;
    for (let i = first; i < to; i += d) {
      ring[slot] = x[i]!;
      if (++slot === length) slot = 0;
      end++;
    }
    this.#end = end;
  }

  /** Lowest and highest of the samples at from..to.  @returns false when one is missing or no longer held */
  range(from: number, to: number, out: Float64Array): boolean {
    const ring = this.#ring;
    const { length } = ring;
    if (to >= this.#end || from < this.#end - length) return false;
    let low = Number.POSITIVE_INFINITY;
    let high = Number.NEGATIVE_INFINITY;
    let slot = from % length;
    for (let i = from; i <= to; i++) {
      const value = ring[slot]!;
      if (++slot === length) slot = 0;
      if (value - value !== 0) return false;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    out[0] = low;
    out[1] = high;
    return true;
  }

  /** Means of `width` samples each, from a position on, as many as `out` holds.  @returns false when one is missing or no longer held */
  means(from: number, width: number, out: Float64Array): boolean {
    const ring = this.#ring;
    const { length } = ring;
    const to = from + out.length * width;
    if (from < 0 || to > this.#end || from < this.#end - length) return false;
    let slot = from % length;
    if (width === 1) {
      for (let i = 0; i < out.length; i++) {
        const value = ring[slot]!;
        if (++slot === length) slot = 0;
        if (value !== value) return false;
        out[i] = value;
      }
      return true;
    }
    for (let i = 0; i < out.length; i++) {
      let sum = 0;
      for (let j = 0; j < width; j++) {
        sum += ring[slot]!;
        if (++slot === length) slot = 0;
      }
      if (sum !== sum) return false;
      out[i] = sum / width;
    }
    return true;
  }

  /** Mean of the samples at from..to; NaN when one is missing or no longer held. */
  mean(from: number, to: number): number {
    const ring = this.#ring;
    const { length } = ring;
    if (from < 0 || to >= this.#end || from < this.#end - length) return Number.NaN;
    let sum = 0;
    let slot = from % length;
    for (let i = from; i <= to; i++) {
      sum += ring[slot]!;
      if (++slot === length) slot = 0;
    }
    return sum / (to - from + 1);
  }
}
