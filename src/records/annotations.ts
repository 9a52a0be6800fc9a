/** Annotations: moments and stretches of a recording that people mark, with a text; and beats that they correct. Every version is kept. */
import { sql } from 'kysely';
import { build, isoTime, now, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import { correctionsLock } from '../storage/database/locks.ts';

export const annotationKinds = ['note', 'symptom', 'activity', 'artefact', 'rhythm', 'beat'] as const;
/** Of a corrected beat: its kind by AAMI EC57, or none where no beat is. */
export const correctedBeats = ['N', 'S', 'V', 'F', 'Q', 'none'] as const;
/** Two corrections of one channel, or of all, mean one beat within this time, s: a correction means the nearest beat within it. */
const SAME_BEAT_SEC = 0.15;
export type AnnotationKind = (typeof annotationKinds)[number];
export type CorrectedBeat = (typeof correctedBeats)[number];

/** A version of an annotation, as the API shows it. */
export type Annotation = Readonly<{
  id: string;
  version: number;
  subject_id: string;
  stream_id: string;
  channel: string | null;
  kind: AnnotationKind;
  starts_at: string;
  ends_at: string | null;
  beat: CorrectedBeat | null;
  text: string;
  made_by: string;
  made_by_name: string | null;
  made_at: string;
  deleted: boolean;
}>;

/** What a version says. */
export type AnnotationContent = Readonly<{
  channel: string | null;
  kind: AnnotationKind;
  startsAt: string;
  endsAt: string | null;
  beat: CorrectedBeat | null;
  text: string;
}>;

/** Whose recording it is on. */
export type AnnotationPlace = Readonly<{ orgId: string; projectId: string; subjectId: string; streamId: number }>;

export type Author = Readonly<{ by: string; name: string }>;

export type AnnotationFilter = Readonly<{
  subjectId: string;
  streamId: number | null;
  since: string | null;
  until: string | null;
  kind: AnnotationKind | null;
  /** Start and id of the last annotation of the previous page. */
  after: readonly [string, string] | null;
  limit: number;
}>;

const versions = build
  .selectFrom('annotation as a')
  .innerJoin('stream as s', 's.id', 'a.stream_id')
  .select(({ ref, fn, val }) => [
    'a.id',
    'a.version',
    'a.xuser_id as subject_id',
    's.uuid as stream_id',
    fn<string | null>('nullif', [ref('a.channel_code'), val('')]).as('channel'),
    ref('a.kind').$castTo<AnnotationKind>().as('kind'),
    isoTime(ref('a.starts_at')).as('starts_at'),
    isoTime(ref('a.ends_at')).as('ends_at'),
    ref('a.beat').$castTo<CorrectedBeat | null>().as('beat'),
    'a.content as text',
    'a.made_by',
    fn<string | null>('nullif', [ref('a.name'), val('')]).as('made_by_name'),
    isoTime(ref('a.made_at')).as('made_at'),
    'a.deleted',
  ]);
const newest = versions.where('a.replaced_at', 'is', null);

/** Annotations of one person that overlap [since, until), by their start. Those that were taken back are left out. */
export async function listAnnotations(db: Db, filter: AnnotationFilter): Promise<readonly Annotation[]> {
  const { subjectId, streamId, since, until, kind, after, limit } = filter;
  let page = newest.where('a.xuser_id', '=', subjectId).where('a.deleted', '=', false);
  if (streamId !== null) page = page.where('a.stream_id', '=', streamId);
  if (since !== null) page = page.where(sql<boolean>`coalesce(a.ends_at, a.starts_at) >= ${since}::timestamptz`);
  if (until !== null) page = page.where('a.starts_at', '<', sql<Date>`${until}::timestamptz`);
  if (kind !== null) page = page.where('a.kind', '=', kind);
  if (after !== null) page = page.where(sql<boolean>`(a.starts_at, a.id) > (${after[0]}::timestamptz, ${after[1]}::uuid)`);
  return (await run(db, page.orderBy('a.starts_at').orderBy('a.id').limit(limit))).rows;
}

/** The newest version, whether or not it takes the annotation back; null: there is none. */
export async function findAnnotation(db: Db, id: string): Promise<Annotation | null> {
  return (await run(db, newest.where('a.id', '=', id))).rows[0] ?? null;
}

/** Every version, the newest first. */
export async function listVersions(db: Db, id: string): Promise<readonly Annotation[]> {
  return (await run(db, versions.where('a.id', '=', id).orderBy('a.version', 'desc'))).rows;
}

/** Makes other changes to the annotation wait until this transaction ends. */
export async function lockAnnotation(db: Db, id: string): Promise<void> {
  await run(db, build.selectFrom('annotation').select('id').where('id', '=', id).where('version', '=', 1).forUpdate());
}

/** Makes others who correct beats of the recording wait until this transaction ends. */
export async function lockCorrections(db: Db, streamId: number): Promise<void> {
  await db.query(`select pg_advisory_xact_lock(${correctionsLock(streamId)})`); // kysely has no function without a table
}

/** Whether the beat that a correction means has another one.  @param id of the correction itself; null: it is not there yet */
export async function isCorrected(
  db: Db,
  streamId: number,
  { channel, startsAt }: Pick<AnnotationContent, 'channel' | 'startsAt'>,
  id: string | null = null,
): Promise<boolean> {
  const others = newest
    .where('a.stream_id', '=', streamId)
    .where('a.kind', '=', 'beat')
    .where('a.deleted', '=', false)
    .where('a.channel_code', '=', channel ?? '')
    .where(sql<boolean>`abs(extract(epoch from a.starts_at - ${startsAt}::timestamptz)) <= ${SAME_BEAT_SEC}`)
    .limit(1);
  return (await run(db, id === null ? others : others.where('a.id', '!=', id))).rows.length > 0;
}

/** @returns id of the new annotation */
export async function insertAnnotation(db: Db, place: AnnotationPlace, author: Author, content: AnnotationContent): Promise<string> {
  const { rows } = await run(
    db,
    build
      .insertInto('annotation')
      .values(rowOf(place, author, content))
      .returning('id'),
  );
  return rows[0]?.id ?? '';
}

/** Adds a version. The caller holds the annotation's lock. */
export async function replaceAnnotation(
  db: Db,
  { id, version, deleted = false }: Readonly<{ id: string; version: number; deleted?: boolean }>,
  place: AnnotationPlace,
  author: Author,
  content: AnnotationContent,
): Promise<void> {
  await run(db, build.updateTable('annotation').set({ replaced_at: now }).where('id', '=', id).where('version', '=', version));
  await run(db, build.insertInto('annotation').values({ ...rowOf(place, author, content), id, version: version + 1, deleted }));
}

function rowOf(place: AnnotationPlace, author: Author, content: AnnotationContent) {
  return {
    organization_id: place.orgId,
    project_id: place.projectId,
    xuser_id: place.subjectId,
    stream_id: place.streamId,
    channel_code: content.channel ?? '',
    kind: content.kind,
    starts_at: content.startsAt,
    ends_at: content.endsAt,
    beat: content.beat,
    content: content.text,
    made_by: author.by,
    name: author.name,
  };
}
