/** GET /api/v1/adherence: for each schedule of a person, what was done, skipped and missed, and what is due. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Pool } from 'pg';
import { ownSubject } from '../tenancy/record-ownership.ts';
import { PipelineError } from '../errors.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { exactly, nullable, Timestamp, Uuid } from '../http/schemas.ts';
import { makeOccurrences, MISSED_AFTER_HOURS } from './occurrences.ts';
import { ownRead, SubjectQuery } from './self-report-routes.ts';

const DAY_MS = 86_400_000;
const DAYS = 30;
const DAYS_MAX = 366;

const AdherenceSchema = exactly({
  subject_id: Uuid,
  since: Timestamp,
  until: Timestamp,
  schedules: Type.Array(
    exactly({
      schedule_id: Uuid,
      title: Type.String(),
      questionnaire: nullable(Type.String()),
      ended_at: nullable(Timestamp),
      done: Type.Integer(),
      skipped: Type.Integer(),
      missed: Type.Integer({ description: `Not done ${MISSED_AFTER_HOURS} h after it was due.` }),
      due: Type.Integer({ description: 'Still to be done.' }),
      adherence: nullable(Type.Number({ description: 'Done of done, skipped and missed, 0 to 1; null: there are none.' })),
    }),
  ),
});

type Deps = Readonly<{ db: Pool }>;

const getAdherence = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/adherence',
    operationId: 'getAdherence',
    tag: 'Self-reports',
    summary: 'How a person keeps to what recurs',
    description:
      `Occurrences that are due in [since, until), by schedule; without a range those of the last ${DAYS} days, at most ${DAYS_MAX} days. ` +
      'An occurrence of a questionnaire is done by an answer within a day of it.',
    access: { ...ownRead, key: 'read' },
    query: { subject_id: SubjectQuery, since: Type.Optional(Timestamp), until: Type.Optional(Timestamp) },
    responses: { 200: { description: 'By schedule, ended ones last.', schema: AdherenceSchema } },
    errors: ['not_found'],
    handler: async ({ caller, query }) => {
      const subject = await ownSubject(db, caller, query.subject_id ?? '');
      const [since, until] = rangeOf(query);
      await makeOccurrences(db, subject);
      // SQL: filtered counts over a lateral query.
      const { rows } = await db.query<Static<typeof AdherenceSchema>['schedules'][number]>(
        `select s.id as schedule_id, s.title, s.questionnaire, to_json(s.ended_at) #>> '{}' as ended_at,
           n.done, n.skipped, n.missed, n.due, n.done::float8 / nullif(n.done + n.skipped + n.missed, 0) as adherence
         from task_schedule s cross join lateral (
           select count(*) filter (where t.status = 'done')::integer as done, count(*) filter (where t.status = 'skipped')::integer as skipped,
             count(*) filter (where t.status = 'missed' or t.status = 'due' and t.late)::integer as missed,
             count(*) filter (where t.status = 'due' and not t.late)::integer as due
           from (
             select status, due < now() - make_interval(hours => ${MISSED_AFTER_HOURS}) as late from task
             where schedule_id = s.id and task.due >= $2::timestamptz and task.due < $3::timestamptz) t
         ) n
         where s.xuser_id = $1 order by s.ended_at nulls first, s.created_at, s.id limit 500`,
        [subject.id, since, until],
      );
      return { status: 200, json: { subject_id: subject.id, since, until, schedules: rows } };
    },
  });

function rangeOf(given: Readonly<{ since?: string; until?: string }>): readonly [string, string] {
  const untilMs = given.until === undefined ? Date.now() : Date.parse(given.until);
  const sinceMs = given.since === undefined ? untilMs - DAYS * DAY_MS : Date.parse(given.since);
  if (sinceMs < untilMs && untilMs - sinceMs <= DAYS_MAX * DAY_MS)
    return [new Date(sinceMs).toISOString(), new Date(untilMs).toISOString()];
  const detail = `must lie before until, at most ${DAYS_MAX} days`;
  throw new PipelineError('validation_failed', `/query/since: ${detail}`, {
    errors: [{ pointer: '/query/since', code: 'range', detail }],
  });
}

export const adherenceRoutes = (deps: Deps): readonly Route[] => [getAdherence(deps)];
