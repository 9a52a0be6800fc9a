import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SeqSet } from './seq-set.ts';

describe('SeqSet', () => {
  it('behaves as a plain set of numbers, kept as the fewest ranges', () => {
    const step = fc.record({ op: fc.constantFrom('add', 'add', 'add', 'delete'), seq: fc.nat(60) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const set = new SeqSet();
        const plain = new Set<number>();
        for (const { op, seq } of steps) {
          if (op === 'add') {
            const fresh = !plain.has(seq);
            const joins = plain.has(seq - 1) || plain.has(seq + 1);
            expect(set.opensRange(seq)).toBe(fresh && !joins);
            expect(set.add(seq)).toBe(fresh);
            plain.add(seq);
          } else expect(set.delete(seq)).toBe(plain.delete(seq));
        }
        for (let seq = -1; seq < 63; seq++) expect(set.has(seq)).toBe(plain.has(seq));
        expect(set.high).toBe(Math.max(-1, ...plain));
        const ranges = set.ranges();
        for (let i = 1; i < ranges.length; i++) expect(ranges[i]![0]).toBeGreaterThan(ranges[i - 1]![1] + 1);
        expect(SeqSet.from(ranges).ranges()).toEqual(ranges);
      }),
    );
  });

  it('joins ranges given in any order', () => {
    expect(
      SeqSet.from([
        [5, 9],
        [0, 3],
        [4, 4],
        [20, 30],
        [8, 12],
      ]).ranges(),
    ).toEqual([
      [0, 12],
      [20, 30],
    ]);
  });
});
