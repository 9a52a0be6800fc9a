/** Beats whose QRS complexes lie in lost samples. They are put where the rhythm has them, said to be so, and enter no value. */
import type { BeatTrack, Gaps } from './beats.ts';
import { intervalMaxUs } from './beats.ts';

/** What a bridged beat is: interpolated, with a reason of its own. Positions in `beatKinds`, `beatReasons`. */
export const bridgedBeat = { kind: 3, reason: 11 } as const;

/** Of the usual interval: how far an interval may be off its multiple, */
export const BRIDGE_TOLERANCE = 0.4;
/** and how far a beat may be moved from its even place to where samples are missing. */
export const BRIDGE_SHIFT = 0.15;
/** A QRS complex so near to missing samples may be cut, ms. */
export const BRIDGE_REACH_MS = 80;
/** In fewer missing samples no QRS complex is lost, ms. */
export const BRIDGE_GAP_MIN_MS = 50;
/** Most beats between two that were seen. */
export const BRIDGE_MOST = 2;
/** The usual interval: the median of the last NN intervals, */
export const BRIDGE_USUAL_OF = 10;
/** at least so many, */
export const BRIDGE_USUAL_MIN = 3;
/** of so long before, s. */
export const BRIDGE_USUAL_SEC = 20;

const places = new Float64Array(BRIDGE_MOST);
const nothing = new Float64Array(0);

/** Beats that belong between a judged beat and the one before it: as many as its interval has room for besides the usual one, if samples
 *  are missing at the place of each. None without a rhythm: of a gap nothing else is known.
 *  @returns times in µs, ascending; valid until the next call */
export function bridgedBeats(track: BeatTrack, gaps: Gaps, i: number): Float64Array {
  const { tUs } = track;
  const rr = i === 0 ? Number.POSITIVE_INFINITY : tUs[i]! - tUs[i - 1]!;
  if (rr > intervalMaxUs || gaps.missingUs(tUs[i - 1]!, tUs[i]!) === 0) return nothing;
  const usual = usualUs(track, i);
  const count = Math.round(rr / usual) - 1;
  if (!(count >= 1 && count <= BRIDGE_MOST && Math.abs(rr - (count + 1) * usual) <= BRIDGE_TOLERANCE * usual)) return nothing;
  for (let j = 0; j < count; j++) {
    const even = tUs[i - 1]! + ((j + 1) * rr) / (count + 1);
    places[j] = gaps.nearestMissing(even, 1000 * BRIDGE_REACH_MS, 1000 * BRIDGE_GAP_MIN_MS);
    if (!(Math.abs(places[j]! - even) <= BRIDGE_SHIFT * usual)) return nothing;
  }
  return places.subarray(0, count);
}

/** Median of the NN intervals before beat i, µs; NaN where there are too few. */
function usualUs({ tUs, starts, verdict }: BeatTrack, i: number): number {
  const intervals: number[] = [];
  const fromUs = tUs[i]! - BRIDGE_USUAL_SEC * 1_000_000;
  for (let j = i - 1; j > 0 && tUs[j]! > fromUs && intervals.length < BRIDGE_USUAL_OF; j--)
    if (starts[j] === 0 && verdict[j] === 0) intervals.push(tUs[j]! - tUs[j - 1]!);
  if (intervals.length < BRIDGE_USUAL_MIN) return Number.NaN;
  intervals.sort((a, b) => a - b);
  return intervals[intervals.length >> 1]!;
}
