/** Packs the samples of one block: adaptive delta bit-packing for integers, exact for every int32; floats as they are.
 *
 *  The layout is in docs/wire-format.md. In short, per run: frames of 32 samples, each predicted from the one, two or three samples
 *  before it, whichever needs the fewest bits, and packed with exactly that many. All arithmetic is modulo 2^32, so nothing overflows.
 *  A frame of 32 at width w fills w words, so packing works on words and needs no bit position. */
import { rejected, type Rejected } from '../errors.ts';
import type { Samples } from '../signal.ts';

/** Consecutive samples on a grid; a SampleRun without its channel. */
export type BlockRun = Readonly<{
  k0: number;
  samples: Samples;
  /** Per sample 0, 1 or 2; null when all are good. */
  qmask: Uint8Array | null;
}>;

/** Magic nibble B, version 1. */
const VERSION = 0xb1;
const PACKED = 0;
const RAW_INT16 = 1;
const RAW_INT32 = 2;
const FLOAT32 = 3;
/** Bit of a run's form byte: quality follows the samples. */
const HAS_QUALITY = 0x10;

const FRAME = 32;
/** Runs of one block; more are refused by the decoder before it allocates. */
export const blockRunsMax = 65_536;
/** Samples of one block. */
export const blockSamplesMax = 1 << 24;

// One frame at a time passes through here: residuals of the three predictions, and the words they are packed into.
const residual1 = new Int32Array(FRAME);
const residualView = new DataView(residual1.buffer);
const residual2 = new Int32Array(FRAME);
const residual3 = new Int32Array(FRAME);
const frameWords = new Uint32Array(FRAME + 1);
const frameBytes = new Uint8Array(frameWords.buffer);

/** Bytes that encodeBlock can need at most for these runs. */
export function blockBytesMax(runs: readonly BlockRun[]): number {
  let bytes = 1 + 5;
  for (const run of runs)
    bytes += 24 + 4 * run.samples.length + (run.samples.length >> 5) + (run.qmask === null ? 0 : 5 * run.samples.length);
  return bytes;
}

/** Packs runs into `out` from `at` on. @param out holds blockBytesMax(runs) bytes after `at`  @returns the end */
export function encodeBlockInto(runs: readonly BlockRun[], out: Uint8Array, at: number): number {
  out[at++] = VERSION;
  at = putVarint(out, at, runs.length);
  for (const run of runs) at = encodeRun(run, out, at);
  return at;
}

/** Packs runs. @param runs at least one, none empty; k0 an integer 0..2^53 */
export function encodeBlock(runs: readonly BlockRun[]): Uint8Array {
  const out = new Uint8Array(blockBytesMax(runs));
  return out.slice(0, encodeBlockInto(runs, out, 0));
}

/** Where packed samples of many blocks go one after the other, as long as there is room: no memory of its own for each. */
export type SampleRoom = { readonly samples: Int32Array; used: number };

/** Unpacks a block. Every byte must be there and none may be left over; anything else is Rejected, never a wrong sample. */
export function decodeBlock(bytes: Uint8Array, room: SampleRoom | null = null): BlockRun[] | Rejected {
  if (bytes.length === 0) return corrupt(0, 'empty');
  if (bytes[0] !== VERSION) return corrupt(0, `unknown version ${bytes[0]}`);
  const cursor: Cursor = { at: 1, fault: '' };
  const count = getVarint(bytes, cursor);
  if (cursor.fault === '' && (count === 0 || count > blockRunsMax || count > bytes.length)) cursor.fault = `${count} runs`;
  const runs: BlockRun[] = [];
  let total = 0;
  for (let i = 0; i < count && cursor.fault === ''; i++) {
    const run = decodeRun(bytes, cursor, blockSamplesMax - total, room);
    if (run === null) break;
    total += run.samples.length;
    runs.push(run);
  }
  if (cursor.fault === '' && cursor.at !== bytes.length) cursor.fault = `${bytes.length - cursor.at} bytes left over`;
  return cursor.fault === '' ? runs : corrupt(cursor.at, cursor.fault);
}

type Cursor = { at: number; fault: string };

function corrupt(at: number, what: string): Rejected {
  return rejected('internal', `sample block is damaged at byte ${at}: ${what}`);
}

// ---------------------------------------------------------------------------------------------------------------- encoding

function encodeRun(run: BlockRun, out: Uint8Array, at: number): number {
  const { samples, qmask } = run;
  const n = samples.length;
  const quality = qmask !== null && qmask.some((flag) => flag !== 0) ? HAS_QUALITY : 0;
  const formAt = at;
  at = putVarint(out, at + 1, run.k0);
  at = putVarint(out, at, n);
  if (samples instanceof Float32Array) {
    out[formAt] = FLOAT32 | quality;
    at = putRaw(out, at, samples);
  } else {
    const end = packIntegers(samples, out, at);
    const raw = end - at > 2 * n ? rawForm(samples) : PACKED;
    // Noise over the full range packs to slightly more than its own width: keep it readable instead.
    if (raw === RAW_INT16 || (raw === RAW_INT32 && end - at > 4 * n)) {
      out[formAt] = raw | quality;
      at = putRaw(out, at, raw === RAW_INT16 ? Int16Array.from(samples) : samples);
    } else {
      out[formAt] = PACKED | quality;
      at = end;
    }
  }
  return quality === 0 ? at : putQuality(out, at, qmask!);
}

function rawForm(samples: Int32Array): number {
  for (let i = 0; i < samples.length; i++) if ((samples[i]! << 16) >> 16 !== samples[i]!) return RAW_INT32;
  return RAW_INT16;
}

function putRaw(out: Uint8Array, at: number, values: Int16Array | Int32Array | Float32Array): number {
  out.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), at);
  return at + values.byteLength;
}

/** First sample, then one byte per frame (order and width), then the words of the frames. */
function packIntegers(samples: Int32Array, out: Uint8Array, at: number): number {
  const n = samples.length;
  const first = samples[0]!;
  at = putVarint(out, at, ((first << 1) ^ (first >> 31)) >>> 0);
  let head = at;
  at += Math.ceil((n - 1) / FRAME);
  let a = first; // the sample before
  let d1 = 0; // its difference to the one before it
  let d2 = 0; // the difference of the last two differences
  for (let from = 1; from < n; from += FRAME) {
    const length = n - from < FRAME ? n - from : FRAME;
    let or1 = 0;
    let or2 = 0;
    let or3 = 0;
    for (let i = 0; i < length; i++) {
      const x = samples[from + i]!;
      const e1 = (x - a) | 0;
      const e2 = (e1 - d1) | 0;
      const e3 = (e2 - d2) | 0;
      a = x;
      d1 = e1;
      d2 = e2;
      const z1 = (e1 << 1) ^ (e1 >> 31);
      const z2 = (e2 << 1) ^ (e2 >> 31);
      const z3 = (e3 << 1) ^ (e3 >> 31);
      residual1[i] = z1;
      residual2[i] = z2;
      residual3[i] = z3;
      or1 |= z1;
      or2 |= z2;
      or3 |= z3;
    }
    const width1 = 32 - Math.clz32(or1);
    const width2 = 32 - Math.clz32(or2);
    const width3 = 32 - Math.clz32(or3);
    if (width1 <= width2 && width1 <= width3) {
      out[head++] = width1;
      at = packFrame(residual1, length, width1, out, at);
    } else if (width2 <= width3) {
      out[head++] = width2 | 0x40;
      at = packFrame(residual2, length, width2, out, at);
    } else {
      out[head++] = width3 | 0x80;
      at = packFrame(residual3, length, width3, out, at);
    }
  }
  return at;
}

function packFrame(values: Int32Array, length: number, width: number, out: Uint8Array, at: number): number {
  if (width === 0) return at;
  let word = 0;
  let used = 0;
  let acc = 0;
  for (let i = 0; i < length; i++) {
    const value = values[i]!;
    acc |= value << used;
    used += width;
    if (used >= 32) {
      frameWords[word++] = acc;
      used -= 32;
      acc = used === 0 ? 0 : value >>> (width - used);
    }
  }
  frameWords[word] = acc;
  const bytes = (length * width + 7) >> 3;
  for (let i = 0; i < bytes; i++) out[at + i] = frameBytes[i]!;
  return at + bytes;
}

/** Lengths of equal flags: varint (length << 2 | flag) until the lengths add up to n. */
function putQuality(out: Uint8Array, at: number, qmask: Uint8Array): number {
  for (let from = 0; from < qmask.length;) {
    let to = from + 1;
    while (to < qmask.length && qmask[to] === qmask[from]) to++;
    at = putVarint(out, at, (to - from) * 4 + qmask[from]!);
    from = to;
  }
  return at;
}

/** LEB128 of an integer 0..2^53. */
function putVarint(out: Uint8Array, at: number, value: number): number {
  while (value >= 0x80) {
    out[at++] = (value % 0x80) | 0x80;
    value = Math.floor(value / 0x80);
  }
  out[at++] = value;
  return at;
}

// ---------------------------------------------------------------------------------------------------------------- decoding

function decodeRun(bytes: Uint8Array, cursor: Cursor, samplesLeft: number, room: SampleRoom | null): BlockRun | null {
  const form = bytes[cursor.at++];
  if (form === undefined) return fault(cursor, 'cut in a run');
  const k0 = getVarint(bytes, cursor);
  const n = getVarint(bytes, cursor);
  if (cursor.fault !== '') return null;
  if (n === 0 || n > samplesLeft) return fault(cursor, `${n} samples`);
  const samples = decodeSamples(form & ~HAS_QUALITY, bytes, cursor, n, room);
  if (samples === null) return null;
  const qmask = (form & HAS_QUALITY) === 0 ? null : decodeQuality(bytes, cursor, n);
  return cursor.fault === '' ? { k0, samples, qmask } : null;
}

function decodeSamples(form: number, bytes: Uint8Array, cursor: Cursor, n: number, room: SampleRoom | null): Samples | null {
  switch (form) {
    case PACKED:
      return unpackIntegers(bytes, cursor, n, room);
    case RAW_INT16: {
      const raw = getRaw(bytes, cursor, 2 * n);
      return raw === null ? null : Int32Array.from(new Int16Array(raw));
    }
    case RAW_INT32: {
      const raw = getRaw(bytes, cursor, 4 * n);
      return raw === null ? null : new Int32Array(raw);
    }
    case FLOAT32: {
      const raw = getRaw(bytes, cursor, 4 * n);
      return raw === null ? null : new Float32Array(raw);
    }
    default:
      return fault(cursor, `unknown form ${form}`);
  }
}

function getRaw(bytes: Uint8Array, cursor: Cursor, length: number): ArrayBuffer | null {
  if (cursor.at + length > bytes.length) return fault(cursor, 'cut in raw samples');
  const copy = new Uint8Array(length); // not slice(): a Buffer's is a view of memory that it shares
  copy.set(bytes.subarray(cursor.at, cursor.at + length));
  cursor.at += length;
  return copy.buffer;
}

function unpackIntegers(bytes: Uint8Array, cursor: Cursor, n: number, room: SampleRoom | null): Int32Array | null {
  const first = getVarint(bytes, cursor);
  if (cursor.fault !== '') return null;
  if (first > 0xffff_ffff) return fault(cursor, 'first sample is wider than 32 bits');
  let head = cursor.at;
  let at = head + Math.ceil((n - 1) / FRAME);
  if (at > bytes.length) return fault(cursor, 'cut in frame heads'); // before allocating: n is bounded by the bytes that are there
  const samples = samplesIn(room, n);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let a = (first >>> 1) ^ -(first & 1);
  let d1 = 0;
  let d2 = 0;
  samples[0] = a;
  for (let from = 1; from < n; from += FRAME) {
    const length = n - from < FRAME ? n - from : FRAME;
    const order = bytes[head]! >> 6;
    const width = bytes[head++]! & 0x3f;
    const size = (length * width + 7) >> 3;
    if (order === 3 || width > 32) return fault(cursor, `frame head ${bytes[head - 1]}`);
    if (at + size > bytes.length) return fault(cursor, 'cut in a frame');
    // Read where they lie, four bytes from the one that holds the first bit; frames that are wide or at the end by way of residual1.
    const inPlace = width <= WIDTH_IN_PLACE_MAX && at + size + 4 <= bytes.length;
    let source = view;
    let bit = 8 * at;
    let step = width;
    let mask = (1 << width) - 1;
    if (!inPlace) {
      unpackFrame(bytes, at, size, length, width);
      [source, bit, step, mask] = [residualView, 0, 32, -1];
    }
    at += size;
    const to = from + length;
    // What residuals are of: steps, steps of steps, or steps of those. d1 and d2 are the last of the two, for the next frame.
    if (order === 0) {
      let before = d1;
      for (let i = from; i < to; i++, bit += step) {
        const z = (source.getInt32(bit >> 3, true) >>> (bit & 7)) & mask;
        before = d1;
        d1 = (z >>> 1) ^ -(z & 1);
        a = (a + d1) | 0;
        samples[i] = a;
      }
      d2 = (d1 - before) | 0;
    } else if (order === 1) {
      for (let i = from; i < to; i++, bit += step) {
        const z = (source.getInt32(bit >> 3, true) >>> (bit & 7)) & mask;
        d2 = (z >>> 1) ^ -(z & 1);
        d1 = (d1 + d2) | 0;
        a = (a + d1) | 0;
        samples[i] = a;
      }
    } else {
      for (let i = from; i < to; i++, bit += step) {
        const z = (source.getInt32(bit >> 3, true) >>> (bit & 7)) & mask;
        d2 = (d2 + ((z >>> 1) ^ -(z & 1))) | 0;
        d1 = (d1 + d2) | 0;
        a = (a + d1) | 0;
        samples[i] = a;
      }
    }
  }
  cursor.at = at;
  return samples;
}

function samplesIn(room: SampleRoom | null, n: number): Int32Array {
  if (room === null || n > room.samples.length - room.used) return new Int32Array(n);
  return room.samples.subarray(room.used, (room.used += n));
}

/** A value of so many bits that begins anywhere in a byte lies in four bytes. */
const WIDTH_IN_PLACE_MAX = 25;

/** The values of one frame into residual1. */
function unpackFrame(bytes: Uint8Array, at: number, size: number, length: number, width: number): void {
  if (width === 0) {
    residual1.fill(0);
    return;
  }
  for (let i = 0; i < size; i++) frameBytes[i] = bytes[at + i]!;
  const mask = width === 32 ? -1 : (1 << width) - 1;
  let word = 0;
  let acc = frameWords[0]!;
  let left = 32;
  for (let i = 0; i < length; i++) {
    if (left >= width) {
      residual1[i] = acc & mask;
      acc = width === 32 ? 0 : acc >>> width;
      left -= width;
    } else {
      const next = frameWords[++word]!;
      residual1[i] = (left === 0 ? next : acc | (next << left)) & mask;
      const taken = width - left;
      acc = taken === 32 ? 0 : next >>> taken;
      left = 32 - taken;
    }
  }
}

function decodeQuality(bytes: Uint8Array, cursor: Cursor, n: number): Uint8Array | null {
  const qmask = new Uint8Array(n);
  for (let from = 0; from < n;) {
    const token = getVarint(bytes, cursor);
    if (cursor.fault !== '') return null;
    const length = Math.floor(token / 4);
    const flag = token % 4;
    if (length === 0 || flag === 3 || from + length > n) return fault(cursor, `quality ${token}`);
    if (flag !== 0) qmask.fill(flag, from, from + length);
    from += length;
  }
  return qmask;
}

function getVarint(bytes: Uint8Array, cursor: Cursor): number {
  let value = 0;
  for (let scale = 1; scale <= 2 ** 49; scale *= 0x80) {
    const byte = bytes[cursor.at++];
    if (byte === undefined) {
      fault(cursor, 'cut in a number');
      return 0;
    }
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) {
      if (value <= Number.MAX_SAFE_INTEGER) return value;
      break;
    }
  }
  fault(cursor, 'a number above 2^53');
  return 0;
}

function fault(cursor: Cursor, what: string): null {
  if (cursor.fault === '') cursor.fault = what;
  return null;
}
