/** By which of several leads a beat is placed: the first, or the clearest one where the first is noisy, less what lies between the two. */
import type { LeadFusion } from './r-peaks-fusion.ts';

/** A lead is noisy where its slopes at the beats are less than this many times those around them, */
export const CLEAR_MIN = 8;
/** and its beats correlate with the mean beat by less than this. Of the last so many beats, the middle one: an early beat is no noise. */
export const CLEAR_ALIKE = 0.95;
/** Or less than this: then nothing of the beats is to be seen in it. Hum is alike wherever one looks. */
export const UNSEEN = 1.5;
/** A lead shows beats that another one does not when it is so many times as clear. */
export const CLEARER = 1.5;
const MIDDLE_OF = 3;
/** Beats of which the mean beat is known. Before, a lead is not noisy: of a fast heart the next QRS complexes lie around each. */
const KNOWN_BEATS = 4;
/** The R wave of a lead lies at most so long before or after that of another: half of a wide QRS complex. */
export const LAG_MAX_SEC = 0.08;
/** A lag is measured at the first so many beats, and then at every eighth: leads of one heart keep it. */
const LAG_BEATS = 8;
const LAG_GAIN = 0.2;

export class BeatPlaces {
  readonly #fusion: LeadFusion;
  readonly #leadCount: number;
  readonly #lagMax: number;
  /** Of the last MIDDLE_OF beats, by lead: how clear; likeness to the mean beat. */
  readonly #clear: Float64Array;
  readonly #alike = new Float64Array(MIDDLE_OF);
  #beats = 0;
  /** By lead: how far after that of the first lead its R wave is, samples, and of how many beats. */
  readonly #lag: Float64Array;
  readonly #lagCount: Int32Array;
  /** Beats by the first lead. */
  #byFirst = 0;

  /** @param fs Hz */
  constructor(fusion: LeadFusion, leadCount: number, fs: number) {
    this.#fusion = fusion;
    this.#leadCount = leadCount;
    this.#lagMax = LAG_MAX_SEC * fs;
    this.#clear = new Float64Array(leadCount * MIDDLE_OF);
    this.#lag = new Float64Array(leadCount);
    this.#lagCount = new Int32Array(leadCount);
  }

  forget(): void {
    this.#beats = 0;
    this.#byFirst = 0;
    this.#lag.fill(0);
    this.#lagCount.fill(0);
  }

  /** To be asked once of every beat. @param at feature sample  @param alike its correlation with the mean beat in the first lead
   *  @param beatCount beats in that  @returns the lead by which it is placed */
  leadOf(at: number, alike: number, beatCount: number): number {
    const slot = this.#beats % MIDDLE_OF;
    const isNew = this.#beats++ === 0;
    this.#keep(this.#alike, 0, slot, beatCount < KNOWN_BEATS ? 1 : alike, isNew);
    for (let lead = 0; lead < this.#leadCount; lead++)
      this.#keep(this.#clear, MIDDLE_OF * lead, slot, this.#fusion.clearness(lead, at), isNew);
    const strongest = this.#fusion.clearest(at);
    if (strongest > 0 || !this.#isFirstNoisy) return strongest;
    const other = this.#clearestOther;
    return middle(this.#clear, MIDDLE_OF * other) > middle(this.#clear, 0) ? other : 0;
  }

  /** How far after that of the first lead the R wave of a lead is, samples; 0 as long as no beat has told. */
  lag(lead: number): number {
    return this.#lag[lead]!;
  }

  /** After a beat that the first lead placed: the lead whose lag is to be measured, 0 for none. Usual beats have the usual lag. */
  leadToMeasure(alike: number): number {
    const isDue = this.#byFirst < LAG_BEATS || this.#byFirst % LAG_BEATS === 0;
    this.#byFirst++;
    return isDue && alike > CLEAR_ALIKE ? this.#clearestOther : 0;
  }

  /** @param lag samples */
  learn(lead: number, lag: number): void {
    if (Math.abs(lag) > this.#lagMax) return;
    const count = ++this.#lagCount[lead]!;
    this.#lag[lead] = this.#lag[lead]! + (lag - this.#lag[lead]!) * Math.max(LAG_GAIN, 1 / count);
  }

  /** Of the last beat: is it to be seen in the second lead alone? */
  get isOfSecond(): boolean {
    const first = middle(this.#clear, 0);
    return first < UNSEEN && middle(this.#clear, MIDDLE_OF) > CLEARER * first;
  }

  get #isFirstNoisy(): boolean {
    const clear = middle(this.#clear, 0);
    return clear < CLEAR_MIN && (clear < UNSEEN || middle(this.#alike, 0) < CLEAR_ALIKE);
  }

  get #clearestOther(): number {
    let best = 1;
    for (let lead = 2; lead < this.#leadCount; lead++)
      if (middle(this.#clear, MIDDLE_OF * lead) > middle(this.#clear, MIDDLE_OF * best)) best = lead;
    return best;
  }

  #keep(column: Float64Array, from: number, slot: number, value: number, isNew: boolean): void {
    if (isNew) column.fill(value, from, from + MIDDLE_OF);
    else column[from + slot] = value;
  }
}

/** Of three. */
function middle(x: Float64Array, from: number): number {
  const a = x[from]!;
  const b = x[from + 1]!;
  const c = x[from + 2]!;
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}
