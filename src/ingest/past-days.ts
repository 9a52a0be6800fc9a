/** Limits how fast one credential may send data of other days than the present ones. Tables have a partition for each day, and making one
 *  takes the writer of everybody tens of milliseconds: packets of a day each, as many as a device may send, would make it stand still. */
import { rejected } from '../errors.ts';
import type { Rejected } from '../errors.ts';
import type { Caller } from '../caller.ts';
import { callerKey } from '../http/request.ts';
import { RateLimit } from '../http/rate-limit.ts';

/** Days of the past that nobody has sent data of since the start, and that a user token, or a key, may begin within a minute. */
export const USER_DAYS_PER_MIN_MAX = 60;
export const KEY_DAYS_PER_MIN_MAX = 600;
const MINUTE_SEC = 60;
const DAY_NS = 86_400_000_000_000n;
/** Younger data lie in partitions that are there anyway. */
const PRESENT_NS = 2n * DAY_NS;

const perMin = { user: USER_DAYS_PER_MIN_MAX, key: KEY_DAYS_PER_MIN_MAX } as const;

export class PastDays {
  readonly #limits = {
    user: new RateLimit('days', perMin.user / MINUTE_SEC, MINUTE_SEC),
    key: new RateLimit('days', perMin.key / MINUTE_SEC, MINUTE_SEC),
  };

  /** Days since 1970 that were begun since the start: their partitions are there. As many as the calendar has, at most. */
  readonly #begun = new Set<number>();

  /** @param startNs of the packet, Unix ns  @returns why it is to be sent again later; null: it may be taken */
  take(caller: Caller, startNs: bigint, nowNs: bigint): Rejected | null {
    if (nowNs - startNs < PRESENT_NS) return null;
    const day = Number(startNs / DAY_NS);
    if (this.#begun.has(day)) return null;
    const kind = caller.kind === 'user' ? 'user' : 'key';
    if (!this.#limits[kind].take(callerKey(caller), performance.now()).allowed) {
      const detail = `data of ${perMin[kind]} days of the past were begun with this credential within a minute, which is the limit`;
      return rejected('rate_limited', detail);
    }
    this.#begun.add(day);
    return null;
  }
}
