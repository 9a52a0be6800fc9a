/** A file of sql/ that has run anywhere is never edited: databases keep its checksum and refuse the next start. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const listed = readFileSync('sql/checksums.txt', 'utf8');

test('each file of sql/ is as it was when it was listed, comments too; a new one adds its line (sha256sum)', () => {
  const files = readdirSync('sql').filter((name) => /^\d{6}-.*\.sql$/.test(name));
  const lines = files.map(
    (name) =>
      `${createHash('sha256')
        .update(readFileSync(`sql/${name}`))
        .digest('hex')}  ${name}\n`,
  );
  expect(listed).toBe(lines.toSorted((a, b) => (a.slice(66) < b.slice(66) ? -1 : 1)).join(''));
});

test('the table of sql/README.md has every file, and the next number is one that no file has', () => {
  const readme = readFileSync('sql/README.md', 'utf8');
  const inTable = [...readme.matchAll(/^\| (\d+(?:(?:, | to )\d+)*) \|/gm)].flatMap(([, text]) =>
    text!.split(', ').flatMap((range) => {
      const [from, to] = range.split(' to ').map(Number) as [number, number?];
      return Array.from({ length: (to ?? from) - from + 1 }, (_, i) => from + i);
    }),
  );
  const numbers = readdirSync('sql').flatMap((name) => (/^\d{6}-/.test(name) ? [Number(name.slice(0, 6))] : []));
  expect(numbers.filter((number) => !inTable.includes(number))).toEqual([]);
  expect(Number(/number (\d+) or above/.exec(readme)![1])).toBe(Math.max(...numbers) + 1);
});
