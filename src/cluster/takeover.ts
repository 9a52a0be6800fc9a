/** When a node may claim what another one owns. Signs of life decide how soon, never who is right: a claim that comes too early costs the
 *  former owner a restart, and no data (docs/decisions/0014-ownership.md). */

/** Time for an owner whose lock is free to return, ms: its connection was lost, or the database restarted. */
const CUT_MS = 2000;
/** An owner that holds its lock without renewing for this long hangs, or its machine disappeared, ms. */
export const HUNG_MS = 10_000;

export type SignsOfLife = Readonly<{
  /** null: given back. */
  owner: string | null;
  /** Its session lock is held: its process lives, or the server has not noticed yet that it has gone. */
  locked: boolean;
  /** Time since a renewal was seen, ms. */
  silentMs: number;
}>;

/** Whether a waiting node may claim.
 *  @param fresh the node has only just started, and has seen no owner: what is free was stopped or killed a moment ago */
export function mayTake({ owner, locked, silentMs }: SignsOfLife, fresh: boolean): boolean {
  // A lock without an owner: an earlier release, which does not renew, or a node that is starting or ending.
  if (locked) return owner !== null && silentMs >= HUNG_MS;
  return owner === null || fresh || silentMs >= CUT_MS;
}
