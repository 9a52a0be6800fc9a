import { afterAll, expect, test } from 'vitest';
import { until } from '../../test/helpers/until.ts';
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

const faults: string[] = [];
const thread = new PackThread({ onFault: (message) => void faults.push(message), pauseMs: 100 });
afterAll(() => thread.close());

async function packed(by = thread): Promise<NonNullable<Awaited<ReturnType<PackThread['pack']>>>> {
  for (;;) {
    const pieces = await by.pack(entries(), partitions);
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

test('a thread that does not answer is ended, said to be, and its batch left to the caller; after a pause there is another', async () => {
  const told: string[] = [];
  const late = new PackThread({ onFault: (message) => void told.push(message), answerMs: 0, pauseMs: 50 });
  const large = Buffer.concat(Array.from({ length: 200 }, entries));
  const many = Array.from({ length: 200 }, () => partitions).flat();
  const answers: unknown[] = [];
  await until(async () => {
    answers.push(await late.pack(large, many));
    return told.length >= 2; // twice, so that there was another one
  });
  expect(told[0]).toContain('without its thread');
  expect(answers.every((answer) => answer === null)).toBe(true);
  await late.close();
});

test('a thread that ends before it is ready is not started again at once', async () => {
  const told: unknown[] = [];
  const early = new PackThread({ onFault: (_, cause) => void told.push(cause), pauseMs: 200 });
  expect(await early.pack(entries(), partitions)).toBeNull();
  await early.close();
  const since = performance.now();
  expect(await packed(early)).toHaveLength(3);
  expect(performance.now() - since).toBeGreaterThan(150);
  await early.close();
});
