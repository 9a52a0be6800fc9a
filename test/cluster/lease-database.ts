/** The database as the lease protocol sees it, in memory: leases, the packet log and the tables, with transactions whose steps others may
 *  come between. It checks every commit against what must never happen. */

/** Parts of the protocol that a test takes out, to see that its absence is found. */
export const plants = [
  'no fence', // a commit is not compared with the lease
  'checkpoint without a fence',
  'compared before the lock', // of a transaction that waits for a claim
  'claim that does not wait', // for transactions of the owner under way
  'epoch by partition', // the next one of the partition, not of the database
  'number from the newest row', // as one process counts
  'number before its turn', // given when a batch is opened, not when it is written
  'acknowledged before the commit',
  'opened before it was read back',
] as const;
export type Plant = (typeof plants)[number];

/** A packet: the partition of its subject, and its number there. */
export type ModelPacket = Readonly<{ partition: number; seq: number }>;
export type Write = Readonly<{
  kind: 'log' | 'store' | 'checkpoint' | 'release';
  /** The partitions that it writes, and the epochs at which its node holds them. */
  held: ReadonlyMap<number, bigint>;
  packets: readonly ModelPacket[];
  /** Number of the batch, or of the checkpoint. */
  position: number;
  /** Tells one batch from another. */
  batch: number;
}>;
/** `waiting` for a claim, `checked` and holding its partitions until it commits, or done. */
export type Transaction = { readonly write: Write; state: 'waiting' | 'checked' | 'committed' | 'refused' | 'aborted' };
export type Claim = {
  readonly node: number;
  readonly partitions: readonly number[];
  readonly seen: readonly bigint[];
  state: 'waiting' | 'locked' | 'done' | 'refused';
  epoch: bigint;
};
type Row = Readonly<{ position: number; packet: ModelPacket }>;
type Lease = { owner: number | null; epoch: bigint; checkpoint: number; seqs: Set<number>; newest: number };

export class Violation extends Error {}

export class LeaseDatabase {
  readonly leases: Lease[];
  readonly #plant: Plant | null;
  readonly #log: Row[][];
  readonly #stored: Set<number>[];
  readonly #acknowledged: Set<number>[];
  readonly #batches = new Map<number, number>();
  readonly #transactions = new Set<Transaction>();
  readonly #claims = new Set<Claim>();
  readonly #epochs = new Set<bigint>();
  #epoch = 0n;

  constructor(partitions: number, plant: Plant | null) {
    this.#plant = plant;
    this.leases = Array.from({ length: partitions }, () => ({ owner: null, epoch: 0n, checkpoint: 0, seqs: new Set(), newest: 0 }));
    this.#log = this.leases.map(() => []);
    this.#stored = this.leases.map(() => new Set());
    this.#acknowledged = this.leases.map(() => new Set());
  }

  // ------------------------------------------------------------------------------------------------ writing

  begin(write: Write): Transaction {
    const transaction: Transaction = { write, state: 'waiting' };
    if (this.#plant === 'compared before the lock' && !this.#mayWrite(write)) transaction.state = 'refused';
    else this.#transactions.add(transaction);
    this.advance(transaction);
    return transaction;
  }

  /** Passes the fence, unless a claim is in the way. */
  advance(transaction: Transaction): void {
    if (transaction.state !== 'waiting') return;
    const { write } = transaction;
    if ([...this.#claims].some((claim) => claim.partitions.some((partition) => write.held.has(partition)))) return;
    if (this.#plant === 'compared before the lock' || this.#mayWrite(write)) transaction.state = 'checked';
    else this.#end(transaction, 'refused');
  }

  commit(transaction: Transaction): void {
    if (transaction.state !== 'checked') return;
    const { write } = transaction;
    for (const [partition, epoch] of write.held)
      if (this.leases[partition]!.epoch !== epoch)
        throw new Violation(
          `${write.kind}: committed at epoch ${epoch} of partition ${partition}, after epoch ${this.leases[partition]!.epoch}`,
        );
    this.#apply(write);
    this.#end(transaction, 'committed');
    this.#mustHaveAllAcknowledged();
  }

  abort(transaction: Transaction): void {
    if (transaction.state === 'waiting' || transaction.state === 'checked') this.#end(transaction, 'aborted');
  }

  #end(transaction: Transaction, state: Transaction['state']): void {
    transaction.state = state;
    this.#transactions.delete(transaction);
  }

  #mayWrite({ kind, held }: Write): boolean {
    if (this.#plant === 'no fence') return true;
    if (this.#plant === 'checkpoint without a fence' && kind === 'checkpoint') return true;
    return [...held].every(([partition, epoch]) => this.leases[partition]!.epoch === epoch);
  }

  #apply({ kind, held, packets, position, batch }: Write): void {
    if (kind === 'log') this.#applyBatch(packets, position, batch);
    for (const { partition, seq } of kind === 'store' ? packets : []) this.#stored[partition]!.add(seq);
    for (const partition of held.keys()) {
      const lease = this.leases[partition]!;
      if (kind === 'release') lease.owner = null;
      if (kind !== 'checkpoint') continue;
      lease.checkpoint = Math.max(lease.checkpoint, position);
      for (const { seq } of packets) lease.seqs.add(seq);
    }
  }

  #applyBatch(packets: readonly ModelPacket[], position: number, batch: number): void {
    const before = this.#batches.get(position);
    if (before === batch) return; // its commit succeeded although the answer was lost
    if (before !== undefined) throw new Violation(`two batches have the number ${position}`);
    this.#batches.set(position, batch);
    const partitions = new Set(packets.map(({ partition }) => partition));
    for (const partition of partitions) {
      const lease = this.leases[partition]!;
      if (position <= lease.newest) throw new Violation(`partition ${partition}: number ${position} after ${lease.newest}`);
      lease.newest = position;
    }
    for (const packet of packets) this.#log[packet.partition]!.push({ position, packet });
  }

  // ------------------------------------------------------------------------------------------------ claims

  beginClaim(node: number, partitions: readonly number[], seen: readonly bigint[]): Claim {
    const claim: Claim = { node, partitions, seen, state: 'waiting', epoch: 0n };
    this.advanceClaim(claim);
    return claim;
  }

  /** Has the locks, unless a transaction or another claim has one of them.
   *  @param end transactions in the way, as for an owner that shows no sign of life */
  advanceClaim(claim: Claim, end = false): void {
    if (claim.state !== 'waiting') return;
    const isSame = (partition: number): boolean => claim.partitions.includes(partition);
    if ([...this.#claims].some(({ partitions }) => partitions.some(isSame))) return;
    const inTheWay = [...this.#transactions].filter(({ state, write }) => state === 'checked' && [...write.held.keys()].some(isSame));
    if (end) for (const transaction of inTheWay) this.abort(transaction);
    else if (inTheWay.length > 0 && this.#plant !== 'claim that does not wait') return;
    claim.state = 'locked';
    this.#claims.add(claim);
  }

  commitClaim(claim: Claim): void {
    if (claim.state !== 'locked') return;
    this.#claims.delete(claim);
    if (claim.partitions.some((partition, i) => this.leases[partition]!.epoch !== claim.seen[i])) {
      claim.state = 'refused';
      return;
    }
    claim.state = 'done';
    claim.epoch = this.#nextEpoch(claim);
    for (const partition of claim.partitions) Object.assign(this.leases[partition]!, { owner: claim.node, epoch: claim.epoch });
  }

  /** The connection of a claim is lost before its commit. */
  abortClaim(claim: Claim): void {
    this.#claims.delete(claim);
    if (claim.state !== 'done') claim.state = 'refused';
  }

  #nextEpoch({ partitions }: Claim): bigint {
    if (this.#plant === 'epoch by partition') {
      const epochs = partitions.map((partition) => this.leases[partition]!.epoch);
      return epochs.reduce((a, b) => (a > b ? a : b)) + 1n;
    }
    this.#epoch += 1n;
    if (this.#epochs.has(this.#epoch)) throw new Violation(`epoch ${this.#epoch} was given twice`);
    this.#epochs.add(this.#epoch);
    return this.#epoch;
  }

  // ------------------------------------------------------------------------------------------------ reading

  /** What a new owner reads back: rows after the checkpoint, and the numbers of all packets that are durable. */
  readBack(partition: number): { rows: readonly Row[]; seqs: Set<number>; checkpoint: number } {
    const { checkpoint, seqs } = this.leases[partition]!;
    const rows = this.#log[partition]!.filter(({ position }) => position > checkpoint);
    return { rows, checkpoint, seqs: new Set([...seqs, ...rows.map(({ packet }) => packet.seq)]) };
  }

  get newestRow(): number {
    return Math.max(0, ...this.#batches.keys());
  }

  acknowledge({ partition, seq }: ModelPacket): void {
    this.#acknowledged[partition]!.add(seq);
    this.#mustHave(partition, seq);
  }

  isAcknowledged({ partition, seq }: ModelPacket): boolean {
    return this.#acknowledged[partition]!.has(seq);
  }

  isStored({ partition, seq }: ModelPacket): boolean {
    return this.#stored[partition]!.has(seq);
  }

  #mustHaveAllAcknowledged(): void {
    for (const [partition, seqs] of this.#acknowledged.entries()) for (const seq of seqs) this.#mustHave(partition, seq);
  }

  #mustHave(partition: number, seq: number): void {
    if (this.#stored[partition]!.has(seq)) return;
    const { checkpoint } = this.leases[partition]!;
    if (this.#log[partition]!.some(({ position, packet }) => packet.seq === seq && position > checkpoint)) return;
    throw new Violation(`packet ${seq} of partition ${partition} was acknowledged and is lost`);
  }
}
