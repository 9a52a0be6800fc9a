/** The second, independent QRS detector that ECG quality compares the R peaks with. */
import { appendBeat } from '../kernels/found-beats.ts';
import type { FoundBeats } from '../kernels/contract.ts';

const REACH_SEC = 0.016; // between the three points of the bend
const SMOOTH_SEC = 0.03;
const REFRACTORY_SEC = 0.25;
const RAISED_SEC = 0.4;
const OVERDUE_SEC = 1.2;

/** |Bend| of the decimated signal (second difference over 2 x 16 ms of pairs: no recursion, passes 10-35 Hz, nothing at half its rate),
 *  smoothed twice over 30 ms; its peaks against an adaptive threshold between the mean of the accepted ones and that of the rejected ones,
 *  raised for 400 ms after a beat and lowered when none came for 1.2 s. Another band, another feature, no search back and no look ahead:
 *  other errors than those of RPeakDetector, which is the point (bSQI). */
export class BendDetector {
  readonly #scale: number;
  readonly #fd: number;
  readonly #smooth: number;
  readonly #delay: number;
  readonly #refractory: number;
  /** The last samples, newest at #at - 1. */
  readonly #past: Float64Array;
  readonly #reach: number;
  #m1 = 0;
  #m2 = 0;
  #peak = 0;
  #peakAt = 0;
  #falling = true;
  #signal = 0;
  #noise = 0;
  #lastAt = 0;
  #k = 0;

  /** @param fd rate of what is pushed, Hz  @param scale samples of the lead per sample pushed */
  constructor(fd: number, scale: number) {
    this.#scale = scale;
    this.#fd = fd;
    this.#reach = Math.max(1, Math.round(REACH_SEC * fd));
    this.#smooth = 1 / (SMOOTH_SEC * fd);
    this.#delay = (REACH_SEC + SMOOTH_SEC) * fd;
    this.#refractory = REFRACTORY_SEC * fd;
    this.#past = new Float64Array(2 * this.#reach + 1 + 64);
  }

  /** What is between the beats over the beats: a measure of noise, 0..1. */
  get noise(): number {
    return this.#signal > 0 ? this.#noise / this.#signal : 1;
  }

  reset(): void {
    this.#past.fill(0);
    this.#m1 = this.#m2 = 0;
    this.#peak = 0;
    this.#peakAt = 0;
    this.#falling = true;
    this.#signal = this.#noise = 0;
    this.#lastAt = 0;
    this.#k = 0;
  }

  /** Nothing was there so far: as if it had been `value` all the time, wherever the pushes were cut. */
  rest(value: number): void {
    this.#past.fill(value, 0, 2 * this.#reach + 1);
  }

  /** Samples [0, count) of x, count <= 64, none missing; positions are appended in samples of the lead. */
  push(x: Float64Array, count: number, out: FoundBeats): void {
    const past = this.#past;
    const reach = this.#reach;
    const before = 2 * reach + 1;
    const smooth = this.#smooth;
    for (let i = 0; i < count; i++) past[before + i] = x[i]!;
    if (this.#k === 0 && count > 0) past.fill(x[0]!, 0, before);
    let k = this.#k;
    let m1 = this.#m1;
    let m2 = this.#m2;
    let peak = this.#peak;
    let peakAt = this.#peakAt;
    let falling = this.#falling;
    for (let i = 0; i < count; i++) {
      const middle = past[i + reach]! + past[i + reach + 1]!;
      const bend = past[i]! + past[i + 1]! - 2 * middle + past[i + 2 * reach]! + past[i + 2 * reach + 1]!;
      m1 += (Math.abs(bend) - m1) * smooth;
      m2 += (m1 - m2) * smooth;
      if (m2 > peak) {
        peak = m2;
        peakAt = k;
        falling = false;
      } else if (m2 < 0.7 * peak) {
        if (!falling) this.#judge(peakAt, peak, out);
        falling = true;
        peak = m2;
      }
      k++;
    }
    past.copyWithin(0, count, count + before);
    this.#k = k;
    this.#m1 = m1;
    this.#m2 = m2;
    this.#peak = peak;
    this.#peakAt = peakAt;
    this.#falling = falling;
  }

  #judge(at: number, height: number, out: FoundBeats): void {
    if (at < this.#fd) {
      // The first second only teaches.
      this.#signal = Math.max(this.#signal, 0.7 * height);
      this.#noise = 0.2 * this.#signal;
    }
    const since = at - this.#lastAt;
    let threshold = this.#noise + 0.35 * (this.#signal - this.#noise);
    if (since < RAISED_SEC * this.#fd) threshold *= 2 - since / (RAISED_SEC * this.#fd);
    if (since > OVERDUE_SEC * this.#fd) threshold *= 0.6;
    if (since >= this.#refractory && height > threshold) {
      this.#signal += (Math.min(height, 2 * this.#signal) - this.#signal) / 6;
      this.#lastAt = at;
      appendBeat(out, Math.max(0, at - this.#delay) * this.#scale, 1);
    } else {
      this.#noise += (Math.min(height, this.#signal) - this.#noise) / 8;
      if (since > 2 * this.#fd) this.#signal *= 0.9;
    }
  }
}
