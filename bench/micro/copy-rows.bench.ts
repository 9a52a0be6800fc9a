/** Time PostgreSQL spends on the COPY of sample rows (goal P5). By seconds a row, rows a COPY, and with one thing left out at a time:
 *  the backend's own processor time, to the nanosecond where the kernel counts so.
 *
 *  sh scripts/with-runtime.sh bench/micro/copy-rows.bench.ts        on the server of BIO_BENCH_DATABASE_URL, or an embedded one */
import { CopyBuffer, copyRows } from '../../src/storage/copy-binary.ts';
import { makeSampleRow, putSampleRow, sampleBlockColumns } from '../../src/storage/sample-rows.ts';
import type { StreamId } from '../../src/signal.ts';
import { openBenchDatabase } from '../lib/bench-database.ts';
import { threadsCpuSec } from '../lib/processor-time.ts';
import { synthetic } from '../lib/recordings.ts';
import { report } from '../lib/result.ts';
import { benchEpochNs, freshDatabase } from '../lib/storage-fixture.ts';

const CHANNELS = 400; // 100 devices of 4
const SECONDS = 240;
const FS = 250;
const server = await openBenchDatabase();
const source = synthetic(1)[0]!.channels[0]!;

/** @param without run before the rows are copied */
async function measure(name: string, rowSec: number, rowsOfCopy: number, without = ''): Promise<void> {
  const { database, drop } = await freshDatabase(server.url);
  const client = await database.connect();
  const epochSec = Number(benchEpochNs / 1_000_000_000n);
  if (database.kind === 'postgres')
    await client.query(`select ensure_partitions('sample_block', to_timestamp($1), to_timestamp($1))`, [epochSec]);
  if (without !== '') await client.query(without);
  const batches: CopyBuffer[] = [];
  const perChannel = Math.max(1, Math.round(rowsOfCopy / CHANNELS)) * rowSec;
  for (let from = 0; from < SECONDS; from += perChannel) {
    const rows = new CopyBuffer(1024 * 1024);
    for (let c = 0; c < CHANNELS; c++) {
      for (let s = from; s < Math.min(SECONDS, from + perChannel); s += rowSec) {
        const at = (s * FS + c * 997) % 500_000;
        const run = { k0: s * FS, samples: source.subarray(at, at + FS * rowSec), qmask: null };
        putSampleRow(rows, makeSampleRow((1 + (c >> 2)) as StreamId, c & 3, (epochSec + s) * 1e6, benchEpochNs, FS * 1e9, [run]));
      }
    }
    batches.push(rows);
  }
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const before = threadsCpuSec(rows[0]!.pid).main;
  for (const batch of batches) await copyRows(client, sampleBlockColumns, batch);
  const ns = ((threadsCpuSec(rows[0]!.pid).main - before) * 1e9) / (CHANNELS * SECONDS * FS);
  report({ name, value: ns, unit: 'ns', note: `a sample; ${((ns * FS * rowSec) / 1000).toFixed(1)} µs a row` });
  await client.end();
  await drop();
}

try {
  console.log(server.server);
  for (const [rowSec, rows] of [
    [1, 800],
    [1, 4000],
    [4, 400],
    [4, 1600],
    [4, 4800],
    [8, 1600],
  ] as const)
    await measure(`rows of ${rowSec} s, ${rows} a COPY`, rowSec, rows);
  await measure('rows of 4 s, 1600 a COPY, no wait for the disk', 4, 1600, 'set synchronous_commit = off');
  await measure('rows of 4 s, 1600 a COPY, no key', 4, 1600, 'alter table sample_block drop constraint sample_block_pkey');
} finally {
  await server.drop();
}
