// The embedded server comes up whatever its last run left behind, and never stays behind itself.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startEmbeddedPostgres } from '../../src/storage/database/embedded-postgres.ts';
import { pidsOf } from '../../faults/lib/private-postgres.ts';
import { until } from '../helpers/database.ts';

let folder: string;
let dataDir: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bio-embedded-'));
  dataDir = join(folder, 'data', 'postgres');
});
const used = new Set<string>(); // as root the data of a private folder is elsewhere
afterAll(() => {
  for (const path of [folder, ...used]) rmSync(path, { recursive: true, force: true });
});

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client(url);
  client.on('error', () => undefined); // the query says so too
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

async function startChild(): Promise<{ child: ChildProcess; url: string; pid: number; dataDir: string }> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'test/helpers/embedded-child.ts', dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout!, 'data')) as [Buffer];
  return { child, ...(JSON.parse(line.toString()) as { url: string; pid: number; dataDir: string }) };
}

const runs = (pid: number): boolean => existsSync(`/proc/${pid}`);

test('starts, keeps its data, listens on loopback with a password only, and stops within seconds', async () => {
  const first = await startEmbeddedPostgres({ dataDir });
  used.add(first.dataDir);
  await query(first.url, 'create table kept (id integer); insert into kept values (7)');
  const stranger = new URL(first.url);
  stranger.password = 'guess';
  await expect(query(stranger.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
  const local = new URL(first.socketUrl);
  expect(await query(local.href, 'select id, inet_server_addr() as over from kept')).toEqual([{ id: 7, over: null }]);
  local.password = 'guess';
  await expect(query(local.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
  expect(await query(first.url, 'show listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
  const begun = performance.now();
  await first.stop();
  await first.stop();
  expect(performance.now() - begun).toBeLessThan(5000);
  expect(runs(first.pid)).toBe(false);
  const second = await startEmbeddedPostgres({ dataDir });
  expect(await query(second.url, 'select id from kept')).toEqual([{ id: 7 }]);
  await second.stop();
});

test('is gone soon after its owner was killed, busy or not; the next start has the data', async () => {
  for (let round = 0; round < 3; round++) {
    const owner = await startChild();
    await query(owner.url, 'insert into kept values (8)');
    const busy = query(owner.url, 'select pg_sleep(60)').then(
      () => 'answered',
      () => 'cut',
    );
    owner.child.kill('SIGKILL');
    if (round > 0) await until(() => !runs(owner.pid));
    const next = await startEmbeddedPostgres({ dataDir }); // round 0: while the old one is still stopping
    expect(await busy).toBe('cut');
    expect(await query(next.url, 'select count(*)::int as n from kept where id = 8')).toEqual([{ n: round + 1 }]);
    await next.stop();
  }
});

// promise: embedded-serves-one
test('says who uses the folder, while that service lives', async () => {
  const owner = await startChild();
  await expect(startEmbeddedPostgres({ dataDir })).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining(`process ${owner.child.pid}`) as string,
  });
  expect(await query(owner.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  owner.child.kill('SIGKILL');
  await until(() => !runs(owner.pid));
});

/** Of the server that reads back the log of these data; null: none does. */
function readingPid(data: string): number | null {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith('postgres: startup')) continue;
      const parent = /^PPid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
      if (readFileSync(`/proc/${parent}/cmdline`, 'latin1').includes(data)) return Number(pid);
    } catch {
      // ended meanwhile
    }
  }
  return null;
}

test('a server that reads back its log after a crash is waited for, however long that takes', async () => {
  const crashed = join(folder, 'crashed');
  const first = await startEmbeddedPostgres({ dataDir: crashed });
  used.add(first.dataDir);
  await query(first.url, 'create table kept as select generate_series(1, 500000) as id');
  for (const pid of pidsOf(first.pid)) process.kill(pid, 'SIGKILL');
  await first.exited;
  const told: string[] = [];
  const starting = startEmbeddedPostgres({ dataDir: crashed, onProgress: (message) => void told.push(message) });
  const end = starting.then(
    () => 'ready',
    (error: unknown) => String(error),
  );
  let pid: number | null = null;
  await until(() => (pid = readingPid(join(first.dataDir, 'pgdata'))) !== null);
  process.kill(pid!, 'SIGSTOP');
  try {
    expect(await Promise.race([end, sleep(35_000, 'waits')])).toBe('waits');
  } finally {
    process.kill(pid!, 'SIGCONT');
  }
  const second = await starting;
  expect(await query(second.url, 'select count(*)::int as n from kept')).toEqual([{ n: 500_000 }]);
  expect(told.filter((message) => message.startsWith('the embedded database is starting'))).toHaveLength(1);
  await second.stop();
});

test('a pid file left behind by a crash is ignored, even if its number is in use again', async () => {
  const first = await startEmbeddedPostgres({ dataDir });
  const pidFile = join(first.dataDir, 'pgdata', 'postmaster.pid');
  const text = readFileSync(pidFile, 'utf8');
  await first.stop();
  for (const pid of [process.pid, 4_000_000]) {
    writeFileSync(pidFile, text.replace(/^\d+/, String(pid)));
    const next = await startEmbeddedPostgres({ dataDir });
    expect(await query(next.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await next.stop();
  }
});

test('an initdb that was killed halfway is begun again', async () => {
  const other = join(folder, 'other');
  const first = await startEmbeddedPostgres({ dataDir: other });
  used.add(first.dataDir);
  await first.stop();
  rmSync(join(first.dataDir, 'pgdata'), { recursive: true });
  const next = await startEmbeddedPostgres({ dataDir: other });
  expect(await query(next.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  await next.stop();
});
