/** PR, QRS and QT of a stream: the beats of its first group of ECG leads delineated in the first lead, medians of a minute.
 *
 *  An end of T that is wrong alike in every beat spreads no values. What tells it: the T waves themselves (`isTSure`), and the second lead,
 *  in which a beat every few seconds is delineated, too. */
import { Arena } from '../kernels/arena.ts';
import { grown } from '../kernels/grown.ts';
import { GOOD, SUSPECT } from '../../signal.ts';
import { AFTER_SEC, Delineator, noBoundaries } from '../ecg/delineation.ts';
import type { Boundaries, MeansOf } from '../ecg/delineation.ts';
import type { BeatTrack, Gaps } from '../hrv/beats.ts';
import { classifyBeat, intervalMaxUs, noVerdict } from '../hrv/beats.ts';
import { medianOf } from '../hrv/median.ts';
import { keptByRate } from '../kernels/kept-by-rate.ts';
import type { ValueSink } from '../hrv/values.ts';
import { featureMethods, methodIndex } from '../rows/methods.ts';
import type { SampleRing } from './sample-ring.ts';

const secondUs = 1_000_000;
const methods = {
  pr: methodIndex('pr_60s'),
  qrs: methodIndex('qrs_60s'),
  qt: methodIndex('qt_60s'),
  bazett: methodIndex('qtc_bazett_60s'),
  fridericia: methodIndex('qtc_fridericia_60s'),
  framingham: methodIndex('qtc_framingham_60s'),
  hodges: methodIndex('qtc_hodges_60s'),
};

/** A median needs so many beats, */
export const BEATS_MIN = 10;
/** and to be good this share of those of the window, */
export const BEATS_SHARE_GOOD = 0.5;
/** of which half lie within this of the median, ms. */
export const SPREAD_GOOD_MS = { pr: 12, qrs: 10, qt: 15 } as const;
/** A QT is good when at least this share of its T waves are sure, */
export const T_SURE_SHARE_GOOD = 0.5;
/** a PR when at least this share of its P waves are, */
export const P_SURE_SHARE_GOOD = 0.5;
/** and the second lead's is no further from it than this, ms: */
export const LEADS_APART_GOOD_MS = 25;
/** median of at least so many beats with a sure T wave there, of which half lie within this of it: otherwise that lead says nothing. */
export const COMPARED_MIN = 5;
/** The first beat of every so many seconds of the device clock is compared: a count would depend on where computing began. */
export const COMPARED_EVERY_SEC = 6;
/** Waves before the beats that lie further apart are no P waves of theirs: no PR. */
export const PR_SPREAD_MAX_MS = 20;

/** QT is corrected for a heart whose mean interval is that of its NN intervals, within this share; otherwise it is suspect. */
export const RR_APART_GOOD = 0.05;

type Measure = keyof typeof SPREAD_GOOD_MS;
const measures = ['pr', 'qrs', 'qt'] as const satisfies Measure[];

/** QT in ms at an interval of 60 /min, by the mean interval in s. */
export const corrected = {
  /** Bazett 1920. */
  bazett: (qtMs: number, rrSec: number): number => qtMs / Math.sqrt(rrSec),
  /** Fridericia 1920. */
  fridericia: (qtMs: number, rrSec: number): number => qtMs / Math.cbrt(rrSec),
  /** Sagie et al. 1992. */
  framingham: (qtMs: number, rrSec: number): number => qtMs + 154 * (1 - rrSec),
  /** Hodges et al. 1983. */
  hodges: (qtMs: number, rrSec: number): number => qtMs + 1.75 * (60 / rrSec - 60),
} as const;

/** What a beat measures, ms; NaN: a boundary was not found. */
export const measureOf: Readonly<Record<Measure, (found: Readonly<Boundaries>) => number>> = {
  pr: (found) => 1000 * (found.qrsOnset - found.pOnset),
  qrs: (found) => 1000 * (found.qrsEnd - found.qrsOnset),
  qt: (found) => 1000 * (found.tEnd - found.qrsOnset),
};

/** From the beat before, s; NaN: they have no interval between them, and the beat is not measured. */
export const secBefore = (tUs: number, lastUs: number): number =>
  tUs - lastUs > intervalMaxUs ? Number.NaN : Math.fround((tUs - lastUs) / secondUs);

// shared by every stream of the thread: nothing of them outlives a call
const boundaries = noBoundaries();
const inSecond = noBoundaries();
const verdict = noVerdict();
const own = { pr: new Float64Array(512), qrs: new Float64Array(512), qt: new Float64Array(512) };
const count = { pr: 0, qrs: 0, qt: 0 };
/** Of the beats with a QT: how many have a sure T wave; how much longer those compared are than in the second lead, ms. Of those with a
 *  PR: how many have a sure P wave. */
const evidence = { sure: 0, pSure: 0, apart: new Float64Array(64), compared: 0 };
/** Mean of the intervals between good beats, and of those that are NN, s; NaN: none. */
const mean = { rrSec: Number.NaN, nnSec: Number.NaN };

/** One for each rate, shared by every stream of the thread: nothing in it outlives a call. */
const delineatorOf = keptByRate((fs) => new Delineator(fs));

const slotOf = (tUs: number): number => Math.floor(tUs / (COMPARED_EVERY_SEC * secondUs));

/** Does what was gathered speak for the ends of T?  @param n beats with a QT */
function isTTrusted(n: number): boolean {
  if (evidence.sure < T_SURE_SHARE_GOOD * n) return false;
  const { apart, compared } = evidence;
  if (compared < COMPARED_MIN) return true;
  const middle = medianOf(apart, compared);
  for (let i = 0; i < compared; i++) apart[i] = Math.abs(apart[i]! - middle);
  return Math.abs(middle) <= LEADS_APART_GOOD_MS || medianOf(apart, compared) > LEADS_APART_GOOD_MS;
}

const noFloats = new Float32Array(0);

export class BeatIntervals {
  readonly #fs: number;
  readonly #delineator: Delineator;
  readonly #track: BeatTrack;
  readonly #gaps: Gaps;
  readonly #sink: ValueSink;
  readonly #meansOf: MeansOf;
  readonly #meansOfSecond: MeansOf | null;
  /** Beats of the windows to come, ascending; those from `#done` on wait for the samples after them. */
  #count = 0;
  #done = 0;
  #times = new Float64Array(0);
  #before = noFloats;
  #ms = { pr: noFloats, qrs: noFloats, qt: noFloats };
  /** 1: T is sure; P is. */
  #sure = noFloats;
  #pSure = noFloats;
  /** QT less that in the second lead, ms; NaN: not compared. */
  #apart = noFloats;
  #lastUs = Number.NEGATIVE_INFINITY;
  #nextSec = -1;

  /** @param ring every sample of the first lead  @param second likewise, null: there is none  @param track, gaps kept by the caller */
  constructor(fs: number, ring: SampleRing, second: SampleRing | null, track: BeatTrack, gaps: Gaps, sink: ValueSink) {
    this.#grow(64);
    this.#fs = fs;
    this.#delineator = delineatorOf(fs);
    this.#track = track;
    this.#gaps = gaps;
    this.#sink = sink;
    this.#meansOf = (from, width, out) => ring.means(from, width, out);
    this.#meansOfSecond = second === null ? null : (from, width, out) => second.means(from, width, out);
  }

  /** Time before which every value is out, µs. */
  get finalUs(): number {
    return this.#nextSec < 0 ? Number.POSITIVE_INFINITY : this.#nextSec * secondUs;
  }

  start(tUs: number): void {
    const { cadenceSec } = featureMethods[methods.qt]!;
    this.#nextSec = Math.ceil(tUs / (cadenceSec * secondUs)) * cadenceSec;
  }

  /** The next beat. */
  beat(tUs: number): void {
    if (this.#count === this.#times.length) this.#grow(2 * this.#count);
    this.#times[this.#count] = tUs;
    this.#before[this.#count] = secBefore(tUs, this.#lastUs);
    this.#apart[this.#count] = slotOf(tUs) > slotOf(this.#lastUs) ? 0 : Number.NaN;
    this.#count++;
    this.#lastUs = tUs;
  }

  /** Delineates beats that have all they need: to be asked while the ring holds what is before them.
   *  @param endUs samples before it are in the ring; Infinity: no more will come */
  look(endUs: number): void {
    for (; this.#done < this.#count && this.#times[this.#done]! + (AFTER_SEC + 0.02) * secondUs < endUs; this.#done++) {
      const i = this.#done;
      const isCompared = this.#meansOfSecond !== null && this.#apart[i] === 0;
      this.#ms.pr[i] = this.#ms.qrs[i] = this.#ms.qt[i] = this.#apart[i] = Number.NaN;
      this.#sure[i] = this.#pSure[i] = 0;
      if (Number.isNaN(this.#before[i]!)) continue;
      const position = (this.#times[i]! / secondUs) * this.#fs;
      if (!this.#delineator.delineate(position, this.#meansOf, this.#before[i]!, boundaries)) continue;
      for (const measure of measures) this.#ms[measure][i] = measureOf[measure](boundaries);
      if (boundaries.isTSure && !Number.isNaN(this.#ms.qt[i]!)) this.#sure[i] = 1;
      if (boundaries.isPSure && !Number.isNaN(this.#ms.pr[i]!)) this.#pSure[i] = 1;
      if (isCompared && this.#delineator.delineate(position, this.#meansOfSecond!, this.#before[i]!, inSecond, false) && inSecond.isTSure)
        this.#apart[i] = measureOf.qt(boundaries) - measureOf.qt(inSecond);
    }
  }

  /** @param judgedUs every beat before it has its verdict and its flag */
  advance(judgedUs: number): void {
    if (this.#nextSec < 0) return;
    const { cadenceSec, windowSec } = featureMethods[methods.qt]!;
    for (; this.#nextSec * secondUs < judgedUs; this.#nextSec = this.#gaps.nextDue(this.#nextSec, cadenceSec, judgedUs))
      this.#values(this.#nextSec * secondUs, windowSec * secondUs);
    this.#forgetBefore((this.#nextSec - windowSec) * secondUs);
  }

  #values(tUs: number, windowUs: number): void {
    if (this.#gaps.missingUs(tUs - secondUs, tUs) >= secondUs) return;
    const to = this.#track.after(tUs);
    const from = this.#track.after(tUs - windowUs, to);
    this.#gather(from, to);
    const isSteady = Math.abs(mean.nnSec / mean.rrSec - 1) <= RR_APART_GOOD;
    for (const measure of measures) {
      const n = count[measure];
      if (n < BEATS_MIN) continue;
      const x = own[measure];
      const middle = medianOf(x, n);
      for (let i = 0; i < n; i++) x[i] = Math.abs(x[i]! - middle);
      const spread = medianOf(x, n);
      if (measure === 'pr' && spread > PR_SPREAD_MAX_MS) continue;
      const isTrusted = measure === 'qrs' || (measure === 'qt' ? isTTrusted(n) : evidence.pSure >= P_SURE_SHARE_GOOD * n);
      const isGood = n >= BEATS_SHARE_GOOD * (to - from) && spread <= SPREAD_GOOD_MS[measure] && isTrusted;
      const flag = isGood ? GOOD : SUSPECT;
      this.#sink.value(methods[measure], -1, tUs, middle, flag);
      if (measure === 'qt' && !Number.isNaN(mean.rrSec))
        for (const formula of ['bazett', 'fridericia', 'framingham', 'hodges'] as const)
          this.#sink.value(methods[formula], -1, tUs, corrected[formula](middle, mean.rrSec), isSteady ? flag : SUSPECT);
    }
  }

  /** What good beats that are not ectopic measured, into `own`; the mean interval between all good beats, into `mean`: with the pauses
   *  after ectopic beats, but without the short intervals before these, the heart would seem slow, and QT too little corrected. */
  #gather(from: number, to: number): void {
    const { tUs, starts } = this.#track;
    const { pr, qrs, qt } = this.#ms;
    count.pr = count.qrs = count.qt = evidence.sure = evidence.pSure = evidence.compared = 0;
    let at = 0;
    let sum = 0;
    let used = 0;
    let nnSum = 0;
    let nnUsed = 0;
    for (let i = from; i < to; i++) {
      if (this.#track.flagOf(i) !== GOOD || starts[i] === 1) continue;
      classifyBeat(this.#track, i, verdict);
      if (i > from && this.#track.flagOf(i - 1) === GOOD) {
        const interval = (tUs[i]! - tUs[i - 1]!) / secondUs;
        sum += interval;
        used++;
        if (verdict.kind === 0 && verdict.reason === 0) {
          nnSum += interval;
          nnUsed++;
        }
      }
      if (verdict.kind !== 0) continue;
      while (at < this.#done && this.#times[at]! < tUs[i]!) at++;
      if (at >= this.#done || this.#times[at] !== tUs[i]) continue;
      if (pr[at] === pr[at] && count.pr < own.pr.length) own.pr[count.pr++] = pr[at]!;
      if (qrs[at] === qrs[at] && count.qrs < own.qrs.length) own.qrs[count.qrs++] = qrs[at]!;
      if (qt[at] === qt[at] && count.qt < own.qt.length) own.qt[count.qt++] = qt[at]!;
      evidence.sure += this.#sure[at]!;
      evidence.pSure += this.#pSure[at]!;
      const apart = this.#apart[at]!;
      if (!Number.isNaN(apart) && evidence.compared < evidence.apart.length) evidence.apart[evidence.compared++] = apart;
    }
    mean.rrSec = sum / used;
    mean.nnSec = nnSum / nnUsed;
  }

  #forgetBefore(tUs: number): void {
    let n = 0;
    while (n < this.#done && this.#times[n]! <= tUs) n++;
    if (n < 32) return;
    const { pr, qrs, qt } = this.#ms;
    for (const column of [this.#times, this.#before, pr, qrs, qt, this.#sure, this.#pSure, this.#apart])
      column.copyWithin(0, n, this.#count);
    this.#count -= n;
    this.#done -= n;
  }

  /** @param length a multiple of 2 */
  #grow(length: number): void {
    const arena = new Arena(length * (8 + 7 * 4));
    const floats = (old: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> => grown(old, arena.floats(length));
    this.#times = grown(this.#times, arena.doubles(length));
    this.#before = floats(this.#before);
    this.#ms = { pr: floats(this.#ms.pr), qrs: floats(this.#ms.qrs), qt: floats(this.#ms.qt) };
    this.#sure = floats(this.#sure);
    this.#pSure = floats(this.#pSure);
    this.#apart = floats(this.#apart);
  }
}
