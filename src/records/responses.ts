/** Keeps a response with everything that follows from it, in one transaction: its scores as observations, the row that it amends, the
 *  draft that it ends; and afterwards the episode and the event of a safety rule. */
import type { Pool } from 'pg';
import { sqlState } from '../auth/api-keys.ts';
import type { Subject } from '../auth/ownership.ts';
import { PipelineError } from '../errors.ts';
import { insertEpisode } from './episodes.ts';
import type { ResponseItem } from './questionnaire.ts';
import type { QuestionnaireVersion } from './questionnaire-store.ts';
import type { Verdict } from './scoring.ts';
import { removeSelfMeasurements, storeSelfMeasurement } from './self-measurement.ts';
import { emitEvent } from './webhooks.ts';

export type KeptResponse = Readonly<{
  questionnaire: QuestionnaireVersion;
  item: readonly ResponseItem[];
  authored: string;
  verdict: Verdict;
  /** The response that it corrects; null: it is a first one. */
  amends: Readonly<{ id: string; safety: boolean }> | null;
  reason: string;
}>;

/** @returns its id  @throws PipelineError conflict when another amendment was faster */
export async function keepResponse(db: Pool, subject: Subject, response: KeptResponse): Promise<string> {
  const { questionnaire, item, authored, verdict, amends, reason } = response;
  const safety = verdict.safety.length > 0;
  const client = await db.connect();
  let id: string;
  try {
    await client.query('begin');
    const { rows } = await client.query<{ id: string }>(
      `insert into questionnaire_response
         (organization_id, project_id, xuser_id, questionnaire, version, item, scores, safety, authored, status, amends, reason)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) returning id`,
      [
        subject.orgId,
        subject.projectId,
        subject.id,
        questionnaire.code,
        String(questionnaire.version),
        JSON.stringify(item),
        JSON.stringify(verdict.scores),
        safety,
        authored,
        amends === null ? 'completed' : 'amended',
        amends?.id ?? null,
        reason,
      ],
    );
    const row = rows[0];
    if (row === undefined) throw new Error('questionnaire_response insert returned no row');
    id = row.id;
    if (amends !== null) {
      await client.query('update questionnaire_response set superseded_by = $1 where id = $2', [id, amends.id]);
      await removeSelfMeasurements(client, subject, amends.id, authored);
    }
    await client.query('delete from questionnaire_draft where xuser_id = $1 and questionnaire = $2', [subject.id, questionnaire.code]);
    const methodCode = `reported:${questionnaire.code.replaceAll('-', '')}_v${questionnaire.version}`;
    for (const { code, value } of verdict.observations) {
      await storeSelfMeasurement(client, subject, { id, code, value, time: authored, methodCode });
    }
    await client.query('commit');
  } catch (cause) {
    await client.query('rollback').catch(() => undefined);
    if (sqlState(cause) === '23505') throw new PipelineError('conflict', 'This response was amended already.', { cause });
    throw cause;
  } finally {
    client.release();
  }
  // What was a matter of safety before the correction has its episode already.
  if (safety && amends?.safety !== true) await raiseSafety(db, subject, response, id);
  return id;
}

async function raiseSafety(db: Pool, subject: Subject, { questionnaire, authored, verdict }: KeptResponse, id: string): Promise<void> {
  const episodeId = await insertEpisode(db, {
    orgId: subject.orgId,
    projectId: subject.projectId,
    subjectId: subject.id,
    streamId: null,
    kind: 'safety',
    title: verdict.safety.join('; ').slice(0, 200),
    status: 'open',
    severity: 'high',
    startedAt: authored,
    endedAt: null,
    summary: { questionnaire: questionnaire.code, response_id: id },
    createdBy: `rule:${questionnaire.code}`,
  });
  await emitEvent(db, subject, 'episode.created', { episode_id: episodeId, subject_id: subject.id, kind: 'safety', severity: 'high' });
}
