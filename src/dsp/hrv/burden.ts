/** Counts the ectopic beats of a window, and the ventricular ones that follow each other. */
import { BAD, GOOD, SUSPECT } from '../../signal.ts';
import type { QualityFlag } from '../../signal.ts';
import { isEctopicOrigin, ventricularOrigin } from './beat-origin.ts';
import type { BeatTrack } from './beats.ts';
import { intervalMaxUs } from './beats.ts';
import { irregularity } from './fibrillation.ts';

/** So many ventricular beats in a row are a run; two are a couplet. */
export const RUN_BEATS = 3;
/** Median change between neighbouring intervals, over their median, above which a rhythm is as irregular as fibrillation. */
export const irregularMin = 0.1;
/** A value is good where intervals between good beats cover so much of the window, */
export const coveredGood = 0.8;
/** where no more than this share of the beats is expected to be of another kind, by the confidences of their kinds, */
export const wrongKindMax = 0.02;
/** and no more than this share could not be compared with the usual beat. */
export const unknownKindMax = 0.05;
/** A run is good where each of its beats is ventricular with at least this confidence: waves of movement that look so have less; */
export const runConfidenceMin = 0.75;
/** and where they are so in the mean: of a bundle branch block, which is not one shape, single beats look so. */
export const runConfidenceMean = 0.9;
/** and where no more than this share of the beats of 10 s could not be compared with the usual one: it is more at a start. */
export const runUnknownMax = 1 / 3;

type Beats = Pick<BeatTrack, 'tUs' | 'starts' | 'flag' | 'origin'>;
type JudgedBeats = Beats & Pick<BeatTrack, 'originConfidence'>;

/** Of the beats of a window; `wrong`: how many are expected to be of another kind, of those whose kind has a confidence; `unknown`: the
 *  others; `usableUs`, `goodUs`: time between beats that are not bad, that are good. */
export type Burden = Readonly<{
  beats: number;
  ventricular: number;
  supraventricular: number;
  couplets: number;
  runs: number;
  wrong: number;
  unknown: number;
  usableUs: number;
  goodUs: number;
}>;

const isVentricular = ({ flag, origin }: Beats, i: number): boolean => flag[i] !== BAD && origin[i] === ventricularOrigin;

/** A couplet and the beat before it began at most this long before a beat: three of the longest intervals. */
const coupletUs = 3 * intervalMaxUs;

/** Counts beats [from, to); looks up to 9 s further back, for a couplet or run that is under way there. */
export function countBurden(track: JudgedBeats, from: number, to: number): Burden {
  const { tUs, starts, flag, origin, originConfidence } = track;
  let beats = 0;
  let ventricular = 0;
  let supraventricular = 0;
  let couplets = 0;
  let runs = 0;
  let wrong = 0;
  let unknown = 0;
  let usableUs = 0;
  let goodUs = 0;
  let run = runEndingAt(track, from - 1, tUs[from]! - coupletUs);
  for (let i = from; i < to; i++) {
    if (starts[i] === 1) run = 0;
    if (flag[i] === BAD) {
      run = 0;
      continue;
    }
    beats++;
    const confidence = originConfidence[i]!;
    if (confidence === confidence) wrong += 1 - confidence;
    else unknown++;
    if (i > from && starts[i] === 0) {
      const us = tUs[i]! - tUs[i - 1]!;
      if (flag[i - 1] !== BAD) usableUs += us;
      if (flag[i] === GOOD && flag[i - 1] === GOOD) goodUs += us;
    }
    if (origin[i] === ventricularOrigin) {
      ventricular++;
      run++;
      if (run === RUN_BEATS) runs++;
      continue;
    }
    if (isEctopicOrigin(origin[i]!)) supraventricular++;
    if (run === RUN_BEATS - 1) couplets++;
    run = 0;
  }
  return { beats, ventricular, supraventricular, couplets, runs, wrong, unknown, usableUs, goodUs };
}

/** Ventricular beats in a row up to beat i, of those later than a time. */
function runEndingAt(track: Beats, i: number, sinceUs: number): number {
  let length = 0;
  for (let j = i; j >= 0 && track.tUs[j]! > sinceUs && isVentricular(track, j); j--) {
    length++;
    if (track.starts[j] === 1) break;
  }
  return length;
}

export type Run = { beats: number; flag: QualityFlag };

/** The longest run that has a beat in [from, to), counted up to there, with its worst flag, suspect at best where a beat of it is not
 *  surely ventricular, and where many beats of the window are of no known kind; none: the worst flag of the window.
 *  @param sinceUs beats up to it are not counted */
export function longestRun(track: JudgedBeats, sinceUs: number, from: number, to: number, out: Run): void {
  let run = runEndingAt(track, from - 1, sinceUs);
  let end = -1;
  out.beats = 0;
  for (let i = from; i < to; i++) {
    if (track.starts[i] === 1) run = 0;
    run = isVentricular(track, i) ? run + 1 : 0;
    if (run <= out.beats) continue;
    out.beats = run;
    end = i;
  }
  const first = out.beats === 0 ? from : end - out.beats + 1;
  out.flag = worstFlag(track, first, out.beats === 0 ? to : end + 1);
  if (out.flag !== GOOD) return;
  const isSure = out.beats === 0 || isSurelyVentricular(track, first, end);
  if (!isSure || unknownShare(track, from, to) > runUnknownMax) out.flag = SUSPECT;
}

/** @param last the last of the beats */
function isSurelyVentricular({ originConfidence }: JudgedBeats, first: number, last: number): boolean {
  let sum = 0;
  for (let i = first; i <= last; i++) {
    if (!(originConfidence[i]! >= runConfidenceMin)) return false;
    sum += originConfidence[i]!;
  }
  return sum >= runConfidenceMean * (last - first + 1);
}

/** Of the beats of a window, how many could not be compared with the usual one: ventricular ones may be among them. */
function unknownShare({ originConfidence }: JudgedBeats, from: number, to: number): number {
  let unknown = 0;
  for (let i = from; i < to; i++) if (Number.isNaN(originConfidence[i]!)) unknown++;
  return unknown / (to - from);
}

function worstFlag({ flag }: Beats, from: number, to: number): QualityFlag {
  let worst: number = GOOD;
  for (let i = from; i < to; i++) worst = Math.max(worst, flag[i]!);
  return worst as QualityFlag;
}

const MOST = 512;
const rrUs = new Float64Array(MOST);
const adjacent = new Uint8Array(MOST);

/** Are the intervals of beats [from, to) that end and begin at no ectopic beat as irregular as in fibrillation? Of more than 512, the last
 *  ones count. */
export function isIrregular({ tUs, starts, flag, origin }: Beats, from: number, to: number): boolean {
  let count = 0;
  let last = -1;
  for (let i = Math.max(from + 1, to - MOST); i < to; i++) {
    if (starts[i] === 1 || flag[i] === BAD || isEctopicOrigin(origin[i]!) || isEctopicOrigin(origin[i - 1]!)) continue;
    rrUs[count] = tUs[i]! - tUs[i - 1]!;
    adjacent[count++] = last === i - 1 ? 1 : 0;
    last = i;
  }
  return irregularity(rrUs, adjacent, count) > irregularMin;
}

export function burdenFlag({ beats, wrong, unknown, goodUs }: Burden, windowUs: number): QualityFlag {
  const isKnown = unknown <= unknownKindMax * beats && wrong <= wrongKindMax * (beats - unknown);
  return isKnown && goodUs >= coveredGood * windowUs ? GOOD : SUSPECT;
}
