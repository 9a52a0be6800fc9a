/** Faults of electrodes and of the way from them, put into a recording at places that a seed chooses. */
import { seeded } from './fixture.ts';

/** Adds pacing pulses: rectangles, seen by a recorder that averages over each sample.
 *  @param atSec their beginnings  @param widthSec length of each  @param mv height */
export function addPacing(x: Float64Array, fs: number, atSec: readonly number[], widthSec: number, mv: number): Float64Array {
  const out = Float64Array.from(x);
  for (const from of atSec) {
    const to = (from + widthSec) * fs;
    for (let i = Math.max(0, Math.floor(from * fs)); i < Math.min(x.length, to); i++)
      out[i] = out[i]! + mv * (Math.min(i + 1, to) - Math.max(i, from * fs));
  }
  return out;
}

/** Pulses of a pacemaker that does not sense the heart. */
export function unsensedPulses(seconds: number, perMin: number): number[] {
  const pulses: number[] = [];
  for (let t = 0.5; t < seconds; t += 60 / perMin) pulses.push(t);
  return pulses;
}

/** Takes packets out. @param share of them */
export function losePackets(x: Float64Array, fs: number, packetSec: number, share: number, seed: number): Float64Array {
  const random = seeded(seed);
  const out = Float64Array.from(x);
  for (let n = 0; n * packetSec * fs < x.length; n++)
    if (random() < share) out.fill(Number.NaN, Math.round(n * packetSec * fs), Math.round((n + 1) * packetSec * fs));
  return out;
}

/** Moves the base line by `mv`, up and down in turns. @param everySec mean time between two steps */
export function addSteps(x: Float64Array, fs: number, everySec: number, mv: number, seed: number): Float64Array {
  const random = seeded(seed);
  const out = Float64Array.from(x);
  let level = 0;
  let next = everySec * fs;
  for (let i = 0; i < x.length; i++) {
    if (i >= next) {
      level = mv - level;
      next += (0.5 + random()) * everySec * fs;
    }
    out[i] = x[i]! + level;
  }
  return out;
}

/** The electrode comes off for 5 s in every minute, and the amplifier stands at its rail. */
export function electrodeOff(x: Float64Array, fs: number, railMv: number): Float64Array {
  const out = Float64Array.from(x);
  for (let from = 33 * fs; from < x.length; from += 60 * fs) out.fill(railMv, Math.round(from), Math.round(from + 5 * fs));
  return out;
}

export type Hum = Readonly<{
  /** Amplitude. */
  mv: number;
  hz: number;
  /** How far its frequency wanders to either side within a minute, Hz. */
  wanderHz?: number;
  /** When it begins. */
  fromSec?: number;
}>;

/** Adds hum of mains. */
export function addHum(x: Float64Array, fs: number, { mv, hz, wanderHz = 0, fromSec = 0 }: Hum): Float64Array {
  const perSec = (2 * Math.PI) / 60;
  return x.map((v, i) => {
    const t = i / fs;
    return t < fromSec ? v : v + mv * Math.sin(2 * Math.PI * hz * t - (2 * Math.PI * wanderHz * Math.cos(perSec * t)) / perSec);
  });
}
