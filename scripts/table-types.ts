/** `npm run table-types`: migrates an empty database, the embedded one, and writes the types of its tables to
 *  src/storage/database/tables.ts. A test compares (test/storage/migrate.int.test.ts). */
import { writeFileSync } from 'node:fs';
import { tableTypes } from '../src/storage/schema/table-types.ts';
import { ofMigratedDatabase } from './migrated-database.ts';

writeFileSync('src/storage/database/tables.ts', await ofMigratedDatabase({}, tableTypes));
