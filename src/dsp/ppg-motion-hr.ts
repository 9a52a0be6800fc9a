/** Heart rate from PPG while the wearer moves: spectra cleaned with the accelerometer, best path over frequencies.
 *
 *  Every 2 s the last 8 s of each PPG wavelength and each accelerometer axis become a power spectrum (Hann window). As in WFPV (Temko 2017,
 *  doi:10.1109/TBME.2017.2676243) the PPG spectra are attenuated where the accelerometer has power, by the mean of a Wiener filter and of
 *  spectral subtraction. Different from WFPV:
 *  - power at the second harmonic supports its fundamental;
 *  - the rate is not the largest peak near the last one with hand-made repairs, but the state of a hidden Markov model
 *    (Gaussian steps, a small chance of any jump), decoded with two frames of lag;
 *  - no phase vocoder: a weighted mean of the decoded state and of the interpolated peak beside it was more precise (see README.md).
 *
 *  The past enters through the path only. Started afresh 16 s before a 64 s segment, as the engine does, it loses nothing measurable
 *  against an unbroken run (README.md), so it is a pure function of bounded past.
 *
 *  Units: PPG any scale and sign, acceleration in g or m/s² (relative only). Works at rest and without an accelerometer too. */
import { highPass, lowPass } from './biquad.ts';
import type { Biquad } from './biquad.ts';

const WINDOW_SEC = 8;
const STEP_SEC = 2;
const HIGH_PASS_HZ = 0.4;
const LOW_PASS_HZ = 8;
/** Spectra are taken from signals averaged down to about this rate. */
const DECIMATED_HZ = 25;
/** Grid of rates: 39 … 210 bpm in steps of 0.75 bpm. */
const RATE_MIN_HZ = 0.65;
const RATE_MAX_HZ = 3.5;
const RATE_STEP_HZ = 0.0125;
const STATES = Math.round((RATE_MAX_HZ - RATE_MIN_HZ) / RATE_STEP_HZ) + 1;

/** A rate is decided this many frames after its window. */
const LAG = 2;

/** Tuned on IEEE SPC recordings 01-06; see README.md for what each is worth. */
const weights = {
  /** Power of the accelerometer taken off, in units of both spectra's maxima. */
  motion: 2.5,
  /** Share of the second harmonic's power added to the fundamental's. */
  harmonic: 0.2,
  /** Exponent of the cleaned power as a likelihood, and its floor. */
  sharpness: 1.1,
  floor: 0.024,
  /** Standard deviation of the change in 2 s, bpm, and the log chance of a jump to anywhere. */
  changeBpm: 3,
  logJump: Math.log(0.0062),
  /** Prior of the rate: mean and deviation in bpm, weight per frame (weight 1 on the first). */
  priorBpm: 110,
  priorSdBpm: 45,
  prior: 0.1,
  /** Share of the decoded state, against the peak beside it, in the rate. */
  state: 0.7,
} as const;

const REACH = Math.ceil((4 * weights.changeBpm) / 60 / RATE_STEP_HZ);
/** A frame with more missing samples than this share has no spectrum. */
const MISSING_MAX = 0.2;

/** Rates found so far, parallel growable columns. */
export type FoundRates = {
  count: number;
  /** End of the 8 s window, seconds since reset; multiples of 2. */
  endSec: Float64Array;
  /** Heart rate in bpm; NaN when the window had no signal. */
  bpm: Float64Array;
  /** Share of the cleaned power that lies within 6 bpm of the rate or of its second harmonic, 0 … 1. */
  confidence: Float64Array;
  /** Root mean square of the band-passed acceleration over the axes, in its unit; 0 without an accelerometer. */
  motion: Float64Array;
};

export function emptyRates(): FoundRates {
  return {
    count: 0,
    endSec: new Float64Array(64),
    bpm: new Float64Array(64),
    confidence: new Float64Array(64),
    motion: new Float64Array(64),
  };
}

/** Call `pushPpg` and `pushAcc` in any interleaving; a rate comes out when both have passed the end of its window by `latencySec`.
 *  The result depends on the samples alone, not on the interleaving. NaN marks a missing sample. */
export class PpgMotionHeartRate {
  /** The value of the window that ends at t is emitted once both inputs reached t + latencySec. */
  readonly latencySec = LAG * STEP_SEC;
  readonly #ppg: readonly Channel[];
  readonly #acc: readonly Channel[];
  #frames = 0;
  #emitted = 0;
  // the path: log scores of the last frame, and the frames that are not decided yet
  #score = new Float64Array(STATES);
  #next = new Float64Array(STATES);
  readonly #recent: readonly Frame[] = Array.from({ length: LAG + 1 }, newFrame);
  readonly #power = new Float64Array(STATES);
  readonly #powerHarmonic = new Float64Array(STATES);
  readonly #motion = new Float64Array(STATES);
  readonly #motionHarmonic = new Float64Array(STATES);
  readonly #kernel = new Float64Array(2 * REACH + 1);
  readonly #prior = new Float64Array(STATES);

  /** @param accFs rate of the accelerometer; leave out when there is none  @throws RangeError when a rate is below 20 Hz */
  constructor(ppgFs: number, ppgCount: number, accFs = 0, axisCount = accFs > 0 ? 3 : 0) {
    if (!(ppgFs >= 20) || (axisCount > 0 && !(accFs >= 20))) throw new RangeError('rates of at least 20 Hz');
    this.#ppg = Array.from({ length: ppgCount }, () => new Channel(ppgFs));
    this.#acc = Array.from({ length: axisCount }, () => new Channel(accFs));
    const deviation = weights.changeBpm / 60 / RATE_STEP_HZ;
    for (let k = -REACH; k <= REACH; k++) this.#kernel[k + REACH] = -0.5 * (k / deviation) ** 2;
    for (let s = 0; s < STATES; s++) this.#prior[s] = -0.5 * ((60 * rateHz(s) - weights.priorBpm) / weights.priorSdBpm) ** 2;
  }

  reset(): void {
    this.#frames = this.#emitted = 0;
    for (const channel of this.#ppg) channel.reset();
    for (const channel of this.#acc) channel.reset();
  }

  /** @param leads one array per wavelength; rows [from, to) are new */
  pushPpg(leads: readonly Float64Array[], from: number, to: number, out: FoundRates): void {
    this.#feed(this.#ppg, leads, from, to, out);
  }

  /** @param axes one array per axis; rows [from, to) are new */
  pushAcc(axes: readonly Float64Array[], from: number, to: number, out: FoundRates): void {
    this.#feed(this.#acc, axes, from, to, out);
  }

  /** The data ends here: emit the frames that are not decided yet. */
  flush(out: FoundRates): void {
    while (this.#emitted < this.#frames) this.#emit(best(this.#score), out);
    this.#frames = this.#emitted = 0;
  }

  /** Feeds up to the end of each frame at a time, so that a frame sees the same ring whatever the block size. */
  #feed(group: readonly Channel[], x: readonly Float64Array[], from: number, to: number, out: FoundRates): void {
    for (let at = from; at < to;) {
      const room = group[0]!.samplesUntil(group[0]!.nextFrame);
      const end = Math.min(to, at + room);
      for (let c = 0; c < group.length; c++) group[c]!.push(x[c]!, at, end);
      at = end;
      this.#closeFrames(out);
    }
  }

  #closeFrames(out: FoundRates): void {
    for (const channel of this.#ppg) channel.captureWhenDue();
    for (const channel of this.#acc) channel.captureWhenDue();
    const ready = Math.min(...this.#ppg.map((c) => c.captured), ...this.#acc.map((c) => c.captured));
    while (this.#frames + FIRST_FRAME <= ready) this.#frame(this.#frames + FIRST_FRAME, out);
  }

  #frame(index: number, out: FoundRates): void {
    const frame = this.#recent[this.#frames % (LAG + 1)]!;
    const { clean, emission } = frame;
    const usable = this.#cleanSpectrum(index, clean);
    let motion = 0;
    for (const axis of this.#acc) motion += axis.meanSquare(index);
    let peak = 0;
    for (let s = 0; s < STATES; s++) if (clean[s]! > peak) peak = clean[s]!;
    frame.usable = usable && peak > 0;
    frame.motion = Math.sqrt(motion);
    for (let s = 0; s < STATES; s++) {
      const power = frame.usable ? (clean[s]! + weights.harmonic * clean[STATES + s]!) / peak : 1;
      emission[s] = weights.sharpness * Math.log(power + weights.floor) + weights.prior * this.#prior[s]!;
    }
    if (this.#frames === 0) for (let s = 0; s < STATES; s++) this.#score[s] = emission[s]! + this.#prior[s]!;
    else this.#step(frame);
    this.#frames++;
    for (const channel of this.#ppg) channel.release(index);
    for (const axis of this.#acc) axis.release(index);
    if (this.#frames - this.#emitted > LAG) this.#emit(best(this.#score), out);
  }

  /** One step of the path. */
  #step(frame: Frame): void {
    const score = this.#score;
    const next = this.#next;
    const likeliest = best(score);
    const jump = score[likeliest]! + weights.logJump;
    for (let s = 0; s < STATES; s++) {
      let value = jump;
      let from = likeliest;
      const first = Math.max(0, s - REACH);
      const last = Math.min(STATES - 1, s + REACH);
      for (let k = first; k <= last; k++) {
        const candidate = score[k]! + this.#kernel[k - s + REACH]!;
        if (candidate > value) {
          value = candidate;
          from = k;
        }
      }
      next[s] = value + frame.emission[s]!;
      frame.back[s] = from;
    }
    // scores are relative: keep them near 0
    const top = next[best(next)]!;
    for (let s = 0; s < STATES; s++) next[s] = next[s]! - top;
    this.#score = next;
    this.#next = score;
  }

  /** Emits the oldest undecided frame: the state through which the path to `end` passes. */
  #emit(end: number, out: FoundRates): void {
    let state = end;
    for (let f = this.#frames - 1; f > this.#emitted; f--) state = this.#recent[f % (LAG + 1)]!.back[state]!;
    const frame = this.#recent[this.#emitted % (LAG + 1)]!;
    const e = frame.emission;
    let peak = state;
    for (let s = Math.max(0, state - 4); s <= Math.min(STATES - 1, state + 4); s++) if (e[s]! > e[peak]!) peak = s;
    const left = e[peak - 1] ?? e[peak]!;
    const right = e[peak + 1] ?? e[peak]!;
    const bend = left - 2 * e[peak]! + right;
    const refined = bend < 0 ? peak + (0.5 * (left - right)) / bend : peak;
    const hz = rateHz(weights.state * state + (1 - weights.state) * refined);
    const endSec = (this.#emitted + FIRST_FRAME) * STEP_SEC;
    if (frame.usable) appendRate(out, endSec, 60 * hz, shareNear(frame.clean, hz), frame.motion);
    else appendRate(out, endSec, Number.NaN, 0, frame.motion);
    this.#emitted++;
  }

  /** Sums the cleaned spectra of the wavelengths: fundamentals in the first half of clean, second harmonics in the other.
   *  @returns false when no wavelength has a usable window */
  #cleanSpectrum(index: number, clean: Float64Array): boolean {
    const motionMax = this.#motionSpectrum(index);
    clean.fill(0);
    let usable = false;
    for (const channel of this.#ppg) {
      if (!channel.spectrum(index, this.#power, this.#powerHarmonic)) continue;
      const max = Math.max(largest(this.#power), largest(this.#powerHarmonic));
      if (!(max > 0)) continue;
      usable = true;
      for (let s = 0; s < STATES; s++) {
        clean[s] = clean[s]! + attenuated(this.#power[s]! / max, this.#motion[s]! / motionMax);
        clean[STATES + s] = clean[STATES + s]! + attenuated(this.#powerHarmonic[s]! / max, this.#motionHarmonic[s]! / motionMax);
      }
    }
    return usable;
  }

  /** Sum of the axes' spectra, each over its own sum: the shape matters, not the strength. @returns its maximum, 1 when there is none */
  #motionSpectrum(index: number): number {
    this.#motion.fill(0);
    this.#motionHarmonic.fill(0);
    for (const axis of this.#acc) {
      if (!axis.spectrum(index, this.#power, this.#powerHarmonic)) continue;
      let sum = 0;
      for (let s = 0; s < STATES; s++) sum += this.#power[s]! + this.#powerHarmonic[s]!;
      if (!(sum > 0)) continue;
      for (let s = 0; s < STATES; s++) {
        this.#motion[s] = this.#motion[s]! + this.#power[s]! / sum;
        this.#motionHarmonic[s] = this.#motionHarmonic[s]! + this.#powerHarmonic[s]! / sum;
      }
    }
    const max = Math.max(largest(this.#motion), largest(this.#motionHarmonic));
    return max > 0 ? max : 1;
  }
}

/** What a frame needs until its rate is decided. */
type Frame = { emission: Float64Array; back: Int32Array; clean: Float64Array; motion: number; usable: boolean };

function newFrame(): Frame {
  return {
    emission: new Float64Array(STATES),
    back: new Int32Array(STATES),
    clean: new Float64Array(2 * STATES),
    motion: 0,
    usable: false,
  };
}

const FIRST_FRAME = WINDOW_SEC / STEP_SEC;

function rateHz(state: number): number {
  return RATE_MIN_HZ + state * RATE_STEP_HZ;
}

/** Mean of spectral subtraction and of the Wiener filter. */
function attenuated(power: number, motion: number): number {
  const noise = weights.motion * motion;
  const subtraction = power > noise ? 1 - noise / power : 0;
  const wiener = power / (power + noise + 1e-30);
  return (power * (subtraction + wiener)) / 2;
}

/** Share of the cleaned power within 6 bpm of a rate or of its second harmonic. */
function shareNear(clean: Float64Array, hz: number): number {
  let near = 0;
  let all = 0;
  for (let s = 0; s < STATES; s++) {
    const offBpm = 60 * (rateHz(s) - hz);
    all += clean[s]!;
    if (Math.abs(offBpm) <= 6 || Math.abs(offBpm - 60 * hz) <= 6) near += clean[s]!;
  }
  return all > 0 ? near / all : 0;
}

function best(score: Float64Array): number {
  let at = 0;
  for (let s = 1; s < score.length; s++) if (score[s]! > score[at]!) at = s;
  return at;
}

function largest(x: Float64Array): number {
  let max = 0;
  for (let i = 0; i < x.length; i++) if (x[i]! > max) max = x[i]!;
  return max;
}

function appendRate(out: FoundRates, endSec: number, bpm: number, confidence: number, motion: number): void {
  if (out.count >= out.endSec.length) {
    const grow = (old: Float64Array): Float64Array => {
      const grown = new Float64Array(Math.max(64, 2 * old.length));
      grown.set(old);
      return grown;
    };
    out.endSec = grow(out.endSec);
    out.bpm = grow(out.bpm);
    out.confidence = grow(out.confidence);
    out.motion = grow(out.motion);
  }
  out.endSec[out.count] = endSec;
  out.bpm[out.count] = bpm;
  out.confidence[out.count] = confidence;
  out.motion[out.count] = motion;
  out.count++;
}

/** One input channel: band-pass, averaging down, the last windows as they stood at the frame ends. */
class Channel {
  /** Frame whose end has been reached by this channel (frame f ends at f * 2 s); its window is kept until the other channels are there. */
  captured = 0;
  nextFrame = 1;
  readonly #fs: number;
  readonly #decimation: number;
  readonly #rate: number;
  readonly #size: number;
  readonly #ring: Float64Array;
  readonly #missingRing: Uint8Array;
  readonly #taper: Float64Array;
  readonly #work: Float64Array;
  /** Windows that wait, by frame: usually one, more only when the other input lags. */
  readonly #windows = new Map<number, { x: Float64Array; missing: number }>();
  readonly #high: Biquad;
  readonly #low: Biquad;
  readonly #state = new Float64Array(4);
  #fresh = true;
  #last = 0;
  #n = 0;
  #sum = 0;
  #missing = 0;
  #phase = 0;
  #count = 0;

  constructor(fs: number) {
    this.#fs = fs;
    this.#decimation = Math.max(1, Math.round(fs / DECIMATED_HZ));
    this.#rate = fs / this.#decimation;
    this.#size = Math.round(WINDOW_SEC * this.#rate);
    this.#ring = new Float64Array(this.#size);
    this.#missingRing = new Uint8Array(this.#size);
    this.#work = new Float64Array(this.#size);
    this.#taper = Float64Array.from({ length: this.#size }, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * (i + 0.5)) / this.#size));
    this.#high = highPass(HIGH_PASS_HZ, fs);
    this.#low = lowPass(Math.min(LOW_PASS_HZ, 0.4 * fs), fs);
  }

  reset(): void {
    this.captured = 0;
    this.nextFrame = 1;
    this.#windows.clear();
    this.#fresh = true;
    this.#state.fill(0);
    this.#last = 0;
    this.#n = this.#sum = this.#missing = this.#phase = this.#count = 0;
  }

  /** Samples still wanted until the end of a frame; at least 1. */
  samplesUntil(frame: number): number {
    return Math.max(1, Math.ceil(frame * STEP_SEC * this.#fs) - this.#n);
  }

  push(x: Float64Array, from: number, to: number): void {
    const high = this.#high;
    const low = this.#low;
    const state = this.#state;
    for (let i = from; i < to; i++) {
      let value = x[i]!;
      const present = value - value === 0;
      if (!present) value = this.#last;
      else if (this.#fresh) {
        // settled on the first value: the high-pass of a constant is 0
        this.#fresh = false;
        state[0] = (high.b1 + high.b2) * value;
        state[1] = high.b2 * value;
        state[2] = state[3] = 0;
      }
      this.#last = value;
      const h = high.b0 * value + state[0]!;
      state[0] = high.b1 * value - high.a1 * h + state[1]!;
      state[1] = high.b2 * value - high.a2 * h;
      const y = low.b0 * h + state[2]!;
      state[2] = low.b1 * h - low.a1 * y + state[3]!;
      state[3] = low.b2 * h - low.a2 * y;
      this.#sum += y;
      if (!present) this.#missing++;
      if (++this.#phase < this.#decimation) continue;
      const slot = this.#count++ % this.#size;
      this.#ring[slot] = this.#sum / this.#decimation;
      this.#missingRing[slot] = 2 * this.#missing > this.#decimation ? 1 : 0;
      this.#sum = 0;
      this.#missing = 0;
      this.#phase = 0;
    }
    this.#n += to - from;
  }

  captureWhenDue(): void {
    while (this.#n >= Math.ceil(this.nextFrame * STEP_SEC * this.#fs)) {
      const frame = this.nextFrame++;
      this.captured = frame;
      if (frame < FIRST_FRAME) continue;
      const x = new Float64Array(this.#size);
      let missing = 0;
      for (let i = 0; i < this.#size; i++) {
        const slot = (this.#count + i) % this.#size;
        x[i] = this.#ring[slot]!;
        missing += this.#missingRing[slot]!;
      }
      this.#windows.set(frame, { x, missing: missing / this.#size });
    }
  }

  meanSquare(frame: number): number {
    const window = this.#windows.get(frame);
    if (window === undefined) return 0;
    let sum = 0;
    for (let i = 0; i < this.#size; i++) sum += window.x[i]! * window.x[i]!;
    return sum / this.#size;
  }

  /** Power at each rate and at twice each rate (Goertzel). @returns false when too much is missing; then the outputs are left as they were */
  spectrum(frame: number, power: Float64Array, harmonic: Float64Array): boolean {
    const window = this.#windows.get(frame);
    if (window === undefined || window.missing > MISSING_MAX) return false;
    const x = this.#work;
    let mean = 0;
    for (let i = 0; i < this.#size; i++) mean += window.x[i]!;
    mean /= this.#size;
    for (let i = 0; i < this.#size; i++) x[i] = (window.x[i]! - mean) * this.#taper[i]!;
    // every second state, the others by cubic interpolation: the window's main lobe is 40 states wide (STATES is odd)
    for (let s = 0; s < STATES; s += 2) {
      power[s] = goertzel(x, rateHz(s) / this.#rate);
      harmonic[s] = goertzel(x, (2 * rateHz(s)) / this.#rate);
    }
    fillBetween(power);
    fillBetween(harmonic);
    return true;
  }

  release(frame: number): void {
    this.#windows.delete(frame);
  }
}

/** Values at odd indices from the even ones on both sides; by linear interpolation alone even states would win too often (0.1 bpm worse). */
function fillBetween(x: Float64Array): void {
  for (let s = 1; s < STATES - 1; s += 2) {
    const near = x[s - 1]! + x[s + 1]!;
    const far = s >= 3 && s + 3 < STATES ? x[s - 3]! + x[s + 3]! : near;
    x[s] = Math.max(0, (9 * near - far) / 16);
  }
}

/** |DFT|² of x at a frequency in cycles per sample. */
function goertzel(x: Float64Array, cycles: number): number {
  const twice = 2 * Math.cos(2 * Math.PI * cycles);
  let s1 = 0;
  let s2 = 0;
  for (let i = 0; i < x.length; i++) {
    const s = x[i]! + twice * s1 - s2;
    s2 = s1;
    s1 = s;
  }
  return s1 * s1 + s2 * s2 - twice * s1 * s2;
}
