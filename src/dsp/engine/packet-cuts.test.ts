/** Rows are a function of the samples alone, however those were cut into packets and whichever lead came first. More streams:
 *  packet-cuts-many.test.ts. */
import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { CutStream } from '../testing/cut-streams.ts';
import { atOnce, bySample, channelsOf, cutStreams, cuts, differencesAtEnd, differencesOf, rowsOf, sentOf } from '../testing/cut-streams.ts';
import { rowCode, RowBuffer, rowWidth } from '../rows/row-buffer.ts';
import { methodIndex } from '../rows/methods.ts';
import { StreamEngine } from './engine.ts';
import { KernelStock } from './runner.ts';

vi.setConfig({ testTimeout: 200_000 });

const stock = new KernelStock();
const quiet: CutStream = {
  seed: 1,
  heart: 'usual',
  startSec: 1180.3,
  lengthSec: 60,
  ecgHz: 250,
  ecgLeads: 0,
  otherEcgHz: 0,
  ppgHz: 64,
  wavelengths: 0,
  otherPpgHz: 0,
  accHz: 0,
  respHz: 0,
  edaHz: 0,
  tempHz: 0,
  hasOtherGain: false,
  faults: [],
  silentAt: null,
  late: [],
  early: [],
};

describe('streams with gaps, NaN, noise, rails, and channels that begin late or end soon', () => {
  // promise: live-is-recomputed
  test('give the same rows however they are cut, and none after its time was called final', () => {
    fc.assert(
      fc.property(cutStreams(60), (stream) => {
        expect(differencesOf(stream, [...cuts, bySample], stock)).toEqual([]);
      }),
      { seed: 10, numRuns: 8, interruptAfterTimeLimit: 120_000, markInterruptAsFailure: true },
    );
  });

  // promise: live-is-recomputed
  test('give the same rows again when their end is computed from what it needs alone', () => {
    fc.assert(
      fc.property(cutStreams(900, 800), (stream) => {
        expect(differencesAtEnd({ ...stream, ecgHz: 100, ecgLeads: 1, otherEcgHz: 0, ppgHz: 50, respHz: 25 }, 60, stock)).toEqual([]);
      }),
      { seed: 5, numRuns: 2, interruptAfterTimeLimit: 120_000, markInterruptAsFailure: true },
    );
  });

  test('have beats, values and quality of every kind', () => {
    const stream: CutStream = { ...quiet, ecgLeads: 2, wavelengths: 2, accHz: 52, respHz: 25, edaHz: 4, tempHz: 4, lengthSec: 90 };
    const channels = channelsOf(stream);
    const { rows } = rowsOf(channels, sentOf(stream, channels), atOnce, 0, stock);
    const count = (code: number): number => rows.filter((row) => row.startsWith(`${code} `)).length;
    expect(count(rowCode.ecgBeat)).toBeGreaterThan(80);
    expect(count(rowCode.ppgBeat)).toBeGreaterThan(80);
    expect(count(rowCode.quality)).toBeGreaterThan(150);
    for (const feature of ['hr_ecg', 'hr_ppg', 'hr_ppg_motion', 'resp_rate', 'spo2', 'perfusion_index', 'eda_tonic', 'temp_mean', 'steps'])
      expect(count(rowCode.feature + methodIndex(feature)), feature).toBeGreaterThan(2);
  });
});

// promise: live-is-recomputed
// The group began with the lead that came first, and what another one had sent of the time before was lost.
test.each([
  ['a lead of ECG', { ecgLeads: 2, late: [[0, 1.7]] }],
  [
    'the light behind its accelerometer',
    {
      wavelengths: 1,
      accHz: 52,
      late: [
        [1, 0.3],
        [2, 0.3],
        [3, 0.3],
      ],
    },
  ],
] as const)('%s that began first counts from its beginning, although it comes second', (_, what) => {
  const stream: CutStream = { ...quiet, ...what };
  const channels = channelsOf(stream);
  const sent = sentOf(stream, channels);
  const rowsInOrder = (order: readonly number[]): string[] => {
    const rows = new RowBuffer();
    const engine = new StreamEngine(channels, 0, stock, rows);
    for (const no of order) {
      for (const { k0, samples } of sent[no]!) engine.run(no, k0, samples, null);
      engine.settle();
    }
    engine.flush();
    engine.close();
    return Array.from({ length: rows.count }, (__, i) => rows.rows.subarray(rowWidth * i, rowWidth * (i + 1)).join(' ')).sort();
  };
  const order = [...channels.keys()];
  expect(rowsInOrder(order.toReversed())).toEqual(rowsInOrder(order));
});

test('no time is final of which a channel may still send its first samples', () => {
  const stream: CutStream = { ...quiet, ecgLeads: 1, tempHz: 4, lengthSec: 30 };
  const channels = channelsOf(stream);
  const [ecg, temp] = sentOf(stream, channels).map(([run]) => run);
  const engine = new StreamEngine(channels, 0, stock, new RowBuffer());
  expect(engine.finalUs).toBe(Number.POSITIVE_INFINITY);
  engine.run(1, temp!.k0, temp!.samples, null);
  engine.settle();
  expect(engine.finalUs).toBe(0);
  engine.pass(0, ecg!.k0 - 1);
  engine.settle();
  expect(engine.finalUs).toBe(1_180_000_000);
  engine.close();
});

test('a channel of which nothing is computed keeps no time from being final', () => {
  const stream: CutStream = { ...quiet, ecgLeads: 1, edaHz: 4, lengthSec: 60 };
  const channels = channelsOf(stream).map((channel) => (channel.kind === 'eda' ? { ...channel, unit: 'kOhm' } : channel));
  const sent = sentOf(stream, channels);
  const engine = new StreamEngine(channels, 0, stock, new RowBuffer());
  sent.forEach(([run], no) => engine.run(no, run!.k0, run!.samples, null));
  engine.settle();
  expect(engine.finalUs).toBeGreaterThan(1_200_000_000);
  engine.close();
});

// 1216 s is a seam, up to which a flush calls beats final; a block ends there, too.
test('the saturation of the last block is given when a recording ends in it', () => {
  const stream: CutStream = { ...quiet, wavelengths: 2, lengthSec: 28.4 };
  const channels = channelsOf(stream);
  const sent = sentOf(stream, channels);
  const rowsOfEnd = (isPassed: boolean): string[] => {
    const rows = new RowBuffer();
    const engine = new StreamEngine(channels, 0, stock, rows);
    sent.forEach(([run], no) => engine.run(no, run!.k0, run!.samples, null));
    if (isPassed) channels.forEach((_, no) => engine.pass(no, 1240 * 64));
    engine.settle();
    engine.flush();
    engine.close();
    return Array.from({ length: rows.count }, (_, i) => rows.rows.subarray(rowWidth * i, rowWidth * (i + 1)).join(' ')).sort();
  };
  expect(rowsOfEnd(false)).toEqual(rowsOfEnd(true));
});
