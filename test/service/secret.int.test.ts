/** BIO_SECRET over restarts of the whole service on one database: changed by mistake, rotated, given up. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { NewOrganization } from '../../src/auth/organizations.ts';
import { EXIT_FAILED, EXIT_OK, runCommand } from '../../src/cli/command.ts';
import type { Command } from '../../src/cli/command.ts';
import { doctor } from '../../src/cli/doctor.ts';
import { secret } from '../../src/cli/secret.ts';
import { readConfig } from '../../src/config.ts';
import { startService } from '../../src/server.ts';
import { freePort } from '../../faults/lib/free-port.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';

const first = 'the first secret, of more than 32 characters';
const second = 'the second secret, of more than 32 characters';
const third = 'the third secret, also of more than 32 characters';

let database: TestDatabase;
let org: NewOrganization;
beforeAll(async () => {
  database = await testDatabase();
  org = await createOrganization(database.pool, 'Test');
});
afterAll(() => database.close());

type Entry = { id: string; text: string | null };
type Env = Readonly<Record<string, string>>;

/** The service with these settings, for as long as `use` takes. */
async function serving(env: Env, use: (service: Awaited<ReturnType<typeof open>>) => Promise<void>): Promise<void> {
  const service = await open(env);
  try {
    await use(service);
  } finally {
    await service.stop();
  }
}

async function open(env: Env, faults: string[] = [], signal?: AbortSignal) {
  const quiet = (): void => undefined;
  const note = (_: object, message: string): void => void faults.push(message);
  const service = await startService({
    config: readConfig({ DATABASE_URL: database.url, PORT: '0', ...env }),
    logger: { debug: quiet, info: quiet, warn: note, error: note },
    ...(signal === undefined ? {} : { signal }),
  });
  const ask = async <T>(path: string, as: string, body?: object) => {
    const response = await fetch(service.baseUrl + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as T };
  };
  const mint = async (): Promise<string> =>
    (await ask<{ xuser_token: string }>('/api/v1/sdk/token', org.apiKey.key, { external_id: 'writer', project_key: org.projectKey })).body
      .xuser_token;
  const journal = async (token: string) => await ask<Entry[]>('/api/v1/journal?order=asc', token);
  const write = async (token: string, text: string) => await ask<{ detail?: string }>('/api/v1/journal', token, { text });
  const parts = async () => {
    const { status, body } = await ask<{ parts: { name: string; ok: boolean; detail: string }[] }>('/readyz', org.apiKey.key);
    return { status, secret: body.parts.find(({ name }) => name === 'secret') };
  };
  return { faults, mint, journal, write, parts, port: service.port, stop: service.stop };
}

async function run(command: Command, args: string[], env: Env): Promise<{ code: number; out: string; err: string }> {
  let out = '';
  let err = '';
  const code = await runCommand(command, args, {
    out: (line) => void (out += `${line}\n`),
    err: (line) => void (err += `${line}\n`),
    progress: null,
    env: { DATABASE_URL: database.url, ...env },
    cwd: process.cwd(),
    signal: new AbortController().signal,
  });
  return { code, out, err };
}
const texts = (entries: readonly Entry[]): (string | null)[] => entries.map(({ text }) => text);
const kidOf = (token: string): string => (JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()) as { kid: string }).kid;

// promise: secret-changed, doctor-exit, doctor-service, secret-sealed-until
// setting: BIO_SECRET
it('a changed secret is reported at the start, by doctor and at /readyz; reads are answered, nothing is sealed, and the old secret restores everything', async () => {
  await serving({ BIO_SECRET: first }, async ({ mint, write, journal, parts, faults }) => {
    const token = await mint();
    expect((await write(token, 'one')).status).toBe(201);
    expect(texts((await journal(token)).body)).toEqual(['one']);
    expect(await parts()).toEqual({ status: 200, secret: undefined });
    expect(faults).toEqual([]);
  });
  for (const env of [{ BIO_SECRET: second }, { BIO_SECRET: '' }]) {
    await serving(env, async ({ mint, write, journal, parts, faults, port }) => {
      expect(faults.some((fault) => fault.includes('this database was'))).toBe(true);
      const token = await mint();
      const read = await journal(token);
      expect(read.status).toBe(200);
      expect(texts(read.body)).toEqual([null]);
      const refused = await write(token, 'two');
      expect(refused.status).toBe(503);
      expect(refused.body.detail).toContain('the secret that seals them was changed');
      expect(await parts()).toMatchObject({ status: 200, secret: { ok: false, detail: expect.stringContaining('BIO_SECRET') as string } });
      // Of a service that runs doctor asks it: the command itself may have the right value.
      const seen = JSON.parse((await run(doctor, ['--json'], { BIO_SECRET: first, PORT: String(port) })).out) as unknown[];
      expect(seen).toContainEqual({ check: 'service', state: 'fault', found: expect.stringMatching(/^secret: BIO_SECRET/) as string });
    });
    const { code, out } = await run(doctor, ['--json'], env);
    expect(code).toBe(EXIT_FAILED);
    expect(JSON.parse(out)).toContainEqual(
      expect.objectContaining({
        check: 'secret',
        state: 'fault',
        advice: expect.stringContaining('Set BIO_SECRET to the old value') as string,
      }),
    );
    expect((await run(secret, ['check'], env)).code).toBe(EXIT_FAILED);
  }
  await serving({ BIO_SECRET: first }, async ({ mint, write, journal, parts }) => {
    const token = await mint();
    expect(texts((await journal(token)).body)).toEqual(['one']);
    expect((await write(token, 'two')).status).toBe(201);
    expect((await parts()).secret).toBe(undefined);
  });
  expect((await run(secret, ['check'], { BIO_SECRET: first })).code).toBe(EXIT_OK);
});

// promise: secret-previous
// setting: BIO_SECRET_PREVIOUS
it('everything is sealed again at the start when the previous secret is given too, and the same key goes on signing tokens', async () => {
  let token = '';
  await serving({ BIO_SECRET: first }, async ({ mint }) => {
    token = await mint();
  });
  await serving({ BIO_SECRET: second, BIO_SECRET_PREVIOUS: first }, async ({ mint, write, journal, parts, faults }) => {
    expect(texts((await journal(token)).body)).toEqual(['one', 'two']);
    expect((await write(token, 'three')).status).toBe(201);
    expect(kidOf(await mint())).toBe(kidOf(token));
    await until(async () => (await parts()).secret === undefined);
    expect(faults).toEqual([]);
  });
  await serving({ BIO_SECRET: second }, async ({ mint, journal, faults }) => {
    expect(texts((await journal(token)).body)).toEqual(['one', 'two', 'three']);
    expect(kidOf(await mint())).toBe(kidOf(token));
    expect(faults).toEqual([]);
  });
});

// promise: secret-rotate, secret-adopt
it('the command seals everything again while the service is stopped, and gives up what a lost secret sealed', async () => {
  const rotated = await run(secret, ['rotate', '--json'], { BIO_SECRET: third, BIO_SECRET_PREVIOUS: second });
  expect(rotated.code, rotated.err).toBe(EXIT_OK);
  expect(JSON.parse(rotated.out)).toMatchObject({ entries: 3, unopened: 0 });
  await serving({ BIO_SECRET: third }, async ({ mint, journal, faults }) => {
    expect(texts((await journal(await mint())).body)).toEqual(['one', 'two', 'three']);
    expect(faults).toEqual([]);
  });
  const lost = { BIO_SECRET: first };
  expect((await run(secret, ['rotate'], lost)).code).toBe(EXIT_FAILED);
  expect((await run(secret, ['adopt'], lost)).out).toContain('--yes');
  expect((await run(secret, ['check'], lost)).code).toBe(EXIT_FAILED);
  expect((await run(secret, ['adopt', '--yes'], lost)).code).toBe(EXIT_OK);
  await serving(lost, async ({ mint, write, journal, faults }) => {
    const token = await mint();
    expect((await write(token, 'four')).status).toBe(201);
    expect(texts((await journal(token)).body)).toEqual([null, null, null, 'four']);
    expect(faults).toEqual([]);
  });
});

it('checking the secret before the first start records nothing: the service decides', async () => {
  await database.pool.query(`delete from journal_entry`);
  await database.pool.query(`delete from signing_key`);
  await database.pool.query(`delete from service_secret`);
  expect((await run(doctor, [], { BIO_SECRET: third })).out).not.toContain('not the value');
  expect((await run(secret, ['check'], { BIO_SECRET: third })).code).toBe(EXIT_OK);
  await serving({ BIO_SECRET: first }, async ({ mint, write, faults }) => {
    expect((await write(await mint(), 'five')).status).toBe(201);
    expect(faults).toEqual([]);
  });
  expect((await run(secret, ['check'], { BIO_SECRET: third })).code).toBe(EXIT_FAILED);
});

// promise: secret-previous
it('a database of a release that recorded no secret is sealed again when it is upgraded and rotated in one step', async () => {
  await database.pool.query(`delete from service_secret where name = 'BIO_SECRET check'`);
  await serving({ BIO_SECRET: second, BIO_SECRET_PREVIOUS: first }, async ({ mint, journal, parts }) => {
    expect(texts((await journal(await mint())).body)).toEqual(['five']);
    await until(async () => (await parts()).secret === undefined);
  });
  await serving({ BIO_SECRET: second }, async ({ mint, journal, faults }) => {
    expect(texts((await journal(await mint())).body)).toEqual(['five']);
    expect(faults).toEqual([]);
  });
});

// promise: secret-rotate
it('rotate waits for the service to stop; its act is in the audit log of the installation', async () => {
  const rotating = { BIO_SECRET: third, BIO_SECRET_PREVIOUS: second };
  await serving({ BIO_SECRET: second }, async () => {
    const refused = await run(secret, ['rotate'], rotating);
    expect(refused.code).toBe(EXIT_FAILED);
    expect(refused.err).toContain('is running');
  });
  const before = (await entries()).length;
  expect((await run(secret, ['rotate'], rotating)).code).toBe(EXIT_OK);
  expect((await run(secret, ['adopt', '--yes'], { BIO_SECRET: first })).code).toBe(EXIT_OK);
  expect((await entries()).slice(before)).toEqual([
    { org: null, kind: 'cli', action: 'secret.rotated' },
    { org: null, kind: 'cli', action: 'secret.adopted' },
  ]);
});

// promise: secret-rotate
it('a service that is started during a rotation waits for its end, and then sees that its secret is the old one', async () => {
  await serving({ BIO_SECRET: first }, async ({ mint, write }) => {
    expect((await write(await mint(), 'six')).status).toBe(201);
  });
  const busy = await database.pool.connect();
  await busy.query('begin');
  await busy.query('select from journal_entry for update'); // rotate works for as long as this is held
  const rotated = run(secret, ['rotate', '--json'], { BIO_SECRET: third, BIO_SECRET_PREVIOUS: first });
  const blocked = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query ~ '^update "?journal_entry'`;
  await until(async () => (await database.pool.query(blocked)).rowCount === 1);
  const messages: string[] = [];
  const late = open({ BIO_SECRET: first }, messages);
  const began = await Promise.race([
    late.then(() => 'serves'),
    until(() => messages.some((it) => it.includes('waits'))).then(() => 'waits'),
  ]);
  await busy.query('rollback');
  busy.release();
  expect(JSON.parse((await rotated).out)).toMatchObject({ unopened: 0 });
  const service = await late;
  expect((await service.parts()).secret).toMatchObject({ ok: false });
  await service.stop();
  expect(began).toBe('waits');
  expect(messages.filter((message) => message.startsWith('secret: BIO_SECRET'))).not.toEqual([]);
  await serving({ BIO_SECRET: third }, async ({ mint, journal }) => {
    expect(texts((await journal(await mint())).body)).toContain('six');
  });
});

// promise: doctor-service, secret-standby
it('a standby says that its secret is wrong while it waits, and adopt waits for the service to be stopped', async () => {
  await serving({ BIO_SECRET: third }, async () => {
    const port = await freePort();
    const asked = new AbortController();
    const messages: string[] = [];
    const standby = open({ BIO_SECRET: second, PORT: String(port) }, messages, asked.signal);
    standby.catch(() => undefined);
    const ready = async () => (await (await fetch(`http://127.0.0.1:${port}/readyz`)).json()) as { status: string; parts: object[] };
    await until(() => ready().then(({ status }) => status === 'standby', () => false)); // prettier-ignore
    const part = { name: 'secret', ok: false, detail: expect.stringContaining('is not the value') as string };
    expect((await ready()).parts).toContainEqual(part);
    await until(() => messages.some((message) => message.startsWith('secret: ')));
    const { out } = await run(doctor, ['--json'], { BIO_SECRET: third, PORT: String(port) });
    expect(JSON.parse(out)).toContainEqual(expect.objectContaining({ check: 'service', state: 'fault' }));
    asked.abort();
    await expect(standby).rejects.toThrow();
    const refused = await run(secret, ['adopt', '--yes'], { BIO_SECRET: second });
    expect([refused.code, refused.err]).toEqual([EXIT_FAILED, expect.stringContaining('is running') as string]);
  });
  expect((await run(secret, ['check'], { BIO_SECRET: third })).code).toBe(EXIT_OK);
});

async function entries(): Promise<object[]> {
  const { rows } = await database.pool.query<object>(
    `select organization_id as org, actor_kind as kind, action from audit_log where action like 'secret.%' order by id`,
  );
  return rows;
}
