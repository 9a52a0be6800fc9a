/** Episodes: stretches of time that matter (a recording, an exercise, an alert), with what belongs to them. */
import type { Db } from '../storage/database/database.ts';
import { PipelineError } from '../errors.ts';
import { endAcknowledgement } from './acknowledgements.ts';

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
  /** Start time and id of the last episode of the page before. */
  before: readonly [string, string] | null;
  limit: number;
}>;

const time = (column: string): string => `to_json(${column}) #>> '{}' as ${column.replace(/^.*\./, '')}`;

const columns = `e.id, e.xuser_id as subject_id, s.uuid as stream_id, e.kind, e.title, e.status, e.severity, ${time('e.started_at')},
  ${time('e.ended_at')}, e.summary, e.created_by, ${time('e.created_at')}, ${time('e.updated_at')},
  to_json(k.created_at) #>> '{}' as acknowledged_at, k.acknowledged_by, nullif(k.name, '') as acknowledged_by_name, k.note as acknowledgement_note,
  (select count(*)::integer from artifact a where a.episode_id = e.id) as artifact_count`;
const tables = `episode e left join stream s on s.id = e.stream_id
  left join episode_acknowledgement k on k.episode_id = e.id and k.ended_at is null`;

/** Episodes of one user that overlap [since, until), the latest start first. */
export async function listEpisodes(db: Db, filter: EpisodeFilter): Promise<readonly Episode[]> {
  const { rows } = await db.query<Episode>(
    `select ${columns} from ${tables}
     where e.organization_id = $1 and e.xuser_id = $2
       and ($3::timestamptz is null or coalesce(e.ended_at, 'infinity') >= $3)
       and ($4::timestamptz is null or e.started_at < $4)
       and ($5::text is null or e.kind = $5)
       and ($6::text is null or e.status = $6)
       and ($7::boolean is null or (k.id is not null) = $7)
       and ($8::timestamptz is null or (e.started_at, e.id) < ($8::timestamptz, $9::uuid))
     order by e.started_at desc, e.id desc
     limit $10`,
    [
      filter.orgId,
      filter.subjectId,
      filter.since,
      filter.until,
      filter.kind,
      filter.status,
      filter.acknowledged,
      filter.before?.[0] ?? null,
      filter.before?.[1] ?? null,
      filter.limit,
    ],
  );
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
  const { rows } = await db.query<Episode>(
    `select ${columns} from ${tables}
     where e.id = $1 and e.organization_id = $2 and ($3::uuid is null or e.xuser_id = $3) and ($4::uuid is null or e.project_id = $4)`,
    [id, orgId, subjectId, projectId],
  );
  return rows[0] ?? null;
}

export async function listArtifacts(db: Db, episodeId: string): Promise<readonly Artifact[]> {
  const { rows } = await db.query<Artifact>(
    `select a.id, a.kind, a.title, ${time('a.starts_at')}, ${time('a.ends_at')}, s.uuid as stream_id, a.channel_code, a.media_type,
       a.content, coalesce(octet_length(a.data), 0) as bytes, a.created_by, ${time('a.created_at')}
     from artifact a left join stream s on s.id = a.stream_id
     where a.episode_id = $1 order by a.created_at, a.id limit 1000`,
    [episodeId],
  );
  return rows;
}

export async function insertEpisode(db: Db, input: EpisodeInput): Promise<string> {
  const { rows } = await db.query<{ id: string }>(
    `insert into episode (organization_id, project_id, xuser_id, stream_id, kind, title, status, severity, started_at, ended_at, summary, created_by)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) returning id`,
    [
      input.orgId,
      input.projectId,
      input.subjectId,
      input.streamId,
      input.kind,
      input.title,
      input.status,
      input.severity,
      input.startedAt,
      input.endedAt,
      JSON.stringify(input.summary),
      input.createdBy,
    ],
  );
  return rows[0]?.id ?? '';
}

export type EpisodeChange = Readonly<{
  title?: string;
  status?: EpisodeStatus;
  severity?: EpisodeSeverity;
  ended_at?: string | null;
  summary?: object;
}>;

/** What an episode is after a change: an end closes an open one, closing ends it now, opening it again takes its end away.
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
    const nowMs = Math.max(Date.now(), Date.parse(episode.started_at));
    return { status, ended_at: given ?? episode.ended_at ?? new Date(nowMs).toISOString() };
  }
  return { status, ended_at: change.ended_at === undefined ? episode.ended_at : given };
}

/** What a new episode is: closed when it has an end, open when nothing is said. */
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

/** Changes what is given. Call it on a row that is locked; one that is opened again is to be acknowledged again. */
export async function updateEpisode(db: Db, episode: Episode, change: EpisodeChange): Promise<void> {
  const { status, ended_at: endedAt } = stateAfter(episode, change);
  await db.query(
    `update episode set
       title = coalesce($2, title),
       status = $3,
       severity = coalesce($4, severity),
       ended_at = $5::timestamptz,
       summary = coalesce($6::jsonb, summary),
       updated_at = now()
     where id = $1`,
    [
      episode.id,
      change.title ?? null,
      status,
      change.severity ?? null,
      endedAt,
      change.summary === undefined ? null : JSON.stringify(change.summary),
    ],
  );
  if (status === 'open' && episode.status !== 'open') await endAcknowledgement(db, episode.id);
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
  const { rows } = await db.query<{ id: string }>(
    `insert into artifact (episode_id, kind, title, starts_at, ends_at, stream_id, channel_code, media_type, content, data, created_by)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) returning id`,
    [
      input.episodeId,
      input.kind,
      input.title,
      input.startsAt,
      input.endsAt,
      input.streamId,
      input.channelCode,
      input.mediaType,
      JSON.stringify(input.content),
      input.data,
      input.createdBy,
    ],
  );
  return rows[0]?.id ?? '';
}

/** Bytes of an artifact that has some. */
export async function findArtifactData(
  db: Db,
  episodeId: string,
  id: string,
): Promise<Readonly<{ mediaType: string; data: Uint8Array | null; content: unknown }> | null> {
  const { rows } = await db.query<{ media_type: string; data: Buffer | null; content: unknown }>(
    'select media_type, data, content from artifact where episode_id = $1 and id = $2',
    [episodeId, id],
  );
  const row = rows[0];
  return row === undefined ? null : { mediaType: row.media_type, data: row.data, content: row.content };
}

/** Length of the strip that goes with a new episode. */
export const STRIP_SEC = 10;

/** Adds the strip of an episode's beginning: which samples, not the samples. They are drawn when it is looked at, late ones included.
 *  @param strip start and end of the episode, RFC 3339; without an end, or with one at once, the whole STRIP_SEC */
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
