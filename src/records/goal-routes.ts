/** Goals: an amount of one biosignal per day or week, and a person's progress towards it. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Pool } from 'pg';
import { newestFirst } from '../storage/newest-method.ts';
import { answerOnce } from '../tenancy/answer-once.ts';
import type { Db } from '../storage/database/database.ts';
import { isUuid, orgOf, ownSubject, projectOf } from '../tenancy/record-ownership.ts';
import type { Subject } from '../tenancy/record-ownership.ts';
import { PipelineError } from '../errors.ts';
import { build, now, run } from '../storage/database/build.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { callerKey } from '../http/request.ts';
import { meanOf, sumOf } from '../signal.ts';
import { exactly, nullable, OneLine, oneOf, Timestamp, Uuid } from '../http/schemas.ts';
import { ownRead, SubjectQuery } from './self-report-routes.ts';

const aggregates = ['sum', 'mean', 'max', 'count'] as const;
const members = {
  id: Uuid,
  biosignal_id: Type.Integer(),
  name: Type.String({ description: "The biosignal's name." }),
  unit: Type.String(),
  title: Type.String(),
  target: Type.Number({ description: "In the biosignal's unit; count: how many values." }),
  agg: oneOf(aggregates),
  period: oneOf(['day', 'week']),
};
const GoalSchema = exactly({
  ...members,
  period_start: Timestamp,
  value: nullable(Type.Number({ description: 'Of the period so far, from values that are not bad; null: there is none.' })),
});

type Goal = Readonly<Static<typeof GoalSchema>>;

/** Progress is computed from reported measurements (measurement) or from derived values by the minute (feature_1m). */
const progressSql = `
  select g.id, g.biosignal_id, b.name, b.unit, g.title, g.target, g.agg, g.period, to_json(p.start) #>> '{}' as period_start, v.value, v.n,
    (select max(steps_per_unit(m.step)) from method m where m.kind = 'feature' and m.name = b.feature) as per_unit
  from goal g join biosignal b on b.id = g.biosignal_id
  cross join lateral (select date_trunc(g.period, now() at time zone $2) at time zone $2 as start) p
  cross join lateral (
    select case g.agg when 'sum' then sum(x.sum) when 'mean' then sum(x.sum) when 'max' then max(x.max) else nullif(sum(x.n), 0) end as value, sum(x.n) as n
    from (
      select sum(m.value) as sum, count(*)::double precision as n, max(m.value) as max from measurement m
      where b.code is not null and m.xuser_id = g.xuser_id and m.biosignal_id = g.biosignal_id and m.time >= p.start and m.time <= now() and m.qmask < 2
      union all
      select sum(coalesce(f.good_sum, 0) + coalesce(f.suspect_sum, 0))::double precision,
        sum(f.good_n + f.suspect_n)::double precision, max(greatest(f.good_max, f.suspect_max)) from (
          -- a minute that was computed by several versions is the newest one's
          select distinct on (f.stream_id, f.channel_no, f.bucket) f.* from feature_1m f join method m on m.id = f.method_id
          where b.feature is not null and f.bucket >= p.start and f.bucket <= now()
            and f.stream_id in (select s.id from stream s where s.xuser_id = g.xuser_id and coalesce(s.last_sample_at, 'infinity') >= p.start)
            and f.good_n + f.suspect_n > 0
            and f.method_id in (select id from method where kind = 'feature' and name = b.feature)
          order by f.stream_id, f.channel_no, f.bucket, ${newestFirst('m')}) f) x) v
  where g.xuser_id = $1 and g.ended_at is null
  order by g.created_at, g.id limit 100`;

type Deps = Readonly<{ db: Pool }>;

/** @param value of a mean: its sum  @param n values behind it */
function progressIn(agg: Goal['agg'], value: number, n: number, perUnit: number | null): number {
  if (agg === 'mean') return meanOf(value, n, perUnit);
  return agg === 'sum' ? sumOf([value], n, perUnit) : value;
}

async function progressOf(db: Db, subject: Subject): Promise<readonly Goal[]> {
  // SQL: days and weeks in a time zone.
  const { rows } = await db.query<Goal & Readonly<{ n: number | null; per_unit: number | null }>>(progressSql, [
    subject.id,
    subject.timeZone,
  ]);
  return rows.map(({ n, per_unit: perUnit, ...goal }) => ({
    ...goal,
    value: goal.value === null || n === null ? goal.value : progressIn(goal.agg, goal.value, n, perUnit),
  }));
}

const listGoals = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/goals',
    operationId: 'listGoals',
    tag: 'Self-reports',
    summary: 'List the goals of a person, with progress',
    description: "Days and weeks (from Monday) are of the person's time zone.",
    access: { ...ownRead, key: 'read' },
    query: { subject_id: SubjectQuery },
    responses: { 200: { description: 'Goals.', schema: Type.Array(GoalSchema) } },
    errors: ['not_found'],
    handler: async ({ caller, query }) => {
      const subject = await ownSubject(db, caller, query.subject_id ?? '');
      return { status: 200, json: await progressOf(db, subject) };
    },
  });

const createGoal = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/goals',
    operationId: 'createGoal',
    tag: 'Self-reports',
    summary: 'Set a person a goal',
    access: { key: 'write', operator: 'editor' },
    body: exactly({
      subject_id: Type.String({ minLength: 1, maxLength: 255 }),
      biosignal_id: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }),
      target: Type.Number({ exclusiveMinimum: 0 }),
      title: Type.Optional(OneLine(200)),
      agg: Type.Optional(members.agg),
      period: Type.Optional(members.period),
    }),
    idempotent: true,
    responses: { 201: { description: 'The goal.', schema: GoalSchema } },
    errors: ['consent_missing', 'not_found'],
    handler: async (request) => {
      const { caller, body } = request;
      const subject = await ownSubject(db, caller, body.subject_id);
      return await answerOnce(db, request, { operationId: 'createGoal', subjectId: subject.id }, async (client) => {
        const { rows: known } = await run(
          client,
          build
            .selectFrom('biosignal')
            .select('id')
            .where('id', '=', body.biosignal_id)
            .where(({ or, eb }) => or([eb('project_id', 'is', null), eb('project_id', '=', subject.projectId)])),
        );
        const goal = {
          organization_id: subject.orgId,
          project_id: subject.projectId,
          xuser_id: subject.id,
          biosignal_id: body.biosignal_id,
          target: body.target,
          title: body.title ?? '',
          agg: body.agg ?? 'sum',
          period: body.period ?? 'day',
          created_by: callerKey(caller),
        };
        const { rows } = known.length === 0 ? { rows: [] } : await run(client, build.insertInto('goal').values(goal).returning('id'));
        const made = (await progressOf(client, subject)).find((goal) => goal.id === rows[0]?.id);
        if (made === undefined) throw new PipelineError('not_found', 'There is no such biosignal.');
        return { status: 201, json: made };
      });
    },
  });

const endGoal = ({ db }: Deps) =>
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/goals/{goalId}',
    operationId: 'endGoal',
    tag: 'Self-reports',
    summary: 'End a goal',
    access: { key: 'write', operator: 'editor' },
    params: { goalId: Uuid },
    responses: { 204: { description: 'Ended.' } },
    errors: ['not_found'],
    handler: async ({ caller, params }) => {
      const id = params.goalId;
      const project = projectOf(caller);
      const { rowCount } = isUuid(id)
        ? await run(
            db,
            build
              .updateTable('goal')
              .set({ ended_at: now })
              .where('id', '=', id)
              .where('organization_id', '=', orgOf(caller))
              .$if(project !== null, (goals) => goals.where('project_id', '=', project))
              .where('ended_at', 'is', null),
          )
        : { rowCount: 0 };
      if (rowCount === 0) throw new PipelineError('not_found', 'There is no such goal.');
      return { status: 204 };
    },
  });

export const goalRoutes = (deps: Deps): readonly Route[] => [listGoals(deps), createGoal(deps), endGoal(deps)];
