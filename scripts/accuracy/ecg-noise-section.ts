/** R peaks while recorded electrode-motion noise is added to alternate 2-minute stretches. */
import { detectRecording } from './ecg-detection-section.ts';
import { addCounts, countsHeader, countsJson, countsRow, matchBeats } from './match-beats.ts';
import type { Counts } from './match-beats.ts';
import { addNoise, loadElectrodeMotion, loadMitdb } from './mitdb-recordings.ts';
import type { Section } from './section.ts';

export const snrsDb = [24, 18, 12, 6, 0, -6];

export async function run(dataDir: string): Promise<Section | null> {
  const recordings = await loadMitdb(dataDir);
  const noise = loadElectrodeMotion(dataDir);
  if (recordings.length === 0 || noise === null) return null;
  const rows: string[][] = [['SNR', ...countsHeader.slice(1)]];
  const json: Record<string, unknown> = {};
  for (const snrDb of snrsDb) {
    const total: Counts = { tp: 0, fp: 0, fn: 0 };
    for (const recording of recordings) {
      const detected = detectRecording(recording, [addNoise(recording, 0, noise, snrDb)]);
      addCounts(total, matchBeats(recording.beats, detected, recording.fs, recording.flutter));
    }
    rows.push(countsRow(`${snrDb} dB`, total));
    json[`${snrDb} dB`] = countsJson(total);
  }
  return {
    title: 'ECG: R peaks under electrode-motion noise',
    rows,
    json: { gross: json },
    notes: [
      'Noise in alternate 2-minute stretches from minute 5; figures are over the noisy and the clean ones, as in the NSTDB protocol.',
      'Power of signal and noise as WFDB nst measures them; the loop is 40 s long, so the figures are relative to it.',
    ],
  };
}
