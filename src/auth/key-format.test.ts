import { describe, expect, it } from 'vitest';
import { makeOrgKey, makePublicKey, parseKey } from './key-format.ts';

describe('keys', () => {
  it('are recognised by their checksum', () => {
    const { key, publicId } = makeOrgKey('test');
    expect(key.startsWith(`org_test_${publicId}`)).toBe(true);
    expect(parseKey(key)).toEqual({ kind: 'org', env: 'test', publicId });
    expect(parseKey(makePublicKey('proj'))).toEqual({ kind: 'proj' });
    expect(parseKey(makePublicKey('sdk'))).toEqual({ kind: 'sdk' });
  });
  // promise: key-checksum
  it('find every single changed character', () => {
    const { key } = makeOrgKey('live');
    for (let i = 9; i < key.length; i++) {
      const changed = key.slice(0, i) + (key[i] === 'x' ? 'y' : 'x') + key.slice(i + 1);
      expect(parseKey(changed), `position ${i}`).toEqual({ kind: 'malformed' });
    }
    expect(parseKey(key.slice(0, -1))).toEqual({ kind: 'malformed' });
    expect(parseKey(`${key} `)).toEqual({ kind: 'malformed' });
  });
  it('are told from tokens', () => {
    expect(parseKey('eyJhbGciOi.x.y')).toBeNull();
  });
  // promise: key-checksum
  it('are never the same twice', () => {
    expect(new Set(Array.from({ length: 1000 }, () => makeOrgKey('live').key)).size).toBe(1000);
  });
});
