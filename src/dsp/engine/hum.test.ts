/** Hum of mains pulls at the place of every beat; RMSSD was wrong by it, and good. */
import { describe, expect, test } from 'vitest';
import { streamRows } from '../../../accuracy/hrv-stream.ts';
import type { ChannelConfig } from '../../signal.ts';
import type { Hum } from '../testing/ecg-faults.ts';
import { addHum } from '../testing/ecg-faults.ts';
import { ecgShapes, makeEcg } from '../testing/ecg-fixture.ts';
import { RowBuffer, rowWidth } from '../rows/row-buffer.ts';
import { StreamEngine } from './engine.ts';
import { KernelStock } from './runner.ts';

const seconds = 240;
const beats: number[] = [];
for (let t = 0.5; t < seconds - 1; t += 0.85 * (1 + 0.02 * Math.sin(2 * Math.PI * 0.25 * t))) beats.push(t);

const withHum = (fs: number, hum: Hum): Float64Array =>
  addHum(makeEcg({ fs, seconds, shape: ecgShapes.usual, beats, pWaves: beats.map((t) => t - 0.17), noiseMv: 0.01, seed: 4 }), fs, hum);

/** Of the minute before, from the beats that the ECG was made of. */
function rmssd(tSec: number): number {
  const inside = beats.filter((t) => t > tSec - 60 && t <= tSec);
  const rr = inside.slice(1).map((t, i) => 1000 * (t - inside[i]!));
  return Math.sqrt(rr.slice(1).reduce((sum, x, i) => sum + (x - rr[i]!) ** 2, 0) / (rr.length - 1));
}

function minutes(fs: number, hum: Hum): { good: number; wrong: number } {
  const { features } = streamRows([{ code: 'ecg.ii', kind: 'ecg', fs, unit: 'mV', samples: withHum(fs, hum) }]);
  const values = features.get('hrv_rmssd_60s')!;
  const good = values.filter(({ qmask }) => qmask === 0);
  const wrong = good.filter(({ tNs, value }) => Math.abs(value / rmssd(Number(tNs) / 1e9) - 1) > 0.1);
  return { good: good.length / values.length, wrong: wrong.length };
}

describe('RMSSD of 60 s', () => {
  const cases = [100, 125, 128, 250, 360, 500].flatMap((fs) => [
    [fs, 50],
    [fs, 60],
  ]) as [number, number][];

  test.each(cases)('at %i Hz with 0.3 mV of %i Hz is right, and good', (fs, hz) => {
    const { good, wrong } = minutes(fs, { mv: 0.3, hz });
    expect(wrong).toBe(0);
    expect(good).toBeGreaterThan(0.8);
  });

  test.each(cases)('at %i Hz with hum of %i Hz that wanders by 0.1 Hz and begins in the middle is right, and good', (fs, hz) => {
    const { good, wrong } = minutes(fs, { mv: 0.3, hz, wanderHz: 0.1, fromSec: 120 });
    expect(wrong).toBe(0);
    expect(good).toBeGreaterThan(0.8);
  });

  test('below 100 Hz, where hum is folded to the frequencies of beats, no wrong one is good', () => {
    for (const hz of [50, 60]) expect(minutes(80, { mv: 0.3, hz }).wrong, `${hz} Hz`).toBe(0);
  });
});

/** Rows as numbers, sorted. */
function rowsBy(fs: number, packet: number): string[] {
  const config: ChannelConfig = { code: 'ecg.ii', kind: 'ecg', rateNanoHz: fs * 1e9, gain: 1, baseline: 0, unit: 'mV', lead: '' };
  const samples = Float32Array.from(withHum(fs, { mv: 0.3, hz: 50, wanderHz: 0.1, fromSec: 120 }));
  const rows = new RowBuffer();
  const engine = new StreamEngine([config], 0, new KernelStock(), rows);
  for (let at = 0; at < samples.length; at += packet) {
    engine.run(0, at, samples.subarray(at, Math.min(samples.length, at + packet)), null);
    engine.settle();
  }
  engine.flush();
  return Array.from({ length: rows.count }, (_, i) => rows.rows.subarray(i * rowWidth, (i + 1) * rowWidth).join(' ')).toSorted();
}

test.each([125, 360])('rows of an ECG of %i Hz with hum are the same however it was cut', (fs) => {
  const whole = rowsBy(fs, fs * seconds);
  expect(whole.length).toBeGreaterThan(1000);
  for (const packet of [7, 90, 1001]) expect(rowsBy(fs, packet)).toEqual(whole);
});
