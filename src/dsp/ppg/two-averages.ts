/** A second, independent PPG detector: what the quality index compares the beats with. */
import { highPass, lowPass } from '../kernels/biquad.ts';
import type { Biquad } from '../kernels/biquad.ts';
import type { FoundBeats } from '../kernels/contract.ts';

/** Beats are blocks where a short mean of the squared positive band-passed signal exceeds a long one
 *  (Elgendi 2013, doi:10.1371/journal.pone.0076585). Streaming, so the paper's offset of 2 % of the record's mean is 2 % of a running mean.
 *  Position: the steepest rise before the block's top. */
export class TwoAverageDetector {
  readonly latencySec = 1.2;
  readonly #short: number;
  readonly #long: number;
  readonly #back: number;
  readonly #high: Biquad;
  readonly #low: Biquad;
  readonly #state = new Float64Array(4);
  readonly #ring: Float64Array;
  readonly #mask: number;
  readonly #decay: number;
  #fresh = true;
  #last = 0;
  #n = 0;
  #shortSum = 0;
  #longSum = 0;
  #mean = 0;
  #from = -1;
  readonly #delay: number;

  constructor(fs: number) {
    this.#short = Math.max(1, Math.round(0.111 * fs));
    this.#long = Math.round(0.667 * fs);
    this.#back = Math.round(0.35 * fs);
    this.#high = highPass(0.5, fs);
    this.#low = lowPass(Math.min(8, 0.4 * fs), fs);
    this.#decay = 1 / (4 * fs);
    this.#delay = 0.028 * fs;
    let size = 1;
    while (size < 2.5 * fs) size *= 2;
    this.#ring = new Float64Array(size);
    this.#mask = size - 1;
  }

  reset(): void {
    this.#fresh = true;
    this.#n = 0;
    this.#shortSum = this.#longSum = this.#mean = 0;
    this.#from = -1;
    this.#ring.fill(0);
    this.#state.fill(0);
    this.#last = 0;
  }

  push(x: Float64Array, from: number, to: number, out: FoundBeats): void {
    const { b0, b1, b2, a1, a2 } = this.#high;
    const low = this.#low;
    const state = this.#state;
    const ring = this.#ring;
    const mask = this.#mask;
    const short = this.#short;
    const long = this.#long;
    const decay = this.#decay;
    const lag = (long - short) >> 1; // centres the short mean in the long one
    let last = this.#last;
    let n = this.#n;
    let shortSum = this.#shortSum;
    let longSum = this.#longSum;
    let mean = this.#mean;
    for (let i = from; i < to; i++) {
      let value = x[i]!;
      if (value - value !== 0) value = last;
      else if (this.#fresh) {
        this.#fresh = false;
        state[0] = (b1 + b2) * value;
        state[1] = b2 * value;
        state[2] = state[3] = 0;
      }
      last = value;
      const h = b0 * value + state[0]!;
      state[0] = b1 * value - a1 * h + state[1]!;
      state[1] = b2 * value - a2 * h;
      const y = low.b0 * h + state[2]!;
      state[2] = low.b1 * h - low.a1 * y + state[3]!;
      state[3] = low.b2 * h - low.a2 * y;
      ring[n & mask] = y;
      // what lies before the first sample reads as 0: the ring is longer than the long mean
      const squared = positiveSquare(y);
      longSum += squared - positiveSquare(ring[(n - long) & mask]!);
      shortSum += positiveSquare(ring[(n - lag) & mask]!) - positiveSquare(ring[(n - lag - short) & mask]!);
      mean += decay * (squared - mean);
      const on = shortSum / short > longSum / long + 0.02 * mean;
      const at = n - lag;
      n++;
      if (on && this.#from < 0) this.#from = at;
      if (this.#from < 0 || (on && at - this.#from < 1.5 * long)) continue;
      if (at - this.#from >= short) this.#emit(at, out);
      this.#from = on ? at : -1;
    }
    this.#last = last;
    this.#n = n;
    this.#shortSum = shortSum;
    this.#longSum = longSum;
    this.#mean = mean;
  }

  /** The block [from, to) holds a beat: its top, and the steepest rise before it. */
  #emit(to: number, out: FoundBeats): void {
    const ring = this.#ring;
    const mask = this.#mask;
    let top = Math.max(0, this.#from - this.#short);
    for (let k = top; k < to; k++) if (ring[k & mask]! > ring[top & mask]!) top = k;
    let steepest = top;
    let slope = 0;
    for (let k = Math.max(1, top - this.#back); k <= top; k++) {
      const d = ring[k & mask]! - ring[(k - 1) & mask]!;
      if (d > slope) {
        slope = d;
        steepest = k;
      }
    }
    if (out.count >= out.position.length) {
      const position = new Float64Array(2 * out.position.length);
      position.set(out.position);
      out.position = position;
      out.confidence = new Float64Array(position.length);
    }
    const position = steepest - 0.5 - this.#delay;
    if (out.count > 0 && position <= out.position[out.count - 1]!) return;
    out.position[out.count++] = position;
  }
}

const positiveSquare = (y: number): number => (y > 0 ? y * y : 0);
