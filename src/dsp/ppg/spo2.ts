/** Oxygen saturation from the ratio of the pulsatile parts of red and infrared PPG. */
import { BAD, GOOD, SUSPECT } from '../../signal.ts';
import type { QualityFlag, Spo2Calibration } from '../../signal.ts';
import { highPass, lowPass } from '../kernels/biquad.ts';
import type { Biquad } from '../kernels/biquad.ts';
import { BLOCK_SEC, BlockClock, appendValue } from '../kernels/block-values.ts';
import type { FoundValues } from '../kernels/block-values.ts';
import { Ends, RAIL_SHARE } from './ends.ts';

/** The textbook line (Webster 1997, Design of Pulse Oximeters): shows a trend, not a saturation; its values are never better than
 *  suspect. */
export const textbookCalibration: Spo2Calibration = { offset: 110, slope: 25 };

/** Least correlation of the two pulsatile parts: below it they are not one pulse. */
export const CORRELATION_MIN = 0.9;
export const CORRELATION_GOOD = 0.97;
/** Least pulsatile share (perfusion), of the infrared DC. */
export const PERFUSION_MIN = 0.0005;
/** And the greatest of either light (a fifth of its level from foot to top, as a root mean square): more is light without its level. */
export const PERFUSION_RMS_MAX = 0.07;
export const LOST_MAX = 0.2;
/** Greatest difference, %, of the saturations by the lights and by how fast they change: the slopes of a pulse have the ratio of the pulse,
 *  and what is slower or faster, as breathing or a motion, has one of its own. */
export const APART_MAX = 2;

/** A pulse does not become so many times as strong (power of its changes) from one quarter of a block to the others: a step does. */
export const PART_MAX = 9;
const PARTS = 4;

/** `spo2`: R = slope of red AC / DC on infrared AC / DC over 8 s (total least squares through 0 of the changes from sample to sample of the
 *  band-passed, normalised signals, in which what is slower than a pulse counts little; by beats or by RMS the noise of either adds to R),
 *  SpO2 = offset - slope * R, limited to 0 … 100 %.
 *  Needs raw light with its DC level: counts per light, dark level taken off; sign does not matter.
 *  Flag 2 when the two are not one pulse (correlation < 0.9), perfusion < 0.05 %, a light comes without its level, or more than 20 % is
 *  missing; flag 1 without a calibration, with a light at a rail, where the slope of the lights as they are is another saturation, and
 *  with a step. Where the lights move together but their changes do not, R is the slope of the lights as they are, and the flag 2; where
 *  neither do, there is no value. No recording with reference saturation was at hand: checked on synthetic light only.
 *
 *  Wiring: `new Spo2(fs, calibration | null)`, `reset(k)`, `push(red, ir, from, to, out)`; one value per block. */
export class Spo2 {
  readonly latencySec = BLOCK_SEC;
  readonly #clock: BlockClock;
  readonly #calibration: Spo2Calibration;
  readonly #calibrated: boolean;
  readonly #red: Pulse;
  readonly #ir: Pulse;
  // sums of the block
  #rr = 0;
  #ri = 0;
  #ii = 0;
  /** Of the changes from sample to sample. */
  #fastRr = 0;
  #fastRi = 0;
  /** Of infrared, by quarters of the block. */
  readonly #fastIi = new Float64Array(PARTS);
  #redDc = 0;
  #irDc = 0;
  #count = 0;
  readonly #redEnds = new Ends();
  readonly #irEnds = new Ends();

  constructor(fs: number, calibration: Spo2Calibration | null) {
    this.#clock = new BlockClock(fs);
    this.#calibration = calibration ?? textbookCalibration;
    this.#calibrated = calibration !== null;
    this.#red = new Pulse(fs);
    this.#ir = new Pulse(fs);
  }

  /** @param k grid index of the next sample */
  reset(k = 0): void {
    this.#clock.k = k;
    this.#red.reset();
    this.#ir.reset();
    this.#clear();
  }

  push(red: Float64Array, ir: Float64Array, from: number, to: number, out: FoundValues): void {
    const fastIi = this.#fastIi;
    for (let at = from; at < to;) {
      const left = this.#clock.left;
      const part = this.#clock.partOf(PARTS);
      const end = Math.min(to, at + this.#clock.leftOf(PARTS));
      for (let i = at; i < end; i++) {
        const a = red[i]!;
        const b = ir[i]!;
        if (a - a !== 0 || b - b !== 0) continue;
        const r = this.#red.push(a);
        const s = this.#ir.push(b);
        const fastR = this.#red.change;
        const fastS = this.#ir.change;
        this.#fastRr += fastR * fastR;
        this.#fastRi += fastR * fastS;
        fastIi[part]! += fastS * fastS;
        this.#rr += r * r;
        this.#ri += r * s;
        this.#ii += s * s;
        this.#redDc += a;
        this.#irDc += b;
        this.#redEnds.push(a);
        this.#irEnds.push(b);
        this.#count++;
      }
      this.#clock.k += end - at;
      if (end - at === left) this.#close(out);
      at = end;
    }
  }

  #close(out: FoundValues): void {
    const n = this.#count;
    const lost = 1 - n / Math.floor(BLOCK_SEC * this.#clock.fs);
    if (n > 1 && this.#redDc !== 0 && this.#irDc !== 0 && this.#ii > 0 && this.#rr > 0) {
      const redDc = this.#redDc / n;
      const irDc = this.#irDc / n;
      const rr = this.#rr / (redDc * redDc);
      const ri = this.#ri / (redDc * irDc);
      const ii = this.#ii / (irDc * irDc);
      const ratio = principal(rr, ri, ii);
      const fast = principal(this.#fastRr / (redDc * redDc), this.#fastRi / (redDc * irDc), sumOf(this.#fastIi) / (irDc * irDc));
      const isFast = fast - fast === 0;
      const isOne = Math.abs(this.#calibration.slope * (ratio - fast)) <= APART_MAX && this.#isSteady();
      const percent = Math.max(0, Math.min(100, this.#calibration.offset - this.#calibration.slope * (isFast ? fast : ratio)));
      const correlation = ri / Math.sqrt(rr * ii);
      const perfusion = Math.sqrt(ii / n);
      const isLevelled = Math.max(perfusion, Math.sqrt(rr / n)) <= PERFUSION_RMS_MAX;
      const flag = isFast && isLevelled ? this.#flag(correlation, perfusion, lost, isOne) : BAD;
      if (percent === percent) appendValue(out, this.#clock.endedSec, percent, flag);
    }
    this.#clear();
  }

  #isSteady(): boolean {
    inOrder.set(this.#fastIi);
    inOrder.sort();
    return inOrder[PARTS - 1]! <= PART_MAX * inOrder[1]!;
  }

  #flag(correlation: number, perfusion: number, lost: number, isOne: boolean): QualityFlag {
    if (correlation < CORRELATION_MIN || perfusion < PERFUSION_MIN || lost > LOST_MAX) return BAD;
    const isAtRail = Math.max(this.#redEnds.most, this.#irEnds.most) > RAIL_SHARE * this.#count;
    return this.#calibrated && correlation >= CORRELATION_GOOD && lost <= 0.05 && isOne && !isAtRail ? GOOD : SUSPECT;
  }

  #clear(): void {
    this.#fastRr = this.#fastRi = 0;
    this.#fastIi.fill(0);
    this.#rr = this.#ri = this.#ii = this.#redDc = this.#irDc = 0;
    this.#count = 0;
    this.#redEnds.reset();
    this.#irEnds.reset();
  }
}

function sumOf(x: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i]!;
  return sum;
}

// shared by every instance of the thread: nothing of it outlives a call
const inOrder = new Float64Array(PARTS);

/** Slope of the first principal axis of two signals, by their squares and product. */
function principal(rr: number, ri: number, ii: number): number {
  return ri > 0 ? (rr - ii + Math.sqrt((rr - ii) ** 2 + 4 * ri * ri)) / (2 * ri) : Number.NaN;
}

/** Band-pass 0.5-5 Hz, settled on the first value. */
class Pulse {
  /** Of the last value from the one before. */
  change = 0;
  #before = 0;
  readonly #high: Biquad;
  readonly #low: Biquad;
  readonly #state = new Float64Array(4);
  #fresh = true;

  constructor(fs: number) {
    this.#high = highPass(0.5, fs);
    this.#low = lowPass(Math.min(5, 0.4 * fs), fs);
  }

  reset(): void {
    this.#fresh = true;
  }

  push(value: number): number {
    const high = this.#high;
    const low = this.#low;
    const s = this.#state;
    if (this.#fresh) {
      this.#fresh = false;
      s[0] = (high.b1 + high.b2) * value;
      s[1] = high.b2 * value;
      s[2] = s[3] = 0;
      this.#before = 0;
    }
    const h = high.b0 * value + s[0]!;
    s[0] = high.b1 * value - high.a1 * h + s[1]!;
    s[1] = high.b2 * value - high.a2 * h;
    const y = low.b0 * h + s[2]!;
    s[2] = low.b1 * h - low.a1 * y + s[3]!;
    s[3] = low.b2 * h - low.a2 * y;
    this.change = y - this.#before;
    this.#before = y;
    return y;
  }
}
