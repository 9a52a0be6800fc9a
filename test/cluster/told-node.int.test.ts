/** Two nodes that devices reach one by one: a device that came to the other node is told which one stores its packets. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { IngestClient } from '../../sdk/ingest-client.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { Service } from '../../src/server.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { hasAll, isShared, packetsOfPeople, startNode } from './nodes.ts';

const PEOPLE = 12;
const PACKETS = 60;
const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

async function socketsOf({ baseUrl }: Service): Promise<number> {
  const text = await (await fetch(`${baseUrl}/metrics`)).text();
  return Number(/^bio_ingest_sockets (\d+)$/m.exec(text)?.[1]);
}

// promise: told-node
test('a device moves to the node that stores its packets, comes back when that stops, and every packet is stored once', async () => {
  const database = await testDatabase();
  closing.push(() => database.close());
  await database.pool.query('select set_partitions($1)', [4]);
  const { apiKey } = await createOrganization(database.pool, 'Told');
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-told-'));
  closing.push(() => rmSync(folder, { recursive: true }));
  const start = async (): Promise<Service> => {
    const port = await freePort();
    const settings = { BIO_BUS_DIR: folder, PORT: String(port), BIO_NODE_ADDRESS: `http://127.0.0.1:${port}` };
    const { service } = await startNode(database.url, settings);
    closing.push(() => service.stop());
    return service;
  };
  const near = await start();
  const other = await start();
  await until(() => isShared(database, 2), 30_000);

  const replies: string[] = [];
  const clients = Array.from({ length: PEOPLE }, () => {
    const onReply = ({ nodeUrl }: { nodeUrl: string }): void => void replies.push(nodeUrl);
    const client = new IngestClient({ baseUrl: near.baseUrl, token: () => apiKey.key, transport: 'websocket', onReply });
    closing.push(() => client.close());
    return client;
  });
  const packets = packetsOfPeople(PEOPLE, PACKETS, 200, BigInt(Date.now() - 20_000) * 1_000_000n);
  const send = async (from: number, to: number): Promise<void> => {
    const settled = packets.flatMap((each, person) => each.slice(from, to).map((bytes) => clients[person]!.sendEncoded(bytes)));
    for (const { status } of await Promise.all(settled)) expect(status).toBe('stored');
  };
  await send(0, 10);
  await until(async () => (await socketsOf(other)) > 0 && (await socketsOf(near)) + (await socketsOf(other)) === PEOPLE);
  expect(replies.filter((url) => url === other.baseUrl)).toHaveLength(await socketsOf(other));
  await send(10, 30);
  // None of those that moved was told to go on.
  expect(replies.filter((url) => url !== '' && url !== other.baseUrl)).toEqual([]);

  await other.stop();
  await send(30, PACKETS);
  expect(await socketsOf(near)).toBe(PEOPLE);
  await until(() => hasAll(database, PEOPLE, PACKETS));
});
