/** The time that nodes agree about: a node whose clock is wrong uses that of the others. A packet without a time of its own is placed by
 *  its arrival, wherever its device came to, and frames are judged by the node of the person, whichever that is. */

/** Clocks that differ by less are left as they are, ms: time services keep them far below. */
export const CLOCK_OFF_MS = 1000;
/** A change of what was found that is no more than noise of the network, ms. */
const NOISE_MS = 250;

export type Offsets = Readonly<{
  /** How far the clock of this machine is ahead of the database's, and of each other node's, ms. */
  database: number;
  nodes: readonly number[];
}>;

/** The machines vote: this one, the database's and those of the other nodes. Without another node nobody can say which of two is right.
 *  @param before what was found last  @returns how far this machine's clock is ahead of what counts, ms; 0: it is taken as it is */
export function aheadOfAgreed({ database, nodes }: Offsets, before: number): number {
  if (nodes.length === 0) return before !== 0 && Math.abs(database - before) < CLOCK_OFF_MS ? before : 0;
  const votes = [0, database, ...nodes].toSorted((a, b) => a - b);
  const low = votes[(votes.length - 1) >> 1]!;
  const high = votes[votes.length >> 1]!;
  const found = Math.abs(low) < Math.abs(high) ? low : high;
  if (Math.abs(found) <= CLOCK_OFF_MS) return 0;
  return Math.abs(found - before) < NOISE_MS ? before : found;
}
