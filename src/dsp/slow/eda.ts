/** Electrodermal activity: tonic level and skin conductance responses. */
import { BAD, GOOD, SUSPECT } from '../../signal.ts';
import type { QualityFlag } from '../../signal.ts';
import { lowPass } from '../kernels/biquad.ts';
import type { Biquad } from '../kernels/biquad.ts';
import { BLOCK_SEC, BlockClock, appendValue, medianOf } from '../kernels/block-values.ts';
import type { FoundValues } from '../kernels/block-values.ts';

/** Kleckner 2018 (doi:10.1109/TBME.2017.2758643): conductance outside of this range, or changing faster, is an artefact. */
export const PLAUSIBLE_US = { min: 0.05, max: 60 } as const;
export const SLOPE_MAX_US_PER_SEC = 10;
/** Boucsein 2012 (SPR committee, doi:10.1111/j.1469-8986.2012.01384.x): usual least height of a response, and the longest rise. */
export const RESPONSE_MIN_US = 0.05;
export const RISE_MAX_SEC = 5;
export const RISE_MIN_SEC = 0.5;
/** Faster rises than this are movement: half the height of the range per second is not physiological (Kocielnik 2013: 20 % per second). */
const RISE_SHARE_MAX_PER_SEC = 0.2;
export const LOW_PASS_HZ = 1;
/** A step that was smoothed to 1 Hz rises by 2.9 times its height per second, the fastest response (0.5 s) by 2.2: from here on it is the
 *  contact that changed. */
export const SUDDEN_PER_SEC = 2.5;
/** Where no two samples that follow each other differ by less than this, µS, or none differ at all, a response of twice that may be there
 *  and not be seen, or be a step of the converter. */
export const COARSE_US = RESPONSE_MIN_US / 2;
/** A turn counts once the signal came back by this share of RESPONSE_MIN_US: below are ADC steps. */
const TURN_US = 0.2 * RESPONSE_MIN_US;
const FOOT_US = 0.5 * TURN_US;
/** Bends over so long say how noisy the signal is, s, */
const BEND_SEC = 0.25;
/** averaged over so long. */
const BEND_MEAN_SEC = 10;
/** From this share of the height of a response on, it may be noise. */
export const NOISE_SHARE = 0.25;
/** From this share of such responses on, their rate is suspect. */
export const NOISY_SHARE = 0.25;

/** Responses found so far, parallel growable columns. */
export type FoundResponses = {
  count: number;
  /** Sample index since reset of the foot (onset) and of the peak. */
  onset: Float64Array;
  peak: Float64Array;
  /** Peak minus foot, µS. */
  heightUs: Float64Array;
  /** 1: it may be noise; 2: it is a movement, and no response. */
  isNoisy: Uint8Array;
};

export function emptyResponses(): FoundResponses {
  return { count: 0, onset: new Float64Array(16), peak: new Float64Array(16), heightUs: new Float64Array(16), isNoisy: new Uint8Array(16) };
}

/** `eda_tonic`: skin conductance level of a block of 8 s, µS: the median of the samples that are no artefact and lie outside responses
 *  (foot to 4 s past the peak); of all valid samples when responses fill the block. The median filter of 8 s is the tonic part of
 *  BIOPAC's and NeuroKit's "smooth" method; leaving responses out keeps it from following a burst of them.
 *  `scr`: responses by trough-to-peak (Boucsein 2012) on the signal low-passed at 1 Hz: height >= 0.05 µS, rise 0.5 … 5 s.
 *  Overlapping responses are scored trough-to-peak, each from its own foot, which underestimates the later one's height.
 *  Rates of responses per minute (`scr_rate`) are counts of `peak` in a window: stored, then counted, as beats are.
 *  cvxEDA was rejected: it needs the whole recording, and a value would then depend on unbounded past and future.
 *  Tested at 4 Hz (Empatica E4) and 32 Hz. Latency: 8 s for the level; a response is emitted once its fall has begun.
 *
 *  Wiring: `reset(k)`, `push(x, from, to, levels, responses)`, x in µS; NaN marks a missing sample; `flush` at the end. */
export class Eda {
  readonly latencySec = BLOCK_SEC + RISE_MAX_SEC + 1;
  readonly #clock: BlockClock;
  readonly #low: Biquad;
  readonly #z = new Float64Array(2);
  /** Filter delay in samples, taken off onsets and peaks. */
  readonly #delay: number;
  readonly #all: Float64Array;
  readonly #quiet: Float64Array;
  readonly #scratch: Float64Array;
  #n = 0;
  #valid = 0;
  #calm = 0;
  #fresh = true;
  #previous = Number.NaN;
  // trough-to-peak
  #rising = false;
  #low0 = 0;
  #lowAt = 0;
  #top = 0;
  #topAt = 0;
  #steepest = 0;
  #quietFrom = 0;
  #lastY = 0;
  /** The last samples since a break, a ring; how many; and the mean bend of what was seen, µS. */
  readonly #past: Float64Array;
  #pastCount = 0;
  #bend = 0;
  #bends = 0;

  constructor(fs: number) {
    this.#clock = new BlockClock(fs);
    const cutoff = Math.min(LOW_PASS_HZ, 0.4 * fs);
    this.#low = lowPass(cutoff, fs);
    this.#delay = (Math.SQRT2 / (2 * Math.PI * cutoff)) * fs;
    const size = Math.ceil(BLOCK_SEC * fs) + 2;
    this.#all = new Float64Array(size);
    this.#quiet = new Float64Array(size);
    this.#scratch = new Float64Array(size);
    this.#past = new Float64Array(2 * Math.max(1, Math.round(BEND_SEC * fs)));
  }

  /** @param k grid index of the next sample */
  reset(k = 0): void {
    this.#clock.k = k;
    this.#n = this.#valid = this.#calm = 0;
    this.#quietFrom = 0;
    this.#bend = this.#bends = 0;
    this.#break();
  }

  push(x: Float64Array, from: number, to: number, levels: FoundValues, responses: FoundResponses): void {
    for (let at = from; at < to;) {
      const left = this.#clock.left;
      const end = Math.min(to, at + left);
      for (let i = at; i < end; i++) this.#accept(x[i]!, responses);
      this.#clock.k += end - at;
      if (end - at === left) this.#close(levels);
      at = end;
    }
  }

  /** The data ends here: a response at its peak is counted. */
  flush(responses: FoundResponses): void {
    if (this.#rising) this.#respond(responses);
    this.#break();
  }

  #accept(value: number, responses: FoundResponses): void {
    const jump = Math.abs(value - this.#previous) * this.#clock.fs > SLOPE_MAX_US_PER_SEC;
    const isValid = value >= PLAUSIBLE_US.min && value <= PLAUSIBLE_US.max && !jump;
    this.#previous = value >= PLAUSIBLE_US.min && value <= PLAUSIBLE_US.max ? value : Number.NaN;
    if (isValid) {
      this.#all[this.#valid++] = value;
      this.#noteBend(value);
      this.#follow(value, responses);
      if (!this.#rising && this.#n >= this.#quietFrom) this.#quiet[this.#calm++] = value;
    } else this.#break();
    this.#n++;
  }

  /** Starts afresh after an artefact: no response spans one. */
  #break(): void {
    this.#fresh = true;
    this.#rising = false;
    this.#previous = Number.NaN;
    this.#pastCount = 0;
  }

  /** Noise bends the signal everywhere, a response where it begins and at its top. */
  #noteBend(value: number): void {
    const past = this.#past;
    const { length } = past;
    if (this.#pastCount >= length) {
      const bend = Math.abs(value - 2 * past[(this.#pastCount - length / 2) % length]! + past[this.#pastCount % length]!);
      this.#bends = Math.min(this.#bends + 1, Math.round(BEND_MEAN_SEC * this.#clock.fs));
      this.#bend += (bend - this.#bend) / this.#bends;
    }
    past[this.#pastCount++ % length] = value;
  }

  #follow(value: number, responses: FoundResponses): void {
    const { b0, b1, b2, a1, a2 } = this.#low;
    const z = this.#z;
    if (this.#fresh) {
      this.#fresh = false;
      z[0] = (1 - b0) * value;
      z[1] = (b2 - a2) * value;
      this.#low0 = this.#top = this.#lastY = value;
      this.#lowAt = this.#topAt = this.#n;
    }
    const y = b0 * value + z[0]!;
    z[0] = b1 * value - a1 * y + z[1]!;
    z[1] = b2 * value - a2 * y;
    const slope = y - this.#lastY;
    this.#lastY = y;
    if (!this.#rising) {
      if (y < this.#low0) this.#low0 = y;
      // the last sample near the level of before: of a flat one, the lowest lies anywhere
      if (y <= this.#low0 + FOOT_US) {
        this.#lowAt = this.#n;
      } else if (y >= this.#low0 + TURN_US) {
        this.#rising = true;
        this.#top = y;
        this.#topAt = this.#n;
        this.#steepest = slope;
      }
      return;
    }
    if (slope > this.#steepest) this.#steepest = slope;
    if (y > this.#top) {
      this.#top = y;
      this.#topAt = this.#n;
    } else if (y <= this.#top - TURN_US) {
      this.#respond(responses);
      this.#rising = false;
      this.#low0 = y;
      this.#lowAt = this.#n;
    }
    // a slow climb is no response: its foot moves along
    if (this.#rising && this.#n - this.#lowAt > RISE_MAX_SEC * this.#clock.fs && this.#top - this.#low0 < RESPONSE_MIN_US) {
      this.#rising = false;
      this.#low0 = y;
      this.#lowAt = this.#n;
    }
  }

  #respond(out: FoundResponses): void {
    const fs = this.#clock.fs;
    const height = this.#top - this.#low0;
    const rise = (this.#topAt - this.#lowAt) / fs;
    this.#quietFrom = this.#topAt + 4 * fs;
    if (height < RESPONSE_MIN_US || rise > RISE_MAX_SEC) return;
    const perSec = this.#steepest * fs;
    const isMovement =
      rise < RISE_MIN_SEC || perSec > SUDDEN_PER_SEC * height || (perSec > RISE_SHARE_MAX_PER_SEC * this.#top && perSec > 1);
    if (out.count >= out.onset.length) {
      const size = 2 * out.onset.length;
      const { onset, peak, heightUs, isNoisy } = out;
      out.onset = new Float64Array(size);
      out.peak = new Float64Array(size);
      out.heightUs = new Float64Array(size);
      out.onset.set(onset);
      out.peak.set(peak);
      out.heightUs.set(heightUs);
      out.isNoisy = new Uint8Array(size);
      out.isNoisy.set(isNoisy);
    }
    out.onset[out.count] = this.#lowAt - this.#delay;
    out.peak[out.count] = this.#topAt - this.#delay;
    out.heightUs[out.count] = height;
    out.isNoisy[out.count] = isMovement ? 2 : this.#bend > NOISE_SHARE * height ? 1 : 0;
    out.count++;
  }

  #close(levels: FoundValues): void {
    const expected = Math.max(1, Math.floor(BLOCK_SEC * this.#clock.fs));
    const enough = this.#calm >= 0.25 * expected;
    const level = enough ? medianOf(this.#quiet, this.#calm, this.#scratch) : medianOf(this.#all, this.#valid, this.#scratch);
    const flag: QualityFlag = this.#valid < 0.5 * expected ? BAD : this.#valid < 0.9 * expected || !enough ? SUSPECT : GOOD;
    if (this.#valid > 0) appendValue(levels, this.#clock.endedSec, level, flag);
    this.#valid = this.#calm = 0;
  }
}
