import { describe, expect, test } from 'vitest';
import { addHum } from '../testing/ecg-faults.ts';
import { ecgShapes, makeEcg, makeEctopicEcg, makeRhythm } from '../testing/ecg-fixture.ts';
import { seeded } from '../testing/fixture.ts';
import { streamRows } from '../../../accuracy/hrv-stream.ts';

const fs = 250;
const seconds = 180;

type Row = Readonly<{ sec: number; value: number; flag: number }>;

/** Values of a feature of one lead. */
function values(feature: string, samples: Float64Array): Row[] {
  const { features } = streamRows([{ code: 'ecg.ii', kind: 'ecg', fs, unit: 'mV', samples }]);
  return (features.get(feature) ?? []).map(({ tNs, value, qmask }) => ({ sec: Number(tNs) / 1e9, value, flag: qmask }));
}

const ecg = (beats: readonly number[], pWaves: readonly number[], noiseMv = 0.01): Float64Array =>
  makeEcg({ fs, seconds, shape: ecgShapes.usual, beats, pWaves, noiseMv, seed: 3 });

describe('the index of fibrillation', () => {
  test('is low in sinus rhythm and high with irregular intervals and no P wave, every 10 s', () => {
    const sinus = makeRhythm(seconds, 70, () => true, 1);
    const calm = values('af_index', ecg(sinus.beats, sinus.pWaves));
    expect(calm.map(({ sec }) => sec)).toEqual(Array.from({ length: calm.length }, (_, i) => calm[0]!.sec + 10 * i));
    expect(calm.length).toBeGreaterThanOrEqual(17);
    for (const { value } of calm) expect(value).toBeLessThan(0.2);
    const random = seeded(2);
    const beats: number[] = [];
    for (let t = 0.5; t < seconds - 1; t += 0.45 + 0.55 * random()) beats.push(t);
    const irregular = values('af_index', ecg(beats, [])).slice(2);
    expect(irregular.length).toBeGreaterThanOrEqual(15);
    for (const { value } of irregular) expect(value).toBeGreaterThan(0.9);
  });

  test.each([
    [0.1, 50],
    [0.1, 60],
    [0.3, 50],
    [0.3, 60],
  ])('is low and good in sinus rhythm, and high in fibrillation, with hum of %d mV and %d Hz', (mv, hz) => {
    const sinus = makeRhythm(seconds, 70, () => true, 1);
    const calm = values('af_index', addHum(ecg(sinus.beats, sinus.pWaves), fs, { mv, hz })).slice(2, -2);
    expect(calm.length).toBeGreaterThanOrEqual(12);
    for (const { value, flag, sec } of calm) expect([value < 0.2, flag], `at ${sec} s: ${value}`).toEqual([true, 0]);
    const random = seeded(2);
    const beats: number[] = [];
    for (let t = 0.5; t < seconds - 1; t += 0.45 + 0.55 * random()) beats.push(t);
    const irregular = values('af_index', addHum(ecg(beats, []), fs, { mv, hz })).slice(2);
    expect(irregular.length).toBeGreaterThanOrEqual(12);
    for (const { value } of irregular) expect(value).toBeGreaterThan(0.9);
  });

  test('is no low one that is good in fast fibrillation, whose T waves lie where P waves are sought', () => {
    const random = seeded(2);
    const beats: number[] = [];
    for (let t = 0.5; t < seconds - 1; t += 0.31 + 0.1 * (random() + random())) beats.push(t);
    for (const { value, flag, sec } of values('af_index', ecg(beats, [])).slice(2))
      if (flag === 0) expect(value, `at ${sec} s`).toBeGreaterThan(0.5);
    const fast = makeRhythm(seconds, 150, () => true, 1, 0.13);
    const good = values('af_index', ecg(fast.beats, fast.pWaves)).filter(({ value, flag }) => flag === 0 && value < 0.5);
    expect(good.length).toBeGreaterThan(12);
  });

  test('P waves before irregular beats speak against it', () => {
    const random = seeded(2);
    const beats: number[] = [];
    for (let t = 0.5; t < seconds - 1; t += 0.55 + 0.45 * random()) beats.push(t);
    const none = values('af_index', ecg(beats, []));
    const some = values('af_index', ecg(beats, beats.map((t) => t - 0.15))); // prettier-ignore
    for (let i = 2; i < some.length; i++) expect(some[i]!.value, `at ${some[i]!.sec} s`).toBeLessThan(none[i]!.value - 0.2);
  });
});

// promise: ectopy-is-no-fibrillation
test.each([
  ['bigeminy', 1],
  ['trigeminy', 2],
  ['quadrigeminy', 3],
])('the index is low in %s', (_, between) => {
  const random = seeded(3);
  const normal: number[] = [];
  const ventricular: number[] = [];
  for (let t = 1; t < seconds - 3; t += 1.6) {
    for (let n = 1; n < between; n++) {
      normal.push(t);
      t += 0.8 + 0.02 * random();
    }
    normal.push(t);
    ventricular.push(t + 0.51 + 0.02 * random());
  }
  const beats = [...normal, ...ventricular].toSorted((a, b) => a - b);
  const x = makeEctopicEcg({ fs, seconds, beats, pWaves: normal.map((t) => t - 0.16), ventricular });
  const rows = values('af_index', x);
  expect(rows.length).toBeGreaterThan(12);
  for (const { sec, value } of rows.slice(2)) expect(value, `at ${sec} s`).toBeLessThan(0.5);
});

describe('the burden of fibrillation', () => {
  const long = 960;
  const sinus = makeRhythm(long, 70, () => true, 1);
  const random = seeded(2);
  const fibrillating: number[] = [];
  for (let t = 0.5; t < long - 1; t += 0.45 + 0.55 * random()) fibrillating.push(t);
  /** Sinus rhythm, fibrillation from 300 to 450 s, and from 600 s on. */
  const isAf = (t: number): boolean => (t >= 300 && t < 450) || t >= 600;
  const beats = [...sinus.beats.filter((t) => !isAf(t)), ...fibrillating.filter(isAf)].toSorted((a, b) => a - b);
  const x = makeEcg({
    fs, seconds: long, shape: ecgShapes.usual, beats, pWaves: sinus.pWaves.filter((t) => !isAf(t + 0.17)), noiseMv: 0.01, seed: 3,
  }); // prettier-ignore

  test('is the share of the time of each 5 minutes', () => {
    const rows = values('af_burden_300s', x);
    expect(rows.map(({ sec }) => sec)).toEqual([300, 600, 900]);
    expect(rows[0]!.value).toBe(0);
    expect(Math.abs(rows[1]!.value - 50)).toBeLessThan(14); // windows of 30 s
    expect(rows[2]!.value).toBeGreaterThan(93);
    expect(rows.map(({ flag }) => flag)).toEqual([0, 0, 0]);
  });

  test('has none of less than half of the time, and is suspect of less than four fifths', () => {
    const holed = Float64Array.from(x);
    holed.fill(Number.NaN, 310 * fs, 500 * fs); // 10 indices are left, and those that overlap the gap
    holed.fill(Number.NaN, 620 * fs, 700 * fs);
    expect(values('af_burden_300s', holed).map(({ sec, flag }) => [sec, flag])).toEqual([
      [300, 0],
      [900, 1],
    ]);
  });
});

describe('the longest interval of 10 s', () => {
  const { beats } = makeRhythm(seconds, 75, () => true, 4);
  const paused = (fromSec: number, length: number): number[] => beats.filter((t) => t < fromSec || t >= fromSec + length);

  test.each([2.6, 4, 8])('shows a pause of %s s or a little more, and the others none', (length) => {
    const left = paused(90, length);
    const gap = left.find((t) => t >= 90)! - left.findLast((t) => t < 90)!;
    const rows = values('longest_rr_10s', ecg(left, left.map((t) => t - 0.17), 0.005)); // prettier-ignore
    const long = rows.filter(({ value }) => value > 1500);
    expect(long).toHaveLength(1);
    expect(long[0]!.value).toBeGreaterThan(1000 * gap - 15);
    expect(long[0]!.value).toBeLessThan(1000 * gap + 15);
    // the seconds of a longer one have too few beats to be judged by
    if (length < 5) expect(long[0]!.flag).toBe(0);
  });

  test('is good where nothing lies in a pause, suspect where a wide beat does that was not seen, or an electrode was off', () => {
    const rest = paused(90, 4);
    const from = rest.findLast((t) => t < 90)! + 1;
    const flagOf = (change: (x: Float64Array) => void): number => {
      const x = ecg(rest, rest.map((t) => t - 0.17), 0.005); // prettier-ignore
      change(x);
      return values('longest_rr_10s', x).find(({ value }) => value > 2500)?.flag ?? -1;
    };
    expect(flagOf(() => {})).toBe(0);
    // a bump of 0.32 s, below the band in which beats are looked for
    expect(
      flagOf((x) => {
        for (let i = 0; i < 80; i++) x[Math.round(from * fs) + i]! += 1.4 * Math.sin((Math.PI * i) / 80) ** 2;
      }),
    ).toBe(1);
    expect(flagOf((x) => x.fill(0.1, Math.round(from * fs), Math.round((from + 2.5) * fs)))).toBeGreaterThan(0);
  });

  test('of 8 s without a beat is suspect, not bad, so that it is noticed', () => {
    const left = paused(90, 8);
    const long = values('longest_rr_10s', ecg(left, left.map((t) => t - 0.17), 0.005)).filter(({ value }) => value > 1500); // prettier-ignore
    expect(long.map(({ flag }) => flag)).toEqual([1]);
  });

  test('has none across missing samples', () => {
    const x = ecg(beats, beats.map((t) => t - 0.17)); // prettier-ignore
    x.fill(Number.NaN, 90 * fs, 94 * fs);
    for (const { value } of values('longest_rr_10s', x)) expect(value).toBeLessThan(1500);
  });

  test('is not good where noise may have hidden beats', () => {
    const x = ecg(beats, beats.map((t) => t - 0.17)); // prettier-ignore
    const random = seeded(9);
    for (let i = 90 * fs; i < 95 * fs; i++) x[i] = 3 * (random() - 0.5);
    for (const { value, flag } of values('longest_rr_10s', x)) if (value > 1500) expect(flag).toBeGreaterThan(0);
  });

  // The beats after a pause of 3 s and more have their verdicts once there are 43 of them: in a slow heart up to two minutes later.
  test.each([188, 192, 196])('of a heart of 26 /min has the flags of its seconds however long verdicts take, pause at %d s', (at) => {
    const long = 330;
    const slow = makeRhythm(long, 26, () => true, 1);
    const last = slow.beats.find((t) => t > at)!;
    const moved = (times: readonly number[], sec: number): number[] => times.map((t) => (t > last + sec ? t + 3.4 - 60 / 26 : t));
    const x = makeEcg({
      fs, seconds: long, shape: ecgShapes.usual, beats: moved(slow.beats, 0.5), pWaves: moved(slow.pWaves, 0.3), noiseMv: 0.01, seed: 3,
    }); // prettier-ignore
    const rows = values('longest_rr_10s', x);
    const pause = rows.findIndex(({ value }) => value > 3300);
    expect(rows.slice(pause, pause + 2).map(({ flag }) => flag)).toEqual([0, 0]);
    x.fill(Number.NaN, 0, 45 * fs);
    expect(values('longest_rr_10s', x).slice(-10)).toEqual(rows.slice(-10));
  });
});
