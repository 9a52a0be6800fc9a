/** R peaks of two leads fused, where electrode motion is in one of them or in both, through the engine. */
import { countRecording } from './ecg-detection-section.ts';
import { countsHeader, countsJson, countsRow, f1 } from './match-beats.ts';
import type { Counts } from './match-beats.ts';
import { addNoise, loadElectrodeMotion, loadMitdb, loadQtdb } from './mitdb-recordings.ts';
import type { EcgRecording } from './mitdb-recordings.ts';
import type { ChosenOn, DatabaseFigure, Section } from './section.ts';

const snrsDb = [6, 0];

export async function run(dataDir: string): Promise<Section | null> {
  const noise = loadElectrodeMotion(dataDir);
  if (noise === null) return null;
  // The loop of noise, half of it later: the two leads are not disturbed alike.
  const later = noise.map((_, i) => noise[(i + (noise.length >> 1)) % noise.length]!);
  const rows: string[][] = [['recordings, noisy lead, SNR', 'chosen on', ...countsHeader.slice(1)]];
  const json: Record<string, Record<string, unknown>> = {};
  const byDatabase: DatabaseFigure[] = [];
  for (const [database, chosenOn, all] of [
    ['mitdb', 'in part', await loadMitdb(dataDir)],
    ['qtdb', 'in part', await loadQtdb(dataDir)],
  ] as [string, ChosenOn, EcgRecording[]][]) {
    const recordings = all.filter(({ leads }) => leads.length > 1 && leads[1]!.length === leads[0]!.length);
    for (const snrDb of recordings.length === 0 ? [] : snrsDb)
      for (const noisy of ['first', 'second', 'both']) {
        const total: Counts = { tp: 0, fp: 0, fn: 0 };
        for (const recording of recordings) {
          const first = noisy === 'second' ? recording.leads[0]! : addNoise(recording, 0, noise, snrDb);
          const second = noisy === 'first' ? recording.leads[1]! : addNoise(recording, 1, later, snrDb);
          const { tp, fp, fn } = countRecording(recording, [first, second]);
          total.tp += tp;
          total.fp += fp;
          total.fn += fn;
        }
        const [, ...cells] = countsRow('', total);
        rows.push([`${database}, ${noisy}, ${snrDb} dB`, chosenOn, ...cells]);
        (json[database] ??= {})[`${noisy} ${snrDb} dB`] = countsJson(total);
        if (noisy !== 'both') continue;
        const n = `${recordings.length} recordings, ${total.tp + total.fn} beats`;
        byDatabase.push({
          what: `R peaks, leads fused, electrode motion in both, ${snrDb} dB: F1 %`,
          database,
          chosenOn,
          n,
          figure: f1(total).toFixed(2),
        });
      }
  }
  if (byDatabase.length === 0) return null;
  return {
    title: 'ECG: R peaks of two leads under electrode-motion noise, through the engine',
    rows,
    json,
    byDatabase,
    notes: [
      'First two leads of recordings that have two of one rate. Noise as in the section of the first lead; the second lead has the other half of the loop first.',
    ],
  };
}
