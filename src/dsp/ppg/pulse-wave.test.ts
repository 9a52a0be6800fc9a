import { describe, expect, test } from 'vitest';
import { streamRows } from '../../../accuracy/hrv-stream.ts';
import { PulseWaveMeter, SMOOTH_SEC, pulseWaveMeasures } from './pulse-wave.ts';
import type { PulseWaveMeasure } from './pulse-wave.ts';
import { pulseWaveFeatures } from '../rows/methods-pulse-wave.ts';
import { seeded } from '../testing/fixture.ts';

const periodSec = 1.1;

/** A bell of height 1 at 0 s, and one of `second` of it `laterSec` later: standard deviations in s. */
type Shape = Readonly<{ sigma: number; second: number; laterSec: number; laterSigma: number }>;
const oneBell: Shape = { sigma: 0.06, second: 0, laterSec: 0, laterSigma: 0.06 };
const twoBells: Shape = { sigma: 0.06, second: 0.4, laterSec: 0.3, laterSigma: 0.06 };
/** It falls more slowly than it rises, so that upside down it looks so. */
const leaning: Shape = { sigma: 0.06, second: 0.6, laterSec: 0.22, laterSigma: 0.12 };

const bell = (t: number, sigma: number): number => Math.exp(-(t * t) / (2 * sigma * sigma));

/** Pulses with their tops at (i + 0.5) periods. */
function pulseTrain(fs: number, seconds: number, { sigma, second, laterSec, laterSigma }: Shape): Float64Array {
  return Float64Array.from({ length: Math.floor(seconds * fs) }, (_, k) => {
    let y = 0;
    for (let i = -1; i <= 1; i++) {
      const t = k / fs - (Math.floor(k / fs / periodSec) + i + 0.5) * periodSec;
      y += bell(t, sigma) + second * bell(t - laterSec, laterSigma);
    }
    return y;
  });
}

/** Measures the third pulse. */
function measured(fs: number, shape: Shape, sign: 1 | -1 = 1): Record<PulseWaveMeasure, number> {
  const x = pulseTrain(fs, 6, shape).map((value) => 100 + sign * value);
  const meter = new PulseWaveMeter(fs);
  const riseSec = 2.5 * periodSec - 1.1774 * Math.hypot(shape.sigma, SMOOTH_SEC);
  const isMeasured = meter.measure(
    (from, out) => (out.set(x.subarray(from, from + out.length)), true),
    riseSec * fs,
    (riseSec + periodSec) * fs,
    periodSec,
    sign,
  );
  expect(isMeasured).toBe(true);
  return Object.fromEntries(pulseWaveMeasures.map((measure, m) => [measure, meter.values[m]!])) as Record<PulseWaveMeasure, number>;
}

describe.each([50, 64, 100, 125, 130.1, 250, 300, 500])('at %d Hz', (fs) => {
  test('one bell has the crest time, width and b/a of a bell', () => {
    const smoothed = 1000 * Math.hypot(oneBell.sigma, SMOOTH_SEC);
    const { crest, width, ba, aging } = measured(fs, oneBell);
    // the tangent at its steepest point, one standard deviation before the top, starts two before it
    expect(crest / (2 * smoothed)).toBeCloseTo(1, 1.7);
    expect(width / (2 * Math.sqrt(2 * Math.LN2) * smoothed)).toBeCloseTo(1, 2);
    expect(ba).toBeCloseTo(-Math.exp(1.5) / 2, 1);
    expect(aging).toBeNaN();
  });

  test('two bells give their distance and the ratio of their heights, either way up', () => {
    for (const sign of [1, -1] as const) {
      const { reflection, delay, area } = measured(fs, twoBells, sign);
      expect(Math.abs(delay - 1000 * twoBells.laterSec)).toBeLessThan(3);
      expect(Math.abs(reflection - 100 * twoBells.second)).toBeLessThan(1);
      // the notch bends most where the first bell does, √3 standard deviations after its top: 4.16 % of it are later
      expect(Math.abs(area - (twoBells.second + 0.0416) / (1 - 0.0416))).toBeLessThan(0.01);
    }
  });

  test('a later and a higher second wave changes delay and reflection by as much, and nothing before the notch', () => {
    const before = measured(fs, twoBells);
    const after = measured(fs, { ...twoBells, second: 0.5, laterSec: 0.34 });
    expect(Math.abs(after.delay - before.delay - 40)).toBeLessThan(1.5);
    expect(Math.abs(after.reflection - before.reflection - 10)).toBeLessThan(0.5);
    expect(Math.abs(after.crest - before.crest)).toBeLessThan(0.5);
    expect(Math.abs(after.ba - before.ba)).toBeLessThan(0.02);
  });
});

test('nothing is measured across missing samples, of a rate that is no pulse, or where nothing rises', () => {
  const meter = new PulseWaveMeter(100);
  const some = (from: number, out: Float64Array): boolean => (
    out.set(pulseTrain(100, 6, twoBells).subarray(from, from + out.length)),
    true
  );
  const middle = 100 * (2.5 * periodSec - 0.07);
  expect(meter.measure(some, middle, middle + 110, 1.1, 1)).toBe(true);
  expect(meter.measure(() => false, middle, middle + 110, 1.1, 1)).toBe(false);
  expect(meter.measure(some, middle, middle + 25, 1.1, 1)).toBe(false);
  expect(meter.measure(some, middle, middle + 210, 1.1, 1)).toBe(false);
  expect(meter.measure(some, middle, middle + 110, Number.NaN, 1)).toBe(false);
  expect(meter.measure((_, out) => (out.fill(7), true), middle, middle + 110, 1.1, 1)).toBe(false);
});

describe('through the engine', () => {
  const seconds = 150;
  const noisy = (fs: number, change: (x: number, t: number) => number = (x) => x, shape = twoBells): Float64Array => {
    const random = seeded(4);
    return pulseTrain(fs, seconds, shape).map((x, k) => change(x + 0.01 * (random() - 0.5), k / fs));
  };
  const lastOf = (fs: number, samples: Float64Array): Map<string, { value: number; qmask: number; tSec: number }> => {
    const { features } = streamRows([{ code: 'ppg.green', kind: 'ppg', fs, unit: '1', samples }]);
    return new Map(
      Object.values(pulseWaveFeatures).flatMap((name) => {
        const row = features.get(name)?.at(-1);
        return row === undefined ? [] : [[name, { value: row.value, qmask: row.qmask, tSec: Number(row.tNs) / 1e9 }] as const];
      }),
    );
  };

  test.each([50, 64, 125, 130.1, 300, 1000])('medians of a minute are those of the pulses at %d Hz, and good', (fs) => {
    const last = lastOf(fs, noisy(fs));
    const { crest, width, reflection, delay } = measured(500, twoBells);
    const expected = { pulse_crest_time_60s: crest, pulse_width_60s: width, pulse_reflection_delay_60s: delay };
    for (const [name, value] of Object.entries(expected)) {
      expect(Math.abs(last.get(name)!.value - value), name).toBeLessThan(4);
      expect(last.get(name)!.qmask, name).toBe(0);
    }
    expect(Math.abs(last.get('pulse_reflection_index_60s')!.value - reflection)).toBeLessThan(1.5);
  });

  test('the same upside down, and there are none below 50 Hz', () => {
    const upright = lastOf(
      125,
      noisy(125, (x) => x, leaning),
    );
    const turned = lastOf(
      125,
      noisy(125, (x) => -x, leaning),
    );
    expect(upright.size).toBeGreaterThanOrEqual(6);
    for (const [name, { value, qmask }] of upright) {
      expect(Math.abs(turned.get(name)!.value / value - 1), name).toBeLessThan(0.01);
      expect(turned.get(name)!.qmask, name).toBe(qmask);
    }
    expect(lastOf(32, noisy(32)).size).toBe(0);
  });

  test('nothing is said of the shape of a pulse that may be upside down: one that falls as it rises', () => {
    const turned = lastOf(
      125,
      noisy(125, (x) => -x),
    );
    expect([...turned.keys()]).toEqual([]);
  });

  test('values of a minute whose pulses lie in noise are not good, and there are none of light that stands still', () => {
    const random = seeded(5);
    const buried = lastOf(
      125,
      noisy(125, (x, t) => (t < 60 ? x : x + 2 * (random() - 0.5))),
    );
    for (const [name, { qmask, tSec }] of buried) if (tSec > 90) expect(qmask, name).toBeGreaterThan(0);
    const still = lastOf(
      125,
      noisy(125, (x, t) => (t < 60 ? x : 0.2)),
    );
    for (const [name, { tSec }] of still) expect(tSec, name).toBeLessThanOrEqual(120);
  });
});
