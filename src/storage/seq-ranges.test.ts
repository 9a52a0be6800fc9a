// Every set of six numbers, with every number and range added to it.
import { expect, test } from 'vitest';
import { SeqRanges } from './seq-ranges.ts';

const LENGTH = 6;
const upTo = (end: number): number[] => Array.from({ length: end }, (_, i) => i);
const allSets = upTo(2 ** LENGTH).map((bits) => upTo(LENGTH).filter((i) => bits & (1 << i)));

/** As PostgreSQL writes them: without the end. */
function textOf(numbers: readonly number[]): string {
  const firsts = numbers.filter((x) => !numbers.includes(x - 1));
  const ends = numbers.filter((x) => !numbers.includes(x + 1)).map((x) => x + 1);
  return `{${firsts.map((first, i) => `[${first},${ends[i]})`).join(',')}}`;
}
const numbersOf = (ranges: SeqRanges): number[] =>
  ranges.ranges().flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, i) => first + i));

test('reads ranges as PostgreSQL writes them, of any number of digits, and writes them with both ends', () => {
  expect(SeqRanges.parse('{}').ranges()).toEqual([]);
  expect(String(SeqRanges.parse('{}'))).toBe('{}');
  const text = '{[0,1),[7,4294967296),[4503599627370496,4503599627370500)}';
  expect(String(SeqRanges.parse(text))).toBe('{[0,0],[7,4294967295],[4503599627370496,4503599627370499]}');
});

test('a number joins the adjacent ranges, or starts its own', () => {
  for (const numbers of allSets) {
    for (const seq of upTo(LENGTH + 2)) {
      const ranges = SeqRanges.parse(textOf(numbers));
      ranges.add(seq);
      const wanted = upTo(LENGTH + 2).filter((x) => x === seq || numbers.includes(x));
      expect(numbersOf(ranges), `${numbers.join()} and ${seq}`).toEqual(wanted);
      expect(ranges.ranges()).toEqual(SeqRanges.parse(textOf(wanted)).ranges()); // as few as there can be
    }
  }
});

test('a range joins those that it touches or covers', () => {
  for (const numbers of allSets) {
    for (const first of upTo(LENGTH + 2)) {
      for (let last = first; last < LENGTH + 2; last++) {
        const ranges = SeqRanges.parse(textOf(numbers));
        ranges.addRange(first, last);
        const wanted = upTo(LENGTH + 2).filter((x) => (x >= first && x <= last) || numbers.includes(x));
        expect(ranges.ranges(), `${numbers.join()} and ${first} to ${last}`).toEqual(SeqRanges.parse(textOf(wanted)).ranges());
      }
    }
  }
});
