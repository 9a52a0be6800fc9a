// TimescaleDB's columnstore: packed chunks answer the same and take late rows.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BlockWriter } from '../../src/storage/block-writer.ts';
import type { DerivedFeature } from '../../src/storage/derived-steps.ts';
import { DerivedWriter } from '../../src/storage/derived-writer.ts';
import { runsOf } from '../../src/storage/sample-rows.ts';
import { StreamRegistry } from '../../src/storage/stream-registry.ts';
import { otherServers, testDatabase, testServerUrl, type TestDatabase } from '../helpers/database.ts';
import { createTenant, openTestStream, testRun, testSample } from '../helpers/recording.ts';

let database: TestDatabase;
beforeAll(async () => {
  const community = otherServers().find((server) => server.name === 'timescale');
  database = await testDatabase({}, community?.url ?? (await testServerUrl()));
  if (database.kind !== 'timescale') console.warn('SKIPPED: the columnstore needs TimescaleDB under the community licence');
});
afterAll(() => database.close());

// job: timescaledb-policies
test('late samples and replaced values are merged into compressed chunks as anywhere else', async ({ skip }) => {
  if (database.kind !== 'timescale') return skip();
  // Its default of 100,000 is too many rows for a test.
  await database.pool.query(`do $$ begin
    execute format('alter database %I set timescaledb.max_tuples_decompressed_per_dml_transaction = 1', current_database());
  end $$`);
  const stream = await openTestStream(new StreamRegistry(database), await createTenant(database));
  const rates = stream.channels.map((channel) => channel.rateNanoHz);
  const blocks = new BlockWriter(database);
  const values = new DerivedWriter(database, { currentMethods: ['derived:hr_ecg_v1'] });
  const feature = (t: number, value: number): DerivedFeature => ({
    feature: 'hr_ecg',
    channelNo: -1,
    tNs: BigInt(t) * 1_000_000_000n,
    value,
    qmask: 0,
    methodCode: 'derived:hr_ecg_v1',
  });
  blocks.push(stream.streamId, stream.epochNs, rates, [testRun(0, 0, 500), testRun(0, 700, 800)], 1);
  await blocks.flush();
  await values.add(
    { streamId: stream.streamId, beats: [], features: Array.from({ length: 100 }, (_, t) => feature(t, t)), replaces: null },
    stream.epochNs,
  );
  const packed = await database.pool.query(
    `select compress_chunk(c) from (select show_chunks('sample_block') union select show_chunks('feature_block')) s (c)`,
  );
  expect(packed.rowCount).toBeGreaterThan(1);

  blocks.push(stream.streamId, stream.epochNs, rates, [testRun(0, 450, 300)], 2);
  await blocks.close();
  await values.add(
    { streamId: stream.streamId, beats: [], features: [feature(10, 1000)], replaces: { fromNs: 10_000_000_000n, toNs: 20_000_000_000n } },
    stream.epochNs,
  );
  await values.close();

  const { rows } = await database.pool.query<{ n: number; codec: Buffer }>(
    'select n, codec from sample_block where stream_id = $1 order by time',
    [stream.streamId],
  );
  expect(rows.map((row) => row.n)).toEqual([1000, 500]);
  expect(rows.flatMap((row) => runsOf(row.codec).flatMap((run) => [...run.samples]))).toEqual(
    Array.from({ length: 1500 }, (_, k) => testSample(0, k)),
  );
  const stored = await database.pool.query<{ value: number }>('select value from feature where stream_id = $1 order by time', [
    stream.streamId,
  ]);
  expect(stored.rows.map((row) => row.value)).toEqual([
    ...Array.from({ length: 10 }, (_, t) => t),
    1000,
    ...Array.from({ length: 80 }, (_, i) => 20 + i),
  ]);
});
