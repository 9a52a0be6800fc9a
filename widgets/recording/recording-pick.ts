/** Picks on the strip, to be marked: a moment, a stretch, or a beat. */
import { nearestBeat } from './corrected-beats.ts';
import type { Beat } from './recording-source.ts';

export const pickModes = ['off', 'stretch', 'beat'] as const;
export type PickMode = (typeof pickModes)[number];

/** @param toMs the same as fromMs: a moment
 *  @param beat what was computed there; 'added' where no beat was found; null: it is no beat that was picked */
export type Pick = Readonly<{ fromMs: number; toMs: number; beat: Beat | 'added' | null }>;

/** As bio:recording-pick tells it. */
export type PickDetail = Readonly<{
  from: string;
  /** null: a moment. */
  to: string | null;
  /** Of a beat what was computed, and of which channel; kind null: none was found there. null: no beat was picked. */
  beat: Readonly<{ kind: string | null; channel: string | null }> | null;
  /** It is done: Enter was pressed. */
  done: boolean;
}>;

export function pickDetail({ fromMs, toMs, beat }: Pick, done: boolean): PickDetail {
  const iso = (ms: number): string => new Date(ms).toISOString();
  const [from, to] = [Math.min(fromMs, toMs), Math.max(fromMs, toMs)];
  return {
    from: iso(from),
    to: Math.round(to) > Math.round(from) ? iso(to) : null,
    beat: beat === null ? null : beat === 'added' ? { kind: null, channel: null } : { kind: beat.kind, channel: beat.channel },
    done,
  };
}

/** The beat at a place; where there is none, one to be added. */
export function pickBeat(beats: readonly Beat[], timeMs: number): Pick {
  const found = nearestBeat(beats, timeMs);
  return { fromMs: found?.timeMs ?? timeMs, toMs: found?.timeMs ?? timeMs, beat: found ?? 'added' };
}

/** The next beat, or the one before; null: there is none here. */
export function stepBeat(beats: readonly Beat[], fromMs: number, forward: boolean): Pick | null {
  const beyond = beats
    .filter(({ timeMs }) => (forward ? timeMs > fromMs + 1 : timeMs < fromMs - 1))
    .toSorted((a, b) => a.timeMs - b.timeMs);
  const beat = forward ? beyond[0] : beyond.at(-1);
  return beat === undefined ? null : { fromMs: beat.timeMs, toMs: beat.timeMs, beat };
}

/** Sets an end of a stretch. A stretch whose ends would pass each other becomes a moment. */
export function setEnd(before: Pick | null, end: 'from' | 'to', ms: number): Pick {
  const { fromMs, toMs } = before ?? { fromMs: ms, toMs: ms };
  if (end === 'from') return { fromMs: ms, toMs: Math.max(ms, toMs), beat: null };
  return { fromMs: Math.min(fromMs, ms), toMs: ms, beat: null };
}
