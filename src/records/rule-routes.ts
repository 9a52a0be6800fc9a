/** Rules of a project: list, make, read, change, delete. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Pool } from 'pg';
import { PipelineError } from '../errors.ts';
import type { Caller } from '../caller.ts';
import { checkIfMatch, etagOf } from '../http/precondition.ts';
import { callerKey } from '../http/request.ts';
import { defineRoute } from '../http/route.ts';
import type { JsonReply, RequestContext, Route } from '../http/route.ts';
import { exactly, nullable, OneLine, oneOf, Timestamp, Uuid } from '../http/schemas.ts';
import type { Db } from '../storage/database/database.ts';
import { transaction } from '../storage/database/transaction.ts';
import { answerOnce } from '../tenancy/answer-once.ts';
import { audit } from '../tenancy/audit.ts';
import { findGroup } from '../tenancy/groups.ts';
import { lockProject, ownProject, ownSubject } from '../tenancy/record-ownership.ts';
import type { OwnedProject } from '../tenancy/record-ownership.ts';
import { noteSubject } from '../tenancy/request-scope.ts';
import { episodeSeverities } from './episodes.ts';
import { comparisons, deleteRule, findRule, insertRule, isKnownFeature, listRules, lockRule, updateRule } from './rules.ts';
import type { Rule, RuleContent } from './rules.ts';

/** Said wherever rules are described. */
export const NO_ALARM = 'Not an alarm system. Not a medical device.';
const DELAY = 'Rules are applied every 15 s to values that are computed some seconds after they were measured.';

const Clock = Type.String({
  pattern: '^([01]\\d|2[0-3]):[0-5]\\d$',
  description: 'hh:mm on the clocks of the project. From quiet_from to quiet_to e-mail waits; webhooks do not.',
});

const content = {
  name: OneLine(200, { minLength: 1, description: 'Title of its episodes.' }),
  kind: Type.String({ pattern: '^[a-z][a-z0-9_.-]{0,62}$', description: 'Kind of its episodes; default: threshold.' }),
  feature: Type.String({ minLength: 1, maxLength: 64, description: 'The value, e.g. hr_ecg: a feature of GET /methods.' }),
  comparison: oneOf(comparisons),
  threshold: Type.Number({ minimum: -1e9, maximum: 1e9, description: 'In the unit of the feature; the value itself is not beyond it.' }),
  end_threshold: nullable(
    Type.Number({
      minimum: -1e9,
      maximum: 1e9,
      description: 'An open episode lasts while values are beyond this one; never further out than threshold. null: beyond threshold.',
    }),
  ),
  sustain_sec: Type.Integer({
    minimum: 0,
    maximum: 3600,
    description: 'How long values are beyond the threshold before an episode opens, s.',
  }),
  release_sec: Type.Integer({
    minimum: 1,
    maximum: 3600,
    description:
      'How long values are back, or silent, before it ends, s; default 30. At least as long as from one value of the feature to the next.',
  }),
  quality_max: Type.Union([Type.Literal(0), Type.Literal(1)], {
    description: 'Worst flag of a value that counts: 0 good (default), 1 suspect too.',
  }),
  severity: oneOf(episodeSeverities),
  email_to: Type.Array(Type.String({ maxLength: 254, pattern: '^[^\\s@<>"(),:;]+@[^\\s@<>"(),:;]+$' }), {
    maxItems: 10,
    uniqueItems: true,
    description: 'Addresses that get e-mail of new episodes, without names and values, at most one in five minutes.',
  }),
  quiet_from: nullable(Clock),
  quiet_to: nullable(Clock),
  enabled: Type.Boolean({ description: 'Default true. Switching it off ends its open episodes.' }),
};
const Person = nullable(
  Type.String({
    minLength: 1,
    maxLength: 255,
    description: 'Id or external id of the person that it is for; null: everybody of the project.',
  }),
);
const GroupId = nullable(Type.String({ format: 'uuid', description: 'The group whose people it is for; not with subject_id.' }));
export const RuleBody = exactly({
  name: content.name,
  kind: Type.Optional(content.kind),
  subject_id: Type.Optional(Person),
  group_id: Type.Optional(GroupId),
  feature: content.feature,
  comparison: content.comparison,
  threshold: content.threshold,
  end_threshold: Type.Optional(content.end_threshold),
  sustain_sec: content.sustain_sec,
  release_sec: Type.Optional(content.release_sec),
  quality_max: Type.Optional(content.quality_max),
  severity: Type.Optional(content.severity),
  email_to: Type.Optional(content.email_to),
  quiet_from: Type.Optional(content.quiet_from),
  quiet_to: Type.Optional(content.quiet_to),
  enabled: Type.Optional(content.enabled),
});
const RulePatch = Type.Partial(exactly({ ...content, subject_id: Person, group_id: GroupId }), { additionalProperties: false });
const RuleSchema = exactly({
  id: Uuid,
  project_id: Uuid,
  ...content,
  subject_id: nullable(Uuid),
  external_id: nullable(Type.String()),
  group_id: nullable(Uuid),
  open_episodes: Type.Integer({ description: 'Of people who have agreed to sharing, where the project asks for it.' }),
  email_problem: nullable(Type.String({ description: 'Why the newest e-mail to one of its addresses was not sent, if so.' })),
  created_by: Type.String({ description: 'key:<id> or operator:<id>' }),
  created_at: Timestamp,
  updated_at: Timestamp,
});

const RELEASE_SEC = 30;
const read = { key: 'read', operator: 'viewer' } as const;
const write = { key: 'write', operator: 'editor' } as const;
const ofProject = { projectId: Type.String({ maxLength: 64 }) };
const ofRule = { ...ofProject, ruleId: Uuid };

/** @param canMail a mail server is set */
/** @param computed names of the features that this release computes */
type Deps = Readonly<{ db: Pool; canMail: boolean; computed: ReadonlySet<string> }>;

const listRulesRoute = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/projects/{projectId}/rules',
    operationId: 'listRules',
    tag: 'Rules',
    summary: 'List the rules of a project',
    description: `${NO_ALARM} The service's own rules are not in the list.`,
    access: read,
    params: ofProject,
    responses: { 200: { description: 'Rules, the oldest first.', schema: Type.Array(RuleSchema) } },
    errors: ['not_found'],
    handler: async ({ caller, params }) => {
      const project = await ownProject(db, caller, params.projectId);
      return { status: 200, json: [...(await listRules(db, project.id))] };
    },
  });

const createRule = ({ db, canMail, computed }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/projects/{projectId}/rules',
    operationId: 'createRule',
    tag: 'Rules',
    summary: 'Make a rule that opens an episode',
    description:
      `${NO_ALARM} An episode opens once values have been beyond the threshold for sustain_sec, begins at the first of them, and ends at the ` +
      `last one once values have been back for release_sec. ${DELAY} At most 100 of a project. Events: episode.created, episode.updated.`,
    access: write,
    params: ofProject,
    body: RuleBody,
    idempotent: true,
    responses: { 201: { description: 'The rule.', schema: RuleSchema, headers: ['Location', 'ETag'] } },
    errors: ['not_found', 'conflict'],
    handler: async (request) => {
      const { caller, params, body } = request;
      const project = await ownProject(db, caller, params.projectId);
      const wanted = await contentOf(db, caller, project, body, computed);
      if (!canMail) refuseEmail(wanted);
      const subject = wanted.subject_id === null ? {} : { subjectId: wanted.subject_id };
      return await answerOnce(db, request, { operationId: 'createRule', ...subject }, async (client) => {
        await lockProject(client, project.id);
        if (wanted.group_id !== null) await findGroup(client, project.id, wanted.group_id); // not deleted meanwhile
        const id = await insertRule(client, { orgId: project.orgId, projectId: project.id, by: callerKey(caller) }, wanted);
        const { json, headers } = tagged(await findRule(client, project.id, id));
        await noteChange(client, request, 'rule.created', json, null);
        return { status: 201, json, headers: { ...headers, location: `/api/v1/projects/${project.id}/rules/${id}` } };
      });
    },
  });

const getRule = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/projects/{projectId}/rules/{ruleId}',
    operationId: 'getRule',
    tag: 'Rules',
    summary: 'Read a rule',
    description: NO_ALARM,
    access: read,
    params: ofRule,
    responses: { 200: { description: 'The rule.', schema: RuleSchema, headers: ['ETag'] } },
    errors: ['not_found'],
    handler: async ({ caller, params }) => {
      const project = await ownProject(db, caller, params.projectId);
      const rule = await findRule(db, project.id, params.ruleId);
      if (rule.subject_id !== null) noteSubject(caller, rule.subject_id, project.id);
      return tagged(rule);
    },
  });

const updateRuleRoute = ({ db, canMail, computed }: Deps) =>
  defineRoute({
    method: 'PATCH',
    path: '/api/v1/projects/{projectId}/rules/{ruleId}',
    operationId: 'updateRule',
    tag: 'Rules',
    summary: 'Change a rule, or switch it on or off',
    description:
      `${NO_ALARM} An open episode goes on under the changed rule and is judged by it from its start: when it would not have opened, it ends ` +
      'within 15 s, and its summary says so (ended_by). Ended episodes stay as they are.',
    access: write,
    params: ofRule,
    body: RulePatch,
    responses: { 200: { description: 'The rule as it is now.', schema: RuleSchema, headers: ['ETag'] } },
    errors: ['not_found', 'precondition_failed', 'precondition_required'],
    handler: async (request) => {
      const { caller, params, body } = request;
      const project = await ownProject(db, caller, params.projectId);
      return await transaction(db, async (client) => {
        await lockProject(client, project.id); // its groups are not deleted meanwhile
        await lockRule(client, params.ruleId);
        const before = await findRule(client, project.id, params.ruleId);
        checkIfMatch(request, tagOf(before));
        const wanted = await contentOf(client, caller, project, { ...before, ...body }, computed);
        if (!canMail && body.email_to !== undefined) refuseEmail(wanted);
        await updateRule(client, before.id, wanted);
        const after = await findRule(client, project.id, before.id);
        await noteChange(client, request, 'rule.updated', after, before);
        return tagged(after);
      });
    },
  });

const deleteRuleRoute = ({ db }: Deps) =>
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/projects/{projectId}/rules/{ruleId}',
    operationId: 'deleteRule',
    tag: 'Rules',
    summary: 'Delete a rule',
    description: 'Its open episodes end within 15 s; its episodes stay.',
    access: write,
    params: ofRule,
    responses: { 204: { description: 'Deleted.' } },
    errors: ['not_found', 'precondition_failed', 'precondition_required'],
    handler: async (request) => {
      const { caller, params } = request;
      const project = await ownProject(db, caller, params.projectId);
      await transaction(db, async (client) => {
        await lockRule(client, params.ruleId);
        const before = await findRule(client, project.id, params.ruleId);
        checkIfMatch(request, tagOf(before));
        await deleteRule(client, before.id);
        await noteChange(client, request, 'rule.deleted', before, null);
      });
      return { status: 204 };
    },
  });

type Given = Static<typeof RuleBody>;

/** What a body says, with defaults, checked.  @throws PipelineError not_found (the person), validation_failed */
export async function contentOf(
  db: Db,
  caller: Caller,
  project: OwnedProject,
  body: Given,
  computed: ReadonlySet<string>,
): Promise<RuleContent> {
  const { subject_id: person = null, comparison, threshold, end_threshold: end = null } = body;
  const subject = person === null ? null : await ownSubject(db, caller, person, 'none');
  if (subject !== null && subject.projectId !== project.id) throw new PipelineError('not_found', 'There is no such user in this project.');
  const { group_id: group = null } = body;
  if (group !== null && subject !== null) throw wrong('/group_id', 'value', 'is null with subject_id: a rule is for one or the other');
  if (group !== null) await findGroup(db, project.id, group);
  if (end !== null && (comparison === 'above' ? end > threshold : end < threshold)) {
    throw wrong('/end_threshold', 'order', `is further out than the threshold; ${comparison} ${threshold} ends at ${threshold} or before`);
  }
  const { quiet_from: from = null, quiet_to: to = null } = body;
  if ((from === null) !== (to === null) || (from !== null && from === to)) {
    throw wrong('/quiet_to', 'order', 'goes with quiet_from, and differs from it');
  }
  if (!computed.has(body.feature) && !(await isKnownFeature(db, body.feature)))
    throw wrong('/feature', 'unknown', 'is no value that this service computes');
  return {
    name: body.name,
    kind: body.kind ?? 'threshold',
    subject_id: subject?.id ?? null,
    group_id: group,
    feature: body.feature,
    comparison,
    threshold,
    end_threshold: end,
    sustain_sec: body.sustain_sec,
    release_sec: body.release_sec ?? RELEASE_SEC,
    quality_max: body.quality_max ?? 0,
    severity: body.severity ?? 'medium',
    enabled: body.enabled ?? true,
    email_to: body.email_to ?? [],
    quiet_from: body.quiet_from ?? null,
    quiet_to: body.quiet_to ?? null,
  };
}

/** @throws PipelineError validation_failed: e-mail is wanted, and nothing would be sent */
function refuseEmail({ email_to: addresses }: RuleContent): void {
  if (addresses.length === 0) return;
  throw wrong('/email_to', 'unavailable', 'needs a mail server: BIO_SMTP_URL and BIO_MAIL_FROM of the service');
}

/** Of what people decide: not of how many episodes are open. */
const tagOf = ({ open_episodes: _open, external_id: _name, email_problem: _problem, ...rule }: Rule): string => etagOf(rule);

function tagged(rule: Rule): JsonReply<200, Rule> & Readonly<{ headers: Readonly<Record<string, string>> }> {
  return { status: 200, json: rule, headers: { etag: tagOf(rule) } };
}

async function noteChange(db: Db, request: RequestContext, action: string, rule: Rule, before: Rule | null): Promise<void> {
  const said = ({ feature, comparison, threshold, end_threshold: end, sustain_sec: sustain, enabled, email_to: to }: Rule): object => ({
    feature,
    comparison,
    threshold,
    end_threshold: end,
    sustain_sec: sustain,
    enabled,
    email_addresses: to.length,
  });
  const detail = { ...said(rule), ...(before !== null && { before: said(before) }) };
  const subject = rule.subject_id === null ? {} : { subjectId: rule.subject_id };
  await audit(db, request, { action, targetKind: 'rule', targetId: rule.id, detail, ...subject });
}

function wrong(pointer: string, code: string, detail: string): PipelineError {
  return new PipelineError('validation_failed', `${pointer}: ${detail}`, { errors: [{ pointer, code, detail }] });
}

export const ruleRoutes = (deps: Deps): readonly Route[] => [
  listRulesRoute(deps),
  createRule(deps),
  getRule(deps),
  updateRuleRoute(deps),
  deleteRuleRoute(deps),
];
