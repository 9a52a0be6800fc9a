/** R peaks while recorded electrode-motion noise is added to alternate 2-minute stretches, through the engine. */
import { countRecording } from './ecg-detection-section.ts';
import { countsHeader, countsJson, countsRow, f1 } from './match-beats.ts';
import type { Counts } from './match-beats.ts';
import { addNoise, loadElectrodeMotion, loadMitdb, loadQtdb } from './mitdb-recordings.ts';
import type { ChosenOn, DatabaseFigure, Section } from './section.ts';

export const snrsDb = [24, 18, 12, 6, 0, -6];

export async function run(dataDir: string): Promise<Section | null> {
  const noise = loadElectrodeMotion(dataDir);
  if (noise === null) return null;
  const rows: string[][] = [['recordings and SNR', 'chosen on', ...countsHeader.slice(1)]];
  const json: Record<string, Record<string, unknown>> = {};
  const byDatabase: DatabaseFigure[] = [];
  for (const [database, chosenOn, recordings] of [
    ['mitdb', 'yes', await loadMitdb(dataDir)],
    ['qtdb', 'in part', await loadQtdb(dataDir)],
  ] as [string, ChosenOn, Awaited<ReturnType<typeof loadMitdb>>][]) {
    for (const snrDb of recordings.length === 0 ? [] : snrsDb) {
      const total: Counts = { tp: 0, fp: 0, fn: 0 };
      for (const recording of recordings) {
        const { tp, fp, fn } = countRecording(recording, [addNoise(recording, 0, noise, snrDb)]);
        total.tp += tp;
        total.fp += fp;
        total.fn += fn;
      }
      const [, ...cells] = countsRow('', total);
      rows.push([`${database}, ${snrDb} dB`, chosenOn, ...cells]);
      (json[database] ??= {})[`${snrDb} dB`] = countsJson(total);
      const n = `${recordings.length} recordings, ${total.tp + total.fn} beats`;
      const what = `R peaks, electrode motion ${snrDb} dB: F1 %`;
      if ([12, 6, 0].includes(snrDb)) byDatabase.push({ what, database, chosenOn, n, figure: f1(total).toFixed(2) });
    }
  }
  if (byDatabase.length === 0) return null;
  return {
    title: 'ECG: R peaks under electrode-motion noise, through the engine',
    rows,
    json,
    byDatabase,
    notes: [
      'First lead. Noise in alternate 2-minute stretches from minute 5; figures are over the noisy and the clean ones, as in the NSTDB protocol (qtdb: the clean first 5 minutes too).',
      'Power of signal and noise as WFDB nst measures them; the loop is 40 s long, so the figures are relative to it. Parameters were chosen with this noise on mitdb; of qtdb only the noise was seen.',
    ],
  };
}
