/** Onset and end of P, QRS and T of one beat in one lead.
 *
 *  QRS: from its steepest slope outwards to where the slope stays below a share of it. End of T: the point of largest trapezium area after
 *  the steepest fall (Vazquez-Seisdedos et al. 2011, doi:10.1186/1475-925X-10-77), sought up to a time that grows with the root of the
 *  interval before the beat; end of P: the same; onset of P and T: mirrored, before the steepest rise.
 *  Smoothing: three moving means each, without delay.
 *  Mains hum is taken off first: its slope is that of a QRS complex that never ends. A slope that stays high up to the limits of the search
 *  has no onset and no end.
 *  Scored on QTDB as Martinez et al. 2004 (doi:10.1109/TBME.2003.821031) do: `npm run accuracy -- --only delineation`. */

import { MAINS_HZ } from './mains-hum.ts';

/** What is needed around an R peak, s: a beat is delineated when so much has come after it. */
export const BEFORE_SEC = 0.46;
export const AFTER_SEC = 0.86;
/** Samples are averaged down to about this rate. */
const RATE_HZ = 250;

// standard deviations of the smoothing, s
export const QRS_SMOOTH_SEC = 0.0047;
export const P_SMOOTH_SEC = 0.0104;
export const T_SMOOTH_SEC = 0.018;
/** Share of the steepest slope of the QRS below which it has not begun, and has ended, ... */
export const ONSET_SHARE = 0.05;
export const END_SHARE = 0.08;
const HELD_SEC = 0.012; // ... when the slope stays there so long
const QRS_SHARE = 0.25; // slopes above this share of the steepest are of the QRS
/** T is sought up to so many s times the root of the interval in s, */
export const T_REACH_SEC = 0.44;
const T_AFTER_SEC = 0.06; // and from so long after the QRS on
const T_FALL_SEC = 0.15; // its steepest fall comes within this after its peak,
const T_MARGIN_SEC = 0.08; // and at most so long after the time up to which T is sought
const T_RISE_SEC = 0.15; // its steepest rise comes within this before its peak,
const T_ONSET_TRAPEZIUM_SEC = 0.17; // and the left side of the trapezium of its onset lies so long before that
export const T_TRAPEZIUM_SEC = 0.09; // the right side of the trapezium lies so long after the fall
/** T is in doubt when it ends further from the level before the QRS than this share of its height, */
export const T_LEVEL_SHARE = 0.75;
/** when it ends beyond that level and is back by this share so soon after, as after the first of two phases, */
export const T_BACK_SHARE = 0.1;
export const T_BACK_SEC = 0.08;
// when it ends after the onset of the next P, should that come as this one did,
/** or when a wave of this share of its height stands between it and the next P: a U wave so high may be the last part of T, whose end is
 *  then not where T falls first (Rautaharju et al. 2009, doi:10.1016/j.jacc.2008.12.014). */
export const LATER_SHARE = 0.4;
// P is in doubt when it begins before the T wave of the beat before has ended, should that end as this one does, and when it is cut
const LEVEL_SEC = 0.02; // the level is the mean of so long before the QRS
const LATER_SEC = 0.22; // U has its top some 0.1 s after the end of T
const INTERVAL_SEC = { min: 0.3, max: 1.6 };
const P_BEFORE_SEC = 0.3; // P is sought from so long before R on,
const P_INTERVAL_SHARE = 0.45; // but not further than this share of the interval,
const P_CUT_SHARE = 0.5; // P is cut where the search begins so far from the level before QRS, by its height, on the flank of another wave
const P_FURTHER_SEC = 0.15; // a wave that is cut is sought up to so much earlier,
const P_STEP_SEC = 0.02; // in such steps
const P_MARGIN_SEC = 0.012; // up to so long before the QRS
const P_RISE_SEC = 0.1;
export const P_TRAPEZIUM_SEC = 0.07;
export const P_END_TRAPEZIUM_SEC = 0.04; // the same after its steepest fall
const NEIGHBOURS_SEC = { before: 0.14, after: 0.16 }; // the QRS lies within this of R
/** Hum of mains: */
const MAINS_SEC = 1.3; // a sine of either frequency over so long, whole periods of both,
export const MAINS_SHARE_MIN = 0.01; // that has this share of the height of the beat
export const MAINS_TIMES = 4; // and is so many times what is there
const MAINS_PERIODS = 3; // so many periods fewer and more, where such a sine leaves nothing

/** Times in s after R; NaN: not found. */
export type Boundaries = {
  /** Nothing speaks against the T wave that was found. */
  isTSure: boolean;
  /** Nothing speaks against the P wave that was found. */
  isPSure: boolean;
  pOnset: number;
  pPeak: number;
  pEnd: number;
  qrsOnset: number;
  qrsEnd: number;
  tOnset: number;
  tPeak: number;
  tEnd: number;
};

function clear(out: Boundaries): void {
  out.isTSure = out.isPSure = false;
  out.pOnset = out.pPeak = out.pEnd = Number.NaN;
  out.qrsOnset = out.qrsEnd = Number.NaN;
  out.tOnset = out.tPeak = out.tEnd = Number.NaN;
}

export const noBoundaries = (): Boundaries => ({
  isTSure: false,
  isPSure: false,
  pOnset: Number.NaN,
  pPeak: Number.NaN,
  pEnd: Number.NaN,
  qrsOnset: Number.NaN,
  qrsEnd: Number.NaN,
  tOnset: Number.NaN,
  tPeak: Number.NaN,
  tEnd: Number.NaN,
});

/** Fills `out` with means of `width` samples each, from one on.  @returns false where one is missing */
export type MeansOf = (from: number, width: number, out: Float64Array) => boolean;

/** Of a lead in memory; NaN marks a missing sample. */
export const meansIn =
  (x: Float64Array | Float32Array): MeansOf =>
  (from, width, out) => {
    for (let i = 0; i < out.length; i++) {
      let sum = 0;
      for (let k = from + i * width; k < from + (i + 1) * width; k++) sum += x[k] ?? Number.NaN;
      if (Number.isNaN(sum)) return false;
      out[i] = sum / width;
    }
    return true;
  };

/** Places in the window, and what its certainty depends on. */
type T = {
  onset: number;
  peak: number;
  end: number;
  /** It ends near the level before the QRS. */
  isLevel: boolean;
  /** Where after an end beyond that level the signal is back; -1: nowhere soon. */
  back: number;
  height: number;
  /** Height of the highest wave between it and the next P. */
  later: number;
};

type P = { onset: number; peak: number; end: number; isCut: boolean };

/** For one sampling rate; holds scratch space alone. */
export class Delineator {
  /** Every how many samples one is kept, of their mean. */
  readonly decimation: number;
  readonly #fs: number;
  /** Samples before R, and all, at the reduced rate. */
  readonly #before: number;
  readonly #length: number;
  readonly #x: Float64Array;
  readonly #smooth: Float64Array;
  readonly #once: Float64Array;
  readonly #twice: Float64Array;
  /** Samples in which hum is looked for; turns a sample of either mains, and of the sines next to each. */
  readonly #humLength: number;
  readonly #turns: Float64Array;
  readonly #around: Float64Array;

  /** @param fs sampling rate, Hz */
  constructor(fs: number) {
    this.decimation = Math.max(1, Math.round(fs / RATE_HZ));
    this.#fs = fs / this.decimation;
    this.#before = Math.ceil(BEFORE_SEC * this.#fs);
    this.#length = this.#before + Math.ceil(AFTER_SEC * this.#fs) + 1;
    this.#x = new Float64Array(this.#length);
    this.#smooth = new Float64Array(this.#length);
    this.#once = new Float64Array(this.#length);
    this.#twice = new Float64Array(this.#length);
    this.#humLength = Math.min(this.#length, Math.round(MAINS_SEC * this.#fs));
    const apart = (2 * Math.PI * MAINS_PERIODS) / this.#humLength;
    this.#turns = Float64Array.from(MAINS_HZ, (hz) => (2 * Math.PI * hz) / this.#fs);
    this.#around = Float64Array.from([...this.#turns].flatMap((turn) => [turn - apart, turn + apart]));
  }

  /** @param position R peak, samples; may lie between two
   *  @param meansOf of the lead
   *  @param intervalSec time to the beat before
   *  @param isPSought a fifth of the time; without it `isTSure` knows no next P
   *  @returns false where a sample is missing or there is no QRS; `out` is filled as far as waves were found */
  delineate(position: number, meansOf: MeansOf, intervalSec: number, out: Boundaries, isPSought = true): boolean {
    clear(out);
    const d = this.decimation;
    const middle = Math.round(position / d);
    if (!meansOf((middle - this.#before) * d, d, this.#x)) return false;
    this.#takeHumOff();
    // seconds after R of a place in the window
    const origin = (middle * d + (d - 1) / 2 - position) / (d * this.#fs);
    const sec = (i: number): number => (i - this.#before) / this.#fs + origin;
    const qrs = this.#qrs();
    if (qrs === null) return false;
    out.qrsOnset = sec(qrs.onset);
    out.qrsEnd = sec(qrs.end);
    const rr = Math.min(INTERVAL_SEC.max, Math.max(INTERVAL_SEC.min, intervalSec));
    const pTo = Number.isNaN(qrs.onset) ? this.#before - this.#samples(NEIGHBOURS_SEC.before) : qrs.onset;
    let p = isPSought ? this.#p(pTo, intervalSec, 0) : null;
    const t = this.#t(
      Number.isNaN(qrs.end) ? this.#before + this.#samples(NEIGHBOURS_SEC.after) : qrs.end,
      rr,
      this.#levelBefore(qrs.onset),
      this.#before + this.#samples(intervalSec + (p === null ? -P_BEFORE_SEC : sec(p.onset))),
    );
    if (t !== null) {
      out.tOnset = sec(t.onset);
      out.tPeak = sec(t.peak);
      out.tEnd = sec(t.end);
    }
    // what is cut is the T wave before, where its whole would begin in that
    if (p?.isCut === true) {
      const whole = this.#p(pTo, intervalSec, P_FURTHER_SEC);
      if (whole !== null && !whole.isCut && !(out.tEnd > intervalSec + sec(whole.onset))) p = whole;
    }
    if (p !== null) {
      out.pPeak = sec(p.peak);
      out.pOnset = sec(p.onset);
      out.pEnd = sec(p.end);
    }
    // NaN, where no P was found, is before and after nothing
    const nextP = intervalSec + out.pOnset;
    const isLast = t === null || t.later < LATER_SHARE * t.height;
    out.isTSure = t !== null && t.isLevel && isLast && !(out.tEnd > nextP) && (t.back < 0 || sec(t.back) > nextP);
    out.isPSure = p !== null && !p.isCut && !(out.tEnd > nextP);
    return true;
  }

  #samples(sec: number): number {
    return Math.trunc(sec * this.#fs);
  }

  #takeHumOff(): void {
    const x = this.#x;
    const n = this.#humLength;
    const height = sinesAt(x, n, this.#turns, 0);
    const least = MAINS_SHARE_MIN * height;
    const [aRe, aIm, bRe, bIm] = [sines[0]!, sines[1]!, sines[2]!, sines[3]!];
    this.#takeSineOff(0, aRe, aIm, least);
    this.#takeSineOff(1, bRe, bIm, least);
  }

  /** @param re, im what there is of it, by its amplitude at the last sample looked at */
  #takeSineOff(which: number, re: number, im: number, least: number): void {
    const x = this.#x;
    const n = this.#humLength;
    const turn = this.#turns[which]!;
    // nearly always; well below what rounding could change
    if (re * re + im * im < 0.99 * least * least) return;
    // as far as it is a sine: folded to 0 or half the rate it is none, and what there is of it the smoothing takes off
    const apart = (2 * Math.PI * MAINS_PERIODS) / n;
    if (Math.hypot(re, im) < least || Math.abs(Math.sin(turn)) < Math.sin(apart)) return;
    sinesAt(x, n, this.#around, 2 * which);
    const around = Math.max(Math.hypot(sines[0]!, sines[1]!), Math.hypot(sines[2]!, sines[3]!));
    if (Math.hypot(re, im) > MAINS_TIMES * around) takeOff(x, n - 1, turn, re, im);
  }

  #qrs(): { onset: number; end: number } | null {
    const r = this.#before;
    const first = Math.max(1, r - this.#samples(NEIGHBOURS_SEC.before));
    const last = Math.min(this.#length - 2, r + this.#samples(NEIGHBOURS_SEC.after));
    const value = this.#filtered(QRS_SMOOTH_SEC, first - 1, last + 1);
    const from = r - this.#samples(0.08);
    const to = r + this.#samples(0.09);
    let steepest = 0;
    for (let i = from; i < to; i++) steepest = Math.max(steepest, Math.abs(slopeAt(value, i)));
    if (!(steepest > 0)) return null;
    let begin = from;
    while (Math.abs(slopeAt(value, begin)) <= QRS_SHARE * steepest) begin++;
    let finish = to - 1;
    while (Math.abs(slopeAt(value, finish)) <= QRS_SHARE * steepest) finish--;
    const held = Math.max(2, Math.round(HELD_SEC * this.#fs)); // one sample is no stay
    const onset = quietFrom(value, begin, first, -1, ONSET_SHARE * steepest, held);
    const end = quietFrom(value, finish, last, 1, END_SHARE * steepest, held);
    return { onset, end };
  }

  /** NaN, where the QRS has no onset. */
  #levelBefore(qrsOnset: number): number {
    const n = Math.max(1, this.#samples(LEVEL_SEC));
    let sum = 0;
    for (let i = 1; i <= n; i++) sum += this.#x[qrsOnset - i]!;
    return sum / n;
  }

  /** @param restTo where the next P may begin */
  #t(qrsEnd: number, intervalSec: number, level: number, restTo: number): T | null {
    const from = qrsEnd + this.#samples(T_AFTER_SEC);
    const to = Math.min(this.#length - 1 - this.#samples(0.1), this.#before + this.#samples(T_REACH_SEC * Math.sqrt(intervalSec)));
    if (to - from < this.#samples(0.1)) return null;
    const seen = to + this.#samples(T_MARGIN_SEC) + this.#samples(T_TRAPEZIUM_SEC) + this.#samples(T_BACK_SEC) + 1;
    const value = this.#filtered(T_SMOOTH_SEC, from - 1, Math.min(this.#length - 1, Math.max(seen, restTo)));
    const { at: peak, sign } = farthest(value, from, to, value[from]!, value[to]!);
    const fallTo = Math.min(this.#length - 2, peak + this.#samples(T_FALL_SEC), to + this.#samples(T_MARGIN_SEC));
    if (fallTo - peak < 4) return null;
    const fall = steepestIn(value, peak + 1, fallTo, -sign);
    const right = Math.min(this.#length - 1, fall + this.#samples(T_TRAPEZIUM_SEC));
    let end = fall;
    let largest = 0;
    for (let i = fall; i < right; i++) {
      const area = sign * (value[fall]! - value[i]!) * (2 * right - i - fall);
      if (area <= largest) continue;
      largest = area;
      end = i;
    }
    const height = sign * (value[peak]! - value[end]!);
    const beyond = sign * (level - value[end]!);
    const isLevel = Math.abs(beyond) <= T_LEVEL_SHARE * height;
    const backTo = beyond > 0 ? Math.min(this.#length - 1, end + this.#samples(T_BACK_SEC)) : end;
    let back = end + 1;
    while (back <= backTo && sign * (value[back]! - value[end]!) < T_BACK_SHARE * height) back++;
    const onset = this.#onsetBefore(value, peak, from, T_RISE_SEC, T_ONSET_TRAPEZIUM_SEC, sign);
    const rest = Math.min(this.#length - 1, restTo, end + this.#samples(LATER_SEC));
    let later = 0;
    let low = end;
    for (let i = end; i <= rest; i++) {
      if (sign * value[i]! < sign * value[low]!) low = i;
      if (sign * (value[i]! - value[low]!) >= T_BACK_SHARE * height) later = Math.max(later, sign * (value[i]! - value[rest]!));
    }
    return { onset, peak, end, isLevel, back: back > backTo ? -1 : back, height, later };
  }

  /** @param furtherSec so much earlier, at most, it is sought until it is not cut */
  #p(qrsOnset: number, intervalSec: number, furtherSec: number): P | null {
    const to = qrsOnset - this.#samples(P_MARGIN_SEC);
    let from = Math.max(3, this.#before - this.#samples(Math.min(P_BEFORE_SEC, P_INTERVAL_SHARE * intervalSec)));
    if (to - from < this.#samples(0.06)) return null;
    const value = this.#filtered(P_SMOOTH_SEC, 0, qrsOnset + 1);
    const tail = (value[to - 1]! + value[to - 2]! + value[to - 3]!) / 3;
    let found = farthest(value, from, to - 1, headAt(value, from), tail);
    const earliest = Math.max(3, from - this.#samples(furtherSec));
    while (from > earliest && isCut(found, from, headAt(value, from) - tail)) {
      from = Math.max(earliest, from - this.#samples(P_STEP_SEC));
      found = farthest(value, from, to - 1, headAt(value, from), tail);
    }
    const cut = isCut(found, from, headAt(value, from) - tail);
    const { sign } = found;
    let peak = found.at;
    if (furtherSec > 0) while (peak > 0 && sign * value[peak - 1]! > sign * value[peak]!) peak--;
    const onset = this.#onsetBefore(value, peak, 1, P_RISE_SEC, P_TRAPEZIUM_SEC, sign);
    return Number.isNaN(onset) ? null : { onset, peak, end: this.#endOfP(value, peak, to, sign), isCut: cut };
  }

  /** @param from where the steepest rise may lie at the earliest, and `riseSec` before the peak
   *  @returns NaN where there is no room for a rise */
  #onsetBefore(value: Float64Array, peak: number, from: number, riseSec: number, leftSec: number, sign: 1 | -1): number {
    const riseFrom = Math.max(from, peak - this.#samples(riseSec));
    if (peak - riseFrom <= 2) return Number.NaN;
    const rise = steepestIn(value, riseFrom, peak, sign);
    const left = Math.max(from - 1, rise - this.#samples(leftSec));
    let onset = rise;
    let largest = 0;
    for (let i = left; i <= rise; i++) {
      const area = sign * (value[rise]! - value[i]!) * (rise + i - 2 * left);
      if (area <= largest) continue;
      largest = area;
      onset = i;
    }
    return onset;
  }

  /** @param to where P may end at the latest  @returns NaN where its fall does not end before the QRS complex */
  #endOfP(value: Float64Array, peak: number, to: number, sign: 1 | -1): number {
    const fallTo = Math.min(to, peak + this.#samples(P_RISE_SEC));
    if (fallTo - peak < 3) return Number.NaN;
    const fall = steepestIn(value, peak + 1, fallTo, -sign);
    const right = Math.min(to, fall + this.#samples(P_END_TRAPEZIUM_SEC));
    let end = Number.NaN;
    let largest = 0;
    for (let i = fall; i <= right; i++) {
      const area = sign * (value[fall]! - value[i]!) * (2 * right - i - fall);
      if (area <= largest) continue;
      largest = area;
      end = i;
    }
    return end;
  }

  /** The window smoothed, valid within from..to, and its slope with it. */
  #filtered(sigmaSec: number, from: number, to: number): Float64Array {
    const sigma = sigmaSec * this.#fs;
    const half = Math.max(0, Math.round((Math.sqrt(4 * sigma * sigma + 1) - 1) / 2));
    const low = Math.max(0, from - 3 * half - 1);
    const high = Math.min(this.#length - 1, to + 3 * half + 1);
    threeMeans(this.#x, this.#once, this.#twice, this.#smooth, low, high, half);
    return this.#smooth;
  }
}

/** Of the last `sinesAt`: real and imaginary part of each. */
const sines = new Float64Array(4);

/** The sines of two turns a sample, from `at` on, in the first n samples (Goertzel): amplitude and phase at the last of them, as complex
 *  numbers.
 *  Two at once take hardly longer than one.  @returns distance between the highest and the lowest sample */
function sinesAt(x: Float64Array, n: number, turns: Float64Array, at: number): number {
  const turnA = turns[at]!;
  const turnB = turns[at + 1]!;
  const cosA = Math.cos(turnA);
  const cosB = Math.cos(turnB);
  const twiceA = 2 * cosA;
  const twiceB = 2 * cosB;
  const first = x[0]!;
  let a1 = 0;
  let a2 = 0;
  let b1 = 0;
  let b2 = 0;
  let low = 0;
  let high = 0;
  for (let i = 0; i < n; i++) {
    const v = x[i]! - first;
    if (v < low) low = v;
    if (v > high) high = v;
    // v - a2 does not wait for the last sample's
    const a = v - a2 + twiceA * a1;
    a2 = a1;
    a1 = a;
    const b = v - b2 + twiceB * b1;
    b2 = b1;
    b1 = b;
  }
  sines[0] = (2 / n) * (a1 - cosA * a2);
  sines[1] = (2 / n) * Math.sin(turnA) * a2;
  sines[2] = (2 / n) * (b1 - cosB * b2);
  sines[3] = (2 / n) * Math.sin(turnB) * b2;
  return high - low;
}

/** Takes the sine off every sample. @param re, im its amplitude and phase at sample `at` */
function takeOff(x: Float64Array, at: number, turn: number, re: number, im: number): void {
  const cos = Math.cos(turn);
  const sin = Math.sin(turn);
  let a = re * Math.cos(turn * at) + im * Math.sin(turn * at);
  let b = im * Math.cos(turn * at) - re * Math.sin(turn * at);
  for (let i = 0; i < x.length; i++) {
    x[i] = x[i]! - a;
    const next = a * cos - b * sin;
    b = a * sin + b * cos;
    a = next;
  }
}

/** Sums under way of three moving means: in an array, as a number that is returned would be allocated. */
const sums = new Float64Array(3);

/** Three moving means, each of the one before: of 2 half + 1 samples, of fewer at the ends of from..to. */
function threeMeans(
  x: Float64Array,
  once: Float64Array,
  twice: Float64Array,
  out: Float64Array,
  from: number,
  to: number,
  half: number,
): void {
  const lag = half + 1;
  const whole = 2 * half + 1;
  // the first is two lags ahead of the third, and this is its last place with a whole stretch, for the third
  const last = to - half - 2 * lag;
  // where the third begins to have them
  let i = from + lag;
  if (i > last) {
    meanFrom(x, once, from, to, half, from, to, 0);
    meanFrom(once, twice, from, to, half, from, to, 1);
    meanFrom(twice, out, from, to, half, from, to, 2);
    return;
  }
  meanFrom(x, once, from, to, half, from, i - 1 + 2 * lag, 0);
  meanFrom(once, twice, from, to, half, from, i - 1 + lag, 1);
  meanFrom(twice, out, from, to, half, from, i - 1, 2);
  let a = sums[0]!;
  let b = sums[1]!;
  let c = sums[2]!;
  // side by side: within a pass no sum waits for another
  for (; i <= last; i++) {
    const j = i + lag;
    const k = j + lag;
    a += x[k + half]!;
    a -= x[k - lag]!;
    once[k] = a / whole;
    b += once[k - 1]!;
    b -= once[i]!;
    twice[j] = b / whole;
    c += twice[j - 1]!;
    c -= twice[i - lag]!;
    out[i] = c / whole;
  }
  sums[0] = a;
  sums[1] = b;
  sums[2] = c;
  meanFrom(x, once, from, to, half, i + 2 * lag, to, 0);
  meanFrom(once, twice, from, to, half, i + lag, to, 1);
  meanFrom(twice, out, from, to, half, i, to, 2);
}

/** One of them, at places first..end, which may be its first and its last; its sum goes on in `sums`. */
function meanFrom(
  x: Float64Array,
  out: Float64Array,
  from: number,
  to: number,
  half: number,
  first: number,
  end: number,
  which: number,
): void {
  let i = first;
  let sum = 0;
  if (i === from) for (const until = Math.min(to, from + half - 1); i <= until; i++) sum += x[i]!;
  else sum = sums[which]!;
  i = first;
  for (const until = Math.min(end, from + half); i <= until; i++) {
    if (i + half <= to) sum += x[i + half]!;
    out[i] = sum / (Math.min(to, i + half) - from + 1);
  }
  const whole = 2 * half + 1;
  for (const until = Math.min(end, to - half); i <= until; i++) {
    sum += x[i + half]!;
    sum -= x[i - half - 1]!;
    out[i] = sum / whole;
  }
  for (; i <= end; i++) {
    sum -= x[i - half - 1]!;
    out[i] = sum / (to - i + half + 1);
  }
  sums[which] = sum;
}

const slopeAt = (x: Float64Array, i: number): number => (x[i + 1]! - x[i - 1]!) / 2;

/** The first place of [from, to) where it rises most.  @param sign -1: falls */
function steepestIn(x: Float64Array, from: number, to: number, sign: number): number {
  let at = from;
  let most = sign * slopeAt(x, from);
  for (let i = from + 1; i < to; i++) {
    const slope = sign * slopeAt(x, i);
    if (slope <= most) continue;
    most = slope;
    at = i;
  }
  return at;
}

/** Where the slope has become and stays quiet, going from a place in one direction; NaN: nowhere before `end`. */
function quietFrom(x: Float64Array, start: number, end: number, direction: 1 | -1, quiet: number, held: number): number {
  let count = 0;
  let i = start;
  for (; i !== end && count < held; i += direction) count = Math.abs(slopeAt(x, i)) < quiet ? count + 1 : 0;
  return count < held ? Number.NaN : i - direction * count;
}

const headAt = (x: Float64Array, i: number): number => (x[i]! + x[i + 1]! + x[i + 2]!) / 3;

/** Is a P wave that was found in a search from here on cut by it?  @param head how far the signal is there from where it ends */
function isCut({ at, away }: Readonly<{ at: number; away: number }>, from: number, head: number): boolean {
  const isOnFlank = head * away < 0 || at <= from + 2;
  return isOnFlank && Math.abs(head) > P_CUT_SHARE * Math.abs(away);
}

/** The sample of from..to farthest from the line between two values at its ends. */
function farthest(x: Float64Array, from: number, to: number, head: number, tail: number): { at: number; sign: 1 | -1; away: number } {
  let at = from;
  let most = 0;
  for (let i = from; i <= to; i++) {
    const away = x[i]! - head - ((tail - head) * (i - from)) / (to - from);
    if (Math.abs(away) <= Math.abs(most)) continue;
    most = away;
    at = i;
  }
  return { at, sign: most < 0 ? -1 : 1, away: most };
}
