/** `npm run mutation`: changes the code in small ways and looks whether a test notices (docs/mutation.md).
 *
 *    npm run mutation                   the files that changed since the branch left main, or in the last commit
 *    npm run mutation -- FILES...       these
 *    npm run mutation -- --all          the folders that docs/mutation.md answers for; hours, may be stopped and started again
 *    npm run mutation -- --report       the table of the results that are there
 *    --unit                             with unit tests only: minutes where integration tests take hours
 *    --fresh                            forget the results that are there
 *
 *  Ends with 1 when a mutant survives that scripts/mutation/accepted.json does not name. */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { mutantsOf } from './mutation/mutants.ts';
import { readAccepted, readResult, summarize } from './mutation/results.ts';
import type { FileResult } from './mutation/results.ts';
import { mutate, numbersMatter } from './mutation/mutate.ts';
import { withTree } from './mutation/tree.ts';

const folders = [
  'src/dsp/hrv*.ts',
  'src/dsp/hrv/rr-correction.ts',
  'src/auth/*.ts',
  'src/ingest/*.ts',
  'src/query/*.ts',
  'src/storage/*.ts',
];
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean' },
    report: { type: 'boolean' },
    fresh: { type: 'boolean' },
    unit: { type: 'boolean' },
    list: { type: 'boolean' },
  },
});

const isSource = (file: string): boolean => /^src\/.*\.ts$/.test(file) && !/\.test\.ts$|generated/.test(file);
const everyFile = (): readonly string[] => folders.flatMap((pattern) => globSync(pattern).toSorted());
const files = (values.all || values.report ? everyFile() : positionals.length > 0 ? positionals : changedFiles()).filter(isSource);
const accepted = readAccepted();

if (values.report) report(files.map(readResult).filter((result) => result !== null));
else if (values.list) list(files);
else if (files.length === 0) console.log('no changed file in src/');
else await run(files);

async function run(files: readonly string[]): Promise<void> {
  const options = { fresh: values.fresh === true, unitOnly: values.unit === true };
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
    `${result.file}: ${summary.found} of ${summary.total} found (${share.toFixed(1)} %), ${summary.accepted.length} accepted, ${summary.fresh.length} new`,
  );
  for (const test of result.red) console.log(`  left out, it fails without a mutant: ${test}`);
  for (const { text } of summary.stale) console.log(`  accepted, but survives no longer: ${text}`);
  return summary;
}

function report(results: readonly FileResult[]): void {
  console.log('| file | mutants | found | score | accepted | new |\n|---|---|---|---|---|---|');
  for (const result of results) {
    const { total, found, accepted: kept, fresh } = summarize(result, accepted);
    const score = total === 0 ? '-' : `${((100 * found) / total).toFixed(1)} %`;
    console.log(
      `| \`${result.file}\`${result.complete ? '' : ' (in part)'} | ${total} | ${found} | ${score} | ${kept.length} | ${fresh.length} |`,
    );
  }
}

function list(files: readonly string[]): void {
  for (const file of files)
    for (const { line, operator, text } of mutantsOf(file, readFileSync(file, 'utf8'), numbersMatter(file)))
      console.log(`${file}:${line} ${operator}: ${text}`);
}

function changedFiles(): readonly string[] {
  const git = (...args: readonly string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim();
  const head = git('rev-parse', 'HEAD');
  let base = '';
  try {
    base = git('merge-base', 'main', 'HEAD');
  } catch {
    // a clone without main
  }
  const changed = git('diff', '--name-only', '--diff-filter=d', base === '' || base === head ? 'HEAD~1' : base);
  return changed.split('\n');
}
