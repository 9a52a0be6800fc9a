/** A pacemaker whose pulses do not always capture, at rates at which a pulse is as short as a narrow R wave. */
import { describe, expect, test } from 'vitest';
import { streamRows } from '../../../accuracy/hrv-stream.ts';
import type { StreamRows } from '../../../accuracy/hrv-stream.ts';
import { addPacing } from '../testing/ecg-faults.ts';
import type { EcgShape } from '../testing/ecg-fixture.ts';
import { makeEcg } from '../testing/ecg-fixture.ts';

const seconds = 310;
const paced: EcgShape = {
  p: [],
  qrs: [
    [-1, 0, 0.035],
    [-0.25, 0.06, 0.03],
  ],
  t: [[0.45, 0.33, 0.06]],
};
const pulses = Array.from({ length: 300 }, (_, i) => 1.1 + i * 1.003);

const run = (fs: number, leadCount: number, captures: (i: number) => boolean): { rows: StreamRows; beats: number[] } => {
  const beats = pulses.filter((_, i) => captures(i)).map((t) => t + 0.05);
  const leads = Array.from({ length: leadCount }, (_, lead) => {
    const x = makeEcg({ fs, seconds, shape: paced, beats, pWaves: [], noiseMv: 0.01, seed: 1 + lead });
    // lower in the second lead
    return { code: `ecg.${lead}`, kind: 'ecg' as const, fs, unit: 'mV', samples: addPacing(x, fs, pulses, 0.0005, 8 / (lead + 1)) };
  });
  return { rows: streamRows(leads), beats };
};

describe.each([100, 125, 128, 180])('at %i Hz', (fs) => {
  test.each([
    ['one in eight', 1, (i: number) => i % 8 < 7],
    ['three in a row', 1, (i: number) => i % 20 < 17],
    ['three in a row', 2, (i: number) => i % 20 < 17],
  ] as const)('pulses that do not capture, %s, %i leads, are no good beats that hide a pause', (_, leadCount, captures) => {
    const { rows, beats } = run(fs, leadCount, captures);
    const wrong = rows.features.get('longest_rr_10s')!.filter(({ tNs, value, qmask }) => {
      const to = Number(tNs) / 1e9;
      const longest = Math.max(0, ...beats.map((t, i) => (i > 0 && t > to - 10 && t <= to ? t - beats[i - 1]! : 0)));
      return qmask === 0 && Math.abs(value / 1000 - longest) > 0.13;
    });
    expect(wrong.length).toBeLessThanOrEqual(2);
  });

  test('a narrow R wave with nothing after it is no pulse', () => {
    const narrow: EcgShape = { p: [], qrs: [[1, 0, 0.006]], t: [] };
    const samples = makeEcg({ fs, seconds, shape: narrow, beats: pulses, pWaves: [], noiseMv: 0.01, seed: 1 });
    const rates = streamRows([{ code: 'ecg.1', kind: 'ecg', fs, unit: 'mV', samples }]).features.get('hr_ecg')!;
    expect(rates.length).toBeGreaterThan(280);
    expect(rates.filter(({ qmask }) => qmask === 0).length / rates.length).toBeGreaterThan(0.97);
  });
});
