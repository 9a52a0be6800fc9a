/** Packets of a simulated device: what `npm start`, `biosignal simulate`, tests and benches send. */
import type { Block, Packet } from '../../proto/packet.ts';
import { SCHEMA_VERSION } from '../../proto/packet.ts';
import { gridTimeNs } from '../../signal.ts';
import type { SimulatedDevice, SimulatedSpan } from './device.ts';

export type PacketSourceOptions = Readonly<{
  deviceId: string;
  /** 32 lower-case hexadecimal digits. */
  bootId: string;
  subject: string;
  /** Unix ns of device time 0. */
  startUnixNs: bigint;
  packetMs: number;
  firmware?: string;
  /** Device clock against the wall clock, ppm; positive: it runs fast, and reaches a device time earlier on the wall. */
  skewPpm?: number;
}>;

export type SimulatedPacket = Readonly<{
  packet: Packet;
  /** The truth of the packet's time. */
  span: SimulatedSpan;
  /** Wall time after the start at which its last sample was taken, ms. */
  dueMs: number;
}>;

/** @returns next(), which makes one packet per call, each packetMs of device time */
export function createPacketSource(device: SimulatedDevice, options: PacketSourceOptions): () => SimulatedPacket {
  const clockRate = 1 + (options.skewPpm ?? 0) / 1e6;
  let seq = 0;
  return () => {
    const span = device.next(options.packetMs);
    const t0Ms = Number(span.t0DeviceNs) / 1e6 / clockRate;
    const t1Ms = Number(span.t1DeviceNs) / 1e6 / clockRate;
    const blocks = span.runs.map((run): Block => {
      const channel = device.channels[run.channelNo]!;
      const tOffsetNs = Number(gridTimeNs(run.k0, channel.rateNanoHz) - span.t0DeviceNs);
      return { channel, tOffsetNs, samples: run.samples, qmask: run.qmask };
    });
    const packet: Packet = {
      schemaVersion: SCHEMA_VERSION,
      deviceId: options.deviceId,
      bootId: options.bootId,
      seq: seq++,
      t0DeviceNs: span.t0DeviceNs,
      t0UnixNs: options.startUnixNs + BigInt(Math.round(t0Ms * 1e6)),
      sentUnixNs: options.startUnixNs + BigInt(Math.round(t1Ms * 1e6)),
      subject: options.subject,
      firmware: options.firmware ?? 'biosignal-simulator',
      blocks,
      measurements: [],
      events: [],
    };
    return { packet, span, dueMs: t1Ms };
  };
}
