/** Light that is made, with what is true of it: pulses of a rhythm, two wavelengths with their level, and one thing that is hard about it.
 *
 *  A recording is 420 s of red and infrared light (level 0.8 and 1; red pulses by 0.6 of what infrared does, which is a saturation of 95 %
 *  by the line 110 - 25 R). Three are made of each scenario: three shapes of pulse, three seeds. */
import { ecgShapes, makeEcg } from '../src/dsp/testing/ecg-fixture.ts';
import { seeded } from '../src/dsp/testing/fixture.ts';
import type { PhysicalChannel } from './hrv-stream.ts';

export const calibration = { offset: 110, slope: 25 } as const;
export const lengthSec = 420;
export const recordingsEach = 3;
const redShare = 0.6;
const saturation = calibration.offset - calibration.slope * redShare;
const levels = [0.8, 1] as const;

/** A beat of the heart: when, and how high its pulse is over the usual one. */
export type Beat = Readonly<{ sec: number; height: number; isNormal: boolean }>;

type Random = () => number;

/** What is true at a time. Null: no value is right. NaN: nothing is known, and none is judged. */
export type Truth = Readonly<{
  beats: readonly Beat[];
  /** Time of the heart at a time of the device. */
  heartSec: (sec: number) => number;
  hasPulse: boolean;
  hasVariability: boolean;
  spo2: number | null;
  worn: number;
  /** Least and greatest, %. */
  perfusion: readonly [number, number] | null;
  isEcg: boolean;
}>;

export type Made = Readonly<{ channels: readonly PhysicalChannel[]; truth: Truth }>;

/** What a scenario changes. `pulse` and `added` are shares of a level, of light 0 (red) or 1 (infrared). */
type Recipe = Readonly<{
  fs: number;
  perMin: number;
  /** By how much breathing and the slow wave move the intervals, of the mean. */
  swing: number;
  /** Pulse from foot to top, % of the level of infrared. */
  perfusion: number;
  /** White, root mean square, of the pulse. */
  noise: number;
  rhythm: (recipe: Recipe, random: Random) => Beat[];
  shape: (recordingNo: number) => Shape;
  /** Of a finger: 0 where there is none. */
  hasFinger: boolean;
  /** Added to a light, in heights of its infrared pulse, alike in both. */
  added: (random: Random) => (sec: number) => number;
  /** Of the samples, at the end. */
  spoiled: (x: Float64Array, light: number, fs: number, random: Random) => Float64Array;
  heartSec: (sec: number) => number;
  /** Is no sample at this time? */
  isLost: (sec: number) => boolean;
  /** Of the axes of an accelerometer, g; null: there is none. */
  moved: ((random: Random) => (sec: number) => number) | null;
  truth: Partial<Truth>;
}>;

/** Height over the foot, so many seconds after a beat, in pulses `interval` apart. */
type Shape = (sec: number, interval: number) => number;

const bump = (sec: number, at: number, width: number): number => Math.exp(-(((sec - at) / width) ** 2));

/** Young with a notch, older without one, and a steep rise with a long run-off. */
const shapes: readonly Shape[] = [
  (sec) => bump(sec, 0.2, 0.085) + 0.4 * bump(sec, 0.48, 0.1),
  (sec) => bump(sec, 0.22, 0.11) + 0.5 * bump(sec, 0.4, 0.14),
  (sec) => (sec < 0.18 ? bump(sec, 0.18, 0.07) : Math.exp(-(sec - 0.18) / 0.24)),
];

/** The usual pulse with a second wave `height` as high, at `share` of the interval after the first. */
const dicrotic =
  (share: number, height: number): ((recordingNo: number) => Shape) =>
  () =>
  (sec, interval) =>
    bump(sec, 0.2, 0.075) + height * bump(sec, 0.2 + share * interval, 0.09);

function sinus({ perMin, swing }: Recipe, random: Random): Beat[] {
  const beats: Beat[] = [];
  const mean = 60 / perMin;
  const phase = 6 * random();
  for (let sec = 0.3; sec < lengthSec + 60;) {
    beats.push({ sec, height: 1, isNormal: true });
    const wave = Math.sin(2 * Math.PI * 0.25 * sec + phase) + 0.7 * Math.sin(2 * Math.PI * 0.1 * sec);
    sec += mean * (1 + swing * (wave + 0.3 * (random() + random() - 1)));
  }
  return beats;
}

/** Every second beat so much of the first. */
const alternans =
  (second: number): Recipe['rhythm'] =>
  (recipe, random) =>
    sinus(recipe, random).map((beat, i) => ({ ...beat, height: i % 2 === 0 ? 1 : second }));

/** Every second beat early, its pulse so much of the first. */
const bigeminy =
  (second: number): Recipe['rhythm'] =>
  (recipe, random) =>
    sinus(recipe, random).map((beat, i, all) => {
      if (i % 2 === 0) return beat;
      return { sec: beat.sec - 0.35 * (beat.sec - all[i - 1]!.sec), height: second, isNormal: false };
    });

/** No interval knows the one before; a pulse after a short one is lower. */
const fibrillation: Recipe['rhythm'] = (_, random) => {
  const beats: Beat[] = [];
  for (let [sec, interval] = [0.3, 0.7]; sec < lengthSec + 60; sec += interval = 0.45 + 0.3 * (random() + random())) {
    beats.push({ sec, height: Math.min(1, Math.max(0.3, (interval - 0.3) / 0.4)), isNormal: true });
  }
  return beats;
};

const usual: Recipe = {
  fs: 100,
  perMin: 72,
  swing: 0.04,
  perfusion: 1,
  noise: 0.01,
  rhythm: sinus,
  shape: (no) => shapes[no % shapes.length]!,
  hasFinger: true,
  added: () => () => 0,
  spoiled: (x) => x,
  heartSec: (sec) => sec,
  isLost: () => false,
  moved: null,
  truth: {},
};

function gaussian(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

function make(recipe: Recipe, recordingNo: number): Made {
  const random = seeded(1 + recordingNo);
  const { fs, perfusion, heartSec } = recipe;
  const beats = recipe.hasFinger ? recipe.rhythm(recipe, random) : [];
  const shape = recipe.shape(recordingNo);
  const n = fs * lengthSec;
  const pulse = new Float64Array(n);
  for (let i = 0, b = 0; i < n; i++) {
    const now = heartSec(i / fs);
    while (b > 0 && beats[b]!.sec > now - 2.5) b--;
    while (b + 1 < beats.length && beats[b]!.sec < now - 2.5) b++;
    for (let k = b; k + 1 < beats.length && beats[k]!.sec < now + 0.5; k++)
      pulse[i]! += beats[k]!.height * shape(now - beats[k]!.sec, beats[k + 1]!.sec - beats[k]!.sec);
  }
  const added = recipe.added(random);
  const moved = recipe.moved?.(random);
  const channels: PhysicalChannel[] = ['ppg.red', 'ppg.ir'].map((code, light) => {
    const share = (light === 0 ? redShare : 1) * (perfusion / 100);
    const samples = Float64Array.from(pulse, (height, i) => {
      const sec = i / fs;
      const white = recipe.noise * gaussian(random) * share;
      return levels[light]! * (1 + share * height + (perfusion / 100) * added(sec) + white);
    });
    const spoiled = recipe.spoiled(samples, light, fs, random);
    for (let i = 0; i < n; i++) if (recipe.isLost(i / fs)) spoiled[i] = Number.NaN;
    return { code, kind: 'ppg', fs, unit: '1', samples: spoiled };
  });
  if (moved !== undefined)
    for (const [axis, gain] of [
      ['x', 0.7],
      ['y', 0.5],
      ['z', 0.3],
    ] as const)
      channels.push({
        code: `acc.${axis}`,
        kind: 'acc',
        fs,
        unit: 'g',
        samples: Float64Array.from({ length: n }, (_, i) => (axis === 'z' ? 1 : 0) + gain * moved(i / fs) + 0.003 * gaussian(random)),
      });
  const heights = beats.map(({ height }) => height).filter((height) => height > 0);
  const topToFoot = redShare * perfusion * swingOf(shape, 60 / recipe.perMin);
  return {
    channels,
    truth: {
      beats,
      heartSec,
      hasPulse: recipe.hasFinger,
      hasVariability: recipe.hasFinger,
      spo2: recipe.hasFinger ? saturation : null,
      worn: recipe.hasFinger ? 1 : 0,
      perfusion: recipe.hasFinger ? [topToFoot * Math.min(...heights), topToFoot * Math.max(...heights)] : null,
      isEcg: false,
      ...recipe.truth,
    },
  };
}

/** Greatest less least of a train of pulses. */
function swingOf(shape: Shape, interval: number): number {
  const train = Array.from({ length: 200 }, (_, i) => {
    const sec = (i * interval) / 200;
    return [-1, 0, 1, 2, 3].reduce((sum, k) => sum + shape(sec + k * interval, interval), 0);
  });
  return Math.max(...train) - Math.min(...train);
}

const wave = (phase: number): number => 0.45 * (Math.sin(phase) + 0.4 * Math.sin(2 * phase + 1));

/** A motion `times` as high as the pulse, at a rate that wanders by 3 %, from 30 s on; in both lights alike. */
const phaseOf =
  (perMin: number) =>
  (sec: number): number =>
    2 * Math.PI * (perMin / 60) * sec + 1.2 * Math.sin(2 * Math.PI * 0.03 * sec);
const motion = (perMin: number, times: number): Recipe['added'] => {
  const phase = phaseOf(perMin);
  return () => (sec) => (sec < 30 ? 0 : times * wave(phase(sec - 0.08)));
};
const moved = (perMin: number, g: number): NonNullable<Recipe['moved']> => {
  const phase = phaseOf(perMin);
  return () => (sec) => (sec < 30 ? 0 : g * (Math.sin(phase(sec)) + 0.3 * Math.sin(2 * phase(sec))));
};

const tone =
  (hz: number, times = 0.5): Recipe['added'] =>
  () =>
  (sec) =>
    times * Math.sin(2 * Math.PI * hz * sec);

/** One after another, `jitter` of their distance uneven. */
function train(perMin: number, jitter: number, random: Random): number[] {
  const at: number[] = [];
  for (let sec = 0.2; sec < lengthSec; sec += (60 / perMin) * (1 + jitter * (random() + random() - 1))) at.push(sec);
  return at;
}

/** A function of the time since the newest of a train, and of the time to the next. */
const repeated =
  (perMin: number, jitter: number, one: (since: number, interval: number) => number): Recipe['added'] =>
  (random) => {
    const at = train(perMin, jitter, random);
    let k = 0;
    return (sec) => {
      if (sec < at[k]!) k = 0;
      while (k + 1 < at.length && at[k + 1]! <= sec) k++;
      return sec < at[k]! ? 0 : one(sec - at[k]!, (at[k + 1] ?? lengthSec) - at[k]!);
    };
  };

const sawTooth = (perMin: number, jitter: number): Recipe['added'] => repeated(perMin, jitter, (since, interval) => since / interval);
/** A sensor on a table that is tapped: it swings at 6 Hz, and is still after a quarter of a second. */
const taps = (perMin: number, jitter: number): Recipe['added'] =>
  repeated(perMin, jitter, (since) => Math.exp(-since / 0.1) * Math.sin(2 * Math.PI * 6 * since));
/** A hand over the sensor, toward it and away. */
const handOver = (perMin: number, jitter: number): Recipe['added'] => repeated(perMin, jitter, (since) => bump(since, 0.2, 0.1));

const noFinger = { hasFinger: false, noise: 0.01 } as const;

/** Of the middle of the pulse to its top, what is above `share` of it is cut off. */
const clipped =
  (share: number): Recipe['spoiled'] =>
  (x) => {
    const sorted = x.toSorted();
    const rail =
      sorted[Math.floor(0.02 * x.length)]! + share * (sorted[Math.floor(0.99 * x.length)]! - sorted[Math.floor(0.02 * x.length)]!);
    return x.map((value) => Math.min(value, rail));
  };

/** Samples of a converter of so many steps up to a level of 1.6. */
const stepped =
  (bits: number): Recipe['spoiled'] =>
  (x) =>
    x.map((value) => (Math.round((value / 1.6) * 2 ** bits) / 2 ** bits) * 1.6);

/** Every `everySec` the clock jumps by `bySec`: forward leaves a gap, back loses what was already there. */
function jumps(everySec: number, bySec: number): Pick<Recipe, 'heartSec' | 'isLost'> {
  const step = everySec + Math.max(0, bySec);
  return {
    heartSec: (sec) => sec - bySec * Math.floor((sec + 1e-9) / step),
    isLost: (sec) => bySec > 0 && sec >= step && (sec + 1e-9) % step < bySec,
  };
}

export type Scenario = Readonly<{ name: string; recordings: () => Made[] }>;
/** A control, and what is hard. */
export type Group = Readonly<{ control: Scenario; hard: readonly Scenario[] }>;

const scenario = (name: string, change: Partial<Recipe>): Scenario => ({
  name,
  recordings: () => Array.from({ length: recordingsEach }, (_, no) => make({ ...usual, ...change }, no)),
});

type Named = readonly (readonly [name: string, change: Partial<Recipe>])[];

function group(name: string, base: Partial<Recipe>, hard: Named): Group {
  return { control: scenario(name, base), hard: hard.map(([what, change]) => scenario(what, { ...base, ...change })) };
}

const dead =
  (value: (random: Random) => number, light: number): Recipe['spoiled'] =>
  (x, no, _, random) =>
    // prettier-ignore
    no === light ? x.map(() => value(random)) : x;

/** An ECG, or a pulse of an infrared light in mV, by the label of either. */
function labelled(name: string, signal: 'ecg' | 'ppg', kind: 'ecg' | 'ppg'): Scenario {
  const relabelled = (no: number): Made => {
    const { channels, truth } = make(usual, no);
    const { fs, perfusion } = usual;
    const beats = truth.beats.map(({ sec }) => sec);
    const shape = Object.values(ecgShapes)[no]!;
    const pWaves = beats.map((sec) => sec - 0.16);
    const samples =
      signal === 'ecg'
        ? makeEcg({ fs, seconds: lengthSec, shape, beats, pWaves, noiseMv: 0.01, seed: 1 + no })
        : channels[1]!.samples.map((value) => (value - levels[1]) / (perfusion / 100));
    return {
      channels: [{ code: kind === 'ecg' ? 'ecg.ii' : 'ppg.green', kind, fs, unit: kind === 'ecg' ? 'mV' : '1', samples }],
      truth: { ...truth, spo2: null, perfusion: null, worn: Number.NaN, isEcg: signal === 'ecg' },
    };
  };
  return { name, recordings: () => Array.from({ length: recordingsEach }, (_, no) => relabelled(no)) };
}

export const groups: readonly Group[] = [
  ...[45, 60, 75].map((perMin) =>
    group(`pulse of ${perMin} /min`, { perMin }, [
      ...[0.35, 0.6, 0.9].map((height) => [`dicrotic wave halfway, ${height} as high, ${perMin} /min`, { shape: dicrotic(0.5, height) }] as const),
      [`dicrotic wave after 0.4 of the interval, 0.6 as high, ${perMin} /min`, { shape: dicrotic(0.4, 0.6) }],
    ]),
  ),
  group('pulse of 72 /min', {}, [
    ...[0.1, 0.15, 0.2, 0.3].map((by) => [`alternans: every second pulse ${by} lower`, { rhythm: alternans(1 - by) }] as const),
    ...[0.1, 0.15, 0.3].map((second) => [`alternans: every second pulse ${second} as high`, { rhythm: alternans(second) }] as const),
    ...[0, 0.3, 0.6].map((second) => [`bigeminy, second pulse ${second} as high`, { rhythm: bigeminy(second) }] as const),
    ['atrial fibrillation', { rhythm: fibrillation }],
    ['level that breathes at 0.3 Hz by 1 pulse', { added: tone(0.3) }],
    ...[0.1, 0.2, 0.3, 0.4, 0.5].map((hz) => [`level that breathes at ${hz} Hz by 3 pulses`, { added: tone(hz, 1.5) }] as const),
    ...[0.5, 1.2].map((times) => [`lamp that flickers at 2.7 Hz, ${times} pulses`, { added: tone(2.7, times / 2) }] as const),
    ['lamp that flickers at 1.5 Hz, 1.2 pulses', { added: tone(1.5, 0.6) }],
    ['both lights cut off above 0.6 of the pulse', { spoiled: clipped(0.6) }],
    ['red alone cut off above 0.6 of the pulse', { spoiled: (x, light, fs, random) => (light === 0 ? clipped(0.6)(x, light, fs, random) : x) }],
    ['light at a rail for 10 s a minute', { spoiled: (x, light, fs) => x.map((value, i) => ((i / fs) % 60 >= 40 && (i / fs) % 60 < 50 ? levels[light]! * 1.05 : value)), truth: { worn: Number.NaN } }],
    ['gain twice as high for each second 47 s', { spoiled: (x, _, fs) => x.map((value, i) => value * (Math.floor(i / fs / 47) % 2 === 0 ? 1 : 2)) }],
    ['gain twice as high for each second 11 s', { spoiled: (x, _, fs) => x.map((value, i) => value * (Math.floor(i / fs / 11) % 2 === 0 ? 1 : 2)) }],
    ['upside down', { spoiled: (x, light) => x.map((value) => 2 * levels[light]! - value) }],
    ['clock ahead by 0.3 s, every 40 s', jumps(40, 0.3)],
    ['clock ahead by 5 s, every 40 s', jumps(40, 5)],
    ['clock back by 0.3 s, every 40 s', jumps(40, -0.3)],
    ['clock back by 5 s, every 40 s', jumps(40, -5)],
    ...[72, 96, 144, 110].flatMap((perMin) =>
      [1, 2, 3].map((times) => [`motion of ${perMin} /min, ${times} pulses, no accelerometer`, { added: motion(perMin, times) }] as const),
    ),
    ['red dead: no light', { spoiled: dead(() => 0, 0), truth: { spo2: null, perfusion: null } }],
    ['red dead: noise', { spoiled: dead((random) => 0.5 + 0.001 * random(), 0), truth: { spo2: null, perfusion: null } }],
    ['infrared dead: no light', { spoiled: dead(() => 0, 1), truth: { spo2: null } }],
    ['infrared dead: noise', { spoiled: dead((random) => 0.5 + 0.001 * random(), 1), truth: { spo2: null } }],
  ]),
  group(
    'pulse of 72 /min, accelerometer at rest',
    { moved: () => () => 0 },
    [72, 96, 144, 110].flatMap((perMin) =>
      [1, 2, 3].map((times) => [`motion of ${perMin} /min, ${times} pulses`, { added: motion(perMin, times), moved: moved(perMin, 0.3) }] as const),
    ),
  ),
  group('no finger', noFinger, [
    ...[0.7, 1, 1.5, 2, 3].map((hz) => [`tone of ${hz} Hz, no finger`, { ...noFinger, added: tone(hz) }] as const),
    ...[0, 0.03].map((jitter) => [`saw-tooth of 80 /min, ${100 * jitter} % uneven, no finger`, { ...noFinger, added: sawTooth(80, jitter) }] as const),
    ...[0.03, 0.1].map((jitter) => [`table tapped at 90 /min, ${100 * jitter} % uneven, no finger`, { ...noFinger, added: taps(90, jitter) }] as const),
    ...[0.03, 0.1].map((jitter) => [`hand over the sensor at 70 /min, ${100 * jitter} % uneven`, { ...noFinger, added: handOver(70, jitter) }] as const),
  ]),
  ...[25, 50, 200].map((fs) =>
    group(`pulse of 72 /min, ${fs} Hz`, { fs }, [
      [`small variability, ${fs} Hz`, { swing: 0.003 }],
      [`pulse of 140 /min, small variability, ${fs} Hz`, { perMin: 140, swing: 0.003 }],
    ]),
  ),
  group('pulse of 72 /min, 16 bits', { spoiled: stepped(16) }, [
    ['cold hand: perfusion 0.1 %, noise a tenth', { perfusion: 0.1, noise: 0.1, spoiled: stepped(16) }],
    ['cold hand: perfusion 0.1 %, 12 bits', { perfusion: 0.1, noise: 0.1, spoiled: stepped(12) }],
    ['cold hand: perfusion 0.02 %, noise a half', { perfusion: 0.02, noise: 0.5, spoiled: stepped(16) }],
  ]),
  {
    control: labelled('ECG of 72 /min', 'ecg', 'ecg'),
    hard: [labelled('ECG labelled PPG', 'ecg', 'ppg'), labelled('PPG labelled ECG', 'ppg', 'ecg')],
  },
]; // prettier-ignore
