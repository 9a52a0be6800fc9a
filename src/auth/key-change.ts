/** Shared by the routes of organization keys and of public keys: who may change keys, the overlap of a rotation, the audit entry. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Pool, PoolClient } from 'pg';
import type { Access, RequestContext } from '../http/route.ts';
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

export function overlapOf({ overlap_sec: overlapSec = OVERLAP_SEC }: Static<typeof Overlap>): number {
  return overlapSec;
}

export type KeyChange<Json> = Readonly<{
  targetId: string;
  projectId?: string | null;
  detail?: Readonly<Record<string, unknown>>;
  json: Json;
}>;

/** Changes a key and records it in the audit log: both, or neither.
 *  @param action what changed and how, e.g. `api_key.rotated`  @returns the json of `work` */
export async function changeKey<Json>(
  pool: Pool,
  request: RequestContext,
  action: `${'api_key' | 'sdk_key' | 'project_key'}.${'created' | 'rotated' | 'revoked'}`,
  work: (client: PoolClient) => Promise<KeyChange<Json>>,
): Promise<Json> {
  const [kind = ''] = action.split('.');
  return await transaction(pool, async (client) => {
    const { targetId, projectId, detail, json } = await work(client);
    await audit(client, request, {
      action,
      targetKind: kind === 'project_key' ? 'project' : kind,
      targetId,
      ...(projectId === undefined ? {} : { projectId }),
      ...(detail === undefined ? {} : { detail }),
    });
    return json;
  });
}
