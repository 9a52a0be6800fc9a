/** `npm run conform-planted`: does `biosignal conform` find anything? Takes a guard out of a throwaway copy of the checkout, starts the
 *  service from it, runs the test against it, and prints which checks failed; one guard after the other, and once with all of them in
 *  place. --whole: every group of checks, not only the one that must see the fault. --fault N: only that one, counted from 1. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../faults/lib/free-port.ts';
import { plants } from './conform/plants.ts';
import type { Plant } from './conform/plants.ts';
import { numberOption, toolOptions } from './tool-options.ts';
import { copyCheckout, plantIn } from './planted/checkout.ts';
import type { Edit } from './planted/edit.ts';

const root = normalize(join(import.meta.dirname, '..'));
const work = join(root, '.cache/conform-planted');
const copy = join(work, 'checkout');
const START_MS_MAX = 120_000;
/** Of a whole run. */
const CHECKS_MIN = 800;

type Check = Readonly<{ group: string; name: string; result: string }>;
type Found = Readonly<{ failed: readonly Check[]; total: number }>;

const { values } = toolOptions({ options: { whole: { type: 'boolean' }, fault: { type: 'string' } } });
const only = values.fault === undefined ? null : numberOption('fault', values.fault, { whole: true, max: plants.length });

rmSync(work, { recursive: true, force: true });
copyCheckout(copy);
const env: Record<string, string | undefined> = {
  ...process.env,
  BIO_DATA_DIR: join(work, 'data'),
  BIO_LOG_LEVEL: 'silent',
  BIO_DSP_IDLE_FLUSH_MS: '1000',
};
delete env['DATABASE_URL'];
env['BIO_REQUESTS_PER_SEC_MAX'] = '10000';
let missed = 0;
try {
  const chosen = only === null ? plants : plants.slice(only - 1, only);
  if (only === null) await report(null);
  for (const plant of chosen) await report(plant);
} finally {
  rmSync(work, { recursive: true, force: true });
}
process.exitCode = missed > 0 ? 1 : 0;

async function report(plant: Plant | null): Promise<void> {
  const takeOut = plantIn(copy, plant === null ? [] : editsOf(plant));
  try {
    const { failed, total } = await runAgainst(plant);
    // What else fails may fail because the fault is clumsy, and nothing works any more.
    const good = plant === null ? failed.length === 0 && total > CHECKS_MIN : failed.some(({ group }) => group === plant.group);
    if (!good) missed++;
    console.log(`${good ? 'ok     ' : 'MISSED '} ${plant?.fault ?? 'nothing is taken out'}: ${failed.length} of ${total} checks failed`);
    for (const { group, name } of failed.slice(0, 6)) console.log(`          ${group}: ${name}`);
    if (failed.length > 6) console.log(`          and ${failed.length - 6} more`);
  } finally {
    takeOut();
  }
}

function editsOf({ file, edits }: Plant): readonly Edit[] {
  return edits.map(([find, replace]) => ({ file, find, replace }));
}

async function runAgainst(plant: Plant | null): Promise<Found> {
  const port = await freePort();
  const service = command(['start'], { PORT: String(port) });
  const url = `http://127.0.0.1:${port}`;
  try {
    await ready(service, url);
    const key = await organizationKey();
    const only = plant === null || values.whole === true ? [] : ['--only', plant.group];
    const out = await output(command(['conform', url, '--key', key, '--json', ...only], {}, root));
    const { checks } = JSON.parse(out) as { checks: Check[] };
    return { failed: checks.filter(({ result }) => result === 'failed'), total: checks.length };
  } finally {
    const ended = new Promise((resolve) => service.once('close', resolve));
    service.kill('SIGTERM');
    if (service.exitCode === null) await ended;
  }
}

/** The command of the copy; the test itself is the checkout's own. */
function command(args: readonly string[], more: Readonly<Record<string, string>> = {}, folder = copy): ChildProcess {
  const main = join(folder, 'src/cli/main.ts');
  return spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...args], {
    cwd: work,
    env: { ...env, ...more },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

function output(child: ChildProcess): Promise<string> {
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return new Promise((resolve) => child.once('close', () => resolve(text)));
}

async function organizationKey(): Promise<string> {
  const file = join(work, 'key');
  try {
    return readFileSync(file, 'utf8');
  } catch {
    const out = await output(command(['org', 'create', 'conform', '--project', 'conform', '--json']));
    const key = /org_(?:live|test)_\w+/.exec(out)?.[0] ?? '';
    if (key === '') throw new Error(`no key in the answer of 'org create'`);
    writeFileSync(file, key);
    return key;
  }
}

async function ready(service: ChildProcess, url: string): Promise<void> {
  service.stdout?.resume();
  const endMs = performance.now() + START_MS_MAX;
  while (performance.now() < endMs && service.exitCode === null) {
    const answer = await fetch(`${url}/readyz`).catch(() => null);
    if (answer?.status === 200) return;
    await sleep(200);
  }
  throw new Error('the service did not become ready');
}
