/** Streaming R-peak detection. */

import { highPass, lowPass } from './biquad.ts';
import type { Biquad } from './biquad.ts';
import type { BeatDetector, FoundBeats } from './kernel.ts';

const FEATURE_RATE = 125; // Hz; the detection signal is made at the rate nearest to this that divides fs
const HIGH_PASS_HZ = 6;
const LOW_PASS_HZ = 15;
const WINDOW_SEC = 0.14; // of the moving sum
const DROP = 0.7; // a peak is over when the feature falls below this share of it
const HOLD_SEC = 0.15; // or after this time
const REFRACTORY_SEC = 0.25;
const NOISE_WEIGHT = 1.2;
const SIGNAL_WEIGHT = 0.42;
const RAISE = 1.5; // threshold x (1 + RAISE) just after a beat, falling to x 1 ...
const RAISE_UNTIL = 0.5; // ... at this share of the mean RR
const T_WAVE_SEC = 0.3;
const T_WAVE_SLOPE = 0.7;
const SEARCH_BACK_RR = 1.4;
const SEARCH_BACK_SHARE = 0.6;
const CAP = 2; // one beat raises the signal level by at most this factor of it
const LEVELS = 6;
const RR_COUNT = 8;
const LEARN_SEC = 2;
const SHORT_GAP_SEC = 0.05; // held over
const FORGET_GAP_SEC = 10; // levels are learned anew after a longer gap
const LATENCY_SEC = 2;
const MAGNITUDE_MAX = 1e30; // beyond this a sample counts as missing
const CANDIDATES = 32;
const BLOCK = 64; // feature samples per inner pass

/** Finds R peaks in one ECG lead, or in several leads of one rate fused into one feature.
 *  Pure function of the samples since reset, however they were cut. */
export class RPeakDetector implements BeatDetector {
  readonly latencySec = LATENCY_SEC;
  readonly #fs: number;
  readonly #leadCount: number;
  readonly #decimation: number;
  readonly #fd: number;
  readonly #hp: Biquad;
  readonly #lp: Biquad;
  readonly #refractory: number;
  readonly #hold: number;
  readonly #learn: number;
  readonly #delay: number;
  readonly #shortGap: number;
  readonly #forgetGap: number;

  // per lead
  readonly #raw: Float32Array[] = [];
  readonly #rawMask: number;
  /** hz1, hz2, lz1, lz2, previous output, primed. */
  readonly #filter: Float64Array[] = [];
  readonly #slopes: Float64Array[] = [];
  /** Samples since reset. */
  #n = 0;
  #phase = 0;
  readonly #partial: Float64Array;

  // feature
  readonly #window: Float64Array;
  #windowAt = 0;
  #sum = 0;
  #k = 0;
  #gapRun = 0;
  #peak = 0;
  #peakAt = 0;
  #peakSlope = 0;
  #slope = 0;
  #falling = true;

  // decisions
  #learning = true;
  #learnFrom = 0;
  #pendingAt = -1;
  #pendingHeight = 0;
  #pendingSlope = 0;
  readonly #candAt = new Float64Array(CANDIDATES);
  readonly #candHeight = new Float64Array(CANDIDATES);
  readonly #candSlope = new Float64Array(CANDIDATES);
  #candCount = 0;
  readonly #signal = new Float64Array(LEVELS);
  readonly #noise = new Float64Array(LEVELS);
  readonly #rr = new Float64Array(RR_COUNT);
  #signalAt = 0;
  #noiseAt = 0;
  #rrAt = 0;
  #signalLevel = 0;
  #noiseLevel = 0;
  #rrMean = 0;
  #lastAt = Number.NEGATIVE_INFINITY;
  #lastSlope = 0;
  #lastPosition = Number.NEGATIVE_INFINITY;

  /** @param fs sampling rate in Hz, 100..1000 (need not be an integer)  @param leadCount leads that every push carries */
  constructor(fs: number, leadCount = 1) {
    if (!(fs >= 50 && fs <= 4000)) throw new RangeError(`fs ${fs} Hz`);
    if (!(leadCount >= 1)) throw new RangeError(`${leadCount} leads`);
    this.#fs = fs;
    this.#leadCount = leadCount;
    this.#decimation = Math.max(1, Math.round(fs / FEATURE_RATE));
    const fd = fs / this.#decimation;
    this.#fd = fd;
    this.#hp = highPass(HIGH_PASS_HZ, fd);
    this.#lp = lowPass(LOW_PASS_HZ, fd);
    this.#refractory = Math.round(REFRACTORY_SEC * fd);
    this.#hold = Math.round(HOLD_SEC * fd);
    this.#learn = Math.round(LEARN_SEC * fd) - Math.round(0.2 * fd);
    this.#delay = (WINDOW_SEC / 2 + 0.03) * fd;
    this.#shortGap = Math.round(SHORT_GAP_SEC * fd);
    this.#forgetGap = Math.round(FORGET_GAP_SEC * fd);
    const rawLength = 2 ** Math.ceil(Math.log2((LATENCY_SEC + 0.5) * fs + BLOCK * this.#decimation));
    this.#rawMask = rawLength - 1;
    for (let lead = 0; lead < leadCount; lead++) {
      this.#raw.push(new Float32Array(rawLength));
      this.#filter.push(new Float64Array(6));
      this.#slopes.push(new Float64Array(BLOCK));
    }
    this.#partial = new Float64Array(leadCount);
    this.#window = new Float64Array(Math.round(WINDOW_SEC * fd));
    this.reset();
  }

  reset(): void {
    for (const raw of this.#raw) raw.fill(0);
    for (const filter of this.#filter) filter.fill(0);
    this.#n = 0;
    this.#phase = 0;
    this.#partial.fill(0);
    this.#window.fill(0);
    this.#windowAt = 0;
    this.#sum = 0;
    this.#k = 0;
    this.#gapRun = 0;
    this.#peak = 0;
    this.#peakAt = 0;
    this.#peakSlope = 0;
    this.#slope = 0;
    this.#falling = true;
    this.#lastPosition = Number.NEGATIVE_INFINITY;
    this.#forget(0);
  }

  push(leads: readonly Float64Array[], from: number, to: number, out: FoundBeats): void {
    const decimation = this.#decimation;
    let at = from;
    while (at < to) {
      const end = Math.min(to, at + (BLOCK - 1) * decimation);
      let count = 0;
      for (let lead = 0; lead < this.#leadCount; lead++) count = this.#pushLead(lead, leads[lead]!, at, end);
      this.#n += end - at;
      this.#phase = (this.#phase + end - at) % decimation;
      this.#detect(count, out);
      at = end;
    }
  }

  flush(out: FoundBeats): void {
    if (this.#learning) this.#startFromLearned(out);
    this.#settle(out);
  }

  /** Raw ring, decimation, band-pass and |slope| of one lead into #slopes; returns how many feature samples that made. */
  #pushLead(lead: number, x: Float64Array, from: number, to: number): number {
    const raw = this.#raw[lead]!;
    const mask = this.#rawMask;
    const slopes = this.#slopes[lead]!;
    const state = this.#filter[lead]!;
    const decimation = this.#decimation;
    const { b0: h0, b1: h1, b2: h2, a1: g1, a2: g2 } = this.#hp;
    const { b0: l0, b1: l1, b2: l2, a1: m1, a2: m2 } = this.#lp;
    let hz1 = state[0]!;
    let hz2 = state[1]!;
    let lz1 = state[2]!;
    let lz2 = state[3]!;
    let previous = state[4]!;
    let primed = state[5]! === 1;
    let n = this.#n;
    let phase = this.#phase;
    let partial = this.#partial[lead]!;
    let count = 0;
    for (let i = from; i < to; i++) {
      const v = x[i]!;
      raw[n & mask] = v;
      n++;
      partial += v;
      if (++phase < decimation) continue;
      phase = 0;
      const input = partial;
      partial = 0;
      if (!(input < MAGNITUDE_MAX && input > -MAGNITUDE_MAX)) {
        slopes[count++] = Number.NaN;
        continue;
      }
      if (!primed) {
        // The steady state of the high-pass for this input: no step, whatever the offset.
        primed = true;
        hz1 = -h0 * input;
        hz2 = h2 * input;
        lz1 = 0;
        lz2 = 0;
        previous = 0;
      }
      const u = h0 * input + hz1;
      hz1 = h1 * input - g1 * u + hz2;
      hz2 = h2 * input - g2 * u;
      const y = l0 * u + lz1;
      lz1 = l1 * u - m1 * y + lz2;
      lz2 = l2 * u - m2 * y;
      const d = y - previous;
      previous = y;
      slopes[count++] = d < 0 ? -d : d;
    }
    state[0] = hz1;
    state[1] = hz2;
    state[2] = lz1;
    state[3] = lz2;
    state[4] = previous;
    state[5] = primed ? 1 : 0;
    this.#partial[lead] = partial;
    return count;
  }

  #detect(count: number, out: FoundBeats): void {
    const slopes = this.#slopes[0]!;
    for (let lead = 1; lead < this.#leadCount; lead++) {
      const other = this.#slopes[lead]!;
      for (let i = 0; i < count; i++) slopes[i] = slopes[i]! + other[i]!;
    }
    const window = this.#window;
    const width = window.length;
    for (let i = 0; i < count; i++) {
      const d = slopes[i]!;
      const k = this.#k++;
      if (d !== d) {
        this.#missing(out);
        continue;
      }
      this.#gapRun = 0;
      this.#sum += d - window[this.#windowAt]!;
      window[this.#windowAt] = d;
      if (++this.#windowAt === width) this.#windowAt = 0;
      const sum = this.#sum;
      if (d > this.#slope) this.#slope = d;
      if (sum > this.#peak) {
        this.#peak = sum;
        this.#peakAt = k;
        this.#peakSlope = this.#slope;
        this.#falling = false;
      } else if (sum < DROP * this.#peak || k - this.#peakAt > this.#hold) {
        if (!this.#falling) {
          this.#candidate(this.#peakAt, this.#peak, this.#peakSlope, out);
          this.#slope = 0;
        }
        this.#falling = true;
        this.#peak = sum;
        this.#peakAt = k;
      }
      if (this.#learning) {
        if (k - this.#learnFrom >= this.#learn) this.#startFromLearned(out);
      } else if (this.#pendingAt >= 0) {
        if (k - this.#pendingAt >= this.#refractory + this.#hold) {
          const at = this.#pendingAt;
          this.#pendingAt = -1;
          this.#decide(at, this.#pendingHeight, this.#pendingSlope, out);
        }
      } else if (this.#candCount > 0 && k - this.#lastAt > SEARCH_BACK_RR * this.#rrMean) this.#searchBack(out);
    }
  }

  /** One feature sample without data: short gaps are held over, long ones end the run of beats. */
  #missing(out: FoundBeats): void {
    this.#gapRun++;
    if (this.#gapRun === this.#shortGap + 1) {
      if (this.#learning) this.#startFromLearned(out);
      this.#settle(out);
      for (const filter of this.#filter) filter[5] = 0;
      this.#window.fill(0);
      this.#sum = 0;
      this.#peak = 0;
      this.#slope = 0;
      this.#falling = true;
      this.#candCount = 0;
      this.#lastAt = Number.NEGATIVE_INFINITY;
      if (this.#signalLevel === 0) this.#forget(this.#k);
    }
    if (this.#gapRun === this.#forgetGap) this.#forget(this.#k);
    if (this.#learning) this.#learnFrom = this.#k;
  }

  #forget(k: number): void {
    this.#learning = true;
    this.#learnFrom = k;
    this.#pendingAt = -1;
    this.#candCount = 0;
    this.#signalLevel = 0;
    this.#noiseLevel = 0;
    this.#rr.fill(0.8 * this.#fd);
    this.#rrMean = 0.8 * this.#fd;
    this.#lastAt = Number.NEGATIVE_INFINITY;
    this.#lastSlope = 0;
  }

  #settle(out: FoundBeats): void {
    if (this.#pendingAt < 0) return;
    const at = this.#pendingAt;
    this.#pendingAt = -1;
    this.#decide(at, this.#pendingHeight, this.#pendingSlope, out);
  }

  #keep(at: number, height: number, slope: number): void {
    if (this.#candCount === CANDIDATES) {
      this.#candAt.copyWithin(0, 1);
      this.#candHeight.copyWithin(0, 1);
      this.#candSlope.copyWithin(0, 1);
      this.#candCount--;
    }
    this.#candAt[this.#candCount] = at;
    this.#candHeight[this.#candCount] = height;
    this.#candSlope[this.#candCount] = slope;
    this.#candCount++;
  }

  /** Levels from the first two seconds, then the candidates held back meanwhile. */
  #startFromLearned(out: FoundBeats): void {
    const n = this.#candCount;
    let first = 0;
    let second = 0;
    for (let i = 0; i < n; i++) {
      const height = this.#candHeight[i]!;
      if (height > first) {
        second = first;
        first = height;
      } else if (height > second) second = height;
    }
    const level = n > 2 ? second : first;
    this.#learnFrom = this.#k;
    if (level === 0) return;
    this.#learning = false;
    this.#signal.fill(level);
    this.#signalLevel = level;
    this.#noise.fill(0.1 * level);
    this.#noiseLevel = 0.1 * level;
    const at = this.#candAt.slice(0, n);
    const height = this.#candHeight.slice(0, n);
    const slope = this.#candSlope.slice(0, n);
    this.#candCount = 0;
    for (let i = 0; i < n; i++) this.#candidate(at[i]!, height[i]!, slope[i]!, out);
  }

  #candidate(at: number, height: number, slope: number, out: FoundBeats): void {
    if (this.#learning) {
      this.#keep(at, height, slope);
      return;
    }
    if (this.#pendingAt >= 0 && at - this.#pendingAt < this.#refractory) {
      if (height <= this.#pendingHeight) return;
    } else this.#settle(out);
    this.#pendingAt = at;
    this.#pendingHeight = height;
    this.#pendingSlope = slope;
  }

  #threshold(): number {
    const floor = NOISE_WEIGHT * this.#noiseLevel;
    return floor + SIGNAL_WEIGHT * (this.#signalLevel - floor);
  }

  #decide(at: number, height: number, slope: number, out: FoundBeats): void {
    const since = at - this.#lastAt;
    const share = since / (RAISE_UNTIL * this.#rrMean);
    const threshold = this.#threshold() * (share < 1 ? 1 + RAISE * (1 - share) : 1);
    const tWave = since < T_WAVE_SEC * this.#fd && slope < T_WAVE_SLOPE * this.#lastSlope;
    if (height > threshold && !tWave) {
      this.#accept(at, height, slope, out);
      return;
    }
    this.#noise[this.#noiseAt++ % LEVELS] = height;
    this.#noiseLevel = mean(this.#noise);
    this.#keep(at, height, slope);
  }

  #searchBack(out: FoundBeats): void {
    let best = -1;
    for (let i = 0; i < this.#candCount; i++) {
      if (this.#candAt[i]! - this.#lastAt <= 0.36 * this.#fd) continue;
      if (this.#k - this.#candAt[i]! > (LATENCY_SEC - 0.2) * this.#fd) continue; // too old to be told
      if (best < 0 || this.#candHeight[i]! > this.#candHeight[best]!) best = i;
    }
    if (best < 0 || this.#candHeight[best]! <= SEARCH_BACK_SHARE * this.#threshold()) return;
    const at = this.#candAt[best]!;
    const height = this.#candHeight[best]!;
    const slope = this.#candSlope[best]!;
    const rest = this.#candCount - best - 1;
    this.#candAt.copyWithin(0, best + 1, this.#candCount);
    this.#candHeight.copyWithin(0, best + 1, this.#candCount);
    this.#candSlope.copyWithin(0, best + 1, this.#candCount);
    this.#accept(at, height, slope, out);
    this.#candCount = rest;
  }

  #accept(at: number, height: number, slope: number, out: FoundBeats): void {
    const rr = at - this.#lastAt;
    if (rr > 0.2 * this.#fd && rr < 3 * this.#fd) {
      this.#rr[this.#rrAt++ % RR_COUNT] = rr;
      this.#rrMean = mean(this.#rr);
    }
    const confidence = Math.min(1, Math.max(0, (height - this.#noiseLevel) / (this.#signalLevel + this.#noiseLevel)));
    this.#signal[this.#signalAt++ % LEVELS] = Math.min(height, CAP * this.#signalLevel);
    this.#signalLevel = mean(this.#signal);
    this.#lastAt = at;
    this.#lastSlope = slope;
    this.#candCount = 0;
    const position = this.#refine(at);
    if (position <= this.#lastPosition) return;
    this.#lastPosition = position;
    append(out, position, confidence);
  }

  /** Position of the R wave: the sample farthest from its surroundings near the feature's peak, and a parabola through it. */
  #refine(at: number): number {
    const raw = this.#raw[0]!;
    const mask = this.#rawMask;
    const centre = Math.round((at + 1 - this.#delay) * this.#decimation);
    const half = Math.round(0.08 * this.#fs);
    const from = Math.max(0, centre - half, this.#n - mask + 1);
    const to = Math.min(this.#n - 1, centre + half);
    let base = 0;
    let count = 0;
    for (let i = from; i <= to; i++) {
      const v = raw[i & mask]!;
      if (v === v) {
        base += v;
        count++;
      }
    }
    base /= count;
    let best = centre;
    let far = -1;
    for (let i = from; i <= to; i++) {
      const away = Math.abs(raw[i & mask]! - base);
      if (away > far) {
        far = away;
        best = i;
      }
    }
    const left = raw[(best - 1) & mask]!;
    const mid = raw[best & mask]!;
    const right = raw[(best + 1) & mask]!;
    const curve = left - 2 * mid + right;
    const shift = best > from && best < to && curve !== 0 ? (left - right) / (2 * curve) : 0;
    return Math.max(0, best + (shift > -1 && shift < 1 ? shift : 0));
  }
}

function mean(values: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / values.length;
}

/** Appends one beat, growing the columns by half when they are full. */
function append(out: FoundBeats, position: number, confidence: number): void {
  if (out.count === out.position.length) {
    const size = Math.max(16, out.count + (out.count >> 1));
    out.position = grown(out.position, size);
    out.confidence = grown(out.confidence, size);
  }
  out.position[out.count] = position;
  out.confidence[out.count] = confidence;
  out.count++;
}

function grown(column: Float64Array, size: number): Float64Array {
  const next = new Float64Array(size);
  next.set(column);
  return next;
}
