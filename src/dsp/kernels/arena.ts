/** Typed arrays cut from one buffer after the other (a bump allocator): what a stream needs together lies on few pages and cache lines, and
 *  of hundreds of streams in turns each is fetched anew every time.
 *  For the same reason the numbers of a detector are one such array with named places: V8 keeps a field that is not a small integer as a
 *  heap number of its own.
 *  For what lives as long as its detector or stream: one array that is still held holds its whole buffer. Never to be transferred. */

/** Room for arrays of a known size in all, each on a multiple of 8 bytes. */
export class Arena {
  readonly #buffer: ArrayBuffer;
  #used = 0;

  constructor(bytes: number) {
    this.#buffer = new ArrayBuffer(bytes);
  }

  /** Bytes. */
  get left(): number {
    return this.#buffer.byteLength - this.#used;
  }

  /** All zero, as those of the others.  @throws RangeError when it does not fit; so do the others */
  doubles(length: number): Float64Array<ArrayBuffer> {
    return new Float64Array(this.#buffer, this.#take(8 * length), length);
  }

  floats(length: number): Float32Array<ArrayBuffer> {
    return new Float32Array(this.#buffer, this.#take(4 * length), length);
  }

  bytes(length: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#buffer, this.#take(length), length);
  }

  #take(bytes: number): number {
    const at = this.#used;
    if (roundedUp(bytes) > this.left) throw new RangeError(`no room for ${bytes} bytes`);
    this.#used += roundedUp(bytes);
    return at;
  }
}

const roundedUp = (bytes: number): number => 8 * Math.ceil(bytes / 8);

const ARENA_BYTES = 32_768;
/** A larger array has a buffer of its own: what is left of the shared one would be lost. */
const SHARED_BYTES_MAX = ARENA_BYTES / 4;
let shared = new Arena(ARENA_BYTES);

function arenaFor(bytes: number): Arena {
  const size = roundedUp(bytes);
  if (size > SHARED_BYTES_MAX) return new Arena(size);
  if (shared.left < size) shared = new Arena(ARENA_BYTES);
  return shared;
}

/** All zero, next to the array that was made before; so are the others. */
export const arenaDoubles = (length: number): Float64Array<ArrayBuffer> => arenaFor(8 * length).doubles(length);
export const arenaFloats = (length: number): Float32Array<ArrayBuffer> => arenaFor(4 * length).floats(length);
export const arenaBytes = (length: number): Uint8Array<ArrayBuffer> => arenaFor(length).bytes(length);
