/** The last frames of one feed, encoded, for viewers that come back: one circular block of bytes. */

export type RingFrame = Readonly<{ seq: number; bytes: Uint8Array }>;

const FIRST_BYTES = 4096;

export class FrameRing {
  #buf = new Uint8Array(FIRST_BYTES);
  /** Per frame: seq, where its bytes start, how many, when it was put in (ms). Oldest first from #head on. */
  readonly #frames: { seq: number; start: number; length: number; atMs: number }[] = [];
  #head = 0;

  get count(): number {
    return this.#frames.length - this.#head;
  }

  get bytesHeld(): number {
    return this.#buf.length;
  }

  /** Sequence number of the oldest frame, Infinity when empty. */
  get oldestSeq(): number {
    return this.#frames[this.#head]?.seq ?? Infinity;
  }

  /** @param bytes copied  @param bytesMax bound of the ring  @param ageMsMax older frames go */
  push(seq: number, bytes: Uint8Array, nowMs: number, bytesMax: number, ageMsMax: number): void {
    while (this.count > 0 && nowMs - this.#frames[this.#head]!.atMs > ageMsMax) this.#dropOldest();
    const length = bytes.length;
    if (this.#buf.length > 2 * bytesMax && this.#buf.length > FIRST_BYTES) this.#shrink(bytesMax);
    if (length > bytesMax) {
      while (this.count > 0) this.#dropOldest();
      return;
    }
    let start = this.#place(length);
    while (start < 0) {
      if (2 * this.#buf.length <= bytesMax) this.#grow();
      else this.#dropOldest();
      start = this.#place(length);
    }
    this.#buf.set(bytes, start);
    this.#frames.push({ seq, start, length, atMs: nowMs });
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
    return found === undefined ? null : { seq: found.seq, bytes: this.#buf.subarray(found.start, found.start + found.length) };
  }

  /** Frames after `seq`. */
  countAfter(seq: number): number {
    let count = 0;
    for (let i = this.#frames.length - 1; i >= this.#head && this.#frames[i]!.seq > seq; i--) count++;
    return count;
  }

  /** Where `length` bytes fit in one piece, -1 when nowhere. Free is what does not lie between the oldest frame and the write position. */
  #place(length: number): number {
    if (this.count === 0) {
      return length <= this.#buf.length ? 0 : -1;
    }
    const oldest = this.#frames[this.#head]!.start;
    const newest = this.#frames[this.#frames.length - 1]!;
    const at = newest.start + newest.length;
    if (newest.start >= oldest) {
      if (at + length <= this.#buf.length) return at;
      return length <= oldest ? 0 : -1;
    }
    return at + length <= oldest ? at : -1;
  }

  #dropOldest(): void {
    this.#head++;
    if (this.#head > 64 && this.#head * 2 > this.#frames.length) {
      this.#frames.splice(0, this.#head);
      this.#head = 0;
    }
  }

  #grow(): void {
    this.#move(2 * this.#buf.length);
  }

  /** More feeds share the memory now: keeps the newest frames that fit. */
  #shrink(bytesMax: number): void {
    let bytes = 0;
    let keepFrom = this.#frames.length;
    while (keepFrom > this.#head && bytes + this.#frames[keepFrom - 1]!.length <= bytesMax / 2) bytes += this.#frames[--keepFrom]!.length;
    while (this.#head < keepFrom && this.count > 0) {
      const before = this.#frames.length;
      this.#dropOldest();
      keepFrom -= before - this.#frames.length;
    }
    let size = FIRST_BYTES;
    while (2 * size <= bytesMax) size *= 2;
    this.#move(size);
  }

  #move(size: number): void {
    const larger = new Uint8Array(size);
    let at = 0;
    for (let i = this.#head; i < this.#frames.length; i++) {
      const frame = this.#frames[i]!;
      larger.set(this.#buf.subarray(frame.start, frame.start + frame.length), at);
      frame.start = at;
      at += frame.length;
    }
    this.#buf = larger;
  }
}
