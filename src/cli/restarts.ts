/** Restarts of a process that ends by itself: pauses that grow while it ends soon after each start, up to a limit. */

/** Pause before the first restart, ms; doubled with each end within QUICK_MS of a start, up to the longest. */
const PAUSE_MS = 500;
const PAUSE_MS_MAX = 30_000;
/** A process that has run for longer works, ms. */
export const QUICK_MS = 60_000;
/** Quick ends in a row after which the cause will not go away by itself: two minutes of pauses, more than a restart of the database. */
export const ENDS_MAX = 10;

/** Whether a process that was told to stop did so. Neither did one that was killed for taking too long, nor one that fell over on the way.
 *  @param code null: a signal has ended it; those by which it is told may come before it listens to them */
export const hasEndedWell = (code: number | null, by: string | null): boolean => code === 0 || by === 'SIGINT' || by === 'SIGTERM';

export class Restarts {
  #quickEnds = 0;

  /** @param ranMs how long the process ran @returns the pause before its next start, ms */
  noteEnd(ranMs: number): number {
    this.#quickEnds = ranMs > QUICK_MS ? 0 : this.#quickEnds + 1;
    return Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** Math.max(0, this.#quickEnds - 1));
  }

  get isHopeless(): boolean {
    return this.#quickEnds >= ENDS_MAX;
  }
}
