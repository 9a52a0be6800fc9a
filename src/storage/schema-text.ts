/** The schema of a database as text that a person can review and a diff can compare: tables, constraints, indexes, views, functions, triggers,
 *  policies. From the catalogs, because the embedded server comes without pg_dump. */
import type { Database } from './database.ts';

/** Sections in the order in which they are printed; each row is one line or one definition. */
const sections: readonly (readonly [title: string, query: string])[] = [
  [
    'tables',
    `select format(E'table %s%s\\n%s', c.relname, case when c.relkind = 'p' then ' (' || pg_get_partkeydef(c.oid) || ')' else '' end,
       string_agg(format('  %s %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod), case when a.attnotnull then ' not null' else '' end,
         coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), case a.attidentity when 'a' then ' identity always' when 'd' then ' identity' else '' end)),
         E'\\n' order by a.attnum)) as text
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
     where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace and not c.relispartition group by c.oid, c.relname, c.relkind order by c.relname`,
  ],
  [
    'constraints',
    `select format('%s: %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as text from pg_constraint
     where connamespace = 'public'::regnamespace and contype <> 'n' and conrelid in (select oid from pg_class where not relispartition) order by conrelid::regclass::text, conname`,
  ],
  [
    'indexes',
    `select pg_get_indexdef(i.indexrelid) as text from pg_index i join pg_class c on c.oid = i.indexrelid
     where c.relnamespace = 'public'::regnamespace and not c.relispartition and not exists (select from pg_constraint where conindid = i.indexrelid) order by c.relname`,
  ],
  [
    'views',
    `select format(E'%s\\n%s', c.oid::regclass, pg_get_viewdef(c.oid, true)) as text from pg_class c
     where c.relkind = 'v' and c.relnamespace in (select oid from pg_namespace where nspname in ('public', 'api')) order by 1`,
  ],
  [
    'functions',
    `select pg_get_functiondef(p.oid) as text from pg_proc p
     where p.pronamespace = 'public'::regnamespace and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e') order by p.proname, p.oid::regprocedure::text`,
  ],
  [
    'triggers',
    `select pg_get_triggerdef(t.oid) as text from pg_trigger t join pg_class c on c.oid = t.tgrelid
     where not t.tgisinternal and c.relnamespace = 'public'::regnamespace and not c.relispartition order by c.relname, t.tgname`,
  ],
  [
    'policies',
    `select format('%s: %s for %s to %s using (%s)', tablename, policyname, cmd, array_to_string(roles, ', '), qual) as text from pg_policies
     where schemaname = 'public' order by tablename, policyname`,
  ],
  [
    'rights',
    `select format('%s: %s to %s', table_schema || '.' || table_name, string_agg(lower(privilege_type), ', ' order by privilege_type), grantee) as text
     from information_schema.role_table_grants where grantee like 'biosignal\\_%' and table_schema in ('public', 'api') and table_name !~ '_p\\d{8}_'
     group by table_schema, table_name, grantee order by 1`,
  ],
];

export async function schemaText(database: Database): Promise<string> {
  const parts: string[] = [`-- The schema on ${database.kind}, from the catalogs. Written by npm run schema:dump; never edited.`];
  for (const [title, query] of sections) {
    const { rows } = await database.pool.query<{ text: string }>(query);
    parts.push(`\n-- ${title}\n`, ...rows.map((row) => row.text.trimEnd()));
  }
  return `${parts.join('\n')}\n`;
}
