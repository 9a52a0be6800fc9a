/** Computes values per block from the leads of a slow channel group (skin conductance, temperature, acceleration, red and infrared PPG). */
import type { QualityFlag } from '../../signal.ts';
import { BAD, GOOD, SUSPECT } from '../../signal.ts';
import { Gaps } from '../hrv/beats.ts';
import type { ValueSink } from '../hrv/values.ts';
import { featureMethods } from '../rows/methods.ts';
import { noteMissing } from './beat-chain.ts';
import type { Chain } from './beat-chain.ts';
import { LeadFeed } from './leads.ts';
import type { RowTaker } from './leads.ts';
import { respiratoryRate } from '../slow/respiration.ts';
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

const secondUs = 1_000_000;

type Part = { feature: ValueFeature; runner: SegmentRunner; events: number[]; nextSec: number };

export class ValueChain implements Chain, RowTaker {
  readonly feed: LeadFeed;
  readonly #rateNanoHz: number;
  readonly #leadCount: number;
  readonly #channelNo: number;
  readonly #sink: ValueSink;
  readonly #gaps = new Gaps();
  readonly #parts: readonly Part[];

  constructor(
    channelNo: number,
    rateNanoHz: number,
    leadCount: number,
    features: readonly ValueFeature[],
    stock: KernelStock,
    sink: ValueSink,
  ) {
    this.#rateNanoHz = rateNanoHz;
    this.#leadCount = leadCount;
    this.#channelNo = channelNo;
    this.#sink = sink;
    this.feed = new LeadFeed(leadCount, this);
    this.#parts = features.map((feature) => {
      const events: number[] = [];
      const give =
        feature.make !== 'values'
          ? (tUs: number) => void events.push(tUs)
          : (tUs: number, value: number, flag: number) => this.#give(feature.method, tUs + 1, value, flag as QualityFlag);
      return { feature, runner: new SegmentRunner(feature.kind, stock, give), events, nextSec: -1 };
    });
  }

  get finalUs(): number {
    if (this.feed.k < 0) return Number.POSITIVE_INFINITY;
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
    if (mayMiss) noteMissing(this.#gaps, leads, this.#leadCount, n, k, this.#rateNanoHz);
    for (const part of this.#parts) part.runner.push(leads, 0, n, k);
  }

  gap(fromK: number, toK: number): void {
    this.#gaps.add(positionUs(fromK, this.#rateNanoHz), positionUs(toK, this.#rateNanoHz));
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
    for (; part.nextSec * secondUs < finalUs; part.nextSec = this.#gaps.nextDue(part.nextSec, cadenceSec, finalUs)) {
      const tUs = part.nextSec * secondUs;
      const fromUs = tUs - windowSec * secondUs;
      while (part.events.length > 0 && part.events[0]! <= fromUs) part.events.shift();
      if (this.#gaps.missingUs(tUs - secondUs, tUs) >= secondUs) continue;
      const covered = 1 - this.#gaps.missingUs(fromUs, tUs) / (windowSec * secondUs);
      if (covered < coverageMin) continue;
      const rate =
        part.feature.make === 'count' ? countRate(part.events, tUs, windowSec * covered) : spacingRate(part.events, tUs, windowSec);
      this.#give(part.feature.method, tUs, rate, covered < 0.6 ? BAD : covered < 0.9 ? SUSPECT : GOOD);
    }
  }
}

/** Events up to t per minute. */
function countRate(events: readonly number[], tUs: number, seconds: number): number {
  let count = 0;
  for (const event of events) if (event <= tUs) count++;
  return (60 * count) / seconds;
}

const breaths = new Float64Array(256);

function spacingRate(events: readonly number[], tUs: number, windowSec: number): number {
  let count = 0;
  for (const event of events) if (event <= tUs && count < breaths.length) breaths[count++] = event / secondUs;
  return respiratoryRate(breaths, count, windowSec);
}
