/** The whole pipeline at once: devices stream over WebSocket, each is watched, charts and raw stretches are asked for, and a ledger proves
 *  afterwards that nothing acknowledged was lost. One minute; with --full 30.
 *
 *  node bench/pipeline.bench.ts      BENCH_DEVICES=200  BENCH_SEC=60  BIO_BENCH_DATABASE_URL=... (else embedded PostgreSQL)
 *  Devices: 4 channels x 250 Hz in packets of 100 ms, paced, open loop; a generator that falls behind makes the run worthless, so it is
 *  refused. Queries: two at a time, each asked when it is due (10/s), whatever the one before does. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { openBenchDatabase } from './lib/bench-database.ts';
import { rssBytes, threadsCpuSec, treeCpuSec } from './lib/processor-time.ts';
import { report, reportCurve } from './lib/result.ts';
import { refuseBadLoad, startLoad, startServiceProcess, type ServiceProcess } from './lib/service-process.ts';

const full = process.env['BENCH_FULL'] === '1';
const devices = Number(process.env['BENCH_DEVICES'] ?? 200);
const sec = Number(process.env['BENCH_SEC'] ?? (full ? 1800 : 60));
const WARM_SEC = 10;
const QUERIES_PER_SEC = 10;

const database = await openBenchDatabase();
console.log(`${devices} devices, each with a viewer, ${sec} s, ${database.server}`);
const work = mkdtempSync(join(tmpdir(), 'biosignal-pipeline-'));
const service = await startServiceProcess('full', { DATABASE_URL: database.url });
try {
  const load = await startLoad(service, {
    devices,
    viewersPerDevice: 1,
    channels: 4,
    fs: 250,
    packetMs: 100,
    warmSec: WARM_SEC,
    sec,
    ledger: join(work, 'ledger'),
  });
  const before = cpuNow(service.pid);
  await service.usage();
  const asking = askUntil(performance.now() + sec * 1000, service, Object.values(await service.subjects()));
  const memory = watchMemory(service.pid);
  const result = await load.result;
  const after = cpuNow(service.pid);
  const usage = await service.usage();
  const asked = await asking;
  memory.stop();
  await load.stop();
  refuseBadLoad(result);

  const perSec = (pick: (cpu: Cpu) => number): number => (pick(after) - pick(before)) / ((after.atMs - before.atMs) / 1000);
  const main = perSec((cpu) => cpu.main);
  const workers = perSec((cpu) => cpu.all) - main;
  const postgres = perSec((cpu) => cpu.postgres);
  const packetsPerSec = result.settled / sec;
  const microseconds = (cpu: number): number => (cpu * 1e6) / packetsPerSec;
  report({ name: 'packets acknowledged', value: packetsPerSec, unit: 'per s', better: 'higher' });
  report({ name: 'CPU of the main thread', value: microseconds(main), unit: 'µs/packet' });
  report({ name: 'CPU of the workers', value: microseconds(workers), unit: 'µs/packet' });
  report({ name: 'CPU of PostgreSQL', value: microseconds(postgres), unit: 'µs/packet' });
  report({
    name: 'devices and viewers per core, everything counted',
    value: devices / (main + workers + postgres),
    unit: 'devices/core',
    better: 'higher',
    note: 'main thread, workers and PostgreSQL together, with chart queries',
  });
  report({ name: 'packet sent to acknowledged, p50', value: result.ackMs.p50, unit: 'ms' });
  report({ name: 'packet sent to acknowledged, p99', value: result.ackMs.p99, unit: 'ms' });
  report({ name: 'packet sent to frame delivered, p50', value: result.frameMs.p50, unit: 'ms' });
  report({ name: 'packet sent to frame delivered, p99', value: result.frameMs.p99, unit: 'ms' });
  report({ name: 'frames delivered of those due', value: (100 * result.frames) / result.framesExpected, unit: '%', better: 'higher' });
  report({ name: 'tick of the main thread late, p99', value: Math.max(0, usage.loopP99Ms - 10), unit: 'ms' });
  report({ name: 'tick of the main thread late by its own work, p99', value: Math.max(0, usage.ownP99Ms - 10), unit: 'ms' });
  report({ name: 'tick of the main thread late by its own work, most', value: Math.max(0, usage.ownMaxMs - 10), unit: 'ms' });
  for (const [name, ms] of Object.entries(asked)) {
    report({ name: `${name}, p50`, value: quantile(ms, 0.5), unit: 'ms' });
    report({ name: `${name}, p99`, value: quantile(ms, 0.99), unit: 'ms', note: `${ms.length} requests` });
  }
  report({ name: 'memory at the end', value: rssBytes(service.pid) / 2 ** 20, unit: 'MiB' });
  reportCurve({ name: 'Memory of the service', x: 'seconds', y: 'MiB resident', points: memory.points });

  const verdict = await verify(join(work, 'ledger'), database.url);
  report({ name: 'acknowledged packets in the ledger', value: verdict.accepted, unit: 'packets', better: 'higher' });
  report({ name: 'acknowledged and missing, different or doubled', value: verdict.wrong, unit: 'packets and samples' });
  if (verdict.wrong > 0) process.exitCode = 1;
} finally {
  await service.stop();
  await database.drop();
  rmSync(work, { recursive: true, force: true });
}

type Cpu = Readonly<{ atMs: number; main: number; all: number; postgres: number }>;

function cpuNow(pid: number): Cpu {
  return {
    atMs: performance.now(),
    ...threadsCpuSec(pid),
    postgres: database.postmasterPid === null ? NaN : treeCpuSec(database.postmasterPid),
  };
}

function watchMemory(pid: number): { points: [number, number][]; stop: () => void } {
  const startMs = performance.now();
  const points: [number, number][] = [];
  const timer = setInterval(
    () => points.push([Math.round((performance.now() - startMs) / 1000), rssBytes(pid) / 2 ** 20]),
    (sec * 1000) / 40,
  );
  return { points, stop: () => clearInterval(timer) };
}

/** Asks what a dashboard asks, in turns, for one user after the other. */
async function askUntil(endMs: number, { port, key }: ServiceProcess, subjects: readonly string[]): Promise<Record<string, number[]>> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const chart = (series: object, duration: string) => (subject: string) =>
    fetch(`http://127.0.0.1:${port}/api/v1/charts/query`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ subject_id: subject, series: [series], range: { duration } }),
    });
  const questions = {
    'chart of heart rate, 24 h': chart({ feature: 'hr_ecg' }, 'PT24H'),
    'chart of the ECG, 5 minutes': chart({ biosignal_id: await waveformId() }, 'PT5M'),
    'streams of a user': (subject: string) => fetch(`http://127.0.0.1:${port}/api/v1/streams?subject_id=${subject}`, { headers }),
  };
  const names = Object.keys(questions) as (keyof typeof questions)[];
  const took: Record<string, number[]> = Object.fromEntries(names.map((name) => [name, []]));
  const pending: Promise<void>[] = [];
  for (let i = 0, dueMs = performance.now(); dueMs < endMs; i++, dueMs += 1000 / QUERIES_PER_SEC) {
    await sleep(Math.max(0, dueMs - performance.now()));
    const name = names[i % names.length]!;
    const ask = async (): Promise<void> => {
      const response = await questions[name](subjects[i % subjects.length]!);
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${name}: ${response.status} ${text.slice(0, 300)}`);
      took[name]!.push(performance.now() - dueMs);
    };
    pending.push(ask());
  }
  await Promise.all(pending);
  return took;
}

async function waveformId(): Promise<number> {
  const client = new pg.Client(database.url);
  await client.connect();
  const { rows } = await client.query<{ id: number }>(
    `select id from biosignal where signal_type = 'waveform' and abbreviation ilike 'ecg%' order by id limit 1`,
  );
  await client.end();
  return rows[0]!.id;
}

async function verify(ledger: string, url: string): Promise<{ accepted: number; wrong: number }> {
  const main = new URL('../src/cli/main.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, 'verify', '--json', '--wait', '120', ledger], {
    env: { ...process.env, DATABASE_URL: url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  await new Promise((resolve) => child.once('close', resolve));
  const total = JSON.parse(out) as Record<string, number>;
  const wrong = ['missing_packets', 'missing_samples', 'different_samples', 'doubled_samples', 'unexpected_samples'];
  return { accepted: total['accepted'] ?? 0, wrong: wrong.reduce((sum, name) => sum + (total[name] ?? 0), 0) };
}

function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN;
}
