/** Live rows are those of a recomputation. What dies, fails or comes at odd times: pool-faults.test.ts. */
import { afterEach, describe, expect, test, vi } from 'vitest';
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
import { closePools, from, nanos, newPool, reference, rowsOf, send, short, slowWorker, startSec, stream, whole } from '../testing/pools.ts';
import { fiveMinuteMethods } from '../rows/methods-five-minutes.ts';

vi.setConfig({ testTimeout: 180_000 });
afterEach(closePools);

describe('live equals recomputed, bit for bit', () => {
  // promise: live-is-recomputed
  test('the recomputation finds beats and features', async () => {
    const rows = await reference();
    expect(rows.filter((r) => r.includes('r_peaks')).length).toBeGreaterThan(450);
    for (const feature of [
      'hr_ecg',
      'hr_ppg',
      'hr_ppg_motion',
      'hrv_sdnn_300s',
      'hrv_rmssd_60s',
      'prv_sdnn_300s',
      'eda_tonic',
      'scr_rate',
      'temp_mean',
      'activity',
      'steps',
      'sqi_ppg',
      'resp_rate',
    ])
      expect(rows.filter((r) => r.startsWith(`${feature} `)).length, feature).toBeGreaterThan(2);
    expect(rows.filter((r) => r.includes('bridged')).length).toBeGreaterThan(1);
    // It has holes that no spectrum leads across.
    for (const { feature } of fiveMinuteMethods.filter((method) => !/_(vlf|total_power|lf_nu|hf_nu)_/.test(method.feature)))
      expect(rows.filter((r) => r.startsWith(`${feature} `)).length, feature).toBe(1);
  });

  // One pool for all ways of sending: most of the time goes into starting threads.
  // promise: live-is-recomputed, late-is-the-same
  test('cut, shuffled within a second, 5 % duplicated, dropped and sent much later, flushed in the middle: 3 workers', async () => {
    const random = seeded(3);
    const cut = packets(whole, channels, random, 0.02, 0.4);
    const shuffled = packets(whole, channels, random, 0.1, 0.3)
      .flatMap((packet, i) => (random() < 0.05 ? [[packet, i] as const, [packet, i + 15 * random()] as const] : [[packet, i] as const]))
      .map(([packet, i]) => [packet, i + 3 * random()] as const)
      .sort((a, b) => a[1] - b[1])
      .map(([packet]) => packet);
    const late = packets(whole, channels, random, 0.3, 1);
    const dropped = late.filter((packet, i) => (i > 20 && random() < 0.01) || packet === late[30]);
    const sentLate = late.filter((packet) => !dropped.includes(packet));
    // half of them while the rest is under way, half at the end
    dropped.forEach((packet, i) =>
      i % 2 === 0 ? sentLate.splice(Math.min(sentLate.length, late.indexOf(packet) + 60), 0, packet) : sentLate.push(packet),
    );
    const flushed = packets(whole, channels, random, 0.3, 0.6);

    const [cutId, shuffledId, lateId, flushedId] = [11, 12, 13, 14] as StreamId[];
    const ways: [StreamId, SampleRun[][]][] = [
      [cutId!, cut],
      [shuffledId!, shuffled],
      [lateId!, sentLate],
      [flushedId!, flushed],
    ];
    const table = new RowTable();
    const pool = newPool(table, { workerCount: 3 });
    for (const [id] of ways) pool.openStream(id, channels);
    // each at its own pace, all from the first second to the last
    const sent = ways
      .flatMap(([id, all]) => all.map((packet, i) => [i / all.length, id, packet] as const))
      .sort((a, b) => a[0] - b[0])
      .map(([, id, packet]) => [id, packet] as const);
    await send(pool, sent, async (i) => {
      if (i % 1500 !== 1499) return;
      await pool.settle();
      await pool.idleFlush(0);
    });
    expect(table.errors).toEqual([]);
    const wanted = await reference();
    for (const [id] of ways) expect(differences(rowsOf(table, id), wanted), `stream ${id}`).toEqual([]);
  });

  test('a new process goes on where the old one stopped', async () => {
    const table = new RowTable();
    const cut = packets(whole, channels, seeded(9), 0.4, 0.8);
    const half = cut.length >> 1;
    const first = newPool(table);
    first.openStream(stream, channels);
    for (const packet of cut.slice(0, half)) first.push(stream, packet);
    await first.close();
    const endSec = Math.max(...cut[half - 1]!.map((run) => (run.k0 + run.samples.length) / (channels[run.channelNo]!.rateNanoHz / 1e9)));
    const second = newPool(table);
    second.openStream(stream, channels, { fromNs: nanos(endSec - 140), toNs: nanos(endSec) });
    await send(second, from(stream, cut.slice(half)));
    expect(table.errors).toEqual([]);
    expect(differences(rowsOf(table, stream), await reference())).toEqual([]);
  });

  test('channels that join later (a lead of a fused group, an accelerometer besides the pulse): what was made without them is made again', async () => {
    const all = [0, 2, 5, 1, 6, 7, 8].map((no) => channels[no]!);
    const joinSec = startSec + 170.4;
    const runs = madeUpStream(12, startSec, 340, all).flatMap((run) =>
      run.channelNo < 3 ? [run] : withoutStretches([run], all, [[0, joinSec]]),
    );
    const [live, wanted] = [new RowTable(), new RowTable()];
    const reprocess = newPool(wanted, { loadRuns: loadFrom(runs, all) });
    reprocess.openStream(stream, all);
    await reprocess.computeRows(stream, 0n, nanos(startSec + 940));
    for (const feature of ['resp_rate_ecg', 'resp_rate_ppg', 'hr_ppg_motion', 'activity', 'af_index'])
      expect(wanted.dump().filter((row) => row.includes(` ${feature} `)).length, feature).toBeGreaterThan(10);
    const pool = newPool(live, { loadRuns: loadFrom(runs, all) });
    pool.openStream(stream, all.slice(0, 3));
    const sent = packets(runs, all, seeded(13), 0.2, 0.4);
    const joined = sent.findIndex((packet) => packet.some((run) => run.channelNo >= 3));
    for (const packet of sent.slice(0, joined)) pool.push(stream, packet);
    pool.openStream(stream, all);
    await send(pool, from(stream, sent.slice(joined)));
    expect(live.errors).toEqual([]);
    expect(differences(rowsOf(live, stream), rowsOf(wanted, stream))).toEqual([]);
  });

  test('a device that changes its gain to and fro, whose packets before a change come late', async () => {
    const lateSec = 5;
    const stretchSec = 20;
    const of = [channels[0]!, channels[4]!];
    const all = of.flatMap((one) => [one, { ...one, gain: 2 * one.gain, baseline: 3 }]);
    const runs = madeUpStream(14, startSec, 200, of).flatMap(({ channelNo, k0, samples, qmask }) => {
      const { rateNanoHz, baseline } = of[channelNo]!;
      const length = (stretchSec * rateNanoHz) / 1e9;
      return Array.from({ length: Math.ceil(samples.length / length) }, (_, i): SampleRun => {
        const part = samples.slice(i * length, (i + 1) * length);
        const louder = Int32Array.from(part, (x) => 2 * (x - baseline) + 3);
        return { channelNo: (2 * channelNo + (i % 2)) as ChannelNo, k0: k0 + i * length, samples: i % 2 === 0 ? part : louder, qmask };
      });
    });
    const [live, wanted] = [new RowTable(), new RowTable()];
    const reprocess = newPool(wanted, { loadRuns: loadFrom(runs, all) });
    reprocess.openStream(stream, all);
    await reprocess.computeRows(stream, 0n, nanos(startSec + 800));
    expect(wanted.dump().filter((row) => row.includes(' hr_ecg ')).length).toBeGreaterThan(150);
    const pool = newPool(live, { loadRuns: loadFrom(runs, all) });
    pool.openStream(stream, all);
    const sent = packets(runs, all, seeded(15), 0.25, 0.25)
      .map((packet, i) => [0.25 * i + (i % 80 === 77 || i % 80 === 78 ? lateSec : 0), packet] as const)
      .sort((a, b) => a[0] - b[0]);
    await send(pool, from(stream, sent.map(([, packet]) => packet))); // prettier-ignore
    expect(live.errors).toEqual([]);
    expect(differences(rowsOf(live, stream), rowsOf(wanted, stream))).toEqual([]);
  });
});

test('a worker that takes longer to load than a batch may take is waited for', async () => {
  const table = new RowTable();
  const pool = newPool(table, { workerUrl: slowWorker, workerCount: 1, taskTimeoutMs: 2000 });
  pool.openStream(stream, channels);
  const [packet] = packets(short, channels, seeded(15), 20, 20);
  expect(pool.push(stream, packet!)).toBe('accepted');
  await pool.settle();
  expect(pool.stats().crashCount).toBe(0);
  expect(rowsOf(table, stream).length).toBeGreaterThan(0);
});

// What holds it does so each time; on a busy machine one turn may have a collection of garbage or a cold cache in it.
test('the main thread is never held for 10 ms: 40 streams live, three of them read back, outputs taken', { retry: 2 }, async () => {
  const ids = Array.from({ length: 40 }, (_, i) => (100 + i) as StreamId);
  let rowCount = 0;
  const pool = newPool(new RowTable(), {
    workerCount: 2,
    lingerMs: 20,
    onOutput: ({ beats, features, quality }) => void (rowCount += beats.length + features.length + quality.length),
  });
  for (const id of ids) pool.openStream(id, channels);
  const cut = packets(whole, channels, seeded(14), 1, 1).slice(0, 40);
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
    if (packet === cut[25]) for (const id of ids.slice(0, 3)) pool.markLate(id, nanos(startSec), nanos(startSec + 20));
  }
  await pool.settle();
  watching = false;
  expect(rowCount).toBeGreaterThan(2500);
  expect(worstMs).toBeLessThan(10);
});

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

test('a device that has run for days is not read back from its start when it gets a channel before all of its leads have begun', async () => {
  const daySec = 86_400;
  const [light, x, y, z] = ['ppg.ir', 'acc.x', 'acc.y', 'acc.z'].map((code) => ({
    ...channels.find(({ kind }) => kind === (code.startsWith('acc') ? 'acc' : 'ppg'))!,
    code,
    rateNanoHz: code.startsWith('acc') ? 100e9 : 64e9,
  }));
  const group = [light!, x!, y!, z!];
  const resp = { ...light!, code: 'resp', kind: 'resp' as const, rateNanoHz: 25e9 };
  const all = [...group, resp];
  let readCount = 0;
  const pool = newPool(new RowTable(), {
    loadRuns: async () => {
      readCount++;
      return [];
    },
  });
  const run = (no: number, sec: number, n: number): SampleRun => ({
    channelNo: no as ChannelNo,
    k0: (sec * all[no]!.rateNanoHz) / 1e9,
    samples: new Int32Array(n).fill(100),
    qmask: null,
  });
  pool.openStream(stream, group);
  pool.push(stream, [run(0, daySec, 64), ...[1, 2, 3].map((no) => run(no, daySec, 1))]);
  await pool.settle();
  pool.openStream(stream, all);
  pool.push(
    stream,
    [0, 1, 2, 3, 4].map((no) => run(no, daySec + 1, 100)),
  );
  await pool.settle();
  // a segment with its context, and what the windows reach back, in pieces, of each of five channels
  expect(readCount).toBeGreaterThan(0);
  expect(readCount).toBeLessThan(50);
});
