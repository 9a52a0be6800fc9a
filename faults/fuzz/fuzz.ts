/** Feeds mutated inputs to the decoders and looks for what must not be: an unclean error, a stall, memory out of proportion. */
import type { Random } from '../../src/cli/simulator/random.ts';
import { mutate } from './mutate.ts';
import type { Target } from './targets.ts';

/** One input may take this long, ms; by the processor's time where the wall clock says more. */
export const STALL_MS = 50;

export type Finding = Readonly<{ target: string; what: string; inputBase64: string }>;
export type TargetCounts = { name: string; mutations: number; accepted: number; refused: number; slowestMs: number };
export type FuzzResult = Readonly<{ counts: readonly TargetCounts[]; findings: readonly Finding[]; rssMiBMax: number }>;

export type FuzzOptions = Readonly<{
  /** Mutations in all, shared out by the targets' shares. */
  count: number;
  random: Random;
  onProgress?: (counts: TargetCounts) => void;
}>;

export async function fuzz(targets: readonly Target[], options: FuzzOptions): Promise<FuzzResult> {
  const shares = targets.reduce((sum, target) => sum + target.share, 0);
  const counts: TargetCounts[] = [];
  const findings: Finding[] = [];
  let rssMiBMax = 0;
  for (const target of targets) {
    const mutations = Math.ceil((options.count * target.share) / shares);
    const row = { name: target.name, mutations, accepted: 0, refused: 0, slowestMs: 0 };
    for (const seed of target.seeds)
      if ((await target.run(seed)) !== 'accepted' && target.name !== 'gzip')
        findings.push(findingOf(target, 'a valid input was refused', seed));
    for (let i = 0; i < mutations; i++) {
      const bytes = mutate(target.seeds[i % target.seeds.length]!, target.seeds[(i * 7 + 3) % target.seeds.length]!, options.random);
      const problem = await tryOne(target, bytes, row);
      if (problem !== null) findings.push(findingOf(target, problem, bytes));
      if (findings.length >= 20) return { counts: [...counts, row], findings, rssMiBMax };
      if (i % 65_536 === 0) rssMiBMax = Math.max(rssMiBMax, process.memoryUsage.rss() / 2 ** 20);
    }
    counts.push(row);
    options.onProgress?.(row);
  }
  return { counts, findings, rssMiBMax };
}

/** @returns what was wrong, or null */
async function tryOne(target: Target, bytes: Uint8Array, row: TargetCounts): Promise<string | null> {
  const ms = await timeOf(target, bytes, row);
  if (typeof ms === 'string') return ms;
  if (ms <= STALL_MS) {
    if (ms > row.slowestMs) row.slowestMs = ms;
    return null;
  }
  // The machine may have looked away: an input that stalls needs the processor that long every time.
  let least = Infinity;
  for (let again = 0; again < 4; again++) {
    const before = process.cpuUsage();
    await timeOf(target, bytes, { ...row });
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  if (least > row.slowestMs) row.slowestMs = least;
  return least > STALL_MS ? `took ${Math.round(least)} ms of the processor` : null;
}

async function timeOf(target: Target, bytes: Uint8Array, row: TargetCounts): Promise<number | string> {
  const started = performance.now();
  try {
    const outcome = target.run(bytes);
    row[outcome instanceof Promise ? await outcome : outcome]++;
  } catch (error) {
    return `threw ${error instanceof Error ? (error.stack ?? error.message).split('\n').slice(0, 3).join(' ') : String(error)}`;
  }
  return performance.now() - started;
}

function findingOf(target: Target, what: string, bytes: Uint8Array): Finding {
  return { target: target.name, what, inputBase64: Buffer.from(bytes).toString('base64') };
}
