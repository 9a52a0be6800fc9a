/** Dependence of a gross figure on the choice of recordings, by resampling them. */
import { f1 } from './match-beats.ts';
import type { Counts } from './match-beats.ts';

const DRAWS = 10_000;

/** F1 with one recording left out (lowest and highest), and of as many recordings drawn with replacement: 16th and 84th percentile, per
 *  cent. Seeded. */
export function f1Spread(records: readonly Counts[]): { leftOut: [number, number]; drawn: [number, number] } {
  const sum = (counts: readonly Counts[]): Counts =>
    counts.reduce((a, b) => ({ tp: a.tp + b.tp, fp: a.fp + b.fp, fn: a.fn + b.fn }), { tp: 0, fp: 0, fn: 0 });
  const leftOut = records.map((_, i) => f1(sum(records.filter((_other, j) => j !== i)))).toSorted((a, b) => a - b);
  let seed = 1;
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  const drawn = Array.from({ length: DRAWS }, () =>
    f1(sum(Array.from({ length: records.length }, () => records[Math.floor(random() * records.length)]!))),
  ).toSorted((a, b) => a - b);
  return {
    leftOut: [leftOut[0]!, leftOut[leftOut.length - 1]!],
    drawn: [drawn[Math.floor(0.16 * DRAWS)]!, drawn[Math.floor(0.84 * DRAWS)]!],
  };
}
