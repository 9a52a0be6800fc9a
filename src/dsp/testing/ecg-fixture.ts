/** ECG of known beats for tests: P, QRS and T as sums of bell curves, on wander, mains hum and white noise; seeded. */
import { seeded } from './fixture.ts';

/** A bell curve: mV, s after the R wave (P: after the P wave's own time), s of its standard deviation. */
type Bell = readonly [mV: number, atSec: number, sigmaSec: number];

export type EcgShape = Readonly<{ p: readonly Bell[]; qrs: readonly Bell[]; t: readonly Bell[] }>;

export const ecgShapes = {
  usual: {
    p: [[0.15, 0, 0.022]],
    qrs: [
      [-0.1, -0.025, 0.008],
      [1, 0, 0.01],
      [-0.2, 0.027, 0.009],
    ],
    t: [[0.3, 0.28, 0.05]],
  },
  'tall P': {
    p: [[0.3, 0, 0.02]],
    qrs: [
      [-0.05, -0.025, 0.008],
      [0.9, 0, 0.011],
      [-0.25, 0.027, 0.01],
    ],
    t: [[0.2, 0.27, 0.05]],
  },
  'low R': {
    p: [[0.18, 0, 0.024]],
    qrs: [
      [0.5, 0, 0.011],
      [-0.15, 0.027, 0.01],
    ],
    t: [[0.15, 0.28, 0.05]],
  },
  'broad QRS': {
    p: [[0.2, 0, 0.022]],
    qrs: [
      [0.8, -0.018, 0.018],
      [0.55, 0.03, 0.02],
    ],
    t: [[-0.25, 0.34, 0.06]],
  },
  'deep S': {
    p: [[0.15, 0, 0.022]],
    qrs: [
      [0.2, -0.02, 0.009],
      [-1.1, 0.015, 0.013],
    ],
    t: [[0.35, 0.3, 0.05]],
  },
  'notched P': {
    p: [
      [0.16, -0.025, 0.014],
      [0.18, 0.025, 0.014],
    ],
    qrs: [
      [0.8, 0, 0.011],
      [-0.3, 0.028, 0.011],
    ],
    t: [[0.25, 0.29, 0.05]],
  },
} as const satisfies Record<string, EcgShape>;

export type EcgToMake = Readonly<{
  fs: number;
  seconds: number;
  shape: EcgShape;
  /** R waves and P waves, s. */
  beats: readonly number[];
  pWaves: readonly number[];
  /** Standard deviation of white noise, mV. */
  noiseMv: number;
  seed: number;
}>;

export function makeEcg({ fs, seconds, shape, beats, pWaves, noiseMv, seed }: EcgToMake): Float64Array {
  const random = seeded(seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const x = Float64Array.from(
    { length: Math.round(fs * seconds) },
    (_, i) => 0.15 * Math.sin((2 * Math.PI * 0.23 * i) / fs) + noiseMv * normal(),
  );
  const add = (atSec: number, bells: readonly Bell[]): void => {
    for (const [mV, offset, sigma] of bells) {
      const centre = (atSec + offset) * fs;
      const reach = 5 * sigma * fs;
      for (let i = Math.max(0, Math.ceil(centre - reach)); i <= Math.min(x.length - 1, centre + reach); i++)
        x[i] = x[i]! + mV * Math.exp(-0.5 * ((i - centre) / (sigma * fs)) ** 2);
    }
  };
  for (const beat of beats) {
    add(beat, shape.qrs);
    add(beat, shape.t);
  }
  for (const p of pWaves) add(p, shape.p);
  return x;
}

/** Ventricular beats, QRS and T wave. */
export const ventricularShapes = {
  wide: [
    [1.4, 0, 0.032],
    [-0.6, 0.08, 0.03],
    [-0.35, 0.28, 0.06],
  ],
  inverted: [
    [-1.1, 0.01, 0.03],
    [0.5, 0.075, 0.035],
    [0.4, 0.29, 0.06],
  ],
  paced: [
    [-1, 0, 0.035],
    [-0.25, 0.06, 0.03],
    [0.45, 0.33, 0.06],
  ],
} as const satisfies Record<string, readonly Bell[]>;

type EctopicEcg = Pick<EcgToMake, 'fs' | 'seconds' | 'beats' | 'pWaves'> &
  Readonly<{ ventricular: readonly number[]; shape?: readonly Bell[] }>;

/** One lead whose ventricular beats (those of the beats that are listed, s) have a shape of their own. */
export function makeEctopicEcg({ fs, seconds, beats, pWaves, ventricular, shape = ventricularShapes.wide }: EctopicEcg): Float64Array {
  const wide = new Set(ventricular);
  const narrow = beats.filter((t) => !wide.has(t));
  const x = makeEcg({ fs, seconds, shape: ecgShapes.usual, beats: narrow, pWaves, noiseMv: 0.01, seed: 3 });
  for (const t of ventricular)
    for (const [mV, atSec, sigma] of shape)
      for (let i = Math.ceil((t + atSec - 4 * sigma) * fs); i < (t + atSec + 4 * sigma) * fs && i < x.length; i++)
        x[i] = x[i]! + mV * Math.exp(-0.5 * ((i / fs - t - atSec) / sigma) ** 2);
  return x;
}

/** Sinus rhythm of a rate that varies a little; `conducted` says which P waves have a beat. */
export function makeRhythm(
  seconds: number,
  perMin: number,
  conducted: (wave: number) => boolean,
  seed: number,
  prSec = 0.17,
): { beats: number[]; pWaves: number[] } {
  const random = seeded(seed);
  const beats: number[] = [];
  const pWaves: number[] = [];
  let wave = 0;
  for (let t = 0.4; t < seconds - 0.8; t += (60 / perMin) * (1 + 0.04 * (random() - 0.5))) {
    pWaves.push(t);
    if (conducted(wave++)) beats.push(t + prSec);
  }
  return { beats, pWaves };
}
