/** 53-bit hash of a packet's content (DecodedPacket.contentHash), computed while the packet is read: one packet at a time. */

let hashLow = 0;
let hashHigh = 0;

export function startHash(): void {
  hashLow = 0x2545f491;
  hashHigh = 0x1b873593;
}

export function hashTime(words: DataView, at: number): void {
  hashLow = mixed(hashLow ^ words.getInt32(at, true));
  hashHigh = mixed(hashHigh ^ words.getInt32(at + 4, true));
}

/** Adds the bytes [from, to): consecutive blocks, measurements and events, so that fields before and after them do not shift them. Two
 *  lanes of 32 bits, 16 bytes a step: 36 ns for 250 bytes. Four lanes, or one multiplication per word, take half as long again.
 *  @param words the same bytes */
export function hashBytes(bytes: Uint8Array, words: DataView, from: number, to: number): void {
  const last = to - 16;
  let low = hashLow ^ (to - from);
  let high = hashHigh;
  let p = from;
  for (; p <= last; p += 16) {
    low = (Math.imul(low ^ words.getInt32(p, true), 0x9e3779b1) + words.getInt32(p + 4, true)) | 0;
    high = (Math.imul(high ^ words.getInt32(p + 8, true), 0xc2b2ae35) + words.getInt32(p + 12, true)) | 0;
    low ^= low >>> 15;
    high ^= high >>> 13;
  }
  for (; p < to - 3; p += 4) low = mixed(low ^ words.getInt32(p, true));
  for (; p < to; p++) high = mixed(high ^ bytes[p]!);
  hashLow = mixed(low);
  hashHigh = mixed(high ^ hashLow);
}

function mixed(value: number): number {
  const product = Math.imul(value ^ (value >>> 16), 0x7feb352d);
  return product ^ (product >>> 15);
}

/** @returns an integer below 2^53 */
export function endHash(): number {
  const high = mixed(hashHigh ^ hashLow);
  return (mixed(hashLow) >>> 0) * 2_097_152 + (high >>> 11);
}
