/** `npm run promises-planted [-- ID … [--from N]]`: does the test that holds a promise fail when the promise is broken? Plants each fault
 *  of scripts/planted/promises.ts in a copy of the checkout (.cache), one at a time, runs the tests of the promise that the fault names,
 *  and prints a row of a table for each; before that, the same tests without a fault, which have to pass. ID: of these promises only;
 *  --from N: from the Nth fault on. Seen is what an assertion of these tests says: not what breaks them otherwise, or never ends. Ends with
 *  1 when a test did not notice. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promiseSources } from './build-docs.ts';
import { withTree } from './mutation/tree.ts';
import type { Tree } from './mutation/tree.ts';
import { planted } from './planted/edit.ts';
import { faults } from './planted/promises.ts';
import type { Fault } from './planted/promises.ts';
import { NO_ANSWER, seenAs } from './planted/seen.ts';
import { mistaken, numberOption, toolOptions } from './tool-options.ts';
import { heldBy } from './promises.ts';

type Control = Readonly<{ names: string; trouble: string }>;

/** Of one test file: what waits 30 s for something that never comes takes longer than a test that passes. */
const RUN_MS_MAX = 300_000;

const { values, positionals } = toolOptions({ allowPositionals: true, options: { from: { type: 'string' } } });
const from = numberOption('from', values.from ?? '1', { whole: true });
if (from > faults.length) mistaken(`--from: there are ${faults.length} faults`);
const chosen = faults.slice(from - 1).filter(({ promise }) => positionals.length === 0 || positionals.includes(promise));
const unknown = positionals.filter((id) => !faults.some(({ promise }) => promise === id));
if (unknown.length > 0)
  mistaken(`no fault is kept for ${unknown.join(', ')}; there are ${[...new Set(faults.map(({ promise }) => promise))].join(', ')}`);

const { tests } = promiseSources();
const rows: string[] = [];
let missed = 0;
const beganMs = performance.now();
await withTree('promises-planted', true, async (tree) => {
  const controls = new Map<string, Control>();
  for (const fault of chosen) {
    const titles = titlesOf(fault);
    const key = [fault.by, ...titles].join(' ');
    const control = controls.get(key) ?? (await controlOf(tree, fault.by, titles));
    controls.set(key, control);
    say(await rowOf(tree, fault, titles, control));
  }
});
console.log(`\n${['| promise | broken by | held by | seconds | seen as |', '|---|---|---|---|---|', ...rows].join('\n')}`);
const seconds = (performance.now() - beganMs) / 1000;
console.log(
  `\n${chosen.length - missed} of ${chosen.length} were seen, in ${seconds < 120 ? `${seconds.toFixed(0)} s` : `${(seconds / 60).toFixed(0)} minutes`}`,
);
process.exitCode = missed > 0 ? 1 : 0;

function say(row: string): void {
  console.log(row);
  rows.push(row);
}

/** Titles of the tests of a file that hold a promise, as regular expressions: what a table fills in may be anything. */
function titlesOf({ promise, by }: Fault): readonly string[] {
  const held = heldBy(by, tests[by] ?? '').found.filter(({ kind, id }) => kind === 'promise' && id === promise);
  if (held.length === 0) throw new Error(`${by} does not hold the promise ${promise}`);
  return held.map(({ test }) =>
    test
      .split(/%[a-z]|\$\{[^}]*\}|\$[a-z]\w*/)
      .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`))
      .join('.*'),
  );
}

/** Without a fault the tests pass: alone, or, where they go on from what others of their file left, with all of them.
 *  @returns names for Tree.run, '' for all of the file; trouble: why neither is so */
async function controlOf(tree: Tree, by: string, titles: readonly string[]): Promise<Control> {
  const names = titles.map((title) => `(?:^| )${title}$`).join('|');
  const alone = await tree.run(by, RUN_MS_MAX, { names });
  if (alone !== 'timeout' && alone.passed) return { names, trouble: alone.testCount === 0 ? 'it does not run here' : '' };
  const whole = await tree.run(by, RUN_MS_MAX);
  return { names: '', trouble: whole === 'timeout' ? NO_ANSWER : whole.why };
}

async function rowOf(tree: Tree, { promise, broken, by, edits }: Fault, titles: readonly string[], control: Control): Promise<string> {
  const startMs = performance.now();
  const seen = control.trouble === '' ? await withFault(tree, edits, by, titles, control) : `**NOT TRIED**: without it: ${control.trouble}`;
  if (seen.startsWith('**')) missed++;
  const sec = ((performance.now() - startMs) / 1000).toFixed(0);
  return `| \`${promise}\` | ${broken} | ${by} | ${sec} | ${seen.replaceAll('|', '/').replaceAll(/\s+/g, ' ').slice(0, 160)} |`;
}

async function withFault(tree: Tree, edits: Fault['edits'], by: string, titles: readonly string[], { names }: Control): Promise<string> {
  const files = new Map(edits.map(({ file }) => [file, readFileSync(join(tree.folder, file), 'utf8')]));
  for (const [file, text] of files) tree.write(file, edits.filter((edit) => edit.file === file).reduce(planted, text));
  const outcome = await tree.run(by, RUN_MS_MAX, { names });
  for (const [file, text] of files) tree.write(file, text);
  return seenAs(outcome, names === '' ? titles : null);
}
