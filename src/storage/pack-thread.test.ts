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

const text = (told: readonly unknown[]): string[] => told.map(String);
/** A thread of its own code. */
const script = (code: string): URL => new URL(`data:text/javascript,${encodeURIComponent(code)}`);

test('threads that do not answer are ended, after longer pauses each time; that is said once, and again when one packs', async () => {
  const told: string[] = [];
  const options = { onFault: (message: string) => void told.push(message), answerMs: 0, pauseMs: 20 };
  const late = new PackThread(options);
  const large = Buffer.concat(Array.from({ length: 200 }, entries));
  const many = Array.from({ length: 200 }, () => partitions).flat();
  const startedMs: number[] = [];
  const note = (): void => void startedMs.push(performance.now());
  process.on('worker', note);
  await until(async () => {
    expect(await late.pack(large, many)).toBeNull();
    return startedMs.length >= 5;
  });
  process.off('worker', note);
  expect(told).toEqual(['the packet log packs without its thread for now']);
  expect(startedMs[4]! - startedMs[3]!).toBeGreaterThanOrEqual(155); // 20, 40, 80, 160
  options.answerMs = 5000;
  expect(await packed(late)).toHaveLength(3);
  expect(told).toEqual(['the packet log packs without its thread for now', 'the packet log packs with its thread again']);
  await late.close();
});

test('a thread that ends before it is ready is not started again at once', async () => {
  const told: unknown[] = [];
  const early = new PackThread({ onFault: (_, cause) => void told.push(cause), pauseMs: 60_000, workerUrl: script('process.exit(3)') });
  await until(async () => {
    expect(await early.pack(entries(), partitions)).toBeNull();
    return told.length > 0;
  });
  expect(text(told)).toEqual(['Error: the thread ended with code 3']);
  await early.close();
});

test('a thread that never becomes ready is ended, and said to be', async () => {
  const told: unknown[] = [];
  const deaf = new PackThread({
    onFault: (_, cause) => void told.push(cause),
    readyMs: 50,
    workerUrl: script('setInterval(() => {}, 50)'),
  });
  await until(async () => {
    expect(await deaf.pack(entries(), partitions)).toBeNull();
    return told.length > 0;
  });
  expect(text(told)).toEqual(['Error: not ready within 50 ms']);
  await deaf.close();
});
