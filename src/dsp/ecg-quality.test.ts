/** Synthetic ECG, clean and spoilt; how well the flags predict errors on recordings is scored by `npm run accuracy`. */
import { describe, expect, it, test } from 'vitest';
import { EcgQuality } from './ecg-quality.ts';
import type { FoundQuality } from './ppg-quality.ts';
import { emptyQuality } from './ppg-quality.ts';

function random(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647 - 0.5;
}

function ecg(fs: number, seconds: number): Float64Array {
  const next = random(11);
  const x = new Float64Array(Math.round(fs * seconds));
  for (let i = 0; i < x.length; i++) x[i] = 0.02 * next();
  for (let t = 0.4; t < seconds; t += 0.85 + 0.05 * next()) {
    for (let i = Math.max(0, Math.ceil((t - 0.3) * fs)); i < Math.min(x.length, (t + 0.5) * fs); i++) {
      const s = i / fs - t;
      x[i] = x[i]! + Math.exp(-((s / 0.012) ** 2)) + 0.25 * Math.exp(-(((s - 0.28) / 0.05) ** 2));
    }
  }
  return x;
}

function judge(x: Float64Array, fs: number, packet = x.length): FoundQuality {
  const quality = new EcgQuality(fs);
  const out = emptyQuality();
  for (let at = 0; at < x.length; at += packet) quality.push(x, at, Math.min(x.length, at + packet), out);
  quality.flush(out);
  return out;
}

describe('EcgQuality', () => {
  it.each([125, 250, 257.3, 360, 1000])('calls a clean ECG good at %f Hz, one value per second', (fs) => {
    const out = judge(ecg(fs, 60), fs);
    expect([...out.startSec.subarray(0, out.count)]).toEqual(Array.from({ length: out.count }, (_, i) => i));
    expect(out.count).toBeGreaterThanOrEqual(59);
    for (let i = 4; i < out.count - 8; i++) expect(out.flag[i], `second ${i}: ${out.sqi[i]}`).toBe(0);
  });

  test('calls broad noise without beats not good, flat and missing stretches bad', () => {
    const x = ecg(250, 120);
    const next = random(3);
    let wander = 0;
    for (let i = 30 * 250; i < 60 * 250; i++) x[i] = (wander += 0.5 * next() - 0.05 * wander) + next();
    x.fill(0.5, 75 * 250, 90 * 250);
    x.fill(Number.NaN, 100 * 250, 110 * 250);
    const out = judge(x, 250);
    for (let second = 36; second < 52; second++) expect(out.flag[second], `noise ${second}: ${out.sqi[second]}`).toBeGreaterThan(0);
    for (let second = 80; second < 84; second++) expect([out.flag[second], out.sqi[second]]).toEqual([2, 0]);
    for (let second = 103; second < 106; second++) expect([out.flag[second], out.sqi[second]]).toEqual([2, 0]);
    expect(out.flag[15]).toBe(0);
  });

  test('gives the same values however the samples are cut, and after a reset', () => {
    const x = ecg(257.3, 40);
    x.fill(Number.NaN, 5000, 5100);
    const whole = judge(x, 257.3);
    for (const packet of [1, 26, 90, 1000]) {
      const cut = judge(x, 257.3, packet);
      expect([...cut.sqi.subarray(0, cut.count)]).toEqual([...whole.sqi.subarray(0, whole.count)]);
    }
    const quality = new EcgQuality(257.3);
    const out = emptyQuality();
    quality.push(x, 2000, 9000, out);
    quality.reset();
    out.count = 0;
    quality.push(x, 0, x.length, out);
    quality.flush(out);
    expect([...out.sqi.subarray(0, out.count)]).toEqual([...whole.sqi.subarray(0, whole.count)]);
  });

  test('absurd values do no harm', () => {
    const x = ecg(250, 30);
    x.fill(1e29, 2000, 2500);
    x.fill(Number.NEGATIVE_INFINITY, 4000, 4100);
    const out = judge(x, 250);
    for (let i = 0; i < out.count; i++) expect(out.sqi[i]! >= 0 && out.sqi[i]! <= 1).toBe(true);
  });
});
