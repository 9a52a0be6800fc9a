/** Projects and their origins for direct mode. */
import { sql } from 'kysely';
import { Type } from 'typebox';
import type { Pool } from 'pg';
import { PipelineError } from '../errors.ts';
import { build, run } from '../storage/database/build.ts';
import { checkIfMatch, etagOf } from '../http/precondition.ts';
import { defineRoute } from '../http/route.ts';
import type { Access, Route } from '../http/route.ts';
import { exactly, OneLine } from '../http/schemas.ts';
import { transaction } from '../storage/database/transaction.ts';
import { answerOnce } from './answer-once.ts';
import type { Db } from '../storage/database/database.ts';
import { audit } from './audit.ts';
import { needLasting } from './authority.ts';
import { createProject } from './projects.ts';
import { lockProject, orgOf, ownProject, projectOf } from './record-ownership.ts';
import { ProjectSchema, projectsOf } from './projects.ts';

const Origin = Type.String({
  pattern: '^https?://[a-z0-9.-]+(:[0-9]{1,5})?$',
  maxLength: 200,
  description: 'scheme://host[:port], exactly as a browser sends it',
});
const OriginsSchema = exactly({ origins: Type.Array(Origin, { maxItems: 100, uniqueItems: true }) });
const admin: Access = { key: 'admin', operator: 'admin' };

type Deps = Readonly<{ db: Pool }>;

async function originsOf(db: Db, projectId: string): Promise<{ origins: string[] }> {
  const { rows } = await run(db, build.selectFrom('allowed_origin').select('origin').where('project_id', '=', projectId).orderBy('origin'));
  return { origins: rows.map((row) => row.origin) };
}

const listProjects = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/projects',
    operationId: 'listProjects',
    tag: 'Projects',
    summary: 'List projects',
    access: { key: 'read', operator: 'viewer' },
    responses: { 200: { description: 'Projects.', schema: Type.Array(ProjectSchema) } },
    handler: async ({ caller }) => {
      return { status: 200, json: await projectsOf(db, orgOf(caller), projectOf(caller)) };
    },
  });

const createProjectRoute = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/projects',
    operationId: 'createProject',
    tag: 'Projects',
    summary: 'Create a project with its public keys',
    description: 'A key that ends creates none.',
    access: admin,
    body: exactly({ name: OneLine(200, { minLength: 1 }) }),
    idempotent: true,
    responses: { 201: { description: 'The project.', schema: ProjectSchema } },
    handler: async (request) => {
      const { caller, body } = request;
      if (projectOf(caller) !== null) throw new PipelineError('scope_missing', 'The key is confined to one project.');
      await needLasting(db, caller, 'A project, with its public keys,');
      return await answerOnce(db, request, { operationId: 'createProject' }, async (client) => {
        const { projectId } = await createProject(client, orgOf(caller), body.name);
        await audit(client, request, { action: 'project.created', targetKind: 'project', targetId: projectId });
        const [made] = await projectsOf(client, orgOf(caller), projectId);
        if (made === undefined) throw new Error('a created project vanished');
        return { status: 201, json: made };
      });
    },
  });

const getOrigins = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/projects/{projectId}/origins',
    operationId: 'getOrigins',
    tag: 'Projects',
    summary: 'Origins from which direct mode is accepted',
    access: admin,
    params: { projectId: Type.String({ maxLength: 64 }) },
    responses: { 200: { description: 'Origins.', schema: OriginsSchema, headers: ['ETag'] } },
    handler: async ({ caller, params }) => {
      const found = await originsOf(db, (await ownProject(db, caller, params.projectId)).id);
      return { status: 200, json: found, headers: { etag: etagOf(found) } };
    },
  });

const setOrigins = ({ db }: Deps) =>
  defineRoute({
    method: 'PUT',
    path: '/api/v1/projects/{projectId}/origins',
    operationId: 'setOrigins',
    tag: 'Projects',
    summary: 'Replace the origins from which direct mode is accepted',
    description: 'Those of ALLOWED_ORIGINS in the environment stay accepted as well.',
    access: admin,
    params: { projectId: Type.String({ maxLength: 64 }) },
    body: OriginsSchema,
    responses: { 200: { description: 'Origins as they are now.', schema: OriginsSchema, headers: ['ETag'] } },
    errors: ['precondition_failed', 'precondition_required'],
    handler: async (request) => {
      const { caller, params, body } = request;
      const project = await ownProject(db, caller, params.projectId);
      const wanted = body.origins;
      const after = await transaction(db, async (client) => {
        await lockProject(client, project.id);
        checkIfMatch(request, etagOf(await originsOf(client, project.id)));
        // One statement: a reader sees the old list or the new one.
        const before = build.deleteFrom('allowed_origin').where('project_id', '=', project.id);
        await run(
          client,
          build
            .with('gone', () => before.where('origin', '<>', sql<string>`all(${wanted}::text[])`))
            .insertInto('allowed_origin')
            .columns(['project_id', 'origin'])
            .expression(
              build.selectNoFrom([sql<string>`${project.id}::uuid`.as('project_id'), sql<string>`unnest(${wanted}::text[])`.as('origin')]),
            )
            .onConflict((conflict) => conflict.doNothing()),
        );
        const detail = { origins: wanted };
        await audit(client, request, { action: 'origins.replaced', targetKind: 'project', targetId: project.id, detail });
        return await originsOf(client, project.id);
      });
      return { status: 200, json: after, headers: { etag: etagOf(after) } };
    },
  });

export const projectRoutes = (deps: Deps): readonly Route[] => [
  listProjects(deps),
  createProjectRoute(deps),
  getOrigins(deps),
  setOrigins(deps),
];
