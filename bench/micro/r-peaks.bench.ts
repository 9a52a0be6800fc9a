/** Speed of R-peak detection and ECG quality, in samples per second and core, next to a plain Float32 sum pass of the same signal.
 *
 *  node bench/micro/r-peaks.bench.ts [rounds] [RECORD.hea]
 *  30 minutes of a seeded synthetic ECG at 360 Hz, or the first lead of a WFDB record; packets of 90 and whole; CPU time of the process;
 *  variants interleaved, best and median of the rounds. The sum pass is the speed of merely reading the samples on this machine under its
 *  present load; two biquads, a square and a moving sum are the least that a detector without decimation would do. With BENCH_NATIVE_DIR
 *  native detectors take the same samples in the same run, see bench/lib/native-peers.ts. */
import { resolve } from 'node:path';
import { highPass, lowPass } from '../../src/dsp/kernels/biquad.ts';
import { noShapedBeats } from '../../src/dsp/kernels/found-beats.ts';
import { EcgKernel, noJudgements } from '../../src/dsp/ecg/kernel.ts';
import { RPeakDetector } from '../../src/dsp/ecg/r-peaks.ts';
import { physicalSamples, readRecord } from '../../src/formats/wfdb-read.ts';
import type { GoalName } from '../lib/goals.ts';
import { reportPeers } from '../lib/native-peers.ts';
import { reportMedian } from '../lib/result.ts';

const rounds = Number(process.argv[2] ?? 15);
const record = process.argv[3] === undefined ? null : await readRecord(resolve(process.argv[3]));
const FS = record?.fs ?? 360;
const N = record?.leads[0]!.samples.length ?? 1800 * FS;

function syntheticEcg(): Float64Array {
  const x = new Float64Array(N);
  let seed = 42;
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647 - 0.5;
  for (let i = 0; i < N; i++) x[i] = 0.3 * Math.sin((2 * Math.PI * 0.2 * i) / FS) + 0.03 * random();
  for (let t = 0.5; t < 1799; t += 0.8 * (1 + 0.2 * random())) {
    for (let i = Math.floor((t - 0.3) * FS); i < (t + 0.5) * FS; i++) {
      const s = i / FS - t;
      const wave =
        Math.exp(-((s / 0.012) ** 2)) + 0.12 * Math.exp(-(((s + 0.16) / 0.03) ** 2)) + 0.3 * Math.exp(-(((s - 0.28) / 0.05) ** 2));
      if (i >= 0 && i < N) x[i] = x[i]! + wave;
    }
  }
  return x;
}

const x = record === null ? syntheticEcg() : physicalSamples(record.leads[0]!);
const x32 = Float32Array.from(x);
const filtered = new Float64Array(N);
let keep = 0;

function sumPass(): void {
  let sum = 0;
  for (let i = 0; i < x32.length; i++) sum += x32[i]!;
  keep += sum;
}

/** Band-pass, square of the slope, moving sum of 50: every sample, no decisions. */
function filterPass(): void {
  const { b0: h0, b1: h1, b2: h2, a1: g1, a2: g2 } = highPass(6, FS);
  const { b0: l0, b1: l1, b2: l2, a1: m1, a2: m2 } = lowPass(15, FS);
  const window = new Float64Array(50);
  let hz1 = 0;
  let hz2 = 0;
  let lz1 = 0;
  let lz2 = 0;
  let previous = 0;
  let sum = 0;
  let at = 0;
  for (let i = 0; i < x.length; i++) {
    const value = x[i]!;
    const h = h0 * value + hz1;
    hz1 = h1 * value - g1 * h + hz2;
    hz2 = h2 * value - g2 * h;
    const y = l0 * h + lz1;
    lz1 = l1 * h - m1 * y + lz2;
    lz2 = l2 * h - m2 * y;
    const square = (y - previous) * (y - previous);
    previous = y;
    sum += square - window[at]!;
    window[at] = square;
    if (++at === 50) at = 0;
    filtered[i] = sum;
  }
  keep += sum;
}

function detectPass(leads: readonly Float64Array[], packet: number): () => void {
  const detector = new RPeakDetector(FS, leads.length);
  const found = noShapedBeats(4096);
  return () => {
    detector.reset();
    found.count = 0;
    for (let at = 0; at < N; at += packet) detector.push(leads, at, Math.min(N, at + packet), found);
    detector.flush(found);
    keep += found.count;
  };
}

function kernelPass(leads: readonly Float64Array[], packet: number): () => void {
  const kernel = new EcgKernel(FS, leads.length);
  const found = noShapedBeats(4096);
  const judged = noJudgements();
  return () => {
    kernel.reset();
    found.count = judged.count = 0;
    for (let at = 0; at < N; at += packet) kernel.push(leads, at, Math.min(N, at + packet), found, judged);
    keep += judged.count;
  };
}

const variants: [string, () => void, number, GoalName?][] = [
  ['Float32 sum pass', sumPass, 1],
  ['two biquads and a moving sum', filterPass, 1],
  ['R peaks, packets of 90', detectPass([x], 90), 1, 'P7 peaks'],
  ['R peaks, whole', detectPass([x], N), 1],
  ['R peaks, 2 leads, packets of 90', detectPass([x, x], 90), 2],
  ['R peaks and quality, packets of 90', kernelPass([x], 90), 1],
];
const rates = variants.map((): number[] => []);
for (let round = -2; round < rounds; round++) {
  variants.forEach(([, run, leadCount], v) => {
    const start = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(start);
    if (round >= 0) rates[v]!.push((N * leadCount) / (user + system));
  });
}
variants.forEach(([name, , , goal], v) => {
  const figure = { name, note: 'CPU time of the process; a busy machine halves it: compare with the sum pass' };
  reportMedian(goal === undefined ? { ...figure, unit: 'M samples/s', better: 'higher' } : { ...figure, goal }, rates[v]!);
  if (v === 0) return;
  const ratios = rates[v]!.map((rate, round) => rates[0]![round]! / rate);
  reportMedian({ name: `${name}: times the sum pass`, unit: 'times' }, ratios);
});

const inPackets = detectPass([x], 90);
reportPeers('R peaks, packets of 90', x, FS, (times) => {
  let best = 0;
  for (let i = 0; i < times; i++) {
    const start = process.cpuUsage();
    inPackets();
    const { user, system } = process.cpuUsage(start);
    best = Math.max(best, N / (user + system));
  }
  return best;
});
if (keep === 0) throw new Error('nothing was computed');
