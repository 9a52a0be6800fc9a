import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { patternPowers, quantile, variability } from '../../../accuracy/hrv-section.ts';
import { cleanWindows, withFaults } from '../../../accuracy/hrv-windows.ts';
import { seeded } from '../testing/fixture.ts';
import { timeDomain } from './time-domain.ts';
import { judgeIntervals, newCorrection } from './rr-correction.ts';

const dataDir = process.env.BIO_TEST_DATA ?? join(import.meta.dirname, '../../../../shared/data');
const hasData = existsSync(join(dataDir, 'rr'));
if (!hasData) console.warn(`SKIPPED: floors of HRV, no recordings in ${dataDir}`);

/** Plain versions of the definitions, by the books. */
const mean = (x: readonly number[]): number => x.reduce((a, b) => a + b, 0) / x.length;
const deviation = (x: readonly number[]): number => Math.sqrt(x.reduce((a, b) => a + (b - mean(x)) ** 2, 0) / (x.length - 1));

describe('time domain', () => {
  test('agrees with the definitions to 1e-12', () => {
    const random = seeded(3);
    const nn = Array.from({ length: 400 }, () => 800 + 80 * (random() - 0.5));
    const d = nn.slice(1).map((x, i) => x - nn[i]!);
    const got = timeDomain({ count: nn.length, nnMs: Float64Array.from(nn), adjacent: new Uint8Array(nn.length).fill(1) });
    const sdsd = deviation(d);
    const wanted = {
      nnCount: 400,
      pairCount: 399,
      meanNnMs: mean(nn),
      sdnnMs: deviation(nn),
      rmssdMs: Math.sqrt(mean(d.map((x) => x * x))),
      pnn50: d.filter((x) => Math.abs(x) > 50).length / d.length,
      sd1Ms: sdsd / Math.SQRT2,
      sd2Ms: Math.sqrt(2 * deviation(nn) ** 2 - sdsd ** 2 / 2),
    };
    for (const [name, value] of Object.entries(wanted))
      expect(Math.abs(got[name as keyof typeof got] / value - 1), name).toBeLessThan(1e-12);
  });

  // promise: beats-left-out
  test('counts no difference across a gap or a rejected interval', () => {
    const got = timeDomain({ count: 4, nnMs: Float64Array.of(800, 810, 1200, 1190), adjacent: Uint8Array.of(0, 1, 0, 1) });
    expect(got.pairCount).toBe(2);
    expect(got.rmssdMs).toBe(10);
    expect(got.pnn50).toBe(0);
    expect(got.sd1Ms).toBeCloseTo(10, 12); // differences 10 and -10
  });

  // promise: too-few-beats
  test('says NaN where there is too little', () => {
    const empty = { pairCount: 0, meanNnMs: NaN, sdnnMs: NaN, rmssdMs: NaN, pnn50: NaN, sd1Ms: NaN, sd2Ms: NaN };
    const none = timeDomain({ count: 0, nnMs: new Float64Array(0), adjacent: new Uint8Array(0) });
    expect(none).toEqual({ ...empty, nnCount: 0 });
    const one = timeDomain({ count: 1, nnMs: Float64Array.of(800), adjacent: Uint8Array.of(0) });
    expect(one).toEqual({ ...empty, nnCount: 1, meanNnMs: 800 });
  });

  test('counts differences above 50 ms, not of 50, and divides by their number', () => {
    const got = timeDomain({ count: 4, nnMs: Float64Array.of(800, 850, 901, 850), adjacent: Uint8Array.of(0, 1, 1, 1) });
    expect(got.pnn50).toBe(2 / 3);
  });

  test('two intervals have SDNN and RMSSD, three have SD1 and SD2', () => {
    const two = timeDomain({ count: 2, nnMs: Float64Array.of(800, 810), adjacent: Uint8Array.of(0, 1) });
    expect([two.meanNnMs, two.rmssdMs, two.pnn50]).toEqual([805, 10, 0]);
    expect(two.sdnnMs).toBeCloseTo(Math.sqrt(50), 12);
    expect([two.sd1Ms, two.sd2Ms]).toEqual([NaN, NaN]);
    const three = timeDomain({ count: 3, nnMs: Float64Array.of(800, 810, 830), adjacent: Uint8Array.of(0, 1, 1) });
    expect(three.sd1Ms).toBeCloseTo(5, 12); // differences 10 and 20: SDSD^2 = 50
    expect(three.sd2Ms).toBeCloseTo(Math.sqrt((2 * 1400) / 6 - 25), 12);
    // 2 SDNN^2 - SDSD^2 / 2 is negative: no length
    expect(timeDomain({ count: 3, nnMs: Float64Array.of(800, 900, 800), adjacent: Uint8Array.of(0, 1, 1) }).sd2Ms).toBe(0);
  });
});

describe('correction of intervals', () => {
  test('judges a growing chain as it judges the whole', () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const random = seeded(seed);
      const beats: number[] = [0];
      while (beats.length < 300)
        beats.push(beats[beats.length - 1]! + (0.8 + 0.05 * (random() - 0.5)) * (random() < 0.05 ? 0.5 + random() : 1));
      const tUs = Float64Array.from(beats, (t) => Math.round(t * 1e6));
      const whole = new Uint8Array(tUs.length);
      judgeIntervals({ tUs, verdict: whole }, 0, tUs.length, true, newCorrection(0));
      const grown = new Uint8Array(tUs.length);
      const state = newCorrection(0);
      const final: number[] = [];
      for (let count = 1; count <= tUs.length; count++) {
        const done = judgeIntervals({ tUs, verdict: grown }, 0, count, false, state);
        while (final.length < done) final.push(grown[final.length]!);
      }
      expect(final.length).toBeGreaterThan(tUs.length - 13);
      expect(final).toEqual([...whole.subarray(0, final.length)]);
    }
  });

  test('keeps every interval of a steady rhythm with respiratory arrhythmia', () => {
    const beats = [0];
    for (let i = 0; i < 400; i++) beats.push(beats[i]! + 0.85 + 0.06 * Math.sin(2 * Math.PI * 0.25 * beats[i]!));
    expect(variability(beats, true).nnCount).toBe(400);
  });

  // promise: beats-left-out
  test('drops the intervals of a missed, an extra and a premature beat, and no other', () => {
    const random = seeded(8);
    const clean = Array.from({ length: 200 }, (_, i) => 0.8 * i + 0.01 * random());
    const count = (beats: number[]): number => variability(beats, true).nnCount;
    expect(count(clean.filter((_, i) => i !== 100))).toBe(197);
    expect(count([...clean, clean[100]! + 0.3].toSorted((a, b) => a - b))).toBe(198);
    expect(count(clean.map((t, i) => (i === 100 ? t - 0.25 : t)))).toBe(197);
  });
});

describe.skipIf(!hasData)('floors on recordings', () => {
  test('RMSSD of 5 minutes: clean within 0.5 %, with 6 % mixed faults within 4 % (medians)', async () => {
    const windows = await cleanWindows(dataDir);
    expect(windows.length).toBeGreaterThan(30);
    const errors = (share: number): number[] =>
      windows.flatMap(({ beatSec }, w) =>
        [1, 2, 3].map((seed) => {
          const faults = { missed: share, extra: share, misplaced: share };
          const faulty = share === 0 ? beatSec : withFaults(beatSec, faults, seeded(1000 * seed + w));
          return 100 * Math.abs(variability(faulty, true).rmssdMs / variability(beatSec, false).rmssdMs - 1);
        }),
      );
    expect(quantile(errors(0), 0.5)).toBeLessThan(0.5);
    expect(quantile(errors(0.02), 0.5)).toBeLessThan(4);
  });

  test('EC57 TP2: HF, TP4: VLF within 5 % of the stated powers in every window', () => {
    for (const [name, band, wanted] of [
      ['TP2', 'hfMs2', 612.5],
      ['TP4', 'vlfMs2', 39_200],
    ] as const) {
      const powers = patternPowers(join(dataDir, 'rr', `HRV256_${name}.txt.gz`));
      expect(powers.length).toBeGreaterThan(100);
      for (const power of powers) expect(Math.abs(power[band] / wanted - 1), name).toBeLessThan(0.05);
    }
  });
});
