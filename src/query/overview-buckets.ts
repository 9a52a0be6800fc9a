/** Buckets of an overview: their steps, and extremes and counts of one channel by bucket. Bucket i holds the samples from i steps after the
 *  zero of the stream up to the next bucket, so that a bucket has the same samples whatever range is asked for. */
import { gridCeil } from '../signal.ts';
import type { BlockRun } from '../storage/block-codec.ts';

export type OverviewStep = Readonly<{ name: string; stepMs: number }>;

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** Ascending. Those of 1 to 32 s are powers of two, as the lengths of rows are: whole rows lie in a bucket. */
export const overviewSteps: readonly OverviewStep[] = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((ms) => ({ name: `${ms}ms`, stepMs: ms })),
  ...[1, 2, 4, 8, 16, 32].map((s) => ({ name: `${s}s`, stepMs: s * SECOND })),
  ...[1, 2, 5, 10, 15, 30].map((m) => ({ name: `${m}m`, stepMs: m * MINUTE })),
  { name: '1h', stepMs: 60 * MINUTE },
];

/** Buckets [first, end) that a range of the device clock touches, none before its zero. */
export function bucketsOf(fromNs: bigint, toNs: bigint, stepMs: number): Readonly<{ first: number; end: number }> {
  const stepNs = BigInt(stepMs) * 1_000_000n;
  const first = fromNs <= 0n ? 0 : Number(fromNs / stepNs);
  const end = toNs <= 0n ? 0 : Number((toNs + stepNs - 1n) / stepNs);
  return { first, end: Math.max(first, end) };
}

/** Extremes and counts of one channel by bucket; index 0 is bucket `first`. */
export class OverviewBuckets {
  readonly first: number;
  readonly stepMs: number;
  /** Digital units; Infinity and -Infinity: no sample that is not bad. */
  readonly min: Float64Array;
  readonly max: Float64Array;
  /** Samples, and those flagged 1 and 2. */
  readonly n: Uint32Array;
  readonly suspectN: Uint32Array;
  readonly badN: Uint32Array;

  constructor(first: number, end: number, stepMs: number) {
    const length = end - first;
    this.first = first;
    this.stepMs = stepMs;
    this.min = new Float64Array(length).fill(Infinity);
    this.max = new Float64Array(length).fill(-Infinity);
    this.n = new Uint32Array(length);
    this.suspectN = new Uint32Array(length);
    this.badN = new Uint32Array(length);
  }

  /** Adds samples by their statistics. Extremes that are no number, or infinite, do not count. */
  addStatistics(bucket: number, min: number | null, max: number | null, n: number, suspectN: number, badN: number): void {
    const i = bucket - this.first;
    if (min !== null && min > -Infinity && min < this.min[i]!) this.min[i] = min;
    if (max !== null && max < Infinity && max > this.max[i]!) this.max[i] = max;
    this.n[i]! += n;
    this.suspectN[i]! += suspectN;
    this.badN[i]! += badN;
  }

  /** Adds the samples of a run that lie in these buckets. */
  addRun(run: BlockRun, rateNanoHz: number): void {
    const stepNs = BigInt(this.stepMs) * 1_000_000n;
    const startOf = (bucket: number): number => gridCeil(BigInt(bucket) * stepNs, rateNanoHz);
    let bucket = Math.floor((run.k0 * 1e12) / rateNanoHz / this.stepMs); // to a rounding error
    while (startOf(bucket) > run.k0) bucket--;
    while (startOf(bucket + 1) <= run.k0) bucket++;
    for (let at = 0; at < run.samples.length; bucket++) {
      const to = Math.min(run.samples.length, startOf(bucket + 1) - run.k0);
      if (bucket >= this.first && bucket < this.first + this.n.length) this.#addSamples(bucket - this.first, run, at, to);
      at = to;
    }
  }

  #addSamples(i: number, { samples, qmask }: BlockRun, from: number, to: number): void {
    let min = this.min[i]!;
    let max = this.max[i]!;
    for (let at = from; at < to; at++) {
      const flag = qmask === null ? 0 : qmask[at]!;
      if (flag === 1) this.suspectN[i]!++;
      if (flag === 2) {
        this.badN[i]!++;
        continue;
      }
      const value = samples[at]!;
      if (value < min && value > -Infinity) min = value; // NaN is neither
      if (value > max && value < Infinity) max = value;
    }
    this.min[i] = min;
    this.max[i] = max;
    this.n[i]! += to - from;
  }
}
