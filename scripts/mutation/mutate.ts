/** Runs the mutants of files: first which test runs which part of them, then for each mutant those tests, unit tests first, until one
 *  fails. */
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { partAt, readHits, withMarkers } from './coverage.ts';
import { apply, mutantsOf, named } from './mutants.ts';
import type { Mutant, Named } from './mutants.ts';
import { hashOf, readResult, writeResult } from './results.ts';
import type { FileResult, Result } from './results.ts';
import { integrationTestsOf, unitTestsOf } from './tests-of.ts';
import type { Tree } from './tree.ts';

/** A test that takes longer without a mutant is not asked. */
const TEST_SEC_MAX = 120;
/** Allowance of a test with a mutant: so many times what it took, and so much more for a machine at work. */
const TIMES_MAX = 4;
const EXTRA_MS = 15_000;

/** Measured on the files as they are. `parts`: `file part` of coverage.ts. */
type Measured = Readonly<{ test: string; passed: boolean; ms: number; parts: ReadonlySet<string> }>;
type Source = Readonly<{
  file: string;
  text: string;
  mutants: readonly Named[];
  tests: readonly string[];
  /** As they are at the start: who reads the results so far may write tests meanwhile. */
  testsHash: string;
  id: number;
  /** Which of the mutants are asked for. */
  wanted: ReadonlySet<string>;
}>;

/** Literal numbers are the method in DSP and codecs; elsewhere they are limits and statuses. */
export function numbersMatter(file: string): boolean {
  return file.startsWith('src/dsp/') || /codec|copy-binary|seq-set|clock-fit|key-format/.test(file);
}

/** @param onResult called for each file when it is done @param wanted the keys of the mutants to run of each file */
export async function mutate(
  tree: Tree,
  files: readonly string[],
  { fresh, unitOnly, wanted }: Readonly<{ fresh: boolean; unitOnly: boolean; wanted: ReadonlyMap<string, ReadonlySet<string>> }>,
  onResult: (result: FileResult) => void,
): Promise<void> {
  const unitTests = globSync('src/**/*.test.ts');
  const sources = files.map((file, id): Source => {
    const text = readFileSync(file, 'utf8');
    const tests = [...unitTestsOf('.', file, unitTests), ...(unitOnly ? [] : integrationTestsOf(file))];
    const mutants = named(mutantsOf(file, text, numbersMatter(file)));
    return { file, text, mutants, tests, testsHash: testsHashOf(tests), id, wanted: wanted.get(file) ?? new Set() };
  });
  const due: Source[] = [];
  for (const source of sources) {
    const kept = keptResults(source, fresh);
    const before = readResult(source.file);
    if (before !== null && [...source.wanted].every((key) => kept.has(key))) onResult(before);
    else due.push(source);
  }
  const measured = await measure(tree, due);
  for (const source of due) onResult(await mutateFile(tree, source, measured, fresh));
}

/** Runs every test of the sources once, with markers in all of them. */
async function measure(tree: Tree, sources: readonly Source[]): Promise<readonly Measured[]> {
  for (const { file, text, id } of sources) tree.write(file, withMarkers(file, text, id).text);
  const measured: Measured[] = [];
  for (const test of new Set(sources.flatMap(({ tests }) => tests))) {
    const folder = mkdtempSync(join(tmpdir(), 'biosignal-parts-'));
    let startedMs = performance.now();
    let outcome = await tree.run(test, TEST_SEC_MAX * 1000, { hits: folder });
    if (outcome !== 'timeout' && !outcome.passed) {
      startedMs = performance.now();
      outcome = await tree.run(test, TEST_SEC_MAX * 1000, { hits: folder });
    }
    const passed = outcome !== 'timeout' && outcome.passed;
    const parts = readHits(folder);
    rmSync(folder, { recursive: true });
    const ms = performance.now() - startedMs;
    measured.push({ test, passed, ms, parts });
    console.log(
      `${passed ? 'measured' : 'LEFT OUT'} ${test} (${(ms / 1000).toFixed(1)} s)${outcome === 'timeout' ? ' too slow' : passed ? '' : ` ${outcome.why}`}`,
    );
  }
  for (const { file, text } of sources) tree.write(file, text);
  return measured;
}

async function mutateFile(tree: Tree, source: Source, measured: readonly Measured[], fresh: boolean): Promise<FileResult> {
  const { file, text, mutants, tests, id } = source;
  const { parts } = withMarkers(file, text, id);
  const results = new Map(keptResults(source, fresh));
  const kills = new Map<string, number>();
  const red = measured.filter((one) => tests.includes(one.test) && !one.passed).map(({ test }) => test);
  const state = (): FileResult => ({
    file,
    textHash: hashOf(text),
    testsHash: source.testsHash,
    red,
    complete: mutants.every(({ key }) => results.has(key)),
    results: mutants.flatMap(({ key }) => results.get(key) ?? []),
  });
  for (const { mutant, key } of mutants) {
    if (!source.wanted.has(key) || results.has(key)) continue;
    const covering = measured.filter(
      (one) => one.passed && tests.includes(one.test) && one.parts.has(`${id} ${partAt(parts, mutant.start)}`),
    );
    const order = covering.toSorted(
      (a, b) => Number(isIntegration(a)) - Number(isIntegration(b)) || (kills.get(b.test) ?? 0) - (kills.get(a.test) ?? 0) || a.ms - b.ms,
    );
    tree.write(file, apply(text, mutant));
    const result = { key, ...(await resultOf(tree, mutant, order)) };
    kills.set(result.by, (kills.get(result.by) ?? 0) + 1);
    results.set(key, result);
    writeResult(state());
  }
  tree.write(file, text);
  const done = state();
  writeResult(done);
  return done;
}

async function resultOf(tree: Tree, { operator, line, text }: Mutant, tests: readonly Measured[]): Promise<Omit<Result, 'key'>> {
  const mutant = { operator, line, text };
  for (const { test, ms } of tests) {
    const outcome = await tree.run(test, TIMES_MAX * ms + EXTRA_MS);
    if (outcome === 'timeout') return { ...mutant, status: 'timeout', by: test };
    if (!outcome.passed) return { ...mutant, status: 'killed', by: test };
  }
  return { ...mutant, status: tests.length === 0 ? 'uncovered' : 'survived', by: '' };
}

/** Results of an earlier run on the same file: all of them when its tests are the same, else those of mutants that were found. */
function keptResults(source: Source, fresh: boolean): ReadonlyMap<string, Result> {
  const before = fresh ? null : readResult(source.file);
  if (before === null || before.textHash !== hashOf(source.text)) return new Map();
  const sameTests = before.testsHash === source.testsHash;
  const holds = ({ status }: Result): boolean => status === 'killed' || status === 'timeout' || sameTests;
  return new Map(before.results.filter(holds).map((result) => [result.key, result]));
}

function testsHashOf(tests: readonly string[]): string {
  return hashOf(...tests.flatMap((test) => [test, readFileSync(test, 'utf8')]));
}

function isIntegration({ test }: Measured): boolean {
  return test.endsWith('.int.test.ts');
}
