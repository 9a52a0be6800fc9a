import { expect, it } from 'vitest';
import type { Quality } from './recording-source.ts';
import { stretchFrom, within, worstStretches } from './recording-worst.ts';

type Bad = readonly (readonly [fromSec: number, toSec: number, flag: 1 | 2])[];

/** How the service judges a recording of so many seconds, in buckets. */
function judged(bad: Bad, fromSec: number, toSec: number, stepSec: number): Quality {
  const flagOf = (sec: number): number => bad.find(([from, to]) => sec >= from && sec < to)?.[2] ?? 0;
  const first = Math.floor(fromSec / stepSec);
  const buckets = Array.from({ length: Math.ceil(toSec / stepSec) - first }, (_, i) => (first + i) * stepSec);
  const seconds = buckets.map((sec) => Array.from({ length: stepSec }, (_, k) => flagOf(sec + k)));
  const goodShares = seconds.map((flags) => flags.filter((flag) => flag === 0).length / stepSec);
  const flags = seconds.map((all, i) => (goodShares[i]! >= 0.5 ? 0 : Math.max(...all)));
  return { channel: 'a', timesMs: buckets.map((sec) => 1000 * sec), stepMs: 1000 * stepSec, goodShares, flags };
}

/** What is found, in seconds, and how often was looked for it. */
async function found(bad: Bad, seconds: number, coarseSec: number): Promise<Readonly<{ list: number[][]; looks: number }>> {
  let looks = 0;
  const list = await worstStretches(judged(bad, 0, seconds, coarseSec), (fromMs, toMs) => {
    looks++;
    return Promise.resolve(judged(bad, Math.max(0, fromMs / 1000), Math.min(seconds, toMs / 1000), 5));
  });
  return { list: list.map(({ fromMs, toMs, badMs }) => [fromMs / 1000, toMs / 1000, badMs / 1000]), looks };
}

const HOUR = 3600;
const some: Bad = [
  [200, 215, 2],
  [1000, 1300, 1],
  [2000, 2060, 2],
  [3000, 3060, 1],
];

// promise: worst-first
it('ranks by length, then by how much is bad, however coarse the buckets of the whole are', async () => {
  const ranked = [
    [1000, 1300, 0],
    [2000, 2060, 60],
    [3000, 3060, 0],
    [200, 215, 15],
  ];
  for (const coarseSec of [1, 5, 60, 300]) expect((await found(some, HOUR, coarseSec)).list, `${coarseSec} s`).toEqual(ranked);
});

it('takes a stretch that is longer than one question reads as one', async () => {
  const { list, looks } = await found([[600, 600 + 4 * HOUR, 2]], 6 * HOUR, 60);
  expect(list).toEqual([[600, 600 + 4 * HOUR, 4 * HOUR]]);
  expect(looks).toBeGreaterThan(1);
});

it('looks a bounded number of times, and leaves out what could be shorter than what it has not seen', async () => {
  // One of 40 s every 20 minutes for two days, and a long one.
  const each = Array.from({ length: 144 }, (_, i) => [1200 * i + 600, 1200 * i + 640, 2] as const);
  const { list, looks } = await found([...each, [100_000, 100_100, 2]], 48 * HOUR, 60);
  expect(looks).toBeLessThanOrEqual(60);
  expect(list[0]).toEqual([100_000, 100_100, 100]);
  expect(list.slice(1).every(([from, to]) => to! - from! === 40)).toBe(true);
  // Twice 20 s in each place: one of 40 s may be where was not looked.
  const pairs = each.flatMap(([from]) => [[from, from + 20, 2] as const, [from + 30, from + 50, 2] as const]);
  expect((await found([...pairs, [100_000, 100_100, 2]], 48 * HOUR, 60)).list).toEqual([[100_000, 100_100, 100]]);
});

it('finds none where all is good', async () => {
  expect(await found([], HOUR, 60)).toEqual({ list: [], looks: 0 });
});

it('is as long where one goes to it along the time, in however many parts it is read', async () => {
  const fine = (fromMs: number, toMs: number) => Promise.resolve(judged(some, Math.max(0, fromMs / 1000), Math.min(HOUR, toMs / 1000), 5));
  for (const [fromSec, toSec] of some)
    for (const partMs of [60_000, HOUR * 1000])
      expect(await stretchFrom(fromSec * 1000, fine, partMs), `${fromSec} ${partMs}`).toMatchObject({
        fromMs: fromSec * 1000,
        toMs: toSec * 1000,
      });
  expect(await stretchFrom(500_000, fine)).toBeNull();
});

it('ends with the recording', () => {
  const recording = { startMs: 2600, endMs: 58_400 };
  expect(within({ fromMs: 0, toMs: 20_000, badMs: 20_000 }, recording)).toEqual({ fromMs: 2600, toMs: 20_000, badMs: 17_400 });
  expect(within({ fromMs: 55_000, toMs: 60_000, badMs: 0 }, recording)).toEqual({ fromMs: 55_000, toMs: 58_400, badMs: 0 });
});
