/** Light at a rail of its converter. */

/** A light is at a rail, or hardly more than its steps, where this share of its samples is its least or its greatest value. */
export const RAIL_SHARE = 0.1;

/** How often a light has its least and its greatest value. */
export class Ends {
  #least = Number.POSITIVE_INFINITY;
  #greatest = Number.NEGATIVE_INFINITY;
  #leastCount = 0;
  #greatestCount = 0;

  get most(): number {
    return Math.max(this.#leastCount, this.#greatestCount);
  }

  reset(): void {
    this.#least = Number.POSITIVE_INFINITY;
    this.#greatest = Number.NEGATIVE_INFINITY;
    this.#leastCount = this.#greatestCount = 0;
  }

  push(value: number): void {
    if (value <= this.#least) {
      this.#leastCount = value < this.#least ? 1 : this.#leastCount + 1;
      this.#least = value;
    }
    if (value >= this.#greatest) {
      this.#greatestCount = value > this.#greatest ? 1 : this.#greatestCount + 1;
      this.#greatest = value;
    }
  }
}
