/** Are wrong QT intervals flagged? Every stored value of qt_60s whose minute holds at least ten beats that a cardiologist marked (QTDB,
 *  q1c) against the median of these marks; and the share of time with a good QT, there and in MIT-BIH. */
import { join } from 'node:path';
import { GOOD } from '../src/signal.ts';
import { ecgChannels } from './ecg-detection-section.ts';
import { streamRows } from './hrv-stream.ts';
import { loadMitdb } from './mitdb-recordings.ts';
import { beatsMin, countWindows, markedRecordings, qtOfRecordings, wrongFromMs } from './qt-windows.ts';
import type { QtOfRecording } from './qt-windows.ts';
import type { DatabaseFigure, Section } from './section.ts';

/** Which leads are sent, in which order. */
const orders = { 'both leads': [0, 1], 'both, the second first': [1, 0], 'first alone': [0], 'second alone': [1] } as const;

/** Two halves that nobody chose: by FNV-1a of the name. */
function halfOf(name: string): 'A' | 'B' {
  let hash = 2_166_136_261;
  for (const letter of name) hash = Math.imul(hash ^ letter.codePointAt(0)!, 16_777_619);
  return (hash & 1) === 0 ? 'A' : 'B';
}

const percent = (part: number, of: number): string => (of === 0 ? '-' : ((100 * part) / of).toFixed(1));

function rowOf(what: string, recordings: readonly QtOfRecording[]): string[] {
  const { wrong, flagged, right, good } = countWindows(recordings);
  const errors = recordings.flatMap(({ windows }) => windows.filter(({ isGood }) => isGood).map(({ errorMs }) => errorMs));
  const mean = errors.reduce((sum, ms) => sum + ms, 0) / errors.length;
  const sd = Math.sqrt(errors.reduce((sum, ms) => sum + (ms - mean) ** 2, 0) / (errors.length - 1));
  const worst = errors.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a), 0);
  const values = recordings.reduce((sum, one) => sum + one.values, 0);
  const goodValues = recordings.reduce((sum, one) => sum + one.good, 0);
  const shares = [String(wrong), percent(flagged, wrong), String(right), percent(good, right)];
  return [what, String(recordings.length), ...shares, mean.toFixed(1), sd.toFixed(1), worst.toFixed(0), percent(goodValues, values)];
}

export async function run(dataDir: string): Promise<Section | null> {
  const folder = join(dataDir, 'qtdb');
  const names = markedRecordings(folder);
  if (names.length === 0) return null;
  const rows: string[][] = [
    [
      'leads',
      'recordings',
      'wrong',
      'of these flagged, %',
      'right',
      'of these good, %',
      'good: mean, ms',
      'SD, ms',
      'worst',
      'time good, %',
    ],
  ];
  const json: Record<string, unknown> = {};
  const byDatabase: DatabaseFigure[] = [];
  for (const [leads, order] of Object.entries(orders)) {
    const recordings = await qtOfRecordings(folder, names, order);
    rows.push(rowOf(`qtdb, ${leads}`, recordings));
    for (const half of ['A', 'B'] as const) {
      const own = recordings.filter(({ name }) => halfOf(name) === half);
      rows.push(rowOf(`qtdb, ${leads}, half ${half}`, own));
    }
    const counts = countWindows(recordings);
    json[leads] = counts;
    byDatabase.push({
      what: `QT, ${leads}: wrong ones flagged, right ones good, %`,
      database: 'qtdb',
      chosenOn: 'yes',
      n: `${counts.wrong}, ${counts.right}`,
      figure: `${percent(counts.flagged, counts.wrong)}, ${percent(counts.good, counts.right)}`,
    });
  }
  const mitdb = await loadMitdb(dataDir);
  for (const [what, count] of [
    ['both leads', 2],
    ['first alone', 1],
  ] as const) {
    if (mitdb.length === 0) continue;
    const flags = mitdb.flatMap(({ leads, fs }) => streamRows(ecgChannels(leads.slice(0, count), fs)).features.get('qt_60s') ?? []);
    const good = flags.filter(({ qmask }) => qmask === GOOD).length;
    json[`mitdb, ${what}`] = { values: flags.length, good };
    rows.push([`mitdb, ${what}`, String(mitdb.length), '-', '-', '-', '-', '-', '-', '-', percent(good, flags.length)]);
  }
  return {
    title: 'ECG: wrong QT intervals that are flagged, QTDB',
    rows,
    json,
    byDatabase,
    notes: [
      `Values of qt_60s as the service stores them, whose minute holds at least ${beatsMin} marked beats; wrong: more than ${wrongFromMs} ms from the median of the marks (20 ms and half of what 4 ms between two samples leave). Mean, standard deviation and worst: of the values flagged 0, ours minus mark. Time: of all values of the recordings. The rules were chosen with both halves in view, in the first lead; the second one sent first, and either lead alone, are checks. MIT-BIH has no marks of T.`,
    ],
  };
}
