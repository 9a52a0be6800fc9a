/** One lead of a stored recording, to measure beats in that are stored, too: as BeatIntervals measures those that medians are made of. */
import type { ChannelConfig, Samples } from '../../signal.ts';
import { AFTER_SEC, BEFORE_SEC, Delineator, meansIn } from '../ecg/delineation.ts';
import type { Boundaries, MeansOf } from '../ecg/delineation.ts';
import { secBefore } from './intervals.ts';

const secondUs = 1_000_000;
/** Samples at which the device itself says that they are none. */
const badSample = 2;

/** Samples are needed from so long before the first beat to so long after the last one, s: means end on a grid of their own. */
export const LEAD_BEFORE_SEC = BEFORE_SEC + 0.06;
export const LEAD_AFTER_SEC = AFTER_SEC + 0.06;

export class StoredLead {
  readonly #fs: number;
  readonly #fromK: number;
  /** As precise as a ring of samples keeps them; NaN where missing. */
  readonly #x: Float32Array;
  readonly #delineator: Delineator;
  readonly #meansOf: MeansOf;

  /** Room for the samples of [fromUs, toUs) of the device clock. */
  constructor(rateNanoHz: number, fromUs: number, toUs: number) {
    this.#fs = rateNanoHz / 1e9;
    this.#fromK = Math.max(0, Math.floor((fromUs / secondUs) * this.#fs));
    const toK = Math.max(this.#fromK, Math.ceil((toUs / secondUs) * this.#fs));
    this.#x = new Float32Array(toK - this.#fromK).fill(Number.NaN);
    this.#delineator = new Delineator(this.#fs);
    const means = meansIn(this.#x);
    this.#meansOf = (from, width, out) => means(from - this.#fromK, width, out);
  }

  /** Samples from grid index k0 on. */
  put(k0: number, samples: Samples, qmask: Uint8Array | null, { gain, baseline }: Pick<ChannelConfig, 'gain' | 'baseline'>): void {
    const x = this.#x;
    const first = Math.max(0, this.#fromK - k0);
    const end = Math.min(samples.length, this.#fromK + x.length - k0);
    for (let i = first; i < end; i++) {
      const isMissing = qmask !== null && qmask[i]! >= badSample;
      x[k0 + i - this.#fromK] = isMissing ? Number.NaN : (samples[i]! - baseline) / gain;
    }
  }

  /** @param tUs of the beat, on the device clock  @param lastUs of the beat before
   *  @returns false where it is not measured: see Delineator.delineate, which fills `out` */
  measure(tUs: number, lastUs: number, out: Boundaries): boolean {
    const intervalSec = secBefore(tUs, lastUs);
    return !Number.isNaN(intervalSec) && this.#delineator.delineate((tUs / secondUs) * this.#fs, this.#meansOf, intervalSec, out);
  }
}
