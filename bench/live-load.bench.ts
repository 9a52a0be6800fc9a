/** P1, P2, P10, P12, P14 and fan-out: devices and viewers on real sockets, paced, against a service in its own process.
 *  Usage: node bench/live-load.bench.ts [bare|node-ws|memory|full] [question ...]   questions: p1 p2 p10 p12 p14 fanout; default: all
 *  bare: uWebSockets.js with the same socket work and nothing else: the floor.
 *  memory: the network side alone (decode, admit, acknowledge, frames; nothing stored). full: DATABASE_URL names an empty database.
 *  CPU is the service process's own; per core means: load / (CPU seconds per second). */
import { fork, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { BenchReady, BenchSubjects, BenchUsage } from './lib/bench-service.ts';
import type { LoadPlan, LoadResult } from './lib/load.ts';

const mode = ['bare', 'node-ws', 'full'].find((name) => name === process.argv[2]) ?? 'memory';
const asked = process.argv.slice(3);
const wants = (question: string): boolean => asked.length === 0 || asked.includes(question);
const devices = Number(process.env['BENCH_DEVICES'] ?? 1000);
const sec = Number(process.env['BENCH_SEC'] ?? 10);

type Running = Readonly<{
  child: ChildProcess;
  ready: BenchReady;
  usage: (afterGc?: boolean) => Promise<BenchUsage>;
  subjects: () => Promise<Readonly<Record<string, string>>>;
  stop: () => Promise<void>;
}>;

async function startChild(): Promise<Running> {
  const child = fork(new URL('./lib/bench-service.ts', import.meta.url).pathname, [mode], {
    execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning', ...(process.env['BENCH_NODE_FLAGS']?.split(' ') ?? [])],
  });
  const next = <T>(kind: string): Promise<T> =>
    new Promise((resolve, reject) => {
      const ended = (): void => reject(new Error('the service has ended'));
      child.once('exit', ended);
      child.on('message', function listen(message: { kind: string }) {
        if (message.kind !== kind) return;
        child.off('message', listen);
        child.off('exit', ended);
        resolve(message as T);
      });
    });
  const ready = await next<BenchReady>('ready');
  return {
    child,
    ready,
    usage: (afterGc = false) => {
      const answer = next<BenchUsage>('usage');
      child.send(afterGc ? 'usage after gc' : 'usage');
      return answer;
    },
    subjects: async () => {
      const answer = next<BenchSubjects>('subjects');
      child.send('subjects');
      return (await answer).uuids;
    },
    stop: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.send('stop');
      await ended;
    },
  };
}

type Run = Readonly<{ load: LoadResult; cpu: number; loopP99Ms: number; loopMaxMs: number; rssBytes: number; heapBytes: number }>;

/** One load on a running service. cpu: CPU seconds of the service per second. */
async function run(service: Running, plan: Omit<LoadPlan, 'port' | 'key'>): Promise<Run> {
  const full: LoadPlan = { ...plan, port: service.ready.port, key: service.ready.key };
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', new URL('./lib/load.ts', import.meta.url).pathname, JSON.stringify(full)],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error('the load generator has ended');
    return value;
  };
  if ((await line()) !== 'subjects') throw new Error('no devices');
  child.stdin.write(`${JSON.stringify(await service.subjects())}\n`);
  if ((await line()) !== 'steady') throw new Error('no steady load');
  const before = await service.usage();
  const fromMs = performance.now();
  const load = JSON.parse(await line()) as LoadResult;
  const after = await service.usage();
  const cpu = (after.cpuSec - before.cpuSec) / ((performance.now() - fromMs) / 1000);
  const clean = await service.usage(true);
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.stdin.end('\n');
  await ended;
  return { load, cpu, loopP99Ms: after.loopP99Ms, loopMaxMs: after.loopMaxMs, rssBytes: clean.rssBytes, heapBytes: clean.heapBytes };
}

async function question(name: string, ask: (service: Running) => Promise<Record<string, unknown>>): Promise<void> {
  if (!wants(name.toLowerCase())) return;
  const service = await startChild();
  try {
    console.log(JSON.stringify({ bench: name, mode, ...(await ask(service)) }));
  } finally {
    await service.stop();
  }
}

const usual = { channels: 4, fs: 250, packetMs: 100, warmSec: 3, sec };
const round = (x: number): number => Number(x.toPrecision(3));

await question('P2', async (service) => {
  const { load, cpu } = await run(service, { ...usual, devices: 2 * devices, viewersPerDevice: 0 });
  return { devices: 2 * devices, cpu: round(cpu), devicesPerCore: Math.round((2 * devices) / cpu), ...load };
});

await question('P1', async (service) => {
  const { load, cpu } = await run(service, { ...usual, devices, viewersPerDevice: 1 });
  return { devices, viewers: devices, cpu: round(cpu), devicesAndViewersPerCore: Math.round(devices / cpu), ...load };
});

await question('P10', async (service) => {
  const probe = await run(service, { ...usual, devices: Math.min(devices, 500), viewersPerDevice: 1, sec: 5 });
  const perCore = Math.min(devices, 500) / probe.cpu;
  const out: Record<string, unknown> = { devicesPerCore: Math.round(perCore) };
  for (const share of [0.25, 0.5, 0.8]) {
    const n = Math.min(4000, Math.round(perCore * share));
    const { load, cpu } = await run(service, { ...usual, devices: n, viewersPerDevice: 1 });
    out[`at ${share * 100} %`] = { devices: n, cpu: round(cpu), frameMs: load.frameMs, ackMs: load.ackMs, lateMs: load.lateMs };
  }
  return out;
});

await question('P12', async (service) => {
  const few = await run(service, { ...usual, devices: 1, viewersPerDevice: 1, idleViewers: 100, sec: 2 });
  const idle = await run(service, { ...usual, devices: 1, viewersPerDevice: 1, idleViewers: 5100, sec: 2 });
  const some = await run(service, { ...usual, devices: 100, viewersPerDevice: 0, sec: 2 });
  const many = await run(service, { ...usual, devices: 1100, viewersPerDevice: 0, sec: 4 });
  return {
    bytesPerIdleViewer: Math.round((idle.rssBytes - few.rssBytes) / 5000),
    heapBytesPerIdleViewer: Math.round((idle.heapBytes - few.heapBytes) / 5000),
    bytesPerStreamingDevice: Math.round((many.rssBytes - some.rssBytes) / 1000),
    heapBytesPerStreamingDevice: Math.round((many.heapBytes - some.heapBytes) / 1000),
  };
});

await question('P14', async (service) => {
  const calm = await run(service, { ...usual, devices: 100, viewersPerDevice: 1 });
  const fire = await run(service, { ...usual, devices: 100, viewersPerDevice: 1, firehose: true });
  const words = ({ load, loopP99Ms, loopMaxMs, cpu }: Run) => ({
    tickP99Ms: round(loopP99Ms - 10),
    tickMaxMs: round(loopMaxMs - 10),
    cpu: round(cpu),
    frameMs: load.frameMs,
    ackMs: load.ackMs,
  });
  return { calm: words(calm), firehose: words(fire) };
});

await question('fanout', async (service) => {
  const out: Record<string, unknown> = {};
  for (const viewers of (process.env['BENCH_VIEWERS'] ?? '1,100,1000,5000').split(',').map(Number)) {
    const { load, cpu } = await run(service, { ...usual, devices: 1, viewersPerDevice: viewers, sec: 5 });
    out[viewers] = {
      cpu: round(cpu),
      usPerFrame: round((cpu * 1e6) / (viewers * 10)),
      frames: load.frames,
      expected: load.framesExpected,
      frameMs: load.frameMs,
    };
  }
  return out;
});
