/** Quality of one ECG lead, once a second: how likely is it that the beats around are right?
 *
 *  For the second [t, t + 1) the 10 s [t - 4, t + 6) are judged by published measures:
 *  - agreement of the R peaks with a second, independent detector (bSQI: Li 2008, doi:10.1088/0967-3334/29/1/002). The second one takes a
 *    higher band (second difference, about 12-30 Hz) and decides at once, by an adaptive threshold;
 *  - correlation of each beat with the mean beat (Orphanidou 2015, doi:10.1109/JBHI.2014.2338351);
 *  - kurtosis of the band-passed signal (kSQI: Clifford 2012, doi:10.1088/0967-3334/33/9/1419);
 *  - fast noise (muscle, mains): power of the sample-to-sample steps over that of the QRS band;
 *  - baseline: movement of what lies below the QRS band over the power within it (after basSQI);
 *  - steadiness of RR, and the detector's own confidence.
 *  A logistic function of them, fitted on recordings with added noise (README.md says which, and how it does on the others), gives
 *  `sqi` = the probability that the F1 of the beats in the 10 s is at least 90 %.
 *  Flat or missing for more than 20 % of the window: 0. Flat means 0.2 s of one value: lead off, or the converter at its end.
 *
 *  A pure function of the samples since reset, however they were cut. Cost: its own RPeakDetector plus about half as much again. */
import { highPass, lowPass } from './biquad.ts';
import type { Biquad } from './biquad.ts';
import { appendBeat, noBeats } from './kernel-beats.ts';
import type { FoundBeats } from './kernel.ts';
import type { FoundQuality } from './ppg-quality.ts';
import { RPeakDetector } from './r-peaks.ts';
import type { QualityFlag } from '../signal.ts';
import { BAD, GOOD, SUSPECT } from '../signal.ts';

const BEFORE_SEC = 4;
const AFTER_SEC = 6;
const WINDOW_SEC = BEFORE_SEC + AFTER_SEC;
const RATE = 125; // Hz, of the band-passed signal: nearest that divides fs
const MATCH_SEC = 0.15;
const FLAT_SEC = 0.2;
const LOST_MAX = 0.2;
const BEATS_MIN = 3;
const MAGNITUDE_MAX = 1e30;
const SHAPE_HALF_SEC = 0.1;
const GUARD_SEC = 0.12; // around a beat, left out of what lies between
const HEIGHTS = 64;
const SECONDS = 32; // ring of per-second sums; more than window and latency

/** `sqi` at or above: good; below the other: bad. */
export const ecgSqiGood = 0.97;
export const ecgSqiBad = 0.5;

export const ecgQualityFeatures = [
  'agreement',
  'template',
  'kurtosis',
  'fastNoise',
  'baseline',
  'rrSpread',
  'confidence',
  'confidenceLow',
  'rrOdd',
  'rest',
  'restHigh',
  'heightSpread',
  'disagreement',
  'templateLow',
] as const;
const FEATURES = ecgQualityFeatures.length;

/** Logistic weights in the order of ecgQualityFeatures. */
const CONSTANT = 0.076;
const WEIGHTS: readonly number[] = [
  -4.625, 0.413, 1.738, 0.204, 2.977, -4.438, 7.906, 0.255, -5.715, -2.679, -0.018, -3.754, -2.037, -0.265,
];

export function ecgFlag(sqi: number): QualityFlag {
  return sqi >= ecgSqiGood ? GOOD : sqi < ecgSqiBad ? BAD : SUSPECT;
}

/** Call push with every sample of one lead in order, flush at the end. NaN marks a missing sample. */
export class EcgQuality {
  readonly latencySec: number;
  /** What the last second was judged by, in the order of ecgQualityFeatures; for fitting. */
  readonly features = new Float64Array(FEATURES);
  readonly #fs: number;
  readonly #decimation: number;
  readonly #fd: number;
  readonly #first: RPeakDetector;
  readonly #second: SharpnessDetector;
  readonly #found = noBeats(64);
  readonly #other = noBeats(64);
  readonly #high: Biquad;
  readonly #low: Biquad;
  readonly #band: Float64Array;
  readonly #mask: number;
  readonly #flatRunMin: number;
  readonly #heights = new Float64Array(HEIGHTS);
  readonly #shapeHalf: number;
  readonly #shape: Float64Array;
  readonly #shapeSum: Float64Array;
  // sums of each second, rings of SECONDS
  readonly #bandSquares = new Float64Array(SECONDS);
  readonly #bandFourths = new Float64Array(SECONDS);
  readonly #stepSquares = new Float64Array(SECONDS);
  readonly #baseSteps = new Float64Array(SECONDS);
  readonly #lost = new Float64Array(SECONDS);
  readonly #state = new Float64Array(4);
  #fresh = true;
  #last = 0;
  #flatRun = 0;
  #baseLast = 0;
  #partial = 0;
  #phase = 0;
  #n = 0;
  #k = 0;
  #judged = 0;

  /** @param fs sampling rate in Hz, 100..1000 */
  constructor(fs: number) {
    this.#fs = fs;
    this.#decimation = Math.max(1, Math.round(fs / RATE));
    this.#fd = fs / this.#decimation;
    this.#first = new RPeakDetector(fs);
    this.#second = new SharpnessDetector(this.#fd, this.#decimation);
    this.latencySec = AFTER_SEC + this.#first.latencySec;
    this.#high = highPass(5, this.#fd);
    this.#low = lowPass(30, this.#fd);
    const length = 2 ** Math.ceil(Math.log2((WINDOW_SEC + this.latencySec + 2) * this.#fd));
    this.#band = new Float64Array(length);
    this.#mask = length - 1;
    this.#flatRunMin = Math.round(FLAT_SEC * fs);
    this.#shapeHalf = Math.round(SHAPE_HALF_SEC * this.#fd);
    this.#shape = new Float64Array(2 * this.#shapeHalf + 1);
    this.#shapeSum = new Float64Array(2 * this.#shapeHalf + 1);
  }

  reset(): void {
    this.#first.reset();
    this.#second.reset();
    this.#found.count = this.#other.count = 0;
    this.#band.fill(0);
    for (const sums of [this.#bandSquares, this.#bandFourths, this.#stepSquares, this.#baseSteps, this.#lost]) sums.fill(0);
    this.#state.fill(0);
    this.#fresh = true;
    this.#last = 0;
    this.#flatRun = 0;
    this.#baseLast = 0;
    this.#partial = 0;
    this.#phase = 0;
    this.#n = 0;
    this.#k = 0;
    this.#judged = 0;
  }

  push(x: Float64Array | readonly Float64Array[], from: number, to: number, out: FoundQuality): void {
    const lead = x instanceof Float64Array ? x : x[0]!;
    const leads = [lead];
    for (let at = from; at < to;) {
      // Never across the end of a second: its sums and its judgement are at one place whatever the cut.
      const secondEnd = Math.ceil((Math.floor(this.#n / this.#fs + 1e-9) + 1) * this.#fs - 1e-6);
      const end = Math.min(to, at + Math.max(1, secondEnd - this.#n));
      this.#first.push(leads, at, end, this.#found);
      this.#measure(lead, at, end);
      at = end;
      while (this.#n >= (this.#judged + 1 + this.latencySec) * this.#fs) this.#judge(out);
    }
  }

  /** The data ends here: judge the seconds that are complete. */
  flush(out: FoundQuality): void {
    this.#first.flush(this.#found);
    while ((this.#judged + 1) * this.#fs <= this.#n) this.#judge(out);
  }

  /** Sums of the samples [from, to), all of one second. */
  #measure(x: Float64Array, from: number, to: number): void {
    const { b0: h0, b1: h1, b2: h2, a1: g1, a2: g2 } = this.#high;
    const { b0: l0, b1: l1, b2: l2, a1: m1, a2: m2 } = this.#low;
    const state = this.#state;
    const decimation = this.#decimation;
    const scale = 1 / decimation;
    const flatRunMin = this.#flatRunMin;
    const second = Math.floor(this.#n / this.#fs + 1e-9) % SECONDS;
    if (Math.floor((this.#n - 1) / this.#fs + 1e-9) !== Math.floor(this.#n / this.#fs + 1e-9)) {
      this.#bandSquares[second] = this.#bandFourths[second] = this.#stepSquares[second] = this.#baseSteps[second] = this.#lost[second] = 0;
    }
    let baseLast = this.#baseLast;
    const band = this.#band;
    const mask = this.#mask;
    let fresh = this.#fresh;
    let k = this.#k;
    const firstK = k;
    let last = this.#last;
    let flatRun = this.#flatRun;
    let partial = this.#partial;
    let phase = this.#phase;
    // Onto what the second has already: the same order of additions whatever the cut.
    let steps = this.#stepSquares[second]!;
    let squares = this.#bandSquares[second]!;
    let fourths = this.#bandFourths[second]!;
    let base = this.#baseSteps[second]!;
    let lost = this.#lost[second]!;
    let hz1 = state[0]!;
    let hz2 = state[1]!;
    let lz1 = state[2]!;
    let lz2 = state[3]!;
    for (let i = from; i < to; i++) {
      let v = x[i]!;
      if (!(v < MAGNITUDE_MAX && v > -MAGNITUDE_MAX)) {
        v = last;
        lost++;
        flatRun = 0;
      } else if (fresh) {
        fresh = false;
        last = v;
        const input = v;
        hz1 = -h0 * input;
        hz2 = h2 * input;
      } else if (v === last) {
        flatRun++;
        if (flatRun >= flatRunMin) lost += flatRun === flatRunMin ? flatRunMin : 1;
      } else flatRun = 0;
      const step = v - last;
      last = v;
      steps += step * step;
      partial += v;
      if (++phase < decimation) continue;
      phase = 0;
      const input = partial * scale;
      partial = 0;
      const u = h0 * input + hz1;
      hz1 = h1 * input - g1 * u + hz2;
      hz2 = h2 * input - g2 * u;
      const y = l0 * u + lz1;
      lz1 = l1 * u - m1 * y + lz2;
      lz2 = l2 * u - m2 * y;
      band[k++ & mask] = y;
      const square = y * y;
      squares += square;
      fourths += square * square;
      const low = input - u;
      base += Math.abs(low - baseLast);
      baseLast = low;
    }
    state[0] = hz1;
    state[1] = hz2;
    state[2] = lz1;
    state[3] = lz2;
    this.#fresh = fresh;
    this.#k = k;
    this.#second.push(band, mask, firstK, k, this.#other);
    this.#last = last;
    this.#flatRun = flatRun;
    this.#partial = partial;
    this.#phase = phase;
    this.#n += to - from;
    this.#stepSquares[second] = steps;
    this.#bandSquares[second] = squares;
    this.#bandFourths[second] = fourths;
    this.#baseSteps[second] = base;
    this.#lost[second] = lost;
    this.#baseLast = baseLast;
  }

  #judge(out: FoundQuality): void {
    const startSec = this.#judged++;
    const fromSec = Math.max(0, startSec - BEFORE_SEC);
    const toSec = Math.min(startSec + AFTER_SEC, Math.floor(this.#n / this.#fs + 1e-9));
    const from = fromSec * this.#fs;
    const to = toSec * this.#fs;
    dropBefore(this.#found, from - this.#fs);
    dropBefore(this.#other, from - this.#fs);
    let lost = 0;
    for (let s = fromSec; s < toSec; s++) lost += this.#lost[s % SECONDS]!;
    const first = lowerBound(this.#found, from);
    const last = lowerBound(this.#found, to);
    this.features.fill(0);
    let sqi = 0;
    if (lost <= LOST_MAX * (to - from) && last - first >= (BEATS_MIN * (toSec - fromSec)) / WINDOW_SEC && last - first >= 2) {
      this.#features(fromSec, toSec, first, last);
      let sum = CONSTANT;
      for (let i = 0; i < FEATURES; i++) sum += WEIGHTS[i]! * this.features[i]!;
      if (Number.isFinite(sum)) sqi = 1 / (1 + Math.exp(-sum)); // absurdly large samples overflow the fourth powers: 0
    }
    appendSecond(out, startSec, sqi);
  }

  #features(fromSec: number, toSec: number, first: number, last: number): void {
    const f = this.features;
    const { position, confidence } = this.#found;
    const count = last - first;
    f[0] = this.#agreement(first, last, fromSec * this.#fs, toSec * this.#fs);
    f[1] = this.#template(first, last);
    let squares = 0;
    let fourths = 0;
    let steps = 0;
    let base = 0;
    for (let s = fromSec; s < toSec; s++) {
      squares += this.#bandSquares[s % SECONDS]!;
      fourths += this.#bandFourths[s % SECONDS]!;
      steps += this.#stepSquares[s % SECONDS]!;
      base += this.#baseSteps[s % SECONDS]!;
    }
    const n = (toSec - fromSec) * this.#fd;
    f[2] = squares > 0 ? Math.min(3, Math.log((n * fourths) / (squares * squares))) : 0;
    // Per second: steps of the raw samples over the power of the QRS band.
    f[3] = squares > 0 ? Math.max(-4, Math.min(4, Math.log((steps * this.#fs) / (squares * 3000) + 1e-9))) : 4;
    f[4] = squares > 0 ? Math.max(-4, Math.min(4, Math.log(base / Math.sqrt(squares * n) + 1e-9))) : 4;
    let mean = 0;
    let low = 1;
    for (let i = first; i < last; i++) {
      mean += confidence[i]!;
      low = Math.min(low, confidence[i]!);
    }
    f[6] = mean / count;
    f[7] = low;
    let spread = 0;
    let odd = 0;
    for (let i = first + 2; i < last; i++) {
      const a = position[i - 1]! - position[i - 2]!;
      const b = position[i]! - position[i - 1]!;
      spread += Math.min(1, Math.abs(Math.log(b / a)));
    }
    for (let i = first + 1; i < last; i++) {
      const rr = (position[i]! - position[i - 1]!) / this.#fs;
      if (rr < 0.33 || rr > 1.8) odd++;
    }
    f[5] = count > 2 ? spread / (count - 2) : 0.5;
    f[8] = odd / (count - 1);
    this.#between(first, last);
    f[12] = Math.log(1.03 - f[0]!);
  }

  /** What lies between the beats over the height of the beats, and how alike those heights are. */
  #between(first: number, last: number): void {
    const f = this.features;
    const band = this.#band;
    const mask = this.#mask;
    const heights = this.#heights;
    const count = Math.min(last - first, HEIGHTS);
    const guard = Math.round(GUARD_SEC * this.#fd);
    const near = Math.round(0.06 * this.#fd);
    for (let b = 0; b < count; b++) {
      const centre = Math.round(this.#found.position[first + b]! / this.#decimation);
      let high = 0;
      for (let i = centre - near; i <= centre + near; i++) high = Math.max(high, Math.abs(band[i & mask]!));
      heights[b] = high;
    }
    const middle = heights.slice(0, count).toSorted()[count >> 1]!;
    if (!(middle > 0)) return;
    let rest = 0;
    let most = 0;
    let spread = 0;
    for (let b = 0; b < count; b++) spread += Math.min(1.5, Math.abs(Math.log(heights[b]! / middle + 1e-9)));
    for (let b = 1; b < count; b++) {
      const from = Math.round(this.#found.position[first + b - 1]! / this.#decimation) + guard;
      const to = Math.round(this.#found.position[first + b]! / this.#decimation) - guard;
      let high = 0;
      for (let i = from; i < to; i++) high = Math.max(high, Math.abs(band[i & mask]!));
      const share = Math.min(2, high / middle);
      rest += share;
      most = Math.max(most, share);
    }
    f[9] = rest / Math.max(1, count - 1);
    f[10] = most;
    f[11] = spread / count;
  }

  /** F1 of the two detectors against each other. */
  #agreement(first: number, last: number, from: number, to: number): number {
    const a = this.#found.position;
    const b = this.#other.position;
    const window = MATCH_SEC * this.#fs;
    let j = lowerBound(this.#other, from - window);
    let pairs = 0;
    for (let i = first; i < last; i++) {
      while (j < this.#other.count && b[j]! < a[i]! - window) j++;
      if (j < this.#other.count && b[j]! <= a[i]! + window) {
        pairs++;
        j++;
      }
    }
    const others = lowerBound(this.#other, to) - lowerBound(this.#other, from);
    return Math.min(1, (2 * pairs) / (last - first + others));
  }

  /** Mean correlation of the beats with their mean: for unit vectors that is |their sum| / their count. */
  #template(first: number, last: number): number {
    const band = this.#band;
    const half = this.#shapeHalf;
    const sum = this.#shapeSum;
    const shape = this.#shape;
    const length = shape.length;
    sum.fill(0);
    for (let b = first; b < last; b++) {
      const centre = Math.round(this.#found.position[b]! / this.#decimation);
      let energy = 0;
      for (let i = 0; i < length; i++) {
        const v = band[(centre - half + i) & this.#mask]!;
        shape[i] = v;
        energy += v * v;
      }
      if (energy === 0) continue;
      const scale = 1 / Math.sqrt(energy);
      for (let i = 0; i < length; i++) sum[i] = sum[i]! + shape[i]! * scale;
    }
    let norm = 0;
    for (let i = 0; i < length; i++) norm += sum[i]! * sum[i]!;
    const whole = Math.sqrt(norm);
    // The least of the beats' correlations with that mean.
    let least = 1;
    for (let b = first; b < last; b++) {
      const centre = Math.round(this.#found.position[b]! / this.#decimation);
      let energy = 0;
      let dot = 0;
      for (let i = 0; i < length; i++) {
        const v = band[(centre - half + i) & this.#mask]!;
        energy += v * v;
        dot += v * sum[i]!;
      }
      least = Math.min(least, energy > 0 && whole > 0 ? dot / (Math.sqrt(energy) * whole) : 0);
    }
    this.features[13] = least;
    return whole / (last - first);
  }
}

/** The independent detector: |second difference| of the band-passed signal, smoothed twice over 30 ms; its peaks against an adaptive
 *  threshold between the mean of the accepted ones and that of the rejected ones, raised for 400 ms after a beat and lowered when none
 *  came for 1.2 s. Every decision is taken at once, from the past alone: other errors than those of RPeakDetector, which is the point. */
class SharpnessDetector {
  readonly #scale: number;
  readonly #fd: number;
  readonly #smooth: number;
  readonly #delay: number;
  readonly #refractory: number;
  #y1 = 0;
  #y2 = 0;
  #m1 = 0;
  #m2 = 0;
  #peak = 0;
  #peakAt = 0;
  #falling = true;
  #signal = 0;
  #noise = 0;
  #lastAt = 0;

  /** @param scale samples of the lead per sample of the band-passed signal */
  constructor(fd: number, scale: number) {
    this.#scale = scale;
    this.#fd = fd;
    this.#smooth = 1 / (0.03 * fd);
    this.#delay = 0.06 * fd;
    this.#refractory = 0.25 * fd;
  }

  reset(): void {
    this.#y1 = this.#y2 = this.#m1 = this.#m2 = 0;
    this.#peak = 0;
    this.#falling = true;
    this.#signal = this.#noise = 0;
    this.#lastAt = 0;
  }

  /** Samples [from, to) of the band-passed signal in its ring; positions are appended in samples of the lead. */
  push(band: Float64Array, mask: number, from: number, to: number, out: FoundBeats): void {
    const smooth = this.#smooth;
    let y1 = this.#y1;
    let y2 = this.#y2;
    let m1 = this.#m1;
    let m2 = this.#m2;
    let peak = this.#peak;
    let peakAt = this.#peakAt;
    let falling = this.#falling;
    for (let k = from; k < to; k++) {
      const y = band[k & mask]!;
      const bend = y - 2 * y1 + y2;
      y2 = y1;
      y1 = y;
      m1 += (Math.abs(bend) - m1) * smooth;
      m2 += (m1 - m2) * smooth;
      if (m2 > peak) {
        peak = m2;
        peakAt = k;
        falling = false;
      } else if (m2 < 0.7 * peak) {
        if (!falling) this.#judge(peakAt, peak, out);
        falling = true;
        peak = m2;
      }
    }
    this.#y1 = y1;
    this.#y2 = y2;
    this.#m1 = m1;
    this.#m2 = m2;
    this.#peak = peak;
    this.#peakAt = peakAt;
    this.#falling = falling;
  }

  #judge(at: number, height: number, out: FoundBeats): void {
    if (at < this.#fd) {
      // The first second only teaches.
      this.#signal = Math.max(this.#signal, 0.7 * height);
      this.#noise = 0.2 * this.#signal;
    }
    const since = at - this.#lastAt;
    let threshold = this.#noise + 0.35 * (this.#signal - this.#noise);
    if (since < 0.4 * this.#fd) threshold *= 2 - since / (0.4 * this.#fd);
    if (since > 1.2 * this.#fd) threshold *= 0.6;
    if (since >= this.#refractory && height > threshold) {
      this.#signal += (Math.min(height, 2 * this.#signal) - this.#signal) / 6;
      this.#lastAt = at;
      appendBeat(out, Math.max(0, at - this.#delay) * this.#scale, 1);
    } else {
      this.#noise += (Math.min(height, this.#signal) - this.#noise) / 8;
      if (since > 2 * this.#fd) this.#signal *= 0.9;
    }
  }
}

function dropBefore(beats: FoundBeats, position: number): void {
  const first = lowerBound(beats, position);
  if (first === 0) return;
  beats.position.copyWithin(0, first, beats.count);
  beats.confidence.copyWithin(0, first, beats.count);
  beats.count -= first;
}

function lowerBound(beats: FoundBeats, position: number): number {
  let i = 0;
  while (i < beats.count && beats.position[i]! < position) i++;
  return i;
}

function appendSecond(out: FoundQuality, startSec: number, sqi: number): void {
  if (out.count === out.sqi.length) {
    const grow = (column: Float64Array): Float64Array => {
      const grown = new Float64Array(2 * column.length);
      grown.set(column);
      return grown;
    };
    out.startSec = grow(out.startSec);
    out.sqi = grow(out.sqi);
    const flag = new Uint8Array(2 * out.flag.length);
    flag.set(out.flag);
    out.flag = flag;
  }
  out.startSec[out.count] = startSec;
  out.sqi[out.count] = sqi;
  out.flag[out.count++] = ecgFlag(sqi);
}
