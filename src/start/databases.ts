/** The database of the service: the embedded PostgreSQL or the one configured, migrated, with a pool for each role. */
import type { Config } from '../config.ts';
import type { Logger } from '../http/logger.ts';
import { openDatabase } from '../storage/database/database.ts';
import type { Database } from '../storage/database/database.ts';
import { startEmbeddedPostgres } from '../storage/database/embedded-postgres.ts';
import { onceAnOutage } from '../storage/database/once-an-outage.ts';
import { connectionRoom, fewConnections, openRoles, poolSizes } from '../storage/database/roles.ts';
import type { RoleDatabases } from '../storage/database/roles.ts';
import { upgrade } from '../storage/upgrade.ts';
import { serverWords } from './readiness.ts';
import type { Stops } from './stops.ts';

export type Databases = Readonly<{
  database: Database;
  roles: RoleDatabases;
  /** Resolves when the embedded PostgreSQL has stopped by itself; null: there is none. */
  exited: Promise<string> | null;
}>;

type DatabaseOptions = Readonly<{ config: Config; onProgress?: (message: string) => void }>;

/** Starts the embedded PostgreSQL where no other is configured, migrates, and opens the pools of all roles.
 *  @param tag of this instance, in the names of its connections */
export async function startDatabases(
  { config, onProgress }: DatabaseOptions,
  tag: string,
  logger: Logger,
  stops: Stops,
): Promise<Databases> {
  let url = config.databaseUrl;
  let exited: Promise<string> | null = null;
  if (url === '') {
    const embedded = await startEmbeddedPostgres({ dataDir: config.dataDir, ...(onProgress === undefined ? {} : { onProgress }) });
    stops.push(() => embedded.stop());
    exited = embedded.exited.then(() => 'the embedded database has stopped');
    url = embedded.socketUrl;
  }
  const schema = await upgrade(url, {
    plain: config.plainPostgres,
    onProgress: (message) => logger.info({}, `database: ${message}`),
  });
  const sizes = poolSizes(config.dbConnectionsMax);
  const onError = onceAnOutage((err) => logger.warn({ err }, 'database: an idle connection failed'));
  const database = await openDatabase(url, { applicationName: `biosignal ${tag}`, poolSizeMax: sizes.owner, onError });
  stops.push(() => database.close());
  logger.info({ server: database.kind, schema: schema.version, applied: schema.applied }, `database: ${serverWords[database.kind]}`);

  const room = await connectionRoom(database);
  if (room.limit - room.used < config.dbConnectionsMax) logger.warn(room, `database: ${fewConnections(room, config.dbConnectionsMax)}`);

  const roles = await openRoles(database, { tag, onError }, sizes);
  stops.push(() => roles.close());
  if (roles.without !== null) logger.warn({ why: roles.without }, 'database: everything acts as the owner, not as the roles of its parts');
  return { database, roles, exited };
}
