/** Quality of a PPG channel, once a second: how likely is it that the beats around are right?
 *
 *  For the second [t, t + 1) the 10 s [t - 4, t + 6), or before a gap or an end what there is of them, at least 5 s, are judged by
 *  published measures:
 *  - agreement of the beats with a second, independent detector (two moving averages, Elgendi 2013, doi:10.1371/journal.pone.0076585),
 *    as bSQI does for ECG (Li 2008, doi:10.1088/0967-3334/29/1/002);
 *  - correlation of each beat with the mean beat (Orphanidou 2015, doi:10.1109/JBHI.2014.2338351);
 *  - skewness (Elgendi 2016, doi:10.3390/bioengineering3040021);
 *  - steadiness of intervals and of heights, periodicity (autocorrelation at the median interval), the detector's own confidence;
 *  - noise: power at 5-8 Hz over that at 0.4-8 Hz;
 *  - how far the rate of the beats is from the spectral one of PpgMotionHeartRate, and how much of the cleaned spectrum supports that one.
 *    This is what tells a motion artefact, itself a fine periodic pulse, from a pulse.
 *  A logistic function of them, fitted on recordings with simultaneous ECG (docs/dsp says which, and how it does on the others),
 *  gives `sqi` = the probability that at least 90 % of the beats of the 10 s are right. It is never good where what was counted may be no
 *  beats, or parts of beats, however alike they are (half of what it is above AMBIGUOUS is taken off, so that its order stays):
 *  - a tone, which a vibration or the light of a room leaves at any rate: a wave without a second harmonic;
 *  - waves that are high and low, or near and far, by turns: beats, or beats and the dicrotic waves between them. Only waves so near each
 *    other that the second may be dicrotic; in a slow heart only where it is much lower.
 *  No perfusion index: most devices send PPG without its DC level.
 *
 *  Everything is measured on samples averaged down to about 31 Hz (single precision, 5 kB whatever the rate of the channel). */
import { highPass, lowPass } from '../kernels/biquad.ts';
import type { Biquad } from '../kernels/biquad.ts';
import { keptByRate } from '../kernels/kept-by-rate.ts';
import { appendBeat, noBeats } from '../kernels/found-beats.ts';
import type { FoundBeats } from '../kernels/contract.ts';
import { FIRST_FRAME } from './motion-hr.ts';
import type { FoundRates } from './motion-hr.ts';
import { TwoAverageDetector } from './two-averages.ts';
import type { QualityFlag } from '../../signal.ts';
import { BAD, GOOD, SUSPECT } from '../../signal.ts';

export const BEFORE_SEC = 4;
export const AFTER_SEC = 6;
const WINDOW_SEC = BEFORE_SEC + AFTER_SEC;
const DECIMATED_HZ = 31.25;
/** Without a change for this long a sample counts as lost. */
export const FLAT_SEC = 0.2;
export const MATCH_SEC = 0.15;
/** A window with more missing or flat samples than this is bad whatever the rest says. */
export const LOST_MAX = 0.2;
/** Where more is missing after a second than that, it is judged by the seconds before the gap, which must be as many as this. All that a
 *  last second has are itself and the four before it. With 6 s the last second before a gap stays bad, and no fewer rates are wrong
 *  (docs/dsp/pulse-and-slow.md). */
export const SHORTEST_SEC = 5;
const BEATS_MIN = 4;
/** However short the window: two intervals. */
const BEATS_LEAST = 3;
/** Beats of which the second detector finds less than half are none, whatever the rest says: after a step from a pulse to tiny noise what
 *  looks smooth, skewed and periodic is the filters' way back. In windows whose beats are right it is at least 0.6. */
export const AGREEMENT_MIN = 0.5;
/** Above this an index counts half where the beats may be something else: what is left is below `ppgSqiGood`, and in order. */
export const AMBIGUOUS = 0.9;
/** Power of the second harmonic over that of the first, below which a wave is a tone. In good seconds of fingers it is at least 0.039
 *  (BIDMC) and 0.087 (CapnoBase), of tones with noise below 0.005. */
export const TONE_MAX = 0.01;
/** ... of beats at most so many usual intervals apart. */
const TONE_INTERVAL_MAX = 1.5;
/** A dicrotic wave comes sooner than this after its pulse: the valves close 0.4 s after the heart begins to eject, or sooner. */
export const DICROTIC_SEC = 0.6;
/** And than this in a slow heart, which ejects for longer; so late, only a wave that is much lower than its pulse. */
export const LATE_DICROTIC_SEC = 0.75;
/** Waves alternate whose heights, or intervals, go up and down by so much of their mean, and by turns in so much of all their changes. */
export const alternating = {
  height: { size: 0.15, byTurns: 0.8 },
  lateHeight: { size: 0.4, byTurns: 0.8 },
  interval: { size: 0.05, byTurns: 0.9 },
} as const;
const RATE_STEP_SEC = 2;
const RATE_RING = 8;
/** Seconds whose sums are kept. */
const SECONDS = 24;
/** Samples along one beat for the template, from 0.3 intervals before its position to 0.5 after it. */
const SHAPE = 24;
const shapeAt = Float64Array.from({ length: SHAPE }, (_, k) => -0.3 + (0.8 * k) / (SHAPE - 1));
/** Of the band-pass. */
const POSITION_DELAY_SEC = 0.028;
const BEATS_MAX = 64;

/** `sqi` at or above: good; below the other: bad. */
export const ppgSqiGood = 0.96;
export const ppgSqiBad = 0.6;

/** What a second is judged by, and where each measure stands in `features`. The last two need a spectral rate. */
const measures = {
  agreement: 0,
  templateMean: 1,
  templateLow: 2,
  skewness: 3,
  confidence: 4,
  confidenceLow: 5,
  intervalSpread: 6,
  heightSpread: 7,
  periodicity: 8,
  noise: 9,
  rateOff: 10,
  rateShare: 11,
} as const;
type Measure = keyof typeof measures;
/** In the order of `features`. */
export const ppgQualityFeatures = Object.keys(measures) as readonly Measure[];
const FEATURES = ppgQualityFeatures.length;

type Weights = Readonly<{ constant: number; of: readonly number[] }>;

function weightsOf(constant: number, of: Readonly<Record<Measure, number>>): Weights {
  return { constant, of: ppgQualityFeatures.map((measure) => of[measure]) };
}

/** Logistic weights with a spectral rate, and without. */
const withRates = weightsOf(-7.349, {
  agreement: 1.224,
  templateMean: 2.827,
  templateLow: 0.624,
  skewness: 1.521,
  confidence: -0.788,
  confidenceLow: 2.251,
  intervalSpread: -9.475,
  heightSpread: 0.902,
  periodicity: -0.265,
  noise: -2.731,
  rateOff: -8.432,
  rateShare: 3.234,
});
const withoutRates = weightsOf(-6.664, {
  agreement: 2.946,
  templateMean: -0.331,
  templateLow: 0.376,
  skewness: 1.394,
  confidence: 1.129,
  confidenceLow: 1.751,
  intervalSpread: -9.354,
  heightSpread: -0.343,
  periodicity: 1.598,
  noise: -2.734,
  rateOff: 0,
  rateShare: 0,
});

function probability({ constant, of }: Weights, features: Float64Array): number {
  let sum = constant;
  for (let k = 0; k < FEATURES; k++) sum += of[k]! * features[k]!;
  return 1 / (1 + Math.exp(-sum));
}

// shared by every instance of the thread: nothing of them outlives a judgement
const shapes = new Float64Array(BEATS_MAX * SHAPE);
const template = new Float64Array(SHAPE);
const offsets = new Float64Array(SHAPE);
const scratch = new Float64Array(BEATS_MAX);
const heights = new Float64Array(BEATS_MAX);
let windowed = new Float64Array(512);
/** What a piece of the channel is averaged down to. */
const decimated = new Float64Array(64);

/** Parallel growable columns. */
export type FoundQuality = {
  count: number;
  /** Start of the second judged, s since reset. */
  startSec: Float64Array;
  /** 0 … 1. */
  sqi: Float64Array;
  flag: Uint8Array;
};

export function emptyQuality(): FoundQuality {
  return { count: 0, startSec: new Float64Array(4), sqi: new Float64Array(4), flag: new Uint8Array(4) };
}

export function ppgFlag(sqi: number): QualityFlag {
  return sqi >= ppgSqiGood ? GOOD : sqi < ppgSqiBad ? BAD : SUSPECT;
}

/** Sums over one second of the decimated signal: samples, lost ones, powers of the value, square of its part above 5 Hz. */
const [COUNT, LOST, Y1, Y2, Y3, NOISE, SUMS] = [0, 1, 2, 3, 4, 5, 6] as const;

/** Call push with every sample of one PPG channel in order and what PpgBeatDetector found meanwhile, flush at the end. A second is judged
 *  once AFTER_SEC and the detectors' latency have passed; the seconds before BEFORE_SEC after reset are judged by a shorter window. NaN
 *  marks a missing sample. */
export class PpgQuality {
  readonly latencySec: number;
  /** What the last second was judged by, in the order of ppgQualityFeatures; for fitting. */
  readonly features = new Float64Array(FEATURES);
  readonly #decimation: number;
  /** Samples per second after averaging down. */
  readonly #rate: number;
  readonly #second: TwoAverageDetector;
  /** Beats of both detectors, positions in decimated samples. */
  readonly #found = noBeats(32);
  readonly #other = noBeats(32);
  readonly #ring: Float32Array;
  readonly #sums = new Float64Array(SECONDS * SUMS);
  readonly #filters: Filters;
  readonly #state = new Float64Array(6);
  readonly #hasRates: boolean;
  readonly #rateBpm = new Float32Array(RATE_RING);
  readonly #rateShare = new Float32Array(RATE_RING);
  /** Frame (end / 2 s) of the newest rate. */
  #rateFrame = 0;
  #fresh = true;
  #last = 0;
  #flatRun = 0;
  /** Decimated samples so far, and the second that the next one falls into. */
  #n = 0;
  #nowSec = 0;
  #judgedSec = 0;
  #quietSec = 0;
  // the decimated sample that is being made
  #sum = 0;
  #present = 0;
  #phase = 0;

  /** @param detectorLatencySec of the detector whose beats are judged
   *  @param rates true when rates will come by pushRates; then each second waits for its rate */
  constructor(fs: number, detectorLatencySec: number, rates = false) {
    this.#decimation = Math.max(1, Math.round(fs / DECIMATED_HZ));
    this.#rate = fs / this.#decimation;
    this.#hasRates = rates;
    this.#second = new TwoAverageDetector(this.#rate);
    this.latencySec = AFTER_SEC + Math.max(detectorLatencySec, this.#second.latencySec) + 1 / this.#rate;
    // the window, what waits behind it (a second judged late, a piece of one second), and the start of its first beat
    this.#ring = new Float32Array(Math.ceil((WINDOW_SEC + this.latencySec - AFTER_SEC + 3) * this.#rate));
    this.#filters = filtersOf(this.#rate);
    this.reset();
  }

  /** @param quietSec seconds that start before this one, counted from here, are not judged: nobody wants them */
  reset(quietSec = 0): void {
    this.#quietSec = quietSec;
    this.#second.reset();
    this.#found.count = this.#other.count = 0;
    this.#sums.fill(0);
    this.#state.fill(0);
    this.#rateBpm.fill(Number.NaN);
    this.#ring.fill(0);
    this.#fresh = true;
    this.#rateFrame = this.#last = this.#flatRun = this.#n = this.#nowSec = this.#judgedSec = 0;
    this.#sum = this.#present = this.#phase = 0;
  }

  /** Hands over the rates [from, to) that PpgMotionHeartRate found. Call it before `push` with the samples of the same time: rates lag by
   *  4 s, a second is judged 8 s late, so none waits. */
  pushRates(rates: FoundRates, from: number, to: number): void {
    for (let i = from; i < to; i++) {
      this.#rateFrame = Math.round(rates.endSec[i]! / RATE_STEP_SEC);
      this.#rateBpm[this.#rateFrame % RATE_RING] = rates.bpm[i]!;
      this.#rateShare[this.#rateFrame % RATE_RING] = rates.confidence[i]!;
    }
  }

  /** Hands over the beats [from, to) that the detector found (positions in samples since reset), before the samples that it found them
   *  by. */
  pushBeats(beats: FoundBeats, from: number, to: number): void {
    const offset = (1 - this.#decimation) / (2 * this.#decimation);
    for (let i = from; i < to; i++) appendBeat(this.#found, beats.position[i]! / this.#decimation + offset, beats.confidence[i]!);
  }

  push(x: Float64Array, from: number, to: number, out: FoundQuality): void {
    const decimation = this.#decimation;
    let sum = this.#sum;
    let present = this.#present;
    let phase = this.#phase;
    let count = 0;
    let due = this.#due();
    for (let i = from; i < to; i++) {
      const value = x[i]!;
      if (value - value === 0) {
        sum += value;
        present++;
      }
      if (++phase < decimation) continue;
      decimated[count++] = present > 0 ? sum / present : Number.NaN;
      sum = present = phase = 0;
      if (count < due) continue;
      this.#accept(count);
      count = 0;
      while (this.#isDue()) this.#judge(out);
      due = this.#due();
    }
    this.#accept(count);
    this.#sum = sum;
    this.#present = present;
    this.#phase = phase;
  }

  /** The data ends here: judge the seconds that are complete. */
  flush(out: FoundQuality): void {
    while ((this.#judgedSec + 1) * this.#rate <= this.#n) this.#judge(out);
  }

  /** Samples until a second may have to be judged. Beats must not be sought beyond that before `push`: which beats a judgement
   *  knows would depend on how the samples were cut. */
  get left(): number {
    return this.#due() * this.#decimation - this.#phase;
  }

  /** Decimated samples until a second may have to be judged. */
  #due(): number {
    const left = Math.ceil((this.#judgedSec + this.latencySec) * this.#rate) - this.#n;
    return Math.max(1, Math.min(decimated.length, left));
  }

  #isDue(): boolean {
    if (this.#n < (this.#judgedSec + this.latencySec) * this.#rate) return false;
    // The first seconds after reset have no rate to wait for: no window ends that early.
    const frame = rateFrameOf(this.#judgedSec);
    return !this.#hasRates || frame < FIRST_FRAME || this.#rateFrame >= frame;
  }

  /** The first `count` of `decimated`: filters and sums. */
  #accept(count: number): void {
    this.#second.push(decimated, 0, count, this.#other);
    for (let at = 0; at < count;) {
      if (this.#n >= (this.#nowSec + 1) * this.#rate)
        this.#sums.fill(0, (++this.#nowSec % SECONDS) * SUMS, ((this.#nowSec % SECONDS) + 1) * SUMS);
      const end = Math.min(count, at + Math.ceil((this.#nowSec + 1) * this.#rate) - this.#n);
      this.#add(at, end);
      at = end;
    }
  }

  /** Decimated samples [from, to), all of one second. */
  #add(from: number, to: number): void {
    const { high, low, noise } = this.#filters;
    const state = this.#state;
    const sums = this.#sums;
    const ring = this.#ring;
    const at = (this.#nowSec % SECONDS) * SUMS;
    const flatMin = FLAT_SEC * this.#rate;
    let last = this.#last;
    let flatRun = this.#flatRun;
    let slot = this.#n % ring.length;
    let lost = sums[at + LOST]!;
    let y1 = sums[at + Y1]!;
    let y2 = sums[at + Y2]!;
    let y3 = sums[at + Y3]!;
    let power = sums[at + NOISE]!;
    for (let i = from; i < to; i++) {
      let value = decimated[i]!;
      if (value - value !== 0) {
        value = last;
        lost++;
        flatRun = 0;
      } else if (this.#fresh) {
        this.#fresh = false;
        state[0] = (high.b1 + high.b2) * value;
        state[1] = high.b2 * value;
        state[2] = state[3] = 0;
      } else if (value === last) {
        if (++flatRun >= flatMin) lost++;
      } else flatRun = 0;
      last = value;
      const h = high.b0 * value + state[0]!;
      state[0] = high.b1 * value - high.a1 * h + state[1]!;
      state[1] = high.b2 * value - high.a2 * h;
      const y = low.b0 * h + state[2]!;
      state[2] = low.b1 * h - low.a1 * y + state[3]!;
      state[3] = low.b2 * h - low.a2 * y;
      const rough = noise.b0 * y + state[4]!;
      state[4] = noise.b1 * y - noise.a1 * rough + state[5]!;
      state[5] = noise.b2 * y - noise.a2 * rough;
      ring[slot] = y;
      if (++slot === ring.length) slot = 0;
      const squared = y * y;
      y1 += y;
      y2 += squared;
      y3 += squared * y;
      power += rough * rough;
    }
    sums[at + COUNT]! += to - from;
    sums[at + LOST] = lost;
    sums[at + Y1] = y1;
    sums[at + Y2] = y2;
    sums[at + Y3] = y3;
    sums[at + NOISE] = power;
    this.#last = last;
    this.#flatRun = flatRun;
    this.#n += to - from;
  }

  #judge(out: FoundQuality): void {
    const startSec = this.#judgedSec++;
    if (startSec < this.#quietSec) return;
    const firstSec = Math.max(0, startSec - BEFORE_SEC);
    const lastSec = this.#lastSec(firstSec, startSec);
    const from = Math.ceil(firstSec * this.#rate);
    const to = Math.min(this.#n, Math.ceil((lastSec + 1) * this.#rate));
    dropBefore(this.#found, from - this.#rate);
    dropBefore(this.#other, from - this.#rate);
    const total = totals;
    total.fill(0);
    for (let sec = firstSec; sec <= lastSec; sec++)
      for (let k = 0; k < SUMS; k++) total[k] = total[k]! + this.#sums[(sec % SECONDS) * SUMS + k]!;
    const first = lowerBound(this.#found, from);
    const last = Math.min(lowerBound(this.#found, to), first + BEATS_MAX);
    let sqi = 0;
    this.features.fill(0);
    const leastBeats = Math.max(BEATS_LEAST, (BEATS_MIN * (to - from)) / (WINDOW_SEC * this.#rate));
    if (total[LOST]! <= LOST_MAX * total[COUNT]! && last - first >= leastBeats) {
      this.#measure(first, last, from, to);
      const weights = this.#measureRate(startSec, lastSec, first, last) ? withRates : withoutRates;
      if (this.features[measures.agreement]! >= AGREEMENT_MIN) sqi = probability(weights, this.features);
      if (sqi > AMBIGUOUS && (this.#alternate(first, last) || this.#isTone(first, last))) sqi = (sqi + AMBIGUOUS) / 2;
    }
    appendQuality(out, startSec, sqi);
  }

  /** Last second of the window that begins with `firstSec`: before a gap the last one that has samples, where there are enough. */
  #lastSec(firstSec: number, startSec: number): number {
    const whole = Math.min(this.#nowSec, startSec + AFTER_SEC - 1);
    if (this.#lostShare(firstSec, whole) <= LOST_MAX) return whole;
    let last = startSec - 1;
    while (last < whole && this.#lostShare(last + 1, last + 1) <= LOST_MAX) last++;
    let present = 0;
    for (let sec = firstSec; sec <= last; sec++) if (this.#lostShare(sec, sec) <= LOST_MAX) present++;
    return last >= startSec && present >= SHORTEST_SEC ? last : whole;
  }

  /** Of the seconds [first, last]. */
  #lostShare(first: number, last: number): number {
    let lost = 0;
    let count = 0;
    for (let sec = first; sec <= last; sec++) {
      const at = (sec % SECONDS) * SUMS;
      lost += this.#sums[at + LOST]!;
      count += this.#sums[at + COUNT]!;
    }
    return lost / count;
  }

  #measure(first: number, last: number, from: number, to: number): void {
    const { features } = this;
    const { position, confidence } = this.#found;
    const count = last - first;
    features[measures.agreement] = agreement(this.#found, first, last, this.#other, from, to, MATCH_SEC * this.#rate);
    let trust = 0;
    let low = 1;
    for (let i = first; i < last; i++) {
      trust += confidence[i]!;
      if (confidence[i]! < low) low = confidence[i]!;
    }
    features[measures.confidence] = trust / count;
    features[measures.confidenceLow] = low;
    // intervals: spread around their median
    const steps = count - 1;
    for (let i = 0; i < steps; i++) scratch[i] = position[first + i + 1]! - position[first + i]!;
    const interval = steps > 0 ? medianOf(scratch, steps) : this.#rate;
    features[measures.intervalSpread] = spread(scratch, steps, interval);
    const origin = this.#copyWindow(first, interval, from, to);
    this.#shape(first, count, interval, origin, to);
    features[measures.heightSpread] = spread(heights, count, medianOf(heights, count));
    features[measures.skewness] = skewness();
    features[measures.periodicity] = periodicity(from - origin, to - origin, interval);
    features[measures.noise] = totals[Y2]! > 0 ? 0.5 * Math.log(totals[NOISE]! / totals[Y2]! + 1e-4) : 0;
  }

  /** Do the waves differ by turns, and follow each other within the time of a dicrotic wave? `heights` are those of #shape. */
  #alternate(first: number, last: number): boolean {
    const { position } = this.#found;
    const steps = last - first - 1;
    for (let i = 0; i < steps; i++) scratch[i] = position[first + i + 1]! - position[first + i]!;
    const usualSec = medianOf(scratch, steps) / this.#rate;
    if (usualSec >= LATE_DICROTIC_SEC) return false;
    if (usualSec >= DICROTIC_SEC) return goByTurns(heights, steps + 1, alternating.lateHeight);
    return goByTurns(heights, steps + 1, alternating.height) || goByTurns(scratch, steps, alternating.interval);
  }

  /** Is there hardly a second harmonic of the beats? Their phase is measured from beat to beat, so that none is lost where the rate
   *  changes. In an interval that has lost a beat, as one that a gap cuts, the tone itself is the second harmonic. */
  #isTone(first: number, last: number): boolean {
    const { position } = this.#found;
    const steps = last - first - 1;
    for (let i = 0; i < steps; i++) scratch[i] = position[first + i + 1]! - position[first + i]!;
    const longest = TONE_INTERVAL_MAX * medianOf(scratch, steps);
    const ring = this.#ring;
    const { length } = ring;
    let c1 = 0;
    let s1 = 0;
    let c2 = 0;
    let s2 = 0;
    for (let b = first; b + 1 < last; b++) {
      const start = position[b]! + this.#rate * POSITION_DELAY_SEC;
      const end = position[b + 1]! + this.#rate * POSITION_DELAY_SEC;
      if (end - start > longest) continue;
      const step = (2 * Math.PI) / (end - start);
      let i = Math.max(0, Math.ceil(start));
      const stepCos = Math.cos(step);
      const stepSin = Math.sin(step);
      let cos = Math.cos((i - start) * step);
      let sin = Math.sin((i - start) * step);
      let slot = i % length;
      for (; i < end; i++) {
        const y = ring[slot]!;
        if (++slot === length) slot = 0;
        c1 += y * cos;
        s1 += y * sin;
        c2 += y * (cos * cos - sin * sin);
        s2 += y * 2 * sin * cos;
        const next = cos * stepCos - sin * stepSin;
        sin = sin * stepCos + cos * stepSin;
        cos = next;
      }
    }
    return c2 * c2 + s2 * s2 < TONE_MAX * (c1 * c1 + s1 * s1);
  }

  /** Compares the median interval with the spectral rate of the window that ends 3 or 4 s after the second starts, before a gap with the
   *  last one that has all of its samples.
   *  @returns false when there is none */
  #measureRate(startSec: number, lastSec: number, first: number, last: number): boolean {
    const frame = Math.min(rateFrameOf(startSec), Math.floor((lastSec + 1) / RATE_STEP_SEC));
    const bpm = this.#rateBpm[frame % RATE_RING]!;
    if (!this.#hasRates || this.#rateFrame < frame || !(bpm > 0)) return false;
    const steps = last - first - 1;
    for (let i = 0; i < steps; i++) scratch[i] = this.#found.position[first + i + 1]! - this.#found.position[first + i]!;
    const beatBpm = (60 * this.#rate) / medianOf(scratch, steps);
    this.features[measures.rateOff] = Math.min(0.5, Math.abs(Math.log(beatBpm / bpm)));
    this.features[measures.rateShare] = this.#rateShare[frame % RATE_RING]!;
    return true;
  }

  /** Resamples each beat to SHAPE points, from 0.3 intervals before to 0.5 after its position, and compares it with their mean. */
  #shape(first: number, count: number, interval: number, origin: number, end: number): void {
    template.fill(0);
    for (let k = 0; k < SHAPE; k++) offsets[k] = shapeAt[k]! * interval;
    for (let b = 0; b < count; b++) {
      const centre = this.#found.position[first + b]! + this.#rate * POSITION_DELAY_SEC;
      let min = Number.POSITIVE_INFINITY;
      let max = Number.NEGATIVE_INFINITY;
      let mean = 0;
      for (let k = 0; k < SHAPE; k++) {
        const at = Math.max(0, Math.min(end - 2, centre + offsets[k]!));
        const i = Math.floor(at);
        const left = windowed[i - origin]!;
        const y = left + (at - i) * (windowed[i + 1 - origin]! - left);
        shapes[b * SHAPE + k] = y;
        mean += y / SHAPE;
        if (y < min) min = y;
        if (y > max) max = y;
      }
      heights[b] = max - min;
      let power = 0;
      for (let k = 0; k < SHAPE; k++) {
        const y = shapes[b * SHAPE + k]! - mean;
        shapes[b * SHAPE + k] = y;
        power += y * y;
      }
      const scale = power > 0 ? 1 / Math.sqrt(power) : 0;
      for (let k = 0; k < SHAPE; k++) {
        const y = shapes[b * SHAPE + k]! * scale;
        shapes[b * SHAPE + k] = y;
        template[k] = template[k]! + y;
      }
    }
    let norm = 0;
    for (let k = 0; k < SHAPE; k++) norm += template[k]! ** 2;
    norm = norm > 0 ? 1 / Math.sqrt(norm) : 0;
    let sum = 0;
    let low = 1;
    for (let b = 0; b < count; b++) {
      let r = 0;
      for (let k = 0; k < SHAPE; k++) r += shapes[b * SHAPE + k]! * template[k]!;
      r *= norm;
      sum += r;
      if (r < low) low = r;
    }
    this.features[measures.templateMean] = sum / count;
    this.features[measures.templateLow] = low;
  }

  /** Copies what #shape and periodicity look at: from the start of the first beat, or of the window, to its end.
   *  @returns which decimated sample windowed[0] is */
  #copyWindow(first: number, interval: number, from: number, to: number): number {
    const start = this.#found.position[first]! + this.#rate * POSITION_DELAY_SEC + shapeAt[0]! * interval;
    const origin = Math.max(0, Math.min(from, to - 2, Math.floor(start)));
    const n = to - origin;
    if (windowed.length < n) windowed = new Float64Array(n + 64);
    const ring = this.#ring;
    const { length } = ring;
    let slot = origin % length;
    for (let i = 0; i < n; i++) {
      windowed[i] = ring[slot]!;
      if (++slot === length) slot = 0;
    }
    return origin;
  }
}

/** Higher autocorrelation of windowed[from, to) at the two whole lags next to `lag`. */
function periodicity(from: number, to: number, lag: number): number {
  const x = windowed;
  const short = Math.floor(lag);
  const long = Math.ceil(lag);
  let product = 0;
  let product2 = 0;
  let a2 = 0;
  let b2 = 0;
  let c2 = 0;
  const end = to - long;
  for (let i = from; i < end; i++) {
    const a = x[i]!;
    const b = x[i + short]!;
    const c = x[i + long]!;
    product += a * b;
    product2 += a * c;
    a2 += a * a;
    b2 += b * b;
    c2 += c * c;
  }
  const longer = a2 > 0 && c2 > 0 ? product2 / Math.sqrt(a2 * c2) : 0;
  for (let i = Math.max(from, end); i + short < to; i++) {
    const a = x[i]!;
    const b = x[i + short]!;
    product += a * b;
    a2 += a * a;
    b2 += b * b;
  }
  return Math.max(a2 > 0 && b2 > 0 ? product / Math.sqrt(a2 * b2) : 0, longer);
}

/** Sums over the window that is being judged. */
const totals = new Float64Array(SUMS);

/** Third standardized moment of the window, within -2 … 2. */
function skewness(): number {
  const n = totals[COUNT]!;
  const mean = totals[Y1]! / n;
  const second = totals[Y2]! / n - mean * mean;
  if (!(second > 0)) return 0;
  const third = totals[Y3]! / n - 3 * mean * (totals[Y2]! / n) + 2 * mean * mean * mean;
  return Math.max(-2, Math.min(2, third / second ** 1.5));
}

type Filters = Readonly<{ high: Biquad; low: Biquad; noise: Biquad }>;
const filtersOf = keptByRate((rate: number): Filters => ({
  high: highPass(0.4, rate),
  low: lowPass(Math.min(8, 0.4 * rate), rate),
  noise: highPass(5, rate),
}));

/** Frame of the spectral rate that a second is compared with. */
function rateFrameOf(startSec: number): number {
  return Math.ceil((startSec + 3) / RATE_STEP_SEC);
}

/** F1 between the beats [first, last) of one detector and those of another in [from, to). */
function agreement(a: FoundBeats, first: number, last: number, b: FoundBeats, from: number, to: number, tolerance: number): number {
  let j = lowerBound(b, from - tolerance);
  let hits = 0;
  let others = 0;
  for (let k = lowerBound(b, from); k < b.count && b.position[k]! < to; k++) others++;
  for (let i = first; i < last; i++) {
    while (j < b.count && b.position[j]! < a.position[i]! - tolerance) j++;
    if (j < b.count && b.position[j]! <= a.position[i]! + tolerance) {
      hits++;
      j++;
    }
  }
  return Math.min(1, (2 * hits) / Math.max(1, last - first + others));
}

/** Mean |log(x / centre)|, each at most 1. */
function spread(x: Float64Array, n: number, centre: number): number {
  if (n < 1 || !(centre > 0)) return 1;
  let sum = 0;
  for (let i = 0; i < n; i++) sum += x[i]! > 0 ? Math.min(1, Math.abs(Math.log(x[i]! / centre))) : 1;
  return sum / n;
}

/** Do values go up and down by turns? */
function goByTurns(x: Float64Array, n: number, { size, byTurns }: Readonly<{ size: number; byTurns: number }>): boolean {
  let turns = 0;
  let changes = 0;
  let sum = 0;
  for (let i = 0; i + 1 < n; i++) {
    const change = x[i + 1]! - x[i]!;
    turns += i % 2 === 0 ? change : -change;
    changes += Math.abs(change);
    sum += (x[i]! + x[i + 1]!) / 2;
  }
  return Math.abs(turns) > size * sum && Math.abs(turns) > byTurns * changes;
}

const sorted = new Float64Array(BEATS_MAX);

/** By insertion: ten values, in ascending order more often than not. */
function medianOf(x: Float64Array, n: number): number {
  for (let i = 0; i < n; i++) {
    const value = x[i]!;
    let k = i;
    for (; k > 0 && sorted[k - 1]! > value; k--) sorted[k] = sorted[k - 1]!;
    sorted[k] = value;
  }
  return n % 2 === 1 ? sorted[n >> 1]! : (sorted[(n >> 1) - 1]! + sorted[n >> 1]!) / 2;
}

function lowerBound(beats: FoundBeats, position: number): number {
  let low = 0;
  let high = beats.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (beats.position[middle]! < position) low = middle + 1;
    else high = middle;
  }
  return low;
}

function dropBefore(beats: FoundBeats, position: number): void {
  const keep = lowerBound(beats, position);
  if (keep === 0) return;
  beats.position.copyWithin(0, keep, beats.count);
  beats.confidence.copyWithin(0, keep, beats.count);
  beats.count -= keep;
}

function appendQuality(out: FoundQuality, startSec: number, sqi: number): void {
  if (out.count >= out.startSec.length) {
    const size = 2 * out.startSec.length;
    const { startSec: oldStart, sqi: oldSqi, flag: oldFlag } = out;
    out.startSec = new Float64Array(size);
    out.sqi = new Float64Array(size);
    out.flag = new Uint8Array(size);
    out.startSec.set(oldStart);
    out.sqi.set(oldSqi);
    out.flag.set(oldFlag);
  }
  out.startSec[out.count] = startSec;
  out.sqi[out.count] = sqi;
  out.flag[out.count] = ppgFlag(sqi);
  out.count++;
}
