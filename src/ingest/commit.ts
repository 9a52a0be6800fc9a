/** Packets that become durable together: one promise of the sink, and everybody who waits for it.
 *  A promise per packet, with its callbacks, was a tenth of the cost of a packet; this is one per group commit. */
import type { Session } from './session.ts';

/** Called once, after the sessions know. @param error null when durable */
export interface CommitWaiter {
  committed: (commit: Commit, error: unknown) => void;
}

export class Commit {
  /** The sink's: resolves when the packets are durable. */
  readonly durable: Promise<void>;
  settled = false;
  readonly #sessions: Session[] = [];
  readonly #seqs: number[] = [];
  readonly #waiters: CommitWaiter[] = [];

  constructor(durable: Promise<void>) {
    this.durable = durable;
    durable.then(
      () => this.#end(null),
      (error: unknown) => this.#end(error ?? new Error('not stored')),
    );
  }

  add(session: Session, seq: number): void {
    this.#sessions.push(session);
    this.#seqs.push(seq);
  }

  /** @param waiter told once for each call, in order of the calls */
  wait(waiter: CommitWaiter): void {
    this.#waiters.push(waiter);
  }

  #end(error: unknown): void {
    this.settled = true;
    const sessions = this.#sessions;
    for (let i = 0; i < sessions.length; i++) {
      if (error === null) sessions[i]!.stored(this.#seqs[i]!);
      else sessions[i]!.lost(this.#seqs[i]!);
    }
    for (const waiter of this.#waiters) waiter.committed(this, error);
  }
}
