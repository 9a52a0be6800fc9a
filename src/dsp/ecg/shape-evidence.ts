/** Evidence, in the shape of a beat, of where it began: the shape's part of two logistic functions, whose other part is the beat's timing
 *  (src/dsp/hrv/beat-origin.ts). `npm run accuracy -- --only beat-origin --leave-out recording` fits both. */

import { shapeMeasures } from './beat-shapes.ts';

/** Terms made of `shapeMeasures`, in the order of the weights below. */
export const shapeTermNames = [
  'unlike',
  'unlike_whole',
  'rest',
  'wider',
  'steeper',
  'larger',
  'wide',
  'no_p',
  'p_rest',
  'same_steep',
] as const;

/** For a ventricular beat: unlike the usual one, wider, less steep. */
export const ventricularShapeWeights: readonly number[] = [0.462, 0.94, 0.955, 4.387, -1.124, 1.207, 0.053, 0, 0, -7.298];
/** For a supraventricular beat: like the usual one, but for the P wave. */
export const supraventricularShapeWeights: readonly number[] = [-0.506, 0, 0, -0.98, 0.312, 0, 0, 0.553, 1.555, 0];

/** What a second lead adds for a ventricular beat: a constant, and how much wider than the usual one the beat is there. */
export const secondLeadWeights: readonly number[] = [-0.702, 4.913];
const WIDTH_RATIO = shapeMeasures.indexOf('qrs_width_ratio');

const clip = (x: number, low: number, high: number): number => (x < low ? low : x > high ? high : x === x ? x : 0);

/** @param m order of `shapeMeasures`  @param out order of `shapeTermNames`; what is missing counts as 0 */
export function shapeTerms(m: Float64Array, out: Float64Array): void {
  const unlike = Math.log(0.03 + clip(1 - m[0]!, 0, 1.5));
  out[0] = clip(unlike, -9, 9);
  out[1] = clip(Math.log(1.05 - Math.min(1, Math.max(-0.5, m[11]!))), -9, 9);
  out[2] = clip(m[5]!, -3, 2);
  out[3] = clip(m[4]!, 0, 0.6);
  out[4] = clip(m[2]!, -1.5, 1.5);
  out[5] = clip(m[1]!, -1.5, 1.5);
  out[6] = clip(m[3]! - 0.8, 0, 0.4) * clip(unlike + 2.5, 0, 1);
  // a P wave that is hardly there in the usual beat says nothing
  out[7] = clip(Math.log(1.05 - m[7]!) * clip((m[8]! + 4) / 2, 0, 1), -9, 9);
  // where much else stands before the beat, the P wave is hidden by noise
  out[8] = clip(m[13]!, -5, 2);
  // the steep part is that of the usual beat: a slow wave of movement lies over it
  out[9] = clip(-0.7 - m[14]!, 0, 1);
}

const terms = new Float64Array(shapeTermNames.length);
const evidence = { ventricular: 0, supraventricular: 0 };

/** How much wider than the usual beat, as the term `wider` has it; NaN: unknown. @param m order of `shapeMeasures` */
export const widerThanUsual = (m: Float64Array): number => (Number.isNaN(m[WIDTH_RATIO]!) ? Number.NaN : clip(m[WIDTH_RATIO]!, 0, 0.6));

/** @param second measures of a second lead, null without one
 *  @returns an object that the next call overwrites; NaN where there was no usual beat to compare with */
export function shapeEvidence(measures: Float64Array, second: Float64Array | null): typeof evidence {
  evidence.ventricular = evidence.supraventricular = measures[0] === measures[0] ? 0 : Number.NaN;
  shapeTerms(measures, terms);
  for (let i = 0; i < terms.length; i++) {
    evidence.ventricular += ventricularShapeWeights[i]! * terms[i]!;
    evidence.supraventricular += supraventricularShapeWeights[i]! * terms[i]!;
  }
  const wider = second === null ? Number.NaN : widerThanUsual(second);
  if (wider === wider) evidence.ventricular += secondLeadWeights[0]! + secondLeadWeights[1]! * wider;
  return evidence;
}
