/** Samples: so many mutants of a folder, drawn by the hash of a seed and of each mutant's own text. A larger sample therefore holds a
 *  smaller one, a change of one file draws the others' mutants again, and a file may move. A score is stated with its interval. */
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { named } from './mutants.ts';
import type { Mutant } from './mutants.ts';
import { hashOf, readResult, summarize } from './results.ts';
import type { Accepted, Result, Summary } from './results.ts';

const folder = '.cache/mutation/samples';

/** @param name folder, file or pattern @param total how many mutants its files have */
export type Sample = Readonly<{ name: string; seed: number; total: number; drawn: readonly Readonly<{ file: string; key: string }>[] }>;

/** @param mutantsByFile all the mutants of the files that `name` stands for */
export function draw(name: string, mutantsByFile: ReadonlyMap<string, readonly Mutant[]>, count: number, seed: number): Sample {
  const ranked = [...mutantsByFile].flatMap(([file, mutants]) =>
    named(mutants).map(({ key }) => ({ file, key, rank: hashOf(String(seed), basename(file), key) })),
  );
  const first = ranked.toSorted((a, b) => (a.rank < b.rank ? -1 : 1)).slice(0, count);
  return { name, seed, total: ranked.length, drawn: first.map(({ file, key }) => ({ file, key })) };
}

/** 95 % interval of a share that was seen as `found` of `n` (Wilson 1927, doi:10.1080/01621459.1927.10502953). */
export function wilson(found: number, n: number): readonly [low: number, high: number] {
  if (n === 0) return [0, 1];
  const z = 1.959964;
  const p = found / n;
  const center = (p + (z * z) / (2 * n)) / (1 + (z * z) / n);
  const half = (z / (1 + (z * z) / n)) * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n));
  return [Math.max(0, center - half), Math.min(1, center + half)];
}

/** A line of the table of samples. Mutants of the sample without a result (the run was stopped, the file changed) do not count. */
export function sampleLine(sample: Sample, accepted: readonly Accepted[], resultOf = readResult): string {
  const summaries = [...Map.groupBy(sample.drawn, ({ file }) => file)].flatMap(([file, drawn]) => {
    const result = resultOf(file);
    const isDrawn = ({ key }: Result): boolean => drawn.some((one) => one.key === key);
    return result === null ? [] : [summarize({ ...result, complete: false, results: result.results.filter(isDrawn) }, accepted)];
  });
  const sum = (count: (summary: Summary) => number): number => summaries.reduce((all, summary) => all + count(summary), 0);
  const n = sum(({ total }) => total);
  const found = sum((summary) => summary.found);
  const percent = (share: number): string => (100 * share).toFixed(0);
  const score = n === 0 ? '-' : `${percent(found / n)} % (${wilson(found, n).map(percent).join(' to ')} %)`;
  return `| \`${sample.name}\` | ${sample.seed} | ${n} of ${sample.total} | ${found} | ${score} | ${sum((summary) => summary.accepted.length)} | ${sum(({ fresh }) => fresh.length)} |`;
}

export const sampleHead = '| sample of | seed | changes | found | score (95 %) | accepted | new |\n|---|---|---|---|---|---|---|';

export function writeSample(sample: Sample): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${sample.name.replaceAll(/[/*]/g, '_')}-${sample.seed}.json`), JSON.stringify(sample));
}

export function readSamples(): readonly Sample[] {
  if (!existsSync(folder)) return [];
  return globSync(join(folder, '*.json'))
    .toSorted()
    .map((path) => JSON.parse(readFileSync(path, 'utf8')) as Sample);
}
