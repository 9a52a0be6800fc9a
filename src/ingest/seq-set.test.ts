import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SeqSet } from './seq-set.ts';

const LENGTH = 6;
/** Every set of numbers below LENGTH, as the ranges that they are. */
const allSets = Array.from({ length: 2 ** LENGTH }, (_, bits) =>
  Array.from({ length: LENGTH }, (_, i) => i).filter((i) => bits & (1 << i)),
);
const rangesOf = (numbers: readonly number[]): [number, number][] =>
  numbers
    .filter((x) => !numbers.includes(x - 1))
    .map((first) => {
      let last = first;
      while (numbers.includes(last + 1)) last++;
      return [first, last];
    });

describe('SeqSet', () => {
  it('of every six numbers takes, gives back and answers for each', () => {
    for (const numbers of allSets) {
      for (let seq = 0; seq <= LENGTH; seq++) {
        const set = SeqSet.from(rangesOf(numbers));
        const isIn = numbers.includes(seq);
        expect(set.has(seq)).toBe(isIn);
        expect(set.high).toBe(numbers.at(-1) ?? -1);
        expect(set.rangeCount).toBe(rangesOf(numbers).length);
        expect(set.opensRange(seq)).toBe(!isIn && !numbers.includes(seq - 1) && !numbers.includes(seq + 1));
        expect(set.add(seq)).toBe(!isIn);
        expect(set.ranges()).toEqual(rangesOf([...new Set([...numbers, seq])].toSorted((a, b) => a - b)));
        expect(set.delete(seq)).toBe(true);
        expect(set.delete(seq)).toBe(false);
        expect(set.ranges()).toEqual(rangesOf(numbers.filter((x) => x !== seq)));
      }
    }
  });

  it('of every six numbers is made with any range more', () => {
    for (const numbers of allSets) {
      for (let first = 0; first < LENGTH + 2; first++) {
        for (let last = first; last < LENGTH + 2; last++) {
          const all = Array.from({ length: LENGTH + 2 }, (_, i) => i).filter((i) => numbers.includes(i) || (i >= first && i <= last));
          expect(SeqSet.from([...rangesOf(numbers), [first, last]]).ranges()).toEqual(rangesOf(all));
        }
      }
    }
  });

  it('behaves as a plain set of numbers, kept as the fewest ranges', () => {
    const step = fc.record({ op: fc.constantFrom('add', 'add', 'add', 'delete'), seq: fc.nat(60) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
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
