/** Writes protocol-buffer fields into one growing buffer. Tags are passed whole (field << 3 | wire type), below 0x4000. */

const fixedWords = new Uint32Array(2);
const fixedBigint = new BigUint64Array(fixedWords.buffer);
const doubleBytes = new Uint8Array(8);
const doubleValue = new Float64Array(doubleBytes.buffer);
const encoder = new TextEncoder();

export class WireWriter {
  #buf: Uint8Array<ArrayBuffer>;
  /** Of the same bytes. */
  #view: DataView<ArrayBuffer>;
  #pos = 0;

  constructor(bytes: number) {
    this.#buf = new Uint8Array(Math.max(64, bytes));
    this.#view = new DataView(this.#buf.buffer);
  }

  reset(): void {
    this.#pos = 0;
  }

  /** A copy of what was written; the writer may be used again. */
  take(): Uint8Array<ArrayBuffer> {
    const out = this.#buf.slice(0, this.#pos);
    this.#pos = 0;
    return out;
  }

  /** What was written, in the writer's own memory: valid until it writes again. */
  view(): Uint8Array<ArrayBuffer> {
    return this.#buf.subarray(0, this.#pos);
  }

  get length(): number {
    return this.#pos;
  }

  #reserve(bytes: number): void {
    if (this.#pos + bytes <= this.#buf.length) return;
    const larger = new Uint8Array(Math.max(2 * this.#buf.length, this.#pos + bytes));
    larger.set(this.#buf.subarray(0, this.#pos));
    this.#buf = larger;
    this.#view = new DataView(larger.buffer);
  }

  #tag(tag: number): void {
    if (tag >= 0x80) this.#buf[this.#pos++] = (tag & 0x7f) | 0x80;
    this.#buf[this.#pos++] = tag >= 0x80 ? tag >>> 7 : tag;
  }

  #varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.#buf[this.#pos++] = (rest % 128) | 0x80;
      rest = Math.floor(rest / 128);
    }
    this.#buf[this.#pos++] = rest;
  }

  uint(tag: number, value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} is not an integer in 0 .. 2^53 - 1`);
    this.#reserve(12);
    this.#tag(tag);
    this.#varint(value);
  }

  fixed64(tag: number, value: bigint): void {
    if (value < 0n || value > 0xffff_ffff_ffff_ffffn) throw new RangeError(`${value} does not fit 64 bits`);
    this.#reserve(10);
    this.#tag(tag);
    fixedBigint[0] = value;
    this.#word(fixedWords[0]!);
    this.#word(fixedWords[1]!);
  }

  #word(word: number): void {
    const b = this.#buf;
    b[this.#pos++] = word & 0xff;
    b[this.#pos++] = (word >>> 8) & 0xff;
    b[this.#pos++] = (word >>> 16) & 0xff;
    b[this.#pos++] = word >>> 24;
  }

  double(tag: number, value: number): void {
    this.#reserve(10);
    this.#tag(tag);
    doubleValue[0] = value;
    this.#buf.set(doubleBytes, this.#pos);
    this.#pos += 8;
  }

  text(tag: number, value: string): void {
    const bytesMax = value.length * 3;
    this.#reserve(bytesMax + 8);
    const at = this.open(tag);
    const b = this.#buf;
    let p = this.#pos;
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i);
      if (code >= 0x80) {
        p = this.#pos + encoder.encodeInto(value, b.subarray(this.#pos)).written;
        break;
      }
      b[p++] = code;
    }
    this.#pos = p;
    this.close(at);
  }

  bytes(tag: number, value: Uint8Array): void {
    this.#reserve(value.length + 8);
    this.#tag(tag);
    this.#varint(value.length);
    this.#buf.set(value, this.#pos);
    this.#pos += value.length;
  }

  /** A length and the bytes, without a tag. */
  delimited(value: Uint8Array): void {
    this.#reserve(value.length + 8);
    this.#varint(value.length);
    this.#buf.set(value, this.#pos);
    this.#pos += value.length;
  }

  /** Bytes that are fields already. */
  raw(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#buf.set(value, this.#pos);
    this.#pos += value.length;
  }

  /** Starts a length-delimited field. One byte is kept for its length: most are below 128, longer ones are moved once in close(). */
  open(tag: number): number {
    this.#reserve(8);
    this.#tag(tag);
    this.#pos++;
    return this.#pos;
  }

  close(start: number): void {
    const length = this.#pos - start;
    if (length < 0x80) {
      this.#buf[start - 1] = length;
      return;
    }
    let extra = 0;
    for (let rest = length; rest >= 0x80; rest = Math.floor(rest / 128)) extra++;
    this.#reserve(extra);
    this.#buf.copyWithin(start + extra, start, this.#pos);
    this.#pos = start - 1;
    this.#varint(length);
    this.#pos += length;
  }

  /** First value and differences, zigzag varints, modulo 2^32. */
  deltas(tag: number, samples: Int32Array): void {
    this.#reserve(8 + 5 * samples.length);
    const at = this.open(tag);
    const b = this.#buf;
    let p = this.#pos;
    let previous = 0;
    for (let i = 0; i < samples.length; i++) {
      const delta = (samples[i]! - previous) | 0;
      previous = samples[i]!;
      let z = ((delta << 1) ^ (delta >> 31)) >>> 0;
      while (z >= 0x80) {
        b[p++] = (z & 0x7f) | 0x80;
        z >>>= 7;
      }
      b[p++] = z;
    }
    this.#pos = p;
    this.close(at);
  }

  int16(tag: number, samples: Int32Array): void {
    this.#reserve(8 + 2 * samples.length);
    const at = this.open(tag);
    const b = this.#buf;
    let p = this.#pos;
    for (let i = 0; i < samples.length; i++) {
      const x = samples[i]!;
      if ((x << 16) >> 16 !== x) throw new RangeError(`sample ${i}: ${x} does not fit int16`);
      b[p++] = x & 0xff;
      b[p++] = (x >> 8) & 0xff;
    }
    this.#pos = p;
    this.close(at);
  }

  int24(tag: number, samples: Int32Array): void {
    this.#reserve(8 + 3 * samples.length);
    const at = this.open(tag);
    const b = this.#buf;
    let p = this.#pos;
    for (let i = 0; i < samples.length; i++) {
      const x = samples[i]!;
      if ((x << 8) >> 8 !== x) throw new RangeError(`sample ${i}: ${x} does not fit int24`);
      b[p++] = x & 0xff;
      b[p++] = (x >> 8) & 0xff;
      b[p++] = (x >> 16) & 0xff;
    }
    this.#pos = p;
    this.close(at);
  }

  floats(tag: number, samples: Float32Array): void {
    this.#reserve(8 + 4 * samples.length);
    this.#tag(tag);
    this.#varint(4 * samples.length);
    this.#buf.set(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength), this.#pos); // little-endian on both sides
    this.#pos += samples.byteLength;
  }

  /** Physical values of [from, to) as packed floats, written where they go: no array between. */
  physicalFloats(tag: number, samples: Int32Array, from: number, to: number, baseline: number, scale: number): void {
    const bytes = 4 * (to - from);
    this.#reserve(8 + bytes);
    this.#tag(tag);
    this.#varint(bytes);
    const view = this.#view;
    let p = this.#pos;
    for (let i = from; i < to; i++, p += 4) view.setFloat32(p, (samples[i]! - baseline) * scale, true);
    this.#pos = p;
  }

  /** A length-delimited field of which one part is at hand and `rest` bytes follow. */
  head(tag: number, part: Uint8Array, rest: number): void {
    this.#reserve(8 + part.length);
    this.#tag(tag);
    this.#varint(part.length + rest);
    const b = this.#buf;
    let p = this.#pos;
    // some 30 bytes: less than a call of set()
    for (let i = 0; i < part.length; i++) b[p++] = part[i]!;
    this.#pos = p;
  }

  /** Runs of equal flags: length * 4 + flag. */
  qmaskRuns(tag: number, qmask: Uint8Array): void {
    const at = this.open(tag);
    let i = 0;
    while (i < qmask.length) {
      const flag = qmask[i]!;
      let end = i + 1;
      while (end < qmask.length && qmask[end] === flag) end++;
      this.#reserve(8);
      this.#varint((end - i) * 4 + flag);
      i = end;
    }
    this.close(at);
  }
}
