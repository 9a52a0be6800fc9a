/** Tasks: given by the application or a clinician, marked by the person. */
import { sql } from 'kysely';
import type { ExpressionBuilder } from 'kysely';
import { Type } from 'typebox';
import type { Pool } from 'pg';
import { answerOnce } from '../tenancy/answer-once.ts';
import { isUuid, ownSubject } from '../tenancy/record-ownership.ts';
import { PipelineError } from '../errors.ts';
import { build, isoTime, run, runForOne } from '../storage/database/build.ts';
import type { Tables } from '../storage/database/tables.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { exactly, nullable, OneLine, oneOf, Timestamp, Uuid } from '../http/schemas.ts';
import { makeOccurrences, refuseDoneByHand } from './occurrences.ts';
import { ownRead, ownWrite, SubjectQuery } from './self-report-routes.ts';
import { unixNowMs } from '../unix-clock.ts';

const statuses = ['due', 'done', 'skipped'] as const;
const TASKS_MAX = 200;
/** Time after which closed tasks disappear from a person's list. */
const CLOSED_SHOWN_DAYS = 2;
/** Time after which a missed occurrence of a recurring task is no longer shown. */
const RECURRING_SHOWN_HOURS = 24;
/** How long before its time an occurrence is shown. */
const AHEAD_HOURS = 24;

const TaskSchema = exactly({
  id: Uuid,
  title: Type.String(),
  description: Type.String(),
  due: nullable(Timestamp),
  status: oneOf(statuses),
  status_at: nullable(Timestamp),
  schedule_id: nullable(Uuid),
  questionnaire: nullable(Type.String({ description: 'Done by answering it.' })),
  response_id: nullable(Type.String({ format: 'uuid', description: 'The answer that completed it.' })),
});
const columns = ({ ref }: ExpressionBuilder<Tables, 'task'>) =>
  [
    'id',
    'title',
    'description',
    isoTime(ref('due')).as('due'),
    // Never `missed`: missed tasks are not listed, and marking one gives it another status.
    ref('status').$castTo<(typeof statuses)[number]>().as('status'),
    isoTime(ref('status_at')).as('status_at'),
    'schedule_id',
    'questionnaire',
    'response_id',
  ] as const;

type Deps = Readonly<{ db: Pool }>;

const listTasks = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/tasks',
    operationId: 'listTasks',
    tag: 'Self-reports',
    summary: 'List the tasks of a person',
    description:
      `Open ones, those without a time last, then what was closed in the last ${CLOSED_SHOWN_DAYS} days. Of tasks that recur: those due ` +
      `from ${RECURRING_SHOWN_HOURS} hours ago to ${AHEAD_HOURS} hours ahead.`,
    access: { ...ownRead, key: 'read' },
    query: { subject_id: SubjectQuery },
    responses: { 200: { description: 'Tasks.', schema: Type.Array(TaskSchema) } },
    errors: ['not_found'],
    handler: async ({ caller, query }) => {
      const subject = await ownSubject(db, caller, query.subject_id ?? '');
      await makeOccurrences(db, subject);
      const shown = sql<boolean>`case
        when status <> 'due' then task.status_at > now() - make_interval(days => ${CLOSED_SHOWN_DAYS})
        else schedule_id is null
          or task.due between now() - make_interval(hours => ${RECURRING_SHOWN_HOURS}) and now() + make_interval(hours => ${AHEAD_HOURS}) end`;
      const { rows } = await run(
        db,
        build
          .selectFrom('task')
          .select(columns)
          .where('xuser_id', '=', subject.id)
          .where('status', '<>', 'missed')
          .where(shown)
          .orderBy(({ eb }) => eb('status', '<>', 'due'))
          .orderBy('task.due', (due) => due.asc().nullsLast())
          .orderBy('id')
          .limit(TASKS_MAX),
      );
      return { status: 200, json: rows };
    },
  });

const createTask = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/tasks',
    operationId: 'createTask',
    tag: 'Self-reports',
    summary: 'Give a person a task',
    access: { key: 'write', operator: 'editor' },
    body: exactly({
      subject_id: Type.String({ minLength: 1, maxLength: 255 }),
      title: OneLine(200, { minLength: 1 }),
      description: Type.Optional(Type.String({ maxLength: 2000 })),
      due: Type.Optional(nullable(Timestamp)),
    }),
    idempotent: true,
    responses: { 201: { description: 'The task.', schema: TaskSchema } },
    errors: ['consent_missing', 'not_found'],
    handler: async (request) => {
      const input = request.body;
      const subject = await ownSubject(db, request.caller, input.subject_id);
      return await answerOnce(db, request, { operationId: 'createTask', subjectId: subject.id }, async (client) => {
        const { orgId, projectId, id } = subject;
        const { title, description = '', due = null } = input;
        const task = { organization_id: orgId, project_id: projectId, xuser_id: id, title, description, due };
        return { status: 201, json: await runForOne(client, build.insertInto('task').values(task).returning(columns)) };
      });
    },
  });

const setTaskStatus = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/tasks/{taskId}/status',
    operationId: 'setTaskStatus',
    tag: 'Self-reports',
    summary: 'Mark a task',
    description: 'The mark with the latest time wins, whatever the order in which marks arrive.',
    access: ownWrite,
    params: { taskId: Uuid },
    body: exactly({ status: oneOf(statuses), time: Type.Optional(Timestamp) }),
    bodyBytesMax: 4096,
    idempotent: true,
    responses: { 200: { description: 'The task as it is now.', schema: TaskSchema } },
    errors: ['not_found'],
    handler: async (request) => {
      const taskId = request.params.taskId;
      const input = request.body;
      const subject = await ownSubject(db, request.caller, '', 'recording');
      if (!isUuid(taskId)) throw new PipelineError('not_found', 'There is no such task.');
      return await answerOnce(db, request, { operationId: 'setTaskStatus', subjectId: subject.id }, async (client) => {
        const task = build.selectFrom('task').where('id', '=', taskId).where('xuser_id', '=', subject.id);
        const asked = await run(client, task.select('questionnaire'));
        const questionnaire = asked.rows[0]?.questionnaire ?? null;
        if (questionnaire !== null && input.status === 'done') refuseDoneByHand(questionnaire);
        // "Missed" is not set by the person, so a mark that arrives later still counts.
        const time = sql<Date>`${input.time ?? new Date(unixNowMs()).toISOString()}::timestamptz`;
        await run(
          client,
          build
            .updateTable('task')
            .set({ status: input.status, status_at: time, response_id: null })
            .where('id', '=', taskId)
            .where('xuser_id', '=', subject.id)
            .where(({ or, eb }) => or([eb('status', '=', 'missed'), eb('status_at', 'is', null), eb('status_at', '<=', time)])),
        );
        const { rows } = await run(client, task.select(columns));
        if (rows[0] === undefined) throw new PipelineError('not_found', 'There is no such task.');
        return { status: 200, json: rows[0] };
      });
    },
  });

export const taskRoutes = (deps: Deps): readonly Route[] => [listTasks(deps), createTask(deps), setTaskStatus(deps)];
