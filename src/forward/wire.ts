/** Bodies of messages between nodes. The first byte is the version of the wire: node n reads n and n - 1, so that releases next to each
 *  other run side by side. */
import { PipelineError } from '../errors.ts';
import type { RelayedFrame } from '../live/hub.ts';
import type { StreamId, SubjectId } from '../signal.ts';

export const WIRE = 1;

/** An object as JSON; big integers survive. */
export function encodeObject(object: unknown): Buffer {
  const json = JSON.stringify(object, (_, value: unknown) => (typeof value === 'bigint' ? { $big: value.toString() } : value));
  return Buffer.concat([Buffer.of(WIRE), Buffer.from(json)]);
}

/** @throws PipelineError internal when it is of a wire that this release does not read */
export function decodeObject<T>(bytes: Buffer): T {
  checkWire(bytes);
  const json = bytes.toString('utf8', 1);
  return (json.includes('"$big"') ? JSON.parse(json, restoreBig) : JSON.parse(json)) as T; // few have any, and looking at each value is slow
}

/** @throws PipelineError internal: the other node did not say what was expected */
export function checkSaid(isRight: boolean): void {
  if (!isRight) throw new PipelineError('internal', 'a message of another node is damaged');
}

function restoreBig(_: string, value: unknown): unknown {
  const big = (value as { $big?: unknown } | null)?.$big;
  return typeof big === 'string' ? BigInt(big) : value;
}

export type ForwardedPacket = Readonly<{ streamId: StreamId; receivedNs: bigint; bytes: Uint8Array }>;

/** Bytes before those of a packet. */
export const PACKET_HEAD = 16;
/** Bytes before the first packet. */
export const BATCH_HEAD = 2;
/** Room of a message that begins, bytes, unless the one before was larger. It doubles. */
const BATCH_ROOM = 8192;

/** A message of packets that is being filled: each packet is copied once, into it. */
export class PacketMessage {
  #body: Buffer;
  #length = BATCH_HEAD;

  /** @param likely size, bytes: that of the message before */
  constructor(likely = 0) {
    this.#body = Buffer.allocUnsafe(Math.max(BATCH_ROOM, Math.ceil(1.25 * likely)));
  }

  /** Size of the message, bytes. */
  get length(): number {
    return this.#length;
  }

  add({ streamId, receivedNs, bytes }: ForwardedPacket): void {
    const end = this.#length + PACKET_HEAD + bytes.length;
    if (end > this.#body.length) this.#grow(end);
    const body = this.#body;
    let at = body.writeUInt32LE(streamId, this.#length);
    at = body.writeBigInt64LE(receivedNs, at);
    at = body.writeUInt32LE(bytes.length, at);
    body.set(bytes, at);
    this.#length = end;
  }

  /** The message; nothing is added after it. @param isHurried a request waits for the answer */
  finish(isHurried: boolean): Buffer {
    this.#body[0] = WIRE;
    this.#body[1] = isHurried ? 1 : 0;
    return this.#body.subarray(0, this.#length);
  }

  #grow(least: number): void {
    const larger = Buffer.allocUnsafe(Math.max(least, 2 * this.#body.length));
    larger.set(this.#body.subarray(0, this.#length));
    this.#body = larger;
  }
}

/** @throws PipelineError internal when the body is damaged */
export function decodePackets(body: Buffer): Readonly<{ packets: readonly ForwardedPacket[]; isHurried: boolean }> {
  checkWire(body);
  const packets: ForwardedPacket[] = [];
  for (let at = BATCH_HEAD; at < body.length;) {
    const end = at + PACKET_HEAD + (at + PACKET_HEAD <= body.length ? body.readUInt32LE(at + 12) : Infinity);
    if (end > body.length) throw new PipelineError('internal', 'a batch of another node is damaged');
    packets.push({
      streamId: body.readUInt32LE(at) as StreamId,
      receivedNs: body.readBigInt64LE(at + 4),
      bytes: body.subarray(at + PACKET_HEAD, end),
    });
    at = end;
  }
  return { packets, isHurried: body[1] === 1 };
}

const FRAME_HEAD = 36 + 2 + 8 + 8 + 4;

/** Live frames: the subject's id, the selection, and the frame's own bytes. */
export function encodeFrames(frames: readonly RelayedFrame[]): Buffer {
  const sizes = frames.map(({ selection, bytes }) => FRAME_HEAD + selection.length + bytes.length);
  const body = Buffer.allocUnsafe(sizes.reduce((sum, size) => sum + size, 1));
  body[0] = WIRE;
  let at = 1;
  for (const { subjectId, selection, seq, endUnixMs, bytes } of frames) {
    at += body.write(subjectId, at, 36, 'latin1');
    at = body.writeUInt16LE(selection.length, at);
    at += body.write(selection, at, 'latin1');
    at = body.writeDoubleLE(seq, at);
    at = body.writeDoubleLE(endUnixMs, at);
    at = body.writeUInt32LE(bytes.length, at);
    body.set(bytes, at);
    at += bytes.length;
  }
  return body;
}

/** @throws PipelineError when the body is damaged */
export function decodeFrames(body: Buffer): RelayedFrame[] {
  checkWire(body);
  const frames: RelayedFrame[] = [];
  try {
    for (let at = 1; at < body.length;) {
      const subjectId = body.toString('latin1', at, at + 36) as SubjectId;
      const selectionEnd = at + 38 + body.readUInt16LE(at + 36);
      const selection = body.toString('latin1', at + 38, selectionEnd);
      const start = selectionEnd + 20;
      const end = start + body.readUInt32LE(selectionEnd + 16);
      if (end > body.length) throw new RangeError('short');
      const [seq, endUnixMs] = [body.readDoubleLE(selectionEnd), body.readDoubleLE(selectionEnd + 8)];
      // One that is no number would be the newest for good.
      if (!Number.isSafeInteger(seq) || seq < 0 || !Number.isFinite(endUnixMs)) throw new RangeError('no number of a frame');
      frames.push({ subjectId, selection, seq, endUnixMs, bytes: body.subarray(start, end) });
      at = end;
    }
  } catch {
    throw new PipelineError('internal', 'frames of another node are damaged');
  }
  return frames;
}

function checkWire(bytes: Buffer): void {
  if (bytes[0] !== WIRE) throw new PipelineError('unavailable', `another node speaks wire ${bytes[0] ?? 'none'}, this one ${WIRE}`);
}
