/** Damaged and made-up messages between nodes, over a real server of NATS: a node answers or drops each, goes on serving, and its log stays
 *  readable. */
import { connect, headers } from '@nats-io/transport-node';
import { afterAll, expect, test } from 'vitest';
import { seededRandom } from '../../bench/lib/packets.ts';
import { hasNatsServer } from '../../faults/lib/nats-server.ts';
import { encodeFrames, encodeObject, PacketMessage } from '../../src/forward/wire.ts';
import type { StreamId, SubjectId } from '../../src/signal.ts';
import { until } from '../helpers/database.ts';
import { hasAll, packetsOfPeople, sendAll, startNatsPair } from './nodes.ts';

const MESSAGES = 12_000;
const PEOPLE = 4;
const PACKETS = 10;
const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

const person = '01890000-0000-7000-8000-000000000000';
function packetMessage(): Buffer {
  const message = new PacketMessage();
  message.add({ streamId: 7 as StreamId, receivedNs: 5n, bytes: Buffer.alloc(200, 8) });
  return message.finish(true);
}

/** A body as a node would send it, of each kind. */
const bodies: Readonly<Record<string, Buffer>> = {
  open: encodeObject({
    subjectId: person,
    caller: { kind: 'api-key', orgId: person },
    hello: { deviceId: 'd', bootId: '00' },
    epochNs: 5n,
  }),
  packets: packetMessage(),
  hashes: encodeObject({ streamId: 7, firstSeq: 1, count: 10 }),
  recent: encodeObject({ streamId: 7, channelNo: 0, fromNs: 5n, toNs: 9n }),
  erase: encodeObject(person),
  frame: encodeFrames([{ subjectId: person as SubjectId, selection: 'ecg', seq: 3, endUnixMs: 5, bytes: Buffer.alloc(100, 1) }]),
  watch: encodeObject({ subjectId: person, selection: 'ecg' }),
  tried: encodeObject({ limit: 'address', who: '127.0.0.9' }),
  metrics: encodeObject({}),
  moved: encodeObject({}),
  'of-a-later-release': encodeObject({ what: 'nobody knows' }),
};

// promise: hostile-messages
test.runIf(hasNatsServer)('a node goes on serving whatever other nodes say to it, and logs a line a minute about it', async () => {
  const { natsPort, database, key, started } = await startNatsPair(closing, PEOPLE);
  const nodes = started.map(({ service }) => service);

  const { rows } = await database.pool.query<{ id: string }>('select id from cluster_node');
  const hostile = await connect({ servers: `127.0.0.1:${natsPort}` });
  const random = seededRandom(7);
  const any = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const damaged = (body: Buffer): Buffer => {
    const bytes = Buffer.from(body);
    for (let n = 0; n < 1 + 8 * random(); n++) bytes[Math.floor(random() * bytes.length)] = Math.floor(256 * random());
    if (random() < 0.7) bytes[0] = body[0]!; // of a wire that is read
    const at = Math.floor(random() * bytes.length);
    const pick = random();
    if (pick < 0.2) return bytes.subarray(0, at);
    return pick < 0.4 ? Buffer.concat([bytes.subarray(0, at), bytes.subarray(at / 2), bytes]) : bytes;
  };
  let answered = 0;
  hostile.subscribe('answers', { callback: () => void (answered += 1) });
  for (let i = 0; i < MESSAGES; i++) {
    const kind = any(Object.keys(bodies));
    const head = headers();
    if (random() < 0.9) head.set('from', random() < 0.5 ? rows[0]!.id : String.fromCharCode(33 + 90 * random()));
    const body = random() < 0.1 ? Buffer.from(Array.from({ length: 40 * random() }, () => 256 * random())) : damaged(bodies[kind]!);
    hostile.publish(`ward.${any(rows).id}.${kind}`, body, { headers: head, ...(random() < 0.8 && { reply: 'answers' }) });
    if (i % 500 === 499) await hostile.flush();
  }
  await hostile.flush();
  await until(() => answered > MESSAGES / 2, 30_000);
  await hostile.close();

  for (const { baseUrl } of nodes) expect((await fetch(`${baseUrl}/readyz`)).status).toBe(200);
  const packets = packetsOfPeople(PEOPLE, 2 * PACKETS, 200, BigInt(Date.now() - 60_000) * 1_000_000n);
  const send = (from: number): Promise<unknown> =>
    Promise.all(packets.map((each, first) => sendAll(each.slice(from, from + PACKETS), key, () => nodes, { first, pauseMs: 0 })));
  await send(0);
  // Of people who are recorded: what such a message asks for is made with their next packets.
  const { rows: streams } = await database.pool.query<{ id: number; person: string }>('select id, xuser_id as person from stream');
  expect(streams).toHaveLength(PEOPLE);
  const again = await connect({ servers: `127.0.0.1:${natsPort}` });
  const ask = async (kind: string, what: object): Promise<void> => {
    for (const { id } of rows) {
      const { headers: head } = await again.request(`ward.${id}.${kind}`, encodeObject(what), { timeout: 20_000, headers: headers() });
      expect(head?.has('failed'), `${kind} ${JSON.stringify(what).slice(0, 100)}`).toBe(true);
    }
  };
  for (const { id: streamId, person: subjectId } of streams) {
    await ask('watch', { subjectId, selection: 'x'.repeat(70_000) });
    await ask('hashes', { streamId, firstSeq: 0, count: 1e12 });
    await ask('hashes', { streamId, firstSeq: 0, count: 3e6 });
    await ask('recent', { streamId, channelNo: 0, fromNs: 1, toNs: 2 });
  }
  for (const selection of [5, {}, null]) await ask('watch', { subjectId: streams[0]!.person, selection });
  await ask('watch', { subjectId: 'x'.repeat(70_000), selection: '' });
  await ask('tried', { limit: 'auth', who: 'x'.repeat(70_000) });
  await again.close();
  await send(PACKETS);
  await until(() => hasAll(database, PEOPLE, 2 * PACKETS), 60_000);
  for (const { faults } of started) expect(faults.filter((fault) => fault.includes('could not be answered')).length).toBeLessThanOrEqual(3);
});
