import fc from 'fast-check';
import { expect, it } from 'vitest';
import { STEP_COUNT_MAX, fromSteps, toSteps } from './signal.ts';

const digits = fc.integer({ min: 0, max: 5 });
const stepOf = (places: number): number => Number(`1e-${places}`);

it('a number of steps is the decimal that a person would write, and comes back as the same number', () => {
  const counts = fc.integer({ min: -STEP_COUNT_MAX, max: STEP_COUNT_MAX });
  fc.assert(
    fc.property(digits, counts, (places, count) => {
      const step = stepOf(places);
      const value = fromSteps(count, step);
      const text = String(Math.abs(count)).padStart(places + 1, '0');
      const end = text.length - places;
      expect(value).toBe(Number(`${count < 0 ? '-' : ''}${text.slice(0, end)}.${text.slice(end)}`));
      expect(toSteps(value, step)).toBe(count);
      expect(Math.round(value / step) + 0).toBe(count);
    }),
  );
});

it('the nearest step is taken, of either sign, and there is one zero', () => {
  fc.assert(
    fc.property(digits, fc.double({ min: -1e6, max: 1e6, noNaN: true }), (places, value) => {
      const step = stepOf(places);
      const rounded = fromSteps(toSteps(value, step), step);
      expect(Math.abs(rounded - value)).toBeLessThanOrEqual(0.5000001 * step);
      expect(fromSteps(toSteps(rounded, step), step)).toBe(rounded);
      expect(Object.is(rounded, -0)).toBe(false);
    }),
  );
});

it('a day of one value a second, all as great as may be, is summed within 64 bits', () => {
  expect(86_400n * BigInt(STEP_COUNT_MAX)).toBeLessThan(2n ** 63n);
});
