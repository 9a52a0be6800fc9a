/** Processor time of a NATS server for what nodes say to each other, by the number of packets in a message: what one server, or a core of
 *  it, carries. Two nodes in this process, at most 32 questions at a time; a packet is passed on in a question and settled by its answer,
 *  and both go through the server. The sizes take turns. Its clock ticks every 10 ms.
 *
 *  sh scripts/with-runtime.sh bench/micro/message-server.bench.ts */
import { hasNatsServer, startNats } from '../../faults/lib/nats-server.ts';
import { NatsBus } from '../../src/bus/nats-bus.ts';
import type { Settled } from '../../src/forward/routed-sink.ts';
import { decodePackets, encodeObject, PacketMessage } from '../../src/forward/wire.ts';
import type { StreamId } from '../../src/signal.ts';
import { threadsCpuSec } from '../lib/processor-time.ts';
import { reportMedian } from '../lib/result.ts';

const SIZES = [1, 7, 28, 112];
const MESSAGES = 5000;
const AT_A_TIME = 32;
const ROUNDS = 5;
/** About four channels of 100 ms at 250 Hz. */
const PACKET = Buffer.alloc(305, 3);

async function measure(url: string, pid: number): Promise<void> {
  const open = (node: string): Promise<NatsBus> => NatsBus.open({ url, ca: '', cluster: 'bench', mayBePlain: true }, node);
  const [edge, owner] = [await open('edge'), await open('owner')];
  owner.handle('packets', (_, body) => {
    const { packets } = decodePackets(body);
    const highs = packets.map(({ streamId }) => [streamId, 1e6] as const);
    return encodeObject({ kept: true, closed: [], why: '', repeats: [], highs } satisfies Settled);
  });
  const send = async (size: number): Promise<readonly [number, number]> => {
    const before = threadsCpuSec(pid).all;
    let left = MESSAGES;
    let bytes = 0;
    const sender = async (): Promise<void> => {
      while (left-- > 0) {
        const message = new PacketMessage();
        for (let n = 0; n < size; n++) message.add({ streamId: n as StreamId, receivedNs: 5n, bytes: PACKET });
        const body = message.finish(false);
        const answer = await edge.request('owner', 'packets', body, 60_000);
        bytes += body.length + answer.length;
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, sender));
    return [((threadsCpuSec(pid).all - before) * 1e6) / MESSAGES, bytes / MESSAGES];
  };
  await send(SIZES[0]!);
  const costs = SIZES.map((): number[] => []);
  const sizes = SIZES.map(() => 0);
  for (let round = 0; round < ROUNDS; round++)
    for (const [i, size] of SIZES.entries()) {
      const [us, bytes] = await send(size);
      costs[i]!.push(us);
      sizes[i] = bytes;
    }
  for (const [i, size] of SIZES.entries()) {
    const name = `${size} packets, ${Math.round(sizes[i]!)} bytes there and back`;
    reportMedian({ name: `${name}: the server for a question and its answer`, unit: 'µs' }, costs[i]!);
    reportMedian(
      { name: `${name}: packets that a core of it carries`, unit: 'packets/s', better: 'higher' },
      costs[i]!.map((us) => (size * 1e6) / us),
    );
    reportMedian(
      { name: `${name}: bytes that a core of it carries`, unit: 'MB/s', better: 'higher' },
      costs[i]!.map((us) => sizes[i]! / us),
    );
  }
  await Promise.all([edge.close(), owner.close()]);
}

if (hasNatsServer) {
  const nats = await startNats();
  await measure(`nats://127.0.0.1:${nats.port}`, nats.pid);
  await nats.close();
}
