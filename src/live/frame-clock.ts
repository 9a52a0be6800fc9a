/** Cuts the samples of one subject's devices into windows of 100 ms on the corrected device clock.
 *
 *  A window is the next frame's. It is sent when every channel that is waited for covers it, or at the deadline with the samples it has; a
 *  window in which no channel has a sample is left out. Windows only move forward: no frame twice, none out of order, none invented.
 *  Samples that arrive after their window was sent are queued as late pieces of the next frame, each sample at most once.
 *
 *  A channel is
 *  - waited for: new, or it covered a window in time. After MISSES_MAX windows were sent without it, it is
 *  - not waited for: its samples still go into windows when they arrive in time, otherwise they are late pieces.
 *  - gone: nothing arrived for its packet length plus GONE_MS. It is in no frame until samples arrive again; those older than the current
 *  window are late pieces.
 *
 *  A device that catches up on what it recorded while offline is not live: samples older than FRESH_MS are left out, unless the stream
 *  keeps that distance, which is then an error of its clock.
 *
 *  A stream whose time leaps by more than LEAP_MS against our clock is kept out until LEAP_PACKETS packets agree on the new time: one
 *  packet with a wild time must not move all windows. */
import type { ChannelConfig, SampleRun, StreamId } from '../signal.ts';
import { gridCeil } from '../signal.ts';

export const WINDOW_MS = 100;
const WINDOW_NS = 100_000_000;
const MISSES_MAX = 5;
const GONE_MS = 2000;
const LEAP_MS = 2000;
const LEAP_PACKETS = 3;
/** Distance from our clock beyond which a stream is not live, ms: it is being imported, or its clock is wrong. */
export const OFF_MS_MAX = 15 * 60_000;
/** Older by our clock: history, unless the distance has been steady (within STEADY_MS) for STEADY_FOR_MS. */
const FRESH_MS = 60_000;
const STEADY_MS = 5000;
const STEADY_FOR_MS = 10_000;
/** Age beyond which late samples are history, ms. */
const LATE_MS_MAX = 60_000;
/** Late pieces of one channel in one frame: 12.8 s of 100 ms packets that arrive together. */
const LATE_PIECES_MAX = 128;
const GAPS_MAX = 64;
/** Runs of one channel waiting for their window. */
const RUNS_MAX = 256;
/** The first window starts this much before its first sample, so that rounding of grid times never splits a packet. */
const PHASE_SLACK_NS = 1000;

/** The part of a stream that the clock needs; ingest's Session has it. */
export type LiveStream = Readonly<{
  streamId: StreamId;
  /** Unix ns of device time 0. */
  epochNs: bigint;
  channels: readonly ChannelConfig[];
}>;

type PendingRun = Readonly<{ run: SampleRun; end: number; receivedMs: number }>;

/** Samples [from, to) of a channel that arrived too late. */
export type LatePiece = Readonly<{ run: SampleRun; from: number; to: number }>;

/** One channel of one stream as the current window sees it. */
export class ClockChannel {
  readonly stream: StreamClock;
  readonly config: ChannelConfig;
  /** Grid indices of the current window: [kFrom, kTo). */
  kFrom = 0;
  kTo = 0;
  /** Before this index the channel did not exist; nothing is missing there. */
  kFirst: number;
  /** By k0. */
  readonly runs: PendingRun[] = [];
  /** Late samples for the next frame. */
  readonly late: LatePiece[] = [];
  /** [from, to) pairs of samples that were sent as missing. */
  readonly gaps: number[] = [];
  misses = 0;
  active = false;
  /** Length of its packets: the longest recent one. */
  spanMs = 0;
  /** Time at which samples that do not fill their window have waited long enough for the next packet. */
  staleAtMs = 0;
  goneAtMs = 0;
  lastMs = 0;
  /** Scratch space of the encoder. */
  head: Uint8Array | null = null;
  primary = false;

  constructor(stream: StreamClock, config: ChannelConfig, kFirst: number) {
    this.stream = stream;
    this.config = config;
    this.kFirst = kFirst;
  }

  /** End of the samples present without a gap, from the window's start. */
  covered(): number {
    let at = Math.max(this.kFrom, this.kFirst);
    for (const pending of this.runs) {
      if (pending.run.k0 > at) break;
      if (pending.end > at) at = pending.end;
    }
    return at;
  }
}

/** One stream: where its device time 0 lies among the windows, and whether its time can be trusted. */
export class StreamClock {
  readonly streamId: StreamId;
  /** Short and stable within the feed. */
  readonly source: number;
  readonly epochNs: bigint;
  readonly epochWindow: number;
  readonly epochRestNs: number;
  readonly channels: (ClockChannel | undefined)[] = [];
  lastMs = 0;
  /** Corrected time minus receive time, ms, of the newest data; slowly forgotten. */
  leadMs = Number.NaN;
  leapLeadMs = 0;
  leapCount = 0;
  /** Steady lead of an old stream, and since when. */
  anchorLeadMs = Number.NaN;
  anchorAtMs = 0;

  constructor(stream: LiveStream, source: number) {
    this.streamId = stream.streamId;
    this.source = source;
    this.epochNs = stream.epochNs;
    this.epochWindow = Number(stream.epochNs / BigInt(WINDOW_NS));
    this.epochRestNs = Number(stream.epochNs % BigInt(WINDOW_NS));
  }
}

export class FrameClock {
  readonly #deadlineMs: number;
  readonly #streams = new Map<StreamId, StreamClock>();
  #sources = 0;
  /** Active channels, oldest first. */
  readonly channels: ClockChannel[] = [];
  /** Number of the current window, -1 before the first sample. Start: phaseNs + window * 100 ms. */
  window = -1;
  phaseNs = 0;
  /** When advance() must be called again even if nothing is pushed, ms of the monotonic clock. */
  dueMs = Infinity;
  /** When the newest data of the window that is being emitted was received. */
  receivedMs = 0;
  lateSampleCount = 0;

  /** @param deadlineMs how long a window waits for its slowest channel  @param fromNs end of what was sent before, Unix ns */
  constructor(deadlineMs: number, fromNs: bigint | null = null) {
    this.#deadlineMs = deadlineMs;
    if (fromNs === null) return;
    this.window = Number(fromNs / BigInt(WINDOW_NS));
    this.phaseNs = Number(fromNs % BigInt(WINDOW_NS));
  }

  /** Unix ns of the current window's start. */
  t0Ns(): bigint {
    return BigInt(this.window) * BigInt(WINDOW_NS) + BigInt(this.phaseNs);
  }

  /** @param nowMs monotonic clock  @param unixMs the same moment, Unix ms */
  push(stream: LiveStream, runs: readonly SampleRun[], nowMs: number, unixMs: number): void {
    let clock = this.#streams.get(stream.streamId);
    if (clock === undefined) {
      this.#forgetStreams(nowMs);
      clock = new StreamClock(stream, this.#sources++);
      this.#streams.set(stream.streamId, clock);
    }
    clock.lastMs = nowMs;
    if (runs.length === 0 || !believable(clock, stream, runs, nowMs, unixMs)) return;
    for (let i = 0; i < runs.length; i++) {
      const run = runs[i]!;
      const config = stream.channels[run.channelNo];
      if (config !== undefined) this.#add(clock, config, run, nowMs);
    }
  }

  #add(clock: StreamClock, config: ChannelConfig, run: SampleRun, nowMs: number): void {
    const end = run.k0 + run.samples.length;
    let channel = clock.channels[run.channelNo];
    if (channel === undefined) {
      channel = new ClockChannel(clock, config, run.k0);
      channel.kFrom = run.k0;
      clock.channels[run.channelNo] = channel;
    }
    if (!channel.active) this.#activate(channel, run.k0);
    const spanMs = Math.max((run.samples.length / config.rateNanoHz) * 1e12, 0.9 * channel.spanMs);
    channel.spanMs = spanMs;
    channel.staleAtMs = nowMs + spanMs + WINDOW_MS + 2 * this.#deadlineMs;
    channel.lastMs = nowMs;
    channel.goneAtMs = nowMs + spanMs + Math.max(GONE_MS, spanMs);
    if (run.k0 < channel.kFirst) {
      channel.gaps.push(run.k0, Math.min(channel.kFirst, channel.kFrom));
      channel.kFirst = run.k0;
    }
    if (run.k0 < channel.kFrom) this.#addLate(channel, run, Math.min(end, channel.kFrom));
    if (end <= channel.kFrom || channel.runs.length >= RUNS_MAX) return;
    const pending = { run, end, receivedMs: nowMs };
    const list = channel.runs;
    let at = list.length;
    while (at > 0 && list[at - 1]!.run.k0 > run.k0) at--;
    if (at === list.length) list.push(pending);
    else list.splice(at, 0, pending);
  }

  /** Adds a channel to the windows. Its samples from before the current window were never sent. */
  #activate(channel: ClockChannel, k0: number): void {
    const { stream, config } = channel;
    if (this.channels.length === 0) this.#begin(stream, config, k0);
    const sentTo = channel.kFrom;
    channel.kFrom = this.#edge(stream, config.rateNanoHz, this.window);
    channel.kTo = this.#edge(stream, config.rateNanoHz, this.window + 1);
    if (sentTo < channel.kFrom) addGap(channel.gaps, sentTo, channel.kFrom);
    channel.active = true;
    channel.misses = 0;
    this.channels.push(channel);
    this.#choosePrimaries();
  }

  /** Starts or restarts the windows at a sample, never before a window already sent. */
  #begin(clock: StreamClock, config: ChannelConfig, k0: number): void {
    const deviceNs = (BigInt(k0) * 1_000_000_000_000_000_000n) / BigInt(config.rateNanoHz);
    const startNs = clock.epochNs + deviceNs - BigInt(PHASE_SLACK_NS);
    const window = Number(startNs / BigInt(WINDOW_NS));
    const phaseNs = Number(startNs % BigInt(WINDOW_NS));
    if (window < this.window) return;
    // The same number as the next window, with an earlier phase, would overlap the window already sent.
    this.window = window === this.window && phaseNs < this.phaseNs ? window + 1 : window;
    this.phaseNs = phaseNs;
  }

  /** First grid index at or after a window's start. */
  #edge(clock: StreamClock, rateNanoHz: number, window: number): number {
    const deviceNs = (window - clock.epochWindow) * WINDOW_NS + (this.phaseNs - clock.epochRestNs);
    if (deviceNs <= 0) return 0;
    if (rateNanoHz % 1e9 !== 0 || deviceNs >= Number.MAX_SAFE_INTEGER) {
      const exact = BigInt(window - clock.epochWindow) * BigInt(WINDOW_NS) + BigInt(this.phaseNs - clock.epochRestNs);
      return gridCeil(exact, rateNanoHz);
    }
    const fs = rateNanoHz / 1e9;
    const sec = Math.floor(deviceNs / 1e9);
    return sec * fs + Math.ceil(((deviceNs - sec * 1e9) * fs) / 1e9);
  }

  #addLate(channel: ClockChannel, run: SampleRun, to: number): void {
    const ageMs = ((channel.kFrom - run.k0) / channel.config.rateNanoHz) * 1e12;
    if (ageMs > LATE_MS_MAX) return;
    const gaps = channel.gaps;
    for (let i = 0; i < gaps.length; i += 2) {
      const from = Math.max(gaps[i]!, run.k0);
      const end = Math.min(gaps[i + 1]!, to);
      if (from >= end) continue;
      if (channel.late.length >= LATE_PIECES_MAX) return;
      channel.late.push({ run, from, to: end });
      this.lateSampleCount += end - from;
      // Samples sent now are no longer missing.
      if (from === gaps[i] && end === gaps[i + 1]) {
        gaps.splice(i, 2);
        i -= 2;
      } else if (from === gaps[i]) gaps[i] = end;
      else if (end === gaps[i + 1]) gaps[i + 1] = from;
      else gaps.splice(i + 1, 0, from, end);
    }
  }

  /** Emits every window that is complete or overdue, in order. @param emit called with `window` and the channels' [kFrom, kTo) set */
  advance(nowMs: number, emit: (incomplete: boolean) => void): void {
    for (;;) {
      this.#forgetGone(nowMs);
      const channels = this.channels;
      if (channels.length === 0) {
        this.dueMs = Infinity;
        return;
      }
      let complete = true;
      let passedMs = Infinity; // when the first channel passed the window's end
      let staleMs = Infinity; // when samples that do not fill their window are sent anyway
      let next = Infinity; // device-time order of the first waiting sample, as a window number
      for (let i = 0; i < channels.length; i++) {
        const channel = channels[i]!;
        const runs = channel.runs;
        const covers = channel.covered() >= channel.kTo;
        if (!covers && channel.misses < MISSES_MAX) complete = false;
        for (let j = 0; j < runs.length; j++) {
          if (runs[j]!.end >= channel.kTo) {
            if (runs[j]!.receivedMs < passedMs) passedMs = runs[j]!.receivedMs;
            break;
          }
        }
        if (covers && passedMs === Infinity) passedMs = channel.lastMs; // a slow channel whose next sample lies beyond
        if (runs.length > 0) {
          if (channel.staleAtMs < staleMs) staleMs = channel.staleAtMs;
          const k = Math.max(runs[0]!.run.k0, channel.kFrom); // a long run may have begun in windows already sent
          if (k < channel.kTo) next = this.window;
          else if (next > this.window) next = Math.min(next, this.#windowOf(channel, k));
        }
      }
      if (next === Infinity) {
        this.dueMs = this.#nextGoneMs();
        return; // no sample is waiting
      }
      if (next > this.window) {
        // Nothing in this window: leave it out once no more samples can be expected in it.
        const dueMs = passedMs === Infinity ? staleMs : passedMs + this.#deadlineMs;
        if (!complete && nowMs < dueMs) {
          this.dueMs = dueMs;
          return;
        }
        this.#moveTo(next, false);
        continue;
      }
      const dueMs = passedMs === Infinity ? staleMs : passedMs + this.#deadlineMs;
      if ((!complete || passedMs === Infinity) && nowMs < dueMs) {
        this.dueMs = dueMs;
        return;
      }
      this.receivedMs = 0;
      for (let i = 0; i < channels.length; i++) this.receivedMs = Math.max(this.receivedMs, channels[i]!.lastMs);
      emit(!complete);
      this.#moveTo(this.window + 1, true);
    }
  }

  /** Notes the samples sent as missing, and makes `window` the current one. */
  #moveTo(window: number, emitted: boolean): void {
    for (const channel of this.channels) {
      const covered = channel.covered();
      if (emitted) {
        if (channel.late.length > 0) channel.late.length = 0;
        if (covered >= channel.kTo) channel.misses = 0;
        else channel.misses++;
      }
      const rate = channel.config.rateNanoHz;
      const kTo = window === this.window + 1 ? channel.kTo : this.#edge(channel.stream, rate, window);
      if (covered < kTo) noteGaps(channel, Math.max(channel.kFrom, channel.kFirst), kTo);
      const { runs } = channel;
      let consumed = 0;
      while (consumed < runs.length && runs[consumed]!.end <= kTo) consumed++;
      if (consumed === 1 && runs.length === 1) runs.pop(); // the usual case: setting a length is a call into the runtime
      else if (consumed > 0) runs.splice(0, consumed);
      channel.kFrom = kTo;
      channel.kTo = this.#edge(channel.stream, rate, window + 1);
    }
    this.window = window;
  }

  /** Window that a grid index lies in. */
  #windowOf(channel: ClockChannel, k: number): number {
    const { stream, config } = channel;
    const deviceNs = (k / config.rateNanoHz) * 1e18;
    let window = stream.epochWindow + Math.floor((deviceNs - this.phaseNs + stream.epochRestNs) / WINDOW_NS);
    while (this.#edge(stream, config.rateNanoHz, window) > k) window--;
    while (this.#edge(stream, config.rateNanoHz, window + 1) <= k) window++;
    return window;
  }

  #forgetGone(nowMs: number): void {
    const channels = this.channels;
    let any = false;
    for (let i = 0; i < channels.length; i++) {
      const channel = channels[i]!;
      if (nowMs < channel.goneAtMs || channel.runs.length > 0) continue;
      channel.active = false;
      channel.late.length = 0;
      channels.splice(i, 1);
      i--;
      any = true;
    }
    if (any) this.#choosePrimaries();
  }

  /** Drops streams silent for longer than late samples are accepted. */
  #forgetStreams(nowMs: number): void {
    for (const [streamId, clock] of this.#streams) {
      if (nowMs - clock.lastMs > LATE_MS_MAX && clock.channels.every((channel) => channel?.active !== true)) this.#streams.delete(streamId);
    }
  }

  #nextGoneMs(): number {
    let at = Infinity;
    for (const channel of this.channels) if (channel.goneAtMs < at) at = channel.goneAtMs;
    return at;
  }

  /** Makes the oldest active channel of each kind its primary one. */
  #choosePrimaries(): void {
    const seen = new Set<string>();
    for (const channel of this.channels) {
      const { kind } = channel.config;
      const primary = (kind === 'ecg' || kind === 'ppg' || kind === 'eda' || kind === 'temp') && !seen.has(kind);
      seen.add(kind);
      if (channel.primary !== primary) channel.head = null;
      channel.primary = primary;
    }
  }
}

/** Enters the missing parts of [from, to) into the channel's gaps. */
function noteGaps(channel: ClockChannel, from: number, to: number): void {
  let at = from;
  for (const { run, end } of channel.runs) {
    if (run.k0 >= to) break;
    if (run.k0 > at) addGap(channel.gaps, at, run.k0);
    if (end > at) at = end;
  }
  if (at < to) addGap(channel.gaps, at, to);
}

function addGap(gaps: number[], from: number, to: number): void {
  if (gaps.length > 0 && gaps[gaps.length - 1] === from) gaps[gaps.length - 1] = to;
  else gaps.push(from, to);
  if (gaps.length > 2 * GAPS_MAX) gaps.splice(0, 2);
}

/** Says whether this is live data: near our clock, and advancing as before. */
function believable(clock: StreamClock, stream: LiveStream, runs: readonly SampleRun[], nowMs: number, unixMs: number): boolean {
  const last = runs[runs.length - 1]!;
  const rate = stream.channels[last.channelNo]?.rateNanoHz ?? 1e9;
  const endMs = clock.epochWindow * WINDOW_MS + clock.epochRestNs / 1e6 + ((last.k0 + last.samples.length - 1) / rate) * 1e12;
  const leadMs = endMs - unixMs;
  if (Math.abs(leadMs) > OFF_MS_MAX) return false;
  if (leadMs < -FRESH_MS) {
    if (!(Math.abs(leadMs - clock.anchorLeadMs) <= STEADY_MS)) {
      clock.anchorLeadMs = leadMs;
      clock.anchorAtMs = nowMs;
    }
    if (nowMs - clock.anchorAtMs < STEADY_FOR_MS) return false;
  }
  if (Number.isNaN(clock.leadMs)) {
    clock.leadMs = leadMs;
    return true;
  }
  if (leadMs > clock.leadMs + LEAP_MS) {
    clock.leapCount = Math.abs(leadMs - clock.leapLeadMs) < LEAP_MS ? clock.leapCount + 1 : 1;
    clock.leapLeadMs = leadMs;
    if (clock.leapCount < LEAP_PACKETS) return false;
    clock.leadMs = leadMs;
  } else if (leadMs > clock.leadMs) clock.leadMs = leadMs;
  else clock.leadMs += (leadMs - clock.leadMs) * 0.001; // a slow clock is followed, a late packet hardly counts
  clock.leapCount = 0;
  return true;
}
