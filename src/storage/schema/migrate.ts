/** Brings a database to the schema of this code: the numbered files of sql/, each once, each in its own transaction. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { PipelineError } from '../../errors.ts';
import { explained, liftTransactionTimeout, sessionOf } from '../database/session.ts';
import { BASELINE_VERSION, isFromBeforeBaseline, takeOver } from './baseline.ts';
import type { ServerKind } from '../database/database.ts';
import { locks } from '../database/locks.ts';
import { sqlStateOf } from '../database/sql-states.ts';

/** What a file may ask for in a line `--! requires: …`. Without one it runs everywhere. */
const requirements = {
  /** TimescaleDB under either licence. */
  timescaledb: ['timescale', 'timescale_apache'],
  /** TimescaleDB under the community licence: columnstore, continuous aggregates, policies. */
  timescale: ['timescale'],
  /** No TimescaleDB. */
  postgres: ['postgres'],
  /** No continuous aggregates: plain PostgreSQL and the Apache licence. */
  portable: ['timescale_apache', 'postgres'],
} as const satisfies Record<string, readonly ServerKind[]>;

type Migration = Readonly<{ id: number; name: string; text: string; checksum: string; kinds: readonly ServerKind[] | null }>;

export type MigrateResult = Readonly<{
  kind: ServerKind;
  /** Names of the files that ran now, in order. */
  applied: readonly string[];
  /** Number of the newest file. */
  version: number;
  /** The database was made by the files before the baseline, and has its ledger now. */
  takenOver: boolean;
}>;

export type MigrateOptions = Readonly<{
  folder?: URL;
  /** Make a new database a plain one even where TimescaleDB is installed. Default false. */
  plain?: boolean;
  /** How long a file waits for a lock, ms. Later readers and writers queue behind it meanwhile; then it steps aside and is retried.
   *  Default 2,000. */
  lockTimeoutMs?: number;
  /** Tries of one file, with a pause of the same length between them. Default 30: two minutes. */
  lockTries?: number;
  /** Called before each file that has not run, with its number, and at the end with null; nobody else migrates meanwhile. */
  between?: (next: number | null, client: pg.Client, kind: ServerKind) => Promise<void>;
}>;

export const LOCK_TIMEOUT_MS = 2000;
export const LOCK_TRIES = 30;
/** Lock not available, deadlock. */
const lockStates: readonly (string | null)[] = ['55P03', '40P01'];

const sqlFolder = new URL('../../../sql/', import.meta.url);

/** Migrates. Fresh, again, from an older release, twenty at once, after a kill in the middle: all end in the same schema.
 *  A new database becomes the best kind that the server offers, and stays that kind.
 *  @throws PipelineError conflict when the database is newer than the code or older than the baseline, when an applied file was changed
 *  since, when the server lacks what the schema needs, or when it has TimescaleDB and a new database cannot use it (unless it is to be
 *  plain) */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<MigrateResult> {
  const migrations = await readMigrations(options.folder ?? sqlFolder);
  const client = new pg.Client(sessionOf(url, 'biosignal migrate'));
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(liftTransactionTimeout);
    await client.query('select pg_advisory_lock($1)', [locks.migration.toString()]);
    const kind = await settleKind(client, url, options.plain === true);
    const ledger = await readLedger(client);
    const takenOver = isFromBeforeBaseline(ledger, migrations);
    refuseUnknown(migrations, takenOver ? ledger.filter(({ id }) => id > BASELINE_VERSION) : ledger);
    if (takenOver) await takeOver(client, kind, migrations);
    const done = new Set((takenOver ? await readLedger(client) : ledger).map(({ id }) => id));
    const applied: string[] = [];
    for (const migration of migrations) {
      if (done.has(migration.id)) continue;
      await options.between?.(migration.id, client, kind);
      const runs = migration.kinds === null || migration.kinds.includes(kind);
      await applyInTurns(client, migration, runs, options);
      if (runs) applied.push(migration.name);
    }
    await options.between?.(null, client, kind);
    return { kind, applied, version: migrations.at(-1)?.id ?? 0, takenOver };
  } catch (error) {
    throw explained(error);
  } finally {
    await client.end();
  }
}

/** The files of the folder in order, each number once; numbers may be left out. */
async function readMigrations(folder: URL): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{6}-[a-z0-9-]+\.sql$/.test(name)).sort();
  const migrations: Migration[] = [];
  for (const name of names) {
    const text = await readFile(new URL(name, folder), 'utf8');
    const id = Number(name.slice(0, 6));
    if (id <= (migrations.at(-1)?.id ?? 0)) throw new PipelineError('internal', `${name}: number ${id} is taken`);
    migrations.push({ id, name, text, checksum: createHash('sha256').update(text).digest('hex'), kinds: requiredKinds(name, text) });
  }
  return migrations;
}

function requiredKinds(name: string, text: string): readonly ServerKind[] | null {
  const marker = /^--! requires: *(\S+) *$/m.exec(text)?.[1];
  if (marker === undefined) return null;
  if (!(marker in requirements)) throw new PipelineError('internal', `${name}: unknown requirement ${marker}`);
  return requirements[marker as keyof typeof requirements];
}

/** Reads the kind this database was made for, or settles it: creates the extension where the server has it. */
async function settleKind(client: pg.Client, url: string, plain: boolean): Promise<ServerKind> {
  await client.query(`
    create table if not exists migration (
      id integer not null,
      name text not null,
      checksum text not null,
      skipped boolean not null default false,
      applied_at timestamptz not null default now(),
      constraint migration_pkey primary key (id)
    );
    create table if not exists database_kind (
      kind text not null,
      one boolean not null default true,
      constraint database_kind_pkey primary key (one),
      constraint database_kind_one_check check (one)
    );`);
  const recorded = (await client.query<{ kind: ServerKind }>('select kind from database_kind')).rows[0]?.kind;
  if (recorded !== undefined) {
    const now = await offeredKind(client);
    if (recorded !== 'postgres' && now !== recorded && !(recorded === 'timescale_apache' && now === 'timescale')) {
      throw new PipelineError('conflict', `the database was made on a ${recorded} server and this one offers ${now}`);
    }
    return recorded;
  }
  const offered = await client.query("select from pg_available_extensions where name = 'timescaledb'");
  if (offered.rowCount === 1 && !plain) await createExtension(url);
  const kind = await offeredKind(client);
  await client.query('insert into database_kind (kind) values ($1)', [kind]);
  return kind;
}

/** A database that is made plain stays plain (backup and restore is the only way on), so a server that has TimescaleDB and cannot use it is
 *  refused rather than used as less than it was meant to be. On a connection of its own: without preload the server ends it. */
async function createExtension(url: string): Promise<void> {
  const client = new pg.Client(sessionOf(url, 'biosignal migrate'));
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(liftTransactionTimeout);
    await client.query('create extension if not exists timescaledb');
  } catch (error) {
    const { code, message } = error as pg.DatabaseError;
    const cause = code === '42501' ? 'this role may not create it' : /preload/.test(message) ? 'it is not preloaded' : message;
    const remedy =
      code === '42501'
        ? "have an administrator run 'create extension timescaledb' in this database"
        : "set shared_preload_libraries = 'timescaledb' and restart the server";
    throw new PipelineError(
      'conflict',
      `the server has TimescaleDB, but ${cause}: ${remedy}; or set BIO_PLAIN_POSTGRES=1 to do without it, for good in this database`,
      { cause: error },
    );
  } finally {
    await client.end().catch(() => {});
  }
}

async function offeredKind(client: pg.Client): Promise<ServerKind> {
  const { rows } = await client.query<{ license: string | null }>(`
    select case when exists (select from pg_extension where extname = 'timescaledb') then current_setting('timescaledb.license', true) end as license`);
  const license = rows[0]!.license;
  if (license === null) return 'postgres';
  return license === 'timescale' ? 'timescale' : 'timescale_apache';
}

type LedgerRow = Readonly<{ id: number; name: string; checksum: string }>;

async function readLedger(client: pg.Client): Promise<LedgerRow[]> {
  return (await client.query<LedgerRow>('select id, name, checksum from migration')).rows;
}

function refuseUnknown(migrations: readonly Migration[], ledger: readonly LedgerRow[]): void {
  const known = new Map(migrations.map((migration) => [migration.id, migration]));
  for (const row of ledger) {
    const migration = known.get(row.id);
    if (migration === undefined) {
      throw new PipelineError('conflict', `the database is newer than this code: it has ${row.name}; start the release that wrote it`);
    }
    if (migration.checksum !== row.checksum) {
      throw new PipelineError('conflict', `${migration.name} is not what was applied to this database: files of sql/ are never edited`);
    }
  }
}

/** Applies a file with a short lock timeout, because a file that waits for a table holds up all later readers and writers.
 *  @throws PipelineError unavailable when the locks it needs are never free */
async function applyInTurns(
  client: pg.Client,
  migration: Migration,
  runs: boolean,
  { lockTimeoutMs = LOCK_TIMEOUT_MS, lockTries = LOCK_TRIES }: MigrateOptions,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await applyOne(client, migration, runs, lockTimeoutMs);
    } catch (error) {
      if (!isPassing((error as Error).cause)) throw error;
      if (attempt >= lockTries) {
        throw new PipelineError(
          'unavailable',
          `${migration.name} could not be applied: others hold what it changes, in ${lockTries} tries of ${lockTimeoutMs / 1000} s each. ` +
            "Nothing of it was changed. Long transactions are in pg_stat_activity (xact_start); end them, or wait, and run 'biosignal migrate' again.",
          { cause: error },
        );
      }
      await sleep(lockTimeoutMs);
    }
  }
}

/** Others hold what the file needs. A job of TimescaleDB that begins while it is removed is an internal error of the server. */
const isPassing = (cause: unknown): boolean =>
  lockStates.includes(sqlStateOf(cause)) || (cause instanceof Error && /^tuple concurrently (updated|deleted)$/.test(cause.message));

/** One file, one transaction; the ledger row goes first, so that two that run at once collide before any work. */
async function applyOne(client: pg.Client, migration: Migration, runs: boolean, lockTimeoutMs: number): Promise<void> {
  await client.query('begin');
  try {
    await client.query(`set local lock_timeout = ${lockTimeoutMs}`);
    await client.query('insert into migration (id, name, checksum, skipped) values ($1, $2, $3, $4)', [
      migration.id,
      migration.name,
      migration.checksum,
      !runs,
    ]);
    if (runs) await client.query(migration.text);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw new PipelineError('internal', `${migration.name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
