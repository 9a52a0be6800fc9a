/** Groups of a project's people, such as wards. A person may be in several. */
import { sql } from 'kysely';
import { PipelineError } from '../errors.ts';
import type { Caller } from '../caller.ts';
import { build, isoTime, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import { orgOf, projectOf } from './record-ownership.ts';

/** A group as the API shows it. */
export type Group = Readonly<{ id: string; project_id: string; name: string; member_count: number; created_at: string }>;

/** Groups of one project. */
export const GROUPS_MAX = 500;

export const groups = build.selectFrom('person_group as g').select(({ ref, selectFrom }) => [
  'g.id',
  'g.project_id',
  'g.name',
  selectFrom('person_group_member as m')
    .select(sql<number>`count(*)::integer`.as('n'))
    .whereRef('m.group_id', '=', 'g.id')
    .$asScalar()
    .$notNull()
    .as('member_count'),
  isoTime(ref('g.created_at')).as('created_at'),
]);

/** @throws PipelineError not_found: not of this project */
export async function findGroup(db: Db, projectId: string, id: string): Promise<Group> {
  const { rows } = await run(db, groups.where('g.project_id', '=', projectId).where('g.id', '=', id));
  if (rows[0] === undefined) throw new PipelineError('not_found', 'There is no such group.');
  return rows[0];
}

/** Id of a group that narrows a list, of whichever project the caller may use.
 *  @throws PipelineError not_found: a list that is empty because nobody has such a group would look like an empty ward */
export async function groupIdOf(db: Db, caller: Caller, id: string | undefined): Promise<string | null> {
  if (id === undefined) return null;
  const project = projectOf(caller);
  const own = build.selectFrom('person_group').select('id').where('id', '=', id).where('organization_id', '=', orgOf(caller));
  const { rows } = await run(db, project === null ? own : own.where('project_id', '=', project));
  if (rows[0] === undefined) throw new PipelineError('not_found', 'There is no such group.');
  return rows[0].id;
}
