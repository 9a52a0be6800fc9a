/** Sums a strip up: its heart rate, and how far it can be trusted. */
import type { Beat } from './recording-source.ts';

/** Of fewer there is no heart rate: one extra beat makes a short interval and a long one, and either alone says nothing. */
export const INTERVALS_MIN = 3;

export type StripReading = Readonly<{
  /** Beats per minute, ectopic ones included: of good beats, where there are none of suspect ones. null: none of either, because a number
   *  that is unusable is not shown, or too few intervals. */
  bpm: number | null;
  /** Intervals that it is the mean of, or would be. */
  intervals: number;
  /** Best flag of its beats, 0 good to 2 unusable; null: it has no beats. */
  flag: 0 | 1 | 2 | null;
  /** Beats of that flag, and all. */
  count: number;
  total: number;
}>;

/** @param beats of the strip, ascending */
export function readStrip(beats: readonly Beat[]): StripReading {
  if (beats.length === 0) return { bpm: null, intervals: 0, flag: null, count: 0, total: 0 };
  const flag = Math.min(...beats.map(({ qmask }) => qmask)) as 0 | 1 | 2;
  const intervals = beats.flatMap(({ intervalMs, kind, qmask }, i) =>
    qmask !== flag || intervalMs === null || kind === 'artefact' || isCut(beats, i) ? [] : [intervalMs],
  );
  const count = beats.filter(({ qmask }) => qmask === flag).length;
  const mean = intervals.reduce((sum, ms) => sum + ms, 0) / intervals.length;
  const isEnough = flag < 2 && intervals.length >= INTERVALS_MIN;
  return { bpm: isEnough ? Math.round(60_000 / mean) : null, intervals: intervals.length, flag, count, total: beats.length };
}

/** An interval is of the strip where both of its beats are; and the short one before an extra beat belongs to the pause after it, so that
 *  neither counts where the edge of the strip parts them. */
function isCut(beats: readonly Beat[], i: number): boolean {
  const isExtra = (k: number): boolean => beats[k]?.kind === 'ectopic';
  // the first that has a beat before it, be that an artefact, has it outside the strip
  if (beats.slice(0, i).every(({ kind }) => kind === 'artefact')) return true;
  return (i === 1 && isExtra(0) && !isExtra(1)) || (i === beats.length - 1 && isExtra(i) && !isExtra(i - 1));
}
