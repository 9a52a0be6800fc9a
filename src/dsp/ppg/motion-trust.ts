/** Trust in a heart rate in motion: the probability that it is within 5 bpm, and its flag.
 *
 *  A logistic function of four measures of the path that found it (motion-hr.ts): the power at the rate of the motion taken off, the margin
 *  over the best other path, the weakest power at the rate in five windows, and how far the rate moved in the last two.
 *  Fitted on IEEE SPC 01-06 and what accuracy/perturbed-runs.ts makes of them (the runs themselves have too few wrong rates);
 *  docs/dsp/pulse-and-slow.md has the results with one recording left out. */
import type { QualityFlag } from '../../signal.ts';
import { BAD, GOOD, SUSPECT } from '../../signal.ts';
import { stillG } from './motion-filter.ts';

/** In the order of the measures. */
export const motionTrustModel = { constant: 2.15, of: [-0.99, 0.609, 0.548, -0.259] } as const;
export const motionTrustMeasures = ['stride', 'margin', 'weakest', 'moved'] as const;
/** Beyond this a rival path does not matter. */
const MARGIN_MAX = 12;
const SHARE_MIN = 0.02;
/** A rate is good from `good` on and bad below `bad`. Without an accelerometer, arm swing cannot be told from a pulse: a rate is bad below
 *  `badConfidence`, and never better than suspect. */
export const motionFlagLimits = { good: 0.99, bad: 0.75, badConfidence: 0.3 } as const;
/** A rate is that of the motion, or a multiple of it, within this share. */
const sameRateShare = 0.05;
/** Trust at most, where the pulse may have been at half or a quarter of the rate, and its fundamental taken off with the motion, so that
 *  what is left is a harmonic: where the strongest motion taken off was at one of these, */
export const harmonicTrust = 0.9;
/** or, above a rate that few hearts reach, at it or a third of it, or where this share of it was at half of the rate. */
export const fastPerMin = 180;
export const halfMinFast = 0.2;

/** Is a rate so many times another? */
const isTimes = (perMin: number, times: number, other: number): boolean => Math.abs(perMin - times * other) < sameRateShare * times * other;

/** @param confidence share of the cleaned power near the rate  @param motion 0 without an accelerometer */
export function motionRateFlag(trust: number, confidence: number, motion: number): QualityFlag {
  if (motion === 0) return confidence < motionFlagLimits.badConfidence ? BAD : SUSPECT;
  if (!(trust >= motionFlagLimits.bad)) return BAD;
  return trust < motionFlagLimits.good ? SUSPECT : GOOD;
}

/** What was taken off a pulse with the motion. */
export type MotionTaken = Readonly<{
  /** Power at the rate, and at half of it, over the largest, 0..1. */
  stride: number;
  atHalf: number;
  /** Root mean square of the motion, g. */
  motionG: number;
  /** Rate of the strongest motion taken off, /min; NaN: nothing moves. */
  cadence: number;
}>;

function mayBeHarmonic(bpm: number, { atHalf, cadence }: MotionTaken): boolean {
  if (!(cadence > 0)) return false;
  if (isTimes(bpm, 2, cadence) || isTimes(bpm, 4, cadence)) return true;
  return bpm >= fastPerMin && (atHalf >= halfMinFast || isTimes(bpm, 1, cadence) || isTimes(bpm, 3, cadence));
}

/** Remembers the last two rates. */
export class RateTrust {
  /** Measures of the last rate:
   *  - largest power of the motion taken off near it over its largest anywhere, less where hardly anything moves;
   *  - log score of the best path over that of the best one through a rate more than 6 bpm away, at most 12;
   *  - log of the smallest share of power near the rate (two windows before to two after);
   *  - log of 1 + the bpm by which it moved. */
  readonly measures = new Float64Array(motionTrustMeasures.length);
  #known = 0;
  #bpm1 = 0;
  #bpm2 = 0;
  #share1 = 1;
  #share2 = 1;

  reset(): void {
    this.#known = 0;
    this.#share1 = this.#share2 = 1;
  }

  /** @param share of the cleaned power near the rate or twice the rate, 0..1  @param laterShare the smallest of the windows after it that
   *  are known  @param margin as in `measures`
   *  @returns probability that the rate is within 5 bpm */
  of(bpm: number, share: number, laterShare: number, margin: number, taken: MotionTaken): number {
    let moved = this.#known > 0 ? Math.abs(bpm - this.#bpm1) : 0;
    if (this.#known > 1) moved = Math.max(moved, Math.abs(bpm - this.#bpm2));
    const { measures } = this;
    measures[0] = (taken.stride * taken.motionG) / (taken.motionG + stillG);
    measures[1] = Math.min(MARGIN_MAX, margin);
    measures[2] = Math.log(Math.max(SHARE_MIN, Math.min(share, laterShare, this.#share1, this.#share2)));
    measures[3] = Math.log1p(moved);
    this.#known++;
    this.#bpm2 = this.#bpm1;
    this.#bpm1 = bpm;
    this.#share2 = this.#share1;
    this.#share1 = share;
    let z: number = motionTrustModel.constant;
    for (let i = 0; i < measures.length; i++) z += motionTrustModel.of[i]! * measures[i]!;
    const trust = 1 / (1 + Math.exp(-z));
    return mayBeHarmonic(bpm, taken) ? Math.min(trust, harmonicTrust) : trust;
  }
}
