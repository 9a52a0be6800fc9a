/** Opens the database and detects the kind of server. */
import pg from 'pg';
import { PipelineError } from '../../errors.ts';
import { liftTransactionTimeout, sessionOf, withoutTransactionTimeout } from './session.ts';

/** Detected from the server, never a setting: TimescaleDB by its licence, or plain PostgreSQL. */
export type ServerKind = 'timescale' | 'timescale_apache' | 'postgres';

/** Roles of the database, each with the rights of one part of the service. Tables named without a schema are, for the api role, the views
 *  of its organization (schema api) where there is one. */
export type DatabaseRole = 'biosignal_api' | 'biosignal_ingest' | 'biosignal_worker' | 'biosignal_audit';

/** What runs statements: a pool, or one connection of it within a transaction. */
export type Db = Pick<pg.Pool | pg.PoolClient, 'query'>;

export type Database = Readonly<{
  kind: ServerKind;
  url: string;
  /** null: the login itself, owner of the schema. */
  role: DatabaseRole | null;
  pool: pg.Pool;
  /** One connection of its own, not from the pool: COPY, advisory locks, LISTEN. The caller ends it. */
  connect(): Promise<pg.Client>;
  /** Runs work on a connection of `connect`. Only where the owner of the database has to know of it. */
  use?<T>(client: pg.Client, work: (client: pg.Client) => Promise<T>): Promise<T>;
  /** Calls `onEvent` with the payload of every NOTIFY on the channel, and with null after a lost connection is back: then
   *  notifications may have been missed. @returns how to stop */
  listen(channel: string, onEvent: (payload: string | null) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}>;

export type DatabaseOptions = Readonly<{
  /** Connections of the pool. Default 10. */
  poolSizeMax?: number;
  /** Statement timeout of the pool, ms; 0: none. Default 30,000. */
  statementTimeoutMs?: number;
  /** Shown in pg_stat_activity. Default `biosignal`. */
  applicationName?: string;
  /** Every connection acts as this role of sql/000054-roles.sql; the login must be a member of it. Default: as the login itself. */
  role?: DatabaseRole;
  /** Called with errors of connections that fail while idle. Default: ignored; the pool replaces them. */
  onError?: (error: Error) => void;
}>;

const INT8 = 20;
/** Connection timeout, ms, and attempts for the first connection, since a busy machine may be late once. */
const CONNECT_TIMEOUT_MS = 5000;
const FIRST_CONNECTS_MAX = 4;
/** A server that does not answer LISTEN within this time is asked on another connection, ms. */
const LISTEN_TIMEOUT_MS = 5000;

/** bigint columns are bigint in TypeScript: nanoseconds as number are wrong. Everything else as pg does it. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === INT8 && format !== 'binary'
      ? (value: string) => BigInt(value)
      : pg.types.getTypeParser(oid, format as 'text')) as pg.CustomTypesConfig['getTypeParser'],
};

/** @throws PipelineError unavailable when the server does not answer, internal when it is older than PostgreSQL 15 */
export async function openDatabase(url: string, options: DatabaseOptions = {}): Promise<Database> {
  let closing = false;
  // The pool ends without waiting for the server. An embedded server that stops next may end a closing connection; that is not a fault.
  const onError = (error: Error): void => void (closing || options.onError?.(error));
  const client: pg.ClientConfig = {
    ...sessionOf(
      url,
      options.applicationName ?? 'biosignal',
      options.role === undefined ? [] : [`role=${options.role}`, ...(options.role === 'biosignal_api' ? ['search_path=api,public'] : [])],
    ),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types,
  };
  // The api role sends the organization and the statement at once: see organization-pool.ts.
  const pipeline = options.role === 'biosignal_api';
  const statementTimeoutMs = options.statementTimeoutMs ?? 30_000;
  const pool = new pg.Pool({
    ...client,
    pipeline,
    max: options.poolSizeMax ?? 10,
    statement_timeout: statementTimeoutMs,
    // A server that was cut off neither answers nor closes its connections: do not wait until TCP gives up (15 minutes).
    query_timeout: 2 * statementTimeoutMs,
  });
  pool.on('error', onError);
  // The pool does not listen for errors of a borrowed connection: one that dies between two statements would end the process.
  pool.on('connect', (lent) => lent.on('error', onError));
  let kind: ServerKind;
  try {
    const first = await firstAnswer(() => pool.query(liftTransactionTimeout));
    if (first.rowCount === 1) for (const later of [client, pool.options]) later.options = withoutTransactionTimeout(later.options);
    kind = await serverKind(pool);
  } catch (error) {
    await pool.end();
    if (error instanceof PipelineError) throw error;
    throw new PipelineError('unavailable', `the database at ${withoutPassword(url)} does not answer`, { cause: error });
  }
  const connect = async (): Promise<pg.Client> => {
    const connection = new pg.Client(client);
    connection.on('error', onError);
    await connection.connect();
    return connection;
  };
  const listeners = new Set<() => Promise<void>>();
  return {
    kind,
    url,
    role: options.role ?? null,
    pool,
    connect,
    async listen(channel, onEvent) {
      const stop = await startListening(connect, channel, onEvent);
      listeners.add(stop);
      return async () => {
        listeners.delete(stop);
        await stop();
      };
    },
    async close() {
      closing = true;
      for (const stop of listeners) await stop();
      if (!pool.ending) await pool.end();
    },
  };
}

/** Lifts the client-side time limit of a borrowed connection, for work under `set statement_timeout = 0`.
 *  @returns restores the limit; call it before releasing the connection */
export function waitLong(client: pg.PoolClient): () => void {
  const { connectionParameters } = client as unknown as { connectionParameters: { query_timeout: number | undefined } };
  const before = connectionParameters.query_timeout;
  connectionParameters.query_timeout = 0;
  return () => void (connectionParameters.query_timeout = before);
}

/** @param ask opens the first connection  @returns its answer, tried again while the connection itself is late */
async function firstAnswer<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      const late =
        error instanceof Error &&
        /^(timeout exceeded when trying to connect|Connection terminated due to connection timeout)/.test(error.message);
      if (!late || attempt === FIRST_CONNECTS_MAX) throw error;
    }
  }
}

/** The kind that the schema was made for; before the first migration, what the server offers. */
async function serverKind(pool: pg.Pool): Promise<ServerKind> {
  const { rows } = await pool.query<{ version: number; license: string | null; migrated: boolean }>(`
    select
      current_setting('server_version_num')::int as version,
      case when exists (select from pg_extension where extname = 'timescaledb') then current_setting('timescaledb.license', true) end as license,
      to_regclass('database_kind') is not null as migrated`);
  const row = rows[0]!;
  if (row.version < 150_000) throw new PipelineError('internal', `PostgreSQL 15 or newer is needed, the server is ${row.version}`);
  if (row.migrated) {
    const recorded = await pool.query<{ kind: ServerKind }>('select kind from database_kind');
    if (recorded.rows[0] !== undefined) return recorded.rows[0].kind;
  }
  if (row.license === null) return 'postgres';
  return row.license === 'timescale' ? 'timescale' : 'timescale_apache';
}

async function startListening(
  connect: () => Promise<pg.Client>,
  channel: string,
  onEvent: (payload: string | null) => void,
): Promise<() => Promise<void>> {
  let stopped = false;
  let client: pg.Client | null = null;
  let timer: NodeJS.Timeout | undefined;
  const open = async (): Promise<void> => {
    const next = await connect();
    next.on('notification', (message) => onEvent(message.payload ?? ''));
    let lost = false;
    const onLost = (): void => {
      if (lost) return;
      lost = true;
      if (client !== next) return; // still being opened: the code that opens it gets the error and retries
      client = null;
      next.end().catch(() => {});
      retry(100);
    };
    next.on('error', onLost);
    next.on('end', onLost);
    try {
      await next.query({ text: `listen ${pg.escapeIdentifier(channel)}`, query_timeout: LISTEN_TIMEOUT_MS } as pg.QueryConfig);
      if (lost) throw new Error('Connection terminated');
    } catch (error) {
      lost = true;
      next.end().catch(() => {});
      throw error;
    }
    client = next;
    if (stopped) await next.end();
  };
  const retry = (delayMs: number): void => {
    if (stopped) return;
    timer = setTimeout(() => {
      open().then(
        () => onEvent(null),
        () => retry(Math.min(delayMs * 2, 1000)),
      );
    }, delayMs);
  };
  await open();
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await client?.end();
  };
}

/** The address without its password, for messages. */
export function withoutPassword(url: string): string {
  return url.replace(/(:\/\/[^:@/]*):[^@/]*@/, '$1@');
}
