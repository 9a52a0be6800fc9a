import { expect, it } from 'vitest';
import type { Caller } from '../caller.ts';
import { ORGANIZATION_MONTHS_PER_DAY_MAX, PastMonths, USER_MONTHS_PER_DAY_MAX } from './past-months.ts';

const PART_MS = 28 * 86_400_000;
const user = (subjectId: string): Caller => ({ kind: 'user', orgId: 'o', projectId: 'p', subjectId, jti: 'j', expiresAtMs: Infinity });
const key: Caller = { kind: 'key', keyId: 'k', orgId: 'o', scopes: ['write'], projectId: null, subjectId: null };
const months = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => new Date(Date.UTC(2026, 0, 1) - (from + i) * PART_MS).toISOString());

// promise: past-months
it('takes eleven years of a person and forty-six of an organization within a day, and the same again without an end', () => {
  const past = new PastMonths();
  past.take(user('a'), months(3, 3 + USER_MONTHS_PER_DAY_MAX), 0);
  past.take(user('a'), months(3, 3 + USER_MONTHS_PER_DAY_MAX), 0);
  expect(() => past.take(user('a'), months(200, 201), 0)).toThrow(/150 months .* for this user/);
  past.take(user('b'), months(200, 201), 0);
  past.take(key, months(300, 300 + ORGANIZATION_MONTHS_PER_DAY_MAX - USER_MONTHS_PER_DAY_MAX - 1), 0);
  expect(() => past.take(key, months(1000, 1001), 0)).toThrow(/600 months .* for this organization/);
  past.take({ ...key, orgId: 'other' }, months(1000, 1001), 0);
  past.take(user('a'), [new Date().toISOString()], 0);
  past.take(user('a'), months(1100, 1150), 86_400_000);
});
