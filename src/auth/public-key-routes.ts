/** Public keys of a project: SDK keys and the project key itself. Create, list, rotate with an overlap, revoke. */
import { Type } from 'typebox';
import type { Pool } from 'pg';
import { defineRoute } from '../http/route.ts';
import type { RequestContext, Route } from '../http/route.ts';
import { exactly, nullable, OneLine, Timestamp, Uuid } from '../http/schemas.ts';
import type { Db } from '../storage/database/database.ts';
import { endOfCaller, needLasting } from '../tenancy/authority.ts';
import { adminOnly, changeKey, Overlap, overlapOf } from './key-change.ts';
import { ProjectSchema } from '../tenancy/projects.ts';
import { ownProject } from '../tenancy/record-ownership.ts';
import type { OwnedProject } from '../tenancy/record-ownership.ts';
import { createSdkKey, listSdkKeys, revokePreviousProjectKey, revokeSdkKey, rotateProjectKey, rotateSdkKey } from './public-keys.ts';

const SdkKeySchema = exactly({
  id: Uuid,
  sdk_key: Type.String(),
  name: Type.String(),
  created_at: Timestamp,
  expires_at: nullable(Timestamp),
  revoked_at: nullable(Timestamp),
  last_used_at: nullable(Timestamp),
  rotated_from: nullable(Uuid),
});
const ProjectId = Type.String({ maxLength: 64 });

type Deps = Readonly<{ db: Pool }>;

function projectOf(db: Db, { caller, params }: RequestContext<{ projectId: string }>): Promise<OwnedProject> {
  return ownProject(db, caller, params.projectId);
}

const listSdkKeysRoute = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/projects/{projectId}/sdk-keys',
    operationId: 'listSdkKeys',
    tag: 'Projects',
    summary: 'List the public SDK keys of a project',
    access: { key: 'read', operator: 'viewer' },
    params: { projectId: ProjectId },
    responses: { 200: { description: 'Keys.', schema: Type.Array(SdkKeySchema) } },
    handler: async (request) => ({ status: 200, json: await listSdkKeys(db, (await projectOf(db, request)).id) }),
  });

const createSdkKeyRoute = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/projects/{projectId}/sdk-keys',
    operationId: 'createSdkKey',
    tag: 'Projects',
    summary: 'Create a public SDK key',
    description: 'Made by an organization key that ends, it ends with that one.',
    access: adminOnly,
    params: { projectId: ProjectId },
    body: exactly({ name: Type.Optional(OneLine(100)) }),
    responses: { 201: { description: 'The key.', schema: SdkKeySchema } },
    handler: async (request) => {
      const json = await changeKey(db, request, 'sdk_key.created', async (client) => {
        const { name = '' } = request.body;
        const project = await projectOf(client, request);
        const made = await createSdkKey(client, project.id, name, await endOfCaller(client, request.caller));
        return { targetId: made.id, json: made };
      });
      return { status: 201, json };
    },
  });

const rotateSdkKeyRoute = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/projects/{projectId}/sdk-keys/{sdkKeyId}/rotate',
    operationId: 'rotateSdkKey',
    tag: 'Projects',
    summary: 'Replace an SDK key; the old one works for an overlap',
    description: 'Replaced by an organization key that ends, the new one ends with that one.',
    access: adminOnly,
    params: { projectId: ProjectId, sdkKeyId: Uuid },
    body: Overlap,
    responses: { 201: { description: 'The new key.', schema: SdkKeySchema } },
    errors: ['not_found', 'conflict'],
    handler: async (request) => {
      const json = await changeKey(db, request, 'sdk_key.rotated', async (client) => {
        const { params, body } = request;
        const project = await projectOf(client, request);
        const own = await endOfCaller(client, request.caller);
        const made = await rotateSdkKey(client, project.id, params.sdkKeyId, overlapOf(body), own);
        return { targetId: made.id, detail: { from: made.rotated_from }, json: made };
      });
      return { status: 201, json };
    },
  });

const revokeSdkKeyRoute = ({ db }: Deps) =>
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/projects/{projectId}/sdk-keys/{sdkKeyId}',
    operationId: 'revokeSdkKey',
    tag: 'Projects',
    summary: 'Revoke an SDK key; every node refuses requests that carry it within a second',
    access: adminOnly,
    params: { projectId: ProjectId, sdkKeyId: Uuid },
    responses: { 200: { description: 'The key as it is now.', schema: SdkKeySchema } },
    errors: ['not_found'],
    handler: async (request) => {
      const json = await changeKey(db, request, 'sdk_key.revoked', async (client) => {
        const record = await revokeSdkKey(client, (await projectOf(client, request)).id, request.params.sdkKeyId);
        return { targetId: record.id, json: record };
      });
      return { status: 200, json };
    },
  });

const rotateProjectKeyRoute = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/projects/{projectId}/rotate-key',
    operationId: 'rotateProjectKey',
    tag: 'Projects',
    summary: 'Replace the key of a project; the old one works for an overlap',
    description: 'A project has two keys at most: 409 while the one before still works. A key that ends replaces none.',
    access: adminOnly,
    params: { projectId: ProjectId },
    body: Overlap,
    responses: { 201: { description: 'The project with its new key.', schema: ProjectSchema } },
    errors: ['not_found', 'conflict'],
    handler: async (request) => {
      const json = await changeKey(db, request, 'project_key.rotated', async (client) => {
        const project = await projectOf(client, request);
        await needLasting(client, request.caller, 'A project key');
        const json = await rotateProjectKey(client, project.id, overlapOf(request.body));
        return { targetId: project.id, detail: { from: project.projectKey }, json };
      });
      return { status: 201, json };
    },
  });

const revokePreviousProjectKeyRoute = ({ db }: Deps) =>
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/projects/{projectId}/previous-key',
    operationId: 'revokePreviousProjectKey',
    tag: 'Projects',
    summary: 'Revoke the project key before the present one; every node refuses it within a second',
    access: adminOnly,
    params: { projectId: ProjectId },
    responses: { 200: { description: 'The project as it is now.', schema: ProjectSchema } },
    errors: ['not_found'],
    handler: async (request) => {
      const json = await changeKey(db, request, 'project_key.revoked', async (client) => {
        const { id } = await projectOf(client, request);
        return { targetId: id, json: await revokePreviousProjectKey(client, id) };
      });
      return { status: 200, json };
    },
  });

export const publicKeyRoutes = (deps: Deps): readonly Route[] => [
  listSdkKeysRoute(deps),
  createSdkKeyRoute(deps),
  rotateSdkKeyRoute(deps),
  revokeSdkKeyRoute(deps),
  rotateProjectKeyRoute(deps),
  revokePreviousProjectKeyRoute(deps),
];
