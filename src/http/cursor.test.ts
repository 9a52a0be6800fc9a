import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Cursors, nextLink } from './cursor.ts';

const cursors = new Cursors(Buffer.alloc(32, 1));

describe('Cursors', () => {
  it('open what was sealed for the same query', () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.oneof(fc.string(), fc.integer(), fc.constant(null))), (scope, key) => {
        expect(cursors.open(scope, cursors.seal(scope, key))).toEqual(key);
      }),
    );
  });
  it('refuse another query, another secret, and every changed byte', () => {
    const sealed = cursors.seal('org1 a', ['2026-01-01', 'x']);
    expect(() => cursors.open('org2 a', sealed)).toThrow(/cursor/i);
    expect(() => new Cursors(Buffer.alloc(32, 2)).open('org1 a', sealed)).toThrow(/cursor/i);
    const bytes = Buffer.from(sealed, 'base64url');
    for (let i = 0; i < bytes.length; i++) {
      const changed = Buffer.from(bytes);
      changed[i] = (changed[i] ?? 0) ^ 1;
      expect(() => cursors.open('org1 a', changed.toString('base64url'))).toThrow(/cursor/i);
      expect(() => cursors.open('org1 a', bytes.subarray(0, i).toString('base64url'))).toThrow(/cursor/i);
    }
  });
});

describe('nextLink', () => {
  it('keeps the query and replaces the cursor', () => {
    expect(nextLink('/x', { limit: 2, names: ['a', 'b'], cursor: 'old', until: undefined }, 'new')).toBe(
      '</x?limit=2&names=a%2Cb&cursor=new>; rel="next"',
    );
  });
});
