/** `npm run histories -- --planted [NAME …]`: takes each fix out of a copy of the checkout, plays histories there until one fails
 *  because of it, and prints a row of the table in docs/histories.md. An untouched copy comes first and must play one history cleanly. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { copyCheckout, plantIn } from '../../scripts/planted/checkout.ts';
import { FIRST_SEED, fixes } from './fixes.ts';
import type { Fix } from './fixes.ts';

/** `by`: the complaint that the missing fix causes; `others`: how many histories failed for other reasons. */
type Found = Readonly<{ plays: number; sec: number; by: string | null; others: number }>;

/** @param names of fixes; empty: all of them
 *  @param seed of the first history; undefined: the fix's own
 *  @param options of `npm run histories`, e.g. --count, --only
 *  @returns whether every missing fix was noticed */
export async function runPlanted(names: readonly string[], seed: string | undefined, options: readonly string[]): Promise<boolean> {
  const nothing = { name: 'nothing', edits: [], says: /./ };
  const untouched = await playWithout(nothing, ['--seed', String(FIRST_SEED), ...options, '--count', '1']);
  if (untouched.by !== null || untouched.plays !== 1)
    throw new Error(`a copy without a fault fails: ${untouched.by ?? 'it plays nothing'}`);
  const rows: string[] = [];
  let isAllFound = true;
  for (const fix of fixes) {
    if (names.length > 0 && !names.includes(fix.name)) continue;
    const { plays, sec, by, others } = await playWithout(fix, ['--seed', seed ?? String(fix.seed ?? FIRST_SEED), ...options]);
    isAllFound &&= by !== null;
    const found = `${by === null ? `**not in ${plays}**` : plays}${others === 0 ? '' : `; ${others} failed otherwise`}`;
    const row = `| ${fix.name} | ${fix.what} | ${found} | ${sec.toFixed(0)} | ${by ?? ''} |`;
    console.log(row);
    rows.push(row);
  }
  console.log(`\n${['| name | fix taken out | histories until found | seconds | by |', '|---|---|---|---|---|', ...rows].join('\n')}`);
  return isAllFound;
}

async function playWithout({ name, edits, says }: Pick<Fix, 'name' | 'edits' | 'says'>, options: readonly string[]): Promise<Found> {
  const copy = mkdtempSync(join(tmpdir(), 'biosignal-planted-'));
  try {
    copyCheckout(copy);
    plantIn(copy, edits);
    console.log(edits.length === 0 ? 'untouched copy:' : `without ${name}:`);
    return await playIn(copy, says, options);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

async function playIn(copy: string, says: RegExp, options: readonly string[]): Promise<Found> {
  const flags = [
    '--disable-warning=ExperimentalWarning',
    join(copy, 'histories/run.ts'),
    '--no-shrink',
    '--until',
    says.source,
    ...options,
  ];
  const child = spawn(process.execPath, flags, { cwd: copy, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  let plays = 0;
  let sec = 0;
  let by: string | null = null;
  let failed = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    console.log(`  ${line}`);
    const played = /^seed .*, ([\d.]+) s {2}(ok|FAILED)/.exec(line);
    if (played !== null) {
      plays++;
      sec += Number(played[1]);
      if (played[2] === 'FAILED') failed++;
    }
    by ??= /^ {2}FOUND (.*)$/.exec(line)?.[1]?.slice(0, 160).replaceAll('|', '/') ?? null;
  }
  const code = await ended;
  if (code !== 0 && failed === 0) console.log(`  it could not play: it ended with ${code}`);
  return { plays, sec, by, others: by === null ? failed : failed - 1 };
}
