/** How much of one turn of the event loop a socket may use.
 *
 *  uWebSockets.js reads one socket for as long as it has bytes, so a peer that never pauses would keep the loop to itself: within one turn
 *  a socket may use TURN_MS_MAX of handler time and TURN_BYTES_MAX of input. Only the time of its own messages counts: what others take
 *  of the same turn is not its fault.
 *  The messages that a socket has in one turn come one after the other. So whoever comes after somebody else begins anew, and only a socket
 *  that comes after itself asks whether the turn is still the same: one comparison a message when many sockets send. */

export const TURN_MS_MAX = 50;
export const TURN_BYTES_MAX = 32 * 1024 * 1024;
/** One message counts at most this: more is a pause of the collector or of the machine. */
export const MESSAGE_MS_MAX = 5;

/** The turns of the loop, for the sockets of one server. */
export class Turns {
  /** Of the socket whose message came last. */
  lastRead: TurnBudget | null = null;
  #turn = 0;
  #ends = false;

  /** Number of the turn; counted only while somebody asks. */
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

/** Of one socket. */
export class TurnBudget {
  readonly #turns: Turns;
  /** -1: its first message since another socket was read. */
  #turn = -1;
  #bytes = 0;
  #ms = 0;

  constructor(turns: Turns) {
    this.#turns = turns;
  }

  /** A message begins. @returns has the socket used up its turn? */
  isOver(bytes: number): boolean {
    if (this.#turns.lastRead !== this) {
      this.#turns.lastRead = this;
      this.#turn = -1;
      this.#bytes = 0;
      this.#ms = 0;
    } else {
      const now = this.#turns.current();
      if (now !== this.#turn) {
        if (this.#turn >= 0) {
          this.#bytes = 0;
          this.#ms = 0;
        }
        this.#turn = now;
      }
    }
    this.#bytes += bytes;
    return this.#bytes > TURN_BYTES_MAX || this.#ms > TURN_MS_MAX;
  }

  /** A message took so long, ms. */
  spend(ms: number): void {
    this.#ms += Math.min(MESSAGE_MS_MAX, ms);
  }
}
