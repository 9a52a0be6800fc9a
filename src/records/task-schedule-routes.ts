/** Tasks that recur: every n days or weeks, at times of day in the person's time zone. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Pool } from 'pg';
import { answerOnce } from '../tenancy/answer-once.ts';
import { isUuid, orgOf, ownSubject, projectOf } from '../tenancy/record-ownership.ts';
import { PipelineError } from '../errors.ts';
import { build, now, run } from '../storage/database/build.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { callerKey } from '../http/request.ts';
import { exactly, nullable, OneLine, oneOf, Timestamp, Uuid } from '../http/schemas.ts';
import type { SubjectId } from '../signal.ts';
import { makeOccurrences } from './occurrences.ts';
import { findQuestionnaire } from './questionnaire-store.ts';
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
  questionnaire: nullable(Type.String({ description: 'Its answers complete the occurrences.' })),
  ended_at: nullable(Timestamp),
});
// SQL, as in the statements that return it: dates and times as text.
const columns = `id, xuser_id as subject_id, title, description, every, every_n, weekdays, array(select to_char(t, 'HH24:MI') from unnest(times) t) as times,
  to_char(starts_on, 'YYYY-MM-DD') as starts_on, to_char(ends_on, 'YYYY-MM-DD') as ends_on, questionnaire, to_json(ended_at) #>> '{}' as ended_at`;

type Schedule = Readonly<Static<typeof ScheduleSchema>>;

/** Today's date in a time zone, YYYY-MM-DD. */
function todayIn(timeZone: string): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(new Date());
}

type Deps = Readonly<{ db: Pool }>;

const listTaskSchedules = ({ db }: Deps) =>
  defineRoute({
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
      const subject = await ownSubject(db, caller, query.subject_id ?? '');
      const { rows } = await db.query<Schedule>(
        `select ${columns} from task_schedule where xuser_id = $1 order by task_schedule.ended_at nulls first, created_at, id limit 500`,
        [subject.id],
      );
      return { status: 200, json: rows };
    },
  });

const createTaskSchedule = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/task-schedules',
    operationId: 'createTaskSchedule',
    tag: 'Self-reports',
    summary: 'Give a person a task that recurs',
    description:
      "Its occurrences are tasks of their own, on the person's clocks, from now on; they appear in the list a day ahead. One that is not done " +
      'within a day is missed (GET /api/v1/adherence). With a questionnaire, an answer within a day of an occurrence completes the nearest.',
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
      questionnaire: Type.Optional(Type.String({ pattern: '^[a-z][a-z0-9-]{0,62}$', description: 'Code of a questionnaire, e.g. phq-9' })),
    }),
    idempotent: true,
    responses: { 201: { description: 'The schedule.', schema: ScheduleSchema } },
    errors: ['consent_missing', 'not_found'],
    handler: async (request) => {
      const { caller, body } = request;
      const weekdays = body.weekdays ?? [];
      if (body.every === 'week' && weekdays.length === 0) {
        throw new PipelineError('validation_failed', '/weekdays: a week needs days', {
          errors: [{ pointer: '/weekdays', code: 'required', detail: 'a week needs days' }],
        });
      }
      const subject = await ownSubject(db, caller, body.subject_id);
      const startsOn = body.starts_on ?? todayIn(subject.timeZone);
      if (body.ends_on != null && body.ends_on < startsOn) {
        const detail = `lies before ${startsOn}, when it begins`;
        throw new PipelineError('validation_failed', `/ends_on: ${detail}`, { errors: [{ pointer: '/ends_on', code: 'order', detail }] });
      }
      const { questionnaire = null } = body;
      if (questionnaire !== null && (await findQuestionnaire(db, subject.projectId, questionnaire, null)) === null) {
        throw new PipelineError('not_found', 'There is no such questionnaire.');
      }
      return await answerOnce(db, request, { operationId: 'createTaskSchedule', subjectId: subject.id }, async (client) => {
        const { rows } = await client.query<Schedule>(
          `insert into task_schedule (organization_id, project_id, xuser_id, title, description, every, every_n, weekdays, times, starts_on, ends_on, created_by, questionnaire)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9::time[], $10, $11, $12, $13) returning ${columns}`,
          [
            subject.orgId,
            subject.projectId,
            subject.id,
            body.title,
            body.description ?? '',
            body.every,
            body.every_n ?? 1,
            weekdays,
            body.times,
            startsOn,
            body.ends_on ?? null,
            callerKey(caller),
            questionnaire,
          ],
        );
        const [made] = rows;
        if (made === undefined) throw new Error('task_schedule insert returned no row');
        return { status: 201, json: made };
      });
    },
  });

const endTaskSchedule = ({ db }: Deps) =>
  defineRoute({
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
      const id = params.scheduleId;
      const project = projectOf(caller);
      const schedule = build
        .selectFrom('task_schedule')
        .select('xuser_id')
        .where('id', '=', id)
        .where('organization_id', '=', orgOf(caller))
        .$if(project !== null, (schedules) => schedules.where('project_id', '=', project))
        .where('ended_at', 'is', null);
      const { rows } = isUuid(id) ? await run(db, schedule) : { rows: [] };
      if (rows[0] === undefined) throw new PipelineError('not_found', 'There is no such schedule.');
      await makeOccurrences(db, { id: rows[0].xuser_id as SubjectId }); // so that anything missed up to now stays on record
      const later = build.deleteFrom('task').where('status', '=', 'due').where('due', '>', now);
      const { rows: ended } = await run(
        db,
        build
          .with('ended', (also) =>
            also.updateTable('task_schedule').set({ ended_at: now }).where('id', '=', id).where('ended_at', 'is', null).returning('id'),
          )
          .with('gone', (also) => later.where('schedule_id', 'in', also.selectFrom('ended').select('id')))
          .selectFrom('ended')
          .select('id'),
      );
      if (ended.length === 0) throw new PipelineError('not_found', 'There is no such schedule.');
      return { status: 204 };
    },
  });

export const taskScheduleRoutes = (deps: Deps): readonly Route[] => [
  listTaskSchedules(deps),
  createTaskSchedule(deps),
  endTaskSchedule(deps),
];
