/** The system under fault: a private PostgreSQL, a proxy before it, the service, devices with a ledger, and the verdict afterwards. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createOrganization } from '../../src/auth/organizations.ts';
import { runCommand } from '../../src/cli/command.ts';
import type { Console } from '../../src/cli/command.ts';
import { verify } from '../../src/cli/verify.ts';
import { openDatabase } from '../../src/storage/database/database.ts';
import { compareWithCleanRun } from './clean-run.ts';
import type { Comparison } from './clean-run.ts';
import { Fleet } from './fleet.ts';
import type { FleetOptions } from './fleet.ts';
import { PrivatePostgres } from './private-postgres.ts';
import type { DatabaseServer, PostgresSettings } from './private-postgres.ts';
import { PostgresPair } from './postgres-pair.ts';
import { freePort } from './free-port.ts';
import { Nodes, Viewer } from './nodes.ts';
import { ServiceProcess } from './service.ts';
import { TcpProxy } from './tcp-proxy.ts';

export type WorldOptions = Readonly<{
  name: string;
  seed: number;
  deviceCount?: number;
  packetMs?: number;
  postgresSettings?: PostgresSettings;
  /** Prepares the folder before the server is first started, e.g. mounts something there. @returns how to undo it */
  prepare?: (workDir: string) => Promise<() => Promise<void>>;
  /** With the cluster made and the server stopped. */
  arrange?: (postgres: PrivatePostgres, workDir: string) => Promise<void>;
  /** A primary with a synchronous standby, as Debian packages PostgreSQL; `postgres` is a PostgresPair then. */
  standby?: boolean;
  env?: Readonly<Record<string, string>>;
  nodeFlags?: readonly string[];
  /** A service that ends by itself while it is waited for is started again, as an init system does. */
  supervised?: boolean;
  /** Devices reach the service through a proxy. */
  front?: boolean;
  /** Three nodes of one database with a message server, and a balancer; `service` is the first of them. */
  cluster?: boolean;
}>;

/** What `biosignal verify` counted, and what a clean run of the same packets gave. */
export type Verdict = Readonly<{
  ok: boolean;
  streams: number;
  accepted: number;
  refused: number;
  unanswered: number;
  missing_packets: number;
  samples: number;
  missing_samples: number;
  different_samples: number;
  doubled_samples: number;
  unexpected_samples: number;
  faulty: readonly { firstFault: string; deviceId: string }[];
  derived: Comparison;
}>;

export class World {
  readonly workDir: string;
  readonly postgres: DatabaseServer;
  readonly proxy: TcpProxy;
  readonly front: TcpProxy | null;
  ledger: string;
  readonly credential: string;
  readonly env: Readonly<Record<string, string>>;
  fleet: Fleet;
  service: ServiceProcess;
  readonly #options: WorldOptions;
  readonly #others: ServiceProcess[] = [];
  readonly #undo: () => Promise<void>;
  /** Null without `cluster`. */
  readonly nodes: Nodes | null;
  #viewer: Viewer | null = null;

  private constructor(
    parts: Pick<World, 'workDir' | 'postgres' | 'proxy' | 'front' | 'ledger' | 'credential' | 'env' | 'fleet' | 'service' | 'nodes'>,
    options: WorldOptions,
    undo: () => Promise<void>,
  ) {
    this.workDir = parts.workDir;
    this.postgres = parts.postgres;
    this.proxy = parts.proxy;
    this.front = parts.front;
    this.ledger = parts.ledger;
    this.credential = parts.credential;
    this.env = parts.env;
    this.fleet = parts.fleet;
    this.service = parts.service;
    this.nodes = parts.nodes;
    this.#options = options;
    this.#undo = undo;
  }

  static async start(options: WorldOptions): Promise<World> {
    const workDir = mkdtempSync(join(tmpdir(), `biosignal-faults-${options.name}-`));
    chmodSync(workDir, 0o755); // started as root, the server runs as another account
    const undo = (await options.prepare?.(workDir)) ?? (async () => undefined);
    const postgres = options.standby === true ? await PostgresPair.start(workDir) : await startPostgres(options, workDir);
    const proxy = await TcpProxy.start(postgres.port);
    const env = {
      DATABASE_URL: postgres.url.replace(`:${postgres.port}/`, `:${proxy.port}/`),
      BIO_DEVICE_PACKETS_PER_SEC_MAX: '100000',
      BIO_REQUESTS_PER_SEC_MAX: '100000',
      // Whether it stops in good order is asked, and whether a worker answers, not how fast the machine is.
      BIO_STOP_TIMEOUT_MS: '60000',
      BIO_DSP_TASK_TIMEOUT_MS: '60000',
      // Streams are taken for ended, and go on, in nearly every round.
      BIO_DSP_IDLE_FLUSH_MS: '3000',
      ...options.env,
    };
    const nodes = options.cluster === true ? await Nodes.start(postgres.url, postgres.port, env) : null;
    const service = nodes?.all[0]!.service ?? new ServiceProcess(await freePort(), { env, nodeFlags: options.nodeFlags ?? [] });
    await service.untilReady();
    const front = nodes?.front ?? (options.front === true ? await TcpProxy.start(service.port) : null);
    const database = await openDatabase(postgres.url);
    const { apiKey } = await createOrganization(database.pool, options.name);
    await database.close();
    const ledger = join(workDir, 'ledger');
    const url = front === null ? service.url : `http://127.0.0.1:${front.port}`;
    const fleet = new Fleet(fleetOptions(options, url, apiKey.key, ledger, options.seed));
    const world = new World({ workDir, postgres, proxy, front, ledger, credential: apiKey.key, env, fleet, service, nodes }, options, undo);
    await world.untilServing(performance.now());
    return world;
  }

  /** The same devices after a restart, with a ledger of their own. The fleet before must have been judged. */
  async nextFleet(seed: number): Promise<void> {
    this.ledger = join(this.workDir, `ledger-${seed}`);
    const url = this.front === null ? this.service.url : `http://127.0.0.1:${this.front.port}`;
    this.fleet = new Fleet(fleetOptions(this.#options, url, this.credential, this.ledger, seed));
    await this.untilServing(performance.now());
  }

  /** Another instance on the same database, not yet ready. @param root folder of its release; default: this one
   *  @param env in addition to that of the first one */
  async secondInstance({
    root,
    env = {},
  }: Readonly<{ root?: string; env?: Readonly<Record<string, string>> }> = {}): Promise<ServiceProcess> {
    const other = new ServiceProcess(await freePort(), {
      env: { ...this.env, ...env },
      nodeFlags: this.#options.nodeFlags ?? [],
      ...(root === undefined ? {} : { root }),
    });
    this.#others.push(other);
    return other;
  }

  /** Until /readyz says so and a new packet was acknowledged. @returns ms since `sinceMs` */
  async untilServing(sinceMs: number, timeoutMs = 900_000): Promise<number> {
    for (let ready = false; ; await sleep(20)) {
      ready ||= await this.service.isReady();
      if (ready && (await this.fleet.probe())) return performance.now() - sinceMs;
      if (!this.service.running) {
        if (!this.#options.supervised) throw new Error(`the service has ended:\n${this.service.log}`);
        this.service.start();
        ready = false;
      }
      if (performance.now() - sinceMs > timeoutMs) throw new Error(`not serving after ${timeoutMs} ms:\n${this.service.log.slice(-4000)}`);
    }
  }

  /** Straight to the server, past the proxy. */
  async sql<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    for (let attempt = 1; ; attempt++) {
      const client = new pg.Client({ connectionString: this.postgres.url, application_name: 'faults', statement_timeout: 10_000 });
      client.on('error', () => undefined);
      try {
        await client.connect();
        return (await client.query<Row>(text, [...values])).rows;
      } catch (error) {
        if (attempt === 3) throw error;
        await sleep(200);
      } finally {
        await client.end().catch(() => undefined);
      }
    }
  }

  /** Ends the fleet, holds its ledger against the database, and beats and values against those of a clean run. */
  async verdict(): Promise<Verdict> {
    await this.fleet.stop();
    const out: string[] = [];
    const console: Console = {
      out: (line) => void out.push(line),
      err: () => undefined,
      progress: null,
      env: { DATABASE_URL: this.postgres.url },
      cwd: this.workDir,
      signal: new AbortController().signal,
    };
    for (let attempt = 1; attempt <= 3 && out.length === 0; attempt++) {
      await runCommand(verify, [this.ledger, '--json', '--wait', '120'], console);
    }
    let counted: Omit<Verdict, 'derived'>;
    try {
      counted = JSON.parse(out.join('\n')) as Omit<Verdict, 'derived'>;
    } catch (cause) {
      throw new Error(`verify said: ${out.join('\n')}\n${this.service.log.slice(-2000)}`, { cause });
    }
    const derived = await compareWithCleanRun(this.ledger, this.postgres.url, this.workDir);
    return { ...counted, ok: counted.ok && derived.otherRows === 0, derived };
  }

  /** A viewer watches the first device from now on, whatever happens. */
  watch(): Viewer {
    this.#viewer ??= new Viewer(`http://127.0.0.1:${this.front!.port}`, 'd0', this.credential);
    return this.#viewer;
  }

  async close(): Promise<void> {
    await this.fleet.stop(1).catch(() => undefined);
    this.#viewer?.close();
    await this.nodes?.close();
    for (const service of new Set([...this.#others, this.service])) {
      if (service.running) await Promise.race([service.terminate(), sleep(15_000)]);
      if (service.running) await service.kill();
    }
    await this.proxy.close();
    if (this.nodes === null) await this.front?.close();
    await this.postgres.stop();
    await this.#undo();
    rmSync(this.workDir, { recursive: true, force: true });
  }
}

async function startPostgres({ postgresSettings, arrange }: WorldOptions, workDir: string): Promise<PrivatePostgres> {
  const postgres = await PrivatePostgres.start(join(workDir, 'data'), postgresSettings);
  if (arrange === undefined) return postgres;
  await postgres.stop();
  await arrange(postgres, workDir);
  await postgres.restart();
  return postgres;
}

function fleetOptions(options: WorldOptions, url: string, credential: string, ledger: string, seed: number): FleetOptions {
  const { deviceCount = 6, packetMs = 200 } = options;
  return { url, credential, ledger, prefix: 'd', seed, deviceCount, packetMs };
}
