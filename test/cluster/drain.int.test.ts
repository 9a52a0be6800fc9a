/** Nodes are drained into others that can take what they have. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cluster } from '../../src/cli/cluster.ts';
import { ran } from '../helpers/commands.ts';
import { testDatabase } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';

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
