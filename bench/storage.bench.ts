/** Cost of storing: bytes per sample on disk, PostgreSQL's processor time per sample, COPY against psql; FLAC of the
 *  same samples, and a row per sample besides, to keep the decision honest.
 *
 *  sh scripts/with-runtime.sh bench/storage.bench.ts [all | space | write | copy | rows]
 *  On an embedded PostgreSQL with its usual durability (fsync on), or on the server of BIO_BENCH_DATABASE_URL (local: its processor time is
 *  read from /proc). */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChannelNo, SampleRun } from '../src/signal.ts';
import { BlockWriter } from '../src/storage/block-writer.ts';
import { CopyBuffer, copyRows } from '../src/storage/copy-binary.ts';
import { PacketLog } from '../src/storage/packet-log.ts';
import { sampleBlockColumns } from '../src/storage/sample-rows.ts';
import { StreamRegistry, type OpenedStream } from '../src/storage/stream-registry.ts';
import { openBenchDatabase } from './lib/bench-database.ts';
import { flacBytesPerSample } from './lib/flac.ts';
import type { GoalName } from './lib/goals.ts';
import { treeCpuSec } from './lib/processor-time.ts';
import { bidmc, mitBih, synthetic, type Recording } from './lib/recordings.ts';
import { report, reportMedian } from './lib/result.ts';
import { benchEpochNs, channel, freshDatabase, streamOf, tenantOf } from './lib/storage-fixture.ts';

const asked = process.argv[2] ?? 'all';
const full = process.env['BENCH_FULL'] === '1';
const server = await openBenchDatabase();

/** P6: bytes per sample, rows and key, of recordings that run side by side. */
async function space(): Promise<void> {
  const sets: readonly (readonly [string, GoalName | null, readonly Recording[]])[] = [
    ['MIT-BIH, 2 leads at 360 Hz', null, mitBih()],
    ['BIDMC, 5 signals at 125 Hz', 'P6 MIMIC-like', bidmc()],
    ['16 bit at 1 kHz, synthetic', 'P6 16 bit', synthetic()],
  ];
  for (const [name, goal, recordings] of sets) {
    if (recordings.length === 0) continue;
    const { database, drop } = await freshDatabase(server.url);
    const samples = await store(new BlockWriter(database), new StreamRegistry(database), await tenantOf(database), recordings);
    const { rows } = await database.pool.query<{ heap: number; key: number; codec: number; n: number; row_n: number }>(
      `select sum(pg_table_size(r))::float8 as heap, sum(pg_indexes_size(r))::float8 as key,
         (select sum(length(codec))::float8 from sample_block) as codec, (select sum(n)::float8 from sample_block) as n,
         (select count(*)::float8 from sample_block) as row_n
       from (select inhrelid::regclass as r from pg_inherits where inhparent = 'sample_block'::regclass) parts`,
    );
    const { heap, key, codec, n, row_n: rowCount } = rows[0]!;
    if (n !== samples) throw new Error(`${n} samples stored of ${samples}`);
    const share = (bytes: number): string => (bytes / samples).toFixed(3);
    const note = `samples ${share(codec)}, rest of the rows ${share(heap - codec)}, key ${share(key)}; ${(samples / rowCount).toFixed(0)} samples a row`;
    report({ name: `bytes per sample: ${name}`, value: (heap + key) / samples, note, unit: 'bytes', ...(goal === null ? {} : { goal }) });
    console.log(`   ${note}`);
    const flac = flacBytesPerSample(recordings);
    if (flac !== null) {
      report({ name: `bytes per sample, FLAC: ${name}`, value: flac, unit: 'bytes', note: 'whole recordings, no index' });
      report({ name: `bytes per sample over FLAC: ${name}`, value: (heap + key) / samples / flac, unit: 'times' });
    }
    if (database.kind === 'timescale') {
      await database.pool.query(`select compress_chunk(c) from show_chunks('sample_block') c`);
      const packed = await database.pool.query<{ bytes: number }>(`select hypertable_size('sample_block')::float8 as bytes`);
      report({ name: `bytes per sample, later in the columnstore: ${name}`, value: packed.rows[0]!.bytes / samples, unit: 'bytes' });
    }
    await drop();
  }
}

async function store(
  writer: BlockWriter,
  registry: StreamRegistry,
  tenant: Awaited<ReturnType<typeof tenantOf>>,
  recordings: readonly Recording[],
): Promise<number> {
  const open = [];
  for (const [i, recording] of recordings.entries()) {
    const configs = recording.channels.map((_, c) => channel(`c${c}`, recording.rateHz));
    const stream = await streamOf(registry, tenant, `${i}`, configs, benchEpochNs);
    open.push({ recording, stream, rates: configs.map((config) => config.rateNanoHz) });
  }
  let samples = 0;
  const seconds = Math.max(...recordings.map((recording) => Math.floor(recording.channels[0]!.length / recording.rateHz)));
  for (let s = 0; s < seconds; s++) {
    for (const { recording, stream, rates } of open) {
      const k0 = s * recording.rateHz;
      const runs = recording.channels
        .map((values, c): SampleRun => ({
          channelNo: c as ChannelNo,
          k0,
          samples: values.subarray(k0, k0 + recording.rateHz),
          qmask: null,
        }))
        .filter((run) => run.samples.length === recording.rateHz);
      if (runs.length > 0) writer.push(stream.streamId, stream.epochNs, rates, runs, 1);
      samples += runs.length * recording.rateHz;
    }
    // not flush(): that would end every row of a slow channel early
    while (writer.queueBytes > 32 * 1024 * 1024) await new Promise((done) => setTimeout(done, 20));
    if (s % 8 === 0) await new Promise((done) => setImmediate(done));
  }
  await writer.close();
  return samples;
}

const WRITE_STREAMS = 100;
const WRITE_CHANNELS = 4;
const WRITE_SECONDS = 240;

/** P5: PostgreSQL's processor time per sample: seconds of 100 devices with 4 channels of 250 Hz, with and without the packet log. */
async function write(): Promise<void> {
  if (server.postmasterPid === null) throw new Error('the server is on another machine: its processor time cannot be read');
  const source = synthetic(1)[0]!.channels[0]!;
  for (const withLog of [false, true]) {
    const cpuNs: number[] = [];
    const rates: number[] = [];
    for (let round = 0; round < (full ? 5 : 3); round++) {
      const { database, drop } = await freshDatabase(server.url);
      const registry = new StreamRegistry(database);
      const tenant = await tenantOf(database);
      const configs = Array.from({ length: WRITE_CHANNELS }, (_, c) => channel(`c${c}`, 250));
      const nanoHz = configs.map((config) => config.rateNanoHz);
      const streams: OpenedStream[] = [];
      for (let i = 0; i < WRITE_STREAMS; i++) streams.push(await streamOf(registry, tenant, `${i}`, configs, benchEpochNs));
      const log = await PacketLog.open(database, registry);
      const writer = new BlockWriter(database);
      const packet = Buffer.alloc(WRITE_CHANNELS * 250 * 1.6); // a packet of protobuf deltas is about 1.6 bytes a sample
      const cpu = treeCpuSec(server.postmasterPid);
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
        // not flush(): that would end every row early
        while (writer.queueBytes > 16 * 1024 * 1024) await new Promise((done) => setTimeout(done, 5));
        if (s % 4 === 3) await new Promise((done) => setImmediate(done));
      }
      await writer.flush();
      const samples = WRITE_STREAMS * WRITE_CHANNELS * 250 * WRITE_SECONDS;
      rates.push(samples / ((performance.now() - begun) / 1000) / 1e6);
      cpuNs.push(((treeCpuSec(server.postmasterPid) - cpu) / samples) * 1e9);
      await writer.close();
      await log.close();
      await drop();
    }
    const what = withLog ? 'with the packet log' : 'rows alone';
    reportMedian({ name: `PostgreSQL CPU per sample, ${what}`, unit: 'ns', ...(withLog ? {} : { goal: 'P5' as const }) }, cpuNs);
    reportMedian({ name: `samples stored by one writer, ${what}`, unit: 'M samples/s', better: 'higher' }, rates);
  }
}

/** COPY by our writer over psql \copy of the same bytes into the same table, 5 pairs. */
async function copy(): Promise<void> {
  if (!existsSync('/usr/bin/psql')) {
    console.warn('SKIPPED: no psql to compare with');
    return;
  }
  const { database, drop } = await freshDatabase(server.url);
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
  const columns = sampleBlockColumns.replace('sample_block', 'target');
  const file = join(folder, 'rows.bin');
  writeFileSync(file, makeRows().finish());
  const ratios: number[] = [];
  const rates: number[] = [];
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
    ratios.push(times[0]! / times[1]!);
    rates.push(statSync(file).size / 1e3 / times[0]!);
  }
  reportMedian({ name: 'COPY: our time over psql \\copy of the same bytes', unit: 'times' }, ratios);
  reportMedian({ name: 'COPY: our rate', unit: 'MB/s', better: 'higher' }, rates);
  await client.end();
  rmSync(folder, { recursive: true });
  await drop();
}

/** A row per sample: what it costs next to the blocks of `space` and the read of bench/queries.bench.ts. */
async function rows(): Promise<void> {
  const { database, drop } = await freshDatabase(server.url);
  const source = synthetic(1)[0]!.channels[0]!;
  const client = await database.connect();
  await client.query(
    'create table sample_row (stream_id integer, channel_no smallint, time timestamptz, value integer, primary key (stream_id, channel_no, time))',
  );
  const copied = new CopyBuffer(1024);
  const n = 2_000_000;
  for (let i = 0; i < n; i++) {
    copied.row(4);
    copied.int4(1);
    copied.int2(0);
    copied.timestamptz(1.7672256e15 + i * 4000);
    copied.int4(source[i % 600_000]!);
  }
  const begun = performance.now();
  await copyRows(client, 'sample_row (stream_id, channel_no, time, value)', copied);
  report({ name: 'a row per sample: stored', value: n / (performance.now() - begun) / 1e3, unit: 'M samples/s', better: 'higher' });
  const size = await client.query<{ bytes: number }>("select pg_total_relation_size('sample_row')::float8 as bytes");
  report({ name: 'a row per sample: bytes per sample', value: size.rows[0]!.bytes / n, unit: 'bytes' });
  const times: number[] = [];
  for (let i = 0; i < 5; i++) {
    const started = performance.now();
    await client.query(
      "select time, value from sample_row where stream_id = 1 and channel_no = 0 and time >= '2026-01-01' and time < '2026-01-01 00:05'",
    );
    times.push(performance.now() - started);
  }
  reportMedian({ name: 'a row per sample: 5 minutes of one channel', unit: 'ms' }, times);
  await client.end();
  await drop();
}

try {
  console.log(server.server);
  for (const [name, question] of Object.entries({ space, write, copy, rows })) if (asked === 'all' || asked === name) await question();
} finally {
  await server.drop();
}
