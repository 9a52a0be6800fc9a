/** `npm run schema:dump`: migrates an empty database and writes its schema to the snapshot of its kind of server in sql/: plain PostgreSQL,
 *  the embedded one, unless --url names a server on which databases may be created.
 *    --check        writes nothing and fails when the file differs: the diff belongs to the review of a migration
 *    --url URL      a server, e.g. TimescaleDB of either licence
 *    --folder DIR   migrations from elsewhere, e.g. those of an earlier commit
 *    --out FILE     writes there instead; - is the standard output */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { schemaText } from '../src/storage/schema/schema-text.ts';
import { ofMigratedDatabase } from './migrated-database.ts';

const snapshots = {
  postgres: 'sql/schema.snapshot.sql',
  timescale: 'sql/schema.timescale.snapshot.sql',
  timescale_apache: 'sql/schema.timescale-apache.snapshot.sql',
} as const;

const { values: given } = parseArgs({
  options: { check: { type: 'boolean' }, url: { type: 'string' }, folder: { type: 'string' }, out: { type: 'string' } },
});

await ofMigratedDatabase(given, async (database) => {
  const text = await schemaText(database);
  const path = given.out ?? snapshots[database.kind];
  if (path === '-') process.stdout.write(text);
  else if (given.check !== true) writeFileSync(path, text);
  else if (readFileSync(path, 'utf8') !== text) {
    console.error(`${path} is not what sql/ makes: run npm run schema:dump and review the difference`);
    process.exitCode = 1;
  }
});
