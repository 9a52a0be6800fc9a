/** Aggregates of a bucket as columns of SQL, and the number and flag shown for it. */
import { meanOf, sumOf } from '../signal.ts';
import type { QualityFlag } from '../signal.ts';
import type { ChartAggregate } from './chart.ts';

/** Values by their flag: 0, 1, or any. */
export type Class = 'good' | 'suspect' | 'every';

/** Holds only the aggregates that the query needs: all of them, for 1,440 minutes, take three times as long. With `detail`, also the
 *  extremes and sums of each class. */
export type BucketRow = {
  ms: number;
  /** Values expected, values present, and how many of those are good and suspect. */
  n: number;
  value_n: number;
  good_n: number;
  suspect_n: number;
} & { [column in Class | `${Class}_${'min' | 'max' | 'sum'}`]?: number | null };

export type Cell = Readonly<{
  value: number | null;
  flag: QualityFlag;
  /** The aggregates behind it; with `detail`. */
  row?: BucketRow;
}>;
/** Cells of one column by the start of their bucket, Unix ms. */
export type Column = Map<number, Cell>;

/** Aggregates of a bucket of measurements as columns of SQL.  @param detail also what chart-detail.ts needs */
export function bucketSums(aggregate: ChartAggregate, qualityMax: QualityFlag, detail: boolean): string {
  const columns = [rawCounts];
  if (aggregate !== 'count')
    for (const which of classesOf(aggregate, qualityMax)) columns.push(`${rawAggregate(aggregate, which)} as ${which}`);
  if (detail)
    for (const what of ['min', 'max', 'sum'] as const)
      for (const which of classesOf('mean', qualityMax)) columns.push(`${rawAggregate(what, which)} as ${which}_${what}`);
  return columns.join(', ');
}

export const classes = ['good', 'suspect', 'every'] as const satisfies readonly Class[];

/** Summing `numeric` is expensive: only the classes that cellOf uses. */
function classesOf(aggregate: ChartAggregate, qualityMax: QualityFlag): readonly Class[] {
  return aggregate === 'sum' && qualityMax === 2 ? ['every'] : classes.slice(0, qualityMax + 1);
}

const rawCounts = `count(*)::float8 as n, count(value)::float8 as value_n, count(value) filter (where qmask = 0)::float8 as good_n, count(value) filter (where qmask = 1)::float8 as suspect_n`;

const first = (column: string, by: string, where: string): string => `(array_agg(${column} order by ${by}) filter (where ${where}))[1]`;

/** Converts a `numeric` sum to float8; a sum out of range would otherwise be a database error. An empty sum is null, which `least` and
 *  `greatest` would ignore. */
const finite = (sum: string): string =>
  `case when ${sum} is not null then least(greatest(${sum}, -${Number.MAX_VALUE}), ${Number.MAX_VALUE})::float8 end`;

const rawClass = {
  good: 'qmask = 0 and value is not null',
  suspect: 'qmask = 1 and value is not null',
  every: 'value is not null',
} as const;

function rawAggregate(aggregate: ChartAggregate, which: Class): string {
  const where = rawClass[which];
  switch (aggregate) {
    case 'mean':
    case 'sum':
      return finite(`sum(value::numeric) filter (where ${where})`);
    case 'min':
    case 'max':
      return `${aggregate}(value) filter (where ${where})`;
    case 'first':
    case 'last':
      return first('value', aggregate === 'first' ? 'time' : 'time desc', where);
    case 'count':
      return 'null::float8';
    default:
      return never(aggregate);
  }
}

function never(value: never): never {
  throw new TypeError(String(value));
}

/** The flag of a stretch of time, be it a bucket, a minute, an hour, a day or a whole range: 0 when at least half of its values are good, 1
 *  when at least half are good or suspect, else 2. */
export function flagOf({ n, good_n: good, suspect_n: suspect }: Pick<BucketRow, 'n' | 'good_n' | 'suspect_n'>): QualityFlag {
  return good * 2 >= n ? 0 : (good + suspect) * 2 >= n ? 1 : 2;
}

/** flagOf as SQL.  @param row alias of a row with n, good_n and suspect_n */
export const flagInSql = (row: string): string =>
  `case when ${row}.good_n * 2 >= ${row}.n then 0 when (${row}.good_n + ${row}.suspect_n) * 2 >= ${row}.n then 1 else 2 end`;

/** The number of a bucket and its flag. A good bucket's number comes from its good values only, a suspect one's from its good and suspect
 *  values, a bad one's from all: a bucket has one number, and qualityMax only decides whether it is shown. Sums and counts cover the values
 *  that qualityMax admits, so that steps walked in a suspect minute count at every zoom or at none.
 *  @param perUnit of the method, see meanOf */
export function cellOf(row: Omit<BucketRow, 'ms'>, aggregate: ChartAggregate, qualityMax: QualityFlag, perUnit: number | null): Cell {
  const flag = flagOf(row);
  const admitted = qualityMax === 0 ? row.good_n : qualityMax === 1 ? row.good_n + row.suspect_n : row.value_n;
  if (aggregate === 'count') return { value: admitted, flag };
  if (admitted === 0 || flag > qualityMax) return { value: null, flag };
  const { good = null, suspect = null, every = null } = row;
  if (aggregate === 'sum') {
    const sum = qualityMax === 2 ? every : join('sum', good, suspect);
    return { value: sum === null ? null : sumOf([sum], admitted, perUnit), flag };
  }
  const value = flag === 0 ? good : flag === 1 ? join(aggregate, good, suspect) : every;
  if (aggregate !== 'mean' || value === null) return { value, flag };
  return { value: meanOf(value, [row.good_n, row.good_n + row.suspect_n, row.value_n][flag]!, perUnit), flag };
}

/** Combines the number of the good values with that of the suspect ones. */
function join(aggregate: Exclude<ChartAggregate, 'count'>, good: number | null, suspect: number | null): number | null {
  if (good === null || suspect === null) return good ?? suspect;
  switch (aggregate) {
    case 'mean':
    case 'sum':
      return good + suspect;
    case 'min':
      return Math.min(good, suspect);
    case 'max':
      return Math.max(good, suspect);
    case 'first':
    case 'last':
      return good;
    default:
      return never(aggregate);
  }
}

/** Least and greatest of the values behind a bucket's number; where the number is not shown, of its good values, if any. */
export function extremesOf(row: BucketRow, qualityMax: QualityFlag): readonly [min: number | null, max: number | null] {
  const flag = flagOf(row);
  if (flag === 1 && qualityMax > 0)
    return [join('min', row.good_min ?? null, row.suspect_min ?? null), join('max', row.good_max ?? null, row.suspect_max ?? null)];
  return flag === 2 && qualityMax === 2 ? [row.every_min ?? null, row.every_max ?? null] : [row.good_min ?? null, row.good_max ?? null];
}
