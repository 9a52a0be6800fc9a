/** The faults: what each does in a round, and how long the service was away afterwards. */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, symlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Random } from '../src/cli/simulator/random.ts';
import type { DatabaseServer, PrivatePostgres } from './lib/private-postgres.ts';
import type { ServiceProcess } from './lib/service.ts';
import type { World, WorldOptions } from './lib/world.ts';

export type Scenario = Readonly<{
  name: string;
  /** One line for the table. */
  about: string;
  world?: Partial<WorldOptions>;
  /** Rounds of the long form. Default 50. */
  rounds?: number;
  /** Needs root (mount). */
  root?: true;
  /** @returns ms until the service served again: from the fault where the fault is momentary, else from its end */
  round: (world: World, random: Random) => Promise<number>;
  /** What else must hold at the end. @returns complaints */
  after?: (world: World) => Promise<readonly string[]>;
}>;

/** Streaming between faults, ms: long enough for a group commit, a COPY and a checkpoint to be hit in turn. */
const calm = (random: Random): Promise<void> => sleep(200 + 900 * random.next());

const workerFault = (kind: 'exit' | 'oom' | 'loop', about: string): Scenario => ({
  name: `worker-${kind}`,
  about,
  ...(kind === 'oom' ? { world: { nodeFlags: ['--max-old-space-size=96'] } } : {}),
  ...(kind === 'loop' ? { world: { env: { BIO_DSP_TASK_TIMEOUT_MS: '1500' } } } : {}),
  round: async (world, random) => {
    await calm(random);
    const before = await crashCount(world);
    const since = performance.now();
    world.service.send({ worker: kind });
    while ((await crashCount(world)) === before) {
      if (performance.now() - since > 120_000) throw new Error('the worker did not die');
      await sleep(20);
    }
    return await world.untilServing(since);
  },
});

const databaseAway = (name: string, fromSec: number, toSec: number): Scenario => ({
  name,
  about: `connections to the database refused, or swallowed without a word, for ${fromSec}-${toSec} s`,
  round: async (world, random) => {
    await calm(random);
    world.proxy.mode = random.next() < 0.5 ? 'refuse' : 'hole';
    await sleep(1000 * (fromSec + (toSec - fromSec) * random.next()));
    const since = performance.now();
    world.proxy.mode = 'pass';
    return await world.untilServing(since);
  },
});

async function crashCount(world: World): Promise<number> {
  const answer = await fetch(`${world.service.url}/readyz`);
  return Number(/(\d+) worker crashes/.exec(await answer.text())?.[1] ?? Number.NaN);
}

/** Everything but our own connection. */
const terminate = `select count(pg_terminate_backend(pid)) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and application_name <> 'faults'`;

/** Waits until packets are acknowledged again; meanwhile PostgreSQL is started whenever it ends, as a supervisor would: recovery may end it
 *  once more. */
async function servingAgain(world: World, since: number): Promise<number> {
  let done = false;
  const supervise = async (): Promise<void> => {
    for (; !done; await sleep(50)) if (!world.postgres.alive) await restartUntilUp(world.postgres);
  };
  const supervised = supervise();
  try {
    return await world.untilServing(since);
  } finally {
    done = true;
    await supervised;
  }
}

async function restartUntilUp(postgres: DatabaseServer): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await postgres.restart();
      return;
    } catch (error) {
      if (attempt === 300) throw error;
      await sleep(100);
    }
  }
}

/** Stops the running instance in favour of the next. @returns ms until the next one served */
export async function supervisedStop(world: World, next: ServiceProcess): Promise<number> {
  const since = performance.now();
  const old = world.service;
  const code = await old.terminate();
  if (code !== 0) throw new Error(`SIGTERM: exit code ${code}\n${old.log.slice(-2000)}`);
  world.service = next;
  world.front!.targetPort = next.port;
  return await world.untilServing(since);
}

const mountTmpfs = (folder: string, sizeMb: number): (() => Promise<void>) => {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m,mode=0755`, 'biosignal-faults', folder]);
  return async () => void execFileSync('umount', ['-l', folder]);
};

/** Writes until there is no room. */
function fillDisk(path: string): void {
  const file = openSync(path, 'w');
  const chunk = Buffer.alloc(256 * 1024);
  try {
    for (let size = chunk.length; size >= 1024;) {
      try {
        writeSync(file, chunk, 0, size);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        size /= 2;
      }
    }
  } finally {
    closeSync(file);
  }
}

/** Moves the write-ahead log to another file system. */
function moveWal(postgres: PrivatePostgres, to: string): void {
  const wal = join(postgres.dataDir, 'pgdata', 'pg_wal');
  execFileSync('cp', ['-a', wal, to]);
  rmSync(wal, { recursive: true });
  symlinkSync(to, wal);
}

export const scenarios: readonly Scenario[] = [
  {
    name: 'service-kill',
    about: 'kill -9 of the service',
    round: async (world, random) => {
      await calm(random);
      const since = performance.now();
      await world.service.kill();
      world.service.start();
      return await world.untilServing(since);
    },
  },
  {
    name: 'early-kill-twice',
    about: 'kill -9 of the service twice, within the first 5 s of every stream',
    round: async (world, random) => {
      world.fleet.reboot();
      const since = performance.now();
      for (let i = 0; i < 2; i++) {
        await sleep(300 + 2200 * random.next());
        await world.service.kill();
        world.service.start();
        await world.service.untilReady();
      }
      const ms = await world.untilServing(since);
      await sleep(8000); // of every stream enough for rows
      return ms;
    },
  },
  {
    name: 'silence',
    about: 'uploads pause within the first seconds of every stream, and again later, for longer than it takes to be taken for ended',
    rounds: 20,
    round: async (world, random) => {
      world.fleet.reboot();
      for (const streamSec of [1 + 8 * random.next(), 3 + 20 * random.next()]) {
        await sleep(1000 * streamSec);
        const goOn = world.fleet.silence();
        await sleep(Number(world.env['BIO_DSP_IDLE_FLUSH_MS']) + 1000 + 2000 * random.next());
        goOn();
      }
      await sleep(3000);
      return await world.untilServing(performance.now());
    },
  },
  {
    name: 'service-pause',
    about: 'SIGSTOP of the service for 5-8 s within the first seconds of every stream',
    rounds: 20,
    round: async (world, random) => {
      world.fleet.reboot();
      await sleep(1000 + 9000 * random.next());
      world.service.pause(true);
      await sleep(5000 + 3000 * random.next());
      const since = performance.now();
      world.service.pause(false);
      const ms = await world.untilServing(since);
      await sleep(3000);
      return ms;
    },
  },
  {
    name: 'postgres-pause',
    about: 'SIGSTOP of PostgreSQL for 5-8 s within the first seconds of every stream',
    rounds: 20,
    round: async (world, random) => {
      world.fleet.reboot();
      await sleep(1000 + 9000 * random.next());
      world.postgres.pause(true);
      await sleep(5000 + 3000 * random.next());
      const since = performance.now();
      world.postgres.pause(false);
      const ms = await world.untilServing(since);
      await sleep(3000);
      return ms;
    },
  },
  {
    name: 'postgres-kill',
    about: 'kill -9 of every PostgreSQL process; started again by a supervisor',
    round: async (world, random) => {
      await calm(random);
      const since = performance.now();
      await world.postgres.kill();
      await restartUntilUp(world.postgres);
      return await world.untilServing(since);
    },
  },
  {
    name: 'all-kill',
    about: 'kill -9 of service and PostgreSQL at the same time',
    round: async (world, random) => {
      await calm(random);
      const since = performance.now();
      await Promise.all([world.service.kill(), world.postgres.kill()]);
      await restartUntilUp(world.postgres);
      world.service.start();
      return await world.untilServing(since);
    },
  },
  workerFault('exit', 'the worker thread exits'),
  workerFault('oom', 'the worker thread runs out of memory'),
  workerFault('loop', 'the worker thread never ends its batch (watchdog 1.5 s)'),
  {
    name: 'backends',
    about: 'pg_terminate_backend of all connections, five times in a row, during COPY',
    round: async (world, random) => {
      await calm(random);
      for (let i = 0; i < 5; i++) {
        await world.sql(terminate);
        await sleep(120 * random.next());
      }
      return await world.untilServing(performance.now());
    },
  },
  {
    name: 'disk-data',
    about: 'the file system of the data is full for 1.5 s',
    root: true,
    world: {
      prepare: async (workDir) => mountTmpfs(join(workDir, 'data'), 400),
      // The log elsewhere: what fails is extending tables.
      arrange: async (postgres, workDir) => moveWal(postgres, join(workDir, 'wal')),
    },
    round: async (world, random) => {
      await calm(random);
      const ballast = join(world.postgres.dataDir, 'ballast');
      fillDisk(ballast);
      await sleep(1500);
      const since = performance.now();
      rmSync(ballast);
      return await servingAgain(world, since);
    },
  },
  {
    name: 'disk-wal',
    about: 'the file system of the write-ahead log is full: PostgreSQL panics',
    root: true,
    world: {
      postgresSettings: { max_wal_size: '64MB', min_wal_size: '32MB' },
      prepare: async (workDir) => mountTmpfs(join(workDir, 'wal-disk'), 160),
      arrange: async (postgres, workDir) => moveWal(postgres, join(workDir, 'wal-disk', 'pg_wal')),
    },
    round: async (world, random) => {
      await calm(random);
      const ballast = join(world.workDir, 'wal-disk', 'ballast');
      fillDisk(ballast);
      // Segments made in advance have room yet: use them up.
      for (let i = 0; i < 40 && world.postgres.alive; i++) {
        const ok = await world.sql('select pg_switch_wal(), pg_logical_emit_message(true, $1, $1)', ['faults']).then(
          () => true,
          () => false,
        );
        if (!ok) break;
      }
      await sleep(500);
      const since = performance.now();
      rmSync(ballast);
      return await servingAgain(world, since);
    },
  },
  databaseAway('database-blink', 1, 3),
  databaseAway('database-away', 10, 20),
  {
    name: 'database-away-5min',
    about: 'the database away for 5 minutes: refused, then swallowed',
    rounds: 2,
    round: async (world) => {
      await sleep(2000);
      world.proxy.mode = 'refuse';
      await sleep(150_000);
      world.proxy.mode = 'hole';
      await sleep(150_000);
      const since = performance.now();
      world.proxy.mode = 'pass';
      return await world.untilServing(since);
    },
  },
  {
    name: 'database-slow',
    about: 'every answer of the database 50-400 ms later, for 2 s',
    round: async (world, random) => {
      await calm(random);
      world.proxy.delayMs = 25 + 175 * random.next();
      await sleep(2000);
      const since = performance.now();
      world.proxy.delayMs = 0;
      return await world.untilServing(since);
    },
  },
  {
    name: 'connections',
    about: 'all connections of the server taken by others for 1.5 s',
    world: { postgresSettings: { max_connections: '30' } },
    round: async (world, random) => {
      await calm(random);
      const taken: pg.Client[] = [];
      const end = performance.now() + 1500;
      await world.sql(terminate);
      while (performance.now() < end) {
        const client = new pg.Client({ connectionString: world.postgres.url, application_name: 'faults' });
        client.on('error', () => undefined);
        const got = await client.connect().then(
          () => true,
          () => false,
        );
        if (got) taken.push(client);
        else await sleep(50);
      }
      const since = performance.now();
      await Promise.all(taken.map((client) => client.end().catch(() => undefined)));
      return await world.untilServing(since);
    },
  },
  {
    name: 'sigterm',
    about: 'SIGTERM under load, then a new process',
    round: async (world, random) => {
      await calm(random);
      const since = performance.now();
      const code = await world.service.terminate();
      if (code !== 0) throw new Error(`SIGTERM: exit code ${code}\n${world.service.log.slice(-2000)}`);
      world.service.start();
      return await world.untilServing(since);
    },
  },
  {
    name: 'rolling',
    about: 'rolling restart: a second instance waits for the log, the first is told to stop',
    world: { front: true },
    round: async (world, random) => {
      await calm(random);
      const next = await world.secondInstance();
      await sleep(800 + 1500 * random.next());
      return await supervisedStop(world, next);
    },
  },
  {
    name: 'clock',
    about: 'the clock of the service steps up to 2 h either way; device clocks jump ahead or restart',
    round: async (world, random) => {
      await calm(random);
      const since = performance.now();
      world.service.send({ clockStepMs: Math.round((random.next() - 0.5) * 4 * 3_600_000) });
      if (random.next() < 0.3) world.fleet.reboot();
      else world.fleet.stepClocks(() => BigInt(Math.round(random.next() * 20e9)));
      return await world.untilServing(since);
    },
  },
];
