/** Commands and nodes that can take no partitions: a node is drained into others that can. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cluster } from '../../src/cli/cluster.ts';
import { doctor } from '../../src/cli/doctor.ts';
import { ran } from '../helpers/commands.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { isShared, startNode } from './nodes.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.close());

test.each(['draining', 'refused'])('a node whose only other one is %s is not drained: nobody would take what it has', async (state) => {
  await database.pool.query('delete from cluster_node');
  await database.pool.query(
    `insert into cluster_node (id, lock_key, name, address, version, ${state})
     values (gen_random_uuid(), 1, 'one', '', '', false), (gen_random_uuid(), 2, 'other', '', '', true)`,
  );
  const drain = () => ran(cluster, ['drain', 'one'], { env: { DATABASE_URL: database.url }, cwd: '.' });
  const refused = await drain();
  expect(refused.err.join('\n')).toContain('no other node could take its partitions');
  expect(refused.code).not.toBe(0);
  await database.pool.query(
    `insert into cluster_node (id, lock_key, name, address, version) values (gen_random_uuid(), 3, 'third', '', '')`,
  );
  expect(await drain()).toMatchObject({ code: 0, out: ['one gives its partitions to the others'] });
});

test('of two nodes that are drained at the same moment one stays to take what the other has', async () => {
  const { pool } = database;
  for (let round = 0; round < 8; round++) {
    await pool.query('delete from cluster_node');
    await pool.query(
      `insert into cluster_node (id, lock_key, name, address, version) values (gen_random_uuid(), 1, 'one', '', ''), (gen_random_uuid(), 2, 'other', '', '')`,
    );
    const drains = ['one', 'other'].map((node) => ran(cluster, ['drain', node], { env: { DATABASE_URL: database.url }, cwd: '.' }));
    const codes = (await Promise.all(drains)).map(({ code }) => code);
    expect(codes.filter((code) => code === 0)).toHaveLength(1);
    expect((await pool.query('select from cluster_node where draining')).rowCount).toBe(1);
  }
});

test('doctor names a node that the database refuses new connections, while it has partitions or not', async () => {
  const { pool } = database;
  await pool.query('delete from cluster_node');
  const says = async (): Promise<string> => (await ran(doctor, [], { env: { DATABASE_URL: database.url }, cwd: '.' })).out.join('\n');
  const { rows } = await pool.query<{ id: string }>(
    `insert into cluster_node (id, lock_key, name, address, version, refused) values (gen_random_uuid(), 1, 'locked out', '', '', true) returning id`,
  );
  expect(await says()).toMatch(/WARNING {2}owner +the database refuses locked out new connections/);
  await pool.query(`update packet_log_checkpoint set owner = $1, owner_name = 'locked out', renewed_at = clock_timestamp()`, [rows[0]!.id]);
  expect(await says()).toMatch(/WARNING {2}owner +the database refuses locked out new connections/);
  await pool.query('update cluster_node set refused = false');
  expect(await says()).not.toContain('refuses');
});

test('doctor adds up the connections of all living nodes', async () => {
  const { pool } = database;
  const { rows } = await pool.query<{ limit: number }>(`select current_setting('max_connections')::int as limit`);
  const says = async (): Promise<string> => (await ran(doctor, [], { env: { DATABASE_URL: database.url }, cwd: '.' })).out.join('\n');
  const nodes = Math.ceil(rows[0]!.limit / 30) + 1;
  const insert = `insert into cluster_node (id, lock_key, name, address, version) select gen_random_uuid(), n, 'node ' || n, '', ''
    from generate_series(1, $1) n`;
  await pool.query('delete from cluster_node');
  await pool.query(insert, [1]);
  expect(await says()).not.toMatch(/ nodes may open /);
  await pool.query('delete from cluster_node');
  await pool.query(insert, [nodes]);
  expect(await says()).toMatch(
    new RegExp(`WARNING {2}connections +${nodes} nodes may open ${nodes * 30} connections, and of the server's `),
  );
});

// promise: names-told
test('doctor counts nodes of one name as what they are, and warns of the name', async () => {
  await database.pool.query('delete from cluster_node');
  await database.pool.query('update packet_log_checkpoint set owner = null');
  await database.pool.query('select set_partitions($1)', [3]);
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-names-'));
  const names = ['copied', 'copied', 'other'];
  const started = await Promise.all(names.map((name) => startNode(database.url, { BIO_BUS_DIR: folder, BIO_NODE_NAME: name })));
  try {
    await until(() => isShared(database, 3), 60_000);
    let said = '';
    await until(async () => {
      said = (await ran(doctor, [], { env: { DATABASE_URL: database.url }, cwd: '.' })).out.join('\n');
      return said.includes('3 nodes share the packet log (copied, copied, other), each confirmed within');
    });
    expect(said).toMatch(/WARNING {2}owner +2 nodes that run are called copied/);
    await until(() => started[0]!.faults.some((fault) => fault.startsWith('cluster: another node is called copied, too')), 20_000);
    expect(started[2]!.faults.join()).not.toContain('is called');
  } finally {
    await Promise.all(started.map(({ service }) => service.stop()));
    rmSync(folder, { recursive: true });
  }
});

// promise again: names-told
test('a node warns of each that has its name, and not of one that has gone', async () => {
  await database.pool.query('delete from cluster_node');
  await database.pool.query('update packet_log_checkpoint set owner = null');
  await database.pool.query('select set_partitions($1)', [3]);
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-namesakes-'));
  const start = (): ReturnType<typeof startNode> => startNode(database.url, { BIO_BUS_DIR: folder, BIO_NODE_NAME: 'copied' });
  const first = await start();
  const warnings = (): number => first.faults.filter((fault) => fault.startsWith('cluster: another node is called copied, too')).length;
  try {
    for (const turn of [0, 1]) {
      const { service } = await start();
      await until(() => isShared(database, 2), 60_000);
      try {
        await until(() => warnings() > turn, 30_000);
      } finally {
        await service.stop();
      }
      await until(() => isShared(database, 1), 60_000);
    }
    const { service } = await start(); // it goes before it has lived next to the first
    await until(() => isShared(database, 2), 60_000);
    const before = warnings();
    await service.stop();
    await sleep(13_000);
    expect([before, warnings()]).toEqual([2, 2]);
  } finally {
    await first.service.stop();
    rmSync(folder, { recursive: true });
  }
});
