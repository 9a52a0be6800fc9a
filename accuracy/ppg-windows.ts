/** Windows of a PPG recording compared with its reference: where its beats are wrong, and its true rate. */
import { matchBeats, median } from './ppg-reference.ts';
import type { PpgReference } from './ppg-reference.ts';

export const wrongF1 = 0.9;

/** Are the 10 s from `from` on wrong? Null where they cannot be judged. @param beats shifted by the recording's lag */
export function wrongWindows({ beatSec, spanSec }: PpgReference, beats: Float64Array): (from: number) => boolean | null {
  const pairs = matchBeats(beatSec, beats, 0.15);
  const used = new Uint8Array(beats.length);
  for (const j of pairs) if (j >= 0) used[j] = 1;
  return (from) => {
    if (!covers(spanSec, from + 0.5, from + 9.5)) return null;
    let [tp, fn, fp] = [0, 0, 0];
    beatSec.forEach((time, i) => {
      if (time < from || time >= from + 10) return;
      if (pairs[i]! >= 0) tp++;
      else fn++;
    });
    beats.forEach((time, j) => {
      if (time >= from && time < from + 10 && used[j] === 0) fp++;
    });
    return tp + fn < 3 ? null : (2 * tp) / (2 * tp + fp + fn) < wrongF1;
  };
}

/** 60 / median interval of the beats in [from, to); null with fewer than two intervals. */
export function rateBpm(beatSec: Float64Array, from: number, to: number): number | null {
  const intervals: number[] = [];
  for (let i = 1; i < beatSec.length; i++) if (beatSec[i - 1]! >= from && beatSec[i]! < to) intervals.push(beatSec[i]! - beatSec[i - 1]!);
  return intervals.length < 2 ? null : 60 / median(intervals);
}

export function covers(spanSec: Float64Array, from: number, to: number): boolean {
  for (let k = 0; k < spanSec.length; k += 2) if (spanSec[k]! <= from && spanSec[k + 1]! >= to) return true;
  return false;
}
