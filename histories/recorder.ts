/** A device of a history: records a simulated person packet by packet, keeps what it has not sent, has a wall clock that may be wrong. */
import { createSimulatedDevice, simulatedChannels } from '../src/cli/simulator/device.ts';
import type { SimulatedChannel } from '../src/cli/simulator/device.ts';
import { activities, rhythms } from '../src/cli/simulator/body.ts';
import { createPacketSource } from '../src/cli/simulator/packets.ts';
import type { SimulatedPacket } from '../src/cli/simulator/packets.ts';
import type { Packet } from '../src/proto/packet.ts';
import { encodePacket } from '../src/proto/packet-encode.ts';
import type { WallClock } from './commands.ts';

export type RecorderOptions = Readonly<{
  seed: number;
  deviceId: string;
  bootId: string;
  subject: string;
  /** True begin of the recording, Unix ms. */
  startMs: number;
  wallClock: WallClock;
  driftPpm: number;
  channels: readonly string[];
  /** Default: by the seed, as rhythm and activity are. */
  packetMs?: number | undefined;
}>;

/** Lengths of packets, ms: a device has one of them. */
const packetLengths = [1000, 1000, 400, 1730];

/** Every combination has a seed. */
const byDigit = <T>(from: readonly T[], seed: number, place: number): T => from[Math.floor(seed / place) % from.length]!;

/** A device without a clock is put where its first packet ends: what follows may lie this far ahead, s. */
const AHEAD_SEC_MAX = 400;

export class Recorder {
  readonly #options: RecorderOptions;
  readonly #next: () => SimulatedPacket;
  readonly #packetMs: number;
  readonly #channels: Set<string>;
  readonly #seqOffset: number;
  #skippedNs = 0n;
  #seq = 0;
  #recordedSec = 0;
  wallClock: WallClock;
  kept: Packet[] = [];

  constructor(options: RecorderOptions) {
    const { seed, deviceId, bootId, subject, startMs, driftPpm } = options;
    const packetMs = options.packetMs ?? byDigit(packetLengths, seed, 12);
    this.#options = options;
    this.#packetMs = packetMs;
    this.#channels = new Set(options.channels);
    this.#seqOffset = seed % 3 === 0 ? 1 : 0;
    this.wallClock = options.wallClock;
    const [rhythm, activity] = [byDigit(rhythms, seed, 1), byDigit(activities, seed, 3)];
    const device = createSimulatedDevice({ seed, channels: simulatedChannels, pvcPercent: 3, rhythm, activity });
    const startUnixNs = BigInt(Math.round(startMs)) * 1_000_000n;
    this.#next = createPacketSource(device, { deviceId, bootId, subject, startUnixNs, packetMs, skewPpm: driftPpm });
  }

  add(channel: string): void {
    this.#channels.add(channel);
  }

  /** Seconds that it can record before it would be ahead of time. */
  get #roomSec(): number {
    const { startMs } = this.#options;
    return this.#options.wallClock === 'none' || this.wallClock === 'none'
      ? AHEAD_SEC_MAX - this.#recordedSec
      : (Date.now() - startMs) / 1000 - this.#recordedSec;
  }

  skip(sec: number): void {
    const skipped = Math.max(0, Math.min(sec, this.#roomSec - 100));
    this.#recordedSec += skipped;
    this.#skippedNs += BigInt(Math.round(skipped * 1e9));
  }

  /** The packets of the next seconds, of as many as there is time for. */
  record(sec: number): void {
    const count = Math.floor((Math.min(sec, this.#roomSec) * 1000) / this.#packetMs);
    for (let i = 0; i < count; i++) this.kept.push(this.#packet());
  }

  #packet(): Packet {
    const { packet } = this.#next();
    this.#recordedSec += this.#packetMs / 1000;
    const seq = this.#seqOffset + this.#seq++;
    const blocks = packet.blocks.filter(({ channel }) => this.#channels.has(channel.code as SimulatedChannel));
    const reports = seq % 10 === 3;
    return {
      ...packet,
      seq,
      t0DeviceNs: packet.t0DeviceNs + this.#skippedNs,
      t0UnixNs: packet.t0UnixNs + this.#skippedNs,
      blocks,
      measurements: reports ? [{ code: 'battery', tOffsetNs: 0, value: 90 - (seq % 60), unit: '%', quality: 0 }] : [],
      events: reports ? [{ code: 'button', tOffsetNs: 1e6, text: `press ${seq}` }] : [],
    };
  }

  /** As it leaves the device now, by its own clock. */
  stamp(packet: Packet): Packet {
    const { wallClock } = this;
    if (wallClock === 'none') return { ...packet, t0UnixNs: 0n, sentUnixNs: 0n };
    const offsetNs = BigInt(wallClock) * 1_000_000_000n;
    return { ...packet, t0UnixNs: packet.t0UnixNs + offsetNs, sentUnixNs: BigInt(Date.now()) * 1_000_000n + offsetNs };
  }
}

export const encode = (packet: Packet): Uint8Array<ArrayBuffer> => encodePacket(packet);
