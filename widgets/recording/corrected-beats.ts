/** Beats of a strip as people have corrected them, next to those that were computed. */
import type { Beat, Mark } from './recording-source.ts';

/** A correction means the nearest beat within this time, ms: as the service takes it. */
const MATCH_MS = 150;
/** A longer interval is a gap, ms. */
const INTERVAL_MAX_MS = 3000;

/** A beat as corrected. */
export type CorrectedBeat = Readonly<{
  timeMs: number;
  intervalMs: number | null;
  /** What was computed; '': nothing was found there. */
  kind: string;
  aami: string | null;
  /** What a person says that it is: N, S, V, F, Q, or none; null: nobody has. */
  said: string | null;
  qmask: number;
}>;

/** The beat nearest to a time, within `withinMs`. @param beats in any order */
export function nearestBeat<T extends Readonly<{ timeMs: number }>>(beats: readonly T[], timeMs: number, withinMs = MATCH_MS): T | null {
  let best: T | null = null;
  for (const beat of beats) {
    const apart = Math.abs(beat.timeMs - timeMs);
    if (apart <= withinMs && (best === null || apart < Math.abs(best.timeMs - timeMs))) best = beat;
  }
  return best;
}

/** @param marks of these the corrections count, of two for a beat the one that was made later; those of another channel than the beats say
 *  nothing of them
 *  @param span what is drawn: a recording may have 20,000 corrections, and each is looked for
 *  @returns ascending; those of which a person says that there is none stay, with `said` none, and are in no interval */
export function correctBeats(
  beats: readonly Beat[],
  marks: readonly Mark[],
  [fromMs, toMs]: readonly [number, number],
): readonly CorrectedBeat[] {
  const isOfThem = ({ channel, startMs, beat: what }: Mark): boolean =>
    what !== null &&
    startMs > fromMs - INTERVAL_MAX_MS &&
    startMs < toMs + INTERVAL_MAX_MS &&
    (channel === null || beats.length === 0 || beats.some((beat) => beat.channel === channel));
  const corrections = marks.filter(isOfThem).toSorted((a, b) => a.madeMs - b.madeMs);
  const said = new Map<Beat, string>();
  const added: { timeMs: number; said: string }[] = [];
  for (const { startMs, beat: what, channel } of corrections) {
    const found = nearestBeat(
      beats.filter((beat) => channel === null || channel === beat.channel),
      startMs,
    );
    const before = found === null ? nearestBeat(added, startMs) : null;
    if (found !== null) said.set(found, what!);
    else if (before !== null) before.said = what!;
    else added.push({ timeMs: startMs, said: what! });
  }
  const all = [
    ...beats.map((beat) => {
      const { timeMs, kind, aami, qmask } = beat;
      return { timeMs, kind, aami, qmask, said: said.get(beat) ?? null };
    }),
    ...added.map((beat) => ({ ...beat, kind: '', aami: null, qmask: 0 })),
  ].toSorted((a, b) => a.timeMs - b.timeMs);
  let lastMs = NaN;
  return all.map((beat) => {
    if (beat.said === 'none') return { ...beat, intervalMs: null };
    const apart = beat.timeMs - lastMs;
    lastMs = beat.timeMs;
    return { ...beat, intervalMs: apart <= INTERVAL_MAX_MS ? apart : null };
  });
}
