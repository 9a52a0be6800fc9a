/** What ingest remembers of one stream (one boot of one device) while it is sending. */
import type { ChannelConfig, OrgId, ProjectId, StreamId, SubjectId } from '../signal.ts';
import { numberOf } from './bigints.ts';
import { ClockFitter } from './clock-fit.ts';
import { SeqSet } from './seq-set.ts';
import type { Admitted, StreamRecord } from './sink.ts';

/** Start times of the newest packets, to tell a repeated packet from a reused number. A power of two. */
const RECENT = 32;

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
  /** By ChannelNo; append-only. */
  readonly channels: ChannelConfig[];
  /** Numbers that are durable or on their way there. */
  readonly seqs: SeqSet;
  readonly clock = new ClockFitter();
  /** Device time of the end of the newest data, ns. */
  headDeviceNs = -1n;
  /** When a packet last came, ms of a monotonic clock. */
  lastUsedMs = 0;
  /** Dropped from memory: whoever still holds it must open the stream again. */
  closed = false;
  /** When the clock fit last took a pair, ms of a monotonic clock. */
  lastClockMs = -Infinity;
  /** Accepted packets on their way to durability; their commits know which. */
  unsettledCount = 0;
  /** Highest number that is durable; 0 when none is. */
  durableHigh: number;
  readonly #recentT0 = new Float64Array(RECENT).fill(-1);

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

  /** Enters an admitted packet. Call revert() when the sink does not take it. */
  apply(admitted: Admitted): void {
    this.seqs.add(admitted.seq);
    for (const config of admitted.newChannels) this.channels.push(config);
    if (admitted.endDeviceNs > this.headDeviceNs) this.headDeviceNs = admitted.endDeviceNs;
    // An older packet, come late, must not take the place of a newer one.
    if (admitted.seq > this.seqs.high - RECENT) this.#recentT0[admitted.seq % RECENT] = numberOf(admitted.t0DeviceNs);
  }

  /** Undoes apply() at once: the sink said busy, nothing else happened in between. */
  revert(admitted: Admitted): void {
    this.seqs.delete(admitted.seq);
    this.channels.length -= admitted.newChannels.length;
    this.#recentT0[admitted.seq % RECENT] = -1;
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
    this.seqs.delete(seq);
  }

  /** Was this number used for another packet? Known for the newest packets only; older ones are taken for repeats. */
  conflicts(seq: number, t0DeviceNs: bigint): boolean {
    if (seq <= this.seqs.high - RECENT) return false;
    const before = this.#recentT0[seq % RECENT]!;
    return before >= 0 && before !== numberOf(t0DeviceNs);
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
