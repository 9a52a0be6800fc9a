/** Seeded histories of the lease protocol: claims, commits, pauses, deaths, lost connections, take-backs and drains of a few nodes in any
 *  order, then a quiet end at which every packet must be acknowledged and stored. */
import { AssertionError } from 'node:assert';
import { createRandom } from '../../src/cli/simulator/random.ts';
import { LeaseDatabase, Violation } from './lease-database.ts';
import type { Claim, ModelPacket, Plant, Transaction } from './lease-database.ts';
import { LeaseNode } from './lease-node.ts';

const STEPS = 160;
const QUIET_ROUNDS = 40;

/** @returns what was wrong; null: nothing */
export function playLeases(seed: number, plant: Plant | null = null): string | null {
  try {
    new History(seed, plant).play();
    return null;
  } catch (error) {
    if (error instanceof Violation || error instanceof AssertionError) return error.message;
    throw error;
  }
}

class History {
  readonly #next: () => number;
  readonly #plant: Plant | null;
  readonly #database: LeaseDatabase;
  readonly #partitionCount: number;
  readonly #nodes: LeaseNode[] = [];
  readonly #packets: ModelPacket[] = [];
  /** What the server still has under way, also of nodes that are gone. */
  readonly #transactions = new Set<Transaction>();
  readonly #claims = new Set<Claim>();
  /** The leases as they were looked at some steps ago. */
  #seen: readonly bigint[] = [];

  constructor(seed: number, plant: Plant | null) {
    const random = createRandom(seed, 'leases');
    this.#next = random.next;
    this.#plant = plant;
    this.#partitionCount = 1 + this.#below(4);
    this.#database = new LeaseDatabase(this.#partitionCount, plant);
    const nodes = 2 + this.#below(2);
    for (let i = 0; i < nodes; i++) this.#start();
    this.#look();
  }

  play(): void {
    for (let i = 0; i < STEPS; i++) this.#step();
    this.#quiet();
  }

  #below(n: number): number {
    return Math.floor(this.#next() * n);
  }

  #pick<T>(from: readonly T[]): T | undefined {
    return from[this.#below(from.length)];
  }

  #start(): void {
    this.#nodes.push(new LeaseNode(this.#nodes.length, this.#database, this.#plant));
  }

  #look(): void {
    this.#seen = this.#database.leases.map(({ epoch }) => epoch);
  }

  #note(node: LeaseNode): void {
    for (const transaction of node.underWay) this.#transactions.add(transaction);
    if (node.claim !== null) this.#claims.add(node.claim);
  }

  // ------------------------------------------------------------------------------------------------ a step

  #step(): void {
    const node = this.#pick(this.#nodes.filter(({ paused }) => !paused));
    const partition = this.#below(this.#partitionCount);
    const draw = this.#below(100);
    if (draw < 25) this.#server();
    else if (draw < 30) this.#look();
    else if (draw < 34) this.#fault();
    else if (node !== undefined) this.#act(node, partition, draw);
    if (node !== undefined) this.#note(node);
  }

  #act(node: LeaseNode, partition: number, draw: number): void {
    if (draw < 52) node.take(this.#packet(partition));
    else if (draw < 62) node.write();
    else if (draw < 76) node.hear();
    else if (draw < 83) node.readBack(partition);
    else if (draw < 88) node.store(partition);
    else if (draw < 90) node.release(partition);
    else if (draw < 92) node.renew();
    else this.#claim(node);
  }

  /** A new packet, or one that the device sends again. */
  #packet(partition: number): ModelPacket {
    const before = this.#packets.filter((packet) => packet.partition === partition);
    const again = this.#next() < 0.3 ? this.#pick(before) : undefined;
    if (again !== undefined) return again;
    const packet = { partition, seq: before.length };
    this.#packets.push(packet);
    return packet;
  }

  #claim(node: LeaseNode): void {
    const wanted: number[] = [];
    for (let partition = 0; partition < this.#partitionCount; partition++)
      if (this.#next() < 0.6 && node.held.epochOf(partition) === null) wanted.push(partition);
    node.beginClaim(
      wanted,
      wanted.map((partition) => this.#seen[partition]!),
    );
  }

  /** The server goes on with one of the things that it has under way. */
  #server(): void {
    const transaction = this.#pick([...this.#transactions]);
    const claim = this.#pick([...this.#claims]);
    if (this.#next() < 0.5) {
      if (transaction !== undefined) this.#advance(transaction);
    } else if (claim !== undefined) this.#advanceClaim(claim);
  }

  #advance(transaction: Transaction): void {
    if (transaction.state === 'waiting') this.#database.advance(transaction);
    else if (this.#next() < 0.95) this.#database.commit(transaction);
    else this.#database.abort(transaction);
    if (transaction.state !== 'waiting' && transaction.state !== 'checked') this.#transactions.delete(transaction);
  }

  #advanceClaim(claim: Claim): void {
    if (claim.state === 'waiting') this.#database.advanceClaim(claim, this.#next() < 0.2);
    else if (this.#next() < 0.95) this.#database.commitClaim(claim);
    else this.#database.abortClaim(claim);
    if (claim.state === 'done' || claim.state === 'refused') this.#claims.delete(claim);
  }

  #fault(): void {
    const node = this.#pick(this.#nodes)!;
    this.#note(node);
    const draw = this.#next();
    if (draw < 0.5) node.paused = !node.paused;
    else if (draw < 0.8) node.loseAnswers();
    else this.#nodes.splice(this.#nodes.indexOf(node), 1, new LeaseNode(100 + this.#below(1e6), this.#database, this.#plant)); // killed, started
    this.#note(node);
  }

  // ------------------------------------------------------------------------------------------------ the end

  /** No more faults: one node takes over all that is not held, devices send what was not acknowledged. */
  #quiet(): void {
    for (const node of this.#nodes) node.paused = false;
    for (let round = 0; round < QUIET_ROUNDS && !this.#isDone(); round++) {
      this.#finishAll();
      this.#look();
      for (const node of this.#nodes) this.#goOn(node);
      const held = this.#nodes.flatMap((node) => node.held.partitions);
      const wanted = [...this.#seen.keys()].filter((partition) => !held.includes(partition));
      if (round % 4 === 3)
        this.#nodes[0]!.beginClaim(
          wanted,
          wanted.map((partition) => this.#seen[partition]!),
        );
      for (const node of this.#nodes) this.#note(node);
    }
    const left = this.#packets.find((packet) => !this.#isKept(packet));
    if (left !== undefined) throw new Violation(`packet ${left.seq} of partition ${left.partition} is not taken any more`);
  }

  #goOn(node: LeaseNode): void {
    node.hear();
    node.renew();
    for (let partition = 0; partition < this.#partitionCount; partition++) {
      node.readBack(partition);
      if (node.held.modeOf(partition) === 'leaving') node.release(partition);
    }
    for (const packet of this.#packets) if (!this.#database.isAcknowledged(packet)) node.take(packet);
    node.write();
    this.#note(node);
    this.#finishAll();
    node.hear();
    for (let partition = 0; partition < this.#partitionCount; partition++) {
      node.store(partition);
      this.#note(node);
      this.#finishAll();
      node.hear();
    }
  }

  #finishAll(): void {
    for (let i = 0; i < 4; i++) {
      for (const transaction of this.#transactions) {
        this.#database.advance(transaction);
        this.#database.commit(transaction);
      }
      for (const claim of this.#claims) {
        this.#database.advanceClaim(claim);
        this.#database.commitClaim(claim);
      }
    }
    this.#transactions.clear();
    this.#claims.clear();
  }

  #isKept(packet: ModelPacket): boolean {
    return this.#database.isAcknowledged(packet) && this.#database.isStored(packet);
  }

  #isDone(): boolean {
    return this.#packets.every((packet) => this.#isKept(packet));
  }
}
