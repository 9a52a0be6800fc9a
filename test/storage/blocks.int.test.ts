// Samples pushed in any order, cut and repetition are in sample_block once, in the same rows.
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { gridCeil, type ChannelNo, type SampleRun } from '../../src/signal.ts';
import { encodeBlock } from '../../src/storage/block-codec.ts';
import { BlockWriter } from '../../src/storage/block-writer.ts';
import { resumePoints } from '../../src/storage/resume-point.ts';
import { runsOf } from '../../src/storage/sample-rows.ts';
import { StreamRegistry, type OpenedStream } from '../../src/storage/stream-registry.ts';
import { testDatabase, until, type TestDatabase } from '../helpers/database.ts';
import { createTenant, openTestStream, testEpochNs, testRun, testSample, type TestTenant } from '../helpers/recording.ts';

let database: TestDatabase;
let tenant: TestTenant;
let boot = 0;
beforeAll(async () => {
  database = await testDatabase();
  tenant = await createTenant(database);
});
afterAll(() => database.close());

const newStream = (): Promise<OpenedStream> => openTestStream(new StreamRegistry(database), tenant, undefined, ++boot);
const ratesOf = (stream: OpenedStream): number[] => stream.channels.map((channel) => channel.rateNanoHz);

type Row = { time: string; start_ns: bigint; channel_no: number; n: number; min: number; max: number; mean: number; codec: Buffer };

async function rowsOf(stream: OpenedStream): Promise<Row[]> {
  const { rows } = await database.pool.query<Row>(
    `select time::text, start_ns, channel_no, n, min, max, mean, codec from sample_block where stream_id = $1 order by channel_no, time`,
    [stream.streamId],
  );
  return rows;
}

const samplesOf = (rows: readonly Row[], channelNo: number): number[][] =>
  rows
    .filter((row) => row.channel_no === channelNo)
    .flatMap((row) => runsOf(row.codec).flatMap((run) => Array.from(run.samples, (x, i) => [run.k0 + i, x])));

/** Cuts [0, n) of a channel at the given places. */
function pieces(channelNo: number, n: number, cuts: readonly number[]): SampleRun[] {
  const edges = [0, ...[...new Set(cuts)].filter((cut) => cut > 0 && cut < n).sort((a, b) => a - b), n];
  return edges.slice(1).map((to, i) => testRun(channelNo, edges[i]!, to - edges[i]!));
}

// promise: rows-of-samples
test('whole stretches of 4 s become one row each, with exact times and statistics', async () => {
  const stream = await newStream();
  const writer = new BlockWriter(database);
  for (let k = 0; k < 3000; k += 25) writer.push(stream.streamId, stream.epochNs, ratesOf(stream), [testRun(0, k, 25)], 1);
  await until(() => writer.safePosition() === Infinity);
  const rows = await rowsOf(stream);
  expect(rows.map((row) => row.n)).toEqual([1000, 1000, 1000]);
  expect(rows[1]!.start_ns).toBe(testEpochNs + 4_000_000_000n);
  expect(rows[1]!.time).toBe('2026-01-01 00:00:04.123456+00');
  const values = Array.from({ length: 1000 }, (_, i) => testSample(0, 1000 + i));
  expect(rows[1]!.min).toBe(Math.min(...values));
  expect(rows[1]!.max).toBe(Math.max(...values));
  expect(Math.fround(rows[1]!.mean)).toBe(Math.fround(values.reduce((a, b) => a + b) / 1000));
  await writer.close();
});

// promise: grid
test('samples in any order, cut and repetition, written in any batches, give the same rows', async () => {
  const reference = await newStream();
  const n = 2200; // 16.9 s at 130.1 Hz, 8.8 s at 250 Hz
  const plain = new BlockWriter(database);
  plain.push(reference.streamId, reference.epochNs, ratesOf(reference), [testRun(0, 0, n), testRun(1, 0, n)], 1);
  await plain.close();
  const expected = await rowsOf(reference);
  expect(samplesOf(expected, 1)).toEqual(Array.from({ length: n }, (_, k) => [k, testSample(1, k)]));
  const shuffled = fc.array(fc.integer({ min: 1, max: n - 1 }), { maxLength: 12 }).chain((cuts) => {
    const all = [...pieces(0, n, cuts), ...pieces(1, n, cuts), ...pieces(1, n, cuts.slice(0, 3))];
    return fc.tuple(fc.shuffledSubarray(all, { minLength: all.length }), fc.array(fc.nat({ max: all.length }), { maxLength: 4 }));
  });
  await fc.assert(
    fc.asyncProperty(shuffled, async ([runs, flushes]) => {
      const stream = await newStream();
      const writer = new BlockWriter(database);
      for (const [i, run] of runs.entries()) {
        writer.push(stream.streamId, stream.epochNs, ratesOf(stream), [run], 1);
        if (flushes.includes(i)) await writer.flush();
      }
      await writer.close();
      expect(await rowsOf(stream)).toEqual(expected);
    }),
    { numRuns: 25 },
  );
});

test('however much waits, a statement stores a bounded part of it: one that is too long for its timeout would be for ever', async () => {
  const stream = await newStream();
  const writer = new BlockWriter(database, { batchBytesMax: 4096, lingerMs: 60_000 });
  // As when the log is read back: all of it before the first statement.
  writer.push(stream.streamId, stream.epochNs, ratesOf(stream), [testRun(0, 0, 100_000)], 1);
  await writer.flush();
  const { rows } = await database.pool.query<{ commits: number; rows: number }>(
    'select count(distinct xmin::text)::int as commits, count(*)::int as rows from sample_block where stream_id = $1',
    [stream.streamId],
  );
  expect(rows[0]!.rows).toBe(100);
  expect(rows[0]!.commits).toBeGreaterThan(5);
  await writer.close();
});

// job: incomplete-rows
test('a second with a hole is stored after a while, and completed when the rest comes', async () => {
  const stream = await newStream();
  const writer = new BlockWriter(database, { incompleteAfterMs: 100, lingerMs: 10 });
  writer.push(stream.streamId, stream.epochNs, ratesOf(stream), [testRun(0, 0, 100), testRun(0, 150, 100)], 1);
  await until(async () => (await rowsOf(stream)).length === 1);
  expect((await rowsOf(stream))[0]!.n).toBe(200);
  expect(runsOf((await rowsOf(stream))[0]!.codec)).toHaveLength(2);
  writer.push(stream.streamId, stream.epochNs, ratesOf(stream), [testRun(0, 90, 70)], 2);
  await until(async () => (await rowsOf(stream))[0]!.n === 250);
  expect(samplesOf(await rowsOf(stream), 0)).toEqual(Array.from({ length: 250 }, (_, k) => [k, testSample(0, k)]));
  await writer.close();
});

// promise: contradictions
test('samples that contradict stored ones are kept next to them', async () => {
  const stream = await newStream();
  const writer = new BlockWriter(database);
  writer.push(stream.streamId, stream.epochNs, ratesOf(stream), [testRun(0, 0, 250)], 1);
  await writer.flush();
  const other: SampleRun = { channelNo: 0 as ChannelNo, k0: 10, samples: Int32Array.of(5, 6, 7), qmask: Uint8Array.of(0, 2, 0) };
  writer.push(stream.streamId, stream.epochNs, ratesOf(stream), [other], 2);
  await writer.close();
  const [row] = await rowsOf(stream);
  expect(row!.n).toBe(253);
  expect(runsOf(row!.codec).map((run) => [run.k0, run.samples.length])).toEqual([
    [0, 250],
    [10, 3],
  ]);
});

// promise: old-rows, rows-of-samples
test('a row holds several seconds, the same however they come; rows of one second that were there before become part of it', async () => {
  const stream = await newStream();
  const slow = 1; // 130.1 Hz
  const rates = ratesOf(stream);
  const kOf = (second: number): number => gridCeil(BigInt(second) * 1_000_000_000n, rates[slow]!);
  const all = kOf(16);
  const writer = new BlockWriter(database);
  for (let k = 0; k < all; k += 13) writer.push(stream.streamId, stream.epochNs, rates, [testRun(slow, k, Math.min(13, all - k))], 1);
  await writer.flush();
  const whole = await rowsOf(stream);
  expect(whole.map((row) => [row.n, row.time])).toEqual([
    [kOf(8), '2026-01-01 00:00:00.123456+00'],
    [all - kOf(8), '2026-01-01 00:00:08.123456+00'],
  ]);
  expect(await writer.loadRuns(stream.streamId, slow as ChannelNo, stream.epochNs, rates[slow]!, 1_000_000_000n, 2_000_000_000n)).toEqual([
    { k0: kOf(1), samples: Int32Array.from({ length: kOf(2) - kOf(1) }, (_, i) => testSample(slow, kOf(1) + i)), qmask: null },
  ]);
  await writer.close();
  // as the release before wrote them
  const { rows: parts } = await database.pool.query<{ codec: Buffer }>(
    'select codec from sample_block where stream_id = $1 order by time',
    [stream.streamId],
  );
  await database.pool.query('delete from sample_block where stream_id = $1', [stream.streamId]);
  const [run] = runsOf(parts[0]!.codec);
  for (const second of [0, 1]) {
    const samples = run!.samples.slice(kOf(second), kOf(second + 1));
    await database.pool.query(
      `insert into sample_block (time, start_ns, stream_id, n, min, max, mean, channel_no, suspect_n, bad_n, codec)
       values (timestamptz '2026-01-01 00:00:00.123456+00' + $1 * interval '1 second', 0, $2, $5, 0, 0, 0, $3, 0, 0, $4)`,
      [second, stream.streamId, slow, encodeBlock([{ k0: kOf(second), samples, qmask: null }]), samples.length],
    );
  }
  const again = new BlockWriter(database);
  again.push(stream.streamId, stream.epochNs, rates, [testRun(slow, 0, all)], 2);
  await again.close();
  expect(await rowsOf(stream)).toEqual(whole);
});

// A release before wrote a second to a row; of a row of ours it may have only one that begins within it, so that the key shows nothing.
// promise: old-rows
test('half of a longer row that an earlier release stored is merged when the device replays', async () => {
  const stream = await newStream();
  const slow = 1; // 130.1 Hz
  const rates = ratesOf(stream);
  const kOf = (second: number): number => gridCeil(BigInt(second) * 1_000_000_000n, rates[slow]!);
  const whole = await (async () => {
    const reference = await newStream();
    const writer = new BlockWriter(database);
    writer.push(reference.streamId, reference.epochNs, rates, [testRun(slow, 0, kOf(16))], 1);
    await writer.close();
    return rowsOf(reference);
  })();
  for (const second of [3, 13]) {
    const [k0, end] = [kOf(second), kOf(second + 1)];
    const samples = Int32Array.from({ length: end - k0 }, (_, i) => testSample(slow, k0 + i));
    await database.pool.query(
      `insert into sample_block (time, start_ns, stream_id, n, min, max, mean, channel_no, suspect_n, bad_n, codec)
       values (timestamptz '2026-01-01 00:00:00.123456+00' + $1 * interval '1 second', 0, $2, $5, 0, 0, 0, $3, 0, 0, $4)`,
      [second, stream.streamId, slow, encodeBlock([{ k0, samples, qmask: null }]), samples.length],
    );
  }
  const writer = new BlockWriter(database);
  for (let second = 0; second < 16; second++) {
    const k0 = kOf(second);
    writer.push(stream.streamId, stream.epochNs, rates, [testRun(slow, k0, kOf(second + 1) - k0)], 2);
    if (second % 4 === 1) await writer.flush();
  }
  await writer.close();
  expect(await rowsOf(stream)).toEqual(whole);
});

test('a stream goes on after its last sample, though its newest row has holes', async () => {
  const stream = await newStream();
  const writer = new BlockWriter(database);
  for (const [k, n] of [[0, 1000], [1100, 25], [1700, 25]] as const) writer.push(stream.streamId, stream.epochNs, ratesOf(stream), [testRun(0, k, n)], 1); // prettier-ignore
  await writer.close();
  const other = await newStream();
  expect(await resumePoints(database, [other, stream])).toEqual([null, { fromNs: 0n, toNs: 6_900_000_000n, rowsToNs: 0n }]);
});

test('reads back what is stored, sealed and still open, once', async () => {
  const stream = await newStream();
  const writer = new BlockWriter(database, { lingerMs: 10_000, incompleteAfterMs: 10_000 });
  const rates = ratesOf(stream);
  writer.push(stream.streamId, stream.epochNs, rates, [testRun(0, 0, 500)], 1);
  await writer.flush();
  writer.push(stream.streamId, stream.epochNs, rates, [testRun(0, 400, 420)], 2);
  const runs = await writer.loadRuns(stream.streamId, 0 as ChannelNo, stream.epochNs, rates[0]!, 0n, 10_000_000_000n);
  expect(runs).toHaveLength(1);
  expect(runs[0]!.k0).toBe(0);
  expect([...runs[0]!.samples]).toEqual(Array.from({ length: 820 }, (_, k) => testSample(0, k)));
  expect(writer.safePosition()).toBe(1);
  const middle = await writer.loadRuns(stream.streamId, 0 as ChannelNo, stream.epochNs, rates[0]!, 1_500_000_000n, 2_000_000_000n);
  expect(middle[0]!.k0).toBe(gridCeil(1_000_000_000n, rates[0]!));
  await writer.close();
});

test('a full row is stored at once, and a stream that closes stores its own open rows alone', async () => {
  const [one, other] = [await newStream(), await newStream()];
  const writer = new BlockWriter(database, { lingerMs: 1, incompleteAfterMs: 600_000 });
  const push = (stream: OpenedStream, k: number, n: number): void =>
    writer.push(stream.streamId, stream.epochNs, ratesOf(stream), [testRun(0, k, n)], 1);
  push(one, 0, 1000);
  await until(async () => (await rowsOf(one)).length === 1);
  push(one, 1000, 100);
  push(other, 0, 100);
  await writer.closeStream(one.streamId);
  expect((await rowsOf(one)).map(({ n }) => n)).toEqual([1000, 100]);
  expect(await rowsOf(other)).toEqual([]);
  await writer.close();
});

test('recent samples are those of the rows that are asked for, not of all that are open', async () => {
  const stream = await newStream();
  const writer = new BlockWriter(database, { lingerMs: 600_000, incompleteAfterMs: 600_000 });
  for (let sec = 0; sec < 40; sec += 4) writer.push(stream.streamId, stream.epochNs, ratesOf(stream), [testRun(0, sec * 250, 500)], 1);
  const starts = (fromSec: bigint, toSec: bigint): number[] =>
    writer.recentRuns(stream.streamId, 0 as ChannelNo, fromSec * 1_000_000_000n, toSec * 1_000_000_000n).map(({ k0 }) => k0 / 250);
  expect(starts(8n, 17n)).toEqual([8, 12, 16]);
  expect(starts(11n, 12n)).toEqual([8]);
  expect(starts(12n, 12n)).toEqual([]);
  expect(writer.queueBytes).toBeGreaterThan(10 * 500);
  await writer.flush();
  expect(writer.queueBytes).toBe(0);
  await writer.close();
});

test('a row that the table refuses is set aside, and those of its batch are stored', async () => {
  const db = await testDatabase();
  const stream = await openTestStream(new StreamRegistry(db), await createTenant(db), undefined, 1);
  await db.pool.query('alter table sample_block add constraint no_333 check (n <> 333)');
  const refused: number[] = [];
  const writer = new BlockWriter(db, { lingerMs: 600_000, incompleteAfterMs: 600_000, onSetAside: () => void refused.push(1) });
  for (const [sec, n] of [[0, 100], [4, 333], [8, 101], [12, 102], [16, 103]] as const) writer.push(stream.streamId, stream.epochNs, ratesOf(stream), [testRun(0, sec * 250, n)], 1); // prettier-ignore
  await writer.flush();
  const { rows } = await db.pool.query<{ n: number }>('select n from sample_block order by time');
  expect(rows.map(({ n }) => n)).toEqual([100, 101, 102, 103]);
  const { rows: aside } = await db.pool.query('select 1 from set_aside');
  expect([aside.length, refused.length]).toEqual([1, 1]);
  await writer.close();
  await db.close();
});

test('the writer goes on when its connection is cut at any time', async () => {
  const stream = await newStream();
  const writer = new BlockWriter(database, { lingerMs: 1 });
  for (let second = 0; second < 40; second++) {
    writer.push(stream.streamId, stream.epochNs, ratesOf(stream), [testRun(0, second * 250, 250), testRun(1, second * 130, 130)], 1);
    if (second % 4 === 0) {
      await database.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query ~ '^(copy|begin|commit|set|select ensure)' and pid <> pg_backend_pid()`,
      );
    }
    await sleep(5);
  }
  await writer.close();
  const rows = await rowsOf(stream);
  expect(samplesOf(rows, 0)).toHaveLength(40 * 250);
  expect(samplesOf(rows, 1)).toHaveLength(40 * 130);
});
