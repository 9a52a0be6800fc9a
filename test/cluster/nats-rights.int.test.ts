/** The rights of a user of NATS are changed while nodes are connected, as by `systemctl reload nats-server`: the connections stay, and the
 *  server forgets what was subscribed. */
import { afterAll, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { Service } from '../../src/server.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { hasNatsServer, startNats } from '../../faults/lib/nats-server.ts';
import { hasAll, isShared, packetsOfPeople, sendAll, startNode } from './nodes.ts';

const PEOPLE = 4;
const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

/** Configuration of a user who may publish below one name and subscribe below another. */
const rights = (publish: string, subscribe: string): string =>
  `authorization { users: [{ user: ward, password: right, permissions: { publish: "${publish}.>", subscribe: "${subscribe}.>" } }] }`;

// promise: rights-again
test.runIf(hasNatsServer)('a right that is taken from connected nodes and given back: they say so, and go on', async () => {
  const nats = await startNats(rights('ward', 'ward'));
  closing.push(() => nats.close());
  const database = await testDatabase();
  closing.push(() => database.close());
  await database.pool.query('select set_partitions($1)', [PEOPLE]);
  const { apiKey } = await createOrganization(database.pool, 'Cluster');
  const settings = { BIO_NATS_URL: `nats://ward:right@127.0.0.1:${nats.port}`, BIO_CLUSTER: 'ward' };
  const started = await Promise.all([0, 1].map(() => startNode(database.url, settings)));
  closing.push(() => Promise.all(started.map(({ service }) => service.stop())));
  const nodes = started.map(({ service }) => service);
  await until(() => isShared(database, 2), 60_000);
  const busOf = async ({ baseUrl }: Service): Promise<Readonly<{ ok: boolean; detail: string }>> => {
    const answer = await fetch(`${baseUrl}/readyz`);
    expect(answer.status).toBe(200); // its own people's packets are taken
    const { parts } = (await answer.json()) as { parts: { name: string; ok: boolean; detail: string }[] };
    return parts.find(({ name }) => name === 'bus')!;
  };
  const reload = (publish: string, subscribe: string): void => {
    nats.configure(rights(publish, subscribe));
    process.kill(nats.pid, 'SIGHUP');
  };
  const packets = packetsOfPeople(PEOPLE, 5, 200, BigInt(Date.now() - 2000) * 1_000_000n);
  /** @returns how often packets of each person were refused */
  const send = (to: readonly Service[], first: number, end: number): Promise<readonly number[]> =>
    Promise.all(packets.map((each) => sendAll(each.slice(first, end), apiKey.key, () => to, { first: 0, pauseMs: 0 })));
  await send(nodes.slice(0, 1), 0, 1);

  for (const [turn, [publish, subscribe]] of [['ward', 'clinic'] as const, ['clinic', 'ward'] as const].entries()) {
    reload(publish, subscribe);
    for (const { service, faults } of started) {
      await until(async () => (await busOf(service)).detail.includes("must be allowed to publish and to subscribe to 'ward.>'"), 30_000);
      const told = faults.filter((fault) => /must be allowed to publish .* are refused until it is there again/.test(fault));
      expect(told, faults.join('\n')).toHaveLength(turn + 1);
    }
    // A device that tries one node after the other is served.
    expect(await send(nodes, 1 + 2 * turn, 2 + 2 * turn)).not.toEqual(packets.map(() => 0));
    reload('ward', 'ward');
    for (const node of nodes) await until(async () => (await busOf(node)).ok, 30_000);
    await send(nodes.slice(0, 1), 2 + 2 * turn, 3 + 2 * turn);
  }
  await until(() => hasAll(database, PEOPLE, 5), 30_000);
});
