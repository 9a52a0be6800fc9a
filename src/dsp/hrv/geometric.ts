/** Geometric measures of one window of NN intervals: what the shape of their histogram says. */
import type { NnWindow } from './time-domain.ts';

/** Width of the bins of the triangular index and of TINN, ms: 1/128 s, as the Task Force has it. */
export const BIN_MS = 7.8125;
/** Width of the bins of the stress index, ms. */
export const STRESS_BIN_MS = 50;
/** Longest interval that a bin is kept for, ms: longer ones are no intervals. */
const LONGEST_MS = 3000;

const fine = new Float64Array(LONGEST_MS / BIN_MS + 1);
const coarse = new Float64Array(LONGEST_MS / STRESS_BIN_MS + 1);

export type Geometry = Readonly<{ triangularIndex: number; tinnMs: number }>;

/** HRV triangular index and TINN (Task Force 1996, doi:10.1161/01.CIR.93.5.1043): intervals over the height of the histogram; base of the
 *  triangle with its top at the fullest bin (the first of equals) that fits the histogram best by least squares.
 *  @returns NaN without intervals */
export function geometry(nn: NnWindow): Geometry {
  if (nn.count === 0) return { triangularIndex: Number.NaN, tinnMs: Number.NaN };
  const top = fill(fine, BIN_MS, nn);
  return { triangularIndex: nn.count / fine[top]!, tinnMs: (foot(top, -1) + foot(top, 1)) * BIN_MS };
}

/** Stress index, %/s2 (Baevsky & Chernikova 2017, doi:10.12710/cardiometry.2017.10.6676): AMo / (2 Mo MxDMn). Mo: middle of the fullest
 *  bin of 50 ms (the first of equals), s; AMo: its share, %; MxDMn: longest less shortest interval, s.
 *  @returns NaN where all intervals are equal */
export function stressIndex(nn: NnWindow): number {
  if (nn.count === 0) return Number.NaN;
  const mode = fill(coarse, STRESS_BIN_MS, nn);
  const range = rangeMs(nn);
  if (range === 0) return Number.NaN;
  const modeSec = ((mode + 0.5) * STRESS_BIN_MS) / 1000;
  return ((100 * coarse[mode]!) / nn.count / (2 * modeSec * range)) * 1000;
}

/** Longest less shortest interval, of at least one. */
export function rangeMs({ count, nnMs }: NnWindow): number {
  let shortest = nnMs[0]!;
  let longest = shortest;
  for (let i = 1; i < count; i++) {
    shortest = Math.min(shortest, nnMs[i]!);
    longest = Math.max(longest, nnMs[i]!);
  }
  return longest - shortest;
}

/** @returns the fullest bin */
function fill(bins: Float64Array, widthMs: number, { count, nnMs }: NnWindow): number {
  bins.fill(0);
  for (let i = 0; i < count; i++) bins[Math.min(bins.length - 1, Math.floor(nnMs[i]! / widthMs))]! += 1;
  let top = 0;
  for (let b = 1; b < bins.length; b++) if (bins[b]! > bins[top]!) top = b;
  return top;
}

/** How many bins from the top the triangle's side reaches zero, where the squares are least. The sides don't touch each other's bins. */
function foot(top: number, side: -1 | 1): number {
  const reach = side < 0 ? top : fine.length - 1 - top;
  let outside = 0;
  for (let d = 1; d <= reach; d++) outside += fine[top + side * d]! ** 2;
  let best = 1;
  let least = Number.POSITIVE_INFINITY;
  for (let width = 1; width <= reach + 1; width++) {
    let squares = outside;
    for (let d = 1; d < width; d++) squares += (fine[top + side * d]! - fine[top]! * (1 - d / width)) ** 2;
    if (squares < least) [best, least] = [width, squares];
    if (width <= reach) outside -= fine[top + side * width]! ** 2;
  }
  return best;
}
