/** A connection for one writer: opens it when needed, reopens it when lost, and retries its work when that can help. */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { PipelineError } from '../../errors.ts';
import type { Database } from './database.ts';
import { isRetryable, NoAnswer } from './sql-states.ts';

export type WriterConnectionOptions = Readonly<{
  /** How long one piece of work is retried, ms. Default 15,000. */
  retryForMs?: number;
  /** A statement may run this long, ms. Default 20,000. */
  statementTimeoutMs?: number;
  /** Timeout of one attempt, ms, for a server that was cut off and never answers. Default: statementTimeoutMs + 5,000. */
  answerTimeoutMs?: number;
  /** Runs on every new connection before any work. */
  onConnect?: (client: pg.Client) => Promise<void>;
  /** Called before every retry. */
  onRetry?: (error: Error, attempt: number) => void;
}>;

/** How long a server may take to close a connection, ms. */
const CLOSE_MS = 1000;
/** Time for a connection itself, in addition to what is asked on it, and for the end of a transaction that failed, ms. */
const CONNECT_MS = 5000;

/** One piece of work at a time: the caller awaits `run` before the next. */
export class WriterConnection {
  readonly #database: Database;
  readonly #options: WriterConnectionOptions;
  #client: pg.Client | null = null;
  #closed = false;

  constructor(database: Database, options: WriterConnectionOptions = {}) {
    this.#database = database;
    this.#options = options;
  }

  /** Runs work until it succeeds. The work must be idempotent: a commit may have happened although its answer was lost.
   *  @throws PipelineError unavailable when it cannot be done within retryForMs; the work's own error when a retry cannot help */
  async run<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const deadline = performance.now() + (this.#options.retryForMs ?? 15_000);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(work);
      } catch (error) {
        await this.#drop(error);
        if (!isRetryable(error)) throw error;
        this.#options.onRetry?.(error as Error, attempt);
        const delayMs = Math.min(1000, 20 * 2 ** attempt) * (0.5 + Math.random());
        if (this.#closed || performance.now() + delayMs > deadline) {
          throw new PipelineError('unavailable', `the database does not take writes: ${(error as Error).message}`, {
            cause: error,
            retryAfterSec: 2,
          });
        }
        await sleep(delayMs);
      }
    }
  }

  /** `work` between begin and commit. */
  async transaction<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    return this.run(async (client) => {
      await client.query('begin');
      const result = await work(client);
      await client.query('commit');
      return result;
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const client = this.#client;
    this.#client = null;
    if (client === null) return;
    // A server that does not answer does not close either.
    const silence = setTimeout(() => destroy(client), CLOSE_MS);
    await client.end().catch(() => {});
    clearTimeout(silence);
  }

  async #attempt<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const timeoutMs = this.#options.answerTimeoutMs ?? (this.#options.statementTimeoutMs ?? 20_000) + 5000;
    const client = this.#client ?? (await this.#connected(timeoutMs));
    const working = this.#database.use === undefined ? work(client) : this.#database.use(client, work);
    return await inTime(working, timeoutMs, () => {
      destroy(client);
      return new NoAnswer(timeoutMs);
    });
  }

  /** A server that is cut off after it has accepted the connection never answers what is asked first, either. */
  async #connected(timeoutMs: number): Promise<pg.Client> {
    const notReady = new Error(`timeout expired: a connection to the database was not ready within ${timeoutMs} ms`);
    const connecting = this.#database.connect();
    const client = await inTime(connecting, timeoutMs + CONNECT_MS, () => {
      connecting.then(destroy, () => undefined);
      return notReady;
    });
    const forget = (): void => {
      if (this.#client === client) this.#client = null;
    };
    client.on('error', forget);
    client.on('end', forget);
    try {
      await inTime(this.#setUp(client), timeoutMs, () => {
        destroy(client);
        return notReady;
      });
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
    this.#client = client;
    return client;
  }

  async #setUp(client: pg.Client): Promise<void> {
    await client.query(`set statement_timeout = ${this.#options.statementTimeoutMs ?? 20_000}`);
    // Late rows replace rows of the columnstore, which are unpacked first; one second of a packed segment may exceed the default bound.
    if (this.#database.kind === 'timescale') await client.query('set timescaledb.max_tuples_decompressed_per_dml_transaction = 0');
    await this.#options.onConnect?.(client);
  }

  /** After a failure: makes the connection idle when the server says that only the statement failed, otherwise closes it. */
  async #drop(error: unknown): Promise<void> {
    const client = this.#client;
    if (client === null) return;
    const code = (error as { code?: unknown } | null)?.code;
    if (typeof code === 'string' && /^(22|23|40|42|44|53|54|55|57014|P0)/.test(code)) {
      try {
        await inTime(client.query('rollback'), CONNECT_MS, () => {
          destroy(client);
          return new NoAnswer(CONNECT_MS);
        });
        return;
      } catch {
        // fall through
      }
    }
    this.#client = null;
    // Not awaited: a server that does not answer must not hold up the next attempt.
    client.end().catch(() => {});
  }
}

/** @param giveUp called when it takes longer: what was being done fails with its connection, and nobody waits for it any more
 *  @throws what giveUp returns */
async function inTime<T>(working: Promise<T>, timeoutMs: number, giveUp: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      working.catch(() => undefined);
      reject(giveUp());
    }, timeoutMs);
  });
  try {
    return await Promise.race([working, silence]);
  } finally {
    clearTimeout(timer);
  }
}

/** Closes the socket without a farewell: end() would wait for a server that does not answer. */
function destroy(client: pg.Client): void {
  (client as unknown as { connection: { stream: { destroy: () => void } } }).connection.stream.destroy();
}
