/** Values of the pulse wave of a stream: the pulses of its first group of wavelengths measured one by one in the first wavelength, medians
 *  of a minute. */
import { GOOD, SUSPECT } from '../../signal.ts';
import type { BeatTrack, Gaps } from '../hrv/beats.ts';
import { classifyBeat, noVerdict } from '../hrv/beats.ts';
import type { ValueSink } from '../hrv/values.ts';
import { medianOf } from '../hrv/median.ts';
import { PULSE_MAX_SEC, PulseWaveMeter, pulseWaveMeasures } from '../ppg/pulse-wave.ts';
import type { PulseWaveMeasure, SamplesFrom } from '../ppg/pulse-wave.ts';
import { pulseWaveFeatures } from '../rows/methods-pulse-wave.ts';
import { featureMethods, methodIndex } from '../rows/methods.ts';
import { SampleRing } from './sample-ring.ts';

const secondUs = 1_000_000;
const methods = pulseWaveMeasures.map((measure) => methodIndex(pulseWaveFeatures[measure]));
const [first] = methods;

/** Slower pulses show no waves: of them only where an upstroke is steepest is known. */
export const PULSE_WAVE_MIN_HZ = 50;
/** Faster ones are averaged down to a rate from here to twice this. */
export const AVERAGED_HZ = 60;
/** A median needs so many pulses, */
export const PULSES_MIN = 10;
/** and to be good this share of those of the window, */
export const PULSES_SHARE_GOOD = 0.5;
/** of which half lie within this of the median, in the unit of the measure. */
export const PULSE_SPREAD_GOOD: Readonly<Record<PulseWaveMeasure, number>> = {
  crest: 15,
  width: 25,
  area: 0.08,
  reflection: 6,
  delay: 25,
  ba: 0.15,
  aging: 0.2,
};

/** An upstroke is steepest within this of its middle, s; a slope is taken over twice the second, s. */
const [STEEPEST_REACH_SEC, STEEPEST_OVER_SEC] = [0.1, 0.03];

const width = pulseWaveMeasures.length;

// shared by every stream of the thread: nothing of them outlives a call
const verdict = noVerdict();
const own = pulseWaveMeasures.map(() => new Float64Array(256));
const counts = new Int32Array(width);
const around = new Float64Array(64);

export class BeatPulseWaves {
  readonly #fs: number;
  readonly #decimation: number;
  readonly #ring: SampleRing;
  readonly #meter: PulseWaveMeter | null;
  readonly #samplesFrom: SamplesFrom;
  readonly #track: BeatTrack;
  readonly #gaps: Gaps;
  readonly #sink: ValueSink;
  /** Pulses of the windows to come, ascending; NaN where one was not measured. */
  #count = 0;
  #times = new Float64Array(64);
  #measured = new Float32Array(64 * width);
  /** The newest beat, which the next one ends, and the s before it; is it upside down? */
  #lastUs = Number.NEGATIVE_INFINITY;
  #before = Number.NaN;
  #isInverted = false;
  #nextSec = -1;
  /** Of the mean that is being made: index of the next sample, and those it has. */
  #k = -1;
  #sum = 0;
  readonly #means = new Float64Array(512);

  /** @param fs rate of the pulse, Hz  @param latencySec a beat is given at most so much later
   *  @param track, gaps kept by the caller */
  constructor(fs: number, latencySec: number, track: BeatTrack, gaps: Gaps, sink: ValueSink) {
    this.#fs = fs;
    this.#decimation = Math.max(1, Math.floor(fs / AVERAGED_HZ));
    const rate = fs / this.#decimation;
    // a pulse is measured when the next one is given; samples come in pieces of a second
    this.#ring = new SampleRing(rate, latencySec + PULSE_MAX_SEC + 2);
    this.#meter = fs < PULSE_WAVE_MIN_HZ ? null : new PulseWaveMeter(rate, this.#decimation === 1 ? 0 : 1 / rate);
    this.#samplesFrom = (from, out) => this.#ring.means(from, 1, out);
    this.#track = track;
    this.#gaps = gaps;
    this.#sink = sink;
  }

  /** Time before which every value is out, µs. */
  get finalUs(): number {
    return this.#nextSec < 0 ? Number.POSITIVE_INFINITY : this.#nextSec * secondUs;
  }

  start(tUs: number): void {
    if (this.#meter === null) return;
    const { cadenceSec } = featureMethods[first!]!;
    this.#nextSec = Math.ceil(tUs / (cadenceSec * secondUs)) * cadenceSec;
  }

  /** x[from, to), a second at most; NaN where missing. @param k grid index of x[0] */
  push(x: Float64Array, from: number, to: number, k: number): void {
    const d = this.#decimation;
    if (d === 1) {
      this.#ring.push(x, from, to, k);
      return;
    }
    if (this.#k !== k + from) this.#sum = Number.NaN; // the mean that lies across a gap is missing
    const means = this.#means;
    let count = 0;
    let sum = this.#sum;
    let left = d - ((k + from) % d);
    if (left === d) sum = 0;
    for (let i = from; i < to; i++) {
      sum += x[i]!;
      if (--left > 0) continue;
      means[count++] = sum / d;
      sum = 0;
      left = d;
    }
    this.#sum = sum;
    this.#k = k + to;
    if (count > 0) this.#ring.push(means, 0, count, Math.floor((k + to) / d) - count);
  }

  /** The next beat. @param isInverted is the pulse upside down there?  @param isDoubtful or may it be the other way up? */
  beat(tUs: number, isInverted: boolean, isDoubtful: boolean): void {
    const interval = (tUs - this.#lastUs) / secondUs;
    const meter = this.#meter;
    const isSure = !isDoubtful && isInverted === this.#isInverted;
    if (meter !== null && isSure && this.#isMeasured(meter, tUs, interval)) this.#keep(meter.values);
    this.#before = interval;
    this.#lastUs = tUs;
    this.#isInverted = isInverted;
  }

  /** How far after a beat, whose upstroke crosses its middle there, it is steepest, ms; NaN: samples are missing, Infinity: it is
   *  steepest at the end of what was looked at. */
  steepestAfterMs(tUs: number, isInverted: boolean): number {
    const rate = this.#fs / this.#decimation;
    const reach = Math.round(STEEPEST_REACH_SEC * rate);
    const over = Math.max(1, Math.round(STEEPEST_OVER_SEC * rate));
    const at = this.#positionOf(tUs);
    const from = Math.round(at) - reach - over;
    const x = around.subarray(0, 2 * (reach + over) + 1);
    if (!this.#ring.means(from, 1, x)) return Number.NaN;
    const sign = isInverted ? -1 : 1;
    const slopeAt = (i: number): number => sign * (x[i + over]! - x[i - over]!);
    let top = over;
    for (let i = over; i < x.length - over; i++) if (slopeAt(i) > slopeAt(top)) top = i;
    if (top === over || top === x.length - over - 1) return Number.POSITIVE_INFINITY;
    const [before, most, after] = [slopeAt(top - 1), slopeAt(top), slopeAt(top + 1)];
    const part = (before - after) / (2 * (before - 2 * most + after));
    return (1000 * (from + top + (part === part ? part : 0) - at)) / rate;
  }

  #isMeasured(meter: PulseWaveMeter, tUs: number, interval: number): boolean {
    if (!(interval <= PULSE_MAX_SEC)) return false;
    return meter.measure(
      this.#samplesFrom,
      this.#positionOf(this.#lastUs),
      this.#positionOf(tUs),
      Math.min(this.#before, PULSE_MAX_SEC),
      this.#isInverted ? -1 : 1,
    );
  }

  /** In means of the ring, each of which lies in the middle of its samples. */
  #positionOf(tUs: number): number {
    return ((tUs / secondUs) * this.#fs - (this.#decimation - 1) / 2) / this.#decimation;
  }

  #keep(values: Float64Array): void {
    if (this.#count === this.#times.length) this.#grow();
    this.#times[this.#count] = this.#lastUs;
    this.#measured.set(values, width * this.#count);
    this.#count++;
  }

  /** @param judgedUs every beat before it has its verdict and its flag */
  advance(judgedUs: number): void {
    if (this.#nextSec < 0) return;
    const { cadenceSec, windowSec } = featureMethods[first!]!;
    for (; this.#nextSec * secondUs < judgedUs; this.#nextSec = this.#gaps.nextDue(this.#nextSec, cadenceSec, judgedUs))
      this.#values(this.#nextSec * secondUs, windowSec * secondUs);
    this.#forgetBefore((this.#nextSec - windowSec) * secondUs);
  }

  /** Values exist where their last second has samples. */
  #values(tUs: number, windowUs: number): void {
    if (this.#gaps.missingUs(tUs - secondUs, tUs) >= secondUs) return;
    const pulses = this.#gather(tUs, windowUs);
    for (let m = 0; m < width; m++) {
      const n = counts[m]!;
      if (n < PULSES_MIN) continue;
      const x = own[m]!;
      const middle = medianOf(x, n);
      for (let i = 0; i < n; i++) x[i] = Math.abs(x[i]! - middle);
      const isGood = n >= PULSES_SHARE_GOOD * pulses && medianOf(x, n) <= PULSE_SPREAD_GOOD[pulseWaveMeasures[m]!];
      this.#sink.value(methods[m]!, -1, tUs, middle, isGood ? GOOD : SUSPECT);
    }
  }

  /** What good pulses that are not ectopic and end by t measured, into `own`.  @returns pulses of the window, good or not */
  #gather(tUs: number, windowUs: number): number {
    const { tUs: times, flag, starts } = this.#track;
    const to = this.#track.after(tUs);
    const from = this.#track.after(tUs - windowUs, to);
    counts.fill(0);
    let at = 0;
    for (let i = from; i + 1 < to; i++) {
      if (flag[i] !== GOOD || flag[i + 1] !== GOOD || starts[i] === 1 || starts[i + 1] === 1) continue;
      classifyBeat(this.#track, i, verdict);
      if (verdict.kind !== 0) continue;
      while (at < this.#count && this.#times[at]! < times[i]!) at++;
      if (at >= this.#count || this.#times[at] !== times[i]) continue;
      for (let m = 0; m < width; m++) {
        const value = this.#measured[width * at + m]!;
        if (value === value && counts[m]! < own[m]!.length) own[m]![counts[m]!++] = value;
      }
    }
    return to - from;
  }

  #forgetBefore(tUs: number): void {
    let n = 0;
    while (n < this.#count && this.#times[n]! <= tUs) n++;
    if (n < 32) return;
    this.#times.copyWithin(0, n, this.#count);
    this.#measured.copyWithin(0, width * n, width * this.#count);
    this.#count -= n;
  }

  #grow(): void {
    const [times, measured] = [this.#times, this.#measured];
    this.#times = new Float64Array(2 * times.length);
    this.#times.set(times);
    this.#measured = new Float32Array(2 * measured.length);
    this.#measured.set(measured);
  }
}
