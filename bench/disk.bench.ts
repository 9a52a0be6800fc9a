/** Disk space per second of a device, table by table. Devices stream live, at the pace of a clock, with one packet a second,
 *  because commits, rows that grow and rollups cost by the clock; then everything that is stored is counted, with indexes, and the WAL that
 *  it took.
 *
 *  sh scripts/with-runtime.sh bench/disk.bench.ts      BENCH_DEVICES=30 BENCH_SEC=120: how many, how long (and 3 minutes until rollups are
 *  kept) On an embedded PostgreSQL, or the server of BIO_BENCH_DATABASE_URL. */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { openDatabase, type Database } from '../src/storage/database/database.ts';
import { refreshRollups } from '../src/storage/maintenance.ts';
import { openBenchDatabase } from './lib/bench-database.ts';
import { report } from './lib/result.ts';
import { startServiceProcess } from './lib/service-process.ts';

const DEVICES = Number(process.env['BENCH_DEVICES'] ?? 30);
const SECONDS = Number(process.env['BENCH_SEC'] ?? 120);
/** Tables that grow with time; the others with the number of devices. */
const GROWING =
  /^(packet_log|sample_block|beat_block|feature_block|derived_open|rollup_dirty|measurement|device_event|feature_1[hd]_kept)$/;
/** A row of an hour or a day is there after the first second of it, and is one row when it is over, s. */
const ROW_SEC: readonly (readonly [RegExp, number])[] = [
  [/^feature_1h/, 3600],
  [/^feature_1d/, 86_400],
];

async function simulate(port: number, key: string): Promise<void> {
  const options = ['--devices', DEVICES, '--duration', SECONDS, '--to', `http://127.0.0.1:${port}`, '--transport', 'websocket'];
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', resolve('src/cli/main.ts'), 'simulate', ...options.map(String)],
    {
      env: { ...process.env, BIO_KEY: key },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const code = await new Promise((done) => child.once('exit', done));
  if (code !== 0) throw new Error(`simulate ended with ${String(code)}`);
}

/** Bytes of every table with its partitions or chunks, indexes and long values; aggregates by the name of their view. */
async function tableBytes(database: Database): Promise<Map<string, number>> {
  const named =
    database.kind === 'timescale'
      ? 'select view_name::text, materialization_hypertable_name::text from timescaledb_information.continuous_aggregates'
      : 'select null::text, null::text where false';
  const { rows } = await database.pool.query<{ name: string; bytes: number }>(
    `with recursive part as (
       select c.oid, c.oid as root from pg_class c
       where c.relkind in ('r', 'p') and not exists (select from pg_inherits i where i.inhrelid = c.oid)
         and (c.relnamespace = 'public'::regnamespace or c.relname like '\\_materialized\\_hypertable\\_%')
       union all select i.inhrelid, part.root from pg_inherits i join part on i.inhparent = part.oid)
     select coalesce(v.name, c.relname) as name, sum(pg_total_relation_size(part.oid))::float8 as bytes
     from part join pg_class c on c.oid = part.root left join (${named}) v (name, kept) on v.kept = c.relname group by 1`,
  );
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
}

const walAt = async (database: Database): Promise<bigint> =>
  BigInt((await database.pool.query<{ at: string }>(`select (pg_current_wal_lsn() - '0/0')::text as at`)).rows[0]!.at);

const bench = await openBenchDatabase();
try {
  console.log(bench.server);
  const service = await startServiceProcess('full', { DATABASE_URL: bench.url });
  const database = await openDatabase(bench.url, { statementTimeoutMs: 0 });
  const [before, walBefore] = [await tableBytes(database), await walAt(database)];
  await simulate(service.port, service.key);
  await service.stop();
  await refreshRollups(database);
  const wal = Number((await walAt(database)) - walBefore);
  const deviceSec = DEVICES * SECONDS;
  const { rows } = await database.pool.query<{ samples: number }>('select sum(n)::float8 as samples from sample_block');
  const samplesPerSec = rows[0]!.samples / deviceSec;
  const note = `${DEVICES} devices of ${samplesPerSec.toFixed(0)} samples/s for ${SECONDS} s`;
  const grown = [...(await tableBytes(database))]
    .filter(([name]) => GROWING.test(name))
    .map(([name, bytes]) => {
      const rowSec = ROW_SEC.find(([pattern]) => pattern.test(name))?.[1] ?? 0;
      return [name, (bytes - (before.get(name) ?? 0)) / (DEVICES * Math.max(SECONDS, rowSec))] as const;
    })
    .filter(([, bytes]) => bytes > 0)
    .toSorted(([, a], [, b]) => b - a);
  for (const [name, bytes] of grown) report({ name: `${name}: bytes a device-second`, value: bytes, unit: 'B', note });
  report({ name: 'write-ahead log: bytes a device-second', value: wal / deviceSec, unit: 'B', note });
  await database.close();
} finally {
  await bench.drop();
}
