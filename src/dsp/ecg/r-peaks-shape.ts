/** The band-passed wave at a candidate: its likeness to the mean beat, and where exactly its R wave is. */
import { arenaDoubles } from '../kernels/arena.ts';
import { MainsHum } from './mains-hum.ts';
import { FEATURE_DELAY_SEC, featureWidth } from './r-peaks-feature.ts';
import type { LeadSignal } from './r-peaks-lead.ts';
import { PWaves } from './r-peaks-p-waves.ts';

const TEMPLATE_HALF_SEC = 0.065;
const TEMPLATE_GAIN = 0.2;
const BAND_DELAY_SEC = 0.02; // of the band-passed summit after the R wave
const REACH_SEC = 0.085; // farthest refined position from where the feature has it ...
const REACH_NOISY_SEC = 0.03; // ... and in full noise
const SUMMIT_SEC = 0.05;
/** Raw samples looked at on either side. */
export const REFINE_SEC = 0.05;
const SAME_SIGN = 1.2; // preference for the sign that the R waves had so far

/** Half the length of the mean beat, feature samples. @param fd rate of the feature, Hz */
export const templateHalf = (fd: number): number => Math.round(TEMPLATE_HALF_SEC * fd);

export class BeatShape {
  /** Beats in the mean beat. */
  beatCount = 0;
  readonly #leads: readonly LeadSignal[];
  readonly #fs: number;
  readonly #fd: number;
  readonly #decimation: number;
  readonly #halfWidth: number;
  readonly #back: number;
  readonly #near: number;
  readonly #template: Float64Array;
  /** Of the candidate under judgement, unit energy. */
  readonly #shape: Float64Array;
  readonly #pWaves: PWaves;
  readonly #hum: MainsHum;
  /** The samples around an R wave, hum taken off. */
  readonly #around: Float64Array;
  /** Summit of the wave of the last likeness(), and the root of its energy. */
  #centre = 0;
  #size = 0;
  /** Of the R waves of each lead, -1..1. */
  readonly #polarity: Float64Array;

  /** @param fs sampling rate, Hz */
  constructor(leads: readonly LeadSignal[], fs: number, decimation: number) {
    const fd = fs / decimation;
    this.#leads = leads;
    this.#polarity = arenaDoubles(leads.length);
    this.#fs = fs;
    this.#fd = fd;
    this.#decimation = decimation;
    this.#halfWidth = featureWidth(fd) >> 1;
    this.#back = Math.round((FEATURE_DELAY_SEC - BAND_DELAY_SEC) * fd);
    this.#near = Math.round(SUMMIT_SEC * fd);
    this.#template = arenaDoubles(2 * templateHalf(fd) + 1);
    this.#shape = arenaDoubles(2 * templateHalf(fd) + 1);
    this.#pWaves = new PWaves(leads[0]!, fd);
    this.#hum = new MainsHum(fs);
    this.#around = arenaDoubles(2 * Math.round(REFINE_SEC * fs) + 1);
  }

  forget(): void {
    this.#polarity.fill(0);
    this.#template.fill(0);
    this.#pWaves.forget();
    this.beatCount = 0;
  }

  /** Correlation of the band-passed wave at a candidate with the mean of the beats, -1..1; keeps the wave for learn().
   *  @param at feature sample  @param k feature samples known */
  likeness(at: number, k: number): number {
    const { band, ringMask: mask } = this.#leads[0]!;
    const template = this.#template;
    const shape = this.#shape;
    const { length } = template;
    const half = length >> 1;
    const centre = this.#summit(0, at - this.#halfWidth, this.#halfWidth + 2, k);
    let energy = 0;
    let dot = 0;
    let norm = 0;
    for (let i = 0; i < length; i++) {
      const v = band[(centre - half + i) & mask]!;
      const t = template[i]!;
      shape[i] = v;
      energy += v * v;
      dot += v * t;
      norm += t * t;
    }
    this.#centre = centre;
    this.#size = Math.sqrt(energy);
    if (energy === 0) return 0;
    const scale = 1 / this.#size;
    for (let i = 0; i < length; i++) shape[i] = shape[i]! * scale;
    return norm === 0 ? 0 : (dot * scale) / Math.sqrt(norm);
  }

  /** Takes the wave of the last likeness() into the mean beat. */
  learn(): void {
    const learn = this.beatCount < 4 ? 1 / (this.beatCount + 1) : TEMPLATE_GAIN;
    this.beatCount++;
    const template = this.#template;
    const shape = this.#shape;
    for (let i = 0; i < template.length; i++) template[i] = template[i]! + learn * (shape[i]! - template[i]!);
  }

  /** Takes what lies before the wave of the last likeness() into the mean of it. @param since feature samples since the beat before */
  learnBefore(since: number): void {
    this.#pWaves.learn(this.#centre, this.#size, since);
  }

  /** Is the wave of the last likeness() a P wave? */
  get isPWave(): boolean {
    return this.#pWaves.isOne(this.#centre, this.#shape, this.#size);
  }

  /** Where the feature has a candidate, samples since reset. */
  middle(at: number): number {
    return Math.round((at + 0.5 - FEATURE_DELAY_SEC * this.#fd) * this.#decimation);
  }

  /** Position of the R wave in samples since reset: the sample farthest from its surroundings near the band-passed summit, and a
   *  parabola through it and its neighbours. The usual sign of the R waves is preferred, so that RS complexes do not flip.
   *  @param lead where it is sought  @param noisy 0..1  @param k feature samples known  @param known samples known */
  refine(at: number, lead: number, noisy: number, k: number, known: number): number {
    const delay = BAND_DELAY_SEC * this.#fs;
    const { raw, rawMask: mask } = this.#leads[lead]!;
    const centre = Math.round((this.#summit(lead, at - this.#back, this.#near, k) + 0.5) * this.#decimation - delay);
    const half = Math.round(REFINE_SEC * this.#fs);
    const middle = this.middle(at);
    // In noise the extremum of the raw signal is often the noise's; the feature's own place is within 30 ms then.
    const reach = Math.round((REACH_SEC + (REACH_NOISY_SEC - REACH_SEC) * noisy) * this.#fs);
    const from = Math.max(0, centre - half, middle - reach);
    const to = Math.min(known - 1, centre + half, middle + reach);
    const around = this.#around;
    for (let i = from; i <= to; i++) around[i - from] = raw[i & mask]!;
    const { reach: humReach } = this.#hum;
    if (centre >= humReach && centre + humReach < known && this.#hum.find(raw, mask, centre))
      this.#hum.takeOff(around, from - centre, to - from + 1);
    let base = 0;
    let count = 0;
    for (let i = from; i <= to; i++) {
      const v = around[i - from]!;
      if (v === v) {
        base += v;
        count++;
      }
    }
    base /= count;
    const usual = this.#polarity[lead]!;
    const up = usual > 0 ? SAME_SIGN : 1;
    const down = usual < 0 ? SAME_SIGN : 1;
    let best = Math.max(0, centre);
    let far = -1;
    let sign = 0;
    for (let i = from; i <= to; i++) {
      const v = around[i - from]! - base;
      const away = v > 0 ? up * v : -down * v;
      if (away > far) {
        far = away;
        best = i;
        sign = v > 0 ? 1 : -1;
      }
    }
    this.#polarity[lead] = usual + 0.2 * (sign - usual);
    if (best <= from || best >= to) return Math.max(0, middle); // no extremum within reach: where the feature has it
    const left = around[best - 1 - from]!;
    const mid = around[best - from]!;
    const right = around[best + 1 - from]!;
    const curve = left - 2 * mid + right;
    const shift = (left - right) / (2 * curve);
    return shift > -1 && shift < 1 ? best + shift : best;
  }

  /** Where |band-passed| is highest within `reach` of `middle`, feature samples. */
  #summit(lead: number, middle: number, reach: number, k: number): number {
    const { band, ringMask: mask } = this.#leads[lead]!;
    const to = Math.min(middle + reach, k - 1 - (this.#template.length >> 1));
    let best = middle - reach;
    let high = -1;
    for (let i = best; i <= to; i++) {
      const a = Math.abs(band[i & mask]!);
      if (a > high) {
        high = a;
        best = i;
      }
    }
    return best;
  }
}
