/** Durable sequence numbers of one stream as ranges, as in the column stream.seqs. */

/** Inclusive on both sides. */
export type SeqRange = readonly [first: number, last: number];

export class SeqRanges {
  /** first, last, first, last …; ascending, a number missing between ranges. */
  readonly #edges: number[] = [];

  /** Reads PostgreSQL's text form of an int8multirange: `{[1,6),[7,10)}`. */
  static parse(text: string): SeqRanges {
    const ranges = new SeqRanges();
    for (const [, first, end] of text.matchAll(/\[(\d+),(\d+)\)/g)) ranges.#edges.push(Number(first), Number(end) - 1);
    return ranges;
  }

  add(seq: number): void {
    const edges = this.#edges;
    const last = edges.length - 1;
    if (last < 0 || seq > edges[last]! + 1) edges.push(seq, seq);
    else if (seq === edges[last]! + 1) edges[last] = seq;
    else this.#addInside(seq);
  }

  /** Adds all of first..last. */
  addRange(first: number, last: number): void {
    const edges = this.#edges;
    const end = edges.length - 1;
    if (end < 0 || first > edges[end]! + 1) {
      edges.push(first, last);
      return;
    }
    const all: SeqRange[] = [...this.ranges(), [first, last] as const].sort((a, b) => a[0] - b[0]);
    edges.length = 0;
    for (const [from, to] of all) {
      const tail = edges.length - 1;
      if (tail > 0 && from <= edges[tail]! + 1) edges[tail] = Math.max(edges[tail]!, to);
      else edges.push(from, to);
    }
  }

  ranges(): SeqRange[] {
    const out: SeqRange[] = [];
    for (let i = 0; i < this.#edges.length; i += 2) out.push([this.#edges[i]!, this.#edges[i + 1]!]);
    return out;
  }

  toString(): string {
    return `{${this.ranges()
      .map(([first, last]) => `[${first},${last}]`)
      .join(',')}}`;
  }

  #addInside(seq: number): void {
    const edges = this.#edges;
    let low = 0; // first range whose last >= seq
    let high = edges.length >> 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (edges[2 * middle + 1]! < seq) low = middle + 1;
      else high = middle;
    }
    const i = 2 * low;
    if (edges[i]! <= seq) return;
    const joinsNext = edges[i] === seq + 1;
    const joinsPrevious = i > 0 && edges[i - 1] === seq - 1;
    if (joinsNext && joinsPrevious) edges.splice(i - 1, 2);
    else if (joinsNext) edges[i] = seq;
    else if (joinsPrevious) edges[i - 1] = seq;
    else edges.splice(i, 0, seq, seq);
  }
}
