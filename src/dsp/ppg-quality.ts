/** Quality of a PPG channel, once a second: how likely is it that the beats around are right?
 *
 *  For the second [t, t + 1) the 10 s [t - 4, t + 6) are judged by published measures:
 *  - agreement of the beats with a second, independent detector (two moving averages, Elgendi 2013, doi:10.1371/journal.pone.0076585),
 *    as bSQI does for ECG (Li 2008, doi:10.1088/0967-3334/29/1/002);
 *  - correlation of each beat with the mean beat (Orphanidou 2015, doi:10.1109/JBHI.2014.2338351);
 *  - skewness (Elgendi 2016, doi:10.3390/bioengineering3040021);
 *  - steadiness of intervals and of heights, periodicity (autocorrelation at the median interval), the detector's own confidence;
 *  - noise: power at 5-8 Hz over that at 0.4-8 Hz;
 *  - where the engine runs PpgMotionHeartRate on the same sensor: how far the rate of the beats is from the spectral one, and how much of the
 *    cleaned spectrum supports that one. This is what tells a motion artefact, itself a fine periodic pulse, from a pulse.
 *  A logistic function of them, fitted on recordings with simultaneous ECG (README.md says which, and how it does on the others),
 *  gives `sqi` = the probability that at least 90 % of the beats of the 10 s are right.
 *  No perfusion index: most devices send PPG without its DC level.
 *
 *  Cost: its own PpgBeatDetector plus about as much again. */
import { highPass, lowPass } from './biquad.ts';
import type { Biquad } from './biquad.ts';
import type { FoundBeats } from './kernel.ts';
import { PpgBeatDetector } from './ppg-beats.ts';
import type { FoundRates } from './ppg-motion-hr.ts';
import { TwoAverageDetector } from './ppg-two-averages.ts';
import type { QualityFlag } from '../signal.ts';
import { BAD, GOOD, SUSPECT } from '../signal.ts';

const BEFORE_SEC = 4;
const AFTER_SEC = 6;
const WINDOW_SEC = BEFORE_SEC + AFTER_SEC;
const MATCH_SEC = 0.15;
/** A window with more missing or flat samples than this is bad whatever the rest says. */
const LOST_MAX = 0.2;
const BEATS_MIN = 4;
/** A second waits at most this long for its rate; then it is judged without. */
const WAIT_SEC = 16;
const RATE_STEP_SEC = 2;
const RATE_RING = 64;
/** Samples along one beat for the template. */
const SHAPE = 24;
const BEATS_MAX = 64;

/** `sqi` at or above: good; below the other: bad. */
export const ppgSqiGood = 0.96;
export const ppgSqiBad = 0.6;

export const ppgQualityFeatures = [
  'agreement',
  'templateMean',
  'templateLow',
  'skewness',
  'confidence',
  'confidenceLow',
  'intervalSpread',
  'heightSpread',
  'periodicity',
  'noise',
  'rateOff',
  'rateShare',
] as const;
const FEATURES = ppgQualityFeatures.length;
const RATE_OFF = FEATURES - 2;

type Weights = Readonly<{ constant: number; of: readonly number[] }>;

/** Logistic weights in the order of ppgQualityFeatures: with a spectral rate, and without. */
const withRates: Weights = {
  constant: -6.605,
  of: [0.695, 2.816, 0.951, 1.422, -1.376, 2.117, -9.462, 0.58, -0.197, -2.928, -8.341, 3.405],
};
const withoutRates: Weights = { constant: -5.82, of: [1.928, 0.092, 0.476, 1.32, 0.566, 1.689, -9.316, -0.732, 1.728, -2.988, 0, 0] };

/** Parallel growable columns. */
export type FoundQuality = {
  count: number;
  /** Start of the second judged, s since reset. */
  startSec: Float64Array;
  /** 0 … 1. */
  sqi: Float64Array;
  flag: Uint8Array;
};

export function emptyQuality(): FoundQuality {
  return { count: 0, startSec: new Float64Array(64), sqi: new Float64Array(64), flag: new Uint8Array(64) };
}

export function ppgFlag(sqi: number): QualityFlag {
  return sqi >= ppgSqiGood ? GOOD : sqi < ppgSqiBad ? BAD : SUSPECT;
}

/** Call push with every sample of one PPG channel in order, flush at the end. A second is judged once AFTER_SEC and the detector's latency
 *  have passed; the seconds before BEFORE_SEC after reset are judged by a shorter window. NaN marks a missing sample. */
export class PpgQuality {
  readonly latencySec: number;
  /** What the last second was judged by, in the order of ppgQualityFeatures; for fitting. */
  readonly features = new Float64Array(FEATURES);
  readonly #fs: number;
  readonly #first: PpgBeatDetector;
  readonly #second: TwoAverageDetector;
  readonly #found: FoundBeats = { count: 0, position: new Float64Array(256), confidence: new Float64Array(256) };
  readonly #other: FoundBeats = { count: 0, position: new Float64Array(256), confidence: new Float64Array(256) };
  readonly #ring: Float64Array;
  readonly #lost: Uint8Array;
  readonly #mask: number;
  readonly #high: Biquad;
  readonly #low: Biquad;
  readonly #state = new Float64Array(4);
  readonly #shapes = new Float64Array(BEATS_MAX * SHAPE);
  readonly #template = new Float64Array(SHAPE);
  readonly #scratch = new Float64Array(BEATS_MAX);
  readonly #heights = new Float64Array(BEATS_MAX);
  #fresh = true;
  #last = 0;
  #flatRun = 0;
  #n = 0;
  #second0 = 0;
  readonly #rates: boolean;
  readonly #rateBpm = new Float64Array(RATE_RING);
  readonly #rateShare = new Float64Array(RATE_RING);
  /** Frame (end / 2 s) of the newest rate. */
  #rateFrame = 0;
  readonly #noiseRing: Float64Array;
  readonly #noiseHigh: Biquad;
  readonly #noiseState = new Float64Array(2);

  /** @param rates true when rates will come by pushRates; then each second waits for its rate */
  constructor(fs: number, rates = false) {
    this.#fs = fs;
    this.#rates = rates;
    this.#first = new PpgBeatDetector(fs);
    this.#second = new TwoAverageDetector(fs);
    this.latencySec = AFTER_SEC + Math.max(this.#first.latencySec, this.#second.latencySec);
    let size = 1;
    while (size < (WINDOW_SEC + WAIT_SEC + this.latencySec) * fs) size *= 2;
    this.#ring = new Float64Array(size);
    this.#lost = new Uint8Array(size);
    this.#noiseRing = new Float64Array(size);
    this.#mask = size - 1;
    this.#noiseHigh = highPass(5, fs);
    this.#high = highPass(0.4, fs);
    this.#low = lowPass(Math.min(8, 0.4 * fs), fs);
  }

  reset(): void {
    this.#first.reset();
    this.#second.reset();
    this.#found.count = this.#other.count = 0;
    this.#fresh = true;
    this.#flatRun = 0;
    this.#n = 0;
    this.#second0 = 0;
    this.#rateFrame = 0;
    this.#rateBpm.fill(Number.NaN);
    this.#noiseState.fill(0);
    this.#state.fill(0);
    this.#last = 0;
  }

  /** Hands over the rates [from, to) that PpgMotionHeartRate found. Call it before `push` with the samples of the same time: rates lag by
   *  4 s, a second is judged 8 s late, so none waits. */
  pushRates(rates: FoundRates, from: number, to: number): void {
    for (let i = from; i < to; i++) {
      this.#rateFrame = Math.round(rates.endSec[i]! / RATE_STEP_SEC);
      this.#rateBpm[this.#rateFrame % RATE_RING] = rates.bpm[i]!;
      this.#rateShare[this.#rateFrame % RATE_RING] = rates.confidence[i]!;
    }
  }

  push(x: Float64Array, from: number, to: number, out: FoundQuality): void {
    const leads = [x];
    const chunk = Math.ceil(this.#fs); // the rings hold many seconds more than a judgement needs
    for (let at = from; at < to; at += chunk) {
      const end = Math.min(to, at + chunk);
      this.#first.push(leads, at, end, this.#found);
      this.#second.push(x, at, end, this.#other);
      this.#filter(x, at, end);
      while (this.#isDue()) this.#judge(this.#n, out);
    }
  }

  /** The data ends here: judge the seconds that are complete. */
  flush(out: FoundQuality): void {
    this.#first.flush(this.#found);
    while ((this.#second0 + 1) * this.#fs <= this.#n) this.#judge(this.#n, out);
  }

  #isDue(): boolean {
    const late = this.#n / this.#fs - this.#second0 - this.latencySec;
    if (late < 0) return false;
    return !this.#rates || this.#rateFrame >= rateFrameOf(this.#second0) || late >= WAIT_SEC;
  }

  #filter(x: Float64Array, from: number, to: number): void {
    const { b0, b1, b2, a1, a2 } = this.#high;
    const low = this.#low;
    const state = this.#state;
    const noiseHigh = this.#noiseHigh;
    const noiseState = this.#noiseState;
    for (let i = from; i < to; i++) {
      let value = x[i]!;
      let lost = 0;
      if (value - value !== 0) {
        value = this.#last;
        lost = 1;
        this.#flatRun = 0;
      } else if (this.#fresh) {
        this.#fresh = false;
        state[0] = (b1 + b2) * value;
        state[1] = b2 * value;
        state[2] = state[3] = 0;
      } else if (value === this.#last) {
        if (++this.#flatRun >= 0.2 * this.#fs) lost = 1;
      } else this.#flatRun = 0;
      this.#last = value;
      const h = b0 * value + state[0]!;
      state[0] = b1 * value - a1 * h + state[1]!;
      state[1] = b2 * value - a2 * h;
      const y = low.b0 * h + state[2]!;
      state[2] = low.b1 * h - low.a1 * y + state[3]!;
      state[3] = low.b2 * h - low.a2 * y;
      this.#ring[this.#n & this.#mask] = y;
      const noise = noiseHigh.b0 * y + noiseState[0]!;
      noiseState[0] = noiseHigh.b1 * y - noiseHigh.a1 * noise + noiseState[1]!;
      noiseState[1] = noiseHigh.b2 * y - noiseHigh.a2 * noise;
      this.#noiseRing[this.#n & this.#mask] = noise;
      this.#lost[this.#n & this.#mask] = lost;
      this.#n++;
    }
  }

  /** @param end samples known */
  #judge(end: number, out: FoundQuality): void {
    const startSec = this.#second0++;
    const from = Math.max(0, Math.round((startSec - BEFORE_SEC) * this.#fs));
    const to = Math.min(end, Math.round((startSec + AFTER_SEC) * this.#fs));
    dropBefore(this.#found, from - this.#fs);
    dropBefore(this.#other, from - this.#fs);
    let lost = 0;
    for (let i = from; i < to; i++) lost += this.#lost[i & this.#mask]!;
    const first = lowerBound(this.#found, from);
    const last = Math.min(lowerBound(this.#found, to), first + BEATS_MAX);
    let sqi = 0;
    this.features.fill(0);
    if (lost <= LOST_MAX * (to - from) && last - first >= (BEATS_MIN * (to - from)) / (WINDOW_SEC * this.#fs)) {
      this.#measure(first, last, from, to);
      const weights = this.#measureRate(startSec, first, last) ? withRates : withoutRates;
      let sum = weights.constant;
      for (let k = 0; k < FEATURES; k++) sum += weights.of[k]! * this.features[k]!;
      sqi = 1 / (1 + Math.exp(-sum));
    }
    appendQuality(out, startSec, sqi);
  }

  #measure(first: number, last: number, from: number, to: number): void {
    const f = this.features;
    const { position, confidence } = this.#found;
    const count = last - first;
    f[0] = agreement(this.#found, first, last, this.#other, from, to, MATCH_SEC * this.#fs);
    let trust = 0;
    let low = 1;
    for (let i = first; i < last; i++) {
      trust += confidence[i]!;
      if (confidence[i]! < low) low = confidence[i]!;
    }
    f[4] = trust / count;
    f[5] = low;
    // intervals: spread around their median
    const scratch = this.#scratch;
    const steps = count - 1;
    for (let i = 0; i < steps; i++) scratch[i] = position[first + i + 1]! - position[first + i]!;
    const interval = steps > 0 ? medianOf(scratch, steps) : this.#fs;
    f[6] = spread(scratch, steps, interval);
    this.#shape(first, count, interval, to);
    f[7] = spread(this.#heights, count, medianOf(this.#heights, count));
    f[3] = this.#skewness(from, to);
    f[8] = this.#periodicity(from, to, Math.round(interval));
    f[9] = this.#noise(from, to);
  }

  /** Compares the median interval with the spectral rate of the window that ends 3 or 4 s after the second starts.
   *  @returns false when there is none */
  #measureRate(startSec: number, first: number, last: number): boolean {
    const frame = rateFrameOf(startSec);
    const bpm = this.#rateBpm[frame % RATE_RING]!;
    if (!this.#rates || this.#rateFrame < frame || !(bpm > 0)) return false;
    const steps = last - first - 1;
    for (let i = 0; i < steps; i++) this.#scratch[i] = this.#found.position[first + i + 1]! - this.#found.position[first + i]!;
    const beatBpm = (60 * this.#fs) / medianOf(this.#scratch, steps);
    this.features[RATE_OFF] = Math.min(0.5, Math.abs(Math.log(beatBpm / bpm)));
    this.features[RATE_OFF + 1] = this.#rateShare[frame % RATE_RING]!;
    return true;
  }

  #noise(from: number, to: number): number {
    let noise = 0;
    let all = 0;
    for (let i = from; i < to; i++) {
      noise += this.#noiseRing[i & this.#mask]! ** 2;
      all += this.#ring[i & this.#mask]! ** 2;
    }
    return all > 0 ? 0.5 * Math.log(noise / all + 1e-4) : 0;
  }

  /** Resamples each beat to SHAPE points, from 0.3 intervals before to 0.5 after its position, and compares it with their mean. */
  #shape(first: number, count: number, interval: number, end: number): void {
    const shapes = this.#shapes;
    const template = this.#template;
    template.fill(0);
    const delay = this.#fs * 0.028;
    for (let b = 0; b < count; b++) {
      const centre = this.#found.position[first + b]! + delay;
      let min = Number.POSITIVE_INFINITY;
      let max = Number.NEGATIVE_INFINITY;
      let mean = 0;
      for (let k = 0; k < SHAPE; k++) {
        const at = Math.max(0, Math.min(end - 2, centre + (-0.3 + (0.8 * k) / (SHAPE - 1)) * interval));
        const i = Math.floor(at);
        const y = this.#ring[i & this.#mask]! + (at - i) * (this.#ring[(i + 1) & this.#mask]! - this.#ring[i & this.#mask]!);
        shapes[b * SHAPE + k] = y;
        mean += y / SHAPE;
        if (y < min) min = y;
        if (y > max) max = y;
      }
      this.#heights[b] = max - min;
      let power = 0;
      for (let k = 0; k < SHAPE; k++) {
        shapes[b * SHAPE + k] = shapes[b * SHAPE + k]! - mean;
        power += shapes[b * SHAPE + k]! ** 2;
      }
      const scale = power > 0 ? 1 / Math.sqrt(power) : 0;
      for (let k = 0; k < SHAPE; k++) {
        shapes[b * SHAPE + k] = shapes[b * SHAPE + k]! * scale;
        template[k] = template[k]! + shapes[b * SHAPE + k]!;
      }
    }
    let norm = 0;
    for (let k = 0; k < SHAPE; k++) norm += template[k]! ** 2;
    norm = norm > 0 ? 1 / Math.sqrt(norm) : 0;
    let sum = 0;
    let low = 1;
    for (let b = 0; b < count; b++) {
      let r = 0;
      for (let k = 0; k < SHAPE; k++) r += shapes[b * SHAPE + k]! * template[k]!;
      r *= norm;
      sum += r;
      if (r < low) low = r;
    }
    this.features[1] = sum / count;
    this.features[2] = low;
  }

  #skewness(from: number, to: number): number {
    const n = to - from;
    let mean = 0;
    for (let i = from; i < to; i++) mean += this.#ring[i & this.#mask]!;
    mean /= n;
    let second = 0;
    let third = 0;
    for (let i = from; i < to; i++) {
      const d = this.#ring[i & this.#mask]! - mean;
      second += d * d;
      third += d * d * d;
    }
    if (!(second > 0)) return 0;
    return Math.max(-2, Math.min(2, third / n / (second / n) ** 1.5));
  }

  #periodicity(from: number, to: number, lag: number): number {
    let product = 0;
    let a2 = 0;
    let b2 = 0;
    const step = Math.max(1, Math.round(this.#fs / 50));
    for (let i = from; i + lag < to; i += step) {
      const a = this.#ring[i & this.#mask]!;
      const b = this.#ring[(i + lag) & this.#mask]!;
      product += a * b;
      a2 += a * a;
      b2 += b * b;
    }
    return a2 > 0 && b2 > 0 ? product / Math.sqrt(a2 * b2) : 0;
  }
}

/** Frame of the spectral rate that a second is compared with. */
function rateFrameOf(startSec: number): number {
  return Math.ceil((startSec + 3) / RATE_STEP_SEC);
}

/** F1 between the beats [first, last) of one detector and those of another in [from, to). */
function agreement(a: FoundBeats, first: number, last: number, b: FoundBeats, from: number, to: number, tolerance: number): number {
  let j = lowerBound(b, from - tolerance);
  let hits = 0;
  let others = 0;
  for (let k = lowerBound(b, from); k < b.count && b.position[k]! < to; k++) others++;
  for (let i = first; i < last; i++) {
    while (j < b.count && b.position[j]! < a.position[i]! - tolerance) j++;
    if (j < b.count && b.position[j]! <= a.position[i]! + tolerance) {
      hits++;
      j++;
    }
  }
  return Math.min(1, (2 * hits) / Math.max(1, last - first + others));
}

/** Mean |log(x / centre)|, each at most 1. */
function spread(x: Float64Array, n: number, centre: number): number {
  if (n < 1 || !(centre > 0)) return 1;
  let sum = 0;
  for (let i = 0; i < n; i++) sum += x[i]! > 0 ? Math.min(1, Math.abs(Math.log(x[i]! / centre))) : 1;
  return sum / n;
}

function medianOf(x: Float64Array, n: number): number {
  const sorted = x.slice(0, n).sort();
  return n % 2 === 1 ? sorted[n >> 1]! : (sorted[(n >> 1) - 1]! + sorted[n >> 1]!) / 2;
}

function lowerBound(beats: FoundBeats, position: number): number {
  let low = 0;
  let high = beats.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (beats.position[middle]! < position) low = middle + 1;
    else high = middle;
  }
  return low;
}

function dropBefore(beats: FoundBeats, position: number): void {
  const keep = lowerBound(beats, position);
  if (keep === 0) return;
  beats.position.copyWithin(0, keep, beats.count);
  beats.confidence.copyWithin(0, keep, beats.count);
  beats.count -= keep;
}

function appendQuality(out: FoundQuality, startSec: number, sqi: number): void {
  if (out.count >= out.startSec.length) {
    const size = Math.max(64, 2 * out.startSec.length);
    const { startSec: oldStart, sqi: oldSqi, flag: oldFlag } = out;
    out.startSec = new Float64Array(size);
    out.sqi = new Float64Array(size);
    out.flag = new Uint8Array(size);
    out.startSec.set(oldStart);
    out.sqi.set(oldSqi);
    out.flag.set(oldFlag);
  }
  out.startSec[out.count] = startSec;
  out.sqi[out.count] = sqi;
  out.flag[out.count] = ppgFlag(sqi);
  out.count++;
}
