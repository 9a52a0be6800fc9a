/** Detail behind a chart's numbers: how many values a bucket has, how many of them are good, and its extremes; and the same for the whole
 *  range, computed from values rather than bucket numbers, so that it is the same at every resolution. */
import { meanOf, sumOf } from '../signal.ts';
import type { QualityFlag } from '../signal.ts';
import { classes, extremesOf, flagOf, type BucketRow, type Class, type Column } from './chart-cells.ts';

/** Min, max and mean cover the good values of a range, however few; if there are none, the suspect ones; then all, as far as qualityMax
 *  admits them. */
export type Totals = Readonly<{
  n: number;
  goodN: number;
  /** How many values the method yields in the range, up to now; null: unknown. */
  expectedN: number | null;
  /** Of the range, as of any bucket (flagOf): how much of it the numbers speak for, not what they are made of; null: nothing there. */
  flag: QualityFlag | null;
  min: number | null;
  max: number | null;
  mean: number | null;
  /** Of the suspect values alone, which say what the good ones leave out; null: there are none, or qualityMax admits none. */
  suspect: Readonly<{ n: number; min: number; max: number; mean: number }> | null;
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

/** Totals of a column except its first and last value, which rollups only know per bucket.  @param perUnit see meanOf */
export function totalsOf(column: Column, qualityMax: QualityFlag, perUnit: number | null): Omit<Totals, 'expectedN' | 'first' | 'last'> {
  const rows = [...column.values()].flatMap(({ row }) => (row === undefined ? [] : [row]));
  const count = (of: (row: BucketRow) => number): number => rows.reduce((sum, row) => sum + of(row), 0);
  const [n, goodN, suspectN, valueN] = [
    count((row) => row.n),
    count((row) => row.good_n),
    count((row) => row.suspect_n),
    count((row) => row.value_n),
  ];
  const best = goodN > 0 ? 0 : suspectN > 0 && qualityMax > 0 ? 1 : valueN > 0 && qualityMax === 2 ? 2 : null;
  const which = best === null ? null : classes[best];
  const numbers = (of: Class | null, what: 'min' | 'max' | 'sum'): number[] =>
    of === null ? [] : rows.map((row) => row[`${of}_${what}`]).filter((value) => value !== null && value !== undefined);
  const extremes = (of: Class | null): readonly [number | null, number | null] => {
    const [least, greatest] = [numbers(of, 'min'), numbers(of, 'max')];
    return [least.length === 0 ? null : Math.min(...least), greatest.length === 0 ? null : Math.max(...greatest)];
  };
  const sums = numbers(which, 'sum');
  const admitted = qualityMax === 2 ? numbers('every', 'sum') : [...numbers('good', 'sum'), ...numbers('suspect', 'sum')];
  const [min, max] = extremes(which);
  const [suspectMin, suspectMax] = extremes(qualityMax === 0 ? null : 'suspect');
  const admittedN = qualityMax === 0 ? goodN : qualityMax === 1 ? goodN + suspectN : valueN;
  const usedN = best === null ? 0 : [goodN, suspectN, valueN][best]!;
  const ofSuspect = (): number => meanOf(sumOf(numbers('suspect', 'sum'), suspectN, perUnit), suspectN, perUnit);
  return {
    n,
    goodN,
    flag: n === 0 ? null : flagOf({ n, good_n: goodN, suspect_n: suspectN }),
    min,
    max,
    mean: sums.length === 0 ? null : meanOf(sumOf(sums, usedN, perUnit), usedN, perUnit),
    suspect: suspectMin === null ? null : { n: suspectN, min: suspectMin, max: suspectMax!, mean: ofSuspect() },
    sum: admitted.length === 0 ? null : sumOf(admitted, admittedN, perUnit),
  };
}

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
