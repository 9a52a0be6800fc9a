/** Index of atrial fibrillation of a window of ECG: irregular intervals, and no P wave that the beats have in common.
 *
 *  Irregularity: median |difference of successive intervals| over the median interval. One ectopic beat, or one that was not seen, changes
 *  a median little; breathing changes neighbouring intervals little; ectopic beats in turns are told by every second or third interval.
 *  Sample entropy (Lake & Moorman 2011) alone reaches an AUC of 0.853 on CinC 2017, this alone 0.962.
 *  P waves: in sinus rhythm the stretch before each QRS looks like the median one, in fibrillation like nothing (P wave evidence:
 *  Purerfellner et al. 2014, doi:10.1016/j.hrthm.2014.06.006; Ladavich & Ghoraani 2015, doi:10.1016/j.bspc.2014.12.006). Flutter with a
 *  regular answer and very early P waves are told by neither.
 *  Both go into a logistic regression; `npm run accuracy -- --only rhythm` shows it fitted on one database and tried on the other. */

import { medianOf } from './median.ts';

/** Points of the stretch before a beat. */
export const P_POINTS = 16;
/** It lies from here to here before the R peak, s: the end of most P waves is in it, the beginning of no QRS. */
export const P_FROM_SEC = 0.22;
export const P_TO_SEC = 0.06;
/** Of this interval's beat the T wave before reaches into the stretch. */
export const P_INTERVAL_MIN_SEC = P_FROM_SEC + 0.14;
const EDGE = 3;
/** Stretches are kept as whole numbers of this length: their shape. */
const SHAPE_LENGTH = 127;
/** A window with fewer says nothing. */
export const INTERVALS_MIN = 8;
/** With fewer shapes, or neighbouring intervals, there is no median to speak of. */
export const SHAPES_MIN = 5;
/** Likeness where there are too few shapes. */
const likenessUnknown = 0.5;
/** No heart is steadier: an index of a pacemaker would hang on the sampling rate. */
export const irregularityMin = 0.001;

/** Where so large a share of the beats of the window is ectopic by shape and timing, */
export const ECTOPIC_MIN = 0.2;
/** every second and third interval are compared, too; */
export const LAG_MAX = 3;
/** their differences count this many times, so that they decide only where a pattern repeats itself. */
export const LATER_LAGS = 2;

/** Whether a high index is fibrillation is doubtful, and the index suspect, where intervals are steadier than this by either way to place
 *  beats (sinus rhythm whose P waves are not seen: of 126 good values of 0.5 and more in the fibrillation of MIT-BIH the steadiest has
 *  0.09, of 17 of CinC 2017 0.07), */
export const FIBRILLATING_MIN = 0.05;
/** where those of some later lag, up to this one, differ by less than this share of neighbouring ones (Wenckebach's periods, bigeminy of
 *  beats that look alike, flutter that answers in turns), */
export const REPEAT_LAG_MAX = 6;
export const REPEAT_MAX = 0.3;
/** where the whole QRS complex is like the usual one at fewer than this share of the intervals, */
export const PLACED_MIN = 0.5;
/** or where its place changes the differences of neighbouring intervals by more than this share of them (both medians): hum, noise. */
export const MISPLACED_MAX = 0.2;

/** A low index is doubtful, and suspect, where the median interval is shorter than this, s, and the intervals are as unsteady as in
 *  fibrillation: the T wave of the beat before, which all beats have, then lies where P waves are sought. Sinus rhythm is steady at such
 *  rates: breathing changes it little. */
export const T_IN_P_SEC = 0.5;

/** Fitted on CinC 2017 and MIT-BIH, each database with the same weight, each class as well. */
export const weights = { irregularity: 1.53, likeness: -8.01, constant: 9.05 };

/** What is left of a stretch without the line between its ends, as a shape of fixed length.
 *  @returns false where a sample is missing, or nothing is left  @param out takes P_POINTS whole numbers from `at` on */
export function pShape(x: Float64Array, out: Int8Array, at: number): boolean {
  let head = 0;
  let tail = 0;
  for (let i = 0; i < EDGE; i++) {
    head += x[i]! / EDGE;
    tail += x[P_POINTS - 1 - i]! / EDGE;
  }
  let mean = 0;
  for (let i = 0; i < P_POINTS; i++) {
    x[i]! -= head + ((tail - head) * i) / (P_POINTS - 1);
    mean += x[i]! / P_POINTS;
  }
  let squares = 0;
  for (let i = 0; i < P_POINTS; i++) squares += (x[i]! - mean) ** 2;
  if (!(squares > 0)) return false;
  const scale = SHAPE_LENGTH / Math.sqrt(squares);
  for (let i = 0; i < P_POINTS; i++) out[at + i] = Math.round((x[i]! - mean) * scale);
  return true;
}

const column = new Float64Array(512);
const template = new Float64Array(P_POINTS);

/** How often each whole number is there, the least first; all 0 between calls. */
const counts = new Uint16Array(256);

/** Median of a point of the shapes: as there are few whole numbers, it is counted. */
function medianAt(shapes: Int8Array, starts: Int32Array, count: number, point: number): number {
  for (let i = 0; i < count; i++) counts[shapes[starts[i]! + point]! + 128]!++;
  const half = count >> 1;
  let at = -1;
  let below = 0;
  while (below < half) below += counts[++at]!;
  // of an even number the lower of the two in the middle
  const lower = at;
  while (below <= half) below += counts[++at]!;
  for (let i = 0; i < count; i++) counts[shapes[starts[i]! + point]! + 128] = 0;
  return (count % 2 === 1 ? at : (lower + at) / 2) - 128;
}

/** Median correlation of the shapes with their median shape.
 *  @param starts where each of the `count` shapes (at most 512) begins in `shapes` */
export function pLikeness(shapes: Int8Array, starts: Int32Array, count: number): number {
  if (count < SHAPES_MIN) return likenessUnknown;
  let mean = 0;
  for (let p = 0; p < P_POINTS; p++) {
    template[p] = medianAt(shapes, starts, count, p);
    mean += template[p]! / P_POINTS;
  }
  let templateSquares = 0;
  for (let p = 0; p < P_POINTS; p++) {
    template[p]! -= mean;
    templateSquares += template[p]! ** 2;
  }
  if (templateSquares === 0) return 0;
  for (let i = 0; i < count; i++) {
    let dot = 0;
    let squares = 0;
    for (let p = 0; p < P_POINTS; p++) {
      const v = shapes[starts[i]! + p]!;
      dot += v * template[p]!;
      squares += v * v;
    }
    column[i] = squares > 0 ? dot / Math.sqrt(squares * templateSquares) : 0;
  }
  return medianOf(column, count);
}

/** Median |difference| of neighbouring intervals over their median. Where those of every second or third interval are less than half as
 *  large, twice that: ectopic beats in turns (bigeminy, trigeminy) repeat themselves, fibrillation does not.
 *  @param lagMax 1: neighbours alone. Flutter whose answers alternate would be regular else
 *  @param rrUs intervals of the window, at most 512  @param adjacent 1: the interval before is its neighbour  @returns NaN for too few */
export function irregularity(rrUs: Float64Array, adjacent: Uint8Array, count: number, lagMax = 1): number {
  if (count < INTERVALS_MIN) return Number.NaN;
  let least = medianDifference(rrUs, adjacent, count, 1);
  if (Number.isNaN(least)) return Number.NaN;
  for (let lag = 2; lag <= lagMax; lag++) {
    const difference = LATER_LAGS * medianDifference(rrUs, adjacent, count, lag);
    if (difference < least) least = difference;
  }
  column.set(rrUs.subarray(0, count));
  return least / medianOf(column, count);
}

/** Median |difference| of intervals that are `lag` apart in one row of neighbours; NaN: too few. */
function medianDifference(rrUs: Float64Array, adjacent: Uint8Array, count: number, lag: number): number {
  let pairs = 0;
  let row = 1;
  for (let i = 0; i < count; i++) {
    row = adjacent[i] === 1 ? row + 1 : 1;
    if (row > lag) column[pairs++] = Math.abs(rrUs[i]! - rrUs[i - lag]!);
  }
  return pairs < SHAPES_MIN ? Number.NaN : medianOf(column, pairs);
}

/** Do the intervals speak against fibrillation, or their places against the intervals?
 *  @param otherUs the same intervals where beats lie where their whole QRS complex fits the usual one; NaN: it does not */
export function isDoubtfulFibrillation(
  rrUs: Float64Array,
  otherUs: Float64Array,
  adjacent: Uint8Array,
  count: number,
  irregular: number,
): boolean {
  const neighbours = medianDifference(rrUs, adjacent, count, 1);
  for (let lag = 2; lag <= REPEAT_LAG_MAX; lag++) if (medianDifference(rrUs, adjacent, count, lag) < REPEAT_MAX * neighbours) return true;
  let placed = 0;
  for (let i = 0; i < count; i++) {
    if (Number.isNaN(otherUs[i]!)) continue;
    otherRr[placed] = otherUs[i]!;
    otherAdjacent[placed] = i > 0 && adjacent[i] === 1 && !Number.isNaN(otherUs[i - 1]!) ? 1 : 0;
    apartUs[placed++] = otherUs[i]! - rrUs[i]!;
  }
  if (irregular < FIBRILLATING_MIN || placed < PLACED_MIN * count) return true;
  if (medianDifference(apartUs, otherAdjacent, placed, 1) > MISPLACED_MAX * neighbours) return true;
  return irregularity(otherRr, otherAdjacent, placed) < FIBRILLATING_MIN;
}

/** May fibrillation have a low index, as T waves are taken for P waves? */
export function isHiddenFibrillation(rrUs: Float64Array, count: number, irregular: number): boolean {
  if (irregular < FIBRILLATING_MIN) return false;
  column.set(rrUs.subarray(0, count));
  return medianOf(column, count) < T_IN_P_SEC * 1e6;
}

const otherRr = new Float64Array(512);
const otherAdjacent = new Uint8Array(512);
const apartUs = new Float64Array(512);

/** 0 (regular) to 1. */
export function fibrillationIndex(irregular: number, likeness: number): number {
  const z = weights.irregularity * Math.log(irregular + irregularityMin) + weights.likeness * likeness + weights.constant;
  return 1 / (1 + Math.exp(-z));
}
