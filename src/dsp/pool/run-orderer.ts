/** Orders the runs of one stream on the main thread: waits for late runs, decides what is a gap, and reports runs that came too late. */
import type { ChannelConfig, ChannelNo, SampleRun, Samples } from '../../signal.ts';

/** Where the ordered runs of one stream go. */
export type OrderedSink = {
  /** The next samples of a channel: k0 is never below the end of its previous run; a jump is a gap. */
  run(channelNo: ChannelNo, k0: number, samples: Samples, qmask: Uint8Array | null): void;
  /** Nothing more of this channel before index k, as far as anyone will wait. */
  pass(channelNo: ChannelNo, k: number): void;
  /** Samples arrived for a place that was already passed: what was computed there is out of date. Device time, µs. */
  late(fromUs: number, toUs: number): void;
};

export type RunOrdererOptions = Readonly<{
  /** A hole is a gap once this much of its channel has been seen after it, s. */
  holdSec: number;
  /** A channel is passed when it lags this far behind the leads that are fused with it, s ... */
  groupLagSec: number;
  /** ... or this far behind the stream, s; at least twice its longest run. */
  reorderSec: number;
}>;

export const runOrdererDefaults: RunOrdererOptions = { holdSec: 1, groupLagSec: 2, reorderSec: 10 };

/** Holes remembered per channel; what falls into an older one is taken for late data (never the other way round). */
const holesMax = 32;
/** How often lagging channels are looked for, in device time, µs. */
const lagCheckUs = 500_000;

type Channel = {
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
  readonly #channels: Channel[] = [];
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
    for (let no = this.#channels.length; no < channels.length; no++) {
      const { kind, rateNanoHz } = channels[no]!;
      this.#channels.push({
        no: no as ChannelNo,
        usPerSample: 1e15 / rateNanoHz,
        group: `${kind} ${rateNanoHz}`,
        next: -1,
        held: [],
        holes: [],
        forgotten: 0,
        longestUs: 0,
      });
    }
  }

  /** End of the newest run seen, device time, µs; -1 before any. */
  get newestUs(): number {
    return this.#newestUs;
  }

  /** Does anything wait behind a hole? */
  get holding(): boolean {
    return this.#channels.some((c) => c.held.length > 0);
  }

  /** Runs that came together (one packet), in any order: none of them is late because of another.
   *  @param loaded read back from storage, in order of time: their length says nothing about the device's packets */
  push(runs: readonly SampleRun[], loaded = false): void {
    for (const run of runs) this.#take(run, loaded);
    if (this.#newestUs - this.#checkedUs >= lagCheckUs) this.#passLagging();
  }

  #take(run: SampleRun, loaded: boolean): void {
    const channel = this.#channels[run.channelNo];
    if (channel === undefined) throw new RangeError(`channel ${run.channelNo} of ${this.#channels.length}`);
    const end = run.k0 + run.samples.length;
    if (end === run.k0) return;
    if (!loaded) channel.longestUs = Math.max(channel.longestUs, run.samples.length * channel.usPerSample);
    this.#newestUs = Math.max(this.#newestUs, end * channel.usPerSample);
    if (channel.next < 0) {
      if (channel.holes.length === 0) channel.holes.push(0, run.k0);
      channel.next = run.k0;
    }
    if (run.k0 > channel.next) this.#hold(channel, run);
    else {
      this.#handOn(channel, run);
      if (channel.held.length > 0) this.#drain(channel);
    }
  }

  /** Takes over the holes that `other` passed before a time. What fills them is late although a reload may have found it already:
   *  rows from before the reload were made without it. */
  inheritHoles(other: RunOrderer, beforeUs: number): void {
    other.#channels.forEach((theirs, no) => {
      const { holes, usPerSample } = this.#channels[no]!;
      for (let i = 0; i < theirs.holes.length; i += 2)
        if (theirs.holes[i]! * usPerSample < beforeUs) holes.push(theirs.holes[i]!, theirs.holes[i + 1]!);
      this.#channels[no]!.forgotten = theirs.forgotten;
    });
  }

  /** Stops waiting: every hole is a gap. */
  release(): void {
    for (const channel of this.#channels) while (channel.held.length > 0) this.#closeHole(channel);
  }

  /** Stops waiting for samples before a time as well: they are late from now on. */
  releaseTo(tUs: number): void {
    this.release();
    for (const channel of this.#channels) {
      const k = Math.floor(tUs / channel.usPerSample);
      if (channel.next < 0) channel.next = 0;
      if (k > channel.next) this.#passTo(channel, k);
    }
  }

  #hold(channel: Channel, run: SampleRun): void {
    const { held } = channel;
    let at = held.length;
    while (at > 0 && held[at - 1]!.k0 > run.k0) at--;
    held.splice(at, 0, run);
    this.#drain(channel);
  }

  /** Hands on what has become next; closes a hole that was waited for long enough. */
  #drain(channel: Channel): void {
    const { held } = channel;
    for (;;) {
      while (held.length > 0 && held[0]!.k0 <= channel.next) this.#handOn(channel, held.shift()!);
      if (held.length === 0) return;
      const last = held[held.length - 1]!;
      const seen = last.k0 + last.samples.length - held[0]!.k0;
      if (seen * channel.usPerSample < this.#options.holdSec * 1e6) return;
      this.#closeHole(channel);
    }
  }

  #closeHole(channel: Channel): void {
    const first = channel.held[0]!.k0;
    this.#passTo(channel, first);
    while (channel.held.length > 0 && channel.held[0]!.k0 <= channel.next) this.#handOn(channel, channel.held.shift()!);
  }

  #passTo(channel: Channel, k: number): void {
    const { holes } = channel;
    const last = holes.length - 1;
    if (last > 0 && holes[last] === channel.next) holes[last] = k;
    else holes.push(channel.next, k);
    if (holes.length > 2 * holesMax) {
      channel.forgotten = holes[1]!;
      holes.splice(0, 2);
    }
    channel.next = k;
    this.#sink.pass(channel.no, k);
  }

  /** A run that starts at or before the next index: its old part is a duplicate or late, its new part is next. */
  #handOn(channel: Channel, run: SampleRun): void {
    const cut = channel.next - run.k0;
    const n = run.samples.length;
    if (cut > 0) this.#checkLate(channel, run.k0, Math.min(channel.next, run.k0 + n));
    if (cut >= n) return;
    channel.next = run.k0 + n;
    if (cut === 0) this.#sink.run(channel.no, run.k0, run.samples, run.qmask);
    else this.#sink.run(channel.no, run.k0 + cut, run.samples.subarray(cut), run.qmask?.subarray(cut) ?? null);
  }

  /** [from, to) lies behind the frontier: late where it fills a hole, else a duplicate. */
  #checkLate(channel: Channel, from: number, to: number): void {
    if (from < channel.forgotten) this.#late(channel, from, Math.min(to, channel.forgotten));
    const { holes } = channel;
    for (let i = holes.length - 2; i >= 0; i -= 2) {
      const a = Math.max(from, holes[i]!);
      const b = Math.min(to, holes[i + 1]!);
      if (a >= b) continue;
      this.#late(channel, a, b);
      const rest: number[] = [];
      if (holes[i]! < a) rest.push(holes[i]!, a);
      if (b < holes[i + 1]!) rest.push(b, holes[i + 1]!);
      holes.splice(i, 2, ...rest);
    }
  }

  #late(channel: Channel, from: number, to: number): void {
    this.#sink.late(Math.floor(from * channel.usPerSample), Math.ceil(to * channel.usPerSample));
  }

  /** A channel that fell silent must not hold up the leads it is fused with, nor its stream. */
  #passLagging(): void {
    this.#checkedUs = this.#newestUs;
    for (const channel of this.#channels) {
      let leaderUs = -1;
      for (const other of this.#channels)
        if (other.group === channel.group && other !== channel) leaderUs = Math.max(leaderUs, other.next * other.usPerSample);
      const groupUs = leaderUs - Math.max(this.#options.groupLagSec * 1e6, 2 * channel.longestUs);
      const streamUs = this.#newestUs - Math.max(this.#options.reorderSec * 1e6, 2 * channel.longestUs);
      const k = Math.floor(Math.max(groupUs, streamUs) / channel.usPerSample);
      if (k <= 0 || k <= channel.next) continue;
      if (channel.next < 0) channel.next = 0;
      while (channel.held.length > 0 && channel.held[0]!.k0 <= k) this.#closeHole(channel);
      if (k > channel.next) this.#passTo(channel, k);
    }
  }
}
