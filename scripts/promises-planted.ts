/** `npm run promises-planted [-- ID … [--from N]]`: does the test that holds a promise fail when the promise is broken? Plants each fault of
 *  scripts/planted/promises.ts in a copy of the checkout (.cache), one at a time, runs the tests of the promise that the fault names, and
 *  prints a row of a table for each; before that, the same tests without a fault, which have to pass. ID: of these promises only; --from N:
 *  from the Nth fault on. Ends with 1 when a test did not notice. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { promiseSources } from './build-docs.ts';
import { withTree } from './mutation/tree.ts';
import type { Tree } from './mutation/tree.ts';
import { planted } from './planted/edit.ts';
import { faults } from './planted/promises.ts';
import type { Fault } from './planted/promises.ts';
import { heldBy } from './promises.ts';

/** Of one test file: what waits 30 s for something that never comes takes longer than a test that passes. */
const RUN_MS_MAX = 300_000;

const { values, positionals } = parseArgs({ allowPositionals: true, options: { from: { type: 'string' } } });
const chosen = faults
  .slice(Number(values.from ?? 1) - 1)
  .filter(({ promise }) => positionals.length === 0 || positionals.includes(promise));
const unknown = positionals.filter((id) => !faults.some(({ promise }) => promise === id));
if (unknown.length > 0) throw new Error(`no fault is kept for ${unknown.join(', ')}`);

const { tests } = promiseSources();
const rows: string[] = [];
let missed = 0;
const beganMs = performance.now();
await withTree('promises-planted', true, async (tree) => {
  const fine = new Map<string, string>();
  for (const fault of chosen) {
    const names = namesOf(fault);
    const control = `${fault.by} ${names}`;
    if (!fine.has(control)) fine.set(control, await withoutFault(tree, fault.by, names));
    say(await rowOf(tree, fault, names, fine.get(control)!));
  }
});
console.log(`\n${['| promise | broken by | held by | seconds | seen as |', '|---|---|---|---|---|', ...rows].join('\n')}`);
const minutes = (performance.now() - beganMs) / 60_000;
console.log(`\n${chosen.length - missed} of ${chosen.length} were seen, in ${minutes.toFixed(0)} minutes`);
process.exitCode = missed > 0 ? 1 : 0;

function say(row: string): void {
  console.log(row);
  rows.push(row);
}

/** The tests of a file that hold a promise, as a regular expression: what a table fills in may be anything. */
function namesOf({ promise, by }: Fault): string {
  const titles = heldBy(by, tests[by] ?? '').found.filter(({ kind, id }) => kind === 'promise' && id === promise);
  if (titles.length === 0) throw new Error(`${by} does not hold the promise ${promise}`);
  const pattern = (title: string): string =>
    title
      .split(/%[a-z]|\$\{[^}]*\}|\$[a-z]\w*/)
      .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`))
      .join('.*');
  return titles.map(({ test }) => `(?:^| )${pattern(test)}$`).join('|');
}

/** @returns why the tests cannot show anything; '' when they pass */
async function withoutFault(tree: Tree, by: string, names: string): Promise<string> {
  const outcome = await tree.run(by, RUN_MS_MAX, { names });
  if (outcome === 'timeout') return 'it does not end';
  if (!outcome.passed) return outcome.why;
  return outcome.testCount === 0 ? 'it does not run here' : '';
}

async function rowOf(tree: Tree, { promise, broken, by, edits }: Fault, names: string, trouble: string): Promise<string> {
  const startMs = performance.now();
  const seen = trouble === '' ? await withFault(tree, edits, by, names) : `**NOT TRIED**: without the fault: ${trouble}`;
  if (seen.startsWith('**')) missed++;
  const sec = ((performance.now() - startMs) / 1000).toFixed(0);
  return `| \`${promise}\` | ${broken} | ${by} | ${sec} | ${seen.replaceAll('|', '/').replaceAll(/\s+/g, ' ').slice(0, 160)} |`;
}

async function withFault(tree: Tree, edits: Fault['edits'], by: string, names: string): Promise<string> {
  const files = new Map(edits.map(({ file }) => [file, readFileSync(join(tree.folder, file), 'utf8')]));
  for (const [file, text] of files) tree.write(file, edits.filter((edit) => edit.file === file).reduce(planted, text)); // prettier-ignore
  const outcome = await tree.run(by, RUN_MS_MAX, { names });
  for (const [file, text] of files) tree.write(file, text);
  if (outcome === 'timeout') return 'it does not end';
  return outcome.passed ? '**NOT SEEN**' : outcome.why;
}
