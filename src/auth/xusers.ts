/** User records: exactly one per project and external id, however many calls race. */
import type { Db } from './api-keys.ts';

/** A user record as the API shows it. */
export type Xuser = Readonly<{
  xuser_id: string;
  external_id: string;
  project_id: string;
  display_name: string;
  time_zone: string | null;
  created_at: string;
  updated_at: string;
  disabled: boolean;
}>;

export const xuserColumns = `id as xuser_id, external_id, project_id, display_name, time_zone,
  to_json(created_at) #>> '{}' as created_at, to_json(updated_at) #>> '{}' as updated_at, disabled_at is not null as disabled`;

/** Finds or makes the user of an external id.
 *  `on conflict do nothing` waits for a racing insert and then returns no row; the select that follows sees the winner's. */
export async function resolveXuser(
  db: Db,
  orgId: string,
  projectId: string,
  externalId: string,
): Promise<Readonly<{ xuser: Xuser; created: boolean }>> {
  const found = await findXuser(db, projectId, externalId);
  if (found !== null) return { xuser: found, created: false };
  const { rows } = await db.query<Xuser>(
    `insert into xuser (organization_id, project_id, external_id) values ($1, $2, $3)
     on conflict (project_id, external_id) do nothing
     returning ${xuserColumns}`,
    [orgId, projectId, externalId],
  );
  const made = rows[0];
  if (made !== undefined) return { xuser: made, created: true };
  const other = await findXuser(db, projectId, externalId);
  if (other === null) throw new Error('xuser vanished between insert and select');
  return { xuser: other, created: false };
}

export async function findXuser(db: Db, projectId: string, externalId: string): Promise<Xuser | null> {
  const { rows } = await db.query<Xuser>(`select ${xuserColumns} from xuser where project_id = $1 and external_id = $2`, [
    projectId,
    externalId,
  ]);
  return rows[0] ?? null;
}
