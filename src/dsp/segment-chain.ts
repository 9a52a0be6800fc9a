/** From the leads of one beat-bearing channel group (ECG, or PPG wavelengths) to beats and features, incrementally and segment by segment. */
import type { QualityFlag } from '../signal.ts';
import { GOOD } from '../signal.ts';
import { BeatTrack, Gaps, classifyBeat, intervalMaxUs } from './feature-beats.ts';
import type { ValueSink } from './feature-beat-values.ts';
import { BeatValues } from './feature-beat-values.ts';
import type { BeatSink, DetectorKind, DetectorStock } from './segment-detector.ts';
import { SegmentDetector } from './segment-detector.ts';
import { positionUs } from './segment-grid.ts';

export type RowSink = ValueSink & {
  /** kind, reason: positions in `beatKinds`, `beatReasons`. */
  beat(channelNo: number, tUs: number, ibiMs: number, kind: number, reason: number, flag: QualityFlag, source: 'ecg' | 'ppg'): void;
  quality(channelNo: number, tUs: number, sqi: number, flag: QualityFlag): void;
};

/** Channels of one kind and rate. A lead is a channel code: a channel that came back with another gain stays the same lead. */
export type BeatGroup = Readonly<{
  source: 'ecg' | 'ppg';
  rateNanoHz: number;
  /** Codes, in the order of the leads. */
  codes: readonly string[];
  /** channelNo that its beats are filed under. */
  channelNo: number;
  /** Does it give the stream's heart rate and variability? */
  primary: boolean;
}>;

/** Windows reach 300 s back from the next value; the rest is let go. */
const keptUs = 302_000_000;
const secondUs = 1_000_000;
const verdict = { kind: 0, reason: 0 };
const keptSamples = 2048;
const noSamples = new Float64Array(0);

/** Samples of one lead that wait for the other leads: runs of `samples`, back to back, run i from sample index k0[i] on. */
type Lead = { frontier: number; samples: Float64Array; used: number; k0: number[]; n: number[]; mayMiss: boolean };

/** One block of aligned rows, shared by all chains of the thread: nothing of it outlives a call. */
const blockRows = 512;
const block: Float64Array[] = [];
const blockOf = (leads: number): Float64Array[] => {
  while (block.length < leads) block.push(new Float64Array(blockRows));
  return block;
};

/** Feeds aligned leads to a SegmentDetector and turns its beats into rows. Rows of which a lead is missing hold NaN there; rows of which
 *  all are missing are skipped and remembered as gaps. */
export class BeatChain implements BeatSink {
  readonly group: BeatGroup;
  readonly #detector: SegmentDetector;
  readonly #track = new BeatTrack();
  readonly #gaps = new Gaps();
  readonly #values: BeatValues | null;
  readonly #sink: RowSink;
  readonly #leads: readonly Lead[];
  /** First sample index that is not processed; -1 before the first sample. */
  #k = -1;
  #finalUs = 0;

  constructor(group: BeatGroup, kind: DetectorKind, stock: DetectorStock, sink: RowSink) {
    this.group = group;
    this.#sink = sink;
    this.#detector = new SegmentDetector(kind, stock);
    this.#values = group.primary ? new BeatValues(group.source, this.#track, this.#gaps, sink) : null;
    this.#leads = group.codes.map(() => ({ frontier: -1, samples: new Float64Array(0), used: 0, k0: [], n: [], mayMiss: false }));
  }

  /** Time before which every row of the chain is out, µs; Infinity before the first sample. */
  get finalUs(): number {
    return this.#k < 0 ? Number.POSITIVE_INFINITY : Math.min(this.#finalUs, this.#values?.finalUs ?? Number.POSITIVE_INFINITY);
  }

  /** Room for a run of one lead, to be filled with physical values by the caller before advance().
   *  Runs of a lead come in order and do not overlap; what lies before its frontier is the caller's to cut off.
   *  @param mayMiss may it hold NaN? */
  room(lead: number, k0: number, n: number, mayMiss: boolean): { samples: Float64Array; at: number } {
    const l = this.#leads[lead]!;
    if (l.used + n > l.samples.length) {
      const grown = new Float64Array(Math.max(l.used + n, Math.min(2 * l.samples.length, l.used + n + 1024)));
      grown.set(l.samples.subarray(0, l.used));
      l.samples = grown;
    }
    const last = l.k0.length - 1;
    if (last >= 0 && l.k0[last]! + l.n[last]! === k0) l.n[last]! += n;
    else {
      l.k0.push(k0);
      l.n.push(n);
    }
    const at = l.used;
    l.used += n;
    l.frontier = k0 + n;
    l.mayMiss ||= mayMiss;
    return { samples: l.samples, at };
  }

  /** First sample index that a lead has not seen; -1 before its first. */
  frontier(lead: number): number {
    return this.#leads[lead]!.frontier;
  }

  /** Nothing more of a lead before index k. */
  pass(lead: number, k: number): void {
    const l = this.#leads[lead]!;
    if (k > l.frontier) l.frontier = k;
  }

  /** Processes what all leads have seen, and gives out the rows that became final. */
  advance(): void {
    let to = Number.POSITIVE_INFINITY;
    for (const lead of this.#leads) to = Math.min(to, lead.frontier);
    if (this.#k < 0 && !this.#begin()) return;
    if (to <= this.#k) return;
    this.#process(to);
    this.#settle();
  }

  /** The data ends here: everything undecided comes out. Later samples must lie a context (16 s) further on. */
  flush(): void {
    if (this.#k < 0) return;
    let to = this.#k;
    for (const lead of this.#leads) to = Math.max(to, lead.frontier);
    this.#process(to);
    this.#skip(to + this.#detector.contextCount + 1);
    this.#settle();
  }

  close(): void {
    this.#detector.close();
  }

  /** From the detector: one beat. */
  push(position: number, confidence: number): void {
    const tUs = positionUs(position, this.group.rateNanoHz);
    this.#track.push(tUs, confidence, GOOD, this.#gaps.missingUs(this.#track.lastUs, tUs));
  }

  #begin(): boolean {
    let first = Number.POSITIVE_INFINITY;
    for (const lead of this.#leads) if (lead.k0.length > 0) first = Math.min(first, lead.k0[0]!);
    if (first === Number.POSITIVE_INFINITY) return false;
    this.#k = first;
    const tUs = positionUs(first, this.group.rateNanoHz);
    this.#gaps.add(Number.NEGATIVE_INFINITY, tUs);
    this.#values?.start(tUs);
    return true;
  }

  /** Rows [#k, to), of which every lead has seen all. */
  #process(to: number): void {
    const leads = this.#leads;
    const only = leads[0]!;
    // all leads hold the same single run: the rule, and no copy
    if (leads.every((l) => l.k0.length === 1 && l.k0[0] === only.k0[0] && l.n[0] === only.n[0]) && only.k0[0]! + only.n[0]! === to) {
      this.#skip(only.k0[0]!);
      this.#push(
        leads.map((l) => l.samples),
        only.n[0]!,
      );
      for (const l of leads) this.#clear(l);
      return;
    }
    const out = blockOf(leads.length);
    while (this.#k < to) {
      const start = this.#nextPresent(to);
      this.#skip(start);
      if (start >= to) break;
      const n = this.#gather(out, start, Math.min(to, start + blockRows));
      this.#push(out, n);
    }
    for (const lead of leads) this.#drop(lead, to);
  }

  /** First index from #k on that any lead holds, at most `to`. */
  #nextPresent(to: number): number {
    let next = to;
    for (const lead of this.#leads)
      for (let r = 0; r < lead.k0.length; r++)
        if (lead.k0[r]! + lead.n[r]! > this.#k) {
          next = Math.min(next, Math.max(this.#k, lead.k0[r]!));
          break;
        }
    return next;
  }

  /** Copies rows from `start` on, as long as some lead holds each.  @returns rows copied */
  #gather(out: Float64Array[], start: number, end: number): number {
    let covered = start;
    for (let again = true; again;) {
      again = false;
      for (const lead of this.#leads)
        for (let r = 0; r < lead.k0.length; r++) {
          const runEnd = lead.k0[r]! + lead.n[r]!;
          if (lead.k0[r]! <= covered && runEnd > covered) {
            covered = runEnd;
            again = true;
          }
        }
    }
    const n = Math.min(end, covered) - start;
    for (let l = 0; l < this.#leads.length; l++) {
      const lead = this.#leads[l]!;
      const target = out[l]!;
      target.fill(Number.NaN, 0, n);
      let at = 0;
      for (let r = 0; r < lead.k0.length; r++) {
        const from = Math.max(start, lead.k0[r]!);
        const to = Math.min(start + n, lead.k0[r]! + lead.n[r]!);
        if (to > from) {
          const source = at + from - lead.k0[r]!;
          target.set(lead.samples.subarray(source, source + to - from), from - start);
        }
        at += lead.n[r]!;
      }
    }
    return n;
  }

  #push(leads: readonly Float64Array[], n: number): void {
    if (this.#leads.some((l) => l.mayMiss) || this.#leads.length > 1) this.#noteMissing(leads, n);
    this.#detector.push(leads, 0, n, this.#k, this);
    this.#k += n;
  }

  /** Remembers rows of which every lead is NaN. */
  #noteMissing(leads: readonly Float64Array[], n: number): void {
    const first = leads[0]!;
    for (let i = 0; i < n; i++) {
      if (!Number.isNaN(first[i]!)) continue;
      let missing = true;
      for (let l = 1; l < this.#leads.length; l++) missing &&= Number.isNaN(leads[l]![i]!);
      if (missing) this.#gap(this.#k + i, this.#k + i + 1);
    }
  }

  #skip(k: number): void {
    if (k <= this.#k) return;
    this.#gap(this.#k, k);
    this.#k = k;
    this.#detector.skipTo(k, this);
  }

  #gap(fromK: number, toK: number): void {
    this.#gaps.add(positionUs(fromK, this.group.rateNanoHz), positionUs(toK, this.group.rateNanoHz));
  }

  #clear(lead: Lead): void {
    lead.used = 0;
    lead.k0.length = 0;
    lead.n.length = 0;
    lead.mayMiss = false;
    // grown by a reload from storage: 10,000 streams must not keep that
    if (lead.samples.length > keptSamples) lead.samples = noSamples;
  }

  /** Lets go of a lead's samples before index k. */
  #drop(lead: Lead, k: number): void {
    let at = 0;
    let r = 0;
    while (r < lead.k0.length && lead.k0[r]! + lead.n[r]! <= k) at += lead.n[r++]!;
    if (r === lead.k0.length) {
      this.#clear(lead);
      return;
    }
    const cut = Math.max(0, k - lead.k0[r]!);
    lead.k0.splice(0, r);
    lead.n.splice(0, r);
    lead.k0[0]! += cut;
    lead.n[0]! -= cut;
    lead.samples.copyWithin(0, at + cut, lead.used);
    lead.used -= at + cut;
  }

  /** Gives out what has become final. */
  #settle(): void {
    const track = this.#track;
    const beatsUs = positionUs(this.#detector.finalK, this.group.rateNanoHz);
    if (beatsUs - track.lastUs > intervalMaxUs) track.endChain();
    const judgedUs = track.judged < track.count ? track.tUs[track.judged]! : beatsUs;
    this.#values?.advance(beatsUs, judgedUs);
    for (; track.handedOut < track.judged; track.handedOut++) this.#handOut(track.handedOut);
    this.#finalUs = judgedUs;
    const keepUs = Math.min(judgedUs, this.#values?.finalUs ?? judgedUs) - keptUs;
    if (track.tUs[0]! < keepUs - 60 * secondUs) {
      track.forgetBefore(keepUs);
      this.#gaps.forgetBefore(keepUs);
    }
  }

  #handOut(i: number): void {
    const { tUs, starts, flag } = this.#track;
    classifyBeat(this.#track, i, verdict);
    const ibiMs = starts[i] === 1 ? Number.NaN : (tUs[i]! - tUs[i - 1]!) / 1000;
    this.#sink.beat(this.group.channelNo, tUs[i]!, ibiMs, verdict.kind, verdict.reason, flag[i] as QualityFlag, this.group.source);
  }
}
