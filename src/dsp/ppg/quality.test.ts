import { describe, expect, test } from 'vitest';
import { noBeats } from '../kernels/found-beats.ts';
import { PpgBeatDetector } from './beats.ts';
import { emptyQuality, PpgQuality } from './quality.ts';
import type { FoundQuality } from './quality.ts';

const FS = 64;

/** A clean pulse of 75/min; between `noisyFrom` and `noisyTo` s buried in noise. */
function pulse(seconds: number, noisyFrom = 0, noisyTo = 0): Float64Array {
  let state = 7;
  return Float64Array.from({ length: seconds * FS }, (_, i) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const t = i / FS;
    const phase = (t % 0.8) - 0.2;
    const noise = (state / 2 ** 32 - 0.5) * (t >= noisyFrom && t < noisyTo ? 6 : 0.02);
    return Math.exp(-((phase / 0.09) ** 2)) + 0.3 * Math.exp(-(((phase - 0.32) / 0.1) ** 2)) + noise;
  });
}

function judgePiece(quality: PpgQuality, detector: PpgBeatDetector, x: Float64Array, from: number, to: number, out: FoundQuality): void {
  const beats = noBeats(16);
  detector.push([x], from, to, beats);
  quality.pushBeats(beats, 0, beats.count);
  quality.push(x, from, to, out);
}

function judge(x: Float64Array, step = x.length): FoundQuality {
  const detector = new PpgBeatDetector(FS);
  const quality = new PpgQuality(FS, detector.latencySec);
  const out = emptyQuality();
  for (let at = 0; at < x.length; at += step) judgePiece(quality, detector, x, at, Math.min(x.length, at + step), out);
  quality.flush(out);
  return out;
}

const columns = (q: FoundQuality): number[][] => [
  [...q.startSec.subarray(0, q.count)],
  [...q.sqi.subarray(0, q.count)],
  [...q.flag.subarray(0, q.count)],
];

describe('PpgQuality', () => {
  test('calls a clean pulse good and a buried one bad, every second once', () => {
    const out = judge(pulse(120, 60, 90));
    expect([...out.startSec.subarray(0, out.count)]).toEqual(Array.from({ length: 120 }, (_, k) => k));
    for (let k = 10; k < 50; k++) expect(out.flag[k]).toBe(0);
    for (let k = 66; k < 82; k++) expect(out.flag[k]).toBe(2);
  });

  test('gives the same numbers, bit for bit, however the samples are cut', () => {
    const x = pulse(60, 20, 30);
    x.fill(Number.NaN, 40 * FS, 43 * FS);
    const whole = columns(judge(x));
    for (const step of [1, 7, 64, 1000]) expect(columns(judge(x, step))).toEqual(whole);
  });

  test('judges the last seconds before a gap by those there are, at least five: of a clean pulse they are good, of noise bad', () => {
    for (const end of [40 * FS, 40 * FS + 20, 41 * FS - 5]) {
      const clean = judge(pulse(60).fill(Number.NaN, end, 53 * FS));
      // a second of which less than a fifth is missing counts as one
      const last = Math.floor(end / FS + 0.2) - 1;
      expect([...clean.flag.subarray(last - 8, last + 1)]).toEqual(Array.from({ length: 9 }, () => 0));
      // no second of the gap, nor one of which more is in it
      expect([...clean.flag.subarray(last + 1, last + 8)]).toEqual(Array.from({ length: 7 }, () => 2));
      const noisy = judge(pulse(60, 36, 42).fill(Number.NaN, end, 53 * FS));
      expect([...noisy.flag.subarray(last - 3, last + 1)]).not.toContain(0);
    }
    // four seconds are too few, five are not, at a start too
    const lengths = [4, 5].map((sec) => [...judge(pulse(30).fill(Number.NaN, sec * FS, 20 * FS)).flag.subarray(0, sec)]);
    expect(lengths[0]).toEqual([2, 2, 2, 2]);
    expect(lengths[1]!.every((flag) => flag < 2)).toBe(true);
  });

  test('is as new after reset, also where the signal starts with a gap', () => {
    const x = pulse(60, 20, 30);
    x.fill(Number.NaN, 0, 90);
    const detector = new PpgBeatDetector(FS);
    const quality = new PpgQuality(FS, detector.latencySec);
    const out = emptyQuality();
    judgePiece(quality, detector, pulse(37, 5, 9), 0, 37 * FS, out);
    detector.reset();
    quality.reset();
    out.count = 0;
    judgePiece(quality, detector, x, 0, x.length, out);
    quality.flush(out);
    expect(columns(out)).toEqual(columns(judge(x)));
  });

  test('calls missing and flat signal bad', () => {
    for (const value of [Number.NaN, 3]) {
      const out = judge(new Float64Array(40 * FS).fill(value));
      for (let k = 0; k < out.count; k++) expect(out.flag[k]).toBe(2);
    }
  });
});
