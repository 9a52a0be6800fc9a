/** GET /api/v1/xusers/{xuserId}/export: exports everything of one user, as lines of JSON. */
import { build, run } from '../storage/database/build.ts';
import { PipelineError } from '../errors.ts';
import { Type } from 'typebox';
import type { Pool, PoolClient } from 'pg';
import { audit } from '../tenancy/audit.ts';
import { orgOf, ownSubject } from '../tenancy/record-ownership.ts';
import { writeJson } from '../http/json.ts';
import { callerKey } from '../http/request.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { Uuid } from '../http/schemas.ts';
import type { OnDamaged } from './damaged-minutes.ts';
import { NewestSamples } from './newest-samples.ts';
import { readSamples } from './samples.ts';
import type { RecentSamples } from './samples.ts';
import type { Turns } from './turns.ts';

const NDJSON = 'application/x-ndjson';
const ROWS = 2000;
/** Channel seconds decoded per batch. */
const SAMPLE_ROWS = 600;
const FOREVER_NS = 253_402_300_799_000_000_000n;

/** Rows by table, as stored. Secrets, and internal numbers of others, are left out. */
export const exportedTables: readonly Readonly<{ table: string; sql: string }>[] = [
  { table: 'xuser', sql: 'select to_jsonb(x) as row from xuser x where x.id = $1' },
  {
    table: 'set_aside',
    sql: `select to_jsonb(a) - 'content' - 'bytes' - 'digest' || jsonb_build_object('content', a.content::text, 'bytes_base64', encode(a.bytes, 'base64')) as row
      from set_aside a where a.xuser_id = $1`,
  },
  { table: 'stream', sql: `select to_jsonb(s) - 'seqs' as row from stream s where s.xuser_id = $1` },
  {
    table: 'stream_channel',
    sql: 'select to_jsonb(c) as row from stream_channel c join stream s on s.id = c.stream_id where s.xuser_id = $1',
  },
  { table: 'measurement', sql: 'select to_jsonb(m) as row from measurement m where m.xuser_id = $1' },
  { table: 'episode', sql: 'select to_jsonb(e) as row from episode e where e.xuser_id = $1' },
  {
    table: 'artifact',
    sql: `select to_jsonb(a) - 'data' || jsonb_build_object('data_base64', encode(a.data, 'base64')) as row
          from artifact a join episode e on e.id = a.episode_id where e.xuser_id = $1`,
  },
  {
    table: 'episode_acknowledgement',
    sql: `select to_jsonb(k) as row from episode_acknowledgement k join episode e on e.id = k.episode_id where e.xuser_id = $1`,
  },
  {
    table: 'annotation',
    sql: 'select to_jsonb(a) as row from annotation a where a.xuser_id = $1 order by a.id, a.version',
  },
  { table: 'mood', sql: 'select to_jsonb(m) as row from mood m where m.xuser_id = $1' },
  { table: 'questionnaire_response', sql: 'select to_jsonb(q) as row from questionnaire_response q where q.xuser_id = $1' },
  { table: 'questionnaire_draft', sql: 'select to_jsonb(d) as row from questionnaire_draft d where d.xuser_id = $1' },
  { table: 'task_schedule', sql: 'select to_jsonb(t) as row from task_schedule t where t.xuser_id = $1' },
  {
    table: 'person_group_member',
    sql: 'select to_jsonb(m) || jsonb_build_object($$name$$, g.name) as row from person_group_member m join person_group g on g.id = m.group_id where m.xuser_id = $1',
  },
  // Whom a rule tells are people of the staff: their addresses are left out.
  { table: 'episode_rule', sql: `select to_jsonb(r) - 'email_to' as row from episode_rule r where r.xuser_id = $1` },
  {
    table: 'episode_email',
    sql: `select to_jsonb(m) - 'recipient' - 'last_error' as row from episode_email m join episode e on e.id = m.episode_id where e.xuser_id = $1`,
  },
  { table: 'goal', sql: 'select to_jsonb(g) as row from goal g where g.xuser_id = $1' },
  { table: 'task', sql: 'select to_jsonb(t) as row from task t where t.xuser_id = $1' },
  { table: 'consent', sql: 'select to_jsonb(c) as row from consent c where c.xuser_id = $1' },
  // Its text is opened only for its author (linesOf).
  { table: 'journal_entry', sql: `select to_jsonb(j) as row from journal_entry j where j.xuser_id = $1` },
  {
    table: 'device',
    sql: 'select to_jsonb(d) as row from device d where d.xuser_id = $1 or d.id in (select device_id from stream where xuser_id = $1)',
  },
  { table: 'device_event', sql: 'select to_jsonb(d) as row from device_event d join stream s on s.id = d.stream_id where s.xuser_id = $1' },
  {
    table: 'beat',
    sql: `select to_jsonb(b) || jsonb_build_object('method_code', m.code, 'accepted', b.interval_ms is not null and b.reason = '') as row
          from stream s cross join lateral (select * from beat where stream_id = s.id offset 0) b join method m on m.id = b.method_id where s.xuser_id = $1`,
  },
  {
    table: 'feature',
    sql: `select to_jsonb(f) || jsonb_build_object('method_code', m.code) as row
          from stream s cross join lateral (select * from feature where stream_id = s.id offset 0) f join method m on m.id = f.method_id where s.xuser_id = $1`,
  },
];

/** Opens a journal entry; null when the secret that sealed it is not available. */
export type OpenJournal = (sealed: Uint8Array, subjectId: string, entryId: string) => Promise<string | null>;

type Deps = Readonly<{ pool: Pool; exports: Turns; openJournal?: OpenJournal; recentSamples?: RecentSamples; onDamaged?: OnDamaged }>;

const exportUser = ({ pool, exports, openJournal, recentSamples, onDamaged }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/xusers/{xuserId}/export',
    operationId: 'exportUser',
    tag: 'Users',
    summary: 'Export everything that is held of a user',
    description:
      'Lines of JSON, {"table", "row"}; samples as digital values with gain and baseline. The text of the journal is for its author: with a ' +
      'user token it is there, for keys and operators it is null. The last line is {"table":"end"}; with "incomplete":"newest" where the ' +
      'node that has samples which are not stored yet did not answer.',
    access: { key: 'admin', userToken: 'own', operator: 'admin' },
    params: { xuserId: Uuid },
    responses: { 200: { description: 'Lines.', contentType: NDJSON, schema: Type.Unknown() } },
    errors: ['not_found'],
    handler: async (request) => {
      const subject = await ownSubject(pool, request.caller, request.params.xuserId, 'none');
      const end = exports.take(callerKey(request.caller), orgOf(request.caller));
      const opener = request.caller.kind === 'user' ? (openJournal ?? null) : null;
      const newest = new NewestSamples(recentSamples);
      const lines = linesOf(pool, subject.id, { openJournal: opener, newest, onDamaged }, end);
      const first = await lines.next(); // a started generator gives its place back, however it ends
      await audit(pool, request, { action: 'xuser.exported', targetKind: 'xuser', targetId: subject.id }).catch(async (error: unknown) => {
        await lines.return();
        throw error;
      });
      return {
        status: 200,
        stream: begun(first, lines),
        contentType: NDJSON,
        headers: { 'content-disposition': `attachment; filename="xuser-${subject.id}.ndjson"` },
      };
    },
  });

type JournalRow = Readonly<{ id: string; sealed: string } & Record<string, unknown>>;

type Lines = AsyncGenerator<Uint8Array, void, void>;

/** A stream whose first chunk has been read. */
function begun(first: IteratorResult<Uint8Array, void>, rest: Lines): AsyncIterable<Uint8Array> {
  let next: IteratorResult<Uint8Array, void> | null = first;
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        const chunk = next ?? (await rest.next());
        next = null;
        return chunk;
      },
      return: () => rest.return(),
    }),
  };
}

type Stream = Readonly<{ id: number; uuid: string }>;

/** Reads the tables in one consistent snapshot, through cursors, so that the amount of data does not matter.
 *  @param openJournal null: the caller may not read journals  @returns the person's streams */
async function* linesOfTables(
  pool: Pool,
  subjectId: string,
  openJournal: OpenJournal | null,
): AsyncGenerator<Uint8Array, readonly Stream[], void> {
  const opened = async (line: string): Promise<string> => {
    const { sealed, ...row } = (JSON.parse(line) as { row: JournalRow }).row;
    const text = (await openJournal?.(Buffer.from(sealed.slice(2), 'hex'), subjectId, row.id)) ?? null; // jsonb writes bytea as \x and hex
    return JSON.stringify({ table: 'journal_entry', row: { ...row, text } });
  };
  let client: PoolClient | null = null;
  let clean = false;
  try {
    client = await pool.connect();
    await client.query('begin isolation level repeatable read read only');
    // SQL: a cursor.
    for (const { table, sql } of exportedTables) {
      await client.query(
        `declare rows cursor for select jsonb_build_object('table', '${table}', 'row', row)::text as line from (${sql}) as part`,
        [subjectId],
      );
      for (;;) {
        const { rows } = await client.query<{ line: string }>(`fetch ${ROWS} from rows`);
        if (rows.length === 0) break;
        const lines = rows.map((row) => row.line);
        yield Buffer.from(`${(table === 'journal_entry' ? await Promise.all(lines.map(opened)) : lines).join('\n')}\n`);
      }
      await client.query('close rows');
    }
    const own = build.selectFrom('stream').select(['id', 'uuid']).where('xuser_id', '=', subjectId).orderBy('id');
    const streams = await run(client, own);
    await client.query('commit');
    clean = true;
    return streams.rows;
  } finally {
    // A peer that went away leaves the transaction open, so its connection is destroyed.
    client?.release(!clean);
  }
}

/** Asks for the newest samples of each channel with the first page alone, whose range has them all: what is stored after that is read as
 *  rows. With a question for each page, a day of eight channels in memory of another node is thousands of messages. */
function askedOnce(recent: RecentSamples): RecentSamples {
  const answers = new Map<number, ReturnType<RecentSamples>>();
  return (streamId, channelNo, fromNs, toNs) => {
    const answer = answers.get(channelNo) ?? recent(streamId, channelNo, fromNs, toNs);
    answers.set(channelNo, answer);
    return answer;
  };
}

/** Reads the samples after the snapshot: those that were acknowledged and not stored then are in memory or stored by now. */
async function* linesOfSamples(
  pool: Pool,
  streams: readonly Stream[],
  newest: NewestSamples,
  onDamaged: OnDamaged | undefined,
): AsyncGenerator<Uint8Array, void, void> {
  for (const stream of streams) {
    const recent = newest.recent && askedOnce(newest.recent);
    let fromNs: bigint | null = -FOREVER_NS;
    while (fromNs !== null) {
      const page = await readSamples(pool, {
        streamId: stream.id,
        channels: null,
        fromNs,
        toNs: FOREVER_NS,
        rowsMax: SAMPLE_ROWS,
        ...(recent && !newest.isLacking && { recent }), // who did not answer is not waited for again
        ...(onDamaged && { onDamaged }),
      });
      for (const { code, rateNanoHz, t0Ns, gain, baseline, unit, lead, samples, qmask } of page.segments) {
        const row = { stream_id: stream.uuid, channel: code, rate_nhz: rateNanoHz, t0_ns: t0Ns, gain, baseline, unit, lead };
        yield Buffer.from(
          `${writeJson({ table: 'samples', row: { ...row, samples: Array.from(samples), qmask: qmask === null ? null : Array.from(qmask) } })}\n`,
        );
      }
      fromNs = page.nextFromNs;
    }
  }
}

/** An erasure leaves no samples to read: without this the export would end as if there had been none.
 *  @throws PipelineError conflict: streams of the snapshot are gone, and the answer breaks off */
async function checkHeld(pool: Pool, streams: readonly Stream[]): Promise<void> {
  const ids = streams.map(({ id }) => id);
  if (ids.length === 0) return;
  const { rows } = await run(pool, build.selectFrom('stream').select('id').where('id', 'in', ids));
  if (rows.length < ids.length) throw new PipelineError('conflict', 'The user was erased while the export was read.');
}

type Sources = Readonly<{ openJournal: OpenJournal | null; newest: NewestSamples; onDamaged: OnDamaged | undefined }>;

/** @param ended called when reading has ended */
async function* linesOf(pool: Pool, subjectId: string, { openJournal, newest, onDamaged }: Sources, ended: () => void): Lines {
  try {
    const streams = yield* linesOfTables(pool, subjectId, openJournal);
    yield* linesOfSamples(pool, streams, newest, onDamaged);
    await checkHeld(pool, streams);
    yield Buffer.from(`${JSON.stringify({ table: 'end', ...(newest.isLacking && { incomplete: 'newest' }) })}\n`);
  } finally {
    ended();
  }
}

export const exportRoutes = (deps: Deps): readonly Route[] => [exportUser(deps)];
