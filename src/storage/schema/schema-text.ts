/** The schema of a database as text that a person can review and a diff can compare: tables, constraints, indexes, views, functions,
 *  triggers, policies, rights, rows that come with the schema, and what TimescaleDB keeps. From the catalogs, because the embedded server
 *  comes without pg_dump. The same schema gives the same text in whatever order it was made: what has an order is sorted by name, ids of
 *  the server are replaced by what they stand for. */
import type { Database } from '../database/database.ts';

type Section = readonly [title: string, query: string];

/** Each row is one line or one definition. */
const everywhere: readonly Section[] = [
  [
    'tables',
    `select format(E'table %s%s%s%s\\n%s', c.relname, case when c.relkind = 'p' then ' (' || pg_get_partkeydef(c.oid) || ')' else '' end,
       coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', ''), case when c.relrowsecurity then ' row level security' else '' end,
       string_agg(format('  %s %s%s%s%s', a.attname, format_type(a.atttypid, a.atttypmod), case when a.attnotnull then ' not null' else '' end,
         coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), case a.attidentity when 'a' then ' identity always' when 'd' then ' identity' else '' end),
         case when a.attstorage <> t.typstorage then ' storage ' || case a.attstorage when 'e' then 'external' else a.attstorage::text end else '' end),
         E'\\n' order by a.attname)) as text
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     join pg_type t on t.oid = a.atttypid
     left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
     where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace and not c.relispartition
     group by c.oid, c.relname, c.relkind, c.reloptions, c.relrowsecurity order by c.relname`,
  ],
  [
    'sequences',
    `select format('%s: %s from %s by %s', d.refobjid::regclass || '.' || a.attname, format_type(s.seqtypid, null), s.seqstart, s.seqincrement) as text
     from pg_sequence s join pg_class c on c.oid = s.seqrelid
     left join pg_depend d on d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype in ('a', 'i')
     left join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
     where c.relnamespace = 'public'::regnamespace order by 1`,
  ],
  [
    'constraints',
    // a column that must not be null is in the tables; here only where the constraint has a name of its own
    `select format('%s: %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as text from pg_constraint
     where connamespace = 'public'::regnamespace and conrelid in (select oid from pg_class where not relispartition)
       and (contype <> 'n' or conname <> left((select c.relname || '_' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
         where c.oid = conrelid and a.attnum = conkey[1]) || '_not_null', 63))
     order by conrelid::regclass::text, conname`,
  ],
  [
    'indexes',
    `select pg_get_indexdef(i.indexrelid) as text from pg_index i join pg_class c on c.oid = i.indexrelid
     where c.relnamespace = 'public'::regnamespace and not c.relispartition and not exists (select from pg_constraint where conindid = i.indexrelid) order by c.relname`,
  ],
  [
    'views',
    `select format(E'%s%s\\n%s', c.oid::regclass, coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', ''), pg_get_viewdef(c.oid, true)) as text
     from pg_class c where c.relkind = 'v' and c.relnamespace in (select oid from pg_namespace where nspname in ('public', 'api')) order by 1`,
  ],
  [
    'columns of views',
    `select format('%s: %s', c.oid::regclass, string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' order by a.attnum)) as text
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
     where c.relkind = 'v' and c.relnamespace in (select oid from pg_namespace where nspname in ('public', 'api')) group by c.oid order by 1`,
  ],
  [
    'functions',
    `select pg_get_functiondef(p.oid) as text from pg_proc p
     where p.pronamespace in (select oid from pg_namespace where nspname in ('public', 'api'))
       and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e') order by p.oid::regprocedure::text`,
  ],
  [
    'triggers',
    `select pg_get_triggerdef(t.oid) as text from pg_trigger t join pg_class c on c.oid = t.tgrelid
     where not t.tgisinternal and c.relnamespace = 'public'::regnamespace and not c.relispartition order by c.relname, t.tgname`,
  ],
  [
    'policies',
    `select format('%s: %s for %s to %s using (%s)%s%s', tablename, policyname, cmd, array_to_string(roles, ', '), qual,
       ' with check (' || with_check || ')', case permissive when 'PERMISSIVE' then '' else ' ' || permissive end) as text
     from pg_policies where schemaname = 'public' order by tablename, policyname`,
  ],
  [
    'rights',
    `select format('%s: %s to %s', table_schema || '.' || table_name, string_agg(lower(privilege_type), ', ' order by privilege_type), grantee) as text
     from information_schema.role_table_grants where (grantee like 'biosignal\\_%' or grantee = 'PUBLIC') and table_schema in ('public', 'api')
       and table_name !~ '_p\\d{8}_' and (table_schema, table_name) not in (
         select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_depend d on d.objid = c.oid and d.deptype = 'e')
     group by table_schema, table_name, grantee order by 1`,
  ],
  [
    'rights on schemas and functions',
    `select format('%s: %s to %s', object, string_agg(lower(g.privilege_type), ', ' order by g.privilege_type),
       case g.grantee when 0 then 'public' else g.grantee::regrole::text end) as text
     from (
       select 'schema ' || nspname as object, nspacl as acl, nspowner as owner from pg_namespace where nspname in ('public', 'api')
       union all
       -- without a list of its own everybody may execute a function
       select p.oid::regprocedure::text, coalesce(p.proacl, acldefault('f', p.proowner)), p.proowner from pg_proc p
       where p.pronamespace in (select oid from pg_namespace where nspname in ('public', 'api'))
         and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
     ) o cross join lateral aclexplode(acl) g
     where g.grantee <> owner group by object, g.grantee order by 1`,
  ],
  [
    'comments',
    `select format('%s%s: %s', d.objoid::regclass, '.' || a.attname, d.description) as text from pg_description d
     join pg_class c on c.oid = d.objoid and d.classoid = 'pg_class'::regclass
     left join pg_attribute a on a.attrelid = d.objoid and a.attnum = d.objsubid and d.objsubid > 0
     where c.relnamespace = 'public'::regnamespace and not c.relispartition order by 1`,
  ],
];

/** Tables whose rows are part of the schema, without what differs from one database to the next. */
const rowsOf: readonly (readonly [relation: string, without: string])[] = [
  ['biosignal', '{created_at}'],
  ['cluster_setting', '{}'],
  ['device_profile', '{id,created_at}'],
  ['episode_event', '{}'],
  ['packet_log_checkpoint', '{updated_at,renewed_at}'],
  ['partition_rule', '{}'],
  ['retention', '{}'],
  ['unit_conversion', '{}'],
];

const timescaledb: readonly Section[] = [
  [
    'hypertables',
    `select format('%s: %s by %s%s', coalesce(a.view_name, d.hypertable_name), d.column_name, d.time_interval,
       case when h.compression_enabled then ', columnstore' else '' end) as text
     from timescaledb_information.dimensions d left join timescaledb_information.hypertables h using (hypertable_schema, hypertable_name)
     left join timescaledb_information.continuous_aggregates a
       on (a.materialization_hypertable_schema, a.materialization_hypertable_name) = (d.hypertable_schema, d.hypertable_name) order by 1`,
  ],
  [
    'columnstore',
    `select format('%s: segmentby %s orderby %s', coalesce(a.view_name, hypertable::text), segmentby, orderby) as text
     from timescaledb_information.hypertable_compression_settings left join timescaledb_information.continuous_aggregates a
       on hypertable = format('%I.%I', materialization_hypertable_schema, materialization_hypertable_name)::regclass order by 1`,
  ],
  [
    'continuous aggregates',
    `select format(E'%s: %s\\n%s', a.view_name, to_jsonb(a) - '{view_schema,view_name,view_owner,view_definition,materialization_hypertable_schema,materialization_hypertable_name}'::text[],
       a.view_definition) as text
     from timescaledb_information.continuous_aggregates a where view_schema = 'public' order by 1`,
  ],
  [
    'indexes of continuous aggregates',
    `select i.indexdef as text from timescaledb_information.continuous_aggregates a
     join pg_indexes i on i.schemaname = a.materialization_hypertable_schema and i.tablename = a.materialization_hypertable_name
     order by a.view_name, i.indexname`,
  ],
  [
    'jobs',
    `select format('%s of %s: every %s, at most %s, %s tries, again after %s%s %s', proc_name, coalesce(a.view_name, j.hypertable_name), schedule_interval,
       max_runtime, max_retries, retry_period, case when scheduled then '' else ', off' end, config - '{hypertable_id,mat_hypertable_id}'::text[]) as text
     from timescaledb_information.jobs j left join timescaledb_information.continuous_aggregates a
       on (a.materialization_hypertable_schema, a.materialization_hypertable_name) = (j.hypertable_schema, j.hypertable_name)
     where job_id >= 1000 order by 1`,
  ],
];

/** The first line of the text. A kind of server has its own shape, and each version prints definitions as it likes. */
export async function schemaTitle(database: Database): Promise<string> {
  const { rows } = await database.pool.query<{ version: string }>(
    `select 'PostgreSQL ' || current_setting('server_version_num')::int / 10000
       || coalesce((select ', TimescaleDB ' || substring(extversion from '^\\d+\\.\\d+') from pg_extension where extname = 'timescaledb'), '') as version`,
  );
  return `-- The schema on ${database.kind} (${rows[0]!.version}), from the catalogs. Written by npm run schema:dump; never edited.`;
}

export async function schemaText(database: Database): Promise<string> {
  const lines = async (query: string): Promise<string[]> =>
    (await database.pool.query<{ text: string }>(query)).rows.map((row) => row.text.trimEnd());
  const parts: string[] = [];
  for (const [title, query] of database.kind === 'postgres' ? everywhere : [...everywhere, ...timescaledb]) {
    parts.push(`\n-- ${title}\n`, ...(await lines(query)));
  }
  for (const [relation, without] of rowsOf) {
    if (relation === 'partition_rule' && database.kind !== 'postgres') continue;
    const rows = await lines(
      `select row::text as text from ${relation} r cross join lateral (select to_jsonb(r) - '${without}'::text[] as row) j
       order by row -> 'id', row::text collate "C"`,
    );
    parts.push(`\n-- rows of ${relation}\n`, ...rows);
  }
  return `${await schemaTitle(database)}\n${await withoutIds(database, parts.join('\n'))}\n`;
}

/** TimescaleDB's numbers of hypertables, in names and in arguments, become the names that they stand for. */
async function withoutIds(database: Database, text: string): Promise<string> {
  if (database.kind === 'postgres') return text;
  const { rows } = await database.pool.query<{ id: number; name: string }>(
    'select mat_hypertable_id as id, user_view_name as name from _timescaledb_catalog.continuous_agg',
  );
  let named = text;
  for (const { id, name } of rows) {
    named = named
      .replaceAll(new RegExp(`_materialized_hypertable_${id}\\b`, 'g'), `_materialized_${name}`)
      .replaceAll(`cagg_watermark(${id})`, `cagg_watermark(${name})`);
  }
  return named.replaceAll(/(invalidation_trigger\()'\d+'/g, '$1…');
}
