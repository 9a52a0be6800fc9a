/** Synthetic beats of known place: cuts, scale, polarity, rates, gaps. The floors on recordings are in test/accuracy. */

import { describe, expect, it, test } from 'vitest';
import type { FoundBeats } from '../kernels/contract.ts';
import { RPeakDetector } from './r-peaks.ts';

/** A train of narrow R waves with a broader T wave, on wander and a little noise; seeded. */
function ecg(fs: number, seconds: number, rrSec = 0.8): { x: Float64Array; peaks: number[] } {
  const x = new Float64Array(Math.round(fs * seconds));
  const peaks: number[] = [];
  let seed = 7;
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647 - 0.5;
  for (let t = 0.5; t < seconds - 0.5; t += rrSec * (1 + 0.05 * random())) peaks.push(t * fs);
  for (let i = 0; i < x.length; i++) x[i] = 0.3 * Math.sin((2 * Math.PI * 0.2 * i) / fs) + 0.02 * random();
  for (const p of peaks) {
    for (let i = Math.max(0, Math.floor(p - 0.5 * fs)); i < Math.min(x.length, p + 0.5 * fs); i++) {
      x[i] = x[i]! + Math.exp(-(((i - p) / fs / 0.012) ** 2)) + 0.25 * Math.exp(-((((i - p) / fs - 0.28) / 0.05) ** 2));
    }
  }
  return { x, peaks };
}

function found(): FoundBeats {
  return { count: 0, position: new Float64Array(1), confidence: new Float64Array(1) };
}

function detect(x: Float64Array, fs: number, cut: (left: number) => number = (left) => left): number[] {
  const detector = new RPeakDetector(fs);
  const out = found();
  for (let at = 0; at < x.length;) {
    const n = Math.max(1, Math.min(x.length - at, cut(x.length - at)));
    detector.push([x], at, at + n, out);
    at += n;
  }
  detector.flush(out);
  return [...out.position.subarray(0, out.count)];
}

describe('RPeakDetector', () => {
  it.each([100, 125, 128, 130.1, 180, 200, 250, 256, 257.3, 360, 500, 512, 1000])('finds every beat within 8 ms at %f Hz', (fs) => {
    const { x, peaks } = ecg(fs, 60);
    const beats = detect(x, fs);
    expect(beats.length).toBe(peaks.length);
    for (const [i, p] of peaks.entries()) expect(Math.abs(beats[i]! - p) / fs).toBeLessThan(0.008);
  });

  test('finds the same beats however the samples are cut', () => {
    const { x } = ecg(360, 60);
    const whole = detect(x, 360);
    for (const n of [1, 2, 7, 18, 90, 360, 5000]) expect(detect(x, 360, () => n)).toEqual(whole);
  });

  // Every beat changes the leads' weights, so a block must not be weighted as a whole. Seen in the first seconds after a reset, in noise.
  test('fuses leads to the same beats however the samples are cut', () => {
    let seed = 11;
    const noise = (x: Float64Array, size: number): Float64Array =>
      x.map((v) => v + size * ((seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647 - 0.5));
    const { x } = ecg(360, 120);
    const leads = [noise(x, 2.2), noise(x, 2.8)];
    const beatsOf = (start: number, n: number): number[] => {
      const detector = new RPeakDetector(360, 2);
      const out = found();
      for (let at = start; at < x.length; at += n) detector.push(leads, at, Math.min(x.length, at + n), out);
      detector.flush(out);
      return [...out.position.subarray(0, out.count)];
    };
    for (const start of [0, 7200, 14_400, 21_600, 28_800]) {
      const whole = beatsOf(start, x.length);
      for (const n of [1, 36, 90, 700]) expect(beatsOf(start, n)).toEqual(whole);
    }
  });

  test('the last beat counts though the data end, or a gap begins, right after it', () => {
    const { x, peaks } = ecg(360, 60);
    const last = peaks.at(-1)!;
    const isNear = (b: number): boolean => Math.abs(b - last) < 10;
    expect(detect(x.subarray(0, Math.round(last + 0.13 * 360)), 360).filter(isNear)).toHaveLength(1);
    expect(detect(x.fill(Number.NaN, Math.round(last + 0.13 * 360)), 360).filter(isNear)).toHaveLength(1);
  });

  test('an artefact in one lead is not a beat of two', () => {
    const fs = 360;
    const { x, peaks } = ecg(fs, 60);
    const other = x.map((v) => 0.5 * v);
    // taps on the electrode of the second lead, ten times its beats, half way between two beats
    const taps = [20, 35, 50].map((i) => Math.round((peaks[i]! + peaks[i + 1]!) / 2));
    for (const tap of taps) for (let i = -12; i <= 12; i++) other[tap + i] = other[tap + i]! + 5 * Math.exp(-((i / 4) ** 2));
    const out = found();
    const detector = new RPeakDetector(fs, 2);
    detector.push([x, other], 0, x.length, out);
    detector.flush(out);
    const beats = [...out.position.subarray(0, out.count)];
    expect(beats.filter((b) => taps.some((tap) => Math.abs(b - tap) < 0.1 * fs))).toEqual([]);
    expect(peaks.filter((p) => beats.some((b) => Math.abs(b - p) < 0.05 * fs))).toHaveLength(peaks.length);
  });

  it.each([1e-4, 1e4, -1, -37])('finds the same beats when the signal is scaled by %f', (scale) => {
    const { x, peaks } = ecg(250, 60);
    const beats = detect(
      x.map((v) => 5 + v * scale),
      250,
    );
    expect(beats.length).toBe(peaks.length);
    for (const [i, p] of peaks.entries()) expect(Math.abs(beats[i]! - p) / 250).toBeLessThan(0.008);
  });

  test('a flat line, missing samples and absurd values give no beats and no harm', () => {
    expect(detect(new Float64Array(5000).fill(3), 250)).toEqual([]);
    expect(detect(new Float64Array(5000).fill(Number.NaN), 250)).toEqual([]);
    expect(detect(new Float64Array(5000).fill(Number.POSITIVE_INFINITY), 250)).toEqual([]);
    const { x, peaks } = ecg(250, 60);
    x.fill(Number.NaN, 20 * 250, 30 * 250);
    x.fill(1e300, 40 * 250, 40 * 250 + 100);
    const inside = peaks.filter((p) => (p < 19.8 * 250 || p > 30.5 * 250) && Math.abs(p - 40.2 * 250) > 150);
    const beats = detect(x, 250);
    for (const p of inside) expect(beats.some((b) => Math.abs(b - p) < 5)).toBe(true);
    expect(beats.filter((b) => b > 20 * 250 && b < 30 * 250)).toEqual([]);
  });

  test('a stream that begins in a pause of a slow heart finds the level of its beats, though small waves were taken for them', () => {
    const fs = 250;
    const { x, peaks } = ecg(fs, 40, 1.7);
    const small = ecg(fs, 40, 0.47).x;
    const from = Math.round(peaks[0]! + 0.35 * fs);
    const lead = x.map((v, i) => v + 0.16 * small[i]!).subarray(from);
    for (const leads of [[lead], [lead, lead]]) {
      const detector = new RPeakDetector(fs, leads.length);
      const out = found();
      detector.push(leads, 0, lead.length, out);
      detector.flush(out);
      const late = [...out.position.subarray(0, out.count)].filter((b) => b > 12 * fs);
      const wanted = peaks.filter((p) => p - from > 12 * fs);
      expect(late.length).toBe(wanted.length);
      for (const p of wanted) expect(late.some((b) => Math.abs(b - (p - from)) < 0.05 * fs)).toBe(true);
    }
  });

  test('a beat is told within the stated latency', () => {
    const { x, peaks } = ecg(360, 30);
    const detector = new RPeakDetector(360);
    const out = found();
    let told = 0;
    for (let at = 0; at < x.length; at += 9) {
      detector.push([x], at, Math.min(x.length, at + 9), out);
      for (; told < out.count; told++) expect((at + 9 - out.position[told]!) / 360).toBeLessThanOrEqual(detector.latencySec);
    }
    expect(told).toBe(peaks.filter((p) => p / 360 < 30 - 0.8).length);
  });
});
