/** Where a beat began, of its timing and of what its shape says (src/dsp/ecg/shape-evidence.ts): two logistic functions. */

/** Origins of beats; 0: nothing speaks against the usual one. Perhaps: one of the others, or the usual one. */
export const perhapsEctopic = 1;
const supraventricularOrigin = 2;
const surelySupraventricular = 3;
export const ventricularOrigin = 4;
export const isEctopicOrigin = (origin: number): boolean => origin > perhapsEctopic;
/** Is there no need to ask whether leaving it out takes true variation away? */
export const isSureOrigin = (origin: number): boolean => origin >= surelySupraventricular;

/** Logits from which a beat is called so. */
export const ventricularMin = 0.2;
export const supraventricularMin = -0.6;
export const surelySupraventricularMin = 2;
/** Logits from which a beat is perhaps ventricular, perhaps supraventricular. */
export const perhapsVentricularMin = -1.5;
export const perhapsSupraventricularMin = -2;
/** The usual interval is the median of those up to so many beats before and after. */
export const usualBack = 24;
export const usualAhead = 8;
const usualCountMin = 4;
/** Where half of the intervals are further off their median than this share, a beat that comes early says nothing: fibrillation. */
export const irregularMax = 0.1;

/** Logarithms of intervals over the usual one. */
export const timingTermNames = ['early', 'pause', 'quite_early', 'very_early', 'next', 'before', 'drop'] as const;

/** Constant first. */
export const ventricularTimingWeights: readonly number[] = [-0.303, 3.395, 6.022, 0, 0, 0, 0, 0];
export const supraventricularTimingWeights: readonly number[] = [-2.403, 7.795, 0, 3.357, -0.676, 2.857, -3.791, 3.949];

type Beats = Readonly<{ count: number; tUs: Float64Array; starts: Uint8Array; ventricular: Float32Array; supraventricular: Float32Array }>;

const clip = (x: number, low: number, high: number): number => (x < low ? low : x > high ? high : x === x ? x : 0);
const near = new Float64Array(usualBack + usualAhead + 1);

/** @param out order of `timingTermNames`  @returns how irregular the rhythm is; NaN with too few intervals around */
export function timingTerms(
  { count, tUs, starts }: Pick<Beats, 'count' | 'tUs' | 'starts'>,
  start: number,
  i: number,
  out: Float64Array,
): number {
  const interval = (j: number): number => (j > start && j < count && starts[j] === 0 ? tUs[j]! - tUs[j - 1]! : Number.NaN);
  let n = 0;
  const to = Math.min(count - 1, i + usualAhead);
  for (let j = Math.max(start + 1, i - usualBack); j <= to; j++) if (starts[j] === 0) near[n++] = tUs[j]! - tUs[j - 1]!;
  const rr = interval(i);
  if (n < usualCountMin || Number.isNaN(rr)) return Number.NaN;
  const usual = middle(n);
  const before = clip(Math.log(interval(i - 1) / usual), -1, 1);
  const early = -clip(Math.log(rr / usual), -1, 1);
  const next = clip(Math.log(interval(i + 1) / usual), -1, 1);
  out[0] = clip(early, -0.3, 0.6);
  out[1] = clip(next, 0, 0.6);
  out[2] = clip(early - 0.1, 0, 0.5);
  out[3] = clip(early - 0.25, 0, 0.5);
  out[4] = clip(next, -0.4, 0.5);
  out[5] = before;
  out[6] = clip(Math.log(interval(i - 1) / rr), -0.7, 0.7);
  for (let j = 0; j < n; j++) near[j] = Math.abs(near[j]! - usual) / usual;
  return middle(n);
}

/** Median of the first n; orders them. */
function middle(n: number): number {
  for (let i = 1; i < n; i++) {
    const x = near[i]!;
    let j = i;
    for (; j > 0 && near[j - 1]! > x; j--) near[j] = near[j - 1]!;
    near[j] = x;
  }
  return n % 2 === 1 ? near[n >> 1]! : (near[(n >> 1) - 1]! + near[n >> 1]!) / 2;
}

const terms = new Float64Array(timingTermNames.length);

/** Looks 24 beats back and 8 ahead within the chain that begins at `start`.  @returns its origin */
export function beatOrigin(beats: Beats, start: number, i: number): number {
  let ventricular = beats.ventricular[i]!;
  let supraventricular = beats.supraventricular[i]!;
  if (Number.isNaN(ventricular)) return 0;
  const irregular = timingTerms(beats, start, i, terms);
  if (Number.isNaN(irregular)) return 0;
  ventricular += ventricularTimingWeights[0]!;
  supraventricular += supraventricularTimingWeights[0]!;
  for (let j = 0; j < terms.length; j++) {
    ventricular += ventricularTimingWeights[j + 1]! * terms[j]!;
    supraventricular += supraventricularTimingWeights[j + 1]! * terms[j]!;
  }
  if (ventricular > ventricularMin) return ventricularOrigin;
  if (irregular <= irregularMax && supraventricular > supraventricularMin)
    return supraventricular > surelySupraventricularMin ? surelySupraventricular : supraventricularOrigin;
  return ventricular > perhapsVentricularMin || supraventricular > perhapsSupraventricularMin ? perhapsEctopic : 0;
}
