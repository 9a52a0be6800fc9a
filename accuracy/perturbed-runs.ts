/** Runs that nothing was chosen on, made of the runs given: the same bodies started, stretched, worn, moved and disturbed otherwise. They
 *  cannot replace other people's runs; what fails on them fails there. Deterministic. */
import { seeded } from '../src/dsp/testing/fixture.ts';
import type { PpgItem } from './ppg-recordings.ts';
import { STEP_SEC, at, deviation, filtered, holdsPulse, motionOf } from './run-parts.ts';
import type { Motion, Run } from './run-parts.ts';

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
    ...randomStarts(run, 4, i),
    ...[0.8, 0.85, 0.9, 0.95, 1.05, 1.1, 1.15, 1.25].map((factor) => stretched(run, factor)),
    reversed(run),
    turned(run, [1, 1, 1], i),
    turned(run, [0.3, 1, 2], i + 6),
    ...[0, 1, 2].map((off) => ({
      ...run,
      kind: 'one axis missing',
      acc: run.acc.map((axis, a) => (a === off ? axis.map(() => 0) : axis)),
    })),
    { ...run, kind: 'one axis', acc: run.acc.map((axis, a) => (a === 2 ? axis : new Float64Array(axis.length))) },
    { ...run, kind: 'first wavelength', ppg: run.ppg.slice(0, 1) },
    { ...run, kind: 'second wavelength', ppg: run.ppg.slice(1) },
    noisy(run, 1.7, i),
    noisy(run, 3.5, i + 6),
    regained(run, i),
    ...[2, 3].map((gain) => shaken(motions[i]!, gain)),
    ...[0.85, 0.93, 1.08, 1.17].map((factor) => otherCadence(motions[i]!, factor)),
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

/** Begun anywhere, also in the middle of a window of the given rates. */
function randomStarts(run: Run, count: number, seed: number): Run[] {
  const random = seeded(seed + 200);
  return Array.from({ length: count }, () => {
    const start = Math.floor(random() * (run.ppg[0]!.length - 70 * run.fs));
    const cut = (x: Float64Array): Float64Array => x.slice(start);
    const windows = Math.floor(((run.ppg[0]!.length - start) / run.fs - 8) / 2) + 1;
    const bpm = Float64Array.from({ length: windows }, (_, i) => at(run.bpm, i + start / run.fs / 2));
    return { ...run, kind: 'begun anywhere', ppg: run.ppg.map(cut), acc: run.acc.map(cut), bpm };
  });
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

/** Another gain of the light, 0.3 to 3 times, about every 15 s. */
function regained(run: Run, seed: number): Run {
  const random = seeded(seed + 300);
  const gains = new Float64Array(run.ppg[0]!.length);
  for (let from = 0; from < gains.length;) {
    const to = from + Math.round((7 + 16 * random()) * run.fs);
    gains.fill(0.3 * 10 ** random(), from, to);
    from = to;
  }
  return { ...run, kind: 'gain changed', ppg: run.ppg.map((x) => filtered(x, run.fs).map((value, i) => gains[i]! * value)) };
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
  return { ...run, of: [...run.of, ...motion.run.of], kind: "another's motion added", ppg, acc, bpm: whereOnlyOne(motion, run.bpm) };
}

/** The light moves more under the same pulse, except where the two cannot be told apart. */
function shaken({ run, ppg: motions }: Motion, gain: number): Run {
  const ppg = run.ppg.map((x, c) => filtered(x, run.fs).map((value, i) => value + (gain - 1) * (motions[c]![i] ?? 0)));
  return { ...run, kind: `motion ${gain} times as strong`, ppg };
}

/** The motion `factor` times as slow, in the accelerometer and in the light; the pulse stays. Where the pulse cannot be told from the
 *  motion, at either time, the rate is not known. */
function otherCadence(motion: Motion, factor: number): Run {
  const { run } = motion;
  const length = Math.floor(Math.min(motion.ppg[0]!.length, motion.ppg[0]!.length * factor));
  const slow = (x: Float64Array): Float64Array => Float64Array.from({ length }, (_, i) => at(x, i / factor));
  const ppg = run.ppg.map((x, c) => {
    const [all, moved] = [filtered(x, run.fs), slow(motion.ppg[c]!)];
    return moved.map((value, i) => value + all[i]! - motion.ppg[c]![i]!);
  });
  const bpm = run.bpm.map((value, i) => (holdsPulse(motion, 2 * i) || holdsPulse(motion, (2 * i) / factor) ? Number.NaN : value));
  return { ...run, kind: 'cadence alone changed', ppg, acc: run.acc.map(slow), bpm };
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
  return { of: [...motion.run.of, ...of.of], kind: "another's heart rate", fs, ppg, acc: motion.run.acc, bpm: whereOnlyOne(motion, bpm) };
}

/** Not known where the motion still has a pulse of its own: there are two hearts, and neither is wrong. */
function whereOnlyOne(motion: Motion, bpm: Float64Array): Float64Array {
  return bpm.map((value, i) => (holdsPulse(motion, 2 * i) ? Number.NaN : value));
}
