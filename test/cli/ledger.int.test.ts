/** The ledger and `verify`: a faulty network loses nothing that was acknowledged; and verify detects differences. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { Ledger } from '../../src/cli/client/ledger.ts';
import { simulate } from '../../src/cli/simulate.ts';
import { verify } from '../../src/cli/verify.ts';
import { readConfig } from '../../src/config.ts';
import { startService } from '../../src/server.ts';
import type { Service } from '../../src/server.ts';
import { ran } from '../helpers/commands.ts';
import type { Surroundings } from '../helpers/commands.ts';
import { testDatabase } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';

let database: TestDatabase;
let service: Service;
let work: string;
let surroundings: Surroundings;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'biosignal-ledger-'));
  database = await testDatabase();
  const config = readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_LOG_LEVEL: 'silent', BIO_DEVICE_PACKETS_PER_SEC_MAX: '100000' });
  service = await startService({ config });
  const { apiKey } = await createOrganization(database.pool, 'Ledger');
  surroundings = {
    env: { DATABASE_URL: database.url, BIO_URL: service.baseUrl, BIO_KEY: apiKey.key },
    cwd: work,
  };
});

afterAll(async () => {
  await service?.stop();
  await database?.close();
  rmSync(work, { recursive: true, force: true });
});

const run = async (
  command: typeof simulate,
  ...args: string[]
): Promise<{ code: number; result: Record<string, unknown>; lines: string }> => {
  const { code, out, err } = await ran(command, [...args, '--json'], surroundings);
  return { code, result: JSON.parse(out.join('\n')) as Record<string, unknown>, lines: [...out, ...err].join('\n') };
};

// promise: ledger-verify, packets-once, ledger-compares
test('a network that drops, doubles, reorders and delays loses nothing that was acknowledged', async () => {
  const name = join(work, 'run');
  const faults = ['--drop', '2', '--duplicate', '5', '--reorder', '10', '--late', '2', '--late-sec', '30', '--skew', '50'];
  const sent = await run(
    simulate,
    '--devices',
    '4',
    '--duration',
    '60',
    '--speed',
    'max',
    '--packet-ms',
    '250',
    '--ledger',
    name,
    ...faults,
  );
  expect(sent.code, sent.lines).toBe(0);
  expect(sent.result['duplicates']).toBeGreaterThan(10);
  const verified = await run(verify, name);
  expect(verified.code, verified.lines).toBe(0);
  expect(verified.result).toMatchObject({ ok: true, streams: 4, unanswered: 0, refused: 0, missing_samples: 0, doubled_samples: 0 });
  expect(verified.result['accepted']).toBe((sent.result['packets'] as number) - (sent.result['faults'] as { dropped: number }).dropped);
  expect(verified.result['samples']).toBeGreaterThan(100_000);
});

// promise: ledger-verify, simulate-waits, ledger-compares
test('verify finds a deleted block, a changed block and a missing sequence number', async () => {
  const name = join(work, 'run');
  const { rows } = await database.pool.query<{ id: number }>('select id from stream order by id limit 3');
  const [a, b, c] = rows.map(({ id }) => id);
  await database.pool.query(
    'delete from sample_block where (stream_id, channel_no, time) in (select stream_id, channel_no, time from sample_block where stream_id = $1 and channel_no = 0 order by time offset 5 limit 1)',
    [a],
  );
  await database.pool.query(
    `update sample_block t set codec = o.codec, n = o.n from (select codec, n from sample_block where stream_id = $1 and channel_no = 1 order by time offset 6 limit 1) o
     where stream_id = $1 and channel_no = 1 and time = (select time from sample_block where stream_id = $1 and channel_no = 1 order by time offset 5 limit 1)`,
    [b],
  );
  await database.pool.query(`update stream set seqs = seqs - '{[20,22)}'::int8multirange where id = $1`, [c]);
  const { code, result } = await run(verify, name);
  expect(code).toBe(1);
  expect(result['missing_packets']).toBeGreaterThanOrEqual(1);
  expect(result['missing_samples']).toBeGreaterThan(250);
  expect(result['doubled_samples']).toBeGreaterThan(50);
  expect(result['faulty']).toHaveLength(3);
});

test('a ledger whose last line was cut off by a kill can be read', () => {
  const ledger = new Ledger(join(work, 'run'));
  expect(ledger.streams.size).toBe(4);
});
