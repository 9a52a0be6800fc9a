/** Processor time of a message between two nodes, at both ends, by the number of packets in it: what is passed on waits for others, because
 *  a message costs as much as many packets. A process asks, another reads the packets and answers 30 ms later as an owner does after its
 *  commit; 4 ms lie between messages. Both do nothing else, so that caches are cold at each message: a busy node pays less. Unix sockets
 *  and, where nats-server is installed, NATS; the sizes take turns.
 *
 *  sh scripts/with-runtime.sh bench/micro/node-messages.bench.ts */
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasNatsServer, startNats } from '../../faults/lib/nats-server.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { SocketBus } from '../../src/bus/socket-bus.ts';
import type { Settled } from '../../src/forward/routed-sink.ts';
import { decodeObject, decodePackets, encodeObject, PacketMessage } from '../../src/forward/wire.ts';
import type { StreamId } from '../../src/signal.ts';
import { reportMedian } from '../lib/result.ts';

const SIZES = [7, 14, 28];
const MESSAGES = 400;
const ROUNDS = 5;
const WAIT_MS = 60_000;
/** About four channels of 100 ms at 250 Hz. */
const PACKET = Buffer.alloc(305, 3);

/** @param address of a NATS server, or a folder */
async function open(address: string, node: string): Promise<Bus> {
  if (!address.startsWith('nats:')) return await SocketBus.open(address, node);
  const { NatsBus } = await import('../../src/bus/nats-bus.ts');
  return await NatsBus.open({ url: address, ca: '', cluster: 'bench', mayBePlain: true }, node);
}

async function own(address: string): Promise<void> {
  const bus = await open(address, 'owner');
  bus.handle('packets', async (_, body) => {
    const { packets } = decodePackets(body);
    await sleep(30);
    const highs = packets.map(({ streamId }) => [streamId, 1e6] as const);
    return encodeObject({ kept: true, closed: [], why: '', repeats: [], highs } satisfies Settled);
  });
  bus.handle('spent', () => encodeObject(process.cpuUsage()));
  process.once('disconnect', () => process.exit());
  process.send!('ready');
}

async function measure(name: string, address: string): Promise<void> {
  const owner = fork(import.meta.filename, [address], { execArgv: process.execArgv });
  await new Promise((ready) => owner.once('message', ready));
  const bus = await open(address, 'edge');
  const spent = async (): Promise<number> => {
    const theirs = decodeObject<NodeJS.CpuUsage>(await bus.request('owner', 'spent', new Uint8Array(0), WAIT_MS));
    const ours = process.cpuUsage();
    return theirs.user + theirs.system + ours.user + ours.system;
  };
  const send = async (size: number): Promise<number> => {
    const before = await spent();
    const settled: Promise<Settled>[] = [];
    for (let i = 0; i < MESSAGES; i++) {
      const message = new PacketMessage();
      for (let n = 0; n < size; n++) message.add({ streamId: n as StreamId, receivedNs: 5n, bytes: PACKET });
      settled.push(bus.request('owner', 'packets', message.finish(false), WAIT_MS).then(decodeObject<Settled>));
      await sleep(4);
    }
    await Promise.all(settled);
    return ((await spent()) - before) / MESSAGES;
  };
  await send(SIZES[0]!); // its code is being compiled
  const costs = SIZES.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) for (const [i, size] of SIZES.entries()) costs[i]!.push(await send(size));
  for (const [i, size] of SIZES.entries()) {
    reportMedian({ name: `${name}, ${size} packets: a message at both ends`, unit: 'µs' }, costs[i]!);
    reportMedian(
      { name: `${name}, ${size} packets: of it for each packet`, unit: 'µs/packet' },
      costs[i]!.map((us) => us / size),
    );
  }
  await bus.close();
  owner.disconnect();
}

const asOwner = process.argv[2];
if (asOwner !== undefined && process.send !== undefined) await own(asOwner);
else {
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-messages-'));
  await measure('Unix sockets', folder);
  rmSync(folder, { recursive: true, force: true });
  if (hasNatsServer) {
    const nats = await startNats();
    await measure('NATS', `nats://127.0.0.1:${nats.port}`);
    await nats.close();
  }
}
