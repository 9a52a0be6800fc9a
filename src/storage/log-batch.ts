/** The bytes of one batch of packet_log: packets, each behind a head. Where bytes are damaged, what comes before and after is read all the same. */
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
  /** Where in the batch they begin. */
  at: number;
  /** The bytes as one entry, when they are as long as its head says: then it is probably the packet that is damaged. */
  entry: LogEntry | null;
}>;

/** stream_id u32, seq u64, received_ns i64, length u32; little-endian. */
export const ENTRY_HEAD = 24;

/** The streams that the heads of a batch name, up to the first damage that shows in a head: a packet's own bytes are not read. */
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

/** Reads a packet; null when the bytes are none, or not the one that the head names. */
export type ReadPacket<T> = (entry: LogEntry) => T | null | Promise<T | null>;

/** The entry that begins at `at`; null when its head claims more than there is. */
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

/** Unix ns of 2000 and of 2100: the years in which a packet is received. */
const RECEIVED_NS_MIN = 946_684_800_000_000_000n;
const RECEIVED_NS_MAX = 4_102_444_800_000_000_000n;

/** Whether damaged bytes may hold entries of these streams. At their beginning a head was expected, so the number alone counts; further on
 *  the rest must look like a head too, apart from its length: a number of four bytes is found in almost any bytes. */
export function mayHoldEntriesOf(bytes: Buffer, streamIds: ReadonlySet<number>): boolean {
  if (bytes.length >= 4 && streamIds.has(bytes.readUInt32LE(0))) return true;
  for (let at = 1; at + ENTRY_HEAD <= bytes.length; at++) {
    if (!streamIds.has(bytes.readUInt32LE(at)) || bytes.readUInt32LE(at + 8) > 0x1f_ffff) continue;
    const receivedNs = bytes.readBigInt64LE(at + 12);
    if (receivedNs >= RECEIVED_NS_MIN && receivedNs < RECEIVED_NS_MAX) return true;
  }
  return false;
}

/** Reads a batch in order. After damage the next packet is looked for byte by byte: only one whose head agrees with it counts. */
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
