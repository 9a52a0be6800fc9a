/** Which node is to own which partition: every node computes the same from the same list, so nobody has to decide for the others. */
import { createHash } from 'node:crypto';

/** Rendezvous hashing with a bound: each partition goes to the node that its hash ranks first among those that have room; a node has
 *  room for its share, rounded up. When a node comes or goes, few partitions change hands that need not.
 *  @param nodeIds that may own partitions  @returns the owner by partition; empty without nodes */
export function assign(partitionCount: number, nodeIds: readonly string[]): readonly string[] {
  if (nodeIds.length === 0) return [];
  const room = new Map(nodeIds.map((id) => [id, Math.ceil(partitionCount / nodeIds.length)]));
  return Array.from({ length: partitionCount }, (_, partition) => {
    const ranked = nodeIds.map((id) => ({ id, rank: rankOf(partition, id) })).toSorted((a, b) => b.rank - a.rank || (a.id < b.id ? -1 : 1));
    const { id } = ranked.find((node) => room.get(node.id)! > 0)!;
    room.set(id, room.get(id)! - 1);
    return id;
  });
}

function rankOf(partition: number, nodeId: string): number {
  return createHash('sha256').update(`${partition} ${nodeId}`).digest().readUInt32BE(0);
}
