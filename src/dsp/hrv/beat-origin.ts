/** Where a beat began, of its timing and of what its shape says (src/dsp/ecg/shape-evidence.ts): two logistic functions. */
import { medianOf } from './median.ts';

/** Origins of beats; 0: nothing speaks against the usual one. Perhaps: one of the others, or the usual one; with no confidence where it is
 *  of a rhythm that may be ventricular. */
export const perhapsEctopic = 1;
const supraventricularOrigin = 2;
const surelySupraventricular = 3;
export const ventricularOrigin = 4;
/** A beat that is called ectopic with less confidence is suspect: it is more probably another one. */
export const ectopicConfidenceMin = 0.5;
export const isEctopicOrigin = (origin: number): boolean => origin > perhapsEctopic;
/** Is there no need to ask whether leaving it out takes true variation away? */
export const isSureOrigin = (origin: number): boolean => origin >= surelySupraventricular;

/** Logits from which a beat is called so. */
export const ventricularMin = 0.4;
export const supraventricularMin = -0.6;
/** Logits from which a beat is perhaps ventricular, perhaps supraventricular. */
export const perhapsVentricularMin = -1.5;
export const perhapsSupraventricularMin = -2.75;
/** The usual interval is the median of those up to so many beats before and after. */
export const usualBack = 24;
export const usualAhead = 8;
const usualCountMin = 4;
/** Intervals are alike within this share; so many are counted. */
const alikeShare = 0.12;
const alikeMost = 64;
/** A run begins with an interval below this share of the median of so many before it, of which three in four are not so short; all of
 *  its intervals are below the greater share. So far back its first beat is looked for. */
export const firstShare = 0.85;
export const fastShare = 0.9;
export const runBaseline = 12;
export const runBeats = 100;
const runUs = 120e6;
/** A QRS complex below this share of another one's width is narrower; beats of one shape differ by a fifth where they are placed at another
 *  of its waves. */
export const narrowerShare = 0.75;
/** Fibrillation, in which a beat that comes early says nothing: half of the intervals are further off their median than the first, and what
 *  stands before half of the beats is less like what stands before the usual one than the second. */
export const irregularMax = 0.1;
export const steadyPMin = 0.5;

/** Logarithm of what stands before a beat beyond what stands before beats of its shape, or before one of the last three, over the QRS
 *  complex, up to which the line is still. */
export const stillMax = -3;
export const movementMost = 3;
/** The stillest of so many beats before, and of so many after, counts: a ventricular beat or its T wave may stand before the nearest. */
export const movementReach = 2;

/** Logarithms of intervals over the usual one, and of how many intervals in a row are alike. */
export const timingTermNames = ['early', 'pause', 'quite_early', 'very_early', 'next', 'before', 'drop', 'alike'] as const;

/** Constant first. */
export const ventricularTimingWeights: readonly number[] = [0.992, 0.845, 4.314, 0, 0, 0, 0, 1.51, -1.131];
export const supraventricularTimingWeights: readonly number[] = [-1.153, 8.549, 4.872, 2.855, -3.693, 2.217, -3.567, 4.659, 0];

type Timing = Readonly<{ count: number; tUs: Float64Array; starts: Uint8Array }>;
type Beats = Timing &
  Readonly<{
    ventricular: Float32Array;
    supraventricular: Float32Array;
    pLikeness: ArrayLike<number>;
    beforeRest: ArrayLike<number>;
    widthMs: ArrayLike<number>;
  }>;

const clip = (x: number, low: number, high: number): number => (x < low ? low : x > high ? high : x === x ? x : 0);
const near = new Float64Array(usualBack + usualAhead + 1);

/** @param out order of `timingTermNames`  @returns the usual interval around a beat, µs; NaN with too few intervals */
export function timingTerms(beats: Timing, start: number, i: number, out: Float64Array): number {
  const rr = interval(beats, start, i);
  const n = gather(beats, start, i);
  if (n < usualCountMin || rr !== rr) return Number.NaN;
  const usual = medianOf(near, n);
  const before = interval(beats, start, i - 1);
  const early = -clip(Math.log(rr / usual), -1, 1);
  const next = clip(Math.log(interval(beats, start, i + 1) / usual), -1, 1);
  out[0] = clip(early, -0.3, 0.6);
  out[1] = clip(next, 0, 0.6);
  out[2] = clip(early - 0.1, 0, 0.5);
  out[3] = clip(early - 0.25, 0, 0.5);
  out[4] = clip(next, -0.4, 0.5);
  out[5] = clip(Math.log(before / usual), -1, 1);
  out[6] = clip(Math.log(before / rr), -0.7, 0.7);
  out[7] = Math.log(alikeBefore(beats, start, i));
  return usual;
}

/** @param usual of `timingTerms`  @returns half of the intervals around are at least this share off it */
function irregularity(beats: Timing, start: number, i: number, usual: number): number {
  const n = gather(beats, start, i);
  for (let j = 0; j < n; j++) near[j] = Math.abs(near[j]! - usual) / usual;
  return medianOf(near, n);
}

/** @param usual of `timingTerms`  @returns are the intervals irregular and the P waves gone? With frequent premature beats intervals are
 *  irregular, too, but most beats have their P wave. */
export function isFibrillation(beats: Timing & Pick<Beats, 'pLikeness'>, start: number, i: number, usual: number): boolean {
  return !(irregularity(beats, start, i, usual) <= irregularMax) && !(steadyP(beats, start, i) >= steadyPMin);
}

/** Median of the likeness of what stands before the beats around one; NaN where none is known. */
function steadyP({ count, pLikeness }: Pick<Beats, 'count' | 'pLikeness'>, start: number, i: number): number {
  const to = Math.min(count - 1, i + usualAhead);
  let n = 0;
  for (let j = Math.max(start, i - usualBack); j <= to; j++) if (pLikeness[j] === pLikeness[j]) near[n++] = pLikeness[j]!;
  return medianOf(near, n);
}

/** How much the line moves around a beat: what stands before its neighbours is not what stands before beats of their shape. Movement of an
 *  electrode lasts for seconds; a beat of another origin comes and goes.
 *  @returns mean of the least before and the least after it, above `stillMax`; 0: it is still, or nothing is known, to `movementMost` */
export function movementAround(
  { count, starts, beforeRest }: Pick<Beats, 'count' | 'starts' | 'beforeRest'>,
  start: number,
  i: number,
): number {
  let before = Number.NaN;
  for (let j = i - 1; j >= start && i - j <= movementReach && starts[j + 1] === 0; j--)
    if (!(beforeRest[j]! >= before)) before = beforeRest[j]!;
  let after = Number.NaN;
  for (let j = i + 1; j < count && j - i <= movementReach && starts[j] === 0; j++) if (!(beforeRest[j]! >= after)) after = beforeRest[j]!;
  const mean = before !== before ? after : after !== after ? before : (before + after) / 2;
  return clip(mean - stillMax, 0, movementMost);
}

/** Intervals in a row up to beat i, at most 64, that are within 12 % of its own. */
function alikeBefore(beats: Timing, start: number, i: number): number {
  const { tUs, starts } = beats;
  const rr = interval(beats, start, i);
  const last = Math.max(start, i - alikeMost);
  let j = i - 1;
  while (j > last && starts[j] === 0 && Math.abs((tUs[j]! - tUs[j - 1]!) / rr - 1) < alikeShare) j--;
  return i - j;
}

function interval({ count, tUs, starts }: Timing, start: number, j: number): number {
  return j > start && j < count && starts[j] === 0 ? tUs[j]! - tUs[j - 1]! : Number.NaN;
}

/** Intervals around a beat into `near`.  @returns how many */
function gather({ count, tUs, starts }: Timing, start: number, i: number): number {
  const to = Math.min(count - 1, i + usualAhead);
  let n = 0;
  for (let j = Math.max(start + 1, i - usualBack); j <= to; j++) if (starts[j] === 0) near[n++] = tUs[j]! - tUs[j - 1]!;
  return n;
}

const terms = new Float64Array(timingTermNames.length);

/** `confidence`: probability that it began there (in neither place, for those below `supraventricularOrigin`), 0 to 1; NaN: it could not be
 *  compared with the usual beat. */
export type JudgedOrigin = { origin: number; confidence: number };

const ofFirst: JudgedOrigin = { origin: 0, confidence: Number.NaN };

/** Looks 24 beats and 8 ahead within the chain that begins at `start`; 120 s and 24 beats back for the first beat of a run. */
export function beatOrigin(beats: Beats, start: number, i: number, out: JudgedOrigin): void {
  judgeAlone(beats, start, i, out);
  if (isEctopicOrigin(out.origin)) return;
  if (isOfVentricularRun(beats, start, i)) {
    out.origin = perhapsEctopic;
    out.confidence = Number.NaN;
    return;
  }
  const first = firstOfRun(beats, start, i);
  if (first < 0) return;
  judgeAlone(beats, start, first, ofFirst);
  const { origin, confidence } = ofFirst;
  if (origin !== supraventricularOrigin && origin !== surelySupraventricular) return;
  out.origin = origin;
  out.confidence = confidence;
}

/** Has every beat been as wide as this one since one that was wider than those before it, and looked ventricular? The usual shape then is
 *  that of a ventricular rhythm, or of a bundle branch block. */
function isOfVentricularRun(beats: Beats, start: number, i: number): boolean {
  const { tUs, starts, widthMs } = beats;
  const least = narrowerShare * widthMs[i]!;
  const last = Math.max(start, i - runBeats);
  const fromUs = tUs[i]! - runUs;
  let first = i;
  while (first > last && starts[first] === 0 && tUs[first]! > fromUs && !(widthMs[first - 1]! < least)) first--;
  if (first === i || first === start || starts[first] === 1 || !(widthMs[first - 1]! < least)) return false;
  judgeAlone(beats, start, first, ofFirst);
  return ofFirst.origin === ventricularOrigin;
}

/** Finds the beat with which the heart became fast at once, to stay so until this one. In a run of supraventricular beats their interval
 *  and shape soon are the usual ones; its first beat still stands out.
 *  @returns -1: there is none, or it is this beat */
export function firstOfRun(beats: Timing, start: number, i: number): number {
  const { tUs, starts } = beats;
  const now = tUs[i]!;
  let longest = interval(beats, start, i);
  if (longest !== longest) return -1;
  let at = tUs[i - 1]!;
  for (let j = i; i - j < runBeats && now - tUs[j]! < runUs; j--) {
    if (j - 1 <= start || starts[j - 1] !== 0) return -1;
    const before = at - tUs[j - 2]!;
    at = tUs[j - 2]!;
    if (before * fastShare > longest && isFast(beats, start, j, longest)) return j === i ? -1 : j;
    if (before > longest) longest = before;
  }
  return -1;
}

/** @param longest interval of the run that begins with beat j */
function isFast(beats: Timing, start: number, j: number, longest: number): boolean {
  const { starts, tUs } = beats;
  let n = 0;
  for (let k = Math.max(start + 1, j - runBaseline); k < j; k++) {
    if (starts[k] !== 0) continue;
    const rr = tUs[k]! - tUs[k - 1]!;
    let at = n++;
    for (; at > 0 && near[at - 1]! > rr; at--) near[at] = near[at - 1]!;
    near[at] = rr;
  }
  if (n < runBaseline / 2) return false;
  const usual = (near[n >> 1]! + near[(n - 1) >> 1]!) / 2;
  return longest < fastShare * usual && interval(beats, start, j) < firstShare * usual && near[n >> 2]! > firstShare * usual;
}

/** Of what is called so, how often it is right, as a logistic function of the logits (Platt 1999) and of how much the line moves around the
 *  beat: constant, ventricular logit, supraventricular logit, `movementAround`. Fitted on all beats of both databases as they come, without
 *  and with noise of moving electrodes, where the weights were fitted on at most some hundreds of each recording. */
export const confidenceWeights: Readonly<Record<'usual' | 'ventricular' | 'supraventricular', readonly number[]>> = {
  usual: [1.764, -0.237, -0.286, 0],
  ventricular: [0.212, 0.617, 0, -2.885],
  supraventricular: [-0.117, 0, 0.58, -1.703],
};

export function confidenceOf(
  [constant = 0, first = 0, second = 0, third = 0]: readonly number[],
  ventricular: number,
  supraventricular: number,
  movement: number,
): number {
  return 1 / (1 + Math.exp(-(constant + first * ventricular + second * supraventricular + third * movement)));
}

/** Confidence from which a supraventricular origin is sure: that of a logit of 1 where the line is still, as it is stored. */
export const sureSupraventricularConfidence = 0.61;
/** The same of versions of r_peaks before 16, whose confidences know of no movement. */
export const sureSupraventricularBefore16 = 0.7237;
/** @param confidence of a beat that is called supraventricular, of single precision or as it is stored */
export const isSurelySupraventricular = (confidence: number, rPeaksVersion = Number.POSITIVE_INFINITY): boolean =>
  rPeaksVersion < 16 ? confidence >= sureSupraventricularBefore16 : Math.round(100 * confidence) >= 100 * sureSupraventricularConfidence;

/** By its own shape and timing. */
function judgeAlone(beats: Beats, start: number, i: number, out: JudgedOrigin): void {
  out.origin = 0;
  out.confidence = Number.NaN;
  let ventricular = beats.ventricular[i]!;
  let supraventricular = beats.supraventricular[i]!;
  if (Number.isNaN(ventricular)) {
    if (!Number.isNaN(supraventricular)) out.origin = perhapsEctopic;
    return;
  }
  const usual = timingTerms(beats, start, i, terms);
  if (Number.isNaN(usual)) return;
  ventricular += ventricularTimingWeights[0]!;
  supraventricular += supraventricularTimingWeights[0]!;
  for (let j = 0; j < terms.length; j++) {
    ventricular += ventricularTimingWeights[j + 1]! * terms[j]!;
    supraventricular += supraventricularTimingWeights[j + 1]! * terms[j]!;
  }
  const movement = movementAround(beats, start, i);
  if (ventricular > ventricularMin) {
    out.origin = ventricularOrigin;
    out.confidence = confidenceOf(confidenceWeights.ventricular, ventricular, supraventricular, movement);
  } else if (supraventricular > supraventricularMin && !isFibrillation(beats, start, i, usual)) {
    out.confidence = confidenceOf(confidenceWeights.supraventricular, ventricular, supraventricular, movement);
    out.origin = isSurelySupraventricular(Math.fround(out.confidence)) ? surelySupraventricular : supraventricularOrigin;
  } else {
    if (ventricular > perhapsVentricularMin || supraventricular > perhapsSupraventricularMin) out.origin = perhapsEctopic;
    // more than the threshold means nothing: in fibrillation
    out.confidence = confidenceOf(confidenceWeights.usual, ventricular, Math.min(supraventricular, supraventricularMin), movement);
  }
}
