/** Commands that find the service and its database from a terminal: `doctor`, `psql` and unknown words, against a service with an embedded
 *  database on a port that the settings do not name. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../faults/lib/free-port.ts';
import { commands } from '../../src/cli/commands.ts';
import { readConfig } from '../../src/config.ts';
import { startService } from '../../src/server.ts';
import type { Service } from '../../src/server.ts';

const root = join(import.meta.dirname, '../..');
let work: string;
let service: Service;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'biosignal-terminal-'));
  const env = { BIO_DATA_DIR: work, PORT: String(await freePort()), BIO_LOG_LEVEL: 'silent' };
  service = await startService({ config: readConfig(env) });
});
afterAll(async () => {
  await service?.stop();
  rmSync(work, { recursive: true, force: true });
});

type Said = Readonly<{ code: number; out: string; err: string }>;

function shell(file: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Said> {
  const { DATABASE_URL: _, ...rest } = process.env;
  return new Promise((resolve) => {
    execFile(file, args, { cwd: root, env: { ...rest, BIO_DATA_DIR: work, ...env } }, (error, out, err) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err }),
    );
  });
}
const biosignal = (...args: string[]): Promise<Said> => shell('sh', ['scripts/biosignal.sh', ...args]);
const hasPsql = (await shell('sh', ['-c', 'command -v psql'])).code === 0;

// promise: doctor-finds, psql-print
// setting: BIO_DATA_DIR
test('doctor finds the service on its own port, and says where the database is', async () => {
  const { out } = await biosignal('doctor');
  expect(out).toMatch(new RegExp(`ok +service +http://127\\.0\\.0\\.1:${service.port} answers 200`));
  expect(out).toMatch(/database .*: 127\.0\.0\.1:\d+, database biosignal, user biosignal, the password is in \/.*\/password/);
});

// promise: psql, psql-print, psql-readonly
test.skipIf(!hasPsql)('psql opens the embedded database for reading, and prints a line that does the same', async () => {
  const query = ['-Atc', 'select min(id) from migration'];
  expect(await biosignal('psql', '--', ...query)).toMatchObject({ code: 0, out: '1\n' });
  const written = await biosignal('psql', '--', '-c', 'create table of_mine (a integer)');
  expect(written.err).toContain('read-only transaction');
  expect(written.code).toBe(1);
  expect((await biosignal('psql', '--write', '--', '-c', 'create table of_mine (a integer)')).code).toBe(0);
  const { out: line } = await biosignal('psql', '--print');
  expect(line).not.toContain((await shell('cat', [/'(\/[^']*password)'/.exec(line)![1]!])).out.trim());
  expect(await shell('sh', ['-c', `${line.trim()} -Atc 'select min(id) from migration'`])).toMatchObject({ code: 0, out: '1\n' });
});

// promise: psql
// setting: DATABASE_URL
test.skipIf(!hasPsql)('psql opens the database of DATABASE_URL', async () => {
  const { out } = await biosignal('psql', '--print', '--json');
  const { host, port, password_file: file } = JSON.parse(out) as { host: string; port: number; password_file: string };
  const password = (await shell('cat', [file])).out.trim();
  const DATABASE_URL = `postgres://biosignal:${password}@${host}:${port}/biosignal`;
  const said = await shell('sh', ['scripts/biosignal.sh', 'psql', '--', '-Atc', 'show default_transaction_read_only'], { DATABASE_URL });
  expect(said).toMatchObject({ code: 0, out: 'on\n' });
  const line = await shell('sh', ['scripts/biosignal.sh', 'psql', '--print'], { DATABASE_URL });
  expect(line.out).toContain('psql "$DATABASE_URL"');
});

// promise: exit-codes
test('a mistyped command is answered with the one that was meant', async () => {
  const { code, err } = await biosignal('impotr');
  expect(code).toBe(2);
  expect(err).toContain("no command 'impotr': did you mean 'import'?");
  expect((await biosignal('--version')).out).toMatch(/^\d+\.\d+\.\d+( \([0-9a-f]{7,}(-dirty)?\))?\n$/);
});

// promise: help-lists
test('--help lists every command with what it does', async () => {
  const { code, out } = await biosignal('--help');
  expect(code).toBe(0);
  expect(Object.entries(commands).filter(([name, { summary }]) => !out.includes(` ${name} `) || !out.includes(summary))).toEqual([]);
});

test('a wrong address is reported at once, with what to check', async () => {
  const to = ['--to', 'http://127.0.0.1:9', '--key', 'org_live_x'];
  for (const args of [['simulate'], ['token', 'mint', 'a', '--project', 'proj_x']]) {
    const { code, err } = await biosignal(...args, ...to);
    expect(err).toMatch(/bad port.*Is the service running \('npm start'\)/s);
    expect(code).toBeGreaterThan(0);
  }
});
