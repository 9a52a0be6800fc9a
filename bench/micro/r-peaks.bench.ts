/** How many samples per second and core do R-peak detection and ECG quality take, over a plain Float32 sum pass of the same signal?
 *
 *  node bench/micro/r-peaks.bench.ts [rounds]
 *  30 minutes of a seeded synthetic ECG at 360 Hz; packets of 90 and whole; CPU time of the process; variants interleaved, best and
 *  median of the rounds. The sum pass is the speed of merely reading the samples on this machine under its present load. Where `python3` can
 *  import sleepecg, its C detector takes the same samples in the same run. */
import { spawnSync } from 'node:child_process';
import { noBeats } from '../../src/dsp/kernel-beats.ts';
import { EcgKernel, noJudgements } from '../../src/dsp/kernel-ecg.ts';
import { RPeakDetector } from '../../src/dsp/r-peaks.ts';
import type { GoalName } from '../lib/goals.ts';
import { report, reportMedian } from '../lib/result.ts';

const FS = 360;
const N = 1800 * FS;
const rounds = Number(process.argv[2] ?? 15);

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

const x = syntheticEcg();
const x32 = Float32Array.from(x);
let keep = 0;

function sumPass(): void {
  let sum = 0;
  for (let i = 0; i < x32.length; i++) sum += x32[i]!;
  keep += sum;
}

function detectPass(leads: readonly Float64Array[], packet: number): () => void {
  const detector = new RPeakDetector(FS, leads.length);
  const found = noBeats(4096);
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
  const found = noBeats(4096);
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

/** M samples/s of sleepecg's C detector (CPU time, best of 5); null where it is not installed. */
function sleepecgRate(): number | null {
  const script = `
import sys, time, numpy, sleepecg
x = numpy.frombuffer(sys.stdin.buffer.read(), dtype=numpy.float64)
best = 0.0
for _ in range(5):
    start = time.process_time()
    sleepecg.detect_heartbeats(x, ${FS})
    best = max(best, len(x) / (time.process_time() - start) / 1e6)
print(best)`;
  const { status, stdout } = spawnSync('python3', ['-c', script], { input: new Uint8Array(x.buffer), encoding: 'utf8' });
  return status === 0 ? Number(stdout) : null;
}

const native = sleepecgRate();
if (native === null) console.log('sleepecg is not on this machine: no native peer beside it');
else {
  report({ name: 'sleepecg C, whole', value: native, unit: 'M samples/s', better: 'higher' });
  report({ name: 'R peaks, whole: times sleepecg C', value: Math.max(...rates[2]!) / native, unit: 'times', better: 'higher' });
}
if (keep === 0) throw new Error('nothing was computed');
