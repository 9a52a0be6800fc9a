/** Organization keys: made once, shown once, stored as SHA-256, rotated with an overlap, revoked at once. */
import { PipelineError } from '../errors.ts';
import type { Scope } from '../caller.ts';
import { hashKey, makeOrgKey } from '../key-format.ts';
import type { KeyEnv } from '../key-format.ts';
import type { Db } from '../storage/database/database.ts';
import { sqlStateOf } from '../storage/database/sql-states.ts';

/** How long a rotated key still works unless the caller says otherwise. */
export const OVERLAP_SEC = 24 * 3600;

export type ApiKey = Readonly<{
  id: string;
  name: string;
  env: KeyEnv;
  /** What is shown of it in lists: prefix and public id. */
  hint: string;
  scopes: readonly Scope[];
  project_id: string | null;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  rotated_from: string | null;
}>;

export type NewApiKey = Readonly<{ record: ApiKey; key: string }>;

export type ApiKeyInput = Readonly<{
  orgId: string;
  name: string;
  scopes: readonly Scope[];
  env?: KeyEnv;
  projectId?: string | null;
  expiresAt?: string | null;
  createdBy?: string | null;
}>;

const columns = `id, name, env, 'org_' || env || '_' || public_id || '…' as hint, scopes, project_id,
  to_json(created_at) #>> '{}' as created_at, to_json(expires_at) #>> '{}' as expires_at, to_json(revoked_at) #>> '{}' as revoked_at,
  to_json(last_used_at) #>> '{}' as last_used_at, rotated_from`;

/** Makes a key. `key` is the only time its secret is seen.
 *  @throws PipelineError not_found when the project is not of the organization */
export async function createApiKey(db: Db, input: ApiKeyInput, rotatedFrom: string | null = null): Promise<NewApiKey> {
  const { key, publicId } = makeOrgKey(input.env ?? 'live');
  const { rows } = await db
    .query<ApiKey>(
      `insert into api_key (organization_id, project_id, name, env, public_id, secret_hash, scopes, expires_at, created_by, rotated_from)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
       returning ${columns}`,
      [
        input.orgId,
        input.projectId ?? null,
        input.name,
        input.env ?? 'live',
        publicId,
        hashKey(key),
        [...input.scopes],
        input.expiresAt ?? null,
        input.createdBy ?? null,
        rotatedFrom,
      ],
    )
    .catch((error: unknown) => {
      if (sqlStateOf(error) === '23503') throw new PipelineError('not_found', 'There is no such project.', { cause: error });
      throw error;
    });
  const record = rows[0];
  if (record === undefined) throw new Error('api_key insert returned no row');
  return { record, key };
}

/** Keys of an organization, or of one of its projects, newest first, revoked ones included. */
export async function listApiKeys(db: Db, orgId: string, projectId: string | null = null): Promise<readonly ApiKey[]> {
  const { rows } = await db.query<ApiKey>(
    `select ${columns} from api_key where organization_id = $1 and ($2::uuid is null or project_id = $2)
     order by api_key.created_at desc, id limit 1000`,
    [orgId, projectId],
  );
  return rows;
}

/** Makes the successor of a key with the same rights, which ends when the old one would have; the old one works for `overlapSec` more.
 *  A key is replaced once: its end afterwards is that of the overlap, and says nothing about the time it was given.
 *  @param db of a transaction
 *  @throws PipelineError not_found, conflict (revoked, expired or replaced already) */
export async function rotateApiKey(db: Db, orgId: string, id: string, overlapSec: number, createdBy: string | null): Promise<NewApiKey> {
  const { rows } = await db.query<{
    name: string;
    env: KeyEnv;
    scopes: Scope[];
    project_id: string | null;
    until: string | null;
    active: boolean;
    replaced: boolean;
  }>(
    `select name, env, scopes, project_id, expires_at::text as until,
       revoked_at is null and (expires_at is null or expires_at > now()) as active,
       exists (select from api_key next where next.rotated_from = api_key.id) as replaced
     from api_key where organization_id = $1 and id = $2 for update`,
    [orgId, id],
  );
  const old = rows[0];
  if (old === undefined) throw new PipelineError('not_found', 'There is no such key.');
  if (!old.active) throw new PipelineError('conflict', 'The key is revoked or expired; create a new one.');
  if (old.replaced)
    throw new PipelineError('conflict', 'The key was replaced already: rotate the key that replaced it, or create a new one.');
  const { name, env, scopes, project_id: projectId, until: expiresAt } = old;
  const made = await createApiKey(db, { orgId, name, env, scopes, projectId, expiresAt, createdBy }, id);
  await db.query(`update api_key set expires_at = least(expires_at, now() + make_interval(secs => $2)) where id = $1`, [id, overlapSec]);
  return made;
}

/** Ends a key now. Every node hears of it through the table's trigger. Revoking twice is not an error.
 *  @throws PipelineError not_found */
export async function revokeApiKey(db: Db, orgId: string, id: string): Promise<ApiKey> {
  const { rows } = await db.query<ApiKey>(
    `update api_key set revoked_at = coalesce(revoked_at, now()) where organization_id = $1 and id = $2 returning ${columns}`,
    [orgId, id],
  );
  const record = rows[0];
  if (record === undefined) throw new PipelineError('not_found', 'There is no such key.');
  return record;
}
