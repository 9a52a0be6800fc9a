/** Where histories are played: a PostgreSQL of their own, the service as a process, a proxy before each of them. One stage serves many
 *  histories, each with an organization of its own. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { PrivatePostgres } from '../faults/lib/private-postgres.ts';
import { freePort } from '../faults/lib/free-port.ts';
import { ServiceProcess } from '../faults/lib/service.ts';
import { TcpProxy } from '../faults/lib/tcp-proxy.ts';
import { createOrganization } from '../src/auth/organizations.ts';
import type { NewOrganization } from '../src/auth/organizations.ts';
import { openDatabase } from '../src/storage/database/database.ts';
import { refusedBySite } from './commands.ts';
import { ServerDatabase } from './server-database.ts';

const settings = {
  // Tokens that one instance gave out are good at the next one.
  BIO_PUBLIC_URL: 'http://histories.test',
  BIO_DEVICE_PACKETS_PER_SEC_MAX: '100000',
  BIO_REQUESTS_PER_SEC_MAX: '100000',
  BIO_KEY_STREAMS_PER_MIN_MAX: '100000',
  BIO_USER_STREAMS_PER_MIN_MAX: '100000',
  // Not how fast the machine is.
  BIO_STOP_TIMEOUT_MS: '60000',
  BIO_DSP_TASK_TIMEOUT_MS: '60000',
  // Every pause takes a stream for ended, and retention is applied while one looks on.
  BIO_DSP_IDLE_FLUSH_MS: '1000',
  BIO_RETENTION_PERIOD_SEC: '1',
  // Receivers are on this machine.
  BIO_WEBHOOK_NETWORKS: '127.0.0.0/8',
};

/** What the world can do to the server of the database. */
export type StagePostgres = Pick<PrivatePostgres, 'url' | 'port' | 'kill' | 'restart' | 'pause' | 'stop'>;

/** Another instance takes over two seconds after the owner was cut off; on a busy machine later. */
const TAKE_OVER_MS = 60_000;

export class Stage {
  readonly workDir: string;
  readonly postgres: StagePostgres;
  /** Between the service and its database. */
  readonly back: TcpProxy;
  /** Between everybody and the service. */
  readonly front: TcpProxy;
  service: ServiceProcess;
  /** Things that the world did, to tell whether one fell into some time. */
  disturbanceCount = 0;
  #disturbing = 0;
  readonly #others: ServiceProcess[] = [];
  readonly #env: Readonly<Record<string, string>>;

  private constructor(parts: Pick<Stage, 'workDir' | 'postgres' | 'back' | 'front' | 'service'>, env: Readonly<Record<string, string>>) {
    this.workDir = parts.workDir;
    this.postgres = parts.postgres;
    this.back = parts.back;
    this.front = parts.front;
    this.service = parts.service;
    this.#env = env;
  }

  /** @param server where the database shall be. Default: a PostgreSQL of its own */
  static async start(server?: string): Promise<Stage> {
    const workDir = mkdtempSync(join(tmpdir(), 'biosignal-histories-'));
    chmodSync(workDir, 0o755); // started as root, the server runs as another account
    const postgres = server === undefined ? await PrivatePostgres.start(join(workDir, 'data')) : await ServerDatabase.create(server);
    const back = await TcpProxy.start(postgres.port);
    const env = { ...settings, DATABASE_URL: postgres.url.replace(`:${postgres.port}/`, `:${back.port}/`) };
    const service = new ServiceProcess(await freePort(), { env });
    await service.untilReady();
    const front = await TcpProxy.start(service.port);
    const stage = new Stage({ workDir, postgres, back, front, service }, env);
    // What only the database knows to be wrong
    await stage.sql(`alter table device_event add constraint of_the_site check (content <> '${refusedBySite.text}')`);
    await stage.sql(`alter table measurement add constraint of_the_site check (value <> ${refusedBySite.value})`);
    return stage;
  }

  get url(): string {
    return `http://127.0.0.1:${this.front.port}`;
  }

  /** Is the world doing something? */
  get isDisturbed(): boolean {
    return this.#disturbing > 0;
  }

  /** What happens within is the world's doing; afterwards the service serves again. */
  async disturb(what: () => Promise<void>): Promise<void> {
    this.disturbanceCount++;
    this.#disturbing++;
    try {
      await what();
      await this.untilServing();
    } finally {
      this.#disturbing--;
    }
  }

  async untilServing(timeoutMs = 120_000): Promise<void> {
    for (const deadline = performance.now() + timeoutMs; !(await this.service.isReady()); await sleep(20)) {
      if (!this.service.running) this.service.start(); // as an init system does
      if (performance.now() > deadline) throw new Error(`the service does not serve:\n${this.service.log.slice(-3000)}`);
    }
  }

  /** Another instance waits for the log of packets; the one that serves is killed, and its devices go to the other. */
  async takeOver(): Promise<void> {
    const other = await this.#second({});
    await this.service.kill();
    this.#serveFrom(other);
  }

  /** Another instance takes over from one that is cut off from its database, and ends; then the first one serves again, if it still runs as
   *  it is. @param send what devices do while each of them serves */
  async takeBack(ends: 'kill' | 'stop', send: () => Promise<void>): Promise<void> {
    const first = this.service;
    const other = await this.#second({ DATABASE_URL: this.postgres.url }); // not by the way that is cut
    this.back.mode = 'refuse';
    await other.untilReady(TAKE_OVER_MS);
    this.#serveFrom(other);
    this.back.mode = 'pass';
    await send();
    if (ends === 'kill') await other.kill();
    else await other.terminate();
    this.#serveFrom(first);
    await this.untilServing();
    await send();
    await this.service.kill(); // what is acknowledged need not be in its rows yet
    await this.untilServing();
  }

  /** One that waits for the log of packets. */
  async #second(env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
    const other = new ServiceProcess(await freePort(), { env: { ...this.#env, ...env } });
    this.#others.push(other);
    const isListening = async (): Promise<boolean> =>
      await fetch(`${other.url}/healthz`).then(
        (answer) => answer.arrayBuffer().then(() => true),
        () => false,
      );
    for (let waited = 0; waited < 30_000 && !(await isListening()); waited += 50) await sleep(50);
    return other;
  }

  #serveFrom(service: ServiceProcess): void {
    this.service = service;
    this.front.targetPort = service.port;
    this.front.mode = 'pass'; // resets what led to the one before
  }

  /** Straight to the server. */
  async sql<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.postgres.url, application_name: 'histories' });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query<Row>(text, [...values])).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async newOrganization(name: string): Promise<NewOrganization> {
    const database = await openDatabase(this.postgres.url);
    try {
      return await createOrganization(database.pool, name);
    } finally {
      await database.close();
    }
  }

  async close(): Promise<void> {
    for (const service of new Set([...this.#others, this.service])) if (service.running) await service.kill();
    // A proxy waits for connections that clients reopened meanwhile.
    await Promise.race([Promise.all([this.front.close(), this.back.close()]), sleep(2000)]);
    await this.postgres.stop();
    rmSync(this.workDir, { recursive: true, force: true });
  }
}
