/** A node that is killed while it is asked: who asks is answered as soon as the others know, not after the longest wait. */
import { afterAll, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { partitionOf } from '../../src/cluster/partition-of.ts';
import { freePort } from '../../faults/lib/free-port.ts';
import { hasNatsServer, startNats } from '../../faults/lib/nats-server.ts';
import { ServiceProcess } from '../../faults/lib/service.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { hasAll, isShared, ownersOf, packetsOfPeople, sendAll, startNode } from './nodes.ts';

const PARTITIONS = 2;
/** So many that it is certain in practice that each partition has one. */
const PEOPLE = 16;
const PACKETS = 3;
/** A node waits 10 s for another that lives. */
const ANSWER_MS_MAX = 7000;
const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

/** Packets that a node has passed on. */
async function forwarded(baseUrl: string): Promise<number> {
  const text = await (await fetch(`${baseUrl}/metrics`)).text();
  return Number(/^bio_packets_forwarded_total\S* (\d+)/m.exec(text)?.[1] ?? 0);
}

// promise: lost-owner, incomplete-said
test.runIf(hasNatsServer)('a packet on its way to a node that is killed is refused at once, and stored by the next owner', async () => {
  const nats = await startNats();
  closing.push(() => nats.close());
  const database = await testDatabase();
  closing.push(() => database.close());
  await database.pool.query('select set_partitions($1)', [PARTITIONS]);
  const { apiKey } = await createOrganization(database.pool, 'Cluster');
  const settings = { BIO_NATS_URL: `nats://127.0.0.1:${nats.port}`, BIO_CLUSTER: 'ward' };
  const { service } = await startNode(database.url, settings);
  closing.push(() => service.stop());
  const env = {
    DATABASE_URL: database.url,
    BIO_NODE_NAME: 'to-be-killed',
    BIO_DSP_WORKERS: '1',
    BIO_DB_CONNECTIONS_MAX: '14',
    ...settings,
  };
  const other = new ServiceProcess(await freePort(), { env });
  closing.push(() => other.kill());
  await until(() => isShared(database, 2), 30_000);

  const packets = packetsOfPeople(PEOPLE, PACKETS, 1000, BigInt(Date.now() - 1000 * PACKETS) * 1_000_000n);
  await Promise.all(packets.map((each) => sendAll(each.slice(0, 1), apiKey.key, () => [service], { first: 0, pauseMs: 0 })));
  const { rows: nodes } = await database.pool.query<{ id: string }>(`select id from cluster_node where name = 'to-be-killed'`);
  const { rows: people } = await database.pool.query<{ id: string; external_id: string }>('select id, external_id from xuser');
  const owners = await ownersOf(database);
  const theirs = people.find(({ id }) => owners[partitionOf(id, PARTITIONS)] === nodes[0]!.id);
  const person = Number(theirs!.external_id.split('-')[1]);

  const passedOn = await forwarded(service.baseUrl);
  other.pause(true);
  // It has the newest samples in memory.
  const streams = await database.pool.query<{ uuid: string }>('select uuid from stream where xuser_id = $1', [theirs!.id]);
  const range = `since=${new Date(Date.now() - 3_600_000).toISOString()}&until=${new Date(Date.now() + 60_000).toISOString()}`;
  const samples = await fetch(`${service.baseUrl}/api/v1/streams/${streams.rows[0]!.uuid}/samples?${range}`, {
    headers: { authorization: `Bearer ${apiKey.key}` },
  });
  expect([samples.status, samples.headers.get('bio-incomplete')]).toEqual([200, 'newest']);
  const exported = await fetch(`${service.baseUrl}/api/v1/xusers/${theirs!.id}/export`, {
    headers: { authorization: `Bearer ${apiKey.key}` },
  });
  expect((await exported.text()).trimEnd().split('\n').at(-1)).toBe('{"table":"end","incomplete":"newest"}');
  const sentMs = performance.now();
  const answer = fetch(`${service.baseUrl}/ingest/raw-packet`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey.key}`, 'content-type': 'application/x-protobuf' },
    body: Buffer.from(packets[person]![1]!),
  });
  await until(async () => (await forwarded(service.baseUrl)) > passedOn);
  await other.kill();
  expect((await answer).status).toBe(503);
  expect(performance.now() - sentMs).toBeLessThan(ANSWER_MS_MAX);

  await Promise.all(packets.map((each) => sendAll(each, apiKey.key, () => [service], { first: 0, pauseMs: 0 })));
  await until(() => hasAll(database, PEOPLE, PACKETS));
});
