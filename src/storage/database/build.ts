/** Queries are built with kysely, typed by the tables, and run as any statement: on a pool, or a connection within a transaction, that its
 *  caller was given. kysely itself has no connection here, so there is no second pool, and no other way than by that role and
 *  organization. */
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from 'kysely';
import type { Compilable, CompiledQuery, DeleteResult, Expression, InsertResult, RawBuilder, UpdateResult } from 'kysely';
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

/** Runs a query that always returns a row, such as an insert or a count.  @throws errors of the database; Error when there is no row */
export async function runForOne<T>(db: Db, query: Compilable<T>): Promise<Answer<T>['rows'][number]> {
  const [row] = (await run(db, query)).rows;
  if (row === undefined) throw new Error(`no row: ${query.compile().sql.slice(0, 80)}`);
  return row;
}

/** Placeholders for the values of a query that is built once. */
export type Values<V> = { readonly [K in keyof V]: RawBuilder<V[K]> };

/** A query that many requests ask: it is built with its first use, and run with other values after that. Building one costs as much as
 *  sending it (bench/micro/codecs.bench.ts). @param make must take every value from its argument: what else it uses is that of the first
 *  use for good */
export function builtOnce<V extends object, T>(make: (values: Values<V>) => Compilable<T>): (db: Db, values: V) => Promise<Answer<T>> {
  let built: CompiledQuery | null = null;
  return async (db, values) => {
    const { sql: text, parameters } = (built ??= make(placeholders<V>()).compile());
    const given = parameters.map((parameter) => (parameter instanceof Placeholder ? values[parameter.name as keyof V] : parameter));
    const { rows, rowCount } = await db.query<never>(text, given);
    return { rows, rowCount: rowCount ?? 0 };
  };
}

class Placeholder {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

function placeholders<V>(): Values<V> {
  return new Proxy({}, { get: (_target, name) => sql`${new Placeholder(String(name))}` }) as Values<V>;
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
