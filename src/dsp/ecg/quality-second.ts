/** The second, independent QRS detector that ECG quality compares the R peaks with. */
import { arenaDoubles } from '../kernels/arena.ts';
import { appendBeat } from '../kernels/found-beats.ts';
import type { FoundBeats } from '../kernels/contract.ts';

const REACH_SEC = 0.016; // between the three points of the bend
const SMOOTH_SEC = 0.03;
const REFRACTORY_SEC = 0.25;
const RAISED_SEC = 0.4;
const OVERDUE_SEC = 1.2;
/** Samples of a push, at most. */
const MOST = 64;
/** Highest rate of what is pushed, Hz: from 187.5 Hz on two samples of the lead and more are one. */
const RATE_MAX_HZ = 187.5;
/** Where numbers are in the state; the last samples follow. */
const [M1, M2, PEAK, SIGNAL, NOISE, NUMBERS] = [0, 1, 2, 3, 4, 5] as const;
/** The samples of a push after those before them; shared by every instance of the thread: nothing of it outlives a call. */
const past = new Float64Array(2 * Math.round(REACH_SEC * RATE_MAX_HZ) + 1 + MOST);

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
  /** Smoothed once and twice, the peak under way, the levels; then the last samples. */
  readonly #state: Float64Array;
  readonly #reach: number;
  #peakAt = 0;
  #falling = true;
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
    this.#state = arenaDoubles(NUMBERS + 2 * this.#reach + 1);
  }

  /** What is between the beats over the beats: a measure of noise, 0..1. */
  get noise(): number {
    const signal = this.#state[SIGNAL]!;
    return signal > 0 ? this.#state[NOISE]! / signal : 1;
  }

  reset(): void {
    this.#state.fill(0);
    this.#peakAt = 0;
    this.#falling = true;
    this.#lastAt = 0;
    this.#k = 0;
  }

  /** Nothing was there so far: as if it had been `value` all the time, wherever the pushes were cut. */
  rest(value: number): void {
    this.#state.fill(value, NUMBERS);
  }

  /** Samples [0, count) of x, count <= 64, none missing; positions are appended in samples of the lead. */
  push(x: Float64Array, count: number, out: FoundBeats): void {
    const state = this.#state;
    const reach = this.#reach;
    const before = 2 * reach + 1;
    const smooth = this.#smooth;
    if (this.#k === 0 && count > 0) this.rest(x[0]!);
    for (let i = 0; i < before; i++) past[i] = state[NUMBERS + i]!;
    for (let i = 0; i < count; i++) past[before + i] = x[i]!;
    let k = this.#k;
    let m1 = state[M1]!;
    let m2 = state[M2]!;
    let peak = state[PEAK]!;
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
    for (let i = 0; i < before; i++) state[NUMBERS + i] = past[count + i]!;
    this.#k = k;
    state[M1] = m1;
    state[M2] = m2;
    state[PEAK] = peak;
    this.#peakAt = peakAt;
    this.#falling = falling;
  }

  #judge(at: number, height: number, out: FoundBeats): void {
    const state = this.#state;
    if (at < this.#fd) {
      // The first second only teaches.
      state[SIGNAL] = Math.max(state[SIGNAL]!, 0.7 * height);
      state[NOISE] = 0.2 * state[SIGNAL];
    }
    const signal = state[SIGNAL]!;
    const noise = state[NOISE]!;
    const since = at - this.#lastAt;
    let threshold = noise + 0.35 * (signal - noise);
    if (since < RAISED_SEC * this.#fd) threshold *= 2 - since / (RAISED_SEC * this.#fd);
    if (since > OVERDUE_SEC * this.#fd) threshold *= 0.6;
    if (since >= this.#refractory && height > threshold) {
      state[SIGNAL] = signal + (Math.min(height, 2 * signal) - signal) / 6;
      this.#lastAt = at;
      appendBeat(out, Math.max(0, at - this.#delay) * this.#scale, 1);
    } else {
      state[NOISE] = noise + (Math.min(height, signal) - noise) / 8;
      if (since > 2 * this.#fd) state[SIGNAL] = 0.9 * signal;
    }
  }
}
