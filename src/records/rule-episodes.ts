/** Opens, prolongs and ends the episodes of a rule, and extends them when late values arrive. */
import { sql } from 'kysely';
import { build, epochMs, inSec, now, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import { emitEvent } from '../tenancy/events.ts';
import { creatorOf, NEWS_SEC } from './episode-rule.ts';
import type { Candidate, EpisodeRule } from './episode-rule.ts';
import { insertEpisode, insertStrip } from './episodes.ts';
import { stripStartMs } from './rule-strips.ts';
import type { Stretch } from './stretches.ts';

type Owner = Pick<Candidate, 'organization_id' | 'project_id' | 'xuser_id'>;
type Known = Readonly<{ id: string; status: string; start_ms: number; end_ms: number | null; summary: Summary; reviewed: boolean }>;
type Summary = Readonly<{ feature?: string; extreme?: number; duration_sec?: number; ended_by?: string; reopened?: true }>;

/** SQL condition for episodes that are open and that their rule ends: not those that it has ended and that a person has opened again. */
export const OPEN_BY_RULE = `status = 'open' and not summary ? 'reopened'`;

const scopeOf = ({ organization_id: orgId, project_id: projectId }: Owner) => ({ orgId, projectId });

/** Opens, prolongs or closes the episode of a stretch. */
export async function recordStretch(db: Db, stream: Candidate, rule: EpisodeRule, stretch: Stretch): Promise<void> {
  const startMs = stretch.startMs - 1000 * (rule.beforeSec ?? 0);
  const known = await knownEpisode(db, stream, rule, new Date(startMs).toISOString(), new Date(stretch.endMs).toISOString());
  if (known === null) await openEpisode(db, stream, rule, stretch);
  else if ((known.status === 'open' && !known.summary.reopened) || isExtended(known, stretch))
    await changeEpisode(db, stream, rule, known, stretch);
}

/** An episode of the rule that overlaps is the same stretch, because the examined range may begin inside it. One that a person has opened
 *  again is of the stretch that it was of, and a later one has an episode of its own. Locked: what a person changes meanwhile is waited
 *  for, and stays. */
async function knownEpisode(db: Db, stream: Candidate, rule: EpisodeRule, start: string, end: string): Promise<Known | null> {
  const { rows } = await run(
    db,
    build
      .selectFrom('episode')
      .select(({ ref }) => [
        'id',
        'status',
        epochMs(ref('started_at')).as('start_ms'),
        epochMs(ref('ended_at')).as('end_ms'),
        ref('summary').$castTo<Summary>().as('summary'),
        sql<boolean>`reviewed_at is not null`.as('reviewed'),
      ])
      .where('xuser_id', '=', stream.xuser_id)
      .where('stream_id', '=', stream.id)
      .where('created_by', '=', creatorOf(rule))
      .where('started_at', '<=', sql<Date>`${end}::timestamptz`)
      .where(
        sql<boolean>`coalesce(ended_at, case when summary ? 'reopened' then started_at + (summary ->> 'duration_sec')::float8 * interval '1 second' end, 'infinity')
          >= ${start}::timestamptz`,
      )
      .orderBy(({ eb }) => eb('status', '=', 'open'), 'desc')
      .orderBy('started_at', 'desc')
      .limit(1)
      .forNoKeyUpdate(),
  );
  return rows[0] ?? null;
}

/** Says whether late values have made an episode longer that the rule has ended; what people have closed stays as they left it. */
function isExtended({ status, end_ms: endMs, summary, reviewed }: Known, stretch: Stretch): boolean {
  return status === 'closed' && !reviewed && summary.ended_by === 'rule' && endMs !== null && stretch.endMs > endMs + 1;
}

async function openEpisode(db: Db, stream: Candidate, rule: EpisodeRule, stretch: Stretch): Promise<void> {
  const by = creatorOf(rule);
  const start = new Date(stretch.startMs - 1000 * (rule.beforeSec ?? 0)).toISOString();
  const end = stretch.over ? new Date(stretch.endMs).toISOString() : null;
  const episodeId = await insertEpisode(db, {
    ...scopeOf(stream),
    subjectId: stream.xuser_id,
    streamId: stream.id,
    kind: rule.name,
    title: rule.title,
    status: stretch.over ? 'closed' : 'open',
    severity: rule.severity,
    startedAt: start,
    endedAt: end,
    summary: summaryOf(rule, Date.parse(start), stretch),
    createdBy: by,
  });
  if (rule.emailsOf !== undefined) await queueEmails(db, rule.emailsOf, episodeId);
  const stripMs = await stripStartMs(db, stream.id, rule.feature, stretch.startMs, stretch.extreme);
  await insertStrip(db, { episodeId, streamId: stream.id, start: new Date(stripMs).toISOString(), end: null, by });
  const event = { episode_id: episodeId, subject_id: stream.xuser_id, kind: rule.name, severity: rule.severity, started_at: start };
  await emitEvent(db, scopeOf(stream), 'episode.created', event);
}

async function changeEpisode(db: Db, stream: Candidate, rule: EpisodeRule, known: Known, stretch: Stretch): Promise<void> {
  const status = stretch.over ? 'closed' : 'open';
  const seen = known.summary.extreme;
  const worst = seen === undefined || known.status === 'open' ? stretch.extreme : furthest(rule, seen, stretch.extreme);
  const summary = JSON.stringify(summaryOf(rule, known.start_ms, { ...stretch, extreme: worst }));
  const after = { status, ended_at: stretch.over ? new Date(stretch.endMs).toISOString() : null, summary, updated_at: now } as const;
  await run(
    db,
    build
      .updateTable('episode')
      .set(after)
      .where('id', '=', known.id)
      .where(({ or, eb }) => or([eb('status', '<>', status), sql<boolean>`summary <> ${summary}::jsonb`])),
  );
  if (stretch.over || known.status !== 'open') {
    await emitEvent(db, scopeOf(stream), 'episode.updated', { episode_id: known.id, subject_id: stream.xuser_id, kind: rule.name });
  }
}

const furthest = ({ above }: EpisodeRule, a: number, b: number): number => (above === undefined ? Math.min(a, b) : Math.max(a, b));

function summaryOf(rule: EpisodeRule, startMs: number, { endMs, extreme, over }: Stretch): Summary {
  const lasted = { feature: rule.feature, extreme, duration_sec: (Math.trunc(endMs) - Math.trunc(startMs)) / 1000 };
  return over ? { ...lasted, ended_by: 'rule' } : lasted;
}

/** Ends an open episode at the last value that was beyond the bound.  @param by rule changed: the rule, as it is now, would not have opened
 *  it; rule: its recording is silent */
export async function endUnconfirmed(
  db: Db,
  owner: Owner,
  kind: string,
  episodeId: string,
  by: 'rule changed' | 'rule' = 'rule changed',
): Promise<void> {
  const { rows } = await run(
    db,
    build
      .updateTable('episode')
      .set({
        status: 'closed',
        ended_at: sql<Date>`started_at + coalesce((summary ->> 'duration_sec')::float8, 0) * interval '1 second'`,
        summary: sql<string>`summary || jsonb_build_object('ended_by', ${by}::text)`,
        updated_at: now,
      })
      .where('id', '=', episodeId)
      .where(sql.raw<boolean>(OPEN_BY_RULE))
      .returning('id'),
  );
  if (rows.length === 0) return; // a person was faster
  await emitEvent(db, scopeOf(owner), 'episode.updated', { episode_id: episodeId, subject_id: owner.xuser_id, kind });
}

/** Queues e-mail about a new episode, in the transaction that opens it; src/webhooks/rule-emails.ts sends it. None about what began long
 *  ago, because a recording that is imported is no news. */
async function queueEmails(db: Db, ruleId: string, episodeId: string): Promise<void> {
  const entries = build
    .selectFrom('episode_rule as r')
    .innerJoin('episode as e', (join) => join.on('e.id', '=', episodeId))
    .select(['r.organization_id', 'r.project_id', 'r.id as rule_id', 'e.id as episode_id', sql<string>`unnest(r.email_to)`.as('recipient')])
    .where('r.id', '=', ruleId)
    .where('e.started_at', '>', inSec(-NEWS_SEC));
  const columns = ['organization_id', 'project_id', 'rule_id', 'episode_id', 'recipient'] as const;
  await run(db, build.insertInto('episode_email').columns(columns).expression(entries));
}
