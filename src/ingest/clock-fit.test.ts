import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../bench/lib/packets.ts';
import { ClockFitter, placeInTime } from './clock-fit.ts';

const SEC = 1_000_000_000n;
const NOW = 1_790_000_000n * SEC;

type Pair = readonly [deviceNs: number, delayNs: number];

/** The rules by lists and sorting. Device times begin at 0, and the first delay is 0. */
function plainFit(pairs: readonly Pair[]): object | null {
  const median = (values: readonly number[]): number => {
    const sorted = values.toSorted((a, b) => a - b);
    const middle = Math.floor(sorted.length / 2);
    return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  };
  let windowNs = 1e9;
  let kept = new Map<number, Pair>();
  const keep = (pair: Pair): void => {
    const window = Math.floor(pair[0] / windowNs);
    const before = kept.get(window);
    if (before === undefined || pair[1] < before[1]) kept.set(window, pair);
  };
  let newest = 0;
  for (const pair of pairs) {
    if (Math.floor(pair[0] / windowNs) < Math.floor(newest / windowNs)) continue;
    newest = Math.max(newest, pair[0]);
    keep(pair);
    while (kept.size > 64) {
      const all = [...kept.values()];
      kept = new Map();
      windowNs *= 2;
      all.forEach(keep);
    }
  }
  const points = [...kept.values()];
  const last = points.at(-1)![0];
  if (points.length < 8 || last - points[0]![0] < 300e9) return null;
  const slopes = points.flatMap(([x, y], i) => points.slice(i + 1).map(([x2, y2]) => (y2 - y) / (x2 - x)));
  const slope = median(slopes);
  if (Math.abs(slope) * 1e6 > 10_000) return null;
  const residuals = points.map(([x, y]) => y - slope * x);
  const intercept = median(residuals);
  return {
    offsetNs: BigInt(Math.round(intercept + slope * last)),
    atDeviceNs: BigInt(last),
    skewPpm: slope * 1e6,
    rmsNs: 1.4826 * median(residuals.map((r) => Math.abs(r - intercept))),
    pairCount: points.length,
  };
}

/** What is found in pairs of a device whose time began at START. */
function fitOf(pairs: readonly Pair[]): object | null {
  const START = 77n * SEC + 5n;
  const fitter = new ClockFitter();
  for (const [deviceNs, delayNs] of pairs) fitter.add(START + BigInt(deviceNs), NOW + BigInt(deviceNs) + BigInt(delayNs));
  const fit = fitter.fit();
  return fit && { ...fit, offsetNs: fit.offsetNs - NOW + START, atDeviceNs: fit.atDeviceNs - START };
}

describe('ClockFitter', () => {
  it('finds offset and skew through network jitter, and a third of the windows spoilt', () => {
    const random = seededRandom(3);
    const fitter = new ClockFitter();
    const skew = 40e-6;
    for (let i = 0; i < 20_000; i++) {
      const device = i * 0.2;
      const spoilt = Math.floor(device / 64) % 3 === 0 ? 0.8 : 0;
      const delay = 0.02 + 0.05 * random() + spoilt;
      fitter.add(BigInt(Math.round(device * 1e9)), NOW + BigInt(Math.round((device * (1 + skew) + delay) * 1e9)));
    }
    const fit = fitter.fit()!;
    expect(fit.skewPpm).toBeGreaterThan(30);
    expect(fit.skewPpm).toBeLessThan(50);
    const trueOffset = Number(NOW) + Number(fit.atDeviceNs) * skew + 0.02e9;
    expect(Math.abs(Number(fit.offsetNs) - trueOffset)).toBeLessThan(60e6);
    expect(fit.pairCount).toBeLessThanOrEqual(64);
  });

  it('says nothing before it has seen enough', () => {
    const fitter = new ClockFitter();
    for (let i = 0; i < 280; i++) fitter.add(BigInt(i) * SEC, NOW + BigInt(i) * SEC);
    expect(fitter.fit()).toBeNull();
    for (let i = 280; i < 310; i++) fitter.add(BigInt(i) * SEC, NOW + BigInt(i) * SEC);
    expect(fitter.fit()).toMatchObject({ offsetNs: NOW, skewPpm: 0 });
  });

  it('keeps and computes what the rules say, of packets 0.2 s to 3 h apart, with pauses and late ones', () => {
    let fitCount = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const random = seededRandom(seed);
      const roundingNs = seed % 2 === 0 ? 1e7 : 1; // of equal delays the first is kept
      const stepSec = [0.2, 0.9, 2, 5, 90, 10_800][seed % 6]!;
      const count = seed % 5 === 0 ? 9 : Math.floor(64 + 400 * random());
      const pairs: Pair[] = [[0, 0]];
      let at = 0;
      while (pairs.length < count) {
        at += stepSec * 1e9 * (random() < 0.02 ? 40 : 0.8 + 0.4 * random());
        const isLate = random() < 0.1;
        const delayNs = (isLate ? -2e7 : 0) + 5e7 * (random() - 0.2) + at * 4e-5;
        pairs.push([Math.round(at - (isLate ? 3e9 * random() : 0)), roundingNs * Math.round(delayNs / roundingNs)]);
      }
      const wanted = plainFit(pairs);
      if (wanted !== null) fitCount++;
      expect(fitOf(pairs), `seed ${seed}`).toEqual(wanted);
    }
    expect(fitCount).toBeGreaterThan(40);
  });

  it('needs 8 windows and 300 s, and 10 000 ppm are a clock yet', () => {
    const line = (count: number, spanNs: number, ppm: number): Pair[] =>
      Array.from({ length: count }, (_, i) => Math.round((i * spanNs) / (count - 1))).map((x) => [x, Math.round((x * ppm) / 1e6)]);
    expect(fitOf(line(8, 300e9, 0))).toMatchObject({ pairCount: 8, skewPpm: 0 });
    expect(fitOf(line(7, 300e9, 0))).toBeNull();
    const seconds = (from: number): Pair[] => [0, from, 2e9, 3e9, 4e9, 5e9, 6e9, 300e9].map((x) => [x, 0]);
    expect(fitOf(seconds(1e9))).toMatchObject({ pairCount: 8 });
    expect(fitOf(seconds(1e9 - 1))).toBeNull(); // two in one window of a second
    expect(fitOf(line(8, 300e9 - 1, 0))).toBeNull();
    expect(fitOf([[0, 1], [5e8, 0], ...line(8, 300e9, 0).slice(1)])).toBeNull(); // from the pair that is kept of the first window
    for (const sign of [1, -1]) {
      expect(fitOf(line(11, 400e9, sign * 10_000))).toMatchObject({ skewPpm: sign * 10_000 });
      expect(fitOf(line(11, 400e9, sign * 10_001))).toBeNull();
    }
  });

  it('says nothing of stored data that are sent faster than they were recorded', () => {
    const fitter = new ClockFitter();
    for (let i = 0; i < 1000; i++) fitter.add(BigInt(i) * SEC, NOW + (BigInt(i) * SEC) / 50n);
    expect(fitter.fit()).toBeNull();
  });
});

describe('placeInTime', () => {
  const device = 100n * SEC;
  // promise: clock-rules
  it('takes a synchronised wall clock as it is', () => {
    const packet = { t0DeviceNs: device, t0UnixNs: NOW - 5n * SEC, sentUnixNs: NOW - SEC };
    expect(placeInTime(packet, device + SEC, NOW)).toEqual({ epochNs: NOW - 5n * SEC - device, timeSource: 'device' });
  });
  // promise: clock-rules
  it('takes the age from a wall clock that is wrong', () => {
    const packet = { t0DeviceNs: device, t0UnixNs: 1000n * SEC, sentUnixNs: 1030n * SEC };
    expect(placeInTime(packet, device + SEC, NOW)).toEqual({ epochNs: NOW - 30n * SEC - device, timeSource: 'age' });
  });
  // promise: clock-rules
  it('lets a packet without a wall clock end now', () => {
    for (const t0UnixNs of [0n, 5n])
      expect(placeInTime({ t0DeviceNs: device, t0UnixNs, sentUnixNs: 0n }, device + SEC, NOW)).toEqual({
        epochNs: NOW - device - SEC,
        timeSource: 'arrival',
      });
  });
  it('takes what a recording states of itself as it is, before 1970 and in the future too', () => {
    for (const recordedUnixNs of [-2_208_988_800n * SEC, 0n, 7_258_118_399n * SEC])
      expect(placeInTime({ t0DeviceNs: device, t0UnixNs: NOW, sentUnixNs: NOW, recordedUnixNs }, device + SEC, NOW)).toEqual({
        epochNs: recordedUnixNs - device,
        timeSource: 'stated',
      });
  });

  const YEAR_2015 = 1_420_070_400n * SEC;
  const TEN_YEARS = 3650n * 86_400n * SEC;
  it.each([
    ['sent within 2 s of us: synchronised', NOW - 5n * SEC, NOW - 2n * SEC + 1n, 'device'],
    ['2 s before us: an age', NOW - 5n * SEC, NOW - 2n * SEC, 'age'],
    ['within 2 s after us', NOW - 5n * SEC, NOW + 2n * SEC - 1n, 'device'],
    ['2 s after us', NOW - 5n * SEC, NOW + 2n * SEC, 'age'],
    ['sent as it was recorded, by a clock that began at 1970', 1n, 1n, 'age'],
    ['sent as it was recorded, by a clock that is wrong but set', YEAR_2015, YEAR_2015, 'age'],
    ['ten years old', 1n, 1n + TEN_YEARS, 'age'],
    ['older', 1n, 2n + TEN_YEARS, 'arrival'],
    ['older, by a clock that was set', YEAR_2015, YEAR_2015 + TEN_YEARS + 1n, 'arrival'],
    ['no time of recording, whenever it was sent', 0n, NOW, 'arrival'],
    ['a time of recording before 1970', -1n, 0n, 'arrival'],
    ['no time of sending, a clock that was set', YEAR_2015, 0n, 'device'],
    ['no time of sending, never set', YEAR_2015 - 1n, 0n, 'arrival'],
    ['no time of sending, 2 s after us', NOW + 2n * SEC, 0n, 'device'],
    ['no time of sending, later still', NOW + 2n * SEC + 1n, 0n, 'arrival'],
    ['sent before it was recorded', NOW - 5n * SEC, NOW - 5n * SEC - 1n, 'device'],
  ] as const)('%s', (_, t0UnixNs, sentUnixNs, timeSource) => {
    const epochs = { device: t0UnixNs, age: NOW - (sentUnixNs - t0UnixNs), arrival: NOW - SEC };
    expect(placeInTime({ t0DeviceNs: device, t0UnixNs, sentUnixNs }, device + SEC, NOW)).toEqual({
      epochNs: epochs[timeSource] - device,
      timeSource,
    });
  });
});
