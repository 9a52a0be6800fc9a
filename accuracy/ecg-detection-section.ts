/** R peaks against the annotations, through the engine: by database, at other sampling rates, per recording. */
import { drawStretch } from './draw-misses.ts';
import { beatSeconds, streamRows } from './hrv-stream.ts';
import type { PhysicalChannel } from './hrv-stream.ts';
import { addCounts, countsHeader, countsJson, countsRow, f1 } from './match-beats.ts';
import type { Counts } from './match-beats.ts';
import { loadMitdb, loadQtdb, matchRecording, resample } from './mitdb-recordings.ts';
import type { EcgRecording } from './mitdb-recordings.ts';
import { f1Spread } from './resample-records.ts';
import type { ChosenOn, DatabaseFigure, Picture, Section } from './section.ts';

const PICTURES_MAX = 24;
const none = (): Counts => ({ tp: 0, fp: 0, fn: 0 });

export const ecgChannels = (leads: readonly Float64Array[], fs: number): PhysicalChannel[] =>
  leads.map((samples, i) => ({ code: `ecg.${i + 1}`, kind: 'ecg', fs, unit: 'mV', samples }));

/** R peaks of one recording as the service stores them, in samples of its own rate. @param fs rate to resample to before detection */
export function detectRecording(recording: EcgRecording, leads: readonly Float64Array[], fs = recording.fs): Float64Array {
  const at = fs === recording.fs ? leads : leads.map((lead) => resample(lead, recording.fs, fs));
  return beatSeconds(streamRows(ecgChannels(at, fs)), 'ecg').map((sec) => sec * recording.fs);
}

export function countRecording(recording: EcgRecording, leads: readonly Float64Array[], fs?: number): Counts {
  const own = none();
  addCounts(own, matchRecording(recording, detectRecording(recording, leads, fs)));
  return own;
}

const errors = ({ fp, fn }: Counts): number => fp + fn;
const sum = (counts: readonly Counts[]): Counts => counts.reduce((a, b) => ({ tp: a.tp + b.tp, fp: a.fp + b.fp, fn: a.fn + b.fn }), none());
const sameLength = ({ leads }: EcgRecording): Float64Array[] => leads.filter((lead) => lead.length === leads[0]!.length);

type ByLead = Readonly<{ first: Counts; second: Counts | null; better: Counts; fused: Counts }>;

/** Every lead alone, the better of the first two, and all fused. */
export function countLeads(recording: EcgRecording): ByLead {
  const leads = sameLength(recording);
  const first = countRecording(recording, leads.slice(0, 1));
  const second = leads.length > 1 ? countRecording(recording, leads.slice(1, 2)) : null;
  const better = second !== null && errors(second) < errors(first) ? second : first;
  return { first, second, better, fused: leads.length > 1 ? countRecording(recording, leads) : first };
}

export async function run(dataDir: string): Promise<Section | null> {
  const sets: readonly (readonly [string, ChosenOn, readonly EcgRecording[]])[] = [
    ['mitdb', 'yes', await loadMitdb(dataDir)],
    ['qtdb', 'no', await loadQtdb(dataDir)],
  ];
  const present = sets.filter(([, , recordings]) => recordings.length > 0);
  if (present.length === 0) return null;
  const rows: string[][] = [['recordings', 'chosen on', ...countsHeader.slice(1)]];
  const row = (name: string, chosenOn: string, counts: Counts): number => {
    const [, ...cells] = countsRow(name, counts);
    return rows.push([name, chosenOn, ...cells]);
  };
  const json: Record<string, unknown> = {};
  const byDatabase: DatabaseFigure[] = [];
  const totals: Record<string, Counts> = { 'first lead': none(), 'leads fused': none() };
  const recordRows: [string, string, Counts][] = [];
  const pictures: Picture[] = [];
  for (const [database, chosenOn, recordings] of present) {
    const counted = recordings.map(countLeads);
    const kinds = {
      'first lead': sum(counted.map(({ first }) => first)),
      'second lead': sum(counted.map(({ second }) => second ?? none())),
      'better lead': sum(counted.map(({ better }) => better)),
      'leads fused': sum(counted.map(({ fused }) => fused)),
    };
    for (const [kind, counts] of Object.entries(kinds)) {
      row(`${database}, ${kind}`, chosenOn, counts);
      const n = `${recordings.length} recordings, ${counts.tp + counts.fn} beats`;
      byDatabase.push({ what: `R peaks, ${kind}: F1 %`, database, chosenOn, n, figure: f1(counts).toFixed(3) });
      if (kind in totals) totals[kind] = sum([totals[kind]!, counts]);
    }
    const perRecord = Object.fromEntries(recordings.map(({ name }, i) => [name, counted[i]!.first]));
    const worst = Object.entries(perRecord).toSorted(([, a], [, b]) => f1(a) - f1(b))[0]!;
    const spread = f1Spread(Object.values(perRecord));
    json[database] = {
      ...Object.fromEntries(Object.entries(kinds).map(([kind, counts]) => [kind, countsJson(counts)])),
      fusedOverBetter: f1(kinds['leads fused']) - f1(kinds['better lead']),
      f1Spread: spread,
      worstRecord: { name: worst[0], f1: f1(worst[1]) },
      records: Object.fromEntries(Object.entries(perRecord).map(([name, counts]) => [name, countsJson(counts)])),
    };
    if (database === 'mitdb') Object.assign(json[database] as object, ratesOf(recordings, row));
    recordRows.push(
      ...Object.entries(perRecord).map(([name, counts]): [string, string, Counts] => [`${database} ${name}`, chosenOn, counts]),
    );
    pictures.push(...worstStretches(recordings, Object.values(perRecord)));
  }
  for (const [kind, counts] of Object.entries(totals)) {
    row(`total, ${kind}`, 'in part', counts);
    const n = `${counts.tp + counts.fn} beats`;
    byDatabase.push({ what: `R peaks, ${kind}: F1 %`, database: 'total', chosenOn: 'in part', n, figure: f1(counts).toFixed(3) });
  }
  for (const [name, chosenOn, counts] of recordRows) if (errors(counts) > 0) row(name, chosenOn, counts);
  const spreads = present.map(([database]) => {
    const { leftOut, drawn } = (json[database] as { f1Spread: ReturnType<typeof f1Spread> }).f1Spread;
    const range = ([low, high]: readonly [number, number]): string => `${low.toFixed(3)} to ${high.toFixed(3)}`;
    return `${database}, F1 of the first lead with one recording left out: ${range(leftOut)}; of as many recordings drawn with replacement, two thirds of 10,000 draws: ${range(drawn)}.`;
  });
  return {
    title: 'ECG: R peaks against annotations, through the engine',
    rows,
    json,
    byDatabase,
    notes: [
      'The beats that the service stores, of the leads named; single recordings: first lead, those with an error.',
      'Matched within 150 ms, one to one; mitdb from minute 5, ventricular flutter left out (EC57), qtdb whole. Rules in accuracy/match-beats.ts. Better lead: of each recording, known only afterwards.',
      ...spreads,
    ],
    pictures: pictures.slice(0, PICTURES_MAX),
  };
}

/** What nothing was chosen by: the leads in the other order, other sampling rates. */
function ratesOf(
  recordings: readonly EcgRecording[],
  row: (name: string, chosenOn: string, counts: Counts) => void,
): Record<string, unknown> {
  const figures: Record<string, unknown> = {};
  const note = (name: string, of: (recording: EcgRecording) => Counts): void => {
    const counts = sum(recordings.map(of));
    row(`mitdb, ${name}`, 'in part', counts);
    figures[name] = countsJson(counts);
  };
  note('leads fused, the last one first', (r) => countRecording(r, sameLength(r).toReversed()));
  for (const fs of [250, 500]) note(`leads fused at ${fs} Hz`, (r) => countRecording(r, sameLength(r), fs));
  for (const fs of [125, 250, 500]) note(`first lead at ${fs} Hz`, (r) => countRecording(r, r.leads.slice(0, 1), fs));
  return figures;
}

/** One picture per recording, at its first error; the recordings with most errors first. */
function worstStretches(recordings: readonly EcgRecording[], counts: readonly Counts[]): Picture[] {
  const order = recordings.map((_, i) => i).toSorted((a, b) => errors(counts[b]!) - errors(counts[a]!));
  return order.slice(0, PICTURES_MAX / 2).flatMap((i) => {
    const recording = recordings[i]!;
    const detected = detectRecording(recording, recording.leads.slice(0, 1));
    const match = matchRecording(recording, detected);
    const first = [...match.fp.map((at) => ({ at, kind: 'FP' })), ...match.fn.map((at) => ({ at, kind: 'FN' }))].toSorted(
      (a, b) => a.at - b.at,
    )[0];
    if (first === undefined) return [];
    const { name, fs, leads, beats } = recording;
    const caption = `${name}: ${first.kind} at ${(first.at / fs).toFixed(2)} s (${errors(counts[i]!)} errors); green: reference, red: detected`;
    return [drawStretch(caption, leads[0]!, fs, first.at, beats, detected)];
  });
}
