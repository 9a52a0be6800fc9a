/** Bytes of one batch of packet_log: packets, each behind a head, packed in frames that are read one by one. Batches of earlier releases
 *  are such packets without frames. Frames before and after damaged bytes remain readable, and packets outside of frames. */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
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
  /** Offset in the batch; inside a frame, of its packets when unpacked, from where the frame begins. */
  at: number;
  /** The bytes as one entry, when they are as long as its head says: then probably the packet is damaged, not the head. */
  entry: LogEntry | null;
}>;

/** stream_id u32, seq u64, received_ns i64, length u32; little-endian. */
export const ENTRY_HEAD = 24;

/** Of packet_log.data: packets packed in frames. An instance that does not read it cannot claim the log (sql/000059-packed-log.sql). */
export const LOG_FORM = 1;

/** A frame begins with this bit, which no number of a stream has, and the count of its packets: u32. Then follow the bytes of the packed
 *  packets: u32; the heads as they are, so that what a damaged frame held can still be told; and the packets in one Zstandard frame. */
const FRAME_BIT = 0x8000_0000;
const FRAME_HEAD = 8;
/** Packets and heads of a frame, bytes; a packet that is larger has a frame of its own. Larger frames pack hardly better. */
const FRAME_BYTES = 64 * 1024;
/** Unpacked bytes of a frame; more than any packet may have. */
const FRAME_BYTES_MAX = 64 * 1024 * 1024;
/** Size of a small frame, bytes. */
const SMALL_BYTES = 16 * 1024;
const ZSTD_MAGIC = 0xfd2f_b528;
/** A window of a frame, and a table that small frames fill quickly: half the processor time of the defaults, the same size. */
const WINDOW_LOG = 16;
const HASH_LOG = 12;
const packing = {
  chunkSize: FRAME_BYTES,
  params: {
    [constants.ZSTD_c_compressionLevel]: 1,
    [constants.ZSTD_c_checksumFlag]: 1,
    [constants.ZSTD_c_windowLog]: WINDOW_LOG,
    [constants.ZSTD_c_hashLog]: HASH_LOG,
  },
};
/** What small frames are packed into need not be larger than they are, bytes: most of the time of packing one would go into that memory. */
const packingSmall = { ...packing, chunkSize: SMALL_BYTES };

/** Packs the entries of a batch. @returns the entries themselves if they are smaller */
export function packBatch(entries: Buffer): Buffer {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (let from = 0; from < entries.length;) {
    const { count, to } = nextFrame(entries, from);
    const { head, packets } = splitFrame(entries.subarray(from, to), count);
    const packed = zstdCompressSync(packets, packets.length < SMALL_BYTES ? packingSmall : packing);
    head.writeUInt32LE(packed.length, 4);
    pieces.push(head, packed);
    bytes += head.length + packed.length;
    from = to;
  }
  return bytes < entries.length ? Buffer.concat(pieces, bytes) : entries;
}

/** The entries of the frame that begins at `from`: how many, and where they end. */
function nextFrame(entries: Buffer, from: number): Readonly<{ count: number; to: number }> {
  let count = 0;
  let to = from;
  while (to < entries.length) {
    const next = to + ENTRY_HEAD + entries.readUInt32LE(to + 20);
    if (count > 0 && next - from > FRAME_BYTES) break;
    to = next;
    count++;
  }
  return { count, to };
}

/** Parts a frame's entries. @returns its head with those of the entries, but for the length of what is packed; and the packets */
function splitFrame(entries: Buffer, count: number): Readonly<{ head: Buffer; packets: Buffer }> {
  const head = Buffer.allocUnsafe(FRAME_HEAD + count * ENTRY_HEAD);
  const packets = Buffer.allocUnsafe(entries.length - count * ENTRY_HEAD);
  head.writeUInt32LE(FRAME_BIT + count, 0);
  let to = 0;
  for (let at = 0, headAt = FRAME_HEAD; at < entries.length; headAt += ENTRY_HEAD) {
    const from = at + ENTRY_HEAD;
    entries.copy(head, headAt, at, from);
    at = from + entries.readUInt32LE(at + 20);
    to += entries.copy(packets, to, from, at);
  }
  return { head, packets };
}

type FrameHead = Readonly<{ count: number; packedAt: number; end: number }>;

/** Reads the head of a frame at offset `at`; null when there is none, or when it claims more bytes than there are. */
function frameHeadAt(data: Buffer, at: number): FrameHead | null {
  if (at + FRAME_HEAD > data.length) return null;
  const count = data.readUInt32LE(at) - FRAME_BIT;
  if (count < 1) return null;
  const packedAt = at + FRAME_HEAD + count * ENTRY_HEAD;
  const end = packedAt + data.readUInt32LE(at + 4);
  if (end > data.length || packedAt + 4 > end || data.readUInt32LE(packedAt) !== ZSTD_MAGIC) return null;
  return { count, packedAt, end };
}

/** Unpacks the frame at offset `at`; null when there is none that is whole. */
function frameAt(data: Buffer, at: number): Readonly<{ entries: Buffer; end: number }> | null {
  const head = frameHeadAt(data, at);
  if (head === null) return null;
  const headAt = (i: number): number => at + FRAME_HEAD + i * ENTRY_HEAD;
  let bytes = 0;
  for (let i = 0; i < head.count; i++) bytes += data.readUInt32LE(headAt(i) + 20);
  const packets = unpack(data.subarray(head.packedAt, head.end), bytes);
  if (packets === null) return null;
  const pieces: Buffer[] = [];
  for (let i = 0, from = 0; i < head.count; i++) {
    const to = from + data.readUInt32LE(headAt(i) + 20);
    pieces.push(data.subarray(headAt(i), headAt(i) + ENTRY_HEAD), packets.subarray(from, to));
    from = to;
  }
  return { entries: Buffer.concat(pieces), end: head.end };
}

/** @returns null when the bytes do not unpack to that many */
function unpack(packed: Buffer, bytes: number): Buffer | null {
  if (bytes < 1 || bytes > FRAME_BYTES_MAX) return null;
  try {
    const unpacked = zstdDecompressSync(packed, { maxOutputLength: bytes });
    return unpacked.length === bytes ? unpacked : null;
  } catch {
    return null; // damaged
  }
}

/** Streams named by the heads of a batch, up to the first visibly damaged head. Does not read the packets themselves. */
export function streamIdsOf(data: Buffer): ReadonlySet<StreamId> {
  const ids = new Set<StreamId>();
  for (let at = 0; at < data.length;) {
    const frame = frameHeadAt(data, at);
    const entry = frame === null ? entryAt(data, at) : null;
    if (frame !== null) {
      for (let i = 0; i < frame.count; i++) ids.add(data.readUInt32LE(at + FRAME_HEAD + i * ENTRY_HEAD) as StreamId);
      at = frame.end;
    } else if (entry !== null) {
      ids.add(entry.streamId);
      at += ENTRY_HEAD + entry.bytes.length;
    } else break;
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

type Found<T> = Readonly<{ entry: LogEntry; packet: T }> | Readonly<{ damage: Damage }>;

/** Reads a batch in order. After damage it searches byte by byte for the next frame, or the next packet that agrees with its head. */
export async function* readBatch<T>(data: Buffer, readPacket: ReadPacket<T>): AsyncGenerator<Found<T>> {
  let damagedFrom = -1;
  for (let at = 0; at < data.length;) {
    const frame = frameAt(data, at);
    if (frame !== null) {
      if (damagedFrom >= 0) yield { damage: damageOf(data, damagedFrom, at) };
      damagedFrom = -1;
      for await (const found of readBatch(frame.entries, readPacket))
        yield 'damage' in found ? { damage: { ...found.damage, at: at + found.damage.at } } : found;
      at = frame.end;
      continue;
    }
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
