/** Queries are built with kysely, typed by the tables, and run as any statement: on a pool, or a connection within a transaction, that its
 *  caller was given. kysely itself has no connection here, so there is no second pool, and no other way than by that role and organization. */
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from 'kysely';
import type { Compilable, DeleteResult, Expression, InsertResult, RawBuilder, UpdateResult } from 'kysely';
import type { Db } from './database.ts';
import type { Tables } from './tables.ts';

/** Where every query begins. Tables without a schema are found by the connection's search path, as in any statement. */
export const build = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** Of a query that returns nothing. */
type NoRow = InsertResult | UpdateResult | DeleteResult;
type Answer<T> = Readonly<{ rows: (T extends NoRow ? never : T)[]; rowCount: number }>;

/** @throws what the database says, as node-pg says it (sql-states.ts) */
export async function run<T>(db: Db, query: Compilable<T>): Promise<Answer<T>> {
  const { sql: text, parameters } = query.compile();
  const { rows, rowCount } = await db.query<never>(text, [...parameters]);
  return { rows, rowCount: rowCount ?? 0 };
}

export const now = sql<Date>`now()`;

/** So many seconds from now; negative: ago. */
export function inSec(seconds: number): RawBuilder<Date> {
  return sql`now() + make_interval(secs => ${seconds})`;
}

/** A time as the API writes it: ISO 8601 of UTC, with the microseconds that a Date loses. */
export function isoTime<T extends Date | null>(time: Expression<T>): RawBuilder<T extends Date ? string : null> {
  return sql`to_json(${time}) #>> '{}'`;
}

/** A time in ms since 1970. */
export function epochMs<T extends Date | null>(time: Expression<T>): RawBuilder<T extends Date ? number : null> {
  return sql`(extract(epoch from ${time}) * 1000)::float8`;
}

export function isSet(value: Expression<unknown>): RawBuilder<boolean> {
  return sql`${value} is not null`;
}
