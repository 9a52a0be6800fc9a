// Derived rows: stored in order, replaced whole, the same when written twice; measurements once per packet.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { build, run } from '../../src/storage/database/build.ts';
import type { DerivedBeat, DerivedFeature } from '../../src/storage/derived-steps.ts';
import { DerivedWriter } from '../../src/storage/derived-writer.ts';
import { putAside, type Letter } from '../../src/storage/set-aside.ts';
import { StreamRegistry, type OpenedStream } from '../../src/storage/stream-registry.ts';
import { testDatabase, type TestDatabase } from '../helpers/database.ts';
import { createTenant, openTestStream, testEpochNs, type TestTenant } from '../helpers/recording.ts';

const methods = ['derived:r_peaks_v2', 'derived:hr_ecg_v2'];
const second = 1_000_000_000n;
let database: TestDatabase;
let tenant: TestTenant;
let boot = 100;
beforeAll(async () => {
  database = await testDatabase();
  tenant = await createTenant(database);
});
afterAll(() => database.close());

const newStream = (): Promise<OpenedStream> => openTestStream(new StreamRegistry(database), tenant, undefined, ++boot);
const heartRate = (t: number, value: number, version = 2): DerivedFeature => ({
  feature: 'hr_ecg',
  channelNo: -1,
  tNs: BigInt(t) * second,
  value,
  qmask: 0,
  methodCode: `derived:hr_ecg_v${version}`,
});
const beat = (t: number, kind: DerivedBeat['kind'] = 'normal'): DerivedBeat => ({
  channelNo: 0,
  tNs: BigInt(t) * second + 123_000n,
  ibiMs: t === 0 ? NaN : 1000,
  kind,
  reason: kind === 'normal' ? '' : 'premature',
  confidence: kind === 'normal' ? NaN : 0.87,
  quality: 0,
  method: 'derived:r_peaks_v2',
});

async function stored(stream: OpenedStream): Promise<unknown> {
  const { rows } = await database.pool.query(
    `select (f.ts_ns - $2) / 1000000000 as t, f.value, m.code from feature f join method m on m.id = f.method_id where stream_id = $1 order by m.code, time`,
    [stream.streamId, testEpochNs.toString()],
  );
  return rows.map((row: { t: bigint; value: number; code: string }) => [Number(row.t), row.value, row.code]);
}

test('rows come back as they were added, exact in time and value', async () => {
  const stream = await newStream();
  const writer = new DerivedWriter(database, {
    currentMethods: methods,
    cadences: { hr_ecg: 1 },
    valueSteps: { 'derived:hr_ecg_v2': 0.01 },
  });
  await writer.add(
    { streamId: stream.streamId, beats: [beat(0), beat(1, 'ectopic')], features: [heartRate(1, 60.1), heartRate(2, NaN)], replaces: null },
    stream.epochNs,
  );
  expect(await stored(stream)).toEqual([
    [1, 60.1, 'derived:hr_ecg_v2'],
    [2, null, 'derived:hr_ecg_v2'],
  ]);
  const { rows } = await database.pool.query(
    'select ts_ns, interval_ms, kind, reason, confidence from beat where stream_id = $1 order by time',
    [stream.streamId],
  );
  expect(rows).toEqual([
    { ts_ns: testEpochNs + 123_000n, interval_ms: null, kind: 0, reason: '', confidence: null },
    { ts_ns: testEpochNs + second + 123_000n, interval_ms: 1000, kind: 1, reason: 'premature', confidence: 0.87 },
  ]);
  const { rows: made } = await run(database.pool, build.selectFrom('method').selectAll().where('name', '=', 'hr_ecg'));
  expect(made[0]).toMatchObject({ kind: 'feature', code: 'derived:hr_ecg_v2', cadence_hz: 1, step: 0.01, unit: '/min' });
  await writer.close();
});

test('a replaced range holds exactly the new rows; other methods, streams and times are untouched', async () => {
  const [stream, neighbour] = [await newStream(), await newStream()];
  const writer = new DerivedWriter(database, { currentMethods: methods });
  const old = [0, 1, 2, 3, 4, 5].map((t) => heartRate(t, t));
  for (const { streamId, epochNs } of [stream, neighbour])
    void writer.add({ streamId, beats: [], features: [...old, heartRate(3, -3, 1)], replaces: null }, epochNs);
  const replaces = { fromNs: 2n * second, toNs: 4n * second };
  void writer.add({ streamId: stream.streamId, beats: [], features: [heartRate(2, 20)], replaces }, stream.epochNs);
  await writer.add({ streamId: stream.streamId, beats: [], features: [heartRate(3, 30)], replaces: null }, stream.epochNs);
  const rest = [[3, -3, 'derived:hr_ecg_v1']];
  expect(await stored(stream)).toEqual([
    ...rest,
    ...[
      [0, 0],
      [1, 1],
      [2, 20],
      [3, 30],
      [4, 4],
      [5, 5],
    ].map((row) => [...row, 'derived:hr_ecg_v2']),
  ]);
  expect(await stored(neighbour)).toHaveLength(7);
  await writer.close();
});

test('rows written twice are stored once; the newest value of a key stays', async () => {
  const stream = await newStream();
  const writer = new DerivedWriter(database, { currentMethods: methods });
  const add = (value: number): Promise<void> =>
    writer.add(
      { streamId: stream.streamId, beats: [beat(1), beat(2)], features: [heartRate(1, value), heartRate(2, value)], replaces: null },
      stream.epochNs,
    );
  await add(1);
  void add(2);
  await add(3);
  expect(await stored(stream)).toEqual([
    [1, 3, 'derived:hr_ecg_v2'],
    [2, 3, 'derived:hr_ecg_v2'],
  ]);
  await add(4);
  expect(await stored(stream)).toEqual([
    [1, 4, 'derived:hr_ecg_v2'],
    [2, 4, 'derived:hr_ecg_v2'],
  ]);
  await writer.close();
});

test('a measurement of a packet is stored once, and a new code makes a new biosignal of the project', async () => {
  const stream = await newStream();
  const writer = new DerivedWriter(database, { currentMethods: methods });
  const of = (index: number, code: string) => ({
    streamId: stream.streamId,
    seq: 7,
    index,
    subjectId: tenant.subjectId,
    code,
    tsNs: testEpochNs,
    value: 97,
    unit: '%',
    quality: 0 as const,
  });
  const event = { streamId: stream.streamId, seq: 7, index: 0, code: 'button', tsNs: testEpochNs, text: 'pressed' };
  await writer.addReported([of(0, 'spo2'), of(1, 'hydration')], [event]);
  await writer.addReported([of(0, 'spo2'), of(1, 'hydration')], [event]);
  const { rows } = await database.pool.query(
    `select b.abbreviation, b.project_id is null as built_in, m.value, m.ts_ns from measurement m join biosignal b on b.id = m.biosignal_id where stream_id = $1 order by 1`,
    [stream.streamId],
  );
  expect(rows).toEqual([
    { abbreviation: 'HYDRATION', built_in: false, value: 97, ts_ns: testEpochNs },
    { abbreviation: 'SPO2', built_in: true, value: 97, ts_ns: testEpochNs },
  ]);
  expect((await database.pool.query('select code, content from device_event where stream_id = $1', [stream.streamId])).rows).toEqual([
    { code: 'button', content: 'pressed' },
  ]);
  await writer.close();
});

/** More steps than a row can hold. */
const BEYOND = 30_000_000;

test('when two writers replace one range at the same moment, the later one wins as a whole', async () => {
  const stream = await newStream();
  const first = new DerivedWriter(database, { currentMethods: methods });
  const other = new DerivedWriter(database, { currentMethods: methods });
  const replaces = { fromNs: 0n, toNs: 10n * second };
  const add = (writer: DerivedWriter, row: DerivedFeature): Promise<void> =>
    writer.add({ streamId: stream.streamId, beats: [], features: [row], replaces }, stream.epochNs);
  // The first one stops in its transaction, after it has read what is there.
  const holder = await database.connect();
  await holder.query('select pg_advisory_lock(77)');
  await database.pool.query(`create function wait_for_test() returns trigger language plpgsql as $$ begin
      if new.stream_id = ${stream.streamId} then perform pg_advisory_xact_lock_shared(77); end if; return new; end $$;
    create trigger wait_for_test before insert on feature_block for each row execute function wait_for_test()`);
  const waiting = async (): Promise<number> =>
    (await database.pool.query(`select from pg_locks where locktype = 'advisory' and not granted`)).rowCount!;
  const before = add(first, heartRate(1, 111));
  await expect.poll(waiting, { timeout: 10_000 }).toBe(1);
  let isStored = false;
  const after = add(other, heartRate(2, 222)).then(() => (isStored = true));
  await expect.poll(async () => isStored || (await waiting()) === 2, { timeout: 10_000 }).toBe(true);
  await holder.end();
  await Promise.all([before, after]);
  await database.pool.query('drop trigger wait_for_test on feature_block; drop function wait_for_test()');
  expect(await stored(stream)).toEqual([[2, 222, 'derived:hr_ecg_v2']]);
  await Promise.all([first.close(), other.close()]);
});

test('a replaced range loses its old rows also when the first of the new ones is refused', async () => {
  const stream = await newStream();
  const writer = new DerivedWriter(database, { currentMethods: methods });
  const of = (features: DerivedFeature[], replaces: { fromNs: bigint; toNs: bigint } | null): Promise<void> =>
    writer.add({ streamId: stream.streamId, beats: [], features, replaces }, stream.epochNs);
  await of(
    [1, 2, 3, 4].map((t) => heartRate(t, t)),
    null,
  );
  await of([heartRate(1, BEYOND), heartRate(3, 30)], { fromNs: 0n, toNs: 10n * second });
  expect(await stored(stream)).toEqual([[3, 30, 'derived:hr_ecg_v2']]);
  const letters = await database.pool.query(`select content -> 'features' -> 0 ->> 'value' as value from set_aside where stream_id = $1`, [
    stream.streamId,
  ]);
  expect(letters.rows).toEqual([{ value: String(BEYOND) }]);
  await writer.close();
});

test('a replaced range loses its old rows also when so much is refused that its rows are set aside together', async () => {
  const [refused, stream] = [await newStream(), await newStream()];
  const writer = new DerivedWriter(database, { currentMethods: methods });
  const of = ({ streamId, epochNs }: OpenedStream, features: DerivedFeature[], replaces: { fromNs: bigint; toNs: bigint } | null) =>
    writer.add({ streamId, beats: [], features, replaces }, epochNs);
  await of(
    stream,
    [1, 2, 3, 20].map((t) => heartRate(t, t)),
    null,
  );
  const many = Array.from({ length: 250 }, (_, t) => heartRate(t, BEYOND));
  await Promise.all([of(refused, many, null), of(stream, [heartRate(1, BEYOND), heartRate(3, 30)], { fromNs: 0n, toNs: 10n * second })]);
  expect(await stored(stream)).toEqual([[20, 20, 'derived:hr_ecg_v2']]);
  const letters = await database.pool.query(
    `select json_array_length(content -> 'features') as count, content ->> 'replaces' as replaces from set_aside where stream_id = $1`,
    [stream.streamId],
  );
  expect(letters.rows).toEqual([{ count: 2, replaces: null }]);
  await writer.close();
});

test('a row set aside twice at once is kept once, with the last reason', async () => {
  const { streamId } = await newStream();
  const letter: Letter = { kind: 'derived', streamId, reason: 'one', sqlState: null, logPosition: null, content: { n: 1 }, bytes: null };
  const client = await database.connect();
  await putAside(client, [letter, { ...letter, content: { n: 2 } }, { ...letter, reason: 'another' }]);
  await client.end();
  const { rows } = await database.pool.query(`select content, reason from set_aside where stream_id = $1 order by content ->> 'n'`, [
    streamId,
  ]);
  expect(rows).toEqual([
    { content: { n: 1 }, reason: 'another' },
    { content: { n: 2 }, reason: 'one' },
  ]);
});
