/** Resamples a channel to the grid of another, so that both can be rows of one group: sample by sample, however the runs were cut. */
import type { Lead } from './leads.ts';

/** To a faster grid the newest sample at or before a row is taken; to a slower one the mean of the samples from a row up to the next.
 *  Either way a row is a pure function of the samples near its time. Images and aliases of the first lie beyond what is computed from it
 *  (PpgMotionHeartRate looks at 0.4-8 Hz); the mean is a filter for the second.
 *  Call run with ascending k0, pass where nothing more comes before an index, flush at the end. */
export class GridBridge {
  readonly #lead: Lead;
  /** Source samples per row. */
  readonly #ratio: number;
  /** First source sample that has not been taken. */
  #next = 0;
  // the row that is being made on a slower grid
  #row = -1;
  #sum = 0;
  #count = 0;

  constructor(lead: Lead, fromRateNanoHz: number, toRateNanoHz: number) {
    this.#lead = lead;
    this.#ratio = fromRateNanoHz / toRateNanoHz;
  }

  /** First source sample that is still wanted. */
  get frontier(): number {
    return this.#next;
  }

  /** @param x physical values of source samples [k0, k0 + n), k0 >= frontier; NaN marks a missing one */
  run(k0: number, x: Float64Array, n: number): void {
    this.#next = k0 + n;
    if (this.#ratio > 1) this.#average(k0, x, n);
    else this.#repeat(k0, x, n);
  }

  pass(k: number): void {
    if (k <= this.#next) return;
    this.#next = k;
    if (this.#ratio > 1 && this.#row >= 0 && this.#rowOf(k) > this.#row) this.#give();
    this.#lead.pass(this.#ratio > 1 ? this.#rowOf(k) : this.#firstRow(k));
  }

  /** The data ends here. */
  flush(): void {
    if (this.#row >= 0) this.#give();
  }

  #repeat(k0: number, x: Float64Array, n: number): void {
    const first = this.#firstRow(k0);
    const count = this.#firstRow(k0 + n) - first;
    if (count <= 0) return;
    const at = this.#lead.room(first, count, true);
    const out = this.#lead.samples;
    for (let r = 0; r < count; r++) out[at + r] = x[Math.min(n - 1, Math.max(0, this.#sourceOf(first + r) - k0))]!;
  }

  #average(k0: number, x: Float64Array, n: number): void {
    for (let i = 0; i < n; i++) {
      const row = this.#rowOf(k0 + i);
      if (row !== this.#row) {
        if (this.#row >= 0) this.#give();
        this.#row = row;
      }
      const value = x[i]!;
      if (value - value !== 0) continue;
      this.#sum += value;
      this.#count++;
    }
    if (this.#rowOf(k0 + n) !== this.#row) this.#give();
  }

  #give(): void {
    const at = this.#lead.room(this.#row, 1, true);
    this.#lead.samples[at] = this.#count > 0 ? this.#sum / this.#count : Number.NaN;
    this.#row = -1;
    this.#sum = this.#count = 0;
  }

  /** Source sample at or before a row. */
  #sourceOf(row: number): number {
    return Math.floor(row * this.#ratio + 1e-6);
  }

  /** First row whose source sample is k or later. */
  #firstRow(k: number): number {
    let row = Math.max(0, Math.ceil(k / this.#ratio) - 1);
    while (this.#sourceOf(row) < k) row++;
    return row;
  }

  /** Row that a source sample is averaged into: the last one at or before it. */
  #rowOf(k: number): number {
    let row = Math.floor(k / this.#ratio) + 1;
    while (Math.ceil(row * this.#ratio - 1e-6) > k) row--;
    return row;
  }
}
