/** Runs that nothing was chosen on, made of the runs given: the same bodies started, stretched, worn, moved and disturbed otherwise. They
 *  cannot replace other people's runs; what fails on them fails there. Deterministic. */
import FFT from 'fft.js';
import { seeded } from '../src/dsp/testing/fixture.ts';
import type { PpgItem } from './ppg-recordings.ts';

export type Run = Readonly<{
  /** The recordings that it is made of. */
  of: readonly string[];
  kind: string;
  fs: number;
  ppg: readonly Float64Array[];
  acc: readonly Float64Array[];
  /** True rate of the 8 s window that starts at 2 s times the index; NaN where it is not known. */
  bpm: Float64Array;
}>;

export function runOf({ name, fs, spc }: PpgItem): Run {
  return { of: [name.slice(0, 7)], kind: 'as recorded', fs, ppg: spc!.ppg, acc: spc!.acc, bpm: spc!.bpm };
}

/** @param runs as recorded */
export function perturbedRuns(runs: readonly Run[]): Run[] {
  const other = (i: number, by: number): Run => runs[(i + by) % runs.length]!;
  const motions = runs.map(motionOf);
  return runs.flatMap((run, i) => [
    run,
    ...[10, 20, 40, 70, 100, 150, 200].map((sec) => from(run, sec)),
    ...[0.85, 0.9, 0.95, 1.05, 1.1, 1.15].map((factor) => stretched(run, factor)),
    reversed(run),
    turned(run, [1, 1, 1], i),
    turned(run, [0.3, 1, 2], i + 6),
    { ...run, kind: 'one axis', acc: run.acc.map((axis, a) => (a === 2 ? axis : new Float64Array(axis.length))) },
    { ...run, kind: 'first wavelength', ppg: run.ppg.slice(0, 1) },
    { ...run, kind: 'second wavelength', ppg: run.ppg.slice(1) },
    noisy(run, 1.7, i),
    noisy(run, 3.5, i + 6),
    ...[1, 3].map((by) => ({ ...run, of: [...run.of, ...other(i, by).of], kind: "another's accelerometer", acc: other(i, by).acc })),
    ...[1, 3].map((by) => moved(run, motions[(i + by) % runs.length]!)),
    ...[
      [1, 1, 0],
      [2, 1.1, 0],
      [3, 0.9, 0],
      [4, 1, 15],
      [5, 1, -10],
      [0, 1, 12],
    ].map(([by, factor, plus]) =>
      anotherPulse(
        motions[i]!,
        other(i, by!),
        other(i, by!).bpm.map((bpm) => bpm * factor! + plus!),
      ),
    ),
  ]);
}

function from(run: Run, sec: number): Run {
  const cut = (x: Float64Array): Float64Array => x.slice(sec * run.fs);
  return { ...run, kind: 'later start', ppg: run.ppg.map(cut), acc: run.acc.map(cut), bpm: run.bpm.slice(sec / 2) };
}

/** Everything `factor` times as slow: pulse and cadence. */
function stretched(run: Run, factor: number): Run {
  const slow = (x: Float64Array): Float64Array => Float64Array.from({ length: Math.floor(x.length * factor) }, (_, i) => at(x, i / factor));
  const ppg = run.ppg.map(slow);
  const windows = Math.floor((ppg[0]!.length / run.fs - 8) / 2) + 1;
  const bpm = Float64Array.from({ length: windows }, (_, i) => at(run.bpm, ((2 * i + 4) / factor - 4) / 2) / factor);
  return { ...run, kind: 'time stretched', ppg, acc: run.acc.map(slow), bpm };
}

function reversed(run: Run): Run {
  const end = Math.round((2 * (run.bpm.length - 1) + 8) * run.fs);
  const turn = (x: Float64Array): Float64Array => x.slice(0, end).toReversed();
  return { ...run, kind: 'time reversed', ppg: run.ppg.map(turn), acc: run.acc.map(turn), bpm: run.bpm.toReversed() };
}

/** The accelerometer worn otherwise. */
function turned(run: Run, gains: readonly number[], seed: number): Run {
  const random = seeded(seed + 1);
  const [a, b] = [2 * Math.PI * random(), 2 * Math.PI * random()];
  const turn = (x: Float64Array, y: Float64Array, angle: number): [Float64Array, Float64Array] => [
    x.map((value, i) => Math.cos(angle) * value - Math.sin(angle) * y[i]!),
    x.map((value, i) => Math.sin(angle) * value + Math.cos(angle) * y[i]!),
  ];
  const [x, y] = turn(run.acc[0]!, run.acc[1]!, a);
  const [y2, z] = turn(y, run.acc[2]!, b);
  return { ...run, kind: 'axes turned and scaled', acc: [x, y2, z].map((axis, k) => axis.map((value) => gains[k]! * value)) };
}

/** White noise of so many times the pulse's and motion's deviation. */
function noisy(run: Run, gain: number, seed: number): Run {
  const random = seeded(seed + 100);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const ppg = run.ppg.map((x) => {
    const size = gain * deviation(filtered(x, run.fs));
    return x.map((value) => value + size * normal());
  });
  return { ...run, kind: 'noise added', ppg };
}

/** Another runner's motion on top, in the pulse and in the accelerometer. */
function moved(run: Run, motion: Motion): Run {
  const length = Math.min(run.ppg[0]!.length, motion.ppg[0]!.length);
  const ppg = run.ppg.map((x, c) => {
    const gain = (0.7 * deviation(filtered(x, run.fs))) / deviation(motion.ppg[c]!);
    return x.slice(0, length).map((value, i) => value + gain * motion.ppg[c]![i]!);
  });
  const acc = run.acc.map((axis, a) => axis.slice(0, length).map((value, i) => value + motion.run.acc[a]![i]!));
  return { ...run, of: [...run.of, ...motion.run.of], kind: "another's motion added", ppg, acc, bpm: run.bpm };
}

/** The motion of one runner, and a made pulse with the rate of another: a heart at another ratio to the cadence. */
function anotherPulse(motion: Motion, of: Run, bpm: Float64Array): Run {
  const { fs } = motion.run;
  let phase = 0;
  const wave = Float64Array.from({ length: motion.ppg[0]!.length }, (_, i) => {
    phase += (2 * Math.PI * at(bpm, (i / fs - 4) / 2)) / 60 / fs;
    return Math.sin(phase) + 0.35 * Math.sin(2 * phase + 0.8) + 0.1 * Math.sin(3 * phase + 1.5);
  });
  const ppg = motion.ppg.map((x, c) => x.map((value, i) => value + at(motion.pulse[c]!, i / fs / STEP_SEC) * wave[i]!));
  return { of: [...motion.run.of, ...of.of], kind: "another's heart rate", fs, ppg, acc: motion.run.acc, bpm };
}

type Motion = Readonly<{
  run: Run;
  /** Each wavelength without what lies near the true rate and twice it, except where the accelerometer moves at that rate. */
  ppg: readonly Float64Array[];
  /** Amplitude of what was taken away, every STEP_SEC. */
  pulse: readonly Float64Array[];
}>;

const SIZE = 1024;
const STEP_SEC = 2.048;
const NEAR_HZ = 0.2;

function motionOf(run: Run): Motion {
  const fft = new FFT(SIZE);
  const hop = Math.round(STEP_SEC * run.fs);
  const window = Float64Array.from({ length: SIZE }, (_, i) => Math.sin((Math.PI * (i + 0.5)) / SIZE));
  const transform = (x: Float64Array, start: number): Float64Array => {
    const out = new Float64Array(2 * SIZE);
    const mean = x.subarray(start, start + SIZE).reduce((sum, value) => sum + value, 0) / SIZE;
    fft.realTransform(
      out,
      Float64Array.from(window, (w, i) => w * (x[start + i]! - mean)),
    );
    fft.completeSpectrum(out);
    return out;
  };
  const power = (spectrum: Float64Array, k: number): number => spectrum[2 * k]! ** 2 + spectrum[2 * k + 1]! ** 2;
  const starts = Array.from({ length: Math.floor((run.ppg[0]!.length - SIZE) / hop) + 1 }, (_, i) => i * hop);
  const isNear = (k: number, bpm: number): boolean =>
    Math.min(Math.abs((k * run.fs) / SIZE - bpm / 60), Math.abs((k * run.fs) / SIZE - bpm / 30)) < NEAR_HZ;
  const rates = starts.map((start) => at(run.bpm, start / run.fs / 2));
  const hidden = starts.map((start, i) => {
    const axes = run.acc.map((axis) => transform(axis, start));
    const of = (k: number): number => axes.reduce((sum, axis) => sum + power(axis, k), 0);
    const bins = Array.from({ length: 40 }, (_, k) => k + 5);
    const most = Math.max(...bins.map(of));
    return bins.some((k) => Math.abs((k * run.fs) / SIZE - rates[i]! / 60) < NEAR_HZ && of(k) > 0.25 * most);
  });
  const parts = run.ppg.map((raw) => {
    const x = filtered(raw, run.fs);
    const motion = new Float64Array(starts.at(-1)! + SIZE);
    const pulse = starts.map((start, i) => {
      const spectrum = transform(x, start);
      let taken = 0;
      for (let k = 0; k < SIZE && !hidden[i]!; k++) {
        if (!isNear(Math.min(k, SIZE - k), rates[i]!)) continue;
        taken += power(spectrum, k);
        spectrum[2 * k] = spectrum[2 * k + 1] = 0;
      }
      const back = new Float64Array(2 * SIZE);
      fft.inverseTransform(back, spectrum);
      // four windows overlap, each tapered twice: their squares sum to 2
      for (let t = 0; t < SIZE; t++) motion[start + t] = motion[start + t]! + (back[2 * t]! * window[t]!) / 2;
      // Parseval; the window's mean square is a half
      return hidden[i]! ? Number.NaN : Math.sqrt(taken / SIZE / (SIZE / 2));
    });
    return { motion, pulse: steady(pulse) };
  });
  return { run, ppg: parts.map(({ motion }) => motion), pulse: parts.map(({ pulse }) => pulse) };
}

/** Amplitude of a wave by the median of eleven that are known: a mean square of about a half. */
function steady(pulse: readonly number[]): Float64Array {
  return Float64Array.from(pulse, (_, i) => {
    const known = pulse.slice(Math.max(0, i - 5), i + 6).filter((value) => !Number.isNaN(value));
    const list = (known.length > 0 ? known : pulse.filter((value) => !Number.isNaN(value))).toSorted((a, b) => a - b);
    return Math.SQRT2 * list[list.length >> 1]!;
  });
}

/** Linear between samples; the first and the last go on. */
function at(x: ArrayLike<number>, position: number): number {
  const inside = Math.min(x.length - 1, Math.max(0, position));
  const i = Math.min(x.length - 2, Math.floor(inside));
  return x[i]! + (inside - i) * (x[i + 1]! - x[i]!);
}

/** Without what is slower than a heart. */
function filtered(x: Float64Array, fs: number): Float64Array {
  const half = Math.round(fs);
  const sums = new Float64Array(x.length + 1);
  for (let i = 0; i < x.length; i++) sums[i + 1] = sums[i]! + x[i]!;
  return x.map((value, i) => {
    const [first, end] = [Math.max(0, i - half), Math.min(x.length, i + half + 1)];
    return value - (sums[end]! - sums[first]!) / (end - first);
  });
}

function deviation(x: Float64Array): number {
  const mean = x.reduce((sum, value) => sum + value, 0) / x.length;
  return Math.sqrt(x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length);
}
