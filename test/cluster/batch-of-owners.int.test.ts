/** A gateway's batch with people of three nodes, one of which is killed: only that node's people are refused meanwhile. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { freePort } from '../../faults/lib/free-port.ts';
import { ServiceProcess } from '../../faults/lib/service.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { encodeBatch } from '../../src/proto/packet-encode.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { hasAll, isShared, ownersOf, packetsOfPeople, startNode } from './nodes.ts';

const PEOPLE = 9;
const BATCHES_MAX = 400;
const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

// promise: batch-of-owners
test('of a batch for three nodes only the packets of the one that was killed are refused, and each is stored once', async () => {
  const database = await testDatabase();
  closing.push(() => database.close());
  await database.pool.query('select set_partitions($1)', [12]);
  const { apiKey } = await createOrganization(database.pool, 'Gateway');
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-batch-'));
  closing.push(() => rmSync(folder, { recursive: true }));
  const settings = { BIO_BUS_DIR: folder };
  const started = await Promise.all([0, 1].map(() => startNode(database.url, settings)));
  closing.push(() => Promise.all(started.map(({ service }) => service.stop())));
  const { baseUrl } = started[0]!.service;
  const killed = new ServiceProcess(await freePort(), {
    env: { ...settings, DATABASE_URL: database.url, BIO_DB_CONNECTIONS_MAX: '14', BIO_DSP_WORKERS: '1', BIO_NODE_NAME: 'killed' },
  });
  closing.push(() => killed.kill());
  await killed.untilReady(60_000);
  await until(() => isShared(database, 3), 30_000);

  const packets = packetsOfPeople(PEOPLE, BATCHES_MAX, 200, BigInt(Date.now() - 3_600_000) * 1_000_000n);
  const next = Array.from({ length: PEOPLE }, () => 0);
  const answers: { status: number; refused: readonly number[]; codes: readonly string[] }[] = [];
  const send = async (): Promise<void> => {
    const response = await fetch(`${baseUrl}/ingest/raw-packet`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey.key}`, 'content-type': 'application/x-protobuf; encoding=delimited' },
      body: encodeBatch(packets.map((each, person) => each[next[person]!]!)),
    });
    const said = (await response.json()) as {
      accepted?: number;
      duplicates?: number;
      rejected?: { index: number; code: string }[];
      code?: string;
    };
    const rejections = said.rejected ?? packets.map((_, index) => ({ index, code: said.code! }));
    const refused = new Set(rejections.map(({ index }) => index));
    for (const person of packets.keys()) if (!refused.has(person)) next[person]! += 1;
    if (response.status === 202) expect(said.accepted! + said.duplicates! + refused.size).toBe(PEOPLE);
    answers.push({ status: response.status, refused: [...refused], codes: rejections.map(({ code }) => code) });
  };
  for (let n = 0; n < 5; n++) await send();
  expect(next).toEqual(packets.map(() => 5));
  const { rows } = await database.pool.query<{ id: string }>(`select id from cluster_node where name = 'killed'`);
  const owners = await ownersOf(database);
  expect(owners.filter((owner) => owner === rows[0]!.id)).toHaveLength(4);

  answers.length = 0;
  const sending = send();
  await killed.kill();
  await sending;
  const followed = async (): Promise<boolean> => !(await ownersOf(database)).includes(rows[0]!.id);
  for (let n = 0; n < BATCHES_MAX - 50 && !(answers.at(-1)!.refused.length === 0 && (await followed())); n++) await send();
  const everRefused = new Set(answers.flatMap(({ refused }) => refused));
  expect(everRefused.size, JSON.stringify(answers.slice(0, 10))).toBeGreaterThan(0);
  expect(everRefused.size, JSON.stringify(answers.slice(0, 10))).toBeLessThan(PEOPLE);
  for (const { codes } of answers) for (const code of codes) expect(['unavailable', 'busy']).toContain(code);

  const most = Math.max(...next);
  while (next.some((count) => count < most)) {
    const behind = next.map((count) => (count < most ? count : most - 1)); // again: those are repeats
    next.splice(0, PEOPLE, ...behind);
    await send();
  }
  await until(() => hasAll(database, PEOPLE, most), 60_000);
});
