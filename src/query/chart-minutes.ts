/** Reads one-minute buckets straight from the minute rollup: one row of arrays, nothing to add up. featureColumn of
 *  chart.ts says which charts; the function is in sql/000012 and sql/000013 by kind of server, for the api role in sql/000054-roles.sql. */
import type { Db } from '../storage/database/database.ts';
import { prepared } from '../storage/database/prepared.ts';
import { cellOf, type Column } from './chart-cells.ts';
import type { ChartAggregate, ChartQuery } from './chart.ts';
import { timestampAt } from './time-bounds.ts';

type Numbers = readonly (number | null)[] | null;
/** Sums and extremes are whole steps, of which `per_unit` are one of the feature's unit. */
type Packed = {
  per_unit: number;
  minutes: readonly number[] | null;
  ns: readonly number[];
  value_ns: Numbers;
  good_ns: Numbers;
  suspect_ns: Numbers;
  goods: Numbers;
  suspects: Numbers;
  everies: Numbers;
};

/** Whole steps as a value. */
const at = (numbers: Numbers, i: number, perUnit: number): number | null => {
  const steps = numbers?.[i] ?? null;
  return steps === null ? null : steps / perUnit;
};

/** @returns the column, and how many rows a minute has. With more than 1 (several channels, or two streams at once) the column is wrong,
 *  because rows must be added exactly, which the database does. */
export async function minuteColumn(
  db: Db,
  query: ChartQuery,
  aggregate: ChartAggregate,
  streamIds: readonly number[],
  methodId: number,
): Promise<Readonly<{ column: Column; rowsOfMinute: number }>> {
  const { rows } = await db.query<Packed>(
    prepared(`select * from feature_minute_columns($1::int[], $2::smallint, $3::timestamptz, $4::timestamptz, $5, $6::int)`, [
      streamIds,
      methodId,
      timestampAt(query.fromNs),
      timestampAt(query.toNs + 999n),
      aggregate,
      query.qualityMax,
    ]),
  );
  const column: Column = new Map();
  const packed = rows[0];
  if (packed === undefined || packed.minutes === null) return { column, rowsOfMinute: 1 };
  const { per_unit: perUnit, minutes, ns, value_ns: valueNs, good_ns: goodNs, suspect_ns: suspectNs, goods, suspects, everies } = packed;
  for (let i = 0; i < minutes.length; i++) {
    const row = {
      n: ns[i]!,
      value_n: valueNs?.[i] ?? ns[i]!,
      good_n: goodNs?.[i] ?? valueNs?.[i] ?? ns[i]!,
      suspect_n: suspectNs?.[i] ?? 0,
      good: at(goods, i, perUnit),
      suspect: at(suspects, i, perUnit),
      every: at(everies, i, perUnit),
    };
    column.set(minutes[i]! * 60_000, cellOf(row, aggregate, query.qualityMax));
  }
  return { column, rowsOfMinute: minutes.length / column.size };
}
