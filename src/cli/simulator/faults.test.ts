import { expect, test } from 'vitest';
import { createFaultyPath, noFaults } from './faults.ts';

const run = (options: Partial<Parameters<typeof createFaultyPath>[0]>) => {
  const path = createFaultyPath<number>({ seed: 4, ...noFaults, ...options });
  const out: number[] = [];
  for (let i = 0; i < 5000; i++) out.push(...path.push(i, i * 100));
  const live = out.length;
  out.push(...path.drain());
  return { out, live, counts: path.counts };
};

test('a path without faults hands everything on at once, in order', () => {
  const { out, live } = run({});
  expect(live).toBe(5000);
  expect(out).toEqual(Array.from({ length: 5000 }, (_, i) => i));
});

test('what is not dropped arrives, duplicates and late ones included', () => {
  const { out, live, counts } = run({
    dropPercent: 2,
    duplicatePercent: 5,
    reorderPercent: 10,
    reorderMs: 5000,
    latePercent: 1,
    lateMs: 1e9,
  });
  expect(new Set(out).size).toBe(5000 - counts.dropped);
  expect(out.length).toBe(5000 - counts.dropped + counts.duplicated);
  expect(out.length - live).toBeGreaterThanOrEqual(counts.late);
  expect(counts.dropped).toBeGreaterThan(60);
  expect(counts.late).toBeGreaterThan(20);
  expect(out.some((value, i) => i > 0 && value < out[i - 1]!)).toBe(true);
});

test('is the same for the same seed', () => {
  const options = { dropPercent: 2, duplicatePercent: 5, reorderPercent: 10, reorderMs: 5000 };
  expect(run(options).out).toEqual(run(options).out);
});
