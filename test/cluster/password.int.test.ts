/** The password of the database changes under two nodes: what one of them gives back is not taken by the other, which could not read it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { pairLocks } from '../../src/storage/database/locks.ts';
import { hasNatsServer, startNats } from '../../faults/lib/nats-server.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { hasAll, isShared, ownersOf, packetsOfPeople, sendAll, startNode } from './nodes.ts';

const PARTITIONS = 4;
const PEOPLE = 8;
const PACKETS = 3;
/** So long a node without connections is watched: it looks every second. */
const WATCHED_MS = 4000;
const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

// promise: cluster-password
test.runIf(hasNatsServer)(
  'a node to which the database gives no new connection takes no partition, and the one with the new password has its share',
  async () => {
    const nats = await startNats();
    closing.push(() => nats.close());
    const database = await testDatabase();
    const role = `rotated_${Math.random().toString(36).slice(2)}`;
    closing.push(async () => {
      await database.pool.query(`drop owned by ${role}; drop role ${role}`).catch(() => undefined);
      await database.close();
    });
    await database.pool.query(`create role ${role} login superuser password 'former'`);
    await database.pool.query('select set_partitions($1)', [PARTITIONS]);
    const { apiKey } = await createOrganization(database.pool, 'Cluster');
    const settings = { BIO_NATS_URL: `nats://127.0.0.1:${nats.port}`, BIO_CLUSTER: 'password' };
    const start = async (password: string): Promise<Awaited<ReturnType<typeof startNode>>> => {
      const node = await startNode(Object.assign(new URL(database.url), { username: role, password }).href, settings);
      closing.push(() => node.service.stop());
      return node;
    };
    const [first, second] = [await start('former'), await start('former')];
    await until(() => isShared(database, 2), 30_000);
    const packets = packetsOfPeople(PEOPLE, PACKETS, 1000, BigInt(Date.now() - 1000 * PACKETS) * 1_000_000n);
    const send = (of: number, nodes: readonly (typeof first)[]): Promise<unknown> =>
      Promise.all(
        packets.map((each) => sendAll(each.slice(0, of), apiKey.key, () => nodes.map(({ service }) => service), { first: 0, pauseMs: 0 })),
      );
    await send(1, [first]);

    await database.pool.query(`alter role ${role} password 'next'`);
    await first.service.stop();
    // What a pool keeps open ends after some seconds; by their locks the nodes are known.
    await database.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity a where usename = $1 and not exists (
         select from pg_locks l where l.pid = a.pid and l.locktype = 'advisory' and l.classid = $2)`,
      [role, pairLocks.clusterNode[0]],
    );
    await sleep(WATCHED_MS);
    const owners = await ownersOf(database);
    expect(owners.filter((owner) => owner === null)).toHaveLength(PARTITIONS / 2);
    expect(second.faults.filter((fault) => fault.includes('takes no partition'))).toHaveLength(1);

    const third = await start('next');
    await until(async () => !(await ownersOf(database)).includes(null), 30_000);
    await second.service.stop();
    await until(() => isShared(database, 1), 60_000);
    await send(PACKETS, [third]);
    await until(() => hasAll(database, PEOPLE, PACKETS));
  },
);
