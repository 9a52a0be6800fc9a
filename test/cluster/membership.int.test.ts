/** One node's part in a cluster, without the rest of the service: why it ends, and what it asks of the database meanwhile. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { openDatabase } from '../../src/storage/database/database.ts';
import type { Database } from '../../src/storage/database/database.ts';
import { Membership } from '../../src/storage/membership.ts';
import type { PartitionHost } from '../../src/storage/membership.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { begin } from './nodes.ts';

const PARTITIONS = 4;
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function partitioned(partitions = PARTITIONS): Promise<TestDatabase> {
  const database = await testDatabase();
  closing.push(() => database.close());
  await database.pool.query('select set_partitions($1)', [partitions]);
  return database;
}

/** A node that opens what it takes at once. @param release what it does with a partition that is another's share */
async function join(
  database: Database,
  release: PartitionHost['release'] = () => Promise.resolve(null),
  id: string = randomUUID(),
): Promise<{ node: Membership; faults: string[] }> {
  const faults: string[] = [];
  const node = await Membership.join(database, {
    instance: { id, name: 'node' },
    onFault: (message) => void faults.push(message),
  });
  closing.push(() => node.release());
  begin(node, release);
  return { node, faults };
}

const holds = ({ fence }: Membership, count: number): Promise<void> => until(() => fence.held.partitions.length === count);

test('a node that was away while people were cut anew says so, and not that another has its partitions', async () => {
  const database = await partitioned();
  const { node } = await join(database);
  await holds(node, PARTITIONS);
  await database.pool.query('select set_partitions($1)', [PARTITIONS * 2]);
  expect(await node.ended).toMatch(/^people were cut into another number of partitions; it has to start again$/);
});

test('a node whose write is refused because people were cut anew says so, before it has looked', async () => {
  const database = await partitioned();
  const { node } = await join(database);
  await holds(node, PARTITIONS);
  await database.pool.query('select set_partitions($1)', [PARTITIONS * 2]);
  await expect(node.fence.holding(database, async () => undefined)).rejects.toMatchObject({ code: 'BS001' });
  expect(await node.ended).toMatch(/^people were cut into another number of partitions; it has to start again$/);
  expect(node.lost).toBe(await node.ended);
});

test('a node that is followed while it gives a partition back says that it was followed', async () => {
  const database = await partitioned();
  const { node } = await join(database, (partition) =>
    // As the database refuses a writer: the other has claimed the partition a moment before.
    database.pool.query(`select hold_partitions($1, '{-1}')`, [`{${partition}}`]).then(() => null),
  );
  await holds(node, PARTITIONS);
  await join(database);
  expect(await node.ended).toMatch(/^another node has taken over partitions of this one;/);
});

test('a node that is followed while it is suspended does not look alive when it wakes: nobody gives it a partition again', async () => {
  const database = await partitioned();
  const { node } = await join(database);
  await holds(node, PARTITIONS);
  await database.pool.query(
    `with node as (update cluster_node set renewed_at = clock_timestamp() - interval '1 minute')
     update packet_log_checkpoint set owner = gen_random_uuid(), epoch = epoch + 1`,
  );
  expect(await node.ended).toMatch(/^another node has taken over partitions of this one;/);
  const { rows } = await database.pool.query<{ silent: boolean }>(
    `select renewed_at < clock_timestamp() - interval '30 s' as silent from cluster_node`,
  );
  expect(rows).toEqual([{ silent: true }]);
});

test('of two nodes with other names that start at the same moment the later one ends, and says both names', async () => {
  const database = await partitioned();
  const asked = ['ward', 'word'].map((cluster) =>
    Membership.join(database, { instance: { id: randomUUID(), name: `node of ${cluster}` }, cluster }),
  );
  const nodes = await Promise.all(asked);
  for (const node of nodes) {
    closing.push(() => node.release());
    begin(node);
  }
  const [ward, word] = nodes as [Membership, Membership];
  expect(await Promise.race([ward.ended, word.ended])).toMatch(
    /^this node is of the cluster 'w(a|o)rd', and node of w(o|a)rd, which shares its database, of 'w\2rd': they would not reach each other;/,
  );
  const stays = ward.lost === null ? ward : word;
  await holds(stays, PARTITIONS);
  expect(stays.lost).toBeNull();
});

test('what a node that stops gives back is taken at once, not when its process has ended', async () => {
  const database = await partitioned();
  const { node } = await join(database);
  await holds(node, PARTITIONS);
  const other = (await join(database)).node;
  await holds(node, PARTITIONS / 2);
  await holds(other, PARTITIONS / 2);
  await node.leave(20_000);
  await holds(other, PARTITIONS);
  const { rows } = await database.pool.query('select draining from cluster_node where id = $1', [node.self]);
  expect(rows).toEqual([{ draining: true }]);
});

// promise: all-drained
test('nodes that are drained take partitions where no other node lives, until one does', async () => {
  const database = await partitioned();
  const [first, second] = [await join(database), await join(database)].map(({ node }) => node);
  await holds(first!, PARTITIONS / 2);
  await database.pool.query('update cluster_node set draining = true where id = $1', [first!.self]);
  await holds(second!, PARTITIONS);
  await second!.release();
  await holds(first!, PARTITIONS);
  const third = (await join(database)).node;
  await holds(third, PARTITIONS);
  expect(first!.fence.held.partitions).toEqual([]);
});

test('while a partition cannot be given back, new connections are tried every second at most', async () => {
  const database = await partitioned(3 * PARTITIONS); // more than are given back at once
  let tried = 0;
  const counted: Database = {
    ...database,
    connect: () => {
      tried += 1;
      return database.connect();
    },
  };
  const { promise, resolve } = Promise.withResolvers<null>();
  const { node } = await join(counted, () => promise);
  closing.push(async () => resolve(null));
  await holds(node, 3 * PARTITIONS);
  await join(database);
  await until(() => node.fence.held.partitions.some((partition) => node.fence.held.modeOf(partition) === 'leaving'));
  await sleep(10_500); // then it is looked into
  const before = tried;
  await sleep(3000);
  expect(tried - before).toBeGreaterThan(0);
  expect(tried - before).toBeLessThanOrEqual(4);
  resolve(null);
  await holds(node, (3 * PARTITIONS) / 2);
});

test('a claim whose answer was lost on the way is made again', async () => {
  const database = await partitioned();
  let lost = 0;
  const lossy: Database = {
    ...database,
    connect: async () => {
      const client = await database.connect();
      const query = client.query.bind(client) as (...given: unknown[]) => Promise<unknown>;
      const loseFirst = async (...given: unknown[]): Promise<unknown> => {
        const answer = await query(...given);
        if (lost > 0 || !String(given[0]).includes('claim_partitions')) return answer;
        lost += 1; // the database has committed it
        await client.end();
        throw Object.assign(new Error('the connection was reset'), { code: 'ECONNRESET' });
      };
      return Object.assign(client, { query: loseFirst });
    },
  };
  const { node } = await join(lossy);
  await holds(node, PARTITIONS);
  expect(lost).toBe(1);
  const { rows } = await database.pool.query<{ epoch: bigint }>('select epoch from packet_log_checkpoint order by partition');
  expect(rows.map(({ epoch }) => epoch)).toEqual(Array.from({ length: PARTITIONS }, (_, partition) => node.fence.held.epochOf(partition)));
  expect(node.lost).toBeNull();
});

test('nodes that live keep their partitions when the clock of the database leaps', async () => {
  const database = await partitioned();
  const nodes = [await join(database), await join(database)].map(({ node }) => node);
  for (const node of nodes) await holds(node, PARTITIONS / 2);
  for (let leap = 1; leap <= 5; leap++) {
    await database.pool.query(`update cluster_node set renewed_at = renewed_at - interval '2 hours'`);
    await sleep(500);
  }
  const { rows } = await database.pool.query<{ since: number }>(
    'select extract(epoch from clock_timestamp() - started_at)::float8 as since from cluster_node',
  );
  expect(rows.length).toBe(2);
  for (const { since } of rows) expect(since).toBeGreaterThan(2); // the rows are those of the start
  expect(nodes.map(({ lost }) => lost)).toEqual([null, null]);
});

// promise: cluster-refused
test.each([
  ['its login may not connect', 'revoke connect on database DATABASE from public, LOGIN'],
  ['its login has no right to log in any more', 'alter role LOGIN nologin'],
  ['its login is no member of the role any more', 'revoke biosignal_ingest from LOGIN'],
  ['the database takes no connections', 'alter database DATABASE allow_connections false'],
])('a node takes no partition while the database refuses it new connections: %s', async (_, statement) => {
  const database = await partitioned();
  const address = new URL(database.url);
  const login = `node_${Math.random().toString(36).slice(2)}`;
  await database.pool.query(`create role ${login} login password 'word'; grant biosignal_ingest to ${login}`);
  closing.push(() => database.pool.query(`drop owned by ${login}; drop role ${login}`));
  const first = await join(database);
  await holds(first.node, PARTITIONS);
  const url = Object.assign(new URL(address.href), { username: login, password: 'word' }).href;
  const limited = await openDatabase(url, { role: 'biosignal_ingest' });
  closing.push(() => limited.close());
  const { node, faults } = await join(limited);
  await holds(node, PARTITIONS / 2);
  const admin = await openDatabase(Object.assign(new URL(address.href), { pathname: '/postgres' }).href);
  closing.push(() => admin.close());
  const name = `"${address.pathname.slice(1)}"`;
  await (statement.startsWith('revoke b') ? database : admin).pool.query(statement.replaceAll('LOGIN', login).replaceAll('DATABASE', name));
  if (statement.includes('allow_connections')) closing.push(() => admin.pool.query(`alter database ${name} allow_connections true`));
  await first.node.release();
  await until(() => faults.some((fault) => fault.includes('takes no partition')));
  await until(async () => (await database.pool.query('select from cluster_node where refused')).rowCount === 1);
  expect(faults.filter((fault) => fault.includes('could not be taken'))).toEqual([]);
  expect(node.lost).toBeNull();
});

test('what one node does for all is not left to one to which the database gives no connections', async () => {
  const database = await partitioned();
  const login = `node_${Math.random().toString(36).slice(2)}`;
  await database.pool.query(`create role ${login} login password 'word'; grant biosignal_ingest to ${login}`);
  closing.push(() => database.pool.query(`drop owned by ${login}; drop role ${login}`));
  const limited = await openDatabase(Object.assign(new URL(database.url), { username: login, password: 'word' }).href, {
    role: 'biosignal_ingest',
  });
  closing.push(() => limited.close());
  const idFrom = (digit: string): string => `${digit}${randomUUID().slice(1)}`;
  const other = await join(database, undefined, idFrom('f'));
  await holds(other.node, PARTITIONS);
  expect(other.node.isFirst).toBe(true);
  const { node, faults } = await join(limited, undefined, idFrom('0'));
  await holds(node, PARTITIONS / 2);
  await until(() => node.isFirst && !other.node.isFirst);
  await database.pool.query(`alter role ${login} nologin`);
  await other.node.release();
  await until(() => faults.some((fault) => fault.includes('takes no partition')));
  const next = await join(database, undefined, idFrom('e'));
  await until(() => next.node.isFirst && !node.isFirst);
});
