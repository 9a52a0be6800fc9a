/** `simulate` against a real service: nothing of a long fast run is refused, and the truth it writes is what the service finds (EC57: 150 ms). */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOrganization } from '../src/auth/organizations.ts';
import { runCommand } from '../src/cli/command.ts';
import { simulate } from '../src/cli/simulate.ts';
import { readConfig } from '../src/config.ts';
import { startService } from '../src/server.ts';
import type { Service } from '../src/server.ts';
import { testDatabase, until } from './helpers/database.ts';
import type { TestDatabase } from './helpers/database.ts';

let database: TestDatabase;
let service: Service;
let work: string;
let key: string;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'biosignal-simulate-'));
  database = await testDatabase();
  service = await startService({ config: readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_LOG_LEVEL: 'silent' }) });
  key = (await createOrganization(database.pool, 'Simulated')).apiKey.key;
});
afterAll(async () => {
  await service?.stop();
  await database?.close();
  rmSync(work, { recursive: true, force: true });
});

type TruthLine = { startUnixNs: string; beats: { atSec: number }[] };

test('a run of 15 minutes at full speed ends now, and its beats are found where the truth says', async () => {
  const truthPath = join(work, 'truth.jsonl');
  const args = ['--speed', 'max', '--duration', '900', '--packet-ms', '10000', '--channels', 'ecg.ii', '--pvc', '3', '--truth', truthPath];
  let out = '';
  let err = '';
  const code = await runCommand(simulate, [...args, '--json'], {
    out: (line) => void (out += line),
    err: (line) => void (err += line),
    progress: null,
    env: { BIO_URL: service.baseUrl, BIO_KEY: key },
    cwd: work,
    signal: new AbortController().signal,
  });
  expect(code, err).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ packets: 90, accepted: 90, rejected: 0, unsettled: 0 });

  const lines = readFileSync(truthPath, 'utf8').trim().split('\n').map((line) => JSON.parse(line) as TruthLine); // prettier-ignore
  const startMs = Number(BigInt(lines[0]!.startUnixNs) / 1_000_000n);
  const truth = lines
    .flatMap(({ beats }) => beats.map(({ atSec }) => startMs + atSec * 1000))
    .filter((ms) => ms > startMs + 2000 && ms < startMs + 890_000);
  expect(truth.length).toBeGreaterThan(700);
  let share = 0;
  await until(async () => {
    const { rows } = await database.pool.query<{ ms: number }>('select ts_ns / 1e6::float8 as ms from beat');
    share = truth.filter((at) => rows.some(({ ms }) => Math.abs(ms - at) < 150)).length / truth.length;
    return share > 0.995;
  }, 60_000).catch(() => undefined);
  expect(share).toBeGreaterThan(0.995);
});
