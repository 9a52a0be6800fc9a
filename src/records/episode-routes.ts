/** Episodes: list, read with artifacts, create, change; add an artifact and fetch its bytes. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Pool } from 'pg';
import { answerOnce } from '../tenancy/answer-once.ts';
import { audit } from '../tenancy/audit.ts';
import { emitEvent } from '../tenancy/events.ts';
import { ownStream, ownSubject } from '../tenancy/record-ownership.ts';
import { PipelineError } from '../errors.ts';
import type { Cursors } from '../http/cursor.ts';
import { callerKey } from '../http/request.ts';
import { checkIfMatch } from '../http/precondition.ts';
import { page, pageStart } from '../http/page.ts';
import { writeJson } from '../http/json.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { CursorQuery, exactly, LimitQuery, nullable, OneLine, oneOf, Timestamp, Uuid } from '../http/schemas.ts';
import { microsecondsOf } from '../http/times.ts';
import { transaction } from '../storage/database/transaction.ts';
import { checkNear, checkNotAhead } from './near-recording.ts';
import { EpisodeDetailSchema, EpisodeSchema, ownEpisode, ownEpisodeDetail, tagged, tagOf } from './episode-detail.ts';
import {
  episodeSeverities,
  episodeStatuses,
  findArtifactData,
  insertArtifact,
  insertEpisode,
  insertStrip,
  listEpisodes,
  lockEpisode,
  stateAtStart,
  STRIP_SEC,
  updateEpisode,
} from './episodes.ts';
import type { EpisodeChange } from './episodes.ts';

const ARTIFACT_BYTES_MAX = 2 * 1024 * 1024;

const Kind = Type.String({
  pattern: '^[a-z][a-z0-9_.-]{0,62}$',
  description: 'e.g. recording, exercise, sleep, alert, event, tachycardia',
});
const Summary = Type.Record(Type.String(), Type.Unknown(), { description: 'What is known of it: numbers, texts.' });
const Title = OneLine(200);

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
  data_base64: Type.Optional(
    Type.String({ minLength: 1, pattern: '^[A-Za-z0-9+/]*={0,2}$', maxLength: Math.ceil((ARTIFACT_BYTES_MAX * 4) / 3) + 4 }),
  ),
});

type Deps = Readonly<{ db: Pool; cursors: Cursors }>;

const listEpisodesRoute = ({ db, cursors }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/episodes',
    operationId: 'listEpisodes',
    tag: 'Episodes',
    summary: 'List the episodes of a user',
    description: 'Those that overlap [since, until), the latest start first.',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    query: {
      subject_id: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Required with an organization key.' })),
      since: Type.Optional(Timestamp),
      until: Type.Optional(Timestamp),
      kind: Type.Optional(Kind),
      status: Type.Optional(oneOf(episodeStatuses)),
      acknowledged: Type.Optional(Type.Boolean()),
      limit: LimitQuery(100, 1000),
      cursor: CursorQuery,
    },
    responses: { 200: { description: 'Episodes.', schema: Type.Array(EpisodeSchema), headers: ['Link'] } },
    errors: ['not_found', 'cursor_invalid'],
    handler: async ({ caller, query }) => {
      const subject = await ownSubject(db, caller, query.subject_id ?? '');
      const { since = '', until = '', kind = '', status = '', acknowledged = '' } = query;
      const scope = ['episodes', subject.id, since, until, kind, status, acknowledged].join(' ');
      const list = { cursors, path: '/api/v1/episodes', scope, query };
      const key = pageStart(list);
      const rows = await listEpisodes(db, {
        orgId: subject.orgId,
        subjectId: subject.id,
        since: query.since ?? null,
        until: query.until ?? null,
        kind: query.kind ?? null,
        status: query.status ?? null,
        acknowledged: query.acknowledged ?? null,
        before: key === null ? null : [String(key[0]), String(key[1])],
        limit: query.limit + 1,
      });
      const { items, headers } = page(list, rows, (last) => [last.started_at, last.id]);
      return { status: 200, json: items, headers };
    },
  });

const createEpisode = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/episodes',
    operationId: 'createEpisode',
    tag: 'Episodes',
    summary: 'Create an episode',
    description: `With a stream it gets a strip artifact of its first ${STRIP_SEC} s, and lies on the recording or within a day of it. Times of the future are refused, unless they lie on the recording.`,
    access: { key: 'write', operator: 'editor' },
    body: EpisodeBody,
    idempotent: true,
    responses: { 201: { description: 'The episode.', schema: EpisodeDetailSchema, headers: ['Location'] } },
    errors: ['consent_missing', 'not_found'],
    handler: async (request) => {
      const { caller, body } = request;
      const subject = await ownSubject(db, caller, body.subject_id);
      const stream = body.stream_id === undefined ? null : await ownStream(db, caller, body.stream_id);
      if (stream !== null && stream.subjectId !== subject.id) throw new PipelineError('not_found', 'There is no such stream.');
      await checkNotAhead(db, stream?.id ?? null, { '/started_at': body.started_at, '/ended_at': body.ended_at ?? null });
      checkOrder(body.started_at, body.ended_at ?? null);
      const { status, ended_at: endedAt } = stateAtStart(body);
      if (stream !== null) await checkNear(db, stream.id, { startsAt: body.started_at, endsAt: body.ended_at ?? null }, '/started_at');
      return await answerOnce(db, request, { operationId: 'createEpisode', subjectId: subject.id }, async (client) => {
        const id = await insertEpisode(client, {
          orgId: subject.orgId,
          projectId: subject.projectId,
          subjectId: subject.id,
          streamId: stream?.id ?? null,
          kind: body.kind,
          title: body.title ?? '',
          status,
          severity: body.severity ?? 'none',
          startedAt: body.started_at,
          endedAt,
          summary: body.summary ?? {},
          createdBy: callerKey(caller),
        });
        if (stream !== null) {
          await insertStrip(client, {
            episodeId: id,
            streamId: stream.id,
            start: body.started_at,
            end: body.ended_at ?? null,
            by: callerKey(caller),
          });
        }
        await emitEvent(client, subject, 'episode.created', {
          episode_id: id,
          subject_id: subject.id,
          kind: body.kind,
          severity: body.severity ?? 'none',
          started_at: body.started_at,
        });
        return { status: 201, json: await ownEpisodeDetail(client, caller, id), headers: { location: `/api/v1/episodes/${id}` } };
      });
    },
  });

const getEpisode = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/episodes/{id}',
    operationId: 'getEpisode',
    tag: 'Episodes',
    summary: 'Read an episode with its artifacts',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    params: { id: Uuid },
    responses: { 200: { description: 'The episode.', schema: EpisodeDetailSchema, headers: ['ETag'] } },
    errors: ['not_found'],
    handler: async ({ caller, params }) => tagged(await ownEpisodeDetail(db, caller, params.id)),
  });

const updateEpisodeRoute = ({ db }: Deps) =>
  defineRoute({
    method: 'PATCH',
    path: '/api/v1/episodes/{id}',
    operationId: 'updateEpisode',
    tag: 'Episodes',
    summary: 'Change, close or open an episode',
    description:
      'An end closes an open episode; closed without an end, it ends now. Opened again, it has no end and is to be acknowledged again.',
    access: { key: 'write', operator: 'editor' },
    params: { id: Uuid },
    body: EpisodePatch,
    responses: { 200: { description: 'The episode as it is now.', schema: EpisodeDetailSchema, headers: ['ETag'] } },
    errors: ['consent_missing', 'not_found', 'precondition_failed', 'precondition_required'],
    handler: async (request) => {
      const { caller, params, body } = request;
      const episode = await ownEpisode(db, caller, params.id);
      const stream = episode.stream_id === null ? null : await ownStream(db, caller, episode.stream_id);
      await checkNotAhead(db, stream?.id ?? null, { '/ended_at': body.ended_at ?? null });
      checkOrder(episode.started_at, body.ended_at ?? null);
      const subject = await ownSubject(db, caller, episode.subject_id);
      return await transaction(db, async (client) => {
        await lockEpisode(client, episode.id);
        const before = await ownEpisode(client, caller, episode.id);
        checkIfMatch(request, tagOf(before));
        await updateEpisode(client, before, body);
        await audit(client, request, { action: 'episode.updated', targetKind: 'episode', targetId: episode.id, detail: stateOf(body) });
        await emitEvent(client, subject, 'episode.updated', { episode_id: episode.id, subject_id: subject.id, kind: episode.kind });
        return tagged(await ownEpisodeDetail(client, caller, episode.id));
      });
    },
  });

const addArtifact = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/episodes/{id}/artifacts',
    operationId: 'addArtifact',
    tag: 'Episodes',
    summary: 'Add an artifact to an episode',
    description:
      'It has content (JSON) or data_base64 (a file of media_type), not both; one that its title says, or its place on a recording (stream_id, ' +
      'starts_at), needs neither.',
    access: { key: 'write', operator: 'editor' },
    params: { id: Uuid },
    body: ArtifactBody,
    bodyBytesMax: 2 * ARTIFACT_BYTES_MAX,
    idempotent: true,
    responses: { 201: { description: 'The episode with it.', schema: EpisodeDetailSchema } },
    errors: ['consent_missing', 'not_found'],
    handler: async (request) => {
      const { caller, params, body } = request;
      const data = dataOf(body);
      const episode = await ownEpisode(db, caller, params.id);
      const stream = body.stream_id === undefined ? null : await ownStream(db, caller, body.stream_id);
      if (stream !== null && stream.subjectId !== episode.subject_id) throw new PipelineError('not_found', 'There is no such stream.');
      if (body.starts_at !== undefined) checkOrder(body.starts_at, body.ends_at ?? null);
      if (stream !== null && body.starts_at !== undefined)
        await checkNear(db, stream.id, { startsAt: body.starts_at, endsAt: body.ends_at ?? null }, '/starts_at');
      const subject = await ownSubject(db, caller, episode.subject_id);
      return await answerOnce(db, request, { operationId: 'addArtifact', subjectId: subject.id }, async (client) => {
        const artifactId = await insertArtifact(client, {
          episodeId: episode.id,
          kind: body.kind,
          title: body.title ?? '',
          startsAt: body.starts_at ?? null,
          endsAt: body.ends_at ?? null,
          streamId: stream?.id ?? null,
          channelCode: body.channel_code ?? null,
          mediaType: body.media_type ?? 'application/json',
          content: body.content ?? {},
          data,
          createdBy: callerKey(caller),
        });
        await emitEvent(client, subject, 'artifact.created', {
          artifact_id: artifactId,
          episode_id: episode.id,
          subject_id: subject.id,
          kind: body.kind,
        });
        return { status: 201, json: await ownEpisodeDetail(client, caller, episode.id) };
      });
    },
  });

const getArtifact = ({ db }: Deps) =>
  defineRoute({
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
      const episode = await ownEpisode(db, caller, params.id);
      const artifact = await findArtifactData(db, episode.id, params.artifactId);
      if (artifact === null) throw new PipelineError('not_found', 'There is no such artifact.');
      if (artifact.data === null) return { status: 200, text: writeJson(artifact.content), contentType: 'application/json' };
      // Uploaded bytes are never rendered in the service's own origin: an SVG can hold scripts.
      const headers = { 'content-disposition': 'attachment', 'content-security-policy': "default-src 'none'; sandbox" };
      return { status: 200, bytes: artifact.data, contentType: artifact.mediaType, headers };
    },
  });

/** The state of an episode for the audit log, without free text. */
function stateOf({ status, severity, ended_at }: EpisodeChange): object {
  return { ...(status && { status }), ...(severity && { severity }), ...(ended_at !== undefined && { ended_at }) };
}

/** The bytes of an artifact's file; null: it has none.  @throws PipelineError validation_failed: it holds two things, or a part of one */
function dataOf({ content, data_base64: text }: Static<typeof ArtifactBody>): Buffer | null {
  if (text === undefined) return null;
  const wrong = (pointer: string, code: string, detail: string): PipelineError =>
    new PipelineError('validation_failed', `${pointer}: ${detail}`, { errors: [{ pointer, code, detail }] });
  if (content !== undefined) throw wrong('/data_base64', 'exclusive', 'goes without content: an artifact has one or the other');
  const digits = text.replace(/=+$/, '').length;
  const isWhole = digits % 4 !== 1 && (digits === text.length || text.length % 4 === 0);
  if (!isWhole || digits === 0) throw wrong('/data_base64', 'base64', 'is no base64 of whole bytes');
  return Buffer.from(text, 'base64');
}

function checkOrder(start: string, end: string | null): void {
  if (end === null || microsecondsOf(end) >= microsecondsOf(start)) return;
  throw new PipelineError('validation_failed', '/ended_at: lies before the start', {
    errors: [{ pointer: '/ended_at', code: 'order', detail: 'lies before the start' }],
  });
}

export const episodeRoutes = (deps: Deps): readonly Route[] => [
  listEpisodesRoute(deps),
  createEpisode(deps),
  getEpisode(deps),
  updateEpisodeRoute(deps),
  addArtifact(deps),
  getArtifact(deps),
];
