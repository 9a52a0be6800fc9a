/** Runs a beat detector segment by segment, so that what it finds is a pure function of a bounded stretch of samples. */
import type { BeatDetector, FoundBeats } from './kernel.ts';
import type { Segment } from './segment-grid.ts';
import { contextSec, positionUs, segmentAt, segmentIndexAt } from './segment-grid.ts';

/** Detectors that no segment uses now, by what they were built for. One per worker: a stream needs 1.3 on average, not 2. */
export class DetectorStock {
  readonly #free = new Map<string, BeatDetector[]>();

  take(key: string, build: () => BeatDetector): BeatDetector {
    const detector = this.#free.get(key)?.pop() ?? build();
    detector.reset();
    return detector;
  }

  give(key: string, detector: BeatDetector): void {
    const list = this.#free.get(key);
    if (list === undefined) this.#free.set(key, [detector]);
    else if (list.length < 64) list.push(detector);
  }
}

/** Beats of one channel group, ascending, absolute sample positions. Drained by the caller (count = 0). */
export type BeatSink = { push(position: number, confidence: number): void };

export type DetectorKind = Readonly<{
  /** Names the build in the stock; same key, same constructor arguments. */
  key: string;
  build: () => BeatDetector;
  rateNanoHz: number;
  leadCount: number;
}>;

/** At the seam between two segments one beat may be seen at slightly different places by the two detectors: the older one's beats count,
 *  the younger one's from this much before the seam on, unless one of the older lies closer than the refractory time. */
const seamSec = 0.1;
const refractorySec = 0.2;

/** `found` holds absolute sample positions; the rest of the columns' life is the detector's. */
type Run = { detector: BeatDetector | null; readonly segment: Segment; originK: number; readonly found: FoundBeats };

const openRun = (segment: Segment): Run => ({
  detector: null,
  segment,
  originK: 0,
  found: { count: 0, position: new Float64Array(8), confidence: new Float64Array(8) },
});

/** Modes of a run (one detector on one segment): waiting (no sample yet: missing ones are not fed), running, and waiting again after a gap
 *  longer than the context, at which it was flushed and given back. `current` covers the segment of the seam behind `k`; `next` is started
 *  contextSec before the seam and becomes current once `current` has seen its lookahead. */
export class SegmentDetector {
  readonly #kind: DetectorKind;
  readonly #stock: DetectorStock;
  /** Missing samples after which everything undecided has come out. */
  readonly contextCount: number;
  readonly #lookahead: number;
  readonly #seam: number;
  readonly #refractory: number;
  readonly #empty: Float64Array[];
  #current: Run | null = null;
  #next: Run | null = null;
  #k = -1;
  /** Sample index at which #turn is due. */
  #border = 0;
  #missing = 0;
  #finalK = 0;
  #lastBeat = Number.NEGATIVE_INFINITY;

  constructor(kind: DetectorKind, stock: DetectorStock) {
    this.#kind = kind;
    this.#stock = stock;
    const fs = kind.rateNanoHz / 1e9;
    const probe = stock.take(kind.key, kind.build);
    this.#lookahead = Math.ceil(probe.latencySec * fs) + 1;
    stock.give(kind.key, probe);
    this.contextCount = Math.ceil(contextSec * fs);
    this.#seam = seamSec * fs;
    this.#refractory = refractorySec * fs;
    this.#empty = Array.from({ length: kind.leadCount }, () => missingRows);
  }

  /** Next sample index; -1 before the first sample. */
  get k(): number {
    return this.#k;
  }

  /** Every beat before this sample index has been given to the sink. */
  get finalK(): number {
    return this.#finalK;
  }

  /** Rows [from, to) of the leads are the samples from index k on; k must not lie before this.k. */
  push(leads: readonly Float64Array[], from: number, to: number, k: number, sink: BeatSink): void {
    if (to <= from) return;
    if (this.#k < 0) this.#start(k);
    else if (k > this.#k) this.skipTo(k, sink);
    this.#missing = 0;
    this.#feed(leads, from, to, true, sink);
  }

  /** No row at all before index k. Up to contextSec of it is fed as missing samples, so that undecided beats come out; at more the
   *  detectors are flushed and start anew with the next sample. */
  skipTo(k: number, sink: BeatSink): void {
    if (this.#k < 0) return;
    while (this.#k < k && this.#missing < this.contextCount) {
      const n = Math.min(k - this.#k, this.contextCount - this.#missing, missingRows.length);
      this.#missing += n;
      this.#feed(this.#empty, 0, n, false, sink);
      if (this.#missing === this.contextCount) this.#endRuns(sink);
    }
    if (this.#k < k) this.#jump(k, sink);
  }

  /** Gives the detectors back. */
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
    this.#finalK = Math.max(this.#finalK, k);
    this.#become(openRun(segment));
  }

  /** The run of the segment from here on; the one after it opens when its context starts. */
  #become(current: Run): void {
    this.#current = current;
    this.#next = null;
    this.#border = segmentAt(current.segment.index + 1, this.#kind.rateNanoHz).contextK;
    if (this.#k >= this.#border) this.#openNext(current);
  }

  #openNext(current: Run): void {
    this.#next = openRun(segmentAt(current.segment.index + 1, this.#kind.rateNanoHz));
    this.#border = current.segment.endK + this.#lookahead;
  }

  /** Feeds rows, cut where a segment's context starts and where the segment before it is done. */
  #feed(leads: readonly Float64Array[], from: number, to: number, present: boolean, sink: BeatSink): void {
    let row = from;
    while (row < to) {
      const current = this.#current!;
      const n = Math.min(to - row, this.#border - this.#k);
      this.#feedRun(current, leads, row, row + n, present);
      if (this.#next !== null) this.#feedRun(this.#next, leads, row, row + n, present);
      this.#k += n;
      row += n;
      if (current.found.count > 0) this.#collect(current, sink);
      if (this.#k >= this.#border) this.#turn(current, sink);
    }
    this.#settle(this.#k - this.#lookahead);
  }

  #feedRun(run: Run, leads: readonly Float64Array[], from: number, to: number, present: boolean): void {
    if (run.detector === null) {
      if (!present) return;
      run.detector = this.#stock.take(this.#kind.key, this.#kind.build);
      run.originK = this.#k;
    }
    const before = run.found.count;
    run.detector.push(leads, from, to, run.found);
    if (run.found.count > before) anchor(run, before);
  }

  /** At the border: opens the next segment's run, or retires the current one. */
  #turn(current: Run, sink: BeatSink): void {
    const next = this.#next;
    if (next === null) {
      this.#openNext(current);
      return;
    }
    this.#release(current);
    this.#become(next);
    this.#collect(next, sink);
  }

  /** Passes on the beats of a run that lie in its segment (from the seam on). */
  #collect(run: Run, sink: BeatSink): void {
    const { found, segment } = run;
    const fromK = segment.startK - this.#seam;
    for (let i = 0; i < found.count; i++) {
      const p = found.position[i]!;
      if (p < fromK || p >= segment.endK || p - this.#lastBeat < this.#refractory) continue;
      this.#lastBeat = p;
      sink.push(p, found.confidence[i]!);
    }
    found.count = 0;
  }

  /** After contextSec without a row: everything undecided comes out. */
  #endRuns(sink: BeatSink): void {
    for (const run of [this.#current, this.#next]) {
      if (run === null || run.detector === null) continue;
      const before = run.found.count;
      run.detector.flush(run.found);
      anchor(run, before);
      this.#release(run);
    }
    this.#collect(this.#current!, sink);
    this.#settle(this.#k);
  }

  /** The rest of a gap longer than the context: no detector runs, only the grid moves. */
  #jump(k: number, sink: BeatSink): void {
    if (this.#next !== null && k < this.#border) {
      this.#k = k;
    } else {
      if (this.#next !== null) this.#collect(this.#next, sink);
      this.#start(k);
    }
    this.#settle(this.#k);
  }

  #release(run: Run): void {
    if (run.detector !== null) this.#stock.give(this.#kind.key, run.detector);
    run.detector = null;
  }

  #settle(k: number): void {
    this.#finalK = Math.max(this.#finalK, Math.min(k, Math.floor(this.#current!.segment.endK - this.#seam)));
  }
}

/** Beats found since `before` become absolute positions. */
function anchor(run: Run, before: number): void {
  const { position, count } = run.found;
  for (let i = before; i < count; i++) position[i] = position[i]! + run.originK;
}

const missingRows = new Float64Array(256).fill(Number.NaN);
