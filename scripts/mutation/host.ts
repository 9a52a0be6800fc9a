/** A vitest that stays: runs one test file after the other when it is told to over IPC, in forks as `npm test` does. A process of its own,
 *  so that a mutant which never ends is killed with it. The working directory is the copy of the tree that holds the mutant. */
import { resolve } from 'node:path';
import { createVitest } from 'vitest/node';
import { isAssertion } from '../planted/seen.ts';
import type { TestAnswer } from '../planted/seen.ts';

/** @param names of the tests to run, as a regular expression; '' for all @param changed files whose text is another than in the run before
 *  @param hits folder for the markers of coverage.ts; '' for none */
export type TestRequest = Readonly<{ test: string; names: string; changed: readonly string[]; hits: string }>;

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
    ...tests.flatMap((one) =>
      (one.result().errors ?? []).map((error) => ({ text: `${one.fullName}: ${error.message}`, isAssertion: isAssertion(error) })),
    ),
    ...testModules.flatMap((module) => module.errors().map(({ message }) => ({ text: message, isAssertion: false }))),
    ...unhandledErrors.map((error) => ({ text: String(error), isAssertion: false })),
  ];
  const first = errors.find((error) => error.isAssertion) ?? errors[0];
  const passed = errors.length === 0 && testModules.length > 0 && testModules.every((module) => module.state() !== 'failed');
  const testCount = tests.filter((one) => one.result().state === 'passed').length;
  return { passed, testCount, why: first?.text.slice(0, 300) ?? '', isAssertion: first?.isAssertion ?? false };
}
