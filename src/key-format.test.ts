import { crc32 } from 'node:zlib';
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
  /** Six base62 digits of the CRC-32, as at the end of keys issued years ago. */
  const sealed = (text: string): string => {
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    const places = [5, 4, 3, 2, 1, 0].map((place) => digits[Math.floor(crc32(text) / 62 ** place) % 62]);
    return text + places.join('');
  };
  it.each([
    ['a live key', `org_live_${'0aZ'.repeat(15)}`, { kind: 'org', env: 'live', publicId: '0aZ0aZ0aZ0aZ' }],
    ['a test key', `org_test_${'0aZ'.repeat(15)}`, { kind: 'org', env: 'test', publicId: '0aZ0aZ0aZ0aZ' }],
    ['a project', `proj_${'0aZ'.repeat(11)}`, { kind: 'proj' }],
    ['one digit more', `proj_${'0aZ'.repeat(11)}0`, { kind: 'malformed' }],
    ['one digit less', `sdk_${'0'.repeat(32)}`, { kind: 'malformed' }],
    ['a key behind a prefix', `proj_proj_${'0'.repeat(33)}`, { kind: 'malformed' }],
    ['no environment', `org_prod_${'0'.repeat(45)}`, { kind: 'malformed' }],
    ['a prefix in the middle', `xproj_${'0'.repeat(33)}`, null],
  ])('with a right checksum: %s', (_, text, wanted) => {
    expect(parseKey(sealed(text))).toEqual(wanted);
  });
  it('are told from tokens', () => {
    expect(parseKey('eyJhbGciOi.x.y')).toBeNull();
  });
  // promise: key-checksum
  it('are never the same twice', () => {
    const keys = Array.from({ length: 1000 }, () => makeOrgKey('live').key);
    expect(new Set(keys).size).toBe(1000);
    // All 62 digits, at each of the 33 places of the secret: 196 bits. That five are missing in 1,000 keys does not happen.
    for (let place = 21; place < 54; place++) expect(new Set(keys.map((key) => key[place])).size, `place ${place}`).toBeGreaterThan(57);
  });
});
