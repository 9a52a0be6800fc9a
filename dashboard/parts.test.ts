import { expect, it } from 'vitest';
import { duration, lasted, percent } from './parts.ts';

it.each([
  [340, '340 ms'],
  [59_400, '59.4 s'],
  [119_400, '1 min 59 s'],
  [119_600, '2 min 0 s'],
  [3_599_600, '1 h'],
  [5_400_000, '1.5 h'],
  [172_800_000, '2 days'],
])('a length of %s ms is %s: no minute has 60 seconds', (ms, words) => {
  expect(duration(ms)).toBe(words);
});

it('what has no length lasted a moment', () => {
  expect([lasted(0), lasted(300_000)]).toEqual(['a moment', '5 min 0 s']);
});

it.each([
  [0.0004, '<0.1 %'],
  [0.016, '1.6 %'],
  [0.152, '15 %'],
  [-0.016, '-1.6 %'],
  [-0.152, '-15 %'],
])('a share of %s is %s, below and above nothing alike', (share, words) => {
  expect(percent(share)).toBe(words);
});
