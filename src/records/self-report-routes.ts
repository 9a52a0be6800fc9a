/** Routes for mood and journal, which people enter themselves. */
import { sql } from 'kysely';
import type { ExpressionBuilder, RawBuilder } from 'kysely';
import { build, isoTime, run, runForOne } from '../storage/database/build.ts';
import type { Tables } from '../storage/database/tables.ts';
import { randomUUID } from 'node:crypto';
import { Type } from 'typebox';
import type { Pool, PoolClient } from 'pg';
import { withPartitions } from '../storage/with-partitions.ts';
import { answerOnce } from '../tenancy/answer-once.ts';
import { pastMonths } from '../tenancy/past-months.ts';
import { ownSubject } from '../tenancy/record-ownership.ts';
import { defineRoute } from '../http/route.ts';
import type { Access, Route } from '../http/route.ts';
import { exactly, LimitQuery, nullable, oneOf, orDefault, Timestamp, Uuid } from '../http/schemas.ts';
import type { JournalSeals } from './journal-seals.ts';
import { storeSelfMeasurement } from './self-measurement.ts';
import { unixNowMs } from '../unix-clock.ts';

const NOTE_MAX = 1000;
const TEXT_MAX = 20_000;

/** A person reads and writes their own; a key only in direct mode; an operator reads. */
export const ownRead: Access = { userToken: 'own', direct: true, operator: 'viewer' };
export const ownWrite: Access = { userToken: 'own', direct: true };
/** Journals are for their author: a key reads one only where it could mint the author's token as well. */
const journalRead: Access = { userToken: 'own', direct: 'write' };
/** Operators name the person; other callers are confined to one user. */
export const SubjectQuery = Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'For operators: whose records.' }));

const listQuery = {
  subject_id: SubjectQuery,
  since: Type.Optional(Timestamp),
  until: Type.Optional(Timestamp),
  order: orDefault(oneOf(['asc', 'desc'], { default: 'desc' })),
  limit: LimitQuery(100, 1000),
};

const MoodSchema = exactly({ id: Uuid, score: Type.Integer({ minimum: 1, maximum: 5 }), note: nullable(Type.String()), time: Timestamp });
const JournalSchema = exactly({
  id: Uuid,
  text: nullable(Type.String({ description: 'null: the secret that sealed it is not there (BIO_SECRET was changed).' })),
  time: Timestamp,
});

type Deps = Readonly<{ db: Pool; journal: JournalSeals }>;

const moodColumns = ({ ref, fn, val }: ExpressionBuilder<Tables, 'mood'>) =>
  ['id', 'score', fn<string | null>('nullif', [ref('note'), val('')]).as('note'), isoTime(ref('time')).as('time')] as const;

const timeOf = (text: string): RawBuilder<Date> => sql`${text}::timestamptz`;
const orderOf = (query: Readonly<{ order?: string | undefined }>): 'asc' | 'desc' => (query.order === 'asc' ? 'asc' : 'desc');

const listMoods = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/moods',
    operationId: 'listMoods',
    tag: 'Self-reports',
    summary: 'List mood entries',
    access: ownRead,
    query: listQuery,
    responses: { 200: { description: 'Entries.', schema: Type.Array(MoodSchema) } },
    errors: ['not_found'],
    handler: async ({ caller, query }) => {
      const subject = await ownSubject(db, caller, query.subject_id ?? '');
      let moods = build.selectFrom('mood').select(moodColumns).where('xuser_id', '=', subject.id);
      if (query.since !== undefined) moods = moods.where('mood.time', '>=', timeOf(query.since));
      if (query.until !== undefined) moods = moods.where('mood.time', '<', timeOf(query.until));
      const { rows } = await run(db, moods.orderBy('mood.time', orderOf(query)).orderBy('id').limit(query.limit));
      return { status: 200, json: rows };
    },
  });

const createMood = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/moods',
    operationId: 'createMood',
    tag: 'Self-reports',
    summary: 'Enter a mood',
    description: 'Appears among the observations as MOOD, method reported:mood_v1.',
    access: ownWrite,
    body: exactly({
      score: Type.Integer({ minimum: 1, maximum: 5, description: '1 very bad, 5 very good' }),
      note: Type.Optional(Type.String({ maxLength: NOTE_MAX })),
      time: Type.Optional(Timestamp),
    }),
    bodyBytesMax: 16 * 1024,
    idempotent: true,
    responses: { 201: { description: 'The entry.', schema: MoodSchema } },
    handler: async (request) => {
      const { caller, body } = request;
      const subject = await ownSubject(db, caller, '', 'recording');
      const time = body.time ?? new Date(unixNowMs()).toISOString();
      pastMonths.take(caller, [time]);
      const keep = async (client: PoolClient) => {
        const { orgId, projectId, id } = subject;
        const mood = { organization_id: orgId, project_id: projectId, xuser_id: id, score: body.score, note: body.note ?? '', time };
        const row = await runForOne(client, build.insertInto('mood').values(mood).returning(moodColumns));
        const measured = { id: row.id, code: 'mood', value: body.score, time, methodCode: 'reported:mood_v1', ofProduct: true };
        await storeSelfMeasurement(client, subject, measured);
        return { status: 201, json: row } as const;
      };
      const once = { operationId: 'createMood', subjectId: subject.id };
      return await withPartitions(db, 'measurement', () => answerOnce(db, request, once, keep));
    },
  });

const listJournal = ({ db, journal }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/journal',
    operationId: 'listJournal',
    tag: 'Self-reports',
    summary: 'List journal entries',
    description:
      'The person only. Operators do not read journals, and keys only in direct mode with the scope `write`, with which they could mint a ' +
      "token of the person; the person's consent to sharing is asked for there as everywhere.",
    access: journalRead,
    query: listQuery,
    responses: { 200: { description: 'Entries.', schema: Type.Array(JournalSchema) } },
    errors: ['not_found'],
    handler: async ({ caller, query }) => {
      const subject = await ownSubject(db, caller, query.subject_id ?? '');
      let entries = build
        .selectFrom('journal_entry as j')
        .select(({ ref }) => ['j.id', 'j.sealed', isoTime(ref('j.time')).as('time')])
        .where('j.xuser_id', '=', subject.id);
      if (query.since !== undefined) entries = entries.where('j.time', '>=', timeOf(query.since));
      if (query.until !== undefined) entries = entries.where('j.time', '<', timeOf(query.until));
      const { rows } = await run(db, entries.orderBy('j.time', orderOf(query)).orderBy('j.id').limit(query.limit));
      const texts = await Promise.all(rows.map(({ id, sealed }) => journal.open(sealed, subject.id, id)));
      return { status: 200, json: rows.map(({ id, time }, i) => ({ id, text: texts[i] ?? null, time })) };
    },
  });

const createJournalEntry = ({ db, journal }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/journal',
    operationId: 'createJournalEntry',
    tag: 'Self-reports',
    summary: 'Write a journal entry',
    description: 'Encrypted before it is stored.',
    access: ownWrite,
    body: exactly({ text: Type.String({ minLength: 1, maxLength: TEXT_MAX }), time: Type.Optional(Timestamp) }),
    bodyBytesMax: 128 * 1024,
    idempotent: true,
    responses: { 201: { description: 'Kept. The text is not repeated.', schema: exactly({ id: Uuid, time: Timestamp }) } },
    handler: async (request) => {
      const { caller, body } = request;
      const subject = await ownSubject(db, caller, '', 'recording');
      const id = randomUUID();
      const sealed = await journal.seal(body.text, subject.id, id);
      return await answerOnce(db, request, { operationId: 'createJournalEntry', subjectId: subject.id }, async (client) => {
        const kept = await runForOne(
          client,
          build
            .insertInto('journal_entry')
            .values({
              id,
              organization_id: subject.orgId,
              project_id: subject.projectId,
              xuser_id: subject.id,
              sealed,
              time: body.time ?? new Date(unixNowMs()).toISOString(),
            })
            .returning(({ ref }) => ['id', isoTime(ref('time')).as('time')]),
        );
        return { status: 201, json: kept };
      });
    },
  });

export const selfReportRoutes = (deps: Deps): readonly Route[] => [
  listMoods(deps),
  createMood(deps),
  listJournal(deps),
  createJournalEntry(deps),
];
