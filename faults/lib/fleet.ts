/** Devices that stream through whatever happens, with a ledger: half of them over WebSocket, half by HTTP batches. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpSender } from '../../src/cli/client/http-sender.ts';
import { LedgerWriter } from '../../src/cli/client/ledger.ts';
import type { LedgerKey } from '../../src/cli/client/ledger.ts';
import { createSimulatedDevice } from '../../src/cli/simulator/device.ts';
import { createPacketSource } from '../../src/cli/simulator/packets.ts';
import type { SimulatedPacket } from '../../src/cli/simulator/packets.ts';
import type { Packet } from '../../src/proto/packet.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { SocketSender } from './socket-sender.ts';

export type FleetOptions = Readonly<{
  url: string;
  credential: string;
  /** Path of the ledger without extension. */
  ledger: string;
  prefix: string;
  seed: number;
  deviceCount: number;
  packetMs: number;
}>;

type Device = {
  key: Omit<LedgerKey, 'seq'>;
  next: () => SimulatedPacket;
  offsetNs: bigint;
  seq: number;
  sender: 'http' | 'socket';
  dueMs: number;
};

export class Fleet {
  readonly #options: FleetOptions;
  readonly #ledger: LedgerWriter;
  readonly #http: HttpSender;
  readonly #sockets = new Map<Device, SocketSender>();
  readonly #devices: Device[];
  readonly #keys = new Map<number, LedgerKey & { sentMs: number }>();
  /** When the newest acknowledged packet of each device was made, performance.now(). */
  readonly #acknowledged = new Map<string, number>();
  readonly #abort = new AbortController();
  readonly #startedMs = performance.now();
  #tag = 0;
  #producing: Promise<void>;
  #paused = false;
  #longestWaitMs = 0;
  /** What silent devices would have sent; null: they are not silent. */
  #held: (() => void)[] | null = null;
  #stopped = false;
  acceptedCount = 0;
  refusedCount = 0;
  #httpFailure = 'no error';
  /** By code. */
  readonly refusals: Record<string, number> = {};

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#ledger = new LedgerWriter(options.ledger);
    const { url, credential } = options;
    const onSettled = (tag: number, code: string): void => this.#settled(tag, code);
    this.#http = new HttpSender({ url, credential, signal: this.#abort.signal, giveUpMs: 3_600_000, onSettled });
    const startUnixNs = BigInt(Date.now()) * 1_000_000n;
    this.#devices = Array.from({ length: options.deviceCount }, (_, i) => this.#makeDevice(i, startUnixNs));
    for (const device of this.#devices) {
      if (device.sender === 'socket') this.#sockets.set(device, new SocketSender({ url, credential, onSettled }));
    }
    this.#producing = this.#produce();
  }

  get pendingCount(): number {
    return this.#keys.size;
  }

  /** The longest time from the making of a packet to its acknowledgement since this was last asked, ms. */
  takeLongestWaitMs(): number {
    const ms = this.#longestWaitMs;
    this.#longestWaitMs = 0;
    return ms;
  }

  /** Every device has had a packet acknowledged that it made after that. @param sinceMs performance.now() */
  hasEach(sinceMs: number): boolean {
    return this.#devices.every(({ key }) => (this.#acknowledged.get(key.deviceId) ?? 0) > sinceMs);
  }

  /** Moves every device's clock forward by up to this much from now on: a device that slept. */
  stepClocks(stepNs: (index: number) => bigint): void {
    for (const [i, device] of this.#devices.entries()) device.offsetNs += stepNs(i);
  }

  /** Devices record on and send nothing. @returns how to let them send what they have */
  silence(): () => void {
    this.#held ??= [];
    return () => this.#goOn();
  }

  #goOn(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const send of held) send();
  }

  /** Devices that restart: another boot, device time from 0. */
  reboot(): void {
    const nowNs = BigInt(Date.now()) * 1_000_000n;
    for (const [i, device] of this.#devices.entries()) {
      const fresh = this.#makeDevice(i, nowNs);
      Object.assign(device, { key: fresh.key, next: fresh.next, offsetNs: 0n, seq: 0, dueMs: performance.now() - this.#startedMs });
    }
  }

  /** Stops making packets, waits until all are settled, closes the ledger. @throws Error when some are not settled in time */
  async stop(timeoutMs = 180_000): Promise<void> {
    if (this.#stopped) return; // closing a file twice would close another file's
    this.#stopped = true;
    this.#paused = true;
    await this.#producing;
    this.#goOn();
    const settled = Promise.all([this.#http.flush(), ...[...this.#sockets.values()].map((sender) => sender.flush())]);
    const late = await Promise.race([settled.then(() => false), sleep(timeoutMs, true, { ref: false })]);
    this.#abort.abort();
    for (const sender of this.#sockets.values()) sender.close();
    this.#ledger.close();
    if (late) {
      const sockets = [...this.#sockets.values()].map((sender) => `${sender.pendingCount} (${sender.state})`).join(', ');
      throw new Error(
        `${this.#keys.size} packets were not settled within ${timeoutMs} ms; on sockets ${sockets}; HTTP: ${this.#httpFailure}`,
      );
    }
  }

  /** One packet more, of a device of its own, sent and answered alone. @returns whether it was acknowledged */
  async probe(): Promise<boolean> {
    const device = this.#devices[this.#devices.length - 1]!;
    const boot = createHash('sha256')
      .update(`probe ${this.#tag++} ${this.#options.prefix} ${this.#options.seed}`)
      .digest('hex')
      .slice(0, 32);
    const { packet } = device.next();
    const key = { deviceId: `${this.#options.prefix}probe`, bootId: boot, seq: 0 };
    const blocks = packet.blocks.map((block) => ({ ...block, tOffsetNs: 0 }));
    const nowNs = BigInt(Date.now()) * 1_000_000n;
    const times = { t0DeviceNs: 0n, t0UnixNs: nowNs, sentUnixNs: nowNs };
    const bytes = encodePacket({ ...packet, ...key, ...times, blocks, subject: `${this.#options.prefix}probe` });
    this.#ledger.sent(key, bytes);
    try {
      const answer = await fetch(new URL('/ingest/raw-packet', this.#options.url), {
        method: 'POST',
        headers: { authorization: `Bearer ${this.#options.credential}`, 'content-type': 'application/x-protobuf' },
        body: bytes as Uint8Array<ArrayBuffer>,
        signal: AbortSignal.timeout(5000),
      });
      await answer.arrayBuffer();
      if (answer.status !== 202) return false;
    } catch {
      return false;
    }
    this.#ledger.settled(key, 'accepted');
    this.acceptedCount++;
    return true;
  }

  #makeDevice(index: number, startUnixNs: bigint): Device {
    const { prefix, seed, packetMs } = this.#options;
    const personSeed = (seed * 100_003 + index) >>> 0;
    const deviceId = `${prefix}${index}`;
    const bootId = createHash('sha256').update(`${deviceId} ${startUnixNs}`).digest('hex').slice(0, 32);
    const device = createSimulatedDevice({ seed: personSeed, channels: ['ecg.ii', 'ppg.ir', 'acc.x'], pvcPercent: 3 });
    const next = createPacketSource(device, { deviceId, bootId, subject: deviceId, startUnixNs, packetMs });
    return { key: { deviceId, bootId }, next, offsetNs: 0n, seq: 0, sender: index % 2 === 0 ? 'socket' : 'http', dueMs: 0 };
  }

  async #produce(): Promise<void> {
    const { packetMs } = this.#options;
    while (!this.#paused) {
      const nowMs = performance.now() - this.#startedMs;
      for (const device of this.#devices) {
        // What became due while the loop was held up comes at once: a device records on.
        for (; device.dueMs <= nowMs && !this.#paused; device.dueMs += packetMs) this.#sendNext(device);
      }
      this.#ledger.flush();
      await sleep(packetMs / 4);
    }
  }

  #sendNext(device: Device): void {
    const made = device.next().packet;
    const packet: Packet = {
      ...made,
      seq: device.seq++,
      t0DeviceNs: made.t0DeviceNs + device.offsetNs,
      t0UnixNs: made.t0UnixNs + device.offsetNs,
      sentUnixNs: made.sentUnixNs + device.offsetNs,
    };
    const key = { ...device.key, seq: packet.seq };
    const bytes = encodePacket(packet);
    const tag = this.#tag++;
    this.#keys.set(tag, { ...key, sentMs: performance.now() });
    this.#ledger.sent(key, bytes);
    const send = (): void => {
      if (device.sender === 'socket') this.#sockets.get(device)!.send(bytes, tag);
      // Not awaited: the device goes on recording while the service is away. What is queued is bounded by the length of the outage.
      else void this.#http.send(bytes, tag).catch((error: unknown) => (this.#httpFailure = String(error)));
    };
    if (this.#held === null) send();
    else this.#held.push(send);
  }

  #settled(tag: number, code: string): void {
    const sent = this.#keys.get(tag);
    this.#keys.delete(tag);
    if (sent === undefined) return;
    const { sentMs, ...key } = sent;
    this.#ledger.settled(key, code);
    if (code === 'accepted') {
      this.acceptedCount++;
      this.#longestWaitMs = Math.max(this.#longestWaitMs, performance.now() - sentMs);
      this.#acknowledged.set(key.deviceId, Math.max(sentMs, this.#acknowledged.get(key.deviceId) ?? 0));
    } else {
      this.refusedCount++;
      this.refusals[code] = (this.refusals[code] ?? 0) + 1;
    }
  }
}
