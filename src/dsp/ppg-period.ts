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
    if (windowed.length < size) windowed = new Float64Array(size);
  }

  reset(): void {
    this.#sum = this.#phase = this.#count = this.#updated = 0;
    this.periodSec = 0.8;
    this.periodicity = 0;
  }

  push(value: number): void {
    this.#sum += value;
    if (++this.#phase < this.#decimation) return;
    this.#ring[this.#count++ % this.#ring.length] = this.#sum / this.#decimation;
    this.#sum = 0;
    this.#phase = 0;
  }

  update(): void {
    if (this.#count < 3 * this.#rate || this.#count - this.#updated < 0.5 * this.#rate) return;
    this.#updated = this.#count;
    const n = Math.min(this.#count, this.#ring.length);
    const x = windowed;
    for (let i = 0; i < n; i++) x[i] = this.#ring[(this.#count - n + i) % this.#ring.length]!;
    clipAndCentre(x, n);
    const r = correlation;
    const first = this.#lagMin - 1;
    const last = Math.min(this.#lagMax + 1, n >> 1);
    for (let lag = first; lag <= last; lag++) {
      let product = 0;
      let head = 0;
      let tail = 0;
      for (let i = 0; i + lag < n; i++) {
        const a = x[i]!;
        const b = x[i + lag]!;
        product += a * b;
        head += a * a;
        tail += b * b;
      }
      r[lag] = product / Math.sqrt(head * tail + 1e-30);
    }
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
