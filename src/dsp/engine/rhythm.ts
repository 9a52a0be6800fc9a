/** The rhythm of a stream's ECG: the fibrillation index, from the beats of the first group of leads and the first lead before each, and the
 *  longest interval between two beats. */
import type { QualityFlag } from '../../signal.ts';
import { BAD, GOOD, SUSPECT } from '../../signal.ts';
import type { BeatTrack, BeatVerdict, Gaps } from '../hrv/beats.ts';
import { classifyByIntervals } from '../hrv/beats.ts';
import {
  INTERVALS_MIN,
  P_FROM_SEC,
  P_INTERVAL_MIN_SEC,
  P_POINTS,
  P_TO_SEC,
  SHAPES_MIN,
  fibrillationIndex,
  irregularity,
  pLikeness,
  pShape,
} from '../hrv/fibrillation.ts';
import type { ValueSink } from '../hrv/values.ts';
import { featureMethods, methodIndex } from '../rows/methods.ts';
import type { SampleRing } from './sample-ring.ts';

const secondUs = 1_000_000;
/** Between the points of a shape, s; each is the mean of so long a stretch. */
const pointSec = (P_FROM_SEC - P_TO_SEC) / (P_POINTS - 1);
const indexMethod = methodIndex('af_index');
const longestMethod = methodIndex('longest_rr_10s');
/** Beats further apart have no interval: a stream may be silent for hours. */
export const PAUSE_MAX_SEC = 20;

// shared by every stream of the thread: nothing of them outlives a call
const points = new Float64Array(P_POINTS);
const MOST = 512;
const rrUs = new Float64Array(MOST);
const adjacent = new Uint8Array(MOST);
const endUs = new Float64Array(MOST);
const starts = new Int32Array(MOST);
const verdict: BeatVerdict = { kind: 0, reason: 0, missed: 0 };

/** For a good index: share of the window that intervals cover, share of beats that are good. */
const COVERED_GOOD = 0.8;
const GOOD_SHARE = 0.8;

export class BeatRhythm {
  readonly #fs: number;
  readonly #ring: SampleRing;
  readonly #track: BeatTrack;
  readonly #gaps: Gaps;
  readonly #flagOf: (sec: number) => QualityFlag;
  readonly #sink: ValueSink;
  /** Beats of the windows to come, ascending, and the shape before each. */
  #count = 0;
  #times = new Float64Array(64);
  #shapes = new Int8Array(64 * P_POINTS);
  #isShape = new Uint8Array(64);
  #nextSec = -1;

  /** @param ring every sample of the first lead  @param track, gaps kept by the caller
   *  @param flagOf flag of the second that begins at a time, s, of the last 40 s that are judged */
  constructor(fs: number, ring: SampleRing, track: BeatTrack, gaps: Gaps, flagOf: (sec: number) => QualityFlag, sink: ValueSink) {
    this.#fs = fs;
    this.#ring = ring;
    this.#track = track;
    this.#gaps = gaps;
    this.#flagOf = flagOf;
    this.#sink = sink;
  }

  /** Time before which every value is out, µs. */
  get finalUs(): number {
    return this.#nextSec < 0 ? Number.POSITIVE_INFINITY : this.#nextSec * secondUs;
  }

  start(tUs: number): void {
    const { cadenceSec } = featureMethods[indexMethod]!;
    this.#nextSec = Math.ceil(tUs / (cadenceSec * secondUs)) * cadenceSec;
  }

  /** The next beat: keeps the shape of what is before it. */
  beat(tUs: number): void {
    const half = (pointSec * this.#fs) / 2;
    for (let p = 0; p < P_POINTS; p++) {
      const at = (tUs / secondUs - P_FROM_SEC + p * pointSec) * this.#fs;
      points[p] = this.#ring.mean(Math.ceil(at - half), Math.max(Math.ceil(at - half), Math.floor(at + half)));
    }
    if (this.#count === this.#times.length) this.#grow();
    const i = this.#count++;
    this.#times[i] = tUs;
    this.#isShape[i] = pShape(points, this.#shapes, i * P_POINTS) ? 1 : 0;
  }

  /** @param judgedUs every beat before it has its verdict and its flag */
  advance(judgedUs: number): void {
    if (this.#nextSec < 0) return;
    const { cadenceSec } = featureMethods[indexMethod]!;
    for (; this.#nextSec * secondUs < judgedUs; this.#nextSec = this.#gaps.nextDue(this.#nextSec, cadenceSec, judgedUs))
      this.#values(this.#nextSec * secondUs);
    this.#forgetBefore((this.#nextSec - featureMethods[indexMethod]!.windowSec) * secondUs);
  }

  /** Values exist where their last second has samples. */
  #values(tUs: number): void {
    if (this.#gaps.missingUs(tUs - secondUs, tUs) >= secondUs) return;
    this.#index(tUs);
    this.#longest(tUs);
  }

  #longest(tUs: number): void {
    const { tUs: times } = this.#track;
    const to = this.#track.after(tUs);
    const from = Math.max(1, this.#track.after(tUs - featureMethods[longestMethod]!.windowSec * secondUs, to));
    let longest = 0;
    let end = 0;
    for (let i = from; i < to; i++) {
      const us = times[i]! - times[i - 1]!;
      if (us <= longest || us > PAUSE_MAX_SEC * secondUs || this.#gaps.missingUs(times[i - 1]!, times[i]!) > 0) continue;
      longest = us;
      end = i;
    }
    if (longest === 0) return;
    let flag: QualityFlag = GOOD;
    for (let sec = Math.floor(times[end - 1]! / secondUs); sec * secondUs <= times[end]!; sec++)
      flag = Math.max(flag, this.#flagOf(sec)) as QualityFlag;
    this.#sink.value(longestMethod, -1, tUs, longest / 1000, flag);
  }

  #index(tUs: number): void {
    const { windowSec, coverageMin } = featureMethods[indexMethod]!;
    const windowUs = windowSec * secondUs;
    const to = this.#track.after(tUs);
    const from = this.#track.after(tUs - windowUs, to);
    const covered = this.#covered(from, to) / windowUs;
    if (covered < coverageMin) return;
    // what is ectopic or doubtful is left out, where enough is left
    let trust = 3;
    let count = 0;
    while (count < INTERVALS_MIN && trust > 0) count = this.#gather(from, to, --trust);
    const irregular = irregularity(rrUs, adjacent, count);
    if (Number.isNaN(irregular)) return;
    const shapes = this.#shapesOf(count);
    const index = fibrillationIndex(irregular, pLikeness(this.#shapes, starts, shapes));
    const isSure = covered >= COVERED_GOOD && shapes >= SHAPES_MIN && this.#goodShare(from, to) >= GOOD_SHARE;
    this.#sink.value(indexMethod, -1, tUs, index, trust === 0 ? BAD : isSure ? GOOD : SUSPECT);
  }

  #covered(from: number, to: number): number {
    const { tUs, starts: breaks } = this.#track;
    let us = 0;
    for (let i = from + 1; i < to; i++) if (breaks[i] === 0) us += tUs[i]! - tUs[i - 1]!;
    return us;
  }

  #goodShare(from: number, to: number): number {
    let good = 0;
    for (let i = from; i < to; i++) if (this.#track.flag[i] === GOOD) good++;
    return good / (to - from);
  }

  /** Intervals of beats from..to into `rrUs`, and the ends of them into `endUs`.
   *  @param trust 2: between good beats that are not ectopic; 1: between good beats; 0: all  @returns how many */
  #gather(from: number, to: number, trust: number): number {
    const { tUs, starts: breaks } = this.#track;
    let count = 0;
    let last = -1;
    for (let i = from + 1; i < to && count < MOST; i++) {
      if (breaks[i] === 1 || !this.#isTrusted(i - 1, trust) || !this.#isTrusted(i, trust)) continue;
      rrUs[count] = tUs[i]! - tUs[i - 1]!;
      adjacent[count] = last === i - 1 ? 1 : 0;
      endUs[count++] = tUs[i]!;
      last = i;
    }
    return count;
  }

  #isTrusted(i: number, trust: number): boolean {
    if (trust === 0) return true;
    if (this.#track.flag[i] !== GOOD) return false;
    if (trust === 1) return true;
    // in fibrillation, beats that look ectopic are conducted ones as often as not
    classifyByIntervals(this.#track, i, verdict);
    return verdict.kind === 0;
  }

  /** Shapes of the beats that end the gathered intervals, where the T wave before is over: places into `starts`.  @returns how many */
  #shapesOf(intervals: number): number {
    let count = 0;
    let beat = 0;
    for (let i = 0; i < intervals; i++) {
      while (beat < this.#count && this.#times[beat]! < endUs[i]!) beat++;
      if (this.#times[beat] === endUs[i] && this.#isShape[beat] === 1 && rrUs[i]! > P_INTERVAL_MIN_SEC * secondUs)
        starts[count++] = beat * P_POINTS;
    }
    return count;
  }

  #forgetBefore(tUs: number): void {
    let n = 0;
    while (n < this.#count && this.#times[n]! <= tUs) n++;
    if (n < 32) return;
    this.#times.copyWithin(0, n, this.#count);
    this.#isShape.copyWithin(0, n, this.#count);
    this.#shapes.copyWithin(0, n * P_POINTS, this.#count * P_POINTS);
    this.#count -= n;
  }

  #grow(): void {
    const length = 2 * this.#times.length;
    const [times, isShape, shapes] = [this.#times, this.#isShape, this.#shapes];
    this.#times = new Float64Array(length);
    this.#isShape = new Uint8Array(length);
    this.#shapes = new Int8Array(length * P_POINTS);
    this.#times.set(times);
    this.#isShape.set(isShape);
    this.#shapes.set(shapes);
  }
}
