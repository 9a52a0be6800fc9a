/** Time and room of the upgrade that packs beats and values of before, a row each, into minutes: docs/operator.md, "Packing the rows of
 *  before".
 *
 *  node bench/upgrade.bench.ts      BENCH_SEC=333333   BIO_BENCH_DATABASE_URL=... (else embedded PostgreSQL)
 *  One device, four values a second and a beat every 0.8 s: the default is as many as 10^8 samples at 300 a second leave. */
import pg from 'pg';
import { upgrade } from '../src/storage/upgrade.ts';
import { migrateUpTo, LAST_OF_ROWS } from '../test/helpers/row-database.ts';
import { openBenchDatabase } from './lib/bench-database.ts';
import { treeCpuSec } from './lib/processor-time.ts';
import { report } from './lib/result.ts';

const SECONDS = Number(process.env['BENCH_SEC'] ?? 333_333);
const FROM_SEC = 1_767_225_600;

const bench = await openBenchDatabase();
try {
  await migrateUpTo(bench.url, LAST_OF_ROWS);
  const client = new pg.Client(bench.url);
  await client.connect();
  const rows = await fill(client);
  const before = await bytesOf(client, ['feature', 'beat']);
  await client.query('checkpoint');
  const postgresSec = (): number => (bench.postmasterPid === null ? NaN : treeCpuSec(bench.postmasterPid));
  const [startMs, startCpu, startPostgres] = [performance.now(), process.cpuUsage(), postgresSec()];
  const { packed } = await upgrade(bench.url, { onProgress: console.log });
  const sec = (performance.now() - startMs) / 1000;
  const { user, system } = process.cpuUsage(startCpu);
  if (packed === null || packed.values + packed.beats !== rows)
    throw new Error(`${rows} rows were made, and packed: ${JSON.stringify(packed)}`);
  const after = await bytesOf(client, ['feature_block', 'beat_block']);
  console.log(bench.server);
  report({ name: 'upgrade: rows of before', value: rows, unit: 'rows' });
  report({ name: 'upgrade: time', value: sec, unit: 's' });
  report({ name: 'upgrade: rows a second', value: rows / sec, unit: 'rows/s', better: 'higher' });
  report({
    name: 'upgrade: processor time of PostgreSQL, a million rows',
    value: ((postgresSec() - startPostgres) / rows) * 1e6,
    unit: 's',
  });
  report({ name: 'upgrade: processor time of the service, a million rows', value: (user + system) / rows, unit: 's' });
  report({ name: 'upgrade: room before, a row', value: before / rows, unit: 'bytes' });
  report({ name: 'upgrade: room after, a row', value: after / rows, unit: 'bytes' });
  await client.end();
} finally {
  await bench.drop();
}

/** @returns how many rows */
async function fill(client: pg.Client): Promise<number> {
  const { rows: methods } = await client.query<{ id: number; kind: string }>(
    `insert into method (kind, name, code, cadence_hz, step)
     select 'feature', 'bench_' || i, 'derived:bench_' || i || '_v1', 1, 0.001 from generate_series(1, 4) i
     union all select 'beat', 'r_peaks', 'derived:r_peaks_v99', null, 0.001 returning id, kind`,
  );
  const { rows } = await client.query<{ native: boolean }>(`select to_regclass('partition_rule') is not null as native`);
  if (rows[0]!.native)
    for (const table of ['feature', 'beat'])
      await client.query('select ensure_partitions($1, to_timestamp($2), to_timestamp($3))', [table, FROM_SEC, FROM_SEC + SECONDS]);
  let n = 0;
  for (const { id, kind } of methods) {
    const made =
      kind === 'feature'
        ? await client.query(
            `insert into feature select to_timestamp($1 + s), ($1::bigint + s) * 1000000000, (60000 + s % 7919) / 1000.0, 1, $2, 0, 0
             from generate_series(0, $3 - 1) s`,
            [FROM_SEC, id, SECONDS],
          )
        : await client.query(
            `insert into beat select timestamptz 'epoch' + t / 1000 * interval '1 microsecond', t, 1, 0, $2, 800 + i % 50 / 1000.0, 0, 0, ''
             from generate_series(0, $3) i cross join lateral (select $1::bigint * 1000000000 + i::bigint * 800000000 + i % 50 * 1000000 as t) x`,
            [FROM_SEC, id, Math.floor(SECONDS / 0.8) - 1],
          );
    n += made.rowCount ?? 0;
  }
  return n;
}

async function bytesOf(client: pg.Client, tables: readonly string[]): Promise<number> {
  const { rows } = await client.query<{ bytes: string }>(
    `select coalesce(sum(pg_total_relation_size(c.oid)), 0) as bytes from pg_class c
     where c.oid in (select inhrelid from pg_inherits where inhparent = any ($1::regclass[]))`,
    [tables],
  );
  return Number(rows[0]!.bytes);
}
