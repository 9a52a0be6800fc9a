/** The rhythm of a stream's ECG: the fibrillation index, from the beats of the first group of leads and the first lead before each, and the
 *  longest interval between two beats. */
import { Arena } from '../kernels/arena.ts';
import { grown } from '../kernels/grown.ts';
import type { QualityFlag } from '../../signal.ts';
import { BAD, GOOD, SUSPECT } from '../../signal.ts';
import { mayBeTWaves } from '../ecg/t-waves.ts';
import type { BeatTrack, Gaps } from '../hrv/beats.ts';
import { classifyByIntervals, noVerdict } from '../hrv/beats.ts';
import { isEctopicOrigin, ventricularOrigin } from '../hrv/beat-origin.ts';
import {
  ECTOPIC_MIN,
  INTERVALS_MIN,
  LAG_MAX,
  P_INTERVAL_MIN_SEC,
  P_POINTS,
  SHAPES_MIN,
  fibrillationIndex,
  irregularity,
  isDoubtfulFibrillation,
  isHiddenFibrillation,
  pLikeness,
  pShape,
} from '../hrv/fibrillation.ts';
import type { ValueSink } from '../hrv/values.ts';
import { featureMethods, methodIndex } from '../rows/methods.ts';
import { PPoints } from './p-points.ts';
import type { SampleRing } from './sample-ring.ts';
import { Steepness } from './steepness.ts';

const secondUs = 1_000_000;
const indexMethod = methodIndex('af_index');
const longestMethod = methodIndex('longest_rr_10s');
const burdenMethod = methodIndex('af_burden_300s');
/** From this index on, fibrillation is likelier than not. */
export const LIKELY = 0.5;
/** Share of the indices of 5 min that must be good for a good burden. */
export const BURDEN_GOOD = 0.8;
/** Share of them that may be suspect and say fibrillation: each of them moves the burden, if it is wrong; */
export const BURDEN_DOUBTFUL = 0.05;
/** or share of those that say fibrillation. */
export const LIKELY_DOUBTFUL = 0.2;
/** Beats further apart have no interval: a stream may be silent for hours. */
export const PAUSE_MAX_SEC = 20;
/** An interval is long, and may hide a beat, from so many usual ones on: the median of those before it. */
export const LONG_MIN = 1.5;
const [USUAL_MIN, USUAL_OF] = [3, 7];
/** Beats of so long before a new one are held: a pause, and what was usual before it. */
const HELD_SEC = 40;
/** Likewise, how steep the signal was. */
const STEEP_HELD_SEC = PAUSE_MAX_SEC + 2;
/** What lies in a long interval is a beat that was not seen, or noise that may be one, from this share of the steepness of the beats on. */
export const STEEP_MIN = 0.4;
/** Share of an interval in which nothing changes from which an electrode is off. */
export const STILL_MAX = 0.2;
/** Left out around the beats: the first with the end of its QRS complex, the second with its beginning. */
const [AFTER_BEAT_SEC, BEFORE_BEAT_SEC, WITHIN_BEAT_SEC] = [0.2, 0.2, 0.1];
/** What an interval shows between its beats. */
const [UNKNOWN, QUIET, STEEP] = [0, 1, 2] as const;
/** A wave between the end of the T wave and the P wave of an interval may be a beat that was not seen, a low wide one, when it has this
 *  share of the steepness of the beats, */
export const HIDDEN_MIN = 0.15;
/** stands out from what is there all the time by this factor, which noise and flutter waves do not, */
export const HIDDEN_ALONE = 4;
/** and is steeper than the P wave by this one: a P wave that is not conducted is no beat. */
export const HIDDEN_OVER_P = 1.1;
/** So many intervals, and such a share of them, that may hide a beat are a pattern. */
const HIDING_MIN = 2;
export const HIDING_SHARE = 0.25;
/** Their waves lie within so long of each other, after the beats before. */
export const HIDING_SPREAD_SEC = 0.12;
/** A beat has no room in a shorter interval, s, between those at its ends. */
const ROOM_SEC = 1;
/** Where a T wave has ended, s after the beat: at an interval of 1 s, and more per s beyond that (Framingham; Sagie et al. 1992). */
const [T_END_SEC, T_END_PER_SEC] = [0.4, 0.154];
/** Before a beat, s: no P wave yet; end of the P wave. */
const [P_BEFORE_SEC, P_AFTER_SEC] = [0.28, 0.08];
/** What is there all the time becomes less than this share of what it was when an electrode or an amplifier fades, not when the heart
 *  pauses. */
export const FADED_MAX = 0.2;

// shared by every stream of the thread: nothing of them outlives a call
const points = new Float64Array(P_POINTS);
const MOST = 512;
const rrUs = new Float64Array(MOST);
const otherUs = new Float64Array(MOST);
const adjacent = new Uint8Array(MOST);
const isVentricular = new Uint8Array(MOST);
const endUs = new Float64Array(MOST);
const starts = new Int32Array(MOST);
const verdict = noVerdict();

/** For a good index: share of the window that intervals cover, share of beats that are good. */
const COVERED_GOOD = 0.8;
const GOOD_SHARE = 0.8;

export class BeatRhythm {
  readonly #pPoints: PPoints;
  readonly #track: BeatTrack;
  readonly #gaps: Gaps;
  readonly #flagOf: (sec: number) => QualityFlag;
  readonly #sink: ValueSink;
  /** Beats of the windows to come, ascending, and the shape before each. */
  #count = 0;
  #times = new Float64Array(0);
  #shapes = new Int8Array(0);
  #isShape = new Uint8Array(0);
  readonly #steepness: Steepness;
  /** What the interval that ends with each beat shows. */
  #shown = new Uint8Array(0);
  /** Where the wave lies that may be a beat that was not seen, s after the beat before; 0: there is none. */
  #hiddenAfter = new Float32Array(0);
  #nextSec = -1;
  /** Indices of the 5 min under way that are not bad; how many are likely, good, and likely without being good. */
  readonly #five = { endSec: 0, count: 0, likely: 0, good: 0, doubtful: 0 };

  /** @param ring every sample of the first lead  @param latencySec from a beat until it is found  @param track, gaps kept by the caller
   *  @param flagOf flag of the second that begins at a time, s, of the last 40 s that are judged */
  constructor(
    fs: number,
    ring: SampleRing,
    latencySec: number,
    track: BeatTrack,
    gaps: Gaps,
    flagOf: (sec: number) => QualityFlag,
    sink: ValueSink,
  ) {
    this.#grow(64);
    this.#pPoints = new PPoints(fs, ring);
    this.#steepness = new Steepness(fs, STEEP_HELD_SEC + latencySec + 2);
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

  /** Rows of the first lead, in pieces of a second at most, before the beats that are found by them. */
  push(x: Float64Array, from: number, to: number, k: number): void {
    this.#steepness.push(x, from, to, k);
  }

  /** The next beat, which is the newest of the track: keeps the shape of what is before it. */
  beat(tUs: number): void {
    this.#pPoints.before(tUs, points);
    if (this.#count === this.#times.length) this.#grow(2 * this.#count);
    const i = this.#count++;
    this.#times[i] = tUs;
    this.#isShape[i] = pShape(points, this.#shapes, i * P_POINTS) ? 1 : 0;
    this.#hiddenAfter[i] = this.#hidden(i);
    this.#shown[i] = this.#whatShows(i);
  }

  /** @param judgedUs every beat before it has its verdict and its flag */
  advance(judgedUs: number): void {
    if (this.#nextSec < 0) return;
    const { cadenceSec } = featureMethods[indexMethod]!;
    for (; this.#nextSec * secondUs < judgedUs; this.#nextSec = this.#gaps.nextDue(this.#nextSec, cadenceSec, judgedUs))
      this.#values(this.#nextSec * secondUs);
    // the next value is due at most 10 s after the newest beat
    this.#forgetBefore((this.#nextSec - 10 - HELD_SEC) * secondUs);
  }

  /** Values exist where their last second has samples. */
  #values(tUs: number): void {
    if (this.#gaps.missingUs(tUs - secondUs, tUs) >= secondUs) return;
    this.#index(tUs);
    this.#longest(tUs);
    this.#burden(tUs / secondUs);
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
    let worst: QualityFlag = GOOD;
    for (let sec = Math.floor(times[end - 1]! / secondUs); sec * secondUs <= times[end]!; sec++)
      worst = Math.max(worst, this.#flagOf(sec)) as QualityFlag;
    const isDoubtful = mayBeTWaves(times, from - 1, to, secondUs) || this.hidesBetween(times[from - 1]!, tUs);
    const shown = isDoubtful ? STEEP : this.#shownBefore(times[end]!);
    this.#sink.value(longestMethod, -1, tUs, longest / 1000, flagOfInterval(worst, shown));
  }

  /** May beats in (fromUs, toUs] have hidden others, not one of them but a pattern? One wave may be noise, and so are waves at any distance
   *  from the beats; and one beat that was missed leaves a longer interval. Of beats of the last 40 s. */
  hidesBetween(fromUs: number, toUs: number): boolean {
    let count = 0;
    let hiding = 0;
    let [soonest, latest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (let i = this.#count - 1; i >= 0 && this.#times[i]! > fromUs; i--) {
      if (this.#times[i]! > toUs) continue;
      count++;
      const after = this.#hiddenAfter[i]!;
      if (after === 0) continue;
      hiding++;
      soonest = Math.min(soonest, after);
      latest = Math.max(latest, after);
    }
    return hiding >= HIDING_MIN && hiding >= HIDING_SHARE * count && latest - soonest <= HIDING_SPREAD_SEC;
  }

  /** Of the interval between the newest two beats, of any length: a low wide beat that comes after every beat leaves no longer one. */
  #hidden(i: number): number {
    if (i === 0) return 0;
    const fromSec = this.#times[i - 1]! / secondUs;
    const toSec = this.#times[i]! / secondUs;
    const rr = toSec - fromSec;
    if (rr < ROOM_SEC || rr > PAUSE_MAX_SEC) return 0;
    const from = fromSec + T_END_SEC + T_END_PER_SEC * (Math.min(rr, 2) - 1);
    const rest = this.#steepness.restBetween(from, toSec - P_BEFORE_SEC);
    if (rest !== rest) return 0;
    const { most, mostSec } = this.#steepness.between(from, toSec - P_BEFORE_SEC);
    if (most < HIDDEN_ALONE * rest || most < HIDDEN_MIN * this.#steepOfBeats(i)) return 0;
    return most > HIDDEN_OVER_P * this.#steepness.between(toSec - P_BEFORE_SEC, toSec - P_AFTER_SEC).most ? mostSec - fromSec : 0;
  }

  /** The lesser of the two beats before beat i. */
  #steepOfBeats(i: number): number {
    const last = this.#steepOf(this.#times[i - 1]! / secondUs);
    if (i < 2 || this.#times[i]! - this.#times[i - 2]! >= STEEP_HELD_SEC * secondUs) return last;
    return Math.min(last, this.#steepOf(this.#times[i - 2]! / secondUs));
  }

  /** Of the interval between the newest two beats: UNKNOWN unless it is long. The beats before it say what is usual, and how steep a beat
   *  is: what comes after it may not have come yet. */
  #whatShows(i: number): number {
    const times = this.#times;
    if (i === 0 || !(times[i]! - times[i - 1]! >= LONG_MIN * this.#usualBefore(i))) return UNKNOWN;
    const fromSec = times[i - 1]! / secondUs;
    const toSec = times[i]! / secondUs;
    if (toSec - fromSec > PAUSE_MAX_SEC) return UNKNOWN;
    const least = STEEP_MIN * this.#steepOfBeats(i);
    const { most, still } = this.#steepness.between(fromSec + AFTER_BEAT_SEC, toSec - BEFORE_BEAT_SEC);
    if (most >= least || this.#hiddenAfter[i]! > 0 || this.#hasFaded(i)) return STEEP;
    return most < least && still <= STILL_MAX ? QUIET : UNKNOWN;
  }

  #hasFaded(i: number): boolean {
    const [before, from, to] = [this.#times[i - 2]! / secondUs, this.#times[i - 1]! / secondUs, this.#times[i]! / secondUs];
    if (!(to - before < STEEP_HELD_SEC)) return false;
    const usual = this.#steepness.restBetween(before + AFTER_BEAT_SEC, from - P_AFTER_SEC);
    return this.#steepness.restBetween(from + AFTER_BEAT_SEC, to - P_AFTER_SEC) < FADED_MAX * usual;
  }

  #steepOf(beatSec: number): number {
    return this.#steepness.between(beatSec - WITHIN_BEAT_SEC, beatSec + WITHIN_BEAT_SEC + 0.1).most;
  }

  /** Median of the intervals before the one that ends with beat i, of beats that are held however samples came; NaN: too few. */
  #usualBefore(i: number): number {
    const times = this.#times;
    let count = 0;
    for (let j = i - 1; j > 0 && count < USUAL_OF && times[j - 1]! > times[i]! - HELD_SEC * secondUs; j--) {
      const us = times[j]! - times[j - 1]!;
      let at = count++;
      for (; at > 0 && usual[at - 1]! > us; at--) usual[at] = usual[at - 1]!;
      usual[at] = us;
    }
    return count < USUAL_MIN ? Number.NaN : usual[count >> 1]!;
  }

  #shownBefore(tUs: number): number {
    for (let i = this.#count - 1; i >= 0; i--) if (this.#times[i]! <= tUs) return this.#times[i] === tUs ? this.#shown[i]! : UNKNOWN;
    return UNKNOWN;
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
    const isEctopic = this.#ectopicShare(from, to) >= ECTOPIC_MIN;
    const irregular = irregularity(rrUs, adjacent, count, isEctopic ? LAG_MAX : 1);
    if (Number.isNaN(irregular)) return;
    const shapes = this.#shapesOf(count, isEctopic);
    const index = fibrillationIndex(irregular, pLikeness(this.#shapes, starts, shapes));
    const isDoubtful =
      index >= LIKELY ? isDoubtfulFibrillation(rrUs, otherUs, adjacent, count, irregular) : isHiddenFibrillation(rrUs, count, irregular);
    const isSure = !isDoubtful && covered >= COVERED_GOOD && shapes >= SHAPES_MIN && this.#goodShare(from, to) >= GOOD_SHARE;
    const flag = trust === 0 ? BAD : isSure ? GOOD : SUSPECT;
    this.#sink.value(indexMethod, -1, tUs, index, flag);
    if (flag !== BAD) this.#count5(tUs / secondUs, index, flag);
  }

  /** An index that ends at `sec` belongs to the 5 min that end then or next. */
  #count5(sec: number, index: number, flag: QualityFlag): void {
    const five = this.#five;
    const { cadenceSec } = featureMethods[burdenMethod]!;
    const endSec = Math.ceil(sec / cadenceSec) * cadenceSec;
    if (five.endSec !== endSec) Object.assign(five, { endSec, count: 0, likely: 0, good: 0, doubtful: 0 });
    five.count++;
    if (index >= LIKELY) five.likely++;
    if (flag === GOOD) five.good++;
    else if (index >= LIKELY) five.doubtful++;
  }

  #burden(sec: number): void {
    const { endSec, count, likely, good, doubtful } = this.#five;
    const { windowSec, coverageMin } = featureMethods[burdenMethod]!;
    const most = windowSec / featureMethods[indexMethod]!.cadenceSec;
    if (sec !== endSec || count < coverageMin * most) return;
    const isGood = good >= BURDEN_GOOD * most && doubtful <= Math.max(BURDEN_DOUBTFUL * count, LIKELY_DOUBTFUL * likely);
    this.#sink.value(burdenMethod, -1, sec * secondUs, (100 * likely) / count, isGood ? GOOD : SUSPECT);
  }

  #covered(from: number, to: number): number {
    const { tUs, starts: breaks } = this.#track;
    let us = 0;
    for (let i = from + 1; i < to; i++) if (breaks[i] === 0) us += tUs[i]! - tUs[i - 1]!;
    return us;
  }

  #ectopicShare(from: number, to: number): number {
    let ectopic = 0;
    for (let i = from; i < to; i++) if (isEctopicOrigin(this.#track.origin[i]!)) ectopic++;
    return ectopic / (to - from);
  }

  #goodShare(from: number, to: number): number {
    let good = 0;
    for (let i = from; i < to; i++) if (this.#track.flag[i] === GOOD) good++;
    return good / (to - from);
  }

  /** Intervals of beats from..to into `rrUs`, by their other places into `otherUs`, and the ends of them into `endUs`.
   *  @param trust 2: between good beats that are not ectopic; 1: between good beats; 0: all  @returns how many */
  #gather(from: number, to: number, trust: number): number {
    const { tUs, starts: breaks, origin, shiftMs } = this.#track;
    let count = 0;
    let last = -1;
    for (let i = from + 1; i < to && count < MOST; i++) {
      if (breaks[i] === 1 || !this.#isTrusted(i - 1, trust) || !this.#isTrusted(i, trust)) continue;
      rrUs[count] = tUs[i]! - tUs[i - 1]!;
      otherUs[count] = rrUs[count]! + 1000 * (shiftMs[i]! - shiftMs[i - 1]!);
      adjacent[count] = last === i - 1 ? 1 : 0;
      isVentricular[count] = origin[i] === ventricularOrigin ? 1 : 0;
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

  /** Shapes of the beats that end the gathered intervals, where the T wave before is over: places into `starts`.
   *  @param withoutVentricular no P wave stands before a ventricular beat  @returns how many */
  #shapesOf(intervals: number, withoutVentricular: boolean): number {
    let count = 0;
    let beat = 0;
    for (let i = 0; i < intervals; i++) {
      while (beat < this.#count && this.#times[beat]! < endUs[i]!) beat++;
      if (withoutVentricular && isVentricular[i] === 1) continue;
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
    this.#shown.copyWithin(0, n, this.#count);
    this.#hiddenAfter.copyWithin(0, n, this.#count);
    this.#shapes.copyWithin(0, n * P_POINTS, this.#count * P_POINTS);
    this.#count -= n;
  }

  /** @param length a multiple of 8 */
  #grow(length: number): void {
    const arena = new Arena(length * (8 + 4 + 1 + 1));
    this.#times = grown(this.#times, arena.doubles(length));
    this.#hiddenAfter = grown(this.#hiddenAfter, arena.floats(length));
    this.#isShape = grown(this.#isShape, arena.bytes(length));
    this.#shown = grown(this.#shown, arena.bytes(length));
    this.#shapes = grown(this.#shapes, new Int8Array(length * P_POINTS));
  }
}

const usual = new Float64Array(USUAL_OF);

/** Noise can hide a beat, so an interval has the worst flag of its seconds, and is suspect when something like a beat shows in it. A second
 *  is judged by its beats: where there is no beat because there is none to be seen, its flag is too bad by one. */
function flagOfInterval(worst: QualityFlag, shown: number): QualityFlag {
  if (shown === STEEP) return Math.max(worst, SUSPECT) as QualityFlag;
  return shown === QUIET && worst > GOOD ? ((worst - 1) as QualityFlag) : worst;
}
