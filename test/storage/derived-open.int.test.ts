// Minutes that are not over: seen at once, kept through a crash of PostgreSQL and a second writer, rows when nothing more comes.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { eraseUser } from '../../src/records/erase.ts';
import type { StreamId } from '../../src/signal.ts';
import { DerivedStore } from '../../src/storage/derived-store.ts';
import { DerivedWriter } from '../../src/storage/derived-writer.ts';
import { StreamRegistry } from '../../src/storage/stream-registry.ts';
import { testDatabase, type TestDatabase } from '../helpers/database.ts';
import { createTenant, openTestStream } from '../helpers/recording.ts';

/** Numbered from 1. */
const STREAMS = 20;
let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  // Values of a stream that is not there are left out, as those of an erased one.
  const tenant = await createTenant(database);
  for (let boot = 1; boot <= STREAMS; boot++) await openTestStream(new StreamRegistry(database), tenant, undefined, boot);
});
afterAll(() => database.close());

const METHOD = 'derived:hr_ecg_v1';
/** A second of the minute before this one: its values are no history yet. */
const epochNs = (BigInt(Math.floor(Date.now() / 60_000)) - 1n) * 60_000_000_000n;

const newWriter = (): DerivedWriter => new DerivedWriter(database, { currentMethods: [METHOD], lingerMs: 1 });
const add = (writer: DerivedWriter, streamId: number, seconds: readonly number[]): Promise<void> =>
  writer.add(
    {
      streamId: streamId as StreamId,
      beats: [],
      features: seconds.map((sec) => ({
        feature: 'hr_ecg',
        channelNo: -1,
        tNs: BigInt(sec) * 1_000_000_000n,
        value: 60 + sec,
        qmask: 0,
        methodCode: METHOD,
      })),
      replaces: null,
    },
    epochNs,
  );
const stored = async (streamId: number): Promise<number[]> => {
  const { rows } = await database.pool.query<{ value: number }>('select value from feature where stream_id = $1 order by ts_ns', [
    streamId,
  ]);
  return rows.map(({ value }) => value - 60);
};
const blockCount = async (streamId: number): Promise<number> =>
  (await database.pool.query('select from feature_block where stream_id = $1', [streamId])).rowCount ?? 0;

test('an open minute is seen at once, and is a row when its series goes on or its writer ends', async () => {
  const writer = newWriter();
  await add(writer, 1, [1, 2]);
  expect([await stored(1), await blockCount(1)]).toEqual([[1, 2], 0]);
  await add(writer, 1, [3, 61]);
  expect([await stored(1), await blockCount(1)]).toEqual([[1, 2, 3, 61], 1]);
  await writer.close();
  expect([await stored(1), await blockCount(1)]).toEqual([[1, 2, 3, 61], 2]);
  expect((await database.pool.query('select from derived_open where stream_id = 1')).rowCount).toBe(0);
});

// job: derived-minutes
test('an open minute of a stream that fell silent becomes a row after a while', async () => {
  const writer = new DerivedWriter(database, { currentMethods: [METHOD], lingerMs: 1, idleMs: 200 });
  await add(writer, 12, [1, 2]);
  await expect.poll(() => blockCount(12), { timeout: 20_000 }).toBe(1);
  expect(await stored(12)).toEqual([1, 2]);
  expect((await database.pool.query('select from derived_open where stream_id = 12')).rowCount).toBe(0);
  await writer.close();
});

// As a crash of PostgreSQL leaves an unlogged table.
test('the open minutes of every stream are written again when the table was emptied', async () => {
  const writer = newWriter();
  await add(writer, 2, [1, 2]);
  await add(writer, 3, [1]);
  await database.pool.query('truncate derived_open');
  expect([await stored(2), await stored(3)]).toEqual([[], []]);
  await add(writer, 3, [2]);
  expect([await stored(2), await stored(3)]).toEqual([
    [1, 2],
    [1, 2],
  ]);
  await writer.close();
});

test('what is open of an erased stream is not written again when the table was emptied', async () => {
  const tenant = await createTenant(database);
  const { streamId } = await openTestStream(new StreamRegistry(database), tenant);
  const writer = newWriter();
  await add(writer, streamId, [1, 2]);
  await eraseUser(database.pool, tenant.orgId, tenant.subjectId, { actor: null });
  await database.pool.query('truncate derived_open');
  await add(writer, 13, [1]);
  expect([await stored(13), await stored(streamId)]).toEqual([[1], []]);
  await writer.close();
  expect([await stored(13), await stored(streamId)]).toEqual([[1], []]);
});

test('a writer that waits for the database does not end the minutes of its streams again and again', async () => {
  const written = vi.spyOn(DerivedStore.prototype, 'write');
  const writer = new DerivedWriter(database, { currentMethods: [METHOD], lingerMs: 1, idleMs: 40 });
  const other = await database.pool.connect();
  try {
    await add(writer, 14, [1]);
    await other.query('begin; lock table derived_open in access exclusive mode');
    const waiting = add(writer, 14, [2]);
    await sleep(500); // 50 looks for idle streams
    await other.query('commit');
    await waiting;
    await writer.close();
    expect(Math.max(...written.mock.calls.map(([, steps]) => steps.length))).toBeLessThan(3);
    expect(await stored(14)).toEqual([1, 2]);
  } finally {
    written.mockRestore();
    other.release();
  }
});

test("two writers of one minute, open or not, do not lose each other's values", async () => {
  const [first, second] = [newWriter(), newWriter()];
  await add(first, 4, [1]);
  await add(second, 4, [2]);
  await add(first, 4, [3]);
  await Promise.all([add(first, 4, [5, 7, 9]), add(second, 4, [4, 6, 8])]);
  expect(await stored(4)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  await first.close();
  await add(second, 4, [10]);
  await second.close();
  expect([await stored(4), await blockCount(4)]).toEqual([[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 1]);
});

test('the next process finds the open minutes, and an erased stream is not stored again', async () => {
  const gone = newWriter();
  await add(gone, 5, [1]);
  await add(gone, 6, [1]);
  await gone.abandon();
  const next = newWriter();
  await add(next, 5, [2]);
  expect(await stored(5)).toEqual([1, 2]);
  await add(next, 6, [2]);
  await database.pool.query('delete from derived_open where stream_id = 6');
  await next.close();
  expect([await stored(5), await stored(6)]).toEqual([[1, 2], []]);
});
