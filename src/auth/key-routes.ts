/** Settings > API Keys: create, list, rotate, revoke. */
import { Type } from 'typebox';
import type { Pool } from 'pg';
import { PipelineError } from '../errors.ts';
import { scopes } from '../caller.ts';
import type { Route } from '../http/route.ts';
import { exactly, nullable, OneLine, oneOf, Timestamp, Uuid } from '../http/schemas.ts';
import { createApiKey, listApiKeys, revokeApiKey, rotateApiKey } from './api-keys.ts';
import type { Db } from '../storage/database/database.ts';
import { checkEnd, endOfCaller } from '../tenancy/authority.ts';
import { adminOnly, changesKey, Overlap, overlapOf } from './key-change.ts';
import type { KeyEnv } from '../key-format.ts';
import { orgOf, ownProject, projectOf } from '../tenancy/ownership.ts';
import type { Caller, Scope } from '../caller.ts';

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

export function keyRoutes(deps: Readonly<{ pool: Pool }>): readonly Route[] {
  const { pool } = deps;
  return [
    {
      method: 'GET',
      path: '/api/v1/api-keys',
      operationId: 'listApiKeys',
      tag: 'Keys',
      summary: 'List organization keys',
      description: 'A key of one project lists the keys of that project.',
      access: adminOnly,
      responses: { 200: { description: 'Keys, newest first.', schema: Type.Array(KeySchema) } },
      handler: async ({ caller }) => ({ status: 200, json: await listApiKeys(pool, orgOf(caller), projectOf(caller)) }),
    },
    {
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
      handler: changesKey(pool, 'api_key.created', async ({ caller, body }, client) => {
        const input = body as { name: string; scopes: Scope[]; env?: KeyEnv; project_id?: string | null; expires_at?: string | null };
        const missing = caller.kind === 'key' ? input.scopes.filter((scope) => !caller.scopes.includes(scope)) : [];
        if (missing.length > 0) throw new PipelineError('scope_missing', `The key lacks ${missing.join(', ')} itself.`);
        const projectId =
          (input.project_id ?? null) === null ? projectOf(caller) : (await ownProject(client, caller, input.project_id ?? '')).id;
        const own = await endOfCaller(client, caller);
        const expiresAt = input.expires_at === undefined ? (own?.toISOString() ?? null) : input.expires_at;
        checkEnd(expiresAt === null ? null : new Date(expiresAt), own);
        const { record, key } = await createApiKey(client, {
          orgId: orgOf(caller),
          name: input.name,
          scopes: input.scopes,
          env: input.env ?? 'live',
          projectId,
          expiresAt,
          createdBy: caller.kind === 'operator' ? caller.operatorId : null,
        });
        return { targetId: record.id, projectId: record.project_id, detail: { scopes: record.scopes }, json: { ...record, key } };
      }),
    },
    {
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
      handler: changesKey(pool, 'api_key.rotated', async ({ caller, params, body }, client) => {
        const createdBy = caller.kind === 'operator' ? caller.operatorId : null;
        await ownKey(client, caller, params['keyId'] ?? '');
        const own = await endOfCaller(client, caller); // before its own rotation brings it forward
        const { record, key } = await rotateApiKey(client, orgOf(caller), params['keyId'] ?? '', overlapOf(body), createdBy);
        checkEnd(record.expires_at === null ? null : new Date(record.expires_at), own);
        return { targetId: record.id, projectId: record.project_id, detail: { from: record.rotated_from }, json: { ...record, key } };
      }),
    },
    {
      method: 'DELETE',
      path: '/api/v1/api-keys/{keyId}',
      operationId: 'revokeApiKey',
      tag: 'Keys',
      summary: 'Revoke a key; every node refuses it within a second',
      access: adminOnly,
      params: { keyId: Uuid },
      responses: { 200: { description: 'The key as it is now.', schema: KeySchema } },
      errors: ['not_found'],
      handler: changesKey(pool, 'api_key.revoked', async ({ caller, params }, client) => {
        await ownKey(client, caller, params['keyId'] ?? '');
        const record = await revokeApiKey(client, orgOf(caller), params['keyId'] ?? '');
        return { targetId: record.id, projectId: record.project_id, json: record };
      }),
    },
  ];
}

/** A key cannot rotate another into scopes, or a reach, that it does not have itself. @throws PipelineError not_found, scope_missing */
async function ownKey(db: Db, caller: Caller, id: string): Promise<void> {
  if (caller.kind !== 'key') return;
  const { rows } = await db.query<{ scopes: Scope[]; project_id: string | null }>(
    'select scopes, project_id from api_key where organization_id = $1 and id = $2',
    [caller.orgId, id],
  );
  const row = rows[0];
  if (row === undefined || (caller.projectId !== null && row.project_id !== caller.projectId)) {
    throw new PipelineError('not_found', 'There is no such key.');
  }
  const missing = row.scopes.filter((scope) => !caller.scopes.includes(scope));
  if (missing.length > 0) throw new PipelineError('scope_missing', `The key has ${missing.join(', ')}, which yours lacks.`);
}
