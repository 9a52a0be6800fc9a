// The union of runs against a plain reference (a map from grid index to values), for any cuts, orders and repeats.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mergeRuns, part } from './merge-runs.ts';
import type { BlockRun } from './block-codec.ts';

const value = (k: number): number => ((k * 2_654_435_761) | 0) >> 20;
const flag = (k: number): number => (k % 7 === 0 ? 1 : 0);

const cuts = fc.array(fc.record({ k0: fc.integer({ min: 0, max: 60 }), n: fc.integer({ min: 1, max: 25 }) }), {
  minLength: 1,
  maxLength: 12,
});

function runAt(k0: number, n: number, offset = 0): BlockRun {
  return {
    k0,
    samples: Int32Array.from({ length: n }, (_, i) => value(k0 + i) + offset),
    qmask: Uint8Array.from({ length: n }, (_, i) => flag(k0 + i)),
  };
}

test('the same samples, cut and repeated anyhow, become the same runs: ascending, apart, complete', () => {
  fc.assert(
    fc.property(cuts, (pieces) => {
      const expected = new Set(pieces.flatMap(({ k0, n }) => Array.from({ length: n }, (_, i) => k0 + i)));
      const merged = mergeRuns(pieces.map(({ k0, n }) => runAt(k0, n)));
      const got = merged.flatMap((run) => Array.from(run.samples, (x, i) => [run.k0 + i, x, run.qmask![i]]));
      expect(got).toEqual([...expected].sort((a, b) => a - b).map((k) => [k, value(k), flag(k)]));
      for (let i = 1; i < merged.length; i++) expect(merged[i]!.k0).toBeGreaterThan(merged[i - 1]!.k0 + merged[i - 1]!.samples.length);
    }),
  );
});

// promise: contradictions
test('samples that contradict one another are all kept', () => {
  fc.assert(
    fc.property(cuts, cuts, (a, b) => {
      const expected = new Set([
        ...a.flatMap(({ k0, n }) => Array.from({ length: n }, (_, i) => `${k0 + i}:0`)),
        ...b.flatMap(({ k0, n }) => Array.from({ length: n }, (_, i) => `${k0 + i}:1`)),
      ]);
      const merged = mergeRuns([...a.map(({ k0, n }) => runAt(k0, n)), ...b.map(({ k0, n }) => runAt(k0, n, 1_000_000))]);
      const got = merged.flatMap((run) => Array.from(run.samples, (x, i) => `${run.k0 + i}:${x - value(run.k0 + i) === 0 ? 0 : 1}`));
      expect(new Set(got)).toEqual(expected);
      expect(got).toHaveLength(expected.size);
    }),
  );
});

test('merging again changes nothing', () => {
  fc.assert(
    fc.property(cuts, (pieces) => {
      const once = mergeRuns(pieces.map(({ k0, n }) => runAt(k0, n)));
      expect(mergeRuns([...once, ...once])).toEqual(once);
    }),
  );
});

const ints = (k0: number, values: readonly number[], flags: readonly number[] | null = null): BlockRun => ({
  k0,
  samples: Int32Array.from(values),
  qmask: flags && Uint8Array.from(flags),
});
const floats = (k0: number, values: readonly number[]): BlockRun => ({ k0, samples: Float32Array.from(values), qmask: null });

test.each([
  ['one run stays as it is', [ints(5, [1, 2])], [ints(5, [1, 2])]],
  ['a gap of one stays', [ints(5, [1, 2]), ints(8, [4])], [ints(5, [1, 2]), ints(8, [4])]],
  ['runs that touch become one', [ints(5, [1, 2]), ints(7, [3])], [ints(5, [1, 2, 3])]],
  ['in any order', [ints(7, [3]), ints(5, [1, 2])], [ints(5, [1, 2, 3])]],
  ['flags of some are flags of all', [ints(5, [1, 2]), ints(7, [3], [1]), ints(8, [4])], [ints(5, [1, 2, 3, 4], [0, 0, 1, 0])]],
  ['no flag and a flag of 0 are the same', [ints(5, [1, 2]), ints(5, [1, 2], [0, 0])], [ints(5, [1, 2])]],
  ['another flag is another sample', [ints(5, [1, 2]), ints(6, [2], [1])], [ints(5, [1, 2]), ints(6, [2], [1])]],
  ['what lies within is there already', [ints(5, [1, 2, 3]), ints(6, [2])], [ints(5, [1, 2, 3])]],
  ['what lies around is new at both ends', [ints(6, [2]), ints(5, [1, 2, 3])], [ints(5, [1, 2, 3])]],
  ['contradicting samples are kept separately', [ints(5, [1, 2, 3]), ints(5, [1, 9, 3])], [ints(5, [1, 2, 3]), ints(6, [9])]],
  ['integers and floats never join', [ints(5, [1]), floats(6, [2]), ints(7, [3])], [ints(5, [1]), floats(6, [2]), ints(7, [3])]],
  ['nor repeat one another', [ints(5, [1]), floats(5, [1])], [ints(5, [1]), floats(5, [1])]],
  ['floats join', [floats(5, [0.5]), floats(6, [1.5])], [floats(5, [0.5, 1.5])]],
  ['NaN repeats itself', [floats(5, [Number.NaN, 1]), floats(5, [Number.NaN])], [floats(5, [Number.NaN, 1])]],
  ['-0 is not 0', [floats(5, [0]), floats(5, [-0])], [floats(5, [0]), floats(5, [-0])]],
  ['side by side, each goes on', [ints(5, [1]), ints(5, [7]), ints(6, [2, 3])], [ints(5, [1]), ints(5, [7, 2, 3])]],
])('%s', (_, runs, wanted) => {
  expect(mergeRuns(runs)).toEqual(wanted);
});

test('runs that lie one behind the other in one memory are not copied', () => {
  const memory = Int32Array.from([0, 1, 2, 3, 4, 5]);
  const at = (from: number, to: number): BlockRun => ({ k0: 10 + from, samples: memory.subarray(from, to), qmask: null });
  const [joined] = mergeRuns([at(1, 2), at(2, 4), at(4, 5)]);
  expect(joined).toEqual(ints(11, [1, 2, 3, 4]));
  expect(joined!.samples.buffer).toBe(memory.buffer);
  // Apart in memory, or of other memory, they are.
  const apart = { ...at(3, 5), k0: 12 };
  expect(mergeRuns([at(1, 2), apart])).toEqual([ints(11, [1, 3, 4])]);
  expect(mergeRuns([at(1, 2), ints(12, [8])])).toEqual([ints(11, [1, 8])]);
  expect(mergeRuns([ints(12, [8]), { ...at(1, 2), k0: 13 }])).toEqual([ints(12, [8, 1])]);
});

test('a part is a view with its flags; the whole is the run itself', () => {
  const run = ints(5, [1, 2, 3], [0, 1, 2]);
  expect(part(run, 0, 3)).toBe(run);
  expect(part(run, 0, 2)).toEqual(ints(5, [1, 2], [0, 1]));
  expect(part(run, 1, 3)).toEqual(ints(6, [2, 3], [1, 2]));
  expect(part(run, 1, 3).samples.buffer).toBe(run.samples.buffer);
  expect(part(ints(5, [1, 2]), 1, 2).qmask).toBeNull();
});
