/** Breaths from a respiration channel, and from the modulation of PPG or ECG. */
import { arenaDoubles } from '../kernels/arena.ts';
import { highPass, lowPass } from '../kernels/biquad.ts';
import type { Biquad } from '../kernels/biquad.ts';
import type { BeatDetector, FoundBeats } from '../kernels/contract.ts';
import { appendBeat } from '../kernels/found-beats.ts';
import { keptByRate } from '../kernels/kept-by-rate.ts';

/** Signals are averaged down to about this rate. */
const DECIMATED_HZ = 12.5;
/** Band, and the share of the usual swing that the signal must go back before a turn counts (Schäfer & Kratky 2008: 0.2-0.3 of a quartile).
 *  Two breaths are at least `periodMinSec` apart: infants in distress breathe 60 to 80 times a minute.
 *  `channel` for a respiration channel, `surrogate` for the modulation of a pulse, where other rhythms are as large (docs/dsp). */
export const settings = {
  channel: { highPassHz: 0.08, lowPassHz: 0.9, turnShare: 0.35, periodMinSec: 0.6 },
  surrogate: { highPassHz: 0.15, lowPassHz: 0.6, turnShare: 0.22, periodMinSec: 1 },
} as const;
/** The usual swing: median of the ranges in the last windows of 6 s (3 blocks). */
const BLOCK_SEC = 2;
const BLOCKS = 6;
const RANGE_BLOCKS = 3;
/** Mean squared difference of neighbours over mean square (von Neumann 1941) of the last windows, above the band's lower edge, from which a
 *  channel is noise: 2 in white noise, with a standard deviation of 0.2, and 0.4 at most in breathing. From here on three quarters are
 *  noise: a belt that was taken off is no breath. */
export const WHITE_MIN = 1.5;
const HOLD_SEC = 0.5;

/** Where the numbers of a detector are in its state.
 *  Of the block under way: lowest, highest, sum of squares of the high-passed signal, and of its differences; then the same of BLOCKS. */
const [HIGH_1, HIGH_2, LOW_1, LOW_2, LAST, SUM, PREVIOUS, SWING, VALLEY, TOP, LAST_BREATH] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10] as const;
const [BLOCK_MIN, BLOCK_MAX, POWER, STEPS, BLOCK] = [11, 12, 13, 14, 15] as const;
const OF_BLOCK = BLOCK - BLOCK_MIN;
const NUMBERS = BLOCK + OF_BLOCK * BLOCKS;

/** What follows from the rate alone. `apart`: two breaths, in decimated samples; `delay` in samples. */
type Plan = Readonly<{
  decimation: number;
  hold: number;
  high: Biquad;
  low: Biquad;
  blockSamples: number;
  turnShare: number;
  apart: number;
  delay: number;
  mayBeNoise: boolean;
}>;

const planOf = (use: keyof typeof settings): ((fs: number) => Plan) =>
  keptByRate((fs) => {
    const { highPassHz, lowPassHz, turnShare, periodMinSec } = settings[use];
    const decimation = Math.max(1, Math.round(fs / DECIMATED_HZ));
    const rate = fs / decimation;
    return {
      decimation,
      hold: Math.round(HOLD_SEC * fs),
      high: highPass(highPassHz, rate),
      low: lowPass(lowPassHz, rate),
      blockSamples: Math.round(BLOCK_SEC * rate),
      turnShare,
      apart: periodMinSec * rate,
      // of the low-pass less the lead of the high-pass, both at 0.25 Hz (15 breaths a minute)
      delay: (delaySec(lowPassHz, 0.25) - leadSec(highPassHz, 0.25)) * fs,
      mayBeNoise: use === 'channel',
    };
  });
const plans = { channel: planOf('channel'), surrogate: planOf('surrogate') };

/** Finds breaths in a respiration signal (impedance, belt, flow, or a surrogate): the tops between two turns, as count-orig of
 *  Schäfer & Kratky 2008 (doi:10.1007/s10439-007-9428-1) does on the whole record. Different: streaming, and the threshold is a share of
 *  the median swing of the last 12 s.
 *  A channel whose last 12 s are noise has no breaths; the modulation of a pulse is interpolated, and is not asked.
 *  Position: the top of the band-passed signal; its delay is taken off on average. Units: any scale, inspiration upwards or
 *  downwards (then tops are ends of expiration: the rate is the same).
 *  Latency: a breath is out once its fall has begun, at most `latencySec`.
 *
 *  `resp_rate` (per minute) is made of stored breaths in a window, as a heart rate is of beats: 60 * (n - 1) / (last - first). */
export class BreathDetector implements BeatDetector {
  readonly latencySec = 12;
  /** Of each breath of the last call, by its place in `out`: how far it rises; was a top left out since the one before, as too near? */
  readonly heights: number[] = [];
  readonly isHurried: boolean[] = [];
  #leftOut = false;
  readonly #plan: Plan;
  readonly #state = arenaDoubles(NUMBERS);
  #n = 0;
  #start = 0;
  #missing = 1 << 30;
  #phase = 0;
  #fresh = true;
  #count = 0;
  #blocks = 0;
  #up = false;
  /** Where the last top was, in decimated samples since #start. */
  #topAt = 0;

  /** @throws RangeError below 5 Hz */
  constructor(fs: number, use: keyof typeof settings = 'channel') {
    if (!(fs >= 5)) throw new RangeError(`fs = ${fs} Hz: at least 5`);
    this.#plan = plans[use](fs);
  }

  reset(): void {
    this.#n = 0;
    this.#missing = 1 << 30;
    this.#restart();
  }

  push(leads: readonly Float64Array[], from: number, to: number, out: FoundBeats): void {
    const x = leads[0]!;
    const state = this.#state;
    const { decimation, hold } = this.#plan;
    for (let i = from; i < to; i++) {
      let value = x[i]!;
      if (value - value === 0) {
        if (this.#missing > hold) this.#restart();
        this.#missing = 0;
      } else if (this.#missing < hold) {
        this.#missing++;
        value = state[LAST]!;
      } else {
        this.#missing++;
        this.#n++;
        continue;
      }
      state[LAST] = value;
      this.#n++;
      state[SUM]! += value;
      if (++this.#phase < decimation) continue;
      this.#accept(state[SUM]! / decimation, out);
      state[SUM] = 0;
      this.#phase = 0;
    }
  }

  flush(out: FoundBeats): void {
    if (this.#missing <= this.#plan.hold && this.#up) this.#breathe(out);
    this.#missing = 1 << 30;
  }

  #restart(): void {
    this.#start = this.#n;
    const state = this.#state;
    state[SUM] = state[SWING] = state[POWER] = state[STEPS] = state[PREVIOUS] = 0;
    this.#phase = this.#count = this.#blocks = 0;
    this.#fresh = true;
    this.#up = this.#leftOut = false;
    state[LAST_BREATH] = Number.NEGATIVE_INFINITY;
  }

  #accept(value: number, out: FoundBeats): void {
    const { high, low, blockSamples, turnShare } = this.#plan;
    const state = this.#state;
    if (this.#fresh) {
      this.#fresh = false;
      state[HIGH_1] = (high.b1 + high.b2) * value;
      state[HIGH_2] = high.b2 * value;
      state[LOW_1] = state[LOW_2] = state[VALLEY] = state[TOP] = state[BLOCK_MIN] = state[BLOCK_MAX] = 0;
    }
    const h = high.b0 * value + state[HIGH_1]!;
    state[HIGH_1] = high.b1 * value - high.a1 * h + state[HIGH_2]!;
    state[HIGH_2] = high.b2 * value - high.a2 * h;
    const y = low.b0 * h + state[LOW_1]!;
    state[LOW_1] = low.b1 * h - low.a1 * y + state[LOW_2]!;
    state[LOW_2] = low.b2 * h - low.a2 * y;
    state[POWER]! += h * h;
    state[STEPS]! += (h - state[PREVIOUS]!) ** 2;
    state[PREVIOUS] = h;
    if (y < state[BLOCK_MIN]!) state[BLOCK_MIN] = y;
    if (y > state[BLOCK_MAX]!) state[BLOCK_MAX] = y;
    const at = this.#count++;
    if (this.#count % blockSamples === 0) this.#closeBlock(y);
    const turn = turnShare * state[SWING]!;
    if (!(turn > 0)) return;
    if (this.#up) {
      if (y > state[TOP]!) {
        state[TOP] = y;
        this.#topAt = at;
      } else if (y < state[TOP]! - turn) {
        this.#breathe(out);
        this.#up = false;
        state[VALLEY] = y;
      }
    } else if (y < state[VALLEY]!) state[VALLEY] = y;
    else if (y > state[VALLEY]! + turn) {
      this.#up = true;
      state[TOP] = y;
      this.#topAt = at;
    }
  }

  #breathe(out: FoundBeats): void {
    const state = this.#state;
    const { decimation, apart, delay } = this.#plan;
    if (this.#topAt - state[LAST_BREATH]! < apart) {
      this.#leftOut = true;
      return;
    }
    state[LAST_BREATH] = this.#topAt;
    const height = state[TOP]! - state[VALLEY]!;
    this.heights[out.count] = height;
    this.isHurried[out.count] = this.#leftOut;
    this.#leftOut = false;
    // a top that stands out by the whole usual swing is sure
    const swing = state[SWING]!;
    const position = Math.max(this.#start, this.#start + (this.#topAt + 0.5) * decimation - delay);
    appendBeat(out, position, swing > 0 ? Math.max(0, Math.min(1, height / swing)) : 0);
  }

  #closeBlock(y: number): void {
    const state = this.#state;
    const at = BLOCK + OF_BLOCK * (this.#blocks++ % BLOCKS);
    state.copyWithin(at, BLOCK_MIN, BLOCK_MIN + OF_BLOCK);
    state[BLOCK_MIN] = state[BLOCK_MAX] = y;
    state[POWER] = state[STEPS] = 0;
    state[SWING] = this.#usualSwing();
    if (!this.#plan.mayBeNoise || !this.#isNoise()) return;
    state[SWING] = 0;
    this.#up = false;
    state[VALLEY] = y;
  }

  #isNoise(): boolean {
    const state = this.#state;
    let power = 0;
    let steps = 0;
    for (let b = 0; b < Math.min(this.#blocks, BLOCKS); b++) {
      power += state[BLOCK + OF_BLOCK * b + POWER - BLOCK_MIN]!;
      steps += state[BLOCK + OF_BLOCK * b + STEPS - BLOCK_MIN]!;
    }
    return steps >= WHITE_MIN * power;
  }

  /** Median over the windows of RANGE_BLOCKS blocks of their range. */
  #usualSwing(): number {
    const state = this.#state;
    const known = Math.min(this.#blocks, BLOCKS);
    if (known < 2) return 0;
    const width = Math.min(RANGE_BLOCKS, known);
    let size = 0;
    for (let first = this.#blocks - known; first + width <= this.#blocks; first++) {
      let min = Number.POSITIVE_INFINITY;
      let max = Number.NEGATIVE_INFINITY;
      for (let b = first; b < first + width; b++) {
        const at = BLOCK + OF_BLOCK * (b % BLOCKS);
        min = Math.min(min, state[at]!);
        max = Math.max(max, state[at + BLOCK_MAX - BLOCK_MIN]!);
      }
      let k = size++;
      for (; k > 0 && swings[k - 1]! > max - min; k--) swings[k] = swings[k - 1]!;
      swings[k] = max - min;
    }
    return swings[size >> 1]!;
  }
}

// shared by every detector of the thread: nothing of it outlives a call
const swings = new Float64Array(BLOCKS);

/** Phase delay of a Butterworth low-pass pair at a frequency, s. */
function delaySec(cutoffHz: number, hz: number): number {
  const ratio = hz / cutoffHz;
  return Math.atan2(Math.SQRT2 * ratio, 1 - ratio * ratio) / (2 * Math.PI * hz);
}

/** Phase lead of a Butterworth high-pass pair at a frequency, s. */
function leadSec(cutoffHz: number, hz: number): number {
  const ratio = cutoffHz / hz;
  return Math.atan2(Math.SQRT2 * ratio, 1 - ratio * ratio) / (2 * Math.PI * hz);
}

/** A rate is suspect when its breaths are as uneven as those of noise, and of a drifting electrode, in time and height: when the variation
 *  of their intervals (standard deviation over mean), as a share of this, */
export const UNEVEN_MAX = 0.25;
/** and that of their heights (third quartile of the distance from the median, over the median), as a share of this, are more than 1
 *  together. Breathing that waxes and wanes is even in time, that of speech in height. */
export const UNLIKE_MAX = 1;
/** ... when its breaths rise less than this share of the higher ones: breathing may have stopped, and the heart be seen. */
export const RISE_SHARE_MIN = 0.2;
/** ... of so long before, s ... */
export const RISE_BACK_SEC = 300;
/** ... or when more than this share of them came after a top that was left out as too near. */
export const HURRIED_MAX = 0.2;

export type Breaths = Readonly<{ tUs: readonly number[]; rise: readonly number[]; isHurried: readonly number[] }>;

/** May the rate of breaths [from, to) be trusted? @param breaths ascending, those of RISE_BACK_SEC before, too */
export function isSureOfBreaths({ tUs, rise, isHurried }: Breaths, from: number, to: number): boolean {
  const count = to - from - 1;
  const mean = (tUs[to - 1]! - tUs[from]!) / count;
  let squares = 0;
  let hurried = 0;
  for (let i = from + 1; i < to; i++) {
    squares += (tUs[i]! - tUs[i - 1]! - mean) ** 2;
    hurried += isHurried[i]!;
  }
  if (hurried > HURRIED_MAX * count) return false;
  const own = rise.slice(from, to).sort((a, b) => a - b);
  const middle = own[own.length >> 1]!;
  const apart = own.map((height) => Math.abs(height - middle)).sort((a, b) => a - b);
  const unlike = apart[Math.floor(0.75 * (apart.length - 1))]! / middle;
  if (Math.sqrt(squares / count) / mean / UNEVEN_MAX + unlike / UNLIKE_MAX > 1) return false;
  return middle >= RISE_SHARE_MIN * usualRise(tUs, rise, to);
}

/** The rise that breaths exceed in a tenth of the time: a heart that is seen instead of breaths has many small ones in a short time. */
function usualRise(tUs: readonly number[], rise: readonly number[], to: number): number {
  const order = rise.slice(1, to).map((_, i) => i + 1).sort((a, b) => rise[b]! - rise[a]!); // prettier-ignore
  let left = 0.1 * (tUs[to - 1]! - tUs[0]!);
  for (const i of order) {
    left -= tUs[i]! - tUs[i - 1]!;
    if (left <= 0) return rise[i]!;
  }
  return 0;
}

/** Breaths per minute from stored breaths in a window: (n - 1) intervals over the time they span.
 *  @param breathSec ascending, within the window  @returns NaN with fewer than 3 breaths or when they span less than half of the window */
export function respiratoryRate(breathSec: Float64Array, count: number, windowSec: number): number {
  if (count < 3) return Number.NaN;
  const span = breathSec[count - 1]! - breathSec[0]!;
  return span >= windowSec / 2 ? (60 * (count - 1)) / span : Number.NaN;
}
