/** A primary and its synchronous standby, PostgreSQL as Debian packages it, made by the scripts of ops/timescaledb, as in
 *  compose.cluster.yaml. Behind one address, which follows the primary, as a tool for failover or a provider of databases keeps one. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, openSync, closeSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from './free-port.ts';
import { killAll, pidsOf } from './private-postgres.ts';
import type { DatabaseServer } from './private-postgres.ts';
import { TcpProxy } from './tcp-proxy.ts';

const PACKAGES = '/usr/lib/postgresql';
const SCRIPTS = join(import.meta.dirname, '../../ops/timescaledb');
const PASSWORD = 'of the harness';
const READY_MS = 60_000;
const settings = ['shared_buffers=64MB', 'max_wal_size=256MB', 'max_connections=120', 'listen_addresses=127.0.0.1'];

/** Folder of the newest programs; null: the package postgresql is not installed. */
export function packagedPostgres(): string | null {
  if (!existsSync(PACKAGES)) return null;
  const versions = readdirSync(PACKAGES).filter((version) => existsSync(join(PACKAGES, version, 'bin/pg_basebackup')));
  const newest = versions.toSorted((a, b) => Number(b) - Number(a))[0];
  return newest === undefined ? null : join(PACKAGES, newest, 'bin');
}

type Account = Readonly<{ uid: number; gid: number }>;
type Server = { readonly folder: string; readonly port: number; child: ChildProcess };

export class PostgresPair implements DatabaseServer {
  readonly dataDir: string;
  readonly #bin: string;
  readonly #account: Account | undefined;
  readonly #address: TcpProxy;
  #primary: Server;
  #standby: Server | null = null;
  #made = 1;

  private constructor(workDir: string, bin: string, account: Account | undefined, address: TcpProxy, primary: Server) {
    this.dataDir = workDir;
    this.#bin = bin;
    this.#account = account;
    this.#address = address;
    this.#primary = primary;
    // A harness that is ended leaves no server.
    process.once('exit', () => [this.#primary, this.#standby].forEach((server) => server?.child.kill('SIGQUIT')));
  }

  /** @param workDir a folder that everybody may enter */
  static async start(workDir: string): Promise<PostgresPair> {
    const bin = packagedPostgres();
    if (bin === null) throw new Error('the package postgresql is not installed');
    const account = process.getuid?.() === 0 ? accountOf('postgres') : undefined;
    const servers = join(workDir, 'servers');
    mkdirSync(servers);
    if (account !== undefined) chownSync(servers, account.uid, account.gid);
    const port = await freePort();
    const primary: Server = { folder: join(servers, '1'), port, child: null as unknown as ChildProcess };
    const pair = new PostgresPair(servers, bin, account, await TcpProxy.start(port), primary);
    const passwordFile = join(servers, 'password');
    writeFileSync(passwordFile, PASSWORD, { mode: 0o644 });
    const initdb = ['-D', primary.folder, '-U', 'biosignal', '--auth-local=trust', '--auth-host=scram-sha-256', `--pwfile=${passwordFile}`];
    await pair.#program('initdb', [...initdb, '--no-sync', '--encoding=UTF8', '--locale=C']);
    pair.#startPrimary();
    await pair.#untilReady(primary);
    await pair.#asked(primary, 'postgres', 'create database biosignal');
    await pair.#script('primary.sh', {
      PGDATA: primary.folder,
      PGHOST: servers,
      PGPORT: String(port),
      POSTGRES_USER: 'biosignal',
      POSTGRES_DB: 'biosignal',
    });
    await pair.#addStandby();
    await pair.restart(); // from now on every commit waits for the standby
    await pair.#untilSynchronous();
    return pair;
  }

  get url(): string {
    return `postgres://biosignal:${encodeURIComponent(PASSWORD)}@127.0.0.1:${this.#address.port}/biosignal`;
  }

  get port(): number {
    return this.#address.port;
  }

  get alive(): boolean {
    return pidsOf(this.#primary.child.pid ?? 0).length > 0;
  }

  /** SIGKILL to every process of the primary. */
  async kill(): Promise<void> {
    await killAll(this.#primary.child);
  }

  pause(paused: boolean): void {
    for (const pid of pidsOf(this.#primary.child.pid ?? 0)) process.kill(pid, paused ? 'SIGSTOP' : 'SIGCONT');
  }

  /** Starts the primary again, killed or running. */
  async restart(): Promise<void> {
    await this.#stopServer(this.#primary);
    this.#startPrimary();
    await this.#untilReady(this.#primary);
  }

  /** The primary is lost for good, and the standby takes its place. */
  async promote(): Promise<void> {
    const standby = this.#standby;
    if (standby === null) throw new Error('there is no standby');
    await this.kill();
    await this.#program('pg_ctl', ['promote', '-w', '-D', standby.folder]);
    this.#primary = standby;
    this.#standby = null;
    this.#address.targetPort = standby.port;
  }

  /** A new standby after a promotion, and commits that wait for it again. */
  async renewStandby(): Promise<void> {
    await this.#asked(this.#primary, 'biosignal', `select pg_create_physical_replication_slot('standby')`);
    await this.#addStandby();
    await this.restart();
    await this.#untilSynchronous();
  }

  async stop(): Promise<void> {
    for (const server of [this.#standby, this.#primary]) if (server !== null) await this.#stopServer(server);
    await this.#address.close();
  }

  #startPrimary(): void {
    const { folder, port } = this.#primary;
    this.#primary.child = this.#spawn(join(this.#bin, 'postgres'), ['-D', folder, ...this.#flags(port)], {}, folder);
  }

  #flags(port: number): readonly string[] {
    return [...settings, `port=${port}`, `unix_socket_directories=${this.dataDir}`].flatMap((setting) => ['-c', setting]);
  }

  async #addStandby(): Promise<void> {
    const folder = join(this.dataDir, String(++this.#made));
    mkdirSync(folder, { mode: 0o700 });
    if (this.#account !== undefined) chownSync(folder, this.#account.uid, this.#account.gid);
    const port = await freePort();
    const env = { PGDATA: folder, PRIMARY_HOST: '127.0.0.1', PRIMARY_PORT: String(this.#primary.port) };
    const child = this.#spawn('/bin/sh', [join(SCRIPTS, 'standby.sh'), ...this.#flags(port)], env, folder);
    this.#standby = { folder, port, child };
    await this.#untilReady(this.#standby);
  }

  #spawn(program: string, args: readonly string[], env: NodeJS.ProcessEnv, folder: string): ChildProcess {
    const log = openSync(`${folder}.log`, 'a');
    const child = spawn(program, args, { cwd: '/', env: this.#env(env), stdio: ['ignore', log, log], detached: true, ...this.#account });
    closeSync(log);
    return child;
  }

  #env(more: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
    return { PATH: `${this.#bin}:${process.env['PATH'] ?? ''}`, LC_ALL: 'C', TZ: 'UTC', REPLICATION_PASSWORD: PASSWORD, ...more };
  }

  async #program(name: string, args: readonly string[]): Promise<void> {
    await promisify(execFile)(join(this.#bin, name), args, { cwd: '/', env: this.#env({}), ...this.#account });
  }

  async #script(name: string, env: NodeJS.ProcessEnv): Promise<void> {
    await promisify(execFile)('/bin/sh', [join(SCRIPTS, name)], { cwd: '/', env: this.#env(env), ...this.#account });
  }

  async #asked<Row extends pg.QueryResultRow>({ port }: Server, database: string, text: string): Promise<Row[]> {
    const client = new pg.Client({ host: '127.0.0.1', port, database, user: 'biosignal', password: PASSWORD });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async #untilReady(server: Server): Promise<void> {
    for (const deadline = performance.now() + READY_MS; ; await sleep(50)) {
      const done = await this.#asked(server, 'postgres', 'select').then(
        () => true,
        () => false,
      );
      if (done) return;
      if (performance.now() > deadline || server.child.exitCode !== null)
        throw new Error(`PostgreSQL does not start: ${readFileSync(`${server.folder}.log`, 'utf8').slice(-2000)}`);
    }
  }

  async #untilSynchronous(): Promise<void> {
    for (const deadline = performance.now() + READY_MS; ; await sleep(50)) {
      const rows = await this.#asked(this.#primary, 'postgres', `select from pg_stat_replication where sync_state = 'sync'`);
      if (rows.length === 1) return;
      if (performance.now() > deadline) throw new Error('the standby does not follow');
    }
  }

  async #stopServer({ child }: Server): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise<void>((done) => child.once('exit', () => done()));
    child.kill('SIGINT'); // fast shutdown
    await Promise.race([gone, sleep(10_000)]);
    if (child.exitCode === null && child.signalCode === null) await killAll(child);
  }
}

function accountOf(name: string): Account {
  const id = (flag: string): number => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
