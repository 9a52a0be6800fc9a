// The union of runs against a plain reference (a map from grid index to values), for any cuts, orders and repeats.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mergeRuns } from './merge-runs.ts';
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
