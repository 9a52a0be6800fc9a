/** Points before a beat, where a P wave would be, without hum of mains: for the index of fibrillation. */
import { MainsHum } from '../ecg/mains-hum.ts';
import { P_FROM_SEC, P_POINTS, P_TO_SEC } from '../hrv/fibrillation.ts';
import { keptByRate } from '../kernels/kept-by-rate.ts';
import type { SampleRing } from './sample-ring.ts';

const secondUs = 1_000_000;
/** Between the points, s; each is the mean of so long a stretch. */
const pointSec = (P_FROM_SEC - P_TO_SEC) / (P_POINTS - 1);

/** Samples around a beat, as many as hum is sought in, and the same as a ring; of one rate, for every stream of the thread: nothing of them
 *  outlives a call. */
const keptAround = keptByRate((fs) => {
  const length = 2 * new MainsHum(fs).reach + 1;
  return { samples: new Float64Array(length), ring: new Float32Array(2 ** Math.ceil(Math.log2(length))) };
});

/** A mean of 11 ms leaves three fifths of 50 Hz, and hum has another phase before each beat: no two of them would look alike. */
export class PPoints {
  readonly #fs: number;
  readonly #ring: SampleRing;
  readonly #hum: MainsHum;

  /** @param ring every sample of the first lead */
  constructor(fs: number, ring: SampleRing) {
    this.#fs = fs;
    this.#ring = ring;
    this.#hum = new MainsHum(fs);
  }

  /** @param tUs of a beat: what comes up to HUM_REACH_SEC after it has come, or is missing  @param out takes P_POINTS, NaN where one is
   *  missing */
  before(tUs: number, out: Float64Array): void {
    const half = (pointSec * this.#fs) / 2;
    const middle = Math.round((tUs / secondUs) * this.#fs);
    const isHum = this.#takeOff(middle);
    const { samples } = keptAround(this.#fs);
    const first = middle - this.#hum.reach;
    for (let p = 0; p < P_POINTS; p++) {
      const at = (tUs / secondUs - P_FROM_SEC + p * pointSec) * this.#fs;
      const from = Math.ceil(at - half);
      const to = Math.max(from, Math.floor(at + half));
      out[p] = isHum ? mean(samples, from - first, to - first) : this.#ring.mean(from, to);
    }
  }

  /** Leaves the samples before a beat, without hum, at the start of those kept.  @returns is there hum? */
  #takeOff(middle: number): boolean {
    const { samples, ring } = keptAround(this.#fs);
    const { reach } = this.#hum;
    if (!this.#ring.means(middle - reach, 1, samples)) return false;
    ring.set(samples);
    if (!this.#hum.find(ring, ring.length - 1, reach)) return false;
    this.#hum.takeOff(samples, -reach, reach);
    return true;
  }
}

function mean(x: Float64Array, from: number, to: number): number {
  let sum = 0;
  for (let i = from; i <= to; i++) sum += x[i]!;
  return sum / (to - from + 1);
}
