/** `npm run histories -- --planted [NAME …]`: takes each mend out of a copy of the checkout, plays histories there until one fails, and
 *  prints a row of the table of docs/histories.md. A copy without a fault comes first, and must play one history well. */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { planted } from '../../scripts/planted/edit.ts';
import type { Edit } from '../../scripts/planted/edit.ts';
import { FIRST_SEED, mends } from './mends.ts';
import type { Mend } from './mends.ts';

const root = join(import.meta.dirname, '..', '..');
/** Folders that a history needs. */
const parts = ['src', 'sql', 'proto', 'sdk', 'widgets', 'dashboard', 'faults', 'histories', 'scripts', 'package.json', 'package-lock.json'];

type Found = Readonly<{ plays: number; sec: number; by: string | null }>;

/** @param names which; empty: all  @param seed of the first history; undefined: the mend's own  @param options of `npm run histories`, e.g.
 *  --count, --only  @returns were they all found? */
export async function runPlanted(names: readonly string[], seed: string | undefined, options: readonly string[]): Promise<boolean> {
  const untouched = await playWithout({ name: 'nothing', edits: [] }, ['--seed', String(FIRST_SEED), ...options, '--count', '1']);
  if (untouched.by !== null || untouched.plays !== 1) throw new Error(`a copy without a fault fails: ${untouched.by}`);
  const rows: string[] = [];
  let isAllFound = true;
  for (const mend of mends) {
    if (names.length > 0 && !names.includes(mend.name)) continue;
    const { plays, sec, by } = await playWithout(mend, ['--seed', seed ?? String(mend.seed ?? FIRST_SEED), ...options]);
    isAllFound &&= by !== null;
    const row = `| ${mend.name} | ${mend.what} | ${by === null ? `not in ${plays}` : plays} | ${sec.toFixed(0)} | ${by ?? ''} |`;
    console.log(row);
    rows.push(row);
  }
  console.log(`\n${['| name | mend taken out | histories until found | seconds | by |', '|---|---|---|---|---|', ...rows].join('\n')}`);
  return isAllFound;
}

async function playWithout(mend: Pick<Mend, 'name' | 'edits'>, options: readonly string[]): Promise<Found> {
  const copy = copyWithout(mend.edits);
  try {
    console.log(`without ${mend.name}:`);
    return await playIn(copy, options);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** The checkout itself is left as it is. @param more folders @returns the folder of the copy */
export function copyWithout(edits: readonly Edit[], more: readonly string[] = []): string {
  const copy = mkdtempSync(join(tmpdir(), 'biosignal-planted-'));
  for (const part of [...parts, ...more]) cpSync(join(root, part), join(copy, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  for (const edit of edits) {
    const path = join(copy, edit.file);
    writeFileSync(path, planted(readFileSync(path, 'utf8'), edit));
  }
  return copy;
}

/** The first sentence about what is wrong: of `verify` not its numbers. */
function complaintOf(line: string): string | null {
  const text = /^ {2}(?:(?!samples: verify)\w+: |FAULT )(.*)$/.exec(line)?.[1];
  return text?.slice(0, 160).replaceAll('|', '/') ?? null;
}

async function playIn(copy: string, options: readonly string[]): Promise<Found> {
  const flags = ['--disable-warning=ExperimentalWarning', join(copy, 'histories/run.ts'), '--no-shrink', ...options];
  const child = spawn(process.execPath, flags, { cwd: copy, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const startedMs = performance.now();
  let plays = 0;
  let sec = 0;
  let by: string | null = null;
  for await (const line of createInterface({ input: child.stdout })) {
    console.log(`  ${line}`);
    const played = /^seed .*, ([\d.]+) s {2}(ok|FAILED)/.exec(line);
    if (played !== null) {
      plays++;
      sec += Number(played[1]);
    }
    by ??= complaintOf(line);
  }
  const code = await ended;
  // It could not even begin, or go on: that is found, too.
  if (code !== 0 && by === null) return { plays: plays + 1, sec: (performance.now() - startedMs) / 1000, by: `ended with ${code}` };
  return { plays, sec, by };
}
