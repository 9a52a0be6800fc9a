// Migrations on a real server: the run's own, or the one named by BIO_TEST_DATABASE_URL.
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { openDatabase } from '../../src/storage/database/database.ts';
import { migrate } from '../../src/storage/schema/migrate.ts';
import { schemaText, schemaTitle } from '../../src/storage/schema/schema-text.ts';
import { tableTypes } from '../../src/storage/schema/table-types.ts';
import { emptyDatabase, otherServers } from '../helpers/database.ts';

const drops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const drop of drops.splice(0)) await drop();
});

async function empty(serverUrl?: string): Promise<string> {
  const { url, drop } = await emptyDatabase(serverUrl);
  drops.push(drop);
  return url;
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(text)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

/** Everything a schema consists of, as text. */
async function schemaOf(url: string): Promise<unknown> {
  return {
    columns: await query(
      url,
      `select table_name, column_name, data_type, is_nullable, column_default from information_schema.columns where table_schema = 'public' order by 1, 2`,
    ),
    constraints: await query(
      url,
      `select conrelid::regclass::text as t, conname, pg_get_constraintdef(oid) as def from pg_constraint where connamespace = 'public'::regnamespace order by 1, 2`,
    ),
    indexes: await query(url, `select indexname, indexdef from pg_indexes where schemaname = 'public' order by 1`),
  };
}

async function folderWith(change: (folder: string) => Promise<void>): Promise<URL> {
  const folder = await mkdtemp(join(tmpdir(), 'bio-sql-'));
  drops.push(() => rm(folder, { recursive: true }));
  await cp(new URL('../../sql/', import.meta.url), folder, { recursive: true });
  await change(folder);
  return pathToFileURL(`${folder}/`);
}

test('a fresh database gets the schema, a second run changes nothing', async () => {
  const url = await empty();
  const first = await migrate(url);
  expect(first.applied.length).toBeGreaterThan(3);
  const schema = await schemaOf(url);
  expect(await migrate(url)).toEqual({ ...first, applied: [] });
  expect(await schemaOf(url)).toEqual(schema);
});

test('twenty at once: each file runs once', async () => {
  const url = await empty();
  const results = await Promise.all(Array.from({ length: 20 }, () => migrate(url)));
  expect(results.filter((result) => result.applied.length > 0)).toHaveLength(1);
  const reference = await empty();
  await migrate(reference);
  expect(await schemaOf(url)).toEqual(await schemaOf(reference));
});

test('a migration that is killed is taken up where it stopped', async () => {
  const url = await empty();
  const reference = await empty();
  await migrate(reference);
  const kill = (): Promise<unknown[]> =>
    query(
      url,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'biosignal migrate'`,
    );
  // Each attempt has a little longer than the one before, until one comes to its end.
  let killedCount = 0;
  for (let isDone = false; !isDone;) {
    let isSettled = false;
    const attempt = migrate(url)
      .then(
        () => void (isDone = true),
        () => void (killedCount += 1),
      )
      .finally(() => (isSettled = true));
    await Promise.race([attempt, sleep(8 * killedCount)]);
    while (!isSettled && (await kill()).length === 0) await sleep(1);
    await attempt;
  }
  expect(killedCount).toBeGreaterThan(5);
  await migrate(url);
  expect(await schemaOf(url)).toEqual(await schemaOf(reference));
});

// From every earlier release, one after the other; and in each file the connection ends before every one of its statements.
// promise: migration-atomic
test('killed before any statement of any file: nothing of the file is left, and the next run goes on', { timeout: 600_000 }, async () => {
  const url = await empty();
  const reference = await empty();
  await migrate(reference);
  const sql = new URL('../../sql/', import.meta.url);
  const release = await mkdtemp(join(tmpdir(), 'bio-sql-'));
  drops.push(() => rm(release, { recursive: true }));
  let kills = 0;
  for (const name of (await readdir(sql)).filter((file) => /^\d{6}-.*\.sql$/.test(file)).sort()) {
    const text = await readFile(new URL(name, sql), 'utf8');
    for (const at of statementStarts(text)) {
      await writeFile(join(release, name), `${text.slice(0, at)} select pg_terminate_backend(pg_backend_pid()); ${text.slice(at)}`);
      const attempt = migrate(url, { folder: pathToFileURL(`${release}/`) });
      const [{ count: done }] = (await attempt.then(
        () => [{ count: 'ran on another kind of server' }],
        () => query(url, `select count(*)::int as count from migration where name = '${name}'`),
      )) as [{ count: number | string }];
      if (typeof done === 'string') break; // not for this server
      expect([name, at, done]).toEqual([name, at, 0]);
      kills++;
    }
    await writeFile(join(release, name), text);
    if (text.includes('--! requires')) await query(url, `delete from migration where name = '${name}' and skipped`);
    await migrate(url, { folder: pathToFileURL(`${release}/`) });
  }
  expect(kills).toBeGreaterThan(100);
  expect(await schemaOf(url)).toEqual(await schemaOf(reference));
  expect((await migrate(url)).applied).toEqual([]);
});

/** Where the statements of a file begin; what looks like an end within a body, a string or a comment is none. */
function statementStarts(text: string): number[] {
  const starts = [0];
  const ends = /(\$\w*\$)[\s\S]*?\1|--[^\n]*|'(?:[^']|'')*'|;/g;
  for (const found of text.matchAll(ends)) if (found[0] === ';' && text.slice(found.index + 1).trim() !== '') starts.push(found.index + 1);
  return starts;
}

// promise: migration-atomic
test('a statement that fails leaves nothing of its file behind', async () => {
  const url = await empty();
  const before = await migrate(url);
  const next = String(before.version + 1).padStart(6, '0');
  const broken = await folderWith((folder) =>
    writeFile(join(folder, `${next}-broken.sql`), 'create table half (id integer); select 1 / 0;'),
  );
  await expect(migrate(url, { folder: broken })).rejects.toThrow(/broken\.sql: division by zero/);
  expect(await query(url, `select to_regclass('half') as half`)).toEqual([{ half: null }]);
  expect((await migrate(url)).applied).toEqual([]);
});

// promise: migration-lock
test(
  'a file that waits for a long transaction lets writers pass, and is applied when the transaction ends',
  { timeout: 60_000 },
  async () => {
    const url = await empty();
    await migrate(url);
    const folder = await folderWith((path) => writeFile(join(path, '900000-next.sql'), 'alter table xuser add column later integer;'));
    const holder = new pg.Client(url);
    const writer = new pg.Client({ connectionString: url, options: '-c lock_timeout=10000' });
    await Promise.all([holder.connect(), writer.connect()]);
    const isWaiting = async (): Promise<boolean> =>
      (await query(url, `select from pg_locks where relation = 'xuser'::regclass and not granted and mode = 'AccessExclusiveLock'`))
        .length > 0;
    try {
      await holder.query('begin; select from xuser');
      await expect(migrate(url, { folder, lockTimeoutMs: 100, lockTries: 2 })).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringMatching(
          /^900000-next\.sql could not be applied: others hold what it changes, .*Nothing of it was changed/,
        ) as string,
      });
      const migrating = migrate(url, { folder, lockTimeoutMs: 1000 });
      await expect.poll(isWaiting, { timeout: 20_000, interval: 20 }).toBe(true);
      await writer.query('update xuser set display_name = display_name'); // while the transaction is still open
      await holder.query('commit');
      expect((await migrating).applied).toEqual(['900000-next.sql']);
    } finally {
      await Promise.all([holder.end(), writer.end()]);
    }
  },
);

// promise: migration-newer
test('the next release adds its file; then the older code refuses the newer database', async () => {
  const url = await empty();
  const before = await migrate(url);
  const next = String(before.version + 1).padStart(6, '0');
  const newer = await folderWith((folder) => writeFile(join(folder, `${next}-later.sql`), 'create table later (id integer);'));
  expect((await migrate(url, { folder: newer })).applied).toEqual([`${next}-later.sql`]);
  await expect(migrate(url)).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining(`${next}-later.sql`) as string });
});

test('a file that was edited after it ran is refused', async () => {
  const url = await empty();
  await migrate(url);
  const edited = await folderWith((folder) => writeFile(join(folder, '000004-catalog.sql'), '-- other\n'));
  await expect(migrate(url, { folder: edited })).rejects.toMatchObject({ code: 'conflict' });
});

/** A database of this schema with the ledger of one that the files before the baseline made, up to a number of theirs. */
async function fromBeforeBaseline(upTo = 54): Promise<string> {
  const url = await empty();
  const baseline = await folderWith(async (folder) => {
    for (const name of await readdir(folder)) if (/^\d{6}-/.test(name) && Number(name.slice(0, 6)) > 54) await rm(join(folder, name));
  });
  await migrate(url, { folder: baseline });
  const lines = (await readFile(new URL('../helpers/ledger-before-baseline.txt', import.meta.url), 'utf8')).trim().split('\n');
  const rows = lines.map((line) => line.split(' ')).filter(([id]) => Number(id) <= upTo);
  await query(
    url,
    `delete from migration; insert into migration (id, name, checksum) values ${rows.map(([id, name, checksum]) => `(${id}, '${name}', '${checksum}')`).join(', ')}`,
  );
  return url;
}

const ledgerOf = (url: string): Promise<unknown> => query(url, 'select id, name, checksum, skipped from migration order by id');

test('a database that ran all files before the baseline is adopted, and goes on from there', async () => {
  const url = await fromBeforeBaseline();
  const fresh = await empty();
  const next = await folderWith((folder) => writeFile(join(folder, '900000-next.sql'), 'create table next (id integer);'));
  const taken = await migrate(url, { folder: next });
  expect(taken).toMatchObject({ version: 900_000, takenOver: true });
  expect(taken.applied.at(-1)).toBe('900000-next.sql');
  expect(taken.applied.filter((name) => Number(name.slice(0, 6)) <= 54)).toEqual([]);
  expect(await query(url, `select to_regclass('next')::text as next`)).toEqual([{ next: 'next' }]);
  await migrate(fresh, { folder: next });
  expect(await ledgerOf(url)).toEqual(await ledgerOf(fresh));
  expect(await migrate(url, { folder: next })).toMatchObject({ applied: [], takenOver: false });
});

test('a database that ran only some of those files, others, or newer ones is refused with advice, and its ledger stays', async () => {
  const refused = async (url: string, message: RegExp): Promise<void> => {
    const before = await ledgerOf(url);
    await expect(migrate(url)).rejects.toMatchObject({ code: 'conflict', message: expect.stringMatching(message) as string });
    expect(await ledgerOf(url)).toEqual(before);
  };
  await refused(
    await fromBeforeBaseline(41),
    /ends with 000041-event-titles\.sql: migrate it once with the newest code that has sql\/000054-open-episodes\.sql, then with this one/,
  );
  const edited = await fromBeforeBaseline();
  await query(edited, `update migration set checksum = 'other' where id = 7`);
  await refused(edited, /ends with 000054-open-episodes\.sql/);
  const newer = await fromBeforeBaseline();
  await query(newer, `insert into migration (id, name, checksum) values (899999, '899999-unknown.sql', '')`);
  await refused(newer, /newer than this code: it has 899999-unknown\.sql/);
});

const snapshots = {
  postgres: 'schema.snapshot.sql',
  timescale: 'schema.timescale.snapshot.sql',
  timescale_apache: 'schema.timescale-apache.snapshot.sql',
} as const;

const readSnapshot = (name: string): Promise<string> => readFile(new URL(`../../sql/${name}`, import.meta.url), 'utf8');

// The snapshot is what a reviewer reads of a migration; npm run schema:dump writes it, npm run table-types the types.
test.each([{ name: "the run's server", url: undefined }, ...otherServers()])(
  'the snapshot and the types of tables are what the migrations make on $name',
  async ({ url }: { url?: string | undefined }) => {
    const target = await empty(url);
    await migrate(target);
    const database = await openDatabase(target);
    try {
      const types = await readFile(new URL('../../src/storage/database/tables.ts', import.meta.url), 'utf8');
      if (database.kind === 'postgres') expect(await tableTypes(database), 'run npm run table-types').toBe(types);
      const snapshot = await readSnapshot(snapshots[database.kind]);
      const title = await schemaTitle(database);
      // Other versions print the same schema in other words.
      if (!snapshot.startsWith(title)) return console.warn(`SKIPPED: ${snapshots[database.kind]} is not of this server: ${title}`);
      expect(await schemaText(database), 'run npm run schema:dump and review the difference').toBe(snapshot);
    } finally {
      await database.close();
    }
  },
);

test('rollups have the same columns on every kind of server', async () => {
  const columns = async (name: string): Promise<string[]> =>
    (await readSnapshot(name)).split('\n').filter((line) => /^(api\.)?feature_1[mhd]: bucket timestamp/.test(line));
  const plain = await columns(snapshots.postgres);
  expect(plain).toHaveLength(6);
  for (const name of Object.values(snapshots)) expect([name, await columns(name)]).toEqual([name, plain]);
});

test('own biosignals from before get a name by which they are found', async () => {
  const url = await empty();
  const before = await folderWith((folder) => rm(join(folder, '000101-own-abbreviations.sql')));
  await migrate(url, { folder: before });
  const own = (abbreviation: string, code: string): string =>
    `('00000000-0000-7000-8000-000000000002', 'Mine', '${abbreviation}', '', 'scalar', 'device', '${code}')`;
  await query(
    url,
    `insert into organization (id, name) values ('00000000-0000-7000-8000-000000000001', 'Lab');
     insert into project (id, organization_id, name, project_key)
       values ('00000000-0000-7000-8000-000000000002', '00000000-0000-7000-8000-000000000001', 'Pilot', 'proj_1');
     insert into biosignal (project_id, name, abbreviation, unit, signal_type, source_type, code)
       values ${[own('SD1', 'a'), own('Sd1-Own', 'b'), own('Grip', 'c'), own('GRIP', 'd'), own('hr_ecg', 'e'), own('Load', 'f'), own('Ärger', 'g'), own('ärger', 'h'), own('A\u0308RGER', 'i'), own('Arger', 'j'), own('8867-4', 'k')].join(', ')}`,
  );
  await migrate(url);
  const rows = await query(url, 'select abbreviation from biosignal where project_id is not null order by code');
  expect(rows.map(({ abbreviation }) => abbreviation)).toEqual([
    'SD1-OWN2',
    'Sd1-Own',
    'Grip',
    'GRIP-OWN',
    'hr_ecg-OWN',
    'Load',
    'Ärger',
    'ärger-OWN',
    'A\u0308RGER-OWN2',
    'Arger',
    '8867-4-OWN',
  ]);
});

test('fifty thousand own biosignals are looked through in seconds', async () => {
  const url = await empty();
  const before = await folderWith((folder) => rm(join(folder, '000101-own-abbreviations.sql')));
  await migrate(url, { folder: before });
  await query(
    url,
    `insert into organization (id, name) values ('00000000-0000-7000-8000-000000000001', 'Lab');
     insert into project (id, organization_id, name, project_key)
       values ('00000000-0000-7000-8000-000000000002', '00000000-0000-7000-8000-000000000001', 'Pilot', 'proj_1');
     insert into biosignal (project_id, name, abbreviation, unit, signal_type, source_type, code)
       select '00000000-0000-7000-8000-000000000002', 'Mine', case when i = 1 then 'x50000' else 'X' || i end, '', 'scalar', 'device', 'c' || i
       from generate_series(1, 50000) i`,
  );
  const startedMs = performance.now();
  await migrate(url);
  expect(performance.now() - startedMs).toBeLessThan(15_000);
  const rows = await query(url, `select abbreviation from biosignal where abbreviation like '%-OWN'`);
  expect(rows).toEqual([{ abbreviation: 'X50000-OWN' }]);
});
