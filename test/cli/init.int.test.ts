/** `init` and `operator` against a real, empty database; the accounts they make sign in over HTTP. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EXIT_FAILED, EXIT_OK, EXIT_USAGE } from '../../src/cli/command.ts';
import type { Command } from '../../src/cli/command.ts';
import { TcpProxy } from '../../faults/lib/tcp-proxy.ts';
import { init } from '../../src/cli/init.ts';
import { operator } from '../../src/cli/operators.ts';
import { key } from '../../src/cli/organizations.ts';
import { readConfig } from '../../src/config.ts';
import { startService } from '../../src/server.ts';
import type { Service } from '../../src/server.ts';
import { ran } from '../helpers/commands.ts';
import { testDatabase } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';

let database: TestDatabase;
let service: Service;
let work: string;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'biosignal-init-'));
  database = await testDatabase();
  service = await startService({ config: readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_LOG_LEVEL: 'silent' }) });
  // What a first start makes is not there before init.
  await database.pool.query('truncate organization cascade');
});
afterAll(async () => {
  await service?.stop();
  await database?.close();
  rmSync(work, { recursive: true, force: true });
});

async function run(
  command: Command,
  args: string[],
  env: Record<string, string> = {},
): Promise<{ code: number; out: string; err: string }> {
  const { code, out, err } = await ran(command, args, { env: { DATABASE_URL: database.url, ...env }, cwd: work });
  const text = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');
  return { code, out: text(out), err: text(err) };
}

const signIn = async (email: string, password: string): Promise<number> =>
  (
    await fetch(`${service.baseUrl}/auth/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    })
  ).status;

// promise: init
test('init makes settings, keys and an owner; what it prints works; a second call changes nothing', async () => {
  const first = await run(init, ['Sleep Lab', '--project', 'Pilot', '--operator', 'ada@clinic.example', '--json']);
  expect(first.code, first.err).toBe(EXIT_OK);
  const made = JSON.parse(first.out) as Record<string, string>;
  expect(statSync(join(work, '.env')).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(work, '.env'), 'utf8')).toContain(`DATABASE_URL=${database.url}`);
  expect(readFileSync(join(work, '.env'), 'utf8')).toMatch(/^BIO_SECRET=[\w-]{43}$/m);
  const users = await fetch(`${service.baseUrl}/api/v1/xusers`, { headers: { authorization: `Bearer ${made['api_key']}` } });
  expect(users.status).toBe(200);
  expect(await signIn('ada@clinic.example', made['password']!)).toBeLessThan(300);

  const second = await run(init, ['Other']);
  expect(second.code, second.err).toBe(EXIT_OK);
  expect(second.out).toContain('already exists');
  expect(second.out).not.toContain('org_live_');
  const { rows } = await database.pool.query('select name from organization');
  expect(rows).toEqual([{ name: 'Sleep Lab' }]);
});

test('init says where the service will be, by the settings', async () => {
  const next = async (env: Record<string, string>): Promise<string | undefined> =>
    (await run(init, ['Other'], env)).out.split('\n').find((line) => line.startsWith('next: '));
  expect(await next({ PORT: '9123' })).toBe('next: biosignal start, then open http://127.0.0.1:9123/dashboard');
  expect(await next({ BIO_PUBLIC_URL: 'https://bio.example.org/' })).toBe(
    'next: biosignal start, then open https://bio.example.org/dashboard',
  );
  expect(await next({ BIO_HOST: '0.0.0.0', BIO_PUBLIC_URL: '', BIO_TRUST_PROXY: '10.0.0.1' })).toContain('open http://127.0.0.1:8080/');
});

test('keys are listed with their scopes, as a list of words in JSON', async () => {
  const { out } = await run(key, ['list', '--json']);
  const keys = JSON.parse(out) as { scopes: string[] }[];
  expect(keys.map(({ scopes }) => scopes)).toContainEqual(['read', 'write', 'ingest', 'admin']);
  expect((await run(key, ['list'])).out).toContain('read,write,ingest,admin');
});

// promise: key-overlap
test('a key is rotated from the command line, and the old one works for the stated overlap', async () => {
  const say = async (...args: string[]): Promise<Record<string, string>> => {
    const done = await run(key, [...args, '--json']);
    expect(done.code, done.err).toBe(EXIT_OK);
    return JSON.parse(done.out) as Record<string, string>;
  };
  const lets = async (credential: string): Promise<number> =>
    (await fetch(`${service.baseUrl}/api/v1/xusers`, { headers: { authorization: `Bearer ${credential}` } })).status;
  const made = await say('create', 'rotated by hand', '--scopes', 'read');
  const next = await say('rotate', made['id']!, '--overlap', '3600');
  expect([await lets(made['api_key']!), await lets(next['api_key']!)]).toEqual([200, 200]);
  const { rows } = await database.pool.query<{ sec: number }>(
    'select extract(epoch from expires_at - now())::float8 as sec from api_key where id = $1',
    [made['id']],
  );
  expect(Math.abs(rows[0]!.sec - 3600)).toBeLessThan(60);
});

// promise: operator-password
test('operators are created, changed, given passwords and disabled, except the last administrator', async () => {
  const secret = { BIO_OPERATOR_PASSWORD: 'correct horse battery' };
  const made = await run(operator, ['create', 'bob@clinic.example', '--role', 'clinician', '--json'], secret);
  expect(made.code, made.err).toBe(EXIT_OK);
  expect(made.out).not.toContain(secret.BIO_OPERATOR_PASSWORD);
  expect(await signIn('bob@clinic.example', secret.BIO_OPERATOR_PASSWORD)).toBeLessThan(300);
  expect((await run(operator, ['create', 'bob@clinic.example'], secret)).code).toBe(EXIT_FAILED); // is there already

  const renewed = await run(operator, ['password', 'Bob@clinic.example', '--json']);
  const { password } = JSON.parse(renewed.out) as { password: string };
  expect(await signIn('bob@clinic.example', secret.BIO_OPERATOR_PASSWORD)).toBe(401);
  expect(await signIn('bob@clinic.example', password)).toBeLessThan(300);

  expect((await run(operator, ['role', 'bob@clinic.example', '--role', 'analyst'])).out).toContain('role: analyst');
  expect((await run(operator, ['disable', 'bob@clinic.example'])).code).toBe(EXIT_OK);
  expect(await signIn('bob@clinic.example', password)).toBe(401);
  expect((await run(operator, ['disable', 'ada@clinic.example'])).code).toBe(EXIT_FAILED);
  expect((await run(operator, ['list', '--json'])).out).toContain('ada@clinic.example');
});

test('a command waits for a database that is just starting, and says so when there is none', async () => {
  const proxy = await TcpProxy.start(Number(new URL(database.url).port));
  try {
    const url = new URL(database.url);
    url.port = String(proxy.port);
    proxy.mode = 'refuse';
    setTimeout(() => (proxy.mode = 'pass'), 1000);
    const listed = await run(operator, ['list', '--json'], { DATABASE_URL: url.href });
    expect(listed.code, listed.err).toBe(EXIT_OK);
    proxy.mode = 'refuse';
    const refused = await run(operator, ['list'], { DATABASE_URL: url.href });
    expect(refused.code).not.toBe(EXIT_OK);
    expect(refused.err).toContain('does not answer');
  } finally {
    await proxy.close();
  }
});

// promise: exit-codes
test('wrong usage is reported before anything is done', async () => {
  expect((await run(init, [])).code).toBe(EXIT_USAGE);
  expect((await run(operator, ['create', 'nobody'])).code).toBe(EXIT_USAGE);
  expect((await run(operator, ['create', 'c@d.example'], { BIO_OPERATOR_PASSWORD: 'short' })).code).toBe(EXIT_USAGE);
  expect((await run(operator, ['create', 'c@d.example', '--role', 'king'])).code).toBe(EXIT_USAGE);
});
