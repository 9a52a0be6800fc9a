/** Takes from the pulse what the accelerometer explains: a least-squares filter from each axis to each wavelength.
 *
 *  Every window the taps are fitted anew to the correlations of the tapered signals, in which a window counts for MEMORY of the
 *  one after it: one window alone would also explain some of the pulse, many would be slow to follow a change of grip. It is subtracted in
 *  the time domain, so a pulse next to a stride's frequency stays when its phase is not the stride's, and harmonics, halves and mixtures
 *  of the cadence go as far as the axes hold them; no list of ratios is needed. `stillG` keeps an accelerometer that hardly moves, where
 *  its noise and the pulse itself are all it has, from explaining anything. */
export const TAPS = 5;
/** Between two taps; the middle one is at no delay. */
export const TAP_SEC = 0.12;
/** Share that the windows before count for. */
export const MEMORY = 0.6;
/** Motion (root mean square of an axis, g) that counts half. */
export const stillG = 0.05;

const HALF = (TAPS - 1) / 2;
const SPAN = 2 * TAPS - 1;

/** Windows of one size; the axes and wavelengths of all calls are in the same order. */
export class MotionFilter {
  readonly #size: number;
  readonly #tap: number;
  readonly #axisCount: number;
  /** Sum of the taper's squares: what noise of 1 g adds to a tap's power. */
  readonly #noise: number;
  /** Of axes a <= b: sums of a[t] b[t + d taps], d from -2 HALF to 2 HALF; of an axis with itself from 0. */
  readonly #between: Float64Array;
  /** Of a wavelength and an axis: sums of y[t] a[t + d taps], d from -HALF to HALF. */
  readonly #with: Float64Array;
  readonly #matrix: Float64Array;
  readonly #taps: Float64Array;
  #windows = 0;

  constructor({ taper, rate }: Readonly<{ taper: Float64Array; rate: number }>, leadCount: number, axisCount: number) {
    const order = axisCount * TAPS;
    this.#size = taper.length;
    this.#tap = Math.round(TAP_SEC * rate);
    this.#axisCount = axisCount;
    this.#noise = stillG ** 2 * taper.reduce((sum, value) => sum + value * value, 0);
    this.#between = new Float64Array(axisCount * axisCount * SPAN);
    this.#with = new Float64Array(leadCount * order);
    this.#matrix = new Float64Array(order * order);
    this.#taps = new Float64Array(leadCount * order);
  }

  reset(): void {
    this.#windows = 0;
    this.#between.fill(0);
    this.#with.fill(0);
  }

  /** Fits the taps to these windows and those before. @param leads tapered, without their mean; likewise the axes */
  fit(leads: readonly Float64Array[], axes: readonly Float64Array[]): void {
    const count = this.#axisCount;
    this.#windows = MEMORY * this.#windows + 1;
    for (let a = 0; a < count; a++)
      for (let b = a; b < count; b++)
        for (let d = a === b ? 2 * HALF : 0; d < SPAN; d++)
          this.#add(this.#between, (a * count + b) * SPAN + d, axes[a]!, axes[b]!, d - 2 * HALF);
    for (let c = 0; c < leads.length; c++)
      for (let a = 0; a < count; a++)
        for (let d = 0; d < TAPS; d++) this.#add(this.#with, (c * count + a) * TAPS + d, leads[c]!, axes[a]!, d - HALF);
    this.#factor();
    for (let c = 0; c < leads.length; c++) this.#solve(c);
  }

  /** Takes the axes' part off a wavelength's window. @param taken gets that part */
  takeOff(lead: number, x: Float64Array, axes: readonly Float64Array[], taken: Float64Array): void {
    taken.fill(0);
    const step = this.#tap;
    // the taper leaves nothing to speak of where a tap would reach beyond an end
    const end = this.#size - HALF * step;
    for (let a = 0; a < this.#axisCount; a++) {
      const axis = axes[a]!;
      const first = (lead * this.#axisCount + a) * TAPS;
      const w0 = this.#taps[first]!;
      const w1 = this.#taps[first + 1]!;
      const w2 = this.#taps[first + 2]!;
      const w3 = this.#taps[first + 3]!;
      const w4 = this.#taps[first + 4]!;
      for (let t = HALF * step; t < end; t++)
        taken[t] =
          taken[t]! + w0 * axis[t - 2 * step]! + w1 * axis[t - step]! + w2 * axis[t]! + w3 * axis[t + step]! + w4 * axis[t + 2 * step]!;
    }
    for (let t = 0; t < this.#size; t++) x[t] = x[t]! - taken[t]!;
  }

  #add(sums: Float64Array, at: number, x: Float64Array, y: Float64Array, taps: number): void {
    const shift = taps * this.#tap;
    const end = Math.min(this.#size, this.#size - shift);
    // four sums: an addition need not wait for the one before it
    let sum = 0;
    let sum1 = 0;
    let sum2 = 0;
    let sum3 = 0;
    let t = Math.max(0, -shift);
    for (; t + 3 < end; t += 4) {
      sum += x[t]! * y[t + shift]!;
      sum1 += x[t + 1]! * y[t + shift + 1]!;
      sum2 += x[t + 2]! * y[t + shift + 2]!;
      sum3 += x[t + 3]! * y[t + shift + 3]!;
    }
    for (; t < end; t++) sum += x[t]! * y[t + shift]!;
    sums[at] = MEMORY * sums[at]! + (sum + sum1 + (sum2 + sum3));
  }

  /** Cholesky factor of the taps' correlations, in the lower triangle. The noise on the diagonal keeps it positive. */
  #factor(): void {
    const count = this.#axisCount;
    const order = count * TAPS;
    const m = this.#matrix;
    for (let i = 0; i < order; i++)
      for (let j = 0; j <= i; j++) {
        // axis of i >= axis of j, and with an axis itself the tap too
        const pair = (Math.floor(j / TAPS) * count + Math.floor(i / TAPS)) * SPAN;
        let sum = this.#between[pair + (i % TAPS) - (j % TAPS) + 2 * HALF]!;
        if (i === j) sum += this.#noise * this.#windows;
        for (let k = 0; k < j; k++) sum -= m[i * order + k]! * m[j * order + k]!;
        m[i * order + j] = i === j ? Math.sqrt(sum) : sum / m[j * order + j]!;
      }
  }

  #solve(lead: number): void {
    const order = this.#axisCount * TAPS;
    const m = this.#matrix;
    const taps = this.#taps.subarray(lead * order, (lead + 1) * order);
    for (let i = 0; i < order; i++) {
      let sum = this.#with[lead * order + i]!;
      for (let k = 0; k < i; k++) sum -= m[i * order + k]! * taps[k]!;
      taps[i] = sum / m[i * order + i]!;
    }
    for (let i = order - 1; i >= 0; i--) {
      let sum = taps[i]!;
      for (let k = i + 1; k < order; k++) sum -= m[k * order + i]! * taps[k]!;
      taps[i] = sum / m[i * order + i]!;
    }
  }
}
