/** A page of values or of beats, filled from packed minutes until it is full. */
import type { Buffer } from 'node:buffer';
import { beatClasses, beatClassOf, judgesKinds } from './beat-classes.ts';
import type { OnDamaged } from './damaged-minutes.ts';
import { setTime } from './json-columns.ts';
import { beatMinutes, featureMinutes } from './packed-minutes.ts';
import { timestampAt } from './time-bounds.ts';

const MINUTE_US = 60_000_000;

/** [fromUs, toUs), Unix us; null: unbounded. */
export type Range = Readonly<{ from_us: number | null; to_us: number | null }>;

/** Which values of a minute are in the range: from one index to before another. */
function within(minute: number, ns: readonly number[], { from_us: from, to_us: to }: Range): readonly [from: number, to: number] {
  const startUs = minute * MINUTE_US;
  const isBefore = (i: number, us: number): boolean => startUs + Math.floor(ns[i]! / 1000) < us;
  let first = 0;
  let end = ns.length;
  if (from !== null) while (first < end && isBefore(first, from)) first++;
  if (to !== null) while (end > first && !isBefore(end - 1, to)) end--;
  return [first, end];
}

/** Times of a page while it is filled, Unix ns. */
class Times {
  #column = new BigInt64Array(256);
  #words = new Int32Array(this.#column.buffer);
  length = 0;

  push(minute: number, ns: number): void {
    if (this.length === this.#column.length) {
      const longer = new BigInt64Array(4 * this.length);
      longer.set(this.#column);
      this.#column = longer;
      this.#words = new Int32Array(longer.buffer);
    }
    setTime(this.#words, this.length++, minute, ns);
  }

  pop(): void {
    this.length--;
  }

  column(): BigInt64Array {
    return this.#column.slice(0, this.length);
  }
}

/** Start of the next page, when this one is full: a microsecond after its last value. */
const nextOf = (lastNs: bigint): string => timestampAt(lastNs + 1000n);

export type FeatureColumns = Readonly<{
  /** Unix ns, ascending; values and flags are parallel. */
  tsNs: BigInt64Array;
  values: Float64Array;
  qmask: Uint8Array;
  /** Start of the next page when there may be more: a microsecond after the last value, with a cadence the interval after its own. */
  next: string | null;
}>;

/** Whose minutes they are, and who is told of damaged ones. */
export type Source = Readonly<{ streamId: number; onDamaged?: OnDamaged }>;

/** Ends all series of a page where the first of the full ones ends, so that the next page gives no value twice and leaves none out.
 *  @param shorten a series, to its first `count` values  @returns start of the next page; null: there is none */
export function cutTogether<Series extends Pick<FeatureColumns, 'tsNs' | 'next'>>(
  series: readonly Series[],
  shorten: (one: Series, count: number) => Series,
): Readonly<{ series: readonly Series[]; next: string | null }> {
  const next = series.reduce<string | null>(
    (first, one) => (one.next !== null && (first === null || one.next < first) ? one.next : first),
    null,
  );
  if (next === null) return { series, next };
  const cut = series.map((one) => shorten(one, countBefore(one.tsNs, next)));
  return { series: cut.filter(({ tsNs }) => tsNs.length > 0), next };
}

/** How many of ascending times lie before one of timestampAt. */
function countBefore(tsNs: BigInt64Array, time: string): number {
  let low = 0;
  let high = tsNs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (timestampAt(tsNs[middle]!) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class FeaturePage {
  readonly #source: Source;
  readonly #qualityMax: number;
  readonly #cadenceHz: number | null;
  readonly #limit: number;
  readonly #perUnit: number;
  readonly #range: Range;
  readonly #times = new Times();
  readonly #values: number[] = [];
  readonly #qmask: number[] = [];
  /** The interval of 1/cadence that the last value is of. */
  #interval = NaN;
  #nextMinute = 0;

  constructor(filter: Source & Readonly<{ qualityMax: number; cadenceHz: number | null; limit: number }>, perUnit: number, range: Range) {
    this.#source = filter;
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
    for (const { minute, points } of featureMinutes(minutes, this.#source.streamId, this.#source.onDamaged)) {
      const [first, end] = within(minute, points.ns, this.#range);
      for (let i = first; i < end; i++) {
        const steps = points.steps[i]!;
        const flag = points.flags[i]!;
        if (flag > this.#qualityMax || Number.isNaN(steps)) continue;
        if (this.#isReplaced(minute * MINUTE_US + Math.floor(points.ns[i]! / 1000), flag)) this.#drop();
        else if (this.#skips) continue;
        else if (this.#values.length >= this.#limit) return true;
        this.#times.push(minute, points.ns[i]!);
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
    const interval = intervalAt(us, this.#cadenceHz);
    if (interval !== this.#interval) {
      this.#interval = interval;
      return false;
    }
    this.#skips = flag > this.#qmask.at(-1)!;
    return !this.#skips;
  }

  #drop(): void {
    this.#times.pop();
    this.#values.pop();
    this.#qmask.pop();
  }

  columns(): FeatureColumns {
    const tsNs = this.#times.column();
    return {
      tsNs,
      values: new Float64Array(this.#values),
      qmask: new Uint8Array(this.#qmask),
      next: this.#values.length >= this.#limit ? this.#next(tsNs.at(-1)!) : null,
    };
  }

  /** The rest of the last value's interval was compared with it, and gives no other value. */
  #next(lastNs: bigint): string | null {
    if (this.#cadenceHz === null) return nextOf(lastNs);
    const interval = intervalAt(Number(lastNs / 1000n), this.#cadenceHz);
    let us = Math.floor(((interval + 1) / this.#cadenceHz) * 1e6) - 1; // its end, to a rounding error
    if (!Number.isSafeInteger(us)) return null; // later than 2255
    while (intervalAt(us, this.#cadenceHz) <= interval) us++;
    return timestampAt(BigInt(us) * 1000n);
  }
}

/** Number of the interval of 1/cadence, from 1970, that a time lies in. @param us Unix us */
const intervalAt = (us: number, cadenceHz: number): number => Math.floor((us / 1e6) * cadenceHz);

export const beatKinds = ['normal', 'ectopic', 'artefact', 'interpolated'] as const;

export type BeatColumns = Readonly<{
  /** Unix ns, ascending; the others are parallel. */
  tsNs: BigInt64Array;
  /** NaN after a gap. */
  intervalMs: Float64Array;
  /** Of beatKinds. */
  kinds: Uint8Array;
  /** 1: the interval to the previous beat may be used, as variability uses it. */
  accepted: Uint8Array;
  /** By AAMI EC57: 1 + position in `beatClasses`; 0: none. */
  classes: Uint8Array;
  /** Probability that its class is right, 0 to 1; NaN: unknown. */
  confidence: Float64Array;
  qmask: Uint8Array;
  next: string | null;
}>;

export class BeatPage {
  readonly #source: Source;
  readonly #limit: number;
  readonly #range: Range;
  readonly #times = new Times();
  readonly #intervalMs: number[] = [];
  readonly #kinds: number[] = [];
  readonly #accepted: number[] = [];
  readonly #classes: number[] = [];
  readonly #confidence: number[] = [];
  readonly #qmask: number[] = [];
  readonly #judged: boolean;
  #nextMinute = 0;

  constructor(filter: Source & Readonly<{ limit: number }>, methodCode: string, range: Range) {
    this.#judged = judgesKinds(methodCode);
    this.#source = filter;
    this.#limit = filter.limit;
    this.#range = range;
  }

  get nextMinute(): number {
    return this.#nextMinute;
  }

  get isEmpty(): boolean {
    return this.#times.length === 0;
  }

  add(minutes: Buffer): boolean {
    for (const { minute, points } of beatMinutes(minutes, this.#source.streamId, this.#source.onDamaged)) {
      const [first, end] = within(minute, points.ns, this.#range);
      for (let i = first; i < end; i++) {
        if (this.#times.length >= this.#limit) return true;
        const us = points.intervalUs[i]!;
        this.#times.push(minute, points.ns[i]!);
        this.#intervalMs.push(us / 1000);
        this.#kinds.push(points.kinds[i]!);
        this.#accepted.push(!Number.isNaN(us) && points.reasons[i] === '' ? 1 : 0);
        const confidence = points.confidences[i]! / 100;
        const ofBeat = beatClassOf(this.#judged, points.kinds[i]!, points.reasons[i]!, points.flags[i]!, confidence);
        this.#classes.push(ofBeat === null ? 0 : 1 + beatClasses.indexOf(ofBeat));
        this.#confidence.push(ofBeat === null || ofBeat === 'Q' ? NaN : confidence);
        this.#qmask.push(points.flags[i]!);
      }
      this.#nextMinute = minute + 1;
    }
    return this.#times.length >= this.#limit;
  }

  columns(): BeatColumns {
    const tsNs = this.#times.column();
    return {
      tsNs,
      intervalMs: new Float64Array(this.#intervalMs),
      kinds: new Uint8Array(this.#kinds),
      accepted: new Uint8Array(this.#accepted),
      classes: new Uint8Array(this.#classes),
      confidence: new Float64Array(this.#confidence),
      qmask: new Uint8Array(this.#qmask),
      next: tsNs.length >= this.#limit ? nextOf(tsNs.at(-1)!) : null,
    };
  }
}
