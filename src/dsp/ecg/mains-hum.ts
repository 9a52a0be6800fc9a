/** Hum of mains around one beat, which pulls at its place: 0.3 mV of 50 Hz moves the top of an R wave by several milliseconds. */
import { keptByRate } from '../kernels/kept-by-rate.ts';

/** Hz. */
export const MAINS_HZ = [50, 60] as const;
/** Hum is measured from so long to so long before R, and after it, s: without the QRS complexes of this beat and of its neighbours. */
const NEAR_SEC = 0.07;
const FAR_SEC = 0.25;
const HALF_PERIOD_SEC = 1 / 110;
/** At most so long before and after a beat is looked at, s. */
export const HUM_REACH_SEC = FAR_SEC + 2 * HALF_PERIOD_SEC;
const LOOK_SEC = 0.06; // where there is nothing so long before the QRS complex there is no hum
const GAIN_MIN = 1.5; // of the difference, at a frequency that is not folded to one of heart beats
/** Hum of this share of the height of a beat is taken off ... */
export const HUM_SHARE_MIN = 0.02;
/** ... where it is this share of the energy of what is as fast. */
export const HUM_ENERGY_MIN = 0.3;

type Sine = Readonly<{
  /** Radians a sample. */
  turn: number;
  cos: Float64Array;
  sin: Float64Array;
  /** Energies of both, on either side of a beat; 0 where a sine of half the rate has none. */
  coses: number;
  sines: number;
  /** Of differences over that of samples. */
  gain: number;
}>;

const placesAt = (fs: number): { near: number; far: number; half: number } => ({
  near: Math.round(NEAR_SEC * fs),
  far: Math.round(FAR_SEC * fs),
  half: Math.max(1, Math.round(HALF_PERIOD_SEC * fs)),
});

/** Those that can be told at a rate. */
const sinesOf = keptByRate((fs): readonly Sine[] => {
  const { near, far, half } = placesAt(fs);
  const length = far - near;
  return MAINS_HZ.map((hz): Sine => {
    const turn = (2 * Math.PI * hz) / fs;
    const cos = Float64Array.from({ length }, (_, i) => Math.cos(turn * (near + i)));
    const sin = Float64Array.from({ length }, (_, i) => Math.sin(turn * (near + i)));
    const energy = (x: Float64Array): number => 2 * x.reduce((sum, v) => sum + v * v, 0);
    const sines = energy(sin);
    return { turn, cos, sin, coses: energy(cos), sines: sines < 0.1 * length ? 0 : sines, gain: 1 - Math.cos(turn * half) };
  }).filter(({ gain }) => gain >= GAIN_MIN);
});

/** Sums and differences of what lies as far before a beat as after it: one thread, one beat at a time. */
const shared = { evens: new Float64Array(64), odds: new Float64Array(64) };

/** A sine of either frequency is fitted to differences over half a period, which are nothing of P, T and baseline. As far before the beat
 *  as after it: a sine a little faster or slower still fits at the beat. Of one rate; a pure function of the samples around the beat. */
export class MainsHum {
  /** Samples before and after the beat that are looked at. */
  readonly reach: number;
  readonly #near: number;
  readonly #far: number;
  readonly #look: number;
  readonly #half: number;
  readonly #sines: readonly Sine[];
  /** Of the last one found. */
  #turn = 0;
  #cos = 0;
  #sin = 0;

  /** @param fs Hz */
  constructor(fs: number) {
    const { near, far, half } = placesAt(fs);
    this.#near = near;
    this.#far = far;
    this.#look = this.#near + Math.round(LOOK_SEC * fs);
    this.#half = half;
    this.reach = this.#far + this.#half;
    this.#sines = sinesOf(fs);
  }

  /** @param ring of a power of two, which holds `reach` samples on either side; NaN: missing
   *  @returns is there hum around a sample? */
  find(ring: Float32Array, mask: number, at: number): boolean {
    if (this.#sines.length === 0) return false;
    const near = this.#near;
    const half = this.#half;
    let low = ring[at & mask]!;
    let high = low;
    // a step of half a period misses a tenth of an R wave
    for (let i = at - near; i <= at + near; i += half) {
      const v = ring[i & mask]!;
      if (v < low) low = v;
      else if (v > high) high = v;
    }
    const least = HUM_SHARE_MIN * (high - low);
    let energy = 0;
    for (let i = near; i < this.#look; i++) {
      const before = ring[(at - i) & mask]! - 0.5 * (ring[(at - i - half) & mask]! + ring[(at - i + half) & mask]!);
      energy += before * before;
    }
    // a sine of the least gain
    if (!(energy > 0.5 * GAIN_MIN * GAIN_MIN * least * least * (this.#look - near))) return false;
    return this.#fit(ring, mask, at, least);
  }

  #fit(ring: Float32Array, mask: number, at: number, least: number): boolean {
    const near = this.#near;
    const half = this.#half;
    const length = this.#far - near;
    const evens = shared.evens.length < length ? (shared.evens = new Float64Array(length)) : shared.evens;
    const odds = shared.odds.length < length ? (shared.odds = new Float64Array(length)) : shared.odds;
    let energy = 0;
    for (let i = 0; i < length; i++) {
      const b = at - near - i;
      const a = at + near + i;
      const before = ring[b & mask]! - 0.5 * (ring[(b - half) & mask]! + ring[(b + half) & mask]!);
      const after = ring[a & mask]! - 0.5 * (ring[(a - half) & mask]! + ring[(a + half) & mask]!);
      evens[i] = after + before;
      odds[i] = after - before;
      energy += before * before + after * after;
    }
    let most = 0;
    for (const { turn, cos, sin, coses, sines, gain } of this.#sines) {
      let even = 0;
      let odd = 0;
      for (let i = 0; i < length; i++) {
        even += evens[i]! * cos[i]!;
        odd += odds[i]! * sin[i]!;
      }
      const fitted = (even * even) / coses + (sines === 0 ? 0 : (odd * odd) / sines);
      if (!(fitted > most)) continue;
      most = fitted;
      this.#turn = turn;
      this.#cos = even / (coses * gain);
      this.#sin = sines === 0 ? 0 : odd / (sines * gain);
    }
    return most > HUM_ENERGY_MIN * energy && Math.hypot(this.#cos, this.#sin) > least;
  }

  /** Takes the hum last found off samples. @param from of x[0], from the sample around which it was found */
  takeOff(x: Float64Array, from: number, count: number): void {
    const turn = this.#turn;
    const cos = Math.cos(turn);
    const sin = Math.sin(turn);
    let a = this.#cos * Math.cos(turn * from) + this.#sin * Math.sin(turn * from);
    let b = this.#sin * Math.cos(turn * from) - this.#cos * Math.sin(turn * from);
    for (let i = 0; i < count; i++) {
      x[i] = x[i]! - a;
      const next = a * cos + b * sin;
      b = b * cos - a * sin;
      a = next;
    }
  }
}
