// A database of the release before, with beats and values a row each: after the migration every one of them is there as it was, and so are
// their hours and days.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { backup, readManifest, restore } from '../../src/cli/backup.ts';
import { runCommand, type Command, type Console } from '../../src/cli/command.ts';
import { CopyBuffer, copyRows } from '../../src/storage/copy-binary.ts';
import { migrate } from '../../src/storage/schema/migrate.ts';
import { upgrade } from '../../src/storage/upgrade.ts';
import { emptyDatabase, otherServers } from '../helpers/database.ts';
import { insertRowsOfBefore, LAST_OF_ROWS, migrateUpTo, rowsOfBefore } from '../helpers/row-database.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A database of the release before, and what it answered. */
async function databaseOfRows(): Promise<{ client: pg.Client; url: string; kind: string; before: Answers }> {
  const { url, drop } = await emptyDatabase();
  ends.push(drop);
  await migrateUpTo(url, LAST_OF_ROWS);
  const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC -c jit=off' });
  await client.connect();
  ends.push(() => client.end());
  const kind = (await client.query<{ kind: string }>('select kind from database_kind')).rows[0]!.kind;
  await client.query(rowsOfBefore);
  if (kind === 'postgres')
    await client.query(
      `select ensure_partitions(t, to_timestamp(min(start_ns) / 1e9), to_timestamp(max(start_ns) / 1e9 + 200))
       from moment, unnest(array['feature', 'beat']) t group by t, start_ns`,
    );
  await client.query(insertRowsOfBefore);
  // Some are kept by the rollups of before, or in the columnstore; some are noted.
  if (kind === 'timescale') {
    await client.query(`call refresh_continuous_aggregate('feature_1m', null, '1970-01-05')`);
    await client.query(`select compress_chunk(c) from show_chunks('feature', older_than => timestamptz '1970-01-12') c`);
  } else await client.query('call refresh_rollups(0, 40)');
  return { client, url, kind, before: await answers(client) };
}

/** @throws Error with what it said when it fails */
async function command(what: Command, url: string, folder: string): Promise<void> {
  const lines: string[] = [];
  const say = (line: string): void => void lines.push(line);
  const console: Console = {
    out: say,
    err: say,
    progress: null,
    env: { DATABASE_URL: url },
    cwd: tmpdir(),
    signal: new AbortController().signal,
  };
  if ((await runCommand(what, [folder], console)) !== 0) throw new Error(lines.join('\n'));
}

/** Until the trigger `refuse` is dropped. */
async function refuseBeatsOf40(client: pg.Client): Promise<void> {
  await client.query(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'the disk is full'; end $$;
    create trigger refuse before insert on beat_block for each row when (new.stream_id = 40) execute function refuse()`);
}

type Row = Record<string, unknown>;
type Answers = { feature: Row[]; beat: Row[]; feature_1m: Row[]; feature_1h: Row[]; feature_1d: Row[] };

async function answers(client: pg.Client): Promise<Answers> {
  const all = async (from: string, order: string): Promise<Row[]> =>
    (await client.query<Row>(`select * from ${from} order by stream_id, method_id, channel_no, ${order}`)).rows;
  const rollup = async (name: string): Promise<Row[]> =>
    (await all(name, 'bucket')).map((row) => ({ ...row, ...numbersOf(row, ['sum', 'good_sum', 'suspect_sum']) }));
  return {
    feature: await all('feature', 'ts_ns'),
    // beats have had a confidence since then; these have none
    beat: (await all('beat', 'ts_ns')).map((row) => ({ confidence: null, ...row })),
    feature_1m: await rollup('feature_1m'),
    feature_1h: await rollup('feature_1h'),
    feature_1d: await rollup('feature_1d'),
  };
}

/** Sums are digits; 1.50 is 1.5. */
const numbersOf = (row: Row, names: readonly string[]): Row =>
  Object.fromEntries(names.map((name) => [name, row[name] === null ? null : Number(row[name])]));

/** Those of methods whose values were whole steps, or whole numbers. */
const exact = (rows: readonly Row[]): Row[] => rows.filter(({ method_id: id }) => [101, 103, 111].includes(id as number));

function expectAsBefore(after: Answers, before: Answers): void {
  for (const name of Object.keys(before) as (keyof Answers)[]) {
    expect(after[name].length, name).toBe(before[name].length);
    expect(exact(after[name]), name).toEqual(exact(before[name]));
  }
  // Of a method without a step: the same times and flags, and nine digits of the value.
  const beyond = (value: unknown): boolean => value === Infinity || value === 1e11;
  for (const [i, { value, qmask, ...row }] of before.feature.entries()) {
    const { value: now, qmask: flag, ...is } = after.feature[i]!;
    expect(is).toEqual(row);
    if (value === null || beyond(value)) expect([now, flag]).toEqual([null, value === null ? qmask : 2]);
    else expect([now, flag]).toEqual([expect.closeTo(value as number, row['method_id'] === 104 ? 4 : 7), qmask]);
  }
  for (const [i, { interval_ms: ms, ...row }] of before.beat.entries()) {
    const { interval_ms: now, ...is } = after.beat[i]!;
    expect(is).toEqual(row);
    expect(now).toEqual(ms === null ? null : expect.closeTo(ms as number, 3));
  }
}

test('every value, beat, minute, hour and day of the previous release is unchanged', async () => {
  const { client, url, before } = await databaseOfRows();
  expect(before.feature.length).toBeGreaterThan(9000);
  expect(before.beat).toHaveLength(4800);
  const said: string[] = [];
  const { packed, applied } = await upgrade(url, { onProgress: (message) => said.push(message), rowsPerPiece: 700 });
  expect(applied).toContain('000058-rollups.sql');
  expect(packed).toMatchObject({ values: before.feature.length, beats: before.beat.length });
  expect(said.at(-1)).toMatch(/^packing beats, all of \d+ parts: \d+ values and 4800 beats/);
  expectAsBefore(await answers(client), before);
  await client.query('call refresh_hours(0, 100000)'); // from here on hours and days are kept
  expect((await client.query('select from rollup_dirty')).rowCount).toBe(0);
  expectAsBefore(await answers(client), before);
  const { rows: left } = await client.query(`select relname from pg_class where relname ~ '^(beat|feature)_rows|^rows_packed'`);
  expect(left).toEqual([]);
  expect(await upgrade(url)).toMatchObject({ applied: [], packed: null });
});

test('a migration that fails half way resumes there; reads of minutes are unavailable until it is done', async () => {
  const { client, url, before } = await databaseOfRows();
  await migrateUpTo(url, 56);
  await refuseBeatsOf40(client);
  await expect(upgrade(url, { rowsPerPiece: 1 })).rejects.toThrow(/disk is full/);
  await expect(client.query('select from feature')).rejects.toThrow(/does not exist/);
  await expect(migrate(url)).rejects.toThrow(/not packed yet/); // by no other way
  await expect(client.query('select from feature_1h')).rejects.toThrow(/does not exist/);
  const { rows: done } = await client.query<{ n: number }>('select count(*)::int as n from beat_block');
  expect(done[0]!.n).toBeGreaterThan(0);
  await client.query('drop trigger refuse on beat_block');
  const { packed } = await upgrade(url);
  expect(packed!.values).toBe(0); // they were done
  expect(packed!.beats).toBeLessThan(before.beat.length);
  expectAsBefore(await answers(client), before);
});

// promise: backup-kinds
test.each([
  { name: 'the same kind', serverUrl: undefined },
  ...otherServers().map(({ name, url }) => ({ name, serverUrl: url as string | undefined })),
])('a backup of the release before restores into $name of server', { timeout: 60_000 }, async ({ serverUrl }) => {
  const { client, url, before } = await databaseOfRows();
  await client.query(`update retention set keep = '30 years' where relation = 'feature'`);
  const folder = await mkdtemp(join(tmpdir(), 'bio-backup-'));
  ends.push(() => rm(folder, { recursive: true }));
  await command(backup, url, folder);
  expect((await readManifest(folder)).schemaVersion).toBe(LAST_OF_ROWS);
  const target = await emptyDatabase(serverUrl);
  ends.push(target.drop);
  await command(restore, target.url, folder);
  const restored = new pg.Client({ connectionString: target.url, options: '-c timezone=UTC -c jit=off' });
  await restored.connect();
  ends.push(() => restored.end());
  expectAsBefore(await answers(restored), before);
  const { rows } = await restored.query(`select keep::text from retention where relation like 'feature%'`);
  expect(rows).toEqual([{ keep: '30 years' }]);
  await restored.query('select apply_retention()');
});

test('a restore that ends while it packs is resumed by migrate', async () => {
  const { url, before } = await databaseOfRows();
  const folder = await mkdtemp(join(tmpdir(), 'bio-backup-'));
  ends.push(() => rm(folder, { recursive: true }));
  await command(backup, url, folder);
  const target = await emptyDatabase();
  ends.push(target.drop);
  await upgrade(target.url);
  const client = new pg.Client({ connectionString: target.url, options: '-c timezone=UTC -c jit=off' });
  await client.connect();
  ends.push(() => client.end());
  await refuseBeatsOf40(client);
  await expect(command(restore, target.url, folder)).rejects.toThrow(/everything was read, .* run 'biosignal migrate', which goes on/);
  await client.query('drop trigger refuse on beat_block');
  expect((await upgrade(target.url)).packed).not.toBeNull();
  expectAsBefore(await answers(client), before);
});

test('a database that is half packed is not backed up', async () => {
  const { url } = await databaseOfRows();
  await migrateUpTo(url, 56);
  await expect(command(backup, url, join(tmpdir(), 'bio-backup-of-none'))).rejects.toThrow(/run 'biosignal migrate'/);
});

test('an instance of the previous release that still runs writes nothing, and gets errors rather than wrong numbers', async () => {
  const { client, url } = await databaseOfRows();
  await upgrade(url);
  for (const table of ['feature', 'beat']) {
    const row = new CopyBuffer();
    row.row(1);
    row.int4(1);
    await expect(copyRows(client, `${table} (stream_id)`, row)).rejects.toThrow(/cannot copy to view/);
  }
  for (const statement of [
    'delete from feature where stream_id = 1',
    `insert into beat (time, stream_id) values (now(), 1)`,
    `select * from feature_minutes(array[1], 1::smallint, now(), now(), 'mean', 1)`,
    'call refresh_rollups(0, 5000)',
  ])
    await expect(client.query(statement), statement).rejects.toThrow(/view|does not exist/);
});
