/** Public keys of a project: SDK keys and the project key itself. Create, list, rotate with an overlap, revoke. */
import { Type } from 'typebox';
import type { Access, Route } from '../http/route.ts';
import { exactly, nullable, Timestamp, Uuid } from '../http/schemas.ts';
import { OVERLAP_SEC } from './api-keys.ts';
import type { Db } from './api-keys.ts';
import { audit } from './audit.ts';
import { OVERLAP_SEC_MAX } from './key-routes.ts';
import { ownProject } from './ownership.ts';
import { createSdkKey, listSdkKeys, revokePreviousProjectKey, revokeSdkKey, rotateProjectKey, rotateSdkKey } from './public-keys.ts';

export const ProjectSchema = exactly({
  id: Uuid,
  name: Type.String(),
  project_key: Type.String(),
  time_zone: Type.String(),
  created_at: Timestamp,
  previous_project_key: nullable(Type.String({ description: 'The key before, while it still works.' })),
  previous_key_expires_at: nullable(Timestamp),
  key_last_used_at: nullable(Timestamp),
  previous_key_last_used_at: nullable(Timestamp),
});
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
const Overlap = exactly({
  overlap_sec: Type.Optional(
    Type.Integer({ minimum: 0, maximum: OVERLAP_SEC_MAX, default: OVERLAP_SEC, description: 'How long the old key still works, s.' }),
  ),
});
const overlapOf = (body: unknown): number => (body as { overlap_sec?: number }).overlap_sec ?? OVERLAP_SEC;
const admin: Access = { key: 'admin', operator: 'admin' };
const ProjectId = Type.String({ maxLength: 64 });

export function publicKeyRoutes(deps: Readonly<{ db: Db }>): readonly Route[] {
  const { db } = deps;
  return [
    {
      method: 'GET',
      path: '/api/v1/projects/{projectId}/sdk-keys',
      operationId: 'listSdkKeys',
      tag: 'Projects',
      summary: 'List the public SDK keys of a project',
      access: { key: 'read', operator: 'viewer' },
      params: { projectId: ProjectId },
      responses: { 200: { description: 'Keys.', schema: Type.Array(SdkKeySchema) } },
      handler: async ({ caller, params }) => {
        const project = await ownProject(db, caller, params['projectId'] ?? '');
        return { status: 200, json: await listSdkKeys(db, project.id) };
      },
    },
    {
      method: 'POST',
      path: '/api/v1/projects/{projectId}/sdk-keys',
      operationId: 'createSdkKey',
      tag: 'Projects',
      summary: 'Create a public SDK key',
      access: admin,
      params: { projectId: ProjectId },
      body: exactly({ name: Type.Optional(Type.String({ maxLength: 100 })) }),
      responses: { 201: { description: 'The key.', schema: SdkKeySchema } },
      handler: async (request) => {
        const { caller, params, body } = request;
        const project = await ownProject(db, caller, params['projectId'] ?? '');
        const made = await createSdkKey(db, project.id, (body as { name?: string }).name ?? '');
        await audit(db, request, { action: 'sdk_key.created', targetKind: 'sdk_key', targetId: made.id });
        return { status: 201, json: made };
      },
    },
    {
      method: 'POST',
      path: '/api/v1/projects/{projectId}/sdk-keys/{sdkKeyId}/rotate',
      operationId: 'rotateSdkKey',
      tag: 'Projects',
      summary: 'Replace an SDK key; the old one works for an overlap',
      access: admin,
      params: { projectId: ProjectId, sdkKeyId: Uuid },
      body: Overlap,
      responses: { 201: { description: 'The new key.', schema: SdkKeySchema } },
      errors: ['not_found', 'conflict'],
      handler: async (request) => {
        const { caller, params, body } = request;
        const project = await ownProject(db, caller, params['projectId'] ?? '');
        const made = await rotateSdkKey(db, project.id, params['sdkKeyId'] ?? '', overlapOf(body));
        await audit(db, request, {
          action: 'sdk_key.rotated',
          targetKind: 'sdk_key',
          targetId: made.id,
          detail: { from: made.rotated_from },
        });
        return { status: 201, json: made };
      },
    },
    {
      method: 'DELETE',
      path: '/api/v1/projects/{projectId}/sdk-keys/{sdkKeyId}',
      operationId: 'revokeSdkKey',
      tag: 'Projects',
      summary: 'Revoke an SDK key; every node refuses requests that carry it within a second',
      access: admin,
      params: { projectId: ProjectId, sdkKeyId: Uuid },
      responses: { 200: { description: 'The key as it is now.', schema: SdkKeySchema } },
      errors: ['not_found'],
      handler: async (request) => {
        const { caller, params } = request;
        const project = await ownProject(db, caller, params['projectId'] ?? '');
        const record = await revokeSdkKey(db, project.id, params['sdkKeyId'] ?? '');
        await audit(db, request, { action: 'sdk_key.revoked', targetKind: 'sdk_key', targetId: record.id });
        return { status: 200, json: record };
      },
    },
    {
      method: 'POST',
      path: '/api/v1/projects/{projectId}/rotate-key',
      operationId: 'rotateProjectKey',
      tag: 'Projects',
      summary: 'Replace the key of a project; the old one works for an overlap',
      description: 'A project has two keys at most: 409 while the one before still works.',
      access: admin,
      params: { projectId: ProjectId },
      body: Overlap,
      responses: { 201: { description: 'The project with its new key.', schema: ProjectSchema } },
      errors: ['not_found', 'conflict'],
      handler: async (request) => {
        const { caller, params, body } = request;
        const project = await ownProject(db, caller, params['projectId'] ?? '');
        const json = await rotateProjectKey(db, project.id, overlapOf(body));
        await audit(db, request, {
          action: 'project_key.rotated',
          targetKind: 'project',
          targetId: project.id,
          detail: { from: project.projectKey },
        });
        return { status: 201, json };
      },
    },
    {
      method: 'DELETE',
      path: '/api/v1/projects/{projectId}/previous-key',
      operationId: 'revokePreviousProjectKey',
      tag: 'Projects',
      summary: 'Revoke the project key before the present one; every node refuses it within a second',
      access: admin,
      params: { projectId: ProjectId },
      responses: { 200: { description: 'The project as it is now.', schema: ProjectSchema } },
      errors: ['not_found'],
      handler: async (request) => {
        const { caller, params } = request;
        const project = await ownProject(db, caller, params['projectId'] ?? '');
        const json = await revokePreviousProjectKey(db, project.id);
        await audit(db, request, { action: 'project_key.revoked', targetKind: 'project', targetId: project.id });
        return { status: 200, json };
      },
    },
  ];
}
