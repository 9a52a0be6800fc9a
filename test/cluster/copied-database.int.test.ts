/** A copy of a database, as of a backup that is tried out, whose node has the same settings of NATS as the nodes of the original. */
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { hasNatsServer, startNats } from '../../faults/lib/nats-server.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { openDatabase } from '../../src/storage/database/database.ts';
import { testDatabase, testServerUrl, until } from '../helpers/database.ts';
import { hasAll, isShared, packetsOfPeople, startNode } from './nodes.ts';

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

// promise: copies-apart
test.runIf(hasNatsServer)(
  'a node of a copy of the database passes nothing on to the node that owned the people when it was copied',
  async () => {
    const nats = await startNats();
    closing.push(() => nats.close());
    const original = await testDatabase();
    closing.push(() => original.close());
    await original.pool.query('select set_partitions($1)', [2]);
    const { apiKey } = await createOrganization(original.pool, 'Copied');
    const copyUrl = new URL(original.url);
    copyUrl.pathname += '_copy';
    const admin = new pg.Client({ connectionString: await testServerUrl() });
    await admin.connect();
    closing.push(() => admin.end());
    const name = new URL(original.url).pathname.slice(1);
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
    await admin.query(`create database ${name}_copy template ${name}`);
    closing.push(() => admin.query(`drop database ${name}_copy with (force)`));
    const copy = await openDatabase(copyUrl.href);
    closing.push(() => copy.close());

    const settings = { BIO_NATS_URL: `nats://127.0.0.1:${nats.port}`, BIO_CLUSTER: 'ward' };
    const owner = await startNode(original.url, settings);
    closing.push(() => owner.service.stop());
    await until(() => isShared(original, 1), 30_000);
    // What a copy of this moment says of owners.
    const { rows: nodes } = await original.pool.query<{ id: string; lock_key: number }>('select id, lock_key from cluster_node');
    await copy.pool.query(`insert into cluster_node (id, lock_key, name, address, version) values ($1, $2, 'original', '', '')`, [
      nodes[0]!.id,
      nodes[0]!.lock_key,
    ]);
    await copy.pool.query(`update packet_log_checkpoint set owner = $1, owner_name = 'original'`, [nodes[0]!.id]);

    const held = await copy.pool.connect();
    closing.push(() => held.release(true));
    await held.query('begin');
    await held.query('select from packet_log_checkpoint for update'); // it cannot take them yet
    const other = await startNode(copyUrl.href, settings);
    closing.push(() => other.service.stop());
    const [packets] = packetsOfPeople(1, 1, 200, BigInt(Date.now() - 60_000) * 1_000_000n);
    const send = async (): Promise<number> => {
      const answer = await fetch(`${other.service.baseUrl}/ingest/raw-packet`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey.key}`, 'content-type': 'application/x-protobuf' },
        body: Buffer.from(packets![0]!),
      });
      await answer.text();
      return answer.status;
    };
    const answers: number[] = [];
    for (const endMs = performance.now() + 1500; performance.now() < endMs;) answers.push(await send());
    expect((await original.pool.query('select from stream')).rowCount).toBe(0);
    expect(new Set(answers)).toEqual(new Set([503]));
    await held.query('rollback');
    await until(async () => (await send()) === 202, 30_000);
    await until(() => hasAll({ ...original, ...copy }, 1, 1), 30_000);
    expect((await original.pool.query('select from stream')).rowCount).toBe(0);
  },
);
