import { expect, test } from 'vitest';
import type { Caller } from '../caller.ts';
import { actorId, inetOf } from './audit.ts';

test('every actor has a name in the log; a caller without a credential has none', () => {
  const key: Caller = { kind: 'key', keyId: 'k', orgId: 'o', scopes: [], projectId: null, subjectId: null };
  const user: Caller = { kind: 'user', orgId: 'o', projectId: 'p', subjectId: 's', jti: 'j', expiresAtMs: 0 };
  const operator: Caller = { kind: 'operator', operatorId: 'm', orgId: 'o', role: 'viewer' };
  expect([key, user, operator, { kind: 'anonymous' } as const].map(actorId)).toEqual(['k', 's', 'm', '']);
  expect(actorId({ kind: 'cli', orgId: null, account: 'root' })).toBe('root');
});

test('an address is one that the database takes, or none', () => {
  expect(['127.0.0.1', '::1', 'fe80::1%eth0', 'unknown', ''].map(inetOf)).toEqual(['127.0.0.1', '::1', null, null, null]);
});
