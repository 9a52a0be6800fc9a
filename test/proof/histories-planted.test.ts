/** The code that `npm run histories -- --planted` removes and `npm run fuzz -- --planted` changes is still where they look. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { plants } from '../../faults/fuzz/plants.ts';
import { fixes } from '../../histories/planted/fixes.ts';
import { copyCheckout, plantIn } from '../../scripts/planted/checkout.ts';
import { planted } from '../../scripts/planted/edit.ts';

test.each([...fixes, ...plants])('$name can be planted', ({ edits }) => {
  for (const edit of edits) {
    const source = readFileSync(edit.file, 'utf8');
    expect(planted(source, edit)).not.toBe(source);
  }
});

test('a fault is in the copy until it is taken out, and never in the checkout', () => {
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-copy-'));
  try {
    const read = (from: string): string => readFileSync(join(from, 'package.json'), 'utf8');
    const before = read('.');
    copyCheckout(folder);
    const takeOut = plantIn(folder, [
      { file: 'package.json', find: '"type": "module"', replace: '"type": "planted"' },
      { file: 'package.json', find: '"planted"', replace: '"planted twice"' },
    ]);
    expect(read(folder)).toBe(before.replace('"module"', '"planted twice"'));
    expect(read('.')).toBe(before);
    expect(existsSync(join(folder, 'node_modules/vitest/package.json'))).toBe(true);
    takeOut();
    expect(read(folder)).toBe(before);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a fix whose source line is not found exactly once is an error that names the file', () => {
  const edit = { file: 'a.ts', find: 'x', replace: 'y' };
  expect(planted('a x b', edit)).toBe('a y b');
  expect(() => planted('a b', edit)).toThrow('a.ts has this 0 times');
  expect(() => planted('x x', edit)).toThrow('a.ts has this 2 times');
});
