/** Decides whether a decoded packet may be stored, and puts its samples on the stream's grid. Pure: bad data is a value with a code. */
import type { Rejected } from '../errors.ts';
import { rejected } from '../errors.ts';
import type { DecodedPacket, Packet } from '../proto/packet.ts';
import type { ChannelConfig, ChannelNo, SampleRun } from '../signal.ts';
import { gridIndex, isRecordable } from '../signal.ts';
import type { Placement } from './clock-fit.ts';
import type { Repeat, Session } from './session.ts';
import { sameChannel } from './session.ts';
import type { Admitted } from './sink.ts';

/** A sequence number received before. `unknown`: its content must be recalled first; `unverified`: it can no longer be compared. */
export type Duplicate = Readonly<{ kind: 'duplicate'; seq: number; content: Exclude<Repeat, 'other'> }>;

export type AdmissionLimits = Readonly<{
  /** Channel configurations of one stream. */
  channelsMax: number;
  /** Separate ranges of sequence numbers of one stream: bounds the memory that gaps cost. */
  seqRangesMax: number;
  /** Longest span of a block, seconds. */
  blockSpanSecMax: number;
  /** Greatest offset within a packet, seconds. */
  offsetSecMax: number;
  /** How far in the future the corrected time may be, seconds; allows for a clock that has run fast since the stream was opened. */
  futureSecMax: number;
  /** Maximum delay of a packet that is used to measure the clock of its device, ms of device time. */
  reorderWindowMs: number;
}>;

export const defaultAdmissionLimits: AdmissionLimits = {
  channelsMax: 64,
  seqRangesMax: 4096,
  blockSpanSecMax: 3600,
  offsetSecMax: 86_400,
  futureSecMax: 600,
  reorderWindowMs: 10_000,
};

/** Nano-hertz. */
const RATE_MIN = 1_000_000; // 1 mHz
const RATE_MAX = 1_000_000_000_000_000; // 1 MHz
const DEVICE_NS_MAX = 1n << 62n; // 146 years: k stays below 2^53 at 1 MHz
const TIME_MIN_NS = 946_684_800_000_000_000n; // 2000-01-01
const OUTSIDE_CALENDAR = 'states a time outside of 1900 to 2199';
const CODE = /^[a-z0-9][a-z0-9._-]{0,31}$/;
const PRINTABLE = /^[\x21-\x7e](?:[\x20-\x7e]{0,62}[\x21-\x7e])?$/;

const noChannels: readonly ChannelConfig[] = [];

/** Checks everything that needs no stream. Made before a stream is opened, because the packet that opens it fixes its time and its person:
 *  one that is refused must not. Packets of a stream that is open are checked by admitPacket alone. */
export function checkAlone(packet: Packet, limits: AdmissionLimits): Rejected | null {
  if (!PRINTABLE.test(packet.deviceId)) return rejected('packet_invalid', 'device_id must be 1 to 64 characters of printable ASCII');
  if (packet.t0DeviceNs >= DEVICE_NS_MAX) return rejected('packet_invalid', `t0_device_ns ${packet.t0DeviceNs} is 2^62 or more`);
  if (packet.recordedUnixNs !== undefined && !isRecordable(packet.recordedUnixNs)) return rejected('packet_clock', OUTSIDE_CALENDAR);
  const channels: ChannelConfig[] = [];
  for (const [i, { channel, samples, tOffsetNs }] of packet.blocks.entries()) {
    if (!channels.some((other) => sameChannel(other, channel))) {
      const bad = checkChannel(channel);
      if (bad !== null) return rejected('packet_invalid', `block ${i}: ${bad}`);
      if (channels.push(channel) > limits.channelsMax) return tooManyChannels(i, limits);
    }
    const bad = checkSpan(samples.length, spanOf(samples.length, channel), tOffsetNs, limits);
    if (bad !== null) return rejected('packet_invalid', `block ${i}: ${bad}`);
  }
  return checkItems(packet, limits);
}

/** Checks the time of a packet in the stream that it would begin. @param placement of that stream  @param nowNs Unix ns */
export function checkBeginning(packet: Packet, placement: Placement, limits: AdmissionLimits, nowNs: bigint): Rejected | null {
  let endOffsetNs = 0;
  for (const { channel, samples, tOffsetNs } of packet.blocks) {
    endOffsetNs = Math.max(endOffsetNs, lastOffsetOf(samples.length, spanOf(samples.length, channel), tOffsetNs));
  }
  for (const item of [...packet.measurements, ...packet.events]) endOffsetNs = Math.max(endOffsetNs, item.tOffsetNs);
  const startNs = placement.epochNs + packet.t0DeviceNs;
  return checkClock(startNs, startNs + BigInt(Math.round(endOffsetNs)), placement.timeSource === 'stated', limits, nowNs);
}

/** Device time of the end of the packet's newest data, ns; the packet's start when it has none. */
export function packetEndNs(packet: Packet): bigint {
  let end = 0;
  for (const block of packet.blocks) {
    const rate = block.channel.rateNanoHz;
    if (rate > 0) end = Math.max(end, block.tOffsetNs + (block.samples.length / rate) * 1e18);
  }
  for (const item of packet.measurements) end = Math.max(end, item.tOffsetNs);
  for (const item of packet.events) end = Math.max(end, item.tOffsetNs);
  return packet.t0DeviceNs + BigInt(Math.round(end));
}

/** Decides whether a packet may be stored. Changes nothing: `session.apply` enters the result. @param nowNs Unix ns */
export function admitPacket(
  packet: DecodedPacket,
  session: Session,
  limits: AdmissionLimits,
  nowNs: bigint,
): Admitted | Duplicate | Rejected {
  if (packet.subject !== session.subjectText) {
    const code = session.seqs.has(packet.seq) ? 'packet_conflict' : 'packet_invalid';
    return rejected(code, `subject changed within boot ${session.bootId}`);
  }
  const t0DeviceNs = packet.t0DeviceNs;
  if (t0DeviceNs >= DEVICE_NS_MAX) return rejected('packet_invalid', `t0_device_ns ${t0DeviceNs} is 2^62 or more`);
  const seq = packet.seq;
  if (session.seqs.has(seq)) {
    const content = session.compare(seq, packet.contentHash);
    if (content === 'other') return rejected('packet_conflict', `seq ${seq} was received before with other content`);
    return { kind: 'duplicate', seq, content };
  }
  if (session.seqs.rangeCount >= limits.seqRangesMax && session.seqs.opensRange(seq)) {
    return rejected('packet_invalid', `seq ${seq} would make more than ${limits.seqRangesMax} gaps in the stream`);
  }

  const blocks = packet.blocks;
  const t0 = Number(t0DeviceNs);
  const small = t0 < 4_503_599_627_370_496; // 2^52, 52 days: t0 + offset is an exact number
  const runs: SampleRun[] = [];
  let newChannels = noChannels as ChannelConfig[];
  let endOffsetNs = 0;
  for (let i = 0; i < blocks.length; i++) {
    const block = blocks[i]!;
    const config = block.channel;
    let channelNo = session.findChannel(config, i);
    if (channelNo < 0) {
      channelNo = newChannels.findIndex((other) => sameChannel(other, config));
      if (channelNo < 0) {
        const bad = checkChannel(config);
        if (bad !== null) return rejected('packet_invalid', `block ${i}: ${bad}`);
        if (session.channels.length + newChannels.length >= limits.channelsMax) return tooManyChannels(i, limits);
        if (newChannels === noChannels) newChannels = [];
        channelNo = newChannels.push(config) - 1;
      }
      channelNo += session.channels.length;
    }
    const offsetNs = block.tOffsetNs;
    const n = block.samples.length;
    const spanNs = spanOf(n, config);
    const bad = checkSpan(n, spanNs, offsetNs, limits);
    if (bad !== null) return rejected('packet_invalid', `block ${i}: ${bad}`);
    const lastNs = lastOffsetOf(n, spanNs, offsetNs);
    if (lastNs > endOffsetNs) endOffsetNs = lastNs;
    const k0 = small ? gridIndexOf(t0 + offsetNs, config.rateNanoHz) : gridIndex(t0DeviceNs + BigInt(offsetNs), config.rateNanoHz);
    runs.push({ channelNo: channelNo as ChannelNo, k0, samples: block.samples, qmask: block.qmask });
  }
  const badItem = checkItems(packet, limits);
  if (badItem !== null) return badItem;
  for (const item of packet.measurements) if (item.tOffsetNs > endOffsetNs) endOffsetNs = item.tOffsetNs;
  for (const item of packet.events) if (item.tOffsetNs > endOffsetNs) endOffsetNs = item.tOffsetNs;

  const endDeviceNs = t0DeviceNs + BigInt(Math.round(endOffsetNs));
  const startNs = session.epochNs + t0DeviceNs;
  const badClock = checkClock(startNs, session.epochNs + endDeviceNs, session.isStated, limits, nowNs);
  if (badClock !== null) return badClock;
  // The usual case, a packet in order, costs one comparison.
  const backfill = endDeviceNs < session.headDeviceNs && Number(session.headDeviceNs - endDeviceNs) > limits.reorderWindowMs * 1e6;
  return {
    kind: 'admitted',
    seq,
    contentHash: packet.contentHash,
    runs,
    newChannels,
    measurements: packet.measurements,
    events: packet.events,
    t0DeviceNs,
    endDeviceNs,
    receivedNs: nowNs,
    backfill,
  };
}

/** gridIndex in plain numbers for rates of whole hertz, because dividing bigints is expensive. Equal for 0 <= deviceNs < 2^53. */
export function gridIndexOf(deviceNs: number, rateNanoHz: number): number {
  if (rateNanoHz % 1e9 !== 0) return gridIndex(BigInt(deviceNs), rateNanoHz);
  const fs = rateNanoHz / 1e9;
  const sec = Math.floor(deviceNs / 1e9);
  const ns = deviceNs - sec * 1e9;
  return sec * fs + Math.floor((ns * fs + 5e8) / 1e9); // ns * fs <= 1e15: exact
}

function checkChannel(config: ChannelConfig): string | null {
  if (!CODE.test(config.code)) return `channel code '${config.code}'`;
  if (config.rateNanoHz < RATE_MIN || config.rateNanoHz > RATE_MAX) {
    return `channel ${config.code}: rate ${config.rateNanoHz} nHz, need ${RATE_MIN} .. ${RATE_MAX}`;
  }
  if (!Number.isFinite(config.gain) || config.gain === 0) return `channel ${config.code}: gain ${config.gain}`;
  if (!Number.isFinite(config.baseline)) return `channel ${config.code}: baseline ${config.baseline}`;
  return null;
}

const tooManyChannels = (i: number, { channelsMax }: AdmissionLimits): Rejected =>
  rejected('channel_limit', `block ${i}: more than ${channelsMax} channel configurations in one stream`);

const spanOf = (n: number, { rateNanoHz }: ChannelConfig): number => (n / rateNanoHz) * 1e18;

/** A single sample of a very slow channel is not a long block: only the time of the last sample is limited. */
const lastOffsetOf = (n: number, spanNs: number, offsetNs: number): number => offsetNs + (n === 1 ? 0 : spanNs);

function checkSpan(n: number, spanNs: number, offsetNs: number, limits: AdmissionLimits): string | null {
  if (spanNs > limits.blockSpanSecMax * 1e9 && n > 1) return `covers ${Math.round(spanNs / 1e9)} s, limit ${limits.blockSpanSecMax}`;
  if (offsetNs > limits.offsetSecMax * 1e9) return `t_offset_ns ${offsetNs}, limit ${limits.offsetSecMax} s`;
  return null;
}

function checkItems({ measurements, events }: Packet, limits: AdmissionLimits): Rejected | null {
  for (const item of measurements) {
    const bad = checkItem(item.code, item.tOffsetNs, limits);
    if (bad !== null) return rejected('packet_invalid', `measurement ${bad}`);
    if (!Number.isFinite(item.value)) return rejected('packet_invalid', `measurement ${item.code}: value ${item.value}`);
  }
  for (const item of events) {
    const bad = checkItem(item.code, item.tOffsetNs, limits);
    if (bad !== null) return rejected('packet_invalid', `event ${bad}`);
  }
  return null;
}

function checkClock(startNs: bigint, endNs: bigint, isStated: boolean, limits: AdmissionLimits, nowNs: bigint): Rejected | null {
  if (isStated) return isRecordable(startNs) && isRecordable(endNs) ? null : rejected('packet_clock', OUTSIDE_CALENDAR);
  // The usual case, a time in the past, costs one comparison.
  if (endNs > nowNs && Number(endNs - nowNs) > limits.futureSecMax * 1e9) {
    return rejected('packet_clock', `ends ${Number(endNs - nowNs) / 1e9} s in the future, limit ${limits.futureSecMax}`);
  }
  return startNs < TIME_MIN_NS ? rejected('packet_clock', 'starts before the year 2000') : null;
}

function checkItem(code: string, tOffsetNs: number, limits: AdmissionLimits): string | null {
  if (!CODE.test(code)) return `code '${code}'`;
  if (tOffsetNs > limits.offsetSecMax * 1e9) return `${code}: t_offset_ns ${tOffsetNs}, limit ${limits.offsetSecMax} s`;
  return null;
}
