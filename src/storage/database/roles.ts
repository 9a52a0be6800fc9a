/** The service's connections by what they may do. The login of DATABASE_URL owns the schema; its parts act as the roles of
 *  sql/000054-roles.sql, so that a mistake in one of them cannot read or change what is not its own:
 *  api (REST; one organization per transaction), ingest (log, streams, samples), worker (beats, features, reported values).
 *  As the owner remain: migrations, credentials (a key is looked up before its organization is known), housekeeping, erasure. */
import { settings } from '../../config.ts';
import { PipelineError } from '../../errors.ts';
import { openDatabase } from './database.ts';
import type { Database, DatabaseOptions } from './database.ts';

export type RoleDatabases = Readonly<{
  api: Database;
  ingest: Database;
  worker: Database;
  /** Why everything acts as the owner; null: the roles are in use. */
  without: string | null;
  close(): Promise<void>;
}>;

/** @param tag ends the name of every connection: whose it is */
export type RoleOptions = DatabaseOptions & Readonly<{ tag?: string }>;

/** Connections outside the pools: packet log and its ownership, sample rows, derived rows, LISTEN, and occasionally a short one (migration,
 *  probe). */
const OWN_CONNECTIONS = 6;
/** Shares of the rest; these are the sizes with the default of BIO_DB_CONNECTIONS_MAX. */
const SHARES = { owner: 8, api: 8, ingest: 5, worker: 3 } as const;
/** Minimum size of a pool: a task that waits in a transaction must not block everything else. */
const POOL_SIZE_MIN = 2;

/** Roles belong to the whole server: those who made them for one database may have another login than this one. */
const NOT_MEMBER =
  'let a superuser grant biosignal_api, biosignal_ingest, biosignal_worker and biosignal_audit to this login, and start again';

export type PoolSizes = Readonly<Record<keyof typeof SHARES, number>>;

/** Sizes of the pools of a node. @param connectionsMax maximum number of connections of the node, at least 14 */
export function poolSizes(connectionsMax: number): PoolSizes {
  const pooled = connectionsMax - OWN_CONNECTIONS;
  const shares = Object.values(SHARES).reduce((sum, share) => sum + share, 0);
  const size = (share: number): number => Math.max(POOL_SIZE_MIN, Math.floor((pooled * share) / shares));
  return { owner: size(SHARES.owner), api: size(SHARES.api), ingest: size(SHARES.ingest), worker: size(SHARES.worker) };
}

/** Connections that the server gives to ordinary logins, and those in use. */
export async function connectionRoom(database: Database): Promise<Readonly<{ limit: number; used: number }>> {
  const { rows } = await database.pool.query<{ limit: number; used: number }>(
    `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
         - coalesce(current_setting('reserved_connections', true)::int, 0) as limit,
       (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used`,
  );
  return rows[0]!;
}

/** Message for a server with fewer free connections than one or more nodes may need, with what to do. */
export function fewConnections({ limit, used }: Readonly<{ limit: number; used: number }>, connectionsMax: number, nodes = 1): string {
  const who = nodes === 1 ? 'this node' : `${nodes} nodes`;
  return `${who} may open ${nodes * connectionsMax} connections, and of the server's ${limit} only ${Math.max(0, limit - used)} are free: raise its max_connections, or lower BIO_DB_CONNECTIONS_MAX on each node`;
}

/** Opens a pool per role. Where the login may not act as the roles (a hosting provider may forbid creating any), all act as the owner. */
export async function openRoles(
  owner: Database,
  { tag, ...options }: RoleOptions = {},
  sizes: PoolSizes = poolSizes(settings.dbConnectionsMax.fallback),
): Promise<RoleDatabases> {
  const opened: Database[] = [];
  const close = async (): Promise<void> => {
    for (const database of opened.splice(0)) await database.close();
  };
  const open = async (part: Exclude<keyof PoolSizes, 'owner'>): Promise<Database> => {
    const database = await openDatabase(owner.url, {
      ...options,
      poolSizeMax: sizes[part],
      applicationName: tag === undefined ? `biosignal ${part}` : `biosignal ${part} ${tag}`,
      role: `biosignal_${part}`,
    });
    opened.push(database);
    return database;
  };
  try {
    return { api: await open('api'), ingest: await open('ingest'), worker: await open('worker'), without: null, close };
  } catch (error) {
    await close();
    const cause = error instanceof PipelineError ? (error.cause as { code?: unknown; message?: string } | undefined) : undefined;
    // 22023: no such role; 42501: not a member of it, or the role has none of its rights
    if (cause?.code !== '22023' && cause?.code !== '42501') throw error;
    const why = cause.message ?? '';
    return { api: owner, ingest: owner, worker: owner, without: cause.code === '42501' ? `${why}: ${NOT_MEMBER}` : why, close };
  }
}
