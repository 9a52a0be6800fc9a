/** `biosignal start --processes 3` as an operator types it: three nodes on one port. Nodes are killed under devices and viewers: what was
 *  acknowledged is stored once, values are those of one node, every viewer gets the same frames wherever the kernel put it. */
import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { cluster } from '../../src/cli/cluster.ts';
import type { Command } from '../../src/cli/command.ts';
import { doctor } from '../../src/cli/doctor.ts';
import { simulate } from '../../src/cli/simulate.ts';
import { verify } from '../../src/cli/verify.ts';
import { freePort } from '../../faults/lib/free-port.ts';
import { readConfig } from '../../src/config.ts';
import { decodeFrame } from '../../src/proto/frame-codec.ts';
import { startService } from '../../src/server.ts';
import { ran } from '../helpers/commands.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { derivedRows } from '../helpers/derived-rows.ts';
import { spawnProcesses } from './nodes.ts';

const DEVICES = 6;
/** Longer than a killed node's partitions are nobody's, on a busy machine, too: what devices catch up on then is not shown live. */
const SECONDS = 36;
const devices = Array.from({ length: DEVICES }, (_, i) => `sim-000${i + 1}`);
let startsAt: string;
let database: TestDatabase;
let key: string;
let baseUrl: string;
let work: string;
let parent: ChildProcess;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'biosignal-processes-'));
  database = await testDatabase();
  key = (await createOrganization(database.pool, 'Processes')).apiKey.key;
  const settings = {
    DATABASE_URL: database.url,
    PORT: String(await freePort()),
    BIO_NODE_NAME: 'ward',
    BIO_NODE_ADDRESS: 'https://ward.example',
    BIO_REQUESTS_PER_SEC_MAX: '10000',
  };
  parent = spawnProcesses(3, settings, { json: true, stderr: 'inherit' });
  const lines = createInterface(parent.stdout!);
  for await (const line of lines) {
    const told = JSON.parse(line) as { base_url: string; processes?: number };
    baseUrl = told.base_url;
    if (told.processes !== undefined) break;
  }
  await until(shared, 60_000);
});
afterAll(async () => {
  if (parent?.exitCode === null) {
    const gone = once(parent, 'exit');
    parent.kill('SIGTERM');
    await gone;
  }
  await database?.close();
  rmSync(work, { recursive: true, force: true });
});

const environment = (): Record<string, string> => ({ BIO_URL: baseUrl, BIO_KEY: key, DATABASE_URL: database.url });
const run = (command: Command, ...args: string[]) => ran(command, args, { env: environment(), cwd: work });

type Status = Readonly<{
  without_owner: readonly number[];
  nodes: readonly Readonly<{ node: string; address: string; partitions: number; state: string }>[];
}>;
async function status(): Promise<Status> {
  return JSON.parse((await run(cluster, 'status', '--json')).out.join('')) as Status;
}
/** Three nodes live, and each has its share. */
async function shared(): Promise<boolean> {
  const { nodes, without_owner: free } = await status();
  const living = nodes.filter(({ state, partitions }) => state === 'running' && partitions > 0);
  return free.length === 0 && living.length === 3 && living.every(({ partitions }) => partitions === 8);
}

/** Numbers of the processes that are nodes. */
function nodePids(): number[] {
  return readFileSync(`/proc/${parent.pid}/task/${parent.pid}/children`, 'utf8').trim().split(' ').map(Number);
}

/** Watches a person until it is told to end, and comes back when a node has gone. @returns hash by number of frame */
function viewer(subject: string): { frames: Map<number, string>; end: () => void } {
  const frames = new Map<number, string>();
  let ended = false;
  let newest = 0;
  let socket: WebSocket;
  const connect = (): void => {
    if (ended) return;
    const after = newest === 0 ? '' : `&after=${newest}`;
    socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/ws?subject=${subject}${after}`, [
      'bio.v1',
      `bio.bearer.${Buffer.from(key).toString('base64url')}`,
    ]);
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('message', ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data === 'string') return;
      const { seq } = decodeFrame(new Uint8Array(data));
      expect(seq).toBeGreaterThan(newest);
      newest = seq;
      frames.set(seq, createHash('sha256').update(new Uint8Array(data)).digest('hex'));
    });
    const lost = ({ target }: Event): void => {
      if (target === socket) setTimeout(connect, 200);
    };
    // Node sends no close event when the connection was never made: to a node that is being killed.
    socket.addEventListener('error', lost, { once: true });
    socket.addEventListener('close', lost, { once: true });
  };
  connect();
  const end = (): void => {
    ended = true;
    socket.close();
  };
  return { frames, end };
}

// promise: nodes-lose-nothing
// setting: BIO_BUS_DIR, BIO_SHARE_PORT
// job: membership, watch
test('three processes: any of them takes any device and any viewer, two are killed, and nothing is lost, doubled or different', async () => {
  startsAt = new Date(Date.now() - 5_000).toISOString(); // what is more than a minute old is not live
  const args = ['--devices', String(DEVICES), '--duration', String(SECONDS), '--packet-ms', '200', '--channels', 'ecg.ii', '--seed', '7'];
  args.push('--start', startsAt);
  const ledger = join(work, 'run');
  const sending = run(simulate, ...args, '--transport', 'websocket', '--connections', String(DEVICES), '--ledger', ledger, '--json');
  await until(async () => (await database.pool.query('select from stream')).rowCount === DEVICES, 30_000);
  const viewers = Array.from({ length: 6 }, () => viewer(devices[0]!));
  // The kernel chose their nodes; all see the same bytes.
  const inCommon = (): number[] => [...viewers[0]!.frames.keys()].filter((seq) => viewers.every(({ frames }) => frames.has(seq)));
  await until(() => inCommon().length > 10, 30_000);
  const common = inCommon();
  for (const seq of common) expect(new Set(viewers.map(({ frames }) => frames.get(seq))).size).toBe(1);

  const seenBefore = viewers.map(({ frames }) => frames.size);
  for (const which of [0, 1]) {
    process.kill(nodePids()[which]!, 'SIGKILL');
    await until(shared, 60_000);
  }
  const sent = await sending;
  expect(JSON.parse(sent.out.join('')), sent.err.join('\n')).toMatchObject({ packets: DEVICES * SECONDS * 5, rejected: 0, unsettled: 0 });
  for (const [i, { frames, end }] of viewers.entries()) {
    await until(() => frames.size > seenBefore[i]!, 30_000); // on a busy machine it has not come back when the last packet is sent
    end();
  }

  const verified = await run(verify, ledger, '--json');
  expect(verified.code, verified.out.join('')).toBe(0);
  await until(shared, 60_000); // on a busy machine the killed ones are not back yet
});

// promise: drain-gives
// setting: BIO_NODE_NAME, BIO_NODE_ADDRESS
test('a node that is drained gives its partitions to the others and takes them back; what cannot be done is said', async () => {
  const living = async (): Promise<Status['nodes']> => (await status()).nodes.filter(({ state }) => state !== 'gone');
  expect((await living()).map(({ node, address }) => [node, address])).toEqual([1, 2, 3].map((i) => [`ward/${i}`, 'https://ward.example']));
  expect((await run(cluster, 'drain', 'ward/2')).code).toBe(0);
  await until(async () => {
    const nodes = await living();
    return nodes.map(({ partitions }) => partitions).join() === '12,0,12' && nodes[1]?.state === 'draining';
  }, 30_000);
  expect((await run(cluster, 'undrain', 'ward/2')).code).toBe(0);
  await until(shared, 30_000);
  expect(await run(cluster, 'partitions', '24')).toMatchObject({ code: 0, out: ['people are already cut into 24 partitions'] });
  for (const [args, said] of [
    [['drain', 'ward/9'], /no node 'ward\/9'/],
    [['partitions', '12'], /a service runs on/],
    [['partitions', '0'], /a number from 1 to 1024/],
  ] as const) {
    const refused = await run(cluster, ...args);
    expect(refused.code).not.toBe(0);
    expect(refused.err.join('\n')).toMatch(said);
  }
});

/** The kernel may give a scrape to the process that is stopped: that one is not answered, and asked again. */
async function scrapeOfAnother(scrape: () => Promise<readonly string[]>): Promise<readonly string[]> {
  for (;;) {
    const lines = await Promise.race([scrape().catch(() => null), sleep(3000, null)]);
    if (lines !== null) return lines;
  }
}

// promise: readyz-names-node
test('a scrape of the common port tells of every process under its name, and /readyz of the bus', async () => {
  const scrape = async (): Promise<readonly string[]> => (await (await fetch(`${baseUrl}/metrics`)).text()).split('\n');
  const of = (lines: readonly string[], name: string): readonly string[] => lines.filter((line) => line.startsWith(`${name}{`)).toSorted();
  await (await fetch(`${baseUrl}/livez`)).text(); // metrics of requests are there from the first one on
  // Each node looks at who owns what once a second or so: the one that looked first saw the others before they had theirs.
  await until(async () => of(await scrape(), 'bio_partitions_without_owner').every((line) => line.endsWith(' 0')), 20_000);
  // Devices are at processes that the kernel chooses.
  const passedOn = (lines: readonly string[]): readonly number[] =>
    of(lines, 'bio_packets_forwarded_total').map((line) => Number(line.split(' ').at(-1)));
  for (let seed = 20; seed < 40 && Math.max(...passedOn(await scrape())) === 0; seed++) {
    const args = ['--devices', String(DEVICES), '--duration', '2', '--channels', 'ecg.ii', '--seed', String(seed)];
    await run(simulate, ...args, '--transport', 'websocket', '--connections', String(DEVICES));
  }
  const lines = await scrape();
  expect(of(lines, 'bio_partitions')).toEqual([1, 2, 3].map((i) => `bio_partitions{node="ward/${i}"} 8`));
  expect(of(lines, 'bio_partitions_without_owner')).toEqual([1, 2, 3].map((i) => `bio_partitions_without_owner{node="ward/${i}"} 0`));
  expect(of(lines, 'bio_bus_open')).toEqual([1, 2, 3].map((i) => `bio_bus_open{node="ward/${i}"} 1`));
  expect(of(lines, 'bio_log_owner')).toHaveLength(3);
  expect(passedOn(lines)).toHaveLength(3);
  expect(Math.max(...passedOn(lines))).toBeGreaterThan(0);
  expect(of(lines, 'process_start_time_seconds')).toHaveLength(3);
  // Nothing is added up or said twice.
  expect(lines.filter((line) => line.startsWith('# TYPE bio_packets_total '))).toHaveLength(1);
  expect(new Set(of(lines, 'bio_packets_total')).size).toBe(of(lines, 'bio_packets_total').length);
  // What the alerts and the dashboard ask for is there.
  const asked = ['prometheus/alerts.yml', 'grafana/biosignal.json'].map((file) =>
    readFileSync(join(import.meta.dirname, '../../ops', file), 'utf8'),
  );
  const names = new Set([...asked.join('\n').matchAll(/\b((?:bio|process|nodejs)_[a-z_]+[a-z])\b/g)].map(([, name]) => name!));
  expect(names.size).toBeGreaterThan(30);
  expect([...names].filter((name) => !lines.some((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `)))).toEqual([]);
  const checked = await ran(doctor, [], { env: { DATABASE_URL: database.url, PORT: new URL(baseUrl).port }, cwd: work });
  expect(checked.out.join('\n')).toContain('3 nodes share the packet log (ward/1, ward/2, ward/3), each confirmed within');
  const ready = (await (await fetch(`${baseUrl}/readyz`)).json()) as {
    node: string;
    parts: { name: string; ok: boolean; detail: string }[];
  };
  expect(ready.parts.find(({ name }) => name === 'bus')).toMatchObject({ ok: true, detail: 'open, to 2 other nodes' });
  expect(ready.node).toMatch(/^ward\/[123]$/);

  // A process that does not answer is left out, and counted for as long as the others hold it for one of them: on a machine under load
  // the answer may come only later, so it is asked for again.
  let without: readonly string[] = [];
  for (let round = 0; round < 4 && !of(without, 'bio_nodes_silent').some((line) => line.endsWith(' 1')); round++) {
    const stopped = nodePids()[2]!;
    process.kill(stopped, 'SIGSTOP');
    try {
      without = await scrapeOfAnother(scrape);
    } finally {
      process.kill(stopped, 'SIGCONT');
    }
    await until(shared, 60_000);
  }
  expect(of(without, 'bio_partitions').length).toBe(2);
  // Said by the process that was asked, for all of them.
  expect(of(without, 'bio_nodes_silent')).toEqual([expect.stringMatching(/^bio_nodes_silent\{node="ward\/\d"\} 1$/)]);
  // And when all answer again, none of them goes on saying it.
  for (let i = 0; i < 8; i++) expect(of(await scrape(), 'bio_nodes_silent')).toEqual([expect.stringMatching(/ 0$/)]);
});

test('what three processes computed while two were killed is what one computes', async () => {
  const alone = await testDatabase();
  const service = await startService({ config: readConfig({ DATABASE_URL: alone.url, PORT: '0', BIO_LOG_LEVEL: 'silent' }) });
  const { apiKey } = await createOrganization(alone.pool, 'Alone');
  const args = ['--devices', String(DEVICES), '--duration', String(SECONDS), '--packet-ms', '200', '--channels', 'ecg.ii', '--seed', '7'];
  args.push('--start', startsAt, '--speed', 'max', '--json');
  const env = { BIO_URL: service.baseUrl, BIO_KEY: apiKey.key, DATABASE_URL: alone.url };
  expect((await ran(simulate, args, { env, cwd: work })).code).toBe(0);
  const gone = once(parent, 'exit');
  parent.kill('SIGTERM');
  await Promise.all([gone, service.stop()]);
  expect(parent.exitCode).toBe(0);
  for (const device of devices) {
    const expected = await derivedRows(alone, device);
    expect(expected.length).toBeGreaterThan(SECONDS);
    expect(await derivedRows(database, device)).toEqual(expected);
  }
  await alone.close();
});
