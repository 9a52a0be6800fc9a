/** Two leads of which one is bad: a loose electrode in the first, and a second that another person wears. */
import { describe, expect, test } from 'vitest';
import { beatSeconds, streamRows } from '../../../accuracy/hrv-stream.ts';
import type { StreamRows } from '../../../accuracy/hrv-stream.ts';
import type { ChannelConfig } from '../../signal.ts';
import { readOutputs, headWidth } from '../pool/wire.ts';
import { RowBuffer, rowWidth } from '../rows/row-buffer.ts';
import type { EcgShape } from '../testing/ecg-fixture.ts';
import { ecgShapes, makeEcg, makeEctopicEcg, makeRhythm } from '../testing/ecg-fixture.ts';
import { seeded } from '../testing/fixture.ts';
import { StreamEngine } from './engine.ts';
import { KernelStock } from './runner.ts';

const seconds = 200;
const noisyFrom = 64;

const run = (fs: number, leads: readonly Float64Array[]): StreamRows =>
  streamRows(leads.map((samples, i) => ({ code: `ecg.${i + 1}`, kind: 'ecg', fs, unit: 'mV', samples })));

/** Bumps of the size and width of QRS complexes, several a second: an electrode that moves. */
function addBumps(x: Float64Array, fs: number, seed: number): Float64Array {
  const random = seeded(seed);
  const out = Float64Array.from(x);
  for (let t = noisyFrom; t < seconds; t += 0.06 + 0.2 * random()) {
    const [mv, sigma] = [6 * random() - 3, 0.015 + 0.03 * random()];
    for (let i = Math.ceil((t - 4 * sigma) * fs); i < (t + 4 * sigma) * fs && i < out.length; i++)
      out[i] = out[i]! + mv * Math.exp(-0.5 * ((i / fs - t) / sigma) ** 2);
  }
  return out;
}

describe.each([125, 250, 360, 500])('at %i Hz', (fs) => {
  const { beats, pWaves } = makeRhythm(seconds, 72, () => true, 3);
  const usual = { fs, seconds, beats, pWaves, noiseMv: 0.01 };
  const first = makeEcg({ ...usual, shape: ecgShapes.usual, seed: 1 });
  // its R waves come 15 ms later and point down
  const second = makeEcg({ ...usual, shape: ecgShapes['deep S'], seed: 2 });

  test('beats lie where the clean lead has them, at the distance that the leads had before the noise', () => {
    const found = beatSeconds(run(fs, [addBumps(first, fs, 7), second]), 'ecg');
    const clean = beatSeconds(run(fs, [first, second]), 'ecg');
    // a segment that begins in the noise does not know the distance
    const known = clean.filter((t) => t > noisyFrom + 3 && t < 127);
    const apart = known.map((t) => Math.min(...found.map((u) => Math.abs(u - t))));
    expect(known.length).toBeGreaterThan(60);
    expect(apart.toSorted((a, b) => a - b)[Math.floor(0.95 * apart.length)]).toBeLessThan(0.012);
    expect(Math.max(...apart)).toBeLessThan(0.05);
  });

  // nothing of the heart in it: its electrode is off
  test.each([0.1, 0.5, 2])('beats keep their place next to a first lead of %f mV of hum', (mv) => {
    const random = seeded(5);
    const hum = first.map((_, i) => mv * Math.sin((2 * Math.PI * 50 * i) / fs) + 0.004 * (random() - 0.5));
    const { features, beats: rows } = run(fs, [hum, second]);
    const found = rows.filter(({ kind }) => kind !== 'interpolated').map(({ tNs }) => Number(tNs) / 1e9);
    const known = beats.filter((t) => t > 10 && t < seconds - 5);
    const late = known.map((t) => found.map((u) => u - t).reduce((a, b) => (Math.abs(b) < Math.abs(a) ? b : a)));
    const sorted = late.toSorted((a, b) => a - b);
    expect(sorted[Math.floor(0.99 * sorted.length)]! - sorted[Math.floor(0.01 * sorted.length)]!).toBeLessThan(0.016);
    for (const { qmask, value } of features.get('hrv_sdnn_300s') ?? []) if (qmask === 0) expect(value).toBeLessThan(30);
  });

  test.each([91, 144, 143])('the rhythms of two hearts make no good heart rate, nor do their seconds: 72 and %i /min', (perMin) => {
    const other = makeRhythm(seconds, perMin, () => true, 8);
    const { features } = run(fs, [first, makeEcg({ ...usual, ...other, shape: ecgShapes['deep S'], seed: 2 })]);
    for (const feature of ['hr_ecg', 'sqi_ecg']) {
      const rows = features.get(feature)!;
      expect(rows.length).toBeGreaterThan(150);
      expect(rows.filter(({ qmask }) => qmask === 0).length / rows.length).toBeLessThan(0.15);
    }
  });

  test.each([
    ['a lead in which every beat is seen late', (t: number) => t + 0.14, () => true],
    ['a lead that has every second beat', (t: number) => t, (i: number) => i % 2 === 0],
    ['a lead that sees every second beat late', (t: number) => t + 0.06, (i: number) => i % 2 === 0],
  ])('%s is of the same heart', (_, moved, has) => {
    const seen = beats.filter((__, i) => has(i)).map(moved);
    const { features } = run(fs, [first, makeEcg({ ...usual, beats: seen, pWaves: [], shape: ecgShapes['deep S'], seed: 2 })]);
    const alone = run(fs, [first])
      .features.get('sqi_ecg')!
      .filter(({ qmask }) => qmask === 0).length;
    expect(features.get('sqi_ecg')!.filter(({ qmask }) => qmask === 0).length).toBeGreaterThanOrEqual(0.95 * alone);
  });
});

test.each([100, 130, 150, 170])('of a clean heart at %i /min the first beats lie where the first lead has them', (rate) => {
  const all = makeRhythm(60, rate, () => true, 3);
  const usual = { fs: 250, seconds: 60, noiseMv: 0.05, shape: ecgShapes.usual };
  const second = makeEcg({ ...usual, beats: all.beats.map((t) => t + 0.04), pWaves: [], seed: 2 });
  const found = beatSeconds(run(250, [makeEcg({ ...usual, ...all, seed: 1 }), second]), 'ecg');
  expect(found.length).toBeGreaterThan(90);
  for (const t of found.subarray(0, 10)) expect(Math.min(...all.beats.map((beat) => Math.abs(beat - t)))).toBeLessThan(0.02);
});

test.each([
  ['stands still', () => 0],
  ['is noise', (random: () => number) => 0.4 * (random() + random() + random() - 1.5)],
  ['is hum', (_: () => number, i: number) => 0.5 * Math.sin((2 * Math.PI * 50 * i) / 250)],
])('a first lead that %s hides no ventricular run of the second', (_, valueOf) => {
  const all: number[] = [];
  const ventricular: number[] = [];
  for (let t = 0.6; t < seconds - 1; t += 0.8) {
    const inRun = t > 40 && t % 50 < 4;
    all.push(inRun ? (t -= 0.35) : t);
    if (inRun) ventricular.push(t);
  }
  const pWaves = all.filter((t) => !ventricular.includes(t)).map((t) => t - 0.17);
  const second = makeEctopicEcg({ fs: 250, seconds, beats: all, pWaves, ventricular });
  const random = seeded(4);
  const called = run(250, [second.map((_, i) => valueOf(random, i)), second]).beats.filter(({ reason }) => reason === 'ventricular');
  const found = ventricular.filter((t) => called.some(({ tNs }) => Math.abs(Number(tNs) / 1e9 - t) < 0.1));
  expect(ventricular.length).toBeGreaterThan(15);
  expect(found.length).toBeGreaterThan(0.8 * ventricular.length);
});

test.each([0.15, 0.17])('large P waves of a lead next to the atria, %f s before R, are no good beats', (prSec) => {
  const fs = 250;
  const all = makeRhythm(seconds, 72, () => true, 3, prSec);
  const usual = { fs, seconds, noiseMv: 0.01 };
  const first = makeEcg({ ...usual, ...all, shape: ecgShapes.usual, seed: 1 });
  const atrial: EcgShape = { p: [[0.8, 0, 0.012]], qrs: [[0.08, 0, 0.012]], t: [] };
  const rows = run(fs, [first, makeEcg({ ...usual, ...all, shape: atrial, seed: 2 })]).beats.filter(({ kind }) => kind !== 'interpolated');
  const isOff = (t: number): boolean => all.beats.every((beat) => Math.abs(beat - t) > 0.08);
  const good = rows.filter(({ quality }) => quality === 0).map(({ tNs }) => Number(tNs) / 1e9);
  expect(rows.length).toBeGreaterThan(0.95 * all.beats.length);
  expect(good.filter(isOff).length / rows.length).toBeLessThan(0.08);
});

test('bursts of noise in the second lead are no second heart, with ventricular beats in both', () => {
  const fs = 250;
  const random = seeded(6);
  const all = makeRhythm(seconds, 72, () => true, 3);
  const beats = all.beats.map((t, i) => (i % 5 === 4 ? all.beats[i - 1]! + 0.5 : t));
  const ventricular = beats.filter((_, i) => i % 5 === 4);
  const first = makeEctopicEcg({ fs, seconds, beats, pWaves: all.pWaves.filter((_, i) => i % 5 !== 4), ventricular });
  let smooth = 0;
  const second = first.map((v, i) => {
    smooth = 0.6 * smooth + 1.2 * (random() + random() + random() - 1.5);
    return -0.9 * v + ((i / fs) % 10 < 2 ? smooth : 0);
  });
  const goodOf = (leads: readonly Float64Array[]): number =>
    run(fs, leads)
      .features.get('sqi_ecg')!
      .filter(({ qmask }) => qmask === 0).length;
  expect(goodOf([first, second])).toBeGreaterThanOrEqual(0.95 * goodOf([first]));
});

describe('a first lead that becomes noisy, a second of another heart from half-time on', () => {
  const fs = 250;
  const all = makeRhythm(seconds, 72, () => true, 3);
  const other = makeRhythm(seconds, 91, () => true, 8);
  const from = (t: number): boolean => t > seconds / 2;
  const first = makeEcg({ fs, seconds, ...all, noiseMv: 0.01, shape: ecgShapes.usual, seed: 1 });
  const beats = [...all.beats.filter((t) => !from(t)), ...other.beats.filter(from)];
  const second = makeEcg({ fs, seconds, beats, pWaves: [], noiseMv: 0.01, shape: ecgShapes['deep S'], seed: 2 });
  const leads = [addBumps(first, fs, 7).map((v, i) => (i > 0.45 * seconds * fs ? first[i]! : v)), second].map((x) => Float32Array.from(x));
  const channels = leads.map((_, i): ChannelConfig => ({ code: `ecg.${i}`, kind: 'ecg', rateNanoHz: fs * 1e9, gain: 1, baseline: 0, unit: 'mV', lead: '' })); // prettier-ignore

  /** @param ends of each lead, samples  @param step of the packets  @param isFlushed else a silence follows */
  const rowsOf = (ends: readonly number[], step: number, isFlushed: boolean): string[] => {
    const rows = new RowBuffer();
    const engine = new StreamEngine(channels, 0, new KernelStock(), rows);
    const last = Math.max(...ends);
    for (let at = 0; at < last; at += step) {
      leads.forEach((x, no) => {
        const part = x.subarray(at, Math.min(ends[no]!, at + step));
        if (part.length > 0) engine.run(no, at, part, null);
      });
      engine.settle();
    }
    if (isFlushed) engine.flush();
    else channels.forEach((_, no) => engine.pass(no, last + 300 * fs));
    engine.settle();
    const packed = new Float64Array(headWidth + rows.count * rowWidth);
    packed[1] = rows.count;
    packed[3] = -1;
    packed.set(rows.rows.subarray(0, rows.count * rowWidth), headWidth);
    const { beats: found, features, quality } = readOutputs(packed)[0]!;
    return [...found, ...features, ...quality]
      .map((row) => JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value)))
      .sort();
  };

  test('has the same rows however it is cut, and wherever the leads end', () => {
    for (const end of [50.4, 63.1, 90.7, 117.2, 131])
      for (const apart of [-12.3, -2.6, -0.3, 0, 0.1, 1.7, 9]) {
        const ends = [Math.round(end * fs), Math.round((end + apart) * fs)];
        const whole = rowsOf(ends, 7 * fs, true);
        expect(rowsOf(ends, 7 * fs, false), `${end} s, ${apart} s apart, silent`).toEqual(whole);
        expect(rowsOf(ends, 17, true), `${end} s, ${apart} s apart, small packets`).toEqual(whole);
      }
  });
});
