/** Measures the wave of a single pulse: how fast it rises, how broad it is, and how much of it comes back from the body.
 *
 *  The pulse is smoothed by a Gaussian of `SMOOTH_SEC` (-3 dB at 8.3 Hz, no shift in time), whatever its rate, so that rates from 50 Hz on
 *  give the same. From it, in order:
 *  - foot: where the tangent of the steepest rise meets the level of the least value before it (intersecting tangents, Chiu et al. 1991,
 *    Am Heart J 121:1460), which hardly moves with noise or a sloping diastole;
 *  - a straight line from that least value to the one before the next pulse is taken off: heights and areas are over it;
 *  - top: the highest value;
 *  - a, b, c, d, e: the waves of the second derivative (Takazawa et al. 1998, doi:10.1161/01.HYP.32.2.365): a its maximum in the rise, b
 *    the first minimum after the steepest rise, e the largest maximum after it, in the first 60 % of the pulse: the dicrotic notch; c and
 *    d the largest maximum and the least minimum between b and e, where there are any;
 *  - diastolic wave: the first maximum after e, or where there is none the point where the fall is slowest (Millasseau et al. 2002,
 *    Clin Sci 103:371). */

/** Standard deviation of the Gaussian that smooths the pulse. */
export const SMOOTH_SEC = 0.016;
/** Pulses longer than this are not measured, 30 /min, nor shorter ones, 200 /min. */
export const PULSE_MAX_SEC = 2;
export const PULSE_MIN_SEC = 0.3;
/** The least value before a rise is looked for this far before its middle, and over half of the pulse before at most. */
export const FOOT_SEC = 0.35;
/** b lies at most this far after the steepest rise. */
export const B_SEC = 0.16;
/** e lies in this share of the pulse, from its foot. */
export const NOTCH_SHARE = 0.6;
/** The diastolic wave begins before this share. */
export const DIASTOLIC_SHARE = 0.8;
/** Half width of the kernels, in standard deviations. */
const REACH = 4;
/** Samples next to a pulse that its slopes are taken from. */
const MARGIN = 3;

/** In the order of `PulseWaveMeter.values`. */
export const pulseWaveMeasures = ['crest', 'width', 'area', 'reflection', 'delay', 'ba', 'aging'] as const;
export type PulseWaveMeasure = (typeof pulseWaveMeasures)[number];

/** Gives `out.length` samples from a position on.  @returns false when one is missing */
export type SamplesFrom = (from: number, out: Float64Array) => boolean;

// shared by every instance of the thread: nothing of them outlives a call
let given = new Float64Array(512);
let level = new Float64Array(512);
let second = new Float64Array(512);

/** Measures pulses of one rate. */
export class PulseWaveMeter {
  /** Of the last pulse measured; NaN for what it does not show:
   *  - crest: foot to top, ms (Alty et al. 2007, doi:10.1109/TBME.2007.897805);
   *  - width: at half of its height, ms (Awad et al. 2007, J Clin Monit Comput 21:365);
   *  - area: after the notch over before it, 1 (Wang et al. 2009, Proc IEEE EMBS 31:1746);
   *  - reflection: height of the diastolic wave over that of the pulse, % (Chowienczyk et al. 1999, J Am Coll Cardiol 34:2007);
   *  - delay: top to diastolic wave, ms (Millasseau et al. 2002);
   *  - ba: b / a, 1; aging: (b - c - d - e) / a, 1 (Takazawa et al. 1998). */
  readonly values = new Float64Array(pulseWaveMeasures.length);
  readonly #rate: number;
  readonly #smooth: Float64Array;
  readonly #bend: Float64Array;
  readonly #half: number;

  /** @param rate of the samples, Hz, at least 50  @param averaged s over which each of them is a mean already: 0 for none */
  constructor(rate: number, averaged = 0) {
    this.#rate = rate;
    const sigma = Math.sqrt(SMOOTH_SEC ** 2 - averaged ** 2 / 12) * rate;
    this.#half = Math.ceil(REACH * sigma);
    this.#smooth = new Float64Array(2 * this.#half + 1);
    this.#bend = new Float64Array(2 * this.#half + 1);
    this.#fillKernels(sigma);
  }

  /** @param at position of the middle of the pulse's rise, in samples, and `next` of the one after it
   *  @param before s since the rise before  @param sign -1 where the pulse is upside down
   *  @returns false where it could not be measured: samples are missing, or nothing like a pulse is there */
  measure(samplesFrom: SamplesFrom, at: number, next: number, before: number, sign: 1 | -1): boolean {
    const rate = this.#rate;
    const seconds = (next - at) / rate;
    if (!(seconds >= PULSE_MIN_SEC && seconds <= PULSE_MAX_SEC && before >= PULSE_MIN_SEC)) return false;
    const back = Math.ceil(Math.min(FOOT_SEC, before / 2) * rate);
    const first = Math.round(at) - back - MARGIN;
    const count = Math.round(next) + MARGIN - first;
    if (!this.#smoothed(samplesFrom, first, count, sign)) return false;
    return this.#measureSmoothed(at - first, next - first, back, Math.ceil(Math.min(FOOT_SEC, seconds / 2) * rate));
  }

  #fillKernels(sigma: number): void {
    const half = this.#half;
    let sum = 0;
    let offset = 0;
    for (let i = -half; i <= half; i++) sum += this.#smooth[i + half] = Math.exp((-i * i) / (2 * sigma * sigma));
    for (let i = 0; i <= 2 * half; i++) {
      this.#smooth[i]! /= sum;
      offset += this.#bend[i] = this.#smooth[i]! * ((i - half) ** 2 / sigma ** 4 - 1 / sigma ** 2);
    }
    // exact for parabolas, however coarse the samples: no response to a level, and 2 to x^2
    let moment = 0;
    for (let i = 0; i <= 2 * half; i++) moment += (this.#bend[i]! -= offset * this.#smooth[i]!) * (i - half) ** 2;
    for (let i = 0; i <= 2 * half; i++) this.#bend[i]! *= (2 * this.#rate ** 2) / moment;
  }

  /** Samples [first, first + count) into `level` and `second`. */
  #smoothed(samplesFrom: SamplesFrom, first: number, count: number, sign: number): boolean {
    const half = this.#half;
    const length = count + 2 * half;
    if (given.length < length) {
      given = new Float64Array(2 * length);
      level = new Float64Array(2 * length);
      second = new Float64Array(2 * length);
    }
    const x = given.subarray(0, length);
    if (!samplesFrom(first - half, x)) return false;
    const smooth = this.#smooth;
    const bend = this.#bend;
    for (let i = 0; i < count; i++) {
      const centre = x[i + half]!;
      let y = smooth[half]! * centre;
      let a = bend[half]! * centre;
      for (let j = 1; j <= half; j++) {
        const pair = x[i + half - j]! + x[i + half + j]!;
        y += smooth[half + j]! * pair;
        a += bend[half + j]! * pair;
      }
      level[i] = sign * y;
      second[i] = sign * a;
    }
    return true;
  }

  /** @param at, next positions of the two rises in `level`  @param back, nextBack samples before them in which their least values lie */
  #measureSmoothed(at: number, next: number, back: number, nextBack: number): boolean {
    const { values } = this;
    const rate = this.#rate;
    const middle = Math.round(at);
    const low = least(level, middle - back, middle);
    const nextLow = least(level, Math.max(middle + 1, Math.round(next) - nextBack), Math.round(next));
    const perSample = (level[nextLow]! - level[low]!) / (nextLow - low);
    for (let i = low - MARGIN + 1; i < nextLow + MARGIN; i++) level[i]! -= perSample * (i - low);
    const base = level[low]!;
    const top = greatest(level, middle, nextLow);
    const height = parabolaTop(level, top) - base;
    if (!(height > 0) || top <= low || top >= nextLow - 1) return false;
    let steep = low + 1;
    for (let i = low + 1; i < top; i++) if (slopeAt(i) > slopeAt(steep)) steep = i;
    const foot = steep - (level[steep]! - base) / steepness(steep);
    if (!(foot >= low - 1 && foot < top)) return false;
    const topAt = top + parabolaShift(level, top);
    const rise = crossingBack(top, base + height / 2);
    const fall = crossingAhead(top, base + height / 2, nextLow);
    values.fill(Number.NaN);
    values[0] = (1000 * (topAt - foot)) / rate;
    values[1] = (1000 * (fall - rise)) / rate;
    this.#waves(low, foot, steep, topAt, nextLow, base, height);
    return true;
  }

  /** What follows from the waves of the second derivative. */
  #waves(low: number, foot: number, steep: number, topAt: number, nextLow: number, base: number, height: number): void {
    const { values } = this;
    const rate = this.#rate;
    const a = greatest(second, Math.max(1, low - 1), steep);
    const b = firstMinimum(steep, Math.min(nextLow - 1, steep + Math.ceil(B_SEC * rate)));
    if (b < 0 || !(second[a]! > 0) || !(second[b]! < 0)) return;
    const heightA = parabolaTop(second, a);
    const heightB = parabolaTop(second, b);
    values[5] = heightB / heightA;
    const e = greatestMaximum(b + 1, Math.min(nextLow - 1, Math.floor(foot + NOTCH_SHARE * (nextLow - foot))));
    if (e < 0) return;
    const notch = e + parabolaShift(second, e);
    if (notch <= topAt) return;
    const systolic = area(foot, notch, base);
    const diastolic = area(notch, nextLow, base);
    // a high-pass may draw the fall below the line between the feet
    if (diastolic > 0) values[2] = diastolic / systolic;
    const c = greatestMaximum(b + 1, e - 1);
    if (c > 0) {
      const d = least(second, c + 1, e);
      values[6] = (heightB - parabolaTop(second, c) - parabolaTop(second, d) - parabolaTop(second, e)) / heightA;
    }
    const wave = diastolicWave(e, Math.min(nextLow - 1, Math.floor(foot + DIASTOLIC_SHARE * (nextLow - foot))));
    if (Number.isNaN(wave)) return;
    values[3] = (100 * (levelAt(wave) - base)) / height;
    values[4] = (1000 * (wave - topAt)) / rate;
  }
}

const slopeAt = (i: number): number => (level[i + 1]! - level[i - 1]!) / 2;

/** Of fourth order: neighbours alone make the steepest rise less steep, the more so the coarser the samples. */
const steepness = (i: number): number => (8 * (level[i + 1]! - level[i - 1]!) - (level[i + 2]! - level[i - 2]!)) / 12;

/** Index of the least value in [from, to]; the last one of equals. */
function least(x: Float64Array, from: number, to: number): number {
  let at = to;
  for (let i = to; i >= from; i--) if (x[i]! < x[at]!) at = i;
  return at;
}

function greatest(x: Float64Array, from: number, to: number): number {
  let at = from;
  for (let i = from; i <= to; i++) if (x[i]! > x[at]!) at = i;
  return at;
}

/** Offset of the extremum of the parabola through a sample and its neighbours, -0.5 … 0.5. */
function parabolaShift(x: Float64Array, i: number): number {
  const bend = x[i - 1]! - 2 * x[i]! + x[i + 1]!;
  return bend === 0 ? 0 : Math.max(-0.5, Math.min(0.5, (x[i - 1]! - x[i + 1]!) / (2 * bend)));
}

function parabolaTop(x: Float64Array, i: number): number {
  return x[i]! - ((x[i - 1]! - x[i + 1]!) * parabolaShift(x, i)) / 4;
}

/** First minimum of the second derivative in (from, to); -1 without one. */
function firstMinimum(from: number, to: number): number {
  for (let i = from + 1; i < to; i++) if (second[i]! < second[i - 1]! && second[i]! <= second[i + 1]!) return i;
  return -1;
}

/** Largest maximum of the second derivative in (from, to); -1 without one. */
function greatestMaximum(from: number, to: number): number {
  let at = -1;
  for (let i = from + 1; i < to; i++)
    if (second[i]! > second[i - 1]! && second[i]! >= second[i + 1]! && (at < 0 || second[i]! > second[at]!)) at = i;
  return at;
}

/** Where the level passes a value before its top. */
function crossingBack(top: number, value: number): number {
  let i = top;
  while (i > 0 && level[i - 1]! > value) i--;
  return i - (level[i]! - value) / (level[i]! - level[i - 1]!);
}

/** Where it passes it after its top. */
function crossingAhead(top: number, value: number, end: number): number {
  let i = top;
  while (i < end && level[i + 1]! > value) i++;
  return i + (level[i]! - value) / (level[i]! - level[i + 1]!);
}

/** Position of the first maximum after the notch, or of the slowest fall where there is none; NaN where neither begins before the end. */
function diastolicWave(notch: number, end: number): number {
  let i = notch;
  while (i < end && !(second[i]! > 0 && second[i + 1]! <= 0)) i++;
  if (i >= end) return Number.NaN;
  const slowest = i + second[i]! / (second[i]! - second[i + 1]!);
  if (!(slopeAt(i) > 0)) return slowest;
  while (i < end && slopeAt(i + 1) > 0) i++;
  return i < end ? i + slopeAt(i) / (slopeAt(i) - slopeAt(i + 1)) : Number.NaN;
}

function levelAt(position: number): number {
  const i = Math.floor(position);
  return level[i]! + (position - i) * (level[i + 1]! - level[i]!);
}

/** Integral of the level over its base, in samples. */
function area(from: number, to: number, base: number): number {
  const first = Math.ceil(from);
  const last = Math.floor(to);
  let sum = 0;
  for (let i = first; i < last; i++) sum += (level[i]! + level[i + 1]!) / 2 - base;
  sum += (first - from) * ((levelAt(from) + level[first]!) / 2 - base);
  return sum + (to - last) * ((levelAt(to) + level[last]!) / 2 - base);
}
