/** What ingest remembers of one stream (one boot of one device) while it is sending. */
import type { ChannelConfig, OrgId, ProjectId, StreamId, SubjectId } from '../signal.ts';
import { ClockFitter } from './clock-fit.ts';
import { SeqSet } from './seq-set.ts';
import type { Admitted, StreamRecord } from './sink.ts';

/** Newest packets whose hashes are in memory, to tell a repeated packet from a reused number: 1 kB a stream. A power of two. */
const RECENT = 64;

/** What a packet is whose number was received before. */
export type Repeat = 'same' | 'other' | 'unknown' | 'unverified';

/** Hashes of older packets, asked of the sink; NaN where the sink knows none. */
export type Recalled = Readonly<{ firstSeq: number; hashes: Float64Array }>;

const none: readonly string[] = [];

export class Session {
  readonly key: string;
  readonly streamId: StreamId;
  readonly orgId: OrgId;
  readonly projectId: ProjectId;
  readonly subjectId: SubjectId;
  readonly deviceId: string;
  readonly bootId: string;
  /** The subject as the first packet named it; every later one must name the same. */
  readonly subjectText: string;
  /** Unix ns of device time 0. */
  readonly epochNs: bigint;
  /** The recording states when it was made: any time of the calendar is right. */
  readonly isStated: boolean;
  /** By ChannelNo; append-only. */
  readonly channels: ChannelConfig[];
  /** Numbers that are durable or on their way there. */
  readonly seqs: SeqSet;
  readonly clock = new ClockFitter();
  /** Device time of the end of the newest data, ns. */
  headDeviceNs = -1n;
  /** When a packet last came, ms of a monotonic clock. */
  lastUsedMs = 0;
  /** Sentences for whoever sends, which the next reply takes. */
  notices: readonly string[] = none;
  /** Dropped from memory: whoever still holds it must open the stream again. */
  closed = false;
  /** When the clock fit last took a pair, and was last noted, Unix ns. */
  lastPairNs = 0n;
  lastFitNs = 0n;
  /** Accepted packets on their way to durability; their commits know which. */
  unsettledCount = 0;
  /** Highest number that is durable; 0 when none is. */
  durableHigh: number;
  /** A stretch of older numbers that a device sends again. Ingest bounds how many sessions have one. */
  recalled: Recalled | null = null;
  /** By number modulo RECENT: the hash, and the number that it is of; -1: none. */
  readonly #recentHash = new Float64Array(RECENT);
  readonly #recentSeq = new Float64Array(RECENT).fill(-1);

  constructor(key: string, deviceId: string, bootId: string, subjectText: string, record: StreamRecord) {
    this.key = key;
    this.deviceId = deviceId;
    this.bootId = bootId;
    this.subjectText = subjectText;
    this.streamId = record.streamId;
    this.orgId = record.orgId;
    this.projectId = record.projectId;
    this.subjectId = record.subjectId;
    this.epochNs = record.epochNs;
    this.isStated = record.timeSource === 'stated';
    this.channels = [...record.channels];
    this.seqs = SeqSet.from(record.seqRanges);
    this.durableHigh = Math.max(0, this.seqs.high);
  }

  /** Position of a channel configuration, or -1 when it is new. The usual case is one identity comparison: the decoder interns. */
  findChannel(config: ChannelConfig, guess: number): number {
    const channels = this.channels;
    if (channels[guess] === config) return guess;
    for (let i = 0; i < channels.length; i++) if (channels[i] === config) return i;
    for (let i = 0; i < channels.length; i++) {
      if (sameChannel(channels[i]!, config)) {
        channels[i] = config;
        return i;
      }
    }
    return -1;
  }

  /** Each notice is told once. */
  takeNotices(): readonly string[] {
    const { notices } = this;
    this.notices = none;
    return notices;
  }

  /** Enters an admitted packet. Call revert() when the sink does not take it. */
  apply(admitted: Admitted): void {
    this.seqs.add(admitted.seq);
    for (const config of admitted.newChannels) this.channels.push(config);
    if (admitted.endDeviceNs > this.headDeviceNs) this.headDeviceNs = admitted.endDeviceNs;
    // An older packet, come late, must not take the place of a newer one.
    if (admitted.seq > this.seqs.high - RECENT) {
      this.#recentHash[admitted.seq % RECENT] = admitted.contentHash;
      this.#recentSeq[admitted.seq % RECENT] = admitted.seq;
    }
    if (this.recalled !== null) this.#enterRecalled(this.recalled, admitted);
  }

  /** Undoes apply() at once: the sink said busy, nothing else happened in between. */
  revert(admitted: Admitted): void {
    this.#forget(admitted.seq);
    this.channels.length -= admitted.newChannels.length;
  }

  /** An accepted packet has become durable. */
  stored(seq: number): void {
    this.unsettledCount--;
    if (seq > this.durableHigh) this.durableHigh = seq;
  }

  /** An accepted packet did not become durable: it is forgotten, so that it may come again.
   *  Its channels stay: they may be in use by packets that did. */
  lost(seq: number): void {
    this.unsettledCount--;
    this.#forget(seq);
  }

  /** A number that was not kept is free again, for whatever content. */
  #forget(seq: number): void {
    this.seqs.delete(seq);
    const slot = seq % RECENT;
    if (this.#recentSeq[slot] === seq) this.#recentSeq[slot] = -1;
    const index = this.recalled === null ? -1 : seq - this.recalled.firstSeq;
    if (index >= 0) this.recalled!.hashes[index] = NaN; // beyond the end: nothing happens
  }

  /** Is a packet with a number of `seqs` the one that came first? `unknown` for older numbers: recall them, then ask again. */
  compare(seq: number, contentHash: number): Repeat {
    const { recalled } = this;
    let before = this.#recentHash[seq % RECENT]!;
    if (seq <= this.seqs.high - RECENT || this.#recentSeq[seq % RECENT] !== seq) {
      const index = recalled === null ? -1 : seq - recalled.firstSeq;
      if (recalled === null || index < 0 || index >= recalled.hashes.length) return 'unknown';
      before = recalled.hashes[index]!;
      if (Number.isNaN(before)) return 'unverified';
    }
    return before === contentHash ? 'same' : 'other';
  }

  /** A packet of the recalled stretch, come late. */
  #enterRecalled({ firstSeq, hashes }: Recalled, { seq, contentHash }: Admitted): void {
    if (seq >= firstSeq && seq < firstSeq + hashes.length) hashes[seq - firstSeq] = contentHash;
  }
}

/** Equal in every field. */
export function sameChannel(a: ChannelConfig, b: ChannelConfig): boolean {
  return (
    a.code === b.code &&
    a.kind === b.kind &&
    a.rateNanoHz === b.rateNanoHz &&
    a.gain === b.gain &&
    a.baseline === b.baseline &&
    a.unit === b.unit &&
    a.lead === b.lead
  );
}
