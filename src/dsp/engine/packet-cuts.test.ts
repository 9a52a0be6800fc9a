/** Rows are a function of the samples alone, however those were cut into packets and whichever lead came first. More streams:
 *  packet-cuts-many.test.ts. */
import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { ChannelConfig, ChannelNo, SampleRun } from '../../signal.ts';
import type { CutStream, Fault } from '../testing/cut-streams.ts';
import { atOnce, bySample, channelsOf, cutStreams, cuts, differencesAtEnd, differencesOf, rowsOf, sentOf } from '../testing/cut-streams.ts';
import { rowCode, RowBuffer, rowWidth } from '../rows/row-buffer.ts';
import { methodIndex } from '../rows/methods.ts';
import { StreamEngine } from './engine.ts';
import { keepsEarlierRows } from './groups.ts';
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
  changedEcgHz: 0,
  faults: [],
  silentAt: null,
  late: [],
  early: [],
  humMv: 0,
};

const lost = (...of: readonly (readonly [channel: number, at: number, sec: number])[]): Fault[] =>
  of.map(([channel, at, sec]) => ({ kind: 'lost', channel, at, sec }));

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

// Both groups of the first lead gave the heart rate of one second, and the one that came last stayed.
describe('a first lead that changes its rate and back', () => {
  const stream: CutStream = { ...quiet, ecgHz: 360, changedEcgHz: 180, lengthSec: 150 };

  // promise: live-is-recomputed, changed-rate
  test.each([
    ['while another keeps its own', { ecgLeads: 2 }],
    ['alone', { ecgLeads: 1 }],
    ['to that of another lead', { ecgLeads: 2, otherEcgHz: 180 }],
    [
      'with gaps, and another that ends',
      { ecgLeads: 2, faults: lost([0, 0.1, 9], [0, 0.31, 3], [0, 0.4, 4], [2, 0.5, 6]), early: [[1, 40]] },
    ],
    ['and is silent in between', { ecgLeads: 2, silentAt: 0.45 }],
  ] as const)('%s: has one value of a time, however it is cut', (_, what) => {
    expect(differencesOf({ ...stream, ...what }, cuts, stock)).toEqual([]);
  });

  // the rates: of lead I in the middle third, which begins at 1230.3 s, not of the other, which has gone on
  test('gives the values while it has samples', () => {
    const both: CutStream = { ...stream, ecgLeads: 2 };
    const ratesOf = (channels: readonly ChannelConfig[], sent: readonly SampleRun[][]): string[] =>
      rowsOf(channels, sent, atOnce, 0, stock).rows.filter((row) => row.startsWith(`${rowCode.feature + methodIndex('hr_ecg')} -1 `));
    const channels = channelsOf(both);
    const sent = sentOf(both, channels);
    const rates = ratesOf(channels, sent);
    const isMiddle = (row: string): boolean => Number(row.split(' ')[2]) >= 1_231_300_000 && Number(row.split(' ')[2]) <= 1_280_000_000;
    const changed = channels.length - 1;
    const alone = ratesOf([channels[changed]!], [sent[changed]!.map((run) => ({ ...run, channelNo: 0 as ChannelNo }))]);
    expect(rates.filter(isMiddle)).toEqual(alone.filter(isMiddle));
    expect(alone.filter(isMiddle).length).toBeGreaterThan(35);
  });

  test('is the first lead of each of its groups, whichever channel of them came first', () => {
    const both: CutStream = { ...stream, ecgLeads: 2, hasOtherGain: true };
    const channels = channelsOf(both);
    const sent = sentOf(both, channels);
    const valuesIn = (order: readonly number[]): string[] =>
      rowsOf(
        order.map((no) => channels[no]!),
        order.map((no, i) => sent[no]!.map((run) => ({ ...run, channelNo: i as ChannelNo }))),
        atOnce,
        0,
        stock,
      ).rows.filter((row) => row.split(' ')[1] === '-1');
    expect(channels.map(({ code }) => code)).toEqual(['ecg.i', 'ecg.ii', 'ecg.i', 'ecg.i']);
    expect(valuesIn([3, 1, 2, 0])).toEqual(valuesIn([0, 1, 2, 3]));
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

test.each([
  ['counts', 'counts', 'counts'],
  ['deg/s', 'deg/s', 'deg/s'],
  ['LSB', 'LSB', 'LSB'],
  ['g', 'g', 'counts'],
])('axes in %s, %s and %s change nothing of ECG and pulse, nor when it is final', (...units) => {
  const stream: CutStream = { ...quiet, ecgLeads: 1, otherPpgHz: 64, accHz: 32 };
  const channels = channelsOf(stream);
  const sent = sentOf(stream, channels);
  const inUnits = channels.map((channel, no) => (channel.kind === 'acc' ? { ...channel, unit: units[no - 2]! } : channel));
  const heart = channels.filter(({ kind }) => kind !== 'acc');
  const liveOf = (of: readonly ChannelConfig[]) => {
    const rows = new RowBuffer();
    const engine = new StreamEngine(of, 0, stock, rows);
    of.forEach((_, no) => sent[no]!.forEach(({ k0, samples }) => engine.run(no, k0, samples, null)));
    engine.settle();
    const { finalUs } = engine;
    engine.close();
    const all = Array.from({ length: rows.count }, (_, i) => [...rows.rows.subarray(i * rowWidth, (i + 1) * rowWidth)]);
    return { finalUs, all };
  };
  const wanted = liveOf(heart);
  expect(wanted.finalUs).toBeGreaterThan(1_200_000_000);
  for (const feature of ['hr_ecg', 'hr_ppg'])
    expect(wanted.all.filter(([code]) => code === rowCode.feature + methodIndex(feature)).length, feature).toBeGreaterThan(20);
  expect(liveOf(inUnits)).toEqual(wanted);
  expect(keepsEarlierRows(heart, inUnits)).toBe(true);
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
