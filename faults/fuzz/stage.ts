/** Where the long forms of the fuzzer run: a database, the service as a process of its own, and a watch over its memory and its turns. */
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { NewOrganization } from '../../src/auth/organizations.ts';
import { openDatabase } from '../../src/storage/database/database.ts';
import type { Database } from '../../src/storage/database/database.ts';
import { emptyDatabase } from '../../test/helpers/database.ts';
import { PrivatePostgres } from '../lib/private-postgres.ts';
import { ServiceProcess } from '../lib/service.ts';
import { freePort } from '../lib/free-port.ts';
import { Description } from './description.ts';

/** Resident memory of the service, MiB. At rest it has 200 to 300. */
const RSS_MIB_MAX = 1024;
/** Processor time that the main thread may need between a question to /healthz and its answer, ms: nobody else was served meanwhile. */
const TURN_MS_MAX = 500;
const WATCH_EVERY_MS = 100;
/** The kernel counts processor time in hundredths of a second. */
const TICK_MS = 10;

const settings = {
  BIO_DEVICE_PACKETS_PER_SEC_MAX: '100000',
  BIO_REQUESTS_PER_SEC_MAX: '100000',
  BIO_KEY_STREAMS_PER_MIN_MAX: '1000000',
  BIO_USER_STREAMS_PER_MIN_MAX: '1000000',
  // Not how fast the machine is.
  BIO_STOP_TIMEOUT_MS: '60000',
  BIO_DSP_TASK_TIMEOUT_MS: '60000',
  // Every round has ended streams.
  BIO_DSP_IDLE_FLUSH_MS: '1000',
};

export type Asked = Readonly<{ status: number; headers: Headers; text: string; ms: number; bytes: Uint8Array<ArrayBuffer> }>;
export type AskOptions = Readonly<{ as?: string; body?: BodyInit | undefined; headers?: Readonly<Record<string, string>> }>;

export class FuzzStage {
  readonly workDir: string;
  readonly databaseUrl: string;
  readonly database: Database;
  readonly service: ServiceProcess;
  readonly description: Description;
  /** What was wrong with the process since it was last asked. */
  #troubles: string[] = [];
  rssMiBMax = 0;
  turnMsMax = 0;
  #watching = true;
  #watched: Promise<void> = Promise.resolve();
  readonly #dropDatabase: () => Promise<void>;

  private constructor(
    parts: Pick<FuzzStage, 'workDir' | 'databaseUrl' | 'database' | 'service' | 'description'>,
    drop: () => Promise<void>,
  ) {
    this.workDir = parts.workDir;
    this.databaseUrl = parts.databaseUrl;
    this.database = parts.database;
    this.service = parts.service;
    this.description = parts.description;
    this.#dropDatabase = drop;
  }

  /** @param serverUrl a server on which a database may be made; '': the embedded PostgreSQL */
  static async start(serverUrl: string): Promise<FuzzStage> {
    const workDir = mkdtempSync(join(tmpdir(), 'biosignal-fuzz-'));
    chmodSync(workDir, 0o755); // started as root, the server runs as another account
    const { url, drop } = serverUrl === '' ? await embedded(join(workDir, 'data')) : await emptyDatabase(serverUrl);
    const service = new ServiceProcess(await freePort(), { env: { ...settings, DATABASE_URL: url } });
    await service.untilReady();
    const database = await openDatabase(url);
    const stage = new FuzzStage({ workDir, databaseUrl: url, database, service, description: await Description.of(service.url) }, drop);
    stage.#watched = stage.#watch();
    return stage;
  }

  async ask(method: string, path: string, { as = '', body, headers = {} }: AskOptions = {}): Promise<Asked> {
    const startedMs = performance.now();
    const response = await fetch(this.service.url + path, {
      method,
      headers: { ...(as === '' ? {} : { authorization: `Bearer ${as}` }), ...headers },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.timeout(60_000),
      redirect: 'manual',
    });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const ms = performance.now() - startedMs;
    return { status: response.status, headers: response.headers, text: Buffer.from(bytes).toString(), ms, bytes };
  }

  async sql<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.database.pool.query<Row>(text, [...values])).rows;
  }

  async newOrganization(name: string): Promise<NewOrganization> {
    return await createOrganization(this.database.pool, name);
  }

  /** What was wrong with the process since this was last asked. */
  takeTroubles(): string[] {
    const found = this.#troubles;
    this.#troubles = [];
    if (!this.service.running) found.push(`the service has ended:\n${this.service.log.slice(-3000)}`);
    // Warnings say what was refused or set aside; an error is a fault of ours.
    for (const line of this.service.log.split('\n'))
      if (/"level":(?:50|60|"error"|"fatal")/.test(line)) found.push(`the service logged: ${line.slice(0, 1500)}`);
    this.service.log = '';
    return found;
  }

  async #watch(): Promise<void> {
    while (this.#watching && this.service.running) {
      const before = mainThreadMs(this.service.pid);
      const answered = await this.ask('GET', '/healthz').catch(() => null);
      const turnMs = mainThreadMs(this.service.pid) - before - TICK_MS;
      const rssMiB = rssMiBOf(this.service.pid);
      if (answered !== null && turnMs > this.turnMsMax) this.turnMsMax = turnMs;
      if (answered !== null && turnMs > TURN_MS_MAX)
        this.#troubles.push(`the main thread worked ${Math.round(turnMs)} ms before it answered /healthz, limit ${TURN_MS_MAX}`);
      if (rssMiB > RSS_MIB_MAX && this.rssMiBMax <= RSS_MIB_MAX)
        this.#troubles.push(`the service has ${Math.round(rssMiB)} MiB of memory, limit ${RSS_MIB_MAX}`);
      this.rssMiBMax = Math.max(this.rssMiBMax, rssMiB);
      await sleep(WATCH_EVERY_MS);
    }
  }

  async close(): Promise<void> {
    this.#watching = false;
    await this.#watched;
    if (this.service.running) await Promise.race([this.service.terminate(), sleep(20_000)]);
    if (this.service.running) await this.service.kill();
    await this.database.close();
    await this.#dropDatabase();
    rmSync(this.workDir, { recursive: true, force: true });
  }
}

/** What went wrong, with what was behind it: of fetch only that says anything. */
export function wordsOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}

async function embedded(folder: string): Promise<{ url: string; drop: () => Promise<void> }> {
  const postgres = await PrivatePostgres.start(folder, { fsync: 'off', synchronous_commit: 'off' });
  return { url: postgres.url, drop: () => postgres.stop() };
}

/** Processor time of the thread that serves. */
function mainThreadMs(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return 0;
  }
}

function rssMiBOf(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
