/** Sums a strip up: its heart rate, and how far it can be trusted. */
import type { Beat } from './recording-source.ts';

export type StripReading = Readonly<{
  /** Beats per minute, ectopic ones included: of good beats, where there are none of suspect ones. null: none of either, because a number
   *  that is unusable is not shown. */
  bpm: number | null;
  /** Best flag of its beats, 0 good to 2 unusable; null: it has no beats. */
  flag: 0 | 1 | 2 | null;
  /** Beats of that flag, and all. */
  count: number;
  total: number;
}>;

export function readStrip(beats: readonly Beat[]): StripReading {
  if (beats.length === 0) return { bpm: null, flag: null, count: 0, total: 0 };
  const flag = Math.min(...beats.map(({ qmask }) => qmask)) as 0 | 1 | 2;
  const best = beats.filter(({ qmask }) => qmask === flag);
  const intervals = best.flatMap(({ intervalMs, kind }) => (intervalMs === null || kind === 'artefact' ? [] : [intervalMs]));
  const mean = intervals.reduce((sum, ms) => sum + ms, 0) / intervals.length;
  return { bpm: flag === 2 || intervals.length === 0 ? null : Math.round(60_000 / mean), flag, count: best.length, total: beats.length };
}
