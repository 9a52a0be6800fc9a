/** The steady time of a live trace. */
import { expect, it } from 'vitest';
import { PlayClock } from './play-clock.ts';

it('shows nothing before the first frame, and after a reset', () => {
  const clock = new PlayClock();
  expect(clock.timeMs(0)).toBeNull();
  clock.observe(1000, 0);
  expect(clock.timeMs(0)).not.toBeNull();
  clock.reset();
  expect(clock.timeMs(10)).toBeNull();
});

it('runs a frame behind the newest sample when frames arrive evenly', () => {
  const clock = new PlayClock();
  for (let ms = 0; ms <= 1000; ms += 100) clock.observe(50_000 + ms, ms);
  expect(clock.timeMs(1000)).toBe(50_900);
});

it('never goes back or stands still while frames arrive unevenly', () => {
  const clock = new PlayClock();
  const shown: number[] = [];
  for (let ms = 0; ms <= 4000; ms += 20) {
    if (ms % 100 === 0) clock.observe(50_000 + ms, ms + (ms % 300 === 0 ? (ms > 2000 ? 290 : 90) : 0));
    shown.push(clock.timeMs(ms)!);
  }
  const steps = shown.slice(1).map((time, i) => time - shown[i]!);
  // The first second finds the jitter, which grows later: 20 ms of the browser are 20 ms of the trace, give or take 5 %.
  for (const step of steps.slice(60)) expect(Math.abs(step - 20)).toBeLessThanOrEqual(1 + 1e-6);
});

it('jumps when the source has moved by more than a second', () => {
  const clock = new PlayClock();
  clock.observe(50_000, 0);
  const before = clock.timeMs(0)!;
  for (let ms = 6000; ms <= 6500; ms += 100) clock.observe(90_000 + ms, ms);
  expect(clock.timeMs(6500)! - before).toBeGreaterThan(40_000);
});
