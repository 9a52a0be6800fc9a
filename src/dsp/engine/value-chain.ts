/** Computes values per block from the leads of a slow channel group (skin conductance, temperature, acceleration, red and infrared PPG). */
import type { QualityFlag } from '../../signal.ts';
import { BAD, GOOD, SUSPECT } from '../../signal.ts';
import { Gaps } from '../hrv/beats.ts';
import type { ValueSink } from '../hrv/values.ts';
import { featureMethods } from '../rows/methods.ts';
import { notBegunUs, noteMissing } from './beat-chain.ts';
import type { Chain } from './beat-chain.ts';
import { LeadFeed } from './leads.ts';
import type { RowTaker } from './leads.ts';
import { COARSE_US, NOISY_SHARE } from '../slow/eda.ts';
import { RISE_BACK_SEC, isSureOfBreaths, respiratoryRate } from '../slow/respiration.ts';
import { positionUs } from '../kernels/segment-grid.ts';
import type { KernelKind, KernelStock } from './runner.ts';
import { SegmentRunner } from './runner.ts';

/** One feature of the group: `values` as the kernel gives them per block; `count`: events per minute in the method's window;
 *  `spacing`: per minute, from the spacing of the events in the window. */
export type ValueFeature = Readonly<{
  /** Position in `featureMethods`. */
  method: number;
  kind: KernelKind;
  make: 'values' | 'count' | 'spacing';
}>;

/** `perSec`: the fastest change. */
type Plausible = Readonly<{ min: number; max: number; perSec: number }>;

const secondUs = 1_000_000;

/** `rise`, `isHurried`: of breaths, see breathKernel; of responses, their height and whether they may be noise. */
type Part = { feature: ValueFeature; runner: SegmentRunner; events: number[]; rise: number[]; isHurried: number[]; nextSec: number };

export class ValueChain implements Chain, RowTaker {
  readonly feed: LeadFeed;
  readonly #plausible: Plausible | null;
  /** The last sample of the first lead, where it is plausible. */
  #previous = Number.NaN;
  readonly #rateNanoHz: number;
  readonly #leadCount: number;
  readonly #channelNo: number;
  readonly #sink: ValueSink;
  readonly #gaps = new Gaps();
  readonly #parts: readonly Part[];
  /** Seconds with a change finer than COARSE_US, of a channel with `plausible`: ascending, one time of each. */
  readonly #fineUs: number[] = [];

  /** @param plausible values of the first lead beyond it are missing: a sensor that is off counts no events */
  constructor(
    channelNo: number,
    rateNanoHz: number,
    leadCount: number,
    features: readonly ValueFeature[],
    stock: KernelStock,
    sink: ValueSink,
    plausible: Plausible | null = null,
  ) {
    this.#plausible = plausible;
    this.#rateNanoHz = rateNanoHz;
    this.#leadCount = leadCount;
    this.#channelNo = channelNo;
    this.#sink = sink;
    this.feed = new LeadFeed(leadCount, rateNanoHz, this);
    this.#parts = features.map((feature) => {
      const events: number[] = [];
      const rise: number[] = [];
      const isHurried: number[] = [];
      const give =
        feature.make !== 'values'
          ? (tUs: number, a: number, b: number): void => {
              events.push(tUs);
              rise.push(a);
              isHurried.push(b);
            }
          : (tUs: number, value: number, flag: number) => this.#give(feature.method, tUs + 1, value, flag as QualityFlag);
      return { feature, runner: new SegmentRunner(feature.kind, stock, give), events, rise, isHurried, nextSec: -1 };
    });
  }

  get finalUs(): number {
    if (this.feed.k < 0) return notBegunUs(this.feed, this.#rateNanoHz);
    let us = Number.POSITIVE_INFINITY;
    for (const part of this.#parts) us = Math.min(us, part.feature.make !== 'values' ? part.nextSec * secondUs : part.runner.finalUs);
    return us;
  }

  advance(): void {
    if (this.feed.advance()) this.#settle();
  }

  flush(): void {
    if (this.feed.flush(this.#parts[0]!.runner.contextCount + 1)) this.#settle();
  }

  close(): void {
    for (const part of this.#parts) part.runner.close();
  }

  begin(k: number): void {
    const tUs = positionUs(k, this.#rateNanoHz);
    this.#gaps.add(Number.NEGATIVE_INFINITY, tUs);
    for (const part of this.#parts) {
      const { cadenceSec } = featureMethods[part.feature.method]!;
      part.nextSec = Math.ceil(tUs / (cadenceSec * secondUs)) * cadenceSec;
    }
  }

  rows(leads: readonly Float64Array[], n: number, k: number, mayMiss: boolean): void {
    if (this.#plausible !== null) this.#noteImplausible(leads[0]!, n, k, this.#plausible);
    else if (mayMiss) noteMissing(this.#gaps, leads, this.#leadCount, n, k, this.#rateNanoHz);
    for (const part of this.#parts) part.runner.push(leads, 0, n, k);
  }

  #noteImplausible(x: Float64Array, n: number, k: number, { min, max, perSec }: Plausible): void {
    const steepest = (perSec * 1e9) / this.#rateNanoHz;
    let previous = this.#previous;
    for (let i = 0; i < n; i++) {
      const isPlausible = x[i]! >= min && x[i]! <= max;
      if (!isPlausible) this.#gaps.add(positionUs(k + i, this.#rateNanoHz), positionUs(k + i + 1, this.#rateNanoHz));
      // an event that is under way is lost
      else if (Math.abs(x[i]! - previous) > steepest) this.#noteJump(positionUs(k + i, this.#rateNanoHz));
      else if (x[i]! !== previous && Math.abs(x[i]! - previous) < COARSE_US) this.#noteFine(positionUs(k + i, this.#rateNanoHz));
      previous = isPlausible ? x[i]! : Number.NaN;
    }
    this.#previous = previous;
  }

  #noteFine(tUs: number): void {
    const second = Math.floor(tUs / secondUs);
    const last = this.#fineUs.at(-1);
    if (last === undefined || Math.floor(last / secondUs) < second) this.#fineUs.push(tUs);
  }

  #noteJump(tUs: number): void {
    this.#gaps.add(tUs, tUs + secondUs);
  }

  gap(fromK: number, toK: number): void {
    this.#gaps.add(positionUs(fromK, this.#rateNanoHz), positionUs(toK, this.#rateNanoHz));
    this.#previous = Number.NaN;
    for (const part of this.#parts) part.runner.skipTo(toK);
  }

  #give(method: number, tUs: number, value: number, flag: QualityFlag): void {
    if (!Number.isNaN(value)) this.#sink.value(method, this.#channelNo, tUs, value, flag);
  }

  #settle(): void {
    let oldestUs = Number.POSITIVE_INFINITY;
    for (const part of this.#parts) {
      if (part.feature.make === 'values') continue;
      this.#rates(part);
      oldestUs = Math.min(oldestUs, part.nextSec * secondUs);
    }
    this.#gaps.forgetBefore(Math.min(oldestUs, this.finalUs) - 302 * secondUs);
  }

  /** Events per minute of the covered part of the window; a value exists where its last second has samples. */
  #rates(part: Part): void {
    const { windowSec, cadenceSec, coverageMin } = featureMethods[part.feature.method]!;
    const { finalUs } = part.runner;
    const { events } = part;
    const isSpacing = part.feature.make === 'spacing';
    const keptSec = isSpacing ? RISE_BACK_SEC : windowSec;
    for (; part.nextSec * secondUs < finalUs; part.nextSec = this.#gaps.nextDue(part.nextSec, cadenceSec, finalUs)) {
      const tUs = part.nextSec * secondUs;
      const fromUs = tUs - windowSec * secondUs;
      const old = firstAfter(events, tUs - keptSec * secondUs);
      this.#fineUs.splice(0, firstAfter(this.#fineUs, fromUs));
      for (const column of [events, part.rise, part.isHurried]) column.splice(0, old);
      if (this.#gaps.missingUs(tUs - secondUs, tUs) >= secondUs) continue;
      const covered = 1 - this.#gaps.missingUs(fromUs, tUs) / (windowSec * secondUs);
      if (covered < coverageMin) continue;
      const [from, to] = [firstAfter(events, fromUs), firstAfter(events, tUs)];
      const rate = isSpacing
        ? spacingRate(events, from, to, windowSec)
        : (60 * countOf(part.isHurried, from, to, (flag) => flag < 2)) / (windowSec * covered);
      const isSure = isSpacing
        ? !(rate > 0) || isSureOfBreaths({ tUs: events, ...part }, from, to)
        : !isNoisy(part.isHurried, from, to) && firstAfter(this.#fineUs, fromUs) < firstAfter(this.#fineUs, tUs);
      this.#give(part.feature.method, tUs, rate, covered < 0.6 ? BAD : covered < 0.9 || !isSure ? SUSPECT : GOOD);
    }
  }
}

/** Place of the first event after a time. */
function firstAfter(events: readonly number[], tUs: number): number {
  let i = 0;
  while (i < events.length && events[i]! <= tUs) i++;
  return i;
}

function countOf(flags: readonly number[], from: number, to: number, is: (flag: number) => boolean): number {
  let count = 0;
  for (let i = from; i < to; i++) if (is(flags[i]!)) count++;
  return count;
}

/** May too many of the responses [from, to) be noise, or movements? */
function isNoisy(flags: readonly number[], from: number, to: number): boolean {
  return countOf(flags, from, to, (flag) => flag > 0) > NOISY_SHARE * (to - from);
}

const breaths = new Float64Array(256);

function spacingRate(events: readonly number[], from: number, to: number, windowSec: number): number {
  const count = Math.min(to - from, breaths.length);
  for (let i = 0; i < count; i++) breaths[i] = events[from + i]! / secondUs;
  return respiratoryRate(breaths, count, windowSec);
}
