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
import { logTo } from '../start/create-logger.ts';
import { refuseTakenPort } from '../start/refuse.ts';
import { startService } from '../server.ts';
import { whyOf } from '../start/stops.ts';
import { openDatabase } from '../storage/database/database.ts';
import { startEmbeddedPostgres } from '../storage/database/embedded-postgres.ts';
import { upgrade } from '../storage/upgrade.ts';
import type { Console } from './command.ts';
import { EXIT_FAILED, EXIT_OK, UsageError } from './command.ts';
import { endLate, LISTENING } from './start.ts';
import { cutIntoPartitions } from './partitions.ts';
import { ENDS_MAX, hasEndedWell, QUICK_MS, Restarts } from './restarts.ts';
import { SILENT_MS_MAX, watchSigns } from './signs-of-life.ts';

/** Partitions of a database that several nodes share for the first time: enough for eight nodes to have three each. */
const PARTITIONS = 24;
/** Cores for the database and the kernel: with `auto`, every other core has a node. */
const PROCESSES_MAX = 64;
/** A node ends by itself this long after BIO_STOP_TIMEOUT_MS (start.ts), unless it hangs; one that has not ended is killed, ms. */
export const KILL_AFTER_MS = 7000;

/** @param text a number, or auto: a node for every two cores, one at least */
function processCount(text: string): number {
  const count = text === 'auto' ? Math.max(1, Math.floor(availableParallelism() / 2)) : Number(text);
  if (!Number.isInteger(count) || count < 1 || count > PROCESSES_MAX)
    throw new UsageError(`--processes: a number from 1 to ${PROCESSES_MAX}, or auto`);
  return count;
}

type Node = {
  readonly name: string;
  readonly restarts: Restarts;
  /** Whether it listened at its first start, or ended before. */
  readonly firstStart: PromiseWithResolvers<boolean>;
  child: ChildProcess | null;
  startedMs: number;
  endedWell: boolean;
};

/** Runs until it is told to stop. @param processes a number, or auto @returns the exit code: that of a node which did not end in order */
export async function startProcesses(processes: string, console: Console, json: boolean): Promise<number> {
  const count = processCount(processes);
  const config = readConfig(console.env);
  if (config.port === 0) throw new UsageError('several processes need a PORT that they can share, not 0');
  await refuseTakenPort(config.host, config.port);
  const busDir = config.busDir === '' ? mkdtempSync(join(tmpdir(), 'biosignal-')) : config.busDir;
  const embedded = config.databaseUrl === '' ? await startEmbeddedPostgres({ dataDir: config.dataDir }) : null;
  const url = embedded?.socketUrl ?? config.databaseUrl;
  const name = config.nodeName === '' ? `${hostname()}:${config.port}` : config.nodeName;
  const nodes = Array.from({ length: count }, (_, i): Node => {
    const firstStart = Promise.withResolvers<boolean>();
    return { name: `${name}/${i + 1}`, restarts: new Restarts(), firstStart, child: null, startedMs: 0, endedWell: true };
  });
  // Another that works is worth more than an exit code that a supervisor sees.
  const isUseless = ({ restarts }: Node): boolean =>
    restarts.isHopeless && !nodes.some(({ child, startedMs }) => child !== null && performance.now() - startedMs > QUICK_MS);
  const ending = new AbortController();
  const signal = AbortSignal.any([console.signal, ending.signal]);
  const running: Promise<void>[] = [];
  const endMs = config.stopTimeoutMs + KILL_AFTER_MS;
  let toldMs: number | null = null;
  const tell = (): void => {
    toldMs = performance.now();
    console.err(`biosignal start: stops (${whyOf(console.signal)})`);
  };
  if (console.signal.aborted) tell();
  else console.signal.addEventListener('abort', tell, { once: true });
  try {
    const late = endLate(console, config.stopTimeoutMs);
    await prepare(url, config, console).finally(late.cancel);
    const envOf = (i: number): NodeJS.ProcessEnv => ({
      ...console.env,
      DATABASE_URL: url,
      BIO_BUS_DIR: busDir,
      BIO_SHARE_PORT: '1',
      BIO_NODE_NAME: nodes[i]!.name,
      ...(i > 0 && { BIO_DEMO: '0' }),
    });
    // The first node makes the first key and the demo; the others find them.
    const run = (node: Node, i: number): void =>
      void running.push(keep(node, { env: envOf(i), endMs, signal, err: console.err, isUseless }));
    run(nodes[0]!, 0);
    await Promise.race([nodes[0]!.firstStart.promise, running[0]]);
    for (const [i, node] of nodes.entries()) if (i > 0) run(node, i);
    const all = Promise.all(running);
    await Promise.race([Promise.all(nodes.map(({ firstStart }) => firstStart.promise)), all]);
    const listening = nodes.filter(({ child }) => child !== null).length;
    const scheme = config.tlsCert === '' ? 'http' : 'https';
    const baseUrl = `${scheme}://${config.host}:${config.port}`;
    if (signal.aborted) console.err('biosignal start: stopped while starting');
    else if (json) console.out(JSON.stringify({ base_url: baseUrl, pid: process.pid, processes: listening }));
    else
      console.out(
        `${LISTENING} ${baseUrl}, with ${listening === count ? '' : `${listening} of `}${count} process${count === 1 ? '' : 'es'}`,
      );
    await all;
    return nodes.every(({ endedWell }) => endedWell) ? EXIT_OK : EXIT_FAILED;
  } catch (error) {
    if (!console.signal.aborted) throw error;
    console.err('biosignal start: stopped while starting');
    return EXIT_OK;
  } finally {
    ending.abort(); // each is told to stop, and none is started again
    await Promise.allSettled(running);
    await embedded?.stop();
    if (toldMs !== null) console.err(`biosignal start: has stopped after ${((performance.now() - toldMs) / 1000).toFixed(1)} s`);
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
    // What a killed service acknowledged is put into the tables by a service that starts and stops: alone, as a node stores it later.
    const alone: Config = { ...config, databaseUrl: url, port: 0, busDir: '', natsUrl: '', demo: false };
    if (await open()) await (await startService({ config: alone, signal: console.signal })).stop('the packet log is stored');
    await cutIntoPartitions(database, PARTITIONS);
    console.err(`biosignal: people are cut into ${PARTITIONS} partitions, which the processes share`);
  } finally {
    await database.close();
  }
}

type Keeping = Pick<Console, 'signal' | 'err'> &
  Readonly<{
    env: NodeJS.ProcessEnv;
    /** A node that is told to stop is killed after this long, ms. */
    endMs: number;
    isUseless: (node: Node) => boolean;
  }>;

/** Of all nodes. */
const lines = { out: logTo(1), err: logTo(2) };

/** Runs one node, and starts it again when it ends before the command is told to stop.
 *  @throws Error when it ends again and again, and no node works */
async function keep(node: Node, { env, endMs, signal, err, isUseless }: Keeping): Promise<void> {
  const stop = (): void => {
    const { child } = node;
    if (child === null) return;
    child.kill('SIGTERM');
    const hung = setTimeout(() => {
      err(`biosignal start: ${node.name} has not ended within ${endMs / 1000} s, and is killed`);
      child.kill('SIGKILL');
    }, endMs);
    child.once('exit', () => clearTimeout(hung));
  };
  signal.addEventListener('abort', stop, { once: true });
  while (!signal.aborted) {
    node.startedMs = performance.now();
    const child = await forkNode(env);
    let ended: string;
    if (child instanceof Error) ended = `${node.name} could not be started (${child.message})`;
    else {
      node.child = child;
      // Its log, whose lines name it, but not that it listens: that is said once.
      createInterface(child.stdout!).on('line', (line) => {
        if (line.startsWith(LISTENING)) node.firstStart.resolve(true);
        else lines.out.write(`${line}\n`);
      });
      createInterface(child.stderr!).on('line', (line) => lines.err.write(`${node.name}: ${line}\n`));
      watchSigns(child, () => {
        err(`biosignal start: ${node.name} has not answered for ${SILENT_MS_MAX / 1000} s, and is killed`);
        child.kill('SIGKILL');
      });
      const [code, by] = await new Promise<[number | null, string | null]>((done) => child.once('exit', (...how) => done(how)));
      node.child = null;
      if (signal.aborted) node.endedWell = hasEndedWell(code, by); // if not, the next start reads back what it could not store
      ended = `${node.name} has ended (${code ?? 'killed'})`;
    }
    node.firstStart.resolve(false);
    if (signal.aborted) return;
    const pauseMs = node.restarts.noteEnd(performance.now() - node.startedMs);
    if (isUseless(node)) throw new Error(`${ended} ${ENDS_MAX} times within a minute of its start, and no other works`);
    err(`biosignal start: ${ended}; it is started again in ${pauseMs / 1000} s`);
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined); // told to stop: nothing is started again
  }
}

/** @returns why there is none: the machine gives no more processes, memory or open files, or the program is being replaced */
async function forkNode(env: NodeJS.ProcessEnv): Promise<ChildProcess | Error> {
  try {
    const child = fork(process.argv[1]!, ['start'], { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    if (child.pid === undefined) return await new Promise((done) => child.once('error', done));
    child.on('error', () => undefined); // a signal or a message did not arrive
    return child;
  } catch (error) {
    return error as Error;
  }
}
