/** One input of the heart rate in motion: its band-pass, its last 8 s, and their spectrum on the grid of rates. */
import FFT from 'fft.js';
import { highPass, lowPass } from '../kernels/biquad.ts';
import type { Biquad } from '../kernels/biquad.ts';
import { keptByRate } from '../kernels/kept-by-rate.ts';
import { FILLED_MAX, PADDED_SIZE, paddedTransform } from '../kernels/padded-fft.ts';

export const WINDOW_SEC = 8;
export const STEP_SEC = 2;
const STEPS = WINDOW_SEC / STEP_SEC;
export const HIGH_PASS_HZ = 0.4;
export const LOW_PASS_HZ = 8;
/** Spectra are taken from signals averaged down to about this rate. */
const DECIMATED_HZ = 25;

/** Grid of rates, the states of the path: 39 … 210 bpm in steps of 0.75 bpm. Fewer than 256: a state is a byte. */
export const RATE_MIN_HZ = 0.65;
export const RATE_MAX_HZ = 3.5;
export const RATE_STEP_HZ = 0.0125;
export const STATES = Math.round((RATE_MAX_HZ - RATE_MIN_HZ) / RATE_STEP_HZ) + 1;

export function rateHz(state: number): number {
  return RATE_MIN_HZ + state * RATE_STEP_HZ;
}

/** A window with more missing samples than this share has no spectrum. */
export const MISSING_MAX = 0.2;

/** Zero-padded: bins of 0.024 Hz, 20 in the main lobe of the window; between them a parabola through three is exact to 1e-4. */
export const FFT_SIZE = PADDED_SIZE;
const fft = new FFT(FFT_SIZE);
const output = new Float64Array(2 * FFT_SIZE);
const binPower = new Float64Array(FFT_SIZE / 2);

/** What all channels of one rate share. */
type Plan = Readonly<{
  decimation: number;
  /** After averaging down, Hz. */
  rate: number;
  /** Samples of the window after averaging down. */
  size: number;
  taper: Float64Array;
  high: Biquad;
  low: Biquad;
  /** Of each state, and of twice its rate: nearest bin, and with d bins past it d / 2 and d^2 / 2. */
  bin: Int32Array;
  slope: Float64Array;
  bend: Float64Array;
  /** Windows that nobody uses now: a new array every 2 s and channel was a tenth of the time of a sensor with accelerometer. */
  spare: Window[];
}>;

/** A window of one channel, from the end of its frame until the frame has been looked at. */
type Window = { frame: number; readonly x: Float32Array; missing: number };

export const planOf = keptByRate((fs: number): Plan => {
  const decimation = Math.max(1, Math.round(fs / DECIMATED_HZ));
  const rate = fs / decimation;
  const size = Math.round(WINDOW_SEC * rate);
  const bin = new Int32Array(2 * STATES);
  const slope = new Float64Array(2 * STATES);
  const bend = new Float64Array(2 * STATES);
  for (let s = 0; s < 2 * STATES; s++) {
    const at = ((s < STATES ? rateHz(s) : 2 * rateHz(s - STATES)) * FFT_SIZE) / rate;
    bin[s] = Math.min(FFT_SIZE / 2 - 2, Math.round(at));
    const past = at - bin[s]!;
    slope[s] = 0.5 * past;
    bend[s] = 0.5 * past * past;
  }
  return {
    decimation,
    rate,
    size,
    taper: Float64Array.from({ length: size }, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * (i + 0.5)) / size)),
    high: highPass(HIGH_PASS_HZ, fs),
    low: lowPass(Math.min(LOW_PASS_HZ, 0.4 * fs), fs),
    bin,
    slope,
    bend,
    spare: [],
  };
});

/** Frame f ends f * 2 s after reset. A window is kept from its end until it is released: usually at once, longer only while the other
 *  input lags. */
export class MotionChannel {
  /** Frame whose end this channel has reached. */
  captured = 0;
  nextFrame = 1;
  readonly #fs: number;
  readonly #plan: Plan;
  readonly #ring: Float32Array;
  /** Missing samples of the last steps. */
  readonly #missing = new Uint32Array(STEPS);
  readonly #state = new Float64Array(4);
  readonly #windows: Window[] = [];
  #fresh = true;
  #last = 0;
  #n = 0;
  #sum = 0;
  #phase = 0;
  #count = 0;

  constructor(fs: number) {
    this.#fs = fs;
    this.#plan = planOf(fs);
    this.#ring = new Float32Array(this.#plan.size);
  }

  reset(): void {
    this.captured = 0;
    this.nextFrame = 1;
    while (this.#windows.length > 0) this.#plan.spare.push(this.#windows.pop()!);
    this.#fresh = true;
    this.#state.fill(0);
    this.#missing.fill(0);
    this.#ring.fill(0);
    this.#last = 0;
    this.#n = this.#sum = this.#phase = this.#count = 0;
  }

  /** Samples still wanted until the end of the next frame; at least 1. */
  get samplesLeft(): number {
    return Math.max(1, this.#frameEnd() - this.#n);
  }

  #frameEnd(): number {
    return Math.ceil(this.nextFrame * STEP_SEC * this.#fs);
  }

  /** Takes samples [from, to), at most to the end of the next frame. */
  push(x: Float64Array, from: number, to: number): void {
    const { high, low, decimation, size } = this.#plan;
    const { b0: h0, b1: h1, b2: h2, a1: g1, a2: g2 } = high;
    const { b0: l0, b1: l1, b2: l2, a1: m1, a2: m2 } = low;
    const state = this.#state;
    const ring = this.#ring;
    let hz1 = state[0]!;
    let hz2 = state[1]!;
    let lz1 = state[2]!;
    let lz2 = state[3]!;
    let last = this.#last;
    let sum = this.#sum;
    let phase = this.#phase;
    let slot = this.#count % size;
    let missing = 0;
    for (let i = from; i < to; i++) {
      let value = x[i]!;
      if (value - value !== 0) {
        value = last;
        missing++;
      } else if (this.#fresh) {
        // settled on the first value: the high-pass of a constant is 0
        this.#fresh = false;
        hz1 = (h1 + h2) * value;
        hz2 = h2 * value;
        lz1 = lz2 = 0;
      }
      last = value;
      const h = h0 * value + hz1;
      hz1 = h1 * value - g1 * h + hz2;
      hz2 = h2 * value - g2 * h;
      const y = l0 * h + lz1;
      lz1 = l1 * h - m1 * y + lz2;
      lz2 = l2 * h - m2 * y;
      sum += y;
      if (++phase < decimation) continue;
      ring[slot] = sum / decimation;
      if (++slot === size) slot = 0;
      this.#count++;
      sum = 0;
      phase = 0;
    }
    state[0] = hz1;
    state[1] = hz2;
    state[2] = lz1;
    state[3] = lz2;
    this.#last = last;
    this.#sum = sum;
    this.#phase = phase;
    this.#missing[this.nextFrame % STEPS]! += missing;
    this.#n += to - from;
  }

  captureWhenDue(): void {
    if (this.#n < this.#frameEnd()) return;
    const frame = this.nextFrame++;
    this.captured = frame;
    const { size } = this.#plan;
    if (frame >= STEPS) {
      const window = this.#plan.spare.pop() ?? { frame, x: new Float32Array(size), missing: 0 };
      const ring = this.#ring;
      let slot = this.#count % size;
      for (let i = 0; i < size; i++) {
        window.x[i] = ring[slot]!;
        if (++slot === size) slot = 0;
      }
      let missing = 0;
      for (let s = 0; s < STEPS; s++) missing += this.#missing[s]!;
      window.frame = frame;
      window.missing = missing / (WINDOW_SEC * this.#fs);
      this.#windows.push(window);
    }
    this.#missing[this.nextFrame % STEPS] = 0;
  }

  /** Mean square of a frame's window; 0 when it is missing. */
  meanSquare(frame: number): number {
    const window = this.#windowOf(frame);
    if (window === undefined || window.missing > MISSING_MAX) return 0;
    const { x } = window;
    let sum = 0;
    for (let i = 0; i < x.length; i++) sum += x[i]! * x[i]!;
    return sum / x.length;
  }

  /** The frame's window without its mean, tapered. @param out length FFT_SIZE, 0 beyond the window
   *  @returns false when too much is missing; then the output is 0 */
  tapered(frame: number, out: Float64Array): boolean {
    const window = this.#windowOf(frame);
    out.fill(0);
    if (window === undefined || window.missing > MISSING_MAX) return false;
    const { size, taper } = this.#plan;
    const { x } = window;
    let mean = 0;
    for (let i = 0; i < size; i++) mean += x[i]!;
    mean /= size;
    for (let i = 0; i < size; i++) out[i] = (x[i]! - mean) * taper[i]!;
    return true;
  }

  release(frame: number): void {
    const windows = this.#windows;
    for (let i = windows.length - 1; i >= 0; i--) {
      if (windows[i]!.frame !== frame) continue;
      this.#plan.spare.push(windows[i]!);
      windows.splice(i, 1);
    }
  }

  #windowOf(frame: number): Window | undefined {
    for (let i = 0; i < this.#windows.length; i++) if (this.#windows[i]!.frame === frame) return this.#windows[i];
    return undefined;
  }
}

/** Power of a tapered window at each rate and, from STATES on, at twice each rate. @param power length 2 * STATES  @returns the largest */
export function spectrum(fs: number, x: Float64Array, power: Float64Array): number {
  const { size, bin, slope, bend } = planOf(fs);
  const lastBin = bin[2 * STATES - 1]! + 1;
  if (size <= FILLED_MAX) paddedTransform(x, output);
  else fft.realTransform(output, x); // between 32 and 37.5 Hz
  for (let k = bin[0]! - 1; k <= lastBin; k++) binPower[k] = output[2 * k]! * output[2 * k]! + output[2 * k + 1]! * output[2 * k + 1]!;
  let max = 0;
  for (let s = 0; s < 2 * STATES; s++) {
    const k = bin[s]!;
    const centre = binPower[k]!;
    const left = binPower[k - 1]!;
    const right = binPower[k + 1]!;
    const value = Math.max(0, centre + slope[s]! * (right - left) + bend[s]! * (right - 2 * centre + left));
    power[s] = value;
    if (value > max) max = value;
  }
  return max;
}
