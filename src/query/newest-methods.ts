/** Which version of a feature answers when the caller names none: the newest that has values there. */
import type { Db } from '../auth/api-keys.ts';
import { prepared } from '../storage/prepared.ts';
import { timestampAfter, timestampAt } from './time-bounds.ts';

export type MethodRow = Readonly<{ id: number; name: string; code: string; cadence_hz: number | null; unit: string }>;

export type MethodQuery = Readonly<{
  kind: 'feature' | 'beat';
  streamIds: readonly number[];
  fromNs: bigint;
  toNs: bigint;
  /** null: all. */
  names: readonly string[] | null;
  /** null: of each name the newest version with values in the range. */
  methodCodes: readonly string[] | null;
}>;

/** In the order of the names asked for, else of the name. `offset 0`: one probe per method; through the views of schema api the planner would
 *  otherwise make a join that reads every row of the range. */
export async function newestMethods(db: Db, query: MethodQuery): Promise<MethodRow[]> {
  const table = query.kind;
  const { rows } = await db.query<MethodRow>(
    prepared(
      `select m.id, m.name, m.code, m.cadence_hz, m.unit from method m
     where m.kind = $1 and ($2::text[] is null or m.name = any ($2)) and ($3::text[] is null or m.code = any ($3))
       and exists (
         select from ${table} f
         where f.time >= $4::timestamptz and f.time < $5::timestamptz and f.stream_id = any ($6::int[]) and f.method_id = m.id offset 0)
     order by array_position($2::text[], m.name), m.name, (substring(m.code from '_v(\\d+)$'))::int desc, m.id desc`,
      [query.kind, query.names, query.methodCodes, timestampAt(query.fromNs), timestampAfter(query.toNs), query.streamIds],
    ),
  );
  return query.methodCodes !== null ? rows : rows.filter((row, i) => i === 0 || rows[i - 1]!.name !== row.name);
}
