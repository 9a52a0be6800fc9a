/** A copy of the checkout in which faults are planted; the checkout itself is never changed. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { planted } from './edit.ts';
import type { Edit } from './edit.ts';

const root = normalize(join(import.meta.dirname, '../..'));

/** What git knows, and what is new and not ignored; the installed packages are those of the checkout.
 *  @param folder is emptied first, and must be one that git does not know or ignores */
export function copyCheckout(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  const known = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 });
  for (const file of known.split('\0').filter((name) => name !== '' && existsSync(join(root, name)))) {
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    copyFileSync(join(root, file), join(folder, file));
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
}

/** Plants a fault in a copy. @returns how to take it out again */
export function plantIn(folder: string, edits: readonly Edit[]): () => void {
  const before = new Map<string, string>();
  for (const edit of edits) {
    const path = join(folder, edit.file);
    const text = readFileSync(path, 'utf8');
    if (!before.has(path)) before.set(path, text);
    writeFileSync(path, planted(text, edit));
  }
  return () => {
    for (const [path, text] of before) writeFileSync(path, text);
  };
}
