import { expect, test } from 'vitest';
import { KEPT_RATES, keptByRate } from './kept-by-rate.ts';

test('what is made of a rate is made once, and kept for the newest rates alone', () => {
  let count = 0;
  const made = keptByRate((rate) => ({ rate, number: ++count }));
  const first = made(250);
  expect(made(250)).toBe(first);
  for (let i = 1; i < KEPT_RATES; i++) made(250 + i);
  expect(made(250)).toBe(first);
  made(1000);
  expect(made(250)).toEqual({ rate: 250, number: count });
  expect(count).toBe(KEPT_RATES + 2);
});
