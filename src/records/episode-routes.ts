/** Episodes: list, read with artifacts, create, change; add an artifact and fetch its bytes. */
import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import type { Pool } from 'pg';
import { answerOnce } from '../auth/answer-once.ts';
import { emitEvent } from '../auth/events.ts';
import type { Db } from '../auth/api-keys.ts';
import { orgOf, ownStream, ownSubject, ownSubjectOf, projectOf } from '../auth/ownership.ts';
import { PipelineError } from '../errors.ts';
import { nextLink } from '../http/cursor.ts';
import type { Cursors } from '../http/cursor.ts';
import { callerKey } from '../http/request.ts';
import { checkIfMatch } from '../http/precondition.ts';
import type { Caller, Reply, Route } from '../http/route.ts';
import { CursorQuery, exactly, LimitQuery, nullable, OneLine, oneOf, Timestamp, Uuid } from '../http/schemas.ts';
import { transaction } from '../storage/transaction.ts';
import {
  episodeSeverities,
  episodeStatuses,
  findArtifactData,
  findEpisode,
  insertArtifact,
  insertEpisode,
  insertStrip,
  listArtifacts,
  listEpisodes,
  STRIP_SEC,
  updateEpisode,
} from './episodes.ts';
import type { Artifact, Episode, EpisodeChange, EpisodeSeverity, EpisodeStatus } from './episodes.ts';

const ARTIFACT_BYTES_MAX = 2 * 1024 * 1024;

const Kind = Type.String({
  pattern: '^[a-z][a-z0-9_.-]{0,62}$',
  description: 'e.g. recording, exercise, sleep, alert, event, tachycardia',
});
const Summary = Type.Record(Type.String(), Type.Unknown(), { description: 'What is known of it: numbers, texts.' });
const Title = OneLine(200);

const episodeMembers = {
  id: Uuid,
  subject_id: Uuid,
  stream_id: nullable(Uuid),
  kind: Type.String(),
  title: Type.String(),
  status: oneOf(episodeStatuses),
  severity: oneOf(episodeSeverities),
  started_at: Timestamp,
  ended_at: nullable(Timestamp),
  summary: Type.Record(Type.String(), Type.Unknown()),
  created_by: Type.String({ description: 'key:<id>, operator:<id>, device:<id>, rule:<name> …' }),
  created_at: Timestamp,
  updated_at: Timestamp,
  artifact_count: Type.Integer(),
};
export const EpisodeSchema = exactly(episodeMembers);
const ArtifactSchema = exactly({
  id: Uuid,
  kind: Type.String({ description: 'annotation, strip, report, note, file' }),
  title: Type.String(),
  starts_at: nullable(Timestamp),
  ends_at: nullable(Timestamp),
  stream_id: nullable(Uuid),
  channel_code: nullable(Type.String()),
  media_type: Type.String(),
  content: Type.Unknown(),
  bytes: Type.Integer({ description: 'Size of its data; 0: it is all in content.' }),
  href: Type.String({ description: 'Address of its data.' }),
  renditions: exactly(
    {
      svg: Type.Optional(Type.String()),
      png: Type.Optional(Type.String()),
      csv: Type.Optional(Type.String()),
      wfdb: Type.Optional(Type.String()),
    },
    { description: 'Of a strip: addresses of its picture and of its samples, drawn from what is stored. Empty for other artifacts.' },
  ),
  created_by: Type.String(),
  created_at: Timestamp,
});
export const EpisodeDetailSchema = exactly({ ...episodeMembers, artifacts: Type.Array(ArtifactSchema) });

const EpisodeBody = exactly({
  subject_id: Type.String({ minLength: 1, maxLength: 255 }),
  stream_id: Type.Optional(Uuid),
  kind: Kind,
  title: Type.Optional(Title),
  status: Type.Optional(oneOf(episodeStatuses)),
  severity: Type.Optional(oneOf(episodeSeverities)),
  started_at: Timestamp,
  ended_at: Type.Optional(nullable(Timestamp)),
  summary: Type.Optional(Summary),
});
const EpisodePatch = exactly({
  title: Type.Optional(Title),
  status: Type.Optional(oneOf(episodeStatuses)),
  severity: Type.Optional(oneOf(episodeSeverities)),
  ended_at: Type.Optional(nullable(Timestamp)),
  summary: Type.Optional(Summary),
});
const ArtifactBody = exactly({
  kind: Kind,
  title: Type.Optional(Title),
  starts_at: Type.Optional(Timestamp),
  ends_at: Type.Optional(Timestamp),
  stream_id: Type.Optional(Uuid),
  channel_code: Type.Optional(Type.String({ maxLength: 32 })),
  media_type: Type.Optional(
    oneOf(['application/json', 'text/plain', 'text/csv', 'image/svg+xml', 'image/png', 'application/pdf', 'application/zip']),
  ),
  content: Type.Optional(Type.Unknown()),
  data_base64: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9+/]*={0,2}$', maxLength: Math.ceil((ARTIFACT_BYTES_MAX * 4) / 3) + 4 })),
});

export function episodeRoutes(deps: Readonly<{ db: Pool; cursors: Cursors }>): readonly Route[] {
  const { db, cursors } = deps;
  const query: Record<string, TSchema> = {
    subject_id: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Required with an organization key.' })),
    since: Type.Optional(Timestamp),
    until: Type.Optional(Timestamp),
    kind: Type.Optional(Kind),
    status: Type.Optional(oneOf(episodeStatuses)),
    limit: LimitQuery(100, 1000),
    cursor: CursorQuery,
  };
  const found = async (caller: Caller, id: string, on: Db = db): Promise<Episode> => {
    const episode = await findEpisode(on, orgOf(caller), ownSubjectOf(caller), projectOf(caller), id);
    if (episode === null) throw new PipelineError('not_found', 'There is no such episode.');
    await ownSubject(on, caller, episode.subject_id); // consent
    return episode;
  };
  const detail = async (caller: Caller, id: string, on: Db = db): Promise<Episode & { artifacts: readonly object[] }> => {
    const episode = await found(caller, id, on);
    const artifacts = await listArtifacts(on, id);
    return {
      ...episode,
      artifacts: artifacts.map((artifact) => ({
        ...artifact,
        href: `/api/v1/episodes/${id}/artifacts/${artifact.id}`,
        renditions: renditionsOf(artifact),
      })),
    };
  };
  return [
    {
      method: 'GET',
      path: '/api/v1/episodes',
      operationId: 'listEpisodes',
      tag: 'Episodes',
      summary: 'List the episodes of a user',
      description: 'Those that overlap [since, until), the latest start first.',
      access: { key: 'read', userToken: 'own', operator: 'viewer' },
      query,
      responses: { 200: { description: 'Episodes.', schema: Type.Array(EpisodeSchema), headers: ['Link'] } },
      errors: ['not_found', 'cursor_invalid'],
      handler: async ({ caller, query: given }) => {
        const filter = given as {
          subject_id?: string;
          since?: string;
          until?: string;
          kind?: string;
          status?: string;
          limit: number;
          cursor?: string;
        };
        const subject = await ownSubject(db, caller, filter.subject_id ?? '');
        const scope = ['episodes', subject.id, filter.since ?? '', filter.until ?? '', filter.kind ?? '', filter.status ?? ''].join(' ');
        const key = filter.cursor === undefined ? null : cursors.open(scope, filter.cursor);
        const rows = await listEpisodes(db, {
          orgId: subject.orgId,
          subjectId: subject.id,
          since: filter.since ?? null,
          until: filter.until ?? null,
          kind: filter.kind ?? null,
          status: filter.status ?? null,
          before: key === null ? null : [String(key[0]), String(key[1])],
          limit: filter.limit + 1,
        });
        const page = rows.slice(0, filter.limit);
        const last = page.at(-1);
        const headers: Record<string, string> = {};
        if (rows.length > page.length && last !== undefined) {
          headers['link'] = nextLink('/api/v1/episodes', given, cursors.seal(scope, [last.started_at, last.id]));
        }
        return { status: 200, json: page, headers };
      },
    },
    {
      method: 'POST',
      path: '/api/v1/episodes',
      operationId: 'createEpisode',
      tag: 'Episodes',
      summary: 'Create an episode',
      description: `With a stream it gets a strip artifact of its first ${STRIP_SEC} s.`,
      access: { key: 'write', operator: 'editor' },
      body: EpisodeBody,
      idempotent: true,
      responses: { 201: { description: 'The episode.', schema: EpisodeDetailSchema, headers: ['Location'] } },
      errors: ['not_found'],
      handler: async (request) => {
        const { caller, body } = request;
        const input = body as {
          subject_id: string;
          stream_id?: string;
          kind: string;
          title?: string;
          status?: EpisodeStatus;
          severity?: EpisodeSeverity;
          started_at: string;
          ended_at?: string | null;
          summary?: object;
        };
        const subject = await ownSubject(db, caller, input.subject_id);
        const stream = input.stream_id === undefined ? null : await ownStream(db, caller, input.stream_id);
        if (stream !== null && stream.subjectId !== subject.id) throw new PipelineError('not_found', 'There is no such stream.');
        checkOrder(input.started_at, input.ended_at ?? null);
        return await answerOnce(db, request, { operationId: 'createEpisode', subjectId: subject.id }, async (client) => {
          const id = await insertEpisode(client, {
            orgId: subject.orgId,
            projectId: subject.projectId,
            subjectId: subject.id,
            streamId: stream?.id ?? null,
            kind: input.kind,
            title: input.title ?? '',
            status: input.status ?? ((input.ended_at ?? null) === null ? 'open' : 'closed'),
            severity: input.severity ?? 'none',
            startedAt: input.started_at,
            endedAt: input.ended_at ?? null,
            summary: input.summary ?? {},
            createdBy: callerKey(caller),
          });
          if (stream !== null) {
            await insertStrip(client, {
              episodeId: id,
              streamId: stream.id,
              start: input.started_at,
              end: input.ended_at ?? null,
              by: callerKey(caller),
            });
          }
          await emitEvent(client, subject, 'episode.created', {
            episode_id: id,
            subject_id: subject.id,
            kind: input.kind,
            severity: input.severity ?? 'none',
          });
          return { status: 201, json: await detail(caller, id, client), headers: { location: `/api/v1/episodes/${id}` } };
        });
      },
    },
    {
      method: 'GET',
      path: '/api/v1/episodes/{id}',
      operationId: 'getEpisode',
      tag: 'Episodes',
      summary: 'Read an episode with its artifacts',
      access: { key: 'read', userToken: 'own', operator: 'viewer' },
      params: { id: Uuid },
      responses: { 200: { description: 'The episode.', schema: EpisodeDetailSchema, headers: ['ETag'] } },
      errors: ['not_found'],
      handler: async ({ caller, params }) => tagged(await detail(caller, params['id'] ?? '')),
    },
    {
      method: 'PATCH',
      path: '/api/v1/episodes/{id}',
      operationId: 'updateEpisode',
      tag: 'Episodes',
      summary: 'Change or close an episode',
      access: { key: 'write', operator: 'editor' },
      params: { id: Uuid },
      body: EpisodePatch,
      responses: { 200: { description: 'The episode as it is now.', schema: EpisodeDetailSchema, headers: ['ETag'] } },
      errors: ['not_found', 'precondition_failed', 'precondition_required'],
      handler: async (request) => {
        const { caller, params, body } = request;
        const episode = await found(caller, params['id'] ?? '');
        const change = body as EpisodeChange;
        checkOrder(episode.started_at, change.ended_at ?? null);
        const subject = await ownSubject(db, caller, episode.subject_id);
        return await transaction(db, async (client) => {
          await client.query('select 1 from episode where id = $1 for no key update', [episode.id]);
          checkIfMatch(request, tagOf(await found(caller, episode.id, client)));
          await updateEpisode(client, episode.id, change);
          await emitEvent(client, subject, 'episode.updated', { episode_id: episode.id, subject_id: subject.id, kind: episode.kind });
          return tagged(await detail(caller, episode.id, client));
        });
      },
    },
    {
      method: 'POST',
      path: '/api/v1/episodes/{id}/artifacts',
      operationId: 'addArtifact',
      tag: 'Episodes',
      summary: 'Add an artifact to an episode',
      access: { key: 'write', operator: 'editor' },
      params: { id: Uuid },
      body: ArtifactBody,
      bodyBytesMax: 2 * ARTIFACT_BYTES_MAX,
      idempotent: true,
      responses: { 201: { description: 'The episode with it.', schema: EpisodeDetailSchema } },
      errors: ['not_found'],
      handler: async (request) => {
        const { caller, params, body } = request;
        const input = body as {
          kind: string;
          title?: string;
          starts_at?: string;
          ends_at?: string;
          stream_id?: string;
          channel_code?: string;
          media_type?: string;
          content?: unknown;
          data_base64?: string;
        };
        const episode = await found(caller, params['id'] ?? '');
        const stream = input.stream_id === undefined ? null : await ownStream(db, caller, input.stream_id);
        if (stream !== null && stream.subjectId !== episode.subject_id) throw new PipelineError('not_found', 'There is no such stream.');
        if (input.starts_at !== undefined) checkOrder(input.starts_at, input.ends_at ?? null);
        const subject = await ownSubject(db, caller, episode.subject_id);
        return await answerOnce(db, request, { operationId: 'addArtifact', subjectId: subject.id }, async (client) => {
          const artifactId = await insertArtifact(client, {
            episodeId: episode.id,
            kind: input.kind,
            title: input.title ?? '',
            startsAt: input.starts_at ?? null,
            endsAt: input.ends_at ?? null,
            streamId: stream?.id ?? null,
            channelCode: input.channel_code ?? null,
            mediaType: input.media_type ?? 'application/json',
            content: input.content ?? {},
            data: input.data_base64 === undefined ? null : Buffer.from(input.data_base64, 'base64'),
            createdBy: callerKey(caller),
          });
          await emitEvent(client, subject, 'artifact.created', {
            artifact_id: artifactId,
            episode_id: episode.id,
            subject_id: subject.id,
            kind: input.kind,
          });
          return { status: 201, json: await detail(caller, episode.id, client) };
        });
      },
    },
    {
      method: 'GET',
      path: '/api/v1/episodes/{id}/artifacts/{artifactId}',
      operationId: 'getArtifact',
      tag: 'Episodes',
      summary: 'Fetch the data of an artifact',
      access: { key: 'read', userToken: 'own', operator: 'viewer' },
      params: { id: Uuid, artifactId: Uuid },
      responses: { 200: { description: 'Its data, in its own media type.', contentType: '*/*' } },
      errors: ['not_found'],
      handler: async ({ caller, params }) => {
        const episode = await found(caller, params['id'] ?? '');
        const artifact = await findArtifactData(db, episode.id, params['artifactId'] ?? '');
        if (artifact === null) throw new PipelineError('not_found', 'There is no such artifact.');
        if (artifact.data === null) return { status: 200, json: artifact.content };
        // Uploaded bytes are never rendered in the service's own origin: an SVG can hold scripts.
        const headers = { 'content-disposition': 'attachment', 'content-security-policy': "default-src 'none'; sandbox" };
        return { status: 200, bytes: artifact.data, contentType: artifact.mediaType, headers };
      },
    },
  ];
}

function tagOf({ updated_at: updatedAt }: Episode): string {
  return `"${updatedAt}"`;
}

function tagged(episode: Episode): Reply {
  return { status: 200, json: episode, headers: { etag: tagOf(episode) } };
}

const stripFormats = ['svg', 'png', 'csv', 'wfdb'] as const;

function renditionsOf({ kind, stream_id: streamId, starts_at: since, ends_at: until, channel_code: channel }: Artifact): object {
  if (kind !== 'strip' || streamId === null || since === null || until === null || since === until) return {};
  const at = (format: string): string => {
    const query = new URLSearchParams({ since, until, ...(channel === null ? {} : { channel }), format });
    return `/api/v1/streams/${streamId}/strip?${query.toString()}`;
  };
  return Object.fromEntries(stripFormats.map((format) => [format, at(format)]));
}

function checkOrder(start: string, end: string | null): void {
  if (end === null || Date.parse(end) >= Date.parse(start)) return;
  throw new PipelineError('validation_failed', '/ended_at: lies before the start', {
    errors: [{ pointer: '/ended_at', code: 'order', detail: 'lies before the start' }],
  });
}
