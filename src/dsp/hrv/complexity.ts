/** Measures of one window of NN intervals that ask how they follow each other: scaling and regularity. */
import type { NnWindow } from './time-domain.ts';

/** Sizes of the boxes of the short-term exponent, beats. */
export const BOX_MIN = 4;
export const BOX_MAX = 16;
/** Least share of the intervals that must lie in boxes of the largest size. */
export const BOXED_MIN = 0.5;
/** Tolerance of sample entropy, in standard deviations of the window. */
export const TOLERANCE_SD = 0.2;

/** Short-term exponent of detrended fluctuation analysis (Peng et al. 1995, doi:10.1063/1.166141): slope of log F(n) over log n, n = 4 to
 *  16 beats, straight lines taken off. A straight line takes the mean and the sum of all before with it, so a box needs only its own
 *  intervals: boxes lie side by side from the start of each run of adjacent intervals, and none across an excluded interval or a gap.
 *  @returns NaN where less than half of the intervals lie in boxes of 16, and where nothing fluctuates */
export function dfaAlpha1(nn: NnWindow): number {
  let [sumX, sumY, sumXX, sumXY] = [0, 0, 0, 0];
  const sizes = BOX_MAX - BOX_MIN + 1;
  for (let size = BOX_MIN; size <= BOX_MAX; size++) {
    const { squares, boxed } = fluctuation(nn, size);
    if (size === BOX_MAX && boxed < BOXED_MIN * nn.count) return Number.NaN;
    const x = Math.log(size);
    const y = Math.log(squares / boxed) / 2;
    sumX += x;
    sumY += y;
    sumXX += x * x;
    sumXY += x * y;
  }
  const slope = (sizes * sumXY - sumX * sumY) / (sizes * sumXX - sumX * sumX);
  return Number.isFinite(slope) ? slope : Number.NaN;
}

/** Squares that straight lines leave of the summed intervals in boxes of one size, and how many intervals lie in them. */
function fluctuation({ count, nnMs, adjacent }: NnWindow, size: number): { squares: number; boxed: number } {
  let squares = 0;
  let boxed = 0;
  let start = 0;
  for (let i = 0; i < count; i++) {
    if (adjacent[i] === 0) start = i;
    if (i - start + 1 < size) continue;
    squares += squaresLeft(nnMs, start, size);
    boxed += size;
    start = i + 1;
  }
  return { squares, boxed };
}

function squaresLeft(nnMs: Float64Array, from: number, size: number): number {
  let mean = 0;
  for (let k = 0; k < size; k++) mean += nnMs[from + k]! / size;
  const middle = (size - 1) / 2;
  let [y, sumY, sumYY, sumXY] = [0, 0, 0, 0];
  for (let k = 0; k < size; k++) {
    y += nnMs[from + k]! - mean;
    sumY += y;
    sumYY += y * y;
    sumXY += (k - middle) * y;
  }
  const sumXX = (size * (size * size - 1)) / 12;
  return Math.max(0, sumYY - (sumY * sumY) / size - (sumXY * sumXY) / sumXX);
}

/** Sample entropy, m = 2, r = 0.2 SD (Richman & Moorman 2000, doi:10.1152/ajpheart.2000.278.6.H2039): -ln(A / B), B and A pairs of
 *  successions of 2 and 3 intervals that differ by no more than r in any place. Only successions of adjacent intervals are compared.
 *  @param sdMs standard deviation of the intervals  @returns NaN where no pair of 3 is alike */
export function sampleEntropy({ count, nnMs, adjacent }: NnWindow, sdMs: number): number {
  const r = TOLERANCE_SD * sdMs;
  if (order.length < count) order = new Uint32Array(2 * count);
  // where successions of three begin, sorted by their first interval: pairs that differ by more than r in it are never compared
  let starts = 0;
  for (let i = 0; i + 2 < count; i++) {
    if (adjacent[i + 1] === 0 || adjacent[i + 2] === 0) continue;
    const first = nnMs[i]!;
    let at = starts++;
    for (; at > 0 && nnMs[order[at - 1]!]! > first; at--) order[at] = order[at - 1]!;
    order[at] = i;
  }
  let two = 0;
  let three = 0;
  for (let from = 0; from < starts; from++) {
    const i = order[from]!;
    const a = nnMs[i]!;
    const b = nnMs[i + 1]!;
    const c = nnMs[i + 2]!;
    for (let to = from + 1; to < starts; to++) {
      const j = order[to]!;
      if (nnMs[j]! - a > r) break;
      if (Math.abs(nnMs[j + 1]! - b) > r) continue;
      two++;
      if (Math.abs(nnMs[j + 2]! - c) <= r) three++;
    }
  }
  return three === 0 ? Number.NaN : Math.log(two / three);
}

/** Shared by every stream of the thread: nothing of it outlives a call. */
let order = new Uint32Array(512);
