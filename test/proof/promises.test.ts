/** docs/promises.md: each promise of the documents, each setting and each background job has a test that names it. The rules themselves are
 *  tried on small inputs: whatever they are to find must fail. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promiseSources } from '../../scripts/build-docs.ts';
import { planted } from '../../scripts/planted/edit.ts';
import { faults } from '../../scripts/planted/promises.ts';
import { heldBy, jobsOf, problemsOf, promisesDocument, promisesOf } from '../../scripts/promises.ts';
import { isAssertion, seenAs } from '../../scripts/planted/seen.ts';
import type { Sources } from '../../scripts/promises.ts';

const root = join(import.meta.dirname, '../..');

describe('this repository', () => {
  const sources = promiseSources();

  test('every promise, setting and background job has a test, and every test names what there is', () => {
    expect(problemsOf(sources)).toEqual([]);
  });

  test('docs/promises.md is what `npm run docs` writes', () => {
    expect(readFileSync(join(root, 'docs/promises.md'), 'utf8') === promisesDocument(sources)).toBe(true);
  });
});

describe('a fault that `npm run promises-planted` plants', () => {
  const { documents, tests } = promiseSources();

  test.each(faults)('$promise: $broken', ({ promise, by, edits }) => {
    expect(heldBy(by, tests[by] ?? '').found.filter(({ id }) => id === promise)).not.toEqual([]);
    for (const edit of edits) {
      const source = readFileSync(join(root, edit.file), 'utf8');
      expect(planted(source, edit)).not.toBe(source);
    }
  });

  test('every document has some', () => {
    const broken = new Set(faults.map(({ promise }) => promise));
    const without = Object.entries(documents).filter(([path, text]) => {
      const made = promisesOf(path, text).found.filter(({ again }) => !again);
      return made.length > 0 && !made.some(({ id }) => broken.has(id));
    });
    expect(without.map(([path]) => path)).toEqual([]);
  });
});

describe('a run with a fault', () => {
  const failed = { passed: false, testCount: 0, why: 'a > keeps it: expected 1 to be 2', isAssertion: true };

  test('has seen it when an assertion of the test fails', () => {
    expect(seenAs(failed, null)).toBe(failed.why);
    expect(seenAs(failed, ['keeps .*', 'other'])).toBe(failed.why);
  });

  test.each<[string, Parameters<typeof seenAs>, string]>([
    ['passes', [{ ...failed, passed: true, why: '' }, null], '**NOT SEEN**'],
    ['does not end', ['timeout', null], '**NO ASSERTION**: it does not end'],
    ['breaks on the way', [{ ...failed, isAssertion: false }, null], '**NO ASSERTION**: a > keeps it'],
    ['fails in another test', [failed, ['other']], '**SEEN BY ANOTHER**: a > keeps it'],
  ])('that %s has not', (_what, [outcome, titles], said) => {
    expect(seenAs(outcome, titles)).toContain(said);
  });

  test('an assertion is what expect or a property says, and no test that ran out of time', () => {
    const thrownBy = (check: () => void): Error => {
      try {
        check();
      } catch (error) {
        return error as Error;
      }
      throw new Error('it holds');
    };
    expect(isAssertion(thrownBy(() => expect(1).toBe(2)))).toBe(true);
    expect(isAssertion(thrownBy(() => assert(false, 'no')))).toBe(true);
    expect(isAssertion(new Error('Property failed after 3 tests'))).toBe(true);
    expect(isAssertion(new Error('Test timed out in 30000ms.'))).toBe(false);
    expect(isAssertion(new TypeError('x is undefined'))).toBe(false);
  });
});

// As a test would be read here too, the marks of these are put together.
const mark = (kind: string, ids: string): string => `// ${kind}: ${ids}`;
const held = (...marks: string[]): string => `${marks.join('\n')}\ntest('holds it', () => {});\n`;
const small = (changes: Partial<Sources> = {}): Sources => ({
  documents: { 'a.md': '# A\n\nIt is kept.<!-- promise: kept -->\n' },
  tests: { 'test/a.test.ts': held(mark('promise', 'kept'), mark('setting', 'BIO_A'), mark('job', 'sweep')) },
  code: { 'src/a.ts': `${mark('job', 'sweep: sweeps')}\nsetInterval(sweep, 1000);\n` },
  settings: { BIO_A: 'A.' },
  ...changes,
});

describe('the check', () => {
  test('has nothing to say where everything is held', () => {
    expect(problemsOf(small())).toEqual([]);
  });

  const kept = small().documents['a.md']!;
  test.each<[string, Partial<Sources>, string]>([
    ['a promise without a test', { documents: { 'a.md': `${kept}And told.<!-- promise: told -->` } }, 'promise told: no test holds it'],
    ['a promise that is made twice', { documents: { 'a.md': kept, 'b.md': kept } }, 'promise kept is made twice'],
    ['a repetition of nothing', { documents: { 'a.md': kept, 'b.md': 'So.<!-- promise again: so -->' } }, 'repeats the unknown promise so'],
    ['an id that is none', { documents: { 'a.md': `${kept}So.<!-- promise: So It Is -->` } }, "'So It Is' is no id"],
    ['a mark that is misspelt', { documents: { 'a.md': `${kept}So.<!-- promises kept -->` } }, 'not a mark: <!-- promises kept -->'],
    ['a mark with nothing before it', { documents: { 'a.md': `${kept}\n<!-- promise: told -->` } }, 'no sentence before the mark told'],
    [
      'a mark that readers see',
      { documents: { 'a.md': `${kept}\n\`\`\`\nx <!-- promise again: kept -->\n\`\`\`\n` } },
      'in a block of code',
    ],
    ['a setting without a test', { settings: { BIO_A: 'A.', BIO_B: 'B.' } }, 'setting BIO_B: no test holds it'],
    ['a job without a test', { code: { ...small().code, 'src/b.ts': mark('job', 'look: looks') } }, 'job look: no test holds it'],
    ['two jobs of one name', { code: { ...small().code, 'src/b.ts': small().code['src/a.ts']! } }, 'two jobs are called sweep'],
    [
      'a timer that nobody named',
      { code: { ...small().code, 'src/b.ts': 'const timer = setInterval(look, 1);' } },
      'src/b.ts:1: a background job',
    ],
    [
      'a listener that nobody named',
      { code: { ...small().code, 'src/b.ts': "await database.listen('x', y);" } },
      'src/b.ts:1: a background job',
    ],
  ])('finds %s', (_what, changes, problem) => {
    expect(problemsOf(small(changes))).toEqual([expect.stringContaining(problem)]);
  });

  const also = (text: string): Partial<Sources> => ({ tests: { ...small().tests, 'test/b.test.ts': text } });
  test.each<[string, string, string]>([
    ['a test that names an unknown promise', held(mark('promise', 'kept, forgotten')), 'test/b.test.ts:2: unknown promise forgotten'],
    ['a test that names an unknown setting', held(mark('setting', 'BIO_Z')), 'test/b.test.ts:2: unknown setting BIO_Z'],
    ['a test that names an unknown job', held(mark('job', 'idle')), 'test/b.test.ts:2: unknown job idle'],
    ['a mark without a test below it', `${mark('promise', 'kept')}\nconst x = 1;\n`, 'no test below'],
    ['a test that does not run', `${mark('promise', 'kept')}\ntest.skip('later', () => {});\n`, "'later' does not run"],
  ])('finds %s', (_what, text, problem) => {
    expect(problemsOf(small(also(text)))).toEqual([expect.stringContaining(problem)]);
  });

  test('sees that the page is stale', () => {
    const before = promisesDocument(small());
    expect(promisesDocument(small())).toBe(before);
    expect(promisesDocument(small({ documents: { 'a.md': '# A\n\nIt is kept for good.<!-- promise: kept -->\n' } }))).not.toBe(before);
    expect(promisesDocument(small(also(held(mark('promise', 'kept')))))).not.toBe(before);
  });
});

describe('what is read', () => {
  const sentences = (text: string): string[] => promisesOf('a.md', text).found.map(({ id, sentence }) => `${id}: ${sentence}`);

  test('the sentence before a mark, plain, over lines, or what no earlier mark has taken of it', () => {
    expect(sentences('One thing. **Two** [things](b.md) of\nit.<!-- promise: two --> Three.')).toEqual(['two: Two things of it.']);
    expect(sentences('- It goes,<!-- promise: goes --> and it comes back.<!-- promise: back -->')).toEqual([
      'goes: It goes',
      'back: and it comes back.',
    ]);
    expect(sentences('Off.\n\nIt waits for 2.5 s.<!-- promise: waits -->')).toEqual(['waits: It waits for 2.5 s.']);
    expect(sentences('All of it.<!-- promise: a, b -->')).toEqual(['a: All of it.', 'b: All of it.']);
  });

  test('a row of a table says what it is about', () => {
    const row = '| packet | 256 KiB; more is refused<!-- promise: size --> | `too_large` |';
    expect(sentences(`| limit | value | code |\n|---|---|---|\n${row}`)).toEqual(['size: packet · more is refused']);
  });

  test('the place is the heading above', () => {
    expect(promisesOf('a.md', "# A\n\n## What it's for\n\nThis.<!-- promise: x -->").found[0]).toMatchObject({
      anchor: 'what-its-for',
      again: false,
    });
  });

  test('names of tests, on the same line, the next one, after a table, or with a type', () => {
    const named = (code: string): unknown => heldBy('a.test.ts', `${mark('promise', 'x')}\n${code}`).found[0]?.test;
    expect(named(`  it('is "so"', async () => {`)).toBe('is "so"');
    expect(named('test(`of ${n}`, () => {')).toBe('of ${n}');
    expect(named(`it.skipIf(!usable)(\n  'can',\n  async () => {`)).toBe('can');
    expect(named(`it.each([\n  ['a', b()],\n])('takes %s', (x) => {`)).toBe('takes %s');
    expect(named(`it.each<[string]>([['a']])(\n  "isn't %s", (x) => {`)).toBe("isn't %s");
    expect(named(`// why\ntest.concurrent('both', async () => {`)).toBe('both');
  });

  test('a timer of one request is no background job when it says so', () => {
    expect(jobsOf('a.ts', `${mark('no job', 'it ends with its request')}\nconst timer = setInterval(look, 1);`)).toEqual({
      found: [],
      problems: [],
    });
  });
});
