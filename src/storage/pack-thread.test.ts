import { afterAll, expect, test } from 'vitest';
import type { StreamId } from '../signal.ts';
import { ENTRY_HEAD, readBatch } from './log-batch.ts';
import { packByPartition } from './log-pieces.ts';
import { PackThread } from './pack-thread.ts';

const COUNT = 60;
const partitions = Array.from({ length: COUNT }, (_, i) => (i * 7) % 3);

/** Packets of 100 to 500 equal bytes. */
function entries(): Buffer {
  const pieces = Array.from({ length: COUNT }, (_, i) => {
    const bytes = Buffer.alloc(100 + ((i * 37) % 400), i);
    const head = Buffer.alloc(ENTRY_HEAD);
    head.writeUInt32LE(100 + i, 0);
    head.writeUInt32LE(i, 4);
    head.writeUInt32LE(bytes.length, 20);
    return Buffer.concat([head, bytes]);
  });
  return Buffer.concat(pieces);
}

const thread = new PackThread();
afterAll(() => thread.close());

async function packed(): Promise<NonNullable<Awaited<ReturnType<PackThread['pack']>>>> {
  for (;;) {
    const pieces = await thread.pack(entries(), partitions);
    if (pieces !== null) return pieces;
    await new Promise((turn) => setImmediate(turn));
  }
}

test('the thread packs the packets of each partition as the caller would, and none is lost or in another order', async () => {
  expect(await thread.pack(entries(), partitions), 'it is not ready yet').toBeNull();
  const pieces = await packed();
  expect(pieces.map(({ partition, count }) => [partition, count])).toEqual([0, 1, 2].map((partition) => [partition, COUNT / 3]));
  expect(pieces).toEqual(packByPartition(entries(), partitions));
  for (const { partition, data } of pieces) {
    const streams: StreamId[] = [];
    for await (const found of readBatch(data, () => true)) if ('entry' in found) streams.push(found.entry.streamId);
    const expected = partitions.flatMap((each, i) => (each === partition ? [100 + i] : []));
    expect(streams).toEqual(expected);
  }
});

test('a thread that has ended is replaced, and a batch that it had is left to the caller', async () => {
  await packed();
  const asked = thread.pack(entries(), partitions);
  await thread.close();
  await asked; // null, or the pieces, which came first: never a batch that waits for ever
  expect(await packed()).toHaveLength(3);
});
