/** State that ingest keeps in memory for one stream (one boot of one device) while it is sending. */
import type { ChannelConfig, OrgId, ProjectId, StreamId, SubjectId } from '../signal.ts';
import { ClockFitter } from './clock-fit.ts';
import { SeqSet } from './seq-set.ts';
import type { Admitted, StreamRecord } from './sink.ts';

/** Number of newest packets whose hashes are in memory, to tell a repeated packet from a reused number: 1 kB per stream. A power of two. */
const RECENT = 64;

/** Comparison of a packet with the earlier one of the same number. */
export type Repeat = 'same' | 'other' | 'unknown' | 'unverified';

/** Hashes of older packets, fetched from the sink; NaN where it has none. */
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
  /** The subject as the first packet names it; every later packet must name the same. */
  readonly subjectText: string;
  /** The node that stores the stream; '': this one. Once another does, what the session knows may be old, and it is over. */
  readonly node: string;
  /** Unix ns of device time 0. */
  readonly epochNs: bigint;
  /** The recording states when it was made, so any calendar time is valid. */
  readonly isStated: boolean;
  /** By ChannelNo; append-only. */
  readonly channels: ChannelConfig[];
  /** Sequence numbers that are durable or about to be. */
  readonly seqs: SeqSet;
  readonly clock = new ClockFitter();
  /** Device time of the end of the newest data, ns. */
  headDeviceNs = -1n;
  /** Arrival of the last packet, ms of a monotonic clock. */
  lastUsedMs = 0;
  /** Sentences for the sender, to be included in the next reply. */
  notices: readonly string[] = none;
  /** Dropped from memory: code that still holds the session must open the stream again. */
  closed = false;
  /** When the clock fit last took a pair, and was last saved, Unix ns. */
  lastPairNs = 0n;
  lastFitNs = 0n;
  /** Number of accepted packets that are not durable yet; their commits know which. */
  unsettledCount = 0;
  /** Highest number that is durable; 0 when none is. */
  durableHigh: number;
  /** Stretch of older numbers that the device is sending again. Ingest bounds how many sessions have one. */
  recalled: Recalled | null = null;
  /** By sequence number modulo RECENT: the hash, and its number; -1: none. */
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
    this.node = record.node;
    this.epochNs = record.epochNs;
    this.isStated = record.timeSource === 'stated';
    this.channels = [...record.channels];
    this.seqs = SeqSet.from(record.seqRanges);
    this.durableHigh = Math.max(0, this.seqs.high);
  }

  /** Position of a channel configuration, or -1 when it is new. Usually one identity comparison, because the decoder interns them. */
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

  /** Returns each notice once. */
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
    // A late, older packet must not replace a newer one.
    if (admitted.seq > this.seqs.high - RECENT) {
      this.#recentHash[admitted.seq % RECENT] = admitted.contentHash;
      this.#recentSeq[admitted.seq % RECENT] = admitted.seq;
    }
    if (this.recalled !== null) this.#enterRecalled(this.recalled, admitted);
  }

  /** Undoes apply() immediately after it, when the sink answers busy. */
  revert(admitted: Admitted): void {
    this.#forget(admitted.seq);
    this.channels.length -= admitted.newChannels.length;
  }

  /** Notes that an accepted packet has become durable. @param high the highest that is, where another node knows of more */
  stored(seq: number, high = seq): void {
    this.unsettledCount--;
    if (high > this.durableHigh) this.durableHigh = high;
  }

  /** Forgets an accepted packet that did not become durable, so that it may be sent again.
   *  Its channels stay, since durable packets may use them. */
  lost(seq: number): void {
    this.unsettledCount--;
    this.#forget(seq);
  }

  /** Frees a number that was not kept, for any content. */
  #forget(seq: number): void {
    this.seqs.delete(seq);
    const slot = seq % RECENT;
    if (this.#recentSeq[slot] === seq) this.#recentSeq[slot] = -1;
    const index = this.recalled === null ? -1 : seq - this.recalled.firstSeq;
    if (index >= 0) this.recalled!.hashes[index] = NaN; // no effect beyond the end
  }

  /** Compares a packet whose number is in `seqs` with the first one of that number. `unknown` for older numbers: recall, then compare. */
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

  /** Enters a late packet within the recalled stretch. */
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
