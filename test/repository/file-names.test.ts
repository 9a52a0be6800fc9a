/** Files named in documents, comments and texts exist: a name is all that leads a reader on, and files move. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join, matchesGlob } from 'node:path';
import { expect, test } from 'vitest';
import { SHARES, longTests, shareOf } from '../../scripts/long-tests.ts';
import config from '../../vitest.config.ts';

const root = join(import.meta.dirname, '../..');
const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 })
  .split('\0')
  .filter((file) => file !== '' && existsSync(join(root, file)));
const names = new Set(files.map((file) => basename(file)));
/** What docs/contributor.md has its reader write, and what runs write. */
const notYet = ['time-in-range.ts', 'bench/results/A.json', 'bench/results/B.json'];

const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const isDocument = (file: string): boolean => file.endsWith('.md') && file !== 'CHANGELOG.md' && !file.startsWith('docs/measurements/');
const isSource = (file: string): boolean => file.endsWith('.ts') && !file.includes('generated');
const commentsOf = (text: string): string =>
  [...text.matchAll(/\/\*\*[\s\S]*?\*\/|(?:^|\s)\/\/ .*$/gm)].map(([comment]) => comment).join('\n');

test('names of files in documents and comments', () => {
  const unknown = files.flatMap((file) => {
    const text = isDocument(file) ? read(file) : isSource(file) ? commentsOf(read(file)) : '';
    const named = [...text.matchAll(/(?<![\w*.$-])[a-z]\w*(?:[./-]\w+)*\.ts(?![\w-])/g)].map(([name]) => basename(name));
    return named.filter((name) => !names.has(name) && !notYet.includes(name)).map((name) => `${file}: ${name}`);
  });
  expect(unknown).toEqual([]);
});

test('paths from the root in documents, code and scripts', () => {
  const folders = [...new Set(files.filter((file) => file.includes('/')).map((file) => file.split('/')[0]!))]
    .join('|')
    .replaceAll('.', '\\.');
  const path = new RegExp(`(?<![\\w/.*$}-])((?:${folders})/[\\w./-]+\\.(?:ts|sh|sql|md|json|yml|proto))(?![\\w-])`, 'g');
  // Tests make up files of their own.
  const isCode = (file: string): boolean => isSource(file) && !file.endsWith('.test.ts');
  // Files of sql/ that have run are never edited: they may name a file that has moved since.
  const searched = files.filter((file) => isDocument(file) || isCode(file) || /\.(?:sh|yaml|yml)$|^Dockerfile$|^\.ci\//.test(file));
  expect(searched.length).toBeGreaterThan(500);
  const unknown = searched.flatMap((file) =>
    [...read(file).matchAll(path)].flatMap(([, name]) =>
      existsSync(join(root, name!)) || notYet.includes(name!) ? [] : [`${file}: ${name}`],
    ),
  );
  expect(unknown).toEqual([]);
});

test('every test is one that npm run test:all runs, and every long one exists', () => {
  const projects = config.test!.projects as { test: { include: string[] } }[];
  const patterns = projects.flatMap(({ test: { include } }) => include).filter((pattern) => !pattern.startsWith('!'));
  const tests = files.filter((file) => file.endsWith('.test.ts'));
  expect(tests.length).toBeGreaterThan(200);
  expect(tests.filter((file) => !patterns.some((pattern) => matchesGlob(file, pattern)))).toEqual([]);
  expect(longTests.filter((file) => !tests.includes(file))).toEqual([]);
  const shares = Array.from({ length: SHARES }, (_, commit) => shareOf(commit.toString(16).padStart(8, '0')));
  expect(shares.flat().toSorted()).toEqual(longTests.toSorted());
});
