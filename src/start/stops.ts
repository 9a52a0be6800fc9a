/** Stops what was started, newest first, within a deadline. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../http/logger.ts';

/** Extra time for a part to close what is open after the stop deadline, ms. */
const STOP_MOMENT_MS = 300;

/** Why a signal was aborted, for the log: the name of what the process was sent. */
export const whyOf = ({ reason }: AbortSignal): string => (reason instanceof Error ? reason.message : String(reason));

/** Stops what was started, newest first. Each part gets the rest of the deadline and a moment more; one that does not end is abandoned, so
 *  that an unavailable database cannot keep the process alive. */
export class Stops {
  readonly #logger: Logger;
  readonly #timeoutMs: number;
  readonly #stops: ((leftMs: number) => Promise<void>)[] = [];
  #stopping: Promise<void> | null = null;

  constructor(logger: Logger, timeoutMs: number) {
    this.#logger = logger;
    this.#timeoutMs = timeoutMs;
  }

  get begun(): boolean {
    return this.#stopping !== null;
  }

  /** @param stop receives the time it may take, ms. Called at once when the stop has already begun */
  push(stop: (leftMs: number) => Promise<void>): void {
    if (this.#stopping === null) this.#stops.push(stop);
    else void this.#one(stop, STOP_MOMENT_MS);
  }

  /** @param why for the log */
  all(why?: string): Promise<void> {
    return (this.#stopping ??= this.#all(why));
  }

  async #all(why?: string): Promise<void> {
    const beganMs = performance.now();
    this.#logger.info({ why }, 'stop: the service stops');
    const deadlineMs = beganMs + this.#timeoutMs;
    for (const stop of this.#stops.toReversed()) await this.#one(stop, Math.max(STOP_MOMENT_MS, deadlineMs - performance.now()));
    this.#logger.info({ tookMs: Math.round(performance.now() - beganMs) }, 'stop: the service has stopped');
  }

  async #one(stop: (leftMs: number) => Promise<void>, leftMs: number): Promise<void> {
    const timer = new AbortController();
    const late = sleep(leftMs + STOP_MOMENT_MS, true, { signal: timer.signal }).catch(() => false);
    const stopped = stop(leftMs).then(
      () => false,
      (err: unknown) => {
        this.#logger.error({ err }, 'stop: a part did not stop cleanly');
        return false;
      },
    );
    if (await Promise.race([stopped, late])) this.#logger.error({ leftMs }, 'stop: a part did not stop in time');
    timer.abort();
  }
}
