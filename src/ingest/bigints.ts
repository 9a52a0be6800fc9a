/** Conversions between number and bigint without a call into the runtime, which Number() and BigInt() are: the way of a packet has a dozen. */

const words = new Uint32Array(2); // little-endian on every machine this runs on
const bigint = new BigUint64Array(words.buffer);
const TWO_32 = 4_294_967_296;

/** @param value 0 .. 2^64 - 1  @returns the same, rounded to 53 bits */
export function numberOf(value: bigint): number {
  bigint[0] = value;
  return words[1]! * TWO_32 + words[0]!;
}

/** @param value a whole number, 0 .. 2^53 */
export function bigintOf(value: number): bigint {
  words[0] = value % TWO_32;
  words[1] = value / TWO_32;
  return bigint[0]!;
}
