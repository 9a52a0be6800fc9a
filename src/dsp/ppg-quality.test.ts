import { describe, expect, test } from 'vitest';
import { emptyRates, PpgMotionHeartRate } from './ppg-motion-hr.ts';
import { emptyQuality, PpgQuality } from './ppg-quality.ts';
import type { FoundQuality } from './ppg-quality.ts';

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

function judge(x: Float64Array, step = x.length): FoundQuality {
  const quality = new PpgQuality(FS);
  const out = emptyQuality();
  for (let at = 0; at < x.length; at += step) quality.push(x, at, Math.min(x.length, at + step), out);
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

  test('is as new after reset, also where the signal starts with a gap', () => {
    const x = pulse(60, 20, 30);
    x.fill(Number.NaN, 0, 90);
    const quality = new PpgQuality(FS);
    const out = emptyQuality();
    quality.push(pulse(37, 5, 9), 0, 37 * FS, out);
    quality.reset();
    out.count = 0;
    quality.push(x, 0, x.length, out);
    quality.flush(out);
    expect(columns(out)).toEqual(columns(judge(x)));
  });

  test('calls missing and flat signal bad', () => {
    for (const value of [Number.NaN, 3]) {
      const out = judge(new Float64Array(40 * FS).fill(value));
      for (let k = 0; k < out.count; k++) expect(out.flag[k]).toBe(2);
    }
  });

  test('waits for the spectral rates, and judges the same whenever they arrive', () => {
    const x = pulse(60);
    const rates = emptyRates();
    const motion = new PpgMotionHeartRate(FS, 1);
    motion.pushPpg([x], 0, x.length, rates);
    motion.flush(rates);
    const early = new PpgQuality(FS, true);
    const a = emptyQuality();
    early.pushRates(rates, 0, rates.count);
    early.push(x, 0, x.length, a);
    const late = new PpgQuality(FS, true);
    const b = emptyQuality();
    let given = 0;
    for (let at = 0; at < x.length; at += FS) {
      while (given < rates.count && rates.endSec[given]! + 12 <= at / FS) given++;
      late.pushRates(rates, Math.max(0, given - 1), given);
      late.push(x, at, at + FS, b);
    }
    expect(b.count).toBeGreaterThan(30);
    expect(columns(b)[1]).toEqual(columns(a)[1]!.slice(0, b.count));
  });
});
