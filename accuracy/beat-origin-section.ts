/** Ventricular and supraventricular beats by AAMI EC57, beat by beat, first lead and both, no recording's labels known beforehand. Gross:
 *  sums over recordings; a beat that was not detected counts as not found, a false detection as one falsely called. As is usual (de Chazal
 *  et al. 2004, doi:10.1109/TBME.2004.827359), a fusion beat called ventricular is no error, nor is an unknown one; paced recordings and
 *  flutter are left out. */
import { callOrigins, fitOrigins, originOf, paced, shapedBeats, weightTables } from './beat-origin-fit.ts';
import type { Origin, ShapedBeat } from './beat-origin-fit.ts';
import { ecgChannels } from './ecg-detection-section.ts';
import type { BeatRow } from '../src/dsp/rows/feature-rows.ts';
import { streamRows } from './hrv-stream.ts';
import { matchSec } from './match-beats.ts';
import { readCinc } from './rhythm-section.ts';
import { loadMitdb, loadQtdb, matchRecording } from './mitdb-recordings.ts';
import type { EcgRecording } from './mitdb-recordings.ts';
import type { ChosenOn, DatabaseFigure, Options, Section } from './section.ts';

type Called = Readonly<{ sec: number; called: string }>;
type Score = { found: number; all: number; falsely: number };

const forgiven: Readonly<Record<'V' | 'S', readonly Origin[]>> = { V: ['F', 'Q'], S: ['Q'] };

function called({ leads, fs }: EcgRecording, leadCount: number): Called[] {
  const { beats } = streamRows(ecgChannels(leads.slice(0, leadCount), fs));
  return beats
    .filter(({ kind }) => kind !== 'interpolated')
    .map(({ tNs, reason }) => ({
      sec: Number(tNs) / 1e9,
      called: reason === 'ventricular' ? 'V' : reason === 'supraventricular' ? 'S' : 'N',
    }));
}

function score(recording: EcgRecording, calls: readonly Called[]): { V: Score; S: Score } {
  const { fs, codes, beats, flutter, countFromSec } = recording;
  const { referenceOf } = matchRecording(recording, calls.map(({ sec }) => sec * fs)); // prettier-ignore
  const inFlutter = (sec: number): boolean => flutter.some(([a, b]) => sec > a / fs - matchSec && sec < b / fs + matchSec);
  const scores = { V: { found: 0, all: 0, falsely: 0 }, S: { found: 0, all: 0, falsely: 0 } };
  for (const kind of ['V', 'S'] as const) {
    beats.forEach((at, i) => void (at >= countFromSec * fs && originOf(codes[i]!) === kind && scores[kind].all++));
    calls.forEach(({ sec, called: call }, i) => {
      if (call !== kind || sec < countFromSec || inFlutter(sec)) return;
      const origin = referenceOf[i]! < 0 ? '-' : originOf(codes[referenceOf[i]!]!);
      if (origin === kind) scores[kind].found++;
      else if (!forgiven[kind].includes(origin)) scores[kind].falsely++;
    });
  }
  return scores;
}

type Shaped = Readonly<{ database: string; beats: readonly ShapedBeat[] }>;

function beatsWhere(
  shaped: ReadonlyMap<string, Shaped>,
  is: (name: string, database: string) => boolean,
): Map<string, readonly ShapedBeat[]> {
  return new Map([...shaped].flatMap(([name, { database, beats }]) => (is(name, database) ? [[name, beats] as const] : [])));
}

/** Of recordings labelled as a whole, the share of beats that are called ventricular and supraventricular. */
async function callsOfLabels(dataDir: string): Promise<string[]> {
  const recordings = await readCinc(dataDir);
  return (['N', 'A', 'O'] as const).flatMap((label) => {
    const beats = recordings.filter((r) => r.label === label).flatMap(({ rows }) => rows.beats);
    if (beats.length === 0) return [];
    const shareOf = (of: readonly BeatRow[], reason: string): string =>
      `${((100 * of.filter((beat) => beat.reason === reason).length) / of.length).toFixed(1)} %`;
    const good = beats.filter(({ quality }) => quality === 0);
    const texts = [beats, good].map(
      (of) => `ventricular ${shareOf(of, 'ventricular')}, supraventricular ${shareOf(of, 'supraventricular')}`,
    );
    return [`CinC 2017, recordings labelled ${label}: ${beats.length} beats, ${texts[0]}; ${good.length} flagged 0, ${texts[1]}.`];
  });
}

type Gross = { V: Score; S: Score };
type Database = readonly [string, ChosenOn, readonly EcgRecording[]];
type Scored = Readonly<{ database: string; chosenOn: ChosenOn; gross: Gross; recordings: readonly (readonly [string, Gross])[] }>;

const noScores = (): Gross => ({ V: { found: 0, all: 0, falsely: 0 }, S: { found: 0, all: 0, falsely: 0 } });

/** Calls in use, or with `leaveOut` those of weights fitted on the other recordings or the other database. */
export function scoreDatabases(databases: readonly Database[], leadCount: 1 | 2, leaveOut: Options['leaveOut'], notes: string[]): Scored[] {
  const shaped = new Map<string, Shaped>();
  if (leaveOut !== null)
    for (const [database, , all] of databases) for (const r of all) shaped.set(r.name, { database, beats: shapedBeats(r, leadCount) });
  const scored = databases.map(([database, chosenOn, recordings]): Scored => {
    const ofOtherDatabase = leaveOut === 'database' ? fitOrigins(beatsWhere(shaped, (_, of) => of !== database)) : null;
    const gross = noScores();
    const scores = recordings.map((recording): [string, Gross] => {
      const { name } = recording;
      const weights = leaveOut === 'recording' ? fitOrigins(beatsWhere(shaped, (other) => other !== name)) : ofOtherDatabase;
      const beats = shaped.get(name)?.beats ?? [];
      const calls =
        weights === null
          ? called(recording, leadCount)
          : callOrigins(beats, weights).map((call, i) => ({ sec: beats[i]!.sec, called: call }));
      const own = score(recording, calls);
      for (const kind of ['V', 'S'] as const) for (const key of ['found', 'all', 'falsely'] as const) gross[kind][key] += own[kind][key];
      return [name, own];
    });
    return { database, chosenOn: leaveOut === null ? chosenOn : 'no', gross, recordings: scores };
  });
  if (leaveOut !== null) notes.push(...weightTables(fitOrigins(beatsWhere(shaped, () => true))));
  return scored;
}

export async function run(dataDir: string, { leaveOut }: Options): Promise<Section | null> {
  const databases = [['mitdb', await loadMitdb(dataDir)] as const, ['qtdb', await loadQtdb(dataDir)] as const].flatMap(
    ([database, all]): Database[] => (all.length === 0 ? [] : [[database, 'yes', all.filter(({ name }) => !paced.has(name))]]),
  );
  if (databases.length === 0) return null;
  const rows: string[][] = [['recording', 'chosen on', 'V', 'V Se %', 'V +P %', 'S', 'S Se %', 'S +P %']];
  const json: Record<string, unknown> = {};
  const byDatabase: DatabaseFigure[] = [];
  const notes: string[] = [];
  for (const leadCount of [1, 2] as const)
    for (const { database, chosenOn, gross, recordings } of scoreDatabases(databases, leadCount, leaveOut, notes)) {
      const leads = leadCount === 1 ? '' : ', both leads';
      for (const [name, own] of leadCount === 1 ? recordings : [])
        if (own.V.all + own.S.all + own.V.falsely + own.S.falsely >= 20)
          rows.push([`${database} ${name}`, chosenOn, ...cells(own.V), ...cells(own.S)]);
      rows.push([`${database}, gross${leads}`, chosenOn, ...cells(gross.V), ...cells(gross.S)]);
      json[`${database}${leads}`] = { V: shares(gross.V), S: shares(gross.S) };
      for (const [kind, what] of [
        ['V', 'ventricular'],
        ['S', 'supraventricular'],
      ] as const) {
        const [n = '', se, ppv] = cells(gross[kind]);
        byDatabase.push({ what: `${what} beats${leads}: Se; +P, %`, database, chosenOn, n, figure: `${se}; ${ppv}` });
      }
    }
  if (leaveOut === null) notes.push(...(await callsOfLabels(dataDir)));
  return { title: 'Kinds of beats', rows, json, byDatabase, notes };
}

const share = (part: number, whole: number): number => (whole === 0 ? Number.NaN : (100 * part) / whole);
const shares = (s: Score): Record<string, number> => ({
  beats: s.all,
  se: share(s.found, s.all),
  ppv: share(s.found, s.found + s.falsely),
});
const cells = (s: Score): string[] => [String(s.all), ...[share(s.found, s.all), share(s.found, s.found + s.falsely)].map((x) => (Number.isNaN(x) ? '-' : x.toFixed(1)))]; // prettier-ignore
