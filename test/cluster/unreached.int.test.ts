/** Nodes of one database that do not hear each other, as two machines without NATS: each says so, until they do. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { isShared, packetsOfPeople, sendAll, startNode } from './nodes.ts';

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

// promise: unreached-told
// job: reach
test('a node that lives and answers nothing is named in /readyz, /metrics and the log, until it answers', async () => {
  const database = await testDatabase();
  closing.push(() => database.close());
  await database.pool.query('select set_partitions($1)', [2]);
  const { apiKey } = await createOrganization(database.pool, 'Cluster');
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-unreached-'));
  closing.push(() => rmSync(folder, { recursive: true }));
  const folders = [join(folder, 'a'), join(folder, 'b')] as const;
  const [a, b] = await Promise.all(folders.map((each, i) => startNode(database.url, { BIO_BUS_DIR: each, BIO_NODE_NAME: `node-${i}` })));
  closing.push(() => Promise.all([a!.service.stop(), b!.service.stop()]));
  await until(() => isShared(database, 2), 30_000);
  const bus = async (): Promise<Readonly<{ ok: boolean; detail: string }>> => {
    const answer = await fetch(`${a!.service.baseUrl}/readyz`);
    expect(answer.status).toBe(200); // its own people's packets are taken
    const { parts } = (await answer.json()) as { parts: { name: string; ok: boolean; detail: string }[] };
    return parts.find(({ name }) => name === 'bus')!;
  };
  const open = async (): Promise<string | undefined> =>
    /^bio_bus_open (\d)/m.exec(await (await fetch(`${a!.service.baseUrl}/metrics`)).text())?.[1];
  await until(async () => !(await bus()).ok, 60_000);
  expect((await bus()).detail).toMatch(/^open, but node-1 does not answer: .*BIO_BUS_DIR, must be the same on every node$/);
  expect(await open()).toBe('0');
  await until(() => a!.faults.some((fault) => fault.startsWith('cluster: node-1 does not answer: ')), 10_000);

  // A viewer sees frames where the person's packets go, and is told to try another node where no frame comes.
  const [packets] = packetsOfPeople(1, 3, 200, BigInt(Date.now() - 1000) * 1_000_000n);
  await sendAll(packets!, apiKey.key, () => [a!.service, b!.service], { first: 0, pauseMs: 20 });
  const protocols = ['bio.v1', `bio.bearer.${Buffer.from(apiKey.key).toString('base64url')}`];
  const ends = await Promise.all(
    [a!, b!].map(async ({ service }) => {
      const socket = new WebSocket(`${service.baseUrl.replace('http', 'ws')}/ws?subject=person-0`, protocols);
      const ended = once(socket, 'close').then(([event]) => (event as CloseEvent).code);
      const end = await Promise.race([ended, sleep(6000, 'open')]);
      socket.close();
      return end;
    }),
  );
  expect(new Set(ends)).toEqual(new Set([4012, 'open']));

  const { rows } = await database.pool.query<{ id: string }>(`select id from cluster_node where name = 'node-1'`);
  symlinkSync(join(folders[1], `${rows[0]!.id}.sock`), join(folders[0], `${rows[0]!.id}.sock`));
  await until(async () => (await bus()).ok, 30_000);
  expect((await bus()).detail).toBe('open, to 1 other node');
  expect(await open()).toBe('1');
});
