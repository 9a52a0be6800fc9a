/** Creates, reads and shows projects. */
import { sql } from 'kysely';
import type { Expression, ExpressionBuilder, RawBuilder } from 'kysely';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { exactly, nullable, Timestamp, Uuid } from '../http/schemas.ts';
import { makePublicKey } from '../key-format.ts';
import { build, isoTime, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import type { Tables } from '../storage/database/tables.ts';

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

/** A project as the API shows it. */
export type Project = Readonly<Static<typeof ProjectSchema>>;
export type NewProject = Readonly<{ projectId: string; projectKey: string; sdkKey: string }>;

/** When a public key was last used. */
export function lastUse(key: Expression<string | null>): RawBuilder<string | null> {
  return sql`(select to_json(u.last_used_at) #>> '{}' from public_key_use u where u.key = ${key})`;
}

export const projectColumns = ({ ref }: ExpressionBuilder<Tables, 'project'>) => {
  const inOverlap = <T>(value: Expression<T>): RawBuilder<T | null> => sql`case when previous_key_expires_at > now() then ${value} end`;
  return [
    'id',
    'name',
    'project_key',
    'time_zone',
    isoTime(ref('created_at')).as('created_at'),
    inOverlap(ref('previous_project_key')).as('previous_project_key'),
    inOverlap(isoTime(ref('previous_key_expires_at'))).as('previous_key_expires_at'),
    lastUse(ref('project_key')).as('key_last_used_at'),
    inOverlap(lastUse(ref('previous_project_key'))).as('previous_key_last_used_at'),
  ] as const;
};

/** Projects of an organization, or only the named one, oldest first. */
export async function projectsOf(db: Db, orgId: string, projectId: string | null): Promise<readonly Project[]> {
  const { rows } = await run(
    db,
    build
      .selectFrom('project')
      .select(projectColumns)
      .where('organization_id', '=', orgId)
      .$if(projectId !== null, (projects) => projects.where('id', '=', projectId))
      .where('archived_at', 'is', null)
      .orderBy('project.created_at')
      .orderBy('id')
      .limit(1000),
  );
  return rows;
}

/** Is this the public key of the project, or its previous key while that still works? */
export function isProjectKey(key: string | RawBuilder<string>): RawBuilder<boolean> {
  return sql`(project_key = ${key} or previous_project_key = ${key} and previous_key_expires_at > now())`;
}

/** Makes a project with its public keys. */
export async function createProject(db: Db, orgId: string, name: string): Promise<NewProject> {
  const projectKey = makePublicKey('proj');
  const sdkKey = makePublicKey('sdk');
  const project = build.insertInto('project').values({ organization_id: orgId, name, project_key: projectKey });
  const { rows } = await run(db, project.returning('id'));
  const projectId = rows[0]?.id ?? '';
  await run(db, build.insertInto('sdk_key').values({ project_id: projectId, sdk_key: sdkKey, name: 'first key' }));
  return { projectId, projectKey, sdkKey };
}
