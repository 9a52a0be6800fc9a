/** `npm run fuzz -- --planted [--only NAME,…]`: can the checks of the fuzzers fail? Puts each fault of plants.ts into a copy of the
 *  checkout, runs one round of the fuzzer there, and looks for what it must say. Copies without a fault come first, and must be silent. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { mistaken } from '../../scripts/tool-options.ts';
import { copyCheckout, plantIn } from '../../scripts/planted/checkout.ts';
import { plants } from './plants.ts';
import type { Plant } from './plants.ts';

const untouched: readonly Plant[] = (['service', 'api'] as const).map((by) => ({
  name: `none-${by}`,
  what: 'nothing',
  by,
  edits: [],
  says: /FAILED/,
}));
/** Cases or requests of the round: enough for each fault to be met. */
const sizes = { service: '60', api: '600' } as const;

/** @param only names; empty: all @returns how many were not found, or found where nothing was planted */
export async function fuzzPlanted(only: readonly string[], seed: number): Promise<number> {
  const all = [...untouched, ...plants];
  const unknown = only.filter((name) => !all.some((plant) => plant.name === name));
  if (unknown.length > 0) mistaken(`no such fault: ${unknown.join(', ')}; there are ${all.map(({ name }) => name).join(', ')}`);
  let missed = 0;
  for (const plant of all) {
    if (only.length > 0 && !only.includes(plant.name)) continue;
    const startedMs = performance.now();
    const { code, line } = await runWith(plant, seed);
    const good = plant.edits.length === 0 ? code === 0 : code === 1 && line !== '';
    if (!good) missed++;
    const sec = ((performance.now() - startedMs) / 1000).toFixed(0);
    console.log(`${good ? 'ok    ' : 'MISSED'}  --${plant.by}, ${plant.name}: ${plant.what}; ended with ${code} after ${sec} s`);
    if (line !== '') console.log(`        ${line.trim().slice(0, 200)}`);
  }
  return missed;
}

/** @returns the exit code, and the first line that says what it must */
async function runWith({ by, edits, says }: Plant, seed: number): Promise<{ code: number | null; line: string }> {
  const copy = mkdtempSync(join(tmpdir(), 'biosignal-planted-'));
  try {
    copyCheckout(copy);
    plantIn(copy, edits);
    const args = [`--${by}`, '--minutes', '0', '--seed', String(seed), '--size', sizes[by], '--keep-going', '--out', join(copy, 'out')];
    const flags = ['--disable-warning=ExperimentalWarning', join(copy, 'faults/fuzz/run.ts')];
    const child = spawn(process.execPath, [...flags, ...args], { cwd: copy, stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    let found = '';
    for await (const line of createInterface({ input: child.stdout })) if (found === '' && says.test(line)) found = line;
    return { code: await ended, line: found };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
