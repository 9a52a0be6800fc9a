/** State of streams kept by a checkpoint: how their clocks run, and of those that are refused only that; and whose is what was set
 *  aside. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { saveStreams, StreamRegistry, type OpenedStream, type RefusedStreams } from '../../src/storage/stream-registry.ts';
import { putAside, type Letter } from '../../src/storage/set-aside.ts';
import { testDatabase, type TestDatabase } from '../helpers/database.ts';
import { createTenant, openTestStream } from '../helpers/recording.ts';

let database: TestDatabase;
let registry: StreamRegistry;
const streams: OpenedStream[] = [];
beforeAll(async () => {
  database = await testDatabase();
  registry = new StreamRegistry(database);
  const tenant = await createTenant(database);
  for (let boot = 1; boot <= 5; boot++) streams.push(await openTestStream(registry, tenant, undefined, boot));
});
afterAll(() => database.close());

async function save(): Promise<readonly RefusedStreams[]> {
  const client = await database.pool.connect();
  try {
    await client.query('begin');
    const refused = await saveStreams(client, registry.takeDirty());
    await client.query('commit');
    return refused;
  } finally {
    client.release();
  }
}

const noteAll = (pairCounts: readonly number[]): void => {
  for (const [i, { streamId }] of streams.entries())
    registry.noteClock(streamId, { offsetNs: BigInt(1000 * i), atDeviceNs: 0n, skewPpm: i / 4, rmsNs: 10 * i, pairCount: pairCounts[i]! });
};
const saved = async (): Promise<unknown[]> =>
  (
    await database.pool.query(
      'select clock_offset_ns::integer as offset, clock_skew_ppm as skew, clock_rms_ns as rms, clock_pairs as pairs from stream order by id',
    )
  ).rows;

test('the clock fit of each stream is saved', async () => {
  noteAll([3, 5, 7, 9, 11]);
  expect(await save()).toEqual([]);
  expect(await saved()).toEqual([3, 5, 7, 9, 11].map((pairs, i) => ({ offset: 1000 * i, skew: i / 4, rms: 10 * i, pairs })));
});

test('a stream that the database refuses holds up no other, and is tried again', async () => {
  await database.pool.query('alter table stream add constraint no_13 check (clock_pairs <> 13)');
  noteAll([4, 6, 13, 10, 12]);
  const refused = await save();
  expect(refused).toMatchObject([{ streamIds: [streams[2]!.streamId], why: { constraint: 'no_13' } }]);
  expect(await saved()).toMatchObject([4, 6, 7, 10, 12].map((pairs) => ({ pairs })));
  await database.pool.query('alter table stream drop constraint no_13');
  expect(await save()).toEqual([]);
  expect(await saved()).toMatchObject([4, 6, 13, 10, 12].map((pairs) => ({ pairs })));
  expect(registry.takeDirty().count).toBe(0);
});

test('what is set aside belongs to the person of its stream, or the one named in it, so that it is erased with them', async () => {
  const { streamId, subjectId } = streams[0]!;
  const letter: Letter = { kind: 'measurement', streamId, reason: 'r', sqlState: '23514', logPosition: 1, content: { x: 1 }, bytes: null };
  await putAside(database.pool, [
    letter,
    { ...letter, streamId: null, subjectId, content: { x: 2 } },
    { ...letter, streamId: null, content: { x: 3 } },
  ]);
  const { rows } = await database.pool.query(`select xuser_id from set_aside order by content ->> 'x'`);
  expect(rows).toEqual([subjectId, subjectId, null].map((id) => ({ xuser_id: id })));
});
