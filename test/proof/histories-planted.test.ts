/** What `npm run histories -- --planted` takes out, and `npm run fuzz -- --planted` puts in, is still where it looks for it. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { plants } from '../../faults/fuzz/plants.ts';
import { mends } from '../../histories/planted/mends.ts';
import { planted } from '../../scripts/planted/edit.ts';

test.each([...mends, ...plants])('$name can be planted', ({ edits }) => {
  for (const edit of edits) {
    const source = readFileSync(edit.file, 'utf8');
    expect(planted(source, edit)).not.toBe(source);
  }
});

test('a mend that is not there once is an error that names the file', () => {
  const edit = { file: 'a.ts', find: 'x', replace: 'y' };
  expect(planted('a x b', edit)).toBe('a y b');
  expect(() => planted('a b', edit)).toThrow('a.ts has this 0 times');
  expect(() => planted('x x', edit)).toThrow('a.ts has this 2 times');
});
