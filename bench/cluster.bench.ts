/** Several nodes: processor time of a packet that came to its owner and of one that was passed on, how much more they carry than one, and
 *  what a frame of another node costs in time. Three nodes on this machine, over Unix sockets and, where nats-server is installed, over
 *  NATS, compared with three that know nothing of each other, so that in each case a node has the same devices and the same machine.
 *  The first load of a process is not counted, as its code is being compiled; after it the three take turns, in every order. A ratio is
 *  of one turn, and what is told is the median of the turns: a neighbour on the same machine takes its time from all three of one.
 *  BENCH_DEVICES (90), BENCH_SEC (8; --full 20), BENCH_TURNS (3; --full 7). With more devices than the machine bears, packets wait, go in
 *  larger batches and seem cheaper: the time to acknowledgement tells. Capacity is what the busiest main thread bears at 70 % of a core, by
 *  its processor time: wall time on few cores says nothing about several machines. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { hasNatsServer, startNats } from '../faults/lib/nats-server.ts';
import { cutIntoPartitions } from '../src/cli/partitions.ts';
import { partitionOf } from '../src/cluster/partition-of.ts';
import { openDatabase } from '../src/storage/database/database.ts';
import { upgrade } from '../src/storage/upgrade.ts';
import { openBenchDatabase } from './lib/bench-database.ts';
import type { BenchDatabase } from './lib/bench-database.ts';
import type { LoadPlan, LoadResult } from './lib/load.ts';
import { threadsCpuSec, treeCpuSec } from './lib/processor-time.ts';
import { report, reportMedian } from './lib/result.ts';
import { startLoad, startServiceProcess } from './lib/service-process.ts';
import type { ServiceProcess } from './lib/service-process.ts';

const NODES = 3;
const PARTITIONS = 24;
const long = process.env['BENCH_FULL'] === '1';
const devices = Number(process.env['BENCH_DEVICES'] ?? 90);
const usual = { devices, channels: 4, fs: 250, packetMs: 100, warmSec: 8, sec: Number(process.env['BENCH_SEC'] ?? (long ? 20 : 8)) };
const turns = Number(process.env['BENCH_TURNS'] ?? (long ? 7 : 3));
/** Share of a core that a main thread may have. */
const BUSY = 0.7;

type Run = Readonly<{ load: LoadResult; packetsPerSec: number; mains: readonly number[]; others: number; postgres: number }>;
type Plan = Omit<LoadPlan, 'port' | 'key'>;

/** @param loads each of its own generator, to the first node that it names, or to those of its plan */
async function run(
  nodes: readonly ServiceProcess[],
  database: BenchDatabase,
  loads: readonly (readonly [ServiceProcess, Plan])[],
): Promise<Run> {
  const running = await Promise.all(loads.map(([node, plan]) => startLoad(node, plan)));
  const now = () => ({
    atMs: performance.now(),
    nodes: nodes.map(({ pid }) => threadsCpuSec(pid)),
    postgres: database.postmasterPid === null ? Number.NaN : treeCpuSec(database.postmasterPid),
  });
  const before = now();
  const results = await Promise.all(running.map(({ result }) => result));
  const after = now();
  await Promise.all(running.map((load) => load.stop()));
  for (const { rejected } of results)
    if (Object.keys(rejected).length > 0) console.log(`packets were rejected: ${JSON.stringify(rejected)}`);
  const sec = (after.atMs - before.atMs) / 1000;
  const spent = after.nodes.map((cpu, i) => ({
    main: (cpu.main - before.nodes[i]!.main) / sec,
    all: (cpu.all - before.nodes[i]!.all) / sec,
  }));
  return {
    load: results[0]!,
    packetsPerSec: sum(results.map(({ lateMs }) => lateMs.n)) / usual.sec,
    mains: spent.map(({ main }) => main),
    others: spent.reduce((sum, { main, all }) => sum + all - main, 0),
    postgres: (after.postgres - before.postgres) / sec,
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const perPacket = (run_: Run, cpu: number): number => (cpu * 1e6) / run_.packetsPerSec;
const capacity = ({ packetsPerSec, mains }: Run): number => (BUSY / Math.max(...mains)) * packetsPerSec;

/** The mean of runs that took turns with others. */
function mean(runs: readonly Run[]): Run {
  const of = (value: (one: Run) => number): number => sum(runs.map(value)) / runs.length;
  return {
    load: runs.at(-1)!.load,
    packetsPerSec: of((one) => one.packetsPerSec),
    mains: runs[0]!.mains.map((_, i) => of(({ mains }) => mains[i]!)),
    others: of(({ others }) => others),
    postgres: of(({ postgres }) => postgres),
  };
}

function tell(name: string, one: Run): void {
  report({ name: `${name}: CPU of the main threads`, value: perPacket(one, sum(one.mains)), unit: 'µs/packet' });
  report({ name: `${name}: CPU of workers and other threads`, value: perPacket(one, one.others), unit: 'µs/packet' });
  report({ name: `${name}: CPU of PostgreSQL`, value: perPacket(one, one.postgres), unit: 'µs/packet' });
  report({ name: `${name}: packets that the busiest main thread bears`, value: capacity(one), unit: 'packets/s', better: 'higher' });
  report({ name: `${name}: packet sent to acknowledged, p50`, value: one.load.ackMs.p50, unit: 'ms' });
  report({ name: `${name}: packet sent to acknowledged, p99`, value: one.load.ackMs.p99, unit: 'ms' });
}

type Alone = Readonly<{ run: () => Promise<Run>; stop: () => Promise<void> }>;

/** As many nodes that know nothing of each other, each alone with a database, a third of the devices and everything else of this machine.
 *  One node by itself would have two cores and their caches to itself, and each of its packets would seem cheaper. */
async function startAlone(): Promise<Alone> {
  const database = await openBenchDatabase();
  const admin = new pg.Client(database.url);
  await admin.connect();
  const urls = [database.url];
  for (let i = 1; i < NODES; i++) {
    const url = new URL(database.url);
    url.pathname += `_${i}`;
    await admin.query(`create database ${url.pathname.slice(1)}`);
    urls.push(url.href);
  }
  const nodes: ServiceProcess[] = [];
  for (const url of urls) nodes.push(await startServiceProcess('full', { DATABASE_URL: url, BIO_DSP_WORKERS: '1' }));
  let runId = 0;
  return {
    run: async () => {
      const plan = { ...usual, runId: runId++, devices: devices / NODES, viewersPerDevice: 0 };
      return await run(
        nodes,
        database,
        nodes.map((node) => [node, plan] as const),
      );
    },
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()));
      for (const url of urls.slice(1)) await admin.query(`drop database ${new URL(url).pathname.slice(1)} with (force)`);
      await admin.end();
      await database.drop();
    },
  };
}

/** People of a run are made before their devices come, so that their owners are known. @returns port of each person's owner */
async function portsOf(url: string, nodes: readonly ServiceProcess[], runId: number): Promise<readonly number[]> {
  const { key } = nodes[0]!;
  const names = Array.from({ length: devices }, (_, i) => `s${String(runId).padStart(3, '0')}${String(i).padStart(5, '0')}`);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows: owners } = await client.query<{ owner: string }>('select owner from packet_log_checkpoint order by partition');
  const { rows: order } = await client.query<{ id: string }>('select id from cluster_node order by started_at');
  const ids: string[] = [];
  for (const name of names) {
    const answer = await fetch(`http://127.0.0.1:${nodes[0]!.port}/api/v1/xusers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ external_id: name }),
    });
    if (!answer.ok) throw new Error(await answer.text());
    ids.push(((await answer.json()) as { xuser_id: string }).xuser_id);
  }
  await client.end();
  return ids.map((id) => nodes[order.findIndex((node) => node.id === owners[partitionOf(id, PARTITIONS)]!.owner)]!.port);
}

type Kind = 'alone' | 'atOwner' | 'byChance';
/** In every three turns each comes first, in the middle and last once; in six, also after each of the others as often. */
const ORDERS: readonly (readonly Kind[])[] = [
  ['alone', 'atOwner', 'byChance'],
  ['atOwner', 'byChance', 'alone'],
  ['byChance', 'alone', 'atOwner'],
  ['alone', 'byChance', 'atOwner'],
  ['byChance', 'atOwner', 'alone'],
  ['atOwner', 'alone', 'byChance'],
];

async function together(name: string, env: Readonly<Record<string, string>>, alone: Alone): Promise<void> {
  const database = await openBenchDatabase();
  await upgrade(database.url);
  const admin = await openDatabase(database.url);
  await cutIntoPartitions(admin, PARTITIONS);
  await admin.close();
  const nodes: ServiceProcess[] = [];
  for (let i = 0; i < NODES; i++)
    nodes.push(await startServiceProcess('full', { DATABASE_URL: database.url, BIO_DSP_WORKERS: '1', ...env }));
  const count = async (): Promise<number> => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query<{ n: number }>(
      `select count(*)::int as n from (select from packet_log_checkpoint where owner is not null group by owner having count(*) = ${PARTITIONS / NODES})`,
    );
    await client.end();
    return rows[0]!.n;
  };
  while ((await count()) < NODES) await new Promise((done) => setTimeout(done, 100));

  const byChance = Array.from({ length: devices }, (_, i) => nodes[i % NODES]!.port);
  let runId = 0;
  const load = async (ports: (runId: number) => Promise<readonly number[]> | readonly number[]): Promise<Run> => {
    runId++;
    return await run(nodes, database, [[nodes[0]!, { ...usual, runId, ports: await ports(runId), viewersPerDevice: 0 }]]);
  };
  const toOwners = (): Promise<Run> => load((id) => portsOf(database.url, nodes, id));
  const toAny = (): Promise<Run> => load(() => byChance);
  await toAny();
  const runs: Record<Kind, Run[]> = { alone: [], atOwner: [], byChance: [] };
  const play: Readonly<Record<Kind, () => Promise<Run>>> = { alone: alone.run, atOwner: toOwners, byChance: toAny };
  for (let turn = 0; turn < turns; turn++) for (const kind of ORDERS[turn % ORDERS.length]!) runs[kind].push(await play[kind]());
  tell(`${name}, none knowing of another`, mean(runs.alone));
  tell(`${name}, every device at its owner`, mean(runs.atOwner));
  tell(`${name}, devices by chance`, mean(runs.byChance));
  const ratios = (of: (alone: Run, atOwner: Run, byChance: Run) => number): number[] =>
    runs.alone.map((one, turn) => of(one, runs.atOwner[turn]!, runs.byChance[turn]!));
  const mains = (one: Run): number => perPacket(one, sum(one.mains));
  reportMedian(
    { name: `${name}: main threads of a packet that is passed on, over one that is not`, unit: 'times' },
    // Of three packets by chance two are passed on.
    ratios((_, atOwner, chance) => 1 + (mains(chance) / mains(atOwner) - 1) * (NODES / (NODES - 1))),
  );
  reportMedian(
    { name: `${name}: three nodes over one, devices at their owner`, unit: 'times', better: 'higher' },
    ratios((one, atOwner) => (NODES * capacity(atOwner)) / capacity(one)),
  );
  reportMedian(
    { name: `${name}: three nodes over one, devices by chance`, unit: 'times', better: 'higher' },
    ratios((one, _, chance) => (NODES * capacity(chance)) / capacity(one)),
  );

  const watched = await portsOf(database.url, nodes, ++runId);
  const viewers = { ...usual, devices: Math.min(devices, 30), viewersPerDevice: 1 };
  const near = await run(nodes, database, [[nodes[0]!, { ...viewers, runId, ports: watched, viewerPorts: watched }]]);
  const others = await portsOf(database.url, nodes, ++runId);
  const elsewhere = others.map((port) => nodes[(nodes.findIndex((node) => node.port === port) + 1) % NODES]!.port);
  const far = await run(nodes, database, [[nodes[0]!, { ...viewers, runId, ports: others, viewerPorts: elsewhere }]]);
  report({ name: `${name}: a frame of this node, p99`, value: near.load.frameMs.p99, unit: 'ms' });
  report({
    name: `${name}: a frame of another node, p99`,
    value: far.load.frameMs.p99,
    unit: 'ms',
    note: `p50 ${far.load.frameMs.p50} against ${near.load.frameMs.p50}`,
  });
  await Promise.all(nodes.map((node) => node.stop()));
  await database.drop();
}

const alone = await startAlone();
await alone.run();
const folder = mkdtempSync(join(tmpdir(), 'biosignal-cluster-'));
await together('three nodes, Unix sockets', { BIO_BUS_DIR: folder }, alone);
rmSync(folder, { recursive: true });
if (hasNatsServer) {
  const nats = await startNats();
  await together('three nodes, NATS', { BIO_NATS_URL: `nats://127.0.0.1:${nats.port}` }, alone);
  await nats.close();
}
await alone.stop();
