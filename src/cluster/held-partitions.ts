/** Partitions of subjects that this node holds, and the numbers of its batches.
 *
 *  Every claim gives an epoch that was never given before, for any partition. A batch is numbered `epoch << 32 | n` with the newest epoch
 *  of the node. So no two nodes give the same number, and the numbers of a partition ascend from each owner to the next: an epoch given
 *  later is above the epoch in any number that was written before.
 *
 *  Modes of a partition: `taking` (claimed; what its last owner acknowledged is being read back), `open` (takes packets), `leaving` (takes
 *  none; what it has is being stored, before it is given back). A partition that is not held has no mode. */
import assert from 'node:assert/strict';
import { checkEpoch } from './epochs.ts';

/** Batch numbers per epoch: group commits of three years at 40 per second. */
export const EPOCH_POSITIONS = 2 ** 32;

export type PartitionMode = 'taking' | 'open' | 'leaving';

type Lease = { epoch: bigint; mode: PartitionMode };

export class HeldPartitions {
  readonly #leases = new Map<number, Lease>();
  #newestEpoch = 0n;
  /** Numbers given of the newest epoch. */
  #given = 0;

  /** Notes a claim. @throws Error: the epochs are used up */
  take(partitions: readonly number[], epoch: bigint): void {
    assert(epoch > this.#newestEpoch, `epoch ${epoch} was given after ${this.#newestEpoch}`);
    checkEpoch(epoch);
    this.#newestEpoch = epoch;
    this.#given = 0;
    for (const partition of partitions) this.#leases.set(partition, { epoch, mode: 'taking' });
  }

  /** What the last owner acknowledged was read back. */
  open(partition: number): void {
    this.#move(partition, ['taking'], 'open');
  }

  /** The partition takes no more packets. */
  leave(partition: number): void {
    this.#move(partition, ['taking', 'open'], 'leaving');
  }

  /** The partition was given back, or another node has claimed it. */
  drop(partition: number): void {
    this.#leases.delete(partition);
  }

  /** null: it is not held. */
  modeOf(partition: number): PartitionMode | null {
    return this.#leases.get(partition)?.mode ?? null;
  }

  /** null: it is not held. */
  epochOf(partition: number): bigint | null {
    return this.#leases.get(partition)?.epoch ?? null;
  }

  get partitions(): readonly number[] {
    return [...this.#leases.keys()];
  }

  /** The partitions, ascending, and their epochs, as arrays of SQL. */
  toSql(): Readonly<{ partitions: string; epochs: string }> {
    const partitions = this.partitions.toSorted((a, b) => a - b);
    const epochs = partitions.map((partition) => this.#leases.get(partition)!.epoch);
    return { partitions: `{${partitions.join()}}`, epochs: `{${epochs.join()}}` };
  }

  /** Number of the next batch. To be asked when a batch is written, not when it is opened: the rest of a batch that was refused is written
   *  again under a number of its own, before a batch that was opened earlier. */
  nextPosition(): number {
    this.#given += 1;
    assert(this.#given < EPOCH_POSITIONS, `epoch ${this.#newestEpoch} has no more numbers`);
    return Number(this.#newestEpoch) * EPOCH_POSITIONS + this.#given;
  }

  #move(partition: number, from: readonly PartitionMode[], to: PartitionMode): void {
    const lease = this.#leases.get(partition);
    assert(
      lease !== undefined && from.includes(lease.mode),
      `partition ${partition} is ${lease?.mode ?? 'not held'}, not ${from.join(' or ')}`,
    );
    lease.mode = to;
  }
}
