/** Orders the runs of one stream on the main thread: waits for late runs, decides what is a gap, and reports runs that came too late. */
import type { ChannelConfig, ChannelNo, SampleRun, Samples } from '../../signal.ts';

/** Where the ordered runs of one stream go. */
export type OrderedSink = {
  /** The next samples of a channel: k0 is never below the end of the previous run of its code; a jump is a gap. */
  run(channelNo: ChannelNo, k0: number, samples: Samples, qmask: Uint8Array | null): void;
  /** Nothing more of this channel's code before index k, as far as anyone will wait. */
  pass(channelNo: ChannelNo, k: number): void;
  /** Samples arrived for a place that was already passed: what was computed there is out of date. Device time, µs. */
  late(fromUs: number, toUs: number): void;
};

export type RunOrdererOptions = Readonly<{
  /** A hole is a gap once this much of its channel has been seen after it, s. */
  holdSec: number;
  /** A channel is passed when it lags this far behind the leads that are fused with it, or behind itself at another rate, s ... */
  groupLagSec: number;
  /** ... or this far behind the stream, s; at least twice its longest run. */
  reorderSec: number;
}>;

export const runOrdererDefaults: RunOrdererOptions = { holdSec: 1, groupLagSec: 2, reorderSec: 10 };

/** Holes remembered per channel; what falls into an older one is taken for late data (never the other way round). */
const holesMax = 32;
/** How often lagging channels are looked for, in device time, µs. */
const lagCheckUs = 500_000;

/** A channel code of one kind and rate, as in the engine: a device that changes its gain to and fro has a channel for each gain, and what
 *  one of them lacks is not passed because another has gone on. */
type Lead = {
  code: string;
  /** Its first channel. */
  no: ChannelNo;
  usPerSample: number;
  /** Kind and rate: channels that are fused share it. */
  group: string;
  /** First index that has not been handed on; -1 before the first run. */
  next: number;
  held: SampleRun[];
  /** Passed places without samples, as pairs. */
  holes: number[];
  /** Everything before this index may have been a hole that was forgotten. */
  forgotten: number;
  longestUs: number;
};

/** A sample index has one value, whichever packet brought it; where a faulty device contradicts itself, the first packet wins. */
export class RunOrderer {
  readonly #leads: Lead[] = [];
  /** By channelNo. */
  readonly #leadOf: Lead[] = [];
  readonly #options: RunOrdererOptions;
  readonly #sink: OrderedSink;
  #newestUs = -1;
  #checkedUs = -1;

  constructor(channels: readonly ChannelConfig[], sink: OrderedSink, options: RunOrdererOptions = runOrdererDefaults) {
    this.#options = options;
    this.#sink = sink;
    this.addChannels(channels);
  }

  /** @param channels all of the stream's; the first ones are known */
  addChannels(channels: readonly ChannelConfig[]): void {
    for (let no = this.#leadOf.length; no < channels.length; no++) {
      const { code, kind, rateNanoHz } = channels[no]!;
      const group = `${kind} ${rateNanoHz}`;
      let lead = this.#leads.find((other) => other.code === code && other.group === group);
      if (lead === undefined) {
        lead = {
          code,
          no: no as ChannelNo,
          usPerSample: 1e15 / rateNanoHz,
          group,
          next: -1,
          held: [],
          holes: [],
          forgotten: 0,
          longestUs: 0,
        };
        this.#leads.push(lead);
      }
      this.#leadOf.push(lead);
    }
  }

  /** End of the newest run seen, device time, µs; -1 before any. */
  get newestUs(): number {
    return this.#newestUs;
  }

  /** Does anything wait behind a hole? */
  get holding(): boolean {
    return this.#leads.some(({ held }) => held.length > 0);
  }

  /** Runs that came together (one packet), in any order: none of them is late because of another.
   *  @param loaded read back from storage, in order of time: their length says nothing about the device's packets */
  push(runs: readonly SampleRun[], loaded = false): void {
    for (const run of runs) this.#take(run, loaded);
    if (this.#newestUs - this.#checkedUs >= lagCheckUs) this.#passLagging();
  }

  #take(run: SampleRun, loaded: boolean): void {
    const lead = this.#leadOf[run.channelNo];
    if (lead === undefined) throw new RangeError(`channel ${run.channelNo} of ${this.#leadOf.length}`);
    const end = run.k0 + run.samples.length;
    if (end === run.k0) return;
    if (!loaded) lead.longestUs = Math.max(lead.longestUs, run.samples.length * lead.usPerSample);
    this.#newestUs = Math.max(this.#newestUs, end * lead.usPerSample);
    if (lead.next < 0) {
      if (lead.holes.length === 0) lead.holes.push(0, run.k0);
      lead.next = run.k0;
    }
    if (run.k0 > lead.next) this.#hold(lead, run);
    else {
      this.#handOn(lead, run);
      if (lead.held.length > 0) this.#drain(lead);
    }
  }

  /** Takes over the holes that `other` passed before a time. What fills them is late although a reload may have found it already:
   *  rows from before the reload were made without it. */
  inheritHoles(other: RunOrderer, beforeUs: number): void {
    other.#leads.forEach((theirs, i) => {
      const { holes, usPerSample } = this.#leads[i]!;
      for (let j = 0; j < theirs.holes.length; j += 2)
        if (theirs.holes[j]! * usPerSample < beforeUs) holes.push(theirs.holes[j]!, theirs.holes[j + 1]!);
      this.#leads[i]!.forgotten = theirs.forgotten;
    });
  }

  /** Stops waiting: every hole is a gap. */
  release(): void {
    for (const lead of this.#leads) while (lead.held.length > 0) this.#closeHole(lead);
  }

  /** Stops waiting for samples before a time as well: they are late from now on. */
  releaseTo(tUs: number): void {
    this.release();
    for (const lead of this.#leads) {
      const k = Math.floor(tUs / lead.usPerSample);
      if (lead.next < 0) lead.next = 0;
      if (k > lead.next) this.#passTo(lead, k);
    }
  }

  #hold(lead: Lead, run: SampleRun): void {
    const { held } = lead;
    let at = held.length;
    while (at > 0 && held[at - 1]!.k0 > run.k0) at--;
    held.splice(at, 0, run);
    this.#drain(lead);
  }

  /** Hands on what has become next; closes a hole that was waited for long enough. */
  #drain(lead: Lead): void {
    const { held } = lead;
    for (;;) {
      while (held.length > 0 && held[0]!.k0 <= lead.next) this.#handOn(lead, held.shift()!);
      if (held.length === 0) return;
      const last = held[held.length - 1]!;
      const seen = last.k0 + last.samples.length - held[0]!.k0;
      if (seen * lead.usPerSample < this.#options.holdSec * 1e6) return;
      this.#closeHole(lead);
    }
  }

  #closeHole(lead: Lead): void {
    const first = lead.held[0]!.k0;
    this.#passTo(lead, first);
    while (lead.held.length > 0 && lead.held[0]!.k0 <= lead.next) this.#handOn(lead, lead.held.shift()!);
  }

  #passTo(lead: Lead, k: number): void {
    const { holes } = lead;
    const last = holes.length - 1;
    if (last > 0 && holes[last] === lead.next) holes[last] = k;
    else holes.push(lead.next, k);
    if (holes.length > 2 * holesMax) {
      lead.forgotten = holes[1]!;
      holes.splice(0, 2);
    }
    lead.next = k;
    this.#sink.pass(lead.no, k);
  }

  /** A run that starts at or before the next index: its old part is a duplicate or late, its new part is next. */
  #handOn(lead: Lead, run: SampleRun): void {
    const cut = lead.next - run.k0;
    const n = run.samples.length;
    if (cut > 0) this.#checkLate(lead, run.k0, Math.min(lead.next, run.k0 + n));
    if (cut >= n) return;
    lead.next = run.k0 + n;
    if (cut === 0) this.#sink.run(run.channelNo, run.k0, run.samples, run.qmask);
    else this.#sink.run(run.channelNo, run.k0 + cut, run.samples.subarray(cut), run.qmask?.subarray(cut) ?? null);
  }

  /** [from, to) lies behind the frontier: late where it fills a hole, else a duplicate. */
  #checkLate(lead: Lead, from: number, to: number): void {
    if (from < lead.forgotten) this.#late(lead, from, Math.min(to, lead.forgotten));
    const { holes } = lead;
    for (let i = holes.length - 2; i >= 0; i -= 2) {
      const a = Math.max(from, holes[i]!);
      const b = Math.min(to, holes[i + 1]!);
      if (a >= b) continue;
      this.#late(lead, a, b);
      const rest: number[] = [];
      if (holes[i]! < a) rest.push(holes[i]!, a);
      if (b < holes[i + 1]!) rest.push(b, holes[i + 1]!);
      holes.splice(i, 2, ...rest);
    }
  }

  #late(lead: Lead, from: number, to: number): void {
    this.#sink.late(Math.floor(from * lead.usPerSample), Math.ceil(to * lead.usPerSample));
  }

  /** A channel that fell silent must not hold up the leads it is fused with, itself at another rate, nor its stream. */
  #passLagging(): void {
    this.#checkedUs = this.#newestUs;
    for (const lead of this.#leads) {
      let leaderUs = -1;
      for (const other of this.#leads)
        if (other !== lead && (other.group === lead.group || other.code === lead.code))
          leaderUs = Math.max(leaderUs, other.next * other.usPerSample);
      const groupUs = leaderUs - Math.max(this.#options.groupLagSec * 1e6, 2 * lead.longestUs);
      const streamUs = this.#newestUs - Math.max(this.#options.reorderSec * 1e6, 2 * lead.longestUs);
      const k = Math.floor(Math.max(groupUs, streamUs) / lead.usPerSample);
      if (k <= 0 || k <= lead.next) continue;
      if (lead.next < 0) lead.next = 0;
      while (lead.held.length > 0 && lead.held[0]!.k0 <= k) this.#closeHole(lead);
      if (k > lead.next) this.#passTo(lead, k);
    }
  }
}
