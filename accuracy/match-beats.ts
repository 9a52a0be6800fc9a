/** Beat-by-beat comparison after ANSI/AAMI EC57, as WFDB's `bxb` does it.
 *
 *  Two beats match when they are at most 150 ms apart, one to one. Both lists are walked in time; the earlier of the two next beats is
 *  decided: it pairs with the other one if that is within 150 ms and its own successor is not nearer to that one; else it is an error
 *  (a detected beat: FP, a reference beat: FN).
 *  Counted is what lies at or after minute 5 (EC57's learning period); a pair counts by its reference beat. Stretches of ventricular
 *  flutter or fibrillation in the reference ([ … ]) are left out, with 150 ms on both sides.
 *  Se = TP / (TP + FN), +P = TP / (TP + FP), F1 = 2 TP / (2 TP + FP + FN); gross: of the sums over recordings. */

export const matchSec = 0.15;
export const learningSec = 300;

export type BeatMatch = {
  tp: number;
  /** Detected beats without a reference beat, samples. */
  fp: number[];
  /** Reference beats without a detected beat, samples. */
  fn: number[];
  /** Index of the reference beat of each detected beat, -1 for none; of all beats, also those not counted. */
  referenceOf: Int32Array;
};

/** @param reference @param detected ascending, in samples  @param leaveOut stretches in samples
 *  @param count which reference or detected positions count; default: from minute 5 */
export function matchBeats(
  reference: ArrayLike<number>,
  detected: ArrayLike<number>,
  fs: number,
  leaveOut: readonly (readonly [number, number])[] = [],
  count: (position: number) => boolean = (position) => position >= learningSec * fs,
): BeatMatch {
  const window = matchSec * fs;
  const counts = (position: number): boolean =>
    count(position) && !leaveOut.some(([from, to]) => position >= from - window && position <= to + window);
  const match: BeatMatch = { tp: 0, fp: [], fn: [], referenceOf: new Int32Array(detected.length).fill(-1) };
  let r = 0;
  let d = 0;
  while (r < reference.length || d < detected.length) {
    const ref = r < reference.length ? reference[r]! : Number.POSITIVE_INFINITY;
    const det = d < detected.length ? detected[d]! : Number.POSITIVE_INFINITY;
    const apart = Math.abs(ref - det);
    const nextDet = d + 1 < detected.length ? detected[d + 1]! : Number.POSITIVE_INFINITY;
    const nextRef = r + 1 < reference.length ? reference[r + 1]! : Number.POSITIVE_INFINITY;
    const rival = det < ref ? Math.abs(ref - nextDet) : Math.abs(nextRef - det);
    if (apart <= window && apart <= rival) {
      if (counts(ref)) match.tp++;
      match.referenceOf[d] = r;
      r++;
      d++;
    } else if (det < ref) {
      if (counts(det)) match.fp.push(det);
      d++;
    } else {
      if (counts(ref)) match.fn.push(ref);
      r++;
    }
  }
  return match;
}

export type Counts = { tp: number; fp: number; fn: number };

export const sensitivity = ({ tp, fn }: Counts): number => (tp + fn === 0 ? Number.NaN : (100 * tp) / (tp + fn));
export const predictivity = ({ tp, fp }: Counts): number => (tp + fp === 0 ? Number.NaN : (100 * tp) / (tp + fp));
export const f1 = ({ tp, fp, fn }: Counts): number => (tp + fp + fn === 0 ? Number.NaN : (200 * tp) / (2 * tp + fp + fn));

export function addCounts(total: Counts, match: BeatMatch): void {
  total.tp += match.tp;
  total.fp += match.fp.length;
  total.fn += match.fn.length;
}

export const countsRow = (name: string, c: Counts): string[] => [
  name,
  String(c.tp + c.fn),
  String(c.fp),
  String(c.fn),
  sensitivity(c).toFixed(3),
  predictivity(c).toFixed(3),
  f1(c).toFixed(3),
];
export const countsHeader = ['record', 'beats', 'FP', 'FN', 'Se %', '+P %', 'F1 %'];
export const countsJson = (c: Counts): Record<string, number> => ({
  beats: c.tp + c.fn,
  tp: c.tp,
  fp: c.fp,
  fn: c.fn,
  se: sensitivity(c),
  ppv: predictivity(c),
  f1: f1(c),
});
