import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readAnnotationFile } from '../formats/wfdb-annotations.ts';
import type { NnFiveMinutes } from './day-variability.ts';
import { dayVariability, sideBySide } from './day-variability.ts';

const dataDir = process.env.BIO_TEST_DATA ?? join(import.meta.dirname, '../../../shared/data');
const recording = join(dataDir, 'rr', 'nsr001.ecg');
const hasData = existsSync(recording);
if (!hasData) console.warn(`SKIPPED: a day of beats, no recordings in ${dataDir}`);

const dayMs = 86_400_000;
const hourOf = (ms: number): number => (ms / 3_600_000) % 24;
const mean = (x: readonly number[]): number => x.reduce((a, b) => a + b, 0) / x.length;
const deviation = (x: readonly number[]): number => {
  const middle = mean(x);
  return Math.sqrt(x.reduce((a, b) => a + (b - middle) ** 2, 0) / (x.length - 1));
};
/** To 0.001. */
const toStep = (value: number): number => Math.round(1000 * value) / 1000;
const window = (fiveNo: number, bpm: number): NnFiveMinutes => ({ endMs: (fiveNo + 1) * 300_000, meanMs: 60_000 / bpm, sdMs: 20 });

describe('a day', () => {
  test.runIf(hasData)('of NSR2DB: SDNN from its windows is that of all their intervals', async () => {
    const { annotations } = await readAnnotationFile(recording);
    const beats = annotations.filter((a) => a.isBeat);
    const fives = Array.from({ length: 288 }, () => [] as number[]);
    beats.forEach((beat, i) => {
      const ms = (1000 * beat.sample) / 128;
      const before = (1000 * (beats[i - 1]?.sample ?? beat.sample)) / 128;
      if (i > 0 && beat.code === 'N' && beats[i - 1]!.code === 'N' && ms - before < 2000)
        fives[Math.floor(ms / 300_000)]?.push(ms - before);
    });
    const used = fives.flatMap((nn, i) => (nn.length > 100 ? [{ endMs: (i + 1) * 300_000, nn }] : []));
    const got = dayVariability(
      used.map(({ endMs, nn }) => ({ endMs, meanMs: mean(nn), sdMs: deviation(nn) })),
      dayMs,
      hourOf,
    );
    const all = used.flatMap(({ nn }) => nn);
    expect(all.length).toBeGreaterThan(70_000);
    expect(Math.abs(got.sdnn_ms! / deviation(all) - 1)).toBeLessThan(0.002);
    expect(got.sdann_ms).toBe(toStep(deviation(used.map(({ nn }) => mean(nn)))));
    expect(got.sdnn_index_ms).toBe(toStep(mean(used.map(({ nn }) => deviation(nn)))));
    expect(got.window_count).toBe(used.length);
  });

  test('night, day, dip and rest', () => {
    // 50 /min from 1 to 6 h but 48 from 3 to 3:30, 80 from 9 to 21 h, 65 otherwise
    const bpm = (hour: number): number => (hour >= 3 && hour < 3.5 ? 48 : hour >= 1 && hour < 6 ? 50 : hour >= 9 && hour < 21 ? 80 : 65);
    const got = dayVariability(Array.from({ length: 288 }, (_, i) => window(i, bpm(i / 12))), dayMs, hourOf); // prettier-ignore
    expect(got).toMatchObject({ window_count: 288, coverage: 1 });
    expect(got.day_hr).toBe(80);
    expect(got.night_hr).toBe(49.8);
    expect(got.dip_percent).toBe(37.75);
    expect(got.resting_hr).toBe(48);
  });

  test('is rounded last: the dip is that of the rates before rounding', () => {
    const bpm = (hour: number): number => (hour < 8 ? 49.9965 : 60.00049);
    const got = dayVariability(Array.from({ length: 288 }, (_, i) => window(i, bpm(i / 12))), dayMs, hourOf); // prettier-ignore
    expect(got).toMatchObject({ night_hr: 49.997, day_hr: 60, dip_percent: 16.67, sdnn_index_ms: 20 });
    expect(dayVariability([window(0, 50)], dayMs, hourOf).coverage).toBe(0.0035);
  });

  test('a dip just below zero is 0, not -0', () => {
    const got = dayVariability(Array.from({ length: 288 }, (_, i) => window(i, i < 96 ? 60.001 : 60)), dayMs, hourOf); // prettier-ignore
    expect(got.dip_percent).toBe(0);
  });

  test('18 hours give variability, one window less does not', () => {
    const of = (count: number) =>
      dayVariability(
        Array.from({ length: count }, (_, i) => window(i, 60 + (i % 7))),
        dayMs,
        hourOf,
      );
    expect(of(216).sdnn_ms).not.toBeNull();
    expect(of(215)).toMatchObject({ sdnn_ms: null, sdann_ms: null, sdnn_index_ms: null, window_count: 215 });
  });

  test('rest is not pieced together across a gap, and half a night is needed', () => {
    const apart = [0, 1, 2, 9, 10, 11].map((i) => window(i, 50));
    expect(dayVariability(apart, dayMs, hourOf).resting_hr).toBeNull();
    expect(dayVariability([0, 1, 2, 3, 4, 5].map((i) => window(i, 50)), dayMs, hourOf).resting_hr).toBe(50); // prettier-ignore
    const night = (count: number) =>
      dayVariability(
        Array.from({ length: count }, (_, i) => window(12 + i, 50)),
        dayMs,
        hourOf,
      ).night_hr;
    expect(night(29)).toBeNull();
    expect(night(30)).toBe(50);
  });

  test('windows each 30 s are taken side by side, and anew after a gap', () => {
    const at = (sec: number): NnFiveMinutes => ({ endMs: 1000 * sec, meanMs: 800, sdMs: 20 });
    const taken = sideBySide([300, 330, 590, 600, 630, 2010, 2040, 2310].map(at));
    expect(taken.map(({ endMs }) => endMs / 1000)).toEqual([300, 600, 2010, 2310]);
  });

  test('nothing gives nothing', () => {
    expect(dayVariability([], dayMs, hourOf)).toEqual({
      window_count: 0,
      coverage: 0,
      sdnn_ms: null,
      sdann_ms: null,
      sdnn_index_ms: null,
      night_hr: null,
      day_hr: null,
      dip_percent: null,
      resting_hr: null,
    });
  });
});
