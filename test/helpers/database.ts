/** A real database for tests: every call clones a migrated template, so that test files neither see nor wait for one another.
 *
 *  The server is an embedded PostgreSQL, started once per test run by the first caller and stopped when the run's main process is
 *  gone; or, with BIO_TEST_DATABASE_URL, any server on which databases may be created (TimescaleDB, another version). */
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { openDatabase, type Database, type DatabaseOptions } from '../../src/storage/database/database.ts';
import { startEmbeddedPostgres } from '../../src/storage/database/embedded-postgres.ts';
import { locks } from '../../src/storage/database/locks.ts';
import { migrate } from '../../src/storage/schema/migrate.ts';

export { until } from './until.ts';
export type TestDatabase = Database & AsyncDisposable;

const sqlFolder = new URL('../../sql/', import.meta.url);

/** A fresh, migrated database. Close it, or say `await using`: it is dropped then.
 *  @param serverUrl another server than the run's  */
export async function testDatabase(options: DatabaseOptions = {}, serverUrl?: string): Promise<TestDatabase> {
  const server = serverUrl ?? (await testServerUrl());
  const template = await templateOf(server);
  const { url, drop } = await createTestDatabase(server, template);
  const database = await openDatabase(url, options);
  const close = async (): Promise<void> => {
    await database.close();
    await drop();
  };
  return { ...database, close, [Symbol.asyncDispose]: close };
}

/** An empty database without schema, for tests of migrations. */
export async function emptyDatabase(serverUrl?: string): Promise<{ url: string; drop: () => Promise<void> }> {
  return createTestDatabase(serverUrl ?? (await testServerUrl()), 'template0');
}

/** Address of the run's server: BIO_TEST_DATABASE_URL, else the embedded one. */
export async function testServerUrl(): Promise<string> {
  const given = process.env['BIO_TEST_DATABASE_URL'];
  return given !== undefined && given !== '' ? given : embeddedServer();
}

/** Servers of the kinds that need installing, as named by BIO_TEST_TIMESCALE_URL and BIO_TEST_TIMESCALE_APACHE_URL; says what is
 *  missing. */
export function otherServers(): readonly { name: string; url: string }[] {
  const found: { name: string; url: string }[] = [];
  for (const variable of ['BIO_TEST_TIMESCALE_URL', 'BIO_TEST_TIMESCALE_APACHE_URL']) {
    const url = process.env[variable] ?? '';
    if (url === '') console.warn(`SKIPPED: no TimescaleDB to compare with (set ${variable})`);
    else found.push({ name: variable === 'BIO_TEST_TIMESCALE_URL' ? 'timescale' : 'timescale_apache', url });
  }
  return found;
}

/** The run's server: one per vitest main process (our parent), kept in a folder named after it. */
async function embeddedServer(): Promise<string> {
  const run = process.ppid;
  const folder = join(tmpdir(), `biosignal-test-${process.getuid?.() ?? 0}-${run}`);
  const ready = join(folder, 'server.json');
  removeLeftovers(folder);
  try {
    mkdirSync(folder, { mode: 0o755 });
  } catch {
    for (let waitedMs = 0; waitedMs < 60_000; waitedMs += 50) {
      const url = readUrl(ready);
      if (url !== null) return url;
      await sleep(50);
    }
    throw new Error(`the test server in ${folder} did not start; remove the folder`);
  }
  try {
    const server = await startEmbeddedPostgres({
      dataDir: join(folder, 'pg'),
      ownerPid: run,
      settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', shared_buffers: '128MB', max_connections: '200' },
    });
    writeFileSync(`${ready}.new`, JSON.stringify({ url: server.url }));
    renameSync(`${ready}.new`, ready);
    return server.url;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

function readUrl(path: string): string | null {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as { url: string }).url;
  } catch {
    return null;
  }
}

/** Folders of runs that are over. */
function removeLeftovers(own: string): void {
  const prefix = `biosignal-test-${process.getuid?.() ?? 0}-`;
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(prefix) || join(tmpdir(), name) === own) continue;
    try {
      process.kill(Number(name.slice(prefix.length)), 0);
    } catch {
      rmSync(join(tmpdir(), name), { recursive: true, force: true });
    }
  }
}

/** The migrated template on a server, made once per content of sql/; the lock makes the others wait. */
async function templateOf(server: string): Promise<string> {
  const hash = createHash('sha256');
  for (const name of readdirSync(sqlFolder).sort()) if (name.endsWith('.sql')) hash.update(readFileSync(new URL(name, sqlFolder)));
  const template = `bio_template_${hash.digest('hex').slice(0, 12)}`;
  const admin = new pg.Client(server);
  await admin.connect();
  try {
    await admin.query('select pg_advisory_lock($1)', [locks.testTemplate.toString()]);
    const found = await admin.query('select datallowconn from pg_database where datname = $1', [template]);
    if (found.rows[0]?.datallowconn === false) return template;
    await admin.query(`drop database if exists ${template} with (force)`);
    await admin.query(`create database ${template}`);
    await migrate(withDatabase(server, template));
    await admin.query(`alter database ${template} allow_connections false`); // complete; also keeps background workers out
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [template]);
    return template;
  } finally {
    await admin.end();
  }
}

async function createTestDatabase(server: string, template: string): Promise<{ url: string; drop: () => Promise<void> }> {
  const name = `bio_test_${process.pid}_${randomBytes(4).toString('hex')}`;
  await asAdmin(server, `create database ${name} template ${template}`);
  return { url: withDatabase(server, name), drop: () => asAdmin(server, `drop database if exists ${name} with (force)`) };
}

async function asAdmin(server: string, statement: string): Promise<void> {
  const admin = new pg.Client(server);
  await admin.connect();
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        await admin.query(statement);
        return;
      } catch (error) {
        // 55006: a background worker has not left the template yet
        if ((error as pg.DatabaseError).code !== '55006' || attempt === 40) throw error;
        await sleep(100);
      }
    }
  } finally {
    await admin.end();
  }
}

function withDatabase(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}
