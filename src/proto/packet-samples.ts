/** Samples of one block from the bytes [from, to) of a packet: differences, 16 and 24 bit integers, floats.
 *  Each function is called directly by packet-decode.ts: choosing one by its tag in here costs 7 % of decoding a packet of 100 ms. */
import { fault } from './packet-fault.ts';

const NO_SAMPLES = new Int32Array(0);

/** Sample memory is cut from shared slabs: an Int32Array of more than 64 bytes allocates memory of its own, a view does not. */
const SLAB_SAMPLES = 16 * 1024; // 64 KiB
const SLAB_SHARE_MAX = SLAB_SAMPLES >> 3; // larger ones get their own memory
let slab = new Int32Array(SLAB_SAMPLES);
let slabBuffer = slab.buffer; // asking an array for its memory is a call into the runtime
let slabUsed = 0;

function takeSamples(n: number): Int32Array {
  if (n > SLAB_SHARE_MAX) return new Int32Array(n);
  if (slabUsed + n > SLAB_SAMPLES) newSlab();
  slabUsed += n;
  return new Int32Array(slabBuffer, (slabUsed - n) * 4, n);
}

function newSlab(): void {
  slab = new Int32Array(SLAB_SAMPLES);
  slabBuffer = slab.buffer;
  slabUsed = 0;
}

export function readDeltas(bytes: Uint8Array, words: DataView, from: number, to: number, samplesMax: number): Int32Array {
  const length = to - from;
  if (length === 0) return NO_SAMPLES;
  if (bytes[to - 1]! >= 0x80) fault(to - 1, 'deltas end within a varint');
  // A sample takes at least one byte, so `length` is an upper bound: if the slab has room for it, samples are not counted first.
  if (length > SLAB_SHARE_MAX || length > samplesMax) {
    let n = 0;
    for (let i = from; i < to; i++) n += (bytes[i]! >>> 7) ^ 1;
    if (n > samplesMax) fault(from, 'more samples than the limit of one packet');
    const out = new Int32Array(n);
    decodeDeltas(bytes, words, from, to, out, 0);
    return out;
  }
  if (slabUsed + length > SLAB_SAMPLES) newSlab();
  const first = slabUsed;
  slabUsed = decodeDeltas(bytes, words, from, to, slab, first);
  return new Int32Array(slabBuffer, first * 4, slabUsed - first);
}

/** The last byte of [from, to) ends a varint, so reading whole varints stops exactly there. Four deltas of one byte each, the usual case,
 *  are read as one word: half the time of byte by byte. @returns index after the last sample */
function decodeDeltas(bytes: Uint8Array, words: DataView, from: number, to: number, out: Int32Array, first: number): number {
  const wordEnd = to - 4;
  let p = from;
  let k = first;
  let value = 0;
  while (p < to) {
    if (p <= wordEnd) {
      const w = words.getInt32(p, true);
      if ((w & 0x80808080) === 0) {
        value = (value + (((w >>> 1) & 0x3f) ^ -(w & 1))) | 0;
        out[k] = value;
        value = (value + (((w >>> 9) & 0x3f) ^ -((w >>> 8) & 1))) | 0;
        out[k + 1] = value;
        value = (value + (((w >>> 17) & 0x3f) ^ -((w >>> 16) & 1))) | 0;
        out[k + 2] = value;
        value = (value + (((w >>> 25) & 0x3f) ^ -((w >>> 24) & 1))) | 0;
        out[k + 3] = value;
        k += 4;
        p += 4;
        continue;
      }
    }
    let byte = bytes[p++]!;
    let z = byte;
    if (byte >= 0x80) {
      byte = bytes[p++]!;
      z = (z & 0x7f) | ((byte & 0x7f) << 7);
      if (byte >= 0x80) {
        byte = bytes[p++]!;
        z |= (byte & 0x7f) << 14;
        if (byte >= 0x80) {
          byte = bytes[p++]!;
          z |= (byte & 0x7f) << 21;
          if (byte >= 0x80) {
            byte = bytes[p++]!;
            if (byte > 0x0f) fault(p - 1, 'a delta is longer than 32 bits');
            z |= byte << 28;
          }
        }
      }
    }
    value = (value + ((z >>> 1) ^ -(z & 1))) | 0;
    out[k++] = value;
  }
  return k;
}

export function readInt16(bytes: Uint8Array, from: number, to: number, samplesMax: number): Int32Array {
  const length = to - from;
  if (length % 2 !== 0) fault(from, `int16 of ${length} bytes`);
  const n = length / 2;
  if (n > samplesMax) fault(from, 'more samples than the limit of one packet');
  const out = takeSamples(n);
  for (let i = 0, p = from; i < n; i++, p += 2) out[i] = ((bytes[p]! | (bytes[p + 1]! << 8)) << 16) >> 16;
  return out;
}

export function readInt24(bytes: Uint8Array, from: number, to: number, samplesMax: number): Int32Array {
  const length = to - from;
  if (length % 3 !== 0) fault(from, `int24 of ${length} bytes`);
  const n = length / 3;
  if (n > samplesMax) fault(from, 'more samples than the limit of one packet');
  const out = takeSamples(n);
  for (let i = 0, p = from; i < n; i++, p += 3) out[i] = ((bytes[p]! | (bytes[p + 1]! << 8) | (bytes[p + 2]! << 16)) << 8) >> 8;
  return out;
}

export function readFloat32(bytes: Uint8Array, from: number, to: number, samplesMax: number): Float32Array {
  const length = to - from;
  if (length % 4 !== 0) fault(from, `float32 of ${length} bytes`);
  const n = length / 4;
  if (n > samplesMax) fault(from, 'more samples than the limit of one packet');
  const out = new Float32Array(n);
  new Uint8Array(out.buffer).set(bytes.subarray(from, to)); // the wire and every machine this runs on are little-endian
  return out;
}
