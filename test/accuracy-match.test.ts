/** The matching rules on a case counted by hand, and the detection floors on the recordings that are quick to score. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { addCounts, f1, matchBeats, predictivity, sensitivity } from '../scripts/accuracy/match-beats.ts';
import type { Counts } from '../scripts/accuracy/match-beats.ts';
import { detectRecording } from '../scripts/accuracy/ecg-detection-section.ts';
import { addNoise, loadElectrodeMotion, loadMitdb } from '../scripts/accuracy/mitdb-recordings.ts';
import { detectRecord } from '../src/cli/detect.ts';
import { readAnnotations } from '../src/formats/wfdb.ts';

const dataDir = process.env['BIO_TEST_DATA'] ?? join(import.meta.dirname, '../../shared/data');
const present = existsSync(join(dataDir, 'mitdb', '101.hea'));
if (!present) console.warn(`SKIPPED: no recordings in ${dataDir} (set BIO_TEST_DATA)`);

describe('matchBeats', () => {
  const always = (): boolean => true;

  test('counts a hand-made case as by hand', () => {
    // 1000 Hz, window 150 samples.
    //   1000 -> 1000 hit; 2000 -> 2150 hit at the very edge; 3000 -> 3151 outside: one FN and one FP;
    //   4000 -> 3900 and 4010: the nearer one is the hit, the other an FP; 5000 and 5200 -> 5120: nearer to 5200, so 5000 is an FN;
    //   6000 -> none: FN; 7000 detected without a reference: FP.
    const match = matchBeats([1000, 2000, 3000, 4000, 5000, 5200, 6000], [1000, 2150, 3151, 3900, 4010, 5120, 7000], 1000, [], always);
    expect(match.tp).toBe(4);
    expect(match.fp).toEqual([3151, 3900, 7000]);
    expect(match.fn).toEqual([3000, 5000, 6000]);
    expect([...match.referenceOf]).toEqual([0, 1, -1, -1, 3, 5, -1]);
    const counts: Counts = { tp: 0, fp: 0, fn: 0 };
    addCounts(counts, match);
    expect([sensitivity(counts), predictivity(counts), f1(counts)]).toEqual([400 / 7, 400 / 7, 400 / 7]);
  });

  test('leaves out the first five minutes and flutter, with the window on both sides', () => {
    const fs = 10;
    const match = matchBeats([2990, 3001, 4000, 5000], [2999, 3500, 4010, 4985], fs, [[3990, 4005]]);
    expect(match).toMatchObject({ tp: 0, fp: [3500, 4010, 4985], fn: [3001, 5000] });
    expect(matchBeats([2999, 3100], [3000, 3100], fs)).toMatchObject({ tp: 1, fp: [], fn: [] });
  });

  test('an empty list on either side is all errors on the other', () => {
    expect(matchBeats([], [1, 2], 10, [], always)).toMatchObject({ tp: 0, fp: [1, 2], fn: [] });
    expect(matchBeats([1, 2], [], 10, [], always)).toMatchObject({ tp: 0, fp: [], fn: [1, 2] });
  });
});

/** Floors may only rise. The whole set is scored by `npm run accuracy`. */
describe.skipIf(!present)('R peaks of MIT-BIH', () => {
  it.each([
    ['101', 99.9],
    ['104', 99.7],
    ['108', 99.6],
    ['116', 99.5],
    ['119', 99.99],
    ['203', 99.2],
    ['208', 99.65],
    ['223', 99.99],
  ])('record %s: F1 is at least %f', async (name, floor) => {
    const recording = (await loadMitdb(dataDir)).find((r) => r.name === name)!;
    const match = matchBeats(recording.beats, detectRecording(recording, recording.leads.slice(0, 1)), recording.fs, recording.flutter);
    expect(f1({ tp: match.tp, fp: match.fp.length, fn: match.fn.length })).toBeGreaterThanOrEqual(floor);
  });

  test('gross over the recordings: first lead 99.90 (sensitivity and predictivity 99.88), all leads fused 99.95, each half 99.87', async () => {
    const first: Counts = { tp: 0, fp: 0, fn: 0 };
    const fused: Counts = { tp: 0, fp: 0, fn: 0 };
    const halves: Counts[] = [
      { tp: 0, fp: 0, fn: 0 },
      { tp: 0, fp: 0, fn: 0 },
    ];
    for (const [index, r] of (await loadMitdb(dataDir)).entries()) {
      const match = matchBeats(r.beats, detectRecording(r, r.leads.slice(0, 1)), r.fs, r.flutter);
      addCounts(first, match);
      addCounts(halves[index % 2]!, match);
      addCounts(fused, matchBeats(r.beats, detectRecording(r, r.leads), r.fs, r.flutter));
    }
    expect(f1(first)).toBeGreaterThanOrEqual(99.905);
    expect(sensitivity(first)).toBeGreaterThanOrEqual(99.88);
    expect(predictivity(first)).toBeGreaterThanOrEqual(99.93);
    expect(f1(fused)).toBeGreaterThanOrEqual(99.95);
    for (const half of halves) expect(f1(half)).toBeGreaterThanOrEqual(99.87);
  });

  test('electrode motion at 12, 6 and 0 dB on four recordings', async () => {
    const noise = loadElectrodeMotion(dataDir)!;
    const floors = { 12: 99.8, 6: 99.3, 0: 92.5 };
    for (const [snr, floor] of Object.entries(floors)) {
      const total: Counts = { tp: 0, fp: 0, fn: 0 };
      for (const recording of await loadMitdb(dataDir)) {
        if (!['101', '118', '205', '220'].includes(recording.name)) continue;
        const detected = detectRecording(recording, [addNoise(recording, 0, noise, Number(snr))]);
        addCounts(total, matchBeats(recording.beats, detected, recording.fs, recording.flutter));
      }
      expect(f1(total), `${snr} dB`).toBeGreaterThanOrEqual(floor);
    }
  });

  test('detect writes an annotation file that scores the same', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'detect-'));
    try {
      const { path, beatCount } = await detectRecord(join(dataDir, 'mitdb', '101.hea'), '0', 'bio', folder);
      expect(path).toBe(join(folder, '101.bio'));
      const annotations = await readAnnotations(path);
      expect(annotations).toHaveLength(beatCount);
      const recording = (await loadMitdb(dataDir)).find((r) => r.name === '101')!;
      const match = matchBeats(
        recording.beats,
        annotations.map((a) => a.sample),
        recording.fs,
      );
      expect(match.fp.length + match.fn.length).toBeLessThanOrEqual(2);
      await expect(detectRecord(join(dataDir, 'mitdb', '101.hea'), 'nolead', 'bio', folder)).rejects.toMatchObject({
        code: 'validation_failed',
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
