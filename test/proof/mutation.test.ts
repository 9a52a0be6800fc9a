/** The parts of `npm run mutation` that decide what is a mutant, what runs it and which survivor is new (docs/mutation.md). */
import { existsSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { linesOf } from '../../scripts/mutation/changed.ts';
import { partAt, readHits, withMarkers } from '../../scripts/mutation/coverage.ts';
import { apply, mutantsOf } from '../../scripts/mutation/mutants.ts';
import { summarize } from '../../scripts/mutation/results.ts';
import { draw, sampleLine, wilson } from '../../scripts/mutation/sample.ts';
import { integrationTests, integrationTestsOf, unitTestsOf } from '../../scripts/mutation/tests-of.ts';

const changes = (source: string, numbers = false): string[] => mutantsOf('a.ts', source, numbers).map((mutant) => apply(source, mutant));

test('changes bounds, conditions, arithmetic and statements, one at a time', () => {
  expect(changes('if (a < b) go();')).toEqual(['if (true) go();', 'if (false) go();', 'if (a <= b) go();']);
  expect(changes('const c = a >= b;')).toEqual(['const c = a > b;', 'const c = a < b;']);
  expect(changes('const c = a && b;')).toEqual(['const c = (a);', 'const c = (b);']);
  expect(changes('go(); x -= 1;')).toEqual(['; x -= 1;', 'go(); ;', 'go(); x += 1;']);
  expect(changes('const c = Math.min(2, a) + 1;', true)).toEqual([
    'const c = Math.max(2, a) + 1;',
    'const c = Math.min(3, a) + 1;',
    'const c = Math.min(2, a) - 1;',
    'const c = Math.min(2, a) + 2;',
  ]);
});

test('changes what SQL decides, and no text that is none', () => {
  expect(changes("q('select a from t where b = $1 and c < 2')")).toEqual([
    ';',
    "q('select a from t where b <> $1 and c < 2')",
    "q('select a from t where b = $1 or c < 2')",
    "q('select a from t where b = $1 and c <= 2')",
  ]);
  expect(changes("const t = 'this and that';")).toEqual([]);
});

test('leaves out the condition that says whose a row is, with its parameter', () => {
  expect(changes("q('select a from t where x.organization_id = $1 and id = $2')")).toContain(
    "q('select a from t where (x.organization_id = $1 or true) and id = $2')",
  );
  expect(changes("q('update t set project_id = $1 where xuser_id = any($2)')").some((text) => text.includes('or true'))).toBe(false);
});

test('leaves types, logging and the words of errors alone', () => {
  expect(changes('type A = 1 | 2; const a = b as A;', true)).toEqual([]);
  expect(changes("logger.warn({ a: a + 1 }, 'b');")).toEqual([]);
  expect(changes("const e = new RangeError(a < 1 ? 'low' : 'high');")).toEqual([]);
});

test('every change of this repository’s own kind of file still parses, and each has a name of its own line', () => {
  const source = 'export const f = (a: number): number => {\n  if (a > 1) return a * 2;\n  return -a;\n};\n';
  const mutants = mutantsOf('a.ts', source, false);
  expect(mutants.map(({ line }) => line)).toEqual([2, 2, 2, 2, 3]);
  expect(mutants.at(-1)!.text).toBe('return -a; => return a;');
});

test('markers tell which parts of a file ran', async () => {
  const source = `export const half = (a: number): { of: number } => ({ of: a / 2 });
export function sign(a: number): string {
  if (a < 0) return 'minus';
  else if (a === 0) return 'none';
  return [1].map((x) => (x === 1 ? 'plus' : '')).join('');
}
`;
  const { parts, text } = withMarkers('a.ts', source, 7);
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-parts-'));
  process.env['BIO_MUTATION_HITS'] = folder;
  try {
    const plain = text.replaceAll(/: (number|string|\{ of: number \})(?=[,) ])/g, '');
    const { sign } = (await import(`data:text/javascript,${encodeURIComponent(plain)}`)) as { sign: (a: number) => string };
    expect([sign(5), sign(0)]).toEqual(['plus', 'none']);
    const ran = (place: string): boolean => readHits(folder).has(`7 ${partAt(parts, source.indexOf(place))}`);
    expect(['export', 'if (a < 0)', "return 'none'", "'plus'"].map(ran)).toEqual([true, true, true, true]);
    expect(['a / 2', "return 'minus'"].map(ran)).toEqual([false, false]);
  } finally {
    delete process.env['BIO_MUTATION_HITS'];
    rmSync(folder, { recursive: true });
  }
});

test('an accepted survivor is known by its text, wherever it stands, and is reported when it survives no longer', () => {
  const survivor = { key: 'a', operator: 'boundary', line: 3, text: 'a < b => a <= b', status: 'survived', by: '' } as const;
  const killed = { ...survivor, key: 'b', text: 'c => d', status: 'killed', by: 'x' } as const;
  const accepted = [
    { file: 'src/a.ts', operator: 'boundary', text: survivor.text, reason: 'the same' },
    { file: 'src/a.ts', operator: 'boundary', text: killed.text, reason: 'the same' },
    { file: 'src/b.ts', operator: 'boundary', text: survivor.text, reason: 'another file' },
  ];
  const file = { file: 'src/a.ts', textHash: '', testsHash: '', red: [], complete: true, results: [survivor, killed] };
  const summary = summarize(file, accepted);
  expect([summary.total, summary.found, summary.accepted.length, summary.fresh.length]).toEqual([2, 1, 1, 0]);
  expect(summary.stale.map(({ text }) => text)).toEqual([killed.text]);
  expect(summarize(file, accepted.slice(1)).fresh).toEqual([survivor]);
});

test('finds the tests of a file by its imports and by the table', () => {
  const tests = ['src/dsp/hrv/time-domain.test.ts', 'src/http/json.test.ts', 'src/dsp/engine/engine.test.ts'];
  expect(unitTestsOf('.', 'src/dsp/hrv/rr-correction.ts', tests)[0]).toBe('src/dsp/hrv/time-domain.test.ts');
  expect(unitTestsOf('.', 'src/dsp/hrv/rr-correction.ts', tests)).not.toContain('src/http/json.test.ts');
  expect(integrationTestsOf('src/tenancy/authority.ts')).toEqual(['test/auth/roles-given.int.test.ts', 'test/auth/authority.int.test.ts']);
  expect(integrationTestsOf('src/auth/cookies.ts')).toEqual(['test/auth/auth.int.test.ts']);
});

test('a sample is the same again, grows with its size, and is of every file', () => {
  const mutants = (name: string) =>
    Array.from({ length: 40 }, (_, i) => ({ operator: 'step', line: i, text: `${name} ${i >> 1}`, start: 0, end: 0, replacement: '' }));
  const files = new Map(['src/a.ts', 'src/b/c.ts'].map((file) => [file, mutants(file.slice(-4))]));
  const names = (count: number, seed: number, of = files): string[] =>
    draw('src', of, count, seed).drawn.map(({ file, key }) => `${file.split('/').at(-1)} ${key}`);
  expect(names(50, 1)).toHaveLength(50);
  expect(new Set(names(50, 1)).size).toBe(50);
  expect(names(50, 1).slice(0, 20)).toEqual(names(20, 1));
  expect(names(20, 2)).not.toEqual(names(20, 1));
  expect(new Set(names(20, 1).map((name) => name.split(' ')[0])).size).toBe(2);
  const moved = new Map([...files].map(([file, all]) => [file.replace('src/', 'src/moved/'), all]));
  expect(names(20, 1, moved)).toEqual(names(20, 1));
  expect(names(1000, 1)).toHaveLength(80);
});

test('the score of a sample is of its own mutants, and has its 95 % interval', () => {
  const of = (index: number, status: 'killed' | 'survived') => ({
    operator: 'step',
    line: 1,
    text: `t${index}`,
    key: `step t${index} #1`,
    status,
    by: '',
  });
  const results = [of(0, 'killed'), of(1, 'survived'), of(2, 'killed'), of(3, 'survived')];
  const file = { file: 'src/a.ts', textHash: '', testsHash: '', red: [], complete: false, results };
  const drawn = [0, 1, 4].map((index) => ({ file: 'src/a.ts', key: `step t${index} #1` })); // 4 was not run
  const accepted = [{ file: 'src/a.ts', operator: 'step', text: 't1', reason: 'the same' }];
  const line = sampleLine({ name: 'src', seed: 1, total: 90, drawn }, accepted, () => file);
  expect(line).toBe('| `src` | 1 | 2 of 90 | 1 | 50 % (9 to 91 %) | 1 | 0 |');
  // as in the tables of Newcombe 1998 (81 of 263, 15 of 148), and at the ends
  expect(wilson(81, 263).map((share) => share.toFixed(4))).toEqual(['0.2553', '0.3662']);
  expect(wilson(15, 148).map((share) => share.toFixed(4))).toEqual(['0.0624', '0.1605']);
  expect(wilson(0, 20).map((share) => share.toFixed(4))).toEqual(['0.0000', '0.1611']);
  expect(wilson(20, 20)[1]).toBe(1);
});

test('reads the lines of a change from its diff', () => {
  const diff = `diff --git a/src/a.ts b/src/a.ts
--- a/src/a.ts
+++ b/src/a.ts
@@ -3 +3,2 @@ function a() {
-old
+new
+++ more
@@ -9,2 +10,0 @@
-gone
-too
diff --git a/b.md b/b.md
--- a/b.md
+++ b/b.md
@@ -1 +1 @@
-x
+y
`;
  expect([...linesOf(diff)].map(([file, lines]) => [file, ...lines])).toEqual([
    ['src/a.ts', 3, 4],
    ['b.md', 1],
  ]);
});

test('the files and the tests of the table are there', () => {
  const sources = globSync('src/**/*.ts');
  expect(Object.keys(integrationTests).filter((start) => !sources.some((file) => file.startsWith(start)))).toEqual([]);
  const tests = Object.keys(integrationTests).flatMap((start) => integrationTestsOf(start));
  expect(tests.filter((test) => !existsSync(test))).toEqual([]);
});
