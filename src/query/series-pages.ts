/** A page of values or of beats, filled from packed minutes until it is full. */
import type { Buffer } from 'node:buffer';
import { beatMinutes, featureMinutes } from './packed-minutes.ts';
import { timestampAt } from './time-bounds.ts';

const MINUTE_US = 60_000_000;
const NS_PER_MINUTE = 60_000_000_000n;

/** [fromUs, toUs), Unix us; null: unbounded. */
export type Range = Readonly<{ from_us: number | null; to_us: number | null }>;

/** Which values of a minute are in the range: their indices. */
function* within(minute: number, ns: readonly number[], { from_us: from, to_us: to }: Range): Generator<number> {
  const startUs = minute * MINUTE_US;
  for (let i = 0; i < ns.length; i++) {
    const us = startUs + Math.floor(ns[i]! / 1000);
    if ((from === null || us >= from) && (to === null || us < to)) yield i;
  }
}

/** Start of the next page, when this one is full: a microsecond after its last value. */
const nextOf = (lastNs: bigint): string => timestampAt(lastNs + 1000n);

export type FeatureColumns = Readonly<{
  /** Unix ns, ascending; values and flags are parallel. */
  tsNs: BigInt64Array;
  values: Float64Array;
  qmask: Uint8Array;
  /** Start of the next page when there may be more: a microsecond after the last value. */
  next: string | null;
}>;

export class FeaturePage {
  readonly #qualityMax: number;
  readonly #cadenceHz: number | null;
  readonly #limit: number;
  readonly #perUnit: number;
  readonly #range: Range;
  readonly #tsNs: bigint[] = [];
  readonly #values: number[] = [];
  readonly #qmask: number[] = [];
  /** The interval of 1/cadence that the last value is of. */
  #interval = NaN;
  #nextMinute = 0;

  constructor(filter: Readonly<{ qualityMax: number; cadenceHz: number | null; limit: number }>, perUnit: number, range: Range) {
    this.#qualityMax = filter.qualityMax;
    this.#cadenceHz = filter.cadenceHz;
    this.#limit = filter.limit;
    this.#perUnit = perUnit;
    this.#range = range;
  }

  /** The minute after the last one that was added, from 1970. */
  get nextMinute(): number {
    return this.#nextMinute;
  }

  /** @returns is the page full? Then the rest is left out */
  add(minutes: Buffer): boolean {
    for (const { minute, points } of featureMinutes(minutes)) {
      const startNs = BigInt(minute) * NS_PER_MINUTE;
      for (const i of within(minute, points.ns, this.#range)) {
        const steps = points.steps[i]!;
        const flag = points.flags[i]!;
        if (flag > this.#qualityMax || Number.isNaN(steps)) continue;
        if (this.#isReplaced(minute * MINUTE_US + Math.floor(points.ns[i]! / 1000), flag)) this.#drop();
        else if (this.#skips) continue;
        else if (this.#values.length >= this.#limit) return true;
        this.#tsNs.push(startNs + BigInt(points.ns[i]!));
        this.#values.push(steps / this.#perUnit);
        this.#qmask.push(flag);
      }
      this.#nextMinute = minute + 1;
    }
    return this.#cadenceHz === null && this.#values.length >= this.#limit;
  }

  #skips = false;

  /** With a cadence: is it of the same interval as the last value? The best flagged, then the latest, is the one that stays. */
  #isReplaced(us: number, flag: number): boolean {
    this.#skips = false;
    if (this.#cadenceHz === null) return false;
    const interval = Math.floor((us / 1e6) * this.#cadenceHz);
    if (interval !== this.#interval) {
      this.#interval = interval;
      return false;
    }
    this.#skips = flag > this.#qmask.at(-1)!;
    return !this.#skips;
  }

  #drop(): void {
    this.#tsNs.pop();
    this.#values.pop();
    this.#qmask.pop();
  }

  columns(): FeatureColumns {
    return {
      tsNs: BigInt64Array.from(this.#tsNs),
      values: Float64Array.from(this.#values),
      qmask: Uint8Array.from(this.#qmask),
      next: this.#values.length >= this.#limit ? nextOf(this.#tsNs.at(-1)!) : null,
    };
  }
}

export const beatKinds = ['normal', 'ectopic', 'artefact', 'interpolated'] as const;
const writtenKinds = beatKinds.map((kind) => `"${kind}"`);

/** Columns as JSON, without brackets. */
export type BeatColumns = Readonly<{
  tsNs: string;
  intervalMs: string;
  kinds: string;
  /** May the interval to the previous beat be used, as variability uses it? */
  accepted: string;
  qmask: string;
  next: string | null;
}>;

export class BeatPage {
  readonly #limit: number;
  readonly #range: Range;
  readonly #tsNs: bigint[] = [];
  readonly #intervalMs: (number | null)[] = [];
  readonly #kinds: string[] = [];
  readonly #accepted: boolean[] = [];
  readonly #qmask: number[] = [];
  #nextMinute = 0;

  constructor(limit: number, range: Range) {
    this.#limit = limit;
    this.#range = range;
  }

  get nextMinute(): number {
    return this.#nextMinute;
  }

  get isEmpty(): boolean {
    return this.#tsNs.length === 0;
  }

  add(minutes: Buffer): boolean {
    for (const { minute, points } of beatMinutes(minutes)) {
      const startNs = BigInt(minute) * NS_PER_MINUTE;
      for (const i of within(minute, points.ns, this.#range)) {
        if (this.#tsNs.length >= this.#limit) return true;
        const us = points.intervalUs[i]!;
        this.#tsNs.push(startNs + BigInt(points.ns[i]!));
        this.#intervalMs.push(Number.isNaN(us) ? null : us / 1000);
        this.#kinds.push(writtenKinds[points.kinds[i]!]!);
        this.#accepted.push(!Number.isNaN(us) && points.reasons[i] === '');
        this.#qmask.push(points.flags[i]!);
      }
      this.#nextMinute = minute + 1;
    }
    return this.#tsNs.length >= this.#limit;
  }

  columns(): BeatColumns {
    return {
      tsNs: this.#tsNs.join(),
      intervalMs: this.#intervalMs.map((ms) => ms ?? 'null').join(),
      kinds: this.#kinds.join(),
      accepted: this.#accepted.join(),
      qmask: this.#qmask.join(),
      next: this.#tsNs.length >= this.#limit ? nextOf(this.#tsNs.at(-1)!) : null,
    };
  }
}
