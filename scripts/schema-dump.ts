/** `npm run schema:dump`: migrates an empty embedded PostgreSQL and writes its schema to sql/schema.snapshot.sql.
 *  `npm run schema:dump -- --check` writes nothing and fails when the file differs: the diff belongs to the review of a migration. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../src/storage/database.ts';
import { startEmbeddedPostgres } from '../src/storage/embedded-postgres.ts';
import { migrate } from '../src/storage/migrate.ts';
import { schemaText } from '../src/storage/schema-text.ts';

const path = 'sql/schema.snapshot.sql';
const folder = mkdtempSync(join(tmpdir(), 'bio-schema-'));
const server = await startEmbeddedPostgres({ dataDir: join(folder, 'pg'), settings: { fsync: 'off' } });
try {
  await migrate(server.url);
  const database = await openDatabase(server.url);
  const text = await schemaText(database);
  await database.close();
  if (!process.argv.includes('--check')) writeFileSync(path, text);
  else if (readFileSync(path, 'utf8') !== text) {
    console.error(`${path} is not what sql/ makes: run npm run schema:dump and review the difference`);
    process.exitCode = 1;
  }
} finally {
  await server.stop();
  for (const place of [folder, server.dataDir]) rmSync(place, { recursive: true, force: true });
}
