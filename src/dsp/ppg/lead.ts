/** One wavelength of PPG: its band-pass, its last seconds, and the upstroke around a sample. */
import { highPass, lowPass } from '../kernels/biquad.ts';
import type { Biquad } from '../kernels/biquad.ts';

const HIGH_PASS_HZ = 0.3;
const LOW_PASS_HZ = 8;
/** The foot of an upstroke is looked for this far before its top. */
export const FOOT_SEC = 0.35;
/** The fall after the top is looked for this far. */
const FALL_SEC = 0.3;
/** An upstroke from the first sample on began there, or later, where it rises less than this share of its height in so long, the delay of
 *  the low-pass among it. Where it rises more, its foot is not in the data. */
const START_SEC = 0.08;
const START_SHARE = 0.1;
/** Width of the slope sum, near the duration of a systolic upstroke. */
export const RISE_SEC = 0.17;

/** Smallest power of two that holds so many samples. */
export function ringSize(samples: number): number {
  let size = 1;
  while (size < samples) size *= 2;
  return size;
}

/** One wavelength: band-pass, its last seconds, its scale. */
export class PpgLead {
  /** Last accepted input. */
  last = 0;
  /** Mean slope sum of the last blocks (0 until one is complete); used only to add leads of different scales. */
  scale = 0;
  /** Results of locate. */
  crossing = 0;
  foot = 0;
  fall = 0;
  readonly #ring: Float64Array;
  readonly #mask: number;
  readonly #riseSamples: number;
  readonly #footSamples: number;
  readonly #fallSamples: number;
  readonly #startSamples: number;
  readonly #delay: number;
  readonly #high: Biquad;
  readonly #low: Biquad;
  #fresh = true;
  #x2 = 0;
  #h1 = 0;
  #h2 = 0;
  #y1 = 0;
  #y2 = 0;
  #count = 0;
  #offset = 0;
  #blockRise = 0;

  /** @param aheadSec how long after an upstroke it will be located */
  constructor(fs: number, aheadSec: number) {
    const ring = ringSize((aheadSec + RISE_SEC + 0.6) * fs + 8);
    this.#ring = new Float64Array(ring);
    this.#mask = ring - 1;
    this.#riseSamples = Math.round(RISE_SEC * fs);
    this.#footSamples = Math.round(FOOT_SEC * fs);
    this.#fallSamples = Math.round(FALL_SEC * fs);
    this.#startSamples = Math.round(START_SEC * fs);
    // group delay of a Butterworth pair at low frequency: sqrt(2) / (2 pi f)
    const lowPassHz = Math.min(LOW_PASS_HZ, 0.4 * fs);
    this.#delay = (Math.SQRT2 / (2 * Math.PI * lowPassHz)) * fs;
    this.#high = highPass(HIGH_PASS_HZ, fs);
    this.#low = lowPass(lowPassHz, fs);
  }

  reset(): void {
    this.#fresh = true;
    this.#count = 0;
    this.scale = 0;
    this.#blockRise = 0;
  }

  /** Filters x[from, to). @param rises gets, from `at` on, the rise of each sample over the one before, 0 when it falls */
  push(x: Float64Array, from: number, to: number, rises: Float64Array, at: number): void {
    if (this.#fresh) {
      this.#fresh = false;
      this.last = this.#x2 = x[from]!;
      this.#h1 = this.#h2 = this.#y1 = this.#y2 = 0;
    }
    const { b0: hb0, b1: hb1, a1: ha1, a2: ha2 } = this.#high;
    const { b0: lb0, b1: lb1, a1: la1, a2: la2 } = this.#low;
    const ring = this.#ring;
    const mask = this.#mask;
    let x1 = this.last;
    let x2 = this.#x2;
    let h1 = this.#h1;
    let h2 = this.#h2;
    let y1 = this.#y1;
    let y2 = this.#y2;
    let count = this.#count;
    let blockRise = this.#blockRise;
    for (let i = from, out = at; i < to; i++) {
      const value = x[i]!;
      const h = hb0 * (value + x2) + hb1 * x1 - ha1 * h1 - ha2 * h2;
      const y = lb0 * (h + h2) + lb1 * h1 - la1 * y1 - la2 * y2;
      const rise = y > y1 ? y - y1 : 0;
      x2 = x1;
      x1 = value;
      h2 = h1;
      h1 = h;
      y2 = y1;
      y1 = y;
      ring[count++ & mask] = y;
      blockRise += rise;
      rises[out++] = rise;
    }
    this.last = x1;
    this.#x2 = x2;
    this.#h1 = h1;
    this.#h2 = h2;
    this.#y1 = y1;
    this.#y2 = y2;
    this.#count = count;
    this.#blockRise = blockRise;
  }

  closeBlock(samples: number): void {
    const mean = this.#blockRise / samples;
    this.scale = this.scale === 0 ? mean : this.scale + 0.125 * (mean - this.scale);
    this.#blockRise = 0;
  }

  /** Height of the upstroke that ends near a sample, over the lead's scale. Parameters as those of locate(). */
  riseAt(at: number, n: number, end: number): number {
    this.locate(at, n, end);
    return this.scale > 0 ? this.#offset / this.scale : 0;
  }

  /** Does the lead rise by less than that from its first sample on? */
  #isFlatAtStart(rise: number): boolean {
    return this.#count > this.#startSamples && this.#ring[this.#startSamples & this.#mask]! - this.#ring[0]! < rise;
  }

  /** Finds foot and mid-amplitude crossing of the upstroke whose slope sum peaks at a sample.
   *  @param n index of the newest sample pushed  @param end index of the last one received, before any that were held or stood still
   *  @returns is its place known? Not of one that begins with the first sample, or still rises with the last: how far is not in the data */
  locate(at: number, n: number, end: number): boolean {
    const ring = this.#ring;
    const mask = this.#mask;
    // sample i of the detector is entry i + shift of the ring (they part after a gap)
    const shift = this.#count - 1 - n;
    const last = this.#count - 1;
    const centre = at + shift;
    const oldest = Math.max(0, centre - this.#footSamples);
    let top = Math.max(0, centre - this.#riseSamples);
    const topEnd = Math.min(last, centre + (this.#riseSamples >> 1));
    const lastKnown = end + shift;
    // a top before the end is not looked for behind it
    for (let i = top; i <= topEnd && (i <= lastKnown || top >= lastKnown); i++) if (ring[i & mask]! > ring[top & mask]!) top = i;
    let foot = top;
    for (let i = top; i >= oldest; i--) if (ring[i & mask]! < ring[foot & mask]!) foot = i;
    const low = ring[foot & mask]!;
    const high = ring[top & mask]!;
    const middle = (low + high) / 2;
    let i = top;
    while (i > foot && ring[(i - 1) & mask]! >= middle) i--;
    const below = ring[(i - 1) & mask]!;
    const above = ring[i & mask]!;
    const fraction = i > foot && above > below ? (above - middle) / (above - below) : 0;
    this.foot = low;
    let bottom = high;
    const bottomEnd = Math.min(last, top + this.#fallSamples);
    for (let i = top; i <= bottomEnd; i++) if (ring[i & mask]! < bottom) bottom = ring[i & mask]!;
    this.fall = high - bottom;
    this.#offset = high - low;
    const crossing = i - fraction - this.#delay;
    this.crossing = crossing - shift;
    return top < lastKnown && crossing >= 0 && (foot > 0 || this.#isFlatAtStart((high - low) * START_SHARE));
  }
}
