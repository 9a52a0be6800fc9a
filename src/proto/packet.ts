/** A packet of a device as values, and its limits. The bytes: packet-decode.ts, packet-encode.ts; the schema: proto/biosignal.proto. */
import type { ChannelConfig, QualityFlag, Samples } from '../signal.ts';

export const SCHEMA_VERSION = 1;

export type Packet = Readonly<{
  schemaVersion: number;
  deviceId: string;
  /** 32 lower-case hexadecimal digits. */
  bootId: string;
  /** Below 2^53. */
  seq: number;
  /** Device clock, ns. */
  t0DeviceNs: bigint;
  /** Unix ns; 0n = unknown. */
  t0UnixNs: bigint;
  /** Unix ns; 0n = unknown. */
  sentUnixNs: bigint;
  /** xuser uuid or external id; '' = as the credential or the device's record says. */
  subject: string;
  firmware: string;
  blocks: readonly Block[];
  measurements: readonly Measurement[];
  events: readonly Event[];
  /** True time at t0DeviceNs, Unix ns, of a recording that states when it was made; undefined: only the wall clocks may know it. */
  recordedUnixNs?: bigint | undefined;
}>;

/** A packet as it arrived. */
export type DecodedPacket = Packet &
  Readonly<{
    /** 53-bit hash of the content under the packet's identity: t0_device_ns, blocks, measurements and events, as bytes on the wire. Without
     *  the wall clocks and the firmware, which may change with each attempt, and without the subject, which belongs to the stream. Detects
     *  mistakes, not forgeries. */
    contentHash: number;
  }>;

export type Block = Readonly<{
  /** Equal bytes on the wire usually give the same object: compare by identity first, never by identity alone. */
  channel: ChannelConfig;
  /** ns after t0DeviceNs, below 2^53. */
  tOffsetNs: number;
  /** length n >= 1. Decoded samples may be views on memory shared with other packets: copy what is kept for long. */
  samples: Samples;
  /** length n, or null when all are good. */
  qmask: Uint8Array | null;
}>;

export type Measurement = Readonly<{ code: string; tOffsetNs: number; value: number; unit: string; quality: QualityFlag }>;
export type Event = Readonly<{ code: string; tOffsetNs: number; text: string }>;

export type PacketLimits = Readonly<{
  /** Size of one packet, bytes. */
  packetBytesMax: number;
  /** Blocks of one packet; the same limit for measurements and for events. */
  itemsMax: number;
  /** Samples in all blocks of one packet together. */
  samplesMax: number;
}>;

export const defaultPacketLimits: PacketLimits = { packetBytesMax: 256 * 1024, itemsMax: 256, samplesMax: 262_144 };

/** The widest limits that any setting of any release allows, for packets that were accepted before. The size is the maximum of
 *  BIO_PACKET_BYTES_MAX. */
export const widestPacketLimits: PacketLimits = { ...defaultPacketLimits, packetBytesMax: 16 * 1024 * 1024 };
