/** Reads protocol-buffer fields from bytes that may be anything. For messages off the hottest path; packets have their own reader. */

const doubleBytes = new Uint8Array(8);
const doubleValue = new Float64Array(doubleBytes.buffer);
const fixedWords = new Uint32Array(2);
const fixedBigint = new BigUint64Array(fixedWords.buffer);
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** What is wrong with the bytes, and where. */
export class WireFault extends Error {
  override readonly name = 'WireFault';
  readonly offset: number;

  constructor(offset: number, detail: string) {
    super(`byte ${offset}: ${detail}`);
    this.offset = offset;
  }
}

export class WireReader {
  readonly #buf: Uint8Array;
  pos: number;
  readonly end: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.#buf = bytes;
    this.pos = start;
    this.end = end;
  }

  /** @returns the next tag (field << 3 | wire type), or 0 at the end */
  tag(): number {
    if (this.pos >= this.end) return 0;
    const at = this.pos;
    const tag = this.uint();
    if (tag < 8 || tag > 0xffff_ffff) throw new WireFault(at, 'field number out of range');
    return tag;
  }

  /** An integer below 2^53. */
  uint(): number {
    const b = this.#buf;
    const at = this.pos;
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 8; i++) {
      if (this.pos >= this.end) throw new WireFault(this.pos, 'ends within a varint');
      const byte = b[this.pos++]!;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (value > Number.MAX_SAFE_INTEGER) break;
        return value;
      }
      scale *= 128;
    }
    throw new WireFault(at, 'integer of 2^53 or more');
  }

  fixed64(): bigint {
    this.#need(8);
    const b = this.#buf;
    const p = this.pos;
    fixedWords[0] = b[p]! | (b[p + 1]! << 8) | (b[p + 2]! << 16) | (b[p + 3]! << 24);
    fixedWords[1] = b[p + 4]! | (b[p + 5]! << 8) | (b[p + 6]! << 16) | (b[p + 7]! << 24);
    this.pos = p + 8;
    return fixedBigint[0]!;
  }

  double(): number {
    this.#need(8);
    for (let i = 0; i < 8; i++) doubleBytes[i] = this.#buf[this.pos + i]!;
    this.pos += 8;
    return doubleValue[0]!;
  }

  text(): string {
    const to = this.#payloadEnd();
    const at = this.pos;
    this.pos = to;
    if (to === at) return '';
    try {
      return utf8.decode(this.#buf.subarray(at, to));
    } catch {
      throw new WireFault(at, 'text is not UTF-8');
    }
  }

  /** A reader of the next length-delimited field. */
  message(): WireReader {
    const to = this.#payloadEnd();
    const inner = new WireReader(this.#buf, this.pos, to);
    this.pos = to;
    return inner;
  }

  floats(): Float32Array<ArrayBuffer> {
    const to = this.#payloadEnd();
    const length = to - this.pos;
    if (length % 4 !== 0) throw new WireFault(this.pos, `packed floats of ${length} bytes`);
    const out = new Float32Array(length / 4);
    new Uint8Array(out.buffer).set(this.#buf.subarray(this.pos, to)); // little-endian on both sides
    this.pos = to;
    return out;
  }

  /** Where the payload of the next length-delimited field ends. */
  #payloadEnd(): number {
    const at = this.pos;
    const length = this.uint();
    if (length > this.end - this.pos) throw new WireFault(at, `length ${length} with ${this.end - this.pos} bytes left`);
    return this.pos + length;
  }

  /** Steps over a field of a newer schema. */
  skip(tag: number): void {
    switch (tag & 7) {
      case 0:
        for (let i = 0; i < 10; i++) {
          this.#need(1);
          if (this.#buf[this.pos++]! < 0x80) return;
        }
        throw new WireFault(this.pos, 'varint of more than 10 bytes');
      case 1:
        this.#need(8);
        this.pos += 8;
        return;
      case 2:
        this.pos = this.#payloadEnd();
        return;
      case 5:
        this.#need(4);
        this.pos += 4;
        return;
      default:
        throw new WireFault(this.pos, `wire type ${tag & 7}`);
    }
  }

  #need(bytes: number): void {
    if (this.end - this.pos < bytes) throw new WireFault(this.pos, `${bytes} bytes needed, ${this.end - this.pos} left`);
  }
}
