import { describe, expect, test } from 'vitest';
import { seeded } from '../testing/fixture.ts';
import { isOneBeatOff } from './one-beat-off.ts';

const isOff = (...intervals: number[]): boolean => isOneBeatOff(Float64Array.from(intervals), intervals.length);

describe('isOneBeatOff', () => {
  test('doubts a doubled interval in an even rhythm, and two that make one, wherever they lie', () => {
    expect(isOff(800, 810, 790, 1600, 805, 800)).toBe(true);
    expect(isOff(1600, 800, 810, 790, 805)).toBe(true);
    expect(isOff(870, 880, 510, 360, 890, 880)).toBe(true);
    expect(isOff(510, 360, 870, 880, 890, 880)).toBe(true);
    expect(isOff(870, 880, 890, 880, 510, 360)).toBe(true);
  });

  test('doubts nothing in an even rhythm, one that breathes, nor after an early beat with its pause', () => {
    expect(isOff(800, 810, 790, 805, 800)).toBe(false);
    expect(isOff(800, 840, 900, 930, 900, 850, 800, 780)).toBe(false);
    expect(isOff(800, 810, 500, 1100, 800, 790)).toBe(false);
    expect(isOff(800, 500, 1100, 800, 500, 1100, 800)).toBe(false);
  });

  test('says nothing about intervals that are too few, or too uneven to be usual', () => {
    expect(isOff(800, 1600, 800)).toBe(false);
    expect(isOff(800, 1600, 0, 810)).toBe(false);
    expect(isOff(620, 410, 820, 1500, 700, 950, 530)).toBe(false);
    const random = seeded(7);
    let doubted = 0;
    for (let round = 0; round < 500; round++) if (isOff(...Array.from({ length: 10 }, () => 400 + 700 * random()))) doubted++;
    expect(doubted).toBeLessThan(25);
  });

  test('does not pair intervals across a break', () => {
    expect(isOff(870, 880, 890, 510, 0, 360, 880, 870)).toBe(false);
  });
});
