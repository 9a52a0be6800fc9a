/** Schedules acknowledgements.
 *
 *  Sending a message of a few bytes costs as much as taking a packet, so acknowledgements of one socket are at least ACK_SPACING_MS apart
 *  unless the client needs one: at ten packets a second that halves their number. Those that are due are sent at the end of the turn of the
 *  event loop, one per socket however many messages settled in it. The rest wait in one list for all sockets, scanned every ACK_TICK_MS
 *  while it is not empty. */

/** Minimum time between acknowledgements of a socket, ms. Acknowledgements are due within 250 ms (p99), commit included. */
export const ACK_SPACING_MS = 180;
const ACK_TICK_MS = 20;

export interface AckSocket {
  /** Time of the last acknowledgement, performance.now(); -Infinity: none yet. */
  readonly ackedMs: number;
  /** True when the acknowledgement must not wait for the spacing. */
  readonly needsAck: boolean;
  /** Called once for each plan(). */
  sendAck: () => void;
}

export class AckSchedule {
  #due: AckSocket[] = [];
  readonly #later: AckSocket[] = [];
  #timer: NodeJS.Timeout | null = null;

  /** Plans the next acknowledgement of a socket; one at a time. */
  plan(socket: AckSocket): void {
    if (isDue(socket, performance.now())) {
      if (this.#due.length === 0) setImmediate(() => this.#sendDue());
      this.#due.push(socket);
      return;
    }
    this.#later.push(socket);
    // job: acknowledgements: sends those that wait for their spacing
    this.#timer ??= setInterval(() => this.#sendLater(), ACK_TICK_MS);
  }

  #sendDue(): void {
    const due = this.#due;
    this.#due = [];
    for (const socket of due) socket.sendAck();
  }

  #sendLater(): void {
    const nowMs = performance.now();
    const waiting = this.#later;
    let kept = 0;
    for (const socket of waiting) {
      if (isDue(socket, nowMs)) socket.sendAck();
      else waiting[kept++] = socket;
    }
    waiting.length = kept;
    if (kept > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}

function isDue({ ackedMs, needsAck }: AckSocket, nowMs: number): boolean {
  return needsAck || nowMs - ackedMs >= ACK_SPACING_MS;
}
