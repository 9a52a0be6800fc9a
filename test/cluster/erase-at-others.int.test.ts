/** A person is erased at one node while another does not answer. */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { freePort } from '../../faults/lib/free-port.ts';
import { ServiceProcess } from '../../faults/lib/service.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { partitionOf } from '../../src/cluster/partition-of.ts';
import { pairLocks } from '../../src/storage/database/locks.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { isShared, ownersOf, packetsOfPeople, sendAll, startNode } from './nodes.ts';

const PARTITIONS = 2;
/** So many that it is certain in practice that each partition has one. */
const PEOPLE = 12;
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

type Problem = Readonly<{ status: number; body: Readonly<{ title?: string; detail?: string; stores?: { remaining: number }[] }> }>;

async function erase(baseUrl: string, key: string, person: Readonly<{ id: string; external_id: string }>): Promise<Problem> {
  const answer = await fetch(`${baseUrl}/api/v1/xusers/${person.id}/erase`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ confirm_external_id: person.external_id }),
  });
  return { status: answer.status, body: (await answer.json()) as Problem['body'] };
}

async function rowsOf(database: TestDatabase, streams: readonly number[]): Promise<number> {
  const { rows } = await database.pool.query<{ n: number }>(
    `select ((select count(*) from sample_block where stream_id = any($1)) + (select count(*) from beat where stream_id = any($1))
       + (select count(*) from feature where stream_id = any($1)))::integer as n`,
    [streams],
  );
  return rows[0]!.n;
}

async function setUp(): Promise<{ database: TestDatabase; key: string; folder: string }> {
  const database = await testDatabase();
  closing.push(() => database.close());
  await database.pool.query('select set_partitions($1)', [PARTITIONS]);
  const { apiKey } = await createOrganization(database.pool, 'Cluster');
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-erase-'));
  closing.push(() => rmSync(folder, { recursive: true }));
  return { database, key: apiKey.key, folder };
}

// promise: erased-without-node
test('the node of the person stands still: the person is erased once it is followed, and nothing comes back when it wakes', async () => {
  const { database, key, folder } = await setUp();
  const { service } = await startNode(database.url, { BIO_BUS_DIR: folder });
  closing.push(() => service.stop());
  const env = {
    DATABASE_URL: database.url,
    BIO_BUS_DIR: folder,
    BIO_NODE_NAME: 'still',
    BIO_DSP_WORKERS: '1',
    BIO_DB_CONNECTIONS_MAX: '14',
  };
  const other = new ServiceProcess(await freePort(), { env });
  closing.push(() => other.kill());
  await until(() => isShared(database, 2), 60_000);
  const packets = packetsOfPeople(PEOPLE, 3, 1000, BigInt(Date.now() - 3000) * 1_000_000n);
  await Promise.all(packets.map((each) => sendAll(each, key, () => [service], { first: 0, pauseMs: 0 })));
  const { rows: nodes } = await database.pool.query<{ id: string }>(`select id from cluster_node where name = 'still'`);
  const { rows: people } = await database.pool.query<{ id: string; external_id: string; streams: number[] }>(
    'select x.id, x.external_id, array_agg(s.id) as streams from xuser x join stream s on s.xuser_id = x.id group by x.id, x.external_id',
  );
  const owners = await ownersOf(database);
  const theirs = people.find(({ id }) => owners[partitionOf(id, PARTITIONS)] === nodes[0]!.id)!;

  other.pause(true);
  const { status, body } = await erase(service.baseUrl, key, theirs);
  expect([status, body.detail]).toEqual([200, undefined]);
  expect(body.stores!.every(({ remaining }) => remaining === 0)).toBe(true);
  other.pause(false);
  expect(await other.gone).not.toBe(0); // it was followed
  expect(await rowsOf(database, theirs.streams)).toBe(0);
});

test('a node lives and does not answer: what was done is said, and the same request erases the person later', async () => {
  const { database, key, folder } = await setUp();
  const folders = [join(folder, 'a'), join(folder, 'b')] as const;
  const [a, b] = await Promise.all(folders.map((each, i) => startNode(database.url, { BIO_BUS_DIR: each, BIO_NODE_NAME: `node-${i}` })));
  closing.push(() => Promise.all([a!.service.stop(), b!.service.stop()]));
  await until(() => isShared(database, 2), 60_000);
  const [packets] = packetsOfPeople(1, 3, 1000, BigInt(Date.now() - 3000) * 1_000_000n);
  await sendAll(packets!, key, () => [a!.service, b!.service], { first: 0, pauseMs: 20 });
  const people = async (): Promise<readonly { id: string; external_id: string; disabled: boolean }[]> =>
    (
      await database.pool.query<{ id: string; external_id: string; disabled: boolean }>(
        'select id, external_id, disabled_at is not null as disabled from xuser',
      )
    ).rows;
  const person = (await people())[0]!;
  const refused = await erase(a!.service.baseUrl, key, person);
  expect(refused.status).toBe(503);
  expect(refused.body.title).not.toContain('nothing was kept');
  expect(refused.body.detail).toMatch(
    /^Nothing was erased yet, but the user is disabled: node-1 lives and does not answer .* Send the same request again\.$/,
  );
  expect(await people()).toEqual([{ ...person, disabled: true }]);

  const { rows } = await database.pool.query<{ id: string }>(`select id from cluster_node where name = 'node-1'`);
  symlinkSync(join(folders[1], `${rows[0]!.id}.sock`), join(folders[0], `${rows[0]!.id}.sock`));
  expect((await erase(a!.service.baseUrl, key, person)).status).toBe(200);
  expect(await people()).toEqual([]);
});

test('a node that cannot see which nodes live erases nobody, and says so', async () => {
  const { database, key, folder } = await setUp();
  const [blind, other] = await Promise.all(
    ['blind', 'other'].map((name) => startNode(database.url, { BIO_BUS_DIR: folder, BIO_NODE_NAME: name })),
  );
  closing.push(() => Promise.all([blind!.service.stop(), other!.service.stop()]));
  await until(() => isShared(database, 2), 60_000);
  // It has no partition, so no node follows it.
  await database.pool.query(`update cluster_node set draining = true where name = 'blind'`);
  await until(() => isShared(database, 1), 60_000);
  const [packets] = packetsOfPeople(1, 3, 1000, BigInt(Date.now() - 3000) * 1_000_000n);
  await sendAll(packets!, key, () => [other!.service], { first: 0, pauseMs: 20 });
  const { rows: people } = await database.pool.query<{ id: string; external_id: string }>('select id, external_id from xuser');

  const { rows: backends } = await database.pool.query<{ pid: number }>(
    `select l.pid from pg_locks l join cluster_node n on n.lock_key = l.objid::bigint
     where n.name = 'blind' and l.locktype = 'advisory' and l.classid = $1 and l.granted`,
    [pairLocks.clusterNode[0]],
  );
  const { pid } = backends[0]!;
  process.kill(pid, 'SIGSTOP');
  const wake = (): void => void process.kill(pid, 'SIGCONT');
  closing.push(wake);
  const seesNobody = async (): Promise<boolean> =>
    (await (await fetch(`${blind!.service.baseUrl}/readyz`)).text()).includes('open, to 0 other nodes');
  await until(seesNobody, 60_000);
  const refused = await erase(blind!.service.baseUrl, key, people[0]!);
  expect([refused.status, refused.body.detail]).toEqual([
    503,
    expect.stringMatching(/^Nothing was erased yet, but the user is disabled: /),
  ]);
  closing.splice(closing.indexOf(wake), 1);
  wake();
  await until(async () => !(await seesNobody()), 60_000);
  expect((await erase(blind!.service.baseUrl, key, people[0]!)).status).toBe(200);
});
