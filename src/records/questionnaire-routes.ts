/** Questionnaires (FHIR R4, a subset) and the answers to them. */
import { Type } from 'typebox';
import type { Pool } from 'pg';
import { ownSubject } from '../auth/ownership.ts';
import { PipelineError } from '../errors.ts';
import type { Route } from '../http/route.ts';
import { exactly, LimitQuery, Timestamp, Uuid } from '../http/schemas.ts';
import { insertEpisode } from './episodes.ts';
import { scoreResponse, shippedQuestionnaires } from './questionnaires.ts';
import type { ResponseItem, Score } from './questionnaires.ts';
import { storeSelfMeasurement } from './self-measurement.ts';
import { ownRead, ownWrite, SubjectQuery } from './self-report-routes.ts';
import { emitEvent } from './webhooks.ts';

const ITEMS_MAX = 200;
const Resource = Type.Object({ resourceType: Type.Literal('Questionnaire'), id: Type.String() }, { additionalProperties: true });
const ScoreSchema = exactly({ name: Type.String(), value: Type.Number(), text: Type.String() });
const AnswerBody = exactly({
  valueCoding: Type.Optional(
    exactly({
      system: Type.Optional(Type.String()),
      code: Type.String({ maxLength: 64 }),
      display: Type.Optional(Type.String({ maxLength: 500 })),
    }),
  ),
  valueInteger: Type.Optional(Type.Integer()),
  valueDecimal: Type.Optional(Type.Number()),
  valueString: Type.Optional(Type.String({ maxLength: 4000 })),
});
const ResponseBody = exactly({
  resourceType: Type.Literal('QuestionnaireResponse'),
  questionnaire: Type.String({ minLength: 1, maxLength: 64 }),
  version: Type.Optional(Type.String({ maxLength: 16 })),
  status: Type.Literal('completed'),
  authored: Type.Optional(Timestamp),
  item: Type.Array(
    exactly({
      linkId: Type.String({ minLength: 1, maxLength: 64 }),
      text: Type.Optional(Type.String({ maxLength: 1000 })),
      answer: Type.Optional(Type.Array(AnswerBody, { maxItems: 32 })),
    }),
    { maxItems: ITEMS_MAX },
  ),
});
type Input = Readonly<{ questionnaire: string; version?: string; authored?: string; item: readonly ResponseItem[] }>;

export function questionnaireRoutes(deps: Readonly<{ db: Pool }>): readonly Route[] {
  const { db } = deps;
  return [
    {
      method: 'GET',
      path: '/api/v1/questionnaires',
      operationId: 'listQuestionnaires',
      tag: 'Self-reports',
      summary: 'List questionnaires',
      access: { ...ownRead, key: 'read' },
      responses: {
        200: {
          description: 'Questionnaires.',
          schema: Type.Array(exactly({ id: Type.String(), version: Type.String(), title: Type.String() })),
        },
      },
      handler: async () => ({
        status: 200,
        json: shippedQuestionnaires.map(({ resource: { id, version, title } }) => ({ id, version, title })),
      }),
    },
    {
      method: 'GET',
      path: '/api/v1/questionnaires/{questionnaireId}',
      operationId: 'getQuestionnaire',
      tag: 'Self-reports',
      summary: 'Read a questionnaire as a FHIR R4 resource',
      access: { ...ownRead, key: 'read' },
      params: { questionnaireId: Type.String({ maxLength: 64 }) },
      responses: { 200: { description: 'The questionnaire.', schema: Resource } },
      errors: ['not_found'],
      handler: async ({ params }) => ({ status: 200, json: find(params['questionnaireId'] ?? '').resource }),
    },
    {
      method: 'POST',
      path: '/api/v1/questionnaire-responses',
      operationId: 'createQuestionnaireResponse',
      tag: 'Self-reports',
      summary: 'Answer a questionnaire',
      description:
        'The service scores. A total that the catalog knows (PHQ-9, GAD-7) becomes an observation. An answer above 0 to item 9 of the PHQ-9 ' +
        'opens an episode of kind safety, severity high, and sends episode.created to webhooks.',
      access: ownWrite,
      body: ResponseBody,
      bodyBytesMax: 256 * 1024,
      idempotent: true,
      responses: {
        201: { description: 'Kept and scored.', schema: exactly({ id: Uuid, scores: Type.Array(ScoreSchema), safety: Type.Boolean() }) },
      },
      errors: ['not_found', 'conflict'],
      handler: async ({ caller, body }) => {
        const input = body as Input;
        const questionnaire = find(input.questionnaire);
        const { id: name, version } = questionnaire.resource;
        if (input.version !== undefined && input.version !== version) {
          throw new PipelineError('conflict', `${name} is at version ${version}; the answers are for ${input.version}.`);
        }
        const verdict = scoreResponse(questionnaire, input.item);
        if ('faults' in verdict) {
          throw new PipelineError('validation_failed', verdict.faults.map((fault) => fault.detail).join('; '), { errors: verdict.faults });
        }
        const subject = await ownSubject(db, caller, '');
        const authored = input.authored ?? new Date().toISOString();
        const { rows } = await db.query<{ id: string }>(
          `insert into questionnaire_response (organization_id, project_id, xuser_id, questionnaire, version, item, scores, safety, authored)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9) returning id`,
          [
            subject.orgId,
            subject.projectId,
            subject.id,
            name,
            version,
            JSON.stringify(input.item),
            JSON.stringify(verdict.scores),
            verdict.safety,
            authored,
          ],
        );
        const id = rows[0]?.id;
        if (id === undefined) throw new Error('questionnaire_response insert returned no row');
        const total = verdict.scores[0];
        if (total !== undefined && verdict.code !== null) {
          const methodCode = `reported:${verdict.code}_v${version}`;
          await storeSelfMeasurement(db, subject, { id, code: verdict.code, value: total.value, time: authored, methodCode });
        }
        if (verdict.safety) {
          const episodeId = await insertEpisode(db, {
            orgId: subject.orgId,
            projectId: subject.projectId,
            subjectId: subject.id,
            streamId: null,
            kind: 'safety',
            title: `${total?.name ?? name}: an answer needs attention`,
            status: 'open',
            severity: 'high',
            startedAt: authored,
            endedAt: null,
            summary: { questionnaire: name, response_id: id },
            createdBy: `rule:${name}`,
          });
          await emitEvent(db, subject, 'episode.created', {
            episode_id: episodeId,
            subject_id: subject.id,
            kind: 'safety',
            severity: 'high',
          });
        }
        return { status: 201, json: { id, scores: verdict.scores, safety: verdict.safety } };
      },
    },
    {
      method: 'GET',
      path: '/api/v1/questionnaire-responses',
      operationId: 'listQuestionnaireResponses',
      tag: 'Self-reports',
      summary: 'List answered questionnaires with their scores',
      access: ownRead,
      query: { subject_id: SubjectQuery, questionnaire: Type.Optional(Type.String({ maxLength: 64 })), limit: LimitQuery(100, 1000) },
      responses: {
        200: {
          description: 'Answers, the newest first.',
          schema: Type.Array(
            exactly({
              id: Uuid,
              questionnaire: Type.String(),
              version: Type.String(),
              authored: Timestamp,
              scores: Type.Array(ScoreSchema),
              safety: Type.Boolean(),
              item: Type.Array(Type.Unknown()),
            }),
          ),
        },
      },
      errors: ['not_found'],
      handler: async ({ caller, query }) => {
        const given = query as { subject_id?: string; questionnaire?: string; limit: number };
        const subject = await ownSubject(db, caller, given.subject_id ?? '');
        const { rows } = await db.query<{ scores: Score[] }>(
          `select id, questionnaire, version, to_json(authored) #>> '{}' as authored, scores, safety, item from questionnaire_response
           where xuser_id = $1 and ($2::text is null or questionnaire = $2)
           order by questionnaire_response.authored desc, id limit $3`,
          [subject.id, given.questionnaire ?? null, given.limit],
        );
        return { status: 200, json: rows };
      },
    },
  ];
}

function find(id: string) {
  const found = shippedQuestionnaires.find(({ resource }) => resource.id === id);
  if (found === undefined) throw new PipelineError('not_found', 'There is no such questionnaire.');
  return found;
}
