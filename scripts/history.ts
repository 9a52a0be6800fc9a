/** The rules of a commit message: a subject of at most 72 characters that begins with an area, and a body that says why, unless the change
 *  is small. Held by test/repository/history.test.ts for every commit after the one that brought the rule. */
import { execFileSync } from 'node:child_process';

export type Commit = Readonly<{ hash: string; subject: string; body: string; changedLines: number }>;

const SUBJECT_CHARACTERS_MAX = 72;
/** Changed lines of code that need no reason. */
const SMALL_LINES_MAX = 40;
const AREAS = /^[A-Za-z][A-Za-z0-9./-]*(?:, [A-Za-z][A-Za-z0-9./-]*)*: \S/;

/** Sentences about what is wrong with a message. */
export function faultsOf({ hash, subject, body, changedLines }: Commit): string[] {
  const name = `${hash.slice(0, 8)} '${subject}'`;
  return [
    ...(subject.length > SUBJECT_CHARACTERS_MAX ? [`${name}: ${subject.length} characters, at most ${SUBJECT_CHARACTERS_MAX}`] : []),
    ...(AREAS.test(subject) ? [] : [`${name}: begin with the area, e.g. 'query: '`]),
    ...(body.trim() === '' && changedLines > SMALL_LINES_MAX
      ? [`${name}: ${changedLines} lines of code without a body that says why; ${SMALL_LINES_MAX} need none`]
      : []),
  ];
}

/** Commits after the one that added this file, newest first; null without a history, or with one that does not reach back to it. */
export function commitsSinceRule(root: string): Commit[] | null {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const added = git('log', '--diff-filter=A', '--format=%H', '--', 'scripts/history.ts').trim().split('\n').at(-1) ?? '';
    if (added === '') return null;
    const records = git('log', '--no-merges', '--numstat', '--format=%x00%H%x01%s%x01%b%x01', `${added}..HEAD`).split('\0').slice(1);
    return records.map((record) => {
      const [hash = '', subject = '', body = '', files = ''] = record.split('\u0001');
      return { hash, subject, body, changedLines: changedLinesOf(files) };
    });
  } catch {
    return null;
  }
}

/** Lines added and removed in code. @param numstat of git: added, removed and path, one file per line */
function changedLinesOf(numstat: string): number {
  return [...numstat.matchAll(/^(\d+)\t(\d+)\t(?:src|sdk|widgets|dashboard|sql)\/(?!.*(?:generated|snapshot|api-types|\.test\.ts))/gm)]
    .map(([, added, removed]) => Number(added) + Number(removed))
    .reduce((sum, lines) => sum + lines, 0);
}
