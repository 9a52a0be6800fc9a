/** Ventricular and supraventricular beats by AAMI EC57, beat by beat, first lead, no recording's labels known beforehand. Gross: sums over
 *  recordings; a beat that was not detected counts as not found, a false detection as one falsely called. As is usual (de Chazal et al.
 *  2004, doi:10.1109/TBME.2004.827359), a fusion beat called ventricular is no error, nor is an unknown
 *  one; paced recordings are left out. */
import { callOrigins, fitOrigins, originOf, paced, shapedBeats, weightTables } from './beat-origin-fit.ts';
import type { Origin, ShapedBeat } from './beat-origin-fit.ts';
import { ecgChannels } from './ecg-detection-section.ts';
import { streamRows } from './hrv-stream.ts';
import { loadMitdb, loadQtdb, matchRecording } from './mitdb-recordings.ts';
import type { EcgRecording } from './mitdb-recordings.ts';
import type { ChosenOn, DatabaseFigure, Options, Section } from './section.ts';

type Called = Readonly<{ sec: number; called: string }>;
type Score = { found: number; all: number; falsely: number };

const forgiven: Readonly<Record<'V' | 'S', readonly Origin[]>> = { V: ['F', 'Q'], S: ['Q'] };

function called({ leads, fs }: EcgRecording): Called[] {
  const { beats } = streamRows(ecgChannels(leads.slice(0, 1), fs));
  return beats
    .filter(({ kind }) => kind !== 'interpolated')
    .map(({ tNs, reason }) => ({
      sec: Number(tNs) / 1e9,
      called: reason === 'ventricular' ? 'V' : reason === 'supraventricular' ? 'S' : 'N',
    }));
}

function score(recording: EcgRecording, calls: readonly Called[]): { V: Score; S: Score } {
  const { fs, codes, beats, countFromSec } = recording;
  const { referenceOf } = matchRecording(recording, calls.map(({ sec }) => sec * fs)); // prettier-ignore
  const scores = { V: { found: 0, all: 0, falsely: 0 }, S: { found: 0, all: 0, falsely: 0 } };
  for (const kind of ['V', 'S'] as const) {
    beats.forEach((at, i) => void (at >= countFromSec * fs && originOf(codes[i]!) === kind && scores[kind].all++));
    calls.forEach(({ sec, called: call }, i) => {
      if (call !== kind || sec < countFromSec) return;
      const origin = referenceOf[i]! < 0 ? '-' : originOf(codes[referenceOf[i]!]!);
      if (origin === kind) scores[kind].found++;
      else if (!forgiven[kind].includes(origin)) scores[kind].falsely++;
    });
  }
  return scores;
}

export async function run(dataDir: string, { leaveOut }: Options): Promise<Section | null> {
  const databases: [string, ChosenOn, EcgRecording[]][] = [
    ['mitdb', 'yes', await loadMitdb(dataDir)],
    ['qtdb', 'in part', leaveOut === null ? await loadQtdb(dataDir) : []],
  ];
  const rows: string[][] = [['recording', 'chosen on', 'V', 'V Se %', 'V +P %', 'S', 'S Se %', 'S +P %']];
  const json: Record<string, unknown> = {};
  const byDatabase: DatabaseFigure[] = [];
  const notes: string[] = [];
  for (const [database, chosenOn, all] of databases) {
    const recordings = all.filter(({ name }) => !paced.has(name));
    if (recordings.length === 0) continue;
    const gross = { V: { found: 0, all: 0, falsely: 0 }, S: { found: 0, all: 0, falsely: 0 } };
    const shaped = new Map<string, ShapedBeat[]>(leaveOut === null ? [] : recordings.map((r) => [r.name, shapedBeats(r)]));
    for (const recording of recordings) {
      const { name } = recording;
      const others = new Map([...shaped].filter(([other]) => other !== name));
      const weights = leaveOut === null ? null : fitOrigins(others);
      const calls =
        weights === null
          ? called(recording)
          : callOrigins(shaped.get(name)!, weights).map((call, i) => ({ sec: shaped.get(name)![i]!.sec, called: call }));
      const own = score(recording, calls);
      for (const kind of ['V', 'S'] as const) for (const key of ['found', 'all', 'falsely'] as const) gross[kind][key] += own[kind][key];
      if (own.V.all + own.S.all + own.V.falsely + own.S.falsely >= 20)
        rows.push([`${database} ${name}`, chosenOn, ...cells(own.V), ...cells(own.S)]);
    }
    rows.push([`${database}, gross`, leaveOut === null ? chosenOn : 'no', ...cells(gross.V), ...cells(gross.S)]);
    json[database] = { V: shares(gross.V), S: shares(gross.S) };
    for (const [kind, what] of [
      ['V', 'ventricular'],
      ['S', 'supraventricular'],
    ] as const) {
      // prettier-ignore
      const [n = '', se, ppv] = cells(gross[kind]);
      byDatabase.push({
        what: `${what} beats: Se; +P, %`,
        database,
        chosenOn: leaveOut === null ? chosenOn : 'no',
        n,
        figure: `${se}; ${ppv}`,
      });
    }
    if (leaveOut !== null) notes.push(...weightTables(fitOrigins(shaped)));
  }
  return rows.length === 1 ? null : { title: 'Kinds of beats', rows, json, byDatabase, notes };
}

const share = (part: number, whole: number): number => (whole === 0 ? Number.NaN : (100 * part) / whole);
const shares = (s: Score): Record<string, number> => ({
  beats: s.all,
  se: share(s.found, s.all),
  ppv: share(s.found, s.found + s.falsely),
});
const cells = (s: Score): string[] => [String(s.all), ...[share(s.found, s.all), share(s.found, s.found + s.falsely)].map((x) => (Number.isNaN(x) ? '-' : x.toFixed(1)))]; // prettier-ignore
