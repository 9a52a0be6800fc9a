/** Sums of a lead's samples by second, which ECG quality is made of. */
import { arenaDoubles } from '../kernels/arena.ts';
import type { LeadSignal } from './r-peaks-lead.ts';

const FLAT_SEC = 0.2;
const SECONDS = 16; // more than window and latency

/** Numbers of a second, by their place in its row; a row is as long as a cache line, and fetching those is most of what a
 *  stream among many costs. */
export const ofSecond = {
  /** Of the band-passed signal, every second sample: squares, and fourth powers. */
  squares: 0,
  fourths: 1,
  /** Squares of the steps from sample to sample. */
  steps: 2,
  /** Sum of the samples, and how many there were. */
  level: 3,
  present: 4,
  /** Samples in stretches of FLAT_SEC and more of one value. */
  flat: 5,
  /** Longest stretch of one value that ends in the second or goes on in the next, samples. */
  equal: 6,
} as const;
const ROW = 8;
/** The last sample: behind the rows. */
const LAST = ROW * SECONDS;

// Shared by every instance of the thread: nothing of it outlives a call.
/** Samples without the missing ones: those hold the last value. */
const held = new Float64Array(64);

/** A pure function of the samples since reset, however they were cut. */
export class SecondSums {
  /** A ring of rows. @see rowOf */
  readonly values = arenaDoubles(LAST + 1);
  /** Has there been no sample yet? */
  #isFresh = true;
  readonly #flatRunMin: number;
  #row = 0;
  #flatRun = 0;

  /** @param fd rate of the samples, Hz */
  constructor(fd: number) {
    this.#flatRunMin = Math.round(FLAT_SEC * fd);
  }

  reset(): void {
    this.#isFresh = true;
    this.values[LAST] = 0;
    this.#flatRun = 0;
  }

  /** Where the row of a second since reset begins, of the last SECONDS. */
  rowOf(sec: number): number {
    return ROW * (sec % SECONDS);
  }

  /** What is pushed from here on belongs to this second since reset. */
  startSecond(sec: number): void {
    this.#row = this.rowOf(sec);
    this.values.fill(0, this.#row, this.#row + ROW);
  }

  /** Feature samples [k, k + count), all of one second.
   *  @param rest is told the first sample of all: nothing was there before it
   *  @returns the samples without the missing ones, good until the next call of any */
  push({ inputs, band, ringMask, missingHere }: LeadSignal, k: number, count: number, rest: { rest(value: number): void }): Float64Array {
    const whole = missingHere === 0 && !this.#isFresh;
    const flatRunMin = this.#flatRunMin;
    const values = this.values;
    const row = this.#row;
    let last = values[LAST]!;
    let flatRun = this.#flatRun;
    // Onto what the second has already: the same order of additions whatever the cut.
    let steps = values[row + ofSecond.steps]!;
    let level = values[row + ofSecond.level]!;
    let present = values[row + ofSecond.present]!;
    let flat = values[row + ofSecond.flat]!;
    let equal = values[row + ofSecond.equal]!;
    if (whole) {
      for (let i = 0; i < count; i++) {
        const v = inputs[i]!;
        const step = v - last;
        if (step === 0) {
          if (++flatRun > equal) equal = flatRun;
          if (flatRun >= flatRunMin) flat += flatRun === flatRunMin ? flatRunMin : 1;
        } else flatRun = 0;
        steps += step * step;
        level += v;
        last = v;
      }
      present += count;
    }
    for (let i = whole ? count : 0; i < count; i++) {
      const v = inputs[i]!;
      if (v !== v) {
        held[i] = last;
        flatRun = 0;
        continue;
      }
      if (this.#isFresh) {
        this.#isFresh = false;
        held.fill(v, 0, i);
        rest.rest(v);
        last = v;
      }
      const step = v - last;
      if (step === 0) {
        if (++flatRun > equal) equal = flatRun;
        if (flatRun >= flatRunMin) flat += flatRun === flatRunMin ? flatRunMin : 1;
      } else flatRun = 0;
      steps += step * step;
      level += v;
      present++;
      last = v;
      held[i] = v;
    }
    // Every second one: the band ends below a quarter of the rate.
    let squares = values[row + ofSecond.squares]!;
    let fourths = values[row + ofSecond.fourths]!;
    for (let i = k + (k & 1); i < k + count; i += 2) {
      const y = band[i & ringMask]!;
      const square = y * y;
      squares += square;
      fourths += square * square;
    }
    values[row + ofSecond.squares] = squares;
    values[row + ofSecond.fourths] = fourths;
    values[row + ofSecond.steps] = steps;
    values[row + ofSecond.level] = level;
    values[row + ofSecond.present] = present;
    values[row + ofSecond.flat] = flat;
    values[row + ofSecond.equal] = equal;
    values[LAST] = last;
    this.#flatRun = flatRun;
    return whole ? inputs : held;
  }
}
