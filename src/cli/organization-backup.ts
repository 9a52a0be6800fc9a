/** The backup of one organization, which is restored next to others: `backup --org`, and `restore` of such a folder. It moves an
 *  organization to another database (organization-move.ts), or brings back one that was deleted.
 *
 *  Rows of the organization are found by the catalog: by its id, or over what belongs to it (project, user, stream, episode, webhook,
 *  operator). Uuids stay. Whole numbers are the database's own: streams and biosignals of a project get new ones, methods are found by
 *  their code. */
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { PipelineError } from '../errors.ts';
import type { Manifest, TableEntry } from './backup.ts';

/** Of the database, not of an organization; or worth nothing elsewhere: sessions, answers kept for retries, packets that are in the
 *  tables, minutes that are not complete (whose packed form has numbers of methods). */
const left = new Set(
  (
    'cluster_setting cluster_node unit_conversion retention episode_event signing_key service_secret derived_open packet_log packet_log_checkpoint ' +
    'operator_session idempotency project_retention_swept public_key_use unfinished_erasure'
  ).split(' '),
);

/** By the first of these columns that a table has. */
const owners: readonly (readonly [column: string, rows: string])[] = [
  ['organization_id', '$org'],
  ['project_id', 'select id from project where organization_id = $org'],
  ['xuser_id', 'select id from xuser where organization_id = $org'],
  ['stream_id', 'select id from stream where organization_id = $org'],
  ['episode_id', 'select id from episode where organization_id = $org'],
  ['webhook_id', 'select id from webhook where organization_id = $org'],
  ['operator_id', 'select id from operator_account where organization_id = $org'],
];

/** Rows that are shared, and go along because others name them by number. */
const shared: Readonly<Record<string, string>> = {
  organization: 'id = $org',
  method: 'true',
  biosignal: 'project_id is null or project_id in (select id from project where organization_id = $org)',
};

/** Columns with numbers of another table, and that table. */
const numbers: Readonly<Record<string, 'stream' | 'biosignal' | 'method'>> = {
  stream_id: 'stream',
  biosignal_id: 'biosignal',
  method_id: 'method',
};

/** Condition of the organization's rows of a table; null: the table stays.
 *  @throws PipelineError internal: a new table that nothing here knows of */
export function rowsOfOrganization(table: string, columns: readonly string[], orgId: string): string | null {
  if (left.has(table)) return null;
  const of = shared[table] ?? conditionOf(columns);
  if (of === null) throw new PipelineError('internal', `${table}: no column says whose its rows are`);
  return of.replaceAll('$org', `'${orgId}'::uuid`);
}

function conditionOf(columns: readonly string[]): string | null {
  const owner = owners.find(([column]) => columns.includes(column));
  if (owner === undefined) return null;
  const [column, rows] = owner;
  return rows === '$org' ? `${column} = $org` : `${column} in (${rows})`;
}

/** Reads the tables of a checked backup into a database in use. The caller's transaction keeps all of it or nothing.
 *  @param read one table's file, for progress */
export async function readOrganization(
  client: pg.Client,
  folder: string,
  manifest: Manifest,
  read: (name: string) => NodeJS.ReadWriteStream,
): Promise<void> {
  await refuseWhatIsThere(client, manifest);
  await client.query('alter table audit_log disable trigger user'); // its entries keep their hashes
  for (const table of inOrder(manifest.tables)) {
    await client.query(`create temporary table ${came(table.name)} (like ${pg.escapeIdentifier(table.name)}) on commit drop`);
    await client.query(looseColumns(table));
    const list = table.columns.map((column) => pg.escapeIdentifier(column)).join(', ');
    const sink = client.query(copyFrom(`copy ${came(table.name)} (${list}) from stdin (format binary)`));
    await pipeline(createReadStream(join(folder, `${table.name}.copy.gz`)), read(table.name), createGunzip(), sink);
    if (sink.rowCount !== table.rows)
      throw new PipelineError('conflict', `${table.name}: ${sink.rowCount} rows were read, the backup states ${table.rows}`);
    await insertRows(client, table);
  }
  await client.query('alter table audit_log enable trigger user');
  // A move marks it before the backup is written.
  await client.query('update organization set moving_at = null where id = $1', [manifest.organization?.id]);
}

/** Tables that grow name streams by number without a foreign key: they come after what gives the numbers. */
function inOrder(tables: readonly TableEntry[]): readonly TableEntry[] {
  const given = Math.max(...['stream', 'biosignal', 'method'].map((name) => tables.findIndex((table) => table.name === name)));
  const isEarly = (table: TableEntry, i: number): boolean => i < given && table.columns.some((column) => column in numbers);
  return [...tables.filter((table, i) => !isEarly(table, i)), ...tables.filter(isEarly)];
}

const came = (table: string): string => pg.escapeIdentifier(`came_${table}`);
const numberMap = (table: string): string => pg.escapeIdentifier(`number_of_${table}`);

/** Identity columns of the copy take what the file has; columns of a later schema that the backup has not keep their defaults. */
function looseColumns({ name, columns }: TableEntry): string {
  const present = columns.map((column) => `'${column}'`).join(', ');
  return `do $$ declare other text; begin
    for other in select attname from pg_attribute where attrelid = 'pg_temp.${came(name).replaceAll("'", "''")}'::regclass and attnum > 0
      and not attisdropped and attname <> all (array[${present}]::text[]) loop
      execute format('alter table pg_temp.${came(name).replaceAll("'", "''")} drop column %I', other);
    end loop; end $$`;
}

async function refuseWhatIsThere(client: pg.Client, { organization }: Manifest): Promise<void> {
  const { rows } = await client.query('select from organization where id = $1', [organization?.id]);
  if (rows.length > 0)
    throw new PipelineError('conflict', `organization ${organization?.name} (${organization?.id}) is in this database already`);
}

/** Inserts what came of a table, by the numbers of this database. */
async function insertRows(client: pg.Client, { name, columns }: TableEntry): Promise<void> {
  if (name === 'method') return await insertMethods(client, columns);
  if (name === 'biosignal' || name === 'stream') await giveNumbers(client, name);
  const own = columns.filter((column) => !isOwnNumber(name, column));
  const targets = own.map((column) => pg.escapeIdentifier(column));
  const sources = own.map((column) => {
    if ((name === 'biosignal' || name === 'stream') && column === 'id') return 'n.number';
    const table = numbers[column];
    return table === undefined ? `c.${pg.escapeIdentifier(column)}` : `m_${table}.number`;
  });
  const mapped = [...new Set(own.flatMap((column) => numbers[column] ?? []))];
  const joins = own
    .flatMap((column) => (numbers[column] === undefined ? [] : [[column, numbers[column]] as const]))
    .map(([column, table]) => `left join ${numberMap(table)} m_${table} on m_${table}.before = c.${pg.escapeIdentifier(column)}`);
  if (mapped.length !== joins.length) throw new PipelineError('internal', `${name} names two ${mapped.join(', ')}`);
  const renumbered = name === 'biosignal' || name === 'stream' ? `join ${numberMap(name)} n on n.before = c.id and n.is_new` : '';
  await client.query(
    `insert into ${pg.escapeIdentifier(name)} (${targets.join(', ')}) overriding system value
     select ${sources.join(', ')} from ${came(name)} c ${renumbered} ${joins.join(' ')}`,
  );
}

/** A number that nothing names and that the database gives: it is given again. */
const isOwnNumber = (table: string, column: string): boolean => column === 'id' && ['audit_log', 'set_aside', 'consent'].includes(table);

/** Biosignals of the catalog have the same number everywhere. */
async function giveNumbers(client: pg.Client, table: 'stream' | 'biosignal'): Promise<void> {
  const sequence = `pg_get_serial_sequence('${table}', 'id')`;
  const isNew = table === 'biosignal' ? 'c.project_id is not null' : 'true';
  await client.query(
    `create temporary table ${numberMap(table)} on commit drop as
     select c.id as before, case when ${isNew} then nextval(${sequence})::integer else c.id end as number, ${isNew} as is_new from ${came(table)} c`,
  );
}

async function insertMethods(client: pg.Client, columns: readonly string[]): Promise<void> {
  const list = columns
    .filter((column) => column !== 'id')
    .map((column) => pg.escapeIdentifier(column))
    .join(', ');
  await client.query(`insert into method (${list}) select ${list} from ${came('method')} on conflict do nothing`);
  await client.query(
    `create temporary table ${numberMap('method')} on commit drop as
     select c.id as before, m.id as number from ${came('method')} c join method m on m.kind = c.kind and m.code = c.code`,
  );
}
