import { expect, it } from 'vitest';
import { fitGrid } from '../../dashboard/wall/fit-grid.ts';

it.each([
  [36, 1920, 990],
  [36, 3840, 2070],
  [36, 390, 740],
  [4, 1920, 990],
  [4, 390, 740],
  [7, 1280, 700],
  [1, 390, 740],
])('has room for each of %s tiles on %s x %s px, and no empty row', (count, width, height) => {
  const { columns, rows } = fitGrid(count, width, height);
  expect(columns * rows).toBeGreaterThanOrEqual(count);
  expect(columns * (rows - 1)).toBeLessThan(count);
  expect(width / columns).toBeGreaterThanOrEqual(Math.min(width, 120));
});

it('is wide on a wide screen and high on a high one', () => {
  expect(fitGrid(36, 1920, 990)).toEqual({ columns: 6, rows: 6 });
  expect(fitGrid(4, 390, 740)).toEqual({ columns: 1, rows: 4 });
});
