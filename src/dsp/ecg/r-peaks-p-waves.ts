/** Learns the wave at a fixed distance before the beats, and recognises it elsewhere: a P wave without a beat (second-degree block, a sinus
 *  beat that is not conducted) resembles the P waves before the beats in shape and size. */
import { arenaDoubles } from '../kernels/arena.ts';
import type { LeadSignal } from './r-peaks-lead.ts';

const FROM_SEC = 0.385; // the stretch that is learned begins so long before a beat's summit,
const TO_SEC = 0.035; // and ends so long before it
const APART_SEC = 0.5; // a beat sooner after another is not learned from: the stretch would hold that one
const STEP = 2; // every second sample of the band-passed signal: it has nothing above 25 Hz
const GAIN = 0.2;
const BEATS = 4; // that make a mean
const ALIKE = 0.8; // least correlation with a part of the stretch,
const SIZE = 2.2; // and a size within this factor of that part's, for a wave to be a P wave
const LARGEST = 0.5; // share of the beats' size above which that part is no P wave
const OWN = 0.7; // a wave with such a stretch before it, by correlation, is a beat: it has a P wave of its own

/** How far before a beat it looks, s. */
export const P_WAVE_REACH_SEC = FROM_SEC;

/** Of the first lead. A pure function of the beats it learned. */
export class PWaves {
  readonly #lead: LeadSignal;
  readonly #back: number;
  readonly #apart: number;
  /** Mean of the band-passed signal before the beats. */
  readonly #stretch: Float64Array;
  #beats = 0;
  #beatSize = 0;

  /** @param fd rate of the band-passed signal, Hz */
  constructor(lead: LeadSignal, fd: number) {
    this.#lead = lead;
    this.#back = Math.round(FROM_SEC * fd);
    this.#apart = APART_SEC * fd;
    this.#stretch = arenaDoubles(Math.round(((FROM_SEC - TO_SEC) * fd) / STEP));
  }

  forget(): void {
    this.#stretch.fill(0);
    this.#beats = 0;
    this.#beatSize = 0;
  }

  /** Learns from the samples before a beat.
   *  @param centre its band-passed summit  @param size root of its energy  @param since samples since the previous beat */
  learn(centre: number, size: number, since: number): void {
    if (!(since > this.#apart)) return;
    this.#beats++;
    const { band, ringMask: mask } = this.#lead;
    const stretch = this.#stretch;
    const gain = Math.max(GAIN, 1 / this.#beats);
    this.#beatSize += gain * (size - this.#beatSize);
    const from = centre - this.#back;
    for (let i = 0; i < stretch.length; i++) stretch[i] = stretch[i]! + gain * (band[(from + STEP * i) & mask]! - stretch[i]!);
  }

  /** @param centre summit of a wave  @param wave its samples, of unit energy  @param size root of its energy */
  isOne(centre: number, wave: Float64Array, size: number): boolean {
    if (this.#beats < BEATS) return false;
    const stretch = this.#stretch;
    const count = Math.ceil(wave.length / STEP);
    let unit = 0;
    for (let i = 0; i < count; i++) unit += wave[STEP * i]! * wave[STEP * i]!;
    for (let at = 0; at + count <= stretch.length; at++) {
      let energy = 0;
      let dot = 0;
      for (let i = 0; i < count; i++) {
        const value = stretch[at + i]!;
        energy += value * value;
        dot += value * wave[STEP * i]!;
      }
      dot /= Math.sqrt(unit);
      const own = Math.sqrt(energy / unit);
      if (own < LARGEST * this.#beatSize && dot > ALIKE * Math.sqrt(energy) && size < SIZE * own && own < SIZE * size)
        return !this.#hasOwn(centre);
    }
    return false;
  }

  #hasOwn(centre: number): boolean {
    const { band, ringMask: mask } = this.#lead;
    const stretch = this.#stretch;
    const from = centre - this.#back;
    let dot = 0;
    let here = 0;
    let mean = 0;
    for (let i = 0; i < stretch.length; i++) {
      const value = band[(from + STEP * i) & mask]!;
      dot += value * stretch[i]!;
      here += value * value;
      mean += stretch[i]! * stretch[i]!;
    }
    return dot > OWN * Math.sqrt(here * mean);
  }
}
