/** P1, P2, P3, P10, P12, P14, R4 and fan-out: devices and viewers on real sockets, paced, against a service in a process of its own.
 *  Usage: node bench/live-load.bench.ts [memory|full] [question ...]
 *  Questions: p1 p2 p3 p10 p12 p14 r4 fanout; none: all. BENCH_DEVICES (500; --full 1,000), BENCH_SEC (6; --full 20).
 *
 *  memory: the network side alone (decode, admit, acknowledge, frames; nothing stored). full, the default of p1 and p2: stored and
 *  computed, in an empty database. For comparison, in the same run: uWebSockets.js and nothing else with the same socket work (bare), the
 *  floor.
 *
 *  What "per core" counts for P1 and P2: devices / (CPU seconds per second of the service's process: main thread, DSP workers and its
 *  other threads, as the goal says "stored, filtered"). The main thread alone, and the service with PostgreSQL, are printed too. */
import { openBenchDatabase } from './lib/bench-database.ts';
import type { BenchDatabase } from './lib/bench-database.ts';
import type { LoadPlan, LoadResult } from './lib/load.ts';
import { threadsCpuSec, treeCpuSec } from './lib/processor-time.ts';
import { report, reportCurve, reportMedian } from './lib/result.ts';
import { LATE_MS_MAX, startLoad, startServiceProcess } from './lib/service-process.ts';
import type { ServiceMode, ServiceProcess } from './lib/service-process.ts';

const long = process.env['BENCH_FULL'] === '1';
const modes: readonly ServiceMode[] = ['bare', 'node-ws', 'memory', 'full'];
const given = modes.find((mode) => mode === process.argv[2]);
const asked = process.argv.slice(given === undefined ? 2 : 3);
const wants = (question: string): boolean => asked.length === 0 || asked.includes(question);
const devices = Number(process.env['BENCH_DEVICES'] ?? (long ? 1000 : 500));
const sec = Number(process.env['BENCH_SEC'] ?? (long ? 20 : 6));
const usual = { channels: 4, fs: 250, packetMs: 100, warmSec: 3, sec };
const FRAMES_PER_SEC = 10;

type Run = Readonly<{
  load: LoadResult;
  /** What was really sent, packets per second: less than planned when the generator was late. */
  packetsPerSec: number;
  /** CPU seconds per second. */
  main: number;
  service: number;
  postgres: number;
  tickP99Ms: number;
  tickMaxMs: number;
  rssBytes: number;
}>;

/** One load on a running service. */
async function run(service: ServiceProcess, plan: Omit<LoadPlan, 'port' | 'key'>, database: BenchDatabase | null = null): Promise<Run> {
  const load = await startLoad(service, plan);
  await service.usage(); // forgets the ticks so far
  const now = () => ({
    atMs: performance.now(),
    ...threadsCpuSec(service.pid),
    postgres: database?.postmasterPid == null ? Number.NaN : treeCpuSec(database.postmasterPid),
  });
  const before = now();
  const result = await load.result;
  const after = now();
  const usage = await service.usage();
  const clean = await service.usage(true);
  await load.stop();
  if (result.lateMs.p99 > LATE_MS_MAX)
    console.log(`the generator was ${result.lateMs.p99} ms late (p99): trust no milliseconds of this run`);
  if (Object.keys(result.rejected).length > 0) console.log(`packets were rejected: ${JSON.stringify(result.rejected)}`);
  const perSec = (pick: (cpu: ReturnType<typeof now>) => number): number =>
    (pick(after) - pick(before)) / ((after.atMs - before.atMs) / 1000);
  return {
    load: result,
    packetsPerSec: result.lateMs.n / plan.sec,
    main: perSec((cpu) => cpu.main),
    service: perSec((cpu) => cpu.all),
    postgres: perSec((cpu) => cpu.postgres),
    tickP99Ms: Math.max(0, usage.loopP99Ms - 10),
    tickMaxMs: Math.max(0, usage.loopMaxMs - 10),
    rssBytes: clean.rssBytes,
  };
}

async function withService<T>(mode: ServiceMode, use: (service: ServiceProcess, database: BenchDatabase | null) => Promise<T>): Promise<T> {
  const database = mode === 'full' ? await openBenchDatabase() : null;
  const service = await startServiceProcess(mode, database === null ? {} : { DATABASE_URL: database.url });
  try {
    return await use(service, database);
  } finally {
    await service.stop();
    await database?.drop();
  }
}

async function capacity(goal: 'P1' | 'P2', viewersPerDevice: 0 | 1): Promise<void> {
  const plan = { ...usual, devices, viewersPerDevice };
  const words = viewersPerDevice === 1 ? 'devices and viewers' : 'devices';
  const mode = given ?? 'full';
  // A new device's first seconds are other work: streams are opened, detectors learn.
  const one = await withService(mode, (service, database) => run(service, { ...plan, warmSec: mode === 'full' ? 10 : 3 }, database));
  const packets = one.packetsPerSec;
  const perCore = (cpu: number): number => packets / FRAMES_PER_SEC / cpu;
  const note = `${mode}, ${devices} devices`;
  if (mode === 'full') report({ name: `${goal}: ${words} per core of the service`, value: perCore(one.service), goal, note });
  const more = { unit: 'devices/core', better: 'higher' as const, note };
  report({ name: `${goal}: ${words} per core, main thread alone (${mode})`, value: perCore(one.main), ...more });
  if (mode === 'full')
    report({ name: `${goal}: ${words} per core, PostgreSQL counted`, value: perCore(one.service + one.postgres), ...more });
  report({ name: `${goal}: CPU of the main thread (${mode})`, value: (one.main * 1e6) / packets, unit: 'µs/packet' });
  if (mode === 'full') {
    report({ name: `${goal}: CPU of the workers and other threads`, value: ((one.service - one.main) * 1e6) / packets, unit: 'µs/packet' });
    report({ name: `${goal}: CPU of PostgreSQL`, value: (one.postgres * 1e6) / packets, unit: 'µs/packet' });
  }
  report({ name: `${goal}: packet sent to acknowledged, p99 (${mode})`, value: one.load.ackMs.p99, unit: 'ms' });
  if (mode === 'bare') return;
  const bare = await withService('bare', (service) => run(service, plan));
  report({ name: `${goal}: the same socket work and nothing else`, value: bare.packetsPerSec / FRAMES_PER_SEC / bare.service, ...more });
  report({
    name: `${goal}: main thread over the same socket work`,
    value: one.main / packets / (bare.main / bare.packetsPerSec),
    unit: 'times',
  });
}

if (wants('p2')) await capacity('P2', 0);
if (wants('p1')) await capacity('P1', 1);

if (wants('p3')) {
  const plan = { ...usual, packetMs: 1000, devices: long ? 500 : 200, viewersPerDevice: 0, warmSec: 12, sec: Math.max(sec, 10) };
  const perPacket = (plan.channels * plan.fs * plan.packetMs) / 1000;
  const samplesPerCore = ({ packetsPerSec }: Run, cpu: number): number => (packetsPerSec * perPacket) / cpu / 1e6;
  const one = await withService('full', (service, database) => run(service, plan, database));
  const note = `${plan.devices} devices, ${plan.channels} channels x ${plan.fs} Hz; computed: beats, quality and features of each, not only a filter`;
  const more = { unit: 'M samples/s', better: 'higher' as const, note };
  report({ name: 'samples per core of the service, packets of 1 s', value: samplesPerCore(one, one.service), goal: 'P3', note });
  report({ name: 'P3: samples per core, main thread alone', value: samplesPerCore(one, one.main), ...more });
  report({ name: 'P3: samples per core, workers and other threads alone', value: samplesPerCore(one, one.service - one.main), ...more });
  report({ name: 'P3: samples per core, PostgreSQL alone', value: samplesPerCore(one, one.postgres), ...more });
}

if (wants('p10')) {
  await withService(given ?? 'memory', async (service, database) => {
    const n = Math.min(devices, 300);
    const probe = await run(service, { ...usual, devices: n, viewersPerDevice: 1, sec: 4 }, database);
    for (const share of [0.25, 0.5, 0.8]) {
      const some = Math.min(4000, Math.round((n / probe.main) * share));
      const { load, main } = await run(service, { ...usual, devices: some, viewersPerDevice: 1 }, database);
      const note = `${some} devices, main thread ${(100 * main).toFixed(0)} % of a core, generator late p99 ${load.lateMs.p99} ms`;
      const at = `at ${share * 100} % load`;
      const goals = share === 0.8 ? (['P10 p50', 'P10 p99'] as const) : null;
      report({
        name: `packet sent to frame delivered ${at}, p50`,
        value: load.frameMs.p50,
        note,
        ...(goals ? { goal: goals[0] } : { unit: 'ms' }),
      });
      report({
        name: `packet sent to frame delivered ${at}, p99`,
        value: load.frameMs.p99,
        note,
        ...(goals ? { goal: goals[1] } : { unit: 'ms' }),
      });
      report({ name: `packet sent to acknowledged ${at}, p99`, value: load.ackMs.p99, unit: 'ms', note });
    }
  });
}

if (wants('p12')) {
  await withService('memory', async (service) => {
    const idleCount = long ? 10_000 : 5000;
    const few = await run(service, { ...usual, devices: 1, viewersPerDevice: 1, idleViewers: 200, sec: 2 });
    const idle = await run(service, { ...usual, devices: 1, viewersPerDevice: 1, idleViewers: 200 + idleCount, sec: 2 });
    report({ name: 'an idle viewer', value: (idle.rssBytes - few.rssBytes) / idleCount / 1000, goal: 'P12 viewer', note: 'resident' });
  });
  await withService('memory', async (service) => {
    const some = await run(service, { ...usual, devices: 100, viewersPerDevice: 0, sec: 2 });
    const many = await run(service, { ...usual, devices: 1100, viewersPerDevice: 0, sec: 4 });
    const note = 'resident, network side; micro/device-memory has the DSP side';
    report({ name: 'a streaming device', value: (many.rssBytes - some.rssBytes) / 1_000_000, goal: 'P12 device', note });
  });
}

if (wants('p14')) {
  await withService(given ?? 'memory', async (service, database) => {
    const plan = { ...usual, devices: 100, viewersPerDevice: 1 };
    const calm = await run(service, plan, database);
    report({ name: 'tick late, nobody misbehaves, p99', value: calm.tickP99Ms, unit: 'ms' });
    for (const firehose of ['device', 'viewer'] as const) {
      const { tickP99Ms, tickMaxMs, load } = await run(service, { ...plan, firehose }, database);
      report({
        name: `tick late with a ${firehose} that never stops sending, p99`,
        value: tickP99Ms,
        goal: 'P14',
        note: `most ${tickMaxMs.toFixed(1)} ms`,
      });
      report({
        name: `frames delivered with that ${firehose}, p99`,
        value: load.frameMs.p99,
        unit: 'ms',
        note: `calm: ${calm.load.frameMs.p99} ms`,
      });
    }
  });
}

if (wants('r4')) {
  await withService('memory', async (service) => {
    const plan = { ...usual, devices: 1, viewersPerDevice: 100, channels: 8, fs: 1000, sec: long ? 10 : 4, warmSec: 1 };
    const ratios: number[] = [];
    const grown: number[] = [];
    for (let pair = 0; pair < (long ? 7 : 5); pair++) {
      const alone = await run(service, plan);
      const crowded = await run(service, { ...plan, slowViewers: 100 });
      ratios.push(crowded.load.frameMs.p99 / alone.load.frameMs.p99);
      grown.push((crowded.rssBytes - alone.rssBytes) / 2 ** 20);
    }
    reportMedian({ name: 'frame p99 of 100 viewers with 100 slow ones, over alone', goal: 'R4' }, ratios);
    reportMedian({ name: 'R4: memory that 100 slow viewers take', unit: 'MiB', note: 'bound: 256 KiB each' }, grown);
  });
}

if (wants('fanout')) {
  const points: (readonly [number, number])[] = [];
  for (const viewers of (process.env['BENCH_VIEWERS'] ?? '1,100,1000,5000').split(',').map(Number)) {
    const plan = { ...usual, devices: 1, viewersPerDevice: viewers, sec: 4 };
    const ours = await withService('memory', (service) => run(service, plan));
    const bare = await withService('bare', (service) => run(service, plan));
    const usPerFrame = (one: Run): number => (one.main * 1e6) / (viewers * one.packetsPerSec);
    points.push([viewers, usPerFrame(ours)]);
    report({
      name: `fan-out to ${viewers}: CPU per frame over a bare send loop`,
      value: usPerFrame(ours) / usPerFrame(bare),
      unit: 'times',
      note: `${usPerFrame(ours).toFixed(2)} and ${usPerFrame(bare).toFixed(2)} µs; ${ours.load.frames} of ${ours.load.framesExpected} frames, p99 ${ours.load.frameMs.p99} ms`,
    });
  }
  reportCurve({ name: 'CPU per delivered frame', x: 'viewers of one subject', y: 'µs', points, logX: true });
}
