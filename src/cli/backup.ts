/** `biosignal backup` and `restore`: the whole database as a folder of COPY files, the same for every kind of server: a backup of the
 *  embedded PostgreSQL restores into TimescaleDB and back.
 *
 *  A backup is one snapshot (repeatable read) of all tables with primary data; restoring it rebuilds rollups and partitions.
 *    manifest.json        schema version, kind of server, time; per table its columns, rows, bytes and the sha256 of its file
 *    TABLE.copy.gz        binary COPY, gzip level 1 (samples are already packed)
 *  For very large installations use the tools of the server (pgBackRest, pg_basebackup): docs/operator.md says when. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createGzip } from 'node:zlib';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { audit } from '../tenancy/audit.ts';
import { readConfig } from '../config.ts';
import { PipelineError } from '../errors.ts';
import type { Database } from '../storage/database/database.ts';
import { BASELINE_VERSION } from '../storage/schema/baseline.ts';
import { rowTables } from '../storage/pack-rows.ts';
import { Partitions } from '../storage/schema/partitions.ts';
import { upgrade } from '../storage/upgrade.ts';
import { commandLine } from './acts.ts';
import { dropColumnsOfBefore, makeColumnsOfBefore } from './backup-before-partitions.ts';
import { makeRowTables, packRestored, renameKept, rowTableOf } from './backup-of-rows.ts';
import type { Command, Console } from './command.ts';
import { EXIT_FAILED, EXIT_OK, UsageError } from './command.ts';
import { locateDatabase, withDatabase } from './open-database.ts';
import { startProgress } from './progress.ts';
import { openDatabase } from '../storage/database/database.ts';
import { readOrganization, rowsOfOrganization } from './organization-backup.ts';
import { findOrganization } from './organizations.ts';

export type TableEntry = {
  name: string;
  columns: string[];
  rows: number;
  bytes: number;
  sha256: string;
  fromUs: number | null;
  toUs: number | null;
};

export type Manifest = Readonly<{
  /** A release that knows no backups of one organization refuses the second. */
  format: 'biosignal-backup 1' | 'biosignal-organization 1';
  /** Whose rows it has; absent: everybody's. */
  organization?: Readonly<{ id: string; name: string }>;
  schemaVersion: number;
  kind: string;
  createdAt: string;
  tables: readonly TableEntry[];
}>;

/** Tables not backed up: the schema's own bookkeeping, and anything derived from other tables. */
const derived = /^(migration|database_kind|partition_rule|rollup_dirty|.*_kept|.*_shape)$/;

export const backup: Command = {
  name: 'backup',
  summary: 'Write the whole database to a folder, while the service runs.',
  positionals: 'FOLDER',
  description: `One consistent snapshot. The folder holds key hashes, signing keys and health data: protect it like the database.
With --org it has the rows of one organization, and restore adds them to a database in use.`,
  options: { org: { type: 'string', value: 'ORG', doc: 'Id or name of an organization: only its rows. Default: everything.' } },
  examples: ['biosignal backup /var/backups/biosignal/2026-01-05', 'biosignal backup --org "Sleep Lab" /var/backups/sleep-lab'],
  run: async ({ console, options, positionals, json }) => {
    const [folder] = positionals;
    if (folder === undefined) throw new UsageError('name a folder');
    if (existsSync(folder) && (await readdir(folder)).length > 0) throw new UsageError(`${folder} is not empty`);
    const manifest = await withDatabase(console, async (database) => {
      await note(database, console, 'backup.started', folder);
      const org = options.text('org');
      return await writeBackup(database, folder, console, org === '' ? null : await findOrganization(database.pool, org));
    });
    return report(console, json, manifest, 'backed up');
  },
};

export const restore: Command = {
  name: 'restore',
  summary: 'Read a backup into an empty database.',
  positionals: 'FOLDER',
  description: `Stop the service first. The database may be of another kind than the one that was backed up; if it is empty, its schema is created.
A backup of one organization (backup --org) is added to what is there, while the service runs or not.
With --check the files are only compared with their hashes.`,
  options: { check: { type: 'boolean', doc: 'Only check that the backup is complete and undamaged.' } },
  examples: ['biosignal restore --check /var/backups/biosignal/2026-01-05', 'biosignal restore /var/backups/biosignal/2026-01-05'],
  run: async ({ console, options, positionals, json }) => {
    const [folder] = positionals;
    if (folder === undefined) throw new UsageError('name a folder');
    const manifest = await readManifest(folder);
    const damaged = await damagedTables(folder, manifest, console);
    if (damaged.length > 0) {
      console.err(`biosignal restore: ${damaged.join(', ')} of ${folder} ${damaged.length === 1 ? 'is' : 'are'} damaged`);
      return EXIT_FAILED;
    }
    if (options.flag('check')) return report(console, json, manifest, 'whole');
    const address = await locateDatabase(console);
    try {
      await upgrade(address.url, { plain: readConfig(console.env).plainPostgres });
      const database = await openDatabase(address.url, { applicationName: 'biosignal restore', poolSizeMax: 2, statementTimeoutMs: 0 });
      try {
        await readBackup(database, folder, manifest, console);
        await note(database, console, 'backup.restored', folder);
      } finally {
        await database.close();
        if (!database.pool.ended) await database.pool.end();
      }
    } finally {
      await address.stop();
    }
    return report(console, json, manifest, 'restored');
  },
};

/** Records the act, if possible: a backup must also work where the log cannot be written, on a standby or an older schema. */
async function note(database: Database, console: Console, action: string, folder: string): Promise<void> {
  await audit(database.pool, commandLine(console, null), { action, targetKind: 'folder', targetId: resolve(folder) }).catch(
    (error: unknown) => console.err(`biosignal: not in the audit log: ${error instanceof Error ? error.message : String(error)}`),
  );
}

function report(console: Console, json: boolean, manifest: Manifest, verb: string): number {
  const { tables, ...head } = manifest;
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const bytes = tables.reduce((sum, table) => sum + table.bytes, 0);
  if (json) console.out(JSON.stringify({ ...head, rows, bytes, tables }, null, 2));
  else
    console.out(
      `${verb}: ${tables.length} tables, ${rows} rows, ${(bytes / 1e6).toFixed(1)} MB, schema ${manifest.schemaVersion}, of ${manifest.createdAt}`,
    );
  return EXIT_OK;
}

/** Writes a backup. The manifest comes last: a folder without one is no backup. */
export async function writeBackup(database: Database, folder: string, console: Console, orgId: string | null = null): Promise<Manifest> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const client = await database.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    const { rows: books } = await client.query<{ version: number; now: string }>(
      `select (select max(id) from migration) as version, to_char(now(), 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as now`,
    );
    const names = await tablesInOrder(client);
    if (names.includes(rowTables.feature) || names.includes(rowTables.beat))
      throw new PipelineError('conflict', "beats and values are being packed: run 'biosignal migrate', and then the backup");
    const of = orgId === null ? null : await organizationOf(client, orgId);
    const sources: Source[] = [];
    for (const name of names) {
      const columns = await columnsOf(client, name);
      const rows = of === null ? 'true' : rowsOfOrganization(name, columns, of.id);
      if (rows !== null) sources.push({ name, columns, rows });
    }
    const tables: TableEntry[] = [];
    const copied = countBytes(console, 'backup', await estimateBytes(client, sources));
    try {
      for (const source of sources) {
        console.signal.throwIfAborted();
        tables.push(await dumpTable(client, source, folder, copied.through(source.name)));
      }
    } finally {
      copied.end();
    }
    await client.query('commit');
    const manifest: Manifest = {
      ...(of === null ? { format: 'biosignal-backup 1' } : { format: 'biosignal-organization 1', organization: of }),
      schemaVersion: books[0]!.version,
      kind: database.kind,
      createdAt: books[0]!.now,
      tables,
    };
    await writeFile(join(folder, 'manifest.json.part'), JSON.stringify(manifest, null, 2), { mode: 0o600 });
    await rename(join(folder, 'manifest.json.part'), join(folder, 'manifest.json'));
    return manifest;
  } finally {
    await client.end();
  }
}

/** A table, and the condition of its rows that are written. */
type Source = Readonly<{ name: string; columns: string[]; rows: string }>;

async function organizationOf(client: pg.Client, id: string): Promise<Readonly<{ id: string; name: string }>> {
  const { rows } = await client.query<{ id: string; name: string }>('select id, name from organization where id = $1', [id]);
  return rows[0]!;
}

async function dumpTable(client: pg.Client, source: Source, folder: string, copied: Transform): Promise<TableEntry> {
  const { name, columns, rows: condition } = source;
  const list = columns.map((column) => pg.escapeIdentifier(column)).join(', ');
  const hasTime = columns[0] === 'time';
  const { rows } = await client.query<{ n: bigint; from_us: number | null; to_us: number | null }>(
    `select count(*) as n, ${hasTime ? '(extract(epoch from min(time)) * 1e6)::float8' : 'null'} as from_us,
       ${hasTime ? '(extract(epoch from max(time)) * 1e6)::float8' : 'null'} as to_us from ${pg.escapeIdentifier(name)} where ${condition}`,
  );
  const hash = createHash('sha256');
  let bytes = 0;
  const measure = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      hash.update(chunk);
      bytes += chunk.length;
      done(null, chunk);
    },
  });
  const from = `select ${list} from ${pg.escapeIdentifier(name)} where ${condition}`;
  const copy = client.query(copyTo(`copy (${from}) to stdout (format binary)`));
  const file = createWriteStream(join(folder, `${name}.copy.gz`), { mode: 0o600 });
  await pipeline(copy, copied, createGzip({ level: constants.Z_BEST_SPEED }), measure, file);
  const { n, from_us: fromUs, to_us: toUs } = rows[0]!;
  return { name, columns, rows: Number(n), bytes, sha256: hash.digest('hex'), fromUs, toUs };
}

/** Estimates the tables' size as COPY, bytes, from their row counts and the width of a thousand rows. Only used for progress. */
async function estimateBytes(client: pg.Client, sources: readonly Source[]): Promise<number> {
  let total = 0;
  for (const { name, rows: condition } of sources) {
    const table = pg.escapeIdentifier(name);
    const { rows } = await client.query<{ bytes: number }>(
      `select coalesce((select count(*) from ${table} where ${condition})
         * (select avg(pg_column_size(t)) from (select * from ${table} limit 1000) t), 0)::float8 as bytes`,
    );
    total += rows[0]!.bytes;
  }
  return total;
}

/** Streams that count bytes, for one progress line over several files. */
function countBytes(console: Console, label: string, total: number): { through: (note: string) => Transform; end: () => void } {
  const progress = startProgress(console, label, total);
  const startedMs = performance.now();
  let bytes = 0;
  return {
    through: (note) =>
      new Transform({
        transform: (chunk: Buffer, _encoding, done) => {
          bytes += chunk.length;
          const rate = bytes / 1000 / (performance.now() - startedMs);
          progress.update(Math.min(bytes, 0.999 * total), `${rate.toFixed(1)} MB/s  ${note}`);
          done(null, chunk);
        },
      }),
    end: progress.end,
  };
}

/** Reads a checked backup into a database that has the schema and no data, in one transaction. */
export async function readBackup(database: Database, folder: string, manifest: Manifest, console: Console): Promise<void> {
  const client = await database.connect();
  try {
    if (manifest.organization !== undefined) return await addOrganization(client, database, folder, manifest, console);
    const { rows } = await client.query<{ version: number; used: boolean }>(
      'select (select max(id) from migration) as version, exists (select from organization) or exists (select from stream) as used',
    );
    const { version, used } = rows[0]!;
    if (used) throw new PipelineError('conflict', 'the database is not empty: restore into a fresh one');
    if (version < manifest.schemaVersion) {
      throw new PipelineError(
        'conflict',
        `the backup has schema ${manifest.schemaVersion}, but this release only knows ${version}: use the newer release`,
      );
    }
    if (manifest.schemaVersion < BASELINE_VERSION) {
      throw new PipelineError(
        'conflict',
        `the backup has schema ${manifest.schemaVersion}, and this release cannot convert rows from before ${BASELINE_VERSION}: restore it ` +
          'with the release that wrote it, upgrade that database, and back it up again (docs/operator.md, "Upgrade")',
      );
    }
    await makePartitions(client, database, manifest);
    await client.query('begin');
    const present = new Set(await tablesInOrder(client));
    const placeOf = (name: string): string | undefined => (present.has(name) ? name : rowTableOf(name));
    const tables = manifest.tables.filter(({ name, rows: n }) => present.has(name) || (placeOf(name) !== undefined && n > 0));
    // The audit log refuses changes and chains new rows, but its rows must be restored as they were, hashes included.
    await client.query('alter table audit_log disable trigger user');
    // The schema came with its own catalog: the backup's replaces it, ids included.
    await client.query(`truncate ${[...present].map((name) => pg.escapeIdentifier(name)).join(', ')} cascade`);
    await makeRowTables(client, tables);
    await makeColumnsOfBefore(client, manifest.schemaVersion);
    const read = countBytes(
      console,
      'restore',
      tables.reduce((sum, { bytes }) => sum + bytes, 0),
    );
    for (const table of tables) {
      console.signal.throwIfAborted();
      const list = table.columns.map((column) => pg.escapeIdentifier(column)).join(', ');
      const sink = client.query(copyFrom(`copy ${pg.escapeIdentifier(placeOf(table.name)!)} (${list}) from stdin (format binary)`));
      await pipeline(createReadStream(join(folder, `${table.name}.copy.gz`)), read.through(table.name), createGunzip(), sink);
      if (sink.rowCount !== table.rows) {
        throw new PipelineError('conflict', `${table.name}: ${sink.rowCount} rows were read, the backup states ${table.rows}`);
      }
    }
    read.end();
    await client.query('alter table audit_log enable trigger user');
    await renameKept(client);
    await dropColumnsOfBefore(client, manifest.schemaVersion);
    await advanceSequences(client);
    await client.query('commit');
    await packRestored(database, console);
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  } finally {
    await client.end();
  }
}

async function addOrganization(client: pg.Client, database: Database, folder: string, manifest: Manifest, console: Console): Promise<void> {
  const { rows } = await client.query<{ version: number }>('select max(id) as version from migration');
  const { version } = rows[0]!;
  if (version !== manifest.schemaVersion)
    throw new PipelineError(
      'conflict',
      `the backup has schema ${manifest.schemaVersion}, and this database ${version}: run the same release on both, then back it up again`,
    );
  await makePartitions(client, database, manifest);
  const read = countBytes(
    console,
    'restore',
    manifest.tables.reduce((sum, { bytes }) => sum + bytes, 0),
  );
  try {
    await client.query('begin');
    await readOrganization(client, folder, manifest, read.through);
    await client.query('commit');
  } finally {
    read.end();
  }
}

/** On plain PostgreSQL a row needs an existing partition: creates every one between the first and the last time. */
async function makePartitions(client: pg.Client, database: Database, manifest: Manifest): Promise<void> {
  if (database.kind !== 'postgres') return;
  const partitions = new Partitions(database);
  const { rows } = await client.query<{ relation: string; step_us: number }>(
    'select relation, (extract(epoch from step) * 1e6)::float8 as step_us from partition_rule',
  );
  for (const { relation, step_us: stepUs } of rows) {
    const table = manifest.tables.find(({ name }) => name === relation || `${name}_block` === relation);
    if (table === undefined || table.fromUs === null || table.toUs === null) continue;
    const times: number[] = [];
    for (let us = table.fromUs; us < table.toUs; us += stepUs) times.push(us);
    await partitions.ensure(client, relation, [...times, table.toUs]);
  }
}

/** Tables of the schema `public` with primary data, referenced ones first. */
async function tablesInOrder(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string; needs: string[] }>(
    `select c.relname as name, coalesce(array_agg(distinct f.relname::text) filter (where f.relname <> c.relname), '{}') as needs
     from pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
     left join pg_constraint k on k.conrelid = c.oid and k.contype = 'f'
     left join pg_class f on f.oid = k.confrelid
     where c.relkind in ('r', 'p') and not c.relispartition
       and (c.relpersistence <> 'u' or not pg_is_in_recovery()) -- unlogged: not on a standby; open minutes are computed again
     group by c.relname order by c.relname`,
  );
  const left = new Map(rows.filter(({ name }) => !derived.test(name)).map(({ name, needs }) => [name, needs]));
  const ordered: string[] = [];
  while (left.size > 0) {
    const ready = [...left].filter(([, needs]) => needs.every((need) => !left.has(need))).map(([name]) => name);
    if (ready.length === 0) throw new PipelineError('internal', `tables refer to one another in a circle: ${[...left.keys()].join(', ')}`);
    for (const name of ready) {
      left.delete(name);
      ordered.push(name);
    }
  }
  return ordered;
}

async function columnsOf(client: pg.Client, name: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [pg.escapeIdentifier(name)],
  );
  return rows.map((row) => row.name);
}

/** Sets identity columns to continue after the largest restored number. */
async function advanceSequences(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ relation: string; column: string; sequence: string }>(
    `select c.relname as relation, a.attname as column, pg_get_serial_sequence(quote_ident(c.relname), a.attname) as sequence
     from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'public' and a.attidentity <> '' and c.relkind in ('r', 'p') and not c.relispartition`,
  );
  for (const { relation, column, sequence } of rows) {
    const [table, name] = [pg.escapeIdentifier(relation), pg.escapeIdentifier(column)];
    await client.query(
      `select setval($1::regclass, greatest((select max(${name}) from ${table}), (select last_value from ${sequence})), true)
       where exists (select from ${table})`,
      [sequence],
    );
  }
}

/** @throws PipelineError when the folder is no backup */
export async function readManifest(folder: string): Promise<Manifest> {
  const path = join(folder, 'manifest.json');
  if (!existsSync(path)) throw new PipelineError('not_found', `${folder} has no manifest.json: it is not a backup, or an unfinished one`);
  const manifest = JSON.parse(await readFile(path, 'utf8')) as Manifest;
  const { format }: Readonly<{ format: unknown }> = manifest;
  if (format !== 'biosignal-backup 1' && format !== 'biosignal-organization 1')
    throw new PipelineError('validation_failed', `${path}: format ${String(format)}`);
  for (const { name } of manifest.tables) {
    if (!/^[a-z][a-z0-9_]{0,62}$/.test(name)) throw new PipelineError('validation_failed', `${path}: table name ${JSON.stringify(name)}`);
  }
  return manifest;
}

/** Names of the tables whose file is missing or altered. */
async function damagedTables(folder: string, manifest: Manifest, console: Console): Promise<string[]> {
  const damaged: string[] = [];
  const total = manifest.tables.reduce((sum, { bytes }) => sum + bytes, 0);
  const read = countBytes(console, 'check', total);
  for (const { name, sha256 } of manifest.tables) {
    console.signal.throwIfAborted();
    const path = join(folder, `${name}.copy.gz`);
    if (!existsSync(path)) {
      damaged.push(name);
      continue;
    }
    const hash = createHash('sha256');
    await pipeline(createReadStream(path), read.through(name), hash);
    if (hash.digest('hex') !== sha256) damaged.push(name);
  }
  read.end();
  return damaged;
}
