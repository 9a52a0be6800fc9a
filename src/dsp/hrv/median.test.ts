import fc from 'fast-check';
import { expect, it } from 'vitest';
import { medianOf } from './median.ts';

it('is that of the sorted values, whatever their order, and leaves what follows them', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.integer({ min: -9, max: 9 }), fc.double({ noNaN: true, noDefaultInfinity: true })), { minLength: 1 }),
      (list) => {
        const sorted = Float64Array.from(list).sort();
        const half = sorted.length >> 1;
        const expected = sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
        const x = Float64Array.of(...list, 7);
        expect(medianOf(x, list.length) + 0).toBe(expected + 0); // -0 is 0
        expect(x.at(-1)).toBe(7);
        expect(x.subarray(0, list.length).sort()).toEqual(sorted);
      },
    ),
  );
  expect(medianOf(new Float64Array(0), 0)).toBeNaN();
});
