/** Periodic work that one busy peer cannot starve.
 *  uWebSockets.js reads from one socket for as long as it has bytes, so a peer that never stops sending keeps the event loop inside one
 *  callback and every timer late by seconds. So due ticks are run from the message handler too: `runDue` is one comparison when none is. */

type Tick = { readonly periodMs: number; readonly run: () => void; dueMs: number; timer: NodeJS.Timeout | null };

export class Ticks {
  readonly #ticks = new Set<Tick>();
  #nextDueMs = Infinity;

  /** Runs `run` every `periodMs`, from a timer or from a message handler, whichever comes first. Missed periods are not made up.
   *  @returns how to stop it */
  every(periodMs: number, run: () => void): () => void {
    const tick: Tick = { periodMs, run, dueMs: performance.now() + periodMs, timer: null };
    // job: ticks: timers that run from a message handler, too, when one socket keeps the loop busy
    tick.timer = setInterval(() => this.runDue(performance.now()), periodMs);
    this.#ticks.add(tick);
    this.#nextDueMs = Math.min(this.#nextDueMs, tick.dueMs);
    return () => {
      if (tick.timer !== null) clearInterval(tick.timer);
      this.#ticks.delete(tick);
      this.#plan();
    };
  }

  /** Runs what is due at `nowMs` (performance.now()). */
  runDue(nowMs: number): void {
    if (nowMs < this.#nextDueMs) return;
    for (const tick of this.#ticks) {
      // A timer may fire up to 1 ms early by this clock; without the slack its tick would wait a whole period.
      if (nowMs + 1 < tick.dueMs) continue;
      tick.dueMs = Math.max(tick.dueMs + tick.periodMs, nowMs + tick.periodMs / 2);
      tick.run();
    }
    this.#plan();
  }

  /** Stops all ticks; a remaining timer would keep the process alive. */
  stop(): void {
    for (const { timer } of this.#ticks) if (timer !== null) clearInterval(timer);
    this.#ticks.clear();
    this.#plan();
  }

  #plan(): void {
    let next = Infinity;
    for (const tick of this.#ticks) next = Math.min(next, tick.dueMs - 1);
    this.#nextDueMs = next;
  }
}
