/** The sequence numbers of one stream that have been seen, as sorted disjoint ranges.
 *  In-order arrival is one comparison; memory grows with the number of gaps, not of packets. */

/** Inclusive on both sides. */
export type SeqRange = readonly [first: number, last: number];

export class SeqSet {
  /** first, last, first, last ...; ascending, with at least one missing number between ranges. */
  readonly #edges: number[] = [];

  static from(ranges: Iterable<SeqRange>): SeqSet {
    const set = new SeqSet();
    for (const [first, last] of ranges) set.#addRange(first, last);
    return set;
  }

  get rangeCount(): number {
    return this.#edges.length >> 1;
  }

  /** Highest number, or -1 when empty. */
  get high(): number {
    return this.#edges.at(-1) ?? -1;
  }

  ranges(): SeqRange[] {
    const out: SeqRange[] = [];
    for (let i = 0; i < this.#edges.length; i += 2) out.push([this.#edges[i]!, this.#edges[i + 1]!]);
    return out;
  }

  has(seq: number): boolean {
    const edges = this.#edges;
    if (seq > this.high) return false;
    if (seq >= edges[edges.length - 2]!) return true; // the newest range, nearly always
    const i = this.#rangeAtOrAfter(seq);
    return edges[i]! <= seq;
  }

  /** @returns false when it was already present */
  add(seq: number): boolean {
    const edges = this.#edges;
    const { high } = this;
    if (seq > high) {
      if (edges.length !== 0 && seq === high + 1) edges[edges.length - 1] = seq;
      else edges.push(seq, seq);
      return true;
    }
    const i = this.#rangeAtOrAfter(seq); // exists: seq <= high
    if (edges[i]! <= seq) return false;
    const joinsNext = edges[i]! === seq + 1;
    const joinsPrevious = edges[i - 1] === seq - 1; // of the first range there is none
    if (joinsNext && joinsPrevious) edges.splice(i - 1, 2);
    else if (joinsNext) edges[i] = seq;
    else if (joinsPrevious) edges[i - 1] = seq;
    else edges.splice(i, 0, seq, seq);
    return true;
  }

  /** Removes a number whose packet did not become durable. @returns false when it was absent */
  delete(seq: number): boolean {
    if (!this.has(seq)) return false;
    const edges = this.#edges;
    const i = this.#rangeAtOrAfter(seq);
    const first = edges[i]!;
    const last = edges[i + 1]!;
    if (first === last) edges.splice(i, 2);
    else if (seq === first) edges[i] = seq + 1;
    else if (seq === last) edges[i + 1] = seq - 1;
    else edges.splice(i + 1, 0, seq - 1, seq + 1);
    return true;
  }

  /** True when adding this number would create another range. Lets admission bound the memory of one stream. */
  opensRange(seq: number): boolean {
    return !this.has(seq) && !this.has(seq - 1) && !this.has(seq + 1);
  }

  /** Index of the first edge of the first range whose last number is >= seq. */
  #rangeAtOrAfter(seq: number): number {
    const edges = this.#edges;
    let low = 0;
    let high = edges.length >> 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (edges[2 * middle + 1]! < seq) low = middle + 1;
      else high = middle;
    }
    return low * 2;
  }

  #addRange(first: number, last: number): void {
    const edges = this.#edges;
    if (edges.length === 0 || first > edges[edges.length - 1]! + 1) {
      edges.push(first, last);
      return;
    }
    const all = this.ranges();
    all.push([first, last]);
    all.sort((a, b) => a[0] - b[0]);
    edges.length = 0;
    for (const [from, to] of all) {
      const end = edges.length;
      if (end > 0 && from <= edges[end - 1]! + 1) edges[end - 1] = Math.max(edges[end - 1]!, to);
      else edges.push(from, to);
    }
  }
}
