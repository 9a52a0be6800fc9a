/** A node that cannot store what it has before it has to end: the next owner of its partitions reads it back from the log. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { hasAll, isShared, packetsOfPeople, sendAll, startNode } from './nodes.ts';

const PEOPLE = 6;
const PACKETS = 5;
const SAMPLES_PER_SEC = 250;
const busDir = mkdtempSync(join(tmpdir(), 'biosignal-bus-'));
const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
  rmSync(busDir, { recursive: true });
});

// promise: late-stop
test('what a node had acknowledged and could not store before its time to stop was over is stored by the next owner', async () => {
  const database = await testDatabase();
  closing.push(() => database.close());
  await database.pool.query('select set_partitions($1)', [2]);
  const { apiKey } = await createOrganization(database.pool, 'Late');
  const start = async (): Promise<Awaited<ReturnType<typeof startNode>>['service']> => {
    const { service } = await startNode(database.url, { BIO_BUS_DIR: busDir, BIO_STOP_TIMEOUT_MS: '2000' });
    closing.push(() => service.stop());
    return service;
  };
  const [first, second] = [await start(), await start()];
  await until(() => isShared(database, 2), 30_000);

  const packets = packetsOfPeople(PEOPLE, PACKETS, 1000, BigInt(Date.now() - 600_000) * 1_000_000n);
  const lock = await database.connect();
  closing.push(() => lock.end());
  await lock.query('begin; lock table sample_block in share mode');
  await Promise.all(packets.map((each) => sendAll(each, apiKey.key, () => [second], { first: 0, pauseMs: 0 })));
  await first.stop();
  await lock.query('rollback');

  await until(() => isShared(database, 1), 30_000);
  await until(() => hasAll(database, PEOPLE, PACKETS));
  const stored = async (): Promise<number> =>
    (await database.pool.query<{ n: number }>('select coalesce(sum(n), 0)::int as n from sample_block')).rows[0]!.n;
  await until(async () => (await stored()) >= PEOPLE * PACKETS * SAMPLES_PER_SEC, 20_000).catch(() => undefined);
  expect(await stored()).toBe(PEOPLE * PACKETS * SAMPLES_PER_SEC);
});
