/** Thread of PackThread: packs one batch after the other. */
import { parentPort } from 'node:worker_threads';
import { packByPartition } from './log-pieces.ts';
import type { PackedPieces, ToPack } from './pack-thread.ts';

const port = parentPort!;
port.on('message', ({ entries, partitions }: ToPack) => {
  const packed = packByPartition(Buffer.from(entries.buffer), partitions);
  const pieces = Int32Array.from(packed.flatMap(({ partition, count, data }) => [partition, count, data.length]));
  const bytes = new Uint8Array(packed.reduce((sum, { data }) => sum + data.length, 0));
  let at = 0;
  for (const { data } of packed) {
    bytes.set(data, at);
    at += data.length;
  }
  port.postMessage({ pieces, bytes } satisfies PackedPieces, [bytes.buffer]);
});
port.postMessage('ready');
