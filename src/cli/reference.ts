/** Heart rate and RMSSD from reference beats, by the definitions of the features `hr_ecg` and `hrv_rmssd_60s`. */
import type { Annotation } from '../formats/wfdb-annotations.ts';

export type ReferenceBeats = Readonly<{
  /** Times of all beats, s, ascending. */
  timeSec: Float64Array;
  /** 1: conducted from the sinus or atrium the usual way, so that an interval between two such beats is NN. */
  normal: Uint8Array;
  /** Stretches without beats to count: ventricular flutter or fibrillation. */
  excluded: readonly Readonly<{ fromSec: number; toSec: number }>[];
}>;

/** Normal, bundle branch block and (nodal or atrial) escape beats. Paced beats are not: their intervals say nothing about the sinus
 *  node. */
const normalCodes = new Set(['N', 'L', 'R', 'e', 'j', 'B']);

export function referenceBeats(annotations: readonly Annotation[], fs: number): ReferenceBeats {
  const beats = annotations.filter((annotation) => annotation.isBeat);
  const excluded: { fromSec: number; toSec: number }[] = [];
  for (const { code, sample } of annotations) {
    if (code === '[') excluded.push({ fromSec: sample / fs, toSec: Infinity });
    else if (code === ']' && excluded.length > 0) excluded.at(-1)!.toSec = sample / fs;
  }
  return {
    timeSec: Float64Array.from(beats, (beat) => beat.sample / fs),
    normal: Uint8Array.from(beats, (beat) => (normalCodes.has(beat.code) ? 1 : 0)),
    excluded,
  };
}

/** 60 / mean RR of the intervals whose two beats lie in (end - 8 s, end], at least two of them; NaN otherwise. */
export function referenceHeartRate(beats: ReferenceBeats, endSec: number, windowSec = 8): number {
  const { timeSec } = beats;
  const from = firstAfter(timeSec, endSec - windowSec);
  const to = firstAfter(timeSec, endSec);
  const count = to - from - 1;
  if (count < 2) return Number.NaN;
  return (60 * count) / (timeSec[to - 1]! - timeSec[from]!);
}

/** RMSSD in ms over pairs of adjacent NN intervals whose beats lie in (end - 60 s, end]; NaN with fewer than 10 pairs. */
export function referenceRmssd(beats: ReferenceBeats, endSec: number, windowSec = 60): number {
  const { timeSec, normal } = beats;
  const from = firstAfter(timeSec, endSec - windowSec);
  const to = firstAfter(timeSec, endSec);
  let squares = 0;
  let pairs = 0;
  for (let i = from + 2; i < to; i++) {
    if (normal[i] === 0 || normal[i - 1] === 0 || normal[i - 2] === 0) continue;
    const d = (timeSec[i]! - 2 * timeSec[i - 1]! + timeSec[i - 2]!) * 1000;
    squares += d * d;
    pairs++;
  }
  return pairs < 10 ? Number.NaN : Math.sqrt(squares / pairs);
}

/** Does the window touch a stretch that has no beats to count? */
export function isExcluded(beats: ReferenceBeats, endSec: number, windowSec: number): boolean {
  return beats.excluded.some(({ fromSec, toSec }) => fromSec < endSec && toSec > endSec - windowSec);
}

/** Index of the first time later than t. */
function firstAfter(timeSec: Float64Array, t: number): number {
  let low = 0;
  let high = timeSec.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (timeSec[middle]! > t) high = middle;
    else low = middle + 1;
  }
  return low;
}
