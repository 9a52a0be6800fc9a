// SQL without our code: samples() decodes every form of a block; reads of a time range open only its partitions or chunks;
// retention drops what has expired, never what the log still needs.
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { encodeBlock, type BlockRun } from '../../src/storage/block-codec.ts';
import { BlockWriter } from '../../src/storage/block-writer.ts';
import { DerivedWriter } from '../../src/storage/derived-writer.ts';
import { applyRetention, startMaintenance } from '../../src/storage/maintenance.ts';
import { PacketLog } from '../../src/storage/packet-log.ts';
import { readStoredRuns } from '../../src/storage/sample-rows.ts';
import { StreamRegistry, type OpenedStream } from '../../src/storage/stream-registry.ts';
import { testDatabase, until, type TestDatabase } from '../helpers/database.ts';
import { createTenant, ecg, openTestStream, testEpochNs, testRun, testSample } from '../helpers/recording.ts';

let database: TestDatabase;
let registry: StreamRegistry;
let stream: OpenedStream;
beforeAll(async () => {
  database = await testDatabase();
  registry = new StreamRegistry(database);
  stream = await openTestStream(registry, await createTenant(database));
});
afterAll(() => database.close());

const values = fc.oneof(
  fc.array(fc.integer({ min: -2048, max: 2047 }), { minLength: 1, maxLength: 100 }).map((a) => Int32Array.from(a)),
  fc.array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), { minLength: 1, maxLength: 70 }).map((a) => Int32Array.from(a)),
  fc.array(fc.integer({ min: -(2 ** 15), max: 2 ** 15 - 1 }), { minLength: 1, maxLength: 70 }).map((a) => Int32Array.from(a)),
  fc.float32Array({ minLength: 1, maxLength: 40 }),
);
const blocks: fc.Arbitrary<BlockRun[]> = fc.array(
  fc
    .record({
      k0: fc.nat({ max: 2 ** 40 }),
      samples: values,
      seed: fc.option(fc.array(fc.constantFrom(0, 1, 2), { minLength: 1, maxLength: 9 })),
    })
    .map(({ k0, samples, seed }) => ({
      k0,
      samples,
      qmask: seed === null ? null : Uint8Array.from(samples, (_, i) => seed[i % seed.length]!),
    })),
  { minLength: 1, maxLength: 3 },
);

// promise: codecs-sql
test('decode_block in SQL gives the samples that the codec was given', async () => {
  await fc.assert(
    fc.asyncProperty(blocks, async (runs) => {
      const { rows } = await database.pool.query<{ k: bigint; value: number; qmask: number }>('select * from decode_block($1)', [
        encodeBlock(runs),
      ]);
      const expected = runs.flatMap((run) => Array.from(run.samples, (x, i) => [BigInt(run.k0 + i), x === 0 ? 0 : x, run.qmask?.[i] ?? 0]));
      expect(rows.map((row) => [row.k, row.value === 0 ? 0 : row.value, row.qmask])).toEqual(expected);
    }),
    { numRuns: 60 },
  );
});

// promise: sql-samples
test('samples() gives physical values with exact times, within the range', async () => {
  const writer = new BlockWriter(database);
  writer.push(
    stream.streamId,
    stream.epochNs,
    stream.channels.map((c) => c.rateNanoHz),
    [testRun(0, 0, 1000)],
    1,
  );
  await writer.close();
  const { rows } = await database.pool.query<{ ts_ns: bigint; value: number; qmask: number }>(
    `select ts_ns, value, qmask from samples($1, 'ecg.ii', to_timestamp($2), to_timestamp($2) + interval '500 milliseconds')`,
    [stream.uuid, Number(testEpochNs / 1_000_000_000n) + 1],
  );
  // the device's second begins 123 ms after the range
  const firstK = 250 - Math.floor(0.123456789 * 250);
  expect(rows).toHaveLength(125);
  rows.forEach((row, i) => {
    const k = firstK + i;
    expect(row).toEqual({ ts_ns: testEpochNs + BigInt(k) * 4_000_000n, value: (testSample(0, k) - ecg.baseline) / ecg.gain, qmask: 0 });
  });
});

// promise: partitions-read
test('a read of five minutes opens one partition or chunk of many', async () => {
  const days = 12;
  const writer = new BlockWriter(database);
  const rates = stream.channels.map((c) => c.rateNanoHz);
  for (let day = 0; day < days; day++) writer.push(stream.streamId, stream.epochNs, rates, [testRun(0, day * 86_400 * 250, 250)], 1);
  await writer.close();
  const derived = new DerivedWriter(database, { currentMethods: [] });
  for (let day = 0; day < 60; day += 5) {
    const tNs = BigInt(day) * 86_400_000_000_000n;
    await derived.add(
      {
        streamId: stream.streamId,
        beats: [],
        features: [{ feature: 'hr_ecg', channelNo: -1, tNs, value: 60, qmask: 0, methodCode: 'derived:hr_ecg_v1' }],
        replaces: null,
      },
      stream.epochNs,
    );
  }
  await derived.close();
  const relationsRead = async (query: string, parameters: unknown[]): Promise<number> => {
    const { rows } = await database.pool.query<{ 'QUERY PLAN': string }>(`explain (analyze, costs off) ${query}`, parameters);
    const text = rows.map((row) => row['QUERY PLAN']).join('\n');
    return new Set(
      [...text.matchAll(/ on (?:_timescaledb_internal\.)?((?:sample_block|feature_block)_p\w+|_hyper_\w+|compress_hyper\w+)/g)]
        .filter((match) => !isNeverExecuted(text, match.index))
        .map((match) => match[1]),
    ).size;
  };
  const from = new Date(Number(testEpochNs / 1_000_000n) + 5 * 86_400_000).toISOString();
  const to = new Date(Date.parse(from) + 300_000).toISOString();
  expect(
    await relationsRead(
      `select codec from sample_block where time >= $1::timestamptz and time < $2::timestamptz and stream_id = $3 and channel_no = 0 order by time`,
      [from, to, stream.streamId],
    ),
  ).toBe(1);
  expect(
    await relationsRead(`select value from feature_values($1::timestamptz, $2::timestamptz) where stream_id = $3 order by time`, [
      from,
      to,
      stream.streamId,
    ]),
  ).toBe(1);
  const fromUs = Number(testEpochNs / 1000n) + 5 * 86_400_000_000 - 1;
  const runs = await readStoredRuns(database.pool, stream.streamId, 0, fromUs, fromUs + 300e6, (rows) => expect(rows).toEqual([]));
  expect(runs.map((run) => run.samples.length)).toEqual([250]);
});

function isNeverExecuted(plan: string, index: number): boolean {
  return plan.slice(index, plan.indexOf('\n', index)).includes('never executed');
}

// promise: erasure-leaves, retention-drops, log-kept, packet-conflict, hashes-kept
test('retention drops expired rows, but no batch of the log after the checkpoint', async () => {
  const log = await PacketLog.open(database, registry);
  const batch = log.append({ streamId: stream.streamId, seq: 1, receivedNs: 1n, bytes: Buffer.from('x') });
  if (batch === 'busy') throw new Error('busy');
  await batch.durable;
  const { rows: kept } = await database.pool.query('select relation, keep::text from retention where keep is not null order by relation');
  expect(kept).toEqual(['packet_hash', 'packet_log'].map((relation) => ({ relation, keep: '1 day' })));
  const parts = async (): Promise<number> =>
    (
      await database.pool.query(
        database.kind === 'postgres'
          ? `select from pg_inherits where inhparent = 'feature_block'::regclass`
          : `select from show_chunks('feature_block')`,
      )
    ).rowCount ?? 0;
  const partsBefore = await parts();
  await database.pool.query(`update retention set keep = '10 days' where relation = 'feature_block'`);
  const before = await database.pool.query<{ n: number }>('select count(*)::int as n from feature');
  // The log's row moves three days into the past: older than its day, but not replayed yet.
  const move = `with moved as (delete from packet_log returning *) select * from moved`;
  const [row] = (await database.pool.query<{ batch_id: bigint; part: number; packet_count: number; data: Buffer }>(move)).rows;
  if (database.kind === 'postgres')
    await database.pool.query(`select ensure_partitions('packet_log', now() - interval '3 days', now() - interval '3 days')`);
  await database.pool.query(`insert into packet_log values (now() - interval '3 days', $1, $2, $3, $4)`, [
    row!.batch_id,
    row!.part,
    row!.packet_count,
    row!.data,
  ]);
  expect(await applyRetention(database)).toBeGreaterThan(0);
  const after = await database.pool.query<{ n: number }>('select count(*)::int as n from feature');
  expect(after.rows[0]!.n).toBeLessThan(before.rows[0]!.n);
  expect(await parts()).toBeLessThan(partsBefore);
  expect((await database.pool.query('select from packet_log')).rowCount).toBe(1);
  await log.checkpoint(batch.position);
  expect(await applyRetention(database)).toBeGreaterThan(0);
  expect((await database.pool.query('select from packet_log')).rowCount).toBe(0);
  await log.close();
});

// promise: set-aside-expires
// job: retention, set-aside-expiry
test('a table that cannot be expired does not stop the others from being expired', async () => {
  await using own = await testDatabase();
  await own.pool.query(`alter table idempotency rename to idempotency_away; alter table webhook_delivery rename to webhook_delivery_away`);
  await own.pool.query(`insert into set_aside (time, kind, reason, digest) values (now() - interval '91 days', 'log', 'r', 'x'),
    (now() - interval '89 days', 'log', 'young', 'y')`);
  await own.pool.query(`create table dropped (); create or replace function apply_retention() returns integer language sql as
    'drop table if exists dropped; select 1'`);
  const faults: string[] = [];
  const stop = startMaintenance(own, { retentionMs: 20, onFault: (message) => faults.push(message) });
  await until(async () => faults.length >= 2 && (await own.pool.query('select from set_aside')).rowCount === 1);
  expect((await own.pool.query('select reason from set_aside')).rows).toEqual([{ reason: 'young' }]);
  await until(async () => (await own.pool.query(`select from pg_class where relname = 'dropped'`)).rowCount === 0);
  await stop();
  expect(faults.toSorted()).toEqual([expect.stringContaining('deliveries of webhooks'), expect.stringContaining('kept replies')]);
});

test('a group commit waits for more packets, unless a caller is blocked on it or it is full', async () => {
  const log = await PacketLog.open(database, registry, { lingerMs: 1, calmLingerMs: 60_000, batchPacketsMax: 4 });
  const append = (seq: number) => {
    const batch = log.append({ streamId: stream.streamId, seq, receivedNs: 1n, bytes: Buffer.from('x') });
    if (batch === 'busy') throw new Error('busy');
    return batch;
  };
  const isDurable = (batch: { durable: Promise<void> }, waitMs: number): Promise<boolean> =>
    Promise.race([batch.durable.then(() => true), sleep(waitMs, false)]);
  const calm = append(1);
  expect(await isDurable(calm, 200)).toBe(false);
  log.hurry();
  expect(await isDurable(calm, 10_000)).toBe(true);
  const [first, , , fourth] = [append(2), append(3), append(4), append(5)];
  expect(fourth).toBe(first);
  expect(await isDurable(fourth!, 10_000)).toBe(true);
  const last = append(6);
  await log.close(); // nothing is left behind
  expect(await isDurable(last, 0)).toBe(true);
});
