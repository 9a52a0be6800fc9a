/** A vitest that stays: runs one test file after the other when it is told to over IPC, in forks as `npm test` does. A process of its own,
 *  so that a mutant which never ends is killed with it. The working directory is the copy of the tree that holds the mutant. */
import { resolve } from 'node:path';
import { createVitest } from 'vitest/node';

/** @param names of the tests to run, as a regular expression; '' for all @param changed files whose text is another than in the run before
 *  @param hits folder for the markers of coverage.ts; '' for none */
export type TestRequest = Readonly<{ test: string; names: string; changed: readonly string[]; hits: string }>;
/** `why`: the first failure. */
export type TestAnswer = Readonly<{ passed: boolean; testCount: number; why: string }>;

const vitest = await createVitest('test', {
  watch: false,
  maxWorkers: 1,
  bail: 1,
  reporters: [{}],
  silent: true,
  includeTaskLocation: false,
});
await vitest.globTestSpecifications();

process.on('message', (request: TestRequest) => void run(request).then((answer) => process.send!(answer)));
process.send!('ready');

async function run({ test, names, changed, hits }: TestRequest): Promise<TestAnswer> {
  process.env['BIO_MUTATION_HITS'] = hits; // forks inherit it
  if (names === '') vitest.resetGlobalTestNamePattern();
  else vitest.setGlobalTestNamePattern(new RegExp(names));
  for (const file of changed) vitest.invalidateFile(resolve(file));
  const done = await vitest.runTestSpecifications(vitest.getModuleSpecifications(resolve(test)));
  const { unhandledErrors } = done;
  // It answers with every file that it ever ran, and another one may have failed on the mutant before.
  const testModules = done.testModules.filter(({ moduleId }) => moduleId === resolve(test));
  const tests = testModules.flatMap((module) => [...module.children.allTests()]);
  const errors = [
    ...tests.flatMap((one) => (one.result().errors ?? []).map(({ message }) => `${one.fullName}: ${message}`)),
    ...testModules.flatMap((module) => module.errors().map(({ message }) => message)),
    ...unhandledErrors.map(String),
  ];
  const passed = errors.length === 0 && testModules.length > 0 && testModules.every((module) => module.state() !== 'failed');
  return { passed, testCount: tests.filter((one) => one.result().state === 'passed').length, why: (errors[0] ?? '').slice(0, 300) };
}
