/** The audit log: who did what, and who read whose data; filtered, in pages, as CSV; and its hash chain. */
import { Type } from 'typebox';
import type { Static, TObject } from 'typebox';
import { PipelineError } from '../errors.ts';
import { build, run } from '../storage/database/build.ts';
import type { Cursors } from '../http/cursor.ts';
import { page, pageStart } from '../http/page.ts';
import { defineRoute } from '../http/route.ts';
import type { Access, RequestContext, Route, WrittenReply } from '../http/route.ts';
import { CursorQuery, exactly, LimitQuery, nullable, oneOf, orDefault, Timestamp, Uuid } from '../http/schemas.ts';
import type { Db } from '../storage/database/database.ts';
import { audit } from './audit.ts';
import { auditChain } from './audit-chain.ts';
import { needWholeOrganization } from './authority.ts';
import { isUuid, orgOf, projectOf } from './record-ownership.ts';
import { readActions } from './read-audit.ts';
import type { Caller } from '../caller.ts';

const CSV_ROWS = 1000;

const entryMembers = {
  id: Type.Integer(),
  time: Timestamp,
  actor_kind: Type.String({ description: 'key, user, operator, cli (an account on the machine of the service), system.' }),
  actor_id: Type.String({ description: 'Of cli: the account of the machine.' }),
  action: Type.String(),
  target_kind: Type.String(),
  target_id: Type.String(),
  subject_id: nullable(Type.String({ format: 'uuid', description: 'The person whose data it is about; stays after an erasure.' })),
  project_id: nullable(Uuid),
  detail: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Of what was repeated: count, and since, when the first of them was. time is that of the last, request_id of the first.',
  }),
  ip: nullable(Type.String()),
  request_id: Type.String(),
  chain_seq: nullable(Type.Integer({ description: 'Position in the chain of the organization, from 1.' })),
  hash: nullable(Type.String({ description: 'SHA-256 over the entry before and this one, hexadecimal.' })),
};
const sorts = ['newest', 'oldest'] as const;
type Sort = (typeof sorts)[number];
const AuditSchema = exactly(entryMembers);
const columns = Object.keys(entryMembers) as readonly (keyof typeof entryMembers)[];
const admin: Access = { key: 'admin', operator: 'admin' };

const filters = {
  subject_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Whose data: uuid or external id of a user. A person who was erased is found by the uuid only.',
    }),
  ),
  actor_id: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Id of a member, key or user.' })),
  action: Type.Optional(Type.String({ maxLength: 100 })),
  kind: Type.Optional(oneOf(['acts', 'reads'], { description: `reads: ${readActions.join(', ')}; acts: everything else. Absent: both.` })),
  since: Type.Optional(Timestamp),
  until: Type.Optional(Timestamp),
};
type Filters = Readonly<Static<TObject<typeof filters>>>;
type Row = Readonly<Static<typeof AuditSchema>>;
/** The last entry of a page. Ordered by time, not id, because entries may be written late. */
type Position = Readonly<Pick<Row, 'time' | 'id'>>;

export type AuditDeps = Readonly<{
  db: Db;
  cursors: Cursors;
  /** Writes pending reads, so that the log shows them. */
  flushReads?: (() => Promise<void>) | undefined;
}>;

const verifyAuditLog = ({ db }: AuditDeps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/audit-log/chain',
    operationId: 'verifyAuditLog',
    tag: 'Operators',
    summary: 'Verify the hash chain of the audit log',
    description: 'Keep the head elsewhere: a chain whose end was cut off is whole, but ends in another hash.',
    access: admin,
    responses: {
      200: {
        description: 'What the chain is like.',
        schema: exactly({
          entries: Type.Integer(),
          head: nullable(Type.String({ description: 'Hash of the newest entry, hexadecimal.' })),
          broken_at: nullable(Type.Integer({ description: 'chain_seq of the first entry that is not as it was written; null: none.' })),
        }),
      },
    },
    handler: async ({ caller }) => {
      needWholeOrganization(caller);
      return { status: 200, json: await auditChain(db, orgOf(caller)) };
    },
  });

const listAuditLog = ({ db, cursors, flushReads }: AuditDeps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/audit-log',
    operationId: 'listAuditLog',
    tag: 'Operators',
    summary: 'Read the audit log',
    description:
      'Who read the data of a person, and when: subject_id with kind=reads; of several nodes, what another one has answered shows within ' +
      'ten seconds. Lists of many people (users, devices, signal quality, newest ' +
      'episodes) are entries personal_data.listed without a person. A key of one project reads the entries of that project. format=csv ' +
      'answers every entry of the filters, whatever limit says.',
    access: admin,
    query: {
      ...filters,
      sort: orDefault(oneOf(sorts, { default: 'newest', description: 'Of the list; the CSV begins with the newest.' })),
      limit: LimitQuery(100, 1000),
      cursor: CursorQuery,
      format: orDefault(oneOf(['json', 'csv'], { default: 'json' })),
    },
    responses: {
      200: { description: 'Entries.', schema: Type.Array(AuditSchema), headers: ['Link'], alternatives: { 'text/csv': null } },
    },
    errors: ['cursor_invalid', 'not_found'],
    handler: async (request) => {
      const { caller, query } = request;
      const { limit, cursor: _, format, sort, ...given } = query;
      await flushReads?.().catch(() => undefined); // they wait for the next flush
      const wanted = await conditionsOf(db, caller, given);
      if (format === 'csv') return await exportCsv(db, request, wanted, given);
      const scope = `audit by time ${orgOf(caller)} ${projectOf(caller) ?? ''} ${sort} ${JSON.stringify(given)}`;
      const list = { cursors, path: '/api/v1/audit-log', scope, query };
      const start = pageStart(list);
      const after = start === null ? null : { time: String(start[0]), id: Number(start[1]) };
      const rows = await readEntries(db, wanted, after, limit + 1, sort);
      const { items, headers } = page(list, rows, (last) => [last.time, last.id]);
      return { status: 200, json: items, headers };
    },
  });

/** Conditions on the rows, with the parameters of the statement. */
type Conditions = Readonly<{ where: readonly string[]; values: readonly unknown[]; subjects: readonly string[] | null }>;

/** @throws PipelineError not_found: the person or the actor is not of this organization (or of the key's project) */
async function conditionsOf(db: Db, caller: Caller, given: Filters): Promise<Conditions> {
  const where: string[] = [];
  const values: unknown[] = [];
  const add = (condition: string, value: unknown): void => {
    values.push(value);
    where.push(condition.replace('?', `$${values.length}`));
  };
  add('organization_id = ?', orgOf(caller));
  if (projectOf(caller) !== null) add('project_id = ?', projectOf(caller));
  const subjects = given.subject_id === undefined ? null : await subjectsNamed(db, caller, given.subject_id);
  if (subjects !== null) add('subject_id = any(?::uuid[])', subjects);
  if (given.actor_id !== undefined) {
    await needActor(db, caller, given.actor_id);
    add('actor_id = ?', given.actor_id);
  }
  if (given.action !== undefined) add('action = ?', given.action);
  if (given.since !== undefined) add('audit_log.time >= ?::timestamptz', given.since);
  if (given.until !== undefined) add('audit_log.time < ?::timestamptz', given.until);
  // A literal, not a parameter: it must match the condition of the index audit_log_acts_idx.
  const reads = readActions.map((action) => `'${action}'`).join(', ');
  if (given.kind !== undefined) where.push(`action ${given.kind === 'acts' ? 'not in' : 'in'} (${reads})`);
  return { where, values, subjects };
}

async function subjectsNamed(db: Db, caller: Caller, wanted: string): Promise<readonly string[]> {
  const project = projectOf(caller);
  const named = build.selectFrom('xuser').select('id').where('organization_id', '=', orgOf(caller)).where('external_id', '=', wanted);
  const { rows } = await run(db, project === null ? named : named.where('project_id', '=', project));
  const ids = rows.map(({ id }) => id);
  if (isUuid(wanted) && (await isKnown(db, orgOf(caller), project, wanted))) ids.push(wanted);
  if (ids.length === 0) throw new PipelineError('not_found', 'There is no such user; a person who was erased is found by the uuid.');
  return ids;
}

/** Whether a person is, or was before they were erased, one of the organization, and of the project of a key that is confined to one. */
async function isKnown(db: Db, orgId: string, projectId: string | null, subjectId: string): Promise<boolean> {
  // SQL: two looks in one statement.
  const { rows } = await db.query<{ known: boolean }>(
    `select exists (select from xuser x where x.id = $1 and x.organization_id = $2 and ($3::uuid is null or x.project_id = $3))
       or exists (select from audit_log a where a.subject_id = $1 and a.organization_id = $2 and ($3::uuid is null or a.project_id = $3)) as known`,
    [subjectId, orgId, projectId],
  );
  return rows[0]!.known;
}

/** @throws PipelineError not_found: has done nothing here, and is no member, key or user of the organization (or of the key's project) */
async function needActor(db: Db, caller: Caller, actor: string): Promise<void> {
  // SQL: four looks in one statement.
  const { rows } = await db.query<{ known: boolean }>(
    `select exists (select from audit_log a where a.organization_id = $1 and a.actor_id = $2 and ($3::uuid is null or a.project_id = $3))
       or exists (select from xuser x where x.id = $4 and x.organization_id = $1 and ($3::uuid is null or x.project_id = $3))
       or exists (select from api_key k where k.id = $4 and k.organization_id = $1 and ($3::uuid is null or k.project_id = $3))
       or $3::uuid is null and exists (select from operator_account o where o.id = $4 and o.organization_id = $1) as known`,
    [orgOf(caller), actor, projectOf(caller), isUuid(actor) ? actor : null],
  );
  if (!rows[0]!.known) throw new PipelineError('not_found', 'There is no such actor, and none of this id has done anything here.');
}

/** @param after the last entry of the page before */
async function readEntries(
  db: Db,
  { where, values }: Conditions,
  after: Position | null,
  limit: number,
  sort: Sort = 'newest',
): Promise<readonly Row[]> {
  const at = values.length;
  const [beyond, order] = sort === 'newest' ? ['<', 'desc'] : ['>', 'asc'];
  const more = after === null ? '' : ` and (audit_log.time, audit_log.id) ${beyond} ($${at + 2}::timestamptz, $${at + 3}::int8)`;
  // SQL: the conditions are a list of text, and the CSV of a whole log is read page by page.
  const { rows } = await db.query<Row>(
    `select id::float8 as id, to_json(time) #>> '{}' as time, actor_kind, actor_id, action, target_kind, target_id, subject_id, project_id,
       detail, host(ip) as ip, request_id, chain_seq::float8 as chain_seq, encode(hash, 'hex') as hash
     from audit_log where ${where.join(' and ')}${more} order by audit_log.time ${order}, audit_log.id ${order} limit $${at + 1}`,
    [...values, limit, ...(after === null ? [] : [after.time, after.id])],
  );
  return rows;
}

/** Exports the log as CSV. The export is itself recorded: who took which part of the log. */
async function exportCsv(db: Db, request: RequestContext, wanted: Conditions, given: Filters): Promise<WrittenReply<200>> {
  const { subjects } = wanted; // not as they were named: external ids must not outlive an erasure
  const detail = subjects === null ? given : { ...given, subject_id: subjects };
  const about = subjects?.length === 1 && subjects[0] !== undefined ? { subjectId: subjects[0] } : {};
  await audit(db, request, { action: 'audit_log.exported', targetKind: 'audit_log', targetId: '', detail, ...about });
  return {
    status: 200,
    stream: csvOf(db, wanted),
    contentType: 'text/csv; charset=utf-8',
    headers: { 'content-disposition': 'attachment; filename="audit-log.csv"' },
  };
}

async function* csvOf(db: Db, wanted: Conditions): AsyncIterable<Uint8Array> {
  yield Buffer.from(`${columns.join(',')}\r\n`);
  for (let before: Position | null = null; ;) {
    const rows: readonly Row[] = await readEntries(db, wanted, before, CSV_ROWS);
    if (rows.length > 0) yield Buffer.from(rows.map((row) => `${columns.map((name) => csvCell(row[name])).join(',')}\r\n`).join(''));
    const last = rows.at(-1);
    if (rows.length < CSV_ROWS || last === undefined) return;
    before = last;
  }
}

/** A cell as in RFC 4180; text that a spreadsheet would read as a formula gets an apostrophe in front. */
function csvCell(value: unknown): string {
  if (value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const plain = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

export const auditRoutes = (deps: AuditDeps): readonly Route[] => [verifyAuditLog(deps), listAuditLog(deps)];
