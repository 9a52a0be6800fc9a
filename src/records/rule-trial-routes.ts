/** Trying a rule on history. */
import { Type } from 'typebox';
import type { Pool } from 'pg';
import { PipelineError } from '../errors.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { exactly, nullable, Timestamp, Uuid } from '../http/schemas.ts';
import { ownProject, ownSubjectOf } from '../tenancy/record-ownership.ts';
import { noteSubject } from '../tenancy/request-scope.ts';
import { episodeRuleOf, everySecOf } from './project-rules.ts';
import { contentOf, NO_ALARM, RuleBody } from './rule-routes.ts';
import { tryRule } from './rule-trial.ts';

/** Longest range of a trial, days. */
const RANGE_DAYS_MAX = 31;
/** Trials of this node at once: each keeps a connection and a core of the database busy. */
const TRIALS_MAX = 2;
/** Of one organization: it leaves the others a place. */
const ORGANIZATION_TRIALS_MAX = 1;
const RETRY_AFTER_SEC = 5;
const DAY_MS = 86_400_000;

const TrialSchema = exactly({
  since: Timestamp,
  until: Timestamp,
  episodes: Type.Array(
    exactly({
      subject_id: Uuid,
      external_id: Type.String(),
      stream_id: Uuid,
      started_at: Timestamp,
      ended_at: nullable(Type.String({ format: 'date-time', description: 'null: it would still be open at the end of the range.' })),
      extreme: Type.Number({ description: 'Value furthest beyond the bound.' }),
      duration_sec: Type.Number({ description: 'From the first value beyond the bound to the last one.' }),
    }),
    { description: 'The first thousand, by their start.' },
  ),
  episode_count: Type.Integer(),
  person_count: Type.Integer({ description: 'People with at least one.' }),
  covered_sec: Type.Number({ description: 'Sum of their durations.' }),
  recording_count: Type.Integer({ description: 'Recordings that were looked at to their end.' }),
  recording_total: Type.Integer({ description: 'Recordings of the range. Where complete is false, the others were not looked at.' }),
  with_value_count: Type.Integer({
    description: 'Of these, with a value of the feature in the range; 0: the rule had nothing to look at.',
  }),
  complete: Type.Boolean({
    description: 'false: there was more than a trial does (10,000 recordings, 10 s, the newest first); try a shorter range or one person.',
  }),
});

type Deps = Readonly<{ db: Pool; computed: ReadonlySet<string> }>;

/** Trials under way, by organization. */
const underWay: string[] = [];

/** @throws busy when there is no place */
function takePlace(organizationId: string): string {
  const own = underWay.filter((id) => id === organizationId).length >= ORGANIZATION_TRIALS_MAX;
  if (own || underWay.length >= TRIALS_MAX) {
    const who = own ? 'Another rule of this organization is' : 'Rules of other organizations are';
    throw new PipelineError('busy', `${who} being tried; try again in a moment.`, { retryAfterSec: RETRY_AFTER_SEC });
  }
  underWay.push(organizationId);
  return organizationId;
}

const tryRuleRoute = ({ db, computed }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/projects/{projectId}/rules/try',
    operationId: 'tryRule',
    tag: 'Rules',
    summary: 'Try a rule on history',
    description:
      `${NO_ALARM} Lists the episodes that the rule would have opened on the stored values of [since, until), and writes nothing. At most ` +
      `${RANGE_DAYS_MAX} days. Late values are all there by now, so the rule itself may have seen less at the time. People who have not ` +
      'agreed to sharing are left out where the project asks for it.',
    access: { key: 'read', operator: 'viewer' },
    params: { projectId: Type.String({ maxLength: 64 }) },
    body: exactly({ rule: RuleBody, since: Timestamp, until: Timestamp }),
    responses: { 200: { description: 'What it would have opened.', schema: TrialSchema } },
    errors: ['not_found', 'range_too_large', 'busy'],
    handler: async ({ caller, params, body }) => {
      const project = await ownProject(db, caller, params.projectId);
      const [sinceMs, untilMs] = [Date.parse(body.since), Date.parse(body.until)];
      if (untilMs <= sinceMs) {
        throw new PipelineError('validation_failed', '/until: is not after since', {
          errors: [{ pointer: '/until', code: 'order', detail: 'is not after since' }],
        });
      }
      if (untilMs - sinceMs > RANGE_DAYS_MAX * DAY_MS)
        throw new PipelineError('range_too_large', `A trial has at most ${RANGE_DAYS_MAX} days.`);
      const content = await contentOf(db, caller, project, body.rule, computed);
      const subjectId = content.subject_id ?? ownSubjectOf(caller);
      if (subjectId !== null) noteSubject(caller, subjectId, project.id);
      const place = takePlace(project.orgId);
      try {
        const rule = episodeRuleOf({ ...content, id: '', every_sec: await everySecOf(db, content.feature) });
        const trial = await tryRule(db, rule, { projectId: project.id, subjectId, groupId: content.group_id, sinceMs, untilMs });
        return { status: 200, json: { since: body.since, until: body.until, ...trial, episodes: [...trial.episodes] } };
      } finally {
        underWay.splice(underWay.indexOf(place), 1);
      }
    },
  });

export const ruleTrialRoutes = (deps: Deps): readonly Route[] => [tryRuleRoute(deps)];
