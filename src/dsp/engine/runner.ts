/** Runs a kernel segment by segment, so that its results are a pure function of a bounded stretch of samples. */
import { gridCeil } from '../../signal.ts';
import type { Items, SegmentKernel } from './kernel.ts';
import { itemKind, itemWidth, newItems } from './kernel.ts';
import type { Segment } from '../kernels/segment-grid.ts';
import { contextSec, positionUs, segmentAt, segmentIndexAt, segmentSec } from '../kernels/segment-grid.ts';

/** Of so many kinds kernels are kept, those used last: a device may send any rate, and each one is a kind. */
export const KEPT_KINDS = 64;
/** Kernels kept of one kind. */
const KEPT_OF_KIND = 64;

type Kept = { readonly latencySec: number; readonly free: SegmentKernel[] };

/** Kernels that no segment uses now, by what they were built for. One per worker: a stream needs 1.3 on average, not 2. */
export class KernelStock {
  readonly #kinds = new Map<string, Kept>();

  /** Latency of a kind of kernel, s. */
  latencySec({ key, build }: KernelKind): number {
    if (!this.#kinds.has(key)) this.give(key, build());
    return this.#kinds.get(key)!.latencySec;
  }

  take(key: string, build: () => SegmentKernel): SegmentKernel {
    return this.#kinds.get(key)?.free.pop() ?? build();
  }

  give(key: string, kernel: SegmentKernel): void {
    const kept = this.#kinds.get(key) ?? { latencySec: kernel.latencySec, free: [] };
    if (kept.free.length < KEPT_OF_KIND) kept.free.push(kernel);
    // the one used last comes last
    this.#kinds.delete(key);
    this.#kinds.set(key, kept);
    if (this.#kinds.size > KEPT_KINDS) this.#kinds.delete(this.#kinds.keys().next().value!);
  }
}

/** Takes what was found; items of one kind ascend in time. */
/** a to g: see the kernels (kernel.ts). */
export type ItemSink = (tUs: number, a: number, b: number, kind: number, c: number, d: number, e: number, f: number, g: number) => void;

export type KernelKind = Readonly<{
  /** Names the build in the stock; same key, same constructor arguments. */
  key: string;
  build: () => SegmentKernel;
  rateNanoHz: number;
  leadCount: number;
  /** At the seam between two segments one event may be seen at slightly different places by the two kernels: the older one's count, the
   *  younger one's from seamUs before the seam on, unless one of the older lies closer than apartUs. Both 0 where there are no events. */
  seamUs: number;
  apartUs: number;
  /** May two events of one kernel lie closer than apartUs? Beats may; of breaths and responses the first one counts. */
  mayBeClose: boolean;
}>;

/** `kernel` is null while waiting; `items` outlives it. */
type Run = { kernel: SegmentKernel | null; readonly segment: Segment; readonly items: Items };

const openRun = (segment: Segment): Run => ({ kernel: null, segment, items: newItems() });

/** Modes of a run (one kernel on one segment): waiting (no sample yet: missing ones are not fed), running, and waiting again after a gap
 *  longer than the context, at which it was flushed and given back. `current` covers the segment of the seam behind `k`; `next` is started
 *  contextSec before the seam and becomes current once `current` has seen its lookahead. */
export class SegmentRunner {
  readonly #kind: KernelKind;
  readonly #stock: KernelStock;
  readonly #sink: ItemSink;
  /** Missing samples after which everything undecided has come out. */
  readonly contextCount: number;
  /** So many samples after a time are needed before everything up to it has been given to the sink. */
  readonly lookahead: number;
  readonly #empty: Float64Array[];
  #current: Run | null = null;
  #next: Run | null = null;
  #k = -1;
  /** Sample index at which #turn is due. */
  #border = 0;
  #missing = 0;
  #finalUs = 0;
  #lastUs = Number.NEGATIVE_INFINITY;
  /** The last event of the runs before the current one. */
  #beforeUs = Number.NEGATIVE_INFINITY;

  constructor(kind: KernelKind, stock: KernelStock, sink: ItemSink) {
    this.#kind = kind;
    this.#stock = stock;
    this.#sink = sink;
    const fs = kind.rateNanoHz / 1e9;
    this.lookahead = Math.ceil(stock.latencySec(kind) * fs) + 1;
    this.contextCount = Math.ceil(contextSec * fs);
    this.#empty = Array.from({ length: kind.leadCount }, () => missingRows);
  }

  /** Next sample index; -1 before the first sample. */
  get k(): number {
    return this.#k;
  }

  /** Everything before this time has been given to the sink, µs. */
  get finalUs(): number {
    return this.#finalUs;
  }

  /** Rows [from, to) of the leads are the samples from index k on; k must not lie before this.k. */
  push(leads: readonly Float64Array[], from: number, to: number, k: number): void {
    if (to <= from) return;
    if (this.#k < 0) this.#start(k);
    else if (k > this.#k) this.skipTo(k);
    this.#missing = 0;
    this.#feed(leads, from, to, true);
  }

  /** No row at all before index k. Up to contextSec of it is fed as missing samples, so that what is undecided comes out; at more the
   *  kernels are flushed and start anew with the next sample. */
  skipTo(k: number): void {
    if (this.#k < 0) return;
    while (this.#k < k && this.#missing < this.contextCount) {
      const n = Math.min(k - this.#k, this.contextCount - this.#missing, missingRows.length);
      this.#missing += n;
      this.#feed(this.#empty, 0, n, false);
      if (this.#missing === this.contextCount) this.#endRuns();
    }
    if (this.#k < k) this.#jump(k);
  }

  /** Gives the kernels back. */
  close(): void {
    for (const run of [this.#current, this.#next]) if (run !== null) this.#release(run);
    this.#current = this.#next = null;
  }

  #start(k: number): void {
    const rate = this.#kind.rateNanoHz;
    let segment = segmentAt(segmentIndexAt(positionUs(k, rate)), rate);
    if (k >= segment.endK) segment = segmentAt(segment.index + 1, rate);
    else if (k < segment.startK) segment = segmentAt(segment.index - 1, rate);
    this.#k = k;
    this.#finalUs = Math.max(this.#finalUs, Math.floor(positionUs(k, rate) / 1e6) * 1e6);
    this.#become(openRun(segment));
  }

  /** The run of the segment from here on; the one after it opens when its context starts. */
  #become(current: Run): void {
    this.#current = current;
    this.#beforeUs = this.#lastUs;
    this.#next = null;
    this.#border = segmentAt(current.segment.index + 1, this.#kind.rateNanoHz).contextK;
    if (this.#k >= this.#border) this.#openNext(current);
  }

  #openNext(current: Run): void {
    this.#next = openRun(segmentAt(current.segment.index + 1, this.#kind.rateNanoHz));
    this.#border = current.segment.endK + this.lookahead;
  }

  /** Feeds rows, cut where a segment's context starts and where the segment before it is done. */
  #feed(leads: readonly Float64Array[], from: number, to: number, present: boolean): void {
    let row = from;
    while (row < to) {
      const current = this.#current!;
      const n = Math.min(to - row, this.#border - this.#k);
      this.#feedRun(current, leads, row, row + n, present);
      if (this.#next !== null) this.#feedRun(this.#next, leads, row, row + n, present);
      this.#k += n;
      row += n;
      if (current.items.count > 0) this.#collect(current);
      if (this.#k >= this.#border) this.#turn(current);
    }
    this.#settle(this.#k - this.lookahead);
  }

  #feedRun(run: Run, leads: readonly Float64Array[], from: number, to: number, present: boolean): void {
    if (run.kernel === null) {
      if (!present) return;
      run.kernel = this.#stock.take(this.#kind.key, this.#kind.build);
      this.#startKernel(run.kernel, run.segment, run.items);
    }
    run.kernel.push(leads, from, to, run.items);
  }

  /** A kernel that counts whole seconds from its reset starts at one: what is missing of it is fed. */
  #startKernel(kernel: SegmentKernel, segment: Segment, out: Items): void {
    const { alignSec } = kernel;
    let k = this.#k;
    if (alignSec > 0) {
      const sec = Math.floor(positionUs(k, this.#kind.rateNanoHz) / (alignSec * 1e6)) * alignSec;
      k = gridCeil(BigInt(sec) * 1_000_000_000n, this.#kind.rateNanoHz);
    }
    kernel.reset(k, segment.index * segmentSec * 1e6);
    for (let left = this.#k - k; left > 0; left -= missingRows.length) kernel.push(this.#empty, 0, Math.min(left, missingRows.length), out);
  }

  /** At the border: opens the next segment's run, or retires the current one. */
  #turn(current: Run): void {
    const next = this.#next;
    if (next === null) {
      this.#openNext(current);
      return;
    }
    this.#release(current);
    this.#become(next);
    this.#collect(next);
  }

  /** Passes on what a run found in its segment (from the seam on). */
  #collect(run: Run): void {
    const { items, segment } = run;
    const startUs = segment.index * segmentSec * 1e6;
    const endUs = (segment.index + 1) * segmentSec * 1e6;
    const { values } = items;
    const end = items.count * itemWidth;
    for (let at = 0; at < end; at += itemWidth) {
      const kind = values[at]!;
      const tUs = values[at + 1]!;
      if (tUs >= endUs) continue;
      if (kind !== itemKind.event) {
        if (tUs < startUs) continue;
      } else {
        const last = this.#kind.mayBeClose ? this.#beforeUs : this.#lastUs;
        if (tUs < startUs - this.#kind.seamUs || tUs - last < this.#kind.apartUs) continue;
        this.#lastUs = tUs;
      }
      const [a, b, c, d] = [values[at + 2]!, values[at + 3]!, values[at + 4]!, values[at + 5]!];
      this.#sink(tUs, a, b, kind, c, d, values[at + 6]!, values[at + 7]!, values[at + 8]!);
    }
    items.count = 0;
    // keep room for the items of one packet; drop those of a context
    if (values.length > keptItems * itemWidth) values.length = 0;
  }

  /** After contextSec without a row: everything undecided comes out. */
  #endRuns(): void {
    for (const run of [this.#current, this.#next]) {
      if (run === null || run.kernel === null) continue;
      run.kernel.flush(run.items);
      this.#release(run);
    }
    this.#collect(this.#current!);
    this.#settle(this.#k);
  }

  /** The rest of a gap longer than the context: no kernel runs, only the grid moves. */
  #jump(k: number): void {
    if (this.#next !== null && k < this.#border) {
      this.#k = k;
    } else {
      if (this.#next !== null) this.#collect(this.#next);
      this.#start(k);
    }
    this.#settle(this.#k);
  }

  #release(run: Run): void {
    if (run.kernel !== null) this.#stock.give(this.#kind.key, run.kernel);
    run.kernel = null;
  }

  #settle(k: number): void {
    const seamUs = (this.#current!.segment.index + 1) * segmentSec * 1e6 - this.#kind.seamUs;
    this.#finalUs = Math.max(this.#finalUs, Math.min(positionUs(k, this.#kind.rateNanoHz), seamUs));
  }
}

/** Items for which a run keeps room. */
const keptItems = 8;
const missingRows = new Float64Array(256).fill(Number.NaN);
