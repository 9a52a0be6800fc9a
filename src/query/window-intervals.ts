/** Intervals of a window of beats, for what variability is made of: which beats they lie between, and whether they count. */
import { isSurelySupraventricular } from '../dsp/hrv/beat-origin.ts';
import type { StoredInterval } from '../dsp/hrv/stored-window.ts';
import { BAD, SUSPECT } from '../signal.ts';
import { beatClasses, rPeaksVersionOf } from './beat-classes.ts';
import { INTERVAL_MAX_NS } from './corrected-beats.ts';
import type { CorrectedBeat } from './corrected-beats.ts';
import type { BeatColumns } from './series-pages.ts';

/** What becomes of the interval that ends with a beat. */
export const intervalUses = ['nn', 'ectopic', 'rejected', 'missed', 'none', 'unseen'] as const;
export type IntervalUse = (typeof intervalUses)[number];

const [normal, ectopic, , interpolated] = [0, 1, 2, 3]; // of beatKinds
const supraventricular = 1 + beatClasses.indexOf('S');
const ventricular = 1 + beatClasses.indexOf('V');

/** Times and intervals are whole microseconds. */
const SAME_MS = 0.01;

export type MethodBeats = BeatColumns & Readonly<{ methodCode: string }>;

export type WindowBeat = Readonly<{
  tsNs: bigint;
  /** null: it has none. */
  intervalMs: number | null;
  use: IntervalUse;
  /** Its interval and the one before are a pair: a point of the Poincaré plot. */
  isPair: boolean;
  qmask: number;
  /** What a person says that it is; null: nobody has. */
  said: string | null;
}>;

export type WindowIntervals = Readonly<{
  beats: readonly WindowBeat[];
  intervals: readonly StoredInterval[];
  seenCount: number;
  suspectCount: number;
  badCount: number;
}>;

/** @param beats of the window, ascending, as computed or as corrected  @param sinceNs its beginning */
export function windowIntervals(beats: readonly CorrectedBeat[], columns: MethodBeats, sinceNs: bigint): WindowIntervals {
  const found: WindowBeat[] = [];
  const intervals: StoredInterval[] = [];
  const counts = [0, 0, 0];
  /** The beat before that was seen; beats that were not lie between. */
  let before: CorrectedBeat | null = null;
  let unseen = 0;
  let wasNn = false;
  let wasInterval = false;
  for (const beat of beats) {
    const { tsNs, index, said } = beat;
    const qmask = index < 0 ? 0 : columns.qmask[index]!;
    if (said === null && columns.kinds[index] === interpolated) {
      found.push({ tsNs, intervalMs: null, use: 'unseen', isPair: false, qmask, said });
      unseen++;
      continue;
    }
    counts[qmask]! += 1;
    const { ms, use, isSurelyEctopic } = intervalTo(beat, before, unseen, columns);
    const isNn = use === 'nn';
    found.push({ tsNs, intervalMs: ms, use, isPair: isNn && wasNn, qmask, said });
    if (ms !== null) {
      const endSec = Math.round(Number(tsNs - sinceNs) / 1000) / 1e6;
      intervals.push({ endSec, ms, isNn, isSurelyEctopic, follows: wasInterval });
    }
    [wasNn, wasInterval, before, unseen] = [isNn, ms !== null, beat, 0];
  }
  return {
    beats: found,
    intervals,
    seenCount: counts[0]! + counts[1]! + counts[2]!,
    suspectCount: counts[SUSPECT]!,
    badCount: counts[BAD]!,
  };
}

type Interval = Readonly<{ ms: number | null; use: IntervalUse; isSurelyEctopic: boolean }>;

function intervalTo(beat: CorrectedBeat, before: CorrectedBeat | null, unseen: number, columns: MethodBeats): Interval {
  const none: Interval = { ms: null, use: 'none', isSurelyEctopic: false };
  if (before === null) return none;
  const isAsComputed = beat.said === null && before.said === null && beat.index === before.index + 1 + unseen;
  if (!isAsComputed) {
    const apartNs = beat.tsNs - before.tsNs;
    if (apartNs <= 0n || apartNs > INTERVAL_MAX_NS) return none;
    const isOf = isEctopic(beat, columns) || isEctopic(before, columns);
    const isNn = isNormal(beat, columns) && isNormal(before, columns) && unseen === 0;
    return { ms: Number(apartNs) / 1e6, use: isNn ? 'nn' : isOf ? 'ectopic' : 'rejected', isSurelyEctopic: isOf };
  }
  const ms = columns.intervalMs[beat.index]!;
  // One that begins with another beat: that lies in a minute which cannot be read.
  if (Number.isNaN(ms) || Math.abs(Number(beat.tsNs - before.tsNs) / 1e6 - ms) > SAME_MS) return none;
  const isSurelyEctopic = isSure(beat, columns) || isSure(before, columns);
  if (columns.accepted[beat.index] === 1) return { ms, use: 'nn', isSurelyEctopic: false };
  const isOf = isEctopic(beat, columns) || isEctopic(before, columns);
  return { ms, use: unseen > 0 ? 'missed' : isOf ? 'ectopic' : 'rejected', isSurelyEctopic };
}

const isNormal = ({ said, index }: CorrectedBeat, { kinds }: BeatColumns): boolean =>
  said === null ? kinds[index] === normal : said === 'N';

const isEctopic = ({ said, index }: CorrectedBeat, { kinds }: BeatColumns): boolean =>
  said === null ? kinds[index] === ectopic : said !== 'N' && said !== 'Q';

/** As the engine knows it: a ventricular beat, or one that is supraventricular beyond doubt. */
function isSure({ index }: CorrectedBeat, { kinds, classes, confidence, methodCode }: MethodBeats): boolean {
  if (kinds[index] !== ectopic) return false;
  if (classes[index] !== supraventricular) return classes[index] === ventricular;
  return isSurelySupraventricular(confidence[index]!, rPeaksVersionOf(methodCode));
}
