/** Episodes: stretches of time that matter (a recording, an exercise, an alert), with what belongs to them. */
import type { Db } from '../auth/api-keys.ts';

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
  /** Start time and id of the last episode of the page before. */
  before: readonly [string, string] | null;
  limit: number;
}>;

const time = (column: string): string => `to_json(${column}) #>> '{}' as ${column.replace(/^.*\./, '')}`;

const columns = `e.id, e.xuser_id as subject_id, s.uuid as stream_id, e.kind, e.title, e.status, e.severity, ${time('e.started_at')},
  ${time('e.ended_at')}, e.summary, e.created_by, ${time('e.created_at')}, ${time('e.updated_at')},
  (select count(*)::integer from artifact a where a.episode_id = e.id) as artifact_count`;

/** Episodes of one user that overlap [since, until), the latest start first. */
export async function listEpisodes(db: Db, filter: EpisodeFilter): Promise<readonly Episode[]> {
  const { rows } = await db.query<Episode>(
    `select ${columns} from episode e left join stream s on s.id = e.stream_id
     where e.organization_id = $1 and e.xuser_id = $2
       and ($3::timestamptz is null or coalesce(e.ended_at, 'infinity') >= $3)
       and ($4::timestamptz is null or e.started_at < $4)
       and ($5::text is null or e.kind = $5)
       and ($6::text is null or e.status = $6)
       and ($7::timestamptz is null or (e.started_at, e.id) < ($7::timestamptz, $8::uuid))
     order by e.started_at desc, e.id desc
     limit $9`,
    [
      filter.orgId,
      filter.subjectId,
      filter.since,
      filter.until,
      filter.kind,
      filter.status,
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
    `select ${columns} from episode e left join stream s on s.id = e.stream_id
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

/** Changes what is given. A closed episode without an end ends now. */
export async function updateEpisode(db: Db, id: string, change: EpisodeChange): Promise<void> {
  await db.query(
    `update episode set
       title = coalesce($2, title),
       status = coalesce($3, status),
       severity = coalesce($4, severity),
       ended_at = case when $5 then $6::timestamptz when $3 = 'closed' and ended_at is null then greatest(now(), started_at) else ended_at end,
       summary = coalesce($7::jsonb, summary),
       updated_at = now()
     where id = $1`,
    [
      id,
      change.title ?? null,
      change.status ?? null,
      change.severity ?? null,
      change.ended_at !== undefined,
      change.ended_at ?? null,
      change.summary === undefined ? null : JSON.stringify(change.summary),
    ],
  );
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
