/** Which face stands for a score. */
import { expect, it } from 'vitest';
import { clampScore } from './mood.ts';

it.each([
  [1, 0],
  [3, 2],
  [5, 4],
  [2.6, 2],
  [0, 0],
  [9, 4],
])('a score of %o has face %o', (score, face) => {
  expect(clampScore(score)).toBe(face);
});
