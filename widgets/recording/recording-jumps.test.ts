import { expect, it } from 'vitest';
import { badOf, gapsOf, maybeBad, maybeGaps, nextStretch } from './recording-jumps.ts';
import type { Flags } from './recording-jumps.ts';
import type { Envelope, Quality } from './recording-source.ts';

const RATE = 10;

/** Counts of a recording of an hour by the second, without those of its gaps; an answer begins and ends with samples, as the service's. */
function envelope(gaps: readonly (readonly [number, number])[], fromSec: number, toSec: number, stepSec: number): Envelope | null {
  const has = (sec: number): boolean => sec >= 0 && sec < 3600 && !gaps.some(([from, to]) => sec >= from && sec < to);
  const first = Math.floor(fromSec / stepSec);
  const counts = Array.from(
    { length: Math.ceil(toSec / stepSec) - first },
    (_, i) => Array.from({ length: stepSec }, (__, k) => (first + i) * stepSec + k).filter(has).length * RATE,
  );
  const begin = counts.findIndex((n) => n > 0);
  if (begin < 0) return null;
  const n = counts.slice(begin, counts.findLastIndex((count) => count > 0) + 1);
  const flat = n.map(() => 0);
  const rest = { channel: 'a', kind: 'ecg', unit: 'mV', min: flat, max: flat, suspect: flat, bad: flat, rateHz: RATE };
  return { ...rest, t0Ms: (first + begin) * stepSec * 1000, stepMs: stepSec * 1000, n };
}

const GAPS = [
  [130, 140],
  [600, 1500],
  [2001, 2003],
] as const;
const LOOK_BACK_SEC = 60;
const coarse = maybeGaps(envelope(GAPS, 0, 3600, 120)!);
const fine = (fromMs: number, toMs: number): Promise<Flags> => {
  const fromSec = fromMs / 1000 - LOOK_BACK_SEC;
  return Promise.resolve(gapsOf(envelope(GAPS, fromSec, toMs / 1000, 1), fromSec * 1000, toMs));
};

// promise: jumps-at-any-length
it('finds gaps that are shorter than a bucket of the whole recording, and long ones once, in both directions', async () => {
  const found: number[] = [];
  for (let at: number | null = 0; at !== null; at = await nextStretch(coarse, fine, at, true)) found.push(at / 1000);
  expect(found).toEqual([0, 130, 600, 2001]);
  const back: number[] = [];
  for (let at: number | null = 3_600_000; at !== null; at = await nextStretch(coarse, fine, at, false)) back.push(at / 1000);
  expect(back).toEqual([3600, 2001, 600, 130]);
});

it('finds gaps of a recording that is short: its buckets are finer than the gaps', async () => {
  const short = maybeGaps(envelope(GAPS, 0, 3600, 1)!);
  expect(await nextStretch(short, fine, 0, true)).toBe(130_000);
  expect(await nextStretch(short, fine, 3_600_000, false)).toBe(2_001_000);
});

it('looks only where a gap may begin: not at every bucket of a long one', async () => {
  let looks = 0;
  const counted = (fromMs: number, toMs: number): Promise<Flags> => {
    looks++;
    return fine(fromMs, toMs);
  };
  await nextStretch(coarse, counted, 601_000, true);
  expect(looks).toBeLessThanOrEqual(4);
});

it('finds stretches of bad quality within a bucket that is mostly good', async () => {
  const bad = (sec: number): boolean => sec >= 200 && sec < 215;
  const quality = (fromSec: number, toSec: number, stepSec: number): Quality => {
    const times = Array.from({ length: Math.ceil((toSec - fromSec) / stepSec) }, (_, i) => fromSec + i * stepSec);
    const goodShares = times.map((from) => Array.from({ length: stepSec }, (_, k) => from + k).filter((sec) => !bad(sec)).length / stepSec);
    const flags = goodShares.map((share) => (share >= 0.5 ? 0 : 2));
    return { channel: 'a', timesMs: times.map((sec) => sec * 1000), stepMs: stepSec * 1000, goodShares, flags };
  };
  const look = (fromMs: number, toMs: number): Promise<Flags> =>
    Promise.resolve(badOf(quality(fromMs / 1000 - 60, toMs / 1000, 5), -3_600_000));
  expect(await nextStretch(maybeBad(quality(0, 3600, 120)), look, 0, true)).toBe(200_000);
  expect(await nextStretch(maybeBad(quality(0, 3600, 120)), look, 200_000, true)).toBeNull();
  expect(await nextStretch(maybeBad(quality(0, 600, 1)), look, 0, true)).toBe(200_000);
});

it('finds a stretch of bad quality with which a recording begins, and one behind a stretch that nobody judged', () => {
  const quality = (timesMs: number[], flags: number[]): Quality => ({ channel: 'a', timesMs, stepMs: 5000, flags, goodShares: [] });
  const beginnings = ({ timesMs, isOne }: Flags): number[] => timesMs.filter((_, i) => isOne[i] && isOne[i - 1] === false);
  expect(beginnings(badOf(quality([0, 5000, 10_000], [2, 2, 0]), 2600))).toEqual([2600]);
  expect(beginnings(badOf(quality([40_000, 45_000], [2, 2]), 2600))).toEqual([]); // it goes on from before
  expect(beginnings(badOf(quality([40_000, 45_000, 90_000], [0, 2, 2]), 2600))).toEqual([45_000, 90_000]);
});
