/** Frequency-domain heart rate variability of one window of NN intervals. */
import FFT from 'fft.js';

/** Bands of the Task Force 1996 (doi:10.1161/01.CIR.93.5.1043), Hz. */
export const vlfHz = 0.003;
export const lfHz = 0.04;
export const hfHz = 0.15;
export const endHz = 0.4;
/** 4 Hz, as Kubios and most published work; the HF band ends a factor of five below its half. */
export const resampleHz = 4;
const fftSize = 2048;

/** The least that is left out between two intervals, s: less is the places of beats, which vary. */
export const HOLE_MIN_SEC = 0.2;
/** A longer hole leaves no value, s: ten heart beats and more, of which nothing is known. */
export const HOLE_MAX_SEC = 10;
/** The most that one Hann window makes of the variance: all of it lies in the middle of the window. */
const POWER_MAX = 8 / 3;

export type BandPowers = { vlfMs2: number; lfMs2: number; hfMs2: number };

const fft = new FFT(fftSize);
const input = new Float64Array(fftSize);
const output = new Float64Array(2 * fftSize);
/** Second derivatives of the spline and its elimination column. */
const spline = { size: 0, second: new Float64Array(0), u: new Float64Array(0) };

/** Power in the VLF, LF and HF bands of one window (at most 512 s).
 *  The interval series (interval i at the time of the beat that ends it) is resampled at 4 Hz by a natural cubic spline, its straight
 *  line is taken off, and the periodogram under one Hann window (power-corrected) is summed over the band. One window and no Welch
 *  average: 300 s hold 12 periods of the slowest LF wave, and cutting them further would smear LF into VLF.
 *  Linear resampling loses 23 % of the power at 0.25 Hz and 75 beats/min; the spline keeps EC57's TP2 within the 5 % of the standard.
 *  Where intervals were left out, the spline ends and a straight line leads to its next piece: a spline swings across a hole and makes up
 *  more power than there is (docs/dsp/ecg.md), a line takes away the power of the hole.
 *  @param tSec times of the intervals' ends, ascending  @param nnMs the intervals  @param count at least 16, else NaN
 *  @param leastSec intervals must cover so much, else NaN
 *  @returns ms^2; NaN for a hole above `HOLE_MAX_SEC`, too */
export function bandPowers(tSec: Float64Array, nnMs: Float64Array, count: number, leastSec = 0): BandPowers {
  const scale = transform(tSec, nnMs, count, leastSec);
  return { vlfMs2: sumBand(vlfHz, lfHz, scale), lfMs2: sumBand(lfHz, hfHz, scale), hfMs2: sumBand(hfHz, endHz, scale) };
}

/** Between two frequencies of a density, Hz. */
export const densityStepHz = resampleHz / fftSize;
/** Frequencies of a density: from 0 to 0.5 Hz. */
export const densityCount = 0.5 / densityStepHz + 1;

/** The density that `bandPowers` sums, ms^2/Hz, added to `out`.
 *  @param out length densityCount  @returns false: `bandPowers` has no value, nothing was added */
export function addDensity(tSec: Float64Array, nnMs: Float64Array, count: number, leastSec: number, out: Float64Array): boolean {
  const scale = transform(tSec, nnMs, count, leastSec);
  if (Number.isNaN(scale)) return false;
  for (let k = 0; k < densityCount; k++) out[k]! += (binOf(k) * scale) / densityStepHz;
  return true;
}

/** The spectrum of a window into `output`.
 *  @returns what a bin of it is multiplied by to be ms^2; NaN: there are too few intervals, or too large a hole between them */
function transform(tSec: Float64Array, nnMs: Float64Array, count: number, leastSec: number): number {
  const n = count < 16 ? 0 : Math.min(fftSize, Math.floor((tSec[count - 1]! - tSec[0]!) * resampleHz) + 1);
  if (n < 16 * resampleHz || !isCovered(tSec, nnMs, count, leastSec)) return Number.NaN;
  resample(tSec, nnMs, count, n);
  detrend(n);
  const { weights, power: windowPower } = hannOf(n);
  let power = 0;
  for (let i = 0; i < n; i++) {
    const x = input[i]! * weights[i]!;
    power += x * x;
    input[i] = x;
  }
  // What is above it was made up between the intervals.
  if (power > POWER_MAX * varianceOf(nnMs, count) * windowPower) return Number.NaN;
  input.fill(0, n);
  fft.realTransform(output, input);
  // one-sided density 2 |X|^2 / (fs * sum w^2), times the bin width fs / size
  return 2 / (windowPower * fftSize);
}

/** What was left out before interval i, s. */
const holeBefore = (tSec: Float64Array, nnMs: Float64Array, i: number): number => tSec[i]! - tSec[i - 1]! - nnMs[i]! / 1000;

function isCovered(tSec: Float64Array, nnMs: Float64Array, count: number, leastSec: number): boolean {
  let ms = nnMs[0]!;
  for (let i = 1; i < count; i++) {
    if (holeBefore(tSec, nnMs, i) > HOLE_MAX_SEC) return false;
    ms += nnMs[i]!;
  }
  return ms >= 1000 * leastSec;
}

function varianceOf(x: Float64Array, count: number): number {
  let mean = 0;
  for (let i = 0; i < count; i++) mean += x[i]! / count;
  let squares = 0;
  for (let i = 0; i < count; i++) squares += (x[i]! - mean) ** 2;
  return squares / (count - 1);
}

const binOf = (k: number): number => output[2 * k]! * output[2 * k]! + output[2 * k + 1]! * output[2 * k + 1]!;

type Window = Readonly<{ weights: Float64Array; power: number }>;

/** By length: windows of 300 s have some ten. */
const windows = new Map<number, Window>();
const WINDOWS_KEPT = 32;

function hannOf(n: number): Window {
  const known = windows.get(n);
  if (known !== undefined) return known;
  const weights = Float64Array.from({ length: n }, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * (i + 0.5)) / n));
  let power = 0;
  for (const w of weights) power += w * w;
  const hann = { weights, power };
  if (windows.size === WINDOWS_KEPT) windows.delete(windows.keys().next().value!);
  windows.set(n, hann);
  return hann;
}

function sumBand(fromHz: number, toHz: number, scale: number): number {
  const from = Math.ceil((fromHz * fftSize) / resampleHz);
  const to = Math.ceil((toHz * fftSize) / resampleHz);
  let sum = 0;
  for (let k = from; k < to; k++) sum += binOf(k);
  return sum * scale;
}

/** A natural cubic spline through each row of intervals without a hole, and straight lines between, read at 4 Hz into `input`. */
function resample(t: Float64Array, y: Float64Array, count: number, n: number): void {
  if (spline.size < count) {
    spline.size = count * 2;
    spline.second = new Float64Array(spline.size);
    spline.u = new Float64Array(spline.size);
  }
  let first = 0;
  for (let i = 1; i <= count; i++) {
    if (i < count && holeBefore(t, y, i) <= HOLE_MIN_SEC) continue;
    bend(t, y, first, i - 1);
    first = i;
  }
  const { second } = spline;
  let j = 0;
  for (let i = 0; i < n; i++) {
    const at = t[0]! + i / resampleHz;
    while (j < count - 2 && t[j + 1]! <= at) j++;
    const h = t[j + 1]! - t[j]!;
    const a = (t[j + 1]! - at) / h;
    const b = 1 - a;
    input[i] = a * y[j]! + b * y[j + 1]! + (((a * a * a - a) * second[j]! + (b * b * b - b) * second[j + 1]!) * h * h) / 6;
  }
}

/** Second derivatives of the natural spline of intervals first..last: 0 at both ends (Press et al., Numerical Recipes, section 3.3). Those
 *  on both sides of a hole are such ends, so what is read between them is a line. */
function bend(t: Float64Array, y: Float64Array, first: number, last: number): void {
  const { second, u } = spline;
  second[first] = u[first] = 0;
  for (let i = first + 1; i < last; i++) {
    const left = t[i]! - t[i - 1]!;
    const right = t[i + 1]! - t[i]!;
    const share = left / (left + right);
    const p = share * second[i - 1]! + 2;
    second[i] = (share - 1) / p;
    const turn = (y[i + 1]! - y[i]!) / right - (y[i]! - y[i - 1]!) / left;
    u[i] = ((6 * turn) / (left + right) - share * u[i - 1]!) / p;
  }
  second[last] = 0;
  for (let i = last - 1; i > first; i--) second[i] = second[i]! * second[i + 1]! + u[i]!;
}

/** Takes the least-squares line off the first n values of `input`. */
function detrend(n: number): void {
  const middle = (n - 1) / 2;
  let sum = 0;
  let moment = 0;
  for (let i = 0; i < n; i++) {
    sum += input[i]!;
    moment += input[i]! * (i - middle);
  }
  const mean = sum / n;
  const slope = moment / ((n * (n * n - 1)) / 12);
  for (let i = 0; i < n; i++) input[i] = input[i]! - mean - slope * (i - middle);
}
