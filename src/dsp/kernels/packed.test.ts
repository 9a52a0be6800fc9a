import { describe, expect, test } from 'vitest';
import { Room, moved, packedBytes, packedDoubles, packedFloats } from './packed.ts';

describe('arrays next to each other', () => {
  test('share a buffer in the order in which they are made, each on a multiple of 8 bytes', () => {
    const room = new Room(64);
    const bytes = room.bytes(3);
    const floats = room.floats(3);
    const doubles = room.doubles(5);
    expect([bytes.byteOffset, floats.byteOffset, doubles.byteOffset, room.left]).toEqual([0, 8, 24, 0]);
    bytes.fill(255);
    floats.fill(1);
    expect([...doubles]).toEqual([0, 0, 0, 0, 0]);
    doubles.fill(2);
    expect([...bytes, ...floats]).toEqual([255, 255, 255, 1, 1, 1]);
  });

  test('what does not fit is refused, and takes nothing', () => {
    const room = new Room(16);
    expect(() => room.doubles(3)).toThrow(RangeError);
    expect(room.doubles(2).length).toBe(2);
  });

  test('those without a room of their own never overlap, whatever their sizes', () => {
    const made = Array.from({ length: 400 }, (_, i) => [packedDoubles, packedFloats, packedBytes][i % 3]!((i * 37) % 900));
    const huge = packedDoubles(10_000);
    expect(huge.every((value) => value === 0)).toBe(true);
    for (const array of made) expect(array.every((value) => value === 0)).toBe(true);
    made.forEach((array, i) => array.fill(i % 256));
    huge.fill(-1);
    for (const [i, array] of made.entries()) expect(array.every((value) => value === i % 256)).toBe(true);
  });

  test('a grown column begins with what it held', () => {
    expect([...moved(Float64Array.of(1, 2), new Float64Array(3))]).toEqual([1, 2, 0]);
  });
});
