/** Tasks that recur: every n days or weeks, at times of day on the person's own clocks. */
import { Type } from 'typebox';
import type { Pool } from 'pg';
import { answerOnce } from '../auth/answer-once.ts';
import { isUuid, orgOf, ownSubject, projectOf } from '../auth/ownership.ts';
import type { Subject } from '../auth/ownership.ts';
import { PipelineError } from '../errors.ts';
import type { Route } from '../http/route.ts';
import { callerKey } from '../http/request.ts';
import { exactly, nullable, OneLine, oneOf, Timestamp, Uuid } from '../http/schemas.ts';
import { ownRead, SubjectQuery } from './self-report-routes.ts';

const LocalDate = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', format: 'date' });
const LocalTime = Type.String({ pattern: '^([01]\\d|2[0-3]):[0-5]\\d$', description: 'hh:mm on the clocks of the person' });
const rule = {
  every: oneOf(['day', 'week']),
  every_n: Type.Integer({ minimum: 1, maximum: 365, description: '2: every second day or week, counted from starts_on' }),
  weekdays: Type.Array(Type.Integer({ minimum: 1, maximum: 7 }), {
    maxItems: 7,
    uniqueItems: true,
    description: 'With every = week: 1 Monday … 7 Sunday.',
  }),
  times: Type.Array(LocalTime, { minItems: 1, maxItems: 24, uniqueItems: true }),
  starts_on: LocalDate,
  ends_on: nullable(LocalDate),
};
const ScheduleSchema = exactly({
  id: Uuid,
  subject_id: Uuid,
  title: Type.String(),
  description: Type.String(),
  ...rule,
  ended_at: nullable(Timestamp),
});
const columns = `id, xuser_id as subject_id, title, description, every, every_n, weekdays, array(select to_char(t, 'HH24:MI') from unnest(times) t) as times,
  to_char(starts_on, 'YYYY-MM-DD') as starts_on, to_char(ends_on, 'YYYY-MM-DD') as ends_on, to_json(ended_at) #>> '{}' as ended_at`;

/** Occurrences are made for the days from yesterday to tomorrow, in the person's time zone. */
export async function makeOccurrences(db: Pool, subject: Subject): Promise<void> {
  await db.query(
    `insert into task (organization_id, project_id, xuser_id, title, description, due, schedule_id)
     select s.organization_id, s.project_id, s.xuser_id, s.title, s.description, (d.day + t.at) at time zone $2, s.id
     from task_schedule s
     cross join lateral (
       select generate_series((now() at time zone $2)::date - 1, (now() at time zone $2)::date + 1, interval '1 day')::date as day) d
     cross join lateral unnest(s.times) as t (at)
     where s.xuser_id = $1 and s.ended_at is null and d.day >= s.starts_on and (s.ends_on is null or d.day <= s.ends_on)
       and case s.every
         when 'day' then (d.day - s.starts_on) % s.every_n = 0
         else extract(isodow from d.day)::smallint = any(s.weekdays)
           and ((d.day - date_trunc('week', s.starts_on)::date) / 7) % s.every_n = 0 end
     on conflict (schedule_id, due) do nothing`,
    [subject.id, subject.timeZone],
  );
}

export function taskScheduleRoutes(deps: Readonly<{ db: Pool }>): readonly Route[] {
  const { db } = deps;
  return [
    {
      method: 'GET',
      path: '/api/v1/task-schedules',
      operationId: 'listTaskSchedules',
      tag: 'Self-reports',
      summary: 'List what recurs for a person',
      access: { ...ownRead, key: 'read' },
      query: { subject_id: SubjectQuery },
      responses: { 200: { description: 'Schedules, ended ones last.', schema: Type.Array(ScheduleSchema) } },
      errors: ['not_found'],
      handler: async ({ caller, query }) => {
        const subject = await ownSubject(db, caller, (query as { subject_id?: string }).subject_id ?? '');
        const { rows } = await db.query(
          `select ${columns} from task_schedule where xuser_id = $1 order by task_schedule.ended_at nulls first, created_at, id limit 500`,
          [subject.id],
        );
        return { status: 200, json: rows };
      },
    },
    {
      method: 'POST',
      path: '/api/v1/task-schedules',
      operationId: 'createTaskSchedule',
      tag: 'Self-reports',
      summary: 'Give somebody a task that recurs',
      description: 'Its occurrences are tasks of their own, each due, done or skipped; they appear in the list a day ahead.',
      access: { key: 'write', operator: 'editor' },
      body: exactly({
        subject_id: Type.String({ minLength: 1, maxLength: 255 }),
        title: OneLine(200, { minLength: 1 }),
        description: Type.Optional(Type.String({ maxLength: 2000 })),
        every: rule.every,
        every_n: Type.Optional(rule.every_n),
        weekdays: Type.Optional(rule.weekdays),
        times: rule.times,
        starts_on: Type.Optional(LocalDate),
        ends_on: Type.Optional(rule.ends_on),
      }),
      idempotent: true,
      responses: { 201: { description: 'The schedule.', schema: ScheduleSchema } },
      errors: ['not_found'],
      handler: async (request) => {
        const { caller, body } = request;
        const input = body as {
          subject_id: string;
          title: string;
          description?: string;
          every: 'day' | 'week';
          every_n?: number;
          weekdays?: readonly number[];
          times: readonly string[];
          starts_on?: string;
          ends_on?: string | null;
        };
        const weekdays = input.weekdays ?? [];
        if (input.every === 'week' && weekdays.length === 0) {
          throw new PipelineError('validation_failed', '/weekdays: a week needs days', {
            errors: [{ pointer: '/weekdays', code: 'required', detail: 'a week needs days' }],
          });
        }
        const subject = await ownSubject(db, caller, input.subject_id);
        return await answerOnce(db, request, { operationId: 'createTaskSchedule', subjectId: subject.id }, async (client) => {
          const { rows } = await client.query(
            `insert into task_schedule (organization_id, project_id, xuser_id, title, description, every, every_n, weekdays, times, starts_on, ends_on, created_by)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9::time[], coalesce($10::date, (now() at time zone $13)::date), $11, $12) returning ${columns}`,
            [
              subject.orgId,
              subject.projectId,
              subject.id,
              input.title,
              input.description ?? '',
              input.every,
              input.every_n ?? 1,
              weekdays,
              input.times,
              input.starts_on ?? null,
              input.ends_on ?? null,
              callerKey(caller),
              subject.timeZone,
            ],
          );
          return { status: 201, json: rows[0] };
        });
      },
    },
    {
      method: 'DELETE',
      path: '/api/v1/task-schedules/{scheduleId}',
      operationId: 'endTaskSchedule',
      tag: 'Self-reports',
      summary: 'Let a task recur no longer',
      description: 'What is due later disappears; what was done or skipped stays.',
      access: { key: 'write', operator: 'editor' },
      params: { scheduleId: Uuid },
      responses: { 204: { description: 'Ended.' } },
      errors: ['not_found'],
      handler: async ({ caller, params }) => {
        const id = params['scheduleId'] ?? '';
        const { rowCount } = isUuid(id)
          ? await db.query(
              `with ended as (
                 update task_schedule set ended_at = now()
                 where id = $1 and organization_id = $2 and ($3::uuid is null or project_id = $3) and ended_at is null returning id
               ), gone as (delete from task where schedule_id in (select id from ended) and status = 'due' and due > now())
               select id from ended`,
              [id, orgOf(caller), projectOf(caller)],
            )
          : { rowCount: 0 };
        if (rowCount === 0) throw new PipelineError('not_found', 'There is no such schedule.');
        return { status: 204 };
      },
    },
  ];
}
