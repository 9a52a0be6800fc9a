/** Moving sum, and the level of beats: what the slope sum is measured with and against. */

/** Blocks of 0.5 s in the level: the caller closes one each half second. */
const BLOCKS = 10;

/** Sum of the last `width` values. */
export class MovingSum {
  readonly width: number;
  readonly #ring: Float64Array;
  #next = 0;
  #sum = 0;

  constructor(width: number) {
    this.width = width;
    this.#ring = new Float64Array(width);
  }

  reset(): void {
    this.#ring.fill(0);
    this.#next = 0;
    this.#sum = 0;
  }

  /** Takes `count` values. The sum is rebuilt each time the ring wraps, so that rounding does not pile up.
   *  @param sums gets the sum at each of them */
  push(values: Float64Array, count: number, sums: Float64Array): void {
    const ring = this.#ring;
    const { width } = this;
    let next = this.#next;
    let sum = this.#sum;
    for (let i = 0; i < count; i++) {
      const value = values[i]!;
      sum += value - ring[next]!;
      ring[next] = value;
      if (++next === width) {
        next = 0;
        sum = 0;
        for (let j = 0; j < width; j++) sum += ring[j]!;
      }
      sums[i] = sum > 0 ? sum : 0;
    }
    this.#next = next;
    this.#sum = sum;
  }
}

/** Shared by every instance of the thread: nothing of it outlives a call. */
const sorted = new Float64Array(BLOCKS);

/** Median over the last 5 s of the maximum in 1.5 s (three blocks): the level of beats, whatever a single spike does. */
export class BlockLevel {
  readonly #maxima = new Float64Array(BLOCKS);
  #count = 0;
  #running = 0;
  #cached = -1;
  #value = 0;

  reset(): void {
    this.#count = 0;
    this.#running = 0;
    this.#cached = -1;
  }

  push(values: Float64Array, count: number): void {
    let running = this.#running;
    for (let i = 0; i < count; i++) if (values[i]! > running) running = values[i]!;
    this.#running = running;
  }

  closeBlock(): void {
    this.#maxima[this.#count++ % BLOCKS] = this.#running;
    this.#running = 0;
  }

  value(): number {
    if (this.#cached === this.#count) return this.#value;
    this.#cached = this.#count;
    const from = Math.max(0, this.#count - BLOCKS);
    let size = 0;
    for (let b = from; b + 2 < this.#count; b++) {
      const max = Math.max(this.#maxima[b % BLOCKS]!, this.#maxima[(b + 1) % BLOCKS]!, this.#maxima[(b + 2) % BLOCKS]!);
      let k = size++;
      for (; k > 0 && sorted[k - 1]! > max; k--) sorted[k] = sorted[k - 1]!;
      sorted[k] = max;
    }
    this.#value = size === 0 ? this.#running : sorted[(size - 1) >> 1]!;
    return this.#value;
  }
}
