/** Public identifiers of projects: one project key (with the one before it, for an overlap) and any number of SDK keys. */
import { PipelineError } from '../errors.ts';
import type { Db } from '../storage/database/database.ts';
import { makePublicKey } from '../key-format.ts';
import { lastUse, projectColumns } from '../tenancy/projects.ts';

export type SdkKey = Readonly<{
  id: string;
  sdk_key: string;
  name: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  /** Late by a few seconds. */
  last_used_at: string | null;
  rotated_from: string | null;
}>;

const sdkColumns = `id, sdk_key, name, to_json(created_at) #>> '{}' as created_at, to_json(expires_at) #>> '{}' as expires_at,
  to_json(revoked_at) #>> '{}' as revoked_at, ${lastUse('sdk_key')} as last_used_at, rotated_from`;

/** Oldest first, revoked ones included. */
export async function listSdkKeys(db: Db, projectId: string): Promise<readonly SdkKey[]> {
  const { rows } = await db.query<SdkKey>(
    `select ${sdkColumns} from sdk_key where project_id = $1 order by sdk_key.created_at, id limit 1000`,
    [projectId],
  );
  return rows;
}

/** @param until when it ends; null: it does not */
export async function createSdkKey(db: Db, projectId: string, name: string, until: Date | null = null): Promise<SdkKey> {
  const { rows } = await db.query<SdkKey>(
    `insert into sdk_key (project_id, sdk_key, name, expires_at) values ($1, $2, $3, $4) returning ${sdkColumns}`,
    [projectId, makePublicKey('sdk'), name, until],
  );
  const made = rows[0];
  if (made === undefined) throw new Error('sdk_key insert returned no row');
  return made;
}

/** Makes the successor of a key; the old one works for `overlapSec` more. One statement: two that race make two successors, none is lost.
 *  @param until when the successor ends; null: it does not  @throws PipelineError not_found, conflict (revoked or expired already) */
export async function rotateSdkKey(db: Db, projectId: string, id: string, overlapSec: number, until: Date | null = null): Promise<SdkKey> {
  const { rows } = await db.query<SdkKey>(
    `with old as (
       update sdk_key set expires_at = least(expires_at, now() + make_interval(secs => $4))
       where project_id = $1 and id = $2 and revoked_at is null and (expires_at is null or expires_at > now()) returning id, name)
     insert into sdk_key (project_id, sdk_key, name, rotated_from, expires_at) select $1, $3, name, id, $5 from old returning ${sdkColumns}`,
    [projectId, id, makePublicKey('sdk'), overlapSec, until],
  );
  const made = rows[0];
  if (made !== undefined) return made;
  const { rows: ended } = await db.query('select 1 from sdk_key where project_id = $1 and id = $2', [projectId, id]);
  if (ended.length === 0) throw new PipelineError('not_found', 'There is no such key.');
  throw new PipelineError('conflict', 'The key is revoked or expired; create a new one.');
}

/** Ends a key now. Every node hears of it through the table's trigger. Revoking twice is not an error. @throws PipelineError not_found */
export async function revokeSdkKey(db: Db, projectId: string, id: string): Promise<SdkKey> {
  const { rows } = await db.query<SdkKey>(
    `update sdk_key set revoked_at = coalesce(revoked_at, now()) where project_id = $1 and id = $2 returning ${sdkColumns}`,
    [projectId, id],
  );
  const record = rows[0];
  if (record === undefined) throw new PipelineError('not_found', 'There is no such key.');
  return record;
}

/** Gives a project a new key; the one it had works for `overlapSec` more.
 *  @throws PipelineError conflict while the one before that still works: two keys at most */
export async function rotateProjectKey(db: Db, projectId: string, overlapSec: number): Promise<unknown> {
  const { rows } = await db.query(
    `update project set previous_project_key = project_key, previous_key_expires_at = now() + make_interval(secs => $3), project_key = $2
     where id = $1 and coalesce(previous_key_expires_at <= now(), true) returning ${projectColumns}`,
    [projectId, makePublicKey('proj'), overlapSec],
  );
  if (rows[0] === undefined) throw new PipelineError('conflict', 'The project key before this one still works; revoke it first.');
  return rows[0];
}

/** Ends the overlap now. Not an error when there is none. */
export async function revokePreviousProjectKey(db: Db, projectId: string): Promise<unknown> {
  const { rows } = await db.query(
    `update project set previous_project_key = null, previous_key_expires_at = null where id = $1 returning ${projectColumns}`,
    [projectId],
  );
  return rows[0];
}
