/** `npm run histories`: plays random histories against the whole service until the time is over, and holds what it says and stores against
 *  an oracle. The first one that fails is cut down and printed, so that it can be played again.
 *
 *  npm run histories -- [--minutes 10] [--seed S] [--only devices,people,operators,world, or commands] [--length 30] [--count N]
 *                       [--rows] [--file HISTORY.json]
 *                       [--keep-going] [--until PATTERN] [--no-shrink] [--out FOLDER] [--database URL] [--nodes N]
 *  --until: plays on after histories that fail, until a complaint, as "kind: text", matches. Exit code 1 when one fails.
 *  npm run histories -- --planted [NAME …] [--seed S] [--count 20] [--only …]   what they find: planted/run.ts. Exit code 1 when something
 *  is not found. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Clean } from './clean.ts';
import type { History } from './commands.ts';
import { mistaken, numberOption, toolOptions } from '../scripts/tool-options.ts';
import { generate, takesPart } from './generate.ts';
import { fixes } from './planted/fixes.ts';
import { runPlanted } from './planted/run.ts';
import { play } from './play.ts';
import type { Outcome } from './play.ts';
import { shrink } from './shrink.ts';
import { Stage } from './stage.ts';

const { values: options, positionals } = toolOptions({
  allowPositionals: true,
  options: {
    minutes: { type: 'string' },
    seed: { type: 'string' },
    only: { type: 'string', default: '' },
    length: { type: 'string', default: '30' },
    count: { type: 'string' },
    database: { type: 'string' },
    nodes: { type: 'string', default: '1' },
    planted: { type: 'boolean', default: false },
    file: { type: 'string' },
    out: { type: 'string', default: '.cache/histories' },
    until: { type: 'string' },
    rows: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
    'no-shrink': { type: 'boolean', default: false },
  },
});

const only = options.only === '' ? [] : options.only.split(',');
const strangers = only.filter((name) => !takesPart.includes(name));
if (strangers.length > 0) mistaken(`--only: no "${strangers.join(', ')}"; there are ${takesPart.join(', ')}`);
const count = options.count === undefined ? Infinity : numberOption('count', options.count, { whole: true });
const length = numberOption('length', options.length, { whole: true });
const minutes = numberOption('minutes', options.minutes ?? (options.planted ? '60' : '10'));
const seed = numberOption('seed', options.seed ?? String(Math.floor(Math.random() * 1e6)));
if (options.planted) {
  const unknown = positionals.filter((name) => !fixes.some((fix) => fix.name === name));
  if (unknown.length > 0) mistaken(`no such fix: ${unknown.join(', ')}; there are ${fixes.map(({ name }) => name).join(', ')}`);
  const bounds = ['--count', options.count ?? '20', '--minutes', String(minutes), '--only', options.only, '--length', options.length];
  process.exit((await runPlanted(positionals, options.seed, bounds)) ? 0 : 1);
}
const sought = options.until === undefined ? null : patternOf(options.until);
const deadlineMs = performance.now() + minutes * 60_000;
const place = { server: options.database, nodes: numberOption('nodes', options.nodes, { whole: true }) };
let stage = await Stage.start(place);
const clean = await Clean.start();
let failedCount = 0;
try {
  const given = options.file === undefined ? null : (JSON.parse(readFileSync(options.file, 'utf8')) as History);
  for (let i = 0; i < count && performance.now() < deadlineMs; i++) {
    const history = given ?? generate(seed + i, only, length);
    const outcome = await play(history, stage, clean);
    print(history, outcome);
    if (outcome.complaints.length > 0) {
      failedCount++;
      await report(history, outcome);
      const found = soughtIn(outcome);
      if (found !== null) console.log(`  FOUND ${found}`);
      if (found !== null || (sought === null && !options['keep-going'])) break;
      if (outcome.complaints.some(({ kind }) => kind === 'trouble')) {
        await stage.close(); // nothing of it shall spoil the next one
        stage = await Stage.start(place);
      }
    }
    if (given !== null) break;
  }
} finally {
  await stage.close();
  await clean.close();
}
process.exit(failedCount === 0 ? 0 : 1); // whatever is still open

function print({ seed, commands }: History, { complaints, packets, rows, ms }: Outcome): void {
  const verdict = complaints.length === 0 ? 'ok' : `FAILED: ${complaints.length} complaints`;
  const rowCount = [...rows.values()].reduce((sum, n) => sum + n, 0);
  const what = `${commands.length} commands, ${packets} packets, ${rowCount} beats and values by ${rows.size} methods`;
  console.log(`seed ${seed}: ${what}, ${(ms / 1000).toFixed(1)} s  ${verdict}`);
  if (!options.rows) return;
  const byName = [...rows].sort(([a], [b]) => (a < b ? -1 : 1));
  console.log(`  ${byName.map(([name, n]) => `${name} ${n}`).join(', ')}`);
}

async function report(history: History, { complaints }: Outcome): Promise<void> {
  for (const { kind, text } of complaints.slice(0, 12)) console.log(`  ${kind}: ${text.slice(0, 1200)}`);
  const kinds = new Set(complaints.map(({ kind }) => kind));
  const fails = async (candidate: History): Promise<boolean> =>
    (await play(candidate, stage, clean)).complaints.some(({ kind }) => kinds.has(kind));
  const shortest = options['no-shrink'] ? history : await shrink(history, fails);
  mkdirSync(options.out, { recursive: true });
  const path = join(options.out, `history-${history.seed}.json`);
  writeFileSync(
    path,
    `{"seed":${history.seed},"commands":[\n${shortest.commands.map((command) => `  ${JSON.stringify(command)}`).join(',\n')}\n]}\n`,
  );
  console.log(readFileSync(path, 'utf8'));
  console.log(`  again: npm run histories -- --file ${path}`);
}

/** What --until waits for. */
function soughtIn({ complaints }: Outcome): string | null {
  for (const { kind, text } of complaints) {
    const match = sought?.exec(`${kind}: ${text}`) ?? null;
    if (match !== null) return match[0];
  }
  return null;
}

function patternOf(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch {
    return mistaken(`--until: ${text} is no regular expression`);
  }
}
