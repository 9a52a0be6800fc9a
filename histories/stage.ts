/** Where histories are played: a PostgreSQL of their own, the service as a process, a proxy before each of them. One stage serves many
 *  histories, each with an organization of its own. With several nodes every request goes to one of them by chance, and what the world
 *  does to the service is done to one after the other. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { PrivatePostgres } from '../faults/lib/private-postgres.ts';
import { freePort } from '../faults/lib/free-port.ts';
import { ServiceProcess } from '../faults/lib/service.ts';
import { TcpProxy } from '../faults/lib/tcp-proxy.ts';
import type { ProxyMode } from '../faults/lib/tcp-proxy.ts';
import { createOrganization } from '../src/auth/organizations.ts';
import type { NewOrganization } from '../src/auth/organizations.ts';
import { cutIntoPartitions } from '../src/cli/partitions.ts';
import { openDatabase } from '../src/storage/database/database.ts';
import { upgrade } from '../src/storage/upgrade.ts';
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

const settingsOfNodes = {
  BIO_DSP_WORKERS: '1',
  BIO_DB_CONNECTIONS_MAX: '14',
};

/** What the world can do to the server of the database. */
export type StagePostgres = Pick<PrivatePostgres, 'url' | 'port' | 'kill' | 'restart' | 'pause' | 'stop'>;

export type StageOptions = Readonly<{
  /** Where the database shall be. Default: a PostgreSQL of its own. */
  server?: string | undefined;
  /** Nodes that share the database, 1 or more. */
  nodes?: number;
}>;

const PARTITIONS = 12;

/** Another instance takes over two seconds after the owner was cut off; on a busy machine later. */
const TAKE_OVER_MS = 60_000;

export class Stage {
  readonly workDir: string;
  readonly postgres: StagePostgres;
  /** Between the nodes and their database, one before each. */
  readonly backs: readonly TcpProxy[];
  /** Between everybody and the service. */
  readonly front: TcpProxy;
  /** The only one, or the one of several that the world is busy with. */
  service: ServiceProcess;
  /** Things that the world did, to tell whether one fell into some time. */
  disturbanceCount = 0;
  #disturbing = 0;
  readonly #others: ServiceProcess[] = [];
  /** Those that serve now. */
  #nodes: readonly ServiceProcess[];

  private constructor(parts: Pick<Stage, 'workDir' | 'postgres' | 'backs' | 'front'>, nodes: readonly ServiceProcess[]) {
    this.workDir = parts.workDir;
    this.postgres = parts.postgres;
    this.backs = parts.backs;
    this.front = parts.front;
    this.#nodes = nodes;
    this.service = nodes[0]!;
  }

  static async start({ server, nodes: nodeCount = 1 }: StageOptions = {}): Promise<Stage> {
    const workDir = mkdtempSync(join(tmpdir(), 'biosignal-histories-'));
    chmodSync(workDir, 0o755); // started as root, the server runs as another account
    const postgres = server === undefined ? await PrivatePostgres.start(join(workDir, 'data')) : await ServerDatabase.create(server);
    const backs = await Promise.all(Array.from({ length: nodeCount }, () => TcpProxy.start(postgres.port)));
    if (nodeCount > 1) await prepareForNodes(postgres.url);
    const nodes: ServiceProcess[] = [];
    for (const [i, back] of backs.entries()) {
      const shared = nodeCount === 1 ? {} : { ...settingsOfNodes, BIO_BUS_DIR: join(workDir, 'bus'), BIO_NODE_NAME: `node-${i + 1}` };
      const env = { ...settings, ...shared, DATABASE_URL: behind(back, postgres) };
      nodes.push(new ServiceProcess(await freePort(), { env }));
    }
    for (const node of nodes) await node.untilReady();
    const front = await TcpProxy.start(nodes[0]!.port);
    front.targets = nodes.map(({ port }) => port);
    const stage = new Stage({ workDir, postgres, backs, front }, nodes);
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

  /** Does every node run? */
  get isUp(): boolean {
    return this.#nodes.every(({ running }) => running);
  }

  set backMode(mode: ProxyMode) {
    for (const back of this.backs) back.mode = mode;
  }

  /** What happens within is the world's doing; afterwards the service serves again. */
  async disturb(what: () => Promise<void>): Promise<void> {
    this.service = this.#nodes[this.disturbanceCount % this.#nodes.length]!;
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
    for (const node of this.#nodes) {
      for (const deadline = performance.now() + timeoutMs; !(await node.isReady()); await sleep(20)) {
        for (const each of this.#nodes) if (!each.running) each.start(); // as an init system does
        if (performance.now() > deadline) throw new Error(`the service does not serve:\n${node.log.slice(-3000)}`);
      }
    }
  }

  /** Another instance waits for the log of packets; the one that serves is killed, and its devices go to the other. */
  async takeOver(): Promise<void> {
    if (this.#nodes.length > 1) return await this.service.kill(); // the others wait already
    const other = await this.#second({});
    await this.service.kill();
    this.#serveFrom(other);
  }

  /** Another instance takes over from one that is cut off from its database, and ends; then the first one serves again, if it still runs as
   *  it is. @param send what devices do while each of them serves */
  async takeBack(ends: 'kill' | 'stop', send: () => Promise<void>): Promise<void> {
    if (this.#nodes.length > 1) return await this.#cutOff(ends, send);
    const first = this.service;
    const other = await this.#second({ DATABASE_URL: this.postgres.url }); // not by the way that is cut
    this.backMode = 'refuse';
    await other.untilReady(TAKE_OVER_MS);
    this.#serveFrom(other);
    this.backMode = 'pass';
    await send();
    if (ends === 'kill') await other.kill();
    else await other.terminate();
    this.#serveFrom(first);
    await this.untilServing();
    await send();
    await this.service.kill(); // what is acknowledged need not be in its rows yet
    await this.untilServing();
  }

  /** One node is cut off from the database until the others have its partitions; when it is back, another one ends. */
  async #cutOff(ends: 'kill' | 'stop', send: () => Promise<void>): Promise<void> {
    const at = this.#nodes.indexOf(this.service);
    const other = this.#nodes[(at + 1) % this.#nodes.length]!;
    this.backs[at]!.mode = 'refuse';
    this.front.targets = this.#nodes.filter((node) => node !== this.service).map(({ port }) => port);
    await other.untilReady(TAKE_OVER_MS);
    this.backs[at]!.mode = 'pass';
    this.front.targets = this.#nodes.map(({ port }) => port);
    await this.untilServing();
    await send();
    if (ends === 'kill') await other.kill();
    else await other.terminate();
    await this.untilServing();
    await send();
  }

  /** One that waits for the log of packets. */
  async #second(env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
    const own = { ...settings, DATABASE_URL: behind(this.backs[0]!, this.postgres) };
    const other = new ServiceProcess(await freePort(), { env: { ...own, ...env } });
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
    this.#nodes = [service];
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
    for (const service of new Set([...this.#others, ...this.#nodes])) if (service.running) await service.kill();
    // A proxy waits for connections that clients reopened meanwhile.
    await Promise.race([Promise.all([this.front, ...this.backs].map((proxy) => proxy.close())), sleep(2000)]);
    await this.postgres.stop();
    rmSync(this.workDir, { recursive: true, force: true });
  }
}

function behind(proxy: TcpProxy, { url, port }: StagePostgres): string {
  return url.replace(`:${port}/`, `:${proxy.port}/`);
}

async function prepareForNodes(url: string): Promise<void> {
  await upgrade(url);
  const database = await openDatabase(url);
  await cutIntoPartitions(database, PARTITIONS);
  await database.close();
}
