/** Organization keys: made once, shown once, stored as SHA-256, rotated with an overlap, revoked at once. */
import { sql } from 'kysely';
import type { ExpressionBuilder } from 'kysely';
import { PipelineError } from '../errors.ts';
import type { Scope } from '../caller.ts';
import { hashKey, makeOrgKey } from '../key-format.ts';
import type { KeyEnv } from '../key-format.ts';
import { build, inSec, isoTime, now, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import type { Tables } from '../storage/database/tables.ts';
import { sqlStateOf } from '../storage/database/sql-states.ts';

/** How long a rotated key still works unless the caller says otherwise. */
export const OVERLAP_SEC = 24 * 3600;

export type ApiKey = Readonly<{
  id: string;
  name: string;
  env: KeyEnv;
  /** The part shown in lists: prefix and public id. */
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

const columns = ({ ref }: ExpressionBuilder<Tables, 'api_key'>) =>
  [
    'id',
    'name',
    'env',
    sql<string>`'org_' || env || '_' || public_id || '…'`.as('hint'),
    'scopes',
    'project_id',
    isoTime(ref('created_at')).as('created_at'),
    isoTime(ref('expires_at')).as('expires_at'),
    isoTime(ref('revoked_at')).as('revoked_at'),
    isoTime(ref('last_used_at')).as('last_used_at'),
    'rotated_from',
  ] as const;

/** Creates a key. Its secret is only ever returned here, in `key`.
 *  @throws PipelineError not_found when the project is not of the organization */
export async function createApiKey(db: Db, input: ApiKeyInput, rotatedFrom: string | null = null): Promise<NewApiKey> {
  const { key, publicId } = makeOrgKey(input.env ?? 'live');
  const insert = build.insertInto('api_key').values({
    organization_id: input.orgId,
    project_id: input.projectId ?? null,
    name: input.name,
    env: input.env ?? 'live',
    public_id: publicId,
    secret_hash: hashKey(key),
    scopes: [...input.scopes],
    expires_at: input.expiresAt ?? null,
    created_by: input.createdBy ?? null,
    rotated_from: rotatedFrom,
  });
  const { rows } = await run(db, insert.returning(columns)).catch((error: unknown) => {
    if (sqlStateOf(error) === '23503') throw new PipelineError('not_found', 'There is no such project.', { cause: error });
    throw error;
  });
  const record = rows[0];
  if (record === undefined) throw new Error('api_key insert returned no row');
  return { record, key };
}

/** Keys of an organization, or of one of its projects, newest first, revoked ones included. */
export async function listApiKeys(db: Db, orgId: string, projectId: string | null = null): Promise<readonly ApiKey[]> {
  const { rows } = await run(
    db,
    build
      .selectFrom('api_key')
      .select(columns)
      .where('organization_id', '=', orgId)
      .$if(projectId !== null, (keys) => keys.where('project_id', '=', projectId))
      .orderBy('api_key.created_at', 'desc')
      .orderBy('id')
      .limit(1000),
  );
  return rows;
}

/** Creates the successor of a key, with the same rights and expiry; the old key works for `overlapSec` more. A key is replaced only once:
 *  afterwards its expiry is the end of the overlap, and no longer the one it was given.
 *  @param db of a transaction
 *  @throws PipelineError not_found, conflict (revoked, expired or replaced already) */
export async function rotateApiKey(db: Db, orgId: string, id: string, overlapSec: number, createdBy: string | null): Promise<NewApiKey> {
  const { rows } = await run(
    db,
    build
      .selectFrom('api_key')
      .select(({ ref }) => [
        'name',
        'env',
        'scopes',
        'project_id',
        isoTime(ref('expires_at')).as('until'),
        sql<boolean>`revoked_at is null and (expires_at is null or expires_at > now())`.as('active'),
      ])
      .where('organization_id', '=', orgId)
      .where('id', '=', id)
      .forUpdate(),
  );
  const old = rows[0];
  if (old === undefined) throw new PipelineError('not_found', 'There is no such key.');
  if (!old.active) throw new PipelineError('conflict', 'The key is revoked or expired; create a new one.');
  // Asked once the row is locked: within the statement that waits for the lock, it would be answered as of before the wait.
  const { rows: successors } = await run(db, build.selectFrom('api_key').select('id').where('rotated_from', '=', id).limit(1));
  if (successors.length > 0)
    throw new PipelineError('conflict', 'The key was replaced already: rotate the key that replaced it, or create a new one.');
  const { name, env, scopes, project_id: projectId, until: expiresAt } = old;
  const made = await createApiKey(db, { orgId, name, env, scopes, projectId, expiresAt, createdBy }, id);
  const end = sql<Date>`least(expires_at, ${inSec(overlapSec)})`;
  await run(db, build.updateTable('api_key').set({ expires_at: end }).where('id', '=', id));
  return made;
}

/** Revokes a key at once. The table's trigger notifies every node. Revoking twice is not an error.
 *  @throws PipelineError not_found */
export async function revokeApiKey(db: Db, orgId: string, id: string): Promise<ApiKey> {
  const key = build.updateTable('api_key').where('organization_id', '=', orgId).where('id', '=', id);
  const { rows } = await run(db, key.set(({ fn }) => ({ revoked_at: fn.coalesce('revoked_at', now) })).returning(columns));
  const record = rows[0];
  if (record === undefined) throw new PipelineError('not_found', 'There is no such key.');
  return record;
}
