/** Cuts a recording into the packets that a device would have sent. Pure: the same recording and options give the same packets. */
import type { Block, Event, Packet } from '../../proto/packet.ts';
import { SCHEMA_VERSION } from '../../proto/packet.ts';
import { gridTimeNs } from '../../signal.ts';
import { eventText } from '../event-text.ts';
import type { RecordedChannel, Recording } from './recording.ts';
import { MISSING } from './recording.ts';

export type PacketizeOptions = Readonly<{
  deviceId: string;
  /** 32 lower-case hexadecimal digits. */
  bootId: string;
  subject: string;
  /** Device time that one packet covers, ms. */
  packetMs: number;
  /** Unix ns of device time 0. */
  startUnixNs: bigint;
  /** The recording states its time, which the service keeps, whatever it is. Default: as from a device with a clock, sending now. */
  stated?: boolean;
  /** Sends the recording's annotations as events with the code `annotation`. Default: false. */
  withEvents?: boolean;
}>;

/** Number of packets that cover the recording. */
export function packetCount(recording: Recording, packetMs: number): number {
  return Math.ceil((recording.durationSec * 1000) / packetMs - 1e-9);
}

/** The packet with a number: `seq` counts device time in steps of packetMs, so any packet can be made alone.
 *  @returns null when no channel has a sample in its time */
export function packetAt(recording: Recording, seq: number, options: PacketizeOptions): Packet | null {
  const t0DeviceNs = BigInt(seq) * BigInt(Math.round(options.packetMs * 1e6));
  const unixNs = options.startUnixNs + t0DeviceNs;
  const t1DeviceNs = t0DeviceNs + BigInt(Math.round(options.packetMs * 1e6));
  const blocks: Block[] = [];
  for (const channel of recording.channels) addBlocks(blocks, channel, t0DeviceNs, t1DeviceNs);
  const events = options.withEvents === true ? eventsIn(recording, t0DeviceNs, t1DeviceNs) : [];
  if (blocks.length + events.length === 0) return null;
  return {
    schemaVersion: SCHEMA_VERSION,
    deviceId: options.deviceId,
    bootId: options.bootId,
    seq,
    t0DeviceNs,
    t0UnixNs: unixNs > 0n ? unixNs : 0n,
    sentUnixNs: 0n, // the recording's own time counts, not when it is replayed
    ...(options.stated === true ? { recordedUnixNs: unixNs } : {}),
    subject: options.subject,
    firmware: 'biosignal-replay',
    blocks,
    measurements: [],
    events,
  };
}

function eventsIn(recording: Recording, t0Ns: bigint, t1Ns: bigint): Event[] {
  const from = Number(t0Ns) / 1e9;
  const to = Number(t1Ns) / 1e9;
  return recording.events
    .filter(({ atSec }) => atSec >= from && atSec < to)
    .map(({ atSec, text, durationSec }) => ({
      code: 'annotation',
      tOffsetNs: Math.round((atSec - from) * 1e9),
      text: eventText(text, durationSec),
    }));
}

/** One block per stretch without missing samples. */
function addBlocks(blocks: Block[], channel: RecordedChannel, t0Ns: bigint, t1Ns: bigint): void {
  const { config, samples } = channel;
  const startNs = BigInt(Math.round(channel.startSec * 1e9));
  const timeNs = (i: number): bigint => startNs + gridTimeNs(i, config.rateNanoHz);
  const to = Math.min(samples.length, firstAtOrAfter(timeNs, t1Ns, config.rateNanoHz, startNs));
  let i = Math.max(0, firstAtOrAfter(timeNs, t0Ns, config.rateNanoHz, startNs));
  while (i < to) {
    if (isMissing(samples[i]!)) {
      i++;
      continue;
    }
    let end = i + 1;
    while (end < to && !isMissing(samples[end]!)) end++;
    blocks.push({ channel: config, tOffsetNs: Number(timeNs(i) - t0Ns), samples: samples.subarray(i, end), qmask: null });
    i = end;
  }
}

/** Smallest index whose time is at or after tNs: an estimate, put right by one step where rounding to whole ns moved it. */
function firstAtOrAfter(timeNs: (i: number) => bigint, tNs: bigint, rateNanoHz: number, startNs: bigint): number {
  if (tNs <= startNs) return 0;
  let i = Number(((tNs - startNs) * BigInt(rateNanoHz)) / 1_000_000_000_000_000_000n);
  while (timeNs(i) < tNs) i++;
  while (i > 0 && timeNs(i - 1) >= tNs) i--;
  return i;
}

const isMissing = (value: number): boolean => value === MISSING || Number.isNaN(value);
