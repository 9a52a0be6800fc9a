/** docs/schema.md: tables and their relations, from the files of sql/ (subjects, what a row is) and from the snapshot of plain PostgreSQL
 *  (the rest). `npm run docs` writes it, test/docs/docs.test.ts holds it to what this makes. */
import { readdirSync, readFileSync } from 'node:fs';

type Table = Readonly<{ name: string; about: string; file: string }>;
type Relation = Readonly<{ from: string; to: string; by: string; key: boolean }>;

const sql = new URL('../sql/', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, sql), 'utf8');

/** Chapters of the document, each a picture. Every table of sql/ is in one of them. */
const chapters: readonly (readonly [title: string, files: RegExp])[] = [
  ['Who', /-(tenancy|people-devices|groups)\.sql$/],
  ['What is recorded and made of it', /-(streams|catalog|samples|derived-values|derived-minutes)\.sql$/],
  ['What people enter, and what happened', /-(self-reports|episodes-webhooks|annotations|rules|rule-emails)\.sql$/],
  ['The books', /-(retention|partitions|cluster-nodes|rollups|audit|unfinished-erasures)\.sql$/],
];

/** What columns without a foreign key name, by their name: tables that grow have none, a check for each row would cost more than the
 *  row. */
const named: Readonly<Record<string, string>> = {
  stream_id: 'stream',
  method_id: 'method',
  biosignal_id: 'biosignal',
  xuser_id: 'xuser',
  subject_id: 'xuser',
};

/** The tables that the files make, with the first sentence of the comment above. @throws when a table has none */
function tablesOf(file: string): Table[] {
  const lines = read(file).split('\n');
  return lines.flatMap((line, at) => {
    const name = /^create (?:unlogged )?table (\w+)/.exec(line)?.[1];
    if (name === undefined) return [];
    let begin = at;
    while (lines[begin - 1]?.startsWith('create table ') === true) begin--; // several of one shape
    const end = begin;
    while (lines[begin - 1]?.startsWith('-- ') === true) begin--;
    const text = lines.slice(begin, end).map((comment) => comment.slice(3)).join(' '); // prettier-ignore
    const sentence = /^.*?[.:](?= [A-Z0-9]|$)/.exec(text)?.[0] ?? '';
    if (sentence === '' && !file.includes('rollups')) throw new Error(`${file}: say above ${name} what a row of it is`);
    return [{ name, about: sentence === '' ? 'As before, of longer times.' : sentence, file }];
  });
}

function section(snapshot: string, title: string): string {
  return new RegExp(`\\n-- ${title}\\n\\n([\\s\\S]*?)(?=\\n-- |$)`).exec(snapshot)?.[1] ?? '';
}

function relationsOf(snapshot: string): Relation[] {
  const keys = [...section(snapshot, 'constraints').matchAll(/^(\w+): \w+ FOREIGN KEY \(([^)]*)\) REFERENCES (\w+)\(/gm)].map(
    ([, from = '', by = '', to = '']) => ({ from, to, by: by.replace(/^organization_id, (?=\w)/, ''), key: true }),
  );
  const columns = [...section(snapshot, 'tables').matchAll(/^table (\w+)[^\n]*\n((?: {2}[^\n]*\n?)*)/gm)].flatMap(
    ([, from = '', text = '']) =>
      [...text.matchAll(/^ {2}(\w+) /gm)].flatMap(([, by = '']) => {
        const to = named[by];
        const known = keys.some((key) => key.from === from && key.by === by);
        return to === undefined || known ? [] : [{ from, to, by, key: false }];
      }),
  );
  return [...keys, ...columns].toSorted((a, b) => (`${a.from} ${a.by}` < `${b.from} ${b.by}` ? -1 : 1));
}

const rowsOf = (snapshot: string, relation: string): Record<string, string | null>[] =>
  section(snapshot, `rows of ${relation}`).split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as Record<string, string | null>); // prettier-ignore

/** A picture: the tables of a chapter, and those of others that they name. */
function picture(tables: readonly Table[], relations: readonly Relation[]): string[] {
  const own = new Set(tables.map(({ name }) => name));
  const lines = relations
    .filter(({ from, to }) => own.has(from) && (to !== 'organization' || from === 'project'))
    .map(({ from, to, by, key }) => `  ${to} ||${key ? '--' : '..'}o{ ${from} : "${by}"`);
  return ['```mermaid', 'erDiagram', ...lines, '```'];
}

/** docs/schema.md */
export function schemaDocument(): string {
  const snapshot = read('schema.snapshot.sql');
  const files = readdirSync(sql).filter((name) => /^\d{6}-.*\.sql$/.test(name)).sort(); // prettier-ignore
  // A table may be made anew by a later file, or be gone.
  const made = new Map(files.flatMap(tablesOf).map((table) => [table.name, table]));
  const tables = [...made.values()].filter(({ name }) => new RegExp(`\\ntable ${name}\\b`).test(snapshot));
  const relations = relationsOf(snapshot);
  const rules = rowsOf(snapshot, 'partition_rule');
  const kept = new Map(rowsOf(snapshot, 'retention').map(({ relation, keep }) => [relation, keep]));
  const guarded = new Set([...section(snapshot, 'tables').matchAll(/^table (\w+).* row level security$/gm)].map(([, name]) => name));
  const growing = new Set(rules.map(({ relation }) => relation));
  const kindOf = (name: string): string => (growing.has(name) ? 'grows' : guarded.has(name) ? 'records' : "the service's own");
  const placed = new Set<string>();
  const parts = chapters.flatMap(([title, matching]) => {
    const own = tables.filter(({ file }) => matching.test(file));
    for (const { name } of own) placed.add(name);
    return [
      `## ${title}`,
      '',
      ...picture(own, relations),
      '',
      '| table | a row is | kind | made by |',
      '|---|---|---|---|',
      ...own.map(
        ({ name, about, file }) =>
          `| \`${name}\` | ${about.replaceAll(/[|<]/g, '\\$&').replace(/:$/, '.')} | ${kindOf(name)} | \`sql/${file}\` |`,
      ),
      '',
    ];
  });
  const lost = tables.filter(({ name }) => !placed.has(name));
  if (lost.length > 0) throw new Error(`in no chapter of scripts/schema-document.ts: ${lost.map(({ name }) => name).join(', ')}`);
  return [
    '# The database',
    '',
    'Written by `npm run docs` from the files of `sql/` and from `sql/schema.snapshot.sql`, the whole schema of plain PostgreSQL with columns, rights and',
    'functions; `sql/schema.timescale.snapshot.sql` and `sql/schema.timescale-apache.snapshot.sql` are those of TimescaleDB. [sql/README.md](../sql/README.md)',
    'says how the schema changes, [wire-format.md](wire-format.md) what is in `sample_block.codec` and `packet_log.data`.',
    '',
    '## Kinds of tables',
    '',
    '- **Records**: organizations, people, devices, streams, what people enter. Foreign keys, row-level security: the service names its organization in',
    '  each transaction, and sees no row of another.',
    '- **What grows** with every second of a device. Hypertables on TimescaleDB, native partitions on plain PostgreSQL, both by time. No foreign keys and no',
    '  row-level security: read through the views of schema `api`, which keep to the organization.',
    '- **The service’s own**: the catalog of methods, keys that sign, how far the packet log is worked off, what the rollups have noted.',
    '- **Rollups** `feature_1m`, `feature_1h`, `feature_1d`: views of minutes, hours and days of features. Minutes are rows of `feature_block`, hours and',
    '  days are kept (`feature_1h_kept`, `feature_1d_kept`). `feature` and `beat` are views, too: a row for each value.',
    '',
    'Two tables are made before all others (`src/storage/schema/migrate.ts`): `migration`, the files that ran, and `database_kind`, the kind of server.',
    '',
    'In the pictures a line is a foreign key, a dotted line a column that names a row without one; nearly every table also has the organization and the',
    'project that its rows belong to.',
    '',
    '## What grows, and by how much',
    '',
    '| table | a partition or chunk | kept |',
    '|---|---|---|',
    ...rules.map(({ relation, step }) => `| \`${relation}\` | ${period(step)} | ${period(kept.get(relation ?? '') ?? null)} |`),
    '',
    'Kept is what a new database begins with (table `retention`; [operator.md](operator.md) says how to change it); a project may keep less. A device of seven',
    'channels leaves 149 MB a day, and up to 71 MB more in the packet log: [sizing.md](sizing.md) has the bytes of each part, and the command that measures',
    'them. Of the records only `audit_log` grows by itself, by an entry for each time a person’s data are read, and nothing is taken off it;',
    '`idempotency` and `webhook_delivery` are cleared by the service.',
    '',
    ...parts,
  ].join('\n').trimEnd() + '\n'; // prettier-ignore
}

const period = (text: string | null | undefined): string =>
  text === null || text === undefined ? 'for ever' : text.replace(/^0?(\d+):00:00$/, '$1 hours');
