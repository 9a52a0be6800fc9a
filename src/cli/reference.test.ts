import { expect, test } from 'vitest';
import type { Annotation } from '../formats/wfdb-annotations.ts';
import type { FeatureSeries } from './client/api.ts';
import { parseExact } from './client/api.ts';
import { compareWithReference } from './agreement.ts';
import { isExcluded, referenceBeats, referenceHeartRate, referenceRmssd } from './reference.ts';

const annotation = (sample: number, code = 'N'): Annotation => ({
  sample,
  code,
  isBeat: !['[', ']', '+', '~'].includes(code),
  subtype: 0,
  channel: 0,
  number: 0,
  aux: '',
});

test('heart rate is the mean over the intervals within the window', () => {
  const beats = referenceBeats(
    Array.from({ length: 30 }, (_, i) => annotation(i * 300)),
    360,
  );
  expect(referenceHeartRate(beats, 10)).toBeCloseTo(72, 9);
  expect(referenceHeartRate(beats, 1)).toBeNaN();
});

test('RMSSD counts pairs of adjacent normal intervals only', () => {
  const rr = Array.from({ length: 60 }, (_, i) => (i % 2 === 0 ? 790 : 810));
  let at = 0;
  const list = [annotation(0), ...rr.map((ms) => annotation((at += ms)))];
  expect(referenceRmssd(referenceBeats(list, 1000), 45)).toBeCloseTo(20, 9);
  const premature = list.map((one, i) => (i === 30 ? { ...one, sample: one.sample - 300, code: 'V' } : one));
  expect(referenceRmssd(referenceBeats(premature, 1000), 45)).toBeCloseTo(20, 9);
});

test('windows that touch fibrillation are left out', () => {
  const beats = referenceBeats([annotation(0), annotation(3600, '['), annotation(7200, ']'), annotation(9000)], 360);
  expect(isExcluded(beats, 9, 8)).toBe(false);
  expect(isExcluded(beats, 11, 8)).toBe(true);
  expect(isExcluded(beats, 27, 8)).toBe(true);
  expect(isExcluded(beats, 29, 8)).toBe(false);
});

test('nanoseconds survive JSON, and agreement is counted by flag', () => {
  const epochNs = 1_767_225_600_123_456_789n;
  const body = `[{"name":"hr_ecg","ts_ns":[${epochNs + 20_000_000_000n},${epochNs + 21_000_000_000n},${epochNs + 22_000_000_000n}],"values":[72,90,90],"cadence_hz":1,"qmask":[0,1,0]}]`;
  const series = parseExact(body) as FeatureSeries[];
  expect(series[0]!.ts_ns[0]).toBe(epochNs + 20_000_000_000n);
  const beats = referenceBeats(
    Array.from({ length: 60 }, (_, i) => annotation(i * 300)),
    360,
  );
  const result = compareWithReference('x', beats, 40, epochNs, series);
  expect(result).toMatchObject({ good: 2, hrShare: 0.5, off: 2, offFlagged: 1 });
});
