import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteInterner } from './byte-interner.ts';

describe('ByteInterner', () => {
  it('gives the value of exactly these bytes, whatever came before and however few slots there are', () => {
    const key = fc.uint8Array({ maxLength: 140, max: 3 });
    fc.assert(
      fc.property(
        fc.array(key, { minLength: 1, maxLength: 200, size: 'max' }),
        fc.constantFrom(1, 4, 256),
        fc.nat(3),
        (keys, slots, shift) => {
          let bytes = new Uint8Array(0);
          const interner = new ByteInterner<string>(slots, (start, end) => bytes.subarray(start, end).join());
          for (const [i, one] of [...keys, ...keys].entries()) {
            bytes = new Uint8Array(one.length + shift + 3).fill(i);
            bytes.set(one, shift);
            const view = new DataView(bytes.buffer, 0, bytes.length);
            expect(interner.get(view, shift, shift + one.length)).toBe(one.join());
          }
        },
      ),
    );
  });

  it('decodes the same bytes once', () => {
    let count = 0;
    const interner = new ByteInterner<object>(64, () => {
      count++;
      return {};
    });
    const view = new DataView(Uint8Array.from({ length: 64 }, (_, i) => i).buffer);
    const first = interner.get(view, 3, 20);
    for (let i = 0; i < 10; i++) {
      expect(interner.get(view, 3, 20)).toBe(first);
      interner.get(view, 20, 40);
    }
    expect(count).toBe(2);
  });

  it('caches nothing of bytes that could not be decoded', () => {
    let broken = true;
    const interner = new ByteInterner<number>(64, () => {
      if (broken) throw new RangeError('bad');
      return 7;
    });
    const view = new DataView(new ArrayBuffer(16));
    expect(() => interner.get(view, 0, 9)).toThrow(RangeError);
    broken = false;
    expect(interner.get(view, 0, 9)).toBe(7);
  });
});
