/** Load generator: devices and viewers over bare TCP sockets with hand-made WebSocket frames, open loop and paced, in a process of its own.
 *  Sends come when they are due, whatever the service does; how late the generator itself was is part of its answer.
 *  argv[2]: JSON of LoadPlan. Prints one JSON line. Asks over IPC for nothing: writes `steady` and `done` lines on stdout. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { LedgerWriter, type LedgerKey } from '../../src/cli/client/ledger.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { ecgPacket } from './packets.ts';

export type LoadPlan = Readonly<{
  port: number;
  key: string;
  devices: number;
  /** Of nodes that share a database: of device i, and of its viewers; none: `port`. */
  ports?: readonly number[];
  viewerPorts?: readonly number[];
  /** Three digits that begin the names of devices and subjects, 0 to 999; none: by chance. */
  runId?: number;
  /** Viewers of each device's subject. */
  viewersPerDevice: number;
  channels: number;
  fs: number;
  packetMs: number;
  /** Before measuring, and measured. */
  warmSec: number;
  sec: number;
  /** Viewers of one more subject that nobody sends for. */
  idleViewers?: number;
  /** Viewers of the first device's subject that read nothing. */
  slowViewers?: number;
  /** A peer that sends without a pause: a device packets, a viewer questions. */
  firehose?: 'device' | 'viewer';
  /** Record every packet and every answer in a ledger of this name, from the first packet to the last. */
  ledger?: string;
}>;

export type Quantiles = Readonly<{ n: number; p50: number; p90: number; p99: number; max: number }>;
export type LoadResult = Readonly<{
  sent: number;
  settled: number;
  /** By code, from the first packet on. */
  rejected: Readonly<Record<string, number>>;
  frames: number;
  framesExpected: number;
  ackMs: Quantiles;
  frameMs: Quantiles;
  /** How late the generator sent, ms. */
  lateMs: Quantiles;
  closed: number;
  closeReasons: Readonly<Record<string, number>>;
}>;

const plan = JSON.parse(process.argv[2] ?? '{}') as LoadPlan;
const ledger = plan.ledger === undefined ? null : new LedgerWriter(plan.ledger);
const TEMPLATES = 8;
const RING = 64;

class Sample {
  readonly #values: number[] = [];
  #seen = 0;

  /** A reservoir of 200,000. */
  add(value: number): void {
    this.#seen++;
    if (this.#values.length < 200_000) this.#values.push(value);
    else {
      const at = Math.floor(Math.random() * this.#seen);
      if (at < 200_000) this.#values[at] = value;
    }
  }

  quantiles(): Quantiles {
    const sorted = Float64Array.from(this.#values).sort();
    const at = (q: number): number => Number((sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0).toFixed(2));
    return { n: this.#seen, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
  }
}

const ackMs = new Sample();
const frameMs = new Sample();
const lateMs = new Sample();
let measuring = false;
let sent = 0;
let settled = 0;
const rejections: Record<string, number> = {};
function noteRejection(fields: string): void {
  const code = /[a-z]+_[a-z_]+|busy|internal|unavailable/.exec(fields)?.[0] ?? 'unknown';
  rejections[code] = (rejections[code] ?? 0) + 1;
}
let frames = 0;
let closedCount = 0;

// ---------------------------------------------------------------------------------------------------------------- WebSocket by hand

function upgrade(
  path: string,
  onMessage: (bytes: Buffer, from: number, to: number, binary: boolean) => void,
  port = plan.port,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let rest: Buffer | null = null;
    let open = false;
    socket.once('error', reject);
    socket.on('close', () => void (open && closedCount++));
    socket.on('connect', () => {
      const bearer = Buffer.from(plan.key).toString('base64url');
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n` +
          `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: bio.v1, bio.bearer.${bearer}\r\n\r\n`,
      );
    });
    socket.on('data', (chunk: Buffer) => {
      let data = rest === null ? chunk : Buffer.concat([rest, chunk]);
      rest = null;
      if (!open) {
        const end = data.indexOf('\r\n\r\n');
        if (end < 0) {
          rest = data;
          return;
        }
        const head = data.toString('latin1', 0, end);
        if (!head.startsWith('HTTP/1.1 101')) {
          reject(new Error(data.toString('utf8', 0, 600)));
          socket.destroy();
          return;
        }
        open = true;
        socket.removeListener('error', reject);
        socket.on('error', () => undefined);
        data = data.subarray(end + 4);
        resolve(socket);
      }
      let at = 0;
      while (at + 2 <= data.length) {
        let length = data[at + 1]! & 0x7f;
        let start = at + 2;
        if (length === 126) {
          if (start + 2 > data.length) break;
          length = data.readUInt16BE(start);
          start += 2;
        } else if (length === 127) {
          if (start + 8 > data.length) break;
          length = Number(data.readBigUInt64BE(start));
          start += 8;
        }
        if (start + length > data.length) break;
        const opcode = data[at]! & 0x0f;
        if (opcode === 9) socket.write(clientFrame(10, data.subarray(start, start + length)));
        else if (opcode === 8) noteClose(data.toString('utf8', start + 2, start + length));
        else if (opcode <= 2) onMessage(data, start, start + length, opcode === 2);
        at = start + length;
      }
      if (at < data.length) rest = data.subarray(at);
    });
  });
}

const closeReasons = new Map<string, number>();
function noteClose(reason: string): void {
  closeReasons.set(reason, (closeReasons.get(reason) ?? 0) + 1);
}

/** Masked with zeros, which changes nothing and costs nothing. */
function clientFrame(opcode: number, payload: Uint8Array): Buffer {
  const head = payload.length < 126 ? 6 : 8;
  const out = Buffer.alloc(head + payload.length);
  out[0] = 0x80 | opcode;
  if (payload.length < 126) out[1] = 0x80 | payload.length;
  else {
    out[1] = 0x80 | 126;
    out.writeUInt16BE(payload.length, 2);
  }
  out.set(payload, head);
  return out;
}

function varintAt(b: Buffer, at: number): [value: number, next: number] {
  let value = 0;
  let scale = 1;
  let p = at;
  for (;;) {
    const byte = b[p++]!;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return [value, p];
    scale *= 128;
  }
}

// ---------------------------------------------------------------------------------------------------------------- packets

const DEVICE_MARK = 'd00000000';
const SUBJECT_MARK = 's00000000';
const SEQ_MARK = 2 ** 34 + 5; // five bytes of varint; every seq is written as five
const T0_MARK = 0x1122334455667788n;
const UNIX_MARK = 0x1122334455667799n;
const SENT_MARK = 0x11223344556677aan;

const templates = ecgPacket({ channels: plan.channels, fs: plan.fs, ms: plan.packetMs, count: TEMPLATES, deviceId: DEVICE_MARK }).map(
  (packet) => {
    const marked = { ...packet, seq: SEQ_MARK, subject: SUBJECT_MARK, t0DeviceNs: T0_MARK, t0UnixNs: UNIX_MARK, sentUnixNs: SENT_MARK };
    return clientFrame(2, encodePacket(marked));
  },
);
const find = (mark: bigint): number => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(mark);
  return templates[0]!.indexOf(bytes);
};
const where = {
  device: templates[0]!.indexOf(DEVICE_MARK),
  boot: templates[0]!.indexOf(Buffer.from('0123456789abcdef0123456789abcdef', 'hex')),
  seq: templates[0]!.indexOf(Buffer.from([0x20, 0x85, 0x80, 0x80, 0x80, 0x40])) + 1,
  subject: templates[0]!.indexOf(SUBJECT_MARK),
  t0: find(T0_MARK),
  unix: find(UNIX_MARK),
  sent: find(SENT_MARK),
};
const runId = plan.runId ?? Math.floor(Math.random() * 2 ** 32);

class Device {
  readonly id: string;
  readonly subject: string;
  readonly #boot = Buffer.alloc(16);
  #socket: Socket | null = null;
  #seq = 0;
  #settled = 0;
  /** Device time 0 in Unix ns. */
  #epochNs = 0n;
  epochMs = 0;
  dueMs = 0;
  readonly #sentAt = new Float64Array(RING);

  readonly index: number;

  constructor(index: number) {
    this.index = index;
    // Other subjects in every run: windows follow the first stream of a subject, and an earlier run's would still be there.
    const digits = String(runId % 1000).padStart(3, '0') + String(index).padStart(5, '0');
    this.id = `d${digits}`;
    this.subject = `s${digits}`;
    this.#boot.writeUInt32LE(runId, 0);
    this.#boot.writeUInt32LE(index, 4);
  }

  async open(): Promise<void> {
    this.#socket = await upgrade('/ingest/stream', (b, from, to) => this.#reply(b, from, to), plan.ports?.[this.index]);
  }

  start(atMs: number): void {
    this.dueMs = atMs;
    const unixMs = performance.timeOrigin + atMs;
    this.#epochNs = BigInt(Math.round(unixMs * 1000)) * 1000n;
    this.epochMs = Number(this.#epochNs) / 1e6;
  }

  /** Sends the packet that is due: it ended now. */
  send(nowMs: number): void {
    if (measuring) lateMs.add(nowMs - this.dueMs);
    const packet = Buffer.from(templates[this.#seq % TEMPLATES]!);
    const t0Ns = BigInt(this.#seq) * BigInt(plan.packetMs * 1_000_000);
    packet.write(this.id, where.device, 'latin1');
    packet.write(this.subject, where.subject, 'latin1');
    packet.set(this.#boot, where.boot);
    let rest = this.#seq;
    for (let i = 0; i < 5; i++) {
      packet[where.seq + i] = (rest % 128) | (i < 4 ? 0x80 : 0);
      rest = Math.floor(rest / 128);
    }
    packet.writeBigUInt64LE(t0Ns + 1_000_000_000n, where.t0);
    const unixNs = this.#epochNs + t0Ns;
    packet.writeBigUInt64LE(unixNs, where.unix);
    packet.writeBigUInt64LE(unixNs + BigInt(plan.packetMs * 1_000_000), where.sent);
    this.#sentAt[this.#seq % RING] = nowMs;
    ledger?.sent(this.#key(this.#seq), packet.subarray(packet[1]! === 0xfe ? 8 : 6));
    this.#seq++;
    if (measuring) sent++;
    this.#socket!.write(packet);
    this.dueMs += plan.packetMs;
  }

  /** When the packet was sent whose window a frame shows. */
  sentAt(frameT0Ms: number): number {
    const index = Math.round((frameT0Ms - this.epochMs) / plan.packetMs);
    return index < 0 || index >= this.#seq || index < this.#seq - RING ? -1 : this.#sentAt[index % RING]!;
  }

  #reply(b: Buffer, from: number, to: number): void {
    const nowMs = performance.now();
    let at = from;
    let now = 0;
    while (at < to) {
      const tag = b[at]!;
      if ((tag & 7) === 1) at += 9;
      else if ((tag & 7) === 2) {
        const [length, next] = varintAt(b, at + 1);
        at = next + length;
        noteRejection(b.toString('latin1', next, at));
      } else {
        const [value, next] = varintAt(b, at + 1);
        at = next;
        if (tag === 0x30) now = value;
      }
    }
    for (let i = this.#settled; i < now; i++) {
      // refusals end a run that keeps a ledger (see refuseBadLoad), so what is settled was accepted
      ledger?.settled(this.#key(i), 'accepted');
      if (!measuring) continue;
      settled++;
      ackMs.add(nowMs - this.#sentAt[i % RING]!);
    }
    this.#settled = Math.max(this.#settled, now);
  }

  #key(seq: number): LedgerKey {
    return { deviceId: this.id, bootId: this.#boot.toString('hex'), seq };
  }

  get settledCount(): number {
    return this.#settled;
  }
}

function watch(device: Device): (b: Buffer, from: number, to: number, binary: boolean) => void {
  return (b, from, _to, binary) => {
    if (!binary || !measuring) return;
    frames++;
    // subject, seq, t0_ns come first.
    const [length, afterLength] = varintAt(b, from + 1);
    const [, afterSeq] = varintAt(b, afterLength + length + 1);
    const t0Ms = Number(b.readBigUInt64LE(afterSeq + 1)) / 1e6;
    const sentAtMs = device.sentAt(t0Ms);
    if (sentAtMs >= 0) frameMs.add(performance.now() - sentAtMs);
  };
}

async function inBatches<T>(items: readonly T[], size: number, run: (item: T) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < items.length; i += size) await Promise.all(items.slice(i, i + size).map(run));
}

const devices = Array.from({ length: plan.devices }, (_, i) => new Device(i));
await inBatches(devices, 100, (device) => device.open());
let startMs = performance.now() + 50;
for (const [i, device] of devices.entries()) device.start(startMs + (i / devices.length) * plan.packetMs);
const timer = setInterval(pump, 2);
let cursor = 0;

function pump(): void {
  const nowMs = performance.now();
  // Devices are due in turn: one pointer goes round.
  for (let n = 0; n < 2 * devices.length; n++) {
    const device = devices[cursor]!;
    if (device.dueMs > nowMs) return;
    device.send(performance.now());
    cursor = (cursor + 1) % devices.length;
  }
}
if (devices.length === 0) clearInterval(timer);
// The subjects come into being with the first packet.
const patienceMs = performance.now() + 30_000;
while (devices.some((device) => device.settledCount === 0) && performance.now() < patienceMs && closedCount === 0) {
  await new Promise((resolve) => setTimeout(resolve, 50));
}
// A viewer with an organization key names the user by uuid: the parent process knows them.
process.stdout.write('subjects\n');
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const uuids = JSON.parse(String((await lines.next()).value)) as Record<string, string>;
const views = devices.flatMap((device) => Array.from({ length: plan.viewersPerDevice }, () => device));
await inBatches(views, 100, (device) =>
  upgrade(`/ws?subject=${uuids[device.subject] ?? device.subject}`, watch(device), plan.viewerPorts?.[device.index]),
);
const idle = Array.from({ length: plan.idleViewers ?? 0 }, (_, i) => i);
await inBatches(idle, 100, () => upgrade(`/ws?subject=${devices[0]?.subject ?? 'nobody-sends'}&channels=none`, () => undefined));
const slow = Array.from({ length: plan.slowViewers ?? 0 }, (_, i) => i);
const firstSubject = uuids[devices[0]?.subject ?? ''] ?? devices[0]?.subject;
await inBatches(slow, 100, async () => (await upgrade(`/ws?subject=${firstSubject}`, () => undefined)).pause());
if (plan.firehose === 'device') void startFirehose('/ingest/stream', Buffer.from(templates[0]!));
if (plan.firehose === 'viewer') void startFirehose(`/ws?subject=${firstSubject}`, clientFrame(1, Buffer.from('{"type":"ping"}')));
await new Promise((resolve) => setTimeout(resolve, plan.warmSec * 1000));
process.stdout.write('steady\n');
measuring = true;
startMs = performance.now();
await new Promise((resolve) => setTimeout(resolve, plan.sec * 1000));
measuring = false;
const result: LoadResult = {
  sent,
  settled,
  rejected: rejections,
  frames,
  framesExpected: Math.round((views.length * (performance.now() - startMs)) / 100),
  ackMs: ackMs.quantiles(),
  frameMs: frameMs.quantiles(),
  lateMs: lateMs.quantiles(),
  closed: closedCount,
  closeReasons: Object.fromEntries(closeReasons),
};
process.stdout.write(`${JSON.stringify(result)}\n`);

/** Writes the same message as fast as the socket takes it, and comes back whenever it is thrown out. */
async function startFirehose(path: string, one: Buffer): Promise<void> {
  const many = Buffer.concat(Array.from({ length: 200 }, () => one));
  for (;;) {
    const socket = await upgrade(path, () => undefined).catch(() => null);
    if (socket === null) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      continue;
    }
    await new Promise<void>((resolve) => {
      const write = (): void => {
        while (!socket.destroyed && socket.write(many));
      };
      socket.on('drain', write);
      socket.on('close', () => resolve());
      write();
    });
    closedCount--;
  }
}

await lines.next();
clearInterval(timer);
if (ledger !== null) {
  // the last answers
  await new Promise((resolve) => setTimeout(resolve, 1000));
  ledger.close();
}
process.exit(0);
