/** The rate of breathing from what it does to the beats of ECG or PPG: top, height and interval of each, followed at 5 Hz.
 *
 *  The three become channels of their own on the stream's clock (5 Hz, interpolated between beats), are searched for breaths segment by
 *  segment as a respiration channel is, and the rates of the last 32 s are fused. So a value is a pure function of stored samples, too. */
import { arenaDoubles } from '../kernels/arena.ts';
import type { Gaps } from '../hrv/beats.ts';
import type { ValueSink } from '../hrv/values.ts';
import { featureMethods } from '../rows/methods.ts';
import {
  INTERVAL_MAX_SEC,
  REACH_SEC,
  SURROGATE_HZ,
  fusedRespiratoryRate,
  modulationFlag,
  modulations,
} from '../slow/respiration-modulation.ts';
import { BreathDetector, respiratoryRate } from '../slow/respiration.ts';
import { breathKernel } from './kernel.ts';
import type { KernelKind, KernelStock } from './runner.ts';
import { SegmentRunner } from './runner.ts';
import type { SampleRing } from './sample-ring.ts';

const secondUs = 1_000_000;
const rateNanoHz = SURROGATE_HZ * 1e9;
/** Between two samples of that rate: a whole number, so that the grid needs no rounding. */
const stepUs = secondUs / SURROGATE_HZ;
const breathKind: KernelKind = {
  key: 'breaths of beats',
  build: () => breathKernel(new BreathDetector(SURROGATE_HZ, 'surrogate'), rateNanoHz),
  rateNanoHz,
  leadCount: 1,
  seamUs: 300_000,
  apartUs: 900_000,
  mayBeClose: false,
};

type Modulation = { runner: SegmentRunner; breathsUs: number[] };

// shared by every instance of the thread: nothing of them outlives a call
const surrogate = [new Float64Array(64)];
const breathSec = new Float64Array(64);
const rates = [Number.NaN, Number.NaN, Number.NaN];
const here = new Float64Array(3);
const looked = new Float64Array(2);

export class BeatModulation {
  readonly #method: number;
  readonly #channelRate: number;
  readonly #reachUs: number;
  readonly #gaps: Gaps;
  readonly #sink: ValueSink;
  readonly #decimation: number;
  readonly #ring: SampleRing;
  readonly #parts: readonly Modulation[];
  #lastUs = Number.NEGATIVE_INFINITY;
  readonly #before = arenaDoubles(3);
  #nextSec = -1;

  /** @param method position in `featureMethods`  @param ring samples of the channel whose shape is followed, kept by the caller, and
   *  `decimation` how many of the channel there are to one of them  @param gaps stretches without samples, kept by the caller */
  constructor(
    method: number,
    source: 'ecg' | 'ppg',
    channelRate: number,
    ring: SampleRing,
    decimation: number,
    gaps: Gaps,
    stock: KernelStock,
    sink: ValueSink,
  ) {
    this.#method = method;
    this.#channelRate = channelRate;
    this.#reachUs = REACH_SEC[source] * secondUs;
    this.#gaps = gaps;
    this.#sink = sink;
    this.#decimation = decimation;
    this.#ring = ring;
    this.#parts = modulations.map(() => {
      const breathsUs: number[] = [];
      return { runner: new SegmentRunner(breathKind, stock, (tUs) => void breathsUs.push(tUs)), breathsUs };
    });
  }

  /** Time before which every value is out, µs. */
  get finalUs(): number {
    return this.#nextSec < 0 ? Number.POSITIVE_INFINITY : this.#nextSec * secondUs;
  }

  start(tUs: number): void {
    const { cadenceSec } = featureMethods[this.#method]!;
    this.#nextSec = Math.ceil(tUs / (cadenceSec * secondUs)) * cadenceSec;
  }

  /** The next beat. @param inverted is the pulse upside down there? */
  beat(tUs: number, inverted: boolean): void {
    const intervalSec = (tUs - this.#lastUs) / secondUs;
    this.#look(tUs, inverted);
    here[2] = intervalSec;
    const joined = intervalSec <= INTERVAL_MAX_SEC && here[0]! - here[0]! === 0 && this.#before[0]! - this.#before[0]! === 0;
    if (joined) {
      const fromK = Math.ceil((this.#lastUs + 1) / stepUs);
      const toK = Math.ceil((tUs + 1) / stepUs);
      for (let m = 0; m < this.#parts.length; m++) {
        const x = surrogate[0]!;
        const before = this.#before[m]!;
        const rise = here[m]! - before;
        for (let k = fromK; k < toK; k++) x[k - fromK] = before + ((k * stepUs - this.#lastUs) / (tUs - this.#lastUs)) * rise;
        this.#parts[m]!.runner.push(surrogate, 0, toK - fromK, fromK);
      }
    } else here[2] = 0.8; // the first of a chain: an interval to interpolate from
    this.#before.set(here);
    this.#lastUs = tUs;
  }

  /** @param beatsUs every beat before it has been given */
  advance(beatsUs: number): void {
    if (this.#nextSec < 0) return;
    if (beatsUs - this.#lastUs > INTERVAL_MAX_SEC * secondUs) {
      const k = Math.ceil(Math.floor(beatsUs) / stepUs);
      for (const { runner } of this.#parts) if (runner.k < k) runner.skipTo(k);
    }
    let finalUs = beatsUs;
    // by index: an iterator would be allocated each time
    for (let m = 0; m < this.#parts.length; m++) {
      const { runner } = this.#parts[m]!;
      if (runner.k >= 0 && runner.finalUs < finalUs) finalUs = runner.finalUs;
    }
    const { cadenceSec } = featureMethods[this.#method]!;
    for (; this.#nextSec * secondUs < finalUs; this.#nextSec = this.#gaps.nextDue(this.#nextSec, cadenceSec, finalUs))
      this.#value(this.#nextSec * secondUs);
  }

  close(): void {
    for (const { runner } of this.#parts) runner.close();
  }

  #value(tUs: number): void {
    const { windowSec, coverageMin } = featureMethods[this.#method]!;
    const fromUs = tUs - windowSec * secondUs;
    this.#parts.forEach(({ breathsUs }, m) => {
      while (breathsUs.length > 0 && breathsUs[0]! <= fromUs) breathsUs.shift();
      let count = 0;
      for (let i = 0; i < breathsUs.length && breathsUs[i]! <= tUs && count < breathSec.length; i++)
        breathSec[count++] = breathsUs[i]! / secondUs;
      rates[m] = respiratoryRate(breathSec, count, windowSec);
    });
    if (this.#gaps.missingUs(tUs - secondUs, tUs) >= secondUs) return;
    const covered = 1 - this.#gaps.missingUs(fromUs, tUs) / (windowSec * secondUs);
    const { perMin, agreeing } = fusedRespiratoryRate(rates);
    if (covered < coverageMin || Number.isNaN(perMin)) return;
    this.#sink.value(this.#method, -1, tUs, perMin, modulationFlag(agreeing));
  }

  /** Top and range of the samples around a beat; NaN where one is missing. */
  #look(tUs: number, inverted: boolean): void {
    const perUs = this.#channelRate / 1e15 / this.#decimation;
    const from = Math.max(0, Math.round((tUs - this.#reachUs) * perUs));
    const to = Math.round((tUs + this.#reachUs) * perUs);
    const complete = this.#ring.range(from, to, looked);
    here[0] = complete ? (inverted ? -looked[0]! : looked[1]!) : Number.NaN;
    here[1] = complete ? looked[1]! - looked[0]! : Number.NaN;
  }
}
