/** R peaks of the first lead of recordings that begin later: how much hangs on what a detector, and each segment, happens to see first. */
import { ecgChannels } from './ecg-detection-section.ts';
import { beatSeconds, streamRows } from './hrv-stream.ts';
import { addCounts, countsHeader, countsJson, countsRow, f1 } from './match-beats.ts';
import { loadMitdb, loadQtdb, matchRecording } from './mitdb-recordings.ts';
import type { EcgRecording } from './mitdb-recordings.ts';
import type { ChosenOn, DatabaseFigure, Section } from './section.ts';

/** s. The engine's segments are 64 s, so that each start has its own. */
const starts = [0, 7, 23, 39, 55];

export async function run(dataDir: string): Promise<Section | null> {
  const table: string[][] = [['recordings, and s left out at their start', 'chosen on', ...countsHeader.slice(1)]];
  const json: Record<string, Record<string, unknown>> = {};
  const byDatabase: DatabaseFigure[] = [];
  for (const [database, chosenOn, recordings] of [
    ['mitdb', 'yes', await loadMitdb(dataDir)],
    ['qtdb', 'in part', await loadQtdb(dataDir)],
  ] as [string, ChosenOn, readonly EcgRecording[]][]) {
    if (recordings.length === 0) continue;
    const figures: number[] = [];
    for (const sec of starts) {
      const total = { tp: 0, fp: 0, fn: 0 };
      for (const recording of recordings) {
        const later = begunLater(recording, sec);
        const detected = beatSeconds(streamRows(ecgChannels([later.leads[0]!], later.fs)), 'ecg', false);
        addCounts(
          total,
          matchRecording(
            later,
            detected.map((at) => at * later.fs),
          ),
        );
      }
      const [, ...cells] = countsRow('', total);
      table.push([`${database}, ${sec}`, sec === 0 ? chosenOn : 'in part', ...cells]);
      (json[database] ??= {})[sec] = { ...countsJson(total), ...total };
      figures.push(f1(total));
    }
    byDatabase.push({
      what: `R peaks, first lead, begun at ${starts.join(', ')} s: lowest and highest F1 %`,
      database,
      chosenOn: 'in part',
      n: `${recordings.length} recordings`,
      figure: `${Math.min(...figures).toFixed(3)}, ${Math.max(...figures).toFixed(3)}`,
    });
  }
  if (byDatabase.length === 0) return null;
  return {
    title: 'ECG: R peaks of recordings that begin later, through the engine',
    rows: table,
    json,
    byDatabase,
    notes: [
      'First lead. A detector learns from what it sees first, and the engine begins one anew in each segment of 64 s (with 16 s before it), so each start is another draw. Of mitdb the first 5 minutes of what is left are not counted (EC57).',
    ],
  };
}

/** @param sec left out at its start */
export function begunLater(recording: EcgRecording, sec: number): EcgRecording {
  const from = Math.round(sec * recording.fs);
  const kept = recording.beats.findIndex((beat) => beat >= from);
  return {
    ...recording,
    leads: recording.leads.map((lead) => lead.subarray(from)),
    beats: recording.beats.subarray(kept).map((beat) => beat - from),
    codes: recording.codes.slice(kept),
    flutter: recording.flutter.map(([start, end]) => [start - from, end - from] as const),
    rhythms: recording.rhythms.map((rhythm) => ({ ...rhythm, from: rhythm.from - from, to: rhythm.to - from })),
  };
}
