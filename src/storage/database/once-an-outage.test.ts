import { expect, it } from 'vitest';
import { onceAnOutage } from './once-an-outage.ts';

it('an hour of the same fault is told once, another reason at once, and the next outage again', () => {
  const told: string[] = [];
  let nowMs = 0;
  const note = onceAnOutage(
    (error) => void told.push((error as Error).message),
    () => nowMs,
  );
  for (; nowMs < 3_600_000; nowMs += 250) note(new Error('refused'));
  note(new Error('reset'));
  expect(told).toEqual(['refused', 'reset']);
  nowMs += 59_000;
  note(new Error('refused'));
  nowMs += 60_000;
  note(new Error('refused'));
  expect(told).toEqual(['refused', 'reset', 'refused']);
});

it('a thousand reasons are told, and not all remembered', () => {
  let told = 0;
  const note = onceAnOutage(() => (told += 1));
  for (let i = 0; i < 1000; i++) note(new Error(`reason ${i}`));
  expect(told).toBe(1000);
});
