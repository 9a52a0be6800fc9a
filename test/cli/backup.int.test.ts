/** A backup of one server restored into another: every row is the same, and the service continues from it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { backup, restore } from '../../src/cli/backup.ts';
import { runCommand } from '../../src/cli/command.ts';
import type { Command, Console } from '../../src/cli/command.ts';
import { simulate } from '../../src/cli/simulate.ts';
import { verify } from '../../src/cli/verify.ts';
import { readConfig } from '../../src/config.ts';
import { startService } from '../../src/server.ts';
import { emptyDatabase, otherServers, testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';

let source: TestDatabase;
let work: string;
let credential: string;
let lines: string[] = [];

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'biosignal-backup-'));
  source = await testDatabase();
  credential = (await createOrganization(source.pool, 'Backup')).apiKey.key;
  await withService(source.url, async (url) => {
    expect(
      await run(simulate, source.url, url, '--duration', '90', '--speed', 'max', '--devices', '2', '--ledger', join(work, 'run')),
    ).toBe(0);
    expect(await run(verify, source.url, url, join(work, 'run'))).toBe(0);
  });
  expect(await run(backup, source.url, '', join(work, 'one'))).toBe(0);
});

afterAll(async () => {
  await source?.close();
  rmSync(work, { recursive: true, force: true });
});

async function withService(databaseUrl: string, use: (url: string) => Promise<void>): Promise<void> {
  const service = await startService({ config: readConfig({ DATABASE_URL: databaseUrl, PORT: '0', BIO_LOG_LEVEL: 'silent' }) });
  try {
    await use(service.baseUrl);
  } finally {
    await service.stop();
  }
}

async function run(command: Command, databaseUrl: string, serviceUrl: string, ...args: string[]): Promise<number> {
  lines = [];
  const console: Console = {
    out: (line) => void lines.push(line),
    err: (line) => void lines.push(line),
    progress: null,
    env: { DATABASE_URL: databaseUrl, BIO_URL: serviceUrl, BIO_KEY: credential },
    cwd: work,
    signal: new AbortController().signal,
  };
  return await runCommand(command, args, console);
}

/** Rows and a hash of each table's content, whatever the order. */
async function fingerprint(database: TestDatabase): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const table of [
    'organization',
    'api_key',
    'xuser',
    'device',
    'stream',
    'stream_channel',
    'method',
    'biosignal',
    'sample_block',
    'beat_block',
    'feature_block',
  ]) {
    const { rows } = await database.pool.query<{ f: string }>(
      `select count(*) || ' ' || coalesce(sum(('x' || left(md5(t::text), 15))::bit(60)::bigint), 0) as f from ${table} t`,
    );
    found[table] = rows[0]!.f;
  }
  return found;
}

// promise: backup-live, restore-checks, backup-kinds
test.each([
  { name: 'the same kind', url: undefined },
  ...otherServers().map(({ name, url }) => ({ name, url: url as string | undefined })),
])('restores into $name of server, row for row, and the service takes packets again', async ({ url }) => {
  const target = await emptyDatabase(url);
  try {
    expect(await run(restore, target.url, '', join(work, 'one')), lines.join('\n')).toBe(0);
    const { openDatabase } = await import('../../src/storage/database/database.ts');
    const database = (await openDatabase(target.url)) as TestDatabase;
    try {
      expect(await fingerprint(database)).toEqual(await fingerprint(source));
      const { rows } = await database.pool.query<{ a: string; b: string }>(
        `select (select count(*) from feature)::text as a, (select coalesce(sum(n), 0) from feature_1m)::text as b`,
      );
      expect(rows[0]!.b).toBe(rows[0]!.a);
    } finally {
      await database.close();
    }
    await withService(target.url, async (serviceUrl) => {
      expect(await run(verify, target.url, serviceUrl, join(work, 'run')), lines.join('\n')).toBe(0);
      const more = ['--duration', '5', '--speed', 'max', '--seed', '9', '--device-prefix', 'new-', '--subject-prefix', 'new-'];
      expect(await run(simulate, target.url, serviceUrl, ...more), lines.join('\n')).toBe(0);
    });
    expect(await run(restore, target.url, '', join(work, 'one'))).toBe(1);
    expect(lines.join('\n')).toContain('not empty');
  } finally {
    await target.drop();
  }
});

// promise: restore-checks
test('a damaged or unfinished backup is refused before anything is touched', async () => {
  expect(await run(restore, 'postgres://nobody@127.0.0.1:1/none', '', '--check', join(work, 'one'))).toBe(0);
  const path = join(work, 'one', 'feature_block.copy.gz');
  const bytes = readFileSync(path);
  const damaged = Buffer.from(bytes);
  damaged[damaged.length >> 1]! ^= 1;
  writeFileSync(path, damaged);
  expect(await run(restore, 'postgres://nobody@127.0.0.1:1/none', '', join(work, 'one'))).toBe(1);
  expect(lines.join('\n')).toContain('feature_block of');
  writeFileSync(path, bytes);
  expect(await run(restore, '', '', work)).toBe(1);
  expect(lines.join('\n')).toContain('no manifest.json');
});

test('a backup from before the baseline is refused with what to do', async () => {
  const path = join(work, 'one', 'manifest.json');
  const text = readFileSync(path, 'utf8');
  const target = await emptyDatabase();
  try {
    writeFileSync(path, JSON.stringify({ ...(JSON.parse(text) as object), schemaVersion: 53 }));
    expect(await run(restore, target.url, '', join(work, 'one'))).toBe(1);
    expect(lines.join('\n')).toMatch(
      /has schema 53, .* restore it with the release that wrote it, upgrade that database, and back it up again/,
    );
    writeFileSync(path, text);
    expect(await run(restore, target.url, '', join(work, 'one'))).toBe(0); // nothing was left behind
  } finally {
    writeFileSync(path, text);
    await target.drop();
  }
});

// promise: restore-atomic
test('a backup from before there were partitions is restored, and the service goes on from it', async () => {
  await using before = await testDatabase();
  await before.pool.query(`insert into organization (name) values ('Before')`);
  // the tables as they were
  await before.pool.query(`drop table cluster_setting; alter table packet_log drop column partition;
    alter table packet_log_checkpoint drop column partition, add column id boolean not null default true;
    update packet_log_checkpoint set epoch = 7; delete from migration where id >= 63`);
  expect(await run(backup, before.url, '', join(work, 'before'))).toBe(0);

  const empty = await emptyDatabase();
  try {
    expect([await run(restore, empty.url, '', join(work, 'before')), lines]).toEqual([0, expect.anything()]);
    await withService(empty.url, async () => undefined);
    const client = new pg.Client(empty.url);
    await client.connect();
    const { rows } = await client.query(
      'select c.partition, c.epoch::int, s.partitions, s.epoch::int as newest from packet_log_checkpoint c, cluster_setting s',
    );
    const columns = await client.query(`select from pg_attribute where attrelid = 'packet_log_checkpoint'::regclass and attname = 'id'`);
    await client.end();
    expect(rows).toEqual([{ partition: 0, epoch: 8, partitions: 1, newest: 8 }]);
    expect(columns.rowCount).toBe(0);
  } finally {
    await empty.drop();
  }
});

test('a restore that fails in its middle has read nothing, and the whole backup goes into the same database', async () => {
  const target = await emptyDatabase();
  const path = join(work, 'one', 'manifest.json');
  const whole = readFileSync(path, 'utf8');
  try {
    const manifest = JSON.parse(whole) as { tables: { name: string; rows: number }[] };
    manifest.tables.findLast(({ rows }) => rows > 0)!.rows += 1; // found out when its rows have been read, after all the others
    writeFileSync(path, JSON.stringify(manifest));
    expect(await run(restore, target.url, '', join(work, 'one'))).toBe(1);
    expect(lines.join('\n')).toContain('rows were read, the backup states');
    const client = new pg.Client(target.url);
    await client.connect();
    const { rows } = await client.query<{ n: number }>(
      `select ((select count(*) from organization) + (select count(*) from stream) + (select count(*) from sample_block))::int as n`,
    );
    await client.end();
    expect(rows).toEqual([{ n: 0 }]);
    writeFileSync(path, whole);
    expect(await run(restore, target.url, '', join(work, 'one')), lines.join('\n')).toBe(0);
  } finally {
    writeFileSync(path, whole);
    await target.drop();
  }
});

// Last, because it creates another organization.
// promise: backup-live, backup-snapshot
test('what is committed while a backup is under way is in none of its tables', async () => {
  const folder = join(work, 'meanwhile');
  const holder = await source.connect();
  await holder.query('begin; lock table xuser in access exclusive mode'); // the backup waits here
  const backingUp = run(backup, source.url, '', folder);
  try {
    const waits = `select from pg_locks where relation = 'xuser'::regclass and not granted`;
    await until(async () => (await source.pool.query(waits)).rowCount === 1);
    await createOrganization(source.pool, 'Meanwhile');
  } finally {
    await holder.end();
  }
  expect(await backingUp, lines.join('\n')).toBe(0);
  const rowsOf = (name: string): unknown => {
    const { tables } = JSON.parse(readFileSync(join(work, name, 'manifest.json'), 'utf8')) as { tables: { name: string; rows: number }[] };
    return tables.filter((table) => ['organization', 'project', 'api_key', 'sdk_key'].includes(table.name)).map(({ rows }) => rows);
  };
  expect(rowsOf('meanwhile')).toEqual(rowsOf('one'));
});
