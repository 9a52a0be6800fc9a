/** The period of a pulse over the last seconds. */

/** A shorter period is preferred when its autocorrelation reaches this share of the best. */
const SHORTER_SHARE = 0.75;
const PERIOD_MIN_SEC = 0.28;
const PERIOD_MAX_SEC = 1.6;
const PERIOD_WINDOW_SEC = 6;
/** Rate at which the period is looked for. */
const PERIOD_FS = 25;

// shared by every instance of the thread: nothing of them outlives a call
let windowed = new Float64Array(256);
let correlation = new Float64Array(64);
let squares = new Float64Array(256);
let heads = new Float64Array(257);

/** Period of the slope sum by autocorrelation over the last 6 s, at most twice a second. */
export class PeriodTracker {
  periodSec = 0.8;
  /** Normalised autocorrelation at the period, 0 … 1; 0 while there are less than 3 s. */
  periodicity = 0;
  readonly #decimation: number;
  readonly #rate: number;
  readonly #ring: Float64Array;
  readonly #lagMin: number;
  readonly #lagMax: number;
  #sum = 0;
  #phase = 0;
  #count = 0;
  #updated = 0;

  constructor(fs: number) {
    this.#decimation = Math.max(1, Math.round(fs / PERIOD_FS));
    this.#rate = fs / this.#decimation;
    const size = Math.round(PERIOD_WINDOW_SEC * this.#rate);
    this.#ring = new Float64Array(size);
    this.#lagMin = Math.floor(PERIOD_MIN_SEC * this.#rate);
    this.#lagMax = Math.ceil(PERIOD_MAX_SEC * this.#rate);
    if (correlation.length < this.#lagMax + 2) correlation = new Float64Array(this.#lagMax + 2);
    if (windowed.length < size) {
      windowed = new Float64Array(size);
      squares = new Float64Array(size);
      heads = new Float64Array(size + 1);
    }
  }

  reset(): void {
    this.#sum = this.#phase = this.#count = this.#updated = 0;
    this.periodSec = 0.8;
    this.periodicity = 0;
  }

  push(values: Float64Array, count: number): void {
    let sum = this.#sum;
    let phase = this.#phase;
    for (let i = 0; i < count; i++) {
      sum += values[i]!;
      if (++phase < this.#decimation) continue;
      this.#ring[this.#count++ % this.#ring.length] = sum / this.#decimation;
      sum = phase = 0;
    }
    this.#sum = sum;
    this.#phase = phase;
  }

  update(): void {
    if (this.#count < 3 * this.#rate || this.#count - this.#updated < 0.5 * this.#rate) return;
    this.#updated = this.#count;
    const n = Math.min(this.#count, this.#ring.length);
    const x = windowed;
    const ring = this.#ring;
    let slot = (this.#count - n) % ring.length;
    for (let i = 0; i < n; i++) {
      x[i] = ring[slot]!;
      if (++slot === ring.length) slot = 0;
    }
    clipAndCentre(x, n);
    const r = correlation;
    const first = this.#lagMin - 1;
    const last = Math.min(this.#lagMax + 1, n >> 1);
    correlate(x, n, first, last, r);
    let best = -1;
    for (let lag = first + 1; lag < last; lag++) if (isPeak(r, lag) && r[lag]! > (best < 0 ? 0 : r[best]!)) best = lag;
    if (best < 0) {
      this.periodicity = 0;
      return;
    }
    for (let lag = first + 1; lag < best; lag++) {
      if (!isPeak(r, lag) || r[lag]! < SHORTER_SHARE * r[best]!) continue;
      best = lag;
      break;
    }
    this.periodSec = best / this.#rate;
    this.periodicity = r[best]!;
  }
}

/** Normalised autocorrelation at lags [first, last], into r. The energy of the earlier part is a running sum; products and the
 *  energy of the later part are summed for four lags at once: each sum waits for its last addition, sums of other lags do not. */
function correlate(x: Float64Array, n: number, first: number, last: number, r: Float64Array): void {
  heads[0] = 0;
  for (let i = 0; i < n; i++) heads[i + 1] = heads[i]! + (squares[i] = x[i]! * x[i]!);
  let lag = first;
  for (; lag + 3 <= last; lag += 4) correlateFour(x, n, lag, r);
  for (; lag <= last; lag++) {
    let product = 0;
    let tail = 0;
    for (let i = 0; i + lag < n; i++) {
      product += x[i]! * x[i + lag]!;
      tail += squares[i + lag]!;
    }
    r[lag] = product / Math.sqrt(heads[n - lag]! * tail + 1e-30);
  }
}

/** Likewise at `lag` and the three after it. */
function correlateFour(x: Float64Array, n: number, lag: number, r: Float64Array): void {
  const end = n - lag - 3;
  let p0 = 0;
  let p1 = 0;
  let p2 = 0;
  let p3 = 0;
  let t0 = 0;
  let t1 = 0;
  let t2 = 0;
  let t3 = 0;
  let b0 = x[lag]!;
  let b1 = x[lag + 1]!;
  let b2 = x[lag + 2]!;
  let s0 = squares[lag]!;
  let s1 = squares[lag + 1]!;
  let s2 = squares[lag + 2]!;
  for (let i = 0; i < end; i++) {
    const a = x[i]!;
    const b3 = x[i + lag + 3]!;
    const s3 = squares[i + lag + 3]!;
    p0 += a * b0;
    p1 += a * b1;
    p2 += a * b2;
    p3 += a * b3;
    t0 += s0;
    t1 += s1;
    t2 += s2;
    t3 += s3;
    b0 = b1;
    b1 = b2;
    b2 = b3;
    s0 = s1;
    s1 = s2;
    s2 = s3;
  }
  // the last pairs of the three shorter lags
  const u = x[end]!;
  const v = x[end + 1]!;
  const w = x[end + 2]!;
  p0 = p0 + u * b0 + v * b1 + w * b2;
  p1 = p1 + u * b1 + v * b2;
  p2 += u * b2;
  t0 = t0 + s0 + s1 + s2;
  t1 = t1 + s1 + s2;
  t2 += s2;
  r[lag] = p0 / Math.sqrt(heads[n - lag]! * t0 + 1e-30);
  r[lag + 1] = p1 / Math.sqrt(heads[n - lag - 1]! * t1 + 1e-30);
  r[lag + 2] = p2 / Math.sqrt(heads[n - lag - 2]! * t2 + 1e-30);
  r[lag + 3] = p3 / Math.sqrt(heads[n - lag - 3]! * t3 + 1e-30);
}

function isPeak(r: Float64Array, i: number): boolean {
  return r[i]! >= r[i - 1]! && r[i]! >= r[i + 1]!;
}

/** Limits spikes to twice the root mean square, then takes the mean off. */
function clipAndCentre(x: Float64Array, n: number): void {
  let power = 0;
  for (let i = 0; i < n; i++) power += x[i]! * x[i]!;
  const limit = 2 * Math.sqrt(power / n);
  let mean = 0;
  for (let i = 0; i < n; i++) {
    if (x[i]! > limit) x[i] = limit;
    mean += x[i]!;
  }
  mean /= n;
  for (let i = 0; i < n; i++) x[i] = x[i]! - mean;
}
