/** Speed of the whole chain of one ECG channel, in samples per second and core: digital samples in; R peaks by segments, verdicts, heart
 *  rate, variability and rows out. And the memory that a streaming device holds.
 *
 *  node --expose-gc bench/micro/segment-engine.bench.ts [rounds] [streams]
 *  Besides, the most expensive part of a wearable: PPG at 125 Hz with its accelerometer (beats, spectral rate, quality, PRV, breathing).
 *  One hour of a seeded made-up ECG at 250 Hz per stream, digital Int32; packets of 100 ms and of 1 s; one stream, and many in turns (their
 *  state leaves the cache); one with hum of mains, which the delineator takes off; and one of bigeminy, in which every interval is doubted
 *  (kinds of beats, waves that may hide, places, RMSSD). CPU time of the process; variants interleaved, best
 *  and median of the rounds. With BENCH_NATIVE_DIR native detectors, which find R peaks and nothing else, take the same hour
 *  (bench/lib/native-peers.ts). */
import { makeEctopicEcg } from '../../src/dsp/testing/ecg-fixture.ts';
import { madeUpStream } from '../../src/dsp/testing/fixture.ts';
import { RowBuffer } from '../../src/dsp/rows/row-buffer.ts';
import { noBeats } from '../../src/dsp/kernels/found-beats.ts';
import { RPeakDetector } from '../../src/dsp/ecg/r-peaks.ts';
import { StreamEngine } from '../../src/dsp/engine/engine.ts';
import { KernelStock } from '../../src/dsp/engine/runner.ts';
import type { ChannelConfig } from '../../src/signal.ts';
import type { GoalName } from '../lib/goals.ts';
import { reportPeers } from '../lib/native-peers.ts';
import { report, reportMedian } from '../lib/result.ts';

const fs = 250;
const seconds = 3600;
const rounds = Number(process.argv[2] ?? 7);
const many = Number(process.argv[3] ?? 500);
const channels: readonly ChannelConfig[] = [
  { code: 'ecg.ii', kind: 'ecg', rateNanoHz: fs * 1e9, gain: 200, baseline: 10, unit: 'mV', lead: 'II' },
];
const digital = madeUpStream(1, 0, seconds, channels)[0]!.samples as Int32Array;
/** The same with 0.3 mV of mains, which the delineator takes off each beat. */
const humming = digital.map((x, i) => x + Math.round(60 * Math.sin((2 * Math.PI * 50 * i) / fs)));
/** Every other beat is ventricular. */
const coupled = Array.from({ length: 2 * Math.floor(seconds / 1.6) - 1 }, (_, i) => 0.6 + 1.6 * (i >> 1) + 0.5 * (i % 2));
const ventricular = coupled.filter((_, i) => i % 2 === 1);
const pWaves = coupled.filter((_, i) => i % 2 === 0).map((t) => t - 0.16);
const bigeminal = Int32Array.from(makeEctopicEcg({ fs, seconds, beats: coupled, pWaves, ventricular }), (mv) => Math.round(200 * mv) + 10);
const physical = Float64Array.from(digital, (x) => (x - 10) / 200);
const float32 = Float32Array.from(physical);
let keep = 0;

function sumPass(): number {
  let sum = 0;
  for (let i = 0; i < float32.length; i++) sum += float32[i]!;
  keep += sum;
  return float32.length;
}

const detector = new RPeakDetector(fs, 1);
function detectPass(): number {
  const found = noBeats(8192);
  detector.reset();
  for (let at = 0; at < physical.length; at += 90) detector.push([physical], at, Math.min(physical.length, at + 90), found);
  detector.flush(found);
  keep += found.count;
  return physical.length;
}

const pulseChannels: readonly ChannelConfig[] = [
  { code: 'ppg.green', kind: 'ppg', rateNanoHz: 125e9, gain: 200, baseline: 10, unit: '1', lead: '' },
  ...['acc.x', 'acc.y', 'acc.z'].map((code): ChannelConfig => ({
    code,
    kind: 'acc',
    rateNanoHz: 25e9,
    gain: 200,
    baseline: 10,
    unit: 'g',
    lead: '',
  })),
];
const pulseRuns = madeUpStream(2, 0, 600, pulseChannels).map((run) => run.samples as Int32Array);

/** Packets of half a second, which is what the pool makes of a device's. @param axisCount 0 or 3 */
function pulsePass(axisCount: number): () => number {
  const used = pulseChannels.slice(0, 1 + axisCount);
  return () => {
    const rows = new RowBuffer();
    const engine = new StreamEngine(used, 0, new KernelStock(), rows);
    for (let half = 0; half < 2 * 600; half++) {
      used.forEach(({ rateNanoHz }, no) => {
        const at = (k: number): number => Math.ceil((k * rateNanoHz) / 2e9);
        engine.run(no, at(half), pulseRuns[no]!.subarray(at(half), at(half + 1)), null);
      });
      engine.settle();
      keep += rows.count;
      rows.count = 0;
    }
    return pulseRuns[0]!.length;
  };
}

/** @param packet samples per push; every stream gets one in turn */
function enginePass(streamCount: number, packet: number, length: number, taken = digital): () => number {
  return () => {
    const stock = new KernelStock();
    const rows = new RowBuffer();
    const engines = Array.from({ length: streamCount }, () => new StreamEngine(channels, 0, stock, rows));
    // devices boot at different times: their segments do not change in step
    const offset = engines.map((_, s) => Math.floor((s * 64 * fs) / streamCount));
    for (let at = 0; at + packet <= length; at += packet) {
      const samples = taken.subarray(at, at + packet);
      for (let s = 0; s < streamCount; s++) {
        engines[s]!.run(0, at + offset[s]!, samples, null);
        engines[s]!.settle();
      }
      keep += rows.count;
      rows.count = 0;
    }
    return streamCount * length;
  };
}

/** Heap and buffers of streams in the middle of their life, bytes each. */
function bytesPerStream(streamCount: number): number {
  const used = (): number => {
    globalThis.gc?.();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const before = used();
  const stock = new KernelStock();
  const rows = new RowBuffer();
  const engines = Array.from({ length: streamCount }, () => new StreamEngine(channels, 0, stock, rows));
  const length = 400 * fs;
  for (let at = 0; at < length; at += 25)
    for (let s = 0; s < streamCount; s++) {
      engines[s]!.run(0, at + Math.floor((s * 64 * fs) / streamCount), digital.subarray(at, at + 25), null);
      engines[s]!.settle();
      rows.count = 0;
    }
  const after = used();
  keep += engines.length;
  return (after - before) / streamCount;
}

// first, while nothing else is there to be collected
const streamBytes = globalThis.gc === undefined ? null : bytesPerStream(300);

const variants: [string, () => number, GoalName?][] = [
  ['Float32 sum pass', sumPass],
  ['R peaks alone, packets of 90', detectPass],
  ['whole chain, 1 stream, packets of 25', enginePass(1, 25, digital.length)],
  ['whole chain, 1 stream, packets of 250', enginePass(1, 250, digital.length), 'P7 chain'],
  ['whole chain with hum of 50 Hz, 1 stream, packets of 250', enginePass(1, 250, humming.length, humming)],
  ['whole chain with bigeminy, 1 stream, packets of 250', enginePass(1, 250, bigeminal.length, bigeminal)],
  [`whole chain, ${many} streams in turns, packets of 25`, enginePass(many, 25, 120 * fs)],
  ['PPG chain, 1 stream, packets of 0.5 s', pulsePass(0)],
  ['PPG chain with accelerometer, PPG samples counted', pulsePass(3)],
];
const rates = variants.map((): number[] => []);
for (let round = -1; round < rounds; round++)
  variants.forEach(([, run], v) => {
    const start = process.cpuUsage();
    const count = run();
    const { user, system } = process.cpuUsage(start);
    if (round >= 0) rates[v]!.push(count / (user + system));
  });
variants.forEach(([name, , goal], v) => {
  reportMedian(goal === undefined ? { name, unit: 'M samples/s', better: 'higher' } : { name, goal }, rates[v]!);
  if (v > 0)
    reportMedian(
      { name: `${name}: times the sum pass`, unit: 'times' },
      rates[v]!.map((rate, round) => rates[0]![round]! / rate),
    );
});
const ratesOf = (of: string): number[] => rates[variants.findIndex(([name]) => name === of)]!;
const clean = ratesOf('whole chain, 1 stream, packets of 250');
for (const what of ['hum of 50 Hz', 'bigeminy']) {
  const other = ratesOf(`whole chain with ${what}, 1 stream, packets of 250`);
  reportMedian(
    { name: `${what}: processor time of the whole chain over that without`, unit: 'times' },
    clean.map((rate, round) => rate / other[round]!),
  );
}
const chain = enginePass(1, 250, digital.length);
reportPeers('whole chain, 1 stream, packets of 250', physical, fs, (times) => {
  let best = 0;
  for (let i = 0; i < times; i++) {
    const start = process.cpuUsage();
    const count = chain();
    const { user, system } = process.cpuUsage(start);
    best = Math.max(best, count / (user + system));
  }
  return best;
});
if (streamBytes === null) console.log('memory: run with --expose-gc');
else report({ name: 'memory of a streaming device, 1 ECG channel at 250 Hz, 400 s in', value: streamBytes / 1000, unit: 'kB' });
if (keep === Number.POSITIVE_INFINITY) console.log(keep);
