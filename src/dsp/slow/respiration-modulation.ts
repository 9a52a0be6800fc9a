/** Breaths from what respiration does to a pulse: top, height and interval of the beats of PPG or ECG. */
import type { QualityFlag } from '../../signal.ts';
import { BAD, SUSPECT } from '../../signal.ts';
import type { BeatDetector, FoundBeats } from '../kernels/contract.ts';
import { BreathDetector } from './respiration.ts';

/** Rate of the surrogate signals, interpolated between beats. */
export const SURROGATE_HZ = 5;
/** No interpolation over a longer interval: the surrogate is missing there. */
export const INTERVAL_MAX_SEC = 2.5;
/** Around a beat's position (middle of the upstroke, R peak) foot and top are looked for this far. */
export const REACH_SEC = { ppg: 0.3, ecg: 0.08 } as const;

export const modulations = ['top', 'height', 'interval'] as const;

/** Breaths seen in each modulation, in the order of `modulations`; positions are samples since reset. */
export type ModulationBreaths = readonly [FoundBeats, FoundBeats, FoundBeats];

export function emptyModulationBreaths(): ModulationBreaths {
  const one = (): FoundBeats => ({ count: 0, position: new Float64Array(16), confidence: new Float64Array(16) });
  return [one(), one(), one()];
}

/** Respiratory-induced intensity, amplitude and frequency variation (Karlen 2013, doi:10.1109/TBME.2013.2246160), each a signal at 5 Hz
 *  interpolated between beats, searched for breaths by BreathDetector (Karlen takes a spectrum of 32 s; breaths can be stored and a rate of
 *  any window made of them later).
 *  Latency: that of the beats, one interval, and of BreathDetector.
 *
 *  Wiring: `new RespirationModulation(fs, new PpgBeatDetector(fs), 'ppg')` (or an RPeakDetector, 'ecg'), `reset()`, `push(x, from, to,
 *  out)`, `flush(out)`. Then `fusedRespiratoryRate` on the breaths of a window of 32 s or 60 s. The engine does not run it:
 *  BeatModulation (engine/modulation.ts) does the same on the beats of its chain. */
export class RespirationModulation {
  readonly latencySec: number;
  readonly #fs: number;
  readonly #detector: BeatDetector;
  readonly #reach: number;
  readonly #ring: Float64Array;
  readonly #mask: number;
  readonly #beats: FoundBeats = { count: 0, position: new Float64Array(64), confidence: new Float64Array(64) };
  readonly #breaths: readonly BreathDetector[] = modulations.map(() => new BreathDetector(SURROGATE_HZ, 'surrogate'));
  readonly #sample = new Float64Array(1);
  readonly #value = new Float64Array(3);
  readonly #before = new Float64Array(3);
  readonly #found: ModulationBreaths = emptyModulationBreaths();
  #n = 0;
  #lastBeat = Number.NaN;
  /** Surrogate samples given out; sample j lies at j / SURROGATE_HZ s. */
  #given = 0;

  constructor(fs: number, detector: BeatDetector, source: 'ppg' | 'ecg') {
    this.#fs = fs;
    this.#detector = detector;
    this.#reach = Math.round(REACH_SEC[source] * fs);
    this.latencySec = detector.latencySec + INTERVAL_MAX_SEC + this.#breaths[0]!.latencySec;
    let size = 1;
    while (size < (detector.latencySec + 2) * fs) size *= 2;
    this.#ring = new Float64Array(size);
    this.#mask = size - 1;
    this.reset();
  }

  reset(): void {
    this.#detector.reset();
    for (const breath of this.#breaths) breath.reset();
    this.#beats.count = 0;
    this.#n = this.#given = 0;
    this.#lastBeat = Number.NaN;
  }

  push(x: Float64Array, from: number, to: number, out: ModulationBreaths): void {
    const leads = [x];
    // in pieces shorter than the ring's slack, so that a beat's surroundings are still there when it is found
    const piece = Math.max(1, Math.floor(this.#fs / 2));
    for (let at = from; at < to; at += piece) {
      const end = Math.min(to, at + piece);
      for (let i = at; i < end; i++) this.#ring[this.#n++ & this.#mask] = x[i]!;
      this.#detector.push(leads, at, end, this.#beats);
      this.#follow(out);
    }
  }

  flush(out: ModulationBreaths): void {
    this.#detector.flush(this.#beats);
    this.#follow(out);
    this.#breaths.forEach((breath, m) => breath.flush(this.#found[m]!));
    this.#drain(out);
  }

  #follow(out: ModulationBreaths): void {
    for (let b = 0; b < this.#beats.count; b++) this.#beat(this.#beats.position[b]!);
    this.#beats.count = 0;
    this.#drain(out);
  }

  #beat(position: number): void {
    const centre = Math.round(position);
    let low = Number.POSITIVE_INFINITY;
    let high = Number.NEGATIVE_INFINITY;
    for (let i = Math.max(0, centre - this.#reach); i <= Math.min(this.#n - 1, centre + this.#reach); i++) {
      const value = this.#ring[i & this.#mask]!;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    const interval = (position - this.#lastBeat) / this.#fs;
    const value = this.#value;
    value[0] = high;
    value[1] = high - low;
    value[2] = interval;
    const usable = interval <= INTERVAL_MAX_SEC && value[0] - value[0] === 0;
    // surrogate samples up to this beat
    for (; (this.#given / SURROGATE_HZ) * this.#fs <= position; this.#given++) {
      const share = ((this.#given / SURROGATE_HZ) * this.#fs - this.#lastBeat) / (interval * this.#fs);
      for (let m = 0; m < 3; m++) {
        this.#sample[0] = usable ? this.#before[m]! + share * (value[m]! - this.#before[m]!) : Number.NaN;
        this.#breaths[m]!.push([this.#sample], 0, 1, this.#found[m]!);
      }
    }
    if (interval - interval !== 0) value[2] = 0.8;
    this.#before.set(value);
    this.#lastBeat = position;
  }

  #drain(out: ModulationBreaths): void {
    for (let m = 0; m < 3; m++) {
      const found = this.#found[m]!;
      const target = out[m]!;
      for (let k = 0; k < found.count; k++) {
        if (target.count >= target.position.length) {
          const { position, confidence } = target;
          target.position = new Float64Array(2 * position.length);
          target.confidence = new Float64Array(2 * position.length);
          target.position.set(position);
          target.confidence.set(confidence);
        }
        target.position[target.count] = (found.position[k]! / SURROGATE_HZ) * this.#fs;
        target.confidence[target.count] = found.confidence[k]!;
        target.count++;
      }
      found.count = 0;
    }
  }
}

/** Rates of two modulations within this are taken to be of the same breaths, breaths/min. */
export const AGREE_PER_MIN = 2;

/** The rate of breathing from the rates of the modulations, in the order of `modulations`: that of the tops, or its mean with the nearer
 *  of the others when they agree; that of the heights where the tops show none. Karlen's mean of all three is worse on BIDMC (docs/dsp):
 *  sedated patients have little respiratory arrhythmia.
 *  @param rates per minute, NaN where there is none
 *  @returns NaN when there is none; `agreeing`: how many modulations show it (within 2 /min of each other) */
export function fusedRespiratoryRate(rates: readonly number[]): { perMin: number; agreeing: number } {
  const [top = Number.NaN, height = Number.NaN, interval = Number.NaN] = rates;
  const first = top > 0 ? top : height > 0 ? height : interval;
  const others = top > 0 ? [height, interval] : height > 0 ? [interval] : [];
  let nearest = Number.NaN;
  let agreeing = first > 0 ? 1 : 0;
  for (const other of others) {
    if (Math.abs(other - first) <= AGREE_PER_MIN) agreeing++;
    if (other > 0 && !(Math.abs(other - first) >= Math.abs(nearest - first))) nearest = other;
  }
  return { perMin: agreeing > 1 ? (first + nearest) / 2 : first, agreeing };
}

/** Flag of a rate by the number of modulations that show it: never good, for of the rates that all three show a fifth is off by more than
 *  2 /min (BIDMC, docs/dsp/pulse-and-slow.md). */
export function modulationFlag(agreeing: number): QualityFlag {
  return agreeing > 1 ? SUSPECT : BAD;
}
