/** Streams a fleet into a service: in device time at a pace, through the faults of the network, with a ledger and the truth if wanted. */
import { setTimeout as sleep } from 'node:timers/promises';
import { encodePacket } from '../../proto/packet-encode.ts';
import type { Console } from '../command.ts';
import type { LedgerWriter } from '../client/ledger.ts';
import { openSender } from '../client/packet-sender.ts';
import type { PacketSender, Transport } from '../client/packet-sender.ts';
import { startProgress } from '../progress.ts';
import { createFleetDevice } from './fleet.ts';
import type { Fleet, FleetDevice, Leaving } from './fleet.ts';
import type { TruthFile } from './truth-file.ts';

export type StreamOptions = Readonly<{
  url: string;
  credential: string;
  transport: Transport;
  /** Requests under way at a time, or sockets. */
  connections: number;
  /** Device time per wall time; Infinity: as fast as the service takes it. */
  speed: number;
  /** Packets of each device; Infinity: until Ctrl-C. */
  packetCount: number;
  ledger: LedgerWriter | null;
  truth: TruthFile | null;
}>;

export type FleetResult = Readonly<{
  packets: number;
  samples: number;
  accepted: number;
  duplicates: number;
  rejected: number;
  retries: number;
  /** Packets without an answer. */
  unsettled: number;
  faults: Readonly<{ dropped: number; duplicated: number; reordered: number; late: number }>;
  firstRejection: string;
  elapsedSec: number;
}>;

/** Returns when all packets are settled, or at Ctrl-C.  @throws the error that ended sending */
export async function streamFleet(fleet: Fleet, options: StreamOptions, console: Console): Promise<FleetResult> {
  const { speed, packetCount, ledger, truth } = options;
  const devices = Array.from({ length: fleet.deviceCount }, (_, i) => createFleetDevice(fleet, i));
  const outgoing = new Outgoing(devices, options, console.signal);
  const label = `${fleet.deviceCount} device${fleet.deviceCount === 1 ? '' : 's'}`;
  const progress = startProgress(console, label, Number.isFinite(packetCount) ? packetCount : 0);
  const startedMs = performance.now();
  let samples = 0;
  let packets = 0;
  try {
    for (let step = 0; step < packetCount && !console.signal.aborted; step++) {
      for (const [index, device] of devices.entries()) {
        const { packet, span, dueMs } = device.next();
        if (Number.isFinite(speed)) {
          const waitMs = startedMs + dueMs / speed - performance.now();
          if (waitMs > 1) await sleep(waitMs, undefined, { signal: console.signal });
        }
        await truth?.write(device.deviceId, device.bootId, device.subject, span);
        for (const block of packet.blocks) samples += block.samples.length;
        packets++;
        // A live device states the present time, so that the service can measure its clock. Faster than real time there is no such time:
        // then the samples' own time counts, as with a recording, however long a packet waits on a busy machine.
        const sentUnixNs = speed === 1 ? BigInt(Date.now()) * 1_000_000n : 0n;
        const bytes = encodePacket({ ...packet, sentUnixNs });
        await outgoing.send(index, device.path.push({ bytes, seq: packet.seq }, Number(span.t1DeviceNs) / 1e6));
      }
      const sec = (performance.now() - startedMs) / 1000;
      progress.update(step + 1, `${Math.round(packets / sec)} packets/s  ${Math.round(samples / sec)} samples/s`);
    }
    if (!console.signal.aborted) {
      for (const [index, device] of devices.entries()) await outgoing.send(index, device.path.drain());
      await outgoing.flush();
    }
  } catch (error) {
    if (!console.signal.aborted) throw error;
  } finally {
    progress.end();
    outgoing.close();
    ledger?.close();
    await truth?.close();
  }
  return { packets, samples, ...outgoing.result(), faults: sumFaults(devices), elapsedSec: (performance.now() - startedMs) / 1000 };
}

/** The connections of a fleet: each device always uses the same one, so that its packets keep the order in which they leave. */
class Outgoing {
  readonly #devices: readonly FleetDevice[];
  readonly #ledger: LedgerWriter | null;
  readonly #senders: readonly PacketSender[];
  readonly #keys = new Map<number, { deviceId: string; bootId: string; seq: number }>();
  #tags = 0;
  #firstRejection = '';

  constructor(devices: readonly FleetDevice[], options: StreamOptions, signal: AbortSignal) {
    this.#devices = devices;
    this.#ledger = options.ledger;
    const { url, credential, transport } = options;
    const onSettled = (tag: number, code: Parameters<LedgerWriter['settled']>[1], detail: string): void => this.#settled(tag, code, detail);
    this.#senders = Array.from({ length: Math.min(devices.length, options.connections) }, () =>
      openSender(transport, { url, credential, signal, onSettled }),
    );
  }

  async send(index: number, leaving: readonly Leaving[]): Promise<void> {
    const { deviceId, bootId } = this.#devices[index]!;
    for (const { bytes, seq } of leaving) {
      const tag = this.#tags++;
      this.#keys.set(tag, { deviceId, bootId, seq });
      this.#ledger?.sent({ deviceId, bootId, seq }, bytes);
      await this.#senders[index % this.#senders.length]!.send(bytes, tag);
    }
  }

  async flush(): Promise<void> {
    await Promise.all(this.#senders.map((sender) => sender.flush()));
  }

  close(): void {
    for (const sender of this.#senders) sender.close();
  }

  result(): Pick<FleetResult, 'accepted' | 'duplicates' | 'rejected' | 'retries' | 'unsettled' | 'firstRejection'> {
    const sum = (pick: (sender: PacketSender) => number): number => this.#senders.reduce((total, sender) => total + pick(sender), 0);
    return {
      accepted: sum(({ totals }) => totals.accepted),
      duplicates: sum(({ totals }) => totals.duplicates),
      rejected: sum(({ totals }) => totals.rejected),
      retries: sum(({ totals }) => totals.retries),
      unsettled: this.#keys.size,
      firstRejection: this.#firstRejection,
    };
  }

  #settled(tag: number, code: Parameters<LedgerWriter['settled']>[1], detail: string): void {
    const key = this.#keys.get(tag);
    this.#keys.delete(tag);
    if (key === undefined) return;
    this.#ledger?.settled(key, code);
    if (code !== 'accepted' && this.#firstRejection === '') this.#firstRejection = `${key.deviceId} packet ${key.seq}: ${code}: ${detail}`;
  }
}

function sumFaults(devices: readonly FleetDevice[]): FleetResult['faults'] {
  const total = { dropped: 0, duplicated: 0, reordered: 0, late: 0 };
  for (const { path } of devices) for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += path.counts[name];
  return total;
}
