/** Episodes: stretches of time that matter (a recording, an exercise, an alert), with what belongs to them. */
import { sql } from 'kysely';
import { build, isoTime, now, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import { PipelineError } from '../errors.ts';
import { endAcknowledgement } from './acknowledgements.ts';
import { unixNowMs } from '../unix-clock.ts';

export const episodeStatuses = ['open', 'closed', 'cancelled'] as const;
export const episodeSeverities = ['none', 'low', 'medium', 'high'] as const;
export type EpisodeStatus = (typeof episodeStatuses)[number];
export type EpisodeSeverity = (typeof episodeSeverities)[number];

/** An episode as the API shows it. */
export type Episode = Readonly<{
  id: string;
  subject_id: string;
  stream_id: string | null;
  kind: string;
  title: string;
  status: EpisodeStatus;
  severity: EpisodeSeverity;
  started_at: string;
  ended_at: string | null;
  summary: Readonly<Record<string, unknown>>;
  created_by: string;
  created_at: string;
  updated_at: string;
  acknowledged_at: string | null;
  acknowledged_by: string | null;
  acknowledged_by_name: string | null;
  acknowledgement_note: string | null;
  is_reviewed: boolean;
  artifact_count: number;
}>;

export type Artifact = Readonly<{
  id: string;
  kind: string;
  title: string;
  starts_at: string | null;
  ends_at: string | null;
  stream_id: string | null;
  channel_code: string | null;
  media_type: string;
  content: unknown;
  bytes: number;
  created_by: string;
  created_at: string;
}>;

export type EpisodeInput = Readonly<{
  orgId: string;
  projectId: string;
  subjectId: string;
  streamId: number | null;
  kind: string;
  title: string;
  status: EpisodeStatus;
  severity: EpisodeSeverity;
  startedAt: string;
  endedAt: string | null;
  summary: object;
  createdBy: string;
}>;

export type EpisodeFilter = Readonly<{
  orgId: string;
  subjectId: string;
  since: string | null;
  until: string | null;
  kind: string | null;
  status: string | null;
  acknowledged: boolean | null;
  /** Start time and id of the last episode of the previous page. */
  before: readonly [string, string] | null;
  limit: number;
}>;

/** Whether someone has closed it: neither did its rule end it, nor was it entered with its end. For a query with `episode as e`. */
export const isReviewed = sql<boolean>`e.status = 'closed' and e.reviewed_at is not null`;

const episodes = build
  .selectFrom('episode as e')
  .leftJoin('stream as s', 's.id', 'e.stream_id')
  .leftJoin('episode_acknowledgement as k', (join) => join.onRef('k.episode_id', '=', 'e.id').on('k.ended_at', 'is', null))
  .select(({ ref, fn, val, selectFrom }) => [
    'e.id',
    'e.xuser_id as subject_id',
    's.uuid as stream_id',
    'e.kind',
    'e.title',
    'e.status',
    'e.severity',
    isoTime(ref('e.started_at')).as('started_at'),
    isoTime(ref('e.ended_at')).as('ended_at'),
    ref('e.summary').$castTo<Episode['summary']>().as('summary'),
    'e.created_by',
    isoTime(ref('e.created_at')).as('created_at'),
    isoTime(ref('e.updated_at')).as('updated_at'),
    isoTime(ref('k.created_at')).as('acknowledged_at'),
    'k.acknowledged_by',
    fn<string | null>('nullif', [ref('k.name'), val('')]).as('acknowledged_by_name'),
    'k.note as acknowledgement_note',
    isReviewed.as('is_reviewed'),
    selectFrom('artifact as a')
      .select(sql<number>`count(*)::integer`.as('n'))
      .whereRef('a.episode_id', '=', 'e.id')
      .$asScalar()
      .$notNull()
      .as('artifact_count'),
  ]);

/** Episodes of one user that overlap [since, until), the latest start first. */
export async function listEpisodes(db: Db, filter: EpisodeFilter): Promise<readonly Episode[]> {
  const { orgId, subjectId, since, until, kind, status, acknowledged, before, limit } = filter;
  let page = episodes.where('e.organization_id', '=', orgId).where('e.xuser_id', '=', subjectId);
  if (since !== null) page = page.where(sql<boolean>`coalesce(e.ended_at, 'infinity') >= ${since}::timestamptz`);
  if (until !== null) page = page.where('e.started_at', '<', sql<Date>`${until}::timestamptz`);
  if (kind !== null) page = page.where('e.kind', '=', kind);
  if (status !== null) page = page.where('e.status', '=', status as EpisodeStatus);
  if (acknowledged !== null) page = page.where('k.id', acknowledged ? 'is not' : 'is', null);
  if (before !== null) page = page.where(sql<boolean>`(e.started_at, e.id) < (${before[0]}::timestamptz, ${before[1]}::uuid)`);
  const { rows } = await run(db, page.orderBy('e.started_at', 'desc').orderBy('e.id', 'desc').limit(limit));
  return rows;
}

/** One episode, or null when it is not of the organization (or of the user, where one is given). */
export async function findEpisode(
  db: Db,
  orgId: string,
  subjectId: string | null,
  projectId: string | null,
  id: string,
): Promise<Episode | null> {
  let episode = episodes.where('e.id', '=', id).where('e.organization_id', '=', orgId);
  if (subjectId !== null) episode = episode.where('e.xuser_id', '=', subjectId);
  if (projectId !== null) episode = episode.where('e.project_id', '=', projectId);
  return (await run(db, episode)).rows[0] ?? null;
}

/** Makes other changes to the episode wait until this transaction ends. */
export async function lockEpisode(db: Db, id: string): Promise<void> {
  await run(db, build.selectFrom('episode').select('id').where('id', '=', id).forNoKeyUpdate());
}

export async function listArtifacts(db: Db, episodeId: string): Promise<readonly Artifact[]> {
  const { rows } = await run(
    db,
    build
      .selectFrom('artifact as a')
      .leftJoin('stream as s', 's.id', 'a.stream_id')
      .select(({ ref }) => [
        'a.id',
        'a.kind',
        'a.title',
        isoTime(ref('a.starts_at')).as('starts_at'),
        isoTime(ref('a.ends_at')).as('ends_at'),
        's.uuid as stream_id',
        'a.channel_code',
        'a.media_type',
        'a.content',
        sql<number>`coalesce(octet_length(a.data), 0)`.as('bytes'),
        'a.created_by',
        isoTime(ref('a.created_at')).as('created_at'),
      ])
      .where('a.episode_id', '=', episodeId)
      .orderBy('a.created_at')
      .orderBy('a.id')
      .limit(1000),
  );
  return rows;
}

export async function insertEpisode(db: Db, input: EpisodeInput): Promise<string> {
  const episode = build.insertInto('episode').values({
    organization_id: input.orgId,
    project_id: input.projectId,
    xuser_id: input.subjectId,
    stream_id: input.streamId,
    kind: input.kind,
    title: input.title,
    status: input.status,
    severity: input.severity,
    started_at: input.startedAt,
    ended_at: input.endedAt,
    summary: JSON.stringify(input.summary),
    created_by: input.createdBy,
  });
  const { rows } = await run(db, episode.returning('id'));
  return rows[0]?.id ?? '';
}

export type EpisodeChange = Readonly<{
  title?: string;
  status?: EpisodeStatus;
  severity?: EpisodeSeverity;
  ended_at?: string | null;
  summary?: object;
}>;

/** State of an episode after a change: an end closes it, closing ends it now, reopening removes its end.
 *  @throws PipelineError validation_failed: open with an end, or closed without one */
function stateAfter(
  episode: Pick<Episode, 'status' | 'started_at' | 'ended_at'>,
  change: Pick<EpisodeChange, 'status' | 'ended_at'>,
): Pick<Episode, 'status' | 'ended_at'> {
  const given = change.ended_at ?? null;
  const status = change.status ?? (given !== null && episode.status === 'open' ? 'closed' : episode.status);
  if (status === 'open') {
    if (given !== null) throw badEnd('an open episode has no end; leave it out, or close the episode');
    return { status, ended_at: null };
  }
  if (status === 'closed') {
    if (change.ended_at === null) throw badEnd('a closed episode has an end; leave it out to end it now, or open the episode');
    const nowMs = Math.max(unixNowMs(), Date.parse(episode.started_at));
    return { status, ended_at: given ?? episode.ended_at ?? new Date(nowMs).toISOString() };
  }
  return { status, ended_at: change.ended_at === undefined ? episode.ended_at : given };
}

/** The summary after a change. What is given takes the place of what was there, but says nothing of whose the episode is: an open one that
 *  its rule had ended is a person's, and of the stretch that it was of, whatever they write.
 *  @param given undefined: as it is, but for what the rule said of its end where people say something else */
function summaryAfter(given: object | undefined, change: Readonly<{ isOpen: boolean; isReopened: boolean; isClosed: boolean }>) {
  const next = given === undefined ? sql`summary` : sql`${JSON.stringify(given)}::jsonb`;
  const taken = sql`jsonb_strip_nulls(jsonb_build_object('reopened', true, 'duration_sec', summary -> 'duration_sec'))`;
  if (change.isReopened) return sql<string>`case when summary ? 'ended_by' then ${next} - 'ended_by' || ${taken} else ${next} end`;
  if (change.isOpen) return sql<string>`case when summary ? 'reopened' then ${next} || ${taken} else ${next} end`;
  return change.isClosed && given === undefined ? sql<string>`summary - 'ended_by'` : sql<string>`${next}`;
}

/** State of a new episode: closed when it has an end, open by default. */
export function stateAtStart(
  input: Readonly<{ status?: EpisodeStatus; started_at: string; ended_at?: string | null }>,
): Pick<Episode, 'status' | 'ended_at'> {
  const { ended_at: endedAt, ...rest } = input;
  return stateAfter(
    { status: 'open', started_at: input.started_at, ended_at: null },
    endedAt == null ? rest : { ...rest, ended_at: endedAt },
  );
}

function badEnd(detail: string): PipelineError {
  return new PipelineError('validation_failed', `/ended_at: ${detail}`, { errors: [{ pointer: '/ended_at', code: 'status', detail }] });
}

/** Changes the given members. The caller holds the row's lock. A reopened episode has to be acknowledged again, and is no longer its rule's
 *  to end, if the rule had ended it. */
export async function updateEpisode(db: Db, episode: Episode, change: EpisodeChange): Promise<void> {
  const { status, ended_at: endedAt } = stateAfter(episode, change);
  const isReopened = status === 'open' && episode.status !== 'open';
  const { title, severity, summary } = change;
  const isClosed = status === 'closed' && (change.status === 'closed' || episode.status !== 'closed');
  const set = {
    status,
    ended_at: endedAt,
    updated_at: now,
    ...(isClosed ? { reviewed_at: now } : status !== 'closed' && { reviewed_at: null }),
    ...(title === undefined ? {} : { title }),
    ...(severity === undefined ? {} : { severity }),
    ...((summary !== undefined || isReopened || isClosed) && {
      summary: summaryAfter(summary, { isOpen: status === 'open', isReopened, isClosed }),
    }),
  };
  await run(db, build.updateTable('episode').set(set).where('id', '=', episode.id));
  if (isReopened) await endAcknowledgement(db, episode.id);
}

export type ArtifactInput = Readonly<{
  episodeId: string;
  kind: string;
  title: string;
  startsAt: string | null;
  endsAt: string | null;
  streamId: number | null;
  channelCode: string | null;
  mediaType: string;
  content: unknown;
  data: Uint8Array | null;
  createdBy: string;
}>;

export async function insertArtifact(db: Db, input: ArtifactInput): Promise<string> {
  const artifact = build.insertInto('artifact').values({
    episode_id: input.episodeId,
    kind: input.kind,
    title: input.title,
    starts_at: input.startsAt,
    ends_at: input.endsAt,
    stream_id: input.streamId,
    channel_code: input.channelCode,
    media_type: input.mediaType,
    content: JSON.stringify(input.content),
    data: input.data === null ? null : Buffer.from(input.data),
    created_by: input.createdBy,
  });
  const { rows } = await run(db, artifact.returning('id'));
  return rows[0]?.id ?? '';
}

/** Bytes of an artifact, if it has any. */
export async function findArtifactData(
  db: Db,
  episodeId: string,
  id: string,
): Promise<Readonly<{ mediaType: string; data: Uint8Array | null; content: unknown }> | null> {
  const artifact = build.selectFrom('artifact').select(['media_type', 'data', 'content']);
  const { rows } = await run(db, artifact.where('episode_id', '=', episodeId).where('id', '=', id));
  const row = rows[0];
  return row === undefined ? null : { mediaType: row.media_type, data: row.data, content: row.content };
}

/** Length of the strip added to a new episode. */
export const STRIP_SEC = 10;

/** Adds a strip of an episode's beginning: a reference to samples, not the samples themselves. It is drawn when viewed, late samples
 *  included.
 *  @param strip start and end of the episode, RFC 3339; without an end, or with one equal to the start, the whole STRIP_SEC */
export async function insertStrip(
  db: Db,
  strip: Readonly<{ episodeId: string; streamId: number; start: string; end: string | null; by: string }>,
): Promise<void> {
  const startMs = Date.parse(strip.start);
  const endMs = strip.end === null || Date.parse(strip.end) <= startMs ? Infinity : Date.parse(strip.end);
  await insertArtifact(db, {
    episodeId: strip.episodeId,
    kind: 'strip',
    title: `First ${STRIP_SEC} s`,
    startsAt: strip.start,
    endsAt: new Date(Math.min(endMs, startMs + STRIP_SEC * 1000)).toISOString(),
    streamId: strip.streamId,
    channelCode: null,
    mediaType: 'application/json',
    content: {},
    data: null,
    createdBy: strip.by,
  });
}
