/** `npm run soak`: a steady load for a long time, and whether anything grows. Draws memory, handles, lag and the answer times as a page.
 *
 *  npm run soak -- [--minutes 60] [--devices 8] [--packet-ms 500] [--seed 1] [--out soak.html]
 *  Of each series the slope is fitted after the first fifth of the run. A series fails when it grows by more than a tenth of its mean in an
 *  hour and the growth is no chance (t > 3). Besides the page, the samples are written as JSON. Exit code 1 when a series fails or the
 *  ledger does. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { numberOption, toolOptions } from '../scripts/tool-options.ts';
import { World } from './lib/world.ts';
import { fitSlope, soakPage } from './soak-page.ts';
import type { Series } from './soak-page.ts';

const { values } = toolOptions({
  options: {
    minutes: { type: 'string', default: '60' },
    devices: { type: 'string', default: '8' },
    'packet-ms': { type: 'string', default: '500' },
    seed: { type: 'string', default: '1' },
    out: { type: 'string', default: 'soak.html' },
  },
});
const minutes = numberOption('minutes', values.minutes);
const EVERY_MS = 5000;
const WARM_SHARE = 0.2;

type Sample = {
  atSec: number;
  rssMiB: number;
  heapMiB: number;
  handles: number;
  ackP99Ms: number;
  lagMs: number;
  queueMiB: number;
  cpuCores: number;
};

const world = await World.start({
  name: 'soak',
  seed: numberOption('seed', values.seed),
  deviceCount: numberOption('devices', values.devices, { whole: true }),
  packetMs: numberOption('packet-ms', values['packet-ms'], { whole: true }),
});
const samples: Sample[] = [];
const startedMs = performance.now();
const endMs = startedMs + minutes * 60_000;
let before = { buckets: new Map<number, number>(), cpuSec: cpuSecondsOf(world.service.pid), atMs: performance.now() };
while (performance.now() < endMs) {
  await sleep(EVERY_MS);
  const text = await (await fetch(`${world.service.url}/metrics`)).text();
  const ready = await (await fetch(`${world.service.url}/readyz`)).text();
  const { pid } = world.service;
  const now = { buckets: bucketsOf(text), cpuSec: cpuSecondsOf(pid), atMs: performance.now() };
  samples.push({
    atSec: (now.atMs - startedMs) / 1000,
    rssMiB: Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024,
    heapMiB: valueOf(text, 'nodejs_heap_size_used_bytes') / 2 ** 20,
    handles: readdirSync(`/proc/${pid}/fd`).length,
    ackP99Ms: quantileBetween(before.buckets, now.buckets, 0.99) * 1000,
    lagMs: Number(/lag (\d+) ms/.exec(ready)?.[1] ?? Number.NaN),
    queueMiB: [...text.matchAll(/^bio_queue_bytes\{[^}]*\} (\S+)$/gm)].reduce((sum, match) => sum + Number(match[1]), 0) / 2 ** 20,
    cpuCores: ((now.cpuSec - before.cpuSec) * 1000) / (now.atMs - before.atMs),
  });
  before = now;
}
const verdict = await world.verdict();
await world.close();

const steady = samples.slice(Math.floor(samples.length * WARM_SHARE));
const labels: readonly (readonly [keyof Sample, string, string])[] = [
  ['rssMiB', 'resident memory', 'MiB'],
  ['heapMiB', 'JavaScript heap in use', 'MiB'],
  ['handles', 'open files and sockets', ''],
  ['ackP99Ms', 'received to acknowledged, p99 of 5 s', 'ms'],
  ['lagMs', 'lag of the feature workers', 'ms'],
  ['queueMiB', 'bytes waiting in queues', 'MiB'],
  ['cpuCores', 'processor time of the service', 'cores'],
];
const series: Series[] = labels.map(([key, title, unit]) => ({
  title,
  unit,
  points: samples.map((sample) => [sample.atSec, sample[key]] as const),
  fit: fitSlope(steady.map((sample) => [sample.atSec, sample[key]] as const)),
  // Time says nothing about leaks: it is drawn, not judged.
  judged: key === 'rssMiB' || key === 'heapMiB' || key === 'handles' || key === 'queueMiB',
}));
const about = `${values.minutes} min, ${values.devices} devices, packets of ${values['packet-ms']} ms, seed ${values.seed}; ${verdict.accepted} packets acknowledged, ${verdict.missing_packets + verdict.missing_samples} lost, ${verdict.doubled_samples} doubled`;
writeFileSync(values.out, soakPage(about, series));
writeFileSync(
  values.out.replace(/\.html$/, '.json'),
  `${JSON.stringify({ about, verdict, series: series.map(({ title, unit, fit, judged }) => ({ title, unit, fit, judged })), samples })}\n`,
);
console.log(about);
for (const { title, unit, fit, judged } of series)
  console.log(
    `${title.padEnd(40)} mean ${fit.mean.toFixed(2)} ${unit}, ${fit.perHour >= 0 ? '+' : ''}${fit.perHour.toFixed(2)} per hour, t ${fit.t.toFixed(1)}${judged ? (fit.grows ? '  GROWS' : '  ok') : ''}`,
  );
process.exitCode = verdict.ok && !series.some(({ fit, judged }) => judged && fit.grows) ? 0 : 1;

function valueOf(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
}

function bucketsOf(text: string): Map<number, number> {
  const found = text.matchAll(/^bio_ack_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm);
  return new Map([...found].map(([, le, count]) => [le === '+Inf' ? Infinity : Number(le), Number(count)]));
}

/** Upper bound of the bucket that holds the quantile of what was counted between two scrapes, s. */
function quantileBetween(from: ReadonlyMap<number, number>, to: ReadonlyMap<number, number>, q: number): number {
  const counts = [...to].map(([le, count]) => [le, count - (from.get(le) ?? 0)] as const);
  const total = counts.at(-1)?.[1] ?? 0;
  return counts.find(([, count]) => count >= q * total)?.[0] ?? Number.NaN;
}

/** User and system time of a process, s; 100 ticks a second on Linux. */
function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
