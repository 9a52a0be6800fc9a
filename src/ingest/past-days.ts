/** Limits how fast one credential may send data of other days than the present ones. Tables have a partition for each day, and making one
 *  takes the writer of everybody tens of milliseconds: packets of a day each, as many as a device may send, would make it stand still. Very
 *  many partitions cost every read and every start, so that a person, and an organization, begin so many within a day, too. */
import { rejected } from '../errors.ts';
import type { Rejected } from '../errors.ts';
import type { Caller } from '../caller.ts';
import { callerKey } from '../http/request.ts';
import { RateLimit } from '../http/rate-limit.ts';

/** Days of the past that nobody has sent data of since the start, and that a user token, or a key, may begin within a minute. */
export const USER_DAYS_PER_MIN_MAX = 60;
export const KEY_DAYS_PER_MIN_MAX = 600;
/** ... and within a day: a year of a person's recordings, ten years of an organization's. */
export const USER_DAYS_PER_DAY_MAX = 400;
export const ORGANIZATION_DAYS_PER_DAY_MAX = 4000;
const MINUTE_SEC = 60;
const DAY_SEC = 86_400;
const DAY_NS = 86_400_000_000_000n;
/** Younger data lie in partitions that are there anyway. */
const PRESENT_NS = 2n * DAY_NS;

const perMin = { user: USER_DAYS_PER_MIN_MAX, key: KEY_DAYS_PER_MIN_MAX } as const;

export class PastDays {
  readonly #limits = {
    user: new RateLimit('days', perMin.user / MINUTE_SEC, MINUTE_SEC),
    key: new RateLimit('days', perMin.key / MINUTE_SEC, MINUTE_SEC),
  };

  readonly #ofDay = {
    user: new RateLimit('days', USER_DAYS_PER_DAY_MAX / DAY_SEC, DAY_SEC),
    organization: new RateLimit('days', ORGANIZATION_DAYS_PER_DAY_MAX / DAY_SEC, DAY_SEC),
  };

  /** Days since 1970 that were begun since the start: their partitions are there. As many as the calendar has, at most. */
  readonly #begun = new Set<number>();

  /** @param startNs of the packet, Unix ns  @param nowMs of a clock that only goes forward
   *  @returns why it is to be sent again later; null: it may be taken */
  take(caller: Caller, startNs: bigint, nowNs: bigint, nowMs = performance.now()): Rejected | null {
    if (nowNs - startNs < PRESENT_NS) return null;
    const day = Number(startNs / DAY_NS);
    if (this.#begun.has(day)) return null;
    const kind = caller.kind === 'user' ? 'user' : 'key';
    const [who, organization] = [callerKey(caller), 'orgId' in caller ? caller.orgId : ''];
    const refused = (max: number, whose: string, within: string): Rejected =>
      rejected('rate_limited', `data of ${max} days of the past were begun ${whose} within a ${within}, which is the limit`);
    if (this.#limits[kind].exhausted(who, nowMs)) return refused(perMin[kind], 'with this credential', 'minute');
    if (kind === 'user' && this.#ofDay.user.exhausted(who, nowMs)) return refused(USER_DAYS_PER_DAY_MAX, 'by this user', 'day');
    if (!this.#ofDay.organization.take(organization, nowMs).allowed)
      return refused(ORGANIZATION_DAYS_PER_DAY_MAX, 'by this organization', 'day');
    this.#limits[kind].take(who, nowMs);
    if (kind === 'user') this.#ofDay.user.take(who, nowMs);
    this.#begun.add(day);
    return null;
  }
}
