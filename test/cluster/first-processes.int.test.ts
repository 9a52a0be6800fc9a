/** The first `biosignal start --processes` on a database whose service was killed. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, expect, test } from 'vitest';
import { freePort } from '../../faults/lib/free-port.ts';
import { ServiceProcess } from '../../faults/lib/service.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { hasAll, packetsOfPeople, spawnProcesses } from './nodes.ts';

const PEOPLE = 2;
const PACKETS = 3;
const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

test('stores what a killed service has acknowledged before it cuts people into partitions, also with a bus in the settings', async () => {
  const database = await testDatabase();
  closing.push(() => database.close());
  const { apiKey } = await createOrganization(database.pool, 'First');
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-first-'));
  closing.push(() => rmSync(folder, { recursive: true }));
  const env = { DATABASE_URL: database.url, BIO_DSP_WORKERS: '1', BIO_DB_CONNECTIONS_MAX: '14' };
  const alone = new ServiceProcess(await freePort(), { env });
  closing.push(() => alone.kill());
  await alone.untilReady(60_000);
  const startNs = BigInt(Date.now() - 1000 * PACKETS) * 1_000_000n;
  for (const body of packetsOfPeople(PEOPLE, PACKETS, 1000, startNs).flat()) {
    const { status } = await fetch(`${alone.url}/ingest/raw-packet`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey.key}`, 'content-type': 'application/x-protobuf' },
      body: Buffer.from(body),
    });
    expect(status).toBe(202);
  }
  await alone.kill();
  const { rows } = await database.pool.query(
    'select from packet_log l join packet_log_checkpoint c using (partition) where l.batch_id > c.batch_id limit 1',
  );
  expect(rows, 'some packets are in the log alone').toHaveLength(1);

  const settings = { DATABASE_URL: database.url, PORT: String(await freePort()), BIO_BUS_DIR: folder, BIO_DEMO: '0' };
  const command = spawnProcesses(2, settings, { json: true });
  let told = '';
  command.stderr!.setEncoding('utf8').on('data', (text: string) => (told += text));
  closing.push(async () => {
    const gone = once(command, 'exit');
    if (command.exitCode === null && command.kill('SIGTERM')) await gone;
  });
  let listens = false;
  for await (const line of createInterface(command.stdout!)) if ((listens ||= line.includes('"processes"'))) break;
  expect(listens, told).toBe(true);
  expect(told).toContain('people are cut into 24 partitions');
  await until(() => hasAll(database, PEOPLE, PACKETS), 30_000);
}, 480_000);
