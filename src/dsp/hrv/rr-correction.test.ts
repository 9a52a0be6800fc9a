// Against the rules as the paper and the comment in rr-correction.ts state them: with sorting, and over the whole chain.
import { expect, test } from 'vitest';
import { seeded } from '../testing/fixture.ts';
import { judgeIntervals, newCorrection } from './rr-correction.ts';

const sorted = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b);
const range = (from: number, to: number): number[] => Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);

/** Verdict of every interval of the chain [start, tUs.length): 1 outlier, 2 jump, 4 small jump. */
function plainVerdicts(tUs: readonly number[], start: number): number[] {
  const count = tUs.length;
  const rr = (i: number): number => tUs[i]! - tUs[i - 1]!;
  const outlier = (i: number): boolean => {
    const around = sorted(range(Math.max(start + 1, i - 10), Math.min(count - 1, i + 3) + 1).map(rr));
    const median = around[around.length >> 1]!;
    return median < rr(i) / 1.3 || median > rr(i) / 0.7;
  };
  const verdicts = tUs.map((_, i) => (i > start && outlier(i) ? 1 : 0));
  const stage = (known: number, bit: number, sigmas: number): void => {
    const before = [...verdicts];
    const difference = (i: number): number | null =>
      i < start + 2 || i >= count || (before[i]! & known) !== 0 || (before[i - 1]! & known) !== 0 ? null : Math.abs(rr(i) - rr(i - 1));
    const standsOut = (i: number): boolean => {
      const d = difference(i);
      if (d === null || d <= sigmas * 2000) return false;
      if (Math.max(difference(i - 1) ?? 0, difference(i + 1) ?? 0) > d) return false;
      const window = range(start + 1, Math.min(count - 1, Math.max(i + 3, start + 32)) + 1).filter((j) => tUs[j]! > tUs[i]! - 64e6);
      const rejected = window.filter((j) => (before[j]! & known) !== 0).length;
      if (bit === 4 && rejected < 0.03 * window.length) return false;
      const spreads = sorted(window.map(difference).filter((value) => value !== null));
      return spreads.length >= 8 && spreads[Math.floor(0.4 * spreads.length)]! < (d / sigmas) * 0.524;
    };
    for (let i = start + 1; i < count; i++) if (standsOut(i) || standsOut(i + 1)) verdicts[i]! |= bit;
  };
  stage(1, 2, 4.5);
  stage(3, 4, 3.5);
  return verdicts;
}

/** Beats on a coarse grid, where differences are alike, as long as their bounds, or exactly 64 s apart. */
function gridChain(seed: number, length: number, start: number, gridUs: number): number[] {
  const random = seeded(seed);
  const stepUs = [640_000, 1_000_000][seed % 2]!;
  const beats = [0];
  while (beats.length < start + length) {
    const fault = random() < 0.06 ? [0.7, 0.75, 1.3, 1.35, 2][Math.floor(5 * random())]! : 1;
    const moved = random() < 0.25 ? gridUs * Math.floor(12 * random()) : gridUs * Math.floor(3 * random());
    beats.push(beats.at(-1)! + Math.round(stepUs * fault) + moved);
  }
  return beats;
}

/** Beats about a second apart with missed, extra and misplaced ones, after `start` of another chain. */
function chain(seed: number, length: number, start: number, spreadSec: number): number[] {
  const random = seeded(seed);
  const faultShare = 0.12 * random();
  const beats = [0];
  while (beats.length < start + length) {
    const step = beats.length === start ? 9 : 0.85 + spreadSec * (random() - 0.5);
    const fault = random() < faultShare ? [0.5, 0.7, 0.8, 0.9, 1.1, 1.2, 1.29, 1.31, 2][Math.floor(9 * random())]! : 1;
    beats.push(beats.at(-1)! + step * fault);
  }
  return beats.map((sec) => Math.round(sec * 1e6));
}

test('marks what the rules say, in chains of every length, amount of faults and place of their start', () => {
  const counts = [0, 0, 0, 0, 0];
  for (let seed = 1; seed <= 120; seed++) {
    const start = (seed % 3) * 4;
    const length = seed % 4 === 0 ? 4 + (seed % 40) : 200;
    const tUs = chain(seed, length, start, [0.004, 0.02, 0.05, 0.1][seed % 4]!);
    const verdict = new Uint8Array(tUs.length).fill(7, 0, start + 1);
    const wanted = plainVerdicts(tUs, start);
    expect(judgeIntervals({ tUs: Float64Array.from(tUs), verdict }, start, tUs.length, true, newCorrection(start))).toBe(tUs.length);
    expect([...verdict.subarray(start + 1)], `seed ${seed}`).toEqual(wanted.slice(start + 1));
    expect([...verdict.subarray(0, start + 1)]).toEqual(wanted.slice(0, start + 1).fill(7)); // other chains are left alone
    for (const one of wanted) for (const bit of [1, 2, 4]) if ((one & bit) !== 0) counts[bit]!++;
  }
  for (const bit of [1, 2, 4]) expect(counts[bit]).toBeGreaterThan(50); // the chains have something to find
});

test('marks what the rules say at their bounds, whatever stands before the chain and behind it', () => {
  const counts = [0, 0, 0, 0, 0];
  for (let seed = 1; seed <= 3000; seed++) {
    const start = seed % 3;
    const count = start + 2 + (seed % (seed % 10 === 0 ? 130 : 45));
    const tUs = gridChain(seed, count - start + 5, start, [1000, 500, 20_000, 50_000, 3001][seed % 5]!);
    const verdict = new Uint8Array(tUs.length);
    judgeIntervals({ tUs: Float64Array.from(tUs), verdict }, start, count, true, newCorrection(start));
    const wanted = plainVerdicts(tUs.slice(0, count), start);
    expect([...verdict.subarray(start + 1, count)], `seed ${seed}`).toEqual(wanted.slice(start + 1));
    for (const one of wanted) counts[one]!++;
  }
  for (const bit of [1, 2, 4]) expect(counts[bit]).toBeGreaterThan(50);
  const none = { tUs: new Float64Array(0), verdict: new Uint8Array(0) };
  expect(judgeIntervals(none, 0, 0, true, newCorrection(0))).toBe(0);
});

test('judges the intervals of an open chain as those of the chain that it becomes', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const start = seed % 3;
    const tUs = gridChain(seed, 120, start, [1000, 20_000][seed % 2]!);
    const wanted = plainVerdicts(tUs, start);
    const verdict = new Uint8Array(tUs.length);
    const state = newCorrection(start);
    let done = start + 1;
    for (let count = start + 1; count <= tUs.length; count += 1 + (seed % 4)) {
      const final = judgeIntervals({ tUs: Float64Array.from(tUs), verdict }, start, count, false, state);
      for (; done < final; done++) expect(verdict[done], `seed ${seed}, interval ${done} of ${count}`).toBe(wanted[done]);
    }
    expect(done).toBeGreaterThan(start + 100);
  }
});

test('an open chain is final up to 11 beats before its end, once it has 40; a chain that ends is final', () => {
  for (const start of [0, 7]) {
    const tUs = Float64Array.from(chain(5, 100, start, 0.05));
    const state = newCorrection(start);
    const verdict = new Uint8Array(tUs.length);
    for (let count = start + 1; count <= start + 100; count++) {
      const done = judgeIntervals({ tUs, verdict }, start, count, false, state);
      expect(done).toBe(count < start + 40 ? start + 1 : count - 11);
    }
    expect(judgeIntervals({ tUs, verdict }, start, start + 100, true, state)).toBe(start + 100);
  }
});
