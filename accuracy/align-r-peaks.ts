/** Puts R peaks where the slope of the ECG fits the median beat best: at 125 Hz a peak position alone jitters by several milliseconds, and
 *  by tens where R and S are equally tall. Offline, for references only. */
import { median } from './ppg-reference.ts';

const HALF_SEC = 0.06;
const PASSES = 3;

/** @param position fractional sample indices  @returns the same beats, refined to a fraction of a sample */
export function alignRPeaks(ecg: Float64Array, position: Float64Array, fs: number): Float64Array {
  const half = Math.round(HALF_SEC * fs);
  const reach = half;
  const margin = half + reach + 5;
  const length = 2 * half + 1;
  const inside = (p: number): boolean => p >= margin && p <= ecg.length - margin;
  let refined = position.slice();
  for (let pass = 0; pass < PASSES; pass++) {
    const segments = [...refined].filter(inside).map((p) => Float64Array.from({ length }, (_, i) => slopeAt(ecg, p + i - half)));
    const template = Float64Array.from({ length }, (_, i) => median(segments.map((segment) => segment[i]!)));
    refined = refined.map((p) => {
      if (!inside(p)) return p;
      const fit: number[] = [];
      for (let step = -2 * reach; step <= 2 * reach; step++) {
        let product = 0;
        let power = 0;
        for (let i = 0; i < length; i++) {
          const slope = slopeAt(ecg, p + step / 2 + i - half);
          product += slope * template[i]!;
          power += slope * slope;
        }
        fit.push(product / Math.sqrt(power + 1e-12));
      }
      const at = fit.indexOf(Math.max(...fit));
      if (at === 0 || at === fit.length - 1) return p;
      const bend = fit[at - 1]! - 2 * fit[at]! + fit[at + 1]!;
      return p + (at - 2 * reach + (bend < 0 ? (0.5 * (fit[at - 1]! - fit[at + 1]!)) / bend : 0)) / 2;
    });
  }
  return refined;
}

/** Central difference, interpolated by a cubic (Catmull-Rom). */
function slopeAt(x: Float64Array, t: number): number {
  const i = Math.floor(t);
  const u = t - i;
  const d = (k: number): number => x[k + 1]! - x[k - 1]!;
  const [a, b, c, e] = [d(i - 1), d(i), d(i + 1), d(i + 2)];
  return b + 0.5 * u * (c - a + u * (2 * a - 5 * b + 4 * c - e + u * (3 * (b - c) + e - a)));
}
