/** The last seconds of one live channel on its sample grid. What never arrived, and what is bad, is NaN: it is drawn as a gap. */

const SNAP_SAMPLES = 2;

export class TraceRing {
  readonly rateHz: number;
  readonly #values: Float32Array;
  readonly #flags: Uint8Array;
  #originNs: bigint | null = null;
  #end = 0;

  /** @param seconds how much is kept; memory is 5 bytes a sample, taken once */
  constructor(rateHz: number, seconds: number) {
    this.rateHz = rateHz;
    const size = Math.max(16, Math.ceil(rateHz * seconds));
    this.#values = new Float32Array(size).fill(Number.NaN);
    this.#flags = new Uint8Array(size);
  }

  /** Index after the newest sample; indices keep growing and are taken modulo the size. */
  get end(): number {
    return this.#end;
  }

  get start(): number {
    return Math.max(0, this.#end - this.#values.length);
  }

  /** Unix time of sample i in milliseconds; NaN before the first sample. */
  timeMs(i: number): number {
    return this.#originNs === null ? Number.NaN : Number(this.#originNs) / 1e6 + (i / this.rateHz) * 1000;
  }

  /** Index of the first sample at or after a unix time in ms. */
  indexAt(timeMs: number): number {
    if (this.#originNs === null) return 0;
    return Math.ceil(((timeMs - Number(this.#originNs) / 1e6) * this.rateHz) / 1000 - 1e-6);
  }

  /** Physical value of sample i, NaN where there is none. */
  value(i: number): number {
    return i < this.start || i >= this.#end ? Number.NaN : this.#values[i % this.#values.length]!;
  }

  /** Quality of sample i; 2 where there is none. */
  flag(i: number): number {
    return i < this.start || i >= this.#end ? 2 : this.#flags[i % this.#flags.length]!;
  }

  /** Takes one frame's samples. A jump of up to two samples is rounding of the 100 ms windows (130.1 Hz gives 13 or 14) and is closed;
   *  a longer one is a gap. Samples that go back in time (a replay that overlaps) overwrite.
   *  @param qmask one flag per sample, or null when all are good; flag 2 is stored as NaN */
  put(t0Ns: bigint, samples: ArrayLike<number>, qmask: ArrayLike<number> | null): void {
    const n = samples.length;
    if (n === 0) return;
    this.#originNs ??= t0Ns;
    const size = this.#values.length;
    let at = Math.round((Number(t0Ns - this.#originNs) / 1e9) * this.rateHz);
    if (Math.abs(at - this.#end) <= SNAP_SAMPLES) at = this.#end;
    if (at < 0) {
      this.#originNs = t0Ns;
      this.#end = 0;
      this.#values.fill(Number.NaN);
      at = 0;
    }
    for (let i = Math.max(this.#end, at - size); i < at; i++) {
      this.#values[i % size] = Number.NaN;
      this.#flags[i % size] = 2;
    }
    // what is older than the ring lies where newer samples are
    for (let i = Math.max(0, this.#end - size - at); i < n; i++) {
      const flag = qmask === null ? 0 : (qmask[i] ?? 0);
      const slot = (at + i) % size;
      this.#values[slot] = flag >= 2 ? Number.NaN : samples[i]!;
      this.#flags[slot] = flag;
    }
    this.#end = Math.max(this.#end, at + n);
  }
}
