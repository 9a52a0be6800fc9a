/** A device that does everything right among those that do not: all of its packets must be acknowledged and its beats and values must be
 *  what they are when it is alone. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { derivedRows } from '../../../histories/rows.ts';
import { createSimulatedDevice } from '../../../src/cli/simulator/device.ts';
import { createPacketSource } from '../../../src/cli/simulator/packets.ts';
import { isRejected } from '../../../src/errors.ts';
import { defaultPacketLimits } from '../../../src/proto/packet.ts';
import { decodePacket } from '../../../src/proto/packet-decode.ts';
import { encodePacket } from '../../../src/proto/packet-encode.ts';
import { SocketSender } from '../../lib/socket-sender.ts';
import type { FuzzStage } from '../stage.ts';
import { bootKey } from './deliver.ts';
import type { Ledger } from './deliver.ts';

const PACKETS = 90;
const PACKET_MS = 1000;
const HOUR_NS = 3_600_000_000_000n;
/** Rows may still be on their way: they differ when nothing has changed for so long. */
const QUIET_MS = 12_000;
const WAIT_MS_MAX = 180_000;
const SEND_MS_MAX = 180_000;

export type WitnessRows = ReadonlySet<string>;

export class Witness {
  readonly bootId: string;
  readonly #packets: readonly Uint8Array<ArrayBuffer>[];
  readonly complaints: string[] = [];

  /** @param name of this boot */
  constructor(name: string, subject: string) {
    this.bootId = createHash('sha256').update(name).digest('hex').slice(0, 32);
    const startUnixNs = BigInt(Date.now()) * 1_000_000n - HOUR_NS;
    const device = createSimulatedDevice({ seed: 77, channels: ['ecg.ii', 'ppg.ir', 'acc.x', 'temp.skin'], pvcPercent: 3 });
    const next = createPacketSource(device, { deviceId: 'witness', bootId: this.bootId, subject, startUnixNs, packetMs: PACKET_MS });
    this.#packets = Array.from({ length: PACKETS }, () => encodePacket({ ...next().packet, sentUnixNs: startUnixNs + HOUR_NS }));
  }

  /** Notes all of its packets as acknowledged, or complains. */
  enter(ledger: Ledger): void {
    const sent = this.#packets.map((bytes) => {
      const packet = decodePacket(bytes, defaultPacketLimits);
      if (isRejected(packet)) throw new Error(packet.detail);
      return { packet, state: 'accepted' as const };
    });
    ledger.set(bootKey('witness', this.bootId), sent);
  }

  /** One packet after the other; what is answered busy is sent again. */
  async sendOverHttp(stage: FuzzStage, as: string): Promise<void> {
    for (const [i, body] of this.#packets.entries()) {
      for (let attempt = 1; ; attempt++) {
        const answer = await stage
          .ask('POST', '/ingest/raw-packet', { as, body, headers: { 'content-type': 'application/x-protobuf' } })
          .catch(String);
        if (typeof answer === 'string') {
          this.complaints.push(`packet ${i} of the witness got no answer: ${answer}`);
          return;
        }
        if (answer.status === 202 && answer.text.includes('"rejected":[]')) break;
        if (answer.status !== 503 || attempt > 300) {
          this.complaints.push(`packet ${i} of the witness was answered ${answer.status}: ${answer.text.slice(0, 300)}`);
          return;
        }
        await sleep(50);
      }
    }
  }

  async sendOverSocket(stage: FuzzStage, as: string): Promise<void> {
    const onSettled = (tag: number, code: string): void => {
      if (code !== 'accepted') this.complaints.push(`packet ${tag} of the witness was refused: ${code}`);
    };
    const sender = new SocketSender({ url: stage.service.url, credential: as, onSettled });
    for (const [i, bytes] of this.#packets.entries()) sender.send(bytes, i);
    const late = await Promise.race([sender.flush().then(() => false), sleep(SEND_MS_MAX, true, { ref: false })]);
    if (late) this.complaints.push(`${sender.pendingCount} packets of the witness were not settled: ${sender.state}`);
    sender.close();
  }

  /** Its beats and values when they do not change any more. @param wanted waits until they are these */
  async rows(stage: FuzzStage, wanted: WitnessRows | null): Promise<WitnessRows> {
    let found: WitnessRows = new Set();
    let sinceMs = performance.now();
    for (const deadline = performance.now() + WAIT_MS_MAX; performance.now() < deadline; await sleep(300)) {
      const rows = await derivedRows((text, values) => stage.sql(text, values), [this]);
      const now = rows.get(this.bootId) ?? new Set<string>();
      if (wanted !== null && isSame(now, wanted)) return now;
      if (!isSame(now, found)) sinceMs = performance.now();
      found = now;
      if (performance.now() - sinceMs > QUIET_MS) break;
    }
    return found;
  }

  async compare(stage: FuzzStage, wanted: WitnessRows): Promise<string[]> {
    const got = await this.rows(stage, wanted);
    if (isSame(got, wanted)) return [];
    const missing = [...wanted].filter((row) => !got.has(row));
    const extra = [...got].filter((row) => !wanted.has(row));
    return [
      `of ${wanted.size} beats and values of the witness ${missing.length} are missing (${missing.slice(0, 2).join('; ')}), ${extra.length} are there besides (${extra.slice(0, 2).join('; ')})`,
    ];
  }
}

const isSame = (a: WitnessRows, b: WitnessRows): boolean => a.size === b.size && [...a].every((row) => b.has(row));
