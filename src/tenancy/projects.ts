/** Projects as they are made, stored and shown. */
import { Type } from 'typebox';
import { exactly, nullable, Timestamp, Uuid } from '../http/schemas.ts';
import { makePublicKey } from '../key-format.ts';
import type { Db } from '../storage/database/database.ts';

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

export type NewProject = Readonly<{ projectId: string; projectKey: string; sdkKey: string }>;

/** SQL: when a public key was last used. */
export function lastUse(column: string): string {
  return `(select to_json(u.last_used_at) #>> '{}' from public_key_use u where u.key = ${column})`;
}

export const projectColumns = `id, name, project_key, time_zone, to_json(created_at) #>> '{}' as created_at,
  case when previous_key_expires_at > now() then previous_project_key end as previous_project_key,
  case when previous_key_expires_at > now() then to_json(previous_key_expires_at) #>> '{}' end as previous_key_expires_at,
  ${lastUse('project_key')} as key_last_used_at,
  case when previous_key_expires_at > now() then ${lastUse('previous_project_key')} end as previous_key_last_used_at`;

/** Makes a project with its public keys. */
export async function createProject(db: Db, orgId: string, name: string): Promise<NewProject> {
  const projectKey = makePublicKey('proj');
  const sdkKey = makePublicKey('sdk');
  const { rows } = await db.query<{ id: string }>(
    'insert into project (organization_id, name, project_key) values ($1, $2, $3) returning id',
    [orgId, name, projectKey],
  );
  const projectId = rows[0]?.id ?? '';
  await db.query('insert into sdk_key (project_id, sdk_key, name) values ($1, $2, $3)', [projectId, sdkKey, 'first key']);
  return { projectId, projectKey, sdkKey };
}
