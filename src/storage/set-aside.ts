/** Dead letters: rows and packets that could not be stored, kept with the reason so that everything else continues.
 *
 *  A letter belongs to its stream and its user and is erased with them. It is as large as the row would have been, so it needs no bound of
 *  its own. It is deleted after SET_ASIDE_DAYS, or earlier if its project keeps such rows for a shorter time. */
import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { StreamId, SubjectId } from '../signal.ts';
import { withoutRefused } from '../text.ts';
import { sqlStateOf } from './database/sql-states.ts';

/** packet: as received. log: bytes of the packet log in which no packet was found. samples: a row of sample_block. derived: beats and
 *  features of one stream. */
export const setAsideKinds = ['packet', 'log', 'samples', 'derived', 'measurement', 'event'] as const;
export type SetAsideKind = (typeof setAsideKinds)[number];

export type Letter = Readonly<{
  kind: SetAsideKind;
  /** null: the stream is unknown. */
  streamId: StreamId | null;
  subjectId?: SubjectId;
  reason: string;
  sqlState: string | null;
  /** Batch of packet_log. */
  logPosition: number | null;
  /** The row; bigints are written as digits. */
  content: object | null;
  bytes: Uint8Array | null;
}>;

type WrittenLetter = Readonly<{ letter: Letter; content: string | null; digest: Buffer }>;

/** Days that a letter is kept. */
export const SET_ASIDE_DAYS = 90;
const REASON_MAX = 500;

/** Turns an error of the database into the reason of a letter. */
export function reasonOf(error: unknown): Pick<Letter, 'reason' | 'sqlState'> {
  return { reason: error instanceof Error ? error.message : String(error), sqlState: sqlStateOf(error) };
}

/** Stores letters, each once. Letters of a stream that was erased meanwhile are dropped. */
export async function putAside(client: Pick<pg.ClientBase, 'query'>, all: readonly Letter[]): Promise<void> {
  // Only the last of equal letters, since one statement may not update a row twice (21000).
  const written = new Map<string, WrittenLetter>();
  for (const letter of all) {
    const content = letter.content === null ? null : toJson(letter.content);
    const digest = digestOf(letter, content);
    written.set(digest.toString('base64'), { letter, content, digest });
  }
  const letters = Array.from(written.values(), ({ letter }) => letter);
  await client.query(
    `insert into set_aside (kind, organization_id, xuser_id, stream_id, reason, sqlstate, log_position, content, bytes, digest)
     select a.kind, s.organization_id, coalesce(a.xuser_id, s.xuser_id), a.stream_id, a.reason, a.sqlstate, a.log_position, a.content, a.bytes, a.digest
     from unnest($1::text[], $2::uuid[], $3::int[], $4::text[], $5::text[], $6::int8[], $7::json[], $8::bytea[], $9::bytea[])
       as a (kind, xuser_id, stream_id, reason, sqlstate, log_position, content, bytes, digest)
     left join stream s on s.id = a.stream_id
     where a.stream_id is null or s.id is not null
     on conflict (digest) do update set reason = excluded.reason, sqlstate = excluded.sqlstate, replay_at = null`,
    [
      letters.map(({ kind }) => kind),
      letters.map(({ subjectId }) => subjectId ?? null),
      letters.map(({ streamId }) => streamId),
      letters.map(({ reason }) => withoutRefused(reason).slice(0, REASON_MAX)),
      letters.map(({ sqlState }) => sqlState),
      letters.map(({ logPosition }) => logPosition),
      Array.from(written.values(), ({ content }) => content),
      letters.map(({ bytes }) => bytes),
      Array.from(written.values(), ({ digest }) => digest),
    ],
  );
}

function toJson(content: object): string {
  return JSON.stringify(content, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
}

function digestOf({ kind, streamId, logPosition, bytes }: Letter, content: string | null): Buffer {
  // Pieces of the log differ by position; a row is the same wherever it came from.
  const head = `${kind} ${streamId ?? ''} ${kind === 'log' ? (logPosition ?? '') : ''} ${content ?? ''}\n`;
  const hash = createHash('sha256').update(head);
  return (bytes === null ? hash : hash.update(bytes)).digest();
}

/** A letter to be retried. */
export type LetterToReplay = Readonly<{
  id: bigint;
  kind: SetAsideKind;
  streamId: StreamId | null;
  logPosition: number | null;
  content: unknown;
  bytes: Buffer | null;
}>;

const REPLAY_ROWS = 200;

/** Yields the letters that an operator asked to retry, in the order in which they were set aside. */
export async function* lettersToReplay(pool: pg.Pool): AsyncGenerator<LetterToReplay> {
  for (let after = 0n; ;) {
    const { rows } = await pool.query<{
      id: bigint;
      kind: SetAsideKind;
      stream_id: StreamId | null;
      log_position: bigint | null;
      content: unknown;
      bytes: Buffer | null;
    }>(
      `select id, kind, stream_id, log_position, content, bytes from set_aside where replay_at is not null and id > $1 order by id limit ${REPLAY_ROWS}`,
      [after.toString()],
    );
    for (const { id, kind, stream_id: streamId, log_position: position, content, bytes } of rows) {
      yield { id, kind, streamId, logPosition: position === null ? null : Number(position), content, bytes };
      after = id;
    }
    if (rows.length < REPLAY_ROWS) return;
  }
}

/** Deletes a letter that was stored, unless it was set aside again meanwhile. */
export async function forgetLetter(client: Pick<pg.ClientBase, 'query'>, id: bigint): Promise<void> {
  await client.query('delete from set_aside where id = $1 and replay_at is not null', [id.toString()]);
}

/** Keeps a letter that failed again, with the new reason, until an operator asks for another retry. */
export async function keepLetter(
  client: Pick<pg.ClientBase, 'query'>,
  id: bigint,
  { reason, sqlState }: Pick<Letter, 'reason' | 'sqlState'>,
): Promise<void> {
  await client.query('update set_aside set replay_at = null, reason = $2, sqlstate = $3 where id = $1', [
    id.toString(),
    withoutRefused(reason).slice(0, REASON_MAX),
    sqlState,
  ]);
}

/** Deletes expired letters: derived rows by the retention of features or beats, all others by that of samples. @returns how many */
export async function expireLetters(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from set_aside a where a.time < now() - interval '${SET_ASIDE_DAYS} days' or exists (
       select from stream s join project_retention r on r.project_id = s.project_id
       where s.id = a.stream_id and a.time < now() - interval '1 day' * case a.kind
         when 'derived' then least(r.features_days, r.beats_days) else r.samples_days end)`,
  );
  return rowCount ?? 0;
}
