/** Commands that wait until the log so far is in the tables, while devices go on sending to several nodes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { untilStored } from '../../src/cli/changed-samples.ts';
import { simulate } from '../../src/cli/simulate.ts';
import { verify } from '../../src/cli/verify.ts';
import { ran } from '../helpers/commands.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { isShared, packetsOfPeople, sendAll, startNode } from './nodes.ts';

const PEOPLE = 8;
const work = mkdtempSync(join(tmpdir(), 'biosignal-backlog-'));
const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
  rmSync(work, { recursive: true });
});

test('verify and reprocess wait for what was logged before, not for what devices send to the node with the lower epoch', async () => {
  const database = await testDatabase();
  closing.push(() => database.close());
  await database.pool.query('select set_partitions($1)', [4]);
  const { apiKey } = await createOrganization(database.pool, 'Backlog');
  const nodes: Awaited<ReturnType<typeof startNode>>['service'][] = [];
  for (let i = 1; i <= 2; i++) {
    const { service } = await startNode(database.url, { BIO_BUS_DIR: work });
    closing.push(() => service.stop());
    nodes.push(service);
    await until(() => isShared(database, i), 30_000);
  }
  const env = { DATABASE_URL: database.url, BIO_URL: nodes[0]!.baseUrl, BIO_KEY: apiKey.key };
  const ledger = join(work, 'run');
  const sent = await ran(simulate, ['--devices', '8', '--duration', '10', '--speed', 'max', '--ledger', ledger], { env, cwd: work });
  expect(sent.code, sent.err.join('\n')).toBe(0);

  // Two minutes of packets, sent for as long as the commands wait.
  const packets = packetsOfPeople(PEOPLE, 2400, 250, BigInt(Date.now() - 900_000) * 1_000_000n);
  let goOn = true;
  const alive = packets.map((each, first) =>
    sendAll(
      each,
      apiKey.key,
      () => {
        if (!goOn) throw new Error('enough');
        return nodes;
      },
      { first, pauseMs: 50 },
    ).catch((error: unknown) => {
      if (goOn) throw error;
    }),
  );
  await until(
    async () =>
      (await database.pool.query(`select from stream where device_id in (select id from device where external_id like 'patch-%')`))
        .rowCount === PEOPLE,
  );
  const verified = await ran(verify, [ledger, '--wait', '20', '--json'], { env, cwd: work });
  const stored = await untilStored(database.pool, AbortSignal.timeout(90_000));
  goOn = false;
  await Promise.all(alive);
  expect(verified.code, verified.err.join('\n')).toBe(0);
  expect(JSON.parse(verified.out.join('\n'))).toMatchObject({ ok: true, streams: 8 });
  expect(stored).toBe(true);
});
