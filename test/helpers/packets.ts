/** Packets of a patch that sends a second of ECG, its battery level and its button at a time. */
import type { Packet } from '../../src/proto/packet.ts';

export type PacketChanges = Partial<Packet>;

const SECOND = 1_000_000_000n;
/** Device time 0: ten minutes before the test began. */
const epochNs = BigInt(Date.now() - 600_000) * 1_000_000n;

export function packetOf(deviceId: string, seq: number, changes: PacketChanges = {}): Packet {
  const channel = { code: 'ecg.ii', kind: 'ecg', rateNanoHz: 250e9, gain: 200, baseline: 0, unit: 'mV', lead: 'II' } as const;
  const t0DeviceNs = BigInt(seq) * SECOND;
  return {
    schemaVersion: 1,
    deviceId,
    bootId: '00112233445566778899aabbccddeeff',
    seq,
    t0DeviceNs,
    t0UnixNs: epochNs + t0DeviceNs,
    sentUnixNs: epochNs + t0DeviceNs + SECOND,
    subject: '',
    firmware: '1.0',
    blocks: [{ channel, tOffsetNs: 0, samples: Int32Array.from({ length: 250 }, (_, k) => k % 50), qmask: null }],
    measurements: [{ code: 'battery', tOffsetNs: 0, value: 90 - (seq % 60), unit: '%', quality: 0 }],
    events: [{ code: 'button', tOffsetNs: 0, text: `press ${seq}` }],
    ...changes,
  };
}
