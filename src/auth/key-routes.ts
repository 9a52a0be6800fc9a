/** Settings > API Keys: create, list, rotate, revoke. */
import { Type } from 'typebox';
import type { Pool } from 'pg';
import { scopes } from '../caller.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { exactly, nullable, OneLine, oneOf, Timestamp, Uuid } from '../http/schemas.ts';
import { createApiKey, listApiKeys, revokeApiKey, rotateApiKey } from './api-keys.ts';
import { checkEnd, checkScopes, endOfCaller, needKeyWithin } from '../tenancy/authority.ts';
import { adminOnly, changeKey, Overlap, overlapOf } from './key-change.ts';
import { orgOf, ownProject, projectOf } from '../tenancy/record-ownership.ts';

const keyMembers = {
  id: Uuid,
  name: Type.String(),
  env: oneOf(['live', 'test']),
  hint: Type.String({ description: 'Prefix and public id: enough to recognise it, of no use to anybody else.' }),
  scopes: Type.Array(oneOf(scopes)),
  project_id: nullable(Uuid),
  created_at: Timestamp,
  expires_at: nullable(Timestamp),
  revoked_at: nullable(Timestamp),
  last_used_at: nullable(Timestamp),
  rotated_from: nullable(Uuid),
};
const KeySchema = exactly(keyMembers);
const NewKeySchema = exactly({ ...keyMembers, key: Type.String({ description: 'The secret. It is shown this once.' }) });

type Deps = Readonly<{ pool: Pool }>;

const listApiKeysRoute = ({ pool }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/api-keys',
    operationId: 'listApiKeys',
    tag: 'Keys',
    summary: 'List organization keys',
    description: 'A key of one project lists the keys of that project.',
    access: adminOnly,
    responses: { 200: { description: 'Keys, newest first.', schema: Type.Array(KeySchema) } },
    handler: async ({ caller }) => ({ status: 200, json: await listApiKeys(pool, orgOf(caller), projectOf(caller)) }),
  });

const createApiKeyRoute = ({ pool }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/api-keys',
    operationId: 'createApiKey',
    tag: 'Keys',
    summary: 'Create an organization key',
    description:
      'A key can give no scope that its maker does not have, and no more time: made by a key that ends, it ends with that one unless ' +
      '`expires_at` says an earlier time.',
    access: adminOnly,
    body: exactly({
      name: OneLine(100, { minLength: 1 }),
      scopes: Type.Array(oneOf(scopes), { minItems: 1, uniqueItems: true }),
      env: Type.Optional(oneOf(['live', 'test'])),
      project_id: Type.Optional(nullable(Uuid)),
      expires_at: Type.Optional(nullable(Timestamp)),
    }),
    responses: { 201: { description: 'The key, with its secret.', schema: NewKeySchema } },
    errors: ['not_found'],
    handler: async (request) => {
      const { caller, body } = request;
      const json = await changeKey(pool, request, 'api_key.created', async (client) => {
        checkScopes(caller, body.scopes);
        const projectId =
          (body.project_id ?? null) === null ? projectOf(caller) : (await ownProject(client, caller, body.project_id ?? '')).id;
        const own = await endOfCaller(client, caller);
        const expiresAt = body.expires_at === undefined ? (own?.toISOString() ?? null) : body.expires_at;
        checkEnd(expiresAt === null ? null : new Date(expiresAt), own);
        const { record, key } = await createApiKey(client, {
          orgId: orgOf(caller),
          name: body.name,
          scopes: body.scopes,
          env: body.env ?? 'live',
          projectId,
          expiresAt,
          createdBy: caller.kind === 'operator' ? caller.operatorId : null,
        });
        return { targetId: record.id, projectId: record.project_id, detail: { scopes: record.scopes }, json: { ...record, key } };
      });
      return { status: 201, json };
    },
  });

const rotateApiKeyRoute = ({ pool }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/api-keys/{keyId}/rotate',
    operationId: 'rotateApiKey',
    tag: 'Keys',
    summary: 'Replace a key; the old one works for an overlap',
    description: 'The new key ends when the old one would have. A key is replaced once: 409 afterwards.',
    access: adminOnly,
    params: { keyId: Uuid },
    body: Overlap,
    responses: { 201: { description: 'The new key, with its secret.', schema: NewKeySchema } },
    errors: ['not_found', 'conflict'],
    handler: async (request) => {
      const { caller, params, body } = request;
      const json = await changeKey(pool, request, 'api_key.rotated', async (client) => {
        const createdBy = caller.kind === 'operator' ? caller.operatorId : null;
        await needKeyWithin(client, caller, params.keyId);
        const own = await endOfCaller(client, caller); // read before its own rotation shortens it
        const { record, key } = await rotateApiKey(client, orgOf(caller), params.keyId, overlapOf(body), createdBy);
        checkEnd(record.expires_at === null ? null : new Date(record.expires_at), own);
        return { targetId: record.id, projectId: record.project_id, detail: { from: record.rotated_from }, json: { ...record, key } };
      });
      return { status: 201, json };
    },
  });

const revokeApiKeyRoute = ({ pool }: Deps) =>
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/api-keys/{keyId}',
    operationId: 'revokeApiKey',
    tag: 'Keys',
    summary: 'Revoke a key; every node refuses it within a second',
    access: adminOnly,
    params: { keyId: Uuid },
    responses: { 200: { description: 'The key as it is now.', schema: KeySchema } },
    errors: ['not_found'],
    handler: async (request) => {
      const { caller, params } = request;
      const json = await changeKey(pool, request, 'api_key.revoked', async (client) => {
        await needKeyWithin(client, caller, params.keyId);
        const record = await revokeApiKey(client, orgOf(caller), params.keyId);
        return { targetId: record.id, projectId: record.project_id, json: record };
      });
      return { status: 200, json };
    },
  });

export const keyRoutes = (deps: Deps): readonly Route[] => [
  listApiKeysRoute(deps),
  createApiKeyRoute(deps),
  rotateApiKeyRoute(deps),
  revokeApiKeyRoute(deps),
];
