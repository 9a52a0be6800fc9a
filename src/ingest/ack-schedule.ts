/** When acknowledgements go out.
 *
 *  A message of a few bytes costs the service as much as taking a packet, so acknowledgements of one socket come at least ACK_SPACING_MS
 *  apart unless the client needs one: at ten packets a second that halves their number. What is due goes at the end of the turn of the
 *  loop, once for each socket however many messages settled in it; the rest waits in one list for all sockets, looked through every
 *  ACK_TICK_MS while there is something in it. */

/** No packet waits longer than this: an acknowledgement is due within 250 ms (p99), commit included. */
export const ACK_SPACING_MS = 180;
const ACK_TICK_MS = 20;

export interface AckSocket {
  /** When the last acknowledgement was sent, performance.now(); -Infinity: none was. */
  readonly ackedMs: number;
  /** Must it go whenever the last one was? */
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
