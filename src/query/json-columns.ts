/** Writes columns of numbers as JSON, digit by digit into bytes: most of a page is numbers, and a text for each of them takes several times
 *  as long as its digits (`npm run bench -- derived-reads`). The digits are those of String(number). */
import { Buffer } from 'node:buffer';

const NS_PER_SEC = 1e9;
const TWO_32 = 2 ** 32;
const INT32_MAX = 2 ** 31 - 1;
/** The longest number is -1.2345678901234567e-308, with its comma. */
const NUMBER_BYTES_MAX = 26;
const [COMMA, MINUS, DOT, ZERO, OPENING, CLOSING] = [...Buffer.from(',-.0[]')] as [number, number, number, number, number, number];

export class JsonColumns {
  #bytes: Buffer<ArrayBuffer>;
  #at = 0;

  /** @param bytesExpected more are found room for */
  constructor(bytesExpected: number) {
    this.#bytes = Buffer.allocUnsafeSlow(Math.max(64, bytesExpected));
  }

  /** JSON that is written already. */
  text(json: string): void {
    this.#reserve(3 * json.length);
    this.#at += this.#bytes.write(json, this.#at, 'utf8');
  }

  /** @param texts of ASCII  @param index which of them each element is */
  choices(texts: readonly string[], index: Uint8Array): void {
    const choices = texts.map((text) => Buffer.from(`,${text}`));
    const begun = this.#begin(index.length, Math.max(...choices.map(({ length }) => length)));
    for (const chosen of index) {
      const bytes = choices[chosen]!;
      for (let k = 0; k < bytes.length; k++) this.#bytes[this.#at++] = bytes[k]!;
    }
    this.#end(begun);
  }

  /** Numbers; NaN becomes null. */
  numbers(values: Float64Array | Uint8Array): void {
    const begun = this.#begin(values.length, NUMBER_BYTES_MAX);
    for (let i = 0; i < values.length; i++) {
      const value = values[i]!;
      this.#bytes[this.#at++] = COMMA;
      const thousandths = Math.round(value * 1000);
      if (thousandths / 1000 === value && Math.abs(thousandths) <= INT32_MAX) this.#thousandths(thousandths);
      else this.#at += this.#bytes.write(Number.isNaN(value) ? 'null' : String(value), this.#at, 'latin1');
    }
    this.#end(begun);
  }

  /** Unix ns, as integers to the last digit, or as milliseconds with a fraction of whole microseconds. */
  times(tsNs: BigInt64Array, unit: 'ns' | 'ms'): void {
    const words = new Int32Array(tsNs.buffer, tsNs.byteOffset, 2 * tsNs.length); // no bigint is made for each
    const begun = this.#begin(tsNs.length, NUMBER_BYTES_MAX);
    for (let i = 0; i < tsNs.length; i++) {
      this.#bytes[this.#at++] = COMMA;
      const low = words[2 * i]!;
      // The float may be off by some ns, hence by a second; the low 32 bits are exact.
      let sec = Math.floor((words[2 * i + 1]! * TWO_32 + (low >>> 0)) / NS_PER_SEC);
      let ns = (low - Math.imul(sec, NS_PER_SEC)) | 0;
      if (ns < 0) {
        sec -= 1;
        ns += NS_PER_SEC;
      } else if (ns >= NS_PER_SEC) {
        sec += 1;
        ns -= NS_PER_SEC;
      }
      if (sec < 1 || sec > INT32_MAX) this.#at += this.#bytes.write(farTime(tsNs[i]!, unit), this.#at, 'latin1');
      else if (unit === 'ns') {
        this.#digits(sec, digitsOf(sec));
        this.#digits(ns, 9);
      } else this.#milliseconds(sec, Math.trunc(ns / 1000));
    }
    this.#end(begun);
  }

  /** What was written; afterwards nothing may be. */
  take(): Uint8Array {
    return this.#bytes.subarray(0, this.#at);
  }

  /** Every element is written with a comma before it; of the first one that is the bracket.  @returns where that is */
  #begin(length: number, bytesMax: number): number {
    this.#reserve(2 + length * bytesMax);
    return this.#at;
  }

  #end(begun: number): void {
    if (this.#at === begun) this.#at++;
    this.#bytes[begun] = OPENING;
    this.#bytes[this.#at++] = CLOSING;
  }

  #thousandths(number: number): void {
    if (number < 0) this.#bytes[this.#at++] = MINUS;
    const positive = Math.abs(number);
    const whole = (positive / 1000) | 0;
    this.#digits(whole, digitsOf(whole));
    const rest = positive - 1000 * whole;
    if (rest === 0) return;
    this.#bytes[this.#at++] = DOT;
    if (rest % 100 === 0) this.#digits(rest / 100, 1);
    else if (rest % 10 === 0) this.#digits(rest / 10, 2);
    else this.#digits(rest, 3);
  }

  #milliseconds(sec: number, us: number): void {
    this.#digits(sec, digitsOf(sec));
    this.#digits(Math.trunc(us / 1000), 3);
    if (us % 1000 === 0) return;
    this.#bytes[this.#at++] = DOT;
    this.#digits(us % 1000, 3);
  }

  /** @param number below 2^31  @param count digits, with zeros before */
  #digits(number: number, count: number): void {
    const bytes = this.#bytes;
    let rest = number | 0;
    for (let at = this.#at + count - 1; at >= this.#at; at--) {
      const tenth = (rest / 10) | 0; // a multiplication and a shift, unlike Math.floor
      bytes[at] = ZERO + rest - 10 * tenth;
      rest = tenth;
    }
    this.#at += count;
  }

  #reserve(byteCount: number): void {
    if (this.#at + byteCount <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, this.#at + byteCount));
    larger.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = larger;
  }
}

function digitsOf(number: number): number {
  let count = 1;
  for (let above = 10; number >= above; above *= 10) count++;
  return count;
}

/** A time before 1970 or after 2038. */
function farTime(tsNs: bigint, unit: 'ns' | 'ms'): string {
  if (unit === 'ns') return String(tsNs);
  const us = tsNs / 1000n;
  const fraction = us % 1000n;
  return `${us / 1000n}${fraction === 0n ? '' : `.${String(fraction < 0n ? -fraction : fraction).padStart(3, '0')}`}`;
}

/** Sets a time of `minute` * 60 s + `ns` from 1970 without making a bigint.  @param words those of the column */
export function setTime(words: Int32Array, i: number, minute: number, ns: number): void {
  const whole = Math.floor(ns / NS_PER_SEC);
  const sec = 60 * minute + whole;
  const rest = ns - NS_PER_SEC * whole;
  const low = (Math.imul(sec, NS_PER_SEC) + rest) | 0;
  words[2 * i] = low;
  // The float is off by less than 2^8, and what is left is a multiple of 2^32.
  words[2 * i + 1] = Math.round((sec * NS_PER_SEC + rest - (low >>> 0)) / TWO_32);
}
