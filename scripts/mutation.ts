/** `npm run mutation`: changes the code in small ways and looks whether a test notices (docs/mutation.md).
 *
 *    npm run mutation                   the lines that changed since the branch left main, or in the last commit
 *    npm run mutation -- FILES...       these files or folders, whole
 *    npm run mutation -- --sample N ... N mutants of each file or folder that is named (without a name, of each of --all), for a score
 *                                       with its interval in bounded time; --seed S draws others
 *    npm run mutation -- --all          the folders that docs/mutation.md answers for; hours, may be stopped and started again
 *    npm run mutation -- --report       the table of the results that are there
 *    npm run mutation -- --list FILES   the changes, without running them
 *    --only OPERATOR                    the changes of one operator, e.g. whose
 *    --unit                             with unit tests only: minutes where integration tests take hours
 *    --fresh                            forget the results that are there
 *
 *  Ends with 1 when a mutant survives that scripts/mutation/accepted.json does not name. */
import { globSync, readFileSync } from 'node:fs';
import { changedLines } from './mutation/changed.ts';
import { mutantsOf, named } from './mutation/mutants.ts';
import type { Mutant } from './mutation/mutants.ts';
import { readAccepted, readResult, summarize } from './mutation/results.ts';
import type { FileResult } from './mutation/results.ts';
import { mutate, numbersMatter } from './mutation/mutate.ts';
import { draw, readSamples, sampleHead, sampleLine, writeSample } from './mutation/sample.ts';
import { withTree } from './mutation/tree.ts';
import { mistaken, toolOptions } from './tool-options.ts';

const folders = ['src/dsp/hrv', 'src/auth,src/tenancy,src/key-format.ts', 'src/ingest', 'src/query', 'src/storage'];
const { values, positionals } = toolOptions({
  allowPositionals: true,
  options: {
    all: { type: 'boolean' },
    report: { type: 'boolean' },
    fresh: { type: 'boolean' },
    unit: { type: 'boolean' },
    list: { type: 'boolean' },
    only: { type: 'string' },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
  },
});

const isSource = (file: string): boolean => /^src\/.*\.ts$/.test(file) && !/\.test\.ts$|generated/.test(file);
const filesOf = (name: string): readonly string[] =>
  name.split(',').flatMap((part) =>
    globSync(part.endsWith('.ts') ? part : `${part}/**/*.ts`)
      .toSorted()
      .filter(isSource),
  );
const changed = values.all || values.report || values.sample || positionals.length > 0 ? null : changedLines();
const names = positionals.length > 0 ? positionals : changed === null ? folders : [...changed.keys()];
for (const name of positionals)
  if (filesOf(name).length === 0) mistaken(`${name} is no file of src/ that can be changed, nor a folder with any`);
const files = names.flatMap(filesOf);
const accepted = readAccepted();

if (values.report) report(files.map(readResult).filter((result) => result !== null));
else if (values.list) list(files);
else if (values.sample !== undefined) await runSamples(names, wholeNumber(values.sample), wholeNumber(values.seed));
else
  await runChosen(files, (file, { operator, line }) => (values.only ?? operator) === operator && changed?.get(file)?.has(line) !== false);

/** Runs some of the mutants of each file. */
async function runChosen(files: readonly string[], isChosen: (file: string, mutant: Mutant) => boolean): Promise<void> {
  const wanted = new Map<string, ReadonlySet<string>>();
  for (const file of files) {
    const chosen = named(mutantsIn(file)).filter(({ mutant }) => isChosen(file, mutant));
    if (chosen.length > 0) wanted.set(file, new Set(chosen.map(({ key }) => key)));
  }
  if (wanted.size === 0) console.log('nothing to change there');
  else await run([...wanted.keys()], wanted);
}

async function runSamples(names: readonly string[], count: number, seed: number): Promise<void> {
  const samples = names.map((name) => draw(name, new Map(filesOf(name).map((file) => [file, mutantsIn(file)])), count, seed));
  for (const sample of samples) writeSample(sample);
  const drawn = Map.groupBy(
    samples.flatMap((sample) => sample.drawn),
    ({ file }) => file,
  );
  await run([...drawn.keys()], new Map([...drawn].map(([file, some]) => [file, new Set(some.map(({ key }) => key))])));
  console.log(sampleHead);
  for (const sample of samples) console.log(sampleLine(sample, accepted));
}

async function run(files: readonly string[], wanted: ReadonlyMap<string, ReadonlySet<string>>): Promise<void> {
  const options = { fresh: values.fresh === true, unitOnly: values.unit === true, wanted };
  await withTree('mutation', !options.unitOnly, (tree) =>
    mutate(tree, files, options, (result) => {
      const { fresh } = printSummary(result);
      for (const { operator, line, text } of fresh)
        console.log(`  ${result.file}:${line} ${operator}\n    ${text.replace(' => ', '\n    ')}`);
      if (fresh.length > 0) process.exitCode = 1;
    }),
  );
}

function printSummary(result: FileResult): ReturnType<typeof summarize> {
  const summary = summarize(result, accepted);
  const share = summary.total === 0 ? 100 : (100 * summary.found) / summary.total;
  console.log(
    `${result.file}${result.complete ? '' : ' (in part)'}: ${summary.found} of ${summary.total} found (${share.toFixed(1)} %), ${summary.accepted.length} survivors accepted, ${summary.fresh.length} not`,
  );
  for (const test of result.red) console.log(`  left out, it fails without a mutant: ${test}`);
  for (const { text } of summary.stale) console.log(`  accepted, but survives no longer: ${text}`);
  return summary;
}

function report(results: readonly FileResult[]): void {
  console.log('| file | changes | found | score | survivors accepted | not accepted |\n|---|---|---|---|---|---|');
  for (const result of results.filter(({ complete }) => complete)) {
    const { total, found, accepted: kept, fresh } = summarize(result, accepted);
    const score = total === 0 ? '-' : `${((100 * found) / total).toFixed(1)} %`;
    console.log(`| \`${result.file}\` | ${total} | ${found} | ${score} | ${kept.length} | ${fresh.length} |`);
  }
  const samples = readSamples();
  if (samples.length > 0) console.log(`\n${sampleHead}`);
  for (const sample of samples) console.log(sampleLine(sample, accepted));
}

function list(files: readonly string[]): void {
  for (const file of files) for (const { line, operator, text } of mutantsIn(file)) console.log(`${file}:${line} ${operator}: ${text}`);
}

function mutantsIn(file: string): readonly Mutant[] {
  return mutantsOf(file, readFileSync(file, 'utf8'), numbersMatter(file));
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new RangeError(`--sample and --seed are whole numbers from 1, not '${text}'`);
  return Number(text);
}
