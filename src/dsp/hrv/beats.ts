/** The beats of one channel group in order, with their verdicts, and the stretches without samples: all that features are made of. */
import { GOOD, SUSPECT } from '../../signal.ts';
import type { QualityFlag } from '../../signal.ts';
import { select } from './median.ts';
import type { CorrectionState } from './rr-correction.ts';
import { beatOrigin, ectopicConfidenceMin, isSureOrigin, isEctopicOrigin, perhapsEctopic, ventricularOrigin } from './beat-origin.ts';
import type { JudgedOrigin } from './beat-origin.ts';
import { Arena } from '../kernels/arena.ts';
import { grown } from '../kernels/grown.ts';
import { isEctopic, isJump, isOutlier, isSmallJump, isSurelyEctopic, judgeIntervals, newCorrection } from './rr-correction.ts';

/** Two beats further apart have no interval: one of them was not seen, or there was nothing to see. 20 beats/min. */
export const intervalMaxUs = 3_000_000;
const secondUs = 1_000_000;
/** Missing samples between two beats, in all, that break their interval: a beat could hide in more. */
const missingMaxUs = 100_000;

/** Stretches of the device clock without samples, ascending, joined. The time before the first sample is one. */
export class Gaps {
  #from: number[] = [];
  #to: number[] = [];

  add(fromUs: number, toUs: number): void {
    const last = this.#to.length - 1;
    if (last >= 0 && fromUs <= this.#to[last]!) this.#to[last] = Math.max(this.#to[last]!, toUs);
    else {
      this.#from.push(fromUs);
      this.#to.push(toUs);
    }
  }

  /** Missing time in [fromUs, toUs), µs. */
  missingUs(fromUs: number, toUs: number): number {
    let sum = 0;
    for (let i = this.#to.length - 1; i >= 0 && this.#to[i]! > fromUs; i--)
      sum += Math.max(0, Math.min(toUs, this.#to[i]!) - Math.max(fromUs, this.#from[i]!));
    return sum;
  }

  /** The time nearest to `tUs` that lies within `reachUs` of missing samples, µs; Infinity where none are missing.
   *  @param leastUs gaps shorter than this don't count */
  nearestMissing(tUs: number, reachUs: number, leastUs: number): number {
    let nearest = Number.POSITIVE_INFINITY;
    for (let i = this.#to.length - 1; i >= 0; i--) {
      const [from, to] = [this.#from[i]!, this.#to[i]!];
      if (to - from < leastUs) continue;
      const at = Math.max(from - reachUs, Math.min(to + reachUs, tUs));
      if (Math.abs(at - tUs) < Math.abs(nearest - tUs)) nearest = at;
      if (to < tUs) break;
    }
    return nearest;
  }

  /** When a value is due after the one at `sec`, s. Values need samples in their last second, so a gap is left in one step: a device whose
   *  clock jumps by years makes one of years.
   *  @param endUs the caller asks for no more than the first one from here on */
  nextDue(sec: number, cadenceSec: number, endUs: number): number {
    const next = sec + cadenceSec;
    const tUs = sec * secondUs;
    let gapEndUs = tUs;
    for (let i = this.#to.length - 1; i >= 0 && this.#to[i]! > tUs; i--) if (this.#from[i]! <= tUs) gapEndUs = this.#to[i]!;
    const stepCount = Math.floor((Math.min(gapEndUs, endUs) / secondUs - next) / cadenceSec);
    return next + Math.max(0, stepCount) * cadenceSec;
  }

  forgetBefore(tUs: number): void {
    let n = 0;
    while (n < this.#to.length && this.#to[n]! < tUs) n++;
    if (n === 0) return;
    this.#from.splice(0, n);
    this.#to.splice(0, n);
  }
}

const noFloat64 = new Float64Array(0);
const noFloat32 = new Float32Array(0);
const noUint8 = new Uint8Array(0);

/** Beats as columns; [first, count) are held. Beats before `judged` have their final verdict.
 *  A chain is a run of beats with intervals between them; verdicts never look beyond it. */
export class BeatTrack {
  count = 0;
  judged = 0;
  tUs: Float64Array = noFloat64;
  confidence: Float32Array = noFloat32;
  verdict: Uint8Array = noUint8;
  /** 1: no interval to the beat before. */
  starts: Uint8Array = noUint8;
  /** Flag of the signal around the beat. */
  flag: Uint8Array = noUint8;
  /** Where it began, see beat-origin.ts. */
  origin: Uint8Array = noUint8;
  /** Probability that it began there, 0 to 1; NaN: unknown. */
  originConfidence: Float32Array = noFloat32;
  /** What the shape says for a ventricular and a supraventricular origin. */
  ventricular: Float32Array = noFloat32;
  supraventricular: Float32Array = noFloat32;
  /** How alike what stands before it is to what stands before the usual beat; NaN: unknown. */
  pLikeness: Float32Array = noFloat32;
  /** How much else stands before it (kernels/contract.ts); NaN: unknown. */
  beforeRest: Float32Array = noFloat32;
  /** Width of its shape, ms (kernels/contract.ts); NaN: unknown. */
  widthMs: Float32Array = noFloat32;
  /** Where the usual beat fits best, ms after it; NaN: it does not. Of a pulse, where it is steepest; NaN: samples are missing there,
   *  Infinity: nowhere near it. */
  shiftMs: Float32Array = noFloat32;
  /** Beats before this one have the flag of their second. */
  flagged = 0;
  /** Beats before this one have been handed out as rows. */
  handedOut = 0;
  /** Was the shape of any beat known? Pulse beats have none, and no origin. */
  #hasShapes = false;
  #chainStart = 0;
  #chainOpen = false;
  #correction: CorrectionState = newCorrection(0);

  constructor() {
    this.#grow(64);
  }

  /** @param missingUs samples missing between the beat before and this one */
  push(
    tUs: number,
    confidence: number,
    missingUs: number,
    ventricular = Number.NaN,
    supraventricular = Number.NaN,
    shiftMs = Number.NaN,
    pLikeness = Number.NaN,
    beforeRest = Number.NaN,
    widthMs = Number.NaN,
  ): void {
    if (this.count === this.tUs.length) this.#grow(this.count + 128);
    const i = this.count;
    const starts = !this.#chainOpen || tUs - this.tUs[i - 1]! > intervalMaxUs || missingUs > missingMaxUs;
    if (starts) {
      this.endChain();
      this.#chainStart = i;
      this.#chainOpen = true;
      this.#correction = newCorrection(i);
    }
    this.tUs[i] = tUs;
    this.confidence[i] = confidence;
    this.flag[i] = GOOD;
    this.starts[i] = starts ? 1 : 0;
    this.verdict[i] = 0;
    this.origin[i] = 0;
    this.originConfidence[i] = Number.NaN;
    this.ventricular[i] = ventricular;
    this.supraventricular[i] = supraventricular;
    this.shiftMs[i] = shiftMs;
    this.pLikeness[i] = pLikeness;
    this.beforeRest[i] = beforeRest;
    this.widthMs[i] = widthMs;
    this.#hasShapes ||= supraventricular === supraventricular;
    this.count = i + 1;
    this.#judge(false);
  }

  /** Time of the newest beat, -Infinity without one. */
  get lastUs(): number {
    return this.count === 0 ? Number.NEGATIVE_INFINITY : this.tUs[this.count - 1]!;
  }

  /** No beat can follow the newest one in its chain: judge what is left. */
  endChain(): void {
    if (!this.#chainOpen) return;
    this.#judge(true);
    this.#chainOpen = false;
  }

  #judge(ended: boolean): void {
    const judged = judgeIntervals(this, this.#chainStart, this.count, ended, this.#correction);
    for (let i = this.judged; i < judged; i++) {
      if (!this.#hasShapes) break; // no beat of a pulse has a kind
      beatOrigin(this, this.#chainStart, i, judgedOrigin);
      const { origin, confidence } = judgedOrigin;
      this.origin[i] = origin;
      this.originConfidence[i] = confidence;
      if (!isEctopicOrigin(origin)) continue;
      const bits = isSureOrigin(origin) ? isEctopic | isSurelyEctopic : isEctopic;
      this.verdict[i]! |= bits;
      if (i + 1 < this.count) this.verdict[i + 1]! |= bits;
    }
    this.judged = judged;
  }

  /** Flag of a beat as it is given out: at best suspect where its kind is doubtful or its rhythm may be ventricular, whatever the signal
   *  around it. What asks for its place alone, as the index of fibrillation does, in which conducted beats look ectopic, takes `flag`. */
  flagOf(i: number): QualityFlag {
    const origin = this.origin[i]!;
    const confidence = this.originConfidence[i]!;
    const isDoubtful = isEctopicOrigin(origin) ? confidence < ectopicConfidenceMin : origin === perhapsEctopic && Number.isNaN(confidence);
    return (isDoubtful ? Math.max(SUSPECT, this.flag[i]!) : this.flag[i]) as QualityFlag;
  }

  /** Index of the first beat later than a time. */
  after(tUs: number, to: number = this.count): number {
    let i = to;
    while (i > 0 && this.tUs[i - 1]! > tUs) i--;
    return i;
  }

  /** Drops beats older than a time that have been judged and handed out; the chain under judgement keeps 256 s. */
  forgetBefore(tUs: number): void {
    let n = 0;
    const end = Math.min(this.judged, this.handedOut);
    while (n < end && this.tUs[n]! < tUs) n++;
    if (n < 32) return;
    const { tUs: times, confidence, verdict, starts, flag, origin, originConfidence, ventricular, supraventricular } = this;
    const columns = [times, confidence, verdict, starts, flag, origin, originConfidence, ventricular, supraventricular];
    for (const column of [...columns, this.shiftMs, this.pLikeness, this.beforeRest, this.widthMs]) column.copyWithin(0, n, this.count);
    this.count -= n;
    this.judged -= n;
    this.handedOut -= n;
    this.flagged -= n;
    this.#chainStart -= n;
    const state = this.#correction;
    state.outlier -= n;
    state.jump -= n;
    state.small -= n;
  }

  /** @param length a multiple of 8 */
  #grow(length: number): void {
    const arena = new Arena(length * BYTES_PER_BEAT);
    const doubles = (old: Float64Array): Float64Array => grown(old, arena.doubles(length));
    const floats = (old: Float32Array): Float32Array => grown(old, arena.floats(length));
    const bytes = (old: Uint8Array): Uint8Array => grown(old, arena.bytes(length));
    this.tUs = doubles(this.tUs);
    this.verdict = bytes(this.verdict);
    this.starts = bytes(this.starts);
    this.flag = bytes(this.flag);
    this.origin = bytes(this.origin);
    this.confidence = floats(this.confidence);
    this.originConfidence = floats(this.originConfidence);
    this.ventricular = floats(this.ventricular);
    this.supraventricular = floats(this.supraventricular);
    this.shiftMs = floats(this.shiftMs);
    this.pLikeness = floats(this.pLikeness);
    this.beforeRest = floats(this.beforeRest);
    this.widthMs = floats(this.widthMs);
  }
}

const BYTES_PER_BEAT = 8 + 4 * 1 + 8 * 4;

const judgedOrigin: JudgedOrigin = { origin: 0, confidence: Number.NaN };

/** `kind`, `reason`: positions in `beatKinds`, `beatReasons`; `missed`: interpolated beats that belong before it; `confidence`: probability
 *  that it is ventricular, supraventricular or neither, as the reason says; NaN: unknown. */
export type BeatVerdict = { kind: number; reason: number; missed: number; confidence: number };

export const noVerdict = (): BeatVerdict => ({ kind: 0, reason: 0, missed: 0, confidence: Number.NaN });

/** What an interpolated beat is. */
export const interpolatedBeat = { kind: 3, reason: 8 } as const;

/** Kind and reason of a judged beat, by what its interval and the next one are against the local median.
 *  kind is about the beat, reason also about its interval: an interval is NN when the reason is ''. Order of `beatKinds`, `beatReasons`. */
export function classifyBeat(track: BeatTrack, i: number, out: BeatVerdict): void {
  out.kind = 0;
  out.reason = 0;
  out.missed = 0;
  out.confidence = track.originConfidence[i]!;
  const origin = track.origin[i]!;
  if (isEctopicOrigin(origin)) {
    set(out, ectopic, origin === ventricularOrigin ? ventricular : supraventricular);
    return;
  }
  if (track.starts[i] === 0 && isEctopicOrigin(track.origin[i - 1]!)) out.reason = followsEctopic;
  else judgeByIntervals(track, i, out, anyBit);
  if (out.kind === artefact && isSeen(track, i)) set(out, normal, irregular);
  else if (out.reason === followsArtefact && isSeen(track, i - 1)) out.reason = irregular;
  if (out.kind === artefact) out.confidence = Number.NaN;
}

/** Does a beat stand in a good signal, with a shape that was compared with the usual one? The heart then beats unevenly: of 418 beats of
 *  MIT-BIH and QTDB that were artefacts by their intervals and flagged 0, none was. */
const isSeen = ({ flag, originConfidence }: BeatTrack, i: number): boolean => flag[i] === GOOD && !Number.isNaN(originConfidence[i]!);

/** As if nothing were known of the beats' shapes. */
export function classifyByIntervals(track: BeatTrack, i: number, out: BeatVerdict): void {
  out.confidence = Number.NaN;
  out.kind = 0;
  out.reason = 0;
  out.missed = 0;
  judgeByIntervals(track, i, out, isOutlier | isJump | isSmallJump);
}

const anyBit = 255;

/** To the beat before. */
const hasInterval = ({ count, starts }: BeatTrack, j: number): boolean => j > 0 && j < count && starts[j] === 0;

/** @param bits of the verdicts that count */
function judgeByIntervals(track: BeatTrack, i: number, out: BeatVerdict, bits: number): void {
  if (track.starts[i] === 1 || (track.verdict[i]! & bits) === 0) return;
  const { tUs, verdict } = track;
  const rr = tUs[i]! - tUs[i - 1]!;
  const next = hasInterval(track, i + 1) ? tUs[i + 1]! - tUs[i]! : Number.NaN;
  const usual = localMedian(track, i, bits);
  const before = hasInterval(track, i - 1) ? tUs[i - 1]! - tUs[i - 2]! : Number.NaN;
  const beforeFlagged = hasInterval(track, i - 1) && (verdict[i - 1]! & bits) !== 0;
  if (rr > 1.6 * usual) {
    out.reason = missedBefore;
    out.missed = missedBeats(track, i, rr, usual);
  } else if (beforeFlagged && Math.abs(rr + before - 2 * usual) < 0.25 * usual)
    out.reason = before < earlyShare * usual ? followsEctopic : followsArtefact;
  else if (beforeFlagged && Math.abs(rr + before - usual) < 0.25 * usual) out.reason = followsArtefact;
  else if (Math.abs(rr + next - usual) < 0.25 * usual) set(out, artefact, extra);
  else if (Math.abs(rr + next - 2 * usual) < 0.25 * usual && rr < earlyShare * usual) set(out, ectopic, premature);
  else if (Math.abs(rr + next - 2 * usual) < 0.25 * usual && (verdict[i]! & isOutlier) === 0) set(out, artefact, misplaced);
  else if (rr < 0.8 * usual) set(out, ectopic, premature);
  else out.reason = irregular;
}

/** Beats to put between beat i and the one before: as many as the interval has room for, when it is near a whole multiple of the usual one
 *  and one of the two beats lies in a doubtful signal. In a good signal a pause is a pause (a dropped beat of AV block, a sinus pause). */
function missedBeats({ flag }: BeatTrack, i: number, rr: number, usual: number): number {
  const parts = Math.round(rr / usual);
  if (parts > missedMax + 1 || Math.abs(rr - parts * usual) > 0.25 * usual) return 0;
  return flag[i] === GOOD && flag[i - 1] === GOOD ? 0 : parts - 1;
}

const missedMax = 2;

/** An interval shorter than this share of the usual one ends in an ectopic beat; a little shorter, the beat is misplaced. */
const earlyShare = 0.88;
const [normal, ectopic, artefact] = [0, 1, 2];
const [premature, missedBefore, extra, misplaced, irregular, followsEctopic, followsArtefact] = [1, 2, 3, 4, 5, 6, 7];
const [ventricular, supraventricular] = [9, 10];

function set(out: BeatVerdict, kind: number, reason: number): void {
  out.kind = kind;
  out.reason = reason;
}

/** Median of the accepted intervals among the 10 before (runs for flagged beats alone); the interval itself when there is none. */
function localMedian(track: BeatTrack, i: number, bits: number): number {
  let count = 0;
  for (let j = i - 1; j > 0 && i - j <= LOCAL && track.starts[j] === 0; j--)
    if ((track.verdict[j]! & bits) === 0) near[count++] = track.tUs[j]! - track.tUs[j - 1]!;
  if (count === 0) return track.tUs[i]! - track.tUs[i - 1]!;
  select(near, count, count >> 1);
  return near[count >> 1]!;
}

const LOCAL = 10;
const near = new Float64Array(LOCAL);
