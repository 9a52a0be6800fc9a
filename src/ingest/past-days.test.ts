import { expect, it } from 'vitest';
import type { Caller } from '../caller.ts';
import { ORGANIZATION_DAYS_PER_DAY_MAX, PastDays, USER_DAYS_PER_DAY_MAX, USER_DAYS_PER_MIN_MAX } from './past-days.ts';

const DAY_NS = 86_400_000_000_000n;
const DAY_MS = 86_400_000;
const nowNs = 30_000n * DAY_NS;
const user = (subjectId: string, orgId: string): Caller => ({
  kind: 'user',
  orgId,
  projectId: 'p',
  subjectId,
  jti: 'j',
  expiresAtMs: Infinity,
});
const key = (keyId: string, orgId: string): Caller => ({ kind: 'key', keyId, orgId, scopes: ['ingest'], projectId: null, subjectId: null });

/** How many of the days [from, to) before now are taken, one every two seconds, and why the others are not. */
function begin(days: PastDays, caller: Caller, from: number, to: number, startMs = 0): { taken: number; why: Set<string> } {
  const why = new Set<string>();
  let taken = 0;
  for (let day = from; day < to; day++) {
    const refused = days.take(caller, nowNs - BigInt(day) * DAY_NS, nowNs, startMs + 2000 * (day - from));
    if (refused === null) taken++;
    else why.add(/by this \w+|with this \w+/.exec(refused.detail)![0]);
  }
  return { taken, why };
}

it('takes a year of a person within a day, and another on the next', () => {
  const days = new PastDays();
  expect(begin(days, user('a', 'o'), 3, 368)).toEqual({ taken: 365, why: new Set() });
  const more = begin(days, user('a', 'o'), 400, 800, 1_000_000);
  expect(more.taken).toBeLessThan(USER_DAYS_PER_DAY_MAX - 365 + 20);
  expect(more.why).toEqual(new Set(['by this user']));
  // What is begun is taken, and another person has days of their own.
  expect(begin(days, user('a', 'o'), 3, 368, 2_000_000).taken).toBe(365);
  expect(begin(days, user('b', 'o'), 1000, 1100, 2_000_000).taken).toBe(100);
  expect(begin(days, user('a', 'o'), 2000, 2365, 2 * DAY_MS).taken).toBe(365);
});

it('takes ten years of an organization within a day, whatever its people and keys, and others meanwhile', () => {
  const days = new PastDays();
  expect(begin(days, key('k', 'o'), 3, 3700).taken).toBe(3697);
  const more = begin(days, key('another', 'o'), 4000, 5000, 8_000_000);
  expect(more.taken).toBeLessThan(ORGANIZATION_DAYS_PER_DAY_MAX - 3697 + 500);
  expect(more.why).toEqual(new Set(['by this organization']));
  expect(begin(days, key('k', 'other'), 6000, 6100, 8_000_000).taken).toBe(100);
});

it('takes sixty of a person at once, and does not count for the organization what it refuses', () => {
  const days = new PastDays();
  const at = (day: number) => days.take(user('a', 'o'), nowNs - BigInt(day) * DAY_NS, nowNs, 0);
  expect(Array.from({ length: 5000 }, (_, i) => at(3 + i)).filter((refused) => refused === null)).toHaveLength(USER_DAYS_PER_MIN_MAX);
  expect(begin(days, key('k', 'o'), 6000, 6100).taken).toBe(100);
});
