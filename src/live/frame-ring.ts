/** The last frames of one feed, encoded, for viewers that reconnect. Kept in chunks that are filled in order and freed whole: growing
 *  copies nothing, and a hundred feeds whose viewers arrive together do not move a hundred megabytes in one turn of the loop. */

export type RingFrame = Readonly<{ seq: number; bytes: Uint8Array }>;

/** Frames per chunk, by the size of the frame that needed it, within these bounds, bytes. */
const CHUNK_FRAMES = 16;
const CHUNK_BYTES_MIN = 4096;
const CHUNK_BYTES_MAX = 65_536;
/** A chunk is at most this fraction (1/n) of the ring, which bounds the history lost by freeing one. */
const CHUNK_SHARE = 8;

type Chunk = { readonly buf: Uint8Array; used: number; frameCount: number };
type Held = Readonly<{ seq: number; chunk: Chunk; start: number; length: number; atMs: number }>;

export class FrameRing {
  /** Oldest first; the last one is being filled. */
  readonly #chunks: Chunk[] = [];
  /** The last chunk freed, for reuse. */
  #spare: Chunk | null = null;
  #bytesHeld = 0;
  /** Oldest first from #head on. */
  readonly #frames: Held[] = [];
  #head = 0;

  get count(): number {
    return this.#frames.length - this.#head;
  }

  /** Bytes of all chunks, filled or not. */
  get bytesHeld(): number {
    return this.#bytesHeld;
  }

  /** Sequence number of the oldest frame, Infinity when empty. */
  get oldestSeq(): number {
    return this.#frames[this.#head]?.seq ?? Infinity;
  }

  /** @param bytes copied  @param bytesMax bound of the ring  @param ageMsMax older frames are dropped */
  push(seq: number, bytes: Uint8Array, nowMs: number, bytesMax: number, ageMsMax: number): void {
    while (this.count > 0 && nowMs - this.#frames[this.#head]!.atMs > ageMsMax) this.#dropOldest();
    if (this.#bytesHeld > bytesMax) this.#makeRoom(0, bytesMax); // more feeds share the memory now
    const length = bytes.length;
    if (length > bytesMax) {
      this.#makeRoom(length, bytesMax);
      return;
    }
    let chunk = this.#chunks[this.#chunks.length - 1];
    if (chunk === undefined || chunk.used + length > chunk.buf.length) chunk = this.#addChunk(length, bytesMax);
    chunk.buf.set(bytes, chunk.used);
    this.#frames.push({ seq, chunk, start: chunk.used, length, atMs: nowMs });
    chunk.used += length;
    chunk.frameCount++;
  }

  /** Puts frames before those that are held, as old as the oldest of them. @param frames ascending, older than all of them */
  putBefore(frames: readonly RingFrame[], nowMs: number, bytesMax: number, ageMsMax: number): void {
    const held = this.#frames.slice(this.#head).map((frame) => ({ ...frame, bytes: bytesOf(frame).slice() }));
    this.#chunks.length = this.#frames.length = this.#head = this.#bytesHeld = 0;
    this.#spare = null;
    for (const { seq, bytes } of frames) this.push(seq, bytes, held[0]?.atMs ?? nowMs, bytesMax, ageMsMax);
    for (const { seq, bytes, atMs: sinceMs } of held) this.push(seq, bytes, sinceMs, bytesMax, ageMsMax);
  }

  /** The first frame after `seq`; its bytes are valid until the next push. */
  after(seq: number): RingFrame | null {
    let low = this.#head;
    let high = this.#frames.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#frames[middle]!.seq <= seq) low = middle + 1;
      else high = middle;
    }
    const found = this.#frames[low];
    return found === undefined ? null : { seq: found.seq, bytes: bytesOf(found) };
  }

  /** Frames after `seq`. */
  countAfter(seq: number): number {
    let count = 0;
    for (let i = this.#frames.length - 1; i >= this.#head && this.#frames[i]!.seq > seq; i--) count++;
    return count;
  }

  #addChunk(length: number, bytesMax: number): Chunk {
    const usual = Math.min(CHUNK_BYTES_MAX, Math.max(CHUNK_BYTES_MIN, CHUNK_FRAMES * length));
    const size = Math.max(length, Math.min(usual, Math.floor(bytesMax / CHUNK_SHARE)));
    let chunk = this.#spare;
    if (chunk === null || chunk.buf.length < length || chunk.buf.length > 2 * size) {
      this.#makeRoom(size, bytesMax);
      chunk = { buf: new Uint8Array(size), used: 0, frameCount: 0 };
      this.#bytesHeld += size;
    }
    this.#spare = null;
    this.#chunks.push(chunk);
    return chunk;
  }

  /** Frees the oldest chunks, with their frames, until `bytes` more fit. */
  #makeRoom(bytes: number, bytesMax: number): void {
    this.#freeSpare();
    while (this.#chunks.length > 0 && this.#bytesHeld + bytes > bytesMax) {
      const oldest = this.#chunks[0]!;
      while (this.#chunks[0] === oldest) this.#dropOldest();
      this.#freeSpare();
    }
  }

  #dropOldest(): void {
    const { chunk } = this.#frames[this.#head]!;
    this.#head++;
    chunk.frameCount--;
    if (chunk.frameCount === 0) this.#freeChunk();
    if (this.#head > 64 && this.#head * 2 > this.#frames.length) {
      this.#frames.splice(0, this.#head);
      this.#head = 0;
    }
  }

  /** Frees the oldest chunk, which is empty. */
  #freeChunk(): void {
    const chunk = this.#chunks.shift()!;
    this.#freeSpare();
    chunk.used = chunk.frameCount = 0;
    this.#spare = chunk;
  }

  #freeSpare(): void {
    if (this.#spare !== null) this.#bytesHeld -= this.#spare.buf.length;
    this.#spare = null;
  }
}

const bytesOf = ({ chunk, start, length }: Held): Uint8Array => chunk.buf.subarray(start, start + length);
