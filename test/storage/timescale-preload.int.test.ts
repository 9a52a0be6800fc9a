/** A server that has TimescaleDB but was started without it: a new database is refused with a sentence, or made plain when the setting asks
 *  for it. Needs the Debian root of scripts/timescaledb-root.sh: BIO_TEST_TIMESCALE_ROOT names its folder. The server here is another one,
 *  of its own data. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../faults/lib/free-port.ts';
import { readConfig } from '../../src/config.ts';
import { startService } from '../../src/server.ts';
import { migrate } from '../../src/storage/schema/migrate.ts';

const root = process.env['BIO_TEST_TIMESCALE_ROOT'] ?? '';
const usable = root !== '' && existsSync(join(root, 'usr/lib/postgresql/17/bin/postgres')) && process.getuid?.() === 0;
if (!usable)
  console.warn('SKIPPED: no server without preload (set BIO_TEST_TIMESCALE_ROOT to the folder of scripts/timescaledb-root.sh, as root)');

const data = `/var/lib/postgresql/preload-test-${process.pid}`;
let server = '';

function asPostgres(...command: string[]): void {
  const identity = ['--reuid=postgres', '--regid=postgres', '--clear-groups'];
  const environment = ['HOME=/var/lib/postgresql', 'PATH=/usr/lib/postgresql/17/bin:/usr/bin:/bin', 'LC_ALL=C.UTF-8'];
  execFileSync('chroot', [root, 'setpriv', ...identity, 'env', ...environment, ...command], { stdio: 'ignore' });
}

async function query<T extends pg.QueryResultRow>(url: string, text: string): Promise<T[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<T>(text)).rows;
  } finally {
    await client.end();
  }
}

/** An empty database. */
async function database(name: string): Promise<string> {
  await query(`${server}/postgres`, `create database ${name}`);
  return `${server}/${name}`;
}

beforeAll(async () => {
  if (!usable) return;
  const port = await freePort();
  asPostgres('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8');
  appendFileSync(
    join(root, data, 'postgresql.conf'),
    `listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\ndynamic_shared_memory_type = mmap\nfsync = off\n`,
  );
  asPostgres('pg_ctl', '-D', data, '-l', `${data}/log`, '-o', `-p ${port}`, '-w', 'start');
  server = `postgres://postgres@127.0.0.1:${port}`;
});
afterAll(() => {
  if (!usable) return;
  asPostgres('pg_ctl', '-D', data, '-m', 'immediate', '-w', 'stop');
  rmSync(join(root, data), { recursive: true, force: true });
});

// promise: server-kinds, timescale-refused
test.skipIf(!usable)('TimescaleDB that is not preloaded ends the start with a sentence that says what to do', async () => {
  const url = await database('refused');
  const started = startService({ config: readConfig({ DATABASE_URL: url, PORT: '0', BIO_LOG_LEVEL: 'silent' }) });
  await expect(started).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringMatching(/it is not preloaded: set shared_preload_libraries = 'timescaledb'.*BIO_PLAIN_POSTGRES=1/) as string,
  });
});

// promise: plain-on-timescale
// setting: BIO_PLAIN_POSTGRES
test.skipIf(!usable)('with BIO_PLAIN_POSTGRES=1 the service starts on plain tables, and again without the setting', async () => {
  const url = await database('told');
  for (const told of [{ BIO_PLAIN_POSTGRES: '1' }, {}]) {
    const service = await startService({ config: readConfig({ DATABASE_URL: url, PORT: '0', BIO_LOG_LEVEL: 'silent', ...told }) });
    expect(service.database.kind).toBe('postgres');
    await service.stop();
  }
});

// promise: timescale-refused
test.skipIf(!usable)('a role that may not create the extension gets a sentence that names who can', async () => {
  const url = await database('tenants');
  await query(url, 'create role tenant login; grant create on schema public to tenant');
  await expect(migrate(url.replace('postgres@', 'tenant@'))).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringMatching(/this role may not create it: have an administrator run 'create extension timescaledb'/) as string,
  });
});
