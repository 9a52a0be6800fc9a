/** Limits how much of one turn of the event loop a socket may use.
 *
 *  uWebSockets.js reads one socket for as long as it has bytes, so a peer that never pauses would monopolise the loop. Within one turn a
 *  socket may use TURN_BYTES_MAX of input, and beyond its first TURN_MESSAGES_FREE messages TURN_MS_MAX of handler time: what the window
 *  of ingest allows at once is taken on a machine that is slow, too. Only the time of its own messages counts, not that of other
 *  sockets in the same turn. A socket's messages within a turn arrive consecutively. So a socket that follows another one starts afresh,
 *  and only a socket that follows itself asks whether the turn is still the same: one comparison per message when many sockets send. */

export const TURN_MS_MAX = 50;
/** Messages of a turn that no time ends: as many as an ingest socket may send unsettled (`WINDOW` in src/ingest/ingest-socket.ts). */
export const TURN_MESSAGES_FREE = 256;
export const TURN_BYTES_MAX = 32 * 1024 * 1024;
/** Most time counted for one message; more is a pause of the garbage collector or the machine. */
export const MESSAGE_MS_MAX = 5;

/** The turns of the loop, for the sockets of one server. */
export class Turns {
  /** Budget of the socket whose message came last. */
  lastRead: TurnBudget | null = null;
  #turn = 0;
  #ends = false;

  /** Number of the turn; counted only while a socket asks. */
  current(): number {
    if (!this.#ends) {
      this.#ends = true;
      setImmediate(() => {
        this.#ends = false;
        this.#turn += 1;
      });
    }
    return this.#turn;
  }
}

/** Budget of one socket. */
export class TurnBudget {
  readonly #turns: Turns;
  /** -1: its first message since another socket was read. */
  #turn = -1;
  #messages = 0;
  #bytes = 0;
  #ms = 0;

  constructor(turns: Turns) {
    this.#turns = turns;
  }

  /** Starts a message.  @returns whether the socket has used up its turn */
  isOver(bytes: number): boolean {
    if (this.#turns.lastRead !== this) {
      this.#turns.lastRead = this;
      this.#turn = -1;
      this.#restart();
    } else {
      const now = this.#turns.current();
      if (now !== this.#turn) {
        if (this.#turn >= 0) this.#restart();
        this.#turn = now;
      }
    }
    this.#messages += 1;
    this.#bytes += bytes;
    return this.#bytes > TURN_BYTES_MAX || (this.#ms > TURN_MS_MAX && this.#messages > TURN_MESSAGES_FREE);
  }

  /** Adds the time of a message, ms. */
  spend(ms: number): void {
    this.#ms += Math.min(MESSAGE_MS_MAX, ms);
  }

  #restart(): void {
    this.#messages = 0;
    this.#bytes = 0;
    this.#ms = 0;
  }
}
