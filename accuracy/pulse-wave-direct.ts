/** The measures of a pulse wave computed directly, without anything of src/dsp/ppg/pulse-wave.ts: on a grid of 2 ms, from the samples as
 *  they were recorded, each point by its plain definition. To compare with. */
import { median } from './ppg-reference.ts';

/** Standard deviation of the Gaussian, s, as the method states it. */
const SIGMA = 0.016;
const STEP = 0.002;
/** A wave of the second derivative is no nearer to another than this, and b no further from the steepest rise than that, in steps. */
const [APART, B_REACH] = [2, 80];

export type DirectWave = Readonly<{
  crest: number;
  width: number;
  area: number;
  reflection: number;
  delay: number;
  ba: number;
  aging: number;
}>;

export const directMeasures = ['crest', 'width', 'area', 'reflection', 'delay', 'ba', 'aging'] as const satisfies (keyof DirectWave)[];

/** Level and its first two derivatives at any time, by the Gaussian and its derivatives over every sample within reach. */
function smoothAt(x: Float64Array, fs: number, t: number): [number, number, number] {
  const from = Math.max(0, Math.ceil((t - 5 * SIGMA) * fs));
  const to = Math.min(x.length - 1, Math.floor((t + 5 * SIGMA) * fs));
  let [w0, w1, w2, s0, s1, s2] = [0, 0, 0, 0, 0, 0];
  for (let k = from; k <= to; k++) {
    const u = (k / fs - t) / SIGMA;
    const g = Math.exp((-u * u) / 2);
    const [g1, g2] = [(u * g) / SIGMA, ((u * u - 1) * g) / SIGMA ** 2];
    w0 += g;
    w1 += g1;
    w2 += g2;
    s0 += g * x[k]!;
    s1 += g1 * x[k]!;
    s2 += g2 * x[k]!;
  }
  const y = s0 / w0;
  return [y, (s1 - y * w1) / w0, (s2 - y * w2) / w0];
}

/** @param at middle of the pulse's rise, s  @param next that of the next pulse  @param before s from the pulse before
 *  @returns null where nothing like a pulse is there */
export function directWave(x: Float64Array, fs: number, at: number, next: number, before: number): DirectWave | null {
  if (!(next - at >= 0.3 && next - at <= 2 && before >= 0.3)) return null;
  const start = at - Math.min(0.35, before / 2) - 0.02;
  const n = Math.round((next + 0.02 - start) / STEP);
  const level: number[] = [];
  const slope: number[] = [];
  const bend: number[] = [];
  for (let i = 0; i < n; i++) {
    const [y, d1, d2] = smoothAt(x, fs, start + i * STEP);
    level.push(y);
    slope.push(d1);
    bend.push(d2);
  }
  const index = (t: number): number => Math.round((t - start) / STEP);
  const where = (values: readonly number[], from: number, to: number, isBetter: (a: number, b: number) => boolean): number => {
    let found = from;
    for (let i = from; i <= to; i++) if (isBetter(values[i]!, values[found]!)) found = i;
    return found;
  };
  const lower = (a: number, b: number): boolean => a <= b;
  const higher = (a: number, b: number): boolean => a > b;
  const low = where(level, index(at - Math.min(0.35, before / 2)), index(at), lower);
  const nextLow = where(level, index(Math.max(at, next - Math.min(0.35, (next - at) / 2))), index(next), lower);
  const line = (level[nextLow]! - level[low]!) / (nextLow - low);
  const x0 = level.map((y, i) => y - level[low]! - line * (i - low));
  const x1 = slope.map((d) => d - line / STEP);
  const top = where(x0, index(at), nextLow, higher);
  const height = x0[top]!;
  if (!(height > 0) || top === nextLow) return null;
  const steep = where(x1, low, top, higher);
  const foot = steep - x0[steep]! / (x1[steep]! * STEP);
  let rise = top;
  while (x0[rise]! > height / 2) rise--;
  let fall = top;
  while (x0[fall]! > height / 2) fall++;
  const width =
    fall - (height / 2 - x0[fall]!) / (x0[fall - 1]! - x0[fall]!) - (rise + (height / 2 - x0[rise]!) / (x0[rise + 1]! - x0[rise]!));
  const peaks = (from: number, to: number): number[] => {
    const found: number[] = [];
    for (let i = from; i < to; i++) if (bend[i]! > bend[i - 1]! && bend[i]! >= bend[i + 1]!) found.push(i);
    return found;
  };
  const largest = (found: readonly number[]): number => found.reduce((best, i) => (best < 0 || bend[i]! > bend[best]! ? i : best), -1);
  const a = where(bend, low, steep, higher);
  let b = steep + 1;
  while (b < steep + B_REACH && !(bend[b]! < bend[b - 1]! && bend[b]! <= bend[b + 1]!)) b++;
  const none = Number.NaN;
  const wave = { crest: (top - foot) * 1000 * STEP, width: width * 1000 * STEP, area: none, reflection: none, delay: none };
  const ba = bend[b]! / bend[a]!;
  const e = largest(peaks(b + APART, Math.floor(foot + 0.6 * (nextLow - foot))));
  if (e < 0 || e <= top) return { ...wave, ba, aging: none };
  const sum = (from: number, to: number): number => x0.slice(Math.round(from), Math.round(to)).reduce((total, y) => total + y, 0);
  const ratio = sum(e, nextLow) / sum(foot, e);
  const c = largest(peaks(b + APART, e - APART));
  const d = c < 0 ? -1 : where(bend, c, e, lower);
  const aging = c < 0 ? none : (bend[b]! - bend[c]! - bend[d]! - bend[e]!) / bend[a]!;
  const end = Math.floor(foot + 0.8 * (nextLow - foot));
  let diastolic = e;
  while (diastolic < end && !(bend[diastolic]! > 0 && bend[diastolic + 1]! <= 0)) diastolic++;
  while (diastolic < end && x1[diastolic]! > 0) diastolic++;
  if (diastolic >= end) return { ...wave, area: ratio > 0 ? ratio : none, ba, aging };
  return {
    ...wave,
    area: ratio > 0 ? ratio : none,
    reflection: (100 * x0[diastolic]!) / height,
    delay: (diastolic - top) * 1000 * STEP,
    ba,
    aging,
  };
}

/** Median of a measure; NaN of fewer than 10. */
export function directMedian(waves: readonly DirectWave[], measure: keyof DirectWave): number {
  const values = waves.map((wave) => wave[measure]).filter((value) => !Number.isNaN(value));
  return values.length < 10 ? Number.NaN : median(values);
}
