/** A migrated database of its own, for scripts that read the catalogs of one. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { openDatabase } from '../src/storage/database/database.ts';
import type { Database } from '../src/storage/database/database.ts';
import { startEmbeddedPostgres } from '../src/storage/database/embedded-postgres.ts';
import { migrate } from '../src/storage/schema/migrate.ts';

/** @param from `url`: a server on which databases may be created, default: an embedded one for this call; `folder`: migrations, default:
 *  sql/ @returns what `read` does; the database is gone then */
export async function ofMigratedDatabase<T>(
  from: Readonly<{ url?: string; folder?: string }>,
  read: (database: Database) => Promise<T>,
): Promise<T> {
  if (from.url !== undefined) return await onServer(from.url, from.folder, read);
  const folder = mkdtempSync(join(tmpdir(), 'bio-schema-'));
  const server = await startEmbeddedPostgres({ dataDir: join(folder, 'pg'), settings: { fsync: 'off' } });
  try {
    return await onServer(server.url, from.folder, read);
  } finally {
    await server.stop();
    for (const place of [folder, server.dataDir]) rmSync(place, { recursive: true, force: true });
  }
}

async function onServer<T>(serverUrl: string, folder: string | undefined, read: (database: Database) => Promise<T>): Promise<T> {
  const name = `bio_schema_${randomBytes(4).toString('hex')}`;
  const admin = new pg.Client(serverUrl);
  await admin.connect();
  await admin.query(`create database ${name} template template0`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  try {
    const startedMs = performance.now();
    const { kind } = await migrate(url.href, folder === undefined ? {} : { folder: pathToFileURL(`${resolve(folder)}/`) });
    console.error(`migrated in ${(performance.now() - startedMs).toFixed(0)} ms on ${kind}`);
    const database = await openDatabase(url.href);
    try {
      return await read(database);
    } finally {
      await database.close();
    }
  } finally {
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  }
}
