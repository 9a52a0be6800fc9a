/** Detail behind a chart's numbers: how many values a bucket has, how many of them are good, and its extremes; and the same for the whole
 *  range, computed from values rather than bucket numbers, so that it is the same at every resolution. */
import type { QualityFlag } from '../signal.ts';
import { extremesOf, type BucketRow, type Column } from './chart-cells.ts';

/** Min, max and mean cover the good values of a range; if there are none, the suspect ones; then all, as far as qualityMax admits them. */
export type Totals = Readonly<{
  n: number;
  goodN: number;
  /** How many values the method yields in the range, up to now; null: unknown. */
  expectedN: number | null;
  /** Flag of the values behind min, max and mean; null: there are none. */
  flag: QualityFlag | null;
  min: number | null;
  max: number | null;
  mean: number | null;
  /** First and last good value; null: there is none. */
  first: number | null;
  last: number | null;
  /** Over all values that qualityMax admits. */
  sum: number | null;
}>;

/** Rows parallel to those of the chart; null: no values. */
export type ChartDetail = {
  n: (number | null)[][];
  goodN: (number | null)[][];
  expectedN: (number | null)[][];
  min: (number | null)[][];
  max: (number | null)[][];
  /** One for each column. */
  totals: Totals[];
};

/** How many values are due between two times, Unix ms; future ones are not. */
export function expectedIn(cadenceHz: number | null, fromMs: number, toMs: number, nowMs: number): number | null {
  return cadenceHz === null ? null : Math.round((Math.max(0, Math.min(toMs, nowMs) - fromMs) / 1000) * cadenceHz);
}

/** Totals of a column except its first and last value, which rollups only know per bucket. */
export function totalsOf(column: Column, qualityMax: QualityFlag, expectedN: number | null): Omit<Totals, 'first' | 'last'> {
  const rows = [...column.values()].flatMap(({ row }) => (row === undefined ? [] : [row]));
  const count = (of: (row: BucketRow) => number): number => rows.reduce((sum, row) => sum + of(row), 0);
  const [n, goodN, suspectN, valueN] = [
    count((row) => row.n),
    count((row) => row.good_n),
    count((row) => row.suspect_n),
    count((row) => row.value_n),
  ];
  const flag = goodN > 0 ? 0 : suspectN > 0 && qualityMax > 0 ? 1 : valueN > 0 && qualityMax === 2 ? 2 : null;
  const which = flag === null ? null : (['good', 'suspect', 'every'] as const)[flag];
  const numbers = (of: (row: BucketRow) => number | null | undefined): number[] =>
    rows.map(of).filter((value) => value !== null && value !== undefined);
  const sums = which === null ? [] : numbers((row) => row[`${which}_sum`]);
  const admitted =
    qualityMax === 2 ? numbers((row) => row.every_sum) : numbers((row) => row.good_sum).concat(numbers((row) => row.suspect_sum));
  const least = which === null ? [] : numbers((row) => row[`${which}_min`]);
  const greatest = which === null ? [] : numbers((row) => row[`${which}_max`]);
  return {
    n,
    goodN,
    expectedN,
    flag,
    min: least.length === 0 ? null : Math.min(...least),
    max: greatest.length === 0 ? null : Math.max(...greatest),
    mean: sums.length === 0 ? null : add(sums) / [goodN, suspectN, valueN][flag!]!,
    sum: admitted.length === 0 ? null : add(admitted),
  };
}

const add = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

/** Adds the row of a bucket. @param row undefined: the bucket has no values */
export function pushDetail(
  detail: ChartDetail,
  rows: readonly (BucketRow | undefined)[],
  expected: readonly (number | null)[],
  qualityMax: QualityFlag,
): void {
  const extremes = rows.map((row) => (row === undefined ? ([null, null] as const) : extremesOf(row, qualityMax)));
  detail.n.push(rows.map((row) => row?.n ?? null));
  detail.goodN.push(rows.map((row) => row?.good_n ?? null));
  detail.expectedN.push([...expected]);
  detail.min.push(extremes.map(([min]) => min));
  detail.max.push(extremes.map(([, max]) => max));
}
