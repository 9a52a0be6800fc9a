/** Pulses of pacemakers, and steps: changes from one sample to the next of a size that no heart makes. They are taken out before the
 *  filters, which would ring. */
import { arenaDoubles } from '../kernels/arena.ts';

/** Feature samples that must be known after one before it is told whether it jumps. */
export const AHEAD = 3;
/** At lower rates a narrow R wave is as short as a pulse. */
export const REPAIRED_FROM_HZ = 188;
const MEMORY_SEC = 2; // of the steepest change
const MAGNITUDE_MAX = 1e30; // beyond this a sample counts as missing
const BEFORE = 3; // feature samples looked at before
const USUAL = 0.4; // a feature sample is looked at when it changes by more than this, times the steepest change of late
export const JUMP = 8; // a change is a jump when it is so many times ...
/** ... the next largest one around, when those of one pulse are left out. */
export const PULSE_SEC = 0.002;

/** Numbers of a JumpRepair in the state of its lead: the largest change of late, the last feature sample, what all jumps so far add up to,
 *  and the last sample with it. */
const [USUAL_CHANGE, PREVIOUS, OFFSET, LAST] = [0, 1, 2, 3] as const;
export const JUMP_STATE = 4;

/** Of one lead. A pure function of its samples since reset. */
export class JumpRepair {
  readonly #raw: Float32Array;
  readonly #mask: number;
  readonly #decimation: number;
  readonly #decay: number;
  readonly #jumps: number;
  /** The largest changes around. */
  readonly #sizes: Float64Array;
  readonly #state: Float64Array;
  readonly #at: number;

  /** @param raw ring of samples, of a power of two  @param fs Hz  @param state of the lead: JUMP_STATE numbers from `at` on are its own */
  constructor(raw: Float32Array, fs: number, decimation: number, state: Float64Array, at: number) {
    this.#raw = raw;
    this.#state = state;
    this.#at = at;
    this.#mask = raw.length - 1;
    this.#decimation = decimation;
    this.#decay = Math.exp(-decimation / (MEMORY_SEC * fs));
    // It begins and ends within a sample.
    this.#jumps = Math.ceil(PULSE_SEC * fs) + 2;
    this.#sizes = arenaDoubles(this.#jumps + 1);
  }

  reset(): void {
    const state = this.#state;
    state[this.#at + USUAL_CHANGE] = state[this.#at + OFFSET] = 0;
    state[this.#at + PREVIOUS] = state[this.#at + LAST] = Number.NaN;
  }

  /** Takes the jumps out of the sums [0, count) and of their samples. @param inputs AHEAD more of them  @param k number of the first */
  repair(inputs: Float64Array, count: number, k: number): void {
    const decay = this.#decay;
    const decimation = this.#decimation;
    const state = this.#state;
    const at = this.#at;
    let usual = state[at + USUAL_CHANGE]!;
    let previous = state[at + PREVIOUS]!;
    let offset = state[at + OFFSET]!;
    for (let i = 0; i < count; i++) {
      const input = inputs[i]!;
      const level = decimation * offset + previous;
      const bound = USUAL * usual;
      let change = Math.abs(input - level);
      // A jump at its end shows in the next one only.
      const mayJump = change > bound || Math.abs(inputs[i + 1]! - level) > bound;
      if (mayJump || offset !== 0) {
        inputs[i] = this.#repairSample(input, (k + i) * decimation, mayJump);
        offset = state[at + OFFSET]!;
        change = Math.abs(inputs[i]! - previous);
      }
      usual *= decay;
      if (change > usual) usual = change;
      previous = inputs[i]!;
    }
    state[at + USUAL_CHANGE] = usual;
    state[at + PREVIOUS] = previous;
  }

  #repairSample(input: number, from: number, mayJump: boolean): number {
    const raw = this.#raw;
    const mask = this.#mask;
    const to = from + this.#decimation;
    const least = mayJump && this.#standsAlone(from) ? this.#leastJump(from) : Number.POSITIVE_INFINITY;
    let offset = this.#state[this.#at + OFFSET]!;
    if (offset === 0 && least === Number.POSITIVE_INFINITY) return input;
    let before = this.#lastBefore(from);
    let sum = input;
    for (let i = from; i < to; i++) {
      const x = raw[i & mask]!;
      const change = x - before;
      before = x;
      if (Math.abs(change) > least) offset += change;
      sum -= offset;
      raw[i & mask] = x - offset;
    }
    this.#state[this.#at + OFFSET] = offset;
    this.#state[this.#at + LAST] = before;
    return sum;
  }

  /** The sample before one, as it came. */
  #lastBefore(from: number): number {
    return this.#state[this.#at + OFFSET] === 0 ? this.#raw[(from - 1) & this.#mask]! : this.#state[this.#at + LAST]!;
  }

  /** Whether the largest change of the feature sample is above leastJump(): in a QRS some steps of the loop tell that it is not. */
  #standsAlone(from: number): boolean {
    if (from <= BEFORE * this.#decimation) return false;
    const raw = this.#raw;
    const mask = this.#mask;
    const decimation = this.#decimation;
    const last = this.#lastBefore(from);
    let largest = 0;
    let before = last;
    for (let i = from; i < from + decimation; i++) {
      const x = raw[i & mask]!;
      largest = Math.max(largest, Math.abs(x - before));
      before = x;
    }
    const least = largest / JUMP;
    let left = this.#jumps;
    before = raw[(from - BEFORE * decimation - 1) & mask]!;
    for (let i = from - BEFORE * decimation; i < from + (1 + AHEAD) * decimation; i++) {
      const x = raw[i & mask]!;
      if (Math.abs(x - (i === from ? last : before)) >= least && --left < 0) return false;
      before = x;
    }
    return true;
  }

  /** Above this a change of the feature sample is a jump. */
  #leastJump(from: number): number {
    if (from <= BEFORE * this.#decimation) return Number.POSITIVE_INFINITY;
    const raw = this.#raw;
    const mask = this.#mask;
    const sizes = this.#sizes.fill(0);
    let before = raw[(from - BEFORE * this.#decimation - 1) & mask]!;
    for (let i = from - BEFORE * this.#decimation; i < from + (1 + AHEAD) * this.#decimation; i++) {
      const x = raw[i & mask]!;
      let size = Math.abs(x - (i === from ? this.#lastBefore(from) : before));
      before = x;
      if (!(size < MAGNITUDE_MAX)) return Number.POSITIVE_INFINITY;
      // the largest ones, descending
      for (let s = 0; s <= this.#jumps; s++) {
        const larger = sizes[s]!;
        if (size > larger) {
          sizes[s] = size;
          size = larger;
        }
      }
    }
    return JUMP * sizes[this.#jumps]!;
  }
}
