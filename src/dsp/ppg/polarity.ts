/** Tells whether a pulse is given upside down, by the shape of its beats.
 *
 *  Light that comes through or back falls in systole: a device that gives it raw gives the pulse upside down. Upright, a pulse rises
 *  faster than it falls, and is sharp at its top and broad at its foot: the skewness of its slope (the steep upstroke) and of its level
 *  (Elgendi 2016, doi:10.3390/bioengineering3040021) are both above 0. Either alone is wrong for some people: with a fast heart a pulse
 *  may fall as steeply as it rises, and the filters of some wrist sensors turn the level's skewness around. Values beyond `CLIP` times
 *  the root mean square count as that, so that one artefact decides nothing.
 *
 *  The lean of 10 s is the sum of the two. A pulse begins upright and turns only where 10 s lean clearly the other way; between the two
 *  thresholds it stays as it is, so it does not turn back and forth, and arm swing, whose waves lean little, turns nothing. A pulse upside
 *  down that never leans so far, in motion or with waves like a sine, is computed as it comes. */
import { highPass, lowPass } from '../kernels/biquad.ts';
import type { Biquad } from '../kernels/biquad.ts';

/** Seconds that are judged together. */
export const POLARITY_BLOCK_SEC = 10;
/** Lean of a block at which a pulse turns. Fingers at rest lean by 1.4 (BIDMC), arm swing by up to 0.7 either way (IEEE SPC). */
export const POLARITY_TURN = 0.9;
const CLIP = 2.5;
const DECIMATED_HZ = 31.25;
/** Less of a block than this is not judged. */
const PRESENT_MIN = 0.5;

// shared by every instance of the thread: nothing of them outlives a call
let level = new Float64Array(512);
let slope = new Float64Array(512);

/** Call push with every row in order. All wavelengths of a sensor share one polarity: their leans are averaged. */
export class PulsePolarity {
  /** Is the pulse upside down? */
  inverted = false;
  /** Has a block been judged since reset? */
  isJudged = false;
  /** Does the last block that could be judged lean the other way, though not so far that the pulse turns? */
  isDoubtful = false;
  readonly #leadCount: number;
  readonly #decimation: number;
  readonly #rate: number;
  /** Decimated samples of a block. */
  readonly #size: number;
  readonly #blocks: readonly Float32Array[];
  readonly #high: Biquad;
  readonly #low: Biquad;
  readonly #sums: Float64Array;
  readonly #present: Int32Array;
  #phase = 0;
  #filled = 0;

  /** @param fs Hz  @param leadCount wavelengths */
  constructor(fs: number, leadCount: number) {
    this.#leadCount = leadCount;
    this.#decimation = Math.max(1, Math.round(fs / DECIMATED_HZ));
    this.#rate = fs / this.#decimation;
    this.#size = Math.floor(POLARITY_BLOCK_SEC * this.#rate);
    this.#blocks = Array.from({ length: leadCount }, () => new Float32Array(this.#size));
    this.#high = highPass(0.4, this.#rate);
    this.#low = lowPass(Math.min(8, 0.4 * this.#rate), this.#rate);
    this.#sums = new Float64Array(leadCount);
    this.#present = new Int32Array(leadCount);
    if (level.length < this.#size) {
      level = new Float64Array(this.#size);
      slope = new Float64Array(this.#size);
    }
  }

  reset(): void {
    this.inverted = this.isJudged = this.isDoubtful = false;
    this.#sums.fill(0);
    this.#present.fill(0);
    this.#phase = this.#filled = 0;
  }

  /** Rows until the block that is being filled is judged. */
  get left(): number {
    return (this.#size - this.#filled) * this.#decimation - this.#phase;
  }

  /** Takes rows [from, to), at most `left`; NaN marks a missing sample.  @returns true when they complete a block that turns the pulse */
  push(leads: readonly Float64Array[], from: number, to: number): boolean {
    for (let l = 0; l < this.#leadCount; l++) this.#decimate(leads[l]!, from, to, l);
    const phase = this.#phase + to - from;
    this.#phase = phase % this.#decimation;
    this.#filled += (phase - this.#phase) / this.#decimation;
    return this.#filled >= this.#size && this.judge();
  }

  #decimate(x: Float64Array, from: number, to: number, l: number): void {
    const block = this.#blocks[l]!;
    let sum = this.#sums[l]!;
    let present = this.#present[l]!;
    let phase = this.#phase;
    let filled = this.#filled;
    for (let i = from; i < to; i++) {
      const value = x[i]!;
      if (value - value === 0) {
        sum += value;
        present++;
      }
      if (++phase < this.#decimation) continue;
      block[filled++] = present > 0 ? sum / present : Number.NaN;
      sum = present = phase = 0;
    }
    this.#sums[l] = sum;
    this.#present[l] = present;
  }

  /** Judges what there is of a block, and begins the next one.  @returns true when the pulse turns */
  judge(): boolean {
    this.isJudged = true;
    let sum = 0;
    let judged = 0;
    for (const block of this.#blocks) {
      const lean = this.#leanOf(block);
      if (lean !== lean) continue;
      sum += lean;
      judged++;
    }
    this.#filled = 0;
    if (judged === 0) return false;
    const against = (this.inverted ? sum : -sum) / judged;
    const turns = against > POLARITY_TURN;
    this.isDoubtful = against > 0 && !turns;
    if (turns) this.inverted = !this.inverted;
    return turns;
  }

  /** Skewness of level and slope together, above 0 where the pulse is upright; NaN where too much is missing, or nothing moves. */
  #leanOf(block: Float32Array): number {
    const { b0, b1, b2, a1, a2 } = this.#high;
    const low = this.#low;
    const n = this.#filled;
    let first = 0;
    while (first < n && block[first]! !== block[first]!) first++;
    let value = first < n ? block[first]! : 0;
    let h1 = (b1 + b2) * value;
    let h2 = b2 * value;
    let l1 = 0;
    let l2 = 0;
    let before = 0;
    let count = 0;
    for (let i = first; i < n; i++) {
      const given = block[i]!;
      const isPresent = given - given === 0;
      if (isPresent) value = given;
      const h = b0 * value + h1;
      h1 = b1 * value - a1 * h + h2;
      h2 = b2 * value - a2 * h;
      const y = low.b0 * h + l1;
      l1 = low.b1 * h - low.a1 * y + l2;
      l2 = low.b2 * h - low.a2 * y;
      // the high-pass needs a second to settle
      if (isPresent && i - first >= this.#rate) {
        level[count] = y;
        slope[count++] = y - before;
      }
      before = y;
    }
    return count < PRESENT_MIN * this.#size ? Number.NaN : skewness(level, count) + skewness(slope, count);
  }
}

/** Third moment about 0 of what is cut off at CLIP times the root mean square, over the cube of that. */
function skewness(x: Float64Array, n: number): number {
  let power = 0;
  for (let i = 0; i < n; i++) power += x[i]! * x[i]!;
  const scale = Math.sqrt(power / n);
  if (!(scale > 0)) return Number.NaN;
  let sum = 0;
  for (let i = 0; i < n; i++) {
    const share = Math.max(-CLIP, Math.min(CLIP, x[i]! / scale));
    sum += share * share * share;
  }
  return sum / n;
}
