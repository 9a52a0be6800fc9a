/** One wavelength of PPG: its band-pass, its last seconds, and the upstroke around a sample. */
import { highPass, lowPass } from '../kernels/biquad.ts';

const HIGH_PASS_HZ = 0.3;
const LOW_PASS_HZ = 8;
/** The foot of an upstroke is looked for this far before its top. */
export const FOOT_SEC = 0.35;
/** The fall after the top is looked for this far. */
const FALL_SEC = 0.3;
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
  readonly #delay: number;
  readonly #hb: readonly [number, number];
  readonly #ha: readonly [number, number];
  readonly #lb: readonly [number, number];
  readonly #la: readonly [number, number];
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
    // group delay of a Butterworth pair at low frequency: sqrt(2) / (2 pi f)
    const lowPassHz = Math.min(LOW_PASS_HZ, 0.4 * fs);
    this.#delay = (Math.SQRT2 / (2 * Math.PI * lowPassHz)) * fs;
    const high = highPass(HIGH_PASS_HZ, fs);
    const low = lowPass(lowPassHz, fs);
    this.#hb = [high.b0, high.b1];
    this.#ha = [high.a1, high.a2];
    this.#lb = [low.b0, low.b1];
    this.#la = [low.a1, low.a2];
  }

  reset(): void {
    this.#fresh = true;
    this.#count = 0;
    this.scale = 0;
    this.#blockRise = 0;
  }

  /** Filters one sample. @returns its rise over the sample before, 0 when it falls */
  push(value: number): number {
    if (this.#fresh) {
      this.#fresh = false;
      this.last = this.#x2 = value;
      this.#h1 = this.#h2 = this.#y1 = this.#y2 = 0;
    }
    const hb = this.#hb;
    const ha = this.#ha;
    const lb = this.#lb;
    const la = this.#la;
    const h = hb[0] * (value + this.#x2) + hb[1] * this.last - ha[0] * this.#h1 - ha[1] * this.#h2;
    const y = lb[0] * (h + this.#h2) + lb[1] * this.#h1 - la[0] * this.#y1 - la[1] * this.#y2;
    const rise = y > this.#y1 ? y - this.#y1 : 0;
    this.#x2 = this.last;
    this.last = value;
    this.#h2 = this.#h1;
    this.#h1 = h;
    this.#y2 = this.#y1;
    this.#y1 = y;
    this.#ring[this.#count++ & this.#mask] = y;
    this.#blockRise += rise;
    return rise;
  }

  closeBlock(samples: number): void {
    const mean = this.#blockRise / samples;
    this.scale = this.scale === 0 ? mean : this.scale + 0.125 * (mean - this.scale);
    this.#blockRise = 0;
  }

  /** Height of the upstroke that ends near a sample, over the lead's scale. @param n index of the newest sample pushed */
  riseAt(at: number, n: number): number {
    this.locate(at, n);
    return this.scale > 0 ? this.#offset / this.scale : 0;
  }

  /** Finds foot and mid-amplitude crossing of the upstroke whose slope sum peaks at a sample. */
  locate(at: number, n: number): void {
    const ring = this.#ring;
    const mask = this.#mask;
    // sample i of the detector is entry i + shift of the ring (they part after a gap)
    const shift = this.#count - 1 - n;
    const last = this.#count - 1;
    const centre = at + shift;
    const oldest = Math.max(0, centre - this.#footSamples);
    let top = Math.max(0, centre - this.#riseSamples);
    const topEnd = Math.min(last, centre + (this.#riseSamples >> 1));
    for (let i = top; i <= topEnd; i++) if (ring[i & mask]! > ring[top & mask]!) top = i;
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
    this.crossing = i - fraction - shift - this.#delay;
  }
}
