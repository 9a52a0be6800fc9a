/** Values found by the bytes that they were decoded from: the same bytes give the same value without decoding them again. */

/** Longer keys are decoded each time. */
const KEY_BYTES_MAX = 128;

/** A direct-mapped cache: a new key takes the slot of whoever was there, so memory is bounded by slots * (key + value)
 *  and a peer that sends ever new bytes only loses its own speed. */
export class ByteInterner<T> {
  readonly #mask: number;
  readonly #keys: (Uint8Array | undefined)[];
  readonly #values: (T | undefined)[];
  readonly #make: (bytes: Uint8Array, start: number, end: number) => T;

  /** @param slots a power of two  @param make may throw: nothing is cached then */
  constructor(slots: number, make: (bytes: Uint8Array, start: number, end: number) => T) {
    if (slots < 1 || (slots & (slots - 1)) !== 0) throw new RangeError(`slots ${slots} is not a power of two`);
    this.#mask = slots - 1;
    this.#keys = Array.from<undefined>({ length: slots });
    this.#values = Array.from<undefined>({ length: slots });
    this.#make = make;
  }

  get(bytes: Uint8Array, start: number, end: number): T {
    const length = end - start;
    if (length > KEY_BYTES_MAX) return this.#make(bytes, start, end);
    let hash = 0x811c9dc5 ^ length;
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
    const slot = (hash ^ (hash >>> 15)) & this.#mask;
    const key = this.#keys[slot];
    if (key !== undefined && key.length === length) {
      let i = 0;
      while (i < length && key[i] === bytes[start + i]) i++;
      if (i === length) return this.#values[slot] as T;
    }
    const value = this.#make(bytes, start, end);
    this.#keys[slot] = bytes.slice(start, end);
    this.#values[slot] = value;
    return value;
  }
}
