/** Limits how many parts of the table of measurements the credentials of one person, and of one organization, begin within a day. Each part
 *  has 28 days; what is entered with a time of its own, such as a mood, may lie anywhere since 1900, and very many parts cost every read
 *  and every start. */
import type { Caller } from '../caller.ts';
import { PipelineError } from '../errors.ts';
import { RateLimit } from '../http/rate-limit.ts';
import { callerKey } from '../http/request.ts';

/** Parts of 28 days of the past that nobody has entered anything for since the start, and that may be begun within a day. */
export const USER_MONTHS_PER_DAY_MAX = 150;
export const ORGANIZATION_MONTHS_PER_DAY_MAX = 600;
const DAY_SEC = 86_400;
const PART_MS = 28 * DAY_SEC * 1000;
/** Origin of the parts (sql/000008-partitions.sql). */
const ORIGIN_MS = Date.UTC(2001, 0, 1);
const RETRY_AFTER_SEC = 3600;

export class PastMonths {
  readonly #user = new RateLimit('months', USER_MONTHS_PER_DAY_MAX / DAY_SEC, DAY_SEC);
  readonly #organization = new RateLimit('months', ORGANIZATION_MONTHS_PER_DAY_MAX / DAY_SEC, DAY_SEC);
  /** Parts that were begun since the start: as many as the calendar has, at most. */
  readonly #begun = new Set<number>();

  /** @param times of what a request enters  @param nowMs of a clock that only goes forward
   *  @throws PipelineError rate_limited; what it has begun by then counts, and may be sent again */
  take(caller: Caller, times: readonly string[], nowMs = performance.now()): void {
    const newest = Math.floor((Date.now() - PART_MS - ORIGIN_MS) / PART_MS);
    for (const time of times) {
      const part = Math.floor((Date.parse(time) - ORIGIN_MS) / PART_MS);
      if (part >= newest || this.#begun.has(part)) continue;
      const organization = 'orgId' in caller ? caller.orgId : '';
      const ofUser = caller.kind !== 'user' || this.#user.take(callerKey(caller), nowMs).allowed;
      if (!ofUser || !this.#organization.take(organization, nowMs).allowed) {
        const [max, whose] = ofUser ? [ORGANIZATION_MONTHS_PER_DAY_MAX, 'organization'] : [USER_MONTHS_PER_DAY_MAX, 'user'];
        const detail = `Measurements of ${max} months of the past were begun for this ${whose} within a day, which is the limit.`;
        throw new PipelineError('rate_limited', detail, { retryAfterSec: RETRY_AFTER_SEC });
      }
      this.#begun.add(part);
    }
  }
}

/** Of this process. */
export const pastMonths = new PastMonths();
