/** Checks a strip as PNG with an independent reader (ISO/IEC 15948, 8-bit palette, no filter). */
import { crc32, inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { stripPng } from './strip-png.ts';
import { PX_PER_MM } from './strip.ts';
import type { Strip } from './strip.ts';

const [TOP, BOTTOM, WIDTH, HEIGHT] = [48, 128, 160, 144];
const paper = 0xffffff;
const minor = 0xf3c6c6;
const major = 0xe29a9a;
const trace = 0x111111;
const bad = 0x999999;

const empty: Strip = {
  widthPx: WIDTH,
  heightPx: HEIGHT,
  topPx: TOP,
  bottomPx: BOTTOM,
  header: [],
  footer: '',
  good: [],
  bad: [],
  pulse: [],
  marks: [],
  hatches: [],
  blocks: [],
};

function read(png: Uint8Array): { width: number; height: number; colorAt: (x: number, y: number) => number } {
  const file = Buffer.from(png);
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < file.length;) {
    const length = file.readUInt32BE(at);
    const body = file.subarray(at + 4, at + 8 + length);
    expect(file.readUInt32BE(at + 8 + length)).toBe(crc32(body));
    chunks.set(body.toString('latin1', 0, 4), body.subarray(4));
    at += 12 + length;
  }
  const header = chunks.get('IHDR')!;
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const colors = chunks.get('PLTE')!;
  const rows = inflateSync(chunks.get('IDAT')!);
  expect(rows.length).toBe((width + 1) * height);
  return { width, height, colorAt: (x, y) => colors.readUIntBE(3 * rows[y * (width + 1) + 1 + x]!, 3) };
}

/** Points of a color, top to bottom. */
function pointsOf(strip: Partial<Strip>, color: number): [number, number][] {
  const { colorAt } = read(stripPng({ ...empty, ...strip }));
  const found: [number, number][] = [];
  for (let y = 0; y < HEIGHT; y++) for (let x = 0; x < WIDTH; x++) if (colorAt(x, y) === color) found.push([x, y]);
  return found;
}

describe('a strip as PNG', () => {
  it('is as large as the strip, with a line each millimetre of paper and a stronger one each fifth, and nothing beyond', () => {
    const { width, height, colorAt } = read(stripPng(empty));
    expect([width, height]).toEqual([WIDTH, HEIGHT]);
    for (const x of [0, 20, 140]) for (const y of [TOP, 70, BOTTOM - 1]) expect(colorAt(x, y), `${x}, ${y}`).toBe(major);
    for (const x of [PX_PER_MM, 3 * PX_PER_MM]) expect(colorAt(x, TOP + 1)).toBe(minor);
    expect(colorAt(1, TOP + 1)).toBe(paper);
    for (const y of [TOP - 1, BOTTOM + 1, HEIGHT - 1]) expect(colorAt(0, y), `row ${y}`).toBe(paper);
  });

  it.each([
    ['rising to the right', [30, 120, 60, 60]],
    ['falling to the right', [30, 60, 60, 120]],
    ['going back', [60, 60, 30, 120]],
    ['steep', [40, 125, 42, 50]],
    ['level', [30, 90, 90, 90]],
  ])('draws a line %s without a hole from end to end', (_name, [fromX, fromY, toX, toY]) => {
    const points = pointsOf({ good: [[fromX!, fromY!, toX!, toY!]] }, trace);
    expect(points).toContainEqual([fromX, fromY]);
    expect(points).toContainEqual([toX, toY]);
    expect(points).toHaveLength(1 + Math.max(Math.abs(toX! - fromX!), Math.abs(toY! - fromY!)));
    const [low, high] = [Math.min(fromX!, toX!), Math.max(fromX!, toX!)];
    expect(points.every(([x]) => x >= low && x <= high)).toBe(true);
  });

  it('draws bad stretches three pixels on and three off, the point that two lines share counting for both', () => {
    const points = pointsOf({ bad: [[30, 90, 60, 90]] }, bad);
    expect(points.map(([x]) => x)).toEqual([30, 31, 35, 36, 37, 41, 42, 43, 47, 48, 49, 53, 54, 55, 59, 60]);
  });

  it('refuses a line without end', () => {
    expect(() => stripPng({ ...empty, good: [[1, 2, Number.NaN, 3]] })).toThrow('without end');
  });
});
