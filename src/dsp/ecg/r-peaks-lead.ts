/** State of RPeakDetector for one lead: raw samples for refinement, and the decimated, band-passed signal with its slope. */
import { arenaDoubles, arenaFloats } from '../kernels/arena.ts';
import type { Biquad } from '../kernels/biquad.ts';
import { AHEAD, JUMP_STATE, JumpRepair, REPAIRED_FROM_HZ } from './r-peaks-jumps.ts';

const MAGNITUDE_MAX = 1e30; // beyond this a sample counts as missing
/** Feature samples per inner pass. */
export const BLOCK = 64;

export type LeadLayout = Readonly<{
  fs: number;
  decimation: number;
  /** Both Butterworth (see biquad.ts). */
  highPass: Biquad;
  lowPass: Biquad;
  /** Missing feature samples during which the filters wait. */
  shortGap: number;
  /** Powers of two. */
  rawLength: number;
  ringLength: number;
}>;

/** Where the numbers of a lead are in its state: of the high-pass and the low-pass two each, the last output, a sum that is not whole yet,
 *  sums that wait for what follows them, and those of the jumps. */
const [HIGH_1, HIGH_2, LOW_1, LOW_2, OUTPUT, PARTIAL, HELD] = [0, 1, 2, 3, 4, 5, 6] as const;
const JUMPS = HELD + AHEAD;

/** By lead; one thread pushes one detector at a time. */
const shared: { inputs: Float64Array; slopes: Float64Array }[] = [];

/** Box-car decimation, band-pass, slope. A pure function of the samples since reset, however they were cut. */
export class LeadSignal {
  /** Samples, ring. */
  readonly raw: Float32Array;
  readonly rawMask: number;
  /** Band-passed signal at the feature rate, ring. */
  readonly band: Float32Array;
  readonly ringMask: number;
  /** Sums of `decimation` samples and slopes (NaN: missing) of the push under way. */
  readonly inputs: Float64Array;
  readonly slopes: Float64Array;
  /** How many of the push under way are missing. */
  missingHere = 0;
  readonly #layout: LeadLayout;
  readonly #state = arenaDoubles(JUMPS + JUMP_STATE);
  #primed = false;
  #missing = 0;
  #phase = 0;
  #n = 0;
  #k = 0;
  readonly #jumps: JumpRepair;
  #heldCount = 0;

  /** @param lead its number: leads of one number share what is valid during a push only */
  constructor(layout: LeadLayout, lead: number) {
    this.#layout = layout;
    while (shared.length <= lead) shared.push({ inputs: new Float64Array(BLOCK + AHEAD), slopes: new Float64Array(BLOCK) });
    this.inputs = shared[lead]!.inputs;
    this.slopes = shared[lead]!.slopes;
    this.raw = arenaFloats(layout.rawLength);
    this.rawMask = layout.rawLength - 1;
    this.band = arenaFloats(layout.ringLength);
    this.ringMask = layout.ringLength - 1;
    this.#jumps = new JumpRepair(this.raw, layout.fs, layout.decimation, this.#state, JUMPS);
  }

  reset(): void {
    this.raw.fill(0);
    this.band.fill(0);
    this.#state.fill(0);
    this.#primed = false;
    this.#missing = 0;
    this.#phase = 0;
    this.#n = 0;
    this.#k = 0;
    this.#heldCount = 0;
    this.#jumps.reset();
  }

  /** @param to at most (BLOCK - 1) * decimation after from  @returns how many feature samples that made: AHEAD of them wait */
  push(x: Float64Array, from: number, to: number): number {
    let i = from;
    const { decimation } = this.#layout;
    const { raw, rawMask, inputs } = this;
    let count = this.#heldCount;
    const state = this.#state;
    for (let held = 0; held < count; held++) inputs[held] = state[HELD + held]!;
    let n = this.#n;
    if (this.#phase > 0) {
      let partial = state[PARTIAL]!;
      const end = Math.min(to, from + decimation - this.#phase);
      this.#phase += end - from;
      for (; i < end; i++) {
        raw[n++ & rawMask] = x[i]!;
        partial += x[i]!;
      }
      state[PARTIAL] = partial;
      if (this.#phase === decimation) {
        inputs[count++] = partial;
        this.#phase = 0;
      }
    }
    const whole = i + Math.floor((to - i) / decimation) * decimation;
    // Written out: the inner loop of a variable length takes a third more.
    if (decimation === 3)
      for (; i < whole; i += 3) {
        const a = x[i]!;
        const b = x[i + 1]!;
        const c = x[i + 2]!;
        raw[n & rawMask] = a;
        raw[(n + 1) & rawMask] = b;
        raw[(n + 2) & rawMask] = c;
        n += 3;
        inputs[count++] = a + b + c;
      }
    else if (decimation === 2)
      for (; i < whole; i += 2) {
        const a = x[i]!;
        const b = x[i + 1]!;
        raw[n & rawMask] = a;
        raw[(n + 1) & rawMask] = b;
        n += 2;
        inputs[count++] = a + b;
      }
    else
      for (; i < whole; i += decimation) {
        let sum = x[i]!;
        raw[n++ & rawMask] = sum;
        for (let j = i + 1; j < i + decimation; j++) {
          raw[n++ & rawMask] = x[j]!;
          sum += x[j]!;
        }
        inputs[count++] = sum;
      }
    if (i < to) {
      let partial = 0;
      this.#phase = to - i;
      for (; i < to; i++) {
        raw[n++ & rawMask] = x[i]!;
        partial += x[i]!;
      }
      state[PARTIAL] = partial;
    }
    this.#n = n;
    const ready = Math.max(0, count - AHEAD);
    this.#heldCount = count - ready;
    for (let held = 0; held < this.#heldCount; held++) state[HELD + held] = inputs[ready + held]!;
    if (this.#layout.fs >= REPAIRED_FROM_HZ) this.#jumps.repair(inputs, ready, this.#k);
    this.#filter(ready);
    return ready;
  }

  #filter(count: number): void {
    const { band, ringMask, inputs, slopes } = this;
    const { shortGap } = this.#layout;
    // Butterworth: b1 = -2 b0 (high-pass) or 2 b0 (low-pass), b2 = b0. Doubling is exact, so one product does for three.
    const { b0: h0, a1: g1, a2: g2 } = this.#layout.highPass;
    const { b0: l0, a1: m1, a2: m2 } = this.#layout.lowPass;
    const state = this.#state;
    let hz1 = state[HIGH_1]!;
    let hz2 = state[HIGH_2]!;
    let lz1 = state[LOW_1]!;
    let lz2 = state[LOW_2]!;
    let previous = state[OUTPUT]!;
    let primed = this.#primed;
    let missing = this.#missing;
    let missingHere = 0;
    let k = this.#k;
    for (let i = 0; i < count; i++) {
      const input = inputs[i]!;
      if (!(Math.abs(input) < MAGNITUDE_MAX)) {
        inputs[i] = Number.NaN;
        band[k++ & ringMask] = 0;
        slopes[i] = Number.NaN;
        missingHere++;
        if (++missing > shortGap) primed = false;
        continue;
      }
      const fed = h0 * input;
      if (!primed) {
        // The steady state of the high-pass for this input: no step, whatever the offset.
        primed = true;
        hz1 = -fed;
        hz2 = fed;
        lz1 = 0;
        lz2 = 0;
        previous = 0;
      }
      missing = 0;
      const u = fed + hz1;
      hz1 = -2 * fed - g1 * u + hz2;
      hz2 = fed - g2 * u;
      const passed = l0 * u;
      const y = passed + lz1;
      lz1 = 2 * passed - m1 * y + lz2;
      lz2 = passed - m2 * y;
      band[k++ & ringMask] = y;
      slopes[i] = y - previous;
      previous = y;
    }
    this.missingHere = missingHere;
    state[HIGH_1] = hz1;
    state[HIGH_2] = hz2;
    state[LOW_1] = lz1;
    state[LOW_2] = lz2;
    state[OUTPUT] = previous;
    this.#primed = primed;
    this.#missing = missing;
    this.#k = k;
  }
}
