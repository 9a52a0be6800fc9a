/** Time of waveform overviews, from a day to ten seconds of one channel at 1,500 buckets, in a table that also has the rows of others who
 *  sent at the same time.
 *
 *  sh scripts/with-runtime.sh bench/overview.bench.ts      on an embedded PostgreSQL, or the server of BIO_BENCH_DATABASE_URL
 *  Asked as the service asks: role biosignal_api, one organization. */
import { loadavg } from 'node:os';
import { planOverview, readOverview } from '../src/query/overview.ts';
import { CopyBuffer, copyRows } from '../src/storage/copy-binary.ts';
import type { Database } from '../src/storage/database/database.ts';
import { organizationPool } from '../src/storage/database/organization-pool.ts';
import { openRoles } from '../src/storage/database/roles.ts';
import { makeSampleRow, putSampleRow, rowSecOf, sampleBlockColumns } from '../src/storage/sample-rows.ts';
import { StreamRegistry, type OpenedStream } from '../src/storage/stream-registry.ts';
import { openBenchDatabase } from './lib/bench-database.ts';
import { synthetic } from './lib/recordings.ts';
import { report } from './lib/result.ts';
import { channel, freshDatabase, streamOf, tenantOf } from './lib/storage-fixture.ts';

const SECOND = 1_000_000_000n;
const DAY_SEC = 86_400;
const RATES = [250, 500];
/** Other streams of 4 channels that send at the same time: their rows lie between those that are asked for. */
const OTHERS = Number(process.env['BIO_BENCH_OTHERS'] ?? 2);
const QUESTIONS = 15;

const source = synthetic(1)[0]!.channels[0]!;
const quantile = (values: readonly number[], q: number): number => values.toSorted((a, b) => a - b)[Math.floor(q * values.length)] ?? NaN;

/** A day of rows, in the order in which they come: by time, then by stream. */
async function fill(database: Database, streams: readonly Readonly<{ stream: OpenedStream; rates: readonly number[] }>[]): Promise<void> {
  const client = await database.connect();
  const STEP = 3600;
  for (let at = 0; at < DAY_SEC; at += STEP) {
    const rows = new CopyBuffer(8 * 1024 * 1024);
    for (let second = at; second < at + STEP; second++)
      for (const { stream, rates } of streams)
        for (const [c, rate] of rates.entries()) {
          const sec = rowSecOf(rate * 1e9);
          if (second % sec !== 0) continue;
          const from = (second * 7919) % 20_000;
          const run = { k0: second * rate, samples: source.subarray(from, from + sec * rate), qmask: null };
          const timeUs = Number(stream.epochNs / 1000n) + second * 1e6;
          putSampleRow(rows, makeSampleRow(stream.streamId, c, timeUs, stream.epochNs, rate * 1e9, [run]));
        }
    await copyRows(client, sampleBlockColumns, rows);
  }
  await client.end();
  await database.pool.query('vacuum (analyze) sample_block');
}

async function measure(serverUrl: string): Promise<void> {
  const { database, drop } = await freshDatabase(serverUrl);
  try {
    const registry = new StreamRegistry(database);
    const tenant = await tenantOf(database);
    const firstSec = Math.floor(Date.now() / 1000 / DAY_SEC) * DAY_SEC - 2 * DAY_SEC;
    const epochNs = BigInt(firstSec) * SECOND;
    if (database.kind === 'postgres')
      await database.pool.query(`select ensure_partitions('sample_block', to_timestamp($1), to_timestamp($2))`, [
        firstSec,
        firstSec + DAY_SEC,
      ]);
    const configs = RATES.map((rate, i) => channel(`c${i}`, rate));
    const own = await streamOf(registry, tenant, 'own', configs, epochNs);
    const streams = [{ stream: own, rates: RATES }];
    for (let i = 0; i < OTHERS; i++) {
      const rates = [250, 250, 250, 250];
      const stream = await streamOf(
        registry,
        tenant,
        `other ${i}`,
        rates.map((rate, c) => channel(`c${c}`, rate)),
        epochNs,
      );
      streams.push({ stream, rates });
    }
    await fill(database, streams);
    const roles = await openRoles(database);
    const api = organizationPool(roles.api, tenant.orgId);
    for (const [i, rate] of RATES.entries()) {
      for (const [name, seconds] of [
        ['24 h', DAY_SEC],
        ['6 h', 21_600],
        ['1 h', 3600],
        ['10 min', 600],
        ['1 min', 60],
        ['10 s', 10],
      ] as const) {
        const ms: number[] = [];
        let stepMs = 0;
        for (let n = 0; n < QUESTIONS; n++) {
          const fromNs = epochNs + BigInt(Math.floor(((DAY_SEC - seconds) * n) / QUESTIONS)) * SECOND;
          const begun = performance.now();
          const plan = await planOverview(api, {
            streamId: own.streamId,
            channels: [`c${i}`],
            fromNs,
            toNs: fromNs + BigInt(seconds) * SECOND,
            stepMinMs: 0,
            bucketsMax: 1500,
            rowsMax: 1_000_000,
          });
          const buckets = await readOverview(api, plan!, plan!.channels[0]!, undefined);
          ms.push(performance.now() - begun);
          stepMs = plan!.stepMs;
          if (buckets.n.some((count, at) => count === 0 && at < buckets.n.length - 1)) throw new Error(`${name}: something is missing`);
        }
        const note = `steps of ${stepMs} ms, most ${quantile(ms, 0.95).toFixed(0)} ms, load of the machine ${loadavg()[0]!.toFixed(1)}`;
        report({ name: `overview of ${name} at ${rate} Hz, p50`, value: quantile(ms, 0.5), unit: 'ms', note });
      }
    }
    await roles.close();
  } finally {
    await drop();
  }
}

const bench = await openBenchDatabase();
try {
  console.log(bench.server);
  await measure(bench.url);
} finally {
  await bench.drop();
}
