/** Number of epochs that a database can give (docs/decisions/0014-ownership.md). Numbers of batches are `epoch << 32 | n`, which is
 *  exact below 2^53. */

/** The last one. */
export const EPOCH_MAX = 2 ** 21 - 2;

/** Share from which people are told: half of it is years of ordinary restarts, or days of nodes that restart in a loop. */
export const EPOCHS_MANY = 0.5;

/** Share from which it is a fault. */
export const EPOCHS_FEW_LEFT = 0.95;

export const epochsUsed = (epoch: bigint | number): number => Number(epoch) / EPOCH_MAX;

/** @throws Error: numbers would not be exact, and two batches could have the same */
export function checkEpoch(epoch: bigint): void {
  if (epoch <= EPOCH_MAX) return;
  throw new Error(`the ${EPOCH_MAX} epochs of this database are used up: nobody can take its packet log any more`);
}
