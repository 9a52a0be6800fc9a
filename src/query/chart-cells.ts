/** What the values of a bucket come to: its aggregates as columns of SQL, and the number and flag that are shown of them. */
import type { QualityFlag } from '../signal.ts';
import type { ChartAggregate } from './chart.ts';

/** Values by their flag: 0, 1, or whatever it is. */
type Class = 'good' | 'suspect' | 'every';

/** Only the aggregates that the question needs are there: all of them for 1,440 minutes take three times as long. Of `detail` are the extremes
 *  and sums of each class. */
export type BucketRow = {
  ms: number;
  /** Values that should be there, that are, and how many of them are good and suspect. */
  n: number;
  value_n: number;
  good_n: number;
  suspect_n: number;
} & { [column in Class | `${Class}_${'min' | 'max' | 'sum'}`]?: number | null };

export type Cell = Readonly<{
  value: number | null;
  flag: QualityFlag;
  /** What it is made of; with `detail`. */
  row?: BucketRow;
}>;
/** Cells of one column by the start of their bucket, Unix ms. */
export type Column = Map<number, Cell>;

/** Sums of a bucket as columns of SQL. @param relation of raw values, or of a rollup @param detail also what chart-detail.ts needs */
export function bucketSums(relation: 'raw' | 'rollup', aggregate: ChartAggregate, qualityMax: QualityFlag, detail: boolean): string {
  const of = relation === 'raw' ? rawAggregate : rollupAggregate;
  const columns = [relation === 'raw' ? rawCounts : rollupCounts];
  if (aggregate !== 'count') for (const which of classesOf(aggregate, qualityMax)) columns.push(`${of(aggregate, which)} as ${which}`);
  if (detail)
    for (const what of ['min', 'max', 'sum'] as const)
      for (const which of classesOf('mean', qualityMax)) columns.push(`${of(what, which)} as ${which}_${what}`);
  return columns.join(', ');
}

const classes: readonly Class[] = ['good', 'suspect', 'every'];

/** Sums of exact numbers are expensive: only those that cellOf looks at. */
function classesOf(aggregate: ChartAggregate, qualityMax: QualityFlag): readonly Class[] {
  return aggregate === 'sum' && qualityMax === 2 ? ['every'] : classes.slice(0, qualityMax + 1);
}

const rawCounts = `count(*)::float8 as n, count(value)::float8 as value_n, count(value) filter (where qmask = 0)::float8 as good_n, count(value) filter (where qmask = 1)::float8 as suspect_n`;
const rollupCounts =
  'sum(n)::float8 as n, sum(value_n)::float8 as value_n, sum(good_n)::float8 as good_n, sum(suspect_n)::float8 as suspect_n';

const first = (column: string, by: string, where: string): string => `(array_agg(${column} order by ${by}) filter (where ${where}))[1]`;

/** A sum of exact numbers as float8: one beyond its range is an error of the database otherwise. Of nothing it is null, which least and greatest
 *  would pass over. */
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

/** The same from rows of a rollup, which has no first and last of suspect values alone. */
function rollupAggregate(aggregate: ChartAggregate, which: Class): string {
  const column = (name: string): string => (which === 'every' ? name : `${which}_${name}`);
  switch (aggregate) {
    case 'mean':
    case 'sum':
      return finite(`sum(${column('sum')})`);
    case 'min':
    case 'max':
      return `${aggregate}(${column(aggregate)})`;
    case 'first':
    case 'last': {
      if (which === 'suspect') return 'null::float8';
      const name = column(aggregate);
      return first(name, aggregate === 'first' ? 'bucket' : 'bucket desc', `${name} is not null`);
    }
    case 'count':
      return 'null::float8';
    default:
      return never(aggregate);
  }
}

function never(value: never): never {
  throw new TypeError(String(value));
}

/** The flag of a bucket: 0 when at least half of what should be there is good, 1 when at least half is good or suspect, else 2. */
export function flagOf({ n, good_n: good, suspect_n: suspect }: Pick<BucketRow, 'n' | 'good_n' | 'suspect_n'>): QualityFlag {
  return good * 2 >= n ? 0 : (good + suspect) * 2 >= n ? 1 : 2;
}

/** The number of a bucket and its flag. A good bucket's number is made of its good values alone, a suspect one's of its good and suspect ones, a
 *  bad one's of all: whatever qualityMax asks for, a bucket has one number, and qualityMax says whether it is shown. Sums and counts are of the
 *  values that qualityMax admits: what was walked in a suspect minute counts at every zoom or at none. */
export function cellOf(row: Omit<BucketRow, 'ms'>, aggregate: ChartAggregate, qualityMax: QualityFlag): Cell {
  const flag = flagOf(row);
  const admitted = qualityMax === 0 ? row.good_n : qualityMax === 1 ? row.good_n + row.suspect_n : row.value_n;
  if (aggregate === 'count') return { value: admitted, flag };
  if (admitted === 0 || flag > qualityMax) return { value: null, flag };
  const { good = null, suspect = null, every = null } = row;
  if (aggregate === 'sum') return { value: qualityMax === 2 ? every : join('sum', good, suspect), flag };
  if (flag === 2) return { value: aggregate === 'mean' && every !== null ? every / row.value_n : every, flag };
  const value = flag === 0 ? good : join(aggregate, good, suspect);
  return { value: aggregate === 'mean' && value !== null ? value / (flag === 0 ? row.good_n : row.good_n + row.suspect_n) : value, flag };
}

/** One number from that of the good values and that of the suspect ones. */
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

/** Least and greatest of the values that a bucket's number is made of; of its good ones, if it has any, where the number is not shown. */
export function extremesOf(row: BucketRow, qualityMax: QualityFlag): readonly [min: number | null, max: number | null] {
  const flag = flagOf(row);
  if (flag === 1 && qualityMax > 0)
    return [join('min', row.good_min ?? null, row.suspect_min ?? null), join('max', row.good_max ?? null, row.suspect_max ?? null)];
  return flag === 2 && qualityMax === 2 ? [row.every_min ?? null, row.every_max ?? null] : [row.good_min ?? null, row.good_max ?? null];
}
