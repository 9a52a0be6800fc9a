/** Ventricular and supraventricular beats by AAMI EC57 (score-kinds.ts), beat by beat, first lead and both, no recording's labels known
 *  beforehand. Gross: sums over recordings. Paced recordings are left out. */
import { callOrigins, fitOrigins, foundFusion, noisyBeats, originOf, paced, shapedBeats, weightTables } from './beat-origin-fit.ts';
import type { Origin, OriginWeights, ShapedBeat } from './beat-origin-fit.ts';
import { ecgChannels } from './ecg-detection-section.ts';
import { beatClassOf } from '../src/query/beat-classes.ts';
import { beatKinds } from '../src/dsp/rows/feature-rows.ts';
import type { BeatRow } from '../src/dsp/rows/feature-rows.ts';
import { streamRows } from './hrv-stream.ts';
import { readCinc } from './rhythm-section.ts';
import { loadElectrodeMotion, loadMitdb, loadQtdb } from './mitdb-recordings.ts';
import type { EcgRecording } from './mitdb-recordings.ts';
import { noScores, originsOfCalls, scoreKinds } from './score-kinds.ts';
import type { Call, CalledBeat, KindScores, Score } from './score-kinds.ts';
import type { ChosenOn, DatabaseFigure, Options, Section } from './section.ts';

/** What the service says of each beat, as the API does. */
export function called({ leads, fs }: EcgRecording, leadCount: number): CalledBeat[] {
  const { beats } = streamRows(ecgChannels(leads.slice(0, leadCount), fs));
  return beats.flatMap(({ tNs, kind, reason, quality, confidence }): CalledBeat[] => {
    const called = beatClassOf(true, beatKinds.indexOf(kind), reason, quality, confidence);
    // an artefact is a beat that was found and then doubted: EC57 has no such thing
    return kind === 'interpolated' ? [] : [{ sec: Number(tNs) / 1e9, called: called ?? 'Q', confidence }];
  });
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

type Gross = KindScores;
type Database = readonly [string, ChosenOn, readonly EcgRecording[]];
type Scored = Readonly<{ database: string; chosenOn: ChosenOn; gross: Gross; recordings: readonly (readonly [string, Gross])[] }>;

/** Calls in use, or with `leaveOut` those of weights fitted on the other recordings or the other database. */
export function scoreDatabases(
  databases: readonly Database[],
  leadCount: 1 | 2,
  leaveOut: Options['leaveOut'],
  notes: string[],
  noise: Float64Array | null,
): Scored[] {
  const shaped = new Map<string, Shaped>();
  const noisy = new Map<string, Shaped>();
  if (leaveOut !== null)
    for (const [database, , all] of databases)
      for (const r of all) {
        shaped.set(r.name, { database, beats: shapedBeats(r, leadCount) });
        for (const [name, beats] of noise === null ? [] : noisyBeats(r, noise)) noisy.set(name, { database, beats });
      }
  const fitWhere = (is: (name: string, database: string) => boolean): OriginWeights =>
    fitOrigins(
      beatsWhere(shaped, is),
      beatsWhere(noisy, (name, of) => is(name.split(' ')[0]!, of)),
    );
  const scored = databases.map(([database, chosenOn, recordings]): Scored => {
    const ofOtherDatabase = leaveOut === 'database' ? fitWhere((_, of) => of !== database) : null;
    const gross = noScores();
    const scores = recordings.map((recording): [string, Gross] => {
      const { name } = recording;
      const weights = leaveOut === 'recording' ? fitWhere((other) => other !== name) : ofOtherDatabase;
      const beats = shaped.get(name)?.beats ?? [];
      const own = scoreKinds(recording, weights === null ? called(recording, leadCount) : callOrigins(beats, weights));
      for (const kind of ['V', 'S'] as const) for (const key of ['found', 'all', 'falsely'] as const) gross[kind][key] += own[kind][key];
      return [name, own];
    });
    return { database, chosenOn: leaveOut === null ? chosenOn : 'no', gross, recordings: scores };
  });
  if (leaveOut !== null) notes.push(...weightTables(fitWhere(() => true)));
  if (leaveOut === 'recording' && leadCount === 1) notes.push(fusionNote(shaped));
  return scored;
}

/** How many fusion beats there are, where, and how many would be found. */
function fusionNote(shaped: ReadonlyMap<string, Shaped>): string {
  const found = [...shaped].flatMap(([name, { beats }]) => {
    if (!beats.some(({ origin }) => origin === 'F')) return [];
    return [
      {
        name,
        ...foundFusion(
          beats,
          beatsWhere(shaped, (other) => other !== name),
        ),
      },
    ];
  });
  const sum = (key: 'found' | 'all'): number => found.reduce((total, of) => total + of[key], 0);
  const most = found.reduce((a, b) => (b.all > a.all ? b : a));
  return `Fusion beats: ${sum('all')} in ${found.length} recordings, ${most.all} of them in ${most.name}. A third function, fitted on the other recordings, would find ${sum('found')}, in ${most.name} ${most.found}.`;
}

/** What the service says of beats of a kind that no score counts. */
function callsOf(what: string, origin: Origin, recordings: readonly EcgRecording[]): string {
  const counts: Record<Call, number> = { N: 0, S: 0, V: 0, Q: 0 };
  for (const recording of recordings) {
    if (!recording.codes.some((code) => originOf(code) === origin)) continue;
    const calls = called(recording, 1);
    originsOfCalls(recording, calls).forEach((of, i) => void (of === origin && counts[calls[i]!.called]++));
  }
  return `${what} are called ${Object.entries(counts).map(([call, n]) => `${call} ${n}`).join(', ')} times.`; // prettier-ignore
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
  const noise = loadElectrodeMotion(dataDir);
  for (const leadCount of [1, 2] as const)
    for (const { database, chosenOn, gross, recordings } of scoreDatabases(databases, leadCount, leaveOut, notes, noise)) {
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
  if (leaveOut === null) {
    const all = databases.flatMap(([, , recordings]) => recordings);
    const ofPaced = (await loadMitdb(dataDir)).filter(({ name }) => paced.has(name));
    notes.push(callsOf('Fusion beats', 'F', all), callsOf('Beats of 102 and 104 that are paced', 'Q', ofPaced));
    notes.push(...(await callsOfLabels(dataDir)));
  }
  return { title: 'Kinds of beats', rows, json, byDatabase, notes };
}

const share = (part: number, whole: number): number => (whole === 0 ? Number.NaN : (100 * part) / whole);
const shares = (s: Score): Record<string, number> => ({
  beats: s.all,
  se: share(s.found, s.all),
  ppv: share(s.found, s.found + s.falsely),
});
const cells = (s: Score): string[] => [String(s.all), ...[share(s.found, s.all), share(s.found, s.found + s.falsely)].map((x) => (Number.isNaN(x) ? '-' : x.toFixed(1)))]; // prettier-ignore
