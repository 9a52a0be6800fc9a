/** A pool whose workers die, whose data comes late or cannot be read back, and whose streams pause, close and are flushed anywhere: the
 *  rows are those of a recomputation. Takes minutes (scripts/long-tests.ts). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ChannelNo, SampleRun, StreamId } from '../../signal.ts';
import {
  RowTable,
  differences,
  fixtureChannels as channels,
  loadFrom,
  madeUpStream,
  packets,
  seeded,
  withoutStretches,
} from '../testing/fixture.ts';
import {
  closePools,
  failingWorker,
  from,
  lengthSec,
  nanos,
  newPool,
  reference,
  rowsOf,
  send,
  short,
  slowWorker,
  startSec,
  stream,
  whole,
} from '../testing/pools.ts';
import type { FeaturePool } from './pool.ts';
import type { QuarantinedBatch } from './options.ts';

vi.setConfig({ testTimeout: 180_000 });
/** How many deaths of a failing worker are left: a file, which its threads read. */
let deaths: string;
beforeAll(() => {
  deaths = join(mkdtempSync(join(tmpdir(), 'bio-deaths-')), 'left');
});
afterAll(() => rmSync(join(deaths, '..'), { recursive: true }));
afterEach(async () => {
  delete process.env.BIO_TEST_DEATHS;
  await closePools();
});

describe('live equals recomputed, whatever happens', () => {
  // promise: worker-dies
  test('two workers killed on the way', async () => {
    writeFileSync(deaths, '2');
    process.env.BIO_TEST_DEATHS = deaths;
    const table = new RowTable();
    const pool = newPool(table, { workerUrl: failingWorker });
    pool.openStream(stream, channels);
    await send(pool, from(stream, packets(whole, channels, seeded(10), 0.4, 0.8)), (i) => (i % 20 === 0 ? sleep(3) : undefined));
    expect(pool.stats().crashCount).toBe(2);
    expect(table.errors).toEqual([]);
    expect(differences(rowsOf(table, stream), await reference())).toEqual([]);
  });

  test('what is computed again beyond what waits for the worker costs none of the rows that wait', async () => {
    const table = new RowTable();
    const pool = newPool(table);
    pool.openStream(stream, channels);
    // A worker is minutes behind at this moment, as where a recording is imported.
    for (const packet of packets(whole, channels, seeded(32), 0.4, 0.8)) expect(pool.push(stream, packet)).toBe('accepted');
    await pool.recompute(stream, nanos(startSec + lengthSec - 2), nanos(startSec + lengthSec));
    await pool.settle();
    await pool.idleFlush(0);
    expect(table.errors).toEqual([]);
    expect(differences(rowsOf(table, stream), await reference())).toEqual([]);
  });

  test('samples that were refused as the newest are read back, too', async () => {
    const table = new RowTable();
    const pool = newPool(table);
    pool.openStream(stream, channels);
    const sent = packets(whole, channels, seeded(33), 0.4, 0.8);
    const [most, last] = [Math.floor(sent.length * 0.8), Math.floor(sent.length * 0.9)];
    for (const packet of sent.slice(0, most)) expect(pool.push(stream, packet)).toBe('accepted');
    const owed = sent.slice(most, last).flat();
    const secOf = ({ channelNo, k0 }: SampleRun, n = 0): number => ((k0 + n) * 1e9) / channels[channelNo]!.rateNanoHz;
    const [fromSec, toSec] = [Math.min(...owed.map((run) => secOf(run))), Math.max(...owed.map((run) => secOf(run, run.samples.length)))];
    await pool.recompute(stream, nanos(fromSec), nanos(toSec));
    await send(pool, from(stream, sent.slice(last)));
    expect(table.errors).toEqual([]);
    expect(differences(rowsOf(table, stream), await reference())).toEqual([]);
  });

  test.each([
    ['while they are computed', false],
    ['when they have been computed', true],
  ])('the first samples of a stream were refused, and later ones are taken %s', async (_, isAwaited) => {
    const table = new RowTable();
    const sent = packets(whole, channels, seeded(34), 0.4, 0.8);
    const refused = Math.floor(sent.length * 0.3);
    const secOf = ({ channelNo, k0 }: SampleRun, n = 0): number => ((k0 + n) * 1e9) / channels[channelNo]!.rateNanoHz;
    const owed = sent.slice(0, refused).flat();
    const [fromSec, toSec] = [Math.min(...owed.map((run) => secOf(run))), Math.max(...owed.map((run) => secOf(run, run.samples.length)))];
    const stored = owed.slice();
    const pool = newPool(table, { lateWaitMs: 10, loadRuns: (...args) => loadFrom(stored, channels)(...args) });
    pool.openStream(stream, channels);
    const computed = pool.recompute(stream, nanos(fromSec), nanos(toSec));
    await (isAwaited ? computed : sleep(20));
    for (const packet of sent.slice(refused)) {
      stored.push(...packet);
      expect(pool.push(stream, packet)).toBe('accepted');
    }
    await computed;
    await expect.poll(() => pool.isSettled(stream), { timeout: 20_000 }).toBe(true);
    await pool.settle();
    await pool.idleFlush(0);
    expect(table.errors).toEqual([]);
    expect(differences(rowsOf(table, stream), await reference())).toEqual([]);
  });

  test('a worker that dies again while a stream is read back does not make it be read from further back', async () => {
    process.env.BIO_TEST_DEATHS = deaths;
    const table = new RowTable();
    const readFromSec: number[] = [];
    const stored = loadFrom(whole, channels);
    const pool = newPool(table, {
      workerUrl: failingWorker,
      loadRuns: (id, no, fromNs, toNs) => {
        readFromSec.push(Number(fromNs) / 1e9);
        return stored(id, no, fromNs, toNs);
      },
    });
    pool.openStream(stream, channels);
    const sent = packets(whole, channels, seeded(31), 0.4, 0.8);
    const most = Math.floor(sent.length * 0.9);
    await send(pool, from(stream, sent.slice(0, most)));
    expect(readFromSec).toEqual([]);
    writeFileSync(deaths, '2');
    await send(pool, from(stream, sent.slice(most)));
    expect(pool.stats().crashCount).toBe(2);
    expect(Math.min(...readFromSec)).toBe(readFromSec[0]);
    expect(table.errors).toEqual([]);
    expect(differences(rowsOf(table, stream), await reference())).toEqual([]);
  });
});

describe('wall time decides when, never what', () => {
  const runs = withoutStretches(whole, channels, [[startSec + 170, startSec + lengthSec]]).map((run) => fromZero(run));
  /** The same recording, from the first second of a boot: what has never been final is there, too. */
  function fromZero(run: SampleRun): SampleRun {
    return { ...run, k0: run.k0 - Math.ceil((startSec * channels[run.channelNo]!.rateNanoHz) / 1e9) };
  }
  const endSecOf = (packet: readonly SampleRun[]): number =>
    Math.max(...packet.map((run) => (run.k0 + run.samples.length) / (channels[run.channelNo]!.rateNanoHz / 1e9)));

  // a long run: BIO_SILENCE_RUNS=200 BIO_SILENCE_SEED=5 npm test -- src/dsp/pool/pool-faults.test.ts -t anywhere
  const [seed, numRuns] = [Number(process.env['BIO_SILENCE_SEED'] ?? 7), Number(process.env['BIO_SILENCE_RUNS'] ?? 10)];
  const silences = fc.record({
    /** Which of the channels the stream has. */
    kinds: fc.constantFrom(/./, /^ecg/, /^(ppg|acc)/, /^(eda|temp)/, /^(ecg.i$|temp)/),
    cutSeed: fc.integer({ min: 1, max: 1e6 }),
    packetSec: fc.constantFrom(0.2, 1, 5),
    /** Device time of the first flush: nothing has been final for long, s. */
    flushSec: fc.oneof(fc.double({ min: 1, max: 6, noNaN: true }), fc.double({ min: 6, max: 40, noNaN: true })),
    /** Device time at which it is flushed, left out for a while, or continued by another process. */
    stops: fc.array(
      fc.record({
        sec: fc.oneof(
          fc.double({ min: 0, max: 20, noNaN: true }),
          fc.double({ min: 0, max: 170, noNaN: true }),
          fc.constantFrom(63.9, 64, 64.1, 128),
        ),
        event: fc.constantFrom('flush', 'flush', 'flush', 'restart', 'close', 'pause'),
      }),
      { maxLength: 5 },
    ),
    /** Packets that come later, and how many packets later. */
    late: fc.array(fc.record({ at: fc.double({ min: 0, max: 0.99, noNaN: true }), by: fc.integer({ min: 1, max: 200 }) }), {
      maxLength: 4,
    }),
    /** Nothing of the device between these, s. */
    gap: fc.option(fc.tuple(fc.double({ min: 0, max: 150, noNaN: true }), fc.constantFrom(0.5, 5, 16.5, 18, 40))),
  });

  test(
    `flushed, restarted, closed and delayed anywhere: the rows are those of a recomputation (seed ${seed})`,
    async () => {
      await fc.assert(
        fc.asyncProperty(silences, async ({ kinds, cutSeed, packetSec, flushSec, stops, late, gap }) => {
          const chosen = channels.map((_, no) => no).filter((no) => kinds.test(channels[no]!.code));
          const own = chosen.map((no) => channels[no]!);
          const sent = withoutStretches(runs, channels, gap === null ? [] : [[gap[0], gap[0] + gap[1]]])
            .filter(({ channelNo }) => chosen.includes(channelNo))
            .map((run) => ({ ...run, channelNo: chosen.indexOf(run.channelNo) as ChannelNo }));
          const cut = packets(sent, own, seeded(cutSeed), packetSec / 2, packetSec);
          const order = cut.map((packet, i) => ({ packet, i, at: i }));
          for (const { at, by } of late) order[Math.floor(at * order.length)]!.at += by + 0.5;
          order.sort((a, b) => a.at - b.at);

          const wanted = new RowTable();
          const reprocess = newPool(wanted, { loadRuns: loadFrom(sent, own) });
          reprocess.openStream(stream, own);
          await reprocess.computeRows(stream, 0n, nanos(770));

          const table = new RowTable();
          let stored: SampleRun[] = [];
          const begin = (): FeaturePool => newPool(table, { loadRuns: (...args) => loadFrom(stored, own)(...args) });
          let pool = begin();
          pool.openStream(stream, own);
          const goOn = (): void => {
            const fsOf = (run: SampleRun): number => own[run.channelNo]!.rateNanoHz / 1e9;
            const toSec = Math.max(0, ...stored.map((run) => (run.k0 + run.samples.length) / fsOf(run)));
            const rowsToNs = table.newestNs;
            const fromNs = rowsToNs > nanos(128) ? rowsToNs - nanos(128) : 0n;
            pool.openStream(stream, own, stored.length === 0 && rowsToNs === 0n ? undefined : { fromNs, toNs: nanos(toSec), rowsToNs });
          };
          const due = [{ sec: flushSec, event: 'flush' }, ...stops].sort((a, b) => a.sec - b.sec);
          for (const { packet } of order) {
            for (; due.length > 0 && due[0]!.sec <= endSecOf(packet); due.shift()) {
              const { event } = due[0]!;
              if (event === 'pause') await sleep(30);
              if (event === 'flush' || event === 'restart') {
                await pool.settle();
                await pool.idleFlush(0);
              }
              if (event === 'restart') {
                await pool.close();
                pool = begin();
                goOn();
              }
              if (event === 'close') {
                await pool.closeStream(stream);
                goOn();
              }
            }
            stored = [...stored, ...packet];
            while (pool.push(stream, packet) === 'busy') await sleep(1);
          }
          await pool.settle();
          await pool.idleFlush(0);
          await pool.close();
          await reprocess.close();
          expect(table.errors).toEqual([]);
          expect(differences(rowsOf(table, stream), rowsOf(wanted, stream))).toEqual([]);
        }),
        { seed, numRuns },
      );
    },
    60_000 + 10_000 * numRuns,
  );
});

test('late data at the opening of a stream, computed before the worker has answered once, leaves nothing behind', async () => {
  // beats at 1.7 and 2.4 s are found where the data ends at 2.8 s, and nowhere else
  const own = channels.filter(({ code }) => /^(ecg|ppg|eda|temp|acc)/.test(code));
  const all = packets(madeUpStream(33, 0, 60, own), own, seeded(22), 0.8, 1.2);
  let stored: SampleRun[] = [];
  const [wanted, table] = [new RowTable(), new RowTable()];
  const reprocess = newPool(wanted, { loadRuns: loadFrom(all.flat(), own) });
  reprocess.openStream(stream, own);
  await reprocess.computeRows(stream, 0n, nanos(660));

  const pool = newPool(table, { workerUrl: slowWorker, lateWaitMs: 10, loadRuns: (...args) => loadFrom(stored, own)(...args) });
  pool.openStream(stream, own);
  const push = (packet: SampleRun[]): void => {
    stored = [...stored, ...packet];
    pool.push(stream, packet);
  };
  for (const packet of all.slice(0, 3)) push(packet);
  pool.markLate(stream, 0n, nanos(2.8));
  await expect.poll(() => pool.stats().recomputeCount, { timeout: 20_000 }).toBe(1);
  await pool.settle();
  for (const packet of all.slice(3)) push(packet);
  await pool.settle();
  await pool.idleFlush(0);
  expect(table.errors).toEqual([]);
  expect(differences(rowsOf(table, stream), rowsOf(wanted, stream))).toEqual([]);
});

describe('late data that cannot be read back', () => {
  test('stays owed through any number of failures, and is computed when it can be', async () => {
    const table = new RowTable();
    const faults: string[] = [];
    let failing = false;
    let failedCount = 0;
    const stored = loadFrom(short, channels);
    const pool = newPool(table, {
      retryMs: 1,
      lateWaitMs: 10,
      onFault: (message) => faults.push(message),
      loadRuns: (...args) => {
        if (!failing) return stored(...args);
        failedCount++;
        return Promise.reject(new Error('the database is away'));
      },
    });
    pool.openStream(stream, channels);
    const sent = packets(short, channels, seeded(16), 0.9, 1.1);
    const late = [30, 60, 90, 120, 150].map((i) => sent[i]!);
    for (const packet of sent) if (!late.includes(packet)) pool.push(stream, packet);
    await pool.settle();
    // every one of them fails once or more, as on a bad day; more often in all than anybody would count
    failing = true;
    for (const packet of late) {
      pool.push(stream, packet);
      const before = faults.length;
      await expect.poll(() => faults.length, { timeout: 20_000 }).toBeGreaterThan(before + 1);
      await pool.settle(); // it comes to an end although nothing can be read
      expect(pool.isSettled(stream)).toBe(false);
    }
    expect(failedCount).toBeGreaterThan(40);
    failing = false;
    await expect.poll(() => pool.isSettled(stream), { timeout: 20_000 }).toBe(true);
    await pool.idleFlush(0);
    expect(differences(rowsOf(table, stream), await reference(short))).toEqual([]);
  });

  test('a stream that cannot be read back takes no room from others, and is computed when it can be', async () => {
    const [table, healthy] = [new RowTable(), 8 as StreamId];
    let failing = false;
    const stored = loadFrom(short, channels);
    const faults: string[] = [];
    const queueBytesMax = 1 << 18;
    const pool = newPool(table, {
      retryMs: 1,
      lateWaitMs: 10,
      queueBytesMax,
      onFault: (message) => faults.push(message),
      loadRuns: (id, ...args) => (failing && id === stream ? Promise.reject(new Error('the row cannot be read')) : stored(id, ...args)),
    });
    for (const id of [stream, healthy]) pool.openStream(id, channels);
    const sent = packets(short, channels, seeded(23), 0.9, 1.1);
    const late = [sent[20]!, sent[61]!];
    const [begun, rest] = [sent.slice(0, 60), sent.slice(60)];
    const push = async (id: StreamId, packet: SampleRun[]): Promise<void> => {
      await expect.poll(() => pool.push(id, packet), { timeout: 20_000, interval: 1 }).toBe('accepted');
    };
    for (const packet of begun) if (!late.includes(packet)) for (const id of [stream, healthy]) await push(id, packet);
    await pool.settle();
    failing = true;
    for (const id of [stream, healthy]) await push(id, late[0]!);
    await expect.poll(() => faults.length, { timeout: 20_000 }).toBeGreaterThan(0);
    // more than the queue may hold: none of it waits in memory
    const bytes = rest.flat().reduce((sum, run) => sum + run.samples.byteLength, 0);
    expect(bytes).toBeGreaterThan(1.5 * queueBytesMax);
    for (const packet of rest) if (!late.includes(packet)) for (const id of [stream, healthy]) await push(id, packet);
    for (const id of [stream, healthy]) await push(id, late[1]!);
    await expect.poll(() => pool.stats().queueBytes, { timeout: 20_000 }).toBe(0);
    await expect.poll(() => pool.isSettled(healthy), { timeout: 20_000 }).toBe(true);
    expect(pool.isSettled(stream)).toBe(false);
    failing = false;
    await expect.poll(() => pool.isSettled(stream), { timeout: 20_000 }).toBe(true);
    await pool.settle();
    await pool.idleFlush(0);
    const wanted = await reference(short);
    expect(differences(rowsOf(table, healthy), wanted)).toEqual([]);
    expect(differences(rowsOf(table, stream), wanted)).toEqual([]);
  });

  // promise: worker-quarantine
  test('is computed without what kills workers, and other streams go on', async () => {
    const sick = short.map((run) => ({ ...run, samples: run.samples.slice() as Int32Array }));
    const quarantined: QuarantinedBatch[] = [];
    const pool = newPool(new RowTable(), {
      workerUrl: failingWorker,
      retryMs: 1,
      lateWaitMs: 10,
      onQuarantine: (batch) => quarantined.push(batch),
      loadRuns: loadFrom(sick, channels),
    });
    pool.openStream(stream, channels);
    const clean = packets(short, channels, seeded(17), 0.9, 1.1);
    for (const packet of clean) pool.push(stream, packet);
    await pool.settle();
    // what is stored turns out to be poison, far behind the live engine
    sick[0]!.samples[2000] = 123_456_789;
    pool.markLate(stream, nanos(startSec + 2), nanos(startSec + 3));
    await expect.poll(() => quarantined.length, { timeout: 60_000 }).toBe(1);
    await expect.poll(() => pool.isSettled(stream), { timeout: 60_000 }).toBe(true);
    expect(quarantined[0]!.runs.some((run) => run.samples.includes(123_456_789))).toBe(true);
    expect(pool.stats().crashCount).toBe(3);
  });

  test('is computed again when its worker was lost while it was being read', async () => {
    const deadly = 8 as StreamId;
    const long = madeUpStream(1, startSec, 1200); // so that its opening is far behind the live engine
    const table = new RowTable();
    const stored = loadFrom(long, channels);
    let reading = Promise.withResolvers<void>();
    let goesOn = Promise.resolve();
    const pool = newPool(table, {
      workerUrl: failingWorker,
      retryMs: 1,
      lateWaitMs: 10,
      loadRuns: async (id, ...args) => {
        if (id === deadly) return [];
        reading.resolve();
        await goesOn;
        return await stored(id, ...args);
      },
    });
    for (const id of [stream, deadly]) pool.openStream(id, channels);
    const sent = packets(long, channels, seeded(31), 0.9, 1.1);
    // Without the first ones: what they change is far behind the live engine.
    const late = sent.splice(2, 4);
    for (const packet of sent) pool.push(stream, packet);
    await pool.settle();
    const go = Promise.withResolvers<void>();
    [reading, goesOn] = [Promise.withResolvers<void>(), go.promise];
    for (const packet of late) pool.push(stream, packet);
    await reading.promise;
    await sleep(100); // so that the worker has the engine, and the batch that kills it is another one
    pool.push(deadly, [{ ...long[0]!, samples: new Int32Array(250).fill(123_456_789) }]);
    await expect.poll(() => pool.stats().crashCount, { timeout: 20_000 }).toBe(1);
    go.resolve();
    await expect.poll(() => pool.isSettled(stream), { timeout: 60_000 }).toBe(true);
    await pool.settle();
    await pool.idleFlush(0);
    expect(differences(rowsOf(table, stream), await reference(long, 1200))).toEqual([]);
  });

  test('rows that are not taken are reported and computed again', async () => {
    const table = new RowTable();
    const faults: string[] = [];
    let refusals = 3;
    const pool = newPool(table, {
      retryMs: 1,
      lateWaitMs: 10,
      onFault: (message) => faults.push(message),
      loadRuns: loadFrom(short, channels),
      onOutput: (output) => {
        if (output.features.length > 0 && refusals-- > 0) throw new Error('no');
        table.apply(output);
      },
    });
    pool.openStream(stream, channels);
    for (const packet of packets(short, channels, seeded(18), 4, 5)) {
      pool.push(stream, packet);
      await sleep(2);
    }
    await expect.poll(() => refusals < 0 && pool.isSettled(stream), { timeout: 20_000 }).toBe(true);
    await pool.settle();
    await pool.idleFlush(0);
    expect(faults).toContainEqual(expect.stringContaining('rows could not be handed on'));
    expect(differences(rowsOf(table, stream), await reference(short))).toEqual([]);
  });
});

test('a stream for which no engine can be made is set aside with a reason; its worker and the others go on', async () => {
  const [table, healthy] = [new RowTable(), 8 as StreamId];
  const quarantined: QuarantinedBatch[] = [];
  const odd = channels.map((channel) => (channel.kind === 'ecg' ? { ...channel, rateNanoHz: 123_000_000_000 } : channel));
  const pool = newPool(table, {
    workerUrl: failingWorker,
    onQuarantine: (batch) => quarantined.push(batch),
    loadRuns: loadFrom(short, channels),
  });
  pool.openStream(healthy, channels);
  pool.openStream(stream, odd);
  const cut = packets(short, channels, seeded(19), 0.9, 1.1);
  for (const packet of cut) for (const id of [healthy, stream]) pool.push(id, packet);
  await pool.settle();
  await pool.idleFlush(0);
  expect(quarantined).toEqual([{ streamId: stream, runs: [], reason: expect.stringContaining('no kernel for 123 Hz') as string }]);
  expect(pool.stats()).toMatchObject({ crashCount: 0, quarantineCount: 1 });
  expect(pool.isSettled(stream)).toBe(true);
  expect(differences(rowsOf(table, healthy), await reference(short))).toEqual([]);
  // a lead more, late data, closing: nothing wakes it
  pool.openStream(stream, [...odd, odd[0]!]);
  pool.markLate(stream, nanos(startSec), nanos(startSec + 1));
  await pool.settle();
  await pool.closeStream(stream);
  expect(quarantined).toHaveLength(1);
});

describe('a batch that kills its worker', () => {
  for (const [what, poison] of [
    ['exits', 123_456_789],
    ['loops for ever', 987_654_321],
    ['needs all memory', 555_555_555],
  ] as const)
    // promise: worker-quarantine
    test(`${what}: is quarantined with its samples after three times; other streams lose nothing`, async () => {
      const sick = short.map((run) => ({ ...run, samples: run.samples.slice() as Int32Array }));
      sick[0]!.samples[5000] = poison;
      const [healthyTable, table] = [new RowTable(), new RowTable()];
      const quarantined: QuarantinedBatch[] = [];
      const pool = newPool(table, {
        workerUrl: failingWorker,
        taskTimeoutMs: what === 'loops for ever' ? 4000 : 30_000,
        workerHeapMbMax: 80,
        onOutput: (output) => (output.streamId === stream ? table : healthyTable).apply(output),
        onQuarantine: (batch) => quarantined.push(batch),
        loadRuns: (id, no, from, to) => loadFrom(id === stream ? sick : short, channels)(id, no, from, to),
      });
      const healthy = 8 as StreamId;
      pool.openStream(stream, channels);
      pool.openStream(healthy, channels);
      const random = seeded(11);
      const cut = packets(short, channels, random, 0.5, 0.5);
      const sent = packets(sick, channels, random, 0.5, 0.5).flatMap((packet, i) => [
        [stream, packet] as const,
        ...from(healthy, cut.slice(i, i + 1)),
      ]);
      await send(pool, sent, (i) => (i % 50 === 0 ? sleep(3) : undefined));
      expect(pool.stats().crashCount).toBe(3);
      expect(quarantined.map((q) => q.streamId)).toEqual([stream]);
      expect(quarantined[0]!.runs.some((run) => run.samples.includes(poison))).toBe(true);
      const wanted = await reference(short);
      expect(differences(rowsOf(healthyTable, healthy), wanted)).toEqual([]);
      // the sick stream goes on: what is out of reach of the poison is as it should be
      const after = (row: string): boolean =>
        /^(hr_ecg|hr_ppg|quality|activity|eda_tonic|temp_mean) /.test(row) && Number(row.split(' ')[2]) > 1344e9;
      expect(wanted.filter(after).length).toBeGreaterThan(100);
      expect(differences(rowsOf(table, stream).filter(after), wanted.filter(after))).toEqual([]);
    });
});

test('a stream whose worker is lost while it is closed is closed with all of its rows', async () => {
  const [table, deadly] = [new RowTable(), 8 as StreamId];
  const stored = loadFrom(short, channels);
  const pool = newPool(table, {
    workerUrl: failingWorker,
    retryMs: 1,
    loadRuns: async (id, ...args) => (id === deadly ? [] : await stored(id, ...args)),
  });
  for (const id of [stream, deadly]) pool.openStream(id, channels);
  for (const packet of packets(short, channels, seeded(33), 0.9, 1.1)) pool.push(stream, packet);
  await pool.settle();
  pool.push(deadly, [{ ...short[0]!, samples: new Int32Array(250).fill(123_456_789) }]);
  expect(await pool.closeStream(stream)).toBe(true);
  expect(pool.stats().crashCount).toBeGreaterThan(0);
  expect(differences(rowsOf(table, stream), await reference(short))).toEqual([]);
});
