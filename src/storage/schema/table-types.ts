/** The tables of a database as types for kysely, from the catalogs: src/storage/database/tables.ts. A column is what node-pg makes of it
 *  here (database.ts), a check that lists words is a union of them, a default makes a column optional on insert. */
import type { Database } from '../database/database.ts';

type Column = Readonly<{ relation: string; name: string; type: string; nullable: boolean; given: boolean; always: boolean }>;
type Check = Readonly<{ relation: string; text: string }>;

const head = `/** The tables as kysely sees them, on plain PostgreSQL. Written by npm run table-types from the catalogs; never edited. */
import type { ColumnType } from 'kysely';

/** Has a default, or the database makes it. */
type Generated<T> = T extends ColumnType<infer S, infer I, infer U> ? ColumnType<S, I | undefined, U> : ColumnType<T, T | undefined, T>;
/** Only the database makes it. */
type Made<T> = T extends ColumnType<infer S, unknown, unknown> ? ColumnType<S, never, never> : ColumnType<T, never, never>;
/** Nanoseconds as number would be wrong. */
type Int8 = ColumnType<bigint, bigint | number | string, bigint | number | string>;
/** More digits than a number holds. */
type Numeric = ColumnType<string, number | string, number | string>;
/** Of ms; the exact time of a row is its ts_ns. */
type Stamp = ColumnType<Date, Date | string, Date | string>;
/** Goes in as text: node-pg would make an array of PostgreSQL of a list. */
type Json = ColumnType<unknown, string, string>;
type Interval = ColumnType<unknown, string, string>;
`;

/** As node-pg reads them: an int8[] as digits, because only int8 itself has a parser of ours. */
const typeOf: Readonly<Record<string, string>> = {
  smallint: 'number',
  integer: 'number',
  real: 'number',
  'double precision': 'number',
  bigint: 'Int8',
  numeric: 'Numeric',
  boolean: 'boolean',
  text: 'string',
  uuid: 'string',
  inet: 'string',
  regclass: 'string',
  int8multirange: 'string',
  bytea: 'Buffer',
  date: 'Stamp',
  'timestamp without time zone': 'Stamp',
  'timestamp with time zone': 'Stamp',
  json: 'Json',
  jsonb: 'Json',
  interval: 'Interval',
  'smallint[]': 'number[]',
  'integer[]': 'number[]',
  'bigint[]': 'string[]',
  'text[]': 'string[]',
  'uuid[]': 'string[]',
  'time without time zone': 'string',
  'time without time zone[]': 'string[]',
};

/** @throws Error for a type of column that is not translated here: better no file than a wrong one */
export async function tableTypes(database: Database): Promise<string> {
  const { rows: columns } = await database.pool.query<Column>(
    `select c.relname as relation, a.attname as name, format_type(a.atttypid, null) as type, not a.attnotnull as nullable,
       a.atthasdef or a.attidentity <> '' as given, a.attidentity = 'a' or a.attgenerated <> '' as always
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relkind in ('r', 'p', 'v') and c.relnamespace = 'public'::regnamespace and not c.relispartition
       and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
     order by c.relname, a.attnum`,
  );
  const { rows: checks } = await database.pool.query<Check>(
    `select conrelid::regclass::text as relation, pg_get_constraintdef(oid) as text from pg_constraint
     where contype = 'c' and connamespace = 'public'::regnamespace`,
  );
  const lines: string[] = [];
  for (const [relation, of] of Map.groupBy(columns, (column) => column.relation)) {
    const members = of.map((column) => `    ${column.name}: ${columnType(column, checks)};\n`);
    lines.push(`  ${relation}: {\n${members.join('')}  };\n`);
  }
  return `${head}\nexport interface Tables {\n${lines.join('')}}\n`;
}

function columnType(column: Column, checks: readonly Check[]): string {
  const plain = typeOf[column.type];
  if (plain === undefined)
    throw new Error(`The type ${column.type} of ${column.relation}.${column.name} has no translation in table-types.ts.`);
  const words = wordsOf(column, checks);
  let type = plain;
  if (words !== null) type = plain.endsWith('[]') ? `(${words})[]` : words;
  if (column.nullable) type += ' | null';
  if (column.always) return `Made<${type}>`;
  return column.given ? `Generated<${type}>` : type;
}

/** @returns the words that a check allows, e.g. `'live' | 'test'`; null: there is none that holds whatever the other columns say */
function wordsOf({ relation, name }: Column, checks: readonly Check[]): string | null {
  const listed = new RegExp(String.raw`\b${name} (?:= ANY \(|<@ )ARRAY\[((?:'\w+'::text(?:, )?)+)\]`);
  for (const { text } of checks.filter((check) => check.relation === relation && !check.text.includes(' OR '))) {
    const list = listed.exec(text)?.[1];
    if (list !== undefined) return list.replaceAll('::text', '').replaceAll(', ', ' | ');
  }
  return null;
}
