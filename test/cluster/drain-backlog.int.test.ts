/** A node is drained while what devices sent waits to be computed: that is left to the next owner, who takes packets meanwhile. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { freePort } from '../../faults/lib/free-port.ts';
import { ServiceProcess } from '../../faults/lib/service.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { Service } from '../../src/server.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { hasAll, isShared, ownersOf, packetsOfPeople, sendAll } from './nodes.ts';

const PEOPLE = 4;
const PACKETS = 30;
const PACKET_MS = 1000;
/** Twice five seconds that a stream may take, and room for a busy machine. */
const GIVEN_MS = 15_000;
/** Far longer: what the worker does ends then. */
const TASK_MS = 600_000;
const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

// promise: drain-backlog
test('a node whose worker is busy for minutes gives its partitions back within seconds', async () => {
  const database = await testDatabase();
  closing.push(() => database.close());
  await database.pool.query('select set_partitions($1)', [2]);
  const { apiKey } = await createOrganization(database.pool, 'Backlog');
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-backlog-'));
  closing.push(() => rmSync(folder, { recursive: true }));
  const start = async (name: string): Promise<ServiceProcess> => {
    const service = new ServiceProcess(await freePort(), {
      env: {
        DATABASE_URL: database.url,
        BIO_BUS_DIR: folder,
        BIO_NODE_NAME: name,
        BIO_DSP_WORKERS: '1',
        BIO_DSP_TASK_TIMEOUT_MS: String(TASK_MS),
        BIO_DB_CONNECTIONS_MAX: '14',
        BIO_REQUESTS_PER_SEC_MAX: '10000',
      },
    });
    closing.push(() => service.kill());
    await service.untilReady();
    return service;
  };
  const busy = await start('busy');
  await until(() => isShared(database, 1), 60_000);
  const [owner] = await ownersOf(database);
  const packets = packetsOfPeople(PEOPLE, PACKETS, PACKET_MS, BigInt(Date.now() - PACKETS * PACKET_MS) * 1_000_000n);
  const sendTo = async (service: ServiceProcess, from: number, to: number): Promise<void> => {
    const nodes = [{ baseUrl: service.url } as Service];
    await Promise.all(packets.map((each) => sendAll(each.slice(from, to), apiKey.key, () => nodes, { first: 0, pauseMs: 0 })));
  };
  await sendTo(busy, 0, 10);
  busy.send({ worker: 'loop' });
  await sleep(1000);
  await sendTo(busy, 10, 20);

  // Its worker computes nothing any more, and all that it had was acknowledged.
  const next = await start('next');
  await database.pool.query('update cluster_node set draining = true where id = $1', [owner]);
  await until(async () => (await ownersOf(database)).every((id) => id !== null && id !== owner), GIVEN_MS);
  await sendTo(next, 20, PACKETS);
  await until(() => hasAll(database, PEOPLE, PACKETS), 60_000);
  expect(busy.running).toBe(true);
}, 180_000);
