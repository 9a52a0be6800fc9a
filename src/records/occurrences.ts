/** Occurrences of recurring tasks. They follow from the schedule, whether or not the list is read: made once each, a day ahead, in the
 *  person's local time; one not done for a day is missed. A changed time zone moves future occurrences and duplicates none, because an
 *  occurrence is identified by its local time (slot). */
import { sql } from 'kysely';
import type { Pool } from 'pg';
import { build, inSec, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import { PipelineError } from '../errors.ts';
import { usedZone } from '../http/time-zone.ts';
import { isActive, isHere } from '../tenancy/moving.ts';
import type { Subject } from '../tenancy/record-ownership.ts';

/** Time after which an occurrence that is not done is missed, h. */
export const MISSED_AFTER_HOURS = 24;
/** Interval at which occurrences of all people are made, ms. */
const PERIOD_MS = 60_000;
/** Schedules per statement, and days of each: a service that was off for months catches up week by week. */
const SCHEDULES_MAX = 500;
const DAYS_MAX = 7;

const usedOf = (of: 'x' | 'p'): string =>
  `case when $2::jsonb ? ${of}.time_zone then $2::jsonb ->> ${of}.time_zone else ${of}.time_zone end`;
/** Time zone of a schedule s of a person x in a project p. $2: the zones of older releases, by what they are used as. */
const zone = `coalesce(${usedOf('x')}, ${usedOf('p')}, 'UTC')`;

/** Stored zones that are not used as they are: PostgreSQL reads an offset the other way round, and one unknown name fails a statement
 *  about all people.  @returns JSON: by name, what it is used as or null */
async function formerZonesOf(db: Db, subjectId: string | null): Promise<string> {
  const scheduled = build.selectFrom('task_schedule').select('xuser_id');
  const people = build.selectFrom('xuser').select('time_zone as zone').where('time_zone', 'is not', null).where('id', 'in', scheduled);
  const own = subjectId === null ? people : people.where('id', '=', subjectId);
  const { rows } = await run(db, own.union(build.selectFrom('project').select('time_zone as zone')));
  const former = rows.flatMap(({ zone }) => (zone === null || usedZone(zone) === zone ? [] : [[zone, usedZone(zone)] as const]));
  return JSON.stringify(Object.fromEntries(former));
}

/** Makes all outstanding occurrences, in statements of bounded size.  @param subjectId null: all people */
async function makeAll(db: Db, subjectId: string | null, formerZones: string): Promise<void> {
  while ((await make(db, subjectId, formerZones)) > 0);
}

/** @returns how many schedules had occurrences to make; some may remain */
async function make(db: Db, subjectId: string | null, formerZones: string): Promise<number> {
  // SQL: PostgreSQL lists the days and times; kysely has no generate_series, no unnest and no `at time zone`.
  const { rowCount } = await db.query(
    `with behind as (
       select s.*, ${zone} as zone, first.day as first, least((now() at time zone ${zone})::date + 1, first.day + ${DAYS_MAX - 1}) as until
       from task_schedule s join xuser x on x.id = s.xuser_id join project p on p.id = s.project_id
       cross join lateral (select coalesce(s.made_until + 1, (s.created_at at time zone ${zone})::date) as day) first
       where s.ended_at is null and x.disabled_at is null and ${isHere('x.organization_id')} and p.archived_at is null and ($1::uuid is null or s.xuser_id = $1)
         and (s.made_until is null or s.made_until < (now() at time zone ${zone})::date + 1)
       order by s.id limit ${SCHEDULES_MAX} for update of s
     ), made as (
       insert into task (organization_id, project_id, xuser_id, title, description, due, slot, schedule_id, questionnaire)
       select s.organization_id, s.project_id, s.xuser_id, s.title, s.description, (d.day + t.at) at time zone s.zone, d.day + t.at, s.id, s.questionnaire
       from behind s
       cross join lateral (
         select generate_series(greatest(s.starts_on, s.first), least(s.until, s.ends_on), interval '1 day')::date as day) d
       cross join lateral unnest(s.times) as t (at)
       where (d.day + t.at) at time zone s.zone >= s.created_at
         and case s.every
           when 'day' then (d.day - s.starts_on) % s.every_n = 0
           else extract(isodow from d.day)::smallint = any(s.weekdays)
             and ((d.day - date_trunc('week', s.starts_on)::date) / 7) % s.every_n = 0 end
       on conflict (schedule_id, slot) do nothing
     )
     update task_schedule set made_until = behind.until from behind where task_schedule.id = behind.id`,
    [subjectId, formerZones],
  );
  return rowCount ?? 0;
}

/** Makes the occurrences of one person up to tomorrow, in their present time zone. */
export async function makeOccurrences(db: Db, { id }: Pick<Subject, 'id'>): Promise<void> {
  const zones = await formerZonesOf(db, id);
  await makeAll(db, id, zones);
  await followZones(db, id, zones);
}

/** Moves future occurrences to a changed time zone. One that would then lie in the past stays where it was, so that it is not counted as
 *  missed. */
async function followZones(db: Db, subjectId: string | null, formerZones: string): Promise<void> {
  // SQL: `at time zone`, three times.
  await db.query(
    `update task t set due = t.slot at time zone ${zone}
     from xuser x join project p on p.id = x.project_id
     where x.id = t.xuser_id and ${isHere('x.organization_id')} and ${isActive('t.project_id')} and t.schedule_id is not null and t.status = 'due' and t.due > now() and ($1::uuid is null or t.xuser_id = $1)
       and t.due <> t.slot at time zone ${zone} and t.slot at time zone ${zone} > now()`,
    [subjectId, formerZones],
  );
}

/** Makes the occurrences of all people, and records the missed ones. */
export async function keepOccurrences(pool: Pool): Promise<void> {
  const zones = await formerZonesOf(pool, null);
  await makeAll(pool, null, zones);
  await followZones(pool, null, zones);
  await run(
    pool,
    build
      .updateTable('task')
      .set({ status: 'missed', status_at: sql<Date>`due + make_interval(hours => ${MISSED_AFTER_HOURS})` })
      .where('schedule_id', 'is not', null)
      .where(sql.raw<boolean>(isHere('task.organization_id')))
      .where(sql.raw<boolean>(isActive('task.project_id')))
      .where('status', '=', 'due')
      .where('due', '<', inSec(-MISSED_AFTER_HOURS * 3600)),
  );
}

/** Runs keepOccurrences now and every PERIOD_MS; several nodes may.  @returns how to stop */
export function startOccurrences(options: Readonly<{ pool: Pool; onError: (error: unknown) => void }>): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  const look = (): void => void (running = running.then(() => keepOccurrences(options.pool)).catch(options.onError));
  look();
  // job: occurrences: makes the occurrences of recurring tasks and says which were missed, at the start and every minute
  const timer = setInterval(look, PERIOD_MS).unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}

/** Weight of being early against being late: an answer in the evening belongs to this morning, not to tomorrow. */
const EARLY_WEIGHT = 3;

/** Completes an occurrence by an answer to its questionnaire. The answer belongs to the nearest occurrence of each schedule within a day,
 *  and completes the nearest of these that is open. A second answer to the same one does not complete tomorrow's. */
export async function completeByResponse(
  db: Db,
  answer: Readonly<{ subjectId: string; questionnaire: string; responseId: string; authored: string }>,
): Promise<void> {
  // SQL: `distinct on` with time arithmetic reads worse in kysely.
  await db.query(
    `with near as (
       select distinct on (schedule_id) id, due, status, far from (
         select id, schedule_id, due, status,
           abs(extract(epoch from due - $3::timestamptz)) * case when due > $3::timestamptz then ${EARLY_WEIGHT} else 1 end as far
         from task
         where xuser_id = $1 and questionnaire = $2
           and due between $3::timestamptz - make_interval(hours => ${MISSED_AFTER_HOURS}) and $3::timestamptz + make_interval(hours => ${MISSED_AFTER_HOURS})) t
       order by schedule_id, far, due
     )
     update task set status = 'done', status_at = $3::timestamptz, response_id = $4
     where id = (select id from near where status in ('due', 'missed') order by far, due limit 1) and status in ('due', 'missed')`,
    [answer.subjectId, answer.questionnaire, answer.authored, answer.responseId],
  );
}

/** @throws PipelineError validation_failed: an occurrence of a questionnaire is completed by answering it */
export function refuseDoneByHand(questionnaire: string): never {
  const detail = `is done by answering the questionnaire ${questionnaire}`;
  throw new PipelineError('validation_failed', `/status: ${detail}`, { errors: [{ pointer: '/status', code: 'questionnaire', detail }] });
}
