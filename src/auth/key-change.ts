/** What the routes of organization keys and of public keys have in common: who may change keys, the overlap of a rotation, the audit line. */
import { Type } from 'typebox';
import type { Pool, PoolClient } from 'pg';
import type { Access, Reply, RequestContext } from '../http/route.ts';
import { exactly } from '../http/schemas.ts';
import { transaction } from '../storage/database/transaction.ts';
import { OVERLAP_SEC } from './api-keys.ts';
import { audit } from '../tenancy/audit.ts';

const OVERLAP_SEC_MAX = 30 * 24 * 3600;

export const adminOnly: Access = { key: 'admin', operator: 'admin' };

/** Body of a rotation. */
export const Overlap = exactly({
  overlap_sec: Type.Optional(
    Type.Integer({ minimum: 0, maximum: OVERLAP_SEC_MAX, default: OVERLAP_SEC, description: 'How long the old key still works, s.' }),
  ),
});

export function overlapOf(body: unknown): number {
  return (body as { overlap_sec?: number }).overlap_sec ?? OVERLAP_SEC;
}

export type KeyChange = Readonly<{
  targetId: string;
  projectId?: string | null;
  detail?: Readonly<Record<string, unknown>>;
  json: unknown;
}>;

/** A handler that changes a key and writes the line of the audit log that says so: both, or nothing.
 *  @param action `api_key.rotated`: what changed, and how */
export function changesKey(
  pool: Pool,
  action: `${'api_key' | 'sdk_key' | 'project_key'}.${'created' | 'rotated' | 'revoked'}`,
  work: (request: RequestContext, client: PoolClient) => Promise<KeyChange>,
): (request: RequestContext) => Promise<Reply> {
  const [kind = ''] = action.split('.');
  return async (request) => {
    const json = await transaction(pool, async (client) => {
      const { targetId, projectId, detail, json: made } = await work(request, client);
      await audit(client, request, {
        action,
        targetKind: kind === 'project_key' ? 'project' : kind,
        targetId,
        ...(projectId === undefined ? {} : { projectId }),
        ...(detail === undefined ? {} : { detail }),
      });
      return made;
    });
    return { status: action.endsWith('.revoked') ? 200 : 201, json };
  };
}
