/** R peaks of the first lead with pulses of a pacemaker, lost packets, an electrode that comes off, and steps, through the engine. */
import { addPacing, addSteps, electrodeOff, losePackets, unsensedPulses } from '../src/dsp/testing/ecg-faults.ts';
import { ecgChannels } from './ecg-detection-section.ts';
import { beatSeconds, streamRows } from './hrv-stream.ts';
import { addCounts, countsHeader, countsJson, countsRow, f1 } from './match-beats.ts';
import type { Counts } from './match-beats.ts';
import { loadMitdb, loadQtdb, matchRecording } from './mitdb-recordings.ts';
import type { EcgRecording } from './mitdb-recordings.ts';
import type { ChosenOn, DatabaseFigure, Section } from './section.ts';

const LOST = 'lost';
/** Beats of reason `bridged` counted, too. */
const WITH_BRIDGED = ', bridged beats counted';

type Fault = (x: Float64Array, fs: number) => Float64Array;

const faults: Readonly<Record<string, Fault>> = {
  none: (x) => x,
  'pulses of 5 mV, 1.5 ms, 66 /min': (x, fs) => addPacing(x, fs, unsensedPulses(x.length / fs, 66), 0.0015, 5),
  'packets of 100 ms, 1 % lost': (x, fs) => losePackets(x, fs, 0.1, 0.01, 5),
  'packets of 100 ms, 5 % lost': (x, fs) => losePackets(x, fs, 0.1, 0.05, 5),
  'electrode off, 5 s a minute': (x, fs) => electrodeOff(x, fs, 5),
  'steps of 5 mV, every 10 s': (x, fs) => addSteps(x, fs, 10, 5, 3),
};

export async function run(dataDir: string): Promise<Section | null> {
  const table: string[][] = [['recordings and fault', 'chosen on', ...countsHeader.slice(1), 'points lost']];
  const json: Record<string, Record<string, unknown>> = {};
  const byDatabase: DatabaseFigure[] = [];
  for (const [database, chosenOn, recordings] of [
    ['mitdb', 'yes', await loadMitdb(dataDir)],
    ['qtdb', 'in part', await loadQtdb(dataDir)],
  ] as [string, ChosenOn, readonly EcgRecording[]][])
    for (const [name, fault] of recordings.length === 0 ? [] : Object.entries(faults)) {
      const counted = [{ bridged: false, total: none() }];
      if (name.endsWith(LOST)) counted.push({ bridged: true, total: none() });
      for (const recording of recordings) {
        const rows = streamRows(ecgChannels([fault(recording.leads[0]!, recording.fs)], recording.fs));
        for (const { bridged, total } of counted) {
          const detected = beatSeconds(rows, 'ecg', bridged).map((sec) => sec * recording.fs);
          addCounts(total, matchRecording(withoutOff(recording, name), detected));
        }
      }
      for (const { bridged, total } of counted) {
        const what = bridged ? name + WITH_BRIDGED : name;
        const own = (json[database] ??= {});
        const points = f1((own['none'] as Counts | undefined) ?? total) - f1(total);
        const [, ...cells] = countsRow('', total);
        table.push([`${database}, ${what}`, chosenOn, ...cells, points.toFixed(3)]);
        own[what] = { ...countsJson(total), ...total, lost: points };
        const n = `${recordings.length} recordings, ${total.tp + total.fn} beats`;
        byDatabase.push({ what: `R peaks, ${what}: F1 %`, database, chosenOn, n, figure: f1(total).toFixed(3) });
      }
    }
  if (byDatabase.length === 0) return null;
  return {
    title: 'ECG: R peaks with faults of electrodes and transport, through the engine',
    rows: table,
    json,
    byDatabase,
    notes: [
      'First lead. The pulses keep a rate of their own, as of a pacemaker that does not sense the heart. Beats while the electrode is off are left out; those in lost packets count. Bridged: beats that the service puts into lost samples where the rhythm has room for them, and marks so; they enter no other figure.',
    ],
  };
}

const none = (): Counts => ({ tp: 0, fp: 0, fn: 0 });

/** Without the beats that nobody can find. */
function withoutOff(recording: EcgRecording, fault: string): EcgRecording {
  if (!fault.startsWith('electrode')) return recording;
  const { fs, leads, flutter } = recording;
  const off: [number, number][] = [];
  for (let from = 33 * fs; from < leads[0]!.length; from += 60 * fs) off.push([from, from + 5 * fs]);
  return { ...recording, flutter: [...flutter, ...off] };
}
