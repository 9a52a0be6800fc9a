/** An empty, migrated database for one bench: on the server of BIO_BENCH_DATABASE_URL (its own machine's, so that its processor time can
 *  be read), else on an embedded PostgreSQL with its usual durability, started and thrown away here. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/storage/database/embedded-postgres.ts';
import { postmasterOf } from './processor-time.ts';

export type BenchDatabase = Readonly<{
  url: string;
  /** `TimescaleDB 2.29.2 (timescale) on PostgreSQL 17.6` */
  server: string;
  /** For treeCpuSec; null: the server is on another machine. */
  postmasterPid: number | null;
  drop: () => Promise<void>;
}>;

export async function openBenchDatabase(): Promise<BenchDatabase> {
  const given = process.env['BIO_BENCH_DATABASE_URL'];
  const folder = given === undefined ? mkdtempSync(join(tmpdir(), 'biosignal-bench-')) : null;
  const embedded = folder === null ? null : await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
  const admin = new pg.Client(given ?? embedded!.socketUrl);
  await admin.connect();
  const name = `bench_${process.pid}_${Date.now().toString(36)}`;
  await admin.query(`create database ${name}`);
  const { rows } = await admin.query<{ pid: number; version: string; timescale: string | null }>(
    `select pg_backend_pid() as pid, current_setting('server_version') as version,
            (select default_version from pg_available_extensions where name = 'timescaledb') as timescale`,
  );
  const { pid, version, timescale } = rows[0]!;
  const licence = timescale === null ? '' : `TimescaleDB ${timescale} (${await licenceOf(admin)}) on `;
  const url = new URL(given ?? embedded!.socketUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    server: `${licence}PostgreSQL ${version.split(' ')[0]}${given === undefined ? ', embedded' : ''}`,
    postmasterPid: postmasterOf(pid),
    drop: async () => {
      await admin.query(`drop database if exists ${name} with (force)`).catch(() => undefined);
      await admin.end();
      await embedded?.stop();
      if (folder !== null) rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function licenceOf(admin: pg.Client): Promise<string> {
  const { rows } = await admin.query<{ licence: string | null }>(`select current_setting('timescaledb.license', true) as licence`);
  return rows[0]?.licence ?? 'not loaded';
}
