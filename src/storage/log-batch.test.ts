import { expect, test } from 'vitest';
import type { StreamId } from '../signal.ts';
import { ENTRY_HEAD, mayHoldEntriesOf, packBatch, readBatch, streamIdsOf } from './log-batch.ts';
import type { Damage, LogEntry } from './log-batch.ts';

const RECEIVED_NS = 1_790_000_000_000_000_000n;

/** Text that packs well, and says at its beginning which packet it is, so that damage to it is seen. */
const packetOf = (seq: number, size = 400): Buffer =>
  Buffer.from(`packet ${seq} `.padEnd(size, `ecg.ii mV ${(seq * 7919) % 1000} `).slice(0, size));
const entryOf = (seq: number, size?: number): LogEntry => ({
  streamId: ((seq % 3) + 1) as StreamId,
  seq,
  receivedNs: RECEIVED_NS,
  bytes: packetOf(seq, size),
});
const readPacket = ({ seq, bytes }: LogEntry): true | null =>
  Buffer.from(bytes).equals(packetOf(seq, bytes.length)) && bytes.length > 20 ? true : null;

function entriesOf(entries: readonly LogEntry[]): Buffer {
  return Buffer.concat(
    entries.map(({ streamId, seq, receivedNs, bytes }) => {
      const head = Buffer.alloc(ENTRY_HEAD);
      head.writeUInt32LE(streamId, 0);
      head.writeUInt32LE(seq, 4);
      head.writeBigInt64LE(receivedNs, 12);
      head.writeUInt32LE(bytes.length, 20);
      return Buffer.concat([head, bytes]);
    }),
  );
}

async function read(data: Buffer): Promise<{ seqs: number[]; damages: Damage[] }> {
  const seqs: number[] = [];
  const damages: Damage[] = [];
  for await (const found of readBatch(data, readPacket)) {
    if ('damage' in found) damages.push(found.damage);
    else seqs.push(found.entry.seq);
  }
  return { seqs, damages };
}

const numbers = (count: number, from = 0): number[] => Array.from({ length: count }, (_, i) => from + i);
/** 500 packets are four frames. */
const many = entriesOf(numbers(500).map((seq) => entryOf(seq)));

test('a packed batch is smaller, and gives back every packet as it was, large ones too', async () => {
  const sizes = [...numbers(300).map((i) => 30 + ((i * 7919) % 900)), 100_000, 300_000, 40];
  const entries = sizes.map((size, seq) => entryOf(seq, size));
  const packed = packBatch(entriesOf(entries));
  expect(packed.length).toBeLessThan(entriesOf(entries).length / 3);
  const found: LogEntry[] = [];
  for await (const one of readBatch(packed, readPacket)) if ('entry' in one) found.push(one.entry);
  expect(found.map((entry) => ({ ...entry, bytes: Buffer.from(entry.bytes) }))).toEqual(entries);
});

test('what does not pack stays as it is, and is read like the batches of earlier releases', async () => {
  const one = entriesOf([entryOf(0, 30)]);
  expect(packBatch(one)).toBe(one);
  expect((await read(many)).seqs).toEqual(numbers(500));
});

test('the streams of a batch are known without unpacking it', () => {
  expect(streamIdsOf(packBatch(many))).toEqual(new Set([1, 2, 3]));
});

// promise: damaged-frame
test('one flipped bit costs a frame at most: the others are read, and its bytes are given whole', async () => {
  const packed = packBatch(many);
  const frames = 4;
  for (let at = 3; at < packed.length; at += 311) {
    const damaged = Buffer.from(packed);
    damaged[at]! ^= 1 << (at % 8);
    const { seqs, damages } = await read(damaged);
    expect(seqs.length, `bit of byte ${at}`).toBeGreaterThanOrEqual(500 - 500 / frames - 40);
    expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
    if (seqs.length < 500) expect(damages.length).toBeGreaterThan(0);
    if (damages.length === 0) continue; // the time of reception
    const streams = new Set([1, 2, 3]);
    expect(mayHoldEntriesOf(damages[0]!.bytes, streams)).toBe(true);
  }
});

// promise: damaged-frame
test('a damaged head in a frame costs its own packet', async () => {
  const packed = packBatch(many);
  packed.writeUInt32LE(4711, 8 + 5 * ENTRY_HEAD + 4); // the sequence number of the sixth
  const { seqs, damages } = await read(packed);
  expect(seqs).toEqual(numbers(500).filter((seq) => seq !== 5));
  expect(damages.map(({ entry }) => entry?.seq)).toEqual([4711]);
});

test('a frame that a device hides in a packet is not read', async () => {
  const hidden = packBatch(many);
  const bytes = Buffer.concat([Buffer.from('text '), hidden]);
  const batch = entriesOf([entryOf(0), { ...entryOf(1), bytes }, entryOf(2)]);
  for (const data of [batch, packBatch(batch)]) {
    const seqs: number[] = [];
    for await (const found of readBatch(data, () => true as const)) if ('entry' in found) seqs.push(found.entry.seq);
    expect(seqs).toEqual([0, 1, 2]);
  }
});

test('a cut batch is read up to the cut', async () => {
  const packed = packBatch(many);
  const { seqs, damages } = await read(packed.subarray(0, packed.length - 10));
  expect(seqs.length).toBeGreaterThan(300);
  expect(seqs).toEqual(numbers(seqs.length));
  expect(damages).toHaveLength(1);
});
