/** The service's connections by what they may do. The login of DATABASE_URL owns the schema; its parts act as the roles of
 *  sql/000016-roles.sql, so that a mistake in one of them cannot read or change what is not its own:
 *  api (REST; one organization per transaction), ingest (log, streams, samples), worker (beats, features, reported values).
 *  As the owner remain: migrations, credentials (a key is looked up before its organization is known), housekeeping, erasure. */
import { PipelineError } from '../errors.ts';
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

/** Connections of each role's pool; with the owner's 10 they stay below a quarter of PostgreSQL's default of 100. */
const POOL_SIZES = { api: 10, ingest: 8, worker: 4 } as const;

/** Opens a pool per role. Where the login may not act as them (roles are the server's: a hoster may forbid to create any) all are the owner. */
export async function openRoles(owner: Database, { tag, ...options }: RoleOptions = {}): Promise<RoleDatabases> {
  const opened: Database[] = [];
  const close = async (): Promise<void> => {
    for (const database of opened.splice(0)) await database.close();
  };
  const open = async (part: keyof typeof POOL_SIZES): Promise<Database> => {
    const database = await openDatabase(owner.url, {
      ...options,
      poolSizeMax: POOL_SIZES[part],
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
    return { api: owner, ingest: owner, worker: owner, without: cause.message ?? '', close };
  }
}
