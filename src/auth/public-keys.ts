/** Public identifiers of projects: one project key (with its predecessor, during an overlap) and any number of SDK keys. */
import { sql } from 'kysely';
import type { ExpressionBuilder } from 'kysely';
import { PipelineError } from '../errors.ts';
import { build, inSec, isoTime, now, run, runForOne } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import type { Tables } from '../storage/database/tables.ts';
import { makePublicKey } from '../key-format.ts';
import { lastUse, projectColumns } from '../tenancy/projects.ts';
import type { Project } from '../tenancy/projects.ts';

export type SdkKey = Readonly<{
  id: string;
  sdk_key: string;
  name: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  /** Lags by a few seconds. */
  last_used_at: string | null;
  rotated_from: string | null;
}>;

const sdkColumns = ({ ref }: ExpressionBuilder<Tables, 'sdk_key'>) =>
  [
    'id',
    'sdk_key',
    'name',
    isoTime(ref('created_at')).as('created_at'),
    isoTime(ref('expires_at')).as('expires_at'),
    isoTime(ref('revoked_at')).as('revoked_at'),
    lastUse(ref('sdk_key')).as('last_used_at'),
    'rotated_from',
  ] as const;

/** Oldest first, revoked ones included. */
export async function listSdkKeys(db: Db, projectId: string): Promise<readonly SdkKey[]> {
  const keys = build.selectFrom('sdk_key').select(sdkColumns).where('project_id', '=', projectId);
  const { rows } = await run(db, keys.orderBy('sdk_key.created_at').orderBy('id').limit(1000));
  return rows;
}

/** @param until when it ends; null: it does not */
export async function createSdkKey(db: Db, projectId: string, name: string, until: Date | null = null): Promise<SdkKey> {
  const key = { project_id: projectId, sdk_key: makePublicKey('sdk'), name, expires_at: until };
  const { rows } = await run(db, build.insertInto('sdk_key').values(key).returning(sdkColumns));
  const made = rows[0];
  if (made === undefined) throw new Error('sdk_key insert returned no row');
  return made;
}

/** Creates the successor of a key; the old one works for `overlapSec` more. One statement: two racing calls make two successors, and
 *  neither is lost.
 *  @param until when the successor ends; null: it does not  @throws PipelineError not_found, conflict (revoked or expired already) */
export async function rotateSdkKey(db: Db, projectId: string, id: string, overlapSec: number, until: Date | null = null): Promise<SdkKey> {
  const old = build
    .updateTable('sdk_key')
    .set({ expires_at: sql<Date>`least(expires_at, ${inSec(overlapSec)})` })
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .where(({ or, eb }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]));
  const successor = [sql<string>`${makePublicKey('sdk')}::text`.as('sdk_key'), sql<Date>`${until}::timestamptz`.as('expires_at')] as const;
  const { rows } = await run(
    db,
    build
      .with('old', () => old.returning(['id', 'name', 'project_id']))
      .insertInto('sdk_key')
      .columns(['project_id', 'name', 'rotated_from', 'sdk_key', 'expires_at'])
      .expression(({ selectFrom }) => selectFrom('old').select(['project_id', 'name', 'id']).select(successor))
      .returning(sdkColumns),
  );
  const made = rows[0];
  if (made !== undefined) return made;
  const known = build.selectFrom('sdk_key').select('id').where('project_id', '=', projectId).where('id', '=', id);
  const { rows: ended } = await run(db, known);
  if (ended.length === 0) throw new PipelineError('not_found', 'There is no such key.');
  throw new PipelineError('conflict', 'The key is revoked or expired; create a new one.');
}

/** Revokes a key at once. The table's trigger notifies every node. Revoking twice is not an error.  @throws PipelineError not_found */
export async function revokeSdkKey(db: Db, projectId: string, id: string): Promise<SdkKey> {
  const key = build.updateTable('sdk_key').where('project_id', '=', projectId).where('id', '=', id);
  const { rows } = await run(db, key.set(({ fn }) => ({ revoked_at: fn.coalesce('revoked_at', now) })).returning(sdkColumns));
  const record = rows[0];
  if (record === undefined) throw new PipelineError('not_found', 'There is no such key.');
  return record;
}

/** Gives a project a new key; the old one works for `overlapSec` more.
 *  @throws PipelineError conflict while an earlier one still works: two keys at most */
export async function rotateProjectKey(db: Db, projectId: string, overlapSec: number): Promise<Project> {
  const { rows } = await run(
    db,
    build
      .updateTable('project')
      .set(({ ref }) => ({
        previous_project_key: ref('project_key'),
        previous_key_expires_at: inSec(overlapSec),
        project_key: makePublicKey('proj'),
      }))
      .where('id', '=', projectId)
      .where(({ or, eb }) => or([eb('previous_key_expires_at', 'is', null), eb('previous_key_expires_at', '<=', now)]))
      .returning(projectColumns),
  );
  if (rows[0] === undefined) throw new PipelineError('conflict', 'The project key before this one still works; revoke it first.');
  return rows[0];
}

/** Ends the overlap at once. Not an error when there is none. */
export async function revokePreviousProjectKey(db: Db, projectId: string): Promise<Project> {
  const noKey = { previous_project_key: null, previous_key_expires_at: null };
  return await runForOne(db, build.updateTable('project').set(noKey).where('id', '=', projectId).returning(projectColumns));
}
