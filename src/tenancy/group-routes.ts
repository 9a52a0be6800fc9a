/** Groups of a project's people: list, make, rename, delete; who is in one. */
import { Type } from 'typebox';
import type { Pool } from 'pg';
import { PipelineError } from '../errors.ts';
import { callerKey } from '../http/request.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { exactly, OneLine, Timestamp, Uuid } from '../http/schemas.ts';
import { build, run, runForOne } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import { transaction } from '../storage/database/transaction.ts';
import { answerOnce } from './answer-once.ts';
import { audit } from './audit.ts';
import { findGroup, groups, GROUPS_MAX } from './groups.ts';
import { lockProject, ownProject, ownSubject } from './record-ownership.ts';

const GroupSchema = exactly({
  id: Uuid,
  project_id: Uuid,
  name: Type.String(),
  member_count: Type.Integer(),
  created_at: Timestamp,
});
const Name = OneLine(200, { minLength: 1, description: 'One of its own in the project, in any case.' });
const read = { key: 'read', operator: 'viewer' } as const;
const write = { key: 'write', operator: 'editor' } as const;
const ofProject = { projectId: Type.String({ maxLength: 64 }) };
const ofGroup = { ...ofProject, groupId: Uuid };
const ofMember = { ...ofGroup, xuserId: Type.String({ minLength: 1, maxLength: 255, description: 'Id or external id.' }) };
const path = '/api/v1/projects/{projectId}/groups';

type Deps = Readonly<{ db: Pool }>;

const listGroups = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path,
    operationId: 'listGroups',
    tag: 'Users',
    summary: 'List the groups of a project',
    description: 'By name. GET /xusers?group_id= lists who is in one.',
    access: read,
    params: ofProject,
    query: {
      subject_id: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Only those that this person is in.' })),
    },
    responses: { 200: { description: 'Groups.', schema: Type.Array(GroupSchema) } },
    errors: ['not_found'],
    handler: async ({ caller, params, query }) => {
      const project = await ownProject(db, caller, params.projectId);
      let listed = groups.where('g.project_id', '=', project.id);
      if (query.subject_id !== undefined) {
        const subject = await ownSubject(db, caller, query.subject_id, 'none');
        const theirs = build.selectFrom('person_group_member').select('group_id').where('xuser_id', '=', subject.id);
        listed = listed.where('g.id', 'in', theirs);
      }
      const { rows } = await run(db, listed.orderBy(({ fn }) => fn('lower', ['g.name'])).limit(GROUPS_MAX));
      return { status: 200, json: rows };
    },
  });

const createGroup = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path,
    operationId: 'createGroup',
    tag: 'Users',
    summary: 'Make a group',
    description: `At most ${GROUPS_MAX} in a project.`,
    access: write,
    params: ofProject,
    body: exactly({ name: Name }),
    idempotent: true,
    responses: { 201: { description: 'The group.', schema: GroupSchema, headers: ['Location'] } },
    errors: ['not_found', 'conflict'],
    handler: async (request) => {
      const { caller, params, body } = request;
      const project = await ownProject(db, caller, params.projectId);
      return await answerOnce(db, request, { operationId: 'createGroup' }, async (client) => {
        await lockProject(client, project.id);
        await needFreeName(client, project.id, body.name, null);
        const row = { organization_id: project.orgId, project_id: project.id, name: body.name, created_by: callerKey(caller) };
        const { id } = await runForOne(client, build.insertInto('person_group').values(row).returning('id'));
        await audit(client, request, { action: 'group.created', targetKind: 'group', targetId: id });
        const location = `/api/v1/projects/${project.id}/groups/${id}`;
        return { status: 201, json: await findGroup(client, project.id, id), headers: { location } };
      });
    },
  });

const updateGroup = ({ db }: Deps) =>
  defineRoute({
    method: 'PATCH',
    path: `${path}/{groupId}`,
    operationId: 'updateGroup',
    tag: 'Users',
    summary: 'Rename a group',
    access: write,
    params: ofGroup,
    body: exactly({ name: Type.Optional(Name) }),
    responses: { 200: { description: 'The group.', schema: GroupSchema } },
    errors: ['not_found', 'conflict'],
    handler: async (request) => {
      const { caller, params, body } = request;
      const project = await ownProject(db, caller, params.projectId);
      const json = await transaction(db, async (client) => {
        await lockProject(client, project.id);
        const { id, name } = await findGroup(client, project.id, params.groupId);
        await needFreeName(client, project.id, body.name ?? name, id);
        await run(
          client,
          build
            .updateTable('person_group')
            .set({ name: body.name ?? name })
            .where('id', '=', id),
        );
        await audit(client, request, { action: 'group.updated', targetKind: 'group', targetId: id });
        return await findGroup(client, project.id, id);
      });
      return { status: 200, json };
    },
  });

const deleteGroup = ({ db }: Deps) =>
  defineRoute({
    method: 'DELETE',
    path: `${path}/{groupId}`,
    operationId: 'deleteGroup',
    tag: 'Users',
    summary: 'Delete a group',
    description: 'Its people stay. A group that a rule is for is not deleted (conflict): the rule would be for nobody, or for everybody.',
    access: write,
    params: ofGroup,
    responses: { 204: { description: 'Deleted.' } },
    errors: ['not_found', 'conflict'],
    handler: async (request) => {
      const { caller, params } = request;
      const project = await ownProject(db, caller, params.projectId);
      await transaction(db, async (client) => {
        await lockProject(client, project.id);
        const { id } = await findGroup(client, project.id, params.groupId);
        const rules = await run(client, build.selectFrom('episode_rule').select('name').where('group_id', '=', id).limit(1));
        const [rule] = rules.rows;
        if (rule !== undefined)
          throw new PipelineError('conflict', `The rule '${rule.name}' is for this group: change or delete it first.`);
        await run(client, build.deleteFrom('person_group').where('id', '=', id));
        await audit(client, request, { action: 'group.deleted', targetKind: 'group', targetId: id });
      });
      return { status: 204 };
    },
  });

const addGroupMember = ({ db }: Deps) =>
  defineRoute({
    method: 'PUT',
    path: `${path}/{groupId}/members/{xuserId}`,
    operationId: 'addGroupMember',
    tag: 'Users',
    summary: 'Put a person into a group',
    description: 'Once, however often it is said.',
    access: write,
    params: ofMember,
    body: exactly({}),
    responses: { 200: { description: 'The group.', schema: GroupSchema } },
    errors: ['not_found'],
    handler: async (request) => {
      const { caller, params } = request;
      const project = await ownProject(db, caller, params.projectId);
      const subject = await ownSubject(db, caller, params.xuserId, 'none');
      if (subject.projectId !== project.id) throw new PipelineError('not_found', 'There is no such user in this project.');
      const json = await transaction(db, async (client) => {
        await lockProject(client, project.id); // the group is not deleted meanwhile
        const { id } = await findGroup(client, project.id, params.groupId);
        const row = { group_id: id, xuser_id: subject.id, organization_id: project.orgId, added_by: callerKey(caller) };
        await run(
          client,
          build
            .insertInto('person_group_member')
            .values(row)
            .onConflict((same) => same.doNothing()),
        );
        await audit(client, request, { action: 'group.member_added', targetKind: 'group', targetId: id, subjectId: subject.id });
        return await findGroup(client, project.id, id);
      });
      return { status: 200, json };
    },
  });

const removeGroupMember = ({ db }: Deps) =>
  defineRoute({
    method: 'DELETE',
    path: `${path}/{groupId}/members/{xuserId}`,
    operationId: 'removeGroupMember',
    tag: 'Users',
    summary: 'Take a person out of a group',
    description: 'Open episodes that a rule has for the group end for this person within 15 s.',
    access: write,
    params: ofMember,
    responses: { 204: { description: 'The person is not in it.' } },
    errors: ['not_found'],
    handler: async (request) => {
      const { caller, params } = request;
      const project = await ownProject(db, caller, params.projectId);
      const subject = await ownSubject(db, caller, params.xuserId, 'none');
      await transaction(db, async (client) => {
        const { id } = await findGroup(client, project.id, params.groupId);
        await run(client, build.deleteFrom('person_group_member').where('group_id', '=', id).where('xuser_id', '=', subject.id));
        await audit(client, request, { action: 'group.member_removed', targetKind: 'group', targetId: id, subjectId: subject.id });
      });
      return { status: 204 };
    },
  });

/** Call it with the project locked.  @throws PipelineError conflict: another group has the name, or there are GROUPS_MAX */
async function needFreeName(db: Db, projectId: string, name: string, id: string | null): Promise<void> {
  const named = build.selectFrom('person_group').select('id').where('project_id', '=', projectId);
  const { rows: all } = await run(db, named);
  if (id === null && all.length >= GROUPS_MAX) throw new PipelineError('conflict', `The project has ${GROUPS_MAX} groups, and no more.`);
  const { rows } = await run(
    db,
    named.where(({ fn, eb, val }) => eb(fn<string>('lower', ['name']), '=', fn<string>('lower', [val(name)]))),
  );
  if (rows.some((other) => other.id !== id)) throw new PipelineError('conflict', `There is a group '${name}' already.`);
}

export const groupRoutes = (deps: Deps): readonly Route[] => [
  listGroups(deps),
  createGroup(deps),
  updateGroup(deps),
  deleteGroup(deps),
  addGroupMember(deps),
  removeGroupMember(deps),
];
