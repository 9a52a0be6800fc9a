/** The last seconds of a live channel on its grid. */
import { expect, it } from 'vitest';
import { TraceRing } from './trace-ring.ts';

const T0 = 1_795_000_000_000_000_000n;
const at = (ms: number): bigint => T0 + BigInt(ms) * 1_000_000n;
const valuesOf = (ring: TraceRing): number[] => Array.from({ length: ring.end - ring.start }, (_, i) => ring.value(ring.start + i));

it('closes a jump of rounding and leaves a longer one as a gap', () => {
  const ring = new TraceRing(100, 1);
  ring.put(T0, [1, 2, 3], null);
  ring.put(at(40), [4], null); // one sample late: rounding of the windows
  ring.put(at(90), [5], null);
  expect(valuesOf(ring)).toEqual([1, 2, 3, 4, NaN, NaN, NaN, NaN, NaN, 5]);
  expect([ring.flag(3), ring.flag(5), ring.flag(99)]).toEqual([0, 2, 2]);
});

it('draws bad samples as gaps and keeps the flag of suspect ones', () => {
  const ring = new TraceRing(100, 1);
  ring.put(T0, [1, 2, 3], [0, 1, 2]);
  expect(valuesOf(ring)).toEqual([1, 2, NaN]);
  expect([0, 1, 2].map((i) => ring.flag(i))).toEqual([0, 1, 2]);
});

it('overwrites with a replay that overlaps, and forgets what is older than its seconds', () => {
  const ring = new TraceRing(100, 0.2);
  ring.put(T0, [1, 2, 3, 4], null);
  ring.put(at(0), [9, 9], null);
  expect(valuesOf(ring)).toEqual([9, 9, 3, 4]);
  ring.put(
    at(40),
    Array.from({ length: 30 }, (_, i) => i),
    null,
  );
  expect([ring.end, ring.start, ring.value(13), ring.value(14)]).toEqual([34, 14, NaN, 10]);
});

it('tells the time of a sample and the sample of a time', () => {
  const ring = new TraceRing(250, 1);
  expect([ring.timeMs(0), ring.indexAt(0)]).toEqual([NaN, 0]);
  ring.put(T0, [1, 2, 3], null);
  expect(ring.timeMs(2)).toBeCloseTo(1_795_000_000_008, 3);
  expect(ring.indexAt(ring.timeMs(2))).toBe(2);
});
