/** `npm run schema:dump`: migrates an empty database and writes its schema to the snapshot of its kind of server in sql/: plain PostgreSQL,
 *  the embedded one, unless --url names a server on which databases may be created.
 *    --check        writes nothing and fails when the file differs: the diff belongs to the review of a migration
 *    --url URL      a server, e.g. TimescaleDB of either licence
 *    --folder DIR   migrations from elsewhere, e.g. those of an earlier commit
 *    --out FILE     writes there instead; - is the standard output */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { openDatabase } from '../src/storage/database/database.ts';
import { startEmbeddedPostgres } from '../src/storage/database/embedded-postgres.ts';
import { migrate } from '../src/storage/schema/migrate.ts';
import { schemaText } from '../src/storage/schema/schema-text.ts';

const snapshots = {
  postgres: 'sql/schema.snapshot.sql',
  timescale: 'sql/schema.timescale.snapshot.sql',
  timescale_apache: 'sql/schema.timescale-apache.snapshot.sql',
} as const;

const { values: given } = parseArgs({
  options: { check: { type: 'boolean' }, url: { type: 'string' }, folder: { type: 'string' }, out: { type: 'string' } },
});

async function dump(serverUrl: string): Promise<void> {
  const name = `bio_schema_${randomBytes(4).toString('hex')}`;
  const admin = new pg.Client(serverUrl);
  await admin.connect();
  await admin.query(`create database ${name} template template0`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  try {
    const startedMs = performance.now();
    const { kind } = await migrate(url.href, given.folder === undefined ? {} : { folder: pathToFileURL(`${resolve(given.folder)}/`) });
    console.error(`migrated in ${(performance.now() - startedMs).toFixed(0)} ms on ${kind}`);
    const database = await openDatabase(url.href);
    const text = await schemaText(database);
    await database.close();
    const path = given.out ?? snapshots[kind];
    if (path === '-') process.stdout.write(text);
    else if (given.check !== true) writeFileSync(path, text);
    else if (readFileSync(path, 'utf8') !== text) {
      console.error(`${path} is not what sql/ makes: run npm run schema:dump and review the difference`);
      process.exitCode = 1;
    }
  } finally {
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  }
}

if (given.url !== undefined) await dump(given.url);
else {
  const folder = mkdtempSync(join(tmpdir(), 'bio-schema-'));
  const server = await startEmbeddedPostgres({ dataDir: join(folder, 'pg'), settings: { fsync: 'off' } });
  try {
    await dump(server.url);
  } finally {
    await server.stop();
    for (const place of [folder, server.dataDir]) rmSync(place, { recursive: true, force: true });
  }
}
