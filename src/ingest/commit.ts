/** Packets that become durable together: one promise of the sink, and its waiters.
 *  A promise and callbacks per packet took a tenth of the cost of a packet; this is one per group commit. */
import type { Session } from './session.ts';
import type { Rejected } from '../errors.ts';
import type { OwnersWord } from './sink.ts';

/** Notified once, after the sessions are updated. @param error null when durable */
export interface CommitWaiter {
  committed: (commit: Commit, error: unknown) => void;
}

export class Commit {
  /** The sink's promise: resolves when the packets are durable, but for those that it says are refused. */
  readonly durable: Promise<void | OwnersWord>;
  settled = false;
  #word: OwnersWord | null = null;
  readonly #sessions: Session[] = [];
  readonly #seqs: number[] = [];
  readonly #waiters: CommitWaiter[] = [];

  /** @param onEnd called once settled, after all waiters */
  constructor(durable: Promise<void | OwnersWord>, onEnd: (commit: Commit) => void = () => undefined) {
    this.durable = durable;
    durable.then(
      (word) => {
        if (word !== undefined) this.#word = word;
        this.#end(null, onEnd);
      },
      (error: unknown) => this.#end(error ?? new Error('not stored'), onEnd),
    );
  }

  add(session: Session, seq: number): void {
    session.unsettledCount++;
    this.#sessions.push(session);
    this.#seqs.push(seq);
  }

  /** Searches the newest first, because a repeated packet was usually sent just before. */
  has(session: Session, seq: number): boolean {
    for (let i = this.#seqs.length - 1; i >= 0; i--) if (this.#seqs[i] === seq && this.#sessions[i] === session) return true;
    return false;
  }

  /** Whether a packet that was accepted turned out to be durable before. Known once it is settled. */
  isRepeat({ streamId }: Session, seq: number): boolean {
    return this.#word?.repeats.get(streamId)?.has(seq) ?? false;
  }

  /** Why a packet of it was not kept, though others were; null: it was. Known once it is settled. */
  refusalOf({ streamId }: Session, seq: number): Rejected | null {
    return this.#word?.refused.get(streamId)?.get(seq) ?? null;
  }

  /** A refusal of a packet of one of these sessions; null: there is none. */
  refusalIn(sessions: Iterable<Session>): Rejected | null {
    if (this.#word === null || this.#word.refused.size === 0) return null;
    for (const { streamId } of sessions) for (const why of this.#word.refused.get(streamId)?.values() ?? []) return why;
    return null;
  }

  /** @param waiter notified once per call, in the order of the calls */
  wait(waiter: CommitWaiter): void {
    this.#waiters.push(waiter);
  }

  #end(error: unknown, onEnd: (commit: Commit) => void): void {
    this.settled = true;
    const sessions = this.#sessions;
    for (let i = 0; i < sessions.length; i++) {
      const session = sessions[i]!;
      const seq = this.#seqs[i]!;
      if (error === null && this.refusalOf(session, seq) === null) session.stored(seq, this.#word?.highs.get(session.streamId));
      else session.lost(seq);
    }
    for (const waiter of this.#waiters) waiter.committed(this, error);
    onEnd(this);
  }
}
