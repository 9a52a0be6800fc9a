// Round trips over random minutes, truncation at every byte and damage: an error or the same points, never a throw.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRejected } from '../errors.ts';
import { beatPoints, featurePoints } from '../../test/helpers/derived-points.ts';
import { decodeBeats, decodeFeatures, encodeBeats, encodeFeatures } from './derived-block.ts';

describe('features', () => {
  test('decoding gives what was encoded', () => {
    fc.assert(
      fc.property(featurePoints, (points) => {
        expect(decodeFeatures(encodeFeatures(points))).toEqual(points);
      }),
    );
  });

  test('a cut or changed row is an error or other points, never a throw', () => {
    fc.assert(
      fc.property(featurePoints, fc.nat(), fc.nat(), (points, at, value) => {
        const block = encodeFeatures(points);
        for (let to = 0; to < block.codec.length; to++)
          expect(isRejected(decodeFeatures({ ...block, codec: block.codec.subarray(0, to) }))).toBe(true);
        const codec = block.codec.slice();
        codec[at % codec.length] = value & 255;
        decodeFeatures({ ...block, codec });
      }),
      { numRuns: 50 },
    );
  });

  test('statistics are null where another column says them', () => {
    const row = encodeFeatures({ ns: [0, 1e9, 2e9], steps: [7143, 7150, 7100], flags: [0, 0, 0] });
    expect(row).toMatchObject({ n: 3, valueN: null, goodN: null, suspectN: null, sum: 21_393, goodSum: null, suspectSum: null });
    expect(row).toMatchObject({ min: 7100, max: 7150, first: 7143, last: 7100, goodMin: null, goodFirst: null, suspectMin: null });
    const mixed = encodeFeatures({ ns: [0, 1e9, 2e9, 3e9], steps: [10, 20, NaN, 40], flags: [1, 0, 2, 2] });
    expect(mixed).toMatchObject({
      n: 4,
      valueN: 3,
      goodN: 1,
      suspectN: 1,
      sum: 70,
      goodSum: 20,
      suspectSum: 10,
      goodLast: 20,
      suspectMax: 10,
    });
    expect(encodeFeatures({ ns: [5], steps: [4], flags: [1] })).toMatchObject({
      sum: 4,
      min: null,
      goodN: 0,
      suspectN: 1,
      suspectSum: null,
    });
  });

  test('60 values of a heart rate take as many bits as they vary', () => {
    const ns = Array.from({ length: 60 }, (_, i) => i * 1e9 + 444_444_444);
    const rate = ns.map((_, i) => Math.round(7000 + 300 * Math.sin(i / 9)));
    expect(encodeFeatures({ ns, steps: rate, flags: ns.map(() => 0) }).codec.length).toBe(16 + (60 * 10) / 8);
  });

  test('a value beyond what a row holds is refused', () => {
    expect(() => encodeFeatures({ ns: [0], steps: [2 ** 31], flags: [0] })).toThrow(/2147483648 steps, at most 2147483647/);
    expect(() => encodeFeatures({ ns: [0], steps: [Infinity], flags: [0] })).toThrow(RangeError);
  });
});

describe('beats', () => {
  test('decoding gives what was encoded', () => {
    fc.assert(
      fc.property(beatPoints, (points) => {
        expect(decodeBeats(encodeBeats(points))).toEqual(points);
      }),
    );
  });

  test('what has no confidence is stored as before, and a confidence takes the bits of the greatest doubt', () => {
    const beats = (confidences: readonly number[]): Parameters<typeof encodeBeats>[0] => ({
      ns: confidences.map((_, i) => i * 1e9),
      intervalUs: confidences.map((_, i) => (i === 0 ? NaN : 1e6)),
      kinds: confidences.map(() => 0),
      flags: confidences.map(() => 0),
      reasons: confidences.map(() => ''),
      confidences,
    });
    const sixty = (of: number): number[] => Array.from({ length: 60 }, () => of);
    const bytes = (confidences: readonly number[]): number => encodeBeats(beats(confidences)).codec.length;
    expect(encodeBeats(beats(sixty(NaN))).codec[0]! >> 4).toBe(0xe);
    expect(bytes(sixty(100)) - bytes(sixty(NaN))).toBe(1 + Math.ceil(60 / 8));
    expect(bytes([...sixty(98), 97]) - bytes([...sixty(NaN), NaN])).toBe(1 + Math.ceil((61 * 3) / 8));
    expect(bytes([...sixty(100), 0]) - bytes([...sixty(NaN), NaN])).toBe(1 + Math.ceil((61 * 7) / 8));
    for (const wrong of [-1, 101, 0.5]) expect(() => encodeBeats(beats([wrong]))).toThrow(/confidence/);
  });

  test('a cut or changed row is an error or other points, never a throw', () => {
    fc.assert(
      fc.property(beatPoints, fc.nat(), fc.nat(), (points, at, value) => {
        const block = encodeBeats(points);
        for (let to = 0; to < block.codec.length; to++)
          expect(isRejected(decodeBeats({ ...block, codec: block.codec.subarray(0, to) }))).toBe(true);
        const codec = block.codec.slice();
        codec[at % codec.length] = value & 255;
        decodeBeats({ ...block, codec });
      }),
      { numRuns: 50 },
    );
  });
});
