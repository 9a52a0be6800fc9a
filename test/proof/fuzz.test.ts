/** The short form of `npm run fuzz`, and inputs made to cost memory or time out of proportion. */
import { describe, expect, test } from 'vitest';
import { fuzz } from '../../faults/fuzz/fuzz.ts';
import { makeTargets } from '../../faults/fuzz/targets.ts';
import { createRandom } from '../../src/cli/simulator/random.ts';
import { isRejected } from '../../src/errors.ts';
import { parseCsv } from '../../src/formats/csv.ts';
import { parseEdf } from '../../src/formats/edf-read.ts';
import { parseHeader } from '../../src/formats/wfdb-header.ts';
import { defaultPacketLimits } from '../../src/proto/packet.ts';
import { decodePacket, splitBatch } from '../../src/proto/packet-decode.ts';
import { decodeBlock } from '../../src/storage/block-codec.ts';

const seed = Number(process.env['BIO_FUZZ_SEED'] ?? 20_261_121);
const MIB = 1024 * 1024;

// promise: bad-data-is-a-value
test(`mutated inputs of every decoder give clean errors, seed ${seed}`, async () => {
  const { counts, findings } = await fuzz(await makeTargets(), { count: 60_000, random: createRandom(seed, 'fuzz') });
  expect(findings).toEqual([]);
  // A mutator that breaks everything tests only the first check of each decoder.
  for (const { name, accepted, refused } of counts)
    expect(accepted * refused, `${name}: ${accepted} accepted, ${refused} refused`).toBeGreaterThan(0);
}, 60_000);

describe('an input cannot cost memory out of proportion', () => {
  /** Heap and buffers that a call leaves or takes, MiB. */
  const costOf = (run: () => unknown): number => {
    const before = process.memoryUsage();
    const kept = run();
    const after = process.memoryUsage();
    expect(kept).toBeDefined();
    return Math.max(0, after.heapUsed + after.external - before.heapUsed - before.external) / MIB;
  };
  const filled = (bytes: number, pattern: readonly number[]): Uint8Array =>
    Uint8Array.from({ length: bytes }, (_, i) => pattern[i % pattern.length]!);
  const wide = { ...defaultPacketLimits, packetBytesMax: 2 * MIB };

  // promise: bombs, memory-in-proportion
  test.each([
    ['empty blocks', [0x52, 0]],
    ['empty measurements', [0x5a, 0]],
    ['empty events', [0x62, 0]],
    ['unknown fields', [0xa2, 0x06, 0]],
    ['the same text again and again', [0x12, 1, 0x61]],
  ])('a megabyte of %s', (_name, pattern) => {
    const bytes = filled(MIB, pattern);
    expect(costOf(() => decodePacket(bytes, wide))).toBeLessThan(16);
  });

  // promise: memory-in-proportion, limit-batch
  test('a batch of a megabyte of empty packets', () => {
    expect(costOf(() => splitBatch(filled(MIB, [0]), 256 * 1024, 16_384))).toBeLessThan(32);
  });

  // promise: lengths-checked
  test('a row of the codec that claims 2^24 samples in a few bytes', () => {
    expect(costOf(() => decodeBlock(filled(64, [0x01, 0xff, 0xff, 0xff, 0x07])))).toBeLessThan(80);
  });

  // promise: lengths-checked
  test('headers that claim more than there is', () => {
    expect(isRejected(parseHeader('r 2147483647 360 9999999999\n'))).toBe(true);
    const edf = new Uint8Array(256).fill(0x20);
    edf.set(new TextEncoder().encode('0'), 0);
    edf.set(new TextEncoder().encode('99999999'), 236);
    edf.set(new TextEncoder().encode('9999'), 252);
    expect(costOf(() => parseEdf(edf))).toBeLessThan(16);
    expect(isRejected(parseEdf(edf))).toBe(true);
    expect(costOf(() => parseCsv(`a\n${','.repeat(MIB)}`, { rateNanoHz: 1e9, missing: 0 }))).toBeLessThan(96);
  });
});
