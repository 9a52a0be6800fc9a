/** Processor time of the main thread to pack a batch of 80 packets (100 ms, 4 channels of 250 Hz), in one piece as of one partition or in
 *  eight as of a node with eight: by itself, and handed to the thread of the packet log. A batch every 4 ms; what the loop costs is taken
 *  off, and the ways take turns.
 *
 *  sh scripts/with-runtime.sh bench/micro/pack-thread.bench.ts */
import { setTimeout as sleep } from 'node:timers/promises';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { ENTRY_HEAD } from '../../src/storage/log-batch.ts';
import { packByPartition } from '../../src/storage/log-pieces.ts';
import { PackThread } from '../../src/storage/pack-thread.ts';
import { ecgPacket } from '../lib/packets.ts';
import { mainThreadCpuMs } from '../lib/processor-time.ts';
import { reportMedian } from '../lib/result.ts';

const PACKETS = 80;
const PARTITIONS = 8;
const BATCHES = 200;
const ROUNDS = 5;

const entries = Buffer.concat(
  Array.from({ length: PACKETS }, (_, i) => {
    const bytes = encodePacket(ecgPacket({ channels: 4, fs: 250, ms: 100, count: 1 + (i % 20), deviceId: `d${i}` }).at(-1)!);
    const head = Buffer.alloc(ENTRY_HEAD);
    head.writeUInt32LE(i + 1, 0);
    head.writeUInt32LE(bytes.length, 20);
    return Buffer.concat([head, bytes]);
  }),
);
const one = Array.from({ length: PACKETS }, () => 0);
const several = Array.from({ length: PACKETS }, (_, i) => (i * 7) % PARTITIONS);
const thread = new PackThread({ onFault: (message, cause) => console.error(message, cause) });
while ((await thread.pack(entries, several)) === null) await sleep(5);

const ways: Readonly<Record<string, () => unknown>> = {
  nothing: () => null,
  'one partition, by the main thread': () => packByPartition(entries, one),
  'one partition, handed over': () => thread.pack(entries, one),
  'eight partitions, by the main thread': () => packByPartition(entries, several),
  'eight partitions, handed over': () => thread.pack(entries, several),
};
const costs = new Map<string, number[]>(Object.keys(ways).map((name) => [name, []]));
for (let round = 0; round <= ROUNDS; round++) {
  for (const [name, pack] of Object.entries(ways)) {
    const beforeMs = mainThreadCpuMs();
    for (let i = 0; i < BATCHES; i++) {
      await pack();
      await sleep(4);
    }
    if (round > 0) costs.get(name)!.push(((mainThreadCpuMs() - beforeMs) * 1000) / BATCHES); // in the first the code is being compiled
  }
}
for (const [name, us] of costs) {
  if (name === 'nothing') continue;
  reportMedian(
    { name: `a batch of ${PACKETS} packets, ${name}: main thread`, unit: 'µs' },
    us.map((each, i) => each - costs.get('nothing')![i]!),
  );
}
await thread.close();
