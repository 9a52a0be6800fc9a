/** Annotations: list, mark, read with every version, change, take back. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Pool } from 'pg';
import { PipelineError } from '../errors.ts';
import type { Caller } from '../caller.ts';
import type { Cursors } from '../http/cursor.ts';
import { page, pageStart } from '../http/page.ts';
import { checkIfMatch, etagOf } from '../http/precondition.ts';
import { callerKey } from '../http/request.ts';
import { defineRoute } from '../http/route.ts';
import type { JsonReply, RequestContext, Route } from '../http/route.ts';
import { CursorQuery, exactly, LimitQuery, nullable, oneOf, Timestamp, Uuid } from '../http/schemas.ts';
import { microsecondsOf } from '../http/times.ts';
import { build, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import { transaction } from '../storage/database/transaction.ts';
import { answerOnce } from '../tenancy/answer-once.ts';
import { audit } from '../tenancy/audit.ts';
import { ownStream, ownSubject } from '../tenancy/record-ownership.ts';
import type { OwnedStream } from '../tenancy/record-ownership.ts';
import {
  annotationKinds,
  correctedBeats,
  findAnnotation,
  insertAnnotation,
  isCorrected,
  listAnnotations,
  listVersions,
  lockAnnotation,
  lockCorrections,
  replaceAnnotation,
} from './annotations.ts';
import { checkNear, checkNotAhead } from './near-recording.ts';
import type { Annotation, AnnotationContent, AnnotationPlace } from './annotations.ts';
import { callerName } from './caller-name.ts';

const Channel = Type.String({ minLength: 1, maxLength: 32, description: 'Code of a channel of the recording; null: all of them.' });
const Text = Type.String({ maxLength: 2000 });
const BeatKind = oneOf(correctedBeats, {
  description: 'Of kind beat, and of no other: what the beat is (AAMI EC57), or none: what was found there is no beat.',
});

const members = {
  id: Uuid,
  version: Type.Integer({ minimum: 1 }),
  subject_id: Uuid,
  stream_id: Uuid,
  channel: nullable(Channel),
  kind: oneOf(annotationKinds),
  starts_at: Timestamp,
  ends_at: nullable(Type.String({ format: 'date-time', description: 'null: a moment.' })),
  beat: nullable(BeatKind),
  text: Text,
  made_by: Type.String({ description: 'Who made this version: key:<id> or operator:<id>' }),
  made_by_name: nullable(Type.String({ description: 'Of the key or the operator, as it was then.' })),
  made_at: Timestamp,
  deleted: Type.Boolean({ description: 'This version takes the annotation back.' }),
};
const AnnotationSchema = exactly(members);
const DetailSchema = exactly({ ...members, versions: Type.Array(exactly(members), { description: 'Every version, the newest first.' }) });

const AnnotationBody = exactly({
  stream_id: Uuid,
  channel: Type.Optional(nullable(Channel)),
  kind: oneOf(annotationKinds),
  starts_at: Timestamp,
  ends_at: Type.Optional(nullable(Timestamp)),
  beat: Type.Optional(nullable(BeatKind)),
  text: Type.Optional(Text),
});
const AnnotationPatch = exactly({
  channel: Type.Optional(nullable(Channel)),
  kind: Type.Optional(oneOf(annotationKinds)),
  starts_at: Type.Optional(Timestamp),
  ends_at: Type.Optional(nullable(Timestamp)),
  beat: Type.Optional(nullable(BeatKind)),
  text: Type.Optional(Text),
});

const FirstHeader = Type.Optional(
  Type.Literal('*', {
    description:
      'Of kind beat, and of no other: 412 where the beat has a correction of the same channel, or of all channels as this one. Of two ' +
      'first ones at once, one is made.',
  }),
);

type Deps = Readonly<{ db: Pool; cursors: Cursors }>;
type Detail = Readonly<Static<typeof DetailSchema>>;

const listAnnotationsRoute = ({ db, cursors }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/annotations',
    operationId: 'listAnnotations',
    tag: 'Annotations',
    summary: 'List what was marked on recordings',
    description: 'Annotations of a person, or of one recording, that overlap [since, until), by their start, in their newest version.',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    query: {
      subject_id: Type.Optional(
        Type.String({ minLength: 1, maxLength: 255, description: 'Required with an organization key, without stream_id.' }),
      ),
      stream_id: Type.Optional(Uuid),
      since: Type.Optional(Timestamp),
      until: Type.Optional(Timestamp),
      kind: Type.Optional(oneOf(annotationKinds)),
      limit: LimitQuery(500, 1000),
      cursor: CursorQuery,
    },
    responses: { 200: { description: 'Annotations.', schema: Type.Array(AnnotationSchema), headers: ['Link'] } },
    errors: ['not_found', 'cursor_invalid'],
    handler: async ({ caller, query }) => {
      const stream = query.stream_id === undefined ? null : await ownStream(db, caller, query.stream_id);
      const wanted = query.subject_id ?? stream?.subjectId ?? '';
      const subject = await ownSubject(db, caller, wanted);
      if (stream !== null && stream.subjectId !== subject.id) throw new PipelineError('not_found', 'There is no such stream.');
      const { since = '', until = '', kind = '' } = query;
      const scope = ['annotations', subject.id, stream?.uuid ?? '', since, until, kind].join(' ');
      const list = { cursors, path: '/api/v1/annotations', scope, query };
      const key = pageStart(list);
      const rows = await listAnnotations(db, {
        subjectId: subject.id,
        streamId: stream?.id ?? null,
        since: query.since ?? null,
        until: query.until ?? null,
        kind: query.kind ?? null,
        after: key === null ? null : [String(key[0]), String(key[1])],
        limit: query.limit + 1,
      });
      const { items, headers } = page(list, rows, (last) => [last.starts_at, last.id]);
      return { status: 200, json: items, headers };
    },
  });

const createAnnotation = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/annotations',
    operationId: 'createAnnotation',
    tag: 'Annotations',
    summary: 'Mark a moment or a stretch of a recording, or correct a beat',
    description:
      'It lies on the recording, or within a day of it. A correction says what the beat nearest to starts_at is, within 150 ms; where none ' +
      'was found, that one is there. What was computed stays as it is: GET /streams/{streamId}/corrections has the values of both.',
    access: { key: 'write', operator: 'editor' },
    headers: { 'If-None-Match': FirstHeader },
    body: AnnotationBody,
    idempotent: true,
    responses: { 201: { description: 'The annotation.', schema: DetailSchema, headers: ['Location', 'ETag'] } },
    errors: ['consent_missing', 'not_found', 'precondition_failed'],
    handler: async (request) => {
      const { caller, body } = request;
      const isFirst = isFirstOnly(request);
      const stream = await ownStream(db, caller, body.stream_id);
      const content: AnnotationContent = {
        channel: body.channel ?? null,
        kind: body.kind,
        startsAt: body.starts_at,
        endsAt: body.ends_at ?? null,
        beat: body.beat ?? null,
        text: body.text ?? '',
      };
      check(content);
      await checkPlace(db, stream.id, content);
      if (content.channel !== null) await checkChannel(db, stream.id, content.channel);
      return await answerOnce(db, request, { operationId: 'createAnnotation', subjectId: stream.subjectId }, async (client) => {
        if (content.kind === 'beat') {
          await lockCorrections(client, stream.id);
          if (isFirst && (await isCorrected(client, stream.id, content))) {
            throw new PipelineError('precondition_failed', 'Someone else has corrected this beat. Nothing was saved: read it and decide.');
          }
        }
        const author = { by: callerKey(caller), name: await callerName(client, caller) };
        const id = await insertAnnotation(client, placeOf(stream), author, content);
        await noteChange(client, request, { action: 'annotation.created', id, content });
        const { json, headers } = tagged(await detailOf(client, caller, id));
        return { status: 201, json, headers: { ...headers, location: `/api/v1/annotations/${id}` } };
      });
    },
  });

const getAnnotation = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/annotations/{annotationId}',
    operationId: 'getAnnotation',
    tag: 'Annotations',
    summary: 'Read an annotation with every version',
    description: 'Also one that was taken back: its newest version says so.',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    params: { annotationId: Uuid },
    responses: { 200: { description: 'The annotation.', schema: DetailSchema, headers: ['ETag'] } },
    errors: ['not_found'],
    handler: async ({ caller, params }) => tagged(await detailOf(db, caller, params.annotationId)),
  });

const updateAnnotation = ({ db }: Deps) =>
  defineRoute({
    method: 'PATCH',
    path: '/api/v1/annotations/{annotationId}',
    operationId: 'updateAnnotation',
    tag: 'Annotations',
    summary: 'Change an annotation',
    description:
      'Adds a version. One that was taken back is there again; a correction is not, and is not moved to another beat, where that beat has ' +
      'another one (409).',
    access: { key: 'write', operator: 'editor' },
    params: { annotationId: Uuid },
    body: AnnotationPatch,
    responses: { 200: { description: 'The annotation as it is now.', schema: DetailSchema, headers: ['ETag'] } },
    errors: ['conflict', 'consent_missing', 'not_found', 'precondition_failed', 'precondition_required'],
    handler: async (request) => {
      const { caller, params, body } = request;
      return await transaction(db, async (client) => {
        const { before, stream } = await ownLocked(client, request, params.annotationId);
        const content: AnnotationContent = {
          channel: body.channel === undefined ? before.channel : body.channel,
          kind: body.kind ?? before.kind,
          startsAt: body.starts_at ?? before.starts_at,
          endsAt: body.ends_at === undefined ? before.ends_at : body.ends_at,
          beat: body.beat === undefined ? before.beat : body.beat,
          text: body.text ?? before.text,
        };
        check(content);
        const isMoved = content.startsAt !== before.starts_at || content.endsAt !== before.ends_at;
        if (isMoved) await checkPlace(client, stream.id, content);
        if (content.channel !== null && content.channel !== before.channel) await checkChannel(client, stream.id, content.channel);
        if (content.kind === 'beat' && !isSameCorrection(before, content)) await checkAlone(client, stream.id, content, before.id);
        const author = { by: callerKey(caller), name: await callerName(client, caller) };
        await replaceAnnotation(client, { ...before, deleted: false }, placeOf(stream), author, content);
        await noteChange(client, request, { action: 'annotation.updated', id: before.id, content });
        return tagged(await detailOf(client, caller, before.id));
      });
    },
  });

const deleteAnnotation = ({ db }: Deps) =>
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/annotations/{annotationId}',
    operationId: 'deleteAnnotation',
    tag: 'Annotations',
    summary: 'Take an annotation back',
    description: 'Its versions stay, and who took it back is one of them.',
    access: { key: 'write', operator: 'editor' },
    params: { annotationId: Uuid },
    responses: { 204: { description: 'Taken back.' } },
    errors: ['consent_missing', 'not_found', 'precondition_failed', 'precondition_required'],
    handler: async (request) => {
      const { caller, params } = request;
      await transaction(db, async (client) => {
        const { before, stream } = await ownLocked(client, request, params.annotationId);
        if (before.deleted) throw new PipelineError('not_found', 'There is no such annotation.');
        const content = { ...before, startsAt: before.starts_at, endsAt: before.ends_at };
        const author = { by: callerKey(caller), name: await callerName(client, caller) };
        await replaceAnnotation(client, { ...before, deleted: true }, placeOf(stream), author, content);
        await noteChange(client, request, { action: 'annotation.deleted', id: before.id, content });
      });
      return { status: 204 };
    },
  });

/** @throws PipelineError bad_request: another condition than `*`, or of what is no correction */
function isFirstOnly({ header, body }: Readonly<{ header: RequestContext['header']; body: Static<typeof AnnotationBody> }>): boolean {
  const given = header('if-none-match').trim();
  if (given === '') return false;
  if (given === '*' && body.kind === 'beat') return true;
  throw new PipelineError('bad_request', 'If-None-Match is * here, and for a correction of a beat.');
}

/** It is there and corrects the same beat: what else there is of that beat was there before. */
function isSameCorrection(before: Annotation, content: AnnotationContent): boolean {
  if (before.deleted || before.kind !== 'beat') return false;
  return before.channel === content.channel && microsecondsOf(before.starts_at) === microsecondsOf(content.startsAt);
}

/** @throws PipelineError conflict */
async function checkAlone(db: Db, streamId: number, content: AnnotationContent, id: string): Promise<void> {
  await lockCorrections(db, streamId);
  if (!(await isCorrected(db, streamId, content, id))) return;
  throw new PipelineError('conflict', 'This beat has another correction by now. Nothing was saved: change that one, or delete it.');
}

/** Finds an annotation that the caller may see, with its recording. @throws PipelineError not_found, consent_missing */
async function own(db: Db, caller: Caller, id: string): Promise<Readonly<{ annotation: Annotation; stream: OwnedStream }>> {
  const annotation = await findAnnotation(db, id);
  const missing = new PipelineError('not_found', 'There is no such annotation.');
  if (annotation === null) throw missing;
  const stream = await ownStream(db, caller, annotation.stream_id).catch((error: unknown) => {
    throw error instanceof PipelineError && error.code === 'not_found' ? missing : error;
  });
  return { annotation, stream };
}

/** The same, for a change: others wait until it is done. @throws PipelineError also precondition_failed, precondition_required */
async function ownLocked(
  db: Db,
  request: Pick<RequestContext, 'caller' | 'header'>,
  id: string,
): Promise<Readonly<{ before: Annotation; stream: OwnedStream }>> {
  await own(db, request.caller, id); // nobody else's is locked
  await lockAnnotation(db, id);
  const { annotation: before, stream } = await own(db, request.caller, id);
  checkIfMatch(request, tagOf(before));
  return { before, stream };
}

async function detailOf(db: Db, caller: Caller, id: string): Promise<Detail> {
  const { annotation } = await own(db, caller, id);
  return { ...annotation, versions: [...(await listVersions(db, id))] };
}

const tagOf = ({ id, version }: Pick<Annotation, 'id' | 'version'>): string => etagOf([id, version]);

function tagged(annotation: Detail): JsonReply<200, Detail> & Readonly<{ headers: Readonly<Record<string, string>> }> {
  return { status: 200, json: annotation, headers: { etag: tagOf(annotation) } };
}

const placeOf = ({ orgId, projectId, subjectId, id }: OwnedStream): AnnotationPlace => ({ orgId, projectId, subjectId, streamId: id });

/** Without its text, which is not for the audit log. */
async function noteChange(
  db: Db,
  request: RequestContext,
  { action, id, content }: Readonly<{ action: string; id: string; content: AnnotationContent }>,
): Promise<void> {
  const { kind, startsAt, endsAt, beat } = content;
  const detail = { kind, starts_at: startsAt, ...(endsAt !== null && { ends_at: endsAt }), ...(beat !== null && { beat }) };
  await audit(db, request, { action, targetKind: 'annotation', targetId: id, detail });
}

/** @throws PipelineError validation_failed */
function check({ kind, startsAt, endsAt, beat }: AnnotationContent): void {
  if (endsAt !== null && microsecondsOf(endsAt) <= microsecondsOf(startsAt))
    throw wrong('/ends_at', 'order', 'is not after the start; null marks a moment');
  if (kind === 'beat' && beat === null) throw wrong('/beat', 'required', 'is required of a correction: N, S, V, F, Q or none');
  if (kind === 'beat' && endsAt !== null) throw wrong('/ends_at', 'value', 'is null for a correction: a beat is a moment');
  if (kind !== 'beat' && beat !== null) throw wrong('/beat', 'value', 'is only for kind beat; otherwise null');
}

async function checkPlace(db: Db, streamId: number, content: AnnotationContent): Promise<void> {
  await checkNotAhead(db, streamId, { '/starts_at': content.startsAt, '/ends_at': content.endsAt });
  await checkNear(db, streamId, content, '/starts_at');
}

/** A correction on a channel that is not there would correct nothing, and nobody would see it. @throws PipelineError validation_failed */
async function checkChannel(db: Db, streamId: number, code: string): Promise<void> {
  const { rows } = await run(
    db,
    build.selectFrom('stream_channel').select('code').where('stream_id', '=', streamId).where('code', '=', code),
  );
  if (rows.length === 0) throw wrong('/channel', 'unknown', 'is no channel of the recording; null means all of them');
}

function wrong(pointer: string, code: string, detail: string): PipelineError {
  return new PipelineError('validation_failed', `${pointer}: ${detail}`, { errors: [{ pointer, code, detail }] });
}

export const annotationRoutes = (deps: Deps): readonly Route[] => [
  listAnnotationsRoute(deps),
  createAnnotation(deps),
  getAnnotation(deps),
  updateAnnotation(deps),
  deleteAnnotation(deps),
];
