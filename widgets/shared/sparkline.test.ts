import { expect, it } from 'vitest';
import { formatValue, unitLabel } from './format.ts';
import { sparkline } from './sparkline.ts';

/** Heights (0 top … 56 bottom) of the points of the line. */
function heights(values: readonly number[]): number[] {
  const none = values.map(() => null);
  const series = { values, lows: none, highs: none, timesMs: values.map((_, i) => i * 60_000), flags: values.map(() => 0), stepMs: 60_000 };
  const texts: string[] = [];
  const walk = (part: unknown): void => {
    if (typeof part === 'string') texts.push(part);
    else if (Array.isArray(part)) part.forEach(walk);
    else if (typeof part === 'object' && part !== null && 'values' in part) walk((part as { values: unknown }).values);
  };
  walk(sparkline(series as unknown as Parameters<typeof sparkline>[0], null));
  const line = texts.find((text) => text.startsWith('M'))!;
  return [...line.matchAll(/[ML]-?[\d.]+ (-?[\d.]+)/g)].map((match) => Number(match[1]));
}

it('draws a still line as one: the height is at least a tenth of the value', () => {
  const drawn = heights([78, 78.4, 78.1]);
  expect(Math.max(...drawn) - Math.min(...drawn)).toBeLessThan(4);
  expect(Math.min(...drawn)).toBeGreaterThan(20);
  expect(Math.max(...drawn)).toBeLessThan(36);
});

it.each([1, 2, 4])('keeps the band of %i buckets inside the picture', (count) => {
  const times = Array.from({ length: count }, (_, i) => 1_795_000_000_000 + i * 60_000);
  const of = (value: number): number[] => times.map(() => value);
  const series = { values: of(77), lows: of(76), highs: of(79), timesMs: times, flags: of(0), stepMs: 60_000 };
  const { values } = sparkline(series as unknown as Parameters<typeof sparkline>[0], null);
  const spread = JSON.stringify(values).match(/M[\d.]+ [\d.]+V[\d.]+h[\d.]+/g)!;
  expect(spread).toHaveLength(count);
  for (const bucket of spread) {
    const [, x = '', width = ''] = /M([\d.]+) .*h([\d.]+)/.exec(bucket)!;
    expect(Number(x) + Number(width)).toBeLessThanOrEqual(300);
  }
});

it('fills its height where values differ by more', () => {
  const drawn = heights([60, 90, 75]);
  expect([Math.min(...drawn), Math.max(...drawn)]).toEqual([5, 51]);
});

it('shows scores without the annotation that UCUM has for them, and without decimals that they lack', () => {
  expect(unitLabel('{score}')).toBe('');
  expect(formatValue('en', 4, { unit: '{score}' })).toBe('4');
  expect(formatValue('en', 3.57, { unit: '{score}' })).toBe('3.6');
  expect(formatValue('en', 1234.5, { unit: '{steps}' })).toBe('1,235');
});
