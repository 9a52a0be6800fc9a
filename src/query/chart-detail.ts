/** Detail behind a chart's numbers: how many values a bucket has, how many of them are good, and its extremes; and the same for the whole
 *  range, computed from values rather than bucket numbers, so that it is the same at every resolution. */
import type { QualityFlag } from '../signal.ts';
import { classes, extremesOf, type BucketRow, type Class, type Column } from './chart-cells.ts';

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
  const which = flag === null ? null : classes[flag];
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
  return {
    n,
    goodN,
    expectedN,
    flag,
    min,
    max,
    mean: sums.length === 0 ? null : add(sums) / [goodN, suspectN, valueN][flag!]!,
    suspect:
      suspectMin === null ? null : { n: suspectN, min: suspectMin, max: suspectMax!, mean: add(numbers('suspect', 'sum')) / suspectN },
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
