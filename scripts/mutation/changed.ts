/** The lines that a branch or the last commit changed. */
import { execFileSync } from 'node:child_process';

const git = (...args: readonly string[]): string => execFileSync('git', args, { encoding: 'utf8', maxBuffer: 1 << 28 });

/** Since the branch left main, or in the last commit, with what is not committed yet. Lines by file. */
export function changedLines(): ReadonlyMap<string, ReadonlySet<number>> {
  const head = git('rev-parse', 'HEAD').trim();
  let base = '';
  try {
    base = git('merge-base', 'main', 'HEAD').trim();
  } catch {
    // a clone without main
  }
  return linesOf(git('diff', '-U0', '--diff-filter=d', base === '' || base === head ? 'HEAD~1' : base));
}

/** Lines that a diff without context adds or changes, by file; a file that is only moved has none. */
export function linesOf(diff: string): ReadonlyMap<string, ReadonlySet<number>> {
  const found = new Map<string, Set<number>>();
  let lines = new Set<number>();
  for (const text of diff.split('\n')) {
    const file = /^\+\+\+ b\/(.*)$/.exec(text);
    if (file !== null) found.set(file[1]!, (lines = new Set()));
    const hunk = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(text);
    if (hunk !== null) for (let i = 0; i < Number(hunk[2] ?? 1); i++) lines.add(Number(hunk[1]) + i);
  }
  return found;
}
