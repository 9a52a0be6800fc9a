/** One list of advisory locks: all differ, the server agrees, and no file has one that is not on the list. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { locks, namedLocks, pairLocks } from '../../src/storage/database/locks.ts';
import { testDatabase } from '../helpers/database.ts';

const root = join(import.meta.dirname, '../..');
const names = Object.values(namedLocks);

function files(folder: string, ending: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending) && !entry.name.includes('snapshot'))
    .map((entry) => join(entry.parentPath, entry.name));
}

test('no two locks are one: numbers, pairs and hashed names, as the server keeps them', async () => {
  await using database = await testDatabase();
  const { rows } = await database.pool.query<{ key: bigint }>('select hashtextextended(name, 0) as key from unnest($1::text[]) as name', [
    names,
  ]);
  const single = [...Object.values(locks), ...rows.map(({ key }) => key)];
  expect(new Set(single).size).toBe(Object.keys(locks).length + names.length);
  const pairs = Object.values(pairLocks).map((pair) => pair.join());
  expect(new Set(pairs).size).toBe(pairs.length);
  // One with something behind its name must not be able to become another.
  for (const open of names.filter((name) => name.endsWith(' ')))
    expect(names.filter((name) => name !== open && name.startsWith(open))).toEqual([]);
});

/** The arguments of every advisory lock function in a text: from the parenthesis to the one that closes it. */
function lockArguments(text: string): string[] {
  const found: string[] = [];
  for (const { index, 0: call } of text.matchAll(/pg_\w*advisory\w*lock\w*\s*\(/g)) {
    let depth = 1;
    let end = index + call.length;
    for (; depth > 0 && end < text.length; end++) depth += text[end] === '(' ? 1 : text[end] === ')' ? -1 : 0;
    found.push(text.slice(index + call.length, end - 1).trim());
  }
  return found;
}

test('every lock of sql/ is on the list', () => {
  const pairs: string[] = Object.values(pairLocks).map(([first, second]) => `${first}, ${second}`);
  const listed = (argument: string): boolean => {
    const name = /^hashtextextended\('([^']*)'/.exec(argument)?.[1];
    if (name !== undefined) return (names as string[]).includes(name);
    // the partition is the second number
    const partition = /^803145, [a-z]+\.partition$/.test(argument);
    return partition || pairs.includes(argument) || Object.values(locks).map(String).includes(argument);
  };
  const all = files('sql', '.sql').flatMap((file) => lockArguments(readFileSync(file, 'utf8')));
  expect(all.length).toBeGreaterThan(5);
  expect(all.filter((argument) => !listed(argument))).toEqual([]);
});

test('no file of TypeScript but the list has the number or name of a lock', () => {
  const own = join(root, 'src/storage/database/locks.ts');
  const numbers = [...Object.values(locks), ...Object.values(pairLocks).map(([space]) => space)].map(String);
  const offenders: string[] = [];
  let calls = 0;
  for (const file of ['src', 'bench', 'faults', 'scripts', 'test'].flatMap((folder) => files(folder, '.ts'))) {
    if (file === own || file === import.meta.filename) continue;
    const text = readFileSync(file, 'utf8');
    const digits = text.replaceAll('_', '');
    if (numbers.some((number) => digits.includes(number)) || text.includes('hashtextextended(')) offenders.push(file);
    if (file.startsWith(join(root, 'test'))) continue; // tests hold up a statement of their own by a lock of their own
    for (const argument of lockArguments(text)) {
      calls += 1;
      // A test may hold a lock of its own in its own database, if it is none of the service's.
      if (!file.startsWith(join(root, 'test/')) && !/^(\$\d|\$\{)/.test(argument)) offenders.push(`${file}: ${argument}`);
    }
  }
  expect(calls).toBeGreaterThan(5);
  expect(offenders).toEqual([]);
});
