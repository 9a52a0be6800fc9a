/** Bytes of one batch of packet_log: packets, each behind a head. Packets before and after damaged bytes remain readable. */
import type { StreamId } from '../signal.ts';

export type LogEntry = Readonly<{
  streamId: StreamId;
  /** 0..2^53-1. */
  seq: number;
  /** Unix ns. */
  receivedNs: bigint;
  /** The packet as received. */
  bytes: Uint8Array;
}>;

/** Bytes in which no packet was found. */
export type Damage = Readonly<{
  bytes: Buffer;
  /** Offset in the batch. */
  at: number;
  /** The bytes as one entry, when they are as long as its head says: then probably the packet is damaged, not the head. */
  entry: LogEntry | null;
}>;

/** stream_id u32, seq u64, received_ns i64, length u32; little-endian. */
export const ENTRY_HEAD = 24;

/** Streams named by the heads of a batch, up to the first visibly damaged head. Does not read the packets themselves. */
export function streamIdsOf(data: Buffer): ReadonlySet<StreamId> {
  const ids = new Set<StreamId>();
  for (let at = 0; at < data.length;) {
    const entry = entryAt(data, at);
    if (entry === null) break;
    ids.add(entry.streamId);
    at += ENTRY_HEAD + entry.bytes.length;
  }
  return ids;
}

/** Reads a packet; null when the bytes are not a packet, or not the one that the head names. */
export type ReadPacket<T> = (entry: LogEntry) => T | null | Promise<T | null>;

/** Reads the entry at offset `at`; null when its head claims more bytes than there are. */
function entryAt(data: Buffer, at: number): LogEntry | null {
  if (at + ENTRY_HEAD > data.length) return null;
  const from = at + ENTRY_HEAD;
  const to = from + data.readUInt32LE(at + 20);
  if (to > data.length) return null;
  const high = data.readUInt32LE(at + 8);
  if (high > 0x1f_ffff) return null; // 2^53 or more
  return {
    streamId: data.readUInt32LE(at) as StreamId,
    seq: data.readUInt32LE(at + 4) + high * 4_294_967_296,
    receivedNs: data.readBigInt64LE(at + 12),
    bytes: data.subarray(from, to),
  };
}

/** Unix ns of 2000 and 2100: plausible times of reception. */
const RECEIVED_NS_MIN = 946_684_800_000_000_000n;
const RECEIVED_NS_MAX = 4_102_444_800_000_000_000n;

/** Whether damaged bytes may contain entries of these streams. At the beginning a head is expected, so the stream's number alone counts.
 *  Further on the rest must look like a head too, apart from its length, since four given bytes occur almost anywhere. */
export function mayHoldEntriesOf(bytes: Buffer, streamIds: ReadonlySet<number>): boolean {
  if (bytes.length >= 4 && streamIds.has(bytes.readUInt32LE(0))) return true;
  for (let at = 1; at + ENTRY_HEAD <= bytes.length; at++) {
    if (!streamIds.has(bytes.readUInt32LE(at)) || bytes.readUInt32LE(at + 8) > 0x1f_ffff) continue;
    const receivedNs = bytes.readBigInt64LE(at + 12);
    if (receivedNs >= RECEIVED_NS_MIN && receivedNs < RECEIVED_NS_MAX) return true;
  }
  return false;
}

/** Reads a batch in order. After damage it searches byte by byte for the next packet that agrees with its head. */
export async function* readBatch<T>(
  data: Buffer,
  readPacket: ReadPacket<T>,
): AsyncGenerator<Readonly<{ entry: LogEntry; packet: T }> | Readonly<{ damage: Damage }>> {
  let damagedFrom = -1;
  for (let at = 0; at < data.length;) {
    const entry = entryAt(data, at);
    const read = entry === null ? null : readPacket(entry);
    const packet = read instanceof Promise ? await read : read;
    if (entry === null || packet === null) {
      if (damagedFrom < 0) damagedFrom = at;
      at += 1;
      continue;
    }
    if (damagedFrom >= 0) yield { damage: damageOf(data, damagedFrom, at) };
    damagedFrom = -1;
    yield { entry, packet };
    at += ENTRY_HEAD + entry.bytes.length;
  }
  if (damagedFrom >= 0) yield { damage: damageOf(data, damagedFrom, data.length) };
}

function damageOf(data: Buffer, from: number, to: number): Damage {
  const entry = entryAt(data, from);
  return {
    bytes: data.subarray(from, to),
    at: from,
    entry: entry !== null && from + ENTRY_HEAD + entry.bytes.length === to ? entry : null,
  };
}
