import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { SampleRun, StreamId } from '../signal.ts';
import { RowTable, fixtureChannels as channels, loadFrom, madeUpStream, packets, seeded, withoutStretches } from './feature-fixture.ts';
import { FeaturePool } from './feature-pool.ts';
import type { FeaturePoolOptions, QuarantinedBatch } from './feature-pool.ts';

vi.setConfig({ testTimeout: 180_000 });

const stream = 7 as StreamId;
const failingWorker = new URL('./feature-pool.failing-worker.ts', import.meta.url).href;
const startSec = 1000.3;
const lengthSec = 700;

/** Two leads of ECG and a PPG with gaps of every size: shorter than a beat, than a window of heart rate, than the context, and longer. */
const whole = withoutStretches(madeUpStream(1, startSec, lengthSec), channels, [
  [1100, 1100.03],
  [1150, 1150.4],
  [1216.5, 1222],
  [1279.8, 1292.7],
  [1350, 1390],
  [1471.9, 1489],
]);

const nanos = (sec: number): bigint => BigInt(Math.round(sec * 1e6)) * 1000n;

const open: FeaturePool[] = [];
afterEach(async () => {
  delete process.env.BIO_TEST_DEATHS;
  for (const pool of open.splice(0)) await pool.close();
});

function newPool(table: RowTable, options: Partial<FeaturePoolOptions> = {}): FeaturePool {
  const pool = new FeaturePool({
    workerCount: 1,
    onOutput: table.apply,
    loadRuns: loadFrom(whole, channels),
    lingerMs: 1,
    idleFlushMs: 1e9,
    holeWaitMs: 1e9,
    lateWaitMs: 1e9,
    ...options,
  });
  open.push(pool);
  return pool;
}

/** What a recomputation of everything from storage gives. */
let recomputed: Promise<string[]> | null = null;
function reference(): Promise<string[]> {
  recomputed ??= (async () => {
    const table = new RowTable();
    const pool = newPool(table);
    pool.openStream(stream, channels);
    await pool.recompute(stream, 0n, nanos(startSec + lengthSec));
    expect(table.errors).toEqual([]);
    return table.dump();
  })();
  return recomputed;
}

/** The first rows that only one side has, and how many. */
function differences(got: readonly string[], wanted: readonly string[]): string[] {
  const [a, b] = [new Set(got), new Set(wanted)];
  const extra = got.filter((row) => !b.has(row));
  const missing = wanted.filter((row) => !a.has(row));
  if (extra.length + missing.length === 0) return [];
  return [`${extra.length} extra, ${missing.length} missing of ${wanted.length}`, ...extra.slice(0, 6), 'missing:', ...missing.slice(0, 6)];
}

/** Sends packets, then waits for everything, late data included, and flushes. */
async function send(pool: FeaturePool, sent: readonly SampleRun[][], onPacket: (index: number) => unknown = () => {}): Promise<void> {
  for (let i = 0; i < sent.length; i++) {
    while (pool.push(stream, sent[i]!) === 'busy') await new Promise((resolve) => setTimeout(resolve, 1));
    await onPacket(i);
    if (i % 200 === 199) await new Promise((resolve) => setImmediate(resolve));
  }
  await pool.settle();
  await pool.idleFlush(0);
}

describe('live equals recomputed, bit for bit', () => {
  test('the recomputation finds beats and features', async () => {
    const rows = await reference();
    expect(rows.filter((r) => r.includes('r_peaks')).length).toBeGreaterThan(700);
    for (const feature of [
      'hr_ecg',
      'hr_ppg',
      'hr_ppg_motion',
      'hrv_sdnn_300s',
      'hrv_rmssd_60s',
      'prv_sdnn_300s',
      'hrv_lf_hf_300s',
      'eda_tonic',
      'scr_rate',
      'temp_mean',
      'activity',
      'steps',
      'sqi_ppg',
      'resp_rate',
    ])
      expect(rows.filter((r) => r.includes(` ${feature} `)).length, feature).toBeGreaterThan(2);
  });

  for (const seed of [1, 2, 4])
    test(`cut into random packets (seed ${seed}, so many workers)`, async () => {
      const table = new RowTable();
      const pool = newPool(table, { workerCount: seed });
      pool.openStream(stream, channels);
      await send(pool, packets(whole, channels, seeded(seed), 0.02, seed * 0.3));
      expect(table.errors).toEqual([]);
      expect(differences(table.dump(), await reference())).toEqual([]);
    });

  for (const seed of [4, 5])
    test(`shuffled within a second, 5 % duplicated (seed ${seed})`, async () => {
      const random = seeded(seed);
      const table = new RowTable();
      const pool = newPool(table);
      pool.openStream(stream, channels);
      const cut = packets(whole, channels, random, 0.05, 0.15);
      const sent = cut
        .flatMap(
          (packet, i) =>
            (random() < 0.05
              ? [
                  [packet, i],
                  [packet, i + 30 * random()],
                ]
              : [[packet, i]]) as [SampleRun[], number][],
        )
        .map(([packet, i]) => [packet, i + 6 * random()] as const)
        .sort((a, b) => a[1] - b[1])
        .map(([packet]) => packet);
      await send(pool, sent);
      expect(table.errors).toEqual([]);
      expect(differences(table.dump(), await reference())).toEqual([]);
    });

  for (const seed of [6, 7])
    test(`dropped and sent again much later (seed ${seed})`, async () => {
      const random = seeded(seed);
      const table = new RowTable();
      const pool = newPool(table, { workerCount: 2 });
      pool.openStream(stream, channels);
      const cut = packets(whole, channels, random, 0.1, 1);
      const late = cut.filter(() => random() < 0.02);
      const sent = cut.filter((packet) => !late.includes(packet));
      // half of them while the rest is under way, half at the end
      late.forEach((packet, i) =>
        i % 2 === 0 ? sent.splice(Math.min(sent.length, cut.indexOf(packet) + 60), 0, packet) : sent.push(packet),
      );
      await send(pool, sent, async (i) => {
        if (i % 300 === 299) await pool.settle();
      });
      expect(table.errors).toEqual([]);
      expect(differences(table.dump(), await reference())).toEqual([]);
    });

  test('flushed in the middle, then going on', async () => {
    const table = new RowTable();
    const pool = newPool(table);
    pool.openStream(stream, channels);
    await send(pool, packets(whole, channels, seeded(8), 0.2, 0.4), async (i) => {
      if (i % 700 === 699) await pool.idleFlush(0);
    });
    expect(table.errors).toEqual([]);
    expect(differences(table.dump(), await reference())).toEqual([]);
  });

  test('a new process goes on where the old one stopped', async () => {
    const table = new RowTable();
    const cut = packets(whole, channels, seeded(9), 0.2, 0.4);
    const half = cut.length >> 1;
    const first = newPool(table);
    first.openStream(stream, channels);
    for (const packet of cut.slice(0, half)) first.push(stream, packet);
    await first.close();
    const endSec = Math.max(...cut[half - 1]!.map((run) => (run.k0 + run.samples.length) / (channels[run.channelNo]!.rateNanoHz / 1e9)));
    const second = newPool(table);
    second.openStream(stream, channels, { fromNs: nanos(endSec - 140), toNs: nanos(endSec) });
    await send(second, cut.slice(half));
    expect(table.errors).toEqual([]);
    expect(differences(table.dump(), await reference())).toEqual([]);
  });

  test('channels that join later (a lead of a fused group, an accelerometer beside the pulse): what was made without them is made again', async () => {
    const all = [0, 2, 5, 1, 6, 7, 8].map((no) => channels[no]!);
    const joinSec = startSec + 250.4;
    const runs = madeUpStream(12, startSec, 500, all).flatMap((run) =>
      run.channelNo < 3 ? [run] : withoutStretches([run], all, [[0, joinSec]]),
    );
    const [live, wanted] = [new RowTable(), new RowTable()];
    const reprocess = newPool(wanted, { loadRuns: loadFrom(runs, all) });
    reprocess.openStream(stream, all);
    await reprocess.recompute(stream, 0n, nanos(startSec + 500));
    for (const feature of ['resp_rate_ecg', 'resp_rate_ppg', 'hr_ppg_motion', 'activity'])
      expect(wanted.dump().filter((row) => row.includes(` ${feature} `)).length, feature).toBeGreaterThan(10);
    const pool = newPool(live, { loadRuns: loadFrom(runs, all) });
    pool.openStream(stream, all.slice(0, 3));
    const sent = packets(runs, all, seeded(13), 0.2, 0.4);
    const joined = sent.findIndex((packet) => packet.some((run) => run.channelNo >= 3));
    for (const packet of sent.slice(0, joined)) pool.push(stream, packet);
    pool.openStream(stream, all);
    await send(pool, sent.slice(joined));
    expect(live.errors).toEqual([]);
    expect(differences(live.dump(), wanted.dump())).toEqual([]);
  });

  test('two workers killed on the way', async () => {
    const deaths = join(mkdtempSync(join(tmpdir(), 'bio-deaths-')), 'left');
    writeFileSync(deaths, '2');
    process.env.BIO_TEST_DEATHS = deaths;
    const table = new RowTable();
    const pool = newPool(table, { workerUrl: failingWorker });
    pool.openStream(stream, channels);
    await send(pool, packets(whole, channels, seeded(10), 0.2, 0.4), (i) =>
      i % 20 === 0 ? new Promise((resolve) => setTimeout(resolve, 3)) : undefined,
    );
    expect(pool.stats().crashCount).toBe(2);
    expect(table.errors).toEqual([]);
    expect(differences(table.dump(), await reference())).toEqual([]);
  });
});

describe('a batch that kills its worker', () => {
  for (const [what, poison] of [
    ['exits', 123_456_789],
    ['loops for ever', 987_654_321],
    ['needs all memory', 555_555_555],
  ] as const)
    test(`${what}: is quarantined with its samples after three times; other streams lose nothing`, async () => {
      const sick = whole.map((run) => ({ ...run, samples: run.samples.slice() as Int32Array }));
      sick[0]!.samples[5000] = poison;
      const [healthyTable, table] = [new RowTable(), new RowTable()];
      const quarantined: QuarantinedBatch[] = [];
      const pool = newPool(table, {
        workerUrl: failingWorker,
        taskTimeoutMs: what === 'loops for ever' ? 4000 : 30_000,
        workerHeapMbMax: 200,
        onOutput: (output) => (output.streamId === stream ? table : healthyTable).apply(output),
        onQuarantine: (batch) => quarantined.push(batch),
        loadRuns: (id, no, from, to) => loadFrom(id === stream ? sick : whole, channels)(id, no, from, to),
      });
      const healthy = 8 as StreamId;
      pool.openStream(stream, channels);
      pool.openStream(healthy, channels);
      const random = seeded(11);
      const cut = packets(whole, channels, random, 0.3, 0.3);
      await send(pool, packets(sick, channels, random, 0.3, 0.3), async (i) => {
        if (cut[i] !== undefined) pool.push(healthy, cut[i]);
        if (i % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 3));
      });
      expect(pool.stats().crashCount).toBe(3);
      expect(quarantined.map((q) => q.streamId)).toEqual([stream]);
      expect(quarantined[0]!.runs.some((run) => run.samples.includes(poison))).toBe(true);
      const wanted = await reference();
      expect(
        differences(
          healthyTable.dump().map((row) => row.replace(/^8 /, '7 ')),
          wanted,
        ),
      ).toEqual([]);
      // the sick stream goes on: what is out of reach of the poison is as it should be
      const after = (row: string): boolean => Number(row.split(' ')[3]) > 1640e9;
      expect(differences(table.dump().filter(after), wanted.filter(after))).toEqual([]);
    });
});

test('the main thread is never held for 10 ms: 60 streams live, three of them read back, outputs taken', async () => {
  const ids = Array.from({ length: 60 }, (_, i) => (100 + i) as StreamId);
  let rowCount = 0;
  const pool = newPool(new RowTable(), {
    workerCount: 2,
    lingerMs: 20,
    onOutput: ({ beats, features, quality }) => void (rowCount += beats.length + features.length + quality.length),
  });
  for (const id of ids) pool.openStream(id, channels);
  const cut = packets(whole, channels, seeded(14), 1, 1).slice(0, 60);
  // CPU time of this thread between two turns of the event loop: what others do on the machine does not count
  let worstMs = 0;
  let watching = true;
  const watch = (before: number): void => {
    const now = threadCpuMs();
    worstMs = Math.max(worstMs, now - before);
    if (watching) setImmediate(() => watch(threadCpuMs()));
  };
  for (const packet of cut.slice(0, 10)) for (const id of ids) pool.push(id, packet); // warm
  await pool.settle();
  watch(threadCpuMs());
  for (const packet of cut.slice(10)) {
    for (const id of ids) {
      expect(pool.push(id, packet)).toBe('accepted');
      await new Promise((resolve) => setImmediate(resolve)); // packets come in turns of their own
    }
    if (packet === cut[30]) for (const id of ids.slice(0, 3)) pool.markLate(id, nanos(startSec), nanos(startSec + 20));
  }
  await pool.settle();
  watching = false;
  expect(rowCount).toBeGreaterThan(10_000);
  expect(worstMs).toBeLessThan(10);
});

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
