/** Ventricular tachycardias that last until their beats are the usual ones, or that are so fast that a detector may lose count. */
import { describe, expect, test } from 'vitest';
import { streamRows } from '../../../accuracy/hrv-stream.ts';
import type { StreamRows } from '../../../accuracy/hrv-stream.ts';
import { makeEctopicEcg, makeRhythm, ventricularShapes } from '../testing/ecg-fixture.ts';

const fs = 250;
const seconds = 320;
const startSec = 100;

/** A tachycardia from `startSec` on, with sinus rhythm of 72 /min before and after it. */
function made(
  count: number,
  perMin: number,
  shape: keyof typeof ventricularShapes,
): { rows: StreamRows; ventricular: number[]; share: number } {
  const sinus = makeRhythm(seconds, 72, () => true, 4).beats;
  const before = sinus.filter((t) => t < startSec);
  const ventricular: number[] = [];
  let t = before.at(-1)! + 0.6;
  for (let i = 0; i < count; i++, t += (60 / perMin) * (1 + 0.015 * Math.sin(2.3 * i))) ventricular.push(t);
  const narrow = [...before, ...sinus.filter((beat) => beat > t + 0.4)];
  const beats = [...narrow, ...ventricular].toSorted((a, b) => a - b);
  const pWaves = narrow.map((beat) => beat - 0.17);
  const samples = makeEctopicEcg({ fs, seconds, beats, pWaves, ventricular, shape: ventricularShapes[shape] });
  const rows = streamRows([{ code: 'ecg.ii', kind: 'ecg', fs, unit: 'mV', samples }]);
  return { rows, ventricular, share: (100 * ventricular.length) / beats.filter((beat) => beat < 300).length };
}

const shapes = Object.keys(ventricularShapes) as (keyof typeof ventricularShapes)[];
const rates = [
  [60, 140],
  [200, 150],
  [60, 85],
  [100, 75],
] as const;

describe.each(shapes)('%s beats', (shape) => {
  test.each(rates)(
    '%i in a row at %i /min: of no known kind when they are the usual ones, and neither burden nor run is good',
    (count, perMin) => {
      const { rows, ventricular, share } = made(count, perMin, shape);
      const found = ventricular.map((t) => rows.beats.find(({ tNs }) => Math.abs(Number(tNs) / 1e9 - t) < 0.15));
      // each of the first 16 is ventricular, or is not called anything
      for (const beat of found.slice(0, 16))
        expect(beat?.reason === 'ventricular' || Number.isNaN(beat?.confidence ?? Number.NaN)).toBe(true);
      expect(found.filter((beat) => beat?.reason === 'ventricular').length).toBeGreaterThan(12);
      const wrong = found.filter((beat) => beat !== undefined && beat.reason !== 'ventricular' && beat.confidence >= 0.5);
      expect(wrong.length).toBeLessThanOrEqual(2);
      const burden = rows.features.get('ventricular_burden_300s')!.find(({ tNs }) => tNs === 300_000_000_000n)!;
      expect(burden.value).toBeLessThan(share);
      expect(burden.qmask).toBe(1);
      const during = rows.features
        .get('ventricular_run_10s')!
        .filter(({ tNs }) => Number(tNs) / 1e9 > ventricular[32]! + 10 && Number(tNs) / 1e9 < ventricular.at(-1)!);
      for (const { value, qmask } of during) expect(value > 30 || qmask > 0).toBe(true);
      for (const beat of found) if (beat !== undefined && Number.isNaN(beat.confidence)) expect(beat.quality).toBeGreaterThan(0);
      const [firstSec, lastSec] = [ventricular[0]! + 60, ventricular.at(-1)!];
      const within = rows.features.get('hrv_rmssd_60s')!.filter(({ tNs }) => Number(tNs) / 1e9 > firstSec && Number(tNs) / 1e9 < lastSec);
      for (const { qmask } of within) expect(qmask).toBeGreaterThan(0);
      // the sinus rhythm behind it is not called ventricular
      const after = rows.beats.filter(({ tNs, reason }) => Number(tNs) / 1e9 > ventricular.at(-1)! + 0.3 && reason === 'ventricular');
      expect(after.filter(({ quality }) => quality === 0)).toEqual([]);
    },
  );

  test.each([130, 170, 180, 200, 220])('at %i /min no rate of half or a third is good', (perMin) => {
    const { rows, ventricular } = made(Math.round(perMin), perMin, shape);
    const rates = rows.features.get('hr_ecg')!.filter(({ tNs }) => {
      const sec = Number(tNs) / 1e9;
      return sec > ventricular[0]! + 12 && sec < ventricular.at(-1)!;
    });
    expect(rates.length).toBeGreaterThan(40);
    for (const { value, qmask } of rates) if (qmask === 0) expect(Math.abs(value / perMin - 1)).toBeLessThan(0.1);
    if (perMin === 130) expect(rates.filter(({ qmask }) => qmask === 0).length).toBeGreaterThan(0.9 * rates.length);
  });
});
