/** Time of reads as data grows. 24 h at 1-minute buckets, idle and during writes (P8), raw 5 minutes of 4 channels (P9),
 *  observations of a day, from a million samples to a billion stored; acknowledged to readable (P11) is asked of the running service.
 *
 *  sh scripts/with-runtime.sh bench/queries.bench.ts      BENCH_FULL=1 or BIO_BENCH_SAMPLES=1e9: up to a billion (1.3 GB; default 1e8)
 *  On an embedded PostgreSQL, or the server of BIO_BENCH_DATABASE_URL: its kind decides what is measured, so P8 is asked of TimescaleDB's
 *  community edition, too (docs/sizing.md). What is asked for is one person's, of one of 30 features; the rest of
 *  the samples, with a heart rate per second and its aggregates, is other people's, of the same days. Asked as the service asks: role
 *  biosignal_api, one organization. */
import { loadavg } from 'node:os';
import { encodePacket } from '../src/proto/packet-encode.ts';
import { readChart } from '../src/query/chart.ts';
import { findBiosignal, readObservations } from '../src/query/observations.ts';
import { readSamples } from '../src/query/samples.ts';
import { encodeBlock } from '../src/storage/block-codec.ts';
import { CopyBuffer, copyRows } from '../src/storage/copy-binary.ts';
import { encodeFeatures } from '../src/storage/derived-block.ts';
import { featureBlockColumns, putFeatureBlock } from '../src/storage/derived-rows.ts';
import { DerivedWriter } from '../src/storage/derived-writer.ts';
import type { Database } from '../src/storage/database/database.ts';
import { refreshRollups } from '../src/storage/maintenance.ts';
import { organizationPool } from '../src/storage/database/organization-pool.ts';
import { openRoles } from '../src/storage/database/roles.ts';
import { rowSecOf, sampleBlockColumns } from '../src/storage/sample-rows.ts';
import { StreamRegistry, type OpenedStream } from '../src/storage/stream-registry.ts';
import { openBenchDatabase } from './lib/bench-database.ts';
import { ecgPacket } from './lib/packets.ts';
import { synthetic } from './lib/recordings.ts';
import { threadsCpuSec } from './lib/processor-time.ts';
import { report, reportCurve } from './lib/result.ts';
import { startServiceProcess } from './lib/service-process.ts';
import { channel, freshDatabase, streamOf, tenantOf, type Tenant } from './lib/storage-fixture.ts';

const SECOND = 1_000_000_000n;
const DAY_SEC = 86_400;
const FS = 250;
const CHANNELS = 4;
const SAMPLES_MAX = Number(process.env['BIO_BENCH_SAMPLES'] ?? (process.env['BENCH_FULL'] === '1' ? 1e9 : 1e8));
/** Features of the person that is asked for, each a value a second: one is asked for, so that the others' minutes are in the way. */
const FEATURES = 30;
/** Streams of others; each has days of its own. */
const OTHERS = 8;
const ASK_SEC = 4;
const ROW_SEC = rowSecOf(FS * 1e9);

const source = synthetic(1)[0]!.channels[0]!;

const quantile = (values: readonly number[], q: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(q * values.length))] ?? NaN;

type Filled = Readonly<{ database: Database; tenant: Tenant; own: OpenedStream; others: readonly OpenedStream[]; firstSec: number }>;

/** Rows of `seconds` seconds of a stream from Unix second `fromSec` on, by COPY: samples of all channels, and a heart rate. */
async function fillStream(
  { database, own }: Pick<Filled, 'database' | 'own'>,
  stream: OpenedStream,
  fromSec: number,
  seconds: number,
  what: Readonly<{ samples: boolean; features: boolean }>,
  methodId: number,
): Promise<void> {
  const client = await database.connect();
  const codecs = Array.from({ length: 16 }, (_, i) => ({ k: i, samples: source.subarray(i * 1000, i * 1000 + FS * ROW_SEC) }));
  const STEP = 20_000;
  for (let at = 0; at < seconds; at += STEP) {
    const to = Math.min(seconds, at + STEP);
    const blocks = new CopyBuffer((to - at) * CHANNELS * 300);
    for (let c = 0; what.samples && c < CHANNELS; c++) {
      for (let s = at; s < to; s += ROW_SEC) {
        // the grid index must be right where samples are read; elsewhere one packed block serves many seconds
        const k0 = Number((BigInt(fromSec + s) * SECOND - stream.epochNs) / SECOND) * FS;
        const { samples, k } = codecs[(s / ROW_SEC) % codecs.length]!;
        blocks.row(11);
        blocks.timestamptz((fromSec + s) * 1e6);
        blocks.int8(BigInt(fromSec + s) * SECOND);
        blocks.int4(stream.streamId);
        blocks.int4(FS * ROW_SEC);
        for (let f = 0; f < 3; f++) blocks.float4(k);
        for (const value of [c, 0, 0]) blocks.int2(value);
        blocks.bytea(stream === own ? encodeBlock([{ k0, samples, qmask: null }]) : packed(samples, k));
      }
    }
    if (what.samples) await copyRows(client, sampleBlockColumns, blocks);
  }
  if (what.features) {
    const values = new CopyBuffer(4 * seconds);
    for (let minute = Math.floor(fromSec / 60); minute * 60 < fromSec + seconds; minute++) {
      const of = Array.from({ length: 60 }, (_, i) => minute * 60 + i - fromSec).filter((sec) => sec >= 0 && sec < seconds);
      putFeatureBlock(
        values,
        { streamId: stream.streamId, methodId, channelNo: -1, minute },
        encodeFeatures({
          ns: of.map((sec) => (sec + fromSec - minute * 60) * 1e9),
          steps: of.map((sec) => 1000 * (60 + (sec % 40))),
          flags: of.map((sec) => (sec % 50 === 0 ? 1 : 0)),
        }),
      );
    }
    await copyRows(client, `feature_block (${featureBlockColumns})`, values);
  }
  await client.end();
}

const packedBlocks = new Map<number, Uint8Array>();
function packed(samples: Int32Array, id: number): Uint8Array {
  let bytes = packedBlocks.get(id);
  if (bytes === undefined) packedBlocks.set(id, (bytes = encodeBlock([{ k0: 0, samples, qmask: null }])));
  return bytes;
}

async function prepare(database: Database): Promise<Filled> {
  const registry = new StreamRegistry(database);
  const tenant = await tenantOf(database);
  const strangers = await tenantOf(database);
  const configs = Array.from({ length: CHANNELS }, (_, c) => channel(`c${c}`, FS));
  const days = Math.ceil(SAMPLES_MAX / (OTHERS * CHANNELS * FS * DAY_SEC)) + 2;
  const firstSec = (Math.floor(Date.now() / 1000 / DAY_SEC) - days) * DAY_SEC;
  const epochNs = BigInt(firstSec) * SECOND;
  const own = await streamOf(registry, tenant, 'own', configs, epochNs);
  const others: OpenedStream[] = [];
  for (let i = 0; i < OTHERS; i++) others.push(await streamOf(registry, strangers, `other ${i}`, configs, epochNs));
  await database.pool.query('update stream set recorded_from = to_timestamp($1), last_sample_at = to_timestamp($2)', [
    firstSec,
    firstSec + days * DAY_SEC,
  ]);
  if (database.kind === 'postgres')
    for (const table of ['sample_block', 'feature_block'])
      await database.pool.query('select ensure_partitions($1, to_timestamp($2), to_timestamp($3))', [
        table,
        firstSec,
        firstSec + days * DAY_SEC,
      ]);
  return { database, tenant, own, others, firstSec };
}

async function refresh(database: Database): Promise<void> {
  for (let kept = 1; kept > 0;) kept = await refreshRollups(database);
  await database.pool.query('vacuum (analyze) sample_block, feature_block');
}

const questionNames = ['chart', 'raw', 'observations'] as const;
/** Wall time of each call, and processor time of one: this process and the backends of the database. */
type Answer = Readonly<{ ms: readonly number[]; cpuMs: number }>;
type Answers = Readonly<Record<(typeof questionNames)[number], Answer>>;

async function ask({ database, tenant, own, firstSec }: Filled): Promise<Answers> {
  const roles = await openRoles(database);
  const api = organizationPool(roles.api, tenant.orgId);
  const epochNs = BigInt(firstSec) * SECOND;
  const biosignal = (await findBiosignal(api, tenant.projectId, 20))!;
  const [since, until] = [0, DAY_SEC].map((sec) => new Date((firstSec + sec) * 1000).toISOString());
  const questions: Record<keyof Answers, (i: number) => Promise<boolean>> = {
    chart: async () => {
      const chart = await readChart(api, {
        ...tenant,
        series: [{ kind: 'feature', feature: 'hr_ecg', methodCode: null, aggregate: 'mean' }],
        fromNs: epochNs,
        toNs: epochNs + BigInt(DAY_SEC) * SECOND,
        resolution: '1m',
        maxPoints: 2000,
        timeZone: 'Europe/Paris',
        qualityMax: 0,
        fill: 'null',
      });
      return chart.values.filter(([value]) => value !== null).length >= 1439;
    },
    raw: async (i) => {
      const fromNs = epochNs + BigInt((i * 37) % 3000) * SECOND;
      const { segments } = await readSamples(api, {
        streamId: own.streamId,
        channels: null,
        fromNs,
        toNs: fromNs + 300n * SECOND,
        rowsMax: 10_000,
      });
      return segments.reduce((n, segment) => n + segment.samples.length, 0) === CHANNELS * FS * 300;
    },
    observations: async () =>
      (
        await readObservations(api, {
          subjectId: tenant.subjectId,
          biosignal,
          since: since!,
          until: until!,
          deviceId: null,
          methodCode: null,
          qualityMax: 0,
          order: 'asc',
          limit: 100,
          after: null,
        })
      ).length === 100,
  };
  const answers: Partial<Record<keyof Answers, Answer>> = {};
  for (const name of questionNames) {
    const ms: number[] = [];
    for (let i = 0; i < 20; i++) await questions[name](i);
    const cpu = await cpuSec(database);
    const untilMs = performance.now() + ASK_SEC * 1000;
    for (let i = 0; performance.now() < untilMs || i < 60; i++) {
      const begun = performance.now();
      if (!(await questions[name](i))) throw new Error(`${name}: something is missing`);
      ms.push(performance.now() - begun);
    }
    answers[name] = { ms, cpuMs: (1000 * ((await cpuSec(database)) - cpu)) / ms.length };
  }
  await roles.close();
  return answers as Answers;
}

async function cpuSec(database: Database): Promise<number> {
  const { user, system } = process.cpuUsage();
  const { rows } = await database.pool.query<{ pid: number }>('select pid from pg_stat_activity where datname = current_database()');
  return rows.reduce((sum, { pid }) => sum + (threadsCpuSec(pid).all || 0), (user + system) / 1e6);
}

async function besideWriter(filled: Filled): Promise<Answers> {
  const { database, others } = filled;
  const writer = new DerivedWriter(database, { currentMethods: [], cadences: { hr_ecg: 1 } });
  let loaded = true;
  const nowSec = Math.floor(Date.now() / 1000) - filled.firstSec;
  const load = (async () => {
    for (let t = nowSec; loaded; t++) {
      for (const stream of others) {
        const features = Array.from({ length: 3 }, (_, i) => ({
          feature: 'hr_ecg',
          channelNo: -1,
          tNs: BigInt(3 * t + i) * SECOND,
          value: 60 + (t % 40),
          qmask: 0 as const,
          methodCode: 'derived:hr_ecg_v1',
        }));
        void writer.add({ streamId: stream.streamId, beats: [], features, replaces: null }, stream.epochNs);
      }
      await new Promise((done) => setTimeout(done, 20));
    }
  })();
  const times = await ask(filled);
  loaded = false;
  await load;
  await writer.close();
  return times;
}

async function growth(serverUrl: string): Promise<void> {
  const { database, drop } = await freshDatabase(serverUrl);
  try {
    const filled = await prepare(database);
    const { own, others, firstSec } = filled;
    await database.pool.query(
      `insert into method (kind, name, code, cadence_hz, unit) values ('feature', 'hr_ecg', 'derived:hr_ecg_v1', 1, '/min') on conflict do nothing`,
    );
    const method = await database.pool.query<{ id: number }>(`select id from method where code = 'derived:hr_ecg_v1' and kind = 'feature'`);
    const methodId = method.rows[0]!.id;
    const fill = (stream: OpenedStream, fromSec: number, seconds: number, what: { samples: boolean; features: boolean }): Promise<void> =>
      fillStream(filled, stream, fromSec, seconds, what, methodId);
    await fill(own, firstSec, DAY_SEC, { samples: false, features: true });
    const { rows: more } = await database.pool.query<{ id: number }>(
      `insert into method (kind, name, code, cadence_hz, unit)
       select 'feature', 'other_' || n, 'derived:other_' || n || '_v1', 1, '' from generate_series(2, ${FEATURES}) n returning id`,
    );
    for (const { id } of more) await fillStream(filled, own, firstSec, DAY_SEC, { samples: false, features: true }, id);
    await fill(own, firstSec, 3600, { samples: true, features: false });
    let stored = 3600 * CHANNELS * FS;
    let filledSec = 0; // of each of the others
    const curves: Record<string, [number, number][]> = {};
    const note = (name: string, value: number): void => void (curves[name] ??= []).push([stored, value]);
    for (let size = 1e7; size <= SAMPLES_MAX * 1.0001; size *= 10) {
      const toSec = Math.max(filledSec, ROW_SEC * Math.ceil((size - 3600 * CHANNELS * FS) / (OTHERS * CHANNELS * FS * ROW_SEC)));
      const begun = performance.now();
      for (const stream of others) await fill(stream, firstSec + filledSec, toSec - filledSec, { samples: true, features: true });
      stored += (toSec - filledSec) * OTHERS * CHANNELS * FS;
      filledSec = toSec;
      await refresh(database);
      const bytes = await database.pool.query<{ bytes: number }>('select pg_database_size(current_database())::float8 as bytes');
      console.log(
        `${stored.toExponential(1)} samples stored, ${(bytes.rows[0]!.bytes / 1e9).toFixed(2)} GB, filled in ${((performance.now() - begun) / 1000).toFixed(0)} s`,
      );
      const answers = await ask(filled);
      for (const name of questionNames) {
        note(`${name}: p50`, quantile(answers[name].ms, 0.5));
        note(`${name}: processor time`, answers[name].cpuMs);
      }
    }
    for (const [name, points] of Object.entries(curves)) reportCurve({ name, x: 'samples stored', y: 'ms', points, logX: true });
    const at = `${stored.toExponential(0)} samples stored, load of the machine ${loadavg()[0]!.toFixed(1)}`;
    const busy = await besideWriter(filled);
    const last = (name: string): number => curves[name]!.at(-1)![1];
    report({ name: 'raw 5 minutes x 4 channels, p50', goal: 'P9', value: last('raw: p50'), note: at });
    report({ name: '24 h at 1-minute buckets next to a writer, p50', goal: 'P8 p50', value: quantile(busy.chart.ms, 0.5), note: at });
    report({ name: '24 h at 1-minute buckets next to a writer, p99', goal: 'P8 p99', value: quantile(busy.chart.ms, 0.99), note: at });
    for (const name of questionNames) {
      report({ name: `${name}: processor time of a question`, value: last(`${name}: processor time`), unit: 'ms', note: at });
      const [[, first]] = curves[`${name}: processor time`] as [[number, number]];
      report({
        name: `${name}: processor time at the end over 1e7 samples`,
        value: last(`${name}: processor time`) / first,
        unit: 'times',
      });
    }
  } finally {
    await drop();
  }
}

/** P11: a packet is acknowledged; how long until an answer has its samples? With the request itself, while other devices send. */
async function queryable(url: string): Promise<void> {
  const service = await startServiceProcess('full', { DATABASE_URL: url });
  try {
    const headers = { authorization: `Bearer ${service.key}` };
    const base = `http://127.0.0.1:${service.port}`;
    const startNs = BigInt(Date.now()) * 1_000_000n;
    const delays: number[] = [];
    let streamId = '';
    let sent = 0;
    for (const packet of ecgPacket({ channels: 4, fs: FS, ms: 100, count: 200, deviceId: 'asked' })) {
      const t0UnixNs = startNs + packet.t0DeviceNs;
      const body = encodePacket({ ...packet, subject: 'asked', t0UnixNs, sentUnixNs: 0n });
      const posted = await fetch(`${base}/ingest/raw-packet`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/x-protobuf' },
        body,
      });
      if (posted.status !== 202) throw new Error(await posted.text());
      await posted.arrayBuffer();
      sent += packet.blocks[0]!.samples.length;
      const acknowledgedMs = performance.now();
      if (streamId === '')
        streamId = ((await (await fetch(`${base}/api/v1/streams?subject_id=asked`, { headers })).json()) as { id: string }[])[0]!.id;
      for (;;) {
        const answer = await fetch(
          `${base}/api/v1/streams/${streamId}/samples?since=${new Date(Number(startNs / 1_000_000n) - 1000).toISOString()}&until=2100-01-01T00:00:00Z&raw=true`,
          { headers },
        );
        const segments = (await answer.json()) as { channel: string; samples: number[] }[];
        if (segments.reduce((n, segment) => n + segment.samples.length, 0) === sent * CHANNELS) break;
      }
      delays.push(performance.now() - acknowledgedMs);
      await new Promise((done) => setTimeout(done, 50));
    }
    report({ name: 'acknowledged to read by a request, p99', goal: 'P11', value: quantile(delays.slice(5), 0.99) });
    report({ name: 'acknowledged to read by a request, p50', value: quantile(delays.slice(5), 0.5), unit: 'ms' });
  } finally {
    await service.stop();
  }
}

const bench = await openBenchDatabase();
try {
  console.log(bench.server);
  const asked = process.argv[2] ?? 'all';
  if (asked !== 'growth') await queryable(bench.url);
  if (asked !== 'queryable') await growth(bench.url);
} finally {
  await bench.drop();
}
