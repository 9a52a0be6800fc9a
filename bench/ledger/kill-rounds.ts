/** Kills the service again and again while devices stream into it, and holds what was acknowledged against the database afterwards.
 *  With the embedded database (no DATABASE_URL) a killed service takes its database with it.
 *
 *  Run: scripts/with-runtime.sh bench/ledger/kill-rounds.ts [--rounds 50] [--devices 10] [--seed 1]
 *  Prints one JSON object: rounds, what verify counted, and how long the service was away (kill to /readyz 200), p50 and worst.
 *  Exit code 1 when anything acknowledged is missing, changed or doubled. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from '../../faults/lib/free-port.ts';
import { createRandom } from '../../src/cli/simulator/random.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '50' },
    devices: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
  },
});
const rounds = Number(values.rounds);
const random = createRandom(Number(values.seed), 'kill rounds');
const work = mkdtempSync(join(tmpdir(), 'biosignal-kill-'));
chmodSync(work, 0o755); // started as root, the embedded server runs as another account
const port = await freePort();
const main = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts');
const url = `http://127.0.0.1:${port}`;
const env: NodeJS.ProcessEnv = {
  ...process.env,
  PORT: String(port),
  BIO_URL: url,
  BIO_DATA_DIR: join(work, 'data'),
  BIO_LOG_LEVEL: 'error',
  BIO_DEVICE_PACKETS_PER_SEC_MAX: '100000',
};

function biosignal(...args: string[]): ChildProcess {
  return spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
}

async function finish(child: ChildProcess): Promise<{ code: number; out: string; err: string }> {
  let out = '';
  let err = '';
  child.stdout?.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const code = await new Promise<number>((resolve) => child.on('close', (value) => resolve(value ?? -1)));
  return { code, out, err };
}

async function untilReady(service: ChildProcess): Promise<void> {
  for (;;) {
    if (service.exitCode !== null) throw new Error(`the service ended with ${service.exitCode} instead of starting`);
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(1000) }).catch(() => null);
    if (answer !== null && answer.status === 200) return;
    await sleep(20);
  }
}

/** Its pipes are read, so that it never waits for us. */
function startService(): ChildProcess {
  const service = biosignal('start');
  service.stdout?.resume();
  service.stderr?.pipe(process.stderr);
  return service;
}

const awayMs: number[] = [];
let service = startService();
try {
  await untilReady(service);
  const made = await finish(biosignal('org', 'create', `Kill ${process.pid}`, '--json'));
  env['BIO_KEY'] = (JSON.parse(made.out) as { api_key: string }).api_key;
  const ledger = join(work, 'run');
  // Endless, so that it streams for as long as the rounds take; SIGINT ends it and leaves the last packets unanswered.
  const fleet = ['--devices', values.devices, '--duration', '0', '--packet-ms', '200', '--duplicate', '2', '--seed', values.seed];
  const sending = biosignal('simulate', ...fleet, '--device-prefix', `kill-${process.pid}-`, '--ledger', ledger, '--json');
  const sent = finish(sending);
  for (let round = 1; round <= rounds; round++) {
    await sleep(300 + 3000 * random.next());
    const killed = performance.now();
    const gone = new Promise((resolve) => service.on('close', resolve));
    service.kill('SIGKILL');
    await gone;
    service = startService();
    await untilReady(service);
    awayMs.push(performance.now() - killed);
    process.stderr.write(`round ${round} of ${rounds}: ready again after ${Math.round(awayMs.at(-1)!)} ms\n`);
  }
  await sleep(3000);
  sending.kill('SIGINT');
  await sent;
  const verified = await finish(biosignal('verify', ledger, '--json'));
  const sorted = awayMs.toSorted((a, b) => a - b);
  const result = {
    rounds,
    seed: Number(values.seed),
    database: process.env['DATABASE_URL'] === undefined ? 'embedded, killed too' : 'DATABASE_URL, kept',
    away_ms_p50: Math.round(sorted[sorted.length >> 1] ?? Number.NaN),
    away_ms_max: Math.round(sorted.at(-1) ?? Number.NaN),
    verified: JSON.parse(verified.out) as unknown,
  };
  console.log(JSON.stringify(result, null, 2));
  process.exitCode = verified.code;
} finally {
  const gone = new Promise((resolve) => service.on('close', resolve));
  service.kill('SIGTERM');
  await Promise.race([gone, sleep(15_000)]);
  rmSync(work, { recursive: true, force: true });
}
