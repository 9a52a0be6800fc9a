/** Gain of the COPY of the service (storage/copy-binary.ts: statement, rows and end in one write) over pg-copy-streams, with the same rows.
 *  Processor time of this process and of the backend, and the time until it is done; in turns, the median of the ratios.
 *
 *  sh scripts/with-runtime.sh bench/micro/copy-in.bench.ts        on the server of BIO_BENCH_DATABASE_URL, or an embedded one */
import { from as copyFrom } from 'pg-copy-streams';
import { finished } from 'node:stream/promises';
import pg from 'pg';
import { CopyBuffer, copyRows } from '../../src/storage/copy-binary.ts';
import { openBenchDatabase } from '../lib/bench-database.ts';
import { threadsCpuSec } from '../lib/processor-time.ts';
import { report } from '../lib/result.ts';

const COPIES = 40;
const ROUNDS = 15;
const VALUE = Buffer.alloc(300, 7); // about a row of samples
const server = await openBenchDatabase();
const client = new pg.Client(server.url);
await client.connect();
await client.query('create temporary table row_of_bench (number integer, value bytea)');
const backend = (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;

function rowsOf(count: number): CopyBuffer {
  const rows = new CopyBuffer(64 * 1024);
  for (let i = 0; i < count; i++) {
    rows.row(2);
    rows.int4(i);
    rows.bytea(VALUE);
  }
  return rows;
}

type Cost = Readonly<{ us: number; cpuUs: number }>;

/** @returns of one COPY */
async function cost(rowCount: number, copy: (rows: CopyBuffer) => Promise<unknown>): Promise<Cost> {
  const batches = Array.from({ length: COPIES }, () => rowsOf(rowCount));
  const [ownBefore, theirsBefore, startMs] = [process.cpuUsage(), threadsCpuSec(backend).main, performance.now()];
  for (const rows of batches) await copy(rows);
  const us = ((performance.now() - startMs) * 1000) / COPIES;
  const { user, system } = process.cpuUsage(ownBefore);
  const backendUs = (threadsCpuSec(backend).main - theirsBefore) * 1e6;
  await client.query('truncate row_of_bench');
  return { us, cpuUs: (user + system + backendUs) / COPIES };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

async function withStream(rows: CopyBuffer): Promise<void> {
  const sink = client.query(copyFrom('copy row_of_bench (number, value) from stdin (format binary)'));
  sink.end(rows.finish());
  await finished(sink);
}

try {
  for (const rowCount of [1, 40, 400, 4000]) {
    const pairs: { ours: Cost; theirs: Cost }[] = [];
    for (let i = 0; i < ROUNDS; i++) {
      const ours = await cost(rowCount, (rows) => copyRows(client, 'row_of_bench (number, value)', rows));
      pairs.push({ ours, theirs: await cost(rowCount, withStream) });
    }
    const ratio = (of: keyof Cost): string => median(pairs.map(({ ours, theirs }) => theirs[of] / ours[of])).toFixed(2);
    const note = `pg-copy-streams over it: ${ratio('cpuUs')} times the processor time, ${ratio('us')} times as long`;
    report({ name: `a COPY of ${rowCount} rows`, value: median(pairs.map(({ ours }) => ours.cpuUs)), unit: 'µs', note });
  }
} finally {
  await client.end();
  await server.drop();
}
