/** Stores a response with everything that follows from it, in the caller's transaction: its scores as observations, the row that it amends,
 *  the draft that it ends, the episode and the event of each safety rule that applies. All or nothing. */
import { sql } from 'kysely';
import { sqlStateOf } from '../storage/database/sql-states.ts';
import { build, now, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import { emitEvent } from '../tenancy/events.ts';
import type { Subject } from '../tenancy/record-ownership.ts';
import { PipelineError } from '../errors.ts';
import { insertEpisode } from './episodes.ts';
import { completeByResponse } from './occurrences.ts';
import type { ResponseItem } from './questionnaire.ts';
import type { QuestionnaireVersion } from './questionnaire-store.ts';
import type { Verdict } from './scoring.ts';
import { removeSelfMeasurements, storeSelfMeasurement } from './self-measurement.ts';

export type KeptResponse = Readonly<{
  questionnaire: QuestionnaireVersion;
  item: readonly ResponseItem[];
  authored: string;
  verdict: Verdict;
  /** The response that it corrects, with the safety rules that applied to that; null: it corrects none. */
  amends: Readonly<{ id: string; safety: readonly string[] }> | null;
  reason: string;
}>;

/** @param db in a transaction  @returns its id  @throws PipelineError conflict when another amendment was faster */
export async function keepResponse(db: Db, subject: Subject, response: KeptResponse): Promise<string> {
  const { questionnaire, authored, verdict, amends } = response;
  const id = await insertResponse(db, subject, response);
  if (amends !== null) {
    await run(db, build.updateTable('questionnaire_response').set({ superseded_by: id }).where('id', '=', amends.id));
    await removeSelfMeasurements(db, subject, amends.id, authored);
  }
  const draft = build.deleteFrom('questionnaire_draft').where('xuser_id', '=', subject.id);
  await run(db, draft.where('questionnaire', '=', questionnaire.code));
  const methodCode = `reported:${questionnaire.code.replaceAll('-', '')}_v${questionnaire.version}`;
  for (const { code, value } of verdict.observations) {
    await storeSelfMeasurement(db, subject, { id, code, value, time: authored, methodCode, ofProduct: questionnaire.builtIn });
  }
  if (amends === null) await completeByResponse(db, { subjectId: subject.id, questionnaire: questionnaire.code, responseId: id, authored });
  await applySafety(db, subject, response, id);
  return id;
}

async function insertResponse(db: Db, subject: Subject, response: KeptResponse): Promise<string> {
  const { questionnaire, item, authored, verdict, amends, reason } = response;
  try {
    const insert = build.insertInto('questionnaire_response').values({
      organization_id: subject.orgId,
      project_id: subject.projectId,
      xuser_id: subject.id,
      questionnaire: questionnaire.code,
      version: String(questionnaire.version),
      item: JSON.stringify(item),
      scores: JSON.stringify(verdict.scores),
      safety: verdict.safety.length > 0,
      authored,
      status: amends === null ? 'completed' : 'amended',
      amends: amends?.id ?? null,
      reason,
    });
    const { rows } = await run(db, insert.returning('id'));
    const row = rows[0];
    if (row === undefined) throw new Error('questionnaire_response insert returned no row');
    return row.id;
  } catch (cause) {
    if (sqlStateOf(cause) === '23505') throw new PipelineError('conflict', 'This response was amended already.', { cause });
    throw cause;
  }
}

type OpenEpisode = Readonly<{ id: string; rule: string }>;

/** Opens an episode for each rule that applies and did not before the correction. When a correction takes the reason away, the episode
 *  stays open, because closing it is up to the person who reviews it: the episode names the correction, and webhooks are notified. When the
 *  rule applies again while that episode is open, it is reused. */
async function applySafety(db: Db, subject: Subject, response: KeptResponse, id: string): Promise<void> {
  const { verdict, amends } = response;
  const held = new Set(amends?.safety ?? []);
  const holds = new Set(verdict.safety);
  const open = amends === null ? [] : await openEpisodes(db, subject, response, amends.id);
  for (const rule of [...holds].filter((one) => !held.has(one))) {
    const known = open.find((episode) => episode.rule === rule);
    if (known === undefined) await raise(db, subject, response, id, rule);
    else await noteCorrection(db, subject, known.id, null);
  }
  for (const rule of [...held].filter((one) => !holds.has(one))) {
    for (const episode of open.filter((one) => one.rule === rule)) await noteCorrection(db, subject, episode.id, id);
  }
}

/** Open safety episodes of a response and of those that it amends. */
async function openEpisodes(db: Db, subject: Subject, response: KeptResponse, amendedId: string): Promise<readonly OpenEpisode[]> {
  // SQL: the summary is JSON, which kysely does not type.
  const { rows } = await db.query<OpenEpisode>(
    `with recursive chain as (
       select id, amends from questionnaire_response where id = $1
       union all
       select r.id, r.amends from chain join questionnaire_response r on r.id = chain.amends
     )
     select e.id, coalesce(e.summary ->> 'rule', e.title) as rule from episode e
     where e.xuser_id = $2 and e.started_at = $3 and e.kind = 'safety' and e.status = 'open'
       and e.summary ->> 'response_id' in (select id::text from chain)
     for update of e`,
    [amendedId, subject.id, response.authored],
  );
  return rows;
}

async function raise(db: Db, subject: Subject, { questionnaire, authored }: KeptResponse, id: string, rule: string): Promise<void> {
  const episodeId = await insertEpisode(db, {
    orgId: subject.orgId,
    projectId: subject.projectId,
    subjectId: subject.id,
    streamId: null,
    kind: 'safety',
    title: rule,
    status: 'open',
    severity: 'high',
    startedAt: authored,
    endedAt: null,
    summary: { questionnaire: questionnaire.code, rule, response_id: id },
    createdBy: `rule:${questionnaire.code}`,
  });
  const event = { episode_id: episodeId, subject_id: subject.id, kind: 'safety', severity: 'high', started_at: authored } as const;
  await emitEvent(db, subject, 'episode.created', event);
}

/** @param correctedBy the response after which the rule no longer applies; null: it applies again */
async function noteCorrection(db: Db, subject: Subject, episodeId: string, correctedBy: string | null): Promise<void> {
  const correction = JSON.stringify(correctedBy === null ? {} : { corrected_by: correctedBy });
  const summary = sql<string>`(summary - 'corrected_by') || ${correction}::jsonb`;
  await run(db, build.updateTable('episode').set({ updated_at: now, summary }).where('id', '=', episodeId));
  await emitEvent(db, subject, 'episode.updated', { episode_id: episodeId, subject_id: subject.id, kind: 'safety' });
}
