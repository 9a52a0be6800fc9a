// Queries of these rooms are built with kysely, or the file says why a statement stays SQL (CONTRIBUTING.md).
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const rooms = ['tenancy', 'auth', 'records', 'query'];
/** What runs a statement, without what is prepared by its text (prepared.ts), and what is no question at all. */
const statement =
  /\.query(?:<(?:[^()]|\(\))*?>)?\(\s*(?!prepared\()['"`](?!begin|commit|rollback|set local|select pg_advisory|fetch|close|declare)/;
const reason = /(?:\/\/|\*) .*\bSQL\b/;

const files = rooms.flatMap((room) => readdirSync(`src/${room}`).map((name) => `src/${room}/${name}`));

it.each(files.filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts')))(
  '%s builds its queries, or says why it does not',
  (path) => {
    const text = readFileSync(path, 'utf8');
    if (statement.test(text)) expect(text).toMatch(reason);
  },
);
