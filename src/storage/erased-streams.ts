/** Keeps rows of an erased person out of the tables. Rows that wait in a writer, in whichever process, may outlive the erasure of their
 *  stream, and the large tables have no foreign key to it.
 *
 *  A writer holds the log before it looks which of its streams are gone, and until its commit. Erasure waits for all holders after its own
 *  commit: those before it have committed by then and their rows are deleted, those after it see that the stream is gone. */
import type { ClientBase } from 'pg';
import { pairLocks } from './database/locks.ts';

const logHold = pairLocks.logHold.join(', ');

/** Holds the log to the end of the transaction. A statement of its own: the next one sees every erasure that the lock was waited for. */
export async function holdLog(client: ClientBase): Promise<void> {
  await client.query(`select pg_advisory_xact_lock_shared(${logHold})`);
}

/** Begins a transaction that holds the log. */
export async function beginHeld(client: ClientBase): Promise<void> {
  await client.query('begin');
  await holdLog(client);
}

/** In a transaction that holds the log.  @returns rows whose stream has not been erased */
export async function withoutErased<T>(client: ClientBase, rows: readonly T[], streamOf: (row: T) => number): Promise<readonly T[]> {
  const streamIds = [...new Set(rows.map(streamOf))];
  if (streamIds.length === 0) return rows;
  const { rows: kept } = await client.query<{ id: number }>('select id from stream where id = any($1::integer[])', [streamIds]);
  if (kept.length === streamIds.length) return rows;
  const ids = new Set(kept.map(({ id }) => id));
  return rows.filter((row) => ids.has(streamOf(row)));
}

/** Waits until every transaction that may not have seen an erasure has ended. Call it after the commit of the erasure. */
export async function untilErasureIsSeen(client: ClientBase): Promise<void> {
  await client.query(`begin; set local statement_timeout = 0; select pg_advisory_xact_lock(${logHold}); commit`);
}
