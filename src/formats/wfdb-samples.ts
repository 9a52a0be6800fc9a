/** The sample formats of WFDB's data files, signal(5). */

/** A sample that the recorder marked as missing (each format has its own smallest number for it). */
export const MISSING_SAMPLE = -2_147_483_648;

/** Bits per sample, and the digital value that means "missing" in a format. Format 8 holds differences, and none is missing; 310 and 311
 *  hold three samples in 32 bits. */
export const formats = {
  8: { bits: 8, missing: MISSING_SAMPLE },
  16: { bits: 16, missing: -32_768 },
  24: { bits: 24, missing: -8_388_608 },
  32: { bits: 32, missing: MISSING_SAMPLE },
  61: { bits: 16, missing: -32_768 },
  80: { bits: 8, missing: -128 },
  160: { bits: 16, missing: -32_768 },
  212: { bits: 12, missing: -2_048 },
  310: { bits: 10, missing: -512 },
  311: { bits: 10, missing: -512 },
} as const;
export type WfdbFormat = keyof typeof formats;

export function isFormat(format: number): format is WfdbFormat {
  return Object.hasOwn(formats, format);
}

/** Samples that a file of so many bytes holds. */
export function samplesIn(byteCount: number, format: WfdbFormat): number {
  if (format === 310 || format === 311) return 3 * Math.floor(byteCount / 4) + (byteCount % 4 >= 2 ? 1 : 0);
  return Math.floor((byteCount * 8) / formats[format].bits);
}

/** Digital values; of format 8 the differences. @param count samples, all of which are known to be within bytes */
export function decodeSamples(bytes: Uint8Array, format: WfdbFormat, count: number): Int32Array {
  const out = new Int32Array(count);
  switch (format) {
    case 16:
      for (let i = 0; i < count; i++) out[i] = ((bytes[2 * i]! | (bytes[2 * i + 1]! << 8)) << 16) >> 16;
      return out;
    case 61:
      for (let i = 0; i < count; i++) out[i] = ((bytes[2 * i + 1]! | (bytes[2 * i]! << 8)) << 16) >> 16;
      return out;
    case 160:
      for (let i = 0; i < count; i++) out[i] = (bytes[2 * i]! | (bytes[2 * i + 1]! << 8)) - 32_768;
      return out;
    case 80:
      for (let i = 0; i < count; i++) out[i] = bytes[i]! - 128;
      return out;
    case 24:
      for (let i = 0; i < count; i++) out[i] = ((bytes[3 * i]! | (bytes[3 * i + 1]! << 8) | (bytes[3 * i + 2]! << 16)) << 8) >> 8;
      return out;
    case 32:
      for (let i = 0; i < count; i++) {
        out[i] = bytes[4 * i]! | (bytes[4 * i + 1]! << 8) | (bytes[4 * i + 2]! << 16) | (bytes[4 * i + 3]! << 24);
      }
      return out;
    case 212:
      // Two samples in three bytes: the middle byte carries the high nibbles (low nibble: first sample).
      for (let i = 0; i < count; i++) {
        const at = (i >> 1) * 3;
        const value = (i & 1) === 0 ? bytes[at]! | ((bytes[at + 1]! & 0x0f) << 8) : bytes[at + 2]! | ((bytes[at + 1]! & 0xf0) << 4);
        out[i] = (value << 20) >> 20;
      }
      return out;
    case 310:
      // Three samples in two little-endian pairs of bytes: ten bits above the lowest of each pair; the third in the five highest of both.
      for (let i = 0; i < count; i++) {
        const at = Math.floor(i / 3) * 4;
        const first = bytes[at]! | (bytes[at + 1]! << 8);
        const second = bytes[at + 2]! | (bytes[at + 3]! << 8);
        const value = i % 3 === 0 ? first >> 1 : i % 3 === 1 ? second >> 1 : (first >> 11) | ((second >> 11) << 5);
        out[i] = (value << 22) >> 22;
      }
      return out;
    case 311:
      // Three samples of ten bits in a little-endian word of 32, the first one lowest.
      for (let i = 0; i < count; i++) {
        const at = Math.floor(i / 3) * 4;
        const word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
        out[i] = ((word >> (10 * (i % 3))) << 22) >> 22;
      }
      return out;
    case 8:
      for (let i = 0; i < count; i++) out[i] = (bytes[i]! << 24) >> 24;
      return out;
    default: {
      const never: never = format;
      throw new RangeError(`format ${String(never)}`);
    }
  }
}
