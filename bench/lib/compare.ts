/** Two runs of the benches side by side. */
import type { BenchRun } from './page.ts';
import { figure, type BenchResult } from './result.ts';

/** A change within the spread of either run, or below this share without one, is noise. */
const NOISE = 0.05;

/** A table of text: every figure that both runs have, before and after, and what became better or worse. */
export function compareRuns(a: BenchRun, b: BenchRun): string {
  const before = flatten(a);
  const lines = [`A ${a.commit} ${a.startedAt}`, `B ${b.commit} ${b.startedAt}`, ''];
  if (a.machine.cpu !== b.machine.cpu || a.machine.cores !== b.machine.cores) {
    lines.push(`different machines: ${a.machine.cores} x ${a.machine.cpu} and ${b.machine.cores} x ${b.machine.cpu}`, '');
  }
  for (const [key, after] of flatten(b)) {
    const was = before.get(key);
    if (was === undefined) continue;
    const change = after.value / was.value - 1;
    lines.push(
      `${key.padEnd(72)} ${figure(was.value).padStart(10)} ${figure(after.value).padStart(10)} ${after.unit.padEnd(14)}` +
        `${`${change >= 0 ? '+' : ''}${(change * 100).toFixed(1)} %`.padStart(9)}  ${verdict(was, after)}`,
    );
  }
  const only = (run: BenchRun, other: ReadonlyMap<string, BenchResult>): string[] =>
    [...flatten(run).keys()].filter((key) => !other.has(key));
  for (const key of only(a, flatten(b))) lines.push(`only in A: ${key}`);
  for (const key of only(b, before)) lines.push(`only in B: ${key}`);
  return lines.join('\n');
}

function verdict(was: BenchResult, after: BenchResult): string {
  if (within(after.value, was.spread) || within(was.value, after.spread)) return 'the same (within the spread)';
  if (Math.abs(after.value / was.value - 1) < NOISE) return 'the same';
  return after.value > was.value === (after.better === 'higher') ? 'BETTER' : 'WORSE';
}

function within(value: number, spread: readonly [number, number] | undefined): boolean {
  return spread !== undefined && value >= spread[0] && value <= spread[1];
}

function flatten(run: BenchRun): Map<string, BenchResult> {
  return new Map(
    run.benches.flatMap(({ file, results }) => results.map((result) => [`${file.replace('.bench.ts', '')}: ${result.name}`, result])),
  );
}
