/** RMSSD of 60 s and its flag with hum of mains added, at several sampling rates, against the annotated beats (of the recording without
 *  it), through the engine. */
import type { Hum } from '../src/dsp/testing/ecg-faults.ts';
import { addHum } from '../src/dsp/testing/ecg-faults.ts';
import { percent } from './engine-windows.ts';
import { streamRows } from './hrv-stream.ts';
import { loadMitdb, loadQtdb, resample } from './mitdb-recordings.ts';
import type { EcgRecording } from './mitdb-recordings.ts';
import type { ChosenOn, DatabaseFigure, Section } from './section.ts';
import { normalBeatsAligned, rmssdAt } from './values-section.ts';

const rates = [125, 128, 250, 360, 500];
const hums: Readonly<Record<string, Hum>> = {
  none: { mv: 0, hz: 50 },
  '0.1 mV of 50 Hz': { mv: 0.1, hz: 50 },
  '0.1 mV of 60 Hz': { mv: 0.1, hz: 60 },
  '0.3 mV of 50 Hz': { mv: 0.3, hz: 50 },
  '0.3 mV of 60 Hz': { mv: 0.3, hz: 60 },
  '0.3 mV of 49.9 to 50.1 Hz, from minute 7 on': { mv: 0.3, hz: 50, wanderHz: 0.1, fromSec: 420 },
};
/** Of the recordings of a database, by name. */
const EVERY = 3;

/** Windows; those flagged 0; of these, those within 10 %, and those further off. */
export type HumCounts = { windows: number; good: number; right: number; wrong: number };

type Reference = Readonly<{ recording: EcgRecording; alignedSec: Float64Array }>;

export const withReference = (recordings: readonly EcgRecording[]): Reference[] =>
  recordings.map((recording) => {
    const { leads, beats, codes, fs } = recording;
    return { recording, alignedSec: normalBeatsAligned(leads[0]!, beats, codes, fs) };
  });

/** The first leads at another rate. */
export const atRate = (references: readonly Reference[], fs: number): Float64Array[] =>
  references.map(({ recording }) => (recording.fs === fs ? recording.leads[0]! : resample(recording.leads[0]!, recording.fs, fs)));

/** @param leads of the recordings, at `fs` Hz */
export function humCounts(references: readonly Reference[], leads: readonly Float64Array[], fs: number, hum: Hum): HumCounts {
  const total: HumCounts = { windows: 0, good: 0, right: 0, wrong: 0 };
  references.forEach(({ recording, alignedSec }, i) => {
    const samples = addHum(leads[i]!, fs, hum);
    const { features } = streamRows([{ code: 'ecg.1', kind: 'ecg', fs, unit: 'mV', samples }]);
    for (const { tNs, value, qmask } of features.get('hrv_rmssd_60s') ?? []) {
      const t = Number(tNs) / 1e9;
      if (recording.flutter.some(([a, b]) => t > a / recording.fs && t < b / recording.fs + 60)) continue;
      const wanted = rmssdAt(alignedSec, recording.codes, t, 60);
      if (Number.isNaN(wanted)) continue;
      total.windows++;
      if (qmask > 0) continue;
      total.good++;
      if (Math.abs(value / wanted - 1) <= 0.1) total.right++;
      else total.wrong++;
    }
  });
  return total;
}

export async function run(dataDir: string): Promise<Section | null> {
  const rows = [['recordings, rate and hum', 'chosen on', 'windows', 'flagged 0', '%', 'of these within 10 %', '%']];
  const json: Record<string, Record<string, unknown>> = {};
  const byDatabase: DatabaseFigure[] = [];
  for (const [database, chosenOn, recordings] of [
    ['mitdb', 'yes', await loadMitdb(dataDir)],
    ['qtdb', 'no', await loadQtdb(dataDir)],
  ] as [string, ChosenOn, readonly EcgRecording[]][]) {
    const references = withReference(recordings.filter((_, i) => i % EVERY === 0));
    for (const fs of references.length === 0 ? [] : rates) {
      const leads = atRate(references, fs);
      for (const [name, hum] of Object.entries(hums)) {
        const counts = humCounts(references, leads, fs, hum);
        const { windows, good, right } = counts;
        const cells = [String(windows), String(good), percent(good, windows), String(right), percent(right, good)];
        rows.push([`${database}, ${fs} Hz: ${name}`, chosenOn, ...cells]);
        (json[database] ??= {})[`${fs} Hz: ${name}`] = counts;
        if (name.startsWith('0.3') && (fs === 125 || fs === 250))
          byDatabase.push({
            what: `hrv_rmssd_60s at ${fs} Hz with ${name}: within 10 %; flagged 0, %`,
            database,
            chosenOn,
            n: String(windows),
            figure: `${percent(right, good)}; ${percent(good, windows)}`,
          });
      }
    }
  }
  if (rows.length === 1) return null;
  return {
    title: 'RMSSD of 60 s with hum of mains, through the engine',
    rows,
    json,
    byDatabase,
    notes: [
      `First lead of every third recording, brought to the rate, then hum of this amplitude added (mitdb has some hum of 60 Hz of its own). The reference is as in "Values and flags end to end": of the recording as it is, at its own rate.`,
    ],
  };
}
