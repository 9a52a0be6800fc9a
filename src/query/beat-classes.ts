/** Kinds of beats by AAMI EC57, made of what is stored with a beat. Fusion beats (F) are not told apart: docs/dsp/kinds-of-beats.md. */

/** N: of normal origin; S: supraventricular; V: ventricular; Q: it cannot be said. */
export const beatClasses = ['N', 'S', 'V', 'Q'] as const;
export type BeatClass = (typeof beatClasses)[number];

/** The first version of r_peaks whose beats have a confidence where their kind was judged. */
const CONFIDENT_SINCE = 10;
const BAD = 2;
/** Of `beatKinds` (series-pages.ts). */
const ARTEFACT = 2;

/** Do beats by a method without a confidence have no kind, or does the method have no confidences? @param methodCode `derived:...` */
export const judgesKinds = (methodCode: string): boolean => rPeaksVersionOf(methodCode) >= CONFIDENT_SINCE;

/** 0: another method. @param methodCode `derived:...` */
export const rPeaksVersionOf = (methodCode: string): number => Number(/r_peaks_v(\d+)$/.exec(methodCode)?.[1] ?? 0);

/** @param judged see judgesKinds  @param kind position in `beatKinds`  @param confidence null or NaN: none
 *  @returns null: no beat of the heart was seen there, or kinds are not judged */
export function beatClassOf(judged: boolean, kind: number, reason: string, qmask: number, confidence: number | null): BeatClass | null {
  if (kind >= ARTEFACT) return null;
  if (judged && (qmask === BAD || confidence === null || Number.isNaN(confidence))) return 'Q';
  if (reason === 'ventricular') return 'V';
  if (reason === 'supraventricular') return 'S';
  return judged ? 'N' : null;
}
