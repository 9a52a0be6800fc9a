/** `biosignal set-aside`: lists, retries or deletes rows and packets that could not be stored. */
import { writeFile } from 'node:fs/promises';
import type { Pool } from 'pg';
import type { Db } from '../storage/database/database.ts';
import { audit } from '../tenancy/audit.ts';
import { PipelineError } from '../errors.ts';
import { transaction } from '../storage/database/transaction.ts';
import { commandLine } from './acts.ts';
import type { Command, Console } from './command.ts';
import { EXIT_OK, UsageError } from './command.ts';
import { FORCE_OPTION, refuseExisting } from './export/whole-files.ts';
import { withDatabase } from './open-database.ts';
import { formatTable } from './table.ts';

type Row = {
  id: string;
  set_aside_at: string;
  kind: string;
  user: string;
  stream: string;
  log_position: string;
  sqlstate: string;
  bytes: number;
  replay: string;
  reason: string;
};

const columns = `a.id::text as id, to_char(a.time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as set_aside_at, a.kind,
  coalesce(x.external_id, '') as user, coalesce(s.uuid::text, '') as stream, coalesce(a.log_position::text, '') as log_position,
  coalesce(a.sqlstate, '') as sqlstate, coalesce(octet_length(a.bytes), octet_length(a.content::text), 0) as bytes,
  case when a.replay_at is null then '' else 'at the next start' end as replay, a.reason`;
const source = 'set_aside a left join xuser x on x.id = a.xuser_id left join stream s on s.id = a.stream_id';

export const setAside: Command = {
  name: 'set-aside',
  summary: 'List, retry or delete rows and packets that could not be stored.',
  positionals: 'list | show ID | replay [ID...] | drop [ID...]',
  description: `Rows that the database refuses, logged packets that this release refuses, and logged bytes that hold no packet are set aside with the
reason, and everything else continues. They are kept for 90 days, or as long as their project keeps samples, and are erased with their user.
'replay' marks them: the service stores them at its next start, replacing forbidden characters in texts with spaces, and keeps what is
refused again. 'drop' deletes them permanently; without --yes it only says what it would delete.`,
  options: {
    all: { type: 'boolean', doc: 'replay, drop: all of them.' },
    limit: { type: 'string', value: 'N', fallback: '100', doc: 'list: the newest N.' },
    force: FORCE_OPTION,
    out: { type: 'string', value: 'FILE', doc: 'show: write the bytes to this file.' },
    yes: { type: 'boolean', doc: 'drop: delete them.' },
  },
  examples: [
    'biosignal set-aside list',
    'biosignal set-aside show 17 --out packet.bin',
    'biosignal set-aside replay --all',
    'biosignal set-aside drop 17 18 --yes',
  ],
  run: async ({ console, options, positionals, json }) => {
    const [verb = 'list', ...ids] = positionals;
    const wanted = ids.map(idOf);
    switch (verb) {
      case 'list':
        if (ids.length > 0) throw new UsageError("'list' takes no id");
        return await withDatabase(console, ({ pool }) => list(pool, console, json, options.integer('limit', 1, 100_000)));
      case 'show':
        if (wanted.length !== 1) throw new UsageError('show needs one ID');
        return await withDatabase(console, ({ pool }) =>
          show(pool, console, json, wanted[0]!, [options.text('out'), options.flag('force')]),
        );
      case 'replay':
      case 'drop': {
        const all = options.flag('all');
        if (all === wanted.length > 0) throw new UsageError(`${verb} needs ID... or --all`);
        const chosen = all ? null : wanted;
        return await withDatabase(console, ({ pool }) =>
          verb === 'replay' ? replay(pool, console, json, chosen) : drop(pool, console, json, chosen, options.flag('yes')),
        );
      }
      default:
        throw new UsageError(`cannot '${verb}'`);
    }
  },
};

function idOf(text: string): string {
  if (!/^\d{1,18}$/.test(text)) throw new UsageError(`'${text}' is not an id: 'biosignal set-aside list' shows the ids`);
  return text;
}

async function list(pool: Pool, console: Console, json: boolean, limit: number): Promise<number> {
  const { rows: found } = await pool.query<Row & { org: string | null }>(
    `select ${columns}, a.organization_id as org from ${source} order by a.id desc limit $1`,
    [limit],
  );
  await note(pool, console, 'set_aside.listed', found); // with the names of people
  const rows = found.map(({ org: _org, ...row }) => row);
  if (json) console.out(JSON.stringify(rows, null, 2));
  else if (rows.length === 0) console.out('nothing is set aside');
  else for (const line of formatTable(rows)) console.out(line);
  return EXIT_OK;
}

async function show(
  pool: Pool,
  console: Console,
  json: boolean,
  id: string,
  [file, mayReplace]: readonly [string, boolean],
): Promise<number> {
  const { rows } = await pool.query<Row & { content: unknown; data: Buffer | null; org: string | null; subject: string | null }>(
    `select ${columns}, a.content, a.bytes as data, a.organization_id as org, a.xuser_id as subject from ${source} where a.id = $1`,
    [id],
  );
  const [row] = rows;
  if (row === undefined) throw new PipelineError('not_found', `nothing with the id ${id} is set aside`);
  const { data, content, org, subject, ...head } = row;
  if (file !== '' && data === null) throw new PipelineError('not_found', `${id} is a row and has no bytes; see its content`);
  refuseExisting(file === '' ? [] : [file], mayReplace);
  // Showing it also reveals health data.
  const action = file === '' ? 'set_aside.read' : 'set_aside.exported';
  const entry = { action, targetKind: 'set_aside', targetId: id, ...(subject === null ? {} : { subjectId: subject }) };
  await audit(pool, commandLine(console, org), entry);
  if (file !== '') await writeFile(file, data!, { mode: 0o600 });
  if (json) console.out(JSON.stringify({ ...head, content, data_base64: data?.toString('base64') ?? null }, null, 2));
  else {
    for (const [name, value] of Object.entries(head)) console.out(`${name}: ${value}`);
    if (content !== null) console.out(`content: ${JSON.stringify(content)}`);
  }
  return EXIT_OK;
}

/** @param ids null: all */
async function replay(pool: Pool, console: Console, json: boolean, ids: readonly string[] | null): Promise<number> {
  const rows = await transaction(pool, async (client) => {
    // bytes whose owner is not known are no row and no packet: there is nothing to store
    const marked = await client.query<Found>(
      `update set_aside set replay_at = now() where stream_id is not null and ($1::int8[] is null or id = any($1))
       returning id::text, organization_id as org`,
      [ids],
    );
    refuseUnknown(ids, marked.rows, 'is set aside with a known owner');
    await note(client, console, 'set_aside.replayed', marked.rows);
    return marked.rows;
  });
  if (json) console.out(JSON.stringify({ replay: rows.map(({ id }) => id) }, null, 2));
  else if (rows.length === 0) console.out('nothing is set aside that could be stored');
  else console.out(`${rows.length} will be stored at the next start of the service`);
  return EXIT_OK;
}

/** @param ids null: all */
async function drop(pool: Pool, console: Console, json: boolean, ids: readonly string[] | null, yes: boolean): Promise<number> {
  const chosen = '$1::int8[] is null or id = any($1)';
  const rows = await transaction(pool, async (client) => {
    const found = await client.query<Found>(
      yes
        ? `delete from set_aside where ${chosen} returning id::text, organization_id as org`
        : `select id::text, organization_id as org from set_aside where ${chosen} order by set_aside.id`,
      [ids],
    );
    refuseUnknown(ids, found.rows, 'is set aside');
    if (yes) await note(client, console, 'set_aside.dropped', found.rows);
    return found.rows;
  });
  if (json) console.out(JSON.stringify({ dropped: yes, ids: rows.map(({ id }) => id) }, null, 2));
  else if (rows.length === 0) console.out('nothing is set aside');
  else console.out(yes ? `${rows.length} deleted` : `would delete ${rows.length}; add --yes to do it`);
  return EXIT_OK;
}

type Found = Readonly<{ id: string; org: string | null }>;

/** Writes an audit entry per organization; for data of unknown owner, one for the installation. */
async function note(db: Db, console: Console, action: string, rows: readonly Pick<Found, 'org'>[]): Promise<void> {
  for (const org of new Set(rows.map((row) => row.org))) {
    const count = rows.filter((row) => row.org === org).length;
    await audit(db, commandLine(console, org), { action, targetKind: 'set_aside', targetId: '', detail: { count } });
  }
}

function refuseUnknown(ids: readonly string[] | null, found: readonly { id: string }[], what: string): void {
  const missing = (ids ?? []).filter((id) => !found.some((row) => row.id === id));
  if (missing.length > 0) throw new PipelineError('not_found', `nothing with the id ${missing.join(', ')} ${what}`);
}
