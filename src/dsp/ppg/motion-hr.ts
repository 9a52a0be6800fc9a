/** Heart rate from PPG while the wearer moves: spectra without what the accelerometer explains, best path over frequencies.
 *
 *  Every 2 s the last 8 s of each PPG wavelength, less what a filter makes of the accelerometer's axes (motion-filter.ts), are added up as
 *  they are: the pulse is in step in all of them, what moves them otherwise is not. The sum becomes a power spectrum (Hann window). Power
 *  at the second harmonic supports its fundamental. The rate is the state of a hidden Markov model (Gaussian
 *  steps, a small chance of any jump), decoded with two frames of lag; a weighted mean of it and of the interpolated peak next to it is
 *  more precise (see docs/dsp). Where a spectrum is attenuated at the frequencies of the accelerometer's, as in WFPV (Temko 2017,
 *  doi:10.1109/TBME.2017.2676243), a pulse at one of these is lost with the motion: version 3 of the method did that.
 *
 *  The past enters through the path and the filter only. Started afresh 16 s before a 64 s segment, as the engine does, it loses nothing
 *  measurable against an unbroken run (docs/dsp/pulse-and-slow.md), so it is a pure function of bounded past.
 *
 *  Units: PPG any scale and sign, acceleration in g. Also works at rest and without an accelerometer. */
import { FFT_SIZE, MotionChannel, RATE_STEP_HZ, STATES, STEP_SEC, WINDOW_SEC, planOf, rateHz, spectrum } from './motion-channel.ts';
import { MotionFilter } from './motion-filter.ts';
import { RateTrust } from './motion-trust.ts';

/** A rate is decided this many frames after its window. */
const LAG = 2;
/** Frame of the first rate: a window must be full. */
export const FIRST_FRAME = WINDOW_SEC / STEP_SEC;

/** Chosen on IEEE SPC recordings 01-06; docs/dsp/pulse-and-slow.md has how little each matters. */
export const weights = {
  /** The second harmonic's power is added to the fundamental's, up to this share of it: at half the rate there is no fundamental. */
  harmonic: 0.5,
  /** Power that counts as none, in units of the largest. */
  floor: 0.05,
  /** Standard deviation of the change in 2 s, bpm, and the log chance of a jump to anywhere. */
  changeBpm: 4,
  logJump: Math.log(0.003),
  /** Weight of the decoded state in the rate; the rest is that of the peak next to it. */
  state: 0.7,
} as const;

const REACH = Math.ceil((4 * weights.changeBpm) / 60 / RATE_STEP_HZ);
/** Power within this of the rate, or of twice the rate, supports it: 6 bpm, in states. */
const NEAR = Math.round(0.1 / RATE_STEP_HZ);
/** How far the peak next to a state is searched for; kept as a signed byte. */
const PEAK_REACH = 4;
const PEAK_SCALE = 28;
/** Root mean square of the acceleration below which nothing moves: the heart itself moves a wrist at rest by some thousandths of g. */
export const MOVING_G = 0.05;

// shared by every instance of the thread: nothing of them outlives a call
const kernel = Float64Array.from({ length: 2 * REACH + 1 }, (_, k) => -0.5 * ((k - REACH) / (weights.changeBpm / 60 / RATE_STEP_HZ)) ** 2);
const taken = new Float64Array(2 * STATES);
const takenWindow = new Float64Array(FFT_SIZE);
const togetherWindow = new Float64Array(FFT_SIZE);
const takenTogether = new Float64Array(FFT_SIZE);
const sharedWindows: Float64Array[] = [];
const clean = new Float64Array(2 * STATES);
const emission = new Float64Array(STATES);
const next = new Float64Array(STATES);
const sums = new Float64Array(STATES + 1);
/** State of twice a state's rate; beyond STATES there is none. */
const twice = Int32Array.from({ length: STATES }, (_, s) => Math.round((2 * rateHz(s) - rateHz(0)) / RATE_STEP_HZ));

/** Rates found so far, parallel growable columns. */
export type FoundRates = {
  count: number;
  /** End of the 8 s window, seconds since reset; multiples of 2. */
  endSec: Float64Array;
  /** Heart rate in bpm; NaN when the window had no signal. */
  bpm: Float64Array;
  /** Share of the cleaned power that lies within 6 bpm of the rate or of its second harmonic, 0 … 1. */
  confidence: Float64Array;
  /** Probability that the rate is within 5 bpm, see motion-trust.ts; 0 when the window had no signal. */
  trust: Float64Array;
  /** Root mean square of the band-passed acceleration over the axes, in its unit; 0 without an accelerometer. */
  motion: Float64Array;
  /** Rate of the strongest motion that was taken off the pulse, /min; NaN where nothing moves. */
  cadence: Float64Array;
};

export function emptyRates(): FoundRates {
  const column = (): Float64Array => new Float64Array(4);
  return { count: 0, endSec: column(), bpm: column(), confidence: column(), trust: column(), motion: column(), cadence: column() };
}

/** Call `pushPpg` and `pushAcc` in any interleaving; a rate comes out when both have passed the end of its window by `latencySec`.
 *  The result depends on the samples alone, not on the interleaving. NaN marks a missing sample. */
export class PpgMotionHeartRate {
  /** The value of the window that ends at t is emitted once both inputs reached t + latencySec. */
  readonly latencySec = LAG * STEP_SEC;
  /** Has the measures of the last rate that came out. */
  readonly trust = new RateTrust();
  readonly #fs: number;
  readonly #ppg: readonly MotionChannel[];
  readonly #acc: readonly MotionChannel[];
  readonly #filter: MotionFilter;
  readonly #leadWindows: readonly Float64Array[];
  readonly #axisWindows: readonly Float64Array[];
  #frames = 0;
  #emitted = 0;
  // the path: log scores of the last frame, and the frames that are not decided yet
  readonly #score = new Float32Array(STATES);
  readonly #recent: readonly Frame[] = Array.from({ length: LAG + 1 }, newFrame);

  /** @param fs of wavelengths and axes  @throws RangeError when it is below 20 Hz */
  constructor(fs: number, ppgCount: number, axisCount = 0) {
    if (!(fs >= 20)) throw new RangeError('a rate of at least 20 Hz');
    this.#fs = fs;
    this.#ppg = Array.from({ length: ppgCount }, () => new MotionChannel(fs));
    this.#acc = Array.from({ length: axisCount }, () => new MotionChannel(fs));
    this.#filter = new MotionFilter(planOf(fs), ppgCount, axisCount);
    while (sharedWindows.length < ppgCount + axisCount) sharedWindows.push(new Float64Array(FFT_SIZE));
    this.#leadWindows = sharedWindows.slice(0, ppgCount);
    this.#axisWindows = sharedWindows.slice(ppgCount, ppgCount + axisCount);
  }

  reset(): void {
    this.#frames = this.#emitted = 0;
    this.trust.reset();
    this.#filter.reset();
    for (const channel of this.#ppg) channel.reset();
    for (const channel of this.#acc) channel.reset();
  }

  /** @param leads one array per wavelength; rows [from, to) are new */
  pushPpg(leads: readonly Float64Array[], from: number, to: number, out: FoundRates): void {
    this.#feed(this.#ppg, leads, 0, from, to, out);
  }

  /** @param axes one array per axis; rows [from, to) are new  @param first position of the first axis in `axes` */
  pushAcc(axes: readonly Float64Array[], from: number, to: number, out: FoundRates, first = 0): void {
    this.#feed(this.#acc, axes, first, from, to, out);
  }

  /** The data ends here: emit the frames that are not decided yet. */
  flush(out: FoundRates): void {
    while (this.#emitted < this.#frames) this.#emit(best(this.#score), out);
    this.#frames = this.#emitted = 0;
    this.trust.reset();
    this.#filter.reset();
  }

  /** Feeds up to the end of each frame at a time, so that a frame sees the same ring whatever the block size. */
  #feed(group: readonly MotionChannel[], x: readonly Float64Array[], first: number, from: number, to: number, out: FoundRates): void {
    for (let at = from; at < to;) {
      const end = Math.min(to, at + group[0]!.samplesLeft);
      for (let c = 0; c < group.length; c++) group[c]!.push(x[first + c]!, at, end);
      at = end;
      for (const channel of group) channel.captureWhenDue();
      this.#closeFrames(out);
    }
  }

  #closeFrames(out: FoundRates): void {
    let ready = Number.POSITIVE_INFINITY;
    for (const channel of this.#ppg) ready = Math.min(ready, channel.captured);
    for (const channel of this.#acc) ready = Math.min(ready, channel.captured);
    while (this.#frames + FIRST_FRAME <= ready) this.#frame(this.#frames + FIRST_FRAME, out);
  }

  #frame(index: number, out: FoundRates): void {
    const frame = this.#recent[this.#frames % (LAG + 1)]!;
    const usable = this.#cleanSpectrum(index);
    let motion = 0;
    for (const axis of this.#acc) motion += axis.meanSquare(index);
    let peak = 0;
    for (let s = 0; s < STATES; s++) if (clean[s]! > peak) peak = clean[s]!;
    frame.usable = usable && peak > 0;
    frame.motion = Math.sqrt(motion);
    for (let s = 0; s < STATES; s++) {
      const support = frame.usable ? (clean[s]! + Math.min(clean[STATES + s]!, weights.harmonic * clean[s]!)) / peak : 1;
      emission[s] = Math.log(support + weights.floor);
    }
    notePeaks(frame);
    noteShares(frame);
    if (this.#acc.length > 0) noteMotion(frame);
    else frame.cadence = Number.NaN;
    if (this.#frames === 0) this.#score.set(emission);
    else this.#step(frame);
    this.#frames++;
    for (const channel of this.#ppg) channel.release(index);
    for (const axis of this.#acc) axis.release(index);
    if (this.#frames - this.#emitted > LAG) this.#emit(best(this.#score), out);
  }

  /** One step of the path. */
  #step(frame: Frame): void {
    const score = this.#score;
    const { back } = frame;
    const likeliest = best(score);
    const jump = score[likeliest]! + weights.logJump;
    next.fill(jump);
    back.fill(likeliest);
    // A step costs at least nothing: only a state above the jump can be the way to another, which few are.
    for (let k = 0; k < STATES; k++) {
      const here = score[k]!;
      if (!(here > jump)) continue;
      // from the state itself outwards: a step costs more the wider it is, and beyond some width more than a jump
      const last = Math.min(STATES - 1, k + REACH);
      for (let s = k; s <= last; s++) {
        const candidate = here + kernel[s - k + REACH]!;
        if (candidate <= jump) break;
        if (candidate > next[s]!) {
          next[s] = candidate;
          back[s] = k;
        }
      }
      const first = Math.max(0, k - REACH);
      for (let s = k - 1; s >= first; s--) {
        const candidate = here + kernel[k - s + REACH]!;
        if (candidate <= jump) break;
        if (candidate > next[s]!) {
          next[s] = candidate;
          back[s] = k;
        }
      }
    }
    let top = Number.NEGATIVE_INFINITY;
    for (let s = 0; s < STATES; s++) {
      const value = next[s]! + emission[s]!;
      next[s] = value;
      if (value > top) top = value;
    }
    // scores are relative: keep them near 0
    for (let s = 0; s < STATES; s++) score[s] = next[s]! - top;
  }

  /** Emits the oldest undecided frame: the state through which the path to `end` passes. */
  #emit(end: number, out: FoundRates): void {
    const score = this.#score;
    let state = end;
    let laterShare = 255;
    for (let f = this.#frames - 1; f > this.#emitted; f--) {
      const { back, share } = this.#recent[f % (LAG + 1)]!;
      if (share[state]! < laterShare) laterShare = share[state]!;
      state = back[state]!;
    }
    const { usable, motion, peak, share, stride, cadence } = this.#recent[this.#emitted % (LAG + 1)]!;
    const endSec = (this.#emitted + FIRST_FRAME) * STEP_SEC;
    const bpm = 60 * rateHz(state + ((1 - weights.state) * peak[state]!) / PEAK_SCALE);
    let rival = Number.NEGATIVE_INFINITY;
    for (let s = 0; s < STATES; s++) if (score[s]! > rival && Math.abs(this.#passes(s) - state) > NEAR) rival = score[s]!;
    const power = mostNear(stride, state) / 255;
    const halfPower = mostNear(stride, Math.round((rateHz(state) / 2 - rateHz(0)) / RATE_STEP_HZ)) / 255;
    const moved = { stride: power, atHalf: halfPower, motionG: motion, cadence };
    const trust = this.trust.of(bpm, share[state]! / 255, laterShare / 255, score[end]! - rival, moved);
    // at an end of the range nothing shows a peak: it may lie beyond, a harmonic of a pulse that was taken off with the motion
    const isAtEnd = state === 0 || state === STATES - 1;
    if (usable) appendRate(out, endSec, bpm, share[state]! / 255, isAtEnd ? 0 : trust, motion, cadence);
    else appendRate(out, endSec, Number.NaN, 0, 0, motion, cadence);
    this.#emitted++;
  }

  /** State of the oldest undecided frame through which the path to `end` passes. */
  #passes(end: number): number {
    let state = end;
    for (let f = this.#frames - 1; f > this.#emitted; f--) state = this.#recent[f % (LAG + 1)]!.back[state]!;
    return state;
  }

  /** Spectrum of the wavelengths' sum without its motion into `clean` (fundamentals, then second harmonics), over its largest; `taken`
   *  becomes that of the motion taken off. Each wavelength counts by its deviation before that: what moves most counts least.
   *  @returns false when no wavelength has a usable window */
  #cleanSpectrum(index: number): boolean {
    clean.fill(0);
    let known = 0;
    for (let c = 0; c < this.#ppg.length; c++) if (this.#ppg[c]!.tapered(index, this.#leadWindows[c]!)) known++;
    if (known === 0) {
      taken.fill(0);
      return false;
    }
    let moving = 0;
    for (let a = 0; a < this.#acc.length; a++) if (this.#acc[a]!.tapered(index, this.#axisWindows[a]!)) moving++;
    if (moving > 0) this.#filter.fit(this.#leadWindows, this.#axisWindows);
    const { size } = planOf(this.#fs);
    togetherWindow.fill(0);
    if (moving > 0) takenTogether.fill(0);
    else taken.fill(0);
    for (let c = 0; c < this.#ppg.length; c++) {
      const window = this.#leadWindows[c]!;
      let power = 0;
      for (let t = 0; t < size; t++) power += window[t]! * window[t]!;
      if (!(power > 0)) continue;
      const scale = 1 / Math.sqrt(power);
      if (moving > 0) this.#filter.takeOff(c, window, this.#axisWindows, takenWindow);
      for (let t = 0; t < size; t++) togetherWindow[t] = togetherWindow[t]! + scale * window[t]!;
      if (moving > 0) for (let t = 0; t < size; t++) takenTogether[t] = takenTogether[t]! + scale * takenWindow[t]!;
    }
    const max = spectrum(this.#fs, togetherWindow, clean);
    if (!(max > 0)) {
      taken.fill(0);
      return false;
    }
    for (let s = 0; s < 2 * STATES; s++) clean[s] = clean[s]! / max;
    if (moving > 0) spectrum(this.#fs, takenTogether, taken);
    return true;
  }
}

/** State of a frame until its rate is decided, by state of the model: where the path came from, the distance of the nearest peak (in
 *  1/PEAK_SCALE states), the share of power near it, and the power there of the motion taken off, over its largest (both in 1/255). */
type Frame = {
  readonly back: Uint8Array;
  readonly peak: Int8Array;
  readonly share: Uint8Array;
  readonly stride: Uint8Array;
  motion: number;
  /** Rate of the strongest motion taken off, /min; NaN where nothing moves. */
  cadence: number;
  usable: boolean;
};

function newFrame(): Frame {
  const bytes = (): Uint8Array => new Uint8Array(STATES);
  return { back: bytes(), peak: new Int8Array(STATES), share: bytes(), stride: bytes(), motion: 0, cadence: Number.NaN, usable: false };
}

function notePeaks({ peak }: Frame): void {
  let highest = -1; // first of the highest within reach of the state
  let past = 0; // of the refined peak, past `refinedOf`
  let refinedOf = -1;
  for (let state = 0; state < STATES; state++) {
    const first = Math.max(0, state - PEAK_REACH);
    const last = Math.min(STATES - 1, state + PEAK_REACH);
    if (highest < first) {
      highest = first;
      for (let s = first + 1; s <= last; s++) if (emission[s]! > emission[highest]!) highest = s;
    } else if (emission[last]! > emission[highest]!) highest = last;
    const at = emission[state]! < emission[highest]! ? highest : state;
    if (at !== refinedOf) {
      // numbers throughout: a read beyond the ends would make each of them an object
      const left = emission[Math.max(0, at - 1)]!;
      const right = emission[Math.min(STATES - 1, at + 1)]!;
      const bend = left - 2 * emission[at]! + right;
      past = bend < 0 ? Math.max(-0.5, Math.min(0.5, (0.5 * (left - right)) / bend)) : 0;
      refinedOf = at;
    }
    peak[state] = Math.round((at + past - state) * PEAK_SCALE);
  }
}

/** Share of the cleaned power within 6 bpm of each rate or of its second harmonic, by running sums. */
function noteShares({ share }: Frame): void {
  for (let s = 0; s < STATES; s++) sums[s + 1] = sums[s]! + clean[s]!;
  const all = sums[STATES]!;
  if (!(all > 0)) {
    share.fill(0);
    return;
  }
  for (let state = 0; state < STATES; state++)
    share[state] = Math.round((255 * Math.min(all, sumNear(state) + sumNear(twice[state]!))) / all);
}

function sumNear(state: number): number {
  return state - NEAR >= STATES ? 0 : sums[Math.min(STATES, state + NEAR + 1)]! - sums[Math.max(0, state - NEAR)]!;
}

/** Power of the motion that was taken off, over its largest, and the rate of its strongest line. */
function noteMotion(frame: Frame): void {
  const { stride } = frame;
  const most = largest(taken) || 1;
  let strongest = -1;
  for (let s = 0; s < STATES; s++) {
    stride[s] = Math.round(255 * (taken[s]! / most));
    // at an end of the range nothing shows a line: it may lie beyond
    const isLine = s > 0 && s < STATES - 1 && taken[s]! > taken[s - 1]! && taken[s]! >= taken[s + 1]!;
    if (isLine && (strongest < 0 || taken[s]! > taken[strongest]!)) strongest = s;
  }
  frame.cadence = frame.motion < MOVING_G || strongest < 0 ? Number.NaN : 60 * rateHz(strongest);
}

/** The largest within reach of a state, which may be none; 0 where none is within reach. */
function mostNear(x: Uint8Array, state: number): number {
  let most = 0;
  for (let s = Math.max(0, state - PEAK_REACH); s <= Math.min(STATES - 1, state + PEAK_REACH); s++) if (x[s]! > most) most = x[s]!;
  return most;
}

function best(score: Float32Array): number {
  let at = 0;
  for (let s = 1; s < score.length; s++) if (score[s]! > score[at]!) at = s;
  return at;
}

function largest(x: Float64Array): number {
  let max = 0;
  for (let i = 0; i < x.length; i++) if (x[i]! > max) max = x[i]!;
  return max;
}

function appendRate(
  out: FoundRates,
  endSec: number,
  bpm: number,
  confidence: number,
  trust: number,
  motion: number,
  cadence: number,
): void {
  if (out.count >= out.endSec.length) {
    const grow = (old: Float64Array): Float64Array => {
      const grown = new Float64Array(2 * old.length);
      grown.set(old);
      return grown;
    };
    out.endSec = grow(out.endSec);
    out.bpm = grow(out.bpm);
    out.confidence = grow(out.confidence);
    out.trust = grow(out.trust);
    out.motion = grow(out.motion);
    out.cadence = grow(out.cadence);
  }
  out.endSec[out.count] = endSec;
  out.bpm[out.count] = bpm;
  out.confidence[out.count] = confidence;
  out.trust[out.count] = trust;
  out.motion[out.count] = motion;
  out.cadence[out.count] = cadence;
  out.count++;
}
