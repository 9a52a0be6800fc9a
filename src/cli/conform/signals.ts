/** Packets of the run's devices: their samples are known, so that answers can be compared with them. */
import { randomBytes } from 'node:crypto';
import type { Packet } from '../../proto/packet.ts';
import { encodePacket } from '../../proto/packet-encode.ts';
import type { SampleEncoding } from '../../proto/packet-encode.ts';
import type { ChannelConfig, Samples } from '../../signal.ts';

export const SECOND_NS = 1_000_000_000n;
export const nowNs = (): bigint => BigInt(Date.now()) * 1_000_000n;
export const newBoot = (): string => randomBytes(16).toString('hex');

export const ecg: ChannelConfig = { code: 'ecg.ii', kind: 'ecg', rateNanoHz: 250e9, gain: 200, baseline: 0, unit: 'mV', lead: 'II' };

/** Integers whose changes no rounding hides: they rise, fall and repeat. */
export const staircase = (count: number, from = 0): Int32Array =>
  Int32Array.from({ length: count }, (_, k) => (((from + k) * 7919) % 4001) - 2000);

/** A heart that beats once a second, in LSB: 250 Hz, R peaks of 1.2 mV, a T wave, a little hum. */
export function heartbeat(count: number, from = 0): Int32Array {
  return Int32Array.from({ length: count }, (_, i) => {
    const t = ((from + i) % 250) / 250;
    const bump = (at: number, width: number, height: number): number => height * Math.exp(-((t - at) ** 2) / (2 * width ** 2));
    return Math.round(
      bump(0.4, 0.012, 240) - bump(0.43, 0.012, 50) + bump(0.68, 0.05, 50) + bump(0.25, 0.03, 25) + 3 * Math.sin((from + i) * 1.7),
    );
  });
}

/** A packet with one second of the heartbeat from a minute ago, unless `changes` says otherwise. */
export function packet(deviceId: string, bootId: string, seq: number, subject: string, changes: Partial<Packet> = {}): Packet {
  return {
    schemaVersion: 1,
    deviceId,
    bootId,
    seq,
    t0DeviceNs: BigInt(seq % 1000) * SECOND_NS,
    t0UnixNs: nowNs() - 60n * SECOND_NS,
    sentUnixNs: 0n,
    subject,
    firmware: 'conform',
    blocks: [block(heartbeat(250, 250 * (seq % 1000)))],
    measurements: [],
    events: [],
    ...changes,
  };
}

export function block(samples: Samples, channel: Partial<ChannelConfig> = {}, qmask: Uint8Array | null = null, tOffsetNs = 0) {
  return { channel: { ...ecg, ...channel }, tOffsetNs, samples, qmask };
}

export const encoded = (one: Packet, encoding: SampleEncoding = 'deltas'): Uint8Array => encodePacket(one, encoding);

/** ISO 8601 with nanoseconds. */
export function isoOf(ns: bigint): string {
  const floor = ((ns % SECOND_NS) + SECOND_NS) % SECOND_NS;
  return `${new Date(Number((ns - floor) / 1_000_000n)).toISOString().slice(0, 19)}.${String(floor).padStart(9, '0')}Z`;
}
