import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Coalesce } from './coalesce.ts';

const pause = (): Promise<void> => sleep(5);

it('makes calls that come while one is under way together, in order, a bounded number at once', async () => {
  const runs: number[][] = [];
  const double = new Coalesce<number, number>(async (inputs) => {
    runs.push([...inputs]);
    await pause();
    return inputs.map((x) => 2 * x);
  }, 4);
  const outs = await Promise.all(Array.from({ length: 10 }, (_, i) => double.call(i)));
  expect(outs).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
  expect(runs).toEqual([[0], [1, 2, 3, 4], [5, 6, 7, 8], [9]]);
  expect(await double.call(21)).toBe(42);
});

it('fails the one that cannot be done and not the others; all of them when the database is away', async () => {
  let away = false;
  const run = new Coalesce<number, number>(async (inputs) => {
    await pause();
    if (away) throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    if (inputs.includes(3)) throw new Error('three');
    return inputs;
  });
  const settled = await Promise.allSettled([1, 2, 3, 4].map((x) => run.call(x)));
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
  away = true;
  const failed = await Promise.allSettled([1, 2, 4].map((x) => run.call(x)));
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
});

it('tries a call that is alone once, takes 256 at once unless told otherwise, and goes on after a failure', async () => {
  const sizes: number[] = [];
  const run = new Coalesce<number, number>(async (inputs) => {
    sizes.push(inputs.length);
    await pause();
    if (inputs.includes(-1)) throw new Error('no');
    return inputs;
  });
  await expect(run.call(-1)).rejects.toThrow('no');
  expect(sizes).toEqual([1]);
  await Promise.all(Array.from({ length: 300 }, (_, i) => run.call(i)));
  expect(sizes).toEqual([1, 1, 256, 43]);
});
