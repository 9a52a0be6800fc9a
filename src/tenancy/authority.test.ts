import { describe, expect, test } from 'vitest';
import type { PipelineError } from '../errors.ts';
import { checkEnd, checkRole, checkScopes, needWholeOrganization } from './authority.ts';

const refusal = (act: () => void): string => {
  try {
    act();
    return 'allowed';
  } catch (error) {
    return (error as PipelineError).code;
  }
};

describe('nobody grants more than they have', () => {
  const noon = new Date('2026-01-01T12:00:00Z');
  const later = new Date(noon.getTime() + 1);
  test.each([
    ['a key without an end gives any time', later, null, 'allowed'],
    ['and time without an end', null, null, 'allowed'],
    ['a key gives time up to its own end', noon, noon, 'allowed'],
    ['less too', noon, later, 'allowed'],
    ['no millisecond more', later, noon, 'scope_missing'],
    ['and none without an end', null, noon, 'scope_missing'],
  ])('%s', (_, until, own, wanted) => {
    expect(refusal(() => checkEnd(until, own))).toBe(wanted);
  });

  test('a refusal says what would expire when', () => {
    expect(() => checkEnd(later, noon)).toThrow(
      'Your key ends at 2026-01-01T12:00:00.000Z and can give no more time than that: the new one would end at 2026-01-01T12:00:00.001Z.',
    );
    expect(() => checkEnd(null, noon)).toThrow('the new one would never end.');
  });

  // promise: no-more-rights
  test('a key grants the scopes that it has, and the refusal names the others', () => {
    const key = { kind: 'key', keyId: 'k', orgId: 'o', scopes: ['admin', 'read'], projectId: null, subjectId: null } as const;
    expect(refusal(() => checkScopes(key, ['read']))).toBe('allowed');
    expect(refusal(() => checkScopes(key, ['admin', 'read', 'write']))).toBe('scope_missing');
    expect(() => checkScopes(key, ['write', 'read', 'ingest'])).toThrow('The key lacks write, ingest itself.');
    expect(refusal(() => checkScopes({ kind: 'operator', operatorId: 'x', orgId: 'o', role: 'admin' }, ['ingest']))).toBe('allowed');
  });

  test('a role is granted only by those who may grant it', () => {
    expect(refusal(() => checkRole('viewer', ['analyst', 'viewer']))).toBe('allowed');
    expect(refusal(() => checkRole('owner', ['analyst', 'viewer']))).toBe('scope_missing');
    expect(refusal(() => checkRole('viewer', []))).toBe('scope_missing');
  });

  test('a key of one project cannot administer the organization', () => {
    const key = { kind: 'key', keyId: 'k', orgId: 'o', scopes: ['admin'], projectId: null, subjectId: null } as const;
    expect(refusal(() => needWholeOrganization(key))).toBe('allowed');
    expect(refusal(() => needWholeOrganization({ ...key, projectId: 'p' }))).toBe('scope_missing');
    expect(refusal(() => needWholeOrganization({ kind: 'operator', operatorId: 'x', orgId: 'o', role: 'admin' }))).toBe('allowed');
  });
});
