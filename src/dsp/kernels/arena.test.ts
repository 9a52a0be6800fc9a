import { describe, expect, test } from 'vitest';
import { Arena, arenaBytes, arenaDoubles, arenaFloats } from './arena.ts';

describe('arrays next to each other', () => {
  test('share a buffer in the order in which they are made, each on a multiple of 8 bytes', () => {
    const arena = new Arena(64);
    const bytes = arena.bytes(3);
    const floats = arena.floats(3);
    const doubles = arena.doubles(5);
    expect([bytes.byteOffset, floats.byteOffset, doubles.byteOffset, arena.left]).toEqual([0, 8, 24, 0]);
    bytes.fill(255);
    floats.fill(1);
    expect([...doubles]).toEqual([0, 0, 0, 0, 0]);
    doubles.fill(2);
    expect([...bytes, ...floats]).toEqual([255, 255, 255, 1, 1, 1]);
  });

  test('what does not fit is refused, and takes nothing', () => {
    const arena = new Arena(16);
    expect(() => arena.doubles(3)).toThrow(RangeError);
    expect(arena.doubles(2).length).toBe(2);
  });

  test('those without a room of their own never overlap, whatever their sizes', () => {
    const made = Array.from({ length: 400 }, (_, i) => [arenaDoubles, arenaFloats, arenaBytes][i % 3]!((i * 37) % 900));
    const huge = arenaDoubles(10_000);
    expect(huge.every((value) => value === 0)).toBe(true);
    for (const array of made) expect(array.every((value) => value === 0)).toBe(true);
    made.forEach((array, i) => array.fill(i % 256));
    huge.fill(-1);
    for (const [i, array] of made.entries()) expect(array.every((value) => value === i % 256)).toBe(true);
  });
});
