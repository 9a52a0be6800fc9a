/** Commit messages, from the commit on that brought the rule. Skipped where there is no git history. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commitsSinceRule, faultsOf } from '../../scripts/history.ts';

const commits = commitsSinceRule(join(import.meta.dirname, '../..'));

it.skipIf(commits === null)('every commit has a short subject with its area, and says why', () => {
  expect(commits!.flatMap(faultsOf)).toEqual([]);
});

describe('a message', () => {
  const good = { hash: '0123456789', subject: 'query: read strips in slices', body: 'A strip of 60 s held the loop.', changedLines: 300 };

  it.each([
    [good, ''],
    [{ ...good, subject: 'errors, cli: plain sentences' }, ''],
    [{ ...good, body: '', changedLines: 12 }, ''],
    [{ ...good, body: '' }, 'without a body'],
    [{ ...good, subject: `query: ${'x'.repeat(66)}` }, '73 characters'],
    [{ ...good, subject: 'Read strips in slices' }, 'begin with the area'],
    [{ ...good, subject: 'fix: ' }, 'begin with the area'],
  ])('%o: %s', (commit, fault) => {
    expect(faultsOf(commit).join('\n')).toContain(fault);
    expect(faultsOf(commit)).toHaveLength(fault === '' ? 0 : 1);
  });
});
