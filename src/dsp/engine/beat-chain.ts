/** Computes beats and features from the leads of one channel group with beats (ECG, or PPG wavelengths), incrementally, by segment. */
import type { QualityFlag } from '../../signal.ts';
import { BAD, GOOD, SUSPECT } from '../../signal.ts';
import { ecgFlag, ecgRateFlag } from '../ecg/quality.ts';
import { BeatTrack, Gaps, classifyBeat, interpolatedBeat, intervalMaxUs, noVerdict } from '../hrv/beats.ts';
import { bridgedBeat, bridgedBeats } from '../hrv/bridged-beats.ts';
import type { ValueSink } from '../hrv/values.ts';
import { BeatValues } from '../hrv/values.ts';
import { itemKind } from './kernel.ts';
import { LeadFeed } from './leads.ts';
import { BeatBurden } from './burden.ts';
import { LightValues } from './light.ts';
import { BeatModulation } from './modulation.ts';
import { BeatIntervals } from './intervals.ts';
import { OxygenValues } from './oxygen.ts';
import type { OxygenLeads } from './oxygen.ts';
import type { SecondsSeen } from './primary-groups.ts';
import { BeatPulseWaves } from './pulse-waves.ts';
import { BeatRhythm } from './rhythm.ts';
import { SampleRing } from './sample-ring.ts';
import type { RowTaker } from './leads.ts';
import type { KernelKind, KernelStock } from './runner.ts';
import { SegmentRunner } from './runner.ts';
import { positionUs, segmentSec } from '../kernels/segment-grid.ts';
import { featureMethods, methodIndex } from '../rows/methods.ts';

export type RowSink = ValueSink & {
  /** kind, reason: positions in `beatKinds`, `beatReasons`; confidence: that of the kind, 0 to 1, NaN: unknown. */
  beat(
    channelNo: number,
    tUs: number,
    ibiMs: number,
    kind: number,
    reason: number,
    confidence: number,
    flag: QualityFlag,
    source: 'ecg' | 'ppg',
  ): void;
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
  /** Leads of the feed after the group's own: the axes of an accelerometer on the same grid. */
  axisCount: number;
  /** Position in `featureMethods` of the rate of breathing that is made of the beats; -1: none is. */
  breathing: number;
  /** Null: it gives no oxygen saturation. */
  oxygen: OxygenLeads | null;
}>;

/** Positions in `featureMethods` of what comes with the beats. */
export type ChainMethods = Readonly<{ sqi: number }>;

/** What computes one group of channels. */
export interface Chain {
  readonly feed: LeadFeed;
  /** Time before which every row of the chain is out, µs: before its first sample, the second up to which its channels were passed. */
  readonly finalUs: number;
  /** Processes what all leads have seen, or leaves it for later while no value can be due, and gives out the rows that became final. */
  advance(): void;
  /** The data ends here: everything undecided comes out. Later samples must lie a context (16 s) further on. */
  flush(): void;
  close(): void;
}

/** Windows reach 300 s back from the next value, and what counts ventricular runs three beats further; older beats are dropped. */
const keptUs = 312_000_000;
const secondUs = 1_000_000;
/** Flags are kept for so long before the oldest beat without a verdict: the longest interval ends with it, 20 s, and begins a window. */
const keptFlagsUs = 60_000_000;
const keptFlags = 128;
const rateWindowSec = featureMethods[methodIndex('hr_ecg')]!.windowSec;
/** Samples of PPG are kept at about this rate; an R wave needs them all. */
const PULSE_HZ = 32;
/** From the start of a second to the end of the 10 s by which ECG judges it. */
const judgedAfterUs = 6_000_000;
const none = new Float64Array(0);
const verdict = noVerdict();
const noSink: ValueSink = { value: () => undefined };

/** Time before which a chain that has not begun will have no row, µs: its first one may lie at the start of its first second. */
export const notBegunUs = (feed: LeadFeed, rateNanoHz: number): number =>
  wholeSec(positionUs(Math.max(0, feed.seen), rateNanoHz)) * secondUs;

/** Remembers rows of which every lead is NaN. */
export function noteMissing(gaps: Gaps, leads: readonly Float64Array[], leadCount: number, n: number, k: number, rateNanoHz: number): void {
  const first = leads[0]!;
  for (let i = 0; i < n; i++) {
    if (!Number.isNaN(first[i]!)) continue;
    let missing = true;
    for (let l = 1; l < leadCount; l++) missing &&= Number.isNaN(leads[l]![i]!);
    if (missing) gaps.add(positionUs(k + i, rateNanoHz), positionUs(k + i + 1, rateNanoHz));
  }
}

/** Feeds aligned leads to the beat detector of the group, which also judges quality. A beat is emitted once its second has been judged,
 *  with that second's flag, which values computed from it inherit. That takes 8 s in ECG, 10 s in PPG. It does not delay variability
 *  (verdicts on intervals take as long); the pulse rate waits, too. The heart rate from ECG does not: its kernel judges the 10 s before
 *  every second, which is when a heart rate is due. The quality of a second is the judgement of the 10 s from 4 s before it to 5 s after
 *  it. */
export class BeatChain implements Chain, RowTaker {
  readonly group: BeatGroup;
  readonly feed: LeadFeed;
  readonly #beats: SegmentRunner;
  readonly #track = new BeatTrack();
  readonly #gaps = new Gaps();
  readonly #values: BeatValues | null;
  readonly #sink: RowSink;
  /** Samples of the first lead, for what follows the shape of beats; null when nothing does. */
  readonly #ring: SampleRing | null;
  /** Of the second one, by which the first one's QT is judged. */
  readonly #secondRing: SampleRing | null;
  readonly #breathing: BeatModulation | null;
  readonly #rhythm: BeatRhythm | null;
  readonly #intervals: BeatIntervals | null;
  readonly #burden: BeatBurden | null;
  readonly #light: LightValues | null;
  readonly #oxygen: OxygenValues | null;
  readonly #waves: BeatPulseWaves | null;
  readonly #methods: ChainMethods;
  /** Null: no other group may give the same values. */
  readonly #seen: SecondsSeen | null;
  /** Flags of judged seconds by their start, s (a small integer is a cheaper key than a time in µs); about the last minute before what has
   *  its verdict, which the first beats of a slow heart after a gap get up to two minutes later. */
  readonly #flags = new Map<number, QualityFlag>();
  /** Flags of heart rates by their time, s; likewise. */
  readonly #rateFlags = new Map<number, QualityFlag>();
  /** First sample index at which something is due. */
  #dueK = -1;
  /** Time before which all beats are out, µs. */
  #finalUs = 0;
  /** Time before which all rows are out, µs. */
  #outUs = 0;

  /** @param kind finds the beats and judges them */
  constructor(
    group: BeatGroup,
    kind: KernelKind,
    methods: ChainMethods,
    stock: KernelStock,
    sink: RowSink,
    seen: SecondsSeen | null = null,
  ) {
    this.group = group;
    this.#seen = seen;
    this.#sink = sink;
    this.#methods = methods;
    this.feed = new LeadFeed(group.codes.length + group.axisCount, group.rateNanoHz, this);
    const fs = group.rateNanoHz / 1e9;
    const isEcg = group.source === 'ecg';
    const decimation = isEcg ? 1 : Math.max(1, Math.floor(fs / PULSE_HZ));
    const hasShape = group.breathing >= 0 || (group.primary && isEcg);
    // what follows the shape of beats remembers two seconds more than it takes to find one
    this.#ring = hasShape ? new SampleRing(fs, stock.latencySec(kind) + 2, decimation) : null;
    const rateFlag = (tUs: number): QualityFlag => this.#rateFlag(wholeSec(tUs));
    const mayHide = (fromUs: number, toUs: number): boolean => this.#rhythm?.hidesBetween(fromUs, toUs) ?? false;
    // another group's rate is not given out, but tells whether its pulse is that of a motion
    const knowsMotion = group.axisCount > 0;
    const valueSink = group.primary ? sink : noSink;
    this.#values =
      group.primary || knowsMotion
        ? new BeatValues(group.source, fs, this.#track, this.#gaps, rateFlag, mayHide, valueSink, knowsMotion, !group.primary)
        : null;
    this.#breathing =
      this.#ring === null || group.breathing < 0
        ? null
        : new BeatModulation(group.breathing, group.source, group.rateNanoHz, this.#ring, decimation, this.#gaps, stock, sink);
    const ecgRing = group.primary && isEcg ? this.#ring : null;
    const flagOf = (sec: number): QualityFlag => this.#flags.get(sec) ?? BAD;
    this.#rhythm = ecgRing === null ? null : new BeatRhythm(fs, ecgRing, stock.latencySec(kind), this.#track, this.#gaps, flagOf, sink);
    this.#secondRing = ecgRing === null || group.codes.length < 2 ? null : new SampleRing(fs, stock.latencySec(kind) + 2);
    this.#intervals = ecgRing === null ? null : new BeatIntervals(fs, ecgRing, this.#secondRing, this.#track, this.#gaps, sink);
    this.#burden = ecgRing === null ? null : new BeatBurden(this.#track, this.#gaps, sink);
    const doubtOf = (fromUs: number, toUs: number): QualityFlag => this.#values?.motionDoubt(fromUs, toUs) ?? GOOD;
    this.#light = isEcg ? null : new LightValues(group.channelNo, this.#gaps, flagOf, doubtOf, sink);
    this.#oxygen = group.oxygen === null ? null : new OxygenValues(group.oxygen, stock, flagOf, doubtOf, sink);
    this.#waves = isEcg || !group.primary ? null : new BeatPulseWaves(fs, stock.latencySec(kind), this.#track, this.#gaps, sink);
    this.#beats = new SegmentRunner(kind, stock, (tUs, a, b, itemIs, c, d, e, f, g) => {
      if (itemIs === itemKind.second) this.#judged(tUs, a, b as QualityFlag);
      else if (itemIs === itemKind.rate) this.#spectralRate(tUs + 1, a, b as QualityFlag, c);
      else if (itemIs === itemKind.block) this.#light?.block(tUs + 1, a, b as QualityFlag);
      else if (itemIs === itemKind.judgement) {
        this.#rateFlags.set(wholeSec(tUs + 1), ecgRateFlag(b));
        this.#judged(tUs + 1 - judgedAfterUs, a, ecgFlag(a));
      } else {
        const missingUs = this.#gaps.missingUs(this.#track.lastUs, tUs);
        if (isEcg) this.#track.push(tUs, a, missingUs, b, c, d, e, f, g);
        else this.#track.push(tUs, a, missingUs, Number.NaN, Number.NaN, this.#waves?.steepestAfterMs(tUs, b === 1));
        this.#breathing?.beat(tUs, !isEcg && b === 1);
        this.#waves?.beat(tUs, b === 1, c === 1);
        this.#rhythm?.beat(tUs);
        this.#intervals?.beat(tUs);
      }
    });
  }

  get finalUs(): number {
    return this.feed.k < 0 ? notBegunUs(this.feed, this.group.rateNanoHz) : this.#outUs;
  }

  advance(): void {
    if (this.feed.seen < this.#dueK || !this.feed.advance()) return;
    this.#settle();
    this.#wait();
  }

  /** Values are due at whole seconds, and a beat needs the flag of its second, so samples wait in the feed, a second at most, until the
   *  beats before another whole second are known. Processed once a second instead of once a packet, a stream among many is fetched into the
   *  cache less often. Heart rates come no later for it; beats, and what waits for the verdict on one, up to a second. */
  #wait(): void {
    const { rateNanoHz } = this.group;
    const { lookahead } = this.#beats;
    const { k } = this.feed;
    const knownUs = positionUs(k - lookahead, rateNanoHz);
    const dueUs = Math.ceil(knownUs / secondUs) * secondUs;
    let dueK = k + 1;
    if (dueUs > knownUs) {
      dueK = lookahead + Math.ceil((dueUs * rateNanoHz) / 1e15);
      while (positionUs(dueK - lookahead, rateNanoHz) < dueUs) dueK++;
      while (positionUs(dueK - 1 - lookahead, rateNanoHz) >= dueUs) dueK--;
    }
    this.#dueK = dueK;
    this.feed.waitFor(dueK);
  }

  flush(): void {
    if (!this.feed.flush(this.#beats.contextCount + 1)) return;
    this.#settle();
    // Beats are said to be final up to the next seam only. None follow before the feed's end; breaths, and the saturation of a block that
    // ends at the seam, need that to come out.
    const endUs = positionUs(this.feed.k, this.group.rateNanoHz);
    this.#breathing?.advance(endUs);
    this.#oxygen?.advance(endUs);
    this.#outUs = Math.min(this.#finalUs, this.#valuesFinalUs);
    this.#wait();
  }

  close(): void {
    this.#beats.close();
    this.#breathing?.close();
    this.#oxygen?.close();
  }

  begin(k: number): void {
    const tUs = positionUs(k, this.group.rateNanoHz);
    this.#gaps.add(Number.NEGATIVE_INFINITY, tUs);
    this.#values?.start(tUs);
    this.#breathing?.start(tUs);
    this.#rhythm?.start(tUs);
    this.#intervals?.start(tUs);
    this.#burden?.start(tUs);
    this.#waves?.start(tUs);
  }

  rows(leads: readonly Float64Array[], n: number, k: number, mayMiss: boolean): void {
    if (mayMiss) noteMissing(this.#gaps, leads, this.group.codes.length, n, k, this.group.rateNanoHz);
    this.#seen?.rows(leads, this.group.codes.length, n, k);
    this.#feedBeats(leads, n, k);
    this.#oxygen?.push(leads, 0, n, k);
  }

  /** In pieces of a second: the ring holds two more than it takes to find a beat. */
  #feedBeats(leads: readonly Float64Array[], n: number, k: number): void {
    const ring = this.#ring;
    const piece = ring === null && this.#waves === null ? n : Math.max(1, Math.floor(this.group.rateNanoHz / 1e9));
    for (let from = 0; from < n; from += piece) {
      const to = Math.min(n, from + piece);
      ring?.push(leads[0]!, from, to, k);
      this.#secondRing?.push(leads[1]!, from, to, k);
      this.#rhythm?.push(leads[0]!, from, to, k);
      this.#waves?.push(leads[0]!, from, to, k);
      this.#beats.push(leads, from, to, k + from);
      this.#intervals?.look(positionUs(k + to, this.group.rateNanoHz));
    }
  }

  gap(fromK: number, toK: number): void {
    const { rateNanoHz } = this.group;
    this.#gaps.add(positionUs(fromK, rateNanoHz), positionUs(toK, rateNanoHz));
    this.#beats.skipTo(toK);
    this.#oxygen?.skipTo(toK);
    this.#intervals?.look(positionUs(toK, rateNanoHz));
  }

  #judged(tUs: number, sqi: number, flag: QualityFlag): void {
    if (this.#gaps.missingUs(tUs, tUs + secondUs) >= secondUs) return;
    this.#flags.set(wholeSec(tUs), flag);
    this.#sink.quality(this.group.channelNo, tUs, sqi, flag);
    this.#sink.value(this.#methods.sqi, this.group.channelNo, tUs + secondUs, sqi, flag);
  }

  /** Of the ECG heart rate due at a time. A segment judges its own beats: after a seam, a rate is made of beats of the one before, too. */
  #rateFlag(sec: number): QualityFlag {
    const own = this.#rateFlags.get(sec) ?? SUSPECT;
    const sinceSeam = sec % segmentSec;
    if (own !== GOOD || sinceSeam === 0 || sinceSeam >= rateWindowSec) return own;
    return (this.#rateFlags.get(sec - sinceSeam) ?? GOOD) === GOOD ? GOOD : SUSPECT;
  }

  #spectralRate(tUs: number, perMin: number, flag: QualityFlag, cadence: number): void {
    if (this.#gaps.missingUs(tUs - secondUs, tUs) < secondUs) this.#values?.spectralRate({ tUs, perMin, flag, cadence });
  }

  /** Gives out what has become final. */
  #settle(): void {
    const track = this.#track;
    const beatsUs = this.#beats.finalUs;
    if (beatsUs - track.lastUs > intervalMaxUs) track.endChain();
    this.#breathing?.advance(beatsUs);
    const flaggedUs = this.#flagBeats(beatsUs);
    const end = Math.min(track.judged, track.flagged);
    const judgedUs = Math.min(flaggedUs, end < track.count ? track.tUs[end]! : beatsUs);
    this.#values?.advance(this.group.source === 'ecg' ? beatsUs : flaggedUs, judgedUs);
    this.#rhythm?.advance(judgedUs);
    this.#intervals?.advance(judgedUs);
    this.#burden?.advance(judgedUs);
    this.#waves?.advance(judgedUs);
    this.#light?.advance(flaggedUs);
    this.#oxygen?.advance(flaggedUs);
    for (; track.handedOut < end; track.handedOut++) this.#handOut(track.handedOut);
    // beats may yet be put between the last one and the next
    const lastUs = end > 0 ? track.tUs[end - 1]! : Number.NEGATIVE_INFINITY;
    this.#finalUs = Math.min(judgedUs, Math.max(lastUs + 1, judgedUs - intervalMaxUs));
    // not every second: an iterator each
    if (this.#flags.size > keptFlags) forgetFlags(this.#flags, wholeSec(judgedUs - keptFlagsUs));
    if (this.#rateFlags.size > keptFlags) forgetFlags(this.#rateFlags, wholeSec(flaggedUs - keptFlagsUs));
    const valuesUs = this.#valuesFinalUs;
    this.#outUs = Math.min(this.#finalUs, valuesUs);
    const keepUs = Math.min(judgedUs, valuesUs) - keptUs;
    if (track.tUs[0]! < keepUs - 60 * secondUs) {
      track.forgetBefore(keepUs);
      this.#gaps.forgetBefore(keepUs);
    }
  }

  /** Time before which every value is out, µs. */
  get #valuesFinalUs(): number {
    const none = Number.POSITIVE_INFINITY;
    return Math.min(
      this.#values?.finalUs ?? none,
      this.#breathing?.finalUs ?? none,
      this.#rhythm?.finalUs ?? none,
      this.#intervals?.finalUs ?? none,
      this.#burden?.finalUs ?? none,
      this.#waves?.finalUs ?? none,
      this.#oxygen?.finalUs ?? none,
    );
  }

  /** Gives beats the flag of their second.  @returns time before which all beats have it, µs */
  #flagBeats(beatsUs: number): number {
    const track = this.#track;
    const endUs = this.group.source === 'ppg' ? beatsUs : Math.floor(beatsUs / secondUs) * secondUs - judgedAfterUs + secondUs;
    for (; track.flagged < track.count && track.tUs[track.flagged]! < endUs; track.flagged++)
      track.flag[track.flagged] = this.#flags.get(wholeSec(track.tUs[track.flagged]!)) ?? BAD;
    return endUs;
  }

  #handOut(i: number): void {
    const { tUs, starts } = this.#track;
    classifyBeat(this.#track, i, verdict);
    const bridged = this.group.source === 'ecg' ? bridgedBeats(this.#track, this.#gaps, i) : none;
    if (bridged.length > 0) this.#bridge(i, bridged);
    else if (verdict.missed > 0) this.#interpolate(i, verdict.missed);
    const ibiMs = starts[i] === 1 ? Number.NaN : (tUs[i]! - tUs[i - 1]!) / 1000;
    const { kind, reason, confidence } = verdict;
    this.#sink.beat(this.group.channelNo, tUs[i]!, ibiMs, kind, reason, confidence, this.#track.flagOf(i), this.group.source);
  }

  /** Rows for beats in lost samples before beat i; at best suspect. Features do not know them. */
  #bridge(i: number, atUs: Float64Array): void {
    const { flag } = this.#track;
    const quality = Math.max(SUSPECT, flag[i]!, flag[i - 1]!) as QualityFlag;
    for (const at of atUs) this.#unseen(Math.round(at), bridgedBeat, quality);
  }

  /** Rows for beats that were not seen before beat i, evenly spaced; at best suspect. Features do not know them. */
  #interpolate(i: number, count: number): void {
    const { tUs, flag } = this.#track;
    const quality = Math.max(SUSPECT, flag[i]!, flag[i - 1]!) as QualityFlag;
    for (let j = 1; j <= count; j++) {
      const at = Math.round(tUs[i - 1]! + (j * (tUs[i]! - tUs[i - 1]!)) / (count + 1));
      this.#unseen(at, interpolatedBeat, quality);
    }
  }

  #unseen(tUs: number, { kind, reason }: Readonly<{ kind: number; reason: number }>, quality: QualityFlag): void {
    this.#sink.beat(this.group.channelNo, tUs, Number.NaN, kind, reason, Number.NaN, quality, this.group.source);
  }
}

const wholeSec = (tUs: number): number => Math.floor(tUs / secondUs);

function forgetFlags(flags: Map<number, QualityFlag>, beforeSec: number): void {
  for (const sec of flags.keys()) {
    if (sec >= beforeSec) break;
    flags.delete(sec);
  }
}
