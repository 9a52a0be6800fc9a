// Oxygen saturation, with a calibration, of light that something else than the pulse moves.
import { expect, test } from 'vitest';
import type { ChannelConfig } from '../../signal.ts';
import { RowBuffer, rowWidth } from '../rows/row-buffer.ts';
import { headWidth, readOutputs } from '../pool/wire.ts';
import { pulseWave } from '../testing/ppg-faults.ts';
import { StreamEngine } from './engine.ts';
import { KernelStock } from './runner.ts';

const fs = 64;
const seconds = 96;

/** Saturation and flag of each block but the last.
 *  @param change gives the share of each light that moves, by its place (0: red), the time and its pulse */
function saturations(ratio: number, change: (light: number, t: number, share: number) => number): { value: number; qmask: number }[] {
  const configs = ['ppg.red', 'ppg.ir'].map((code): ChannelConfig => ({
    code,
    kind: 'ppg',
    rateNanoHz: fs * 1e9,
    gain: 1,
    baseline: 0,
    unit: '1',
    lead: '',
  }));
  const rows = new RowBuffer();
  const engine = new StreamEngine(configs, 0, new KernelStock(), rows, { offset: 110, slope: 25 });
  configs.forEach((_, no) => {
    const samples = Int32Array.from({ length: seconds * fs }, (__, i) => {
      const share = (no === 0 ? ratio : 1) * 0.01 * pulseWave((1.2 * i) / fs);
      return Math.round((no === 0 ? 80_000 : 100_000) * (1 + change(no, i / fs, share)));
    });
    engine.run(no, 0, samples, null);
  });
  engine.flush();
  const packed = new Float64Array(headWidth + rows.count * rowWidth);
  packed[1] = rows.count;
  packed[3] = -1;
  packed.set(rows.rows.subarray(0, rows.count * rowWidth), headWidth);
  const found = readOutputs(packed)[0]!.features.filter(({ feature }) => feature === 'spo2');
  expect(found.length).toBeGreaterThanOrEqual(seconds / 8 - 1);
  return found.slice(0, -1);
}

test('of a pulse alone it is good, and right', () => {
  for (const ratio of [0.5, 0.8, 1.2])
    for (const { value, qmask } of saturations(ratio, (_, __, share) => share)) {
      expect(qmask).toBe(0);
      expect(Math.abs(value - (110 - 25 * ratio))).toBeLessThan(0.5);
    }
});

test.each([
  ['a motion moves both alike', 0.5, (_: number, t: number, share: number) => share + 0.02 * Math.sin(2 * Math.PI * 1.9 * t)],
  ['a lamp flickers', 0.5, (_: number, t: number, share: number) => share + 0.03 * Math.sin(2 * Math.PI * 2.7 * t)],
  ['red is at a rail', 1.2, (no: number, _: number, share: number) => (no === 0 ? Math.min(share, 0.006) : share)],
])('it is not good where it is wrong because %s', (_, ratio, change) => {
  const found = saturations(ratio, change);
  const wrong = found.filter(({ value }) => Math.abs(value - (110 - 25 * ratio)) > 1);
  expect(wrong.length).toBeGreaterThan(5);
  expect(wrong.filter(({ qmask }) => qmask === 0)).toEqual([]);
}); // prettier-ignore

test('it is not wrong and good in the block in which the gain of both lights doubles', () => {
  const found = [33.5, 36.1, 39].flatMap((at) => saturations(0.5, (_, t, share) => (t < at ? share : 2 * (1 + share) - 1)));
  expect(found.filter(({ qmask }) => qmask === 0).length).toBeGreaterThan(20);
  for (const { value, qmask } of found) if (qmask === 0) expect(Math.abs(value - 97.5)).toBeLessThan(1);
});

test.each([
  [0.1, 1],
  [0.2, 1],
  [0.3, 0.7],
])('it is right, and good, while breathing at %f Hz moves both lights by %f pulses', (hz, pulses) => {
  for (const { value, qmask } of saturations(0.5, (_, t, share) => share + 0.0125 * pulses * Math.sin(2 * Math.PI * hz * t))) {
    expect(qmask).toBe(0);
    expect(Math.abs(value - 97.5)).toBeLessThan(0.5);
  }
});

test.each([0.2, 0.3, 0.4])('it is not wrong and good while breathing at %f Hz moves both lights by three pulses', (hz) => {
  for (const { value, qmask } of saturations(0.5, (_, t, share) => share + 0.0375 * Math.sin(2 * Math.PI * hz * t)))
    if (qmask === 0) expect(Math.abs(value - 97.5)).toBeLessThan(1);
});

test.each([0.02, 0.05])('it is bad where a light comes without most of its level: %f of it is left', (left) => {
  for (const which of [0, 1])
    for (const { qmask } of saturations(0.5, (light, _, share) => (light === which ? left - 1 + share : share))) expect(qmask).toBe(2);
});
