/** The part `disk` of /readyz: how large the database is, and for the embedded one how much room is left. */
import { statfs } from 'node:fs/promises';
import type { Config } from '../config.ts';
import type { Logger } from '../http/logger.ts';
import type { Part } from '../http/service-routes.ts';
import type { Database } from '../storage/database/database.ts';

/** Age at which the size is asked for again, ms: it is the sum of all files of the database. */
const KEPT_MS = 60_000;
const GIB = 2 ** 30;
/** Room below which the part is not ok, bytes. Packets are still accepted, so it does not count for readiness. */
const FREE_BYTES_MIN = GIB;

export class DiskPart {
  readonly #database: Database;
  readonly #config: Config;
  readonly #logger: Logger;
  #part: Part | null = null;
  #askedMs = -Infinity;
  #asking = false;
  #roomFailed = false;

  constructor(database: Database, config: Config, logger: Logger) {
    this.#database = database;
    this.#config = config;
    this.#logger = logger;
  }

  /** What was found last, at most KEPT_MS and one request ago; never waits. Nothing before the first answer. */
  parts(): readonly Part[] {
    if (!this.#asking && performance.now() - this.#askedMs > KEPT_MS) void this.#ask();
    return this.#part === null ? [] : [this.#part];
  }

  async #ask(): Promise<void> {
    this.#asking = true;
    try {
      const { rows } = await this.#database.pool.query<{ bytes: string }>('select pg_database_size(current_database())::text as bytes');
      const size = `database ${gibibytes(Number(rows[0]?.bytes ?? 0))}`;
      this.#part = this.#config.databaseUrl === '' ? await this.#withRoom(size) : { name: 'disk', ok: true, detail: size, needed: false };
    } catch {
      this.#part = null; // the part `database` says why
    } finally {
      this.#asking = false;
      this.#askedMs = performance.now();
    }
  }

  async #withRoom(size: string): Promise<Part> {
    try {
      const { bavail, blocks, bsize } = await statfs(this.#config.dataDir);
      const free = bavail * bsize;
      this.#roomFailed = false;
      const detail = `${size}, ${gibibytes(free)} of ${gibibytes(blocks * bsize)} free`;
      return { name: 'disk', ok: free >= FREE_BYTES_MIN, detail, needed: false };
    } catch (err) {
      const reason = err instanceof Error ? err.message : String(err);
      if (!this.#roomFailed) this.#logger.warn({ err }, 'disk: the free room of BIO_DATA_DIR is not known');
      this.#roomFailed = true;
      return { name: 'disk', ok: false, detail: `${size}, free room is not known: ${reason}`, needed: false };
    }
  }
}

const gibibytes = (bytes: number): string => (bytes < GIB ? `${Math.round(bytes / 2 ** 20)} MiB` : `${(bytes / GIB).toFixed(1)} GiB`);
