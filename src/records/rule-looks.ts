/** Up to where rules have looked at each recording. One that comes faster than it was measured, such as an import, is looked at from where
 *  the round before ended, so it has all of its episodes; and a rule that is made later tells of nothing old. */
import type { Db } from '../storage/database/database.ts';
import { isActive, isHere } from '../tenancy/moving.ts';

/** A recording, and its newest value when the round began. */
export type Look = Readonly<{ id: number; organization_id: string; newest_ms: number }>;

/** How far behind the newest value the mark of a recording may be, s: a row is not written in every round. */
const BEHIND_SEC = 300;
/** Time since its last packet in which a recording is looked at to its end, s: its values may come late, as after a restart. */
const RECENT_SEC = 3600;
/** Longest range of a recording that one look takes, s: a clock that was wrong may have put its beginning anywhere. */
const LOOK_SEC_MAX = 7 * 86_400;
/** Recordings whose newest value is asked for in one round, any of those that are due: each takes milliseconds. */
const DUE_MAX = 200;

/** SQL: a stream s has more than rules have looked at. */
const DUE_SQL = `(s.rules_looked_to is null or s.last_sample_at > s.rules_looked_to + interval '${BEHIND_SEC} s')`;

/** SQL: a stream s may have values that rules have not looked at.  @param lookBack an interval */
export const hasNewsSql = (lookBack: string): string =>
  `(s.last_packet_at > now() - ${lookBack} or s.last_packet_at > now() - interval '${RECENT_SEC} s' and ${DUE_SQL})`;

/** SQL: where a look at a stream s begins.  @param newest time of the newest value  @param lookBack an interval */
export const lookedFromSql = (newest: string, lookBack: string): string =>
  `greatest(least(${newest}, coalesce(s.rules_looked_to, s.recorded_from)) - ${lookBack}, ${newest} - interval '${LOOK_SEC_MAX} s')`;

/** Recordings whose mark is to be moved once every rule has looked at what they have now. */
export async function looksDue(db: Db): Promise<readonly Look[]> {
  // SQL: a function of the schema, asked only of recordings that have gone on.
  const { rows } = await db.query<Look>(
    `with due as materialized (
       select s.id, s.organization_id, s.rules_looked_to from stream s
       where ${isHere('s.organization_id')} and ${isActive('s.project_id')} and s.last_packet_at > now() - interval '${RECENT_SEC} s'
         and s.recorded_from is not null and ${DUE_SQL}
       order by random() limit ${DUE_MAX})
     select l.id, l.organization_id, (extract(epoch from l.newest) * 1000)::float8 as newest_ms
     from (select d.*, newest_value(d.id, null) as newest from due d offset 0) l
     where l.newest > coalesce(l.rules_looked_to, '-infinity')`,
  );
  return rows;
}

/** Moves the marks. A row that another transaction is writing is left for the next round. */
export async function markLooked(db: Db, looks: readonly Look[]): Promise<void> {
  if (looks.length === 0) return;
  await db.query(
    `with free as (select id from stream where id = any($1::integer[]) for no key update skip locked)
     update stream s set rules_looked_to = greatest(s.rules_looked_to, to_timestamp(l.newest_ms / 1000))
     from unnest($1::integer[], $2::float8[]) as l (id, newest_ms) join free using (id) where s.id = l.id`,
    [looks.map(({ id }) => id), looks.map(({ newest_ms: ms }) => ms)],
  );
}
