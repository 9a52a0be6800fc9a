/** Splits a batch of packet_log by partition: the owner of a partition reads its own rows. */
import type { StreamId } from '../signal.ts';
import { ENTRY_HEAD, packBatch } from './log-batch.ts';

/** Packets of a batch that are of one partition, packed or as they are. */
export type Piece = Readonly<{ partition: number; count: number; data: Buffer }>;

/** Packs the packets of each partition by themselves, in their order. @param partitions of each packet */
export function packByPartition(entries: Buffer, partitions: ArrayLike<number>): readonly Piece[] {
  return splitByPartition(entries, partitions).map((piece) => ({ ...piece, data: packBatch(piece.data) }));
}

/** The same without packing. */
export function splitByPartition(entries: Buffer, partitions: ArrayLike<number>): readonly Piece[] {
  if (areEqual(partitions)) return [{ partition: partitions[0]!, count: partitions.length, data: entries }];
  const groups = new Map<number, Buffer[]>();
  let i = 0;
  for (const { at, length } of readHeads(entries)) {
    const partition = partitions[i++]!;
    const entry = entries.subarray(at - ENTRY_HEAD, at + length);
    const group = groups.get(partition);
    if (group === undefined) groups.set(partition, [entry]);
    else group.push(entry);
  }
  return Array.from(groups, ([partition, group]) => ({ partition, count: group.length, data: Buffer.concat(group) }));
}

export function areEqual(partitions: ArrayLike<number>): boolean {
  for (let i = 1; i < partitions.length; i++) if (partitions[i] !== partitions[0]) return false;
  return true;
}

export function* readHeads(
  entries: Buffer,
): Generator<Readonly<{ streamId: StreamId; seq: number; receivedNs: bigint; at: number; length: number }>> {
  for (let at = 0; at < entries.length;) {
    const length = entries.readUInt32LE(at + 20);
    yield {
      streamId: entries.readUInt32LE(at) as StreamId,
      seq: entries.readUInt32LE(at + 4) + entries.readUInt32LE(at + 8) * 4_294_967_296,
      receivedNs: entries.readBigInt64LE(at + 12),
      at: at + ENTRY_HEAD,
      length,
    };
    at += ENTRY_HEAD + length;
  }
}
