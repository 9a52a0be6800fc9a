/** Kinds of beats against labels by ANSI/AAMI EC57:2012, 4.3.3, as WFDB's `bxb` counts them: of each pair of a reference beat (capital;
 *  O: none) and a called one (small; o: none)
 *    V: TP = Vv; FN = Vn + Vs + Vf + Vq + Vo; FP = Nv + Sv + Ov
 *    S: TP = Ss; FN = Sn + Sv + Sf + Sq + So; FP = Ns + Vs + Fs + Os
 *  So Fv, Qv and Qs are neither: a fusion beat called ventricular is no error, nor is anything said of a beat that nobody could name. A
 *  pair counts by its reference beat, from minute 5 on in MIT-BIH; flutter is left out on both sides, with 150 ms. */
import { originOf } from './beat-origin-fit.ts';
import type { Origin } from './beat-origin-fit.ts';
import { matchSec } from './match-beats.ts';
import { matchRecording } from './mitdb-recordings.ts';
import type { EcgRecording } from './mitdb-recordings.ts';

/** What the service says of a beat; Q: that it cannot say. */
export type Call = 'N' | 'S' | 'V' | 'Q';
/** `confidence`: of the call, NaN: none. */
export type CalledBeat = Readonly<{ sec: number; called: Call; confidence: number }>;
export type Score = { found: number; all: number; falsely: number };
export type KindScores = { V: Score; S: Score };

/** Reference kinds whose beats may be called so without an error; `-`: there is no beat. */
const forgiven: Readonly<Record<'V' | 'S', readonly Origin[]>> = { V: ['F', 'Q'], S: ['Q'] };

export const noScores = (): KindScores => ({ V: { found: 0, all: 0, falsely: 0 }, S: { found: 0, all: 0, falsely: 0 } });

/** What each called beat is by the reference, for those that count; null: it does not count. */
export function originsOfCalls(recording: EcgRecording, calls: readonly CalledBeat[]): (Origin | null)[] {
  const { fs, codes, beats } = recording;
  const { referenceOf } = matchRecording(recording, calls.map(({ sec }) => sec * fs)); // prettier-ignore
  return calls.map(({ sec }, i) => {
    const at = referenceOf[i]! < 0 ? -1 : referenceOf[i]!;
    if (!counts(recording, at < 0 ? sec : beats[at]! / fs)) return null;
    return at < 0 ? '-' : originOf(codes[at]!);
  });
}

export function scoreKinds(recording: EcgRecording, calls: readonly CalledBeat[]): KindScores {
  const scores = noScores();
  const origins = originsOfCalls(recording, calls);
  for (const kind of ['V', 'S'] as const) {
    recording.beats.forEach((at, i) => {
      if (originOf(recording.codes[i]!) === kind && counts(recording, at / recording.fs)) scores[kind].all++;
    });
    origins.forEach((origin, i) => {
      if (origin === null || calls[i]!.called !== kind) return;
      if (origin === kind) scores[kind].found++;
      else if (!forgiven[kind].includes(origin)) scores[kind].falsely++;
    });
  }
  return scores;
}

function counts({ fs, flutter, countFromSec }: EcgRecording, sec: number): boolean {
  return sec >= countFromSec && !flutter.some(([from, to]) => sec >= from / fs - matchSec && sec <= to / fs + matchSec);
}
