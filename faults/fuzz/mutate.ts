/** Mutations of byte strings: what a broken device, a cut transfer or an attacker makes of a valid input. */
import type { Random } from '../../src/cli/simulator/random.ts';

/** Values at the edges of what length fields and varints can hold. */
const interesting = [0x00, 0x01, 0x7f, 0x80, 0xff, 0x0a, 0x22, 0x5d, 0x7b];
/** What text must not hold, as UTF-8 and as JSON writes it: NUL, an escape sequence, C1, a lone surrogate. */
const badText = ['\0', '\u001b[2J', '\u0085', '\\u0000', '\\ud800'].map((text) => new TextEncoder().encode(text));
badText.push(Uint8Array.of(0xed, 0xa0, 0x80));
const BYTES_MAX = 4096;

const below = (random: Random, n: number): number => Math.floor(random.next() * n);

/** One to four mutations. @param other another valid input, for splices; never changed, like `bytes` */
export function mutate(bytes: Uint8Array, other: Uint8Array, random: Random): Uint8Array {
  let out: Uint8Array = bytes.slice();
  for (let i = below(random, 4); i >= 0; i--) out = mutateOnce(out, other, random);
  return out;
}

function mutateOnce(bytes: Uint8Array, other: Uint8Array, random: Random): Uint8Array {
  const n = bytes.length;
  if (n === 0) return other.slice(0, below(random, other.length + 1));
  const at = below(random, n);
  switch (below(random, 11)) {
    case 0: // flip one bit
      bytes[at]! ^= 1 << below(random, 8);
      return bytes;
    case 1: // any byte
      bytes[at] = below(random, 256);
      return bytes;
    case 2: // an edge
      bytes[at] = interesting[below(random, interesting.length)]!;
      return bytes;
    case 3: // a run of one byte: varints without end, great lengths
      bytes.fill(random.next() < 0.5 ? 0xff : 0x80, at, at + 1 + below(random, 12));
      return bytes;
    case 4: // cut the end
      return bytes.slice(0, at);
    case 5: // take something out
      return joined(bytes.subarray(0, at), bytes.subarray(at + 1 + below(random, 8)));
    case 6: {
      // put something in
      const some = Uint8Array.from({ length: 1 + below(random, 8) }, () => below(random, 256));
      return joined(bytes.subarray(0, at), some, bytes.subarray(at));
    }
    case 7: {
      // repeat a piece: nested and repeated messages
      const piece = bytes.subarray(at, at + 1 + below(random, 64));
      const times = 1 + below(random, 8);
      return joined(bytes.subarray(0, at), ...Array.from({ length: times }, () => piece), bytes.subarray(at)).slice(0, BYTES_MAX);
    }
    case 8: // the head of one, the tail of another
      return joined(bytes.subarray(0, at), other.subarray(below(random, other.length + 1))).slice(0, BYTES_MAX);
    case 9: {
      // in place, so that lengths stay right
      const bad = badText[below(random, badText.length)]!;
      bytes.set(bad.subarray(0, n - at), at);
      return bytes;
    }
    default: // move a piece
      bytes.copyWithin(at, below(random, n), below(random, n));
      return bytes;
  }
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
