/** Devices that put a 0, or the last value, in place of samples that they lost. */
import { expect, test } from 'vitest';
import { ecgShapes, makeEcg, makeRhythm } from '../testing/ecg-fixture.ts';
import { streamRows } from '../../../accuracy/hrv-stream.ts';

const [fs, seconds] = [250, 310];
const { beats, pWaves } = makeRhythm(seconds, 72, () => true, 3);
const clean = makeEcg({ fs, seconds, shape: ecgShapes.usual, beats, pWaves, noiseMv: 0.01, seed: 3 });

test.each([
  [1, 9.3, 0],
  [1.5, 10, 0],
  [1.5, 10, null],
  [2, 10, null],
])('%s s of every %s s: no wrong heart rate is good', (lost, every, filled) => {
  let last = 0;
  const samples = clean.map((v, i) => ((i / fs) % every < lost ? (filled ?? last) : (last = v)));
  const rows = streamRows([{ code: 'ecg.ii', kind: 'ecg', fs, unit: 'mV', samples }]).features.get('hr_ecg')!;
  const off = rows.filter(({ value }) => Math.abs(value - 72) > 5);
  expect(off.length).toBeGreaterThan(20);
  expect(off.filter(({ qmask }) => qmask === 0)).toEqual([]);
});

test('a heart of 40 /min in coarse steps, whose line is still between beats, stays good', () => {
  const slow = makeRhythm(seconds, 40, () => true, 3);
  const samples = makeEcg({ fs, seconds, shape: ecgShapes.usual, ...slow, noiseMv: 0.01, seed: 3 }).map((v) => Math.round(v / 0.01) * 0.01);
  const rows = streamRows([{ code: 'ecg.ii', kind: 'ecg', fs, unit: 'mV', samples }]).features.get('hr_ecg')!;
  expect(rows.filter(({ qmask }) => qmask === 0).length).toBeGreaterThan(0.9 * rows.length);
});
