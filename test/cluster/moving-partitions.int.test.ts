/** Nodes of one database that come and go while devices send: every partition moves, most of them several times. What was acknowledged is
 *  stored once, and values are those of a node that was alone. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { Service } from '../../src/server.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { derivedRows } from '../helpers/derived-rows.ts';
import { hasAll, isShared, packetsOfPeople, sendAll, startNode } from './nodes.ts';

const PARTITIONS = 6;
const PEOPLE = 8;
const PACKETS = 150;
const busDir = mkdtempSync(join(tmpdir(), 'biosignal-bus-'));
const packets = packetsOfPeople(PEOPLE, PACKETS, 1000, BigInt(Date.now() - 600_000) * 1_000_000n);
const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
  rmSync(busDir, { recursive: true });
});

/** @param folder of the nodes; '': it is alone */
async function start(url: string, folder: string): Promise<Service> {
  const { service, faults } = await startNode(url, { BIO_BUS_DIR: folder });
  closing.push(async () => {
    await service.stop();
    expect(faults).toEqual([]);
  });
  return service;
}

test('partitions move between nodes that come and go: nothing is lost or doubled, and values are those of one node', async () => {
  const alone = await testDatabase();
  closing.push(() => alone.close());
  const reference = await start(alone.url, '');
  const { apiKey } = await createOrganization(alone.pool, 'Alone');
  await Promise.all(packets.map((each) => sendAll(each, apiKey.key, () => [reference], { first: 0, pauseMs: 0 })));

  const database = await testDatabase();
  closing.push(() => database.close());
  await database.pool.query('select set_partitions($1)', [PARTITIONS]);
  const org = await createOrganization(database.pool, 'Cluster');
  const living = [await start(database.url, busDir)];
  await until(() => isShared(database, 1));
  const sending = Promise.all(packets.map((each, first) => sendAll(each, org.apiKey.key, () => living, { first, pauseMs: 120 })));
  for (let round = 0; round < 3; round++) {
    living.push(await start(database.url, busDir));
    await until(() => isShared(database, 2), 30_000);
    const [former] = living.splice(0, 1);
    await former!.stop();
    await until(() => isShared(database, 1), 30_000);
  }
  await sending;
  expect(living[0]!.pipeline.parts().every(({ ok }) => ok)).toBe(true);

  await until(() => hasAll(database, PEOPLE, PACKETS));
  await Promise.all([living[0]!.stop(), reference.stop()]);
  for (const person of packets.keys()) {
    const expected = await derivedRows(alone, `patch-${person}`);
    expect(expected.length).toBeGreaterThan(100);
    expect(await derivedRows(database, `patch-${person}`)).toEqual(expected);
  }
  const samples = 'select sum(n)::int as n from sample_block';
  expect((await database.pool.query(samples)).rows).toEqual((await alone.pool.query(samples)).rows);
});
