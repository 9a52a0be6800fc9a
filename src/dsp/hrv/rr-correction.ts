/** Marks intervals of a beat chain that are not NN: missed, extra, misplaced and ectopic beats. They are excluded, never interpolated. */

/** Lipponen & Tarvainen 2019 (doi:10.1080/03091902.2019.1640306) compare each difference of successive RR with a local robust spread
 *  (5.2 quartile deviations of 91 beats) and interpolate what they flag. Differences here, each measured on 58 windows of 300 s of clean
 *  beats with injected faults (`npm run accuracy`):
 *  - flagged intervals are excluded and only adjacent accepted pairs are counted: at 6 % faults interpolation leaves 97 % error (missed);
 *  - an interval off its local median by 30 % is rejected first, and then takes no part in the spread;
 *  - the spread is the 40 % quantile of |difference| (faults inflate the upper half), over the last 64 s and the next 3 intervals;
 *  - of neighbouring differences the largest alone is the culprit: it costs two intervals, not four;
 *  - two thresholds: 4.5 spreads; 3.5 where more than 3 % around is rejected already. Clean recordings keep every interval (median
 *    window), and where there are faults the small ones are caught too. One threshold of 3.5 costs 3 % of RMSSD on clean recordings.
 *  Everything looks at most 64 s (three times nested) back and 11 beats ahead within the chain, so live and recomputed agree. */
export const medianBack = 10;
export const medianAhead = 3;
export const outlierShare = 0.3;
export const spreadUs = 64e6;
const spreadAhead = 3;
const spreadQuantile = 0.4;
/** The 40 % quantile of |x| of a standard normal x. */
const quantileSigma = 0.524;
const spreadCountMin = 8;
const spreadFloorUs = 2000;
export const firstSigmas = 4.5;
export const secondSigmas = 3.5;
export const alertShare = 0.03;
/** At the start of a chain the spread of the first intervals is taken from this many. */
const headCount = 32;

/** Columns of beats; the chain under test is [chainStart, count). `verdict[i]` is about the interval from beat i-1 to beat i. */
export type BeatColumns = Readonly<{ tUs: Float64Array; verdict: Uint8Array }>;

/** Bits of a verdict; an interval is NN when none is set. */
export const isOutlier = 1;
export const isJump = 2;
export const isSmallJump = 4;
/** Shape and timing say so: the interval before or after a ventricular or supraventricular beat. */
export const isEctopic = 8;
/** Likewise, beyond doubt. */
export const isSurelyEctopic = 16;

/** Progress of each stage in the open chain: it has judged the intervals before this one. */
export type CorrectionState = { outlier: number; jump: number; small: number; nextJump: Known; nextSmall: Known };

/** Does the difference at the next interval to be judged stand out? Answered when the interval before it was judged; null: it was not. */
type Known = boolean | null;

export const newCorrection = (chainStart: number): CorrectionState => ({
  outlier: chainStart + 1,
  jump: chainStart + 1,
  small: chainStart + 1,
  nextJump: null,
  nextSmall: null,
});

/** Judges as many intervals of the chain [start, count) as can be judged finally.
 *  @param ended no further beat belongs to the chain
 *  @returns index of the first beat that is not final */
export function judgeIntervals(beats: BeatColumns, start: number, count: number, ended: boolean, state: CorrectionState): number {
  const head = start + headCount;
  const outlierEnd = ended ? count : count - medianAhead;
  for (; state.outlier < outlierEnd; state.outlier++) judgeOutlier(beats, start, count, state.outlier);
  // one interval needs its own difference and the next, and that one's right neighbour and spread
  const jumpEnd = ended ? count : state.outlier <= head ? start : state.outlier - spreadAhead - 1;
  for (; state.jump < jumpEnd; state.jump++)
    state.nextJump = judgeJump(beats, start, count, state.jump, isOutlier, isJump, firstSigmas, state.nextJump);
  const smallEnd = ended ? count : state.jump <= head ? start : state.jump - spreadAhead - 1;
  for (; state.small < smallEnd; state.small++)
    state.nextSmall = judgeJump(beats, start, count, state.small, isOutlier | isJump, isSmallJump, secondSigmas, state.nextSmall);
  return ended ? count : state.small;
}

/** More than 30 % off the median of the intervals around. By counting: no sorting, no allocation. */
function judgeOutlier({ tUs, verdict }: BeatColumns, start: number, count: number, i: number): void {
  const from = Math.max(start + 1, i - medianBack);
  const to = Math.min(count - 1, i + medianAhead);
  const rr = tUs[i]! - tUs[i - 1]!;
  const high = rr / (1 + outlierShare);
  const low = rr / (1 - outlierShare);
  let below = 0;
  let notAbove = 0;
  for (let j = from; j <= to; j++) {
    const x = tUs[j]! - tUs[j - 1]!;
    if (x < high) below++;
    if (x <= low) notAbove++;
  }
  const middle = (to - from + 1) >> 1;
  verdict[i] = below > middle || notAbove <= middle ? isOutlier : 0;
}

/** Difference i is rr(i) - rr(i-1). It condemns both intervals when it stands out of the spread and above its neighbours.
 *  @param own does difference i stand out? null: not known yet  @returns the same of difference i + 1 */
function judgeJump(
  beats: BeatColumns,
  start: number,
  count: number,
  i: number,
  known: number,
  bit: number,
  sigmas: number,
  own: Known,
): Known {
  if (own ?? standsOut(beats, start, count, i, known, sigmas)) {
    beats.verdict[i]! |= bit;
    return null;
  }
  const next = standsOut(beats, start, count, i + 1, known, sigmas);
  if (next) beats.verdict[i]! |= bit;
  return next;
}

function standsOut({ tUs, verdict }: BeatColumns, start: number, count: number, i: number, known: number, sigmas: number): boolean {
  if (i >= count || !hasDifference(verdict, start, i, known)) return false;
  const d = differenceUs(tUs, i);
  if (d <= sigmas * spreadFloorUs) return false;
  if (hasDifference(verdict, start, i - 1, known) && differenceUs(tUs, i - 1) > d) return false;
  if (i + 1 < count && hasDifference(verdict, start, i + 1, known) && differenceUs(tUs, i + 1) > d) return false;
  const to = Math.min(count - 1, Math.max(i + spreadAhead, start + headCount));
  const fromUs = tUs[i]! - spreadUs;
  const limit = (d / sigmas) * quantileSigma;
  let total = 0;
  let rejected = 0;
  let used = 0;
  let below = 0;
  for (let j = to; j > start && tUs[j]! > fromUs; j--) {
    total++;
    const isKnown = (verdict[j]! & known) !== 0;
    if (isKnown) rejected++;
    if (isKnown || j < start + 2 || (verdict[j - 1]! & known) !== 0) continue;
    used++;
    if (differenceUs(tUs, j) < limit) below++;
  }
  if (known !== isOutlier && rejected < alertShare * total) return false;
  return used >= spreadCountMin && below > Math.floor(spreadQuantile * used);
}

/** Are intervals i - 1 and i there and accepted so far? */
function hasDifference(verdict: Uint8Array, start: number, i: number, known: number): boolean {
  return i >= start + 2 && (verdict[i]! & known) === 0 && (verdict[i - 1]! & known) === 0;
}

function differenceUs(tUs: Float64Array, i: number): number {
  return Math.abs(tUs[i]! - 2 * tUs[i - 1]! + tUs[i - 2]!);
}
