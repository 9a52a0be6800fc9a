/** A service reduced to its storage, to be killed: recovers, then sends packets of 100 ms and prints every acknowledgement.
 *  argv: database address, first seq. A packet's bytes say which samples it holds; their values follow from their place. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isRejected } from '../../src/errors.ts';
import type { ChannelNo } from '../../src/signal.ts';
import { BlockWriter } from '../../src/storage/block-writer.ts';
import { openDatabase } from '../../src/storage/database/database.ts';
import { PacketLog } from '../../src/storage/packet-log.ts';
import { StreamRegistry } from '../../src/storage/stream-registry.ts';
import { testRun } from './recording.ts';

const [url, firstSeq, streamId] = [process.argv[2]!, Number(process.argv[3]), Number(process.argv[4])];
const database = await openDatabase(url);
const registry = new StreamRegistry(database);
const log = await PacketLog.open(database, registry, { lingerMs: 2, batchBytesMax: 4096 });
const blocks = new BlockWriter(database, { lingerMs: 10, incompleteAfterMs: 100 });
const stream = await registry.findStream(streamId as Parameters<typeof registry.findStream>[0]);
if (stream === null || isRejected(stream)) throw new Error('no stream');
const rates = stream.channels.map((channel) => channel.rateNanoHz);
let recovered = 0;
for await (const entry of log.recover()) {
  store(entry.bytes, entry.position);
  recovered++;
}
const known = (await registry.findStream(stream.streamId))!.seqRanges;
console.log(`recovered ${recovered} ${JSON.stringify(known)}`);

setInterval(() => void log.checkpoint(blocks.safePosition()), 25);
for (let seq = firstSeq; ; seq++) {
  const bytes = Buffer.alloc(300); // padding, so that batches have several parts
  bytes.writeUInt32LE(seq * 25, 0);
  bytes.writeUInt32LE(25, 4);
  const batch = log.append({ streamId: stream.streamId, seq, receivedNs: BigInt(Date.now()) * 1_000_000n, bytes });
  if (batch === 'busy') throw new Error('busy');
  void batch.durable.then(() => {
    store(bytes, batch.position);
    process.stdout.write(`ack ${seq}\n`);
  });
  if (seq % 5 === 0) await sleep(1);
}

function store(bytes: Buffer | Uint8Array, position: number): void {
  const view = Buffer.from(bytes);
  const [k0, n] = [view.readUInt32LE(0), view.readUInt32LE(4)];
  blocks.push(stream!.streamId, stream!.epochNs, rates, [testRun(0, k0, n), testRun(1 as ChannelNo, k0, n)], position);
}
