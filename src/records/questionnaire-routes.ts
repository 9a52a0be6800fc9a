/** Questionnaires of a project: list those in use, publish versions with their scoring rules, try rules out. */
import { Type } from 'typebox';
import type { Pool } from 'pg';
import { audit } from '../tenancy/audit.ts';
import { lockProject, ownProject, projectOf } from '../tenancy/record-ownership.ts';
import { PipelineError } from '../errors.ts';
import { build, run } from '../storage/database/build.ts';
import { checkIfMatch } from '../http/precondition.ts';
import { defineRoute } from '../http/route.ts';
import type { Access, Route } from '../http/route.ts';
import { callerKey } from '../http/request.ts';
import { exactly, nullable, oneOf, Timestamp } from '../http/schemas.ts';
import { transaction } from '../storage/database/transaction.ts';
import { checkQuestionnaire, QuestionnaireTextSchema, ResponseItemsSchema } from './questionnaire.ts';
import type { Fault } from './questionnaire.ts';
import {
  findQuestionnaire,
  listAsked,
  listVersions,
  publishQuestionnaire,
  resourceOf,
  retireQuestionnaire,
} from './questionnaire-store.ts';
import type { QuestionnaireVersion } from './questionnaire-store.ts';
import { checkScoring, scoreResponse, ScoringSchema } from './scoring.ts';
import type { Scoring } from './scoring.ts';
import { ownRead } from './self-report-routes.ts';
import type { Caller } from '../caller.ts';

const BODY_BYTES_MAX = 512 * 1024;
const admin: Access = { key: 'admin', operator: 'admin' };
export const Code = Type.String({ pattern: '^[a-z][a-z0-9-]{0,62}$', description: 'Name of the questionnaire, e.g. phq-9' });
export const VersionText = Type.String({ pattern: '^[0-9]{1,9}$' });
const ProjectParam = Type.String({ maxLength: 64 });
const ProjectQuery = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 64,
    description: 'For callers of several projects: id or key. Absent: what ships with the service.',
  }),
);
const Resource = Type.Object({ resourceType: Type.Literal('Questionnaire'), id: Type.String() }, { additionalProperties: true });
export const ScoreSchema = exactly({ name: Type.String(), value: Type.Number(), text: Type.String() });
const VersionSchema = exactly({
  id: Type.String(),
  version: Type.String(),
  status: oneOf(['active', 'retired']),
  built_in: Type.Boolean(),
  created_by: Type.String(),
  created_at: nullable(Timestamp),
  resource: Resource,
  scoring: ScoringSchema,
});

/** Finds the project whose questionnaires a caller means. */
export async function askedProject(db: Pool, caller: Caller, wanted: string | undefined): Promise<string | null> {
  if (wanted !== undefined) return (await ownProject(db, caller, wanted)).id;
  return projectOf(caller);
}

type Deps = Readonly<{ db: Pool }>;

const shown = (item: QuestionnaireVersion) => ({
  id: item.code,
  version: String(item.version),
  status: item.retiredAt === null ? ('active' as const) : ('retired' as const),
  built_in: item.builtIn,
  created_by: item.createdBy,
  created_at: item.createdAt,
  resource: resourceOf(item),
  scoring: item.scoring,
});

const listQuestionnaires = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/questionnaires',
    operationId: 'listQuestionnaires',
    tag: 'Self-reports',
    summary: 'List the questionnaires that are asked',
    description: 'Those of the project, and those that ship with the service.',
    access: { ...ownRead, key: 'read' },
    query: { project_id: ProjectQuery },
    responses: {
      200: {
        description: 'Questionnaires.',
        schema: Type.Array(exactly({ id: Type.String(), version: Type.String(), title: Type.String() })),
      },
    },
    errors: ['not_found'],
    handler: async ({ caller, query }) => {
      const project = await askedProject(db, caller, query.project_id);
      const asked = await listAsked(db, project);
      return { status: 200, json: asked.map(({ code, version, text }) => ({ id: code, version: String(version), title: text.title })) };
    },
  });

const getQuestionnaire = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/questionnaires/{questionnaireId}',
    operationId: 'getQuestionnaire',
    tag: 'Self-reports',
    summary: 'Read a questionnaire as a FHIR R4 resource',
    access: { ...ownRead, key: 'read' },
    params: { questionnaireId: Code },
    query: { project_id: ProjectQuery, version: Type.Optional(VersionText) },
    responses: { 200: { description: 'The version that is asked now, or the one that was asked for.', schema: Resource } },
    errors: ['not_found'],
    handler: async ({ caller, params, query }) => {
      const { project_id: wanted, version } = query;
      const project = await askedProject(db, caller, wanted);
      const found = await findQuestionnaire(db, project, params.questionnaireId, version === undefined ? null : Number(version));
      if (found === null) throw new PipelineError('not_found', 'There is no such questionnaire.');
      return { status: 200, json: resourceOf(found) };
    },
  });

const listQuestionnaireVersions = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/projects/{projectId}/questionnaires',
    operationId: 'listQuestionnaireVersions',
    tag: 'Questionnaires',
    summary: 'List every version with its scoring rules',
    access: admin,
    params: { projectId: ProjectParam },
    responses: { 200: { description: 'By name, the newest version first.', schema: Type.Array(VersionSchema) } },
    errors: ['not_found'],
    handler: async ({ caller, params }) => {
      const project = await ownProject(db, caller, params.projectId);
      return { status: 200, json: (await listVersions(db, project.id)).map(shown) };
    },
  });

const publishQuestionnaireRoute = ({ db }: Deps) =>
  defineRoute({
    method: 'PUT',
    path: '/api/v1/projects/{projectId}/questionnaires/{questionnaireId}',
    operationId: 'publishQuestionnaire',
    tag: 'Questionnaires',
    summary: 'Publish a version of a questionnaire with its scoring rules',
    description:
      'A new version each time; the ones before stay readable for the answers that name them. A project may publish its own version of one ' +
      'that ships. The ETag of a questionnaire is the version that is asked now, in quotes: If-Match: "3" publishes the next one or, when ' +
      'another change came first, nothing. docs/questionnaires.md describes the subset of FHIR and the language of the rules.',
    access: admin,
    params: { projectId: ProjectParam, questionnaireId: Code },
    body: exactly({ resource: QuestionnaireTextSchema, scoring: ScoringSchema }),
    bodyBytesMax: BODY_BYTES_MAX,
    responses: { 200: { description: 'The version.', schema: VersionSchema, headers: ['ETag'] } },
    errors: ['not_found', 'precondition_failed', 'precondition_required'],
    handler: async (request) => {
      const project = await ownProject(db, request.caller, request.params.projectId);
      const code = request.params.questionnaireId;
      const { resource, scoring } = request.body;
      refuse([
        ...checkQuestionnaire(resource).map((fault) => ({ ...fault, pointer: `/resource${fault.pointer}` })),
        ...checkScoring(scoring, resource.item),
        ...(await unknownCodes(db, project.id, scoring)),
      ]);
      const made = await transaction(db, async (client) => {
        await lockProject(client, project.id);
        checkIfMatch(request, tagOf(await findQuestionnaire(client, project.id, code, null)));
        const version = await publishQuestionnaire(client, {
          orgId: project.orgId,
          projectId: project.id,
          code,
          text: resource,
          scoring,
          createdBy: callerKey(request.caller),
        });
        await audit(client, request, {
          action: 'questionnaire.published',
          targetKind: 'project',
          targetId: project.id,
          detail: { code, version },
        });
        const published = await findQuestionnaire(client, project.id, code, version);
        if (published === null) throw new Error('a published questionnaire vanished');
        return published;
      });
      return { status: 200, json: shown(made), headers: { etag: `"${made.version}"` } };
    },
  });

const retireQuestionnaireRoute = ({ db }: Deps) =>
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/projects/{projectId}/questionnaires/{questionnaireId}',
    operationId: 'retireQuestionnaire',
    tag: 'Questionnaires',
    summary: "Ask a project's own questionnaire no longer",
    description: 'Its versions stay readable. Where one of the same name ships with the service, that one is asked again.',
    access: admin,
    params: { projectId: ProjectParam, questionnaireId: Code },
    responses: { 204: { description: 'Retired.' } },
    errors: ['not_found', 'precondition_failed', 'precondition_required'],
    handler: async (request) => {
      const project = await ownProject(db, request.caller, request.params.projectId);
      const code = request.params.questionnaireId;
      await transaction(db, async (client) => {
        await lockProject(client, project.id);
        const asked = await findQuestionnaire(client, project.id, code, null);
        if (asked === null || asked.builtIn) throw new PipelineError('not_found', 'The project has no such questionnaire.');
        checkIfMatch(request, tagOf(asked));
        await retireQuestionnaire(client, project.id, code);
        await audit(client, request, { action: 'questionnaire.retired', targetKind: 'project', targetId: project.id, detail: { code } });
      });
      return { status: 204 };
    },
  });

const tryQuestionnaire = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/projects/{projectId}/questionnaire-trials',
    operationId: 'tryQuestionnaire',
    tag: 'Questionnaires',
    summary: 'Score answers without keeping anything',
    description: 'For editors of rules: says what is wrong with a questionnaire, its rules and the answers, or what they score.',
    access: admin,
    params: { projectId: ProjectParam },
    body: exactly({ resource: QuestionnaireTextSchema, scoring: ScoringSchema, item: ResponseItemsSchema }),
    bodyBytesMax: BODY_BYTES_MAX,
    responses: {
      200: { description: 'Scores.', schema: exactly({ scores: Type.Array(ScoreSchema), safety: Type.Array(Type.String()) }) },
    },
    errors: ['not_found'],
    handler: async ({ caller, params, body }) => {
      await ownProject(db, caller, params.projectId);
      const { resource, scoring, item } = body;
      refuse([
        ...checkQuestionnaire(resource).map((fault) => ({ ...fault, pointer: `/resource${fault.pointer}` })),
        ...checkScoring(scoring, resource.item),
      ]);
      const verdict = scoreResponse({ text: resource, scoring }, item);
      if ('faults' in verdict) throw invalid(verdict.faults);
      return { status: 200, json: { scores: verdict.scores, safety: verdict.safety } };
    },
  });

/** Finds scores whose code is no biosignal: they would not appear among observations. */
async function unknownCodes(db: Pool, projectId: string, { scores }: Scoring): Promise<readonly Fault[]> {
  const codes = scores.map(({ code }) => code ?? '');
  if (codes.length === 0) return [];
  const signals = build.selectFrom('biosignal').select('code').where('code', 'in', codes);
  const { rows } = await run(
    db,
    signals.where(({ or, eb }) => or([eb('project_id', 'is', null), eb('project_id', '=', projectId)])),
  );
  const known = new Set(rows.map(({ code }) => code));
  return scores.flatMap(({ code }, i) =>
    code === undefined || known.has(code)
      ? []
      : [{ pointer: `/scoring/scores/${i}/code`, code: 'unknown', detail: `there is no biosignal ${code} in the catalog or the project` }],
  );
}

/** @param asked the version in use; null: none */
function tagOf(asked: QuestionnaireVersion | null): string | null {
  return asked === null ? null : `"${asked.version}"`;
}

/** @throws PipelineError validation_failed naming every fault; does nothing when there is none */
export function refuse(faults: readonly Fault[]): void {
  if (faults.length === 0) return;
  throw invalid(faults);
}

export function invalid(faults: readonly Fault[]): PipelineError {
  return new PipelineError('validation_failed', faults.map((fault) => fault.detail).join('; '), { errors: faults });
}

export const questionnaireRoutes = (deps: Deps): readonly Route[] => [
  listQuestionnaires(deps),
  getQuestionnaire(deps),
  listQuestionnaireVersions(deps),
  publishQuestionnaireRoute(deps),
  retireQuestionnaireRoute(deps),
  tryQuestionnaire(deps),
];
