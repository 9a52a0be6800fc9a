/** Answers to questionnaires: drafts, completed responses, amendments. The service scores. */
import type { ExpressionBuilder } from 'kysely';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Pool } from 'pg';
import type { Db } from '../storage/database/database.ts';
import { withPartitions } from '../storage/with-partitions.ts';
import { answerOnce } from '../tenancy/answer-once.ts';
import { pastMonths } from '../tenancy/past-months.ts';
import { isUuid, ownSubject } from '../tenancy/record-ownership.ts';
import type { Subject } from '../tenancy/record-ownership.ts';
import { PipelineError } from '../errors.ts';
import { build, isoTime, now, run, runForOne } from '../storage/database/build.ts';
import type { Tables } from '../storage/database/tables.ts';
import { defineRoute } from '../http/route.ts';
import type { JsonReply, Route } from '../http/route.ts';
import { exactly, LimitQuery, nullable, oneOf, orDefault, Timestamp, Uuid } from '../http/schemas.ts';
import { Code, invalid, ScoreSchema, VersionText } from './questionnaire-routes.ts';
import { ResponseItemsSchema } from './questionnaire.ts';
import type { ResponseItem } from './questionnaire.ts';
import { findQuestionnaire } from './questionnaire-store.ts';
import type { QuestionnaireVersion } from './questionnaire-store.ts';
import { keepResponse } from './responses.ts';
import { scoreResponse } from './scoring.ts';
import type { Score, Verdict } from './scoring.ts';
import { ownRead, ownWrite, SubjectQuery } from './self-report-routes.ts';
import { unixNowMs } from '../unix-clock.ts';

const BODY_BYTES_MAX = 256 * 1024;
const REASON_MAX = 500;
const KeptSchema = exactly({ id: Uuid, scores: Type.Array(ScoreSchema), safety: Type.Boolean() });
const DraftSchema = exactly({
  questionnaire: Type.String(),
  version: Type.String(),
  item: Type.Array(Type.Unknown()),
  updated_at: Timestamp,
});
const draftColumns = ({ ref }: ExpressionBuilder<Tables, 'questionnaire_draft'>) =>
  [
    'questionnaire',
    'version',
    ref('item').$castTo<readonly ResponseItem[]>().as('item'),
    isoTime(ref('updated_at')).as('updated_at'),
  ] as const;
const responseColumns = ({ ref }: ExpressionBuilder<Tables, 'questionnaire_response'>) =>
  [
    'id',
    'questionnaire',
    'version',
    'status',
    isoTime(ref('authored')).as('authored'),
    ref('scores').$castTo<readonly Score[]>().as('scores'),
    'safety',
    ref('item').$castTo<readonly ResponseItem[]>().as('item'),
    'amends',
    'superseded_by',
    'reason',
  ] as const;

type Deps = Readonly<{ db: Pool }>;

/** Finds the version that was answered. An answer given offline may be to a version replaced since, which still scores it. */
async function asked(db: Db, subject: Subject, code: string, version: string | undefined): Promise<QuestionnaireVersion> {
  const found = await findQuestionnaire(db, subject.projectId, code, version === undefined ? null : Number(version));
  if (found !== null) return found;
  const newest = version === undefined ? null : await findQuestionnaire(db, subject.projectId, code, null);
  if (newest === null) throw new PipelineError('not_found', 'There is no such questionnaire.');
  throw new PipelineError('conflict', `${code} is at version ${newest.version}; the answers are for ${version}.`);
}

const createQuestionnaireResponse = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/questionnaire-responses',
    operationId: 'createQuestionnaireResponse',
    tag: 'Self-reports',
    summary: 'Answer a questionnaire',
    description:
      'The service scores by the rules of the version that was answered. A score with a code that the catalog or the project knows (PHQ-9, ' +
      'GAD-7, WHO-5) becomes an observation. A safety rule that holds (PHQ-9: an answer above 0 to item 9) opens an episode of kind safety, ' +
      'severity high, and sends episode.created to webhooks. All of it is kept with the answer or nothing is. Removes the draft.',
    access: ownWrite,
    body: exactly({
      resourceType: Type.Literal('QuestionnaireResponse'),
      questionnaire: Code,
      version: Type.Optional(VersionText),
      status: Type.Literal('completed'),
      authored: Type.Optional(Timestamp),
      item: ResponseItemsSchema,
    }),
    bodyBytesMax: BODY_BYTES_MAX,
    idempotent: true,
    responses: { 201: { description: 'Kept and scored.', schema: KeptSchema } },
    errors: ['not_found', 'conflict'],
    handler: async (request) => {
      const { caller, body } = request;
      const subject = await ownSubject(db, caller, '', 'recording');
      const questionnaire = await asked(db, subject, body.questionnaire, body.version);
      const verdict = scoreResponse(questionnaire, body.item);
      if ('faults' in verdict) throw invalid(verdict.faults);
      const authored = body.authored ?? new Date(unixNowMs()).toISOString();
      pastMonths.take(caller, [authored]);
      const response = { questionnaire, item: body.item, authored, verdict, amends: null, reason: '' };
      const once = { operationId: 'createQuestionnaireResponse', subjectId: subject.id };
      return await withPartitions(db, 'measurement', () =>
        answerOnce(db, request, once, async (client) => replyOf(await keepResponse(client, subject, response), verdict)),
      );
    },
  });

const amendQuestionnaireResponse = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/questionnaire-responses/{responseId}/amendments',
    operationId: 'amendQuestionnaireResponse',
    tag: 'Self-reports',
    summary: 'Correct a response',
    description:
      'Adds a response with the corrected answers and their scores; the one before stays as it was and says what superseded it. Its ' +
      'observations are replaced. A safety rule that holds only now opens its episode; the open episode of one that holds no longer stays ' +
      'open and names the correction (summary.corrected_by). 409 when it was amended already: amend the newest.',
    access: ownWrite,
    params: { responseId: Uuid },
    body: exactly({ item: ResponseItemsSchema, reason: Type.Optional(Type.String({ maxLength: REASON_MAX })) }),
    bodyBytesMax: BODY_BYTES_MAX,
    idempotent: true,
    responses: { 201: { description: 'Kept and scored.', schema: KeptSchema } },
    errors: ['not_found', 'conflict'],
    handler: async (request) => {
      const { caller, params, body } = request;
      const { item, reason = '' } = body;
      const subject = await ownSubject(db, caller, '', 'recording');
      const before = await findResponse(db, subject, params.responseId);
      if (before.superseded_by !== null) throw new PipelineError('conflict', 'This response was amended already.');
      const questionnaire = await asked(db, subject, before.questionnaire, before.version);
      const verdict = scoreResponse(questionnaire, item);
      if ('faults' in verdict) throw invalid(verdict.faults);
      const held = scoreResponse(questionnaire, before.item);
      const amends = { id: before.id, safety: 'faults' in held ? [] : held.safety };
      const response = { questionnaire, item, authored: before.authored, verdict, amends, reason };
      const once = { operationId: 'amendQuestionnaireResponse', subjectId: subject.id };
      return await withPartitions(db, 'measurement', () =>
        answerOnce(db, request, once, async (client) => replyOf(await keepResponse(client, subject, response), verdict)),
      );
    },
  });

const listQuestionnaireResponses = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/questionnaire-responses',
    operationId: 'listQuestionnaireResponses',
    tag: 'Self-reports',
    summary: 'List answered questionnaires with their scores',
    access: ownRead,
    query: {
      subject_id: SubjectQuery,
      questionnaire: Type.Optional(Type.String({ maxLength: 64 })),
      superseded: orDefault(Type.Boolean({ default: false, description: 'Also those that were amended.' })),
      limit: LimitQuery(100, 1000),
    },
    responses: {
      200: {
        description: 'Answers, the newest first.',
        schema: Type.Array(
          exactly({
            id: Uuid,
            questionnaire: Type.String(),
            version: Type.String(),
            status: oneOf(['completed', 'amended']),
            authored: Timestamp,
            scores: Type.Array(ScoreSchema),
            safety: Type.Boolean(),
            item: Type.Array(Type.Unknown()),
            amends: nullable(Uuid),
            superseded_by: nullable(Uuid),
            reason: Type.String(),
          }),
        ),
      },
    },
    errors: ['not_found'],
    handler: async ({ caller, query }) => {
      const subject = await ownSubject(db, caller, query.subject_id ?? '');
      let responses = build.selectFrom('questionnaire_response').select(responseColumns).where('xuser_id', '=', subject.id);
      if (query.questionnaire !== undefined) responses = responses.where('questionnaire', '=', query.questionnaire);
      if (!query.superseded) responses = responses.where('superseded_by', 'is', null);
      const newestFirst = responses.orderBy('questionnaire_response.authored', 'desc').orderBy('created_at', 'desc').orderBy('id');
      const { rows } = await run(db, newestFirst.limit(query.limit));
      return { status: 200, json: rows };
    },
  });

const getQuestionnaireDraft = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/questionnaires/{questionnaireId}/draft',
    operationId: 'getQuestionnaireDraft',
    tag: 'Self-reports',
    summary: "Read one's draft",
    access: ownWrite,
    params: { questionnaireId: Code },
    responses: { 200: { description: 'The draft.', schema: DraftSchema } },
    errors: ['not_found'],
    handler: async ({ caller, params }) => {
      const subject = await ownSubject(db, caller, '', 'recording');
      const draft = build.selectFrom('questionnaire_draft').select(draftColumns).where('xuser_id', '=', subject.id);
      const { rows } = await run(db, draft.where('questionnaire', '=', params.questionnaireId));
      if (rows[0] === undefined) throw new PipelineError('not_found', 'There is no draft.');
      return { status: 200, json: rows[0] };
    },
  });

const saveQuestionnaireDraft = ({ db }: Deps) =>
  defineRoute({
    method: 'PUT',
    path: '/api/v1/questionnaires/{questionnaireId}/draft',
    operationId: 'saveQuestionnaireDraft',
    tag: 'Self-reports',
    summary: "Keep one's draft",
    description: 'One for each questionnaire; not scored, not shown to anybody else, removed when the questionnaire is answered.',
    access: ownWrite,
    params: { questionnaireId: Code },
    body: exactly({ version: Type.Optional(VersionText), item: ResponseItemsSchema }),
    bodyBytesMax: BODY_BYTES_MAX,
    responses: { 200: { description: 'The draft.', schema: DraftSchema } },
    errors: ['not_found', 'conflict'],
    handler: async ({ caller, params, body }) => {
      const { version, item } = body;
      const subject = await ownSubject(db, caller, '', 'recording');
      const { code, version: known } = await asked(db, subject, params.questionnaireId, version);
      const owner = { organization_id: subject.orgId, project_id: subject.projectId, xuser_id: subject.id };
      const draft = { version: String(known), item: JSON.stringify(item) };
      const kept = await runForOne(
        db,
        build
          .insertInto('questionnaire_draft')
          .values({ ...owner, questionnaire: code, ...draft })
          .onConflict((conflict) => conflict.columns(['xuser_id', 'questionnaire']).doUpdateSet({ ...draft, updated_at: now }))
          .returning(draftColumns),
      );
      return { status: 200, json: kept };
    },
  });

const deleteQuestionnaireDraft = ({ db }: Deps) =>
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/questionnaires/{questionnaireId}/draft',
    operationId: 'deleteQuestionnaireDraft',
    tag: 'Self-reports',
    summary: "Throw one's draft away",
    access: ownWrite,
    params: { questionnaireId: Code },
    responses: { 204: { description: 'It is gone, or there was none.' } },
    handler: async ({ caller, params }) => {
      const subject = await ownSubject(db, caller, '', 'recording');
      const draft = build.deleteFrom('questionnaire_draft').where('xuser_id', '=', subject.id);
      await run(db, draft.where('questionnaire', '=', params.questionnaireId));
      return { status: 204 };
    },
  });

type Before = Readonly<{
  id: string;
  questionnaire: string;
  version: string;
  authored: string;
  item: readonly ResponseItem[];
  superseded_by: string | null;
}>;

function replyOf(id: string, { scores, safety }: Verdict): JsonReply<201, Static<typeof KeptSchema>> {
  return { status: 201, json: { id, scores: [...scores], safety: safety.length > 0 } };
}

async function findResponse(db: Pool, subject: Subject, id: string): Promise<Before> {
  if (isUuid(id)) {
    const response = build.selectFrom('questionnaire_response').select(responseColumns).where('id', '=', id);
    const { rows } = await run(db, response.where('xuser_id', '=', subject.id));
    if (rows[0] !== undefined) return rows[0];
  }
  throw new PipelineError('not_found', 'There is no such response.');
}

export const responseRoutes = (deps: Deps): readonly Route[] => [
  createQuestionnaireResponse(deps),
  amendQuestionnaireResponse(deps),
  listQuestionnaireResponses(deps),
  getQuestionnaireDraft(deps),
  saveQuestionnaireDraft(deps),
  deleteQuestionnaireDraft(deps),
];
