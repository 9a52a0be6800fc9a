/** Cost of one HTTP request: a packet over POST /ingest/raw-packet, by the process's own CPU seconds, against a bare uWebSockets.js
 *  handler in the same run (interleaved); verifications of a token per second with the cache; observations, features and charts per second
 *  with p99 on a database that holds SAMPLES samples, and the service's main thread over that of a bare handler.
 *
 *  BIO_BENCH_DATABASE_URL: a server for the databases of the run. BIO_BENCH_SAMPLES: default 1e8 (0 leaves the reads out).
 *  BIO_BENCH_PROFILE=layer (or service, bare): writes a processor profile of it into .cache, for npm run flame. */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Auth } from '../src/auth/auth.ts';
import { encodePacket } from '../src/proto/packet-encode.ts';
import { encodeBlock } from '../src/storage/block-codec.ts';
import { CopyBuffer, copyRows } from '../src/storage/copy-binary.ts';
import { encodeFeatures } from '../src/storage/derived-block.ts';
import { featureBlockColumns, putFeatureBlock } from '../src/storage/derived-rows.ts';
import { openDatabase } from '../src/storage/database/database.ts';
import type { Database } from '../src/storage/database/database.ts';
import { migrate } from '../src/storage/schema/migrate.ts';
import { openBenchDatabase } from './lib/bench-database.ts';
import { ecgPacket } from './lib/packets.ts';
import { threadsCpuSec } from './lib/processor-time.ts';
import { report } from './lib/result.ts';

const ROUNDS = Number(process.env['BIO_BENCH_ROUNDS'] ?? 5);
const PACKETS = Number(process.env['BIO_BENCH_PACKETS'] ?? 4000);
/** One request at a time on each: while an answer is pending uWebSockets.js closes a connection that sends the next. */
const CONNECTIONS = 64;
const SAMPLES = Number(process.env['BIO_BENCH_SAMPLES'] ?? 1e8);
const READ_SEC = 4;

type Ready = Readonly<{ port: number; key: string; orgId: string; projectKey: string }>;
type Running = Readonly<{ child: ChildProcess; ready: Ready }>;

async function start(variant: string, url: string): Promise<Running> {
  const child = fork(new URL('lib/http-variant.ts', import.meta.url), [variant], {
    env: { ...process.env, DATABASE_URL: url },
    execArgv: process.env['BIO_BENCH_PROFILE'] === variant ? ['--cpu-prof', '--cpu-prof-dir=.cache'] : [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const [ready] = (await once(child, 'message')) as [Ready];
  return { child, ready };
}

/** Sends every request over CONNECTIONS sockets; resolves when all are answered. */
async function drive(port: number, requests: readonly Buffer[]): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const socket = connect({ host: '127.0.0.1', port, noDelay: true });
      await once(socket, 'connect');
      await new Promise<void>((resolve, reject) => {
        const send = (): void => {
          const request = requests[next++];
          if (request === undefined) resolve();
          else socket.write(request);
        };
        let held = '';
        socket.on('data', (chunk) => {
          held += chunk.toString('latin1');
          const end = held.indexOf('\r\n\r\n');
          if (end < 0) return;
          if (!held.startsWith('HTTP/1.1 202')) return reject(new Error(held.slice(0, 400)));
          if (held.length < end + 4 + Number(/content-length: (\d+)/i.exec(held)?.[1] ?? 0)) return;
          held = '';
          send();
        });
        socket.on('error', reject);
        socket.on('close', () => reject(new Error('the service closed a connection')));
        send();
      });
      socket.destroy();
    }),
  );
}

let bootCount = 0;
/** New packets of 100 ms, 4 channels x 250 Hz, of 40 devices. */
function requestsFor({ ready }: Running, count: number): Buffer[] {
  bootCount += 1;
  const devices = 40;
  const startNs = BigInt(Date.now()) * 1_000_000n;
  const lists = Array.from({ length: devices }, (_, d) =>
    ecgPacket({
      channels: 4,
      fs: 250,
      ms: 100,
      count: count / devices,
      deviceId: `bench-${d}`,
      bootId: (bootCount * 1000 + d).toString(16).padStart(32, '0'),
    }),
  );
  return Array.from({ length: count }, (_, i) => {
    const packet = lists[i % devices]![Math.floor(i / devices)]!;
    const t0UnixNs = startNs - 60_000_000_000n + packet.t0DeviceNs;
    const body = encodePacket({ ...packet, subject: `user-${i % devices}`, t0UnixNs, sentUnixNs: 0n });
    const head =
      `POST /ingest/raw-packet HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${ready.key}\r\n` +
      `content-type: application/x-protobuf\r\ncontent-length: ${body.length}\r\n\r\n`;
    return Buffer.concat([Buffer.from(head, 'latin1'), body]);
  });
}

async function packets(url: string): Promise<void> {
  const variants = ['bare', 'layer', 'service'] as const;
  const running = new Map<string, Running>();
  for (const variant of variants) running.set(variant, await start(variant, url));
  const costs = new Map<string, number[]>(variants.map((variant) => [variant, []]));
  for (let round = -1; round < ROUNDS; round++) {
    for (const variant of round % 2 === 0 ? variants : variants.toReversed()) {
      const server = running.get(variant)!;
      const requests = requestsFor(server, PACKETS);
      await drive(server.ready.port, requests.splice(0, 80)); // opens the streams
      const before = threadsCpuSec(server.child.pid!);
      await drive(server.ready.port, requests);
      const after = threadsCpuSec(server.child.pid!);
      console.log(`round ${round} ${variant}: ${(((after.main - before.main) / requests.length) * 1e6).toFixed(1)} µs`);
      if (round >= 0) costs.get(variant)!.push(((after.main - before.main) / requests.length) * 1e6);
    }
  }
  for (const { child } of running.values()) child.kill();
  const bare = costs.get('bare')!;
  for (const variant of variants) {
    const list = costs.get(variant)!;
    report({
      name: `HTTP POST of a packet, ${variant}`,
      value: median(list),
      unit: 'µs of the main thread',
      better: 'lower',
      spread: spread(list),
    });
    if (variant === 'bare') continue;
    const ratios = list.map((cost, i) => cost / bare[i]!);
    report({
      name: `HTTP POST, ${variant} over bare`,
      ...(variant === 'service' ? { goal: 'P4' as const } : {}),
      value: median(ratios),
      unit: 'x',
      better: 'lower',
      spread: spread(ratios),
      repetitions: ROUNDS,
      note: `packets of 100 ms, 4 channels x 250 Hz; ${CONNECTIONS} connections, one request at a time on each`,
    });
  }
}

async function tokens(database: Database): Promise<void> {
  const auth = new Auth({ database, issuer: 'http://bench', secret: Buffer.alloc(32, 1), allowedOrigins: [] });
  await auth.start();
  const { rows } = await database.pool.query<{ id: string; organization_id: string; project_id: string }>(
    `insert into xuser (organization_id, project_id, external_id)
     select organization_id, id, 'token-user' from project limit 1 on conflict (project_id, external_id) do update set updated_at = now()
     returning id, organization_id, project_id`,
  );
  const { id, organization_id: orgId, project_id: projectId } = rows[0]!;
  const { token: bearer } = await auth.mint({ subjectId: id, orgId, projectId });
  const request = { bearer, header: () => '', method: 'GET', access: { userToken: 'own' } } as const;
  let count = 0;
  const startedMs = performance.now();
  while (performance.now() - startedMs < 2000) {
    for (let i = 0; i < 200; i++) {
      const found = auth.authenticate(request);
      if (found instanceof Promise) await found; // once a second the database is asked
    }
    count += 200;
  }
  report({
    name: 'token verifications with the cache',
    value: count / ((performance.now() - startedMs) / 1000),
    unit: '/s',
    better: 'higher',
  });
  await auth.stop();
}

/** Streams of 250 Hz with a heart rate per second and the rest of the day's features. */
async function fill(
  database: Database,
  orgId: string,
): Promise<{ subjectIds: string[]; streamIds: string[]; from: number; seconds: number }> {
  const streams = 40;
  const seconds = Math.ceil(SAMPLES / 250 / streams);
  const from = Math.floor(Date.now() / 3_600_000) * 3_600_000 - (Math.ceil(seconds / 3600) + 1) * 3_600_000;
  const { pool } = database;
  const made = await pool.query<{ id: number; uuid: string; subject: string }>(
    `with p as (select organization_id, id from project where organization_id = $1 limit 1),
     u as (insert into xuser (organization_id, project_id, external_id) select organization_id, id, 'read-' || i from p, generate_series(1, $2) i returning *),
     d as (insert into device (organization_id, project_id, external_id) select organization_id, project_id, 'read-' || external_id from u returning *)
     insert into stream (organization_id, project_id, device_id, xuser_id, boot_id, epoch_ns, recorded_from, last_sample_at)
     select u.organization_id, u.project_id, d.id, u.id, uuid_send(gen_random_uuid()), $3, to_timestamp($4), to_timestamp($4 + $5)
     from u join d on d.external_id = 'read-' || u.external_id returning id, uuid, xuser_id as subject`,
    [orgId, streams, (BigInt(from) * 1_000_000n).toString(), from / 1000, seconds],
  );
  const ids = made.rows.map((row) => row.id);
  await pool.query(
    `insert into stream_channel (stream_id, channel_no, code, kind, rate_nhz, gain, baseline, unit)
     select unnest($1::int[]), 0, 'ecg.ii', 'ecg', 250000000000, 200, 0, 'mV'`,
    [ids],
  );
  await pool.query(
    `insert into method (kind, name, code, cadence_hz, unit) values ('feature', 'hr_ecg', 'derived:hr_ecg_v1', 1, '/min'),
     ('feature', 'sqi_ecg', 'derived:sqi_ecg_v1', 1, '1') on conflict do nothing`,
  );
  if (database.kind === 'postgres') {
    for (const table of ['sample_block', 'feature_block'])
      await pool.query('select ensure_partitions($1, to_timestamp($2), to_timestamp($2 + $3))', [table, from / 1000, seconds]);
  }
  const samples = ecgPacket({ channels: 1, fs: 250, ms: 1000, count: 1 })[0]!.blocks[0]!.samples;
  const codec = encodeBlock([{ k0: 0, samples, qmask: null }]);
  for (const id of ids) {
    await pool.query(
      `insert into sample_block (time, start_ns, stream_id, n, min, max, mean, channel_no, suspect_n, bad_n, codec)
       select to_timestamp($1) + i * interval '1 second', ($1::bigint + i) * 1000000000, $2, 250, -40, 280, 10, 0, 0, 0, $4
       from generate_series(0, $3 - 1) i`,
      [from / 1000, id, seconds, codec],
    );
  }
  await fillFeatures(database, ids, from / 60_000, Math.ceil(seconds / 60));
  // The service may be at it: then a call returns at once.
  const noted = `select exists (select from rollup_dirty where bucket < now() - interval '65 minutes') as noted`;
  while ((await pool.query<{ noted: boolean }>(noted)).rows[0]!.noted) await pool.query('call refresh_hours()');
  await pool.query('analyze');
  return { subjectIds: made.rows.map((row) => row.subject), streamIds: made.rows.map((row) => row.uuid), from, seconds };
}

/** A value a second of both features, in minutes as the writer packs them. */
async function fillFeatures(database: Database, streamIds: readonly number[], firstMinute: number, minuteCount: number): Promise<void> {
  const { rows } = await database.pool.query<{ id: number }>(
    `select id from method where code in ('derived:hr_ecg_v1', 'derived:sqi_ecg_v1') order by id`,
  );
  const seconds = Array.from({ length: 60 }, (_, i) => i);
  const blocks = Array.from({ length: 50 }, (_, k) =>
    encodeFeatures({
      ns: seconds.map((sec) => sec * 1e9),
      steps: seconds.map((sec) => Math.round(1000 * (60 + 20 * Math.sin((60 * k + sec) / 500)) + ((7919 * (60 * k + sec)) % 1000))),
      flags: seconds.map(() => 0),
    }),
  );
  const client = await database.connect();
  for (const streamId of streamIds) {
    const buffer = new CopyBuffer();
    for (const { id: methodId } of rows)
      for (let i = 0; i < minuteCount; i++)
        putFeatureBlock(buffer, { streamId, methodId, channelNo: -1, minute: firstMinute + i }, blocks[i % blocks.length]!);
    await copyRows(client, `feature_block (${featureBlockColumns})`, buffer);
  }
  await client.end();
}

async function reads(url: string): Promise<void> {
  const database = await openDatabase(url, { statementTimeoutMs: 0 });
  const server = await start('service', url);
  const startedMs = performance.now();
  const { subjectIds, streamIds, from, seconds } = await fill(database, server.ready.orgId);
  console.log(`filled ${(40 * seconds * 250).toExponential(1)} samples in ${((performance.now() - startedMs) / 1000).toFixed(0)} s`);
  const biosignal = await database.pool.query<{ id: number }>(`select id from biosignal where feature = 'hr_ecg' limit 1`);
  const at = (sec: number): string => new Date(from + sec * 1000).toISOString();
  const headers = { authorization: `Bearer ${server.ready.key}` };
  const base = `http://127.0.0.1:${server.ready.port}`;
  let turn = 0;
  const pick = (list: readonly string[]): string => list[turn++ % list.length]!;
  const questions: Readonly<Record<string, () => Promise<Response>>> = {
    'observations, 100 minutes': () =>
      fetch(`${base}/api/v1/observations?biosignal_id=${biosignal.rows[0]!.id}&subject_id=${pick(subjectIds)}&limit=100`, { headers }),
    'features, 1000 values': () =>
      fetch(`${base}/api/v1/streams/${pick(streamIds)}/features?names=hr_ecg&since=${at(3600)}&until=${at(4600)}`, { headers }),
    'features, 1000 values as protobuf': () =>
      fetch(`${base}/api/v1/streams/${pick(streamIds)}/features?names=hr_ecg&since=${at(3600)}&until=${at(4600)}`, {
        headers: { ...headers, accept: 'application/x-protobuf' },
      }),
    'charts, 150 points': () =>
      fetch(`${base}/api/v1/charts/query`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({
          subject_id: pick(subjectIds),
          series: [{ feature: 'hr_ecg', agg: 'mean' }],
          range: { from: at(0), to: at(9000) },
          max_points: 150,
        }),
      }),
  };
  const bare = await start('bare', url);
  const nothing = (): Promise<Response> => fetch(`http://127.0.0.1:${bare.ready.port}/`);
  for (let i = 0; i < 2000; i++) await (await nothing()).arrayBuffer();
  for (const [name, ask] of Object.entries(questions)) {
    for (let i = 0; i < 40; i++) await (await ask()).arrayBuffer();
    const { tookMs, cpuMs } = await askFor(READ_SEC, ask, server, 200);
    const least = await askFor(READ_SEC / 4, nothing, bare, 202);
    const note = `${(40 * seconds * 250).toExponential(1)} samples stored, 4 clients; ${cpuMs.toFixed(2)} ms of the service's main thread each`;
    report({ name: `${name}: requests`, value: tookMs.length / READ_SEC, unit: '/s', better: 'higher', note });
    report({ name: `${name}: p99`, value: tookMs[Math.floor(tookMs.length * 0.99)]!, unit: 'ms', better: 'lower' });
    report({ name: `${name}: main thread over a bare handler`, value: cpuMs / least.cpuMs, unit: 'x', better: 'lower' });
  }
  bare.child.kill();
  const stopped = once(server.child, 'exit');
  server.child.kill();
  await stopped;
  await database.close();
}

/** Four clients ask one question after the other. @returns wall times, ascending, and processor time of the server's main thread for one */
async function askFor(
  forSec: number,
  ask: () => Promise<Response>,
  server: Running,
  status: number,
): Promise<{ tookMs: readonly number[]; cpuMs: number }> {
  const tookMs: number[] = [];
  const untilMs = performance.now() + forSec * 1000;
  const before = threadsCpuSec(server.child.pid!);
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      while (performance.now() < untilMs) {
        const sentMs = performance.now();
        const response = await ask();
        const { byteLength } = await response.arrayBuffer();
        if (response.status !== status || byteLength < 60) throw new Error(`${response.url}: ${response.status}, ${byteLength} bytes`);
        tookMs.push(performance.now() - sentMs);
      }
    }),
  );
  const cpu = threadsCpuSec(server.child.pid!).main - before.main;
  return { tookMs: tookMs.sort((a, b) => a - b), cpuMs: (1000 * cpu) / tookMs.length };
}

function median(list: readonly number[]): number {
  return list.toSorted((a, b) => a - b)[list.length >> 1] ?? NaN;
}

function spread(list: readonly number[]): readonly [number, number] {
  return [Math.min(...list), Math.max(...list)];
}

const bench = await openBenchDatabase();
try {
  await migrate(bench.url);
  await packets(bench.url);
  const database = await openDatabase(bench.url);
  await tokens(database);
  await database.close();
  if (SAMPLES > 0) await reads(bench.url);
} finally {
  await bench.drop();
}
