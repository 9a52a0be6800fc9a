/** A node as the lease protocol sees it: it takes packets into batches, writes one batch at a time, acknowledges, stores, saves
 *  checkpoints. What it holds, and the numbers of its batches, are the service's own (src/cluster/held-partitions.ts). */
import { HeldPartitions } from '../../src/cluster/held-partitions.ts';
import type { Claim, LeaseDatabase, ModelPacket, Plant, Transaction } from './lease-database.ts';

/** Has a number from the first time it is written. */
type Batch = { position: number | null; id: number; packets: ModelPacket[] };
/** What a node knows of a partition that it holds. */
type Known = {
  /** Numbers of packets that are durable. */
  seqs: Set<number>;
  /** Durable, not stored yet. */
  waiting: { position: number; packet: ModelPacket }[];
};

let batches = 0;

export class LeaseNode {
  readonly id: number;
  readonly held = new HeldPartitions();
  readonly #database: LeaseDatabase;
  readonly #plant: Plant | null;
  readonly #known = new Map<number, Known>();
  #open: Batch | null = null;
  #writing: { batch: Batch; transaction: Transaction } | null = null;
  #storing: { partition: number; epoch: bigint; transaction: Transaction } | null = null;
  #durable = 0;
  #counted = 0;
  claim: Claim | null = null;
  paused = false;

  constructor(id: number, database: LeaseDatabase, plant: Plant | null) {
    this.id = id;
    this.#database = database;
    this.#plant = plant;
  }

  // ------------------------------------------------------------------------------------------------ packets

  /** A device sends a packet. */
  take(packet: ModelPacket): void {
    if (this.held.modeOf(packet.partition) !== 'open') return;
    if (this.#known.get(packet.partition)!.seqs.has(packet.seq)) {
      this.#database.acknowledge(packet); // a duplicate
      return;
    }
    const isSame = ({ partition, seq }: ModelPacket): boolean => partition === packet.partition && seq === packet.seq;
    if (this.#open?.packets.some(isSame) === true || this.#writing?.batch.packets.some(isSame) === true) return;
    const position = this.#plant === 'number before its turn' ? this.#nextPosition() : null;
    this.#open ??= { position, id: ++batches, packets: [] };
    this.#open.packets.push(packet);
  }

  #nextPosition(): number {
    if (this.#plant !== 'number from the newest row') return this.held.nextPosition();
    this.#counted = this.#counted === 0 ? this.#database.newestRow + 1 : this.#counted + 1;
    return this.#counted;
  }

  /** Writes the open batch. */
  write(): void {
    if (this.#writing !== null || this.#open === null) return;
    const batch = this.#open;
    this.#open = null;
    this.#begin(batch);
    if (this.#plant === 'acknowledged before the commit') for (const packet of batch.packets) this.#database.acknowledge(packet);
  }

  #begin(batch: Batch): void {
    const held = this.#epochs(batch.packets.map(({ partition }) => partition));
    batch.position ??= this.#nextPosition();
    const { packets, position, id } = batch;
    this.#writing = { batch, transaction: this.#database.begin({ kind: 'log', held, packets, position, batch: id }) };
  }

  /** The answers of the database arrive. */
  hear(): void {
    this.#hearOfBatch();
    this.#hearOfStoring();
    const { claim } = this;
    if (claim?.state === 'done') this.#hearOfClaim(claim);
    if (claim?.state === 'done' || claim?.state === 'refused') this.claim = null;
  }

  #hearOfBatch(): void {
    if (this.#writing === null) return;
    const { batch, transaction } = this.#writing;
    if (transaction.state === 'waiting' || transaction.state === 'checked') return;
    this.#writing = null;
    if (transaction.state === 'committed') this.#acknowledge(batch);
    else if (transaction.state === 'aborted') this.#begin(batch);
    else this.#refused(batch);
  }

  #acknowledge({ packets, position: given }: Batch): void {
    const position = given!;
    this.#durable = Math.max(this.#durable, position);
    for (const packet of packets) {
      const known = this.#known.get(packet.partition);
      if (known === undefined) continue; // dropped meanwhile: the device sends it to the next owner
      known.seqs.add(packet.seq);
      known.waiting.push({ position, packet });
      this.#database.acknowledge(packet);
    }
  }

  /** Nothing of the batch is acknowledged; what is still this node's is written again, under a number of its own. */
  #refused({ packets }: Batch): void {
    this.renew();
    const rest = packets.filter(({ partition }) => this.held.epochOf(partition) !== null);
    if (rest.length > 0) this.#begin({ position: null, id: ++batches, packets: rest });
  }

  // ------------------------------------------------------------------------------------------------ storing

  /** Stores what is durable of a partition, or moves its checkpoint, or gives it back. */
  store(partition: number): void {
    const known = this.#known.get(partition);
    if (this.#storing !== null || known === undefined || this.held.modeOf(partition) === 'taking') return;
    const packets = known.waiting.map(({ packet }) => packet);
    const kind = packets.length > 0 ? 'store' : 'checkpoint';
    this.#beginStoring(partition, kind, kind === 'store' ? packets : [...known.seqs].map((seq) => ({ partition, seq })));
  }

  /** Gives a partition back once everything is stored. */
  release(partition: number): void {
    const known = this.#known.get(partition);
    const has = (batch: Batch | null | undefined): boolean => batch?.packets.some((packet) => packet.partition === partition) === true;
    if (known === undefined || this.#storing !== null || this.claim !== null) return;
    if (this.held.modeOf(partition) === 'open') this.held.leave(partition);
    if (known.waiting.length > 0 || has(this.#open) || has(this.#writing?.batch)) return;
    if (this.held.modeOf(partition) === 'leaving') this.#beginStoring(partition, 'release', []);
  }

  #beginStoring(partition: number, kind: 'store' | 'checkpoint' | 'release', packets: readonly ModelPacket[]): void {
    const write = { kind, packets, position: this.#durable, batch: 0, held: this.#epochs([partition]) };
    this.#storing = { partition, epoch: this.held.epochOf(partition)!, transaction: this.#database.begin(write) };
  }

  #hearOfStoring(): void {
    if (this.#storing === null) return;
    const { partition, epoch, transaction } = this.#storing;
    const { state, write } = transaction;
    if (state === 'waiting' || state === 'checked') return;
    this.#storing = null;
    if (state === 'refused') this.renew();
    if (state !== 'committed' || this.held.epochOf(partition) !== epoch) return;
    const known = this.#known.get(partition)!;
    if (write.kind === 'store') known.waiting = known.waiting.filter(({ packet }) => !write.packets.includes(packet));
    if (write.kind === 'release') this.#drop(partition);
  }

  // ------------------------------------------------------------------------------------------------ leases

  /** Claims partitions as they were seen some time ago. */
  beginClaim(partitions: readonly number[], seen: readonly bigint[]): void {
    if (this.claim === null && partitions.length > 0) this.claim = this.#database.beginClaim(this.id, partitions, seen);
  }

  #hearOfClaim({ partitions, epoch }: Claim): void {
    this.held.take(partitions, epoch);
    for (const partition of partitions) {
      this.#known.set(partition, { seqs: new Set(), waiting: [] });
      if (this.#plant === 'opened before it was read back') this.held.open(partition);
    }
  }

  /** Reads back what the last owner left, and opens the partition. */
  readBack(partition: number): void {
    if (this.held.modeOf(partition) !== 'taking') return;
    const { rows, seqs, checkpoint } = this.#database.readBack(partition);
    this.#durable = Math.max(this.#durable, checkpoint, ...rows.map(({ position }) => position));
    this.#known.set(partition, { seqs, waiting: [...rows] });
    this.held.open(partition);
  }

  /** Looks at the leases, and drops what others have claimed. */
  renew(): void {
    for (const partition of this.held.partitions)
      if (this.#database.leases[partition]!.epoch !== this.held.epochOf(partition)) this.#drop(partition);
  }

  #drop(partition: number): void {
    this.held.drop(partition);
    this.#known.delete(partition);
    if (this.#open === null) return;
    this.#open.packets = this.#open.packets.filter((packet) => packet.partition !== partition);
    if (this.#open.packets.length === 0) this.#open = null;
  }

  #epochs(partitions: readonly number[]): Map<number, bigint> {
    return new Map(partitions.map((partition) => [partition, this.held.epochOf(partition) ?? 0n]));
  }

  // ------------------------------------------------------------------------------------------------ faults

  /** Transactions under way; the server goes on with them when the node is dead or cut off. */
  get underWay(): readonly Transaction[] {
    return [this.#writing?.transaction, this.#storing?.transaction].filter((transaction) => transaction !== undefined);
  }

  /** The answer of the database is lost, whatever it was: what was written is written again. */
  loseAnswers(): void {
    if (this.#writing !== null) this.#begin(this.#writing.batch);
    this.#storing = null;
  }
}
