/** `biosignal start --processes N`: several nodes of one machine on one port. The parent prepares the database, starts the nodes and starts
 *  one again that has ended; it takes no part in the work. */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../config.ts';
import type { Config } from '../config.ts';
import { refuseTakenPort } from '../start/refuse.ts';
import { startService } from '../server.ts';
import { openDatabase } from '../storage/database/database.ts';
import { startEmbeddedPostgres } from '../storage/database/embedded-postgres.ts';
import { upgrade } from '../storage/upgrade.ts';
import type { Console } from './command.ts';
import { EXIT_FAILED, EXIT_OK, UsageError } from './command.ts';
import { LISTENING } from './start.ts';
import { cutIntoPartitions } from './partitions.ts';

/** Partitions of a database that several nodes share for the first time: enough for eight nodes to have three each. */
const PARTITIONS = 24;
/** Pause before a node that ended is started again, ms; doubled while it ends within a minute, up to the longest. */
const AGAIN_MS = 500;
const AGAIN_MS_MAX = 30_000;
const QUICK_MS = 60_000;
/** Cores for the database and the kernel: with `auto`, every other core has a node. */
const PROCESSES_MAX = 64;

/** @param text a number, or auto: a node for every two cores, one at least */
function processCount(text: string): number {
  const count = text === 'auto' ? Math.max(1, Math.floor(availableParallelism() / 2)) : Number(text);
  if (!Number.isInteger(count) || count < 1 || count > PROCESSES_MAX)
    throw new UsageError(`--processes: a number from 1 to ${PROCESSES_MAX}, or auto`);
  return count;
}

type Node = { child: ChildProcess | null; againMs: number };

/** Runs until it is told to stop. @param processes a number, or auto @returns the exit code */
export async function startProcesses(processes: string, console: Console, json: boolean): Promise<number> {
  const count = processCount(processes);
  const config = readConfig(console.env);
  if (config.port === 0) throw new UsageError('several processes need a PORT that they can share, not 0');
  await refuseTakenPort(config.host, config.port);
  const busDir = config.busDir === '' ? mkdtempSync(join(tmpdir(), 'biosignal-')) : config.busDir;
  const embedded = config.databaseUrl === '' ? await startEmbeddedPostgres({ dataDir: config.dataDir }) : null;
  const url = embedded?.socketUrl ?? config.databaseUrl;
  const nodes: Node[] = Array.from({ length: count }, () => ({ child: null, againMs: AGAIN_MS }));
  try {
    await prepare(url, config, console);
    const name = config.nodeName === '' ? `${hostname()}:${config.port}` : config.nodeName;
    const envOf = (i: number): NodeJS.ProcessEnv => ({
      ...console.env,
      DATABASE_URL: url,
      BIO_BUS_DIR: busDir,
      BIO_SHARE_PORT: '1',
      BIO_NODE_NAME: `${name}/${i + 1}`,
      ...(i > 0 && { BIO_DEMO: '0' }),
    });
    // The first node makes the first key and the demo; the others find them.
    const first = nodes[0]!;
    const running = [keep(first, envOf(0), console)];
    await ready(config, console.signal);
    running.push(...nodes.slice(1).map((node, i) => keep(node, envOf(i + 1), console)));
    const scheme = config.tlsCert === '' ? 'http' : 'https';
    const baseUrl = `${scheme}://${config.host}:${config.port}`;
    if (json) console.out(JSON.stringify({ base_url: baseUrl, pid: process.pid, processes: count }));
    else console.out(`${LISTENING} ${baseUrl}, with ${count} processes`);
    await Promise.all(running);
    return EXIT_OK;
  } catch (error) {
    if (!console.signal.aborted) throw error;
    return EXIT_FAILED;
  } finally {
    for (const { child } of nodes) child?.kill('SIGTERM');
    await embedded?.stop();
    if (config.busDir === '') rmSync(busDir, { recursive: true, force: true });
  }
}

/** Migrates, and cuts the subjects into partitions unless that was done. */
async function prepare(url: string, config: Config, console: Console): Promise<void> {
  await upgrade(url, { plain: config.plainPostgres, onProgress: (message) => console.err(`biosignal: ${message}`) });
  const database = await openDatabase(url, { applicationName: 'biosignal start', poolSizeMax: 2 });
  try {
    const { rows } = await database.pool.query<{ partitions: number }>('select partitions from cluster_setting');
    if (rows[0]!.partitions > 1) return;
    const open = async (): Promise<boolean> => {
      const { rows: left } = await database.pool.query<{ some: boolean }>(
        'select exists (select from packet_log l join packet_log_checkpoint c using (partition) where l.batch_id > c.batch_id) as some',
      );
      return left[0]!.some;
    };
    // What a killed service acknowledged is put into the tables by a service that starts and stops.
    if (await open()) await (await startService({ config: { ...config, databaseUrl: url, port: 0, demo: false } })).stop();
    await cutIntoPartitions(database, PARTITIONS);
    console.err(`biosignal: people are cut into ${PARTITIONS} partitions, which the processes share`);
  } finally {
    await database.close();
  }
}

/** Resolves when the service answers. */
async function ready(config: Config, signal: AbortSignal): Promise<void> {
  const { host, port, tlsCert } = config;
  while (!signal.aborted) {
    if (tlsCert !== '') return await sleep(3000); // its name may not be that of the certificate
    const answer = await fetch(`http://${host === '0.0.0.0' ? '127.0.0.1' : host}:${port}/readyz`, { signal }).catch(() => null);
    await answer?.body?.cancel();
    if (answer?.status === 200) return;
    await sleep(100);
  }
}

/** Runs one node, and starts it again when it ends before the command is told to stop. */
async function keep(node: Node, env: NodeJS.ProcessEnv, { signal, err }: Console): Promise<void> {
  const stop = (): void => void node.child?.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  while (!signal.aborted) {
    const startedMs = performance.now();
    const child = fork(process.argv[1]!, ['start'], { env, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
    node.child = child;
    // Its log, but not that it listens: that is said once.
    createInterface(child.stdout!).on('line', (line) => {
      if (!line.startsWith(LISTENING)) process.stdout.write(`${line}\n`);
    });
    const code = await new Promise<number | null>((done) => child.once('exit', done));
    node.child = null;
    if (signal.aborted) return;
    if (performance.now() - startedMs > QUICK_MS) node.againMs = AGAIN_MS;
    err(`biosignal start: a process has ended (${code ?? 'killed'}); it is started again`);
    await sleep(node.againMs, undefined, { signal }).catch(() => undefined); // told to stop: nothing is started again
    node.againMs = Math.min(AGAIN_MS_MAX, 2 * node.againMs);
  }
}
