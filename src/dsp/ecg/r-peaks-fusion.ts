/** Several leads of one rate as one detection signal, and how strong a wave is in each of them. */
import type { Candidates } from './r-peaks-candidates.ts';
import { SLOT } from './r-peaks-candidates.ts';
import type { LeadSignal } from './r-peaks-lead.ts';
import { CAP, SIGNAL_BEATS } from './r-peaks-levels.ts';

export const CLEAR_POWER = 3; // a lead's weight: (level of its beats / its mean) to this power
export const FIRST_LEAD = 1.1; // preference for the first lead in that
export const SILENT = 0.2; // a lead whose last 0.3 s are below this share of its mean is left out (lead off, amplifier blocked)
const LEAST_SHARE = 1e-3; // of the height in the sum of the leads, where no lead has anything
export const STRENGTH_MAX = 1.15; // a wave counts at most this many times the level of a lead's beats: an artefact of one lead stays that lead's

// A ventricular beat may lie across the axis of a lead, which then has little of it. One lead is enough for it:
export const ONE_LEAD_WEIGHT = 0.25; // one with more than this share of the weights,
export const ONE_LEAD_FROM = 0.9; // in which it is so strong,
export const ONE_LEAD_AROUND = 0.45; // and alone: the windows on either side have at most this share of it;
export const ONE_LEAD_OTHERS = 0.2; // all others have at least so much of it.
export const ONE_LEAD_COUNTS = 0.8; // It counts for this many of the level of beats.

/** Around a beat: P and T waves, and noise. */
export const AROUND_SEC = 0.4;

const STEEP_LEAD = 0.15; // share of the weights from which on a lead has a say in how steep a wave is

/** Weights follow the beats. One lead: nothing here is called but clearest(). */
export class LeadFusion {
  /** Of the candidate weighed last: mean strength in the leads by their weights, or what one lead makes it count for (0: not known yet),
   *  and strength in the weakest. */
  meanStrength = 0;
  weakestStrength = 1;
  /** Of the candidate weighed last: share of the usual weights that the leads have which are not silent. */
  present = 1;
  readonly #leads: readonly LeadSignal[];
  readonly #fd: number;
  readonly #width: number;
  readonly #around: number;
  /** |slope|, rings; several leads only. */
  readonly #slopeRing: readonly Float32Array[];
  readonly #ringMask: number;
  /** Weight in the feature, level of its beats, mean |slope|, the same of the last 0.3 s. */
  readonly #gain: Float64Array;
  readonly #level: Float64Array;
  readonly #mean: Float64Array;
  readonly #now: Float64Array;
  /** Steepest |slope| of its beats. */
  readonly #steep: Float64Array;
  /** Samples since the levels were forgotten. */
  #heard = 0;
  /** Samples since reset. */
  #known = 0;

  /** @param fd rate of the feature, Hz  @param width of its moving sum, samples  @param ringLength a power of two */
  constructor(leads: readonly LeadSignal[], fd: number, width: number, ringLength: number) {
    const { length } = leads;
    this.#leads = leads;
    this.#fd = fd;
    this.#width = width;
    this.#around = Math.round(AROUND_SEC * fd);
    this.#ringMask = ringLength - 1;
    this.#slopeRing = leads.map(() => new Float32Array(length === 1 ? 0 : ringLength));
    this.#gain = new Float64Array(length);
    this.#level = new Float64Array(length);
    this.#mean = new Float64Array(length);
    this.#now = new Float64Array(length);
    this.#steep = new Float64Array(length);
  }

  reset(): void {
    for (const ring of this.#slopeRing) ring.fill(0);
  }

  /** The levels are learned anew. */
  forget(): void {
    this.#gain.fill(0);
    this.#level.fill(0);
    this.#mean.fill(0);
    this.#now.fill(0);
    this.#steep.fill(0);
    this.#heard = 0;
  }

  /** Weighted sum of the leads' |slopes| into the first lead's; a missing lead is left out, its share goes to the others.
   *  @param i sample of the push under way  @param k the same since reset  @param anyBeat since the levels were learned */
  fuse(i: number, k: number, anyBeat: boolean): void {
    const fused = this.#leads[0]!.slopes;
    const leadCount = this.#leads.length;
    const mean = this.#mean;
    const gain = this.#gain;
    const learned = anyBeat && this.#level[0]! >= 0;
    const now = this.#now;
    const rate = 1 / (4 * this.#fd);
    const quick = 1 / (0.3 * this.#fd);
    let sum = 0;
    let present = 0;
    let all = 0;
    let anyHere = false;
    for (let lead = 0; lead < leadCount; lead++) {
      const slope = this.#leads[lead]!.slopes[i]!;
      const d = Math.abs(slope);
      this.#slopeRing[lead]![k & this.#ringMask] = d === d ? d : 0;
      if (d === d) {
        now[lead] = now[lead]! + (d - now[lead]!) * quick;
        if (!learned || now[lead]! >= SILENT * mean[lead]!)
          mean[lead] = mean[lead]! + (d - mean[lead]!) * Math.max(rate, 1 / (this.#heard + 1));
      }
      const share = learned ? gain[lead]! * this.#level[lead]! : 1;
      all += share;
      if (d === d) anyHere = true;
      if (d !== d || (learned && now[lead]! < SILENT * mean[lead]!)) continue;
      present += share;
      sum += learned ? gain[lead]! * d : mean[lead]! > 0 ? d / mean[lead]! : 0;
    }
    this.#heard++;
    this.#known = k + 1;
    fused[i] = present > 0 ? (sum * all) / present : anyHere ? 0 : Number.NaN;
  }

  /** Level of each lead at this beat, and from it the weights: (level / mean of the lead)^3, so that a noisy lead counts little.
   *  @param signal level of beats in the fused feature  @param beatCount beats since the levels were learned, this one counted */
  weighLeads(at: number, signal: number, beatCount: number): void {
    const width = this.#width;
    const leadCount = this.#leads.length;
    let total = 0;
    for (let lead = 0; lead < leadCount; lead++) {
      const sum = this.#sumAt(lead, at);
      const level = this.#level[lead]!;
      const steepest = this.#steepestAt(lead, at);
      const steep = this.#steep[lead]!;
      // The first beats count in full: the very first may be none.
      this.#level[lead] =
        beatCount <= 4 ? level + (sum - level) / beatCount : level + (Math.min(sum, CAP * level) - level) / (2 * SIGNAL_BEATS);
      this.#steep[lead] =
        beatCount <= 4 ? steep + (steepest - steep) / beatCount : steep + (Math.min(steepest, CAP * steep) - steep) / SIGNAL_BEATS;
      const clear = ((lead === 0 ? FIRST_LEAD : 1) * this.#level[lead]!) / (width * this.#mean[lead]!);
      total += Number.isFinite(clear) ? clear ** CLEAR_POWER : 0;
    }
    if (total === 0) return;
    for (let lead = 0; lead < leadCount; lead++) {
      const level = this.#level[lead]!;
      const clear = ((lead === 0 ? FIRST_LEAD : 1) * level) / (width * this.#mean[lead]!);
      this.#gain[lead] = level > 0 && Number.isFinite(clear) ? (clear ** CLEAR_POWER / total) * (signal / level) : 0;
    }
  }

  /** Before any beat is known leads are weighed by their means, which the first waves were measured against while they were being learned:
   *  a T wave at the start of a recording looked like a beat. Measures them again by what is known now.
   *  @param from number of the first candidate that the rings still have */
  measureAgain(candidates: Candidates, from: number): void {
    for (let i = from; i < candidates.tail; i++) {
      const slot = i & SLOT;
      let height = 0;
      for (let lead = 0; lead < this.#leads.length; lead++)
        if (this.#mean[lead]! > 0) height += this.#sumAt(lead, candidates.at[slot]!) / this.#mean[lead]!;
      if (!(candidates.height[slot]! > 0)) continue;
      const change = height / candidates.height[slot]!;
      for (const column of [candidates.height, candidates.steep, candidates.edge, candidates.before]) column[slot] = column[slot]! * change;
    }
  }

  /** Height of a candidate by its strength in each lead; leaves the strengths in the fields. */
  heightOf(at: number, height: number, signal: number, beatCount: number): number {
    this.#weighStrengths(at, beatCount);
    return this.meanStrength > 0 ? Math.max(this.meanStrength * signal, LEAST_SHARE * height) : height;
  }

  /** By how much leads agree on a wave: of two close ones the beat is the one that all leads have. */
  agreement(at: number, height: number, signal: number, beatCount: number): number {
    return this.heightOf(at, height, signal, beatCount) + this.weakestStrength * signal;
  }

  /** Steepest |slope| of a candidate over that of the beats, in the lead where it is steepest for that lead: a T wave is flat in all of
   *  them.
   *  @param fused the same of the fused feature, for as long as no lead is known */
  steepness(at: number, fused: number): number {
    let weights = 0;
    for (let lead = 0; lead < this.#leads.length; lead++) weights += this.#steep[lead]! > 0 ? this.#weight(lead) : 0;
    if (!(weights > 0)) return fused;
    let most = 0;
    for (let lead = 0; lead < this.#leads.length; lead++)
      if (this.#steep[lead]! > 0 && this.#weight(lead) > STEEP_LEAD * weights)
        most = Math.max(most, this.#steepestAt(lead, at) / this.#steep[lead]!);
    return most;
  }

  /** The first lead, or one in which the wave is four times as strong. */
  clearest(at: number): number {
    let lead = 0;
    for (let other = 1; other < this.#leads.length; other++) {
      if (this.#strength(other, at) > 4 * this.#strength(lead, at)) lead = other;
    }
    return lead;
  }

  /** Mean |slope| of a lead at a candidate over that around it; 0: nothing is there. */
  clearness(lead: number, at: number): number {
    const ring = this.#slopeRing[lead]!;
    const mask = this.#ringMask;
    const before = at - this.#width;
    const after = Math.min(at + this.#around, this.#known - 1);
    let around = 0;
    for (let i = before - this.#around + 1; i <= before; i++) around += ring[i & mask]!;
    for (let i = at + 1; i <= after; i++) around += ring[i & mask]!;
    if (!(around > 0)) return 0;
    return ((this.#sumAt(lead, at) / this.#width) * (this.#around + after - at)) / around;
  }

  /** Strength of a candidate in the lead where it is strongest, of those that are not silent. */
  strongest(at: number): number {
    let most = 0;
    for (let lead = 0; lead < this.#leads.length; lead++) if (!this.#isSilent(lead)) most = Math.max(most, this.#strength(lead, at));
    return most;
  }

  /** How strong a candidate is in the leads that are not silent. */
  #weighStrengths(at: number, beatCount: number): void {
    let sum = 0;
    let weights = 0;
    let all = 0;
    let weakest = 1;
    for (let lead = 0; lead < this.#leads.length; lead++) {
      all += this.#gain[lead]! * this.#level[lead]!;
      if (beatCount === 0 || this.#level[lead]! === 0 || this.#isSilent(lead)) continue;
      const strength = this.#strength(lead, at);
      const weight = this.#gain[lead]! * this.#level[lead]!;
      weights += weight;
      sum += weight * Math.min(strength, STRENGTH_MAX);
      if (strength < weakest) weakest = strength;
    }
    this.meanStrength = weights > 0 ? Math.max(sum / weights, Number.MIN_VALUE) : 0;
    this.weakestStrength = weakest;
    this.present = all > 0 ? weights / all : 1;
    if (this.meanStrength < ONE_LEAD_COUNTS && weakest >= ONE_LEAD_OTHERS && this.#standsAloneInOne(at, all))
      this.meanStrength = ONE_LEAD_COUNTS;
  }

  /** Is a wave strong and alone in one lead? @param all the weights of the leads */
  #standsAloneInOne(at: number, all: number): boolean {
    if (at + this.#width >= this.#known) return false; // the data end
    for (let lead = 0; lead < this.#leads.length; lead++) {
      if (this.#weight(lead) <= ONE_LEAD_WEIGHT * all) continue;
      const strength = this.#strength(lead, at);
      const around = Math.max(this.#strength(lead, at - this.#width), this.#strength(lead, at + this.#width));
      if (strength >= ONE_LEAD_FROM && around <= ONE_LEAD_AROUND * strength) return true;
    }
    return false;
  }

  #isSilent(lead: number): boolean {
    return this.#now[lead]! < SILENT * this.#mean[lead]!;
  }

  #weight(lead: number): number {
    return this.#isSilent(lead) ? 0 : this.#gain[lead]! * this.#level[lead]!;
  }

  /** |slope| sum of one lead at a candidate over that lead's level. */
  #strength(lead: number, at: number): number {
    const level = this.#level[lead]!;
    return level > 0 ? this.#sumAt(lead, at) / level : 0;
  }

  #steepestAt(lead: number, at: number): number {
    const ring = this.#slopeRing[lead]!;
    const mask = this.#ringMask;
    let most = 0;
    for (let i = 0; i < this.#width; i++) {
      const slope = ring[(at - i) & mask]!;
      if (slope > most) most = slope;
    }
    return most;
  }

  #sumAt(lead: number, at: number): number {
    const ring = this.#slopeRing[lead]!;
    const mask = this.#ringMask;
    let sum = 0;
    for (let i = 0; i < this.#width; i++) sum += ring[(at - i) & mask]!;
    return sum;
  }
}
