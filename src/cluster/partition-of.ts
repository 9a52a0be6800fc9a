/** The partition of a subject. A subject keeps it as long as the database keeps its number of partitions, because rows of the packet log
 *  have it. */
import { createHash } from 'node:crypto';

/** @param subjectId a uuid
 *  @param count how many partitions there are */
export function partitionOf(subjectId: string, count: number): number {
  if (count === 1) return 0;
  const bytes = Buffer.from(subjectId.replaceAll('-', ''), 'hex');
  return createHash('sha256').update(bytes).digest().readUInt32BE(0) % count;
}
