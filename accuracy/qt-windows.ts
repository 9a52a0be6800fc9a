/** The QT intervals that the service gives for the stretches of QTDB that a cardiologist marked (q1c). */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { medianOf } from '../src/dsp/hrv/median.ts';
import { featureMethods, methodIndex } from '../src/dsp/rows/methods.ts';
import { readAnnotations } from '../src/formats/wfdb-annotations.ts';
import { physicalSamples, readRecord } from '../src/formats/wfdb-read.ts';
import { GOOD } from '../src/signal.ts';
import { markedBeats } from './delineation-section.ts';
import { ecgChannels } from './ecg-detection-section.ts';
import { streamRows } from './hrv-stream.ts';
import type { StreamRows } from './hrv-stream.ts';

/** Fewer marked beats make no median: as the service has it. */
export const beatsMin = 10;
/** A QT is wrong when it is further than this from the marks, ms; QTDB has a sample every 4 ms, and medians halves of them. */
export const wrongFromMs = 20.5;

type Marks = ReturnType<typeof markedBeats>;

/** A value of qt_60s over at least `beatsMin` marked beats. */
export type QtWindow = Readonly<{ errorMs: number; isWrong: boolean; isGood: boolean }>;

/** Names of the recordings of QTDB with marks. */
export const markedRecordings = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder)
        .filter((file) => file.endsWith('.q1c'))
        .map((file) => file.slice(0, -'.q1c'.length))
        .toSorted()
    : [];

export function windowsOf({ features }: StreamRows, marks: Marks): QtWindow[] {
  const { windowSec } = featureMethods[methodIndex('qt_60s')]!;
  return (features.get('qt_60s') ?? []).flatMap(({ tNs, value, qmask }) => {
    const sec = Number(tNs) / 1e9;
    const own = marks.filter(({ r, qrsOnset, tEnd }) => r > sec - windowSec && r <= sec && qrsOnset !== undefined && tEnd !== undefined);
    if (own.length < beatsMin) return [];
    const marked = Float64Array.from(own, ({ qrsOnset, tEnd }) => 1000 * (tEnd! - qrsOnset!));
    const errorMs = value - medianOf(marked, marked.length);
    return [{ errorMs, isWrong: Math.abs(errorMs) > wrongFromMs, isGood: qmask === GOOD }];
  });
}

export type QtOfRecording = Readonly<{ name: string; windows: readonly QtWindow[]; values: number; good: number }>;

/** @param order of the leads, e.g. [1, 0]: the second one first */
export async function qtOfRecordings(folder: string, names: readonly string[], order: readonly number[]): Promise<QtOfRecording[]> {
  const all: QtOfRecording[] = [];
  for (const name of names) {
    const { fs, leads } = await readRecord(join(folder, `${name}.hea`));
    const marks = markedBeats(await readAnnotations(join(folder, `${name}.q1c`)), fs);
    const chosen = order.map((no) => physicalSamples(leads[no]!));
    const rows = streamRows(ecgChannels(chosen, fs));
    const values = rows.features.get('qt_60s') ?? [];
    const good = values.filter(({ qmask }) => qmask === GOOD).length;
    all.push({ name, windows: windowsOf(rows, marks), values: values.length, good });
  }
  return all;
}

/** Of all windows: wrong ones, and how many of these are flagged; right ones, and how many of these are good. */
export function countWindows(recordings: readonly QtOfRecording[]): { wrong: number; flagged: number; right: number; good: number } {
  const windows = recordings.flatMap((one) => one.windows);
  const wrong = windows.filter(({ isWrong }) => isWrong);
  const right = windows.filter(({ isWrong }) => !isWrong);
  return {
    wrong: wrong.length,
    flagged: wrong.filter(({ isGood }) => !isGood).length,
    right: right.length,
    good: right.filter(({ isGood }) => isGood).length,
  };
}
