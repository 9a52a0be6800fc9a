/** Values found by the bytes that they were decoded from: the same bytes give the same value without decoding them again. */

/** Longer keys are decoded each time. */
const KEY_BYTES_MAX = 128;

/** `next`: slot of the entry that was found after this one the last time. A slot, not the entry: entries would keep each other alive in an
 *  endless chain. */
type Entry<T> = { readonly length: number; readonly words: Int32Array; readonly value: T; next: number };

/** A direct-mapped cache: a new key evicts the one in its slot, so memory is bounded by slots * (key + value)
 *  and a peer that sends ever new bytes only loses its own speed. Bytes are hashed and compared four at a time through a DataView;
 *  keys that come in the same order again are only compared. */
export class ByteInterner<T> {
  readonly #mask: number;
  readonly #entries: (Entry<T> | undefined)[];
  readonly #make: (start: number, end: number) => T;
  #last: Entry<T> | null = null;

  /** @param slots a power of two  @param make decodes the bytes that the caller is reading; may throw: nothing is cached then */
  constructor(slots: number, make: (start: number, end: number) => T) {
    if (slots < 1 || (slots & (slots - 1)) !== 0) throw new RangeError(`slots ${slots} is not a power of two`);
    this.#mask = slots - 1;
    this.#entries = Array.from<undefined>({ length: slots });
    this.#make = make;
  }

  get(view: DataView, start: number, end: number): T {
    const length = end - start;
    if (length > KEY_BYTES_MAX) return this.#make(start, end);
    const last = this.#last;
    const guess = last === null ? undefined : this.#entries[last.next];
    if (guess !== undefined && guess.length === length && matches(guess.words, view, start, end)) {
      this.#last = guess;
      return guess.value;
    }
    let hash = length;
    let at = start;
    for (; at < end - 3; at += 4) {
      hash = Math.imul(hash ^ view.getInt32(at, true), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    hash = Math.imul(hash ^ tailOf(view, at, end), 0x9e3779b1);
    const slot = (hash ^ (hash >>> 15)) & this.#mask;
    let entry = this.#entries[slot];
    if (entry === undefined || entry.length !== length || !matches(entry.words, view, start, end)) {
      entry = { length, words: wordsOf(view, start, end), value: this.#make(start, end), next: slot };
      this.#entries[slot] = entry;
    }
    if (last !== null) last.next = slot;
    this.#last = entry;
    return entry.value;
  }
}

function matches(words: Int32Array, view: DataView, start: number, end: number): boolean {
  const wholeEnd = end - 3;
  let i = 0;
  let at = start;
  while (at < wholeEnd) {
    if (words[i] !== view.getInt32(at, true)) return false;
    at += 4;
    i++;
  }
  return words[i] === tailOf(view, at, end);
}

function wordsOf(view: DataView, start: number, end: number): Int32Array {
  const whole = (end - start) >> 2;
  const words = new Int32Array(whole + 1);
  for (let i = 0; i < whole; i++) words[i] = view.getInt32(start + 4 * i, true);
  words[whole] = tailOf(view, start + 4 * whole, end);
  return words;
}

/** The last length % 4 bytes as one word. */
function tailOf(view: DataView, at: number, end: number): number {
  let tail = 0;
  for (let i = at; i < end; i++) tail = (tail << 8) | view.getUint8(i);
  return tail;
}
