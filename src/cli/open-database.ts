/** The database of a command: DATABASE_URL, else the embedded one: joined if it is running, or started for the duration of the command. */
import { existsSync, readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../config.ts';
import type { Config } from '../config.ts';
import { PipelineError } from '../errors.ts';
import { openDatabase } from '../storage/database/database.ts';
import type { Database, DatabaseOptions } from '../storage/database/database.ts';
import { startEmbeddedPostgres } from '../storage/database/embedded-postgres.ts';
import { isRetryable } from '../storage/database/sql-states.ts';
import type { Console } from './command.ts';

/** How long a command waits for a database that is starting or whose name is not known yet, ms. */
const PATIENCE_MS = 5000;

export type DatabaseAddress = Readonly<{
  url: string;
  where: string;
  /** File that holds the password, where the address of the settings does not. */
  passwordFile: string | null;
  stop: () => Promise<void>;
}>;

/** Finds or starts the database. Call stop() last. */
export async function locateDatabase(console: Console, config: Config = readConfig(console.env)): Promise<DatabaseAddress> {
  const stop = async (): Promise<void> => undefined;
  if (config.databaseUrl !== '') return { url: config.databaseUrl, where: 'DATABASE_URL', passwordFile: null, stop };
  const running = runningEmbedded(config);
  if (running !== null) return { ...running, where: `embedded database of ${config.dataDir}, running`, stop };
  if (!hasDatabase(config)) console.err(`biosignal: no database in ${resolve(config.dataDir)} yet; creating one`);
  const server = await startEmbeddedPostgres({
    dataDir: resolve(config.dataDir),
    onProgress: (message) => console.err(`biosignal: ${message}`),
  });
  return {
    url: server.url,
    where: `embedded database of ${config.dataDir}, started for this command`,
    passwordFile: join(server.dataDir, 'password'),
    stop: () => server.stop(),
  };
}

/** Opens the database, hands it to `use`, closes everything whatever happens.
 *  @throws PipelineError not_found where there is none: outside the service's folder, a command would otherwise create an empty one and
 *  find nothing */
export async function withDatabase<T>(console: Console, use: (database: Database) => Promise<T>): Promise<T> {
  const config = readConfig(console.env);
  if (!hasDatabase(config)) throw noDatabase(config);
  const address = await locateDatabase(console, config);
  try {
    const database = await openPatiently(address.url, { applicationName: 'biosignal cli', poolSizeMax: 4, statementTimeoutMs: 0 });
    try {
      return await use(database);
    } finally {
      await database.close();
      // Kysely ends the pool only if it has made a query itself; idle connections would keep the process for ten seconds.
      if (!database.pool.ended) await database.pool.end();
    }
  } finally {
    await address.stop();
  }
}

export function noDatabase(config: Config): PipelineError {
  return new PipelineError(
    'not_found',
    `no database in ${resolve(config.dataDir)}: run this in the folder of the service, or set BIO_DATA_DIR or DATABASE_URL; ` +
      `'biosignal init' creates a new database`,
  );
}

/** Retries at first: containers started together need some seconds to find each other, and the first command follows at once. */
async function openPatiently(url: string, options: DatabaseOptions): Promise<Database> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await openDatabase(url, options);
    } catch (error) {
      if (!(error instanceof PipelineError) || !isRetryable(error.cause) || performance.now() > deadline) throw error;
      await sleep(250);
    }
  }
}

/** Is there a database: DATABASE_URL, or an existing embedded cluster? */
export function hasDatabase(config: Config): boolean {
  return config.databaseUrl !== '' || embeddedFolders(config).some((folder) => existsSync(join(folder, 'pgdata', 'PG_VERSION')));
}

/** Where the embedded cluster can be: started as root below a folder that its account cannot enter, it lives in /var/lib/biosignal
 *  (see embedded-postgres.ts). */
function embeddedFolders(config: Config): string[] {
  const wanted = resolve(config.dataDir);
  return [wanted, join('/var/lib/biosignal', `data-${createHash('sha256').update(wanted).digest('hex').slice(0, 12)}`)];
}

/** Address of an embedded server that is running for the same folder, e.g. under `npm start`; null when there is none. */
export function runningEmbedded(config: Config): Pick<DatabaseAddress, 'url' | 'passwordFile'> | null {
  for (const folder of embeddedFolders(config)) {
    const pidFile = join(folder, 'pgdata', 'postmaster.pid');
    if (!existsSync(pidFile)) continue;
    const [pid = '', , , port = ''] = readFileSync(pidFile, 'utf8').split('\n');
    if (!existsSync(`/proc/${pid.trim()}`) || !/^\d+$/.test(port.trim())) continue;
    const passwordFile = join(folder, 'password');
    const password = readFileSync(passwordFile, 'utf8').trim();
    return { url: `postgres://biosignal:${password}@127.0.0.1:${port.trim()}/biosignal`, passwordFile };
  }
  return null;
}
