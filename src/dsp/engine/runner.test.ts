import { expect, test } from 'vitest';
import { itemKind, itemWidth } from './kernel.ts';
import type { Items, SegmentKernel } from './kernel.ts';
import type { KernelKind } from './runner.ts';
import { KEPT_KINDS, KernelStock, SegmentRunner } from './runner.ts';

const fs = 100;

/** Says an event at every sample that is not 0, where a kernel begun at another place says it some samples later. */
function kernel(): SegmentKernel {
  let k = 0;
  let late = 0;
  return {
    latencySec: 0.5,
    alignSec: 0,
    reset: (from) => {
      k = from;
      late = from > 0 ? 3 : 0;
    },
    push: (leads, from, to, out: Items) => {
      for (let i = from; i < to; i++, k++) {
        if (!(leads[0]![i]! > 0)) continue;
        const at = out.count++ * itemWidth;
        [out.values[at], out.values[at + 1], out.values[at + 2], out.values[at + 3]] = [itemKind.event, ((k + late) / fs) * 1e6, 0, 0];
      }
    },
    flush: () => {},
  };
}

const kind = (mayBeClose: boolean): KernelKind => ({
  key: 'events',
  build: kernel,
  rateNanoHz: fs * 1e9,
  leadCount: 1,
  seamUs: 100_000,
  apartUs: 200_000,
  mayBeClose,
});

/** Times of what comes out, s. */
function eventsOf(mayBeClose: boolean, atSec: readonly number[]): number[] {
  const x = new Float64Array(100 * fs);
  for (const t of atSec) x[Math.round(t * fs)] = 1;
  const found: number[] = [];
  const runner = new SegmentRunner(kind(mayBeClose), new KernelStock(), (tUs) => found.push(tUs / 1e6));
  for (let at = 0; at < x.length; at += 10) runner.push([x], at, at + 10, at);
  return found;
}

test('two beats of one kernel count as two however close; of two close breaths the first counts', () => {
  expect(eventsOf(true, [10, 10.15, 11])).toEqual([10, 10.15, 11]);
  expect(eventsOf(false, [10, 10.15, 11])).toEqual([10, 11]);
});

test('one beat that both kernels see at a seam is one', () => {
  // the segment ends at 64 s: the older kernel has it before, the younger one after
  expect(eventsOf(true, [63.98, 65])).toEqual([63.98, 65.03]);
  expect(eventsOf(false, [63.98, 65])).toEqual([63.98, 65.03]);
});

test('kernels are kept for the kinds used last alone: every rate that a device sends is a kind', () => {
  const stock = new KernelStock();
  const kernels = Array.from({ length: KEPT_KINDS + 10 }, kernel);
  const isKept = (i: number): boolean => {
    const taken = stock.take(`kind ${i}`, kernel);
    stock.give(`kind ${i}`, taken);
    return taken === kernels[i];
  };
  kernels.forEach((each, i) => {
    stock.give(`kind ${i}`, each);
    if (i > 0) expect(isKept(0), `the kind in use, after ${i} others`).toBe(true);
  });
  expect(kernels.filter((_, i) => i > 10 && !isKept(i))).toEqual([]);
  expect(isKept(1)).toBe(false);
});
