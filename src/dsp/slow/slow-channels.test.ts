import { describe, expect, test } from 'vitest';
import { emptyValues } from '../kernels/block-values.ts';
import type { FoundValues } from '../kernels/block-values.ts';
import { Eda, emptyResponses } from './eda.ts';
import { Activity, Steps } from './motion.ts';
import { Spo2 } from '../ppg/spo2.ts';
import { Temperature } from './temperature.ts';

const values = (out: FoundValues): number[] => [...out.value.subarray(0, out.count)];
const flags = (out: FoundValues): number[] => [...out.flag.subarray(0, out.count)];
const rows = (out: FoundValues): number[][] => [[...out.endSec.subarray(0, out.count)], values(out), flags(out)];

/** Feeds in pieces of `step`. */
function inPieces(n: number, step: number, push: (from: number, to: number) => void): void {
  for (let at = 0; at < n; at += step) push(at, Math.min(n, at + step));
}

describe('blocks', () => {
  test('end on the grid of the device clock, whatever index the first sample has, at any rate', () => {
    for (const fs of [4, 3.3, 25.5]) {
      const whole = emptyValues();
      const x = Float64Array.from({ length: Math.ceil(200 * fs) }, (_, i) => 30 + i / 1e4);
      const a = new Temperature(fs);
      a.reset(0);
      a.push(x, 0, x.length, whole);
      const start = Math.ceil(64 * fs);
      const b = new Temperature(fs);
      b.reset(start);
      const late = emptyValues();
      b.push(x.subarray(start), 0, x.length - start, late);
      expect(whole.endSec[0]).toBe(8);
      expect(late.endSec[0]).toBe(72);
      expect(values(late)).toEqual(values(whole).slice(8));
    }
  });
});

describe('Temperature', () => {
  test('is the mean of the block without its artefacts', () => {
    const x = new Float64Array(64).fill(33);
    x[3] = 20;
    x[4] = 44;
    x[5] = -40;
    const out = emptyValues();
    const kernel = new Temperature(4);
    kernel.reset(0);
    kernel.push(x, 0, 64, out);
    expect(values(out)).toEqual([33, 33]);
    expect(flags(out)).toEqual([0, 0]);
  });

  test('flags a sensor that lies on a table, and a block with little left', () => {
    const x = new Float64Array(64).fill(22);
    x.fill(Number.NaN, 32, 52);
    const out = emptyValues();
    const kernel = new Temperature(4);
    kernel.reset(0);
    kernel.push(x, 0, 64, out);
    expect(flags(out)).toEqual([1, 2]);
  });
});

describe('Activity', () => {
  test('is the mean absolute deviation of |a|, blind to orientation', () => {
    const fs = 32;
    const n = 16 * fs;
    const wave = Float64Array.from({ length: n }, (_, i) => 1 + 0.4 * Math.sin((2 * Math.PI * 2 * i) / fs));
    for (const axis of [0, 1, 2]) {
      const axes = [0, 1, 2].map((k) => (k === axis ? wave : new Float64Array(n)));
      const out = emptyValues();
      const kernel = new Activity(fs);
      kernel.reset(0);
      inPieces(n, 13, (from, to) => kernel.push(axes, from, to, out));
      expect(out.count).toBe(2);
      for (const value of values(out)) expect(value).toBeCloseTo((0.4 * 2) / Math.PI, 2);
    }
  });
});

describe('Steps', () => {
  const walk = (fs: number, seconds: number, hz: number): Float64Array[] => {
    const n = seconds * fs;
    const z = Float64Array.from(
      { length: n },
      (_, i) => 1 + (i / fs > 20 && i / fs < 52 ? 0.3 * Math.sin((2 * Math.PI * hz * i) / fs) : 0),
    );
    return [new Float64Array(n), new Float64Array(n), z];
  };

  test.each([25, 32, 100])('counts the steps of a walk at %d Hz, and none outside', (fs) => {
    const axes = walk(fs, 80, 1.8);
    const out = emptyValues();
    const kernel = new Steps(fs);
    kernel.reset(0);
    kernel.push(axes, 0, axes[0]!.length, out);
    kernel.flush(out);
    const sum = values(out).reduce((a, b) => a + b, 0);
    expect(Math.abs(sum - 32 * 1.8)).toBeLessThanOrEqual(2);
    expect(values(out).slice(0, 2)).toEqual([0, 0]);
    expect(values(out).slice(8)).toEqual([0, 0]);
  });

  test('does not count a few gestures', () => {
    const axes = walk(32, 40, 1.8);
    const gestures = axes[2]!.map((_, i) => (i % 160 < 40 ? 1 + 0.4 * Math.sin((2 * Math.PI * i) / 16) : 1));
    const out = emptyValues();
    const kernel = new Steps(32);
    kernel.reset(0);
    kernel.push([axes[0]!, axes[1]!, gestures], 0, gestures.length, out);
    kernel.flush(out);
    expect(values(out).reduce((a, b) => a + b, 0)).toBe(0);
  });

  test('gives the same numbers however the samples are cut', () => {
    const axes = walk(32, 80, 2.1);
    axes[2]!.fill(Number.NaN, 900, 980);
    const whole = emptyValues();
    const first = new Steps(32);
    first.reset(0);
    first.push(axes, 0, axes[0]!.length, whole);
    first.flush(whole);
    for (const step of [1, 7, 500]) {
      const out = emptyValues();
      const kernel = new Steps(32);
      kernel.reset(0);
      inPieces(axes[0]!.length, step, (from, to) => kernel.push(axes, from, to, out));
      kernel.flush(out);
      expect(rows(out)).toEqual(rows(whole));
    }
  });
});

describe('Spo2', () => {
  const light = (fs: number, seconds: number, dc: number, ac: number): Float64Array =>
    Float64Array.from({ length: seconds * fs }, (_, i) => dc * (1 - ac * Math.sin((2 * Math.PI * 1.2 * i) / fs)));

  test('is offset - slope * R, good only with the calibration of the profile', () => {
    const red = light(64, 32, 50_000, 0.006);
    const ir = light(64, 32, 80_000, 0.01);
    for (const [calibration, expected, flag] of [
      [{ offset: 108, slope: 18 }, 108 - 18 * 0.6, 0],
      [null, 110 - 25 * 0.6, 1],
    ] as const) {
      const out = emptyValues();
      const kernel = new Spo2(64, calibration);
      kernel.reset(0);
      inPieces(red.length, 50, (from, to) => kernel.push(red, ir, from, to, out));
      expect(out.count).toBe(4);
      for (const value of values(out)) expect(value).toBeCloseTo(expected, 2);
      expect(flags(out)).toEqual([flag, flag, flag, flag]);
    }
  });

  test('is bad when the two lights do not pulse together', () => {
    const red = light(64, 16, 50_000, 0.006);
    const ir = Float64Array.from({ length: red.length }, (_, i) => 80_000 * (1 + 0.01 * Math.sin((2 * Math.PI * 2.7 * i) / 64)));
    const out = emptyValues();
    const kernel = new Spo2(64, { offset: 110, slope: 25 });
    kernel.reset(0);
    kernel.push(red, ir, 0, red.length, out);
    for (const flag of flags(out)) expect(flag).toBe(2);
  });
});

describe('Eda', () => {
  /** 4 µS and a response every 16 s: 1 s dead, 2 s rise to 0.4 µS, then a slow fall. */
  const skin = (fs: number, seconds: number): Float64Array =>
    Float64Array.from({ length: seconds * fs }, (_, i) => {
      const t = (i / fs) % 16;
      return 4 + 0.4 * (t < 2 ? 0 : t < 4 ? (1 - Math.cos((Math.PI * (t - 2)) / 2)) / 2 : Math.exp(-(t - 4) / 2));
    });

  test.each([4, 8, 32])('finds each response, its height and its time, at %d Hz', (fs) => {
    const x = skin(fs, 96);
    const levels = emptyValues();
    const responses = emptyResponses();
    const kernel = new Eda(fs);
    kernel.reset(0);
    inPieces(x.length, 5, (from, to) => kernel.push(x, from, to, levels, responses));
    kernel.flush(responses);
    expect(responses.count).toBe(6);
    for (let k = 0; k < 6; k++) {
      expect(responses.heightUs[k]).toBeGreaterThan(0.3);
      expect(responses.heightUs[k]).toBeLessThan(0.42);
      expect(Math.abs(responses.peak[k]! / fs - (16 * k + 4))).toBeLessThan(0.6);
    }
    for (const level of values(levels)) expect(Math.abs(level - 4)).toBeLessThan(0.06);
  });

  test('counts no response over an artefact, and flags the block', () => {
    const x = new Float64Array(4 * 64).fill(3);
    x.fill(9, 100, 104);
    x.fill(0, 150, 175);
    const levels = emptyValues();
    const responses = emptyResponses();
    const kernel = new Eda(4);
    kernel.reset(0);
    kernel.push(x, 0, x.length, levels, responses);
    kernel.flush(responses);
    expect(responses.count).toBe(0);
    expect(values(levels).every((level) => level === 3 || level === 9)).toBe(true);
    expect(Math.max(...flags(levels))).toBeGreaterThan(0);
  });
});
