/** Reads one-minute buckets straight from the minute rollup: one row of arrays, nothing to add up. featureColumn of
 *  chart.ts says which charts; the function is in sql/000012 and sql/000013 by kind of server, for the api role in sql/000054-roles.sql. */
import type { Db } from '../storage/database/database.ts';
import { prepared } from '../storage/database/prepared.ts';
import { cellOf, type Column } from './chart-cells.ts';
import type { ChartAggregate, ChartQuery } from './chart.ts';
import { timestampAt } from './time-bounds.ts';

/** A number that JSON cannot express (NaN) is a string. */
type Numbers = readonly (number | string | null)[] | null;
type Packed = {
  minutes: readonly number[] | null;
  ns: readonly number[];
  value_ns: readonly number[] | null;
  good_ns: readonly number[];
  suspect_ns: readonly number[];
  goods: Numbers;
  suspects: Numbers;
  everies: Numbers;
};

const at = (numbers: Numbers, i: number): number | null => {
  const value = numbers?.[i] ?? null;
  return typeof value === 'string' ? Number(value) : value;
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
    prepared(`select * from feature_minutes($1::int[], $2::smallint, $3::timestamptz, $4::timestamptz, $5, $6::int)`, [
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
  const { minutes, ns, value_ns: valueNs, good_ns: goodNs, suspect_ns: suspectNs, goods, suspects, everies } = packed;
  for (let i = 0; i < minutes.length; i++) {
    const row = {
      n: ns[i]!,
      value_n: valueNs?.[i] ?? 0,
      good_n: goodNs[i]!,
      suspect_n: suspectNs[i]!,
      good: at(goods, i),
      suspect: at(suspects, i),
      every: at(everies, i),
    };
    column.set(minutes[i]! * 60_000, cellOf(row, aggregate, query.qualityMax));
  }
  return { column, rowsOfMinute: minutes.length / column.size };
}
