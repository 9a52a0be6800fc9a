/** Consecutive samples of a row being filled. Stored as 16 bits while they fit, and grown in steps to save memory: every device has
 *  several such rows open all the time. */
import type { Samples } from '../signal.ts';
import type { BlockRun } from './block-codec.ts';

/** Growth step of a run, samples. */
const STEP = 256;

export class OpenRun {
  readonly k0: number;
  readonly isFloat: boolean;
  readonly #most: number;
  #n = 0;
  #samples: Int16Array | Int32Array | Float32Array;
  #qmask: Uint8Array | null = null;

  /** @param most maximum number of samples */
  constructor(k0: number, most: number, isFloat: boolean) {
    this.k0 = k0;
    this.isFloat = isFloat;
    this.#most = most;
    const room = Math.min(most, STEP);
    this.#samples = isFloat ? new Float32Array(room) : new Int16Array(room);
  }

  /** Number of samples so far. */
  get n(): number {
    return this.#n;
  }

  get bytes(): number {
    return this.#samples.byteLength + (this.#qmask?.byteLength ?? 0);
  }

  /** Appends samples [from, to); they must be of its kind and continue it. */
  append(samples: Samples, qmask: Uint8Array | null, from: number, to: number): void {
    const count = to - from;
    const end = this.#n + count;
    if (end > this.#samples.length) this.#grow(Math.min(this.#most, Math.max(end, this.#samples.length + STEP)));
    const into = this.#samples;
    if (!(into instanceof Int16Array) || !(samples instanceof Int32Array)) into.set(samples.subarray(from, to), this.#n);
    else if (!putNarrow(into, this.#n, samples, from, to)) this.#widen().set(samples.subarray(from, to), this.#n);
    if (qmask !== null) {
      this.#qmask ??= new Uint8Array(this.#samples.length);
      this.#qmask.set(qmask.subarray(from, to), this.#n);
    }
    this.#n = end;
  }

  /** Copies the samples so far. */
  run(): BlockRun {
    const n = this.#n;
    const samples: Samples = this.isFloat ? new Float32Array(n) : new Int32Array(n);
    samples.set(this.#samples.subarray(0, n));
    return { k0: this.k0, samples, qmask: this.#qmask?.slice(0, n) ?? null };
  }

  #grow(room: number): void {
    const samples = this.#samples;
    const bigger =
      samples instanceof Float32Array
        ? new Float32Array(room)
        : samples instanceof Int16Array
          ? new Int16Array(room)
          : new Int32Array(room);
    bigger.set(this.#samples);
    this.#samples = bigger;
    if (this.#qmask === null) return;
    const flags = new Uint8Array(room);
    flags.set(this.#qmask);
    this.#qmask = flags;
  }

  #widen(): Int32Array {
    const wide = new Int32Array(this.#samples.length);
    wide.set(this.#samples.subarray(0, this.#n));
    this.#samples = wide;
    return wide;
  }
}

/** Called with one kind of array each, so that the loop stays fast. @returns false when a sample needs more than 16 bits */
function putNarrow(into: Int16Array, at: number, samples: Int32Array, from: number, to: number): boolean {
  let beyond = 0;
  for (let i = from, j = at; i < to; i++, j++) {
    const value = samples[i]!;
    into[j] = value;
    beyond |= value ^ ((value << 16) >> 16);
  }
  return beyond === 0;
}
