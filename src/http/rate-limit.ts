/** Rate limits by the generic cell rate algorithm: one number per caller, no timers, no windows to game.
 *  A caller's `tat` (theoretical arrival time) advances by one interval per request; a request is refused when it would run further
 *  ahead of the clock than the burst allows. */

export type Verdict = Readonly<{ allowed: boolean; remaining: number; resetSec: number; retryAfterSec: number }>;

/** Callers kept in memory; above this, those whose allowance is full again are dropped, which changes no verdict. */
const CALLERS_MAX = 50_000;

/** Requests that others let through count also where this limit is exhausted, up to so many bursts: those that came to several nodes in one
 *  moment are waited for, and nobody is locked out for good. */
const DEBT_BURSTS_MAX = 4;

export class RateLimit {
  readonly #intervalMs: number;
  readonly #burstMs: number;
  readonly #burst: number;
  readonly #tat = new Map<string, number>();
  readonly #onTaken: (caller: string) => void;
  /** For the RateLimit-Policy header. */
  readonly policy: string;

  /** @param perSec sustained requests per second  @param burstSec seconds of them that may come at once
   *  @param onTaken called for each request that was let through here */
  constructor(name: string, perSec: number, burstSec: number, onTaken: (caller: string) => void = () => undefined) {
    this.#onTaken = onTaken;
    this.#intervalMs = 1000 / perSec;
    this.#burst = Math.max(1, Math.round(perSec * burstSec));
    this.#burstMs = this.#burst * this.#intervalMs;
    this.policy = `"${name}";q=${this.#burst};w=${Math.max(1, Math.round(burstSec))}`;
  }

  take(caller: string, nowMs: number): Verdict {
    const verdict = this.#count(caller, nowMs);
    if (verdict.allowed) this.#onTaken(caller);
    return verdict;
  }

  /** Counts a request that another node let through. */
  note(caller: string, nowMs: number): void {
    const tat = Math.max(this.#tat.get(caller) ?? 0, nowMs) + this.#intervalMs;
    this.#set(caller, Math.min(tat, nowMs + DEBT_BURSTS_MAX * this.#burstMs), nowMs);
  }

  #count(caller: string, nowMs: number): Verdict {
    const tat = Math.max(this.#tat.get(caller) ?? 0, nowMs);
    const next = tat + this.#intervalMs;
    const room = nowMs + this.#burstMs - next;
    const allowed = room >= -1e-6;
    if (allowed) this.#set(caller, next, nowMs);
    const held = allowed ? next : tat;
    return {
      allowed,
      remaining: Math.max(0, Math.floor((nowMs + this.#burstMs - held) / this.#intervalMs + 1e-6)),
      resetSec: Math.ceil((held - nowMs) / 1000),
      retryAfterSec: allowed ? 0 : Math.max(1, Math.ceil(-room / 1000)),
    };
  }

  #set(caller: string, tat: number, nowMs: number): void {
    if (this.#tat.size >= CALLERS_MAX && !this.#tat.has(caller)) this.#forget(nowMs);
    this.#tat.set(caller, tat);
  }

  /** Says whether one more would be refused, without taking it: for limits that count only failures. */
  exhausted(caller: string, nowMs: number): boolean {
    return Math.max(this.#tat.get(caller) ?? 0, nowMs) + this.#intervalMs > nowMs + this.#burstMs + 1e-6;
  }

  #forget(nowMs: number): void {
    for (const [caller, tat] of this.#tat) if (tat <= nowMs) this.#tat.delete(caller);
    if (this.#tat.size >= CALLERS_MAX) this.#tat.clear();
  }
}
