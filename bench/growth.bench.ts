/** Growth of cost with the number of devices and viewers: processor time per packet from 10 to 10,000 devices, memory per device and
 *  viewer.
 *
 *  node bench/growth.bench.ts      BENCH_FULL=1: up to 10,000 (else 1,000)   BENCH_SIZES=100,10000   BIO_BENCH_DATABASE_URL=... (else
 *  embedded PostgreSQL) Packets of 1 s, 1 channel x 25 Hz: so small that the packet counts and not its samples (BENCH_FS: another rate).
 *  Network side alone (nothing stored), and whole. CPU beyond what the idle service takes, which is a figure of its own; of the service's
 *  main thread; all threads and PostgreSQL are in the second curve. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openBenchDatabase } from './lib/bench-database.ts';
import { threadsCpuSec, treeCpuSec } from './lib/processor-time.ts';
import { report, reportCurve } from './lib/result.ts';
import { refuseBadLoad, startLoad, startServiceProcess, type ServiceMode } from './lib/service-process.ts';

const full = process.env['BENCH_FULL'] === '1';
const given = process.env['BENCH_SIZES'];
const sizes = given !== undefined ? given.split(',').map(Number) : full ? [10, 30, 100, 300, 1000, 3000, 10_000] : [10, 100, 1000];
/** A watched device has ten frames a second: 10,000 of them are more than a core. */
const WATCHED_MAX = 1000;
const sec = full ? 20 : 10;
const fs = Number(process.env['BENCH_FS'] ?? 25);
const IDLE_SEC = 5;

type Cost = Readonly<{ devices: number; mainUs: number; allUs: number; postgresUs: number; idle: number; rssMiB: number }>;

async function measure(mode: ServiceMode, devices: number, viewersPerDevice: number): Promise<Cost> {
  const database = mode === 'full' ? await openBenchDatabase() : null;
  const service = await startServiceProcess(mode, database === null ? {} : { DATABASE_URL: database.url });
  const cpu = (): { main: number; all: number; postgres: number } => ({
    ...threadsCpuSec(service.pid),
    postgres: database?.postmasterPid == null ? 0 : treeCpuSec(database.postmasterPid),
  });
  try {
    await sleep(1000);
    const idleFrom = cpu();
    await sleep(IDLE_SEC * 1000);
    const idleTo = cpu();
    const load = await startLoad(service, { devices, viewersPerDevice, channels: 1, fs, packetMs: 1000, warmSec: 5, sec });
    const before = cpu();
    const result = await load.result;
    const after = cpu();
    const { rssBytes } = await service.usage(true);
    await load.stop();
    refuseBadLoad(result);
    const idlePerSec = (part: 'main' | 'all' | 'postgres'): number => (idleTo[part] - idleFrom[part]) / IDLE_SEC;
    const us = (part: 'main' | 'all' | 'postgres'): number =>
      (Math.max(0, after[part] - before[part] - idlePerSec(part) * sec) * 1e6) / result.settled;
    return {
      devices,
      mainUs: us('main'),
      allUs: us('all'),
      postgresUs: us('postgres'),
      idle: idlePerSec('all') + idlePerSec('postgres'),
      rssMiB: rssBytes / 2 ** 20,
    };
  } finally {
    await service.stop();
    await database?.drop();
  }
}

async function curve(mode: ServiceMode, viewersPerDevice: number, counts: readonly number[]): Promise<Cost[]> {
  const costs: Cost[] = [];
  for (const devices of counts) costs.push(await measure(mode, devices, viewersPerDevice));
  return costs;
}

const points = (costs: readonly Cost[], pick: (cost: Cost) => number): [number, number][] =>
  costs.map((cost) => [cost.devices, pick(cost)]);

const network = await curve('memory', 0, sizes);
reportCurve({
  name: 'Network side: CPU per packet',
  x: 'devices',
  y: 'µs, main thread',
  points: points(network, (c) => c.mainUs),
  logX: true,
});
reportCurve({ name: 'Network side: memory', x: 'devices', y: 'MiB resident', points: points(network, (c) => c.rssMiB) });
const watched = await curve(
  'memory',
  1,
  sizes.filter((devices) => devices <= WATCHED_MAX),
);
reportCurve({
  name: 'Network side, each device watched: CPU per packet',
  x: 'devices',
  y: 'µs, main thread (10 frames a packet)',
  points: points(watched, (c) => c.mainUs),
  logX: true,
});
const whole = await curve('full', 0, sizes);
reportCurve({
  name: 'Whole service: CPU per packet',
  x: 'devices',
  y: 'µs, main thread',
  points: points(whole, (c) => c.mainUs),
  logX: true,
});
reportCurve({
  name: 'Whole service: CPU per packet, everything',
  x: 'devices',
  y: 'µs, all threads and PostgreSQL',
  points: points(whole, (c) => c.allUs + c.postgresUs),
  logX: true,
});
reportCurve({ name: 'Whole service: memory', x: 'devices', y: 'MiB resident', points: points(whole, (c) => c.rssMiB) });

report({ name: 'idle service with its database', value: 100 * whole[0]!.idle, unit: '% of a core' });
const growth = (costs: readonly Cost[]): number => costs.at(-1)!.mainUs / costs.find(({ devices }) => devices === 100)!.mainUs;
const many = sizes.at(-1)!;
report({
  name: `network side: CPU per packet at ${many} devices over 100`,
  value: growth(network),
  unit: 'times',
  note: 'below 1: batches pay',
});
report({ name: `whole service: CPU per packet at ${many} devices over 100`, value: growth(whole), unit: 'times' });
