/** What does storing cost, and how quick are reads? Bytes per sample on disk, PostgreSQL's CPU per sample, COPY against psql, raw and
 *  aggregated reads, and a row per sample beside it to keep the decision honest.
 *
 *  sh scripts/with-runtime.sh bench/storage.bench.ts [all | space | write | copy | read | aggregate]
 *  On an embedded PostgreSQL with its usual durability (fsync on), or on the server of BIO_BENCH_DATABASE_URL (local: its CPU is read
 *  from /proc). Recordings come from ../shared/data or BIO_TEST_DATA. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { isRejected } from '../src/errors.ts';
import { readChart } from '../src/query/chart.ts';
import { readSamples } from '../src/query/samples.ts';
import type { ChannelConfig, ChannelNo, OrgId, ProjectId, SampleRun, SubjectId } from '../src/signal.ts';
import { BlockWriter } from '../src/storage/block-writer.ts';
import { CopyBuffer, copyRows } from '../src/storage/copy-binary.ts';
import { CopyWriter, type DerivedFeature } from '../src/storage/copy-writer.ts';
import { openDatabase, type Database } from '../src/storage/database.ts';
import { startEmbeddedPostgres } from '../src/storage/embedded-postgres.ts';
import { refreshRollups } from '../src/storage/maintenance.ts';
import { migrate } from '../src/storage/migrate.ts';
import { organizationPool } from '../src/storage/organization-pool.ts';
import { openRoles } from '../src/storage/roles.ts';
import { PacketLog } from '../src/storage/packet-log.ts';
import { StreamRegistry, type OpenedStream } from '../src/storage/stream-registry.ts';

const SECOND = 1_000_000_000n;
const dataDir = resolve(process.env['BIO_TEST_DATA'] ?? '../shared/data');
const asked = process.argv[2] ?? 'all';
const results: Record<string, unknown> = {};

function report(name: string, value: unknown): void {
  results[name] = value;
  console.log(`${name.padEnd(64)} ${typeof value === 'number' ? Number(value.toPrecision(4)) : JSON.stringify(value)}`);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? NaN;
}

function quantile(values: readonly number[], q: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(q * values.length))] ?? NaN;
}

// ---------------------------------------------------------------------------------------------------------------- the database

async function freshDatabase(server: string): Promise<{ database: Database; drop: () => Promise<void> }> {
  const name = `storage_bench_${process.pid}_${Math.floor(performance.now())}`;
  const admin = new pg.Client(server);
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  await migrate(url.href);
  const database = await openDatabase(url.href);
  return {
    database,
    async drop() {
      await database.close();
      await admin.query(`drop database ${name} with (force)`);
      await admin.end();
    },
  };
}

/** CPU seconds of all processes of the server, those that have ended included. */
async function serverCpu(database: Database): Promise<number> {
  const { rows } = await database.pool.query<{ pid: number }>('select pg_backend_pid() as pid');
  const fields = (pid: number | string): string[] => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  };
  const postmaster = fields(rows[0]!.pid)[1]!;
  let ticks = Number(fields(postmaster)[13]) + Number(fields(postmaster)[14]); // of children that were waited for
  for (const pid of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const own = fields(pid);
      if (own[1] === postmaster || pid === postmaster) ticks += Number(own[11]) + Number(own[12]);
    } catch {
      // gone meanwhile
    }
  }
  return ticks / 100;
}

type Tenant = { orgId: OrgId; projectId: ProjectId; subjectId: SubjectId };

async function tenantOf(database: Database): Promise<Tenant> {
  const { rows } = await database.pool.query<{ o: string; p: string; x: string }>(
    `with o as (insert into organization (name) values ('bench') returning id),
       p as (insert into project (organization_id, name, project_key) select id, 'bench', 'proj_' || id from o returning id, organization_id)
     insert into xuser (organization_id, project_id, external_id) select organization_id, id, 'someone' from p returning organization_id as o, project_id as p, id as x`,
  );
  return { orgId: rows[0]!.o as OrgId, projectId: rows[0]!.p as ProjectId, subjectId: rows[0]!.x as SubjectId };
}

async function streamOf(
  registry: StreamRegistry,
  tenant: Tenant,
  device: string,
  channels: readonly ChannelConfig[],
  epochNs: bigint,
): Promise<OpenedStream> {
  const stream = await registry.openStream({
    ...tenant,
    deviceId: device,
    bootId: '0'.repeat(32),
    firmware: '',
    epochNs,
    receivedNs: epochNs,
  });
  if (isRejected(stream)) throw new Error(stream.detail);
  await registry.addChannels(stream.streamId, 0, channels);
  return stream;
}

const channel = (code: string, rateHz: number): ChannelConfig => ({
  code,
  kind: 'ecg',
  rateNanoHz: Math.round(rateHz * 1e9),
  gain: 200,
  baseline: 0,
  unit: 'mV',
  lead: code,
});

// ---------------------------------------------------------------------------------------------------------------- recordings

type Recording = { name: string; rateHz: number; channels: Int32Array[] };

function mitBih(): Recording[] {
  const folder = join(dataDir, 'mitdb');
  if (!existsSync(folder)) return missing('MIT-BIH', folder);
  return readdirSync(folder)
    .filter((file) => file.endsWith('.dat'))
    .map((file) => {
      const bytes = readFileSync(join(folder, file)); // format 212: two 12-bit samples in three bytes
      const n = Math.floor(bytes.length / 3);
      const channels = [new Int32Array(n), new Int32Array(n)];
      for (let i = 0; i < n; i++) {
        const [a, b, c] = [bytes[3 * i]!, bytes[3 * i + 1]!, bytes[3 * i + 2]!];
        channels[0]![i] = ((a | ((b & 0x0f) << 8)) << 20) >> 20;
        channels[1]![i] = ((c | ((b & 0xf0) << 4)) << 20) >> 20;
      }
      return { name: file, rateHz: 360, channels };
    });
}

/** The five signals at 125 Hz. The csv files hold physical numbers: taken back to the 10-bit steps of the MIMIC monitors' converters. */
function bidmc(): Recording[] {
  const folder = join(dataDir, 'bidmc');
  if (!existsSync(folder)) return missing('BIDMC', folder);
  return readdirSync(folder)
    .filter((file) => file.endsWith('Signals.csv.gz'))
    .map((file) => {
      const lines = gunzipSync(readFileSync(join(folder, file)))
        .toString('latin1')
        .trim()
        .split('\n')
        .slice(1);
      const rows = lines.map((line) => line.split(',').slice(1).map(Number));
      const channels = (rows[0] ?? []).map((_, column) => {
        const values = rows.map((row) => row[column] ?? NaN).map((value) => (Number.isFinite(value) ? value : 0));
        const steps = [...new Set(values)].sort((a, b) => a - b);
        let step = Infinity;
        for (let i = 1; i < steps.length; i++) step = Math.min(step, steps[i]! - steps[i - 1]!);
        const lsb = Math.max(step, (steps.at(-1)! - steps[0]!) / 1023);
        return Int32Array.from(values, (value) => Math.round(value / lsb));
      });
      return { name: file, rateHz: 125, channels };
    });
}

/** 16 bits at 1 kHz: beats over breathing, with 3 bits of noise. */
function synthetic(): Recording[] {
  let seed = 42;
  const noise = (): number => (seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff) / 0x7fffffff - 0.5;
  return Array.from({ length: 8 }, (_, r) => ({
    name: `synthetic ${r}`,
    rateHz: 1000,
    channels: [
      Int32Array.from({ length: 600_000 }, (_, i) => {
        const phase = (i % (780 + 9 * r)) - 300;
        return Math.round(
          12_000 * Math.exp(-((phase / 12) ** 2)) + 1500 * Math.exp(-(((phase - 220) / 60) ** 2)) + 2000 * Math.sin(i / 700) + 8 * noise(),
        );
      }),
    ],
  }));
}

function missing(name: string, folder: string): Recording[] {
  console.warn(`SKIPPED: no ${name} recordings in ${folder}`);
  return [];
}

// ---------------------------------------------------------------------------------------------------------------- questions

/** P6: bytes per sample, table and key, of recordings that run side by side. */
async function space(server: string): Promise<void> {
  for (const [name, recordings] of [
    ['mitdb, 2 leads at 360 Hz', mitBih()],
    ['bidmc, 125 Hz', bidmc()],
    ['synthetic 16 bit, 1 kHz', synthetic()],
  ] as const) {
    if (recordings.length === 0) continue;
    const { database, drop } = await freshDatabase(server);
    const registry = new StreamRegistry(database);
    const tenant = await tenantOf(database);
    const writer = new BlockWriter(database);
    const open = [];
    for (const [i, recording] of recordings.entries()) {
      const configs = recording.channels.map((_, c) => channel(`c${c}`, recording.rateHz));
      open.push({
        recording,
        stream: await streamOf(registry, tenant, `${i}`, configs, 1_767_225_600n * SECOND),
        rates: configs.map((config) => config.rateNanoHz),
      });
    }
    let samples = 0;
    const seconds = Math.max(...recordings.map((recording) => Math.floor(recording.channels[0]!.length / recording.rateHz)));
    for (let s = 0; s < seconds; s++) {
      for (const { recording, stream, rates } of open) {
        const from = s * recording.rateHz;
        const runs = recording.channels
          .map((values, c): SampleRun => ({
            channelNo: c as ChannelNo,
            k0: from,
            samples: values.subarray(from, from + recording.rateHz),
            qmask: null,
          }))
          .filter((run) => run.samples.length === recording.rateHz);
        if (runs.length > 0) writer.push(stream.streamId, stream.epochNs, rates, runs, 1);
        samples += runs.length * recording.rateHz;
      }
      if (s % 10 === 0) await writer.flush();
    }
    await writer.close();
    const { rows } = await database.pool.query<{ heap: number; key: number; codec: number; n: number }>(
      `select sum(pg_table_size(r))::float8 as heap, sum(pg_indexes_size(r))::float8 as key, (select sum(length(codec))::float8 from sample_block) as codec,
         (select count(*)::float8 from sample_block) as n
       from (select inhrelid::regclass as r from pg_inherits where inhparent = 'sample_block'::regclass) parts`,
    );
    const { heap, key, codec, n } = rows[0]!;
    report(`P6 ${name}: bytes per sample (goal 1.2 / 1.6)`, (heap + key) / samples);
    report(
      `   of which samples / rest of the rows / key`,
      [codec / samples, (heap - codec) / samples, key / samples].map((x) => Number(x.toFixed(3))),
    );
    report(`   rows`, n);
    if (database.kind === 'timescale') {
      await database.pool.query(`select compress_chunk(c) from show_chunks('sample_block') c`);
      const packed = await database.pool.query<{ bytes: number }>(`select hypertable_size('sample_block')::float8 as bytes`);
      report(`   in the columnstore`, packed.rows[0]!.bytes / samples);
    }
    await drop();
  }
}

const WRITE_STREAMS = 100;
const WRITE_CHANNELS = 4;
const WRITE_SECONDS = 240;

/** P5: PostgreSQL's CPU per sample: seconds of 100 devices with 4 channels of 250 Hz, with and without the packet log. */
async function write(server: string): Promise<void> {
  const source = synthetic()[0]!.channels[0]!;
  for (const withLog of [false, true]) {
    const cpuNs: number[] = [];
    const rates: number[] = [];
    for (let round = 0; round < 3; round++) {
      const { database, drop } = await freshDatabase(server);
      const registry = new StreamRegistry(database);
      const tenant = await tenantOf(database);
      const configs = Array.from({ length: WRITE_CHANNELS }, (_, c) => channel(`c${c}`, 250));
      const nanoHz = configs.map((config) => config.rateNanoHz);
      const streams: OpenedStream[] = [];
      for (let i = 0; i < WRITE_STREAMS; i++) streams.push(await streamOf(registry, tenant, `${i}`, configs, 1_767_225_600n * SECOND));
      const log = await PacketLog.open(database, registry);
      const writer = new BlockWriter(database);
      const packet = Buffer.alloc(WRITE_CHANNELS * 250 * 1.6); // a packet of protobuf deltas is about 1.6 bytes a sample
      const cpu = await serverCpu(database);
      const begun = performance.now();
      for (let s = 0; s < WRITE_SECONDS; s++) {
        let durable: Promise<void> = Promise.resolve();
        for (const [i, stream] of streams.entries()) {
          const from = (s * 250 + i * 997) % 500_000;
          const runs = configs.map((_, c): SampleRun => ({
            channelNo: c as ChannelNo,
            k0: s * 250,
            samples: source.subarray(from + c, from + c + 250),
            qmask: null,
          }));
          if (withLog) {
            const batch = log.append({ streamId: stream.streamId, seq: s, receivedNs: 1n, bytes: packet });
            if (batch !== 'busy') durable = batch.durable;
          }
          writer.push(stream.streamId, stream.epochNs, nanoHz, runs, 1);
        }
        await durable;
        if (s % 2 === 1) await writer.flush();
      }
      await writer.flush();
      const samples = WRITE_STREAMS * WRITE_CHANNELS * 250 * WRITE_SECONDS;
      rates.push(samples / ((performance.now() - begun) / 1000) / 1e6);
      cpuNs.push((((await serverCpu(database)) - cpu) / samples) * 1e9);
      await writer.close();
      await log.close();
      await drop();
    }
    report(`P5 PostgreSQL CPU ns/sample ${withLog ? 'with the packet log' : 'blocks alone'} (goal 8)`, median(cpuNs));
    report(`   samples/s, millions, one writer`, median(rates));
  }
}

/** COPY by our writer over psql \copy of the same bytes into the same table, 5 pairs. */
async function copy(server: string): Promise<void> {
  if (!existsSync('/usr/bin/psql')) {
    console.warn('SKIPPED: no psql to compare with');
    return;
  }
  const { database, drop } = await freshDatabase(server);
  const folder = mkdtempSync(join(tmpdir(), 'bio-bench-'));
  await database.pool.query('create table target (like sample_block including all)');
  const client = await database.connect();
  const makeRows = (): CopyBuffer => {
    const rows = new CopyBuffer(80 * 1024 * 1024);
    const codec = Buffer.alloc(200, 7);
    for (let i = 0; i < 200_000; i++) {
      rows.row(11);
      rows.timestamptz(1.7e15 + i * 1e6);
      rows.int8(BigInt(i));
      rows.int4(1);
      rows.int4(250);
      for (let f = 0; f < 3; f++) rows.float4(i);
      for (let f = 0; f < 3; f++) rows.int2(f);
      rows.bytea(codec);
    }
    return rows;
  };
  const columns = 'target (time, start_ns, stream_id, n, min, max, mean, channel_no, suspect_n, bad_n, codec)';
  const file = join(folder, 'rows.bin');
  writeFileSync(file, makeRows().finish());
  const ratios: number[] = [];
  const ours: number[] = [];
  for (let pair = 0; pair < 5; pair++) {
    const times: number[] = [];
    for (const who of pair % 2 === 0 ? ['ours', 'psql'] : ['psql', 'ours']) {
      await database.pool.query('truncate target');
      await database.pool.query('checkpoint');
      const rows = who === 'ours' ? makeRows() : null;
      const begun = performance.now();
      if (rows !== null) await copyRows(client, columns, rows);
      else execFileSync('/usr/bin/psql', [database.url, '-qc', `\\copy ${columns} from '${file}' (format binary)`]);
      times[who === 'ours' ? 0 : 1] = performance.now() - begun;
    }
    ours.push(times[0]!);
    ratios.push(times[0]! / times[1]!);
  }
  report('COPY: our time over psql \\copy (below 1: quicker)', median(ratios));
  report(
    '   spread',
    [Math.min(...ratios), Math.max(...ratios)].map((x) => Number(x.toFixed(2))),
  );
  report('   MB/s', readFileSync(file).length / 1e3 / median(ours));
  await client.end();
  rmSync(folder, { recursive: true });
  await drop();
}

/** P9: raw 5 minutes of 4 channels, decoded; beside it a row per sample, written and read in the same run. */
async function read(server: string): Promise<void> {
  const { database, drop } = await freshDatabase(server);
  const registry = new StreamRegistry(database);
  const tenant = await tenantOf(database);
  const configs = Array.from({ length: 4 }, (_, c) => channel(`c${c}`, 250));
  const epochNs = 1_767_225_600n * SECOND;
  const source = synthetic()[0]!.channels[0]!;
  const writer = new BlockWriter(database);
  const streams: OpenedStream[] = [];
  for (let i = 0; i < 20; i++) streams.push(await streamOf(registry, tenant, `${i}`, configs, epochNs));
  const hour = 3600 * 250;
  for (let k = 0; k < hour; k += 25_000) {
    for (const stream of streams) {
      const runs = configs.map((_, c): SampleRun => ({
        channelNo: c as ChannelNo,
        k0: k,
        samples: source.subarray((k + c) % 500_000, ((k + c) % 500_000) + 25_000),
        qmask: null,
      }));
      writer.push(
        stream.streamId,
        epochNs,
        configs.map((config) => config.rateNanoHz),
        runs,
        1,
      );
    }
    await writer.flush();
  }
  await writer.close();
  report('P9 samples stored, millions', (streams.length * 4 * hour) / 1e6);
  await database.pool.query('vacuum analyze sample_block');
  const roles = await openRoles(database);
  const pools = { api: organizationPool(roles.api, tenant.orgId), owner: database.pool };
  const times = { api: [] as number[], owner: [] as number[] };
  for (let i = 0; i < 240; i++) {
    const who = i % 2 === 0 ? 'api' : 'owner';
    const fromNs = epochNs + BigInt((i * 37) % 3200) * SECOND;
    const begun = performance.now();
    const { segments } = await readSamples(pools[who], {
      streamId: streams[i % 20]!.streamId,
      channels: null,
      fromNs,
      toNs: fromNs + 300n * SECOND,
      rowsMax: 10_000,
    });
    times[who].push(performance.now() - begun);
    if (segments.reduce((n, segment) => n + segment.samples.length, 0) !== 300_000) throw new Error('samples are missing');
  }
  await roles.close();
  report('P9 raw 5 min x 4 channels, ms p50 (goal 4)', median(times.api.slice(20)));
  report('   p99', quantile(times.api.slice(20), 0.99));
  report('   p50 as the owner, without the organization', median(times.owner.slice(20)));

  const client = await database.connect();
  await client.query(
    'create table sample_row (stream_id integer, channel_no smallint, time timestamptz, value integer, primary key (stream_id, channel_no, time))',
  );
  const rows = new CopyBuffer(1024);
  const n = 2_000_000;
  for (let i = 0; i < n; i++) {
    rows.row(4);
    rows.int4(1);
    rows.int2(0);
    rows.timestamptz(1.7672256e15 + i * 4000);
    rows.int4(source[i % 600_000]!);
  }
  const begun = performance.now();
  await copyRows(client, 'sample_row (stream_id, channel_no, time, value)', rows);
  report('a row per sample: samples/s, millions', n / (performance.now() - begun) / 1e3);
  const size = await client.query<{ bytes: number }>("select pg_total_relation_size('sample_row')::float8 as bytes");
  report('   bytes per sample', size.rows[0]!.bytes / n);
  const rowTimes: number[] = [];
  for (let i = 0; i < 5; i++) {
    const started = performance.now();
    await client.query(
      "select time, value from sample_row where stream_id = 1 and channel_no = 0 and time >= '2026-01-01' and time < '2026-01-01 00:05'",
    );
    rowTimes.push(performance.now() - started);
  }
  report('   5 min of one channel, ms', median(rowTimes));
  await client.end();
  await drop();
}

/** P8: 24 h of heart rate at 1-minute buckets, from the rollups, idle and beside a writer. */
async function aggregate(server: string): Promise<void> {
  const { database, drop } = await freshDatabase(server);
  const registry = new StreamRegistry(database);
  const tenant = await tenantOf(database);
  const epochNs = ((BigInt(Date.now()) * 1_000_000n - 2n * 86_400n * SECOND) / SECOND) * SECOND;
  const writer = new CopyWriter(database, { currentMethods: [], cadences: { hr_ecg: 1 } });
  const streams: OpenedStream[] = [];
  const others = await tenantOf(database);
  for (let i = 0; i < 20; i++) streams.push(await streamOf(registry, i === 0 ? tenant : others, `${i}`, [channel('c0', 250)], epochNs));
  const feature = (t: number): DerivedFeature => ({
    feature: 'hr_ecg',
    channelNo: -1,
    tNs: BigInt(t) * SECOND,
    value: 60 + (t % 40),
    qmask: t % 50 === 0 ? 1 : 0,
    methodCode: 'derived:hr_ecg_v1',
  });
  for (let t = 0; t < 86_400; t += 3600) {
    for (const stream of streams)
      void writer.add(
        { streamId: stream.streamId, beats: [], features: Array.from({ length: 3600 }, (_, i) => feature(t + i)), replaces: null },
        epochNs,
      );
    await writer.flush();
  }
  const begun = performance.now();
  if (database.kind === 'timescale')
    for (const step of ['1m', '1h', '1d']) await database.pool.query(`call refresh_continuous_aggregate('feature_${step}', null, null)`);
  else report('P8 minutes kept by the refresh', await refreshRollups(database));
  report('   refresh, s', (performance.now() - begun) / 1000);
  await database.pool.query('vacuum analyze');
  const roles = await openRoles(database);
  const pools = { api: organizationPool(roles.api, tenant.orgId), owner: database.pool };
  const ask = async (): Promise<{ api: number[]; owner: number[] }> => {
    const times = { api: [] as number[], owner: [] as number[] };
    for (let i = 0; i < 400; i++) {
      const who = i % 2 === 0 ? 'api' : 'owner';
      const started = performance.now();
      const chart = await readChart(pools[who], {
        ...tenant,
        series: [{ kind: 'feature', feature: 'hr_ecg', methodCode: null, aggregate: 'mean' }],
        fromNs: epochNs,
        toNs: epochNs + 86_400n * SECOND,
        resolution: '1m',
        maxPoints: 2000,
        timeZone: 'Europe/Paris',
        qualityMax: 0,
        fill: 'null',
      });
      times[who].push(performance.now() - started);
      if (chart.values.filter(([value]) => value !== null).length < 1439) throw new Error('minutes are missing');
    }
    return { api: times.api.slice(50), owner: times.owner.slice(50) };
  };
  const idle = await ask();
  report('P8 24 h at 1-minute buckets, ms p50 idle (goal 5)', median(idle.api));
  report('   p99 (goal 20)', quantile(idle.api, 0.99));
  report('   p50 as the owner, without the organization', median(idle.owner));
  let loaded = true;
  const load = (async () => {
    for (let t = 86_400; loaded; t++) {
      for (const stream of streams)
        void writer.add({ streamId: stream.streamId, beats: [], features: [feature(t)], replaces: null }, epochNs);
      await new Promise((done) => setTimeout(done, 20));
    }
  })();
  const busy = await ask();
  loaded = false;
  await load;
  report('P8 beside a writer of 1,000 values/s, ms p50', median(busy.api));
  report('   p99', quantile(busy.api, 0.99));
  report('   p50 as the owner, without the organization', median(busy.owner));
  await roles.close();
  await writer.close();
  await drop();
}

// ---------------------------------------------------------------------------------------------------------------- main

const questions = { space, write, copy, read, aggregate };
const given = process.env['BIO_BENCH_DATABASE_URL'];
const folder = mkdtempSync(join(tmpdir(), 'bio-bench-pg-'));
const embedded =
  given === undefined
    ? await startEmbeddedPostgres({ dataDir: join(folder, 'pg') }).catch((error: unknown) => {
        rmSync(folder, { recursive: true });
        throw error;
      })
    : null;
try {
  for (const [name, question] of Object.entries(questions)) if (asked === 'all' || asked === name) await question(given ?? embedded!.url);
} finally {
  await embedded?.stop();
  rmSync(folder, { recursive: true, force: true });
}
console.log(JSON.stringify({ node: process.version, server: given === undefined ? 'embedded' : 'given', ...results }));
