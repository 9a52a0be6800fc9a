/** The detection signal (moving sum of |slope|) and its peaks, which become candidates. */
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

/** A pure function of the slopes since reset, however they were cut. */
export class FeaturePeaks {
  /** Feature samples since reset. */
  k = 0;
  /** Samples missing up to here. */
  gapRun = 0;
  event = NOTHING;
  /** Lowest since the last candidate. */
  valley = 0;
  readonly #candidates: Candidates;
  readonly #hold: number;
  readonly #window: Float64Array;
  #windowAt = 0;
  #sum = 0;
  #previousSlope = 0;
  #peak = 0;
  #peakAt = 0;
  #peakSlope = 0;
  #peakSharp = 0;
  #peakValley = 0;
  #slope = 0;
  #sharp = 0;
  #falling = true;

  /** @param fd rate of the feature, Hz  @param candidates appended to */
  constructor(fd: number, candidates: Candidates) {
    this.#candidates = candidates;
    this.#hold = Math.round(HOLD_SEC * fd);
    this.#window = new Float64Array(featureWidth(fd));
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
    const window = this.#window;
    const width = window.length;
    const hold = this.#hold;
    let k = this.k - 1;
    let windowAt = this.#windowAt;
    let sum = this.#sum;
    let previousSlope = this.#previousSlope;
    let slope = this.#slope;
    let sharp = this.#sharp;
    let valley = this.valley;
    let peak = this.#peak;
    let peakAt = this.#peakAt;
    let falling = this.#falling;
    let peakSlope = this.#peakSlope;
    let peakSharp = this.#peakSharp;
    let peakValley = this.#peakValley;
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
      sum += d - window[windowAt]!;
      window[windowAt] = d;
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
    if (event !== MISSING) this.gapRun = 0;
    this.k = k + 1;
    this.#windowAt = windowAt;
    this.#sum = sum;
    this.#previousSlope = previousSlope;
    this.#slope = slope;
    this.#sharp = sharp;
    this.valley = valley;
    this.#peak = peak;
    this.#peakAt = peakAt;
    this.#falling = falling;
    this.#peakSlope = peakSlope;
    this.#peakSharp = peakSharp;
    this.#peakValley = peakValley;
    this.event = event;
    return i;
  }

  /** The peak under way ends here; one that is still rising must have come near the level of beats already. */
  endPeak(signal: number): void {
    const isRising = this.#peakAt >= this.k - 1 - this.gapRun;
    if (this.#falling || (isRising && this.#peak < RISING_SHARE * signal)) return;
    this.#falling = true;
    this.#candidates.add(this.#peakAt, this.#peak, this.#peakSlope, this.#peakSharp, this.#peakValley);
    this.#slope = 0;
    this.#sharp = 0;
  }

  /** A gap: nothing before it may be compared with what follows. */
  endRun(): void {
    this.#window.fill(0);
    this.#windowAt = 0;
    this.#sum = 0;
    this.#previousSlope = 0;
    this.#peak = 0;
    this.#peakAt = this.k;
    this.#slope = 0;
    this.#sharp = 0;
    this.valley = 0;
    this.#falling = true;
  }
}
