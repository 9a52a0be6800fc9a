/** The detection signal (moving sum of |slope|) and its peaks, which become candidates. */
import { arenaDoubles } from '../kernels/arena.ts';
import type { Candidates } from './r-peaks-candidates.ts';

export const WINDOW_SEC = 0.16; // of the moving sum of |slope|
const DROP = 0.75; // a peak is over when the feature falls below this share of it
const HOLD_SEC = 0.15; // or after this time
const RISING_SHARE = 0.75; // of the level of beats, for a peak that rises where the data end

/** Why scan() stopped. */
export const NOTHING = 0;
export const MISSING = 1;
export const DUE = 2;

/** Peak of the feature after the R wave: half the window and the filters. */
export const FEATURE_DELAY_SEC = WINDOW_SEC / 2 + 0.03;

/** Length of the moving sum, feature samples. @param fd rate of the feature, Hz */
export const featureWidth = (fd: number): number => Math.round(WINDOW_SEC * fd);

/** Where the numbers of FeaturePeaks are in its state, after the slopes of the moving sum. */
const [SUM, PREVIOUS_SLOPE, SLOPE, SHARP, VALLEY, PEAK, PEAK_SLOPE, PEAK_SHARP, PEAK_VALLEY, NUMBERS] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
] as const;

/** A pure function of the slopes since reset, however they were cut. */
export class FeaturePeaks {
  /** Feature samples since reset. */
  k = 0;
  /** Samples missing up to here. */
  gapRun = 0;
  event = NOTHING;
  readonly #candidates: Candidates;
  readonly #hold: number;
  readonly #width: number;
  readonly #state: Float64Array;
  #windowAt = 0;
  #peakAt = 0;
  #falling = true;

  /** @param fd rate of the feature, Hz  @param candidates appended to */
  constructor(fd: number, candidates: Candidates) {
    this.#candidates = candidates;
    this.#hold = Math.round(HOLD_SEC * fd);
    this.#width = featureWidth(fd);
    this.#state = arenaDoubles(this.#width + NUMBERS);
  }

  /** Lowest since the last candidate. */
  get valley(): number {
    return this.#state[this.#width + VALLEY]!;
  }

  reset(): void {
    this.k = 0;
    this.gapRun = 0;
    this.endRun();
  }

  /** Runs along the slopes [from, to) until one is missing, or something may be decided: a peak is over, or `wakeAt` is reached.
   *  Its state is in locals meanwhile; with fields this loop is slower by half.
   *  @returns index after the sample that stopped it; why is in `event` */
  scan(slopes: Float64Array, from: number, to: number, wakeAt: number): number {
    const state = this.#state;
    const width = this.#width;
    const hold = this.#hold;
    let k = this.k - 1;
    let windowAt = this.#windowAt;
    let sum = state[width + SUM]!;
    let previousSlope = state[width + PREVIOUS_SLOPE]!;
    let slope = state[width + SLOPE]!;
    let sharp = state[width + SHARP]!;
    let valley = state[width + VALLEY]!;
    let peak = state[width + PEAK]!;
    let peakAt = this.#peakAt;
    let falling = this.#falling;
    let peakSlope = state[width + PEAK_SLOPE]!;
    let peakSharp = state[width + PEAK_SHARP]!;
    let peakValley = state[width + PEAK_VALLEY]!;
    let event = NOTHING;
    let isOver = false;
    let i = from;
    const wakes = from + Math.max(1, Math.ceil(wakeAt - k));
    const end = wakes < to ? wakes : to;
    while (i < end) {
      const signed = slopes[i++]!;
      k++;
      if (signed !== signed) {
        event = MISSING;
        break;
      }
      const d = Math.abs(signed);
      const edge = Math.abs(signed - previousSlope);
      previousSlope = signed;
      sum += d - state[windowAt]!;
      state[windowAt] = d;
      if (++windowAt === width) windowAt = 0;
      if (d > slope) slope = d;
      if (edge > sharp) sharp = edge;
      if (sum < valley) valley = sum;
      if (sum > peak) {
        if (falling) {
          falling = false;
          peakValley = valley;
        }
        peak = sum;
        peakAt = k;
        peakSlope = slope;
        peakSharp = sharp;
      } else if (sum < DROP * peak || k - peakAt > hold) {
        if (!falling) {
          isOver = true;
          break;
        }
        peak = sum;
        peakAt = k;
      }
    }
    if (isOver) {
      this.#candidates.add(peakAt, peak, peakSlope, peakSharp, peakValley);
      falling = true;
      slope = 0;
      sharp = 0;
      valley = sum;
      peak = sum;
      peakAt = k;
      event = DUE;
    } else if (event !== MISSING && i === wakes) event = DUE;
    // a gap that ends and another one that begins within one call are two
    if (event !== MISSING || i - from > 1) this.gapRun = 0;
    this.k = k + 1;
    this.#windowAt = windowAt;
    this.#peakAt = peakAt;
    this.#falling = falling;
    state[width + SUM] = sum;
    state[width + PREVIOUS_SLOPE] = previousSlope;
    state[width + SLOPE] = slope;
    state[width + SHARP] = sharp;
    state[width + VALLEY] = valley;
    state[width + PEAK] = peak;
    state[width + PEAK_SLOPE] = peakSlope;
    state[width + PEAK_SHARP] = peakSharp;
    state[width + PEAK_VALLEY] = peakValley;
    this.event = event;
    return i;
  }

  /** The peak under way ends here; one that is still rising must have come near the level of beats already. */
  endPeak(signal: number): void {
    const isRising = this.#peakAt >= this.k - 1 - this.gapRun;
    const state = this.#state;
    const width = this.#width;
    const peak = state[width + PEAK]!;
    if (this.#falling || (isRising && peak < RISING_SHARE * signal)) return;
    this.#falling = true;
    this.#candidates.add(this.#peakAt, peak, state[width + PEAK_SLOPE]!, state[width + PEAK_SHARP]!, state[width + PEAK_VALLEY]!);
    state[width + SLOPE] = 0;
    state[width + SHARP] = 0;
  }

  /** A gap: nothing before it may be compared with what follows. */
  endRun(): void {
    // of a peak the rest is set when the next one rises
    this.#state.fill(0, 0, this.#width + PEAK + 1);
    this.#windowAt = 0;
    this.#peakAt = this.k;
    this.#falling = true;
  }
}
