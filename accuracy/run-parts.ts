/** A run of the accuracy report, and what it is made of: the motion alone, and how strong the pulse is over it. */
import FFT from 'fft.js';

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

export type Motion = Readonly<{
  run: Run;
  /** Each wavelength without what lies near the true rate and twice it, except where the accelerometer moves at that rate. */
  ppg: readonly Float64Array[];
  /** Amplitude of what was taken away, every STEP_SEC. */
  pulse: readonly Float64Array[];
  /** Every STEP_SEC, of the 1024 samples from there: the accelerometer moves at the true rate, so nothing was taken away. */
  hidden: readonly boolean[];
}>;

/** Does the window of 8 s from `sec` on hold some of the pulse in its motion? */
export function holdsPulse({ hidden }: Motion, sec: number): boolean {
  return hidden.some((isHidden, i) => isHidden && Math.abs(i * STEP_SEC - sec) < 8);
}

const SIZE = 1024;
export const STEP_SEC = 2.048;
const NEAR_HZ = 0.2;

/** Parts a run by the true rate. */
export function motionOf(run: Run): Motion {
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
  return { run, ppg: parts.map(({ motion }) => motion), pulse: parts.map(({ pulse }) => pulse), hidden };
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
export function at(x: ArrayLike<number>, position: number): number {
  const inside = Math.min(x.length - 1, Math.max(0, position));
  const i = Math.min(x.length - 2, Math.floor(inside));
  return x[i]! + (inside - i) * (x[i + 1]! - x[i]!);
}

/** Without what is slower than a heart. */
export function filtered(x: Float64Array, fs: number): Float64Array {
  const half = Math.round(fs);
  const sums = new Float64Array(x.length + 1);
  for (let i = 0; i < x.length; i++) sums[i + 1] = sums[i]! + x[i]!;
  return x.map((value, i) => {
    const [first, end] = [Math.max(0, i - half), Math.min(x.length, i + half + 1)];
    return value - (sums[end]! - sums[first]!) / (end - first);
  });
}

export function deviation(x: Float64Array): number {
  const mean = x.reduce((sum, value) => sum + value, 0) / x.length;
  return Math.sqrt(x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length);
}
