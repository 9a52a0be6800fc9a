// Round trips over random runs of every width, truncation at every byte, and damage: an error or the same samples, never a throw.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRejected } from '../errors.ts';
import { blockBytesMax, decodeBlock, encodeBlock, type BlockRun } from './block-codec.ts';

function integers(bits: number): fc.Arbitrary<Int32Array> {
  const low = -(2 ** (bits - 1));
  return fc
    .oneof(
      fc.array(fc.integer({ min: low, max: -low - 1 }), { minLength: 1, maxLength: 300, size: 'max' }),
      // a smooth signal with jumps, as devices send
      fc
        .array(fc.oneof({ weight: 20, arbitrary: fc.integer({ min: -9, max: 9 }) }, fc.integer({ min: low, max: -low - 1 })), {
          minLength: 1,
          maxLength: 300,
        })
        .map((steps) => {
          let x = 0;
          return steps.map((step) => (x = Math.max(low, Math.min(-low - 1, x + step))));
        }),
    )
    .map((values) => Int32Array.from(values));
}

const floats = fc.float32Array({ minLength: 1, maxLength: 100 });

function run(samples: fc.Arbitrary<Int32Array | Float32Array>): fc.Arbitrary<BlockRun> {
  return fc
    .record({ k0: fc.maxSafeNat(), samples, seed: fc.option(fc.array(fc.constantFrom(0, 0, 0, 1, 2), { minLength: 1, maxLength: 40 })) })
    .map(({ k0, samples, seed }) => ({
      k0,
      samples,
      qmask: seed === null ? null : Uint8Array.from(samples, (_, i) => seed[i % seed.length]!),
    }));
}

const anyRun = run(fc.oneof(integers(12), integers(16), integers(24), integers(32), floats));

/** Bit for bit, so that NaN payloads and -0 count. */
function same(a: readonly BlockRun[], b: readonly BlockRun[]): void {
  expect(b.length).toBe(a.length);
  a.forEach((expected, i) => {
    const got = b[i]!;
    expect(got.k0).toBe(expected.k0);
    expect(got.samples.constructor).toBe(expected.samples.constructor);
    const bits = (s: BlockRun['samples']): Buffer => Buffer.from(s.buffer, s.byteOffset, s.byteLength);
    expect(bits(got.samples).equals(bits(expected.samples))).toBe(true);
    const flags = expected.qmask?.some((flag) => flag !== 0) === true ? [...expected.qmask] : null;
    expect(got.qmask === null ? null : [...got.qmask]).toEqual(flags);
  });
}

function decoded(bytes: Uint8Array): BlockRun[] {
  const runs = decodeBlock(bytes);
  if (isRejected(runs)) throw new Error(runs.detail);
  return runs;
}

/** A run whose quality is `after` bytes long. */
const last = (length: number, after: number, value: (i: number) => number): BlockRun[] => [
  {
    k0: 0,
    samples: Int32Array.from({ length }, (_, i) => value(i)),
    qmask: after === 0 ? null : Uint8Array.from({ length }, (_, i) => (i < after ? 2 - (i % 2) : 0)),
  },
];

describe('block codec', () => {
  // promise: block-exact
  test('gives back frames of every width and order at the end of a block', () => {
    for (let length = 1; length < 70; length++) {
      for (let after = 0; after < 6; after++) {
        for (const power of [0, 1, 2]) {
          const smooth = last(length, after, (i) => 7 * i ** power); // no bits at all
          same(decoded(encodeBlock(smooth)), smooth);
        }
      }
      for (let width = 1; width <= 31; width++) {
        const noisy = last(length, width % 6, (i) => (i % 3) * 2 ** (width - 2) + 5 * i);
        same(decoded(encodeBlock(noisy)), noisy);
      }
    }
  });

  for (const bits of [2, 12, 16, 24, 32]) {
    // promise: exact-samples, block-exact
    test(`gives back ${bits}-bit integers exactly`, () => {
      fc.assert(
        fc.property(fc.array(run(integers(bits)), { minLength: 1, maxLength: 4 }), (runs) => same(runs, decoded(encodeBlock(runs)))),
      );
    });
  }

  // promise: block-exact
  test('gives back floats bit for bit', () => {
    fc.assert(fc.property(fc.array(run(floats), { minLength: 1, maxLength: 3 }), (runs) => same(runs, decoded(encodeBlock(runs)))));
  });

  test('reads a block within a Buffer, as the database gives it', () => {
    for (const samples of [
      Float32Array.of(1.5, NaN, -3),
      Int32Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? 2 ** 31 - 1 : -(2 ** 31))),
    ]) {
      const runs = [{ k0: 3, samples, qmask: null }];
      const block = encodeBlock(runs);
      const shared = Buffer.concat([Buffer.alloc(5, 7), block, Buffer.alloc(9, 7)]);
      same(decoded(shared.subarray(5, 5 + block.length)), runs);
    }
  });

  test('never needs more than blockBytesMax', () => {
    fc.assert(fc.property(fc.array(anyRun, { minLength: 1, maxLength: 4 }), (runs) => encodeBlock(runs).length <= blockBytesMax(runs)));
  });

  test('is an error when cut at any byte, or when a byte follows', () => {
    fc.assert(
      fc.property(fc.array(anyRun, { minLength: 1, maxLength: 3 }), (runs) => {
        const bytes = encodeBlock(runs);
        for (let length = 0; length < bytes.length; length++) expect(isRejected(decodeBlock(bytes.subarray(0, length)))).toBe(true);
        expect(isRejected(decodeBlock(Uint8Array.of(...bytes, 0)))).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  test('never throws on damaged or random bytes', () => {
    fc.assert(
      fc.property(anyRun, fc.nat(), fc.integer({ min: 1, max: 255 }), (one, position, flip) => {
        const bytes = encodeBlock([one]);
        bytes[position % bytes.length]! ^= flip;
        decodeBlock(bytes);
      }),
      { numRuns: 1000 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void decodeBlock(Uint8Array.of(0xb1, ...bytes))),
      { numRuns: 1000 },
    );
  });

  // promise: lengths-checked
  test('a claimed length is not believed before the bytes are there', () => {
    const claim = Uint8Array.of(0xb1, 1, 0, 0, 0xff, 0xff, 0xff, 0x07, 0, 0);
    expect(isRejected(decodeBlock(claim))).toBe(true);
  });

  test('a resting 12-bit ECG at 360 Hz needs less than 0.8 bytes a sample', () => {
    let seed = 7;
    const noise = (): number => ((seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff - 0.5) * 8;
    const samples = Int32Array.from({ length: 360 }, (_, i) =>
      Math.round(1024 + 60 * Math.sin(i / 40) + 900 * Math.exp(-(((i - 100) / 6) ** 2)) + noise()),
    );
    expect(encodeBlock([{ k0: 0, samples, qmask: null }]).length / 360).toBeLessThan(0.8);
  });
});
