/** User records: resolve or create, list, read, disable. */
import { sql } from 'kysely';
import { Type } from 'typebox';
import type { Pool } from 'pg';
import { PipelineError } from '../errors.ts';
import { build, run } from '../storage/database/build.ts';
import { sqlStateOf } from '../storage/database/sql-states.ts';
import type { Cursors } from '../http/cursor.ts';
import { checkIfMatch } from '../http/precondition.ts';
import { page, pageStart } from '../http/page.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { spellingsOf } from '../spellings.ts';
import { holdsSql } from '../storage/database/folded-sql.ts';
import { CursorQuery, exactly, GroupQuery, LimitQuery, nullable, OneLine, oneOf, orDefault, Timestamp, Uuid } from '../http/schemas.ts';
import { isTimeZone, notTimeZone, presentName } from '../http/time-zone.ts';
import { transaction } from '../storage/database/transaction.ts';
import { answerOnce } from './answer-once.ts';
import type { Db } from '../storage/database/database.ts';
import { emitEvent } from './events.ts';
import { hasFlowingStream } from './flowing.ts';
import { groupIdOf } from './groups.ts';
import { archivedProjects, orgOf, ownProject, ownSubject, ownSubjectOf, projectIdOf, projectOf } from './record-ownership.ts';
import type { OwnedProject } from './record-ownership.ts';
import { ExternalId, ProjectKey } from './xuser-schemas.ts';
import { changeXuser, readXuser, resolveXuser, shownXuser, xuserColumns } from './xusers.ts';
import type { Xuser } from './xusers.ts';
import type { Caller } from '../caller.ts';

export const XuserSchema = exactly({
  xuser_id: Uuid,
  external_id: Type.String(),
  project_id: Uuid,
  display_name: Type.String(),
  time_zone: nullable(Type.String({ description: 'IANA time zone; null: that of the project.' })),
  created_at: Timestamp,
  updated_at: Timestamp,
  disabled: Type.Boolean({ description: 'A disabled user gets no tokens, and those it has stop working.' }),
});

const ListedXuserSchema = exactly({
  ...XuserSchema.properties,
  is_flowing: Type.Boolean({ description: 'A device of this user sends now.' }),
});

const TimeZone = Type.String({ minLength: 1, maxLength: 64 });

/** Sort orders of the list: a page's cursor is the last row's value here, and its id. Users without a name come last, by their external
 *  id. */
const orders = {
  newest: { key: sql`xuser.created_at`, after: (key: unknown) => sql`${key}::timestamptz`, direction: 'desc' },
  external_id: { key: sql`lower(external_id) collate "C"`, after: (key: unknown) => sql`${key}::text`, direction: 'asc' },
  name: {
    key: sql`case display_name when '' then '1' || folded(external_id) else '0' || folded(display_name) end collate "C"`,
    after: (key: unknown) => sql`${key}::text`,
    direction: 'asc',
  },
} as const;
const orderNames = ['newest', 'external_id', 'name'] as const;

type Deps = Readonly<{ db: Pool; cursors: Cursors; flowingStreams?: () => readonly number[] }>;

const resolveUser = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/xusers',
    operationId: 'resolveUser',
    tag: 'Users',
    summary: 'Resolve or create the user of an external id',
    description:
      'Called by the provider in direct mode. The project is that of project_key (or of the project-key header), or the only one that the ' +
      'key may use. A user token resolves its own user and no other.',
    access: { key: 'write', userToken: 'own', operator: 'editor' },
    body: exactly({
      xuser_id: Type.Optional(ExternalId),
      external_id: Type.Optional(ExternalId),
      project_key: Type.Optional(ProjectKey),
      display_name: Type.Optional(OneLine(200)),
      time_zone: Type.Optional(TimeZone),
    }),
    bodyBytesMax: 16 * 1024,
    idempotent: true,
    responses: {
      200: { description: 'The user existed.', schema: XuserSchema },
      201: { description: 'The user was created.', schema: XuserSchema },
    },
    errors: ['not_found'],
    handler: async (request) => {
      const { caller, body } = request;
      const externalId = body.external_id ?? body.xuser_id;
      if (externalId === undefined) throw missing('/external_id');
      await checkTimeZone(db, body.time_zone ?? null);
      if (caller.kind === 'user') {
        const own = await ownSubject(db, caller, '', 'none');
        if (own.externalId !== externalId && own.id !== externalId) throw new PipelineError('not_found', 'There is no such user.');
        return { status: 200, json: await readXuser(db, own.id) };
      }
      const project = await projectFor(db, caller, body.project_key);
      const { orgId } = project;
      return await answerOnce(db, request, { operationId: 'resolveUser' }, async (client) => {
        const { xuser, created } = await resolveXuser(client, orgId, project.id, externalId);
        const { display_name: displayName, time_zone: timeZone } = body;
        const { changed, xuser: now } = await changeXuser(client, xuser.xuser_id, { displayName, timeZone });
        if (changed && !created) await emitEvent(client, { orgId, projectId: project.id }, 'xuser.updated', { xuser_id: now.xuser_id });
        return created ? { status: 201, json: now } : { status: 200, json: now };
      });
    },
  });

const listUsers = ({ db, cursors, flowingStreams = () => [] }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/xusers',
    operationId: 'listUsers',
    tag: 'Users',
    summary: 'List users',
    description: 'Newest first, unless `sort` says otherwise. A user token lists its own record.',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    query: {
      project_id: Type.Optional(Uuid),
      group_id: GroupQuery,
      external_id: Type.Optional(ExternalId),
      search: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 255,
          description: 'Part of the external id or of the name, in any case, with or without accents.',
        }),
      ),
      sort: orDefault(oneOf(orderNames, { default: 'newest', description: 'Names and external ids ascending, in any case.' })),
      limit: LimitQuery(100, 1000),
      cursor: CursorQuery,
    },
    responses: { 200: { description: 'Users.', schema: Type.Array(ListedXuserSchema), headers: ['Link'] } },
    errors: ['cursor_invalid', 'not_found'],
    handler: async ({ caller, query }) => {
      const { external_id: externalId, search, sort, limit } = query;
      const project = await projectIdOf(db, caller, query.project_id);
      const group = await groupIdOf(db, caller, query.group_id);
      const { key, after, direction } = orders[sort];
      const own = ownSubjectOf(caller);
      const scope = ['xusers', orgOf(caller), project, ownSubjectOf(caller), sort, JSON.stringify([externalId, search, group])].join(' ');
      const list = { cursors, path: '/api/v1/xusers', scope, query };
      let users = build
        .selectFrom('xuser')
        .select(xuserColumns)
        .select(hasFlowingStream(flowingStreams()).as('is_flowing'))
        .select(sql<string>`to_json(${key}) #>> '{}'`.as('page_key'));
      users = users.where('organization_id', '=', orgOf(caller)).where('project_id', 'not in', archivedProjects(caller));
      if (project !== null) users = users.where('project_id', '=', project);
      if (group !== null)
        users = users.where('id', 'in', build.selectFrom('person_group_member').select('xuser_id').where('group_id', '=', group));
      if (own !== null) users = users.where('id', '=', own);
      if (externalId !== undefined) users = users.where('external_id', '=', externalId);
      if (search !== undefined) {
        const [before = '', after = ''] = holdsSql(':spellings', ['external_id', 'display_name']).split(':spellings');
        users = users.where(sql<boolean>`${sql.raw(before)}${spellingsOf(search)}::text[]${sql.raw(after)}`);
      }
      const start = pageStart(list);
      if (start !== null) {
        const [afterKey, afterId] = start;
        const beyond = direction === 'desc' ? sql`<` : sql`>`;
        users = users.where(sql<boolean>`(${key}, id) ${beyond} (${after(afterKey)}, ${afterId}::uuid)`);
      }
      const { rows } = await run(
        db,
        users
          .orderBy(key, direction)
          .orderBy('id', direction)
          .limit(limit + 1),
      );
      const { items, headers } = page(list, rows, (last) => [last.page_key, last.xuser_id]);
      return { status: 200, json: items.map(({ page_key: _key, ...user }) => ({ ...user, ...shownXuser(user) })), headers };
    },
  });

const getUser = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/xusers/{xuserId}',
    operationId: 'getUser',
    tag: 'Users',
    summary: 'Read one user',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    params: { xuserId: Uuid },
    responses: { 200: { description: 'The user.', schema: XuserSchema, headers: ['ETag'] } },
    errors: ['not_found'],
    handler: async ({ caller, params }) => {
      const subject = await ownSubject(db, caller, params.xuserId, 'none');
      const xuser = await readXuser(db, subject.id);
      return { status: 200, json: xuser, headers: { etag: tagOf(xuser) } };
    },
  });

const updateUser = ({ db }: Deps) =>
  defineRoute({
    method: 'PATCH',
    path: '/api/v1/xusers/{xuserId}',
    operationId: 'updateUser',
    tag: 'Users',
    summary: 'Change or disable a user',
    access: { key: 'write', operator: 'editor' },
    params: { xuserId: Uuid },
    body: exactly({
      display_name: Type.Optional(OneLine(200)),
      time_zone: Type.Optional(nullable(TimeZone)),
      disabled: Type.Optional(Type.Boolean()),
    }),
    responses: { 200: { description: 'The user as it is now.', schema: XuserSchema, headers: ['ETag'] } },
    errors: ['not_found', 'precondition_failed', 'precondition_required'],
    handler: async (request) => {
      const { caller, params, body } = request;
      const subject = await ownSubject(db, caller, params.xuserId, 'none');
      await checkTimeZone(db, body.time_zone ?? null);
      const { display_name: displayName, time_zone: timeZone, disabled } = body;
      const xuser = await transaction(db, async (client) => {
        await run(client, build.selectFrom('xuser').select('id').where('id', '=', subject.id).forNoKeyUpdate());
        checkIfMatch(request, tagOf(await readXuser(client, subject.id)));
        const { changed, xuser: now } = await changeXuser(client, subject.id, { displayName, timeZone, disabled });
        if (changed) await emitEvent(client, subject, 'xuser.updated', { xuser_id: subject.id });
        return now;
      });
      return { status: 200, json: xuser, headers: { etag: tagOf(xuser) } };
    },
  });

function tagOf({ updated_at: updatedAt }: Xuser): string {
  return `"${updatedAt}"`;
}

/** Finds the project named by a key, or the only one that this caller reaches. */
export async function projectFor(db: Db, caller: Caller, projectKey: string | undefined): Promise<OwnedProject> {
  if (projectKey !== undefined) return await ownProject(db, caller, projectKey);
  const confined = projectOf(caller);
  if (confined !== null) return await ownProject(db, caller, confined);
  const projects = build.selectFrom('project').select('id').where('organization_id', '=', orgOf(caller)).where('archived_at', 'is', null);
  const { rows } = await run(db, projects.limit(2));
  const only = rows[0];
  if (rows.length !== 1 || only === undefined) throw missing('/project_key');
  return await ownProject(db, caller, only.id);
}

function missing(pointer: string): PipelineError {
  return new PipelineError('validation_failed', `${pointer}: is required`, {
    errors: [{ pointer, code: 'required', detail: 'is required' }],
  });
}

async function checkTimeZone(db: Pool, zone: string | null): Promise<void> {
  if (zone === null) return;
  const refused = (detail: string): PipelineError =>
    new PipelineError('validation_failed', `/time_zone: ${detail}`, { errors: [{ pointer: '/time_zone', code: 'format', detail }] });
  if (!isTimeZone(zone)) throw refused(notTimeZone(zone));
  // SQL: kysely has no `at time zone`.
  await db.query('select now() at time zone $1', [presentName(zone)]).catch((error: unknown) => {
    throw sqlStateOf(error) === '22023' ? refused('is not a time zone that the database knows') : error;
  });
}

export const xuserRoutes = (deps: Deps): readonly Route[] => [resolveUser(deps), listUsers(deps), getUser(deps), updateUser(deps)];
