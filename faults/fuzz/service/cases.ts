/** Behaviour of a hostile or broken device: one boot of it, some packets with mutations, and how they travel. Plain JSON. */
import { createHash } from 'node:crypto';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { createSimulatedDevice } from '../../../src/cli/simulator/device.ts';
import { createPacketSource } from '../../../src/cli/simulator/packets.ts';
import { createRandom } from '../../../src/cli/simulator/random.ts';
import type { Random } from '../../../src/cli/simulator/random.ts';
import type { Block, Packet } from '../../../src/proto/packet.ts';
import { encodePacket } from '../../../src/proto/packet-encode.ts';
import type { ChannelConfig } from '../../../src/signal.ts';
import { makeMutation, mutatePacket } from './packet-mutations.ts';
import type { Mutation } from './packet-mutations.ts';

const bases = ['simulated', 'reports', 'floats', 'short', 'leads', 'slow', 'fast', 'flagged', 'recorded', 'empty'] as const;
const transports = ['http', 'batch', 'socket'] as const;
const codings = ['none', 'gzip', 'zstd', 'bomb', 'damaged', 'unknown'] as const;
const senders = ['key', 'user', 'stranger'] as const;

export type Case = Readonly<{
  index: number;
  base: (typeof bases)[number];
  /** Boots of one device share its record. */
  device: number;
  packetCount: number;
  mutations: readonly Readonly<{ packet: number; mutation: Mutation }>[];
  transport: (typeof transports)[number];
  coding: (typeof codings)[number];
  sender: (typeof senders)[number];
  /** Of the first packet; digits. */
  seqFrom: number;
  /** Everything is sent twice. */
  again?: boolean;
}>;

const DEVICES = 12;
const seqs = [0, 0, 0, 1, 63, 64, 2 ** 31 - 2, 2 ** 31 - 1, 2 ** 32 - 1, 2 ** 53 - 4];

const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random.next() * list.length)]!;

export function makeCases(seed: number, count: number): readonly Case[] {
  const random = createRandom(seed, 'service fuzz');
  return Array.from({ length: count }, (_, index) => {
    const packetCount = 1 + Math.floor(random.next() * 4);
    const mutationCount = random.next() < 0.06 ? 0 : 1 + Math.floor(random.next() ** 2 * 5);
    return {
      index,
      base: pick(random, bases),
      device: Math.floor(random.next() * DEVICES),
      packetCount,
      mutations: Array.from({ length: mutationCount }, () => ({
        packet: Math.floor(random.next() * packetCount),
        mutation: makeMutation(random),
      })),
      transport: pick(random, transports),
      coding: random.next() < 0.7 ? 'none' : pick(random, codings),
      sender: random.next() < 0.8 ? 'key' : pick(random, senders),
      seqFrom: pick(random, seqs),
      again: random.next() < 0.2,
    };
  });
}

/** @param round tells the boots of one play from those of another */
export function packetsOf(given: Case, round: string, subject: string): readonly Uint8Array[] {
  const packets = basePackets(given, round, subject).map((packet, i) =>
    mutatePacket(
      encodePacket(packet, given.base === 'short' ? 'int24' : 'deltas'),
      given.mutations.filter((one) => one.packet === i).map(({ mutation }) => mutation),
    ),
  );
  return given.again === true ? [...packets, ...packets] : packets;
}

const HOUR_NS = 3_600_000_000_000n;
const PACKET_MS = 1000;

function basePackets({ base, index, device, packetCount, seqFrom }: Case, round: string, subject: string): readonly Packet[] {
  const bootId = createHash('sha256').update(`${round} ${index}`).digest('hex').slice(0, 32);
  const nowNs = BigInt(Date.now()) * 1_000_000n;
  const source = createPacketSource(createSimulatedDevice({ seed: 1 + (index % 5) }), {
    deviceId: `fuzz-${device}`,
    bootId,
    subject,
    startUnixNs: nowNs - HOUR_NS,
    packetMs: PACKET_MS,
  });
  return Array.from({ length: packetCount }, (_, i) => {
    const { packet } = source();
    return { ...packet, ...contentOf(base, packet, i), seq: Math.min(2 ** 53 - 1, seqFrom + i), sentUnixNs: nowNs };
  });
}

const channel = (code: string, kind: ChannelConfig['kind'], hz: number, lead = ''): ChannelConfig => ({
  code,
  kind,
  rateNanoHz: hz * 1e9,
  gain: 200,
  baseline: 0,
  unit: 'mV',
  lead,
});
const wave = (count: number): Int32Array =>
  Int32Array.from({ length: count }, (_, i) => Math.round(500 * Math.sin(i / 9) + (i % 200 === 0 ? 2000 : 0)));

function contentOf(base: Case['base'], packet: Packet, i: number): Partial<Packet> {
  const { blocks } = packet;
  const first = blocks[0]!;
  switch (base) {
    case 'reports':
      return {
        blocks: blocks.slice(0, 1),
        measurements: [
          { code: 'steps', tOffsetNs: 5, value: 12 + i, unit: '1', quality: 0 },
          { code: 'battery', tOffsetNs: 6, value: 80, unit: '%', quality: 1 },
        ],
        events: [{ code: 'button', tOffsetNs: 7, text: 'pressed' }],
      };
    case 'floats':
      return {
        blocks: blocks.slice(0, 2).map((block): Block => ({
          ...block,
          channel: { ...block.channel, gain: 1, baseline: 0 },
          samples: Float32Array.from(block.samples, (value) => value / 200),
        })),
      };
    case 'short':
      return { blocks: [first] };
    case 'leads':
      return {
        blocks: Array.from({ length: 20 }, (_, k): Block => ({
          ...first,
          channel: channel(`ecg.v${k}`, 'ecg', 250, `V${k}`),
          tOffsetNs: 0,
          samples: wave(250),
          qmask: null,
        })),
      };
    case 'slow':
      return { blocks: [{ channel: channel('temp.skin', 'temp', 0.001), tOffsetNs: 0, samples: wave(1), qmask: null }] };
    case 'fast':
      return { blocks: [{ channel: channel('other', 'other', 20_000), tOffsetNs: 0, samples: wave(4000), qmask: null }] };
    case 'flagged':
      return { blocks: blocks.map((block) => ({ ...block, qmask: Uint8Array.from(block.samples, (_, k) => k % 3) })) };
    case 'recorded':
      return { recordedUnixNs: 1_500_000_000_000_000_000n + packet.t0DeviceNs };
    case 'empty':
      return { blocks: [] };
    default:
      return {};
  }
}

/** A bomb says little and is much. */
const BOMB_BYTES = 32 * 1024 * 1024;
let bomb: Uint8Array<ArrayBuffer> | null = null;

/** How a body travels. */
export function coded(
  body: Uint8Array,
  coding: Case['coding'],
): Readonly<{ body: Uint8Array<ArrayBuffer>; headers: Readonly<Record<string, string>> }> {
  const plain = Uint8Array.from(body);
  switch (coding) {
    case 'gzip':
      return { body: Uint8Array.from(gzipSync(plain)), headers: { 'content-encoding': 'gzip' } };
    case 'zstd':
      return { body: Uint8Array.from(zstdCompressSync(plain)), headers: { 'content-encoding': 'zstd' } };
    case 'bomb':
      bomb ??= Uint8Array.from(gzipSync(Buffer.alloc(BOMB_BYTES)));
      return { body: bomb, headers: { 'content-encoding': 'gzip' } };
    case 'damaged':
      return { body: Uint8Array.from(gzipSync(plain)).slice(0, -3), headers: { 'content-encoding': 'gzip' } };
    case 'unknown':
      return { body: plain, headers: { 'content-encoding': 'compress' } };
    default:
      return { body: plain, headers: {} };
  }
}
