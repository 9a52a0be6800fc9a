/** A PostgreSQL of the harness's own, from the embedded binaries, that can be killed like a machine that loses power (but for the disk's
 *  own cache): every process at once, with SIGKILL. */
import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEmbeddedPostgres } from '../../src/storage/database/embedded-postgres.ts';
import type { EmbeddedPostgres } from '../../src/storage/database/embedded-postgres.ts';

export type PostgresSettings = Readonly<Record<string, string>>;

/** Fsync and synchronous_commit stay on: what is tested is that an acknowledged packet is on the disk. */
const defaults: PostgresSettings = { shared_buffers: '64MB', max_wal_size: '256MB', checkpoint_timeout: '5min' };

/** A server that a world runs on. */
export type DatabaseServer = Readonly<{
  dataDir: string;
  /** Of the superuser, straight to the server. */
  url: string;
  port: number;
  alive: boolean;
  kill: () => Promise<void>;
  pause: (paused: boolean) => void;
  restart: () => Promise<void>;
  stop: () => Promise<void>;
}>;

export class PrivatePostgres implements DatabaseServer {
  readonly dataDir: string;
  readonly #settings: PostgresSettings;
  readonly #port: number;
  #server: EmbeddedPostgres;

  private constructor(dataDir: string, settings: PostgresSettings, server: EmbeddedPostgres) {
    this.dataDir = dataDir;
    this.#settings = settings;
    this.#server = server;
    this.#port = server.port;
  }

  /** @param dataDir an absent folder whose parent everybody may enter */
  static async start(dataDir: string, settings: PostgresSettings = {}): Promise<PrivatePostgres> {
    const all = { ...defaults, ...settings };
    return new PrivatePostgres(dataDir, all, await startEmbeddedPostgres({ dataDir, settings: all }));
  }

  /** Of the superuser, straight to the server. */
  get url(): string {
    return this.#server.url;
  }

  get port(): number {
    return this.#port;
  }

  /** Is the server process there? */
  get alive(): boolean {
    return pidsOf(this.#server.pid).length > 0;
  }

  /** SIGKILL to every process of the server, the postmaster first, so that it starts nothing again. */
  async kill(): Promise<void> {
    for (const pid of pidsOf(this.#server.pid)) kill(pid, 'SIGKILL');
    await this.#server.exited;
    for (let waited = 0; pidsOf(this.#server.pid).length > 0 && waited < 2000; waited += 10) await sleep(10);
  }

  /** Stops every process of the server where it is (SIGSTOP), or lets them go on. */
  pause(paused: boolean): void {
    for (const pid of pidsOf(this.#server.pid)) kill(pid, paused ? 'SIGSTOP' : 'SIGCONT');
  }

  /** As a supervisor would, on the same port. Waits until it answers. */
  async restart(): Promise<void> {
    const { dataDir } = this;
    this.#server = await startEmbeddedPostgres({ dataDir, port: this.#port, settings: this.#settings });
  }

  async stop(): Promise<void> {
    await this.#server.stop();
  }
}

/** SIGKILL to a server that was spawned here and to all its processes. */
export async function killAll(child: ChildProcess): Promise<void> {
  const pids = pidsOf(child.pid ?? 0);
  const gone = child.exitCode === null && child.signalCode === null ? new Promise<void>((done) => child.once('exit', () => done())) : null;
  for (const pid of pids) kill(pid, 'SIGKILL');
  await gone;
  for (let waited = 0; pids.some(isRunning) && waited < 2000; waited += 10) await sleep(10);
}

/** A process and its children; [] when it has gone. */
export function pidsOf(parent: number): number[] {
  if (!isRunning(parent)) return [];
  const pids = [parent];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      if (Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent) pids.push(Number(name));
    } catch {
      // ended meanwhile
    }
  }
  return pids;
}

function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2)[0] !== 'Z';
  } catch {
    return false;
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // was quicker
  }
}
