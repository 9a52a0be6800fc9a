/** User records: exactly one per project and external id, however many calls race. */
import { PipelineError } from '../errors.ts';
import type { Db } from '../storage/database/database.ts';

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

export type XuserChange = Readonly<{
  displayName?: string | undefined;
  /** null: that of the project. */
  timeZone?: string | null | undefined;
  disabled?: boolean | undefined;
}>;

/** Changes what is given. @returns the record as it is now, and whether it is another than before */
export async function changeXuser(db: Db, id: string, change: XuserChange): Promise<Readonly<{ changed: boolean; xuser: Xuser }>> {
  const { displayName = null, timeZone, disabled = null } = change;
  const { rows: changed } = await db.query<Xuser>(
    `with wanted as (
       select coalesce($2, display_name) as name, case when $3 then $4 else time_zone end as zone,
         case when $5::boolean is null then disabled_at when $5 then coalesce(disabled_at, now()) end as disabled
       from xuser where id = $1
     )
     update xuser set display_name = w.name, time_zone = w.zone, disabled_at = w.disabled, updated_at = now() from wanted w
     where xuser.id = $1 and (xuser.display_name, xuser.time_zone, xuser.disabled_at) is distinct from (w.name, w.zone, w.disabled)
     returning ${xuserColumns}`,
    [id, displayName, timeZone !== undefined, timeZone ?? null, disabled],
  );
  if (changed[0] !== undefined) return { changed: true, xuser: changed[0] };
  const { rows } = await db.query<Xuser>(`select ${xuserColumns} from xuser where id = $1`, [id]);
  if (rows[0] === undefined) throw new PipelineError('not_found', 'There is no such user.');
  return { changed: false, xuser: rows[0] };
}
