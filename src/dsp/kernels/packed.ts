/** Arrays that lie in memory one after the other: what a stream needs together is then on few pages and cache lines. */

/** Room for arrays of a known size in all, each on a multiple of 8 bytes. */
export class Room {
  readonly #buffer: ArrayBuffer;
  #used = 0;

  constructor(bytes: number) {
    this.#buffer = new ArrayBuffer(bytes);
  }

  get left(): number {
    return this.#buffer.byteLength - this.#used;
  }

  /** All zero. @throws RangeError when it does not fit; so are, and do, the others */
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
    if (whole(bytes) > this.left) throw new RangeError(`no room for ${bytes} bytes`);
    this.#used += whole(bytes);
    return at;
  }
}

const whole = (bytes: number): number => 8 * Math.ceil(bytes / 8);

const ROOM_BYTES = 32_768;
let shared = new Room(ROOM_BYTES);

const roomFor = (bytes: number): Room => {
  if (shared.left < whole(bytes)) shared = new Room(Math.max(ROOM_BYTES, whole(bytes)));
  return shared;
};

// For arrays that live as long as what they are made for: one that is still held holds the room of those made with it.

/** All zero, next to the array that was made before; so are the others. */
export const packedDoubles = (length: number): Float64Array<ArrayBuffer> => roomFor(8 * length).doubles(length);
export const packedFloats = (length: number): Float32Array<ArrayBuffer> => roomFor(4 * length).floats(length);
export const packedBytes = (length: number): Uint8Array<ArrayBuffer> => roomFor(length).bytes(length);

/** @returns `to`, which begins with what `from` holds */
export function moved<T extends Float64Array | Float32Array | Uint8Array | Int8Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
