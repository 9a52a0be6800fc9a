/** The device examples are run as their README says, each against a real service; a language that is not on the machine is named. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { firstPacket } from '../examples/device/make-packet.ts';
import { createOrganization } from '../src/auth/organizations.ts';
import { openApi, streamsOf } from '../src/cli/api.ts';
import { readConfig } from '../src/config.ts';
import { encodePacket } from '../src/proto/packet-codec.ts';
import { startService } from '../src/server.ts';
import type { Service } from '../src/server.ts';
import { testDatabase } from './helpers/database.ts';
import type { TestDatabase } from './helpers/database.ts';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'examples', 'device');

function has(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' });
    return true;
  } catch {
    console.warn(`SKIPPED: no ${program}: its example is not run`);
    return false;
  }
}

let database: TestDatabase;
let service: Service;
let env: NodeJS.ProcessEnv;
let work: string;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'biosignal-examples-'));
  database = await testDatabase();
  service = await startService({ config: readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_LOG_LEVEL: 'silent' }) });
  const key = (await createOrganization(database.pool, 'Examples')).apiKey.key;
  env = { ...process.env, BIO_URL: service.baseUrl, BIO_KEY: key };
});

afterAll(async () => {
  await service?.stop();
  await database?.close();
  rmSync(work, { recursive: true, force: true });
});

const run = async (command: string): Promise<unknown> => {
  const { stdout } = await promisify(execFile)('sh', ['-ec', command], { cwd: folder, env });
  return JSON.parse(stdout);
};

const once = { accepted: 1, duplicates: 0, rejected: [] };

test('first-packet.bin is what make-packet.ts makes', () => {
  expect(readFileSync(join(folder, 'first-packet.bin')).equals(encodePacket(firstPacket()))).toBe(true);
});

test.skipIf(!has('curl'))('curl: accepted, and a duplicate the second time', async () => {
  expect(await run('sh send.sh')).toMatchObject(once);
  expect(await run('sh send.sh')).toMatchObject({ accepted: 0, duplicates: 1 });
});

test.skipIf(!has('python3'))('Python', async () => {
  expect(await run('PYTHONDONTWRITEBYTECODE=1 python3 send_ecg.py')).toMatchObject(once);
});

test.skipIf(!has('cc') || !has('curl'))('C', async () => {
  expect(
    await run(`cc -Wall -Wextra -Werror -o ${work}/first-packet first-packet.c -lm && ${work}/first-packet | sh send.sh -`),
  ).toMatchObject(once);
});

test('TypeScript', async () => {
  expect(await run(`${process.execPath} --disable-warning=ExperimentalWarning send-ecg.ts`)).toMatchObject(once);
});

test('each is a stream of the same user with the same channel', async () => {
  const api = openApi(service.baseUrl, env['BIO_KEY']!, new AbortController().signal);
  const streams = await streamsOf(api, 'example-patient');
  expect(streams.length).toBeGreaterThan(0);
  for (const stream of streams) {
    expect(stream.channels).toEqual([{ code: 'ecg.ii', kind: 'ecg', rate_hz: 250, gain: 1000, baseline: 0, unit: 'mV', lead: 'II' }]);
  }
});
