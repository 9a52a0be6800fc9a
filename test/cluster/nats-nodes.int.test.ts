/** Three nodes that talk over a server of NATS, which is killed under devices and a viewer: what a node owns goes on, the rest is refused
 *  and sent again, and in the end everything is as one node would have it. */
import { afterAll, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { decodeFrame } from '../../src/proto/frame-codec.ts';
import type { Service } from '../../src/server.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { derivedRows } from '../helpers/derived-rows.ts';
import { hasNatsServer, startNats } from '../../faults/lib/nats-server.ts';
import { hasAll, isShared, packetsOfPeople, sendAll, startNode } from './nodes.ts';

const PARTITIONS = 6;
const PEOPLE = 6;
const PACKETS = 120;
/** In the time that they take, so that viewers are shown them. */
const PACKET_MS = 200;
const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

/** A viewer that comes back at the next node when its socket is closed. @returns numbers of the frames that came, in order */
function watch(nodes: readonly Service[], first: number, subject: string, key: string): number[] {
  const seen: number[] = [];
  const protocols = ['bio.v1', `bio.bearer.${Buffer.from(key).toString('base64url')}`];
  let closed = false;
  const open = (at: number): void => {
    const after = seen.length === 0 ? '' : `&after=${seen.at(-1)}`;
    const socket = new WebSocket(`${nodes[at % nodes.length]!.baseUrl.replace('http', 'ws')}/ws?subject=${subject}${after}`, protocols);
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('message', ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data !== 'string') seen.push(decodeFrame(new Uint8Array(data)).seq);
    });
    socket.addEventListener('close', ({ code }) => {
      if (closed || code !== 4012) return;
      setTimeout(open, 100, at + 1);
    });
    closing.push(async () => {
      closed = true;
      socket.close();
    });
  };
  closing.push(async () => void (closed = true));
  open(first);
  return seen;
}

// promise: messages-away
test.runIf(hasNatsServer)('a server of NATS that is killed under three nodes costs them no packet and no value', async () => {
  const nats = await startNats();
  closing.push(() => nats.close());
  const alone = await testDatabase();
  const database = await testDatabase();
  closing.push(
    () => alone.close(),
    () => database.close(),
  );
  await database.pool.query('select set_partitions($1)', [PARTITIONS]);
  const { apiKey } = await createOrganization(database.pool, 'Cluster');
  const settings = { BIO_NATS_URL: `nats://127.0.0.1:${nats.port}`, BIO_CLUSTER: 'ward' };
  const started = await Promise.all([0, 1, 2].map(() => startNode(database.url, settings)));
  const nodes = started.map(({ service }) => service);
  await until(() => isShared(database, 3), 30_000);

  const packets = packetsOfPeople(PEOPLE, PACKETS, PACKET_MS, BigInt(Date.now() - PACKET_MS) * 1_000_000n);
  const accepted = Array.from({ length: PEOPLE }, () => 0);
  const sending = Promise.all(
    packets.map((each, first) =>
      sendAll(each, apiKey.key, () => nodes, { first, pauseMs: PACKET_MS - 20, onAccepted: (at) => void (accepted[first] = at + 1) }),
    ),
  );
  await until(() => accepted.every((count) => count > 5), 30_000);
  const viewers = nodes.map((_, first) => watch(nodes, first, 'person-0', apiKey.key));
  await until(() => viewers.every((seen) => seen.length > 20), 30_000);

  await nats.kill();
  const before = [...accepted];
  // Devices try the next node until they are at the owner, so all of them go on without the server.
  await until(() => accepted.every((count, person) => count > before[person]! + 5), 30_000);
  // Viewers as well: who is at another node than the owner is sent away.
  const framesAway = viewers.map((seen) => seen.length);
  await until(() => viewers.every((seen, i) => seen.length > framesAway[i]! + 10), 30_000);
  await nats.start();
  const framesBefore = viewers.map((seen) => seen.length);
  await until(() => viewers.every((seen, i) => seen.length > framesBefore[i]! + 20), 30_000);
  expect((await sending).some((refused) => refused > 0)).toBe(true);
  for (const seen of viewers) expect(seen).toEqual(seen.toSorted((a, b) => a - b).filter((seq, i, all) => seq !== all[i - 1]));

  await until(() => hasAll(database, PEOPLE, PACKETS));
  await Promise.all(nodes.map((node) => node.stop()));
  // The last: the database of a busy machine.
  const expectable =
    /message server is away|message server was given up|another node|timeout exceeded when trying to connect|connection timeout/;
  for (const { faults } of started) expect(faults.filter((fault) => !expectable.test(fault))).toEqual([]);

  const reference = await startNode(alone.url, {});
  const org = await createOrganization(alone.pool, 'Alone');
  await Promise.all(packets.map((each) => sendAll(each, org.apiKey.key, () => [reference.service], { first: 0, pauseMs: 0 })));
  await reference.service.stop();
  for (const person of packets.keys()) {
    const expected = await derivedRows(alone, `patch-${person}`);
    expect(expected.length).toBeGreaterThan(10);
    expect(await derivedRows(database, `patch-${person}`)).toEqual(expected);
  }
});
