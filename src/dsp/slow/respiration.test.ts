import { describe, expect, test } from 'vitest';
import { streamRows } from '../../../accuracy/hrv-stream.ts';
import type { FoundBeats } from '../kernels/contract.ts';
import { PpgBeatDetector } from '../ppg/beats.ts';
import { RespirationModulation, emptyModulationBreaths, fusedRespiratoryRate } from './respiration-modulation.ts';
import { seeded } from '../testing/fixture.ts';
import { BreathDetector, respiratoryRate } from './respiration.ts';

const emptyBeats = (): FoundBeats => ({ count: 0, position: new Float64Array(1), confidence: new Float64Array(1) });
const positions = (found: FoundBeats): number[] => [...found.position.subarray(0, found.count)];

function breathing(fs: number, seconds: number, perMin: number): Float64Array {
  return Float64Array.from({ length: Math.round(seconds * fs) }, (_, i) => {
    const t = i / fs;
    // a breath with a short inspiration, the heart on top, and a drift
    const phase = (2 * Math.PI * perMin * t) / 60;
    return Math.sin(phase) + 0.25 * Math.sin(2 * phase) + 0.08 * Math.sin(2 * Math.PI * 1.2 * t) + 0.01 * t;
  });
}

function find(x: Float64Array, fs: number, step = x.length): FoundBeats {
  const detector = new BreathDetector(fs);
  detector.reset();
  const out = emptyBeats();
  for (let at = 0; at < x.length; at += step) detector.push([x], at, Math.min(x.length, at + step), out);
  detector.flush(out);
  return out;
}

describe('BreathDetector', () => {
  test.each([
    [25, 8],
    [25, 15],
    [125, 15],
    [125, 30],
    [62.5, 45],
  ])('counts breaths at %f Hz, %d per minute', (fs, perMin) => {
    const found = find(breathing(fs, 90, perMin), fs);
    const inner = Float64Array.from(
      positions(found).filter((p) => p > 15 * fs && p < 85 * fs),
      (p) => p / fs,
    );
    expect(Math.abs(respiratoryRate(inner, inner.length, 70) - perMin)).toBeLessThan(0.4);
  });

  test('finds the same breaths, bit for bit, however the samples are cut', () => {
    const x = breathing(125, 90, 17);
    x.fill(Number.NaN, 4000, 4030);
    x.fill(Number.NaN, 7000, 7500);
    const whole = positions(find(x, 125));
    expect(whole.length).toBeGreaterThan(15);
    for (const step of [1, 13, 1000]) expect(positions(find(x, 125, step))).toEqual(whole);
  });

  test('settles to the same breaths after 16 s of context', () => {
    const x = breathing(25, 120, 14);
    const inner = (p: number): boolean => p > 56 * 25 && p < 110 * 25;
    const whole = positions(find(x, 25)).filter(inner);
    const late = positions(find(x.subarray(40 * 25), 25))
      .map((p) => p + 40 * 25)
      .filter(inner);
    expect(late).toHaveLength(whole.length);
    late.forEach((p, i) => expect(Math.abs(p - whole[i]!)).toBeLessThan(0.1 * 25));
  });

  test('finds nothing in a flat or missing signal', () => {
    expect(find(new Float64Array(3000).fill(2), 25).count).toBe(0);
    expect(find(new Float64Array(3000).fill(Number.NaN), 25).count).toBe(0);
  });
});

describe('RespirationModulation', () => {
  test('finds the rate in the tops and heights of a pulse', () => {
    const fs = 64;
    const perMin = 14;
    const x = Float64Array.from({ length: 120 * fs }, (_, i) => {
      const t = i / fs;
      const breath = Math.sin((2 * Math.PI * perMin * t) / 60);
      const phase = (t % 0.8) - 0.25;
      return (1 + 0.15 * breath) * Math.exp(-((phase / 0.1) ** 2)) + 0.2 * breath;
    });
    const kernel = new RespirationModulation(fs, new PpgBeatDetector(fs), 'ppg');
    const out = emptyModulationBreaths();
    for (let at = 0; at < x.length; at += 100) kernel.push(x, at, Math.min(x.length, at + 100), out);
    kernel.flush(out);
    const rates = out.map((found) => {
      const inner = Float64Array.from(
        positions(found).filter((p) => p > 40 * fs && p < 110 * fs),
        (p) => p / fs,
      );
      return respiratoryRate(inner, inner.length, 70);
    });
    expect(Math.abs(rates[0]! - perMin)).toBeLessThan(0.5);
    expect(Math.abs(rates[1]! - perMin)).toBeLessThan(0.5);
    expect(fusedRespiratoryRate(rates).agreeing).toBeGreaterThan(1);
  });
});

describe('fusedRespiratoryRate', () => {
  test.each([
    [[15, 16, 30], 15.5, 2],
    [[15, 16, 14.5], 14.75, 3],
    [[15, 22, 8], 15, 1],
    [[Number.NaN, 12, 13], 12.5, 2],
    [[Number.NaN, Number.NaN, 13], 13, 1],
  ])('of %j is %d, shown by %d', (rates, perMin, agreeing) => {
    expect(fusedRespiratoryRate(rates)).toEqual({ perMin, agreeing });
  });
  test('of nothing is NaN', () => {
    expect(fusedRespiratoryRate([Number.NaN, Number.NaN, Number.NaN])).toEqual({ perMin: Number.NaN, agreeing: 0 });
  });
});

describe('resp_rate through the engine', () => {
  /** Noise of some digits of a converter, on breathing so high. */
  function rates(fs: number, height: number, perMin: number): { value: number; flag: number }[] {
    const random = seeded(4);
    const samples = Float64Array.from({ length: fs * 300 }, (_, i) =>
      Math.round(height * Math.sin((2 * Math.PI * perMin * i) / (60 * fs)) + 3 * (random() + random() - 1)),
    );
    const { features } = streamRows([{ code: 'resp', kind: 'resp', fs, unit: '1', samples }]);
    return (features.get('resp_rate') ?? []).map(({ value, qmask }) => ({ value, flag: qmask }));
  }

  // promise: noise-is-no-breath
  test.each([10, 25, 60, 125, 250])('noise at %d Hz has no rate: nothing is worn', (fs) => {
    expect(rates(fs, 0, 15)).toEqual([]);
  });

  test.each([
    [10, 8],
    [25, 15],
    [25, 45],
    [125, 30],
  ])('breathing at %d Hz twice as high as the noise, %d /min, keeps its rate', (fs, perMin) => {
    const found = rates(fs, 6, perMin).slice(2);
    expect(found.length).toBeGreaterThan(60);
    for (const { value } of found) expect(Math.abs(value - perMin)).toBeLessThan(3);
  });
});
