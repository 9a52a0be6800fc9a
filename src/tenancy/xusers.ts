/** User records: exactly one per project and external id, however many calls race. */
import { sql } from 'kysely';
import type { ExpressionBuilder } from 'kysely';
import { PipelineError } from '../errors.ts';
import { presentName, usedZone } from '../http/time-zone.ts';
import { build, isSet, isoTime, now, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import type { Tables } from '../storage/database/tables.ts';

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

export const xuserColumns = ({ ref }: ExpressionBuilder<Tables, 'xuser'>) =>
  [
    'id as xuser_id',
    'external_id',
    'project_id',
    'display_name',
    'time_zone',
    isoTime(ref('created_at')).as('created_at'),
    isoTime(ref('updated_at')).as('updated_at'),
    isSet(ref('disabled_at')).as('disabled'),
  ] as const;

/** As it is shown: with the time zone that is used. */
export const shownXuser = (row: Xuser): Xuser => ({ ...row, time_zone: usedZone(row.time_zone) });

/** Finds or creates the user with an external id. `on conflict do nothing` waits for a racing insert and then returns no row; the select
 *  that follows sees the winner's. */
export async function resolveXuser(
  db: Db,
  orgId: string,
  projectId: string,
  externalId: string,
): Promise<Readonly<{ xuser: Xuser; created: boolean }>> {
  const found = await findXuser(db, projectId, externalId);
  if (found !== null) return { xuser: found, created: false };
  const insert = build
    .insertInto('xuser')
    .values({ organization_id: orgId, project_id: projectId, external_id: externalId })
    .onConflict((conflict) => conflict.columns(['project_id', 'external_id']).doNothing());
  const { rows } = await run(db, insert.returning(xuserColumns));
  const made = rows[0];
  if (made !== undefined) return { xuser: made, created: true };
  const other = await findXuser(db, projectId, externalId);
  if (other === null) throw new Error('xuser vanished between insert and select');
  return { xuser: other, created: false };
}

export async function findXuser(db: Db, projectId: string, externalId: string): Promise<Xuser | null> {
  const xuser = build.selectFrom('xuser').select(xuserColumns).where('project_id', '=', projectId);
  const { rows } = await run(db, xuser.where('external_id', '=', externalId));
  return rows[0] === undefined ? null : shownXuser(rows[0]);
}

/** @throws PipelineError not_found */
export async function readXuser(db: Db, id: string): Promise<Xuser> {
  const { rows } = await run(db, build.selectFrom('xuser').select(xuserColumns).where('id', '=', id));
  const xuser = rows[0];
  if (xuser === undefined) throw new PipelineError('not_found', 'There is no such user.');
  return shownXuser(xuser);
}

export type XuserChange = Readonly<{
  displayName?: string | undefined;
  /** null: the project's. */
  timeZone?: string | null | undefined;
  disabled?: boolean | undefined;
}>;

/** Changes what is given.  @returns the record as it is now, and whether it changed */
export async function changeXuser(db: Db, id: string, change: XuserChange): Promise<Readonly<{ changed: boolean; xuser: Xuser }>> {
  const { displayName, timeZone, disabled } = change;
  const wanted = {
    ...(displayName === undefined ? {} : { display_name: displayName }),
    ...(timeZone === undefined ? {} : { time_zone: timeZone === null ? null : presentName(timeZone) }),
    ...(disabled === undefined ? {} : { disabled_at: disabled ? sql<Date>`coalesce(disabled_at, now())` : null }),
  };
  const { rows } = await run(
    db,
    build
      .updateTable('xuser')
      .set({ ...wanted, updated_at: now })
      .where('id', '=', id)
      .where(({ or, eb }) => or(Object.entries(wanted).map(([column, value]) => eb(sql.ref(column), 'is distinct from', value))))
      .returning(xuserColumns),
  );
  const changed = rows[0];
  return changed === undefined ? { changed: false, xuser: await readXuser(db, id) } : { changed: true, xuser: shownXuser(changed) };
}
