/** Cost of a start of the service on a database that it knows: from the process's begin until /readyz says 200. Processor time of all
 *  its threads, which is what counts on a busy machine, and the time on the clock. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openBenchDatabase } from './lib/bench-database.ts';
import { threadsCpuSec } from './lib/processor-time.ts';
import { reportMedian } from './lib/result.ts';

const ROUNDS = 8;
const GIVE_UP_MS = 120_000;

const database = await openBenchDatabase();
const folder = mkdtempSync(join(tmpdir(), 'biosignal-restart-'));
const probe = createServer().listen(0, '127.0.0.1');
await new Promise((done) => probe.once('listening', done));
const { port } = probe.address() as AddressInfo;
await new Promise((done) => probe.close(done));

async function start(): Promise<{ cpuSec: number; sec: number }> {
  const begunMs = performance.now();
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', resolve('src/cli/main.ts'), 'start'], {
    cwd: folder,
    env: { ...process.env, DATABASE_URL: database.url, PORT: String(port), BIO_SECRET: 'restart bench, 32 characters or more' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = new Promise((done) => child.once('exit', done));
  try {
    for (;;) {
      const ready = await fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
      if (ready) return { cpuSec: threadsCpuSec(child.pid ?? 0).all, sec: (performance.now() - begunMs) / 1000 };
      if (performance.now() - begunMs > GIVE_UP_MS || child.exitCode !== null) throw new Error('the service did not start');
      await sleep(10);
    }
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

try {
  await start(); // migrates
  const rounds: { cpuSec: number; sec: number }[] = [];
  for (let i = 0; i < ROUNDS; i++) rounds.push(await start());
  reportMedian(
    { name: 'a start until ready: processor time', unit: 's' },
    rounds.map(({ cpuSec }) => cpuSec),
  );
  reportMedian(
    { name: 'a start until ready', unit: 's', note: 'R1: under 5 s' },
    rounds.map(({ sec }) => sec),
  );
} finally {
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
}
