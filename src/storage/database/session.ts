/** The settings that every connection of the service needs, whatever the server, the database, the login or the address of the database
 *  set: an administrator's defaults are for people. */
import type pg from 'pg';
import { PipelineError } from '../../errors.ts';

/** Answers are read as these say. Where isolation is stricter, writers would refuse one another. */
const needed = [
  'timezone=UTC',
  'jit=off',
  'array_nulls=on',
  'bytea_output=hex',
  'datestyle=ISO',
  'default_transaction_deferrable=off',
  'default_transaction_isolation=read\\ committed',
  'extra_float_digits=1',
  // Who holds a lock or listens is idle for days; a migration and a wait for the log are long. Pools have a limit of their own.
  'idle_in_transaction_session_timeout=0',
  'idle_session_timeout=0',
  'intervalstyle=postgres',
  'lock_timeout=0',
  'row_security=on',
  'standard_conforming_strings=on',
  'statement_timeout=0',
  'transform_null_equals=off',
] as const;

/** SQL: lifts the longest duration of a transaction, for the session. A row where the server has the setting, from PostgreSQL 17 on: one
 *  before refuses a connection whose options name it. */
export const liftTransactionTimeout = `select set_config('transaction_timeout', '0', false) where current_setting('transaction_timeout', true) is not null`;
/** Does the same for a new connection to a server that has it. */
export const withoutTransactionTimeout = (options: string | undefined): string => `${options ?? ''} -c transaction_timeout=0`;

/** A connection to the database. The server takes the last of two, so the options of the address stand first and change nothing that is
 *  needed; passed on as they are, they would replace all of ours, the role included.
 *  @param more settings of this connection, name=value */
export function sessionOf(url: string, applicationName: string, more: readonly string[] = []): pg.ClientConfig {
  const { address, options } = withoutOptions(url);
  const ours = [...needed, ...more].map((one) => `-c ${one}`);
  return {
    connectionString: address,
    application_name: applicationName,
    options: [options, ...ours].filter((one) => one !== '').join(' '),
  };
}

function withoutOptions(url: string): Readonly<{ address: string; options: string }> {
  const mark = url.indexOf('?');
  if (mark < 0) return { address: url, options: '' };
  const query = new URLSearchParams(url.slice(mark + 1));
  if (!query.has('options') && !query.has('application_name')) return { address: url, options: '' };
  const options = query.getAll('options').join(' ');
  query.delete('options');
  query.delete('application_name'); // ours says whose a connection is
  const rest = query.toString();
  return { address: url.slice(0, mark) + (rest === '' ? '' : `?${rest}`), options };
}

/** Says in a sentence why a server that answers takes no changes; other errors as they are. */
export function explained(error: unknown): unknown {
  const code = (error as { code?: unknown } | null)?.code;
  const why =
    code === '25006'
      ? 'the database takes no changes: it is a standby, or default_transaction_read_only is on. DATABASE_URL must name the server that is written to'
      : code === '3F000'
        ? 'the search_path of the database or of its login names no schema that exists: it must contain public'
        : null;
  return why === null ? error : new PipelineError('unavailable', why, { cause: error });
}
