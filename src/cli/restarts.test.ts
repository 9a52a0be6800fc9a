import { expect, test } from 'vitest';
import { ENDS_MAX, hasEndedWell, QUICK_MS, Restarts } from './restarts.ts';

test('pauses grow to half a minute while a process ends quickly, and it is given up after two minutes of them', () => {
  const restarts = new Restarts();
  const pauses: number[] = [];
  while (!restarts.isHopeless) pauses.push(restarts.noteEnd(100));
  expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000]);
  expect(pauses).toHaveLength(ENDS_MAX);
  expect(restarts.noteEnd(QUICK_MS + 1)).toBe(500);
  expect(restarts.isHopeless).toBe(false);
});

test.each([
  [0, null, true],
  [1, null, false],
  [null, 'SIGTERM', true],
  [null, 'SIGINT', true],
  [null, 'SIGKILL', false],
  [null, 'SIGSEGV', false],
  [null, 'SIGABRT', false],
])('a process that was told to stop and ended with %s, %s did so: %s', (code, by, isWell) => {
  expect(hasEndedWell(code, by)).toBe(isWell);
});
