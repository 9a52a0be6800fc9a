/** Table of SQLSTATEs (PostgreSQL documentation, Appendix A) and what each means for the writer whose statement failed.
 *
 *  - try_again: the same statement may succeed later
 *  - missing_partition: it succeeds once the partition exists
 *  - duplicate: the row is already stored
 *  - bad_row: one of the rows can never be stored, the others can
 *  - ours: no row is to blame, but a statement, a privilege or a missing table. The writer retries until an operator fixes it, and
 *    drops nothing meanwhile. */

import { PipelineError } from '../../errors.ts';

export type Failure = 'try_again' | 'missing_partition' | 'duplicate' | 'bad_row' | 'ours';

type StateRow = Readonly<{ failure: Failure; meaning: string }>;
const row = (failure: Failure, meaning: string): StateRow => ({ failure, meaning });

/** By SQLSTATE, else by its class: the first two characters. What is not listed is `ours`. */
export const sqlStates: Readonly<Record<string, StateRow>> = {
  '08': row('try_again', 'connection exception'),
  22: row('bad_row', 'data exception: a character, number or time that the type does not hold'),
  22023: row('ours', 'invalid parameter value: a setting or a role'),
  '22P04': row('ours', 'bad COPY file format'),
  23: row('bad_row', 'integrity constraint: not null, foreign key (its parent was erased), exclusion'),
  23505: row('duplicate', 'unique violation'),
  23514: row('bad_row', 'check violation; without a constraint: see failureOf'),
  25006: row('try_again', 'read-only: a standby, until it is promoted'),
  40001: row('try_again', 'serialization failure'),
  '40P01': row('try_again', 'deadlock'),
  44000: row('bad_row', 'check option of a view'),
  53000: row('try_again', 'insufficient resources'),
  53100: row('try_again', 'disk full'),
  53200: row('try_again', 'out of memory'),
  53300: row('try_again', 'too many connections'),
  53400: row('bad_row', 'configuration limit: e.g. rows that TimescaleDB unpacks in one transaction; fewer rows at once may pass'),
  54000: row('bad_row', 'program limit: e.g. an index entry that is too large'),
  55006: row('try_again', 'object in use'),
  '55P03': row('try_again', 'lock not available'),
  57014: row('try_again', 'query canceled: statement timeout'),
  '57P01': row('try_again', 'admin shutdown'),
  '57P02': row('try_again', 'crash shutdown'),
  '57P03': row('try_again', 'cannot connect now: starting up'),
  '57P05': row('try_again', 'idle session timeout'),
  58030: row('try_again', 'I/O error'),
  BS001: row('ours', 'another instance has taken over the packet log: the writer is stopped (src/pipeline/faults.ts)'),
  P0001: row('bad_row', 'raised by a trigger'),
};

const retryErrno = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EMFILE',
  'ENFILE',
]);

/** A row of ours that could not even be written as COPY: no SQLSTATE, but the row's fault all the same. */
export class RowFault extends Error {
  override readonly name = 'RowFault';
}

/** A database to which there is a connection did not answer in time: it may be cut off, or the work may be too much. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';

  constructor(timeoutMs: number) {
    super(`timeout expired: the database gave no answer within ${timeoutMs} ms`);
  }
}

export function failureOf(error: unknown): Failure {
  if (error instanceof RowFault) return 'bad_row';
  if (isRetryable(error) || (error instanceof PipelineError && error.code === 'unavailable')) return 'try_again';
  const code = sqlStateOf(error);
  if (code === null) return 'ours';
  // A row for which no partition is found is a check violation too, but of no constraint.
  if (code === '23514' && (error as { constraint?: unknown }).constraint === undefined) return 'missing_partition';
  return stateOf(code)?.failure ?? 'ours';
}

function stateOf(code: string): StateRow | undefined {
  return sqlStates[code] ?? sqlStates[code.slice(0, 2)];
}

/** Five characters, or null for an error that does not come from the server. */
export function sqlStateOf(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : null;
}

/** A new connection was refused for its user or password: as long as this process has them, always. */
export function isLoginRefused(error: unknown): boolean {
  return sqlStateOf(error)?.startsWith('28') === true;
}

/** Errors after which the same work may succeed. */
export function isRetryable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string') return stateOf(code)?.failure === 'try_again' || retryErrno.has(code);
  // pg's own errors carry no code
  return /^Connection terminated|^Client has encountered a connection error|timeout expired|Client was closed|not queryable/.test(
    error.message,
  );
}
