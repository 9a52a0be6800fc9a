/** When what could not be read is asked for again. */
import { afterStatus } from '../../sdk/retry.ts';

/** First after this time, then after twice as long, and so on. */
const RETRY_MS = 3000;
const RETRY_MS_MAX = 30_000;

/** How long to wait before what could not be read is asked for again, ms; what is refused never is.  @param beforeMs the wait before */
function retryMs(error: unknown, beforeMs = 0): number {
  const { status = 0 } = error as { status?: number };
  const isFinal = status > 0 && afterStatus(status) !== 'retry';
  return isFinal ? Infinity : Math.min(RETRY_MS_MAX, Math.max(RETRY_MS, 2 * beforeMs));
}

/** Asks again for one thing, or for several that are asked for together. */
export class Retry {
  #waitedMs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  later(error: unknown, again: () => void): void {
    const ms = retryMs(error, this.#waitedMs);
    if (ms === Infinity) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#waitedMs = ms;
      again();
    }, ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#waitedMs = 0;
  }
}

/** When each of many things that could not be read may be asked for again. */
export class Failed {
  readonly #at = new Map<string | number, Readonly<{ ms: number; atMs: number; count: number }>>();
  readonly #triesMax: number;

  /** @param triesMax for each of them; then they may not be asked for before `clear` */
  constructor(triesMax = Infinity) {
    this.#triesMax = triesMax;
  }

  has(key: string | number): boolean {
    return this.#at.has(key);
  }

  mayAsk(key: string | number): boolean {
    return (this.#at.get(key)?.atMs ?? 0) <= performance.now();
  }

  /** @param again called when it may be */
  add(key: string | number, error: unknown, again: () => void): void {
    const before = this.#at.get(key);
    const count = (before?.count ?? 0) + 1;
    const ms = count >= this.#triesMax ? Infinity : retryMs(error, before?.ms);
    this.#at.set(key, { ms, atMs: performance.now() + ms, count });
    if (ms !== Infinity) setTimeout(again, ms + 1);
  }

  /** All of them may, at once. */
  clear(): void {
    this.#at.clear();
  }

  delete(key: string | number): void {
    this.#at.delete(key);
  }
}
